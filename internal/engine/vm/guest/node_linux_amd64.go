package guest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A node is a set of namespaces, an overlay over one of the engine's trees, and a control group. Its thread is in the node's
// namespaces and root, so that programs that it starts are, too.

// Folders of the agent.
const (
	groupsDir = "/sys/fs/cgroup"
	disksDir  = "/disks"
	rootsDir  = "/roots"
	sharedDir = "/shared"
	initPath  = "/dev/bloodhound/init"
	selfPath  = "/dev/bloodhound/bloodhound"
	stopPath  = "/dev/bloodhound/stop-faults"
	ownDir    = "/dev/bloodhound"
	report    = ownDir + "/report"
	sdkLines  = ownDir + "/sdk.jsonl"
)

type node struct {
	wire.Node
	id    int
	calls chan func()
	init  int   // its pid
	netFD int   // its network namespace
	disk  int64 // its size; 0: what programs write lies in memory
	boots int   // how often it has had its power back
}

// do runs f on the node's thread.
func (n *node) do(f func()) {
	done := make(chan struct{})
	n.calls <- func() { f(); close(done) }
	<-done
}

func newNode(a *agent, id int, w wire.Node, disk int64) (*node, error) {
	n := &node{Node: w, id: id, netFD: -1, disk: disk}
	if disk > 0 {
		if err := emptyImage(n.image(), disk); err != nil {
			return nil, err
		}
	}
	return n, n.startThread(a)
}

// again makes a node that has lost its power once more.
func again(a *agent, old *node) (*node, error) {
	n := &node{Node: old.Node, id: old.id, netFD: old.netFD, disk: old.disk, boots: old.boots + 1}
	if err := copyImage(old.image(), n.image()); err != nil {
		return nil, err
	}
	return n, n.startThread(a)
}

// startThread makes the node on its own thread.
func (n *node) startThread(a *agent) error {
	n.calls = make(chan func())
	var err error
	go func() {
		runtime.LockOSThread()
		for f := range n.calls {
			f()
		}
	}()
	n.do(func() { err = n.make(a) })
	if err != nil {
		return fmt.Errorf("node %s: %w", n.Name, err)
	}
	return nil
}

func (n *node) group() string        { return filepath.Join(groupsDir, "n"+strconv.Itoa(n.id)) }
func (n *node) job(tag int64) string { return filepath.Join(n.group(), "j"+strconv.FormatInt(tag, 10)) }
func write(path, text string) error  { return os.WriteFile(path, []byte(text), 0o644) }
func mountAt(target, kind, data string, flags uintptr) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(kind, target, kind, flags, data); err != nil {
		return fmt.Errorf("mount -t %s %s: %w", kind, target, err)
	}
	return nil
}

func (n *node) make(a *agent) error {
	if err := n.bound(); err != nil {
		return err
	}
	if n.disk > 0 {
		if err := n.mountDisk(); err != nil {
			return err
		}
	} else if err := mountAt(n.store(), "tmpfs", "mode=755,nr_blocks=0", 0); err != nil {
		return err
	}
	own := n.NetOf == n.id && n.boots == 0 // it makes a network
	flags := unix.CLONE_FS | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
	if own {
		flags |= unix.CLONE_NEWNET
	}
	if err := unix.Unshare(flags); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if !own {
		fd := n.netFD
		if fd < 0 {
			fd = a.nodes[n.NetOf].netFD
		}
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("the network that it has: %w", err)
		}
	}
	var err error
	if n.netFD >= 0 {
		unix.Close(n.netFD)
	}
	if n.netFD, err = unix.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(n.Hostname)); err != nil {
		return err
	}
	if n.Domain != "" {
		if err := unix.Setdomainname([]byte(n.Domain)); err != nil {
			return err
		}
	}
	if own {
		if err := n.network(a.fabric); err != nil {
			return err
		}
	}
	for _, s := range n.Sysctls {
		if err := write(filepath.Join("/proc/sys", s.Path), string(s.Text)); err != nil {
			return err
		}
	}
	root := filepath.Join(rootsDir, n.place())
	if err := n.furnish(root); err != nil {
		return err
	}
	if err := unix.Chdir(root); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return n.startInit()
}

