package daemon

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// fail is the result of a call that fails.
func fail(e unix.Errno) int64 { return -int64(e) }

// Bounds of what a call can ask for.
const (
	maxTransferBytes = 1 << 20
	maxVectors       = 1024
	maxPolled        = 1 << 14
	maxFiles         = 1 << 12
)

// answer decides what a call gives. What is not here is refused.
func (e *explorer) answer(r *unix.PtraceRegs) (int64, verdict) {
	number := r.Orig_rax
	fd := int(int32(r.Rdi))
	switch number {
	case unix.SYS_EXIT, unix.SYS_EXIT_GROUP:
		e.outcome.Code = int(r.Rdi & 0xff)
		return 0, ends
	case unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL:
		return e.signal(r)
	case unix.SYS_RESTART_SYSCALL:
		return fail(unix.EINTR), answered
	case unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_SET_TID_ADDRESS:
		return int64(e.daemon), answered
	case unix.SYS_GETPPID, unix.SYS_GETPGRP, unix.SYS_GETSID, unix.SYS_GETPGID:
		return 1, answered
	case unix.SYS_UMASK:
		return 0o022, answered
	case unix.SYS_WAIT4, unix.SYS_WAITID:
		return fail(unix.ECHILD), answered
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE, unix.SYS_FLOCK, unix.SYS_SHUTDOWN, unix.SYS_SETSOCKOPT:
		return e.known(fd, 0), answered
	case unix.SYS_ALARM, unix.SYS_SETITIMER, unix.SYS_MLOCK, unix.SYS_MUNLOCK:
		return 0, answered

	case unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_TIME:
		return e.time(r), answered
	case unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP:
		return e.sleep(r), answered
	case unix.SYS_GETCPU:
		return e.put(r.Rdi, make([]byte, 4), r.Rsi, make([]byte, 4)), answered
	case unix.SYS_GETRANDOM:
		return e.getrandom(r.Rdi, r.Rsi), answered
	case unix.SYS_FUTEX:
		const wake, command = 1, 0x7f
		if r.Rsi&command == wake {
			return 0, answered
		}
		return fail(unix.EAGAIN), answered

	case unix.SYS_POLL, unix.SYS_PPOLL:
		return e.poll(r)
	case unix.SYS_SELECT, unix.SYS_PSELECT6:
		return e.sel(r)
	case unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2:
		return e.epollWait(r)
	case unix.SYS_EPOLL_CTL:
		return e.epollCtl(r), answered
	case unix.SYS_PAUSE, unix.SYS_RT_SIGSUSPEND, unix.SYS_RT_SIGTIMEDWAIT:
		return 0, waits

	case unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG:
		return e.read(r)
	case unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PWRITE64, unix.SYS_SENDTO, unix.SYS_SENDMSG:
		return e.write(r), answered
	case unix.SYS_ACCEPT, unix.SYS_ACCEPT4:
		return e.accept(r)
	case unix.SYS_CONNECT:
		e.refuse(number)
		return e.known(fd, fail(unix.ECONNREFUSED)), answered
	case unix.SYS_SOCKET:
		return e.open(&file{name: "socket", kind: socket, family: uint16(r.Rdi), stream: r.Rsi&0xf == unix.SOCK_STREAM,
			connecting: true, flags: r.Rsi & unix.SOCK_NONBLOCK}, 0), answered
	case unix.SYS_OPEN:
		return e.openFile(number, r.Rdi, r.Rsi), answered
	case unix.SYS_OPENAT:
		return e.openFile(number, r.Rsi, r.Rdx), answered
	case unix.SYS_CLOSE:
		result := e.known(fd, 0)
		e.close(fd)
		return result, answered
	case unix.SYS_DUP, unix.SYS_DUP2, unix.SYS_DUP3:
		return e.dup(r), answered
	case unix.SYS_FCNTL:
		return e.fcntl(r), answered
	case unix.SYS_IOCTL:
		return e.ioctl(r), answered
	case unix.SYS_GETSOCKOPT:
		if f := e.files[fd]; f == nil || f.kind != socket {
			return e.known(fd, fail(unix.ENOTSOCK)), answered
		}
		return e.put(r.R10, make([]byte, 4), r.R8, []byte{4, 0, 0, 0}), answered
	case unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME:
		return e.name(r), answered
	case unix.SYS_FSTAT:
		return e.stat(fd, r.Rsi), answered
	case unix.SYS_NEWFSTATAT:
		var first [1]byte
		if r.R10&unix.AT_EMPTY_PATH != 0 && readMemory(e.pid, r.Rsi, first[:]) == nil && first[0] == 0 {
			return e.stat(fd, r.Rdx), answered
		}
	case unix.SYS_LSEEK:
		return e.known(fd, fail(unix.ESPIPE)), answered
	}
	e.refuse(number)
	return fail(unix.EPERM), answered
}

