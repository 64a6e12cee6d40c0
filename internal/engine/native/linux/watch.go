//go:build linux && amd64

package linux

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// WatchCalls has the kernel report system calls. It returns the names of calls that it never sees.
func WatchCalls(k *Kernel, calls []fault.Watch) (unknown []string) {
	for _, w := range calls {
		if Unwatched(w.Call) != "" {
			unknown = append(unknown, w.Call)
			continue
		}
		WatchAll(k)
		if w.Call == fault.CreateCall {
			watchCreating(k, w)
			continue
		}
		nr, _ := CallNumber(w.Call)
		for _, asked := range []struct {
			asks bool
			what kernel.Watched
		}{{w.Entered, kernel.WatchEntering}, {w.Waits, kernel.WatchWaits}, {w.Returned, kernel.WatchReturned}} {
			if asked.asks {
				k.Watched[nr] |= asked.what
			}
		}
	}
	return unknown
}

// watchCreating has the kernel report calls that make files.
func watchCreating(k *Kernel, w fault.Watch) {
	for _, name := range fault.Creating {
		nr, _ := CallNumber(name)
		if w.Entered {
			k.Watched[nr] |= kernel.WatchMaking
		}
		if w.Returned {
			k.Watched[nr] |= kernel.WatchMade
		}
	}
}

// makes reports whether the call at which t stopped asks for a file to be made if it is not there.
func makes(k *Kernel, t *Thread) bool { return flagsOf(k, t)&unix.O_CREAT != 0 }

// flagsOf are the flags of a call that opens a file, 0 of any other.
func flagsOf(k *Kernel, t *Thread) uint64 {
	switch c := &t.Call; c.Nr {
	case unix.SYS_CREAT:
		return unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	case unix.SYS_OPEN:
		return c.Args[1].Uint64()
	case unix.SYS_OPENAT:
		return c.Args[2].Uint64()
	case unix.SYS_OPENAT2:
		flags, _ := k.PeekU64(t, c.Args[2].Pointer())
		return flags
	}
	return 0
}

// WatchAll has the kernel report answers and transfers between nodes, and count the calls of nodes that are Between.
func WatchAll(k *Kernel) {
	if k.Watched == nil {
		k.Watched = make([]kernel.Watched, len(table))
	}
}

// growing are the calls that ask for memory: they stop only where a rule needs them.
var growing = []string{"brk", "mmap", "mprotect", "mremap"}

// Growing reports whether a call asks for memory.
func Growing(name string) bool { return slices.Contains(growing, name) }

// Unwatched says why WatchCalls never sees a call of programs, or nothing.
func Unwatched(name string) string {
	switch name {
	case "clock_gettime", "gettimeofday", "time", "getcpu":
		return "programs do not need the call: they read clocks and the CPU through the vDSO"
	case "munmap", "madvise", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "arch_prctl":
		return "the machine's kernel executes the call, and worlds do not stop at it"
	}
	if _, ok := CallNumber(name); !ok && name != fault.CreateCall {
		return "there is no such system call, or worlds do not have it"
	}
	return ""
}

// Unreturned says why nothing can happen after a call, or nothing.
func Unreturned(name string) string {
	switch name {
	case "exit", "exit_group":
		return "it does not return"
	case "rt_sigaction", "brk", "mmap", "mprotect", "pkey_mprotect", "mremap":
		return "the machine's kernel may execute it, and worlds do not see it return"
	}
	return ""
}

// AboutFiles reports whether a call names a file, by path or by descriptor.
func AboutFiles(name string) bool {
	if name == fault.CreateCall || name == "msync" {
		return true
	}
	nr, ok := CallNumber(name)
	_, named := pathAt[uint64(nr)]
	return ok && (named || table[nr].Descriptor || opened[uint64(nr)])
}

// opened are the calls whose first argument is an open file, besides those that are known by it to people.
var opened = map[uint64]bool{
	unix.SYS_PREADV2: true, unix.SYS_PWRITEV2: true, unix.SYS_CLOSE: true, unix.SYS_FSTAT: true, unix.SYS_LSEEK: true,
	unix.SYS_FLOCK: true, unix.SYS_FCNTL: true,
	unix.SYS_FALLOCATE: true, unix.SYS_SYNC_FILE_RANGE: true, unix.SYS_SYNCFS: true, unix.SYS_GETDENTS64: true,
	unix.SYS_GETDENTS: true, unix.SYS_FCHMOD: true, unix.SYS_FCHOWN: true,
	unix.SYS_FSTATFS: true, unix.SYS_FCHDIR: true, unix.SYS_COPY_FILE_RANGE: true, unix.SYS_SPLICE: true,
}

// CallNumber is the number of the system call of a name, if the engine knows it.
func CallNumber(name string) (int, bool) {
	for nr := range table[:len(table)-1] {
		if table[nr].Name == name && table[nr].Handle != nil {
			return nr, true
		}
	}
	return 0, false
}

