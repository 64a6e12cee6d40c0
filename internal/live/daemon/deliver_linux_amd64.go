package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// explorer is a copy that runs.
type explorer struct {
	pid     int
	handle  int // a pidfd, which names no other process later
	daemon  int // the process id that it believes to have
	files   map[int]*file
	clock   clock
	inputs  []Input
	written int    // bytes of outputs and logs
	random  uint64 // the state of a generator of numbers
	outcome *Outcome
	reaped  bool
}

// Deliver forks an explorer, gives it inputs until it waits and has none left, or its budget is used up, and kills it.
func (c *Checkpoint) Deliver(inputs []Input, budget Budget) (o *Outcome, err error) {
	for _, in := range inputs {
		f := c.files[in.FD]
		if in.Advance != 0 {
			if in.Advance < 0 {
				return nil, fmt.Errorf("an input advances the clock by %v: clocks do not go back", in.Advance)
			}
			continue
		}
		if f == nil || f.listen != in.Accept {
			return nil, fmt.Errorf("an input is for file %d (a client: %v), which the daemon has not open that way: it has %+v", in.FD, in.Accept, c.Files())
		}
	}
	err = c.do(func() (err error) {
		o, err = c.deliver(inputs, budget)
		return err
	})
	return o, err
}

func (c *Checkpoint) deliver(inputs []Input, budget Budget) (*Outcome, error) {
	var pid int
	c.gate.made = func(child int) error {
		pid = child
		return first(child)
	}
	if _, err := c.gate.call(unix.SYS_CLONE, uint64(unix.SIGCHLD), 0); err != nil {
		return nil, fmt.Errorf("the checkpoint cannot make an explorer: %w", err)
	}
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		unix.Kill(pid, unix.SIGKILL)
		return nil, err
	}
	defer unix.Close(handle)
	e := &explorer{pid: pid, handle: handle, daemon: c.daemon, clock: c.clock, inputs: inputs, random: 1, files: cloneFiles(c.files), outcome: &Outcome{Status: Stuck, Refused: map[string]int{}}}
	runs := e.begin(c)
	if runs == nil {
		end := e.watch(budget.CPU)
		runs = e.run(budget)
		end()
	}
	e.kill()
	for !e.reaped {
		if _, err := e.wait(); err != nil {
			return nil, err
		}
	}
	if _, err := c.gate.call(unix.SYS_WAIT4, uint64(pid), 0, unix.WALL, 0); err != nil {
		return nil, fmt.Errorf("the checkpoint cannot reap an explorer: %w", err)
	}
	if runs != nil {
		return nil, runs
	}
	for _, f := range unique(e.files) {
		e.outcome.Unread += f.unread()
	}
	e.outcome.Unread += len(e.inputs)
	return e.outcome, nil
}

func cloneFiles(files map[int]*file) map[int]*file {
	clones := map[*file]*file{}
	list := make(map[int]*file, len(files))
	for fd, f := range files {
		if clones[f] == nil {
			own := *f
			own.interest = maps.Clone(f.interest)
			clones[f] = &own
		}
		list[fd] = clones[f]
	}
	return list
}

func unique(files map[int]*file) (list []*file) {
	for _, fd := range slices.Sorted(maps.Keys(files)) {
		if !slices.Contains(list, files[fd]) {
			list = append(list, files[fd])
		}
	}
	return list
}

// begin has an explorer go on where the daemon was.
func (e *explorer) begin(c *Checkpoint) error {
	if err := unix.PtraceSetRegs(e.pid, &c.start); err != nil {
		return err
	}
	return setMask(e.pid, c.mask)
}

// kill ends an explorer. It is no error that it has ended.
func (e *explorer) kill() { unix.PidfdSendSignal(e.handle, unix.SIGKILL, nil, 0) }

