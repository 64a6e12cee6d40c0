//go:build bloodhound_live && linux && amd64

package checkpoint

import (
	"encoding/binary"
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// explorers holds what a checkpoint needs to make explorers: its plan, its pipes and its parent.
type explorers struct {
	*Plan
	in, out, parent int
	result          int // the number of the file that an explorer writes its result to
}

// serve is all that the checkpoint does: it does not return.
func (e *explorers) serve() {
	step, err := e.shutIn()
	var code unix.Errno
	if err != nil && !errors.As(err, &code) {
		code = unix.EINVAL
	}
	if step == 0 && e.Prepare != nil {
		e.Prepare()
	}
	e.send([]byte{step, byte(code)})
	if step != 0 {
		exit(1)
	}
	var head [12]byte
	for {
		e.receive(head[:])
		input := make([]byte, min(binary.LittleEndian.Uint32(head[8:]), MaxInputBytes))
		e.receive(input)
		e.try(input, unix.NsecToTimespec(int64(binary.LittleEndian.Uint64(head[:]))))
	}
}

// exit ends this process without what the live one would do at its end.
func exit(code int) {
	for {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(code), 0, 0)
	}
}

// receive reads the next bytes of requests. The checkpoint ends when there are no more.
func (e *explorers) receive(b []byte) {
	for len(b) > 0 {
		n, err := unix.Read(e.in, b)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			exit(0)
		}
		b = b[n:]
	}
}

func (e *explorers) send(b []byte) {
	for len(b) > 0 {
		n, err := unix.Write(e.out, b)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			exit(0)
		}
		b = b[n:]
	}
}

// try forks an explorer for an input, waits for its end for a time, and sends what came of it.
func (e *explorers) try(input []byte, budget unix.Timespec) {
	o, err := e.outcome(input, &budget)
	if err != nil {
		code, _ := err.(unix.Errno)
		o = &Outcome{Status: notForked, Faults: int(code)}
	}
	e.reply(o)
}

func (e *explorers) outcome(input []byte, budget *unix.Timespec) (*Outcome, error) {
	var result, log [2]int
	if err := unix.Pipe2(result[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer unix.Close(result[0])
	if err := unix.Pipe2(log[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		unix.Close(result[1])
		return nil, err
	}
	defer unix.Close(log[0])
	checkpoint := unix.Getpid()
	var pidfd int32
	pid, _, code := unix.RawSyscall6(unix.SYS_CLONE, cloneFlags, 0, uintptr(unsafe.Pointer(&pidfd)), 0, 0, 0)
	if pid == 0 {
		if endWith(checkpoint) != nil {
			exit(1)
		}
		e.explore(input, result[1], log[1])
	}
	unix.Close(result[1]) // what is read ends when the explorer does
	unix.Close(log[1])
	if code != 0 {
		return nil, code
	}
	defer unix.Close(int(pidfd))
	o := &Outcome{Status: Stuck}
	if !e.collect(o, result[0], budget) || !readable(int(pidfd), budget) {
		unix.RawSyscall6(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(pidfd), uintptr(unix.SIGKILL), 0, 0, 0, 0)
	}
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		if _, err := unix.Wait4(int(pid), &status, 0, &usage); err != unix.EINTR {
			break
		}
	}
	switch {
	case status.Exited() && status.ExitStatus() == exitDone:
		o.Status = Done
	case status.Signal() != unix.SIGKILL:
		o.Status = Crashed
	}
	if o.Status != Done {
		o.Result = nil
	}
	o.Faults = int(usage.Minflt)
	o.CPU = time.Duration(unix.TimevalToNsec(usage.Utime) + unix.TimevalToNsec(usage.Stime))
	o.Log = make([]byte, maxLogBytes)
	n, _ := unix.Read(log[0], o.Log)
	o.Log = o.Log[:max(n, 0)]
	return o, nil
}

// exitDone is the exit code of an explorer whose run returned, another one than a program gives.
const exitDone = 113

// explore is all that an explorer does: it does not return.
func (e *explorers) explore(input []byte, result, log int) {
	unix.Close(e.in)
	unix.Close(e.out)
	unix.Dup3(log, 1, 0)
	unix.Dup3(log, 2, 0)
	if err := unix.Dup3(result, e.result, 0); err != nil {
		exit(1)
	}
	unix.CloseRange(3, uint(e.in-1), 0)
	e.out = e.result
	e.send(e.Run(input))
	exit(exitDone)
}

// collect reads a result until its end. It reports false if the time is over before.
func (e *explorers) collect(o *Outcome, fd int, left *unix.Timespec) bool {
	buffer := make([]byte, 1<<16)
	for {
		if !readable(fd, left) {
			return false
		}
		n, err := unix.Read(fd, buffer)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return true
		}
		if o.Result = append(o.Result, buffer[:n]...); len(o.Result) > MaxResultBytes {
			return false
		}
	}
}

// readable waits until a file can be read, which that of a process can when it has ended. It reports false if the time is over
// before. The kernel takes the time that it waited from what is left, so that no clock is needed (poll(2)).
func readable(fd int, left *unix.Timespec) bool {
	p := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	for {
		n, _, code := unix.Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(left)), 0, 0, 0)
		if code != unix.EINTR {
			return code == 0 && n == 1
		}
	}
}

func (e *explorers) reply(o *Outcome) {
	head := []byte{byte(o.Status)}
	for _, n := range []int{o.Faults, len(o.Result), len(o.Log)} {
		head = binary.LittleEndian.AppendUint32(head, uint32(n))
	}
	e.send(binary.LittleEndian.AppendUint64(head, uint64(o.CPU)))
	e.send(o.Result)
	e.send(o.Log)
}
