//go:build linux && amd64

package kernel

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// ReportPath is the file that drivers write their reports to.
const ReportPath = fs.ReportPath

// Paths that programs find in their environment: see package fs.
const (
	SDKDir     = fs.SDKDir
	SDKPath    = fs.SDKPath
	StopFaults = fs.StopFaults
	Self       = fs.Self
)

// fsFail is the result of a call to which the tree has answered e.
func fsFail(e fs.Errno) Result { return -Result(e) }

func errno(e fs.Errno) unix.Errno { return unix.Errno(e) }

// env is what a node's tree needs of the world around it, for one call on behalf of a thread. It is valid until the
// next call of env.
func (k *Kernel) env(t *Thread) *fs.Env {
	c := &k.proc(t).Cred
	e := k.envOf(k.node(t), t, fs.Cred{UID: c.FSUID, GID: c.FSGID, Groups: c.Groups})
	e.Root = k.proc(t).Root
	return e
}

// envOf is env for any identity; t may be nil, /proc and /sys are empty then.
func (k *Kernel) envOf(n *Node, t *Thread, c fs.Cred) *fs.Env {
	k.synths.t, k.programs.node = t, n.ID
	k.tree.NowNs, k.tree.Cred, k.tree.Base, k.tree.Root = k.RealNs(n), c, k.Handles.Bases[n.ID], 0
	return &k.tree
}

// TreeEnv is the Env of a node's tree, for the world around the kernel.
func (k *Kernel) TreeEnv(n *Node) *fs.Env { return k.envOf(n, nil, fs.Cred{}) }

// told wakes those who wait for what has happened in a node's tree.
func (k *Kernel) told(n *Node) {
	k.notified(n)
	if k.Shared != nil { // what has happened there, others watch too
		for _, other := range k.Nodes {
			k.notified(other)
		}
	}
	if len(n.FS.Noticed) > 0 {
		for _, id := range n.FS.TakeNoticed() {
			k.Seen(net.FaultRef{Kind: fault.PowerLoss, ID: id})
		}
	}
	if len(n.FS.Gone) > 0 {
		for _, id := range n.FS.TakeGone() {
			k.Net.Forgotten(n.Net, int64(id))
		}
	}
}

// notified wakes those whose watches of a node's tree have events.
func (k *Kernel) notified(n *Node) {
	if len(n.FS.Ready) > 0 {
		for _, id := range n.FS.TakeReady() {
			k.Wake(inotifyKey(n.ID, id), unix.EPOLLIN)
		}
	}
}

// from gives the directory at which a path starts.
func (k *Kernel) from(t *Thread, dirfd int, path string) (fs.InodeID, unix.Errno) {
	switch {
	case path == "":
		return 0, unix.ENOENT
	case path[0] == '/':
		return k.root(k.proc(t)), 0
	case dirfd == unix.AT_FDCWD:
		return k.proc(t).Cwd, 0
	}
	f := k.file(t, uint64(dirfd))
	switch {
	case f == nil:
		return 0, unix.EBADF
	case f.Inode == 0:
		return 0, unix.ENOTDIR
	}
	return f.Inode, 0
}

// pathAt reads a path argument, and gives the directory at which it starts.
func (k *Kernel) pathAt(t *Thread, dirfd int, addr uint64) (fs.InodeID, string, unix.Errno) {
	path, e := k.path(t, addr)
	if e != 0 {
		return 0, "", e
	}
	at, e := k.from(t, dirfd, path)
	return at, path, e
}

// find resolves a path argument that must exist. It gives the inode, or an open file that has none, such as a pipe
// behind /proc/self/fd. An empty path with AT_EMPTY_PATH means the descriptor.
func (k *Kernel) find(t *Thread, dirfd int, addr uint64, flags int) (fs.InodeID, *File, unix.Errno) {
	path, e := k.path(t, addr)
	if e != 0 {
		return 0, nil, e
	}
	return k.findAs(t, k.env(t), dirfd, path, flags)
}

