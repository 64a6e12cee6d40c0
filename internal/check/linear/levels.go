package linear

import (
	"cmp"
	"slices"
)

// Step is an operation on something that only grows. Its level says where it belongs: what has a lower level took
// effect before it, what has the same one may go in any order.
type Step struct {
	Level        int
	Call, Return int64
}

// Levels decides whether steps of known order fit into their intervals. With Illegal come the indices of two steps of
// which the one of higher level had returned before the other was called.
func Levels(steps []Step) (Answer, [2]int) {
	order := make([]int, len(steps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(steps[j].Level, steps[i].Level) })
	earliest := -1 // the step that returned first, of all levels above the current one
	for from := 0; from < len(order); {
		to := from
		best := earliest
		for ; to < len(order) && steps[order[to]].Level == steps[order[from]].Level; to++ {
			i := order[to]
			if earliest >= 0 && steps[earliest].Return < steps[i].Call {
				return Illegal, [2]int{i, earliest}
			}
			if best < 0 || steps[i].Return < steps[best].Return {
				best = i
			}
		}
		earliest, from = best, to
	}
	return Legal, [2]int{}
}