func (e *explorer) refuse(number uint64) {
	const most = 1000 // names that are kept
	name := callName(number)
	if _, ok := e.outcome.Refused[name]; ok || len(e.outcome.Refused) < most {
		e.outcome.Refused[name]++
	}
}

// callName is the name of a call that programs are known to make; others are called by number.
func callName(number uint64) string {
	names := map[uint64]string{
		unix.SYS_OPEN: "open", unix.SYS_OPENAT: "openat", unix.SYS_CREAT: "creat", unix.SYS_STAT: "stat",
		unix.SYS_NEWFSTATAT: "newfstatat", unix.SYS_FSTAT: "fstat",
		unix.SYS_ACCESS: "access", unix.SYS_UNLINK: "unlink", unix.SYS_RENAME: "rename", unix.SYS_MKDIR: "mkdir",
		unix.SYS_FORK: "fork", unix.SYS_VFORK: "vfork",
		unix.SYS_CLONE: "clone", unix.SYS_CLONE3: "clone3", unix.SYS_EXECVE: "execve", unix.SYS_EXECVEAT: "execveat",
		unix.SYS_PTRACE: "ptrace", unix.SYS_KILL: "kill",
		unix.SYS_TKILL: "tkill", unix.SYS_TGKILL: "tgkill", unix.SYS_CONNECT: "connect", unix.SYS_BIND: "bind",
		unix.SYS_LISTEN: "listen", unix.SYS_PIPE: "pipe",
		unix.SYS_PIPE2: "pipe2", unix.SYS_MMAP: "mmap", unix.SYS_MADVISE: "madvise", unix.SYS_PRCTL: "prctl", unix.SYS_PRLIMIT64: "prlimit64",
		unix.SYS_PROCESS_VM_WRITEV: "process_vm_writev", unix.SYS_SHMGET: "shmget", unix.SYS_SHMAT: "shmat",
		unix.SYS_SETUID: "setuid", unix.SYS_SENDMMSG: "sendmmsg",
		unix.SYS_RECVMMSG: "recvmmsg", unix.SYS_SOCKETPAIR: "socketpair", unix.SYS_MEMFD_CREATE: "memfd_create", unix.SYS_IO_URING_SETUP: "io_uring_setup",
	}
	if name, ok := names[number]; ok {
		return name
	}
	return fmt.Sprintf("call %d", number)
}

// known is a result, if a file is open.
func (e *explorer) known(fd int, result int64) int64 {
	if e.files[fd] == nil {
		return fail(unix.EBADF)
	}
	return result
}

// put writes pairs of an address, which may be 0, and bytes.
func (e *explorer) put(pairs ...any) int64 {
	for i := 0; i < len(pairs); i += 2 {
		if at := pairs[i].(uint64); at != 0 && writeMemory(e.pid, at, pairs[i+1].([]byte)) != nil {
			return fail(unix.EFAULT)
		}
	}
	return 0
}

// stat writes what kind of file one is, and nothing else about it.
func (e *explorer) stat(fd int, to uint64) int64 {
	f := e.files[fd]
	if f == nil {
		return fail(unix.EBADF)
	}
	s := make([]byte, 144) // struct stat
	modes := map[kind]uint32{other: unix.S_IFCHR, regular: unix.S_IFREG, given: unix.S_IFREG, socket: unix.S_IFSOCK, pipe: unix.S_IFIFO}
	le.PutUint64(s[16:], 1) // links
	le.PutUint32(s[24:], modes[f.kind]|0o600)
	le.PutUint64(s[56:], pageBytes) // st_blksize
	return e.put(to, s)
}