// pathAt is the argument that holds the path which a call is about, the new one of two; dirAt that of the folder where it starts, or -1.
var pathAt = map[uint64]struct{ dir, path int }{
	unix.SYS_OPEN: {-1, 0}, unix.SYS_CREAT: {-1, 0}, unix.SYS_OPENAT: {0, 1}, unix.SYS_OPENAT2: {0, 1},
	unix.SYS_STAT: {-1, 0}, unix.SYS_LSTAT: {-1, 0}, unix.SYS_NEWFSTATAT: {0, 1}, unix.SYS_STATX: {0, 1},
	unix.SYS_ACCESS: {-1, 0}, unix.SYS_FACCESSAT: {0, 1}, unix.SYS_FACCESSAT2: {0, 1}, unix.SYS_CHDIR: {-1, 0}, unix.SYS_CHROOT: {-1, 0},
	unix.SYS_MKDIR: {-1, 0}, unix.SYS_MKDIRAT: {0, 1}, unix.SYS_MKNOD: {-1, 0}, unix.SYS_MKNODAT: {0, 1},
	unix.SYS_RMDIR: {-1, 0}, unix.SYS_UNLINK: {-1, 0}, unix.SYS_UNLINKAT: {0, 1},
	unix.SYS_RENAME: {-1, 1}, unix.SYS_RENAMEAT: {2, 3}, unix.SYS_RENAMEAT2: {2, 3},
	unix.SYS_LINK: {-1, 1}, unix.SYS_LINKAT: {2, 3}, unix.SYS_SYMLINK: {-1, 1}, unix.SYS_SYMLINKAT: {1, 2},
	unix.SYS_READLINK: {-1, 0}, unix.SYS_READLINKAT: {0, 1}, unix.SYS_CHMOD: {-1, 0}, unix.SYS_FCHMODAT: {0, 1},
	unix.SYS_CHOWN: {-1, 0}, unix.SYS_LCHOWN: {-1, 0}, unix.SYS_FCHOWNAT: {0, 1}, unix.SYS_UTIMENSAT: {0, 1},
	unix.SYS_TRUNCATE: {-1, 0}, unix.SYS_STATFS: {-1, 0}, unix.SYS_EXECVE: {-1, 0}, unix.SYS_EXECVEAT: {0, 1},
}

// otherAt is pathAt for the other path of a call that has two: what a file was called before, or has as another name.
var otherAt = map[uint64]struct{ dir, path int }{
	unix.SYS_RENAME: {-1, 0}, unix.SYS_RENAMEAT: {0, 1}, unix.SYS_RENAMEAT2: {0, 1}, unix.SYS_LINK: {-1, 0}, unix.SYS_LINKAT: {0, 1},
}

// subjects are the paths of the files that the call at which t stopped is about, as far as names show: one for most calls, and
// for those that have two names the new one first. They are no part of the event.
func subjects(k *Kernel, t *Thread) []string {
	c := &t.Call
	at, ok := pathAt[c.Nr]
	if !ok {
		if c.Nr == unix.SYS_MSYNC {
			addr, size := c.Args[0].Pointer(), c.Args[1].Size()
			return mappedNames(k, t, addr, addr+(size+4095)&^4095)
		}
		if !table[c.Nr].Descriptor && !opened[c.Nr] {
			return nil
		}
		if f := k.File(t, c.Args[0].Int()); f != nil && (f.Inode != 0 || f.Kind == kernel.FileSynth) {
			return []string{describe(k, f)}
		}
		return nil
	}
	names := []string{pathOf(k, t, at.dir, at.path)}
	if at, ok := otherAt[c.Nr]; ok {
		names = append(names, pathOf(k, t, at.dir, at.path))
	}
	if c.Nr == unix.SYS_SYMLINK || c.Nr == unix.SYS_SYMLINKAT { // it leads from the folder where it lies
		if target := nameAt(k, t, 0); target != "" && target[0] == '/' {
			names = append(names, path.Clean(target))
		} else if target != "" && names[0] != "" {
			names = append(names, path.Join(path.Dir(names[0]), target))
		}
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}

// nameAt reads a path among the arguments of the call at which t stopped.
func nameAt(k *Kernel, t *Thread, arg int) string {
	c := &t.Call
	digest := c.Digest
	name, _ := k.CString(t, c.Args[arg].Pointer(), unix.PathMax-1)
	c.Digest = digest
	return name
}

// pathOf resolves a path among the arguments of the call at which t stopped, or returns "". dir is the index of the
// argument that holds the folder where the path starts, or -1.
func pathOf(k *Kernel, t *Thread, dir, arg int) string {
	c, name := &t.Call, nameAt(k, t, arg)
	if name == "" {
		return ""
	}
	if name[0] == '/' {
		return path.Join("/", k.Node(t).FS.Name(root(k, k.Proc(t))), path.Clean(name))
	}
	from := ""
	if dir >= 0 && c.Args[dir].Int() != unix.AT_FDCWD {
		if f := k.File(t, c.Args[dir].Int()); f != nil && f.Inode != 0 {
			from = describe(k, f)
		}
	} else {
		from = k.Node(t).FS.Name(k.Proc(t).Cwd)
	}
	return path.Join("/", from, name)
}
