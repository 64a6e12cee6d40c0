//go:build linux && amd64

package linux

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
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

// failure is the result of a call that the tree or the network has answered with an error number.
func failure(e errno.Errno) Result { return -Result(e) }

// env gives a node's tree its access to the world, for one call on behalf of a thread. It is valid until the next call
// of env.
func env(k *Kernel, t *Thread) *fs.Env {
	c := &k.Proc(t).Cred
	e := k.EnvOf(k.Node(t), t, fs.Cred{UID: c.FSUID, GID: c.FSGID, Groups: c.Groups})
	e.Root = k.Proc(t).Root
	return e
}

// startDir returns the directory at which a path starts.
func startDir(k *Kernel, t *Thread, dirfd int, path string) (fs.InodeID, unix.Errno) {
	switch {
	case path == "":
		return 0, unix.ENOENT
	case path[0] == '/':
		return root(k, k.Proc(t)), 0
	case dirfd == unix.AT_FDCWD:
		return k.Proc(t).Cwd, 0
	}
	f := k.File(t, dirfd)
	switch {
	case f == nil:
		return 0, unix.EBADF
	case f.Inode == 0:
		return 0, unix.ENOTDIR
	}
	return f.Inode, 0
}

// pathFrom reads a path argument, and gives the directory at which it starts.
func pathFrom(k *Kernel, t *Thread, dirfd int, addr uint64) (fs.InodeID, string, unix.Errno) {
	path, e := k.Path(t, addr)
	if e != 0 {
		return 0, "", e
	}
	at, e := startDir(k, t, dirfd, path)
	return at, path, e
}

// find resolves a path argument that must exist. It gives the inode, or an open file that has none, such as a pipe
// behind /proc/self/fd. An empty path with AT_EMPTY_PATH means the descriptor.
func find(k *Kernel, t *Thread, dirfd int, addr uint64, flags int) (fs.InodeID, *File, unix.Errno) {
	path, e := k.Path(t, addr)
	if e != 0 {
		return 0, nil, e
	}
	return findAs(k, t, env(k, t), dirfd, path, flags)
}

