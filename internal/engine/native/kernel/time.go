//go:build linux && amd64

package kernel

import (
	"slices"
)

// Drifted is how much time has passed on a node's own clock.
func (n *Node) Drifted(now int64) int64 {
	return now + now/1e9*n.DriftPPB + now%1e9*n.DriftPPB/1e9
}

// Undrift is the inverse: the world time at which a node's clock has run for ns.
func (n *Node) Undrift(ns int64) int64 {
	if n.DriftPPB == 0 || ns >= farNs {
		return ns
	}
	now := ns - ns/1e9*n.DriftPPB
	for n.Drifted(now) < ns {
		now += max((ns-n.Drifted(now))/2, 1)
	}
	return now
}

// RealNs is CLOCK_REALTIME of a node.
func (s *State) RealNs(n *Node) int64 { return n.OffsetNs + n.Drifted(s.Now) }

// Itimer is ITIMER_REAL of a process (setitimer(2), alarm(2)).
type Itimer struct {
	At, Interval int64
	Gen          int64
}

// PosixTimer is a timer of timer_create(2).
type PosixTimer struct {
	ID       int
	Clock    int
	CPU      ThreadID // whose CPU time its clock is, 0 for another clock
	Notify   int      // SIGEV_SIGNAL 0, SIGEV_NONE 1, SIGEV_THREAD_ID 4
	Signal   int
	Value    uint64
	Thread   ThreadID
	At       int64
	Interval int64
	Gen      int64
	Overrun  int32 // of the signal that was delivered last
	Still    bool  // a periodic timer whose signal is pending: it continues when that is taken
	Wall     bool  // At is a time of CLOCK_REALTIME
}

// Forward sets a periodic timer that has halted to its next expiry, and counts those that were missed.
func (x *PosixTimer) Forward(now int64) (missed int32) {
	n := max(now-x.At, 0) / x.Interval
	x.At = SatAdd(x.At, (n+1)*x.Interval)
	return int32(min(n, 1<<31-1))
}

// Timer finds a timer by its number, nil if there is none.
func (p *Proc) Timer(id int) *PosixTimer {
	i := slices.IndexFunc(p.Timers, func(x PosixTimer) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return &p.Timers[i]
}

// PosixTimer finds the timer that a heap entry means, nil if it was set anew or deleted.
func (s *State) PosixTimer(proc ProcID, b int64) *PosixTimer {
	p := s.Procs[proc]
	if p == nil {
		return nil
	}
	x := p.Timer(int(b >> 32))
	if x == nil || x.Gen != b&0xffffffff {
		return nil
	}
	return x
}

// PosixDue is a timer's expiry.
func (k *Kernel) PosixDue(proc ProcID, b int64) {
	p, x := k.Procs[proc], k.PosixTimer(proc, b)
	s := Signal{Number: x.Signal, Code: siTimer, Timer: int32(x.ID), Value: x.Value}
	x.Still = x.Interval > 0
	if x.Interval == 0 {
		x.At = 0
	}
	pending := func(list []Signal) bool {
		return slices.ContainsFunc(list, func(o Signal) bool { return o.Code == siTimer && o.Timer == s.Timer && o.Number == s.Number })
	}
	queued := false
	switch th := k.Threads[x.Thread]; {
	case x.Notify == 0:
		k.SignalProc(p, s)
		queued = pending(p.Pending)
	case x.Notify == 4 && th != nil:
		k.SignalThread(th, s)
		queued = pending(th.Pending)
	}
	if x = k.PosixTimer(proc, b); x != nil && x.Still && !queued { // no thread will take a signal: the timer continues by itself
		k.rearm(p, x)
	}
}

func (k *Kernel) rearm(p *Proc, x *PosixTimer) (missed int32) {
	x.Still = false
	if used, ok := k.CPUClock(p, x); ok {
		return x.Forward(used)
	}
	missed = x.Forward(k.Now)
	k.After(x.At, TimerPosix, p.ID, int64(x.ID)<<32|x.Gen)
	return missed
}

// timerTaken completes the signal of a timer when it is delivered or read.
func (k *Kernel) timerTaken(p *Proc, s *Signal) {
	x := p.Timer(int(s.Timer))
	if x == nil {
		return
	}
	x.Overrun = 0
	if x.Still {
		x.Overrun = k.rearm(p, x)
	}
	s.Overrun = x.Overrun
}