func (k *Kernel) findAs(t *Thread, env *fs.Env, dirfd int, path string, flags int) (fs.InodeID, *File, unix.Errno) {
	if path == "" && flags&unix.AT_EMPTY_PATH != 0 {
		if dirfd == unix.AT_FDCWD {
			return k.proc(t).Cwd, nil, 0
		}
		f := k.file(t, uint64(dirfd))
		switch {
		case f == nil:
			return 0, nil, unix.EBADF
		case f.Inode == 0:
			return 0, f, 0
		}
		return f.Inode, nil, 0
	}
	at, e := k.from(t, dirfd, path)
	if e != 0 {
		return 0, nil, e
	}
	p, fe := k.node(t).FS.Walk(env, at, path, flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	switch {
	case fe != fs.OK:
		return 0, nil, errno(fe)
	case p.Inode == 0:
		return 0, k.Files[p.File], 0
	}
	return p.Inode, nil, 0
}

// chdirTo sets the working directory of a fresh process by path.
func (k *Kernel) chdirTo(t *Thread, dir string) unix.Errno {
	n := k.node(t)
	place, e := n.FS.Walk(k.envOf(n, t, fs.Cred{}), n.FS.Root(), dir, true)
	switch {
	case e != fs.OK:
		return errno(e)
	case place.Inode == 0 || n.FS.Get(place.Inode).Mode&unix.S_IFMT != unix.S_IFDIR:
		return unix.ENOTDIR
	}
	k.setCwd(k.proc(t), place.Inode)
	return 0
}

func (k *Kernel) setCwd(p *Proc, dir fs.InodeID) {
	for _, p := range k.sharers(p) {
		k.Nodes[p.Node].FS.Ref(dir)
		k.dropCwd(p)
		p.Cwd = dir
	}
}

// root is the root directory of a process.
func (k *Kernel) root(p *Proc) fs.InodeID {
	if p.Root != 0 {
		return p.Root
	}
	return k.Nodes[p.Node].FS.Root()
}

func (k *Kernel) setRoot(p *Proc, dir fs.InodeID) {
	for _, p := range k.sharers(p) {
		if dir != 0 {
			k.Nodes[p.Node].FS.Ref(dir)
		}
		k.dropRoot(p)
		p.Root = dir
	}
}

func (k *Kernel) dropCwd(p *Proc)  { k.dropFolder(p, &p.Cwd) }
func (k *Kernel) dropRoot(p *Proc) { k.dropFolder(p, &p.Root) }

func (k *Kernel) dropFolder(p *Proc, held *fs.InodeID) {
	if *held != 0 {
		n := k.Nodes[p.Node]
		n.FS.Unref(k.TreeEnv(n), *held)
	}
	*held = 0
}

// devNull opens /dev/null for a fresh process.
func (k *Kernel) devNull(t *Thread) *File {
	n := k.node(t)
	f := k.newFile(t, FileNull, unix.O_RDWR)
	f.Path = "/dev/null"
	if o, e := n.FS.Open(k.envOf(n, t, fs.Cred{}), n.FS.Root(), f.Path, unix.O_RDWR, 0); e == fs.OK && o.File == 0 {
		f.Inode = o.Inode
	}
	return f
}

// releaseInode gives up what an open file holds of its inode.
func (k *Kernel) releaseInode(f *File) {
	n := k.Nodes[f.Node]
	if f.Kind != FilePath {
		n.FS.Close(f.Inode, f.Flags&unix.O_ACCMODE != unix.O_RDONLY)
	}
	flock := n.FS.DropFlock(f.Inode, f.ID)
	if n.FS.DropLock(f.Inode, fs.Lock{Owner: f.ID, OFD: true, Last: fs.ToEnd}) || flock {
		k.Wake(k.lockKey(f), AllEvents)
	}
	n.FS.Unref(k.TreeEnv(n), f.Inode)
	k.told(n)
}

// nameOf names an inode as /proc/self/fd does.
func nameOf(s *fs.State, id fs.InodeID) string {
	if name := s.Name(id); name != "" {
		return name
	}
	name := ""
	for in := s.Get(id); in != nil && in.ID != s.Root(); in = s.Get(in.Parent) {
		name = "/" + in.Name + name
	}
	return name + " (deleted)"
}

// mapping gives the real file to map for an open file, and what it is called for shared futexes.
func (k *Kernel) mapping(t *Thread, f *File, write bool) (int, Key, unix.Errno) {
	c, e := k.node(t).FS.Content(k.env(t), f.Inode, write)
	if e != fs.OK {
		return 0, Key{}, errno(e)
	}
	fd, failed := k.fdOf(t, c)
	if c.Blob != 0 {
		return fd, Key{Kind: KeyBlob, ID: int64(c.Blob)}, failed
	}
	return fd, Key{Kind: KeyBase, ID: int64(f.Inode)<<16 | t.Node}, failed
}

// fdOf is the open file of this process that has a content's bytes.
func (k *Kernel) fdOf(t *Thread, c fs.Content) (int, unix.Errno) {
	if c.Blob != 0 {
		return k.Handles.Blobs.FD(c.Blob), 0
	}
	fd, e := k.Handles.Bases[t.Node].FD(c.Layer, c.Path)
	return fd, errno(e)
}

const programHead = 256 // bytes of a program that execve looks at

// openProgram opens a program by path.
func (k *Kernel) openProgram(t *Thread, path string) (program, unix.Errno) {
	return k.openProgramAt(t, unix.AT_FDCWD, path, 0)
}

// openProgramAt is openProgram for execve and execveat.
func (k *Kernel) openProgramAt(t *Thread, dirfd int, path string, flags int) (program, unix.Errno) {
	s, env := k.node(t).FS, k.env(t)
	id, f, e := k.findAs(t, env, dirfd, path, flags)
	switch {
	case e != 0:
		return program{}, e
	case f != nil:
		return program{}, unix.EACCES
	}
	in := s.Get(id)
	switch {
	case in.Mode&unix.S_IFMT == unix.S_IFLNK:
		return program{}, unix.ELOOP
	case in.Mode&unix.S_IFMT != unix.S_IFREG || in.Synth != "":
		return program{}, unix.EACCES
	}
	if e := s.Access(env, id, fs.X_OK); e != fs.OK {
		return program{}, errno(e)
	}
	if k.openForWriting(t.Node, id) {
		return program{}, unix.ETXTBSY
	}
	c, fe := s.Content(env, id, false)
	if fe != fs.OK {
		return program{}, errno(fe)
	}
	out := program{path: path, real: nameOf(s, id), file: id, head: make([]byte, programHead)}
	if path == "" {
		out.path = "/dev/fd/" + itoa(dirfd)
	}
	n, fe := s.ReadAt(env, id, out.head, 0)
	if fe != fs.OK {
		return program{}, errno(fe)
	}
	out.head = out.head[:n]
	var failed unix.Errno
	out.fd, failed = k.fdOf(t, c)
	return out, failed
}

func joinPath(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// findProgram looks a command up like a shell: by PATH, unless it has a slash.
func (k *Kernel) findProgram(t *Thread, name string) (program, unix.Errno) {
	if strings.Contains(name, "/") {
		return k.openProgram(t, name)
	}
	list := ""
	for _, kv := range k.proc(t).Env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			list = v
		}
	}
	last := unix.ENOENT
	for _, dir := range strings.Split(list, ":") {
		x, e := k.openProgram(t, joinPath(dir, name))
		if e == 0 {
			return x, 0
		}
		if e == unix.EACCES {
			last = e
		}
	}
	return program{}, last
}

