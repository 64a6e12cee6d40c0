//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"golang.org/x/sys/unix"
)

func sysOpen(k *Kernel, t *Thread, dirfd int, args []kernel.Argument) Result {
	pathAddr, flags, mode := args[0].Pointer(), args[1].Int(), args[2].Mode()
	return open(k, t, dirfd, pathAddr, flags, mode, 0)
}

func sysCreat(k *Kernel, t *Thread) Result {
	pathAddr, mode := t.Call.Args[0].Pointer(), t.Call.Args[1].Mode()
	return open(k, t, unix.AT_FDCWD, pathAddr, unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, mode, 0)
}

// What openat2(2) accepts: all flags of open(2) that mean anything, and permissions where a file may be made.
const (
	openFlags = unix.O_ACCMODE | createFlags | unix.O_TRUNC | unix.O_APPEND | unix.O_NONBLOCK | unix.O_SYNC | unix.O_ASYNC | unix.O_DIRECT | 0o100000 |
		unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NOATIME | unix.O_CLOEXEC | unix.O_PATH | unix.O_TMPFILE
	openPathFlags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_PATH | unix.O_CLOEXEC
	openHowBytes  = 24 // struct open_how
	modeBits      = 0o7777
	resolveCached = 0x20 // RESOLVE_CACHED
)

func sysOpenat2(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, howAddr, size := args[0].Int(), args[1].Pointer(), args[2].Pointer(), args[3].Size()
	switch {
	case size < openHowBytes:
		return fail(unix.EINVAL)
	case size > 4096:
		return fail(unix.E2BIG)
	}
	b := make([]byte, size)
	if !k.In(t, howAddr, b) {
		return fail(unix.EFAULT)
	}
	if slices.ContainsFunc(b[openHowBytes:], func(c byte) bool { return c != 0 }) {
		return fail(unix.E2BIG)
	}
	le := binary.LittleEndian
	flags, mode, resolve := le.Uint64(b[0:]), le.Uint64(b[8:]), le.Uint64(b[16:])
	const known = unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH | unix.RESOLVE_IN_ROOT | resolveCached
	makes := flags&unix.O_CREAT != 0 || flags&unix.O_TMPFILE == unix.O_TMPFILE
	switch {
	case flags&^openFlags != 0, flags&unix.O_PATH != 0 && flags&^openPathFlags != 0, resolve&^known != 0,
		resolve&(unix.RESOLVE_BENEATH|unix.RESOLVE_IN_ROOT) == unix.RESOLVE_BENEATH|unix.RESOLVE_IN_ROOT,
		makes && mode&^modeBits != 0, !makes && mode != 0:
		return fail(unix.EINVAL)
	case resolve&resolveCached != 0 && (makes || flags&unix.O_TRUNC != 0):
		return fail(unix.EAGAIN) // else: all names of a node are at hand
	}
	return open(k, t, dirfd, pathAddr, int(flags), uint32(mode), fs.Resolve(resolve&^resolveCached))
}

func open(k *Kernel, t *Thread, dirfd int, addr uint64, flags int, mode uint32, resolve fs.Resolve) Result {
	r := openPath(k, t, dirfd, addr, flags, mode, resolve)
	if flags&unix.O_TRUNC != 0 {
		return makesHoles(k, t, r)
	}
	return r
}

func openPath(k *Kernel, t *Thread, dirfd int, addr uint64, flags int, mode uint32, resolve fs.Resolve) Result {
	if t.Call.Aux != 0 {
		return openWait(k, t, k.Files[t.Call.Aux])
	}
	path, e := k.Path(t, addr)
	if e != 0 {
		return fail(e)
	}
	if path != "" && !k.ReserveFD(t) {
		return fail(unix.EMFILE) // before anything is looked up, or made
	}
	start := path
	if resolve&fs.RESOLVE_IN_ROOT != 0 && path != "" {
		start = "." // an absolute path, too, begins at the descriptor
	}
	at, e := startDir(k, t, dirfd, start)
	if e != 0 {
		return fail(e)
	}
	env := env(k, t)
	env.Opening = opening(k, t)
	o, fe := k.Node(t).FS.OpenResolving(env, at, path, flags, mode&^k.Proc(t).Umask, resolve)
	env.Opening = nil
	switch {
	case fe != errno.OK:
		return failure(fe)
	case o.File != 0:
		return reopen(k, t, k.Files[o.File], flags)
	case o.Synth != "" || o.Mode&unix.S_IFMT != unix.S_IFREG:
	case o.Made:
		t.Call.Act = moments.Create
	case flags&unix.O_TRUNC != 0:
		t.Call.Act = moments.Truncate
	}
	return openInode(k, t, o, flags)
}

// createFlags have no effect on an open file (fcntl(2): F_GETFL).
const createFlags = unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC | unix.O_NOCTTY