// signal lets an explorer send a signal to itself, as abort(3) does.
func (e *explorer) signal(r *unix.PtraceRegs) (int64, verdict) {
	target, signal := int(int32(r.Rdi)), unix.Signal(r.Rsi)
	if r.Orig_rax == unix.SYS_TGKILL {
		signal = unix.Signal(r.Rdx)
		if int(int32(r.Rsi)) != e.daemon {
			target = -1
		}
	}
	if target != e.daemon || signal < 0 || signal > 64 || signal == unix.SIGSTOP {
		e.refuse(r.Orig_rax)
		return fail(unix.EPERM), answered
	}
	if signal == 0 {
		return 0, answered
	}
	own, err := status(e.pid)
	if err != nil { // it was killed
		return fail(unix.ESRCH), answered
	}
	pid := uint64(inNamespace(own))
	r.Orig_rax, r.Rdi, r.Rsi, r.Rdx = unix.SYS_TGKILL, pid, pid, uint64(signal)
	return 0, made
}

func timespec(ns int64) []byte {
	return le.AppendUint64(le.AppendUint64(nil, uint64(ns/1e9)), uint64(ns%1e9))
}

func (e *explorer) time(r *unix.PtraceRegs) int64 {
	switch r.Orig_rax {
	case unix.SYS_TIME:
		s := uint64(e.clock.realtime / 1e9)
		if failed := e.put(r.Rdi, le.AppendUint64(nil, s)); failed != 0 {
			return failed
		}
		return int64(s)
	case unix.SYS_GETTIMEOFDAY:
		t := timespec(e.clock.realtime)
		le.PutUint64(t[8:], uint64(e.clock.realtime%1e9/1e3))
		return e.put(r.Rdi, t, r.Rsi, make([]byte, 8))
	}
	ns, ok := e.clock.now(int32(r.Rdi))
	if !ok {
		return fail(unix.EINVAL)
	}
	if r.Orig_rax == unix.SYS_CLOCK_GETRES {
		ns = 1
	}
	return e.put(r.Rsi, timespec(ns))
}

// span reads a struct timespec; ok is false when there is none.
func (e *explorer) span(at uint64) (d time.Duration, ok bool) {
	var b [16]byte
	if at == 0 || readMemory(e.pid, at, b[:]) != nil {
		return 0, false
	}
	return seconds(int64(le.Uint64(b[:]))) + time.Duration(le.Uint64(b[8:])%1e9), true
}

// seconds is a time span, which has a bound.
func seconds(s int64) time.Duration { return time.Duration(min(max(s, 0), 1e9)) * time.Second }

func (e *explorer) sleep(r *unix.PtraceRegs) int64 {
	at, absolute := r.Rdi, false
	if r.Orig_rax == unix.SYS_CLOCK_NANOSLEEP {
		at, absolute = r.Rdx, r.Rsi&1 != 0
	}
	d, ok := e.span(at)
	if !ok {
		return fail(unix.EFAULT)
	}
	if absolute {
		now, ok := e.clock.now(int32(r.Rdi))
		if !ok {
			return fail(unix.EINVAL)
		}
		d = max(0, d-time.Duration(now))
	}
	e.clock.advance(d)
	return 0
}

func (e *explorer) getrandom(to, length uint64) int64 {
	b := make([]byte, min(length, 1<<16))
	for i := range b { // xorshift64
		e.random ^= e.random << 13
		e.random ^= e.random >> 7
		e.random ^= e.random << 17
		b[i] = byte(e.random >> 32)
	}
	if failed := e.put(to, b); failed != 0 {
		return failed
	}
	return int64(len(b))
}

// feed makes the next input available. It reports false when there is none.
func (e *explorer) feed() bool {
	if len(e.inputs) == 0 {
		return false
	}
	in := e.inputs[0]
	e.inputs = e.inputs[1:]
	f := e.files[in.FD]
	switch {
	case in.Advance != 0:
		e.clock.advance(in.Advance)
	case f == nil || f.listen != in.Accept: // it was closed
		e.outcome.Unread += max(len(in.Data), 1)
	case in.Accept:
		f.clients = append(f.clients, in)
	default:
		if f.stream || f.kind != socket {
			f.input = append(f.input[:len(f.input):len(f.input)], in.Data...)
		} else {
			f.messages = append(f.messages[:len(f.messages):len(f.messages)], in.Data)
		}
		f.end = f.end || in.End
	}
	return true
}

// await feeds inputs until something is ready, or the time of a wait is over, which is none if it is negative.
func (e *explorer) await(timeout time.Duration, ready func() int) (n int, v verdict) {
	deadline := e.clock.monotonic + int64(timeout)
	for {
		if n := ready(); n != 0 || timeout == 0 || timeout > 0 && e.clock.monotonic >= deadline {
			return n, answered
		}
		if !e.feed() {
			return 0, waits
		}
	}
}

