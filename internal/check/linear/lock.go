package linear

import (
	"cmp"
	"slices"
)

// Lock decides the history of a lock: the passages of its holders, each of whom had acquired it before calling for its
// release, and the times at which a caller was answered that it was taken. With Illegal come the indices of two passages
// that certainly overlap, or, with refused >= 0, of a time at which the lock was certainly free.
//
// From the return of its In to the call of its Out a passage certainly holds the lock. Passages whose certain parts do
// not overlap stand in one order, and each can be cut down to its certain part. It can also last from the call of its
// In to the return of its Out, as far as its neighbours let it, so the lock is certainly free only from the return of
// an Out to the call of the next In. It sorts, and looks at each operation once.
func Lock(passages []Passage, refusals []Span) (answer Answer, conflict []int, refused int) {
	order := make([]int, len(passages))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(passages[i].In.Return, passages[j].In.Return) })
	var free []Span
	from, last := int64(-Forever), -1
	for _, i := range order {
		p := passages[i]
		if last >= 0 {
			out := passages[last].Out
			if out == nil || out.Call > p.In.Return {
				return Illegal, []int{last, i}, -1
			}
			from = out.Return
		}
		if from < p.In.Call {
			free = append(free, Span{from, p.In.Call})
		}
		last = i
	}
	switch {
	case last < 0:
		free = append(free, Span{-Forever, Forever})
	case passages[last].Out != nil:
		free = append(free, Span{passages[last].Out.Return, Forever})
	}
	for i, r := range refusals {
		if within(r, free) {
			return Illegal, nil, i
		}
	}
	return Legal, nil, -1
}