// openInode makes the description of an inode that the tree has opened.
func openInode(k *Kernel, t *Thread, o fs.Opened, flags int) Result {
	kind := kernel.FileInode
	switch {
	case flags&unix.O_PATH != 0:
		kind = kernel.FilePath
		flags &= unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	case o.Synth != "" && o.Mode&unix.S_IFMT == unix.S_IFREG:
		kind = kernel.FileSynth
	case o.Mode&unix.S_IFMT == unix.S_IFCHR, o.Mode&unix.S_IFMT == unix.S_IFBLK:
		kind = k.KindOf(o.Rdev)
	case o.Mode&unix.S_IFMT == unix.S_IFSOCK:
		kind = 0
	case o.Mode&unix.S_IFMT == unix.S_IFIFO:
		return openFIFO(k, t, o.Inode, flags)
	}
	if kind == 0 { // a socket, no controlling terminal, no such device
		k.Node(t).FS.Unref(env(k, t), o.Inode)
		return fail(unix.ENXIO)
	}
	f := k.NewFile(t, kind, flags&^createFlags)
	f.Inode = o.Inode
	if filled := k.Kind(f).Opened; filled != nil {
		filled(k, t, f, &o)
	}
	return k.Opened(t, f, flags)
}

// reopen opens what has no inode through /proc/self/fd/N.
func reopen(k *Kernel, t *Thread, f *File, flags int) Result {
	switch {
	case flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL:
		return fail(unix.EEXIST)
	case flags&unix.O_DIRECTORY != 0:
		return fail(unix.ENOTDIR)
	case flags&unix.O_PATH != 0:
		g := k.NewFile(t, kernel.FilePath, flags&(unix.O_PATH|unix.O_NOFOLLOW))
		g.Path = describe(k, f)
		return k.Opened(t, g, flags)
	}
	if again := k.Kind(f).Reopen; again != nil {
		return again(k, t, f, flags)
	}
	return fail(unix.ENXIO)
}

// openFIFO opens a named pipe. The tree has referred to its inode.
func openFIFO(k *Kernel, t *Thread, id fs.InodeID, flags int) Result {
	node := k.Node(t)
	p := k.Pipes[node.FIFOs[id]]
	if flags&unix.O_ACCMODE == unix.O_WRONLY && flags&unix.O_NONBLOCK != 0 && (p == nil || p.Readers == 0) {
		node.FS.Unref(env(k, t), id)
		return fail(unix.ENXIO)
	}
	if p == nil {
		p = newPipe(k)
		node.FIFOs[id] = p.ID
	}
	return openPipe(k, t, p, id, flags)
}

// openPipe opens an end of a pipe (fifo(7)). The opening counts for the other side at once; without O_NONBLOCK it
// waits until the other side was opened, even if that has ended since.
func openPipe(k *Kernel, t *Thread, p *kernel.Pipe, id fs.InodeID, flags int) Result {
	f := k.NewFile(t, kernel.FilePipe, flags&^createFlags)
	f.Obj, f.Inode, f.Pos = p.ID, id, -1
	access := flags & unix.O_ACCMODE
	if access != unix.O_WRONLY {
		p.Readers++
		p.ReaderOpens++
	}
	if access != unix.O_RDONLY {
		p.Writers++
		p.WriterOpens++
	}
	k.Wake(Key{Kind: kernel.KeyPipe, ID: p.ID}, kernel.AllEvents)
	switch {
	case access == unix.O_RDONLY && p.Writers == 0:
		f.Pos = p.WriterOpens
	case access == unix.O_WRONLY && p.Readers == 0:
		f.Pos = p.ReaderOpens
	}
	if f.Pos < 0 || flags&unix.O_NONBLOCK != 0 {
		return k.Opened(t, f, flags)
	}
	t.Call.Aux = f.ID
	return openWait(k, t, f)
}

// openWait continues to open a FIFO that the other side may have opened now.
func openWait(k *Kernel, t *Thread, f *File) Result {
	p := k.Pipes[f.Obj]
	others := p.WriterOpens
	if f.Flags&unix.O_ACCMODE == unix.O_WRONLY {
		others = p.ReaderOpens
	}
	if others == f.Pos {
		if t.Call.Signaled {
			abandonOpen(k, t)
		}
		return k.Block(t, 0, Key{Kind: kernel.KeyPipe, ID: p.ID})
	}
	f.Pos, t.Call.Aux = -1, 0
	return k.Opened(t, f, int(flagsOf(k, t)))
}

// abandonOpen gives up an opening of a FIFO in which a thread waits.
func abandonOpen(k *Kernel, t *Thread) {
	if f := k.Files[t.Call.Aux]; f != nil {
		f.Refs = 1
		k.Unref(f)
	}
	t.Call.Aux = 0
}
