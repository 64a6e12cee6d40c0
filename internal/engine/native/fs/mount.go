package fs

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Devices of /dev, as mem(4), null(4), random(4) and tty(4) number them. The last are the engine's own: the reports
// of drivers, what SDKs write, what drivers ask of the engine, and draws that programs ask for.
const (
	DevNull    = 1<<8 | 3
	DevZero    = 1<<8 | 5
	DevFull    = 1<<8 | 7
	DevRandom  = 1<<8 | 8
	DevURandom = 1<<8 | 9
	DevTTY     = 5 << 8
	DevReport  = 240 << 8
	DevSDK     = 240<<8 | 1
	DevControl = 240<<8 | 2
	DevEdges   = 240<<8 | 3
	DevMishap  = 240<<8 | 4
)

// ReportPath is where a driver writes its reports.
const ReportPath = "/dev/bloodhound/report"

// Self is where programs of a node find the bloodhound program, wherever it lies on the machine: its place is no part of a
// run.
const Self = "/dev/bloodhound/bloodhound"

// Files of the protocol of Antithesis: what SDKs write, and the program that stops faults.
const (
	SDKDir     = "/dev/bloodhound"
	SDKPath    = SDKDir + "/sdk.jsonl"
	StopFaults = "/dev/bloodhound/stop-faults"
	EdgesPath  = SDKDir + "/edges" // where the instrumentation library announces modules
)

func (s *State) mountRoot(env *Env) error {
	m := Mount{Target: "/", Layer: s.Config.Root, Type: Disk}
	in, err := s.newRoot(env, m, 0o755)
	if err != nil {
		return fmt.Errorf("root: %w", err)
	}
	if !in.isDir() {
		return fmt.Errorf("root: %s is not a folder", s.Config.Layers[s.Config.Root])
	}
	in.Parent = in.ID
	return nil
}

// newRoot makes the root inode of a mount; a mode without a type is a folder's.
func (s *State) newRoot(env *Env, m Mount, mode uint32) (*Inode, error) {
	m.Dev = 0x800 + uint64(len(s.Mounts)) + 1
	if mode&S_IFMT == 0 {
		mode |= S_IFDIR
	}
	in := Inode{Mount: len(s.Mounts), Mode: mode, Layer: NoLayer, MountRoot: true, Nlink: 1}
	(&in).stamp(s, s.Config.StartNs)
	if m.Layer != NoLayer {
		attr, e := env.Base.Lstat(m.Layer, "")
		if e != errno.OK {
			return nil, fmt.Errorf("%s: %w", s.Config.Layers[m.Layer], e)
		}
		(&in).describe(s, attr, m.Layer, "")
	}
	made, e := s.create(env, in)
	if e != errno.OK {
		return nil, e
	}
	s.Mounts = append(s.Mounts, m)
	return made, nil
}