func findAs(k *Kernel, t *Thread, env *fs.Env, dirfd int, path string, flags int) (fs.InodeID, *File, unix.Errno) {
	if path == "" && flags&unix.AT_EMPTY_PATH != 0 {
		if dirfd == unix.AT_FDCWD {
			return k.Proc(t).Cwd, nil, 0
		}
		f := k.File(t, dirfd)
		switch {
		case f == nil:
			return 0, nil, unix.EBADF
		case f.Inode == 0:
			return 0, f, 0
		}
		return f.Inode, nil, 0
	}
	at, e := startDir(k, t, dirfd, path)
	if e != 0 {
		return 0, nil, e
	}
	p, fe := k.Node(t).FS.Walk(env, at, path, flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	switch {
	case fe != errno.OK:
		return 0, nil, unix.Errno(fe)
	case p.Inode == 0:
		return 0, k.Files[p.File], 0
	}
	return p.Inode, nil, 0
}

// chdirTo sets the working directory of a fresh process by path.
func chdirTo(k *Kernel, t *Thread, dir string) unix.Errno {
	n := k.Node(t)
	place, e := n.FS.Walk(k.EnvOf(n, t, fs.Cred{}), n.FS.Root(), dir, true)
	switch {
	case e != errno.OK:
		return unix.Errno(e)
	case place.Inode == 0 || n.FS.Get(place.Inode).Mode&unix.S_IFMT != unix.S_IFDIR:
		return unix.ENOTDIR
	}
	setCwd(k, k.Proc(t), place.Inode)
	return 0
}

func setCwd(k *Kernel, p *Proc, dir fs.InodeID) {
	for _, p := range sharers(k, p) {
		k.Nodes[p.Node].FS.Ref(dir)
		k.DropCwd(p)
		p.Cwd = dir
	}
}

// root is the root directory of a process.
func root(k *Kernel, p *Proc) fs.InodeID {
	if p.Root != 0 {
		return p.Root
	}
	return k.Nodes[p.Node].FS.Root()
}

func setRoot(k *Kernel, p *Proc, dir fs.InodeID) {
	for _, p := range sharers(k, p) {
		if dir != 0 {
			k.Nodes[p.Node].FS.Ref(dir)
		}
		k.DropRoot(p)
		p.Root = dir
	}
}

// devNull opens /dev/null for a fresh process.
func devNull(k *Kernel, t *Thread) *File {
	n := k.Node(t)
	f := k.NewFile(t, kernel.FileNull, unix.O_RDWR)
	f.Path = "/dev/null"
	if o, e := n.FS.Open(k.EnvOf(n, t, fs.Cred{}), n.FS.Root(), f.Path, unix.O_RDWR, 0); e == errno.OK && o.File == 0 {
		f.Inode = o.Inode
	}
	return f
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
func mapping(k *Kernel, t *Thread, f *File, write bool) (int, Key, unix.Errno) {
	c, e := k.Node(t).FS.Content(env(k, t), f.Inode, write)
	if e != errno.OK {
		return 0, Key{}, unix.Errno(e)
	}
	fd, failed := fdOf(k, t, c)
	if c.Blob != 0 {
		return fd, Key{Kind: kernel.KeyBlob, ID: int64(c.Blob)}, failed
	}
	return fd, Key{Kind: kernel.KeyBase, ID: int64(f.Inode)<<16 | t.Node}, failed
}

// fdOf is the open file of this process that has a content's bytes.
func fdOf(k *Kernel, t *Thread, c fs.Content) (int, unix.Errno) {
	if c.Blob != 0 {
		return k.Handles.Blobs.FD(c.Blob), 0
	}
	fd, e := k.Handles.Bases[t.Node].FD(c.Layer, c.Path)
	return fd, unix.Errno(e)
}

const programHead = 256 // bytes of a program that execve looks at

// openProgram opens a program by path.
func openProgram(k *Kernel, t *Thread, path string) (program, unix.Errno) {
	return openProgramAt(k, t, unix.AT_FDCWD, path, 0)
}

// openProgramAt is openProgram for execve and execveat.
func openProgramAt(k *Kernel, t *Thread, dirfd int, path string, flags int) (program, unix.Errno) {
	s, env := k.Node(t).FS, env(k, t)
	id, f, e := findAs(k, t, env, dirfd, path, flags)
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
	if e := s.Access(env, id, fs.X_OK); e != errno.OK {
		return program{}, unix.Errno(e)
	}
	if openForWriting(k, t.Node, id) {
		return program{}, unix.ETXTBSY
	}
	c, fe := s.Content(env, id, false)
	if fe != errno.OK {
		return program{}, unix.Errno(fe)
	}
	out := program{path: path, real: nameOf(s, id), file: id, head: make([]byte, programHead)}
	if path == "" {
		out.path = "/dev/fd/" + itoa(dirfd)
	}
	n, fe := s.ReadAt(env, id, out.head, 0)
	if fe != errno.OK {
		return program{}, unix.Errno(fe)
	}
	out.head = out.head[:n]
	var failed unix.Errno
	out.fd, failed = fdOf(k, t, c)
	return out, failed
}

func joinPath(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// findProgram looks a command up like a shell: by PATH, unless it has a slash.
func findProgram(k *Kernel, t *Thread, name string) (program, unix.Errno) {
	if strings.Contains(name, "/") {
		return openProgram(k, t, name)
	}
	list := ""
	for _, kv := range k.Proc(t).Env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			list = v
		}
	}
	last := unix.ENOENT
	for _, dir := range strings.Split(list, ":") {
		x, e := openProgram(k, t, joinPath(dir, name))
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
func socketInode(k *Kernel, t *Thread, path string) (fs.InodeID, unix.Errno) {
	s, env := k.Node(t).FS, env(k, t)
	id, f, e := findAs(k, t, env, unix.AT_FDCWD, path, 0)
	switch {
	case e != 0:
		return 0, e
	case f != nil:
		return 0, unix.ECONNREFUSED
	}
	if e := s.Access(env, id, fs.W_OK); e != errno.OK {
		return 0, unix.Errno(e)
	}
	if s.Get(id).Mode&unix.S_IFMT != unix.S_IFSOCK {
		return 0, unix.ECONNREFUSED
	}
	return id, 0
}

// makeSocket makes the file that a unix socket is bound to.
func makeSocket(k *Kernel, t *Thread, path string) (fs.InodeID, unix.Errno) {
	at, e := startDir(k, t, unix.AT_FDCWD, path)
	if e != 0 {
		return 0, e
	}
	id, fe := k.Node(t).FS.Mknod(env(k, t), at, path, unix.S_IFSOCK|0o777&^k.Proc(t).Umask)
	return id, unix.Errno(fe)
}

// sendBytes sends bytes of the kernel's own, as sendfile and splice do: what fits, or the thread waits.
func sendBytes(k *Kernel, t *Thread, f *File, data []byte) Result {
	id := net.SockID(f.Obj)
	n, e := k.Net.Send(netEnv{k}, id, net.SendArgs{Data: data, Cred: netCred(k, t)})
	switch e {
	case errno.OK:
		return Result(n)
	case errno.EAGAIN:
		_, timeout := k.Net.Timeouts(id)
		return notReady(k, t, f, 0, f.Flags&unix.O_NONBLOCK != 0, timeout)
	case errno.EPIPE:
		k.SignalThread(t, kernel.Signal{Number: int(unix.SIGPIPE)})
	}
	return failure(e)
}