// watch kills an explorer that has used its time. One that neither runs nor stops is killed much later.
func (e *explorer) watch(budget time.Duration) (end func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	clock := int32(^e.pid<<3 | 2) // of the process, by the scheduler (clock_getcpuclockid(3))
	began := time.Now()
	go func() {
		defer close(done)
		for {
			var used unix.Timespec
			if unix.ClockGettime(clock, &used) != nil {
				return
			}
			left := budget - time.Duration(used.Nano())
			if left <= 0 || time.Since(began) > 20*budget+10*time.Second {
				e.kill()
				return
			}
			select {
			case <-ended:
				return
			case <-time.After(max(left, time.Millisecond)):
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// wait waits for an explorer to stop or end.
func (e *explorer) wait() (unix.WaitStatus, error) {
	s, usage, err := wait(e.pid)
	if err == nil && !s.Stopped() {
		e.reaped = true
		e.outcome.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return s, err
}

// verdict is what becomes of an explorer after a call.
type verdict uint8

const (
	answered verdict = iota
	made             // by the kernel
	waits            // and there is no input left
	ends
)

// run lets an explorer run until its end.
func (e *explorer) run(budget Budget) error {
	for signal := 0; ; {
		if err := unix.PtraceCont(e.pid, signal); err != nil {
			if err == unix.ESRCH { // it was killed
				return nil
			}
			return err
		}
		signal = 0
		s, err := e.wait()
		if err != nil {
			return err
		}
		switch {
		case s.Signaled():
			if s.Signal() != unix.SIGKILL {
				e.outcome.Status, e.outcome.Signal = Crashed, int(s.Signal())
			}
			return nil
		case !s.Stopped():
			return fmt.Errorf("an explorer has made an end of its own (status %#x)", uint32(s))
		case event(s) == eventSeccomp:
			if e.outcome.Calls++; e.outcome.Calls > budget.Calls {
				return nil
			}
			over, err := e.call()
			if over || err != nil {
				return err
			}
		case event(s) == eventStop:
		case event(s) != 0:
			return fmt.Errorf("an explorer has made a call that it may not make (event %d)", event(s))
		default:
			if !e.catches(s.StopSignal()) {
				e.outcome.Status, e.outcome.Signal = Crashed, int(s.StopSignal())
				return nil
			}
			signal = int(s.StopSignal())
		}
	}
}

// call answers the call at which an explorer stopped.
func (e *explorer) call() (over bool, err error) {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(e.pid, &r); err != nil {
		if err == unix.ESRCH {
			return true, nil
		}
		return false, err
	}
	result, v := e.answer(&r)
	switch v {
	case waits:
		e.outcome.Status = Done
		return true, nil
	case ends:
		e.outcome.Status = Crashed
		return true, nil
	case answered:
		if e.written > maxWrittenBytes {
			return true, nil
		}
		r.Orig_rax, r.Rax = noCall, uint64(result)
	}
	if err := unix.PtraceSetRegs(e.pid, &r); err != nil && err != unix.ESRCH {
		return false, err
	}
	return false, nil
}

// catches reports whether an explorer goes on after a signal.
func (e *explorer) catches(s unix.Signal) bool {
	fields, err := status(e.pid)
	if err != nil {
		return false
	}
	bit := uint64(1) << (s - 1)
	if synchronous := s == unix.SIGSEGV || s == unix.SIGBUS || s == unix.SIGFPE || s == unix.SIGILL || s == unix.SIGTRAP; synchronous && signals(fields["SigBlk"])&bit != 0 {
		return false
	}
	if signals(fields["SigCgt"])&bit != 0 || signals(fields["SigIgn"])&bit != 0 {
		return true
	}
	return s == unix.SIGCHLD || s == unix.SIGURG || s == unix.SIGWINCH || s == unix.SIGCONT
}

// record keeps what an explorer writes.
func (e *explorer) record(fd int, f *file, to string, data []byte) {
	e.written += len(data)
	if to == "" {
		to = strings.TrimPrefix(f.name, "socket:")
		if f.peer != "" {
			to = f.peer
		}
	}
	list := &e.outcome.Outputs
	if f.log() {
		list = &e.outcome.Logs
	}
	*list = append(*list, Message{FD: fd, To: to, Data: data})
}
