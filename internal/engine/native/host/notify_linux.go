//go:build linux && amd64

package host

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Most calls need no ptrace stop: the filter hands them over as notifications (seccomp_unotify(2)), and the thread waits in
// the kernel for its answer. That is a third cheaper than a stop, its registers and going on. A thread that waits for an
// answer is no subject of ptrace: where its registers or its mask of signals are needed, or where it must make a call of the
// engine's choice, withdraw brings it to a stop first. Calls that always need that, and all that are made under the
// reference (RET_TRACE alone), stop at once.
//
// A forked copy and what it executes have the same filter and the same listener. Since one thread runs at a time, the next
// notification is always that of the thread that the engine let run.

// notice is struct seccomp_notif.
type notice struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// letAndReceive makes the system call nr, which lets a thread run, and if that returns 0, receives the next notification.
// Until the latter has begun to wait, a signal that reports a thread's stop must not be lost: childHandler leads around it.
func letAndReceive(nr, a1, a2, a3, a4, listener, notice uintptr) (first, second uintptr)

func notifyAddresses() (code, handler uintptr)

// What childHandler leads around: from behind the first SYSCALL of letAndReceive up to the second.
var windowFrom, windowTo uintptr

var (
	childSignals sync.Mutex
	heeded       bool // childHandler is there
)

// heedChildren makes SIGCHLD end the wait for a notification: it reports ptrace stops. The kernel sends it to the very
// thread that traces, if it can take it.
func heedChildren() error {
	childSignals.Lock()
	defer childSignals.Unlock()
	if heeded {
		return nil
	}
	code, handler := notifyAddresses()
	text := unsafe.Slice((*byte)(unsafe.Add(nil, code)), 256)
	call := []byte{0x0f, 0x05}
	first := bytes.Index(text, call)
	second := first + 2 + bytes.Index(text[first+2:], call)
	windowFrom, windowTo = code+uintptr(first)+2, code+uintptr(second)
	var sa sigaction
	if errno := rtSigaction(unix.SIGCHLD, nil, &sa); errno != 0 {
		return fmt.Errorf("sigaction: %w", errno)
	}
	sa.handler = handler
	sa.flags &^= saRestart | saNoCldStop
	if errno := rtSigaction(unix.SIGCHLD, &sa, nil); errno != 0 {
		return fmt.Errorf("sigaction: %w", errno)
	}
	heeded = true
	return nil
}

// quietChildSignals sets SA_NOCLDSTOP for SIGCHLD, where no thread heeds it: every ptrace stop would signal the Go runtime
// otherwise, which makes a stop a fifth slower.
func quietChildSignals() {
	childSignals.Lock()
	defer childSignals.Unlock()
	if heeded {
		return
	}
	var sa sigaction
	rtSigaction(unix.SIGCHLD, nil, &sa)
	sa.flags |= saNoCldStop
	rtSigaction(unix.SIGCHLD, &sa, nil)
}

// listener receives the notifications of a process that was started, and of all its descendants.
type listener struct{ fd int }

// noNotices says why this machine has no notifications for us.
type noNotices struct{ error }

// listen takes the listener over from a process that has just installed its filter; fd is its number there, or an errno below 0.
func (m *Machine) listen(t *thread, fd int64) error {
	if fd < 0 {
		return &noNotices{fmt.Errorf("seccomp with a listener: %w", syscall.Errno(-fd))}
	}
	pidfd, err := unix.PidfdOpen(t.tgid, 0)
	if err != nil {
		return &noNotices{fmt.Errorf("pidfd_open: %w", err)}
	}
	defer unix.Close(pidfd)
	own, err := unix.PidfdGetfd(pidfd, int(fd), 0)
	if err != nil {
		return &noNotices{fmt.Errorf("pidfd_getfd: %w", err)}
	}
	m.execute(t, unix.SYS_CLOSE, uint64(fd))
	t.listener = &listener{fd: own}
	m.tracer.listeners = append(m.tracer.listeners, t.listener)
	return nil
}