// bound makes the control group of the node, with its bounds.
func (n *node) bound() error {
	if err := os.MkdirAll(n.group(), 0o755); err != nil {
		return err
	}
	set := map[string]string{}
	if n.Memory > 0 {
		set["memory.max"] = strconv.FormatInt(n.Memory, 10)
	}
	if n.Tasks > 0 {
		set["pids.max"] = strconv.Itoa(n.Tasks)
	}
	if n.CPUPPM > 0 {
		set["cpu.max"] = fmt.Sprintf("%d 100000", max(n.CPUPPM/10, 1000))
	}
	for _, name := range []string{"memory.max", "pids.max", "cpu.max"} {
		if text, ok := set[name]; ok {
			if err := write(filepath.Join(n.group(), name), text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *node) network(f *fabric) error {
	for _, name := range []string{"accept_dad", "accept_ra", "autoconf", "router_solicitations"} {
		for _, scope := range []string{"all", "default"} {
			write("/proc/sys/net/ipv6/conf/"+scope+"/"+name, "0")
		}
	}
	write("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1") // no link-local address, which would be random
	write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647")
	write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := up(s, "lo"); err != nil {
		return err
	}
	for i := range n.NICs {
		if err := f.attach(n.id, &n.NICs[i]); err != nil {
			return err
		}
	}
	return nil
}

// store is where what the node's programs write lies.
func (n *node) store() string { return filepath.Join(disksDir, n.place()) }

// place names the node's folders, which are others each time that it has its power back.
func (n *node) place() string {
	if n.boots == 0 {
		return strconv.Itoa(n.id)
	}
	return fmt.Sprintf("%d.%d", n.id, n.boots)
}

// furnish lays out the files of the node below root.
func (n *node) furnish(root string) error {
	if err := overlay(filepath.Join(fuseDir, treeName(n.Tree)), n.store(), root); err != nil {
		return err
	}
	for _, dir := range []string{"/proc", "/sys", "/dev", "/etc", "/run", "/tmp", "/var/tmp"} {
		at := within(root, dir)
		if n.boots > 0 && slices.Contains([]string{"/run", "/tmp", "/var/tmp"}, dir) { // they lie in memory
			os.RemoveAll(at)
		}
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if path.Base(dir) == "tmp" {
			if err := unix.Chmod(at, 0o1777); err != nil {
				return err
			}
		}
	}
	if err := mountAt(root+"/sys", "sysfs", "", unix.MS_RDONLY); err != nil {
		return err
	}
	if err := n.devices(root); err != nil {
		return err
	}
	for i := range n.Files {
		if err := put(root, &n.Files[i]); err != nil {
			return err
		}
	}
	for i := range n.Volumes {
		if err := n.volume(root, i, &n.Volumes[i]); err != nil {
			return fmt.Errorf("volume %s: %w", n.Volumes[i].Target, err)
		}
	}
	if err := os.MkdirAll(within(root, n.Dir), 0o755); err != nil {
		return err
	}
	if n.ReadOnly {
		return unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	return nil
}

// within is where a path of a node lies below the node's root, whose links do not lead out of it.
func within(root, name string) string {
	at, err := unix.Open(root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return root + name
	}
	defer unix.Close(at)
	for there, rest := path.Join("/", name), ""; there != "/"; there, rest = path.Dir(there), path.Join(path.Base(there), rest) {
		fd, err := unix.Openat2(at, there, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
		if err != nil {
			continue // what is there begins further up
		}
		defer unix.Close(fd)
		if real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil {
			return path.Join(real, rest)
		}
	}
	return root + name
}

// put writes a file of the engine's own.
func put(root string, f *wire.File) error {
	path := root + f.Path
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() { // a link to what the machine makes at run time
		os.RemoveAll(path)
	}
	if err := os.WriteFile(path, f.Text, 0o600); err != nil {
		return err
	}
	if err := os.Chown(path, f.UID, f.GID); err != nil {
		return err
	}
	return unix.Chmod(path, cmp.Or(f.Mode, 0o644))
}

func (n *node) devices(root string) error {
	dev := root + "/dev"
	if err := mountAt(dev, "tmpfs", "mode=755", unix.MS_NOSUID); err != nil {
		return err
	}
	for _, d := range []struct {
		name         string
		major, minor uint32
	}{{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}} {
		path := dev + "/" + d.name
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(d.major, d.minor))); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(target, dev+"/"+name); err != nil {
			return err
		}
	}
	shm := "mode=1777"
	if n.ShmBytes > 0 {
		shm += ",size=" + strconv.FormatInt(n.ShmBytes, 10)
	}
	if err := mountAt(dev+"/shm", "tmpfs", shm, unix.MS_NOSUID|unix.MS_NODEV); err != nil {
		return err
	}
	if err := mountAt(dev+"/pts", "devpts", "newinstance,ptmxmode=0666,mode=0620", unix.MS_NOSUID|unix.MS_NOEXEC); err != nil {
		return err
	}
	if err := os.MkdirAll(root+ownDir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(root+initPath, stub(), 0o755); err != nil {
		return err
	}
	for path, source := range map[string]string{report: "/fuse/report", sdkLines: "/fuse/sdk", world.ControlPath: "/fuse/control",
		selfPath: "/init", stopPath: "/init"} {
		if err := bind(source, root+path, false); err != nil {
			return err
		}
	}
	return nil
}

// bind mounts a file or a folder at a place, which is made if it is not there.
func bind(source, target string, folder bool) error {
	if folder {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
	} else if _, err := os.Lstat(target); err != nil {
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, nil, 0o644); err != nil {
			return err
		}
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", source, target, err)
	}
	return nil
}

func (n *node) volume(root string, i int, v *wire.Volume) error {
	target := within(root, v.Target)
	if v.File != nil {
		f := *v.File
		f.Path = filepath.Join(n.store(), "files", strconv.Itoa(i))
		if err := put("", &f); err != nil {
			return err
		}
		return bind(f.Path, target, false)
	}
	if v.Tmpfs {
		data := fmt.Sprintf("mode=%o,uid=%d,gid=%d", v.Mode, v.UID, v.GID)
		if v.SizeBytes > 0 {
			data += ",size=" + strconv.FormatInt(v.SizeBytes, 10)
		}
		return mountAt(target, "tmpfs", data, unix.MS_NOSUID|unix.MS_NODEV)
	}
	dir := filepath.Join(n.store(), "v"+strconv.Itoa(i))
	if v.Shared != "" {
		dir = filepath.Join(sharedDir, v.Shared)
	}
	lower := ""
	if v.Tree >= 0 {
		lower = filepath.Join(fuseDir, treeName(v.Tree))
	} else if v.FromImage {
		if info, err := os.Stat(target); err == nil && info.IsDir() {
			lower = target
		}
	}
	if v.Single { // a file of the machine: a copy, if it can be written
		if v.ReadOnly {
			return bind(lower, target, false)
		}
		text, err := os.ReadFile(lower)
		if err != nil {
			return err
		}
		info, err := os.Stat(lower)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		if _, err := os.Stat(dir); err != nil {
			if err := os.WriteFile(dir, text, info.Mode().Perm()); err != nil {
				return err
			}
			owner := info.Sys().(*syscall.Stat_t)
			if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
				return err
			}
		}
		return bind(dir, target, false)
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if lower == "" || v.Shared != "" { // share has made it
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return seal(bind(dir, target, true), target, v.ReadOnly)
	}
	return seal(overlay(lower, dir, target), target, v.ReadOnly)
}

// overlay mounts a folder that can be written over a lower one. What is written lies below dir.
func overlay(lower, dir, target string) error {
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	for _, d := range []string{upper, work, target} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	var info unix.Stat_t
	if err := unix.Stat(lower, &info); err != nil {
		return err
	}
	if err := os.Chown(upper, int(info.Uid), int(info.Gid)); err != nil {
		return err
	}
	if err := unix.Chmod(upper, info.Mode&0o7777); err != nil {
		return err
	}
	if err := unix.Mount("overlay", target, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work)); err != nil {
		return fmt.Errorf("mount -t overlay %s: %w", target, err)
	}
	return nil
}

// share makes the volumes that several nodes have, before the nodes have namespaces of their own.
func share(nodes []wire.Node) error {
	for i := range nodes {
		for _, v := range nodes[i].Volumes {
			dir := filepath.Join(sharedDir, v.Shared)
			if v.Shared == "" || v.Single {
				continue
			}
			if _, err := os.Stat(dir); err == nil {
				continue
			}
			lower := filepath.Join(fuseDir, treeName(v.Tree))
			if v.Tree < 0 {
				lower = within(filepath.Join(fuseDir, treeName(nodes[i].Tree)), v.Target)
				if info, err := os.Stat(lower); !v.FromImage || err != nil || !info.IsDir() {
					continue
				}
			}
			if err := overlay(lower, dir+".written", dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// seal makes a mount read-only.
func seal(err error, target string, readOnly bool) error {
	if err != nil || !readOnly {
		return err
	}
	return unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// startInit starts process 1 of the node, and has the thread's further programs be in its namespace of processes.
func (n *node) startInit() error {
	pid, err := syscall.ForkExec(initPath, []string{"init"},
		&syscall.ProcAttr{Dir: "/", Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Setsid: true}})
	if err != nil {
		return fmt.Errorf("process 1: %w", err)
	}
	n.init = pid
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWPID); err != nil {
		return fmt.Errorf("the namespace of process 1: %w", err)
	}
	return nil
}

// user is the user that programs run as.
type user struct {
	uid, gid uint32
	groups   []uint32
}

// userOf finds a user and its groups, as getpwnam(3) does. It runs on the node's thread.
func userOf(text string, more []string) (u user, err error) {
	name, group, _ := strings.Cut(text, ":")
	passwd, groups := table("/etc/passwd"), table("/etc/group")
	number := func(s string) (uint32, bool) {
		v, err := strconv.ParseUint(s, 10, 32)
		return uint32(v), err == nil
	}
	if name != "" {
		id, isNumber := number(name)
		u.uid = id
		known := false
		for _, p := range passwd {
			if uid, ok := number(p[2]); ok && (p[0] == name || isNumber && uid == id) && len(p) > 3 {
				u.uid, known = uid, true
				u.gid, _ = number(p[3])
				name = p[0]
				break
			}
		}
		if !known && !isNumber {
			return u, fmt.Errorf("there is no user %s in /etc/passwd", name)
		}
	}
	find := func(group string) (uint32, error) {
		if id, ok := number(group); ok {
			return id, nil
		}
		for _, g := range groups {
			if g[0] == group {
				id, _ := number(g[2])
				return id, nil
			}
		}
		return 0, fmt.Errorf("there is no group %s in /etc/group", group)
	}
	if group != "" {
		if u.gid, err = find(group); err != nil {
			return u, err
		}
	} else if name != "" {
		for _, g := range groups {
			if len(g) > 3 && slices.Contains(strings.Split(g[3], ","), name) {
				id, _ := number(g[2])
				u.groups = append(u.groups, id)
			}
		}
	}
	for _, g := range more {
		id, err := find(g)
		if err != nil {
			return u, err
		}
		u.groups = append(u.groups, id)
	}
	return u, nil
}

func table(path string) (rows [][]string) {
	text, _ := os.ReadFile(path)
	for line := range strings.SplitSeq(string(text), "\n") {
		if row := strings.Split(line, ":"); len(row) >= 3 {
			rows = append(rows, row)
		}
	}
	return rows
}

// find looks for a program as execvp(3) does. It runs on the node's thread.
func find(argv0 string, env []string, dir string) (string, error) {
	if strings.Contains(argv0, "/") {
		return argv0, nil
	}
	last := error(unix.ENOENT)
	for _, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for folder := range strings.SplitSeq(list, ":") {
			path := filepath.Join(folder, argv0)
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			switch err := unix.Access(path, unix.X_OK); {
			case err == nil:
				if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
					return path, nil
				}
			case errors.Is(err, unix.EACCES):
				last = err
			}
		}
	}
	return "", last
}