// socketInode finds the inode of a unix socket's path; ENOENT and ECONNREFUSED as connect(2) says.
func (k *Kernel) socketInode(t *Thread, path string) (fs.InodeID, unix.Errno) {
	s, env := k.node(t).FS, k.env(t)
	id, f, e := k.findAs(t, env, unix.AT_FDCWD, path, 0)
	switch {
	case e != 0:
		return 0, e
	case f != nil:
		return 0, unix.ECONNREFUSED
	}
	if e := s.Access(env, id, fs.W_OK); e != fs.OK {
		return 0, errno(e)
	}
	if s.Get(id).Mode&unix.S_IFMT != unix.S_IFSOCK {
		return 0, unix.ECONNREFUSED
	}
	return id, 0
}

// makeSocket makes the file that a unix socket is bound to.
func (k *Kernel) makeSocket(t *Thread, path string) (fs.InodeID, unix.Errno) {
	at, e := k.from(t, unix.AT_FDCWD, path)
	if e != 0 {
		return 0, e
	}
	id, fe := k.node(t).FS.Mknod(k.env(t), at, path, unix.S_IFSOCK|0o777&^k.proc(t).Umask)
	return id, errno(fe)
}

// sendBytes sends bytes of the kernel's own, as sendfile and splice do: what fits, or the thread waits.
func (k *Kernel) sendBytes(t *Thread, f *File, data []byte) Result {
	id := net.SockID(f.Obj)
	n, e := k.Net.Send(netEnv{k}, id, net.SendArgs{Data: data, Cred: k.netCred(t)})
	switch e {
	case net.OK:
		return Result(n)
	case net.EAGAIN:
		_, timeout := k.Net.Timeouts(id)
		return k.notReady(t, f, 0, f.Flags&unix.O_NONBLOCK != 0, timeout)
	case net.EPIPE:
		k.signalThread(t, Signal{Number: int(unix.SIGPIPE)})
	}
	return netFail(e)
}