// Events of poll(2) that mean the same as POLLIN and POLLOUT.
const pollReadNormal, pollWriteNormal = 0x40, 0x100

// revents are the events of a file among those that are asked for.
func (e *explorer) revents(f *file, events uint32) (got uint32) {
	if f.readable() {
		got |= unix.POLLIN | pollReadNormal
	}
	if f.writable() {
		got |= unix.POLLOUT | pollWriteNormal
	}
	return got & events
}

func (e *explorer) poll(r *unix.PtraceRegs) (int64, verdict) {
	const entryBytes = 8
	if r.Rsi > maxPolled {
		return fail(unix.EINVAL), answered
	}
	list := make([]byte, r.Rsi*entryBytes)
	if len(list) > 0 && readMemory(e.pid, r.Rdi, list) != nil {
		return fail(unix.EFAULT), answered
	}
	timeout := time.Duration(int32(r.Rdx)) * time.Millisecond
	if r.Orig_rax == unix.SYS_PPOLL {
		var ok bool
		if timeout, ok = e.span(r.Rdx); !ok {
			timeout = -1
		}
	}
	n, v := e.await(timeout, func() (n int) {
		for entry := range slices.Chunk(list, entryBytes) {
			fd := int(int32(le.Uint32(entry)))
			got := uint32(0)
			if f := e.files[fd]; f != nil {
				got = e.revents(f, uint32(le.Uint16(entry[4:])))
			} else if fd >= 0 {
				got = unix.POLLNVAL
			}
			le.PutUint16(entry[6:], uint16(got))
			if got != 0 {
				n++
			}
		}
		return n
	})
	if v == answered && len(list) > 0 && writeMemory(e.pid, r.Rdi, list) != nil {
		return fail(unix.EFAULT), answered
	}
	return int64(n), v
}

func (e *explorer) sel(r *unix.PtraceRegs) (int64, verdict) {
	if r.Rdi > unix.FD_SETSIZE {
		return fail(unix.EINVAL), answered
	}
	bytes := int(r.Rdi+63) / 64 * 8
	at := []uint64{r.Rsi, r.Rdx, r.R10}
	asked, got := make([][]byte, len(at)), make([][]byte, len(at))
	for i, a := range at {
		asked[i] = make([]byte, bytes)
		if a != 0 && bytes > 0 && readMemory(e.pid, a, asked[i]) != nil {
			return fail(unix.EFAULT), answered
		}
	}
	timeout, ok := e.span(r.R8)
	if !ok {
		timeout = -1
	} else if r.Orig_rax == unix.SYS_SELECT { // struct timeval
		timeout = timeout/time.Second*time.Second + min(timeout%time.Second*1000, time.Second-1)
	}
	bad := false
	n, v := e.await(timeout, func() (n int) {
		for i := range got {
			got[i] = make([]byte, bytes)
			for fd := range int(r.Rdi) {
				bit := byte(1) << (fd % 8)
				if asked[i][fd/8]&bit == 0 {
					continue
				}
				f := e.files[fd]
				if f == nil {
					bad = true
					return 1
				}
				if i == 0 && f.readable() || i == 1 && f.writable() {
					got[i][fd/8] |= bit
					n++
				}
			}
		}
		return n
	})
	if bad {
		return fail(unix.EBADF), answered
	}
	if v == answered && bytes > 0 {
		if failed := e.put(at[0], got[0], at[1], got[1], at[2], got[2]); failed != 0 {
			return failed, answered
		}
	}
	return int64(n), v
}

// Events of epoll(7) that are not ready but describe how to report.
const (
	edge   = unix.EPOLLET & 0xffffffff
	single = unix.EPOLLONESHOT
)

