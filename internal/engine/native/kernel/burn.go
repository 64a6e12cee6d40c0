//go:build linux && amd64

package kernel

import (
	"slices"

	"golang.org/x/sys/unix"
)

// CPU time is virtual too: a thread uses what its calls cost, and, from when it is found to wait or compute without a call, the
// world's time. Work between calls that comes to an end by itself is free.

// ThreadTime is the CPU time of a thread.
func (k *Kernel) ThreadTime(t *Thread) int64 {
	n := int64(t.Calls)*k.Cost.CallNs + t.BurnedNs
	if t.BurnsNs != 0 {
		n += k.Now - t.BurnsNs
	}
	return n
}

// CPUTime is the CPU time of a process.
func (k *Kernel) CPUTime(p *Proc) int64 {
	n := p.EndedNs
	for _, id := range p.Threads {
		n += k.ThreadTime(k.Threads[id])
	}
	return n
}

// burns notes that a thread uses CPU time from now on without a call.
func (k *Kernel) burns(t *Thread) {
	if t.BurnsNs == 0 {
		t.BurnsNs = max(k.Now, 1)
	}
	if k.CPUDue(t); t.State != Dead {
		k.BurnOn(t)
	}
}

// burnt notes that a thread has come to a call.
func (s *State) burnt(t *Thread) {
	if t.BurnsNs != 0 {
		t.BurnedNs += s.Now - t.BurnsNs
		t.BurnsNs = 0
	}
}

// BurnOn has the world stop where the next timer of CPU time is due if a thread continues to compute.
func (k *Kernel) BurnOn(t *Thread) {
	if left := k.cpuNext(t); left > 0 {
		k.After(SatAdd(k.Now, left), TimerBurn, t.ID, t.BurnsNs)
	}
}

// busy has a thread that computes without end run on after a while only, or at a signal: all others and time continue meanwhile.
func (k *Kernel) busy(t *Thread, ns int64) {
	k.preempt(t, ns)
	k.burns(t)
}

// preempt gives the CPU of a thread to others for a while, or until a signal.
func (k *Kernel) preempt(t *Thread, ns int64) {
	t.BusyNs = k.Now + ns
	k.After(t.BusyNs, TimerBusy, t.ID, t.BusyNs)
	k.Resched = true
}

// Unbusy lets such a thread run.
func (s *State) Unbusy(t *Thread) {
	if t.BusyNs != 0 {
		t.BusyNs = 0
		s.Resched = true
	}
}

// CPUTimer is ITIMER_VIRTUAL or ITIMER_PROF of a process (setitimer(2)). The engine knows no time that a process spends in the
// kernel, as getrusage(2) reports it: both count the same.
type CPUTimer struct {
	At, Interval int64 // At is CPU time of the process, 0 is none
}

var cpuSignals = [2]unix.Signal{unix.SIGVTALRM, unix.SIGPROF}

// cpuTimer returns the timer for setitimer's first argument.
func (p *Proc) cpuTimer(which int) *CPUTimer { return &p.CPUTimers[which-unix.ITIMER_VIRTUAL] }

// SetCPU sets a timer of CPU time (ITIMER_VIRTUAL, ITIMER_PROF) and gives what was left of the old one and its interval.
func (k *Kernel) SetCPU(p *Proc, which int, value, interval int64) (left, oldInterval int64) {
	left, oldInterval = k.CPULeft(p, which)
	x := p.cpuTimer(which)
	*x = CPUTimer{Interval: interval}
	if value > 0 {
		x.At = SatAdd(k.CPUTime(p), value)
	}
	return left, oldInterval
}

// CPULeft is how much CPU time is left of such a timer.
func (k *Kernel) CPULeft(p *Proc, which int) (left, interval int64) {
	x := p.cpuTimer(which)
	if x.At != 0 {
		left = max(x.At-k.CPUTime(p), 1000)
	}
	return left, x.Interval
}

// CPUClock returns the time of a timer's clock if that clock counts CPU time.
func (k *Kernel) CPUClock(p *Proc, x *PosixTimer) (int64, bool) {
	switch {
	case x.CPU == 0:
		return 0, false
	case x.CPU == wholeProcess:
		return k.CPUTime(p), true
	}
	if t := k.Threads[x.CPU]; t != nil {
		return k.ThreadTime(t), true
	}
	return 0, true // its thread has ended, and the clock with it
}

// wholeProcess as PosixTimer.CPU is the clock of all threads.
const wholeProcess ThreadID = -1

// CPUOf reports what a clock of CPU time counts for a timer: a thread of the caller's process, all of them, or nothing.
func (s *State) CPUOf(t *Thread, clock int) (ThreadID, bool) {
	pid := ^(clock >> 3)
	switch {
	case clock == unix.CLOCK_PROCESS_CPUTIME_ID:
		return wholeProcess, true
	case clock == unix.CLOCK_THREAD_CPUTIME_ID:
		return t.ID, true
	case clock >= 0:
		return 0, true
	case clock&4 == 0:
		return wholeProcess, pid == 0 || pid == s.Proc(t).PID
	case pid == 0:
		return t.ID, true
	}
	o := s.ThreadByTID(t.Node, pid)
	if o == nil || o.Proc != t.Proc {
		return 0, false
	}
	return o.ID, true
}

// CPUDue sends the signals of a process' timers of CPU time that are due.
func (k *Kernel) CPUDue(t *Thread) {
	p := k.Proc(t)
	for i := range p.CPUTimers {
		x := &p.CPUTimers[i]
		if x.At == 0 {
			continue
		}
		used := k.CPUTime(p)
		if used < x.At {
			continue
		}
		if x.Interval == 0 {
			x.At = 0
		} else {
			x.At = SatAdd(x.At, ((used-x.At)/x.Interval+1)*x.Interval)
		}
		k.SignalProc(p, Signal{Number: int(cpuSignals[i]), Code: 0x80})
	}
	var due []int64
	for i := range p.Timers {
		x := &p.Timers[i]
		if used, ok := k.CPUClock(p, x); ok && x.At != 0 && !x.Still && used >= x.At {
			due = append(due, int64(x.ID)<<32|x.Gen)
		}
	}
	for _, b := range due {
		if !p.Zombie && k.PosixTimer(p.ID, b) != nil {
			k.PosixDue(p.ID, b)
		}
	}
}

// cpuNext is how much CPU time is left until the next timer of a thread's process is due, 0 if none is set.
func (k *Kernel) cpuNext(t *Thread) (left int64) {
	p := k.Proc(t)
	note := func(at, used int64) {
		if n := max(at-used, 1); left == 0 || n < left {
			left = n
		}
	}
	for i := range p.CPUTimers {
		if x := &p.CPUTimers[i]; x.At != 0 {
			note(x.At, k.CPUTime(p))
		}
	}
	for i := range p.Timers {
		x := &p.Timers[i]
		if used, ok := k.CPUClock(p, x); ok && x.At != 0 && !x.Still && (x.CPU == wholeProcess || x.CPU == t.ID) {
			note(x.At, used)
		}
	}
	return left
}

// TimesCPU reports whether a process has a timer of CPU time.
func (p *Proc) TimesCPU() bool {
	return p.CPUTimers[0].At != 0 || p.CPUTimers[1].At != 0 || slices.ContainsFunc(p.Timers, func(x PosixTimer) bool { return x.CPU != 0 && x.At != 0 })
}
