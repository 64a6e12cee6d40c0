package histories

import (
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// What may be wrong with a counter.
var (
	countTwice   = failure.Declare("counter/same-number")
	neverCounted = failure.Declare("counter/impossible-number")
	countLate    = failure.Declare("counter/too-late") // an operation, and the one that was called after it
	uncounted    = failure.Declare("counter/unaccounted")
)

// numbered are the operations on a counter that each answer of a change numbers: the change that made the counter n is change n.
type numbered struct {
	changes map[int64]int   // places of the changes whose number is known
	reads   map[int64][]int // places of the reads, by what they saw
	unknown []int           // places of the changes without an answer, in the order of their starts
	highest int64
}

// numberChanges puts operations on a counter in terms of numbers, if every change adds one and every one that has returned says which
// number it has.
func numberChanges(acts []act) (h numbered, twice []int, ok bool) {
	h = numbered{changes: map[int64]int{}, reads: map[int64][]int{}}
	for i := range acts {
		a := &acts[i]
		if a.verb != look && a.delta != 1 || a.verb != look && a.to != linear.Forever && (!a.known || a.result == "") {
			return h, nil, false
		}
		if a.verb != look && a.to == linear.Forever {
			h.unknown = append(h.unknown, i)
			continue
		}
		n, err := strconv.ParseInt(a.result, 10, 64)
		if err != nil {
			return h, nil, false
		}
		h.highest = max(h.highest, n)
		if a.verb == look {
			h.reads[n] = append(h.reads[n], i)
			continue
		}
		if other, seen := h.changes[n]; seen && twice == nil {
			twice = []int{other, i}
		}
		h.changes[n] = i
	}
	slices.SortFunc(h.unknown, func(i, j int) int { return int(acts[i].from - acts[j].from) })
	return h, twice, true
}

// fastCounter decides counters whose changes add one and return the new number. These numbers are the order of the changes, so each change
// and read takes effect as early as what comes before it allows. A number that no answer has belongs to a change of unknown outcome: to the
// one that began first, since it never has to take effect by any time.
func fastCounter(acts []act, b *linear.Budget) (linear.Answer, conflict) {
	h, twice, ok := numberChanges(acts)
	if !ok || !b.SpendAll(len(acts)) {
		return linear.Undecided, conflict{}
	}
	if twice != nil {
		return linear.Illegal, conflict{countTwice.Cause().Claim("two changes made the counter %s", acts[twice[0]].result), twice}
	}
	for i := range acts {
		if n, err := strconv.ParseInt(acts[i].result, 10, 64); err == nil && (n < 0 || n == 0 && acts[i].verb != look) {
			return linear.Illegal, conflict{neverCounted.Cause().Claim("the counter was never %s", acts[i].result), []int{i}}
		}
	}
	// When the last operation took effect at the earliest, whose start said so, and which number that had, if it was a change of unknown outcome.
	now, latest, gap := int64(-1), -1, int64(0)
	takeEffect := func(i int, n int64) (late bool) {
		if acts[i].from > now {
			now, latest, gap = acts[i].from, i, 0
			if acts[i].to == linear.Forever {
				gap = n
			}
		}
		return now > acts[i].to
	}
	tooLate := func(i int) conflict {
		if gap > 0 {
			return conflict{unaccounted(gap), []int{i, latest}}
		}
		return conflict{countLate.Cause(acts[i].op.Op, acts[latest].op.Op).Claim("%s had returned before %s was called",
			acts[i].outcome(), acts[latest].outcome()), []int{i, latest}}
	}
	for n := int64(0); n <= h.highest; n++ {
		change, known := h.changes[n]
		if n > 0 && !known {
			if len(h.unknown) == 0 {
				return linear.Illegal, conflict{unaccounted(n), h.actsFrom(n)}
			}
			change, h.unknown = h.unknown[0], h.unknown[1:]
		}
		if n > 0 && takeEffect(change, n) {
			return linear.Illegal, tooLate(change)
		}
		// Reads of one number may have any order, so none has to wait for another one.
		for _, i := range h.reads[n] {
			if now > acts[i].to {
				return linear.Illegal, tooLate(i)
			}
		}
		for _, i := range h.reads[n] {
			takeEffect(i, n)
		}
	}
	return linear.Legal, conflict{}
}

// unaccounted is the reason why a number of a counter could not be seen. It is the same with and without changes of unknown outcome, which came too
// late for it: whether there are such is chance, and no other failure.
func unaccounted(n int64) failure.Claim {
	return uncounted.Cause().Claim("no change had made the counter %d by then", n)
}

// actsFrom are the operations that saw the lowest number from n on.
func (h *numbered) actsFrom(n int64) (acts []int) {
	least := h.highest
	for m := range h.changes {
		if m >= n {
			least = min(least, m)
		}
	}
	for m := range h.reads {
		if m >= n {
			least = min(least, m)
		}
	}
	if i, ok := h.changes[least]; ok {
		acts = append(acts, i)
	}
	if len(acts) == 0 {
		acts = append(acts, h.reads[least][0])
	}
	return acts
}
