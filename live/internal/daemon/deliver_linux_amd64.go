package daemon

import (
	"errors"
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
	handle  int    // a pidfd, which names no other process later; negative when the copy is closed
	daemon  int    // the process id that it believes to have
	number  uint64 // its process id in its namespace
	files   map[int]*file
	given   map[string][]byte // files that it can open
	clock   clock
	inputs  []Input
	written int    // bytes of outputs and logs
	random  uint64 // the state of a generator of numbers
	outcome *Outcome
	waits   bool          // it is stopped in a call that waits for input
	cpu     time.Duration // that earlier deliveries used
	usage   time.Duration // when it was reaped
	reaped  bool
}

// Copy is a copy of a daemon that runs while it has inputs. Between deliveries it stands still.
type Copy struct {
	checkpoint *Checkpoint
	explorer   *explorer
}

// Deliver gives inputs to a fresh copy, which is then closed. See [Copy.Deliver].
func (c *Checkpoint) Deliver(inputs []Input, budget Budget) (*Outcome, error) {
	y, err := c.Copy()
	if err != nil {
		return nil, err
	}
	o, err := y.Deliver(inputs, budget)
	return o, errors.Join(err, y.Close())
}

// Copy makes a copy that has not run since the checkpoint. Close ends it.
func (c *Checkpoint) Copy() (y *Copy, err error) {
	err = c.do(func() error {
		var pid int
		c.gate.made = func(child int) error {
			pid = child
			return first(child)
		}
		number, err := c.gate.call(unix.SYS_CLONE, uint64(unix.SIGCHLD), 0)
		if err != nil {
			return fmt.Errorf("the checkpoint cannot create an explorer: %w", err)
		}
		handle, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			unix.Kill(pid, unix.SIGKILL)
			return err
		}
		y = &Copy{checkpoint: c, explorer: &explorer{pid: pid, handle: handle, daemon: c.daemon, number: number, clock: c.clock,
			random: 1, files: cloneFiles(c.files)}}
		return y.explorer.startFrom(c)
	})
	return y, err
}

// GiveFile gives the copy a file: it can open and read it by its name, such as a configuration that it has not read yet.
func (y *Copy) GiveFile(name string, data []byte) {
	y.checkpoint.do(func() error {
		if y.explorer.given == nil {
			y.explorer.given = map[string][]byte{}
		}
		y.explorer.given[name] = data
		return nil
	})
}

// Deliver gives inputs to the copy until it waits and has none left, or its budget is used up, or it ends. A copy that has not waited then has ended.
func (y *Copy) Deliver(inputs []Input, budget Budget) (o *Outcome, err error) {
	e := y.explorer
	err = y.checkpoint.do(func() error {
		if e.outcome != nil && e.outcome.Status != Done || e.handle < 0 {
			return ErrEnded
		}
		for _, in := range inputs {
			f := e.files[in.FD]
			if in.Advance != 0 {
				if in.Advance < 0 {
					return fmt.Errorf("an input advances the clock by %v: clocks cannot go back", in.Advance)
				}
				continue
			}
			if f == nil || f.listen != in.Accept {
				return fmt.Errorf("an input is for file %d (a client: %v), which the copy has not open that way: it has %+v", in.FD, in.Accept, list(e.files))
			}
		}
		o = &Outcome{Status: Stuck, Refused: map[string]int{}}
		e.outcome, e.inputs = o, inputs
		end := e.watch(budget.CPU)
		err := e.run(budget)
		end()
		if err == nil && o.Status != Done {
			e.kill()
			err = e.reap()
		}
		used := e.used()
		o.CPU, e.cpu = used-e.cpu, used
		for _, f := range unique(e.files) {
			o.Unread += f.unread()
		}
		o.Unread += len(e.inputs)
		return err
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Close ends the copy.
func (y *Copy) Close() error {
	e := y.explorer
	err := y.checkpoint.do(func() error {
		if e.handle < 0 {
			return nil
		}
		e.kill()
		if err := e.reap(); err != nil {
			return err
		}
		defer func() { e.handle = -1 }()
		if _, err := y.checkpoint.gate.call(unix.SYS_WAIT4, uint64(e.number), 0, unix.WALL, 0); err != nil {
			return errors.Join(fmt.Errorf("the checkpoint cannot reap an explorer: %w", err), unix.Close(e.handle))
		}
		return unix.Close(e.handle)
	})
	if err == ErrEnded { // the kernel has ended it with its checkpoint
		return nil
	}
	return err
}

// Files are the open files of the copy.
func (y *Copy) Files() (files []File) {
	y.checkpoint.do(func() error {
		files = list(y.explorer.files)
		return nil
	})
	return files
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

// startFrom lets an explorer continue at the daemon's place in its program.
func (e *explorer) startFrom(c *Checkpoint) error {
	if err := unix.PtraceSetRegs(e.pid, &c.start); err != nil {
		return err
	}
	return setMask(e.pid, c.mask)
}

// kill ends an explorer. It is no error that it has ended.
func (e *explorer) kill() { unix.PidfdSendSignal(e.handle, unix.SIGKILL, nil, 0) }

// reap waits for the end of an explorer that was killed, or has ended.
func (e *explorer) reap() error {
	for !e.reaped {
		if _, err := e.wait(); err != nil {
			return err
		}
	}
	return nil
}

// used is the CPU time of an explorer, from the scheduler (clock_getcpuclockid(3)), or from when it was reaped.
func (e *explorer) used() time.Duration {
	var t unix.Timespec
	if e.reaped || unix.ClockGettime(int32(^e.pid<<3|2), &t) != nil {
		return max(e.usage, e.cpu)
	}
	return time.Duration(t.Nano())
}

// watch kills an explorer that has used its time. One that neither runs nor stops is killed much later.
func (e *explorer) watch(budget time.Duration) (end func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	clock := int32(^e.pid<<3 | 2)
	began, most := time.Now(), e.cpu+budget
	go func() {
		defer close(done)
		for {
			var used unix.Timespec
			if unix.ClockGettime(clock, &used) != nil {
				return
			}
			left := most - time.Duration(used.Nano())
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
		e.usage = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return s, err
}

// verdict says how an explorer continues after a call.
type verdict uint8

const (
	answered verdict = iota
	made             // by the kernel
	waits            // and there is no input left
	ends
)

// run lets an explorer run until its end.
func (e *explorer) run(budget Budget) error {
	if e.waits {
		if over, err := e.call(); over || err != nil {
			return err
		}
	}
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
			return fmt.Errorf("an explorer ended by itself (status %#x)", uint32(s))
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
			return fmt.Errorf("an explorer made a call that is not allowed (event %d)", event(s))
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
	e.waits = v == waits
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
	if synchronous := s == unix.SIGSEGV || s == unix.SIGBUS || s == unix.SIGFPE || s == unix.SIGILL ||
		s == unix.SIGTRAP; synchronous && signals(fields["SigBlk"])&bit != 0 {
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
	if f.log() || (fd == 1 || fd == 2) && f.peer == "" {
		list = &e.outcome.Logs
	}
	*list = append(*list, Message{FD: fd, To: to, Data: data})
}