func (e *explorer) epollCtl(r *unix.PtraceRegs) int64 {
	f, fd := e.files[int(int32(r.Rdi))], int(int32(r.Rdx))
	if f == nil || e.files[fd] == nil {
		return fail(unix.EBADF)
	}
	if f.kind != epoll {
		return fail(unix.EINVAL)
	}
	_, have := f.interest[fd]
	switch r.Rsi {
	case unix.EPOLL_CTL_DEL:
		if !have {
			return fail(unix.ENOENT)
		}
		delete(f.interest, fd)
		return 0
	case unix.EPOLL_CTL_ADD:
		if have {
			return fail(unix.EEXIST)
		}
	case unix.EPOLL_CTL_MOD:
		if !have {
			return fail(unix.ENOENT)
		}
	default:
		return fail(unix.EINVAL)
	}
	var b [12]byte
	if readMemory(e.pid, r.R10, b[:]) != nil {
		return fail(unix.EFAULT)
	}
	f.interest[fd] = interest{events: le.Uint32(b[:]), data: le.Uint64(b[4:])}
	return 0
}

func (e *explorer) epollWait(r *unix.PtraceRegs) (int64, verdict) {
	f := e.files[int(int32(r.Rdi))]
	if f == nil || f.kind != epoll {
		return fail(unix.EBADF), answered
	}
	most := int(int32(r.Rdx))
	if most <= 0 {
		return fail(unix.EINVAL), answered
	}
	timeout := time.Duration(int32(r.R10)) * time.Millisecond
	if r.Orig_rax == unix.SYS_EPOLL_PWAIT2 {
		var ok bool
		if timeout, ok = e.span(r.R10); !ok {
			timeout = -1
		}
	}
	var list []byte
	n, v := e.await(timeout, func() (n int) {
		for fd := range maxFiles {
			i, have := f.interest[fd]
			target := e.files[fd]
			if !have || target == nil || n == most {
				continue
			}
			got := e.revents(target, i.events)
			if i.events&edge != 0 && i.spent {
				got &= unix.POLLIN
			}
			if got == 0 || i.events&single != 0 && i.spent {
				continue
			}
			i.spent = true
			f.interest[fd] = i
			list = le.AppendUint64(le.AppendUint32(list, got), i.data)
			n++
		}
		return n
	})
	if n > 0 && writeMemory(e.pid, r.Rsi, list) != nil {
		return fail(unix.EFAULT), answered
	}
	return int64(n), v
}

// vector is memory of an explorer.
type vector struct{ at, bytes uint64 }

// vectors reads an array of struct iovec.
func (e *explorer) vectors(at, n uint64) ([]vector, unix.Errno) {
	if n > maxVectors {
		return nil, unix.EINVAL
	}
	b := make([]byte, n*16)
	if n > 0 && readMemory(e.pid, at, b) != nil {
		return nil, unix.EFAULT
	}
	var list []vector
	for v := range slices.Chunk(b, 16) {
		list = append(list, vector{le.Uint64(v), le.Uint64(v[8:])})
	}
	return list, 0
}

// message is struct msghdr.
type message struct {
	name, nameBytes uint64
	vectors         []vector
}

func (e *explorer) message(at uint64) (m message, failed unix.Errno) {
	var b [56]byte
	if readMemory(e.pid, at, b[:]) != nil {
		return m, unix.EFAULT
	}
	m.name, m.nameBytes = le.Uint64(b[:]), uint64(le.Uint32(b[8:]))
	m.vectors, failed = e.vectors(le.Uint64(b[16:]), le.Uint64(b[24:]))
	return m, failed
}

func (e *explorer) read(r *unix.PtraceRegs) (int64, verdict) {
	f := e.files[int(int32(r.Rdi))]
	if f == nil {
		return fail(unix.EBADF), answered
	}
	list, failed, flags := []vector{{r.Rsi, r.Rdx}}, unix.Errno(0), uint64(0)
	switch r.Orig_rax {
	case unix.SYS_READV:
		list, failed = e.vectors(r.Rsi, r.Rdx)
	case unix.SYS_RECVFROM:
		flags = r.R10
	case unix.SYS_RECVMSG:
		var m message
		m, failed = e.message(r.Rsi)
		list, flags = m.vectors, r.Rdx
	}
	if failed != 0 {
		return fail(failed), answered
	}
	if f.kind == regular || f.listen {
		return fail(unix.EINVAL), answered
	}
	if _, v := e.block(f, flags&unix.MSG_DONTWAIT != 0); v == waits {
		return 0, waits
	}
	if !f.readable() {
		return fail(unix.EAGAIN), answered
	}
	from, whole := &f.input, false
	if len(f.messages) > 0 {
		from, whole = &f.messages[0], true
	}
	data, n := *from, int64(0)
	for _, v := range list {
		part := min(v.bytes, uint64(len(data)))
		if part > 0 && writeMemory(e.pid, v.at, data[:part]) != nil {
			return fail(unix.EFAULT), answered
		}
		data, n = data[part:], n+int64(part)
	}
	if flags&unix.MSG_PEEK == 0 {
		if *from = data; whole {
			f.messages = f.messages[1:]
		}
	}
	return n, e.writeSender(f, r)
}