// proceed lets a thread run, from a ptrace stop by the given request, or with the answer that it waits for, to the next
// thing that it does: it makes a notified call (noticed; the notice is in m.notice), or stops or ends as status says.
func (m *Machine) proceed(t *thread, request int) (noticed bool, status syscall.WaitStatus, errno syscall.Errno) {
	if t.listener == nil {
		ptrace(request, t.tid, 0, 0)
		status, errno = m.wait(t)
		return false, status, errno
	}
	var first, second uintptr
	unsent := false
	switch t.at {
	case atAnswered, atPassed:
		first, second = m.send(t)
		unsent = first != 0
	default:
		t.stepping = false
		_, second = m.letAndReceive(t, unix.SYS_PTRACE, uintptr(request), uintptr(t.tid), 0, 0)
	}
	for {
		for second != 0 { // a signal came first: of a stop, or of Go's runtime (see wait4)
			m.status = 0
			first, second = m.letAndReceive(t, unix.SYS_WAIT4, uintptr(t.tid), uintptr(unsafe.Pointer(&m.status)), unix.WALL|unix.WNOHANG, 0)
			if int(first) > 0 {
				if status = syscall.WaitStatus(m.status); unsent && status.Stopped() {
					m.withdrawn(t) // an interruption by the watchdog had come between
				}
				return false, status, 0
			}
			if int(first) < 0 {
				return false, 0, syscall.Errno(-first)
			}
			m.bury(t)
			runtime.Gosched()
		}
		o := m.notifier(t)
		o.notice, o.after = m.notice.id, m.notice.ip
		switch {
		case o != t:
			second = again
		case unsent:
			first, second = m.send(t)
			unsent = first != 0
		default:
			t.at = atNotice
			return true, 0, 0
		}
	}
}

// again, in the place of the result of a receipt, has the next notification received.
const again = 1

// letAndReceive makes the system call nr, which lets t run, and if that returns 0, receives the next notification into m.notice.
func (m *Machine) letAndReceive(t *thread, nr, a1, a2, a3, a4 uintptr) (first, second uintptr) {
	m.notice = notice{}
	return m.let(nr, a1, a2, a3, a4, uintptr(t.listener.fd), uintptr(unsafe.Pointer(&m.notice)))
}

// send answers the notification in which t waits, and receives the next one.
func (m *Machine) send(t *thread) (first, second uintptr) {
	m.answer = answer{id: t.notice, value: t.value}
	if t.at == atPassed {
		m.answer = answer{id: t.notice, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	for {
		first, second = m.letAndReceive(t, unix.SYS_IOCTL, uintptr(t.listener.fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&m.answer)), 0)
		if syscall.Errno(-first) != syscall.EINTR {
			return first, second
		}
		runtime.Gosched() // nothing was sent: another thread held the listener's lock as a signal came
	}
}

// notifier is the thread whose notification was received. Where it is not t, the call is made again: whatever freezes a process (a
// laptop that sleeps, a container that is paused) ends its wait for an answer, and the call, begun anew when the process is thawed, has
// a notification of its own.
func (m *Machine) notifier(t *thread) *thread {
	pid := int(m.notice.pid)
	if pid == t.tid {
		return t
	}
	if o := m.tracer.notifier(pid); o != nil {
		return o
	}
	panic(fmt.Sprintf("host: a call of thread %d, which does not run", pid))
}

// noticed distinguishes a call from its notification.
func (m *Machine) noticed(stop *machine.Stop) {
	n := &m.notice
	stop.Kind = machine.StopCall
	stop.Nr, stop.Args, stop.IP = uint64(uint32(n.nr)), n.args, n.ip
	stop.Foreign = n.arch != auditArchX8664 || n.nr&x32Bit != 0
}

// withdraw brings a thread to a ptrace stop at which no call is left to the real kernel. Where it waits in a notification, a signal
// ends its wait before any answer.
func (m *Machine) withdraw(t *thread) {
	if t.at == atLet {
		t.at = atCall
		t.set(m.Native(t.id))
		return
	}
	if t.at != atNotice && t.at != atAnswered && t.at != atPassed {
		return
	}
	unix.Tgkill(t.tgid, t.tid, unix.SIGSTOP)
	if status, errno := m.wait(t); errno != 0 || !status.Stopped() {
		t.queued = &machine.Stop{Kind: machine.StopExit, Status: status}
		t.at = atStart
		return
	}
	m.withdrawn(t)
}

// withdrawn does for a thread whose notification is gone, and which has stopped, what its answer would have done.
func (m *Machine) withdrawn(t *thread) {
	was := t.at
	t.at, t.loaded, t.dirty = atWithdrawn, false, false
	if t.stepping {
		t.stepping = false
		t.unflag()
	}
	value := t.value
	switch was {
	case atNotice:
		return
	case atPassed:
		r := t.load()
		value = m.execute(t, r.Orig_rax, r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9)
	}
	t.set(value)
}
