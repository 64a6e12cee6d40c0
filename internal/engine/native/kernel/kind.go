//go:build linux && amd64

package kernel

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
)

// FileKind says what an open file description refers to.
type FileKind uint8

const (
	FileInode   FileKind = iota + 1 // regular file of the node's tree, or any directory
	FileSynth                       // a file of /proc or /sys; Data is its content, Path its name
	FileMemory                      // /proc/PID/mem; Obj is the address space
	FilePipe                        // Obj is the pipe; the access mode reports which end
	FileSocket                      // Obj is the socket
	FileEpoll                       // Obj is the epoll
	FileEvent                       // Obj is the eventfd
	FileTimer                       // Obj is the timerfd
	FileSignal                      // Obj is the signalfd
	FileInotify                     // Obj is the inotify instance of the node's fs
	FilePID                         // Obj is the process
	FileNull                        // /dev/null
	FileZero                        // /dev/zero
	FileFull                        // /dev/full
	FileRandom                      // /dev/random, /dev/urandom
	FileLog                         // standard output or error of a node's program; Stream reports which
	FileReport                      // the driver's report file
	FileSDK                         // what SDKs write
	FileControl                     // what drivers ask of the engine
	FileOrders                      // what the world asks of a program, and the answers; Data is what it has not read yet
	FileEdges                       // where modules of edges announce themselves
	FileMishap                      // where programs ask for draws
	FilePath                        // O_PATH
	NumKinds
)

// Behaviour implements one kind of open files. It has no state of its own: the state is in the File and in the object
// of State that File.Obj names. The comments say how calls behave whose functions a kind does not set.
type Behaviour struct {
	// Devices are the device numbers whose nodes open as this kind.
	Devices []uint64
	// Opened fills in the description of an inode of this kind that was opened by its name.
	Opened func(k *Kernel, t *Thread, f *File, o *fs.Opened)
	// Reopen opens a file without an inode again through /proc/self/fd. Unset: ENXIO.
	Reopen func(k *Kernel, t *Thread, f *File, flags int) Result
	// Release frees what is behind a description that is gone.
	Release func(k *Kernel, f *File)

	// Read takes up to n bytes for the program's memory; ReadInto puts them there by itself, from an offset, or from the file's position
	// if that is -1. Neither set: EINVAL.
	Read     func(k *Kernel, t *Thread, f *File, n int) ([]byte, Result)
	ReadInto func(k *Kernel, t *Thread, f *File, v []Iovec, offset int64) Result
	// Write takes bytes of the program's memory; WriteFrom reads them there by itself, for an offset as in ReadInto. flags are those of
	// pwritev2(2). Neither set: EINVAL.
	Write     func(k *Kernel, t *Thread, f *File, data []byte) Result
	WriteFrom func(k *Kernel, t *Thread, f *File, v []Iovec, offset int64, flags int) Result
	// Take and Push are Read and Write for calls that move bytes between files inside the kernel: splice(2), sendfile(2). Unset: EINVAL.
	Take func(k *Kernel, t *Thread, f *File, pos int64, n int, nonblocking bool) ([]byte, Result)
	Push func(k *Kernel, t *Thread, f *File, data []byte, offset int64) Result

	// Seekable files have positions (lseek(2): ESPIPE for others). Seek moves one; unset: it stays at 0.
	Seekable bool
	Seek     func(k *Kernel, f *File, off int64, whence int) Result
	// Sizeless files take any size that truncation gives them and keep their own; others that are no regular file answer EINVAL.
	Sizeless bool

	// Pollable reports whether epoll takes a file. Unset: it does not, as Linux' regular files, directories and memory devices.
	Pollable func(f *File) bool
	// Ready reports what is ready: POLLIN and so on, as poll(2) would for all events. Unset: always ready.
	Ready func(k *Kernel, f *File) uint32
	// Key returns the key to wake when readiness changes. Unset: readiness never changes.
	Key func(f *File) Key

	// Unread counts what FIONREAD reports; unset: ENOTTY. Ioctl answers FIONREAD and all requests that are not common to all kinds; unset:
	// they are refused.
	Unread func(k *Kernel, f *File) int
	Ioctl  func(k *Kernel, t *Thread, f *File, cmd uint, arg uint64) Result

	// Stat changes what stat(2) reports of a file without an inode, Magic is the type of its file system; unset: an anonymous inode.
	Stat  func(f *File, a *fs.Attr)
	Magic int64
	// Link returns the target of a /proc/PID/fd link for a file without an inode. Unset: File.Path.
	Link func(f *File) string
	// Object names the kind in traces, for people. Unset: nothing.
	Object func(k *Kernel, f *File) string
	// EndLine gives out the last line of a file that no process writes to any more. Unset: there are no lines.
	EndLine func(k *Kernel, f *File)
}

// Kind is how a file behaves.
func (k *Kernel) Kind(f *File) *Behaviour { return &k.system.Kinds[f.Kind] }

// Always is Behaviour.Pollable of what epoll takes.
func Always(*File) bool { return true }

// Named is Behaviour.Object of a fixed name.
func Named(name string) func(*Kernel, *File) string {
	return func(*Kernel, *File) string { return name }
}

// Anonymous is Behaviour.Link of an anonymous inode.
func Anonymous(name string) func(*File) string {
	return func(*File) string { return "anon_inode:" + name }
}

// ObjectKey is Behaviour.Key of files whose readiness is that of their object.
func ObjectKey(kind KeyKind) func(*File) Key {
	return func(f *File) Key { return Key{Kind: kind, ID: f.Obj} }
}

// KindOf is the kind that a device opens as, 0 if there is no such device.
func (k *Kernel) KindOf(rdev uint64) FileKind {
	for kind := range k.system.Kinds {
		if slices.Contains(k.system.Kinds[kind].Devices, rdev) {
			return FileKind(kind)
		}
	}
	return 0
}

// Seekable reports whether a file has positions (lseek(2): ESPIPE).
func (k *Kernel) Seekable(f *File) bool { return k.Kind(f).Seekable }

// Pollable reports whether a file supports waiting: for others epoll says EPERM, and poll that they are always ready.
func (k *Kernel) Pollable(f *File) bool {
	b := k.Kind(f)
	return b.Pollable != nil && b.Pollable(f)
}

// PollFile reports what is ready: POLLIN and so on, as poll(2) would for all events.
func (k *Kernel) PollFile(f *File) uint32 {
	if b := k.Kind(f); b.Ready != nil {
		return b.Ready(k, f)
	}
	return AlwaysReady
}

const AlwaysReady = unix.POLLIN | unix.POLLOUT | PollRDNorm | PollWRNorm

// KeysOf lists what must be woken for a file's readiness to change.
func (k *Kernel) KeysOf(f *File) []Key {
	if b := k.Kind(f); b.Key != nil {
		return []Key{b.Key(f)}
	}
	return nil
}

// Events that golang.org/x/sys/unix does not name (poll.h).
const (
	PollRDNorm = 0x40
	PollRDBand = 0x80
	PollWRNorm = 0x100
	PollWRBand = 0x200
)
