package linear

import (
	"cmp"
	"slices"
)

// Span is an interval in which something took effect.
type Span struct{ Call, Return int64 }

// Passage is the way of one value through a queue. Out is nil if it never left.
type Passage struct {
	In  Span
	Out *Span
}

// Queue decides the history of a first-in-first-out queue into which each value goes at most once: the passages of the
// values, and the times at which someone found the queue empty. With Illegal come the indices of the passages that
// are in each other's way, or of one passage that left before it went in, or, with empty >= 0, of a time at which the
// queue cannot have been empty.
//
// A value went in at the latest when it was out, and out at the earliest when it went in. After both intervals are cut
// so, the order of two values is forced by their ways in, or by their ways out. Both are orders of intervals, and if
// such orders contradict each other in a longer cycle, then two values do so already. The queue may be empty at a
// moment unless some value was certainly in it. It sorts, and looks at each operation once.
func Queue(passages []Passage, empties []Span) (answer Answer, conflict []int, empty int) {
	type way struct {
		in, out Span
		at      int
	}
	ways := make([]way, len(passages))
	for i, p := range passages {
		w := way{in: p.In, out: Span{Forever, Forever}, at: i}
		if p.Out != nil {
			if p.Out.Return < p.In.Call {
				return Illegal, []int{i}, -1
			}
			w.in.Return = min(p.In.Return, p.Out.Return)
			w.out = Span{max(p.Out.Call, p.In.Call), p.Out.Return}
		}
		ways[i] = w
	}
	// Of all that went in before w, the one that left last must not have left after w.
	entered := slices.Clone(ways)
	slices.SortFunc(entered, func(x, y way) int { return cmp.Compare(x.in.Return, y.in.Return) })
	slices.SortFunc(ways, func(x, y way) int { return cmp.Compare(x.in.Call, y.in.Call) })
	last, k := way{out: Span{Call: -Forever}, at: -1}, 0
	for _, w := range ways {
		for ; k < len(entered) && entered[k].in.Return < w.in.Call; k++ {
			if entered[k].out.Call > last.out.Call {
				last = entered[k]
			}
		}
		if last.at >= 0 && w.out.Return < last.out.Call {
			return Illegal, []int{last.at, w.at}, -1
		}
	}
	if len(empties) == 0 {
		return Legal, nil, -1
	}
	// Times in which the queue certainly held something, joined where they overlap.
	var full []Span
	for _, w := range entered {
		if w.in.Return < w.out.Call {
			full = append(full, Span{w.in.Return, w.out.Call})
		}
	}
	slices.SortFunc(full, func(x, y Span) int { return cmp.Compare(x.Call, y.Call) })
	joined := full[:0]
	for _, f := range full {
		if n := len(joined); n > 0 && f.Call < joined[n-1].Return {
			joined[n-1].Return = max(joined[n-1].Return, f.Return)
			continue
		}
		joined = append(joined, f)
	}
	for i, e := range empties {
		if within(e, joined) {
			return Illegal, nil, i
		}
	}
	return Legal, nil, -1
}

// within reports whether s lies inside one of some spans, which are in order. Only the last one that begins before s can hold it.
func within(s Span, spans []Span) bool {
	k, _ := slices.BinarySearchFunc(spans, s.Call, func(f Span, call int64) int {
		if f.Call < call {
			return -1
		}
		return 1
	})
	return k > 0 && s.Return < spans[k-1].Return
}