// writeSender writes the address of a sender if the call wants it, and that the message has no ancillary data.
func (e *explorer) writeSender(f *file, r *unix.PtraceRegs) verdict {
	switch r.Orig_rax {
	case unix.SYS_RECVFROM:
		if r.R8 != 0 {
			e.address(f.remote, r.R8, r.R9)
		}
	case unix.SYS_RECVMSG:
		e.put(r.Rsi+8, make([]byte, 4), r.Rsi+40, make([]byte, 8), r.Rsi+48, make([]byte, 4))
	}
	return answered
}

// block waits for something to read, unless the file says not to.
func (e *explorer) block(f *file, never bool) (int, verdict) {
	timeout := time.Duration(-1)
	if never || f.flags&unix.O_NONBLOCK != 0 {
		timeout = 0
	}
	return e.await(timeout, func() int {
		if f.readable() {
			return 1
		}
		return 0
	})
}

func (e *explorer) write(r *unix.PtraceRegs) int64 {
	fd := int(int32(r.Rdi))
	f := e.files[fd]
	if f == nil {
		return fail(unix.EBADF)
	}
	list, failed, to, toBytes := []vector{{r.Rsi, r.Rdx}}, unix.Errno(0), uint64(0), uint64(0)
	switch r.Orig_rax {
	case unix.SYS_WRITEV:
		list, failed = e.vectors(r.Rsi, r.Rdx)
	case unix.SYS_SENDTO:
		to, toBytes = r.R8, r.R9
	case unix.SYS_SENDMSG:
		var m message
		m, failed = e.message(r.Rsi)
		list, to, toBytes = m.vectors, m.name, m.nameBytes
	}
	if failed != 0 {
		return fail(failed)
	}
	if f.connecting && f.stream {
		return fail(unix.ENOTCONN)
	}
	var data []byte
	for _, v := range list {
		b := make([]byte, min(v.bytes, maxTransferBytes-uint64(len(data))))
		if len(b) > 0 && readMemory(e.pid, v.at, b) != nil {
			return fail(unix.EFAULT)
		}
		data = append(data, b...)
	}
	name := ""
	if to != 0 {
		b := make([]byte, min(toBytes, 128))
		if len(b) > 0 && readMemory(e.pid, to, b) == nil {
			name = socketName(b)
		}
	}
	e.record(fd, f, name, data)
	return int64(len(data))
}

func (e *explorer) accept(r *unix.PtraceRegs) (int64, verdict) {
	f := e.files[int(int32(r.Rdi))]
	if f == nil {
		return fail(unix.EBADF), answered
	}
	if !f.listen {
		return fail(unix.EINVAL), answered
	}
	if _, v := e.block(f, false); v == waits {
		return 0, waits
	}
	if len(f.clients) == 0 {
		return fail(unix.EAGAIN), answered
	}
	in := f.clients[0]
	f.clients = f.clients[1:]
	client := &file{name: f.name, peer: "client of " + f.name, kind: socket, family: f.family, stream: true, local: f.local, input: in.Data, end: in.End}
	client.remote = client.somebody()
	if r.Orig_rax == unix.SYS_ACCEPT4 {
		client.flags = r.R10 & unix.O_NONBLOCK
	}
	if r.Rsi != 0 {
		e.address(client.remote, r.Rsi, r.Rdx)
	}
	return e.open(client, 0), answered
}

// open gives a file the lowest number that is free.
func (e *explorer) open(f *file, from int) int64 {
	for fd := max(from, 0); fd < maxFiles; fd++ {
		if e.files[fd] == nil {
			e.files[fd] = f
			return int64(fd)
		}
	}
	return fail(unix.EMFILE)
}

// openFile opens a file that was given to the copy, or a log once more. Others are refused.
func (e *explorer) openFile(number, path, flags uint64) int64 {
	name, failed := e.text(path)
	if failed != 0 {
		return fail(failed)
	}
	if data, ok := e.given[name]; ok && flags&unix.O_ACCMODE == unix.O_RDONLY {
		return e.open(&file{name: name, kind: given, stream: true, input: data, end: true}, 0)
	}
	for _, f := range e.files {
		if f.kind == regular && f.name == name && flags&unix.O_ACCMODE == unix.O_WRONLY && flags&unix.O_TRUNC == 0 {
			return e.open(&file{name: name, kind: regular}, 0)
		}
	}
	e.refuse(number)
	return fail(unix.EPERM)
}

