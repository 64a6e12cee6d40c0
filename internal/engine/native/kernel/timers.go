//go:build linux && amd64

package kernel

// TimerKind says what a Timer does when it is due.
type TimerKind uint8

const (
	TimerThread TimerKind = iota + 1 // A: thread whose wait ends
	TimerFile                        // A: timerfd, B: its generation
	TimerReal                        // A: process (ITIMER_REAL, alarm), B: generation
	TimerPosix                       // A: process, B: timer number<<32 | generation
	TimerMemory                      // A: node whose memory is bounded
	TimerBurn                        // A: thread that uses CPU time without a call, B: since when
	TimerBusy                        // A: thread that computes without end, B: until when it does not run
)

// Timer is one entry of the heap. Entries are not removed when they become void: they are checked when due.
type Timer struct {
	At   int64
	Seq  int64
	Kind TimerKind
	A, B int64
}

// TimerHeap is a binary heap by (At, Seq): equal times fire in the order in which they were set.
type TimerHeap []Timer

func (h TimerHeap) less(i, j int) bool {
	return h[i].At < h[j].At || h[i].At == h[j].At && h[i].Seq < h[j].Seq
}

func (h *TimerHeap) push(t Timer) {
	*h = append(*h, t)
	s := *h
	for i := len(s) - 1; i > 0; {
		p := (i - 1) / 2
		if !s.less(i, p) {
			break
		}
		s[i], s[p] = s[p], s[i]
		i = p
	}
}

func (h *TimerHeap) pop() Timer {
	s := *h
	top := s[0]
	s[0] = s[len(s)-1]
	s = s[:len(s)-1]
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(s) {
			break
		}
		if c+1 < len(s) && s.less(c+1, c) {
			c++
		}
		if !s.less(c, i) {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	*h = s
	return top
}

func (k *Kernel) after(at int64, kind TimerKind, a, b int64) {
	k.Timers.push(Timer{At: at, Seq: k.id("timer"), Kind: kind, A: a, B: b})
}

// NextDue is the time of the next thing that happens by itself.
func (k *Kernel) NextDue() (int64, bool) {
	for len(k.Timers) > 0 && k.void(k.Timers[0]) {
		k.Timers.pop()
	}
	due, ok := k.Net.NextDue()
	if len(k.Timers) > 0 && (!ok || k.Timers[0].At < due) {
		due, ok = k.Timers[0].At, true
	}
	return due, ok
}

// void reports whether a timer has nothing to do any more, so that the clock need not stop there.
func (k *Kernel) void(t Timer) bool {
	switch t.Kind {
	case TimerThread:
		th := k.Threads[t.A]
		return th == nil || th.State != Blocked || !th.Call.HasUntil || th.Call.Until != t.At
	case TimerFile:
		f := k.TimerFDs[t.A]
		return f == nil || f.Gen != t.B
	case TimerReal:
		p := k.Procs[t.A]
		return p == nil || p.Zombie || p.Real.Gen != t.B
	case TimerPosix:
		return k.posixTimer(t.A, t.B) == nil
	case TimerMemory:
		return false
	case TimerBurn:
		th := k.Threads[t.A]
		return th == nil || th.State == Dead || th.BurnsNs != t.B || t.B == 0 || !k.proc(th).timesCPU()
	case TimerBusy:
		th := k.Threads[t.A]
		return th == nil || th.State == Dead || th.BusyNs != t.B
	}
	panic("kernel: timer of unknown kind")
}

// Fire does everything that is due now.
func (k *Kernel) Fire() {
	for len(k.Timers) > 0 && k.Timers[0].At <= k.Now {
		t := k.Timers.pop()
		if k.void(t) {
			continue
		}
		switch t.Kind {
		case TimerThread:
			k.awake(k.Threads[t.A])
		case TimerFile:
			k.timerfdDue(k.TimerFDs[t.A])
		case TimerReal:
			k.realDue(k.Procs[t.A])
		case TimerPosix:
			k.posixDue(t.A, t.B)
		case TimerMemory:
			n := k.Nodes[t.A]
			n.Memory.Armed = false
			k.limitMemory(n)
		case TimerBurn:
			th := k.Threads[t.A]
			if k.cpuDue(th); th.State != Dead {
				k.burnOn(th)
			}
		case TimerBusy:
			k.unbusy(k.Threads[t.A])
		}
	}
	if due, ok := k.Net.NextDue(); ok && due <= k.Now {
		k.Net.Advance(netEnv{k})
	}
}