// mountStandard mounts what every node has: synthetic trees, and empty folders for what is volatile on a host.
func (s *State) mountStandard(env *Env) error {
	for _, m := range []struct {
		target string
		typ    MountType
		mode   uint32
	}{
		{"/proc", Proc, 0o555}, {"/sys", Sys, 0o555}, {"/dev", Dev, 0o755}, {"/dev/shm", Tmpfs, 0o1777},
		{"/tmp", Tmpfs, 0o1777}, {"/run", Tmpfs, 0o755}, {"/var/tmp", Disk, 0o1777}, {"/var/run", Tmpfs, 0o755},
	} {
		if s.Config.Contained && (m.typ == Tmpfs && m.target != "/dev/shm" || m.typ == Disk) {
			continue
		}
		if m.target == "/var/run" {
			if p, e := s.Walk(env, rootInode, m.target, false); e == errno.OK && s.inode(p.Inode).is(S_IFLNK) {
				continue // to /run
			}
		}
		mount := Mount{Target: m.target, Layer: NoLayer, Type: m.typ}
		if m.target == "/dev/shm" {
			mount.SizeBytes = s.Config.ShmBytes
		}
		if _, err := s.mount(env, mount, m.mode); err != nil {
			return err
		}
		if m.typ == Dev {
			if err := s.fillDev(env); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *State) fillDev(env *Env) error {
	for _, d := range []struct {
		path   string
		mode   uint32
		rdev   uint64
		target string
	}{
		{"/dev/null", S_IFCHR | 0o666, DevNull, ""}, {"/dev/zero", S_IFCHR | 0o666, DevZero, ""}, {"/dev/full", S_IFCHR | 0o666, DevFull, ""},
		{"/dev/random", S_IFCHR | 0o666, DevRandom, ""}, {"/dev/urandom", S_IFCHR | 0o666, DevURandom, ""}, {"/dev/tty", S_IFCHR | 0o666, DevTTY, ""},
		{"/dev/fd", S_IFLNK | 0o777, 0, "/proc/self/fd"}, {"/dev/stdin", S_IFLNK | 0o777, 0, "/proc/self/fd/0"},
		{"/dev/stdout", S_IFLNK | 0o777, 0, "/proc/self/fd/1"}, {"/dev/stderr", S_IFLNK | 0o777, 0, "/proc/self/fd/2"},
		{"/dev/pts", S_IFDIR | 0o755, 0, ""}, {"/dev/bloodhound", S_IFDIR | 0o755, 0, ""}, {ReportPath, S_IFCHR | 0o666, DevReport, ""},
		{SDKPath, S_IFCHR | 0o666, DevSDK, ""}, {world.ControlPath, S_IFCHR | 0o666, DevControl, ""},
		{EdgesPath, S_IFCHR | 0o666, DevEdges, ""}, {world.MishapPath, S_IFCHR | 0o666, DevMishap, ""},
	} {
		t, e := s.tail(env, rootInode, d.path)
		if e == errno.OK {
			_, e = t.dir.make(s, env, t.name, Inode{Mode: d.mode, Rdev: d.rdev, Target: d.target})
		}
		if e != errno.OK {
			return fmt.Errorf("%s: %w", d.path, e)
		}
	}
	p, e := s.Walk(env, rootInode, path.Dir(ReportPath), false)
	if e != errno.OK {
		return fmt.Errorf("%s: %w", ReportPath, e)
	}
	s.inode(p.Inode).Fixed = true
	return nil
}

func (s *State) mountVolume(env *Env, v Volume) error {
	m := Mount{Target: v.Target, Layer: v.Layer, ReadOnly: v.ReadOnly}
	mode := uint32(0o755)
	switch {
	case v.Tmpfs:
		m.Type, m.SizeBytes, mode = Tmpfs, v.SizeBytes, cmp.Or(v.Mode, 0o1777)
	case v.File:
		mode = cmp.Or(v.Mode, 0o444)
	}
	if !strings.HasPrefix(v.Target, "/") {
		return fmt.Errorf("volume %q: the target must be an absolute path", v.Target)
	}
	if v.Shared != 0 {
		return s.mountShared(env, v)
	}
	if v.File {
		mode |= S_IFREG
	}
	in, err := s.mount(env, m, mode)
	if err != nil {
		return fmt.Errorf("volume %s: %w", v.Target, err)
	}
	if v.Layer != NoLayer {
		return nil
	}
	in.UID, in.GID = v.UID, v.GID
	if v.File {
		in.Served = true
		if _, e := in.writeAt(s, env, v.Content, 0); e != errno.OK {
			return fmt.Errorf("volume %s: %w", v.Target, e)
		}
	}
	return nil
}

// mount puts a tree in the place of a name, and gives its root; missing directories are made.
func (s *State) mount(env *Env, m Mount, mode uint32) (*Inode, error) {
	dir, name, e := s.furnish(env, m.Target)
	if e != errno.OK {
		return nil, fmt.Errorf("%s: %w", m.Target, e)
	}
	if dir.Synth != "" {
		return nil, fmt.Errorf("%s: %w", m.Target, errno.EPERM)
	}
	if m.Type == Proc || m.Type == Sys {
		s.Mounts = append(s.Mounts, m)
		in := s.synthInode("/"+name, SynthAttr{Mode: S_IFDIR | mode})
		in.Mount, in.MountRoot, in.Parent, in.Name, in.Refs = len(s.Mounts)-1, true, dir.ID, name, 1
		s.Mounts[in.Mount].Dev = 0x800 + uint64(len(s.Mounts))
		return in, dir.mounted(s, env, name, in)
	}
	in, err := s.newRoot(env, m, mode)
	if err != nil {
		return nil, err
	}
	in.Parent, in.Name = dir.ID, name
	return in, dir.mounted(s, env, name, in)
}

func (dir *Inode) mounted(s *State, env *Env, name string, root *Inode) error {
	if e := dir.mountAt(s, env, name, root); e != errno.OK {
		return fmt.Errorf("%s: %w", name, e)
	}
	return nil
}

// cover forgets an inode that a mount hides, with all that is below it.
func (in *Inode) cover(s *State) {
	for _, id := range in.Entries {
		if id != 0 {
			s.inode(id).cover(s)
		}
	}
	delete(s.Inodes, in.ID)
	if in.Synth != "" {
		delete(s.Synths, in.Synth)
	}
}

// furnish gives the directory and the name of a path, making the directories above it. Links are followed, also the
// last component.
func (s *State) furnish(env *Env, path string) (*Inode, string, errno.Errno) {
	dir := s.inode(rootInode)
	var parts []string
	for _, p := range strings.Split(path, "/") {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return nil, "", errno.EBUSY
	}
	for i, name := range parts {
		p, e := s.Walk(env, dir.ID, name, true)
		last := i == len(parts)-1
		switch {
		case e == errno.OK && p.Inode != 0:
			in := s.inode(p.Inode)
			if last {
				if in.ID == rootInode {
					return nil, "", errno.EBUSY
				}
				dir, name := in.place(s)
				return s.inode(dir), name, errno.OK
			}
			if !in.isDir() {
				return nil, "", errno.ENOTDIR
			}
			dir = in
		case e == errno.ENOENT && last:
			return dir, name, errno.OK
		case e == errno.ENOENT:
			if _, e := dir.lookup(s, env, name); e == errno.OK {
				return nil, "", errno.ENOENT // a link that leads nowhere
			}
			if dir, e = dir.make(s, env, name, Inode{Mode: S_IFDIR | 0o755}); e != errno.OK {
				return nil, "", e
			}
		default:
			return nil, "", e
		}
	}
	panic("fs: unreachable")
}

// MakeFolder makes a folder, and those above it, where there are none. They belong to root.
func (s *State) MakeFolder(env *Env, dir string) errno.Errno {
	whole := *env
	whole.NowNs, whole.Cred = s.Config.StartNs, Cred{}
	env = &whole
	at := s.inode(rootInode)
	for _, name := range strings.Split(strings.Trim(path.Clean("/"+dir), "/"), "/") {
		p, e := s.Walk(env, at.ID, cmp.Or(name, "."), true)
		switch {
		case e == errno.OK && p.Inode != 0:
			at = s.inode(p.Inode)
			continue
		case e != errno.ENOENT:
			return e
		case at.Synth != "":
			return errno.EPERM
		}
		if _, e := at.lookup(s, env, name); e == errno.OK {
			return errno.ENOENT // a link that leads nowhere
		}
		if at, e = at.make(s, env, name, Inode{Mode: S_IFDIR | 0o755}); e != errno.OK {
			return e
		}
	}
	return errno.OK
}

// Inject puts a file that the engine serves into the upper layer, in place of whatever has its name.
func (s *State) Inject(env *Env, path string, content []byte) errno.Errno {
	whole := *env
	whole.NowNs, whole.Cred = s.Config.StartNs, Cred{}
	env = &whole
	i := strings.LastIndexByte(path, '/')
	dir := s.inode(rootInode)
	if i > 0 {
		up, name, e := s.furnish(env, path[:i])
		if e != errno.OK {
			return e
		}
		if dir, e = up.lookup(s, env, name); e == errno.ENOENT {
			dir, e = up.make(s, env, name, Inode{Mode: S_IFDIR | 0o755})
		}
		if e != errno.OK {
			return e
		}
	}
	name := path[i+1:]
	old, e := dir.lookup(s, env, name)
	if e == errno.OK {
		if old.isDir() || old.MountRoot {
			return errno.EBUSY
		}
		dir.leave(s, env, name, old)
	} else {
		s.LastInode++ // the numbers of inodes do not depend on what was there
	}
	in, e := dir.make(s, env, name, Inode{Mode: S_IFREG | 0o644})
	if e != errno.OK {
		return e
	}
	in.Served = true
	_, e = in.writeAt(s, env, content, 0)
	return e
}
