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

func (h *TimerHeap) Pop() Timer {
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

// After enters a timer into the heap.
func (s *State) After(at int64, kind TimerKind, a, b int64) {
	s.Timers.push(Timer{At: at, Seq: s.NewID("timer"), Kind: kind, A: a, B: b})
}
