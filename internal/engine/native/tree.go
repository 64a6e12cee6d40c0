//go:build linux && amd64

package native

import (
	"fmt"
	"io"
	iofs "io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/clone"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// tree is a copy of a node's tree: to look up a name gives it an inode, whose number programs would see.
type tree struct {
	node  string
	state *fs.State
	env   fs.Env
}

// Tree copies the tree of a node. Bytes of files are those of the world, and are read while it stands.
func (x stopped) Tree(node string) (engine.Tree, error) {
	t := &tree{node: node}
	err := x.ask(func(k *kernel.Kernel) error {
		i := slices.IndexFunc(k.Nodes, func(n *kernel.Node) bool { return n.Name == node })
		if i < 0 {
			return fmt.Errorf("there is no node %s", node)
		}
		t.state, t.env = clone.Deep(k.Nodes[i].FS), *k.TreeEnv(k.Nodes[i])
		t.env.Synth = noSynth{}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// noSynth has nothing in /proc and /sys.
type noSynth struct{}

func (noSynth) Lookup(string) (fs.SynthAttr, errno.Errno) { return fs.SynthAttr{}, errno.ENOENT }
func (noSynth) ReadDir(string) ([]string, errno.Errno)    { return nil, errno.OK }
func (t *tree) failed(name string, e errno.Errno) error {
	return fmt.Errorf("%s:%s: %w", t.node, name, unix.Errno(e))
}
func (t *tree) refused(name string, problem string) error {
	return fmt.Errorf("%s:%s: %s", t.node, name, problem)
}

func (t *tree) walk(name string, follow bool) (*fs.Inode, error) {
	if !path.IsAbs(name) {
		return nil, t.refused(name, "give an absolute path, one that begins with /")
	}
	p, e := t.state.Walk(&t.env, t.state.Root(), name, follow)
	if e != errno.OK {
		if root := strings.SplitN(path.Clean(name), "/", 3)[1]; root == "proc" || root == "sys" {
			return nil, t.refused(name, "/proc and /sys are generated for each reader, so they cannot be shown")
		}
		return nil, t.failed(name, e)
	}
	return t.state.Get(p.Inode), nil
}

func (t *tree) Stat(name string) (engine.File, error) {
	in, err := t.walk(name, false)
	if err != nil {
		return engine.File{}, err
	}
	return t.file(path.Clean(name), in)
}

// file describes an inode.
func (t *tree) file(name string, in *fs.Inode) (engine.File, error) {
	f := engine.File{Path: name, Mode: modeOf(in.Mode), UID: in.UID, GID: in.GID, Size: in.Size, MtimeNs: in.MtimeNs}
	f.Rights = f.Mode.String()
	if in.Mode&fs.S_IFMT == fs.S_IFLNK && in.Synth == "" {
		var e errno.Errno
		if f.Target, e = t.state.Readlink(&t.env, in.ID); e != errno.OK {
			return f, t.failed(name, e)
		}
	}
	return f, nil
}

// modeOf is a mode as Go has it.
func modeOf(mode uint32) iofs.FileMode {
	m := iofs.FileMode(mode & 0o777)
	m |= map[uint32]iofs.FileMode{fs.S_IFDIR: iofs.ModeDir, fs.S_IFLNK: iofs.ModeSymlink, fs.S_IFIFO: iofs.ModeNamedPipe,
		fs.S_IFSOCK: iofs.ModeSocket, fs.S_IFCHR: iofs.ModeDevice | iofs.ModeCharDevice,
		fs.S_IFBLK: iofs.ModeDevice}[mode&fs.S_IFMT]
	for bit, is := range map[uint32]iofs.FileMode{fs.S_ISUID: iofs.ModeSetuid, fs.S_ISGID: iofs.ModeSetgid, fs.S_ISVTX: iofs.ModeSticky} {
		if mode&bit != 0 {
			m |= is
		}
	}
	return m
}

func (t *tree) List(name string) (list []engine.File, err error) {
	dir, err := t.walk(name, true)
	if err != nil {
		return nil, err
	}
	if dir.Synth != "" {
		return nil, t.refused(name, "/proc and /sys are generated for each reader, so they cannot be shown")
	}
	entries, e := t.state.ReadDir(&t.env, dir.ID)
	if e != errno.OK {
		return nil, t.failed(name, e)
	}
	for _, entry := range entries {
		if entry.Name == "." || entry.Name == ".." {
			continue
		}
		f, err := t.file(path.Join(name, entry.Name), t.state.Get(entry.Inode))
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

func (t *tree) Open(name string) (io.Reader, error) {
	in, err := t.walk(name, true)
	switch {
	case err != nil:
		return nil, err
	case in.Mode&fs.S_IFMT == fs.S_IFDIR:
		return nil, t.failed(name, errno.EISDIR)
	case in.Mode&fs.S_IFMT != fs.S_IFREG || in.Synth != "":
		return nil, t.refused(name, "it is not a regular file")
	}
	return &fileReader{state: t.state, env: &t.env, id: in.ID}, nil
}

func (t *tree) Changes() (list []engine.FileChange, err error) {
	visit := func(target string, layer int, u *fs.Upper) error {
		c := engine.FileChange{Change: "removed", File: engine.File{Path: path.Join(target, u.Path)}}
		if !u.Whiteout {
			var err error
			if c.File, err = t.file(c.Path, u.Inode); err != nil {
				return err
			}
			c.Change = "new"
			if layer != fs.NoLayer {
				if _, e := t.env.Base.Lstat(layer, u.Path); e == errno.OK {
					c.Change = "changed"
				}
			}
		}
		list = append(list, c)
		return nil
	}
	if err := t.state.Upper(&t.env, func(u *fs.Upper) error { return visit("/", t.state.Config.Root, u) }); err != nil {
		return nil, err
	}
	err = t.state.UpperOfMounts(&t.env, func(m *fs.Mount, u *fs.Upper) error { return visit(m.Target, m.Layer, u) })
	return list, err
}
