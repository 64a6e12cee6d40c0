//go:build linux && amd64

package kernel

import "slices"

// epochCalls is the length of a thread's scheduling epoch, in its own calls. Once an epoch the tape may change the
// thread's priority at one of its calls (change points as in Burckhardt et al., "A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs", ASPLOS 2010); at its end the thread goes behind its equals.
const epochCalls = 256

// emptyLimit is how often a thread may repeat the same empty-handed call before it runs only when all others wait.
const emptyLimit = 8

// Priorities that a tape gives to threads lie above all others, and steps of rankSpan apart.
const (
	maxRank  = 1 << 16
	rankSpan = 1 << 32
)

// aboveDropped as Thread.Next puts a strict thread above those whose priority was dropped, and below all others.
const aboveDropped = 2

// Rank gives a new thread the priority that the tape sets for it, if it does. Such a thread never takes turns with equals:
// with a rank for each thread the scheduler is that of Burckhardt et al., whose change points preempt it.
func (k *Kernel) Rank(t *Thread) {
	if v := k.Tape.Given("rank/"+t.Name, 1+maxRank); v > 0 {
		t.Prio, t.Strict = int64(v)*rankSpan, true
	}
}

// CPUs is how many CPUs programs see. The threads of all of them run one at a time.
func (k *Kernel) CPUs() int { return max(k.Sched.CPUs, 1) }

// Ready puts a thread on the runnable list.
func (s *State) Ready(t *Thread) {
	t.State = Ready
	if slices.Contains(s.Runnable, t.ID) {
		return
	}
	s.Runnable = append(s.Runnable, t.ID)
	if c := s.Threads[s.Current]; c == nil || t.Prio > c.Prio || c.Lazy {
		s.Resched = true
	}
}

// runs reports whether a runnable thread may run now.
func (s *State) runs(t *Thread) bool {
	return s.Nodes[t.Node].Paused == 0 && !s.Procs[t.Proc].Stopped && !t.Vfork && t.BusyNs == 0
}

// pick chooses the thread that runs next: the current one while it may, else the first of the highest priority.
// Threads that only yield or poll are chosen when no other thread can run, and only if lazyToo.
func (s *State) pick(lazyToo bool) *Thread {
	if c := s.Threads[s.Current]; c != nil && !s.Resched && c.State == Ready && s.runs(c) && !c.Lazy {
		return c
	}
	s.Resched = false
	var best *Thread
	for _, id := range s.Runnable {
		t := s.Threads[id]
		if s.runs(t) && (best == nil || better(t, best)) {
			best = t
		}
	}
	if best == nil || best.Lazy && !lazyToo {
		s.Current = 0
		return nil
	}
	s.Current = best.ID
	if best.Lazy {
		best.Lazy = false
		s.ToTail(best) // all lazy threads get their turns
		s.Resched = true
	}
	return best
}

// Spins reports whether a thread can run, be it a lazy one.
func (s *State) Spins() bool {
	for _, id := range s.Runnable {
		if s.runs(s.Threads[id]) {
			return true
		}
	}
	return false
}

func better(a, b *Thread) bool {
	if a.Lazy != b.Lazy {
		return !a.Lazy
	}
	return a.Prio > b.Prio
}

// ToTail puts a runnable thread behind all others.
func (s *State) ToTail(t *Thread) {
	if i := slices.Index(s.Runnable, t.ID); i >= 0 {
		s.Runnable = append(slices.Delete(s.Runnable, i, i+1), t.ID)
	}
}

// account draws the thread's change point at the start of each epoch and applies it when it is reached.
func (k *Kernel) account(t *Thread) {
	if t.State == Dead {
		return
	}
	switch {
	case t.Calls == t.Change:
		t.Change = 0
		switch {
		case t.Next < 0:
			k.DropSeq++
			t.Prio = -k.DropSeq
		case t.Next == aboveDropped:
			k.DropSeq++
			t.Prio = k.DropSeq
		default:
			t.Prio = t.Next
		}
		k.Resched = true
	case t.Calls%epochCalls == 1:
		if t.Calls > 1 && !t.Strict {
			if t.Prio != 0 || len(k.Runnable) > 1 {
				t.Prio = 0
				k.ToTail(t)
				k.Resched = true
			}
		}
		// 0 is no change; else the value holds the call of the change (8 bits) and the new priority (2 bits).
		if v := k.change("sched/" + t.Name); v > 0 {
			v--
			t.Change = t.Calls + 1 + v%epochCalls
			t.Next = [4]int64{-1, -1, -1, 1}[v/epochCalls]
			if t.Strict && v/epochCalls == 1 {
				t.Next = aboveDropped
			}
		}
	}
}

// change draws a change point. A rate of 0, which for the tape is a uniform draw, means none but those of edits.
func (k *Kernel) change(stream string) uint64 {
	if k.Sched.PreemptPPM == 0 {
		return k.Tape.Given(stream, 1+epochCalls*4)
	}
	return k.Tape.Rare(stream, 1+epochCalls*4, k.Sched.PreemptPPM)
}

// Empty notes that a call came back empty-handed (a poll with zero timeout, EAGAIN, a yield): emptyLimit of them in
// a row, with nothing but clock reads between them, make their thread lazy.
func (s *State) Empty(t *Thread) {
	t.Call.Empty = true
	if t.Empties++; t.Empties >= emptyLimit {
		t.Lazy = true
		s.Resched = true
	}
}