// text reads a text that ends with a zero.
func (e *explorer) text(at uint64) (string, unix.Errno) {
	const most = 4096 // PATH_MAX
	var b []byte
	for len(b) < most {
		part := make([]byte, pageBytes-at%pageBytes) // the next page may not be there
		if readMemory(e.pid, at, part) != nil {
			return "", unix.EFAULT
		}
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(append(b, part[:end]...)), 0
		}
		b, at = append(b, part...), at+uint64(len(part))
	}
	return "", unix.ENAMETOOLONG
}

func (e *explorer) close(fd int) {
	f := e.files[fd]
	if f == nil {
		return
	}
	delete(e.files, fd)
	for _, other := range e.files {
		if other == f {
			return
		}
	}
	e.outcome.Unread += f.unread()
	for _, other := range e.files {
		delete(other.interest, fd)
	}
}

func (e *explorer) dup(r *unix.PtraceRegs) int64 {
	fd, to := int(int32(r.Rdi)), int(int32(r.Rsi))
	f := e.files[fd]
	switch {
	case f == nil:
		return fail(unix.EBADF)
	case r.Orig_rax == unix.SYS_DUP:
		return e.open(f, 0)
	case to < 0 || to >= maxFiles:
		return fail(unix.EBADF)
	case to != fd:
		e.close(to)
		e.files[to] = f
	}
	return int64(to)
}

func (e *explorer) fcntl(r *unix.PtraceRegs) int64 {
	f := e.files[int(int32(r.Rdi))]
	if f == nil {
		return fail(unix.EBADF)
	}
	switch r.Rsi {
	case unix.F_GETFL:
		return int64(f.flags)
	case unix.F_SETFL:
		const settable = unix.O_NONBLOCK | unix.O_APPEND
		f.flags = f.flags&^settable | r.Rdx&settable
		return 0
	case unix.F_GETFD, unix.F_SETFD, unix.F_SETLK, unix.F_SETLKW:
		return 0
	case unix.F_DUPFD, unix.F_DUPFD_CLOEXEC:
		return e.open(f, int(int32(r.Rdx)))
	}
	return fail(unix.EINVAL)
}

// setNonblocking is FIONBIO of ioctl(2).
const setNonblocking = 0x5421

func (e *explorer) ioctl(r *unix.PtraceRegs) int64 {
	f := e.files[int(int32(r.Rdi))]
	if f == nil {
		return fail(unix.EBADF)
	}
	switch r.Rsi {
	case unix.TIOCINQ:
		return e.put(r.Rdx, le.AppendUint32(nil, uint32(f.unread())))
	case setNonblocking:
		var b [4]byte
		if readMemory(e.pid, r.Rdx, b[:]) != nil {
			return fail(unix.EFAULT)
		}
		f.flags &^= unix.O_NONBLOCK
		if le.Uint32(b[:]) != 0 {
			f.flags |= unix.O_NONBLOCK
		}
		return 0
	}
	return fail(unix.ENOTTY)
}

func (e *explorer) name(r *unix.PtraceRegs) int64 {
	f := e.files[int(int32(r.Rdi))]
	switch {
	case f == nil:
		return fail(unix.EBADF)
	case f.kind != socket:
		return fail(unix.ENOTSOCK)
	case r.Orig_rax == unix.SYS_GETSOCKNAME:
		return e.address(f.local, r.Rsi, r.Rdx)
	case f.listen || f.peer == "" && f.family != unix.AF_UNIX:
		return fail(unix.ENOTCONN)
	}
	return e.address(f.remote, r.Rsi, r.Rdx)
}

// address writes a socket address to a buffer whose length is at another place.
func (e *explorer) address(a []byte, to, length uint64) int64 {
	var b [4]byte
	if readMemory(e.pid, length, b[:]) != nil {
		return fail(unix.EFAULT)
	}
	part := a[:min(len(a), int(le.Uint32(b[:])))]
	le.PutUint32(b[:], uint32(len(a)))
	return e.put(to, part, length, b[:])
}
