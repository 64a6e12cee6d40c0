package linear

import (
	"cmp"
	"slices"
)

// Access is a write of a value to a register, or a read that returned it. Value 0 is what the register holds at first;
// no access writes it.
type Access struct {
	Value        int32
	Write        bool
	Call, Return int64
}

// zone sums up all operations of one value: first is when the first of them had returned, last when the last of them
// was called. From first to last, if they stand in this order, the register certainly holds the value; otherwise it
// holds it at some moment between last and first.
type zone struct {
	first, last int64
	value       int32
}

// before reports that some operation of z returned before some operation of y was called, so that z's value goes first.
func (z zone) before(y zone) bool { return z.first < y.last }

// Zones decides the history of a register that gets each value only once; values are 0 to count-1. With Illegal come
// the values that are in each other's way: one, if it was read before it was written or never written, or two.
// It sorts, and looks at each operation once (Gibbons and Korach, SIAM J. Comput. 1997, section 4). ok is false, and
// nothing decided, when some value is written twice.
func Zones(accesses []Access, count int) (answer Answer, conflict []int32, ok bool) {
	zones := make([]zone, count)
	writes := make([]int64, count) // the call of each value's write
	for v := range zones {
		zones[v] = zone{first: Forever, last: -Forever, value: int32(v)}
		writes[v] = Forever
	}
	if count > 0 {
		zones[0].first, writes[0] = -Forever, -Forever
	}
	for _, a := range accesses {
		z := &zones[a.Value]
		z.first, z.last = min(z.first, a.Return), max(z.last, a.Call)
		if a.Write {
			if writes[a.Value] != Forever {
				return Undecided, nil, false
			}
			writes[a.Value] = a.Call
		}
	}
	for _, a := range accesses {
		if !a.Write && a.Return < writes[a.Value] || writes[a.Value] == Forever {
			return Illegal, []int32{a.Value}, true
		}
	}
	// Two zones conflict if each must go before the other. Zones that certainly hold may not overlap at all, and so
	// stand in one order; of them, only the last one that begins before another zone does can be in its way.
	var held, moments []zone
	for _, z := range zones {
		switch {
		case z.last == -Forever: // no access names this value
		case z.first < z.last:
			held = append(held, z)
		default:
			moments = append(moments, z)
		}
	}
	slices.SortFunc(held, func(x, y zone) int { return cmp.Compare(x.first, y.first) })
	for i := 1; i < len(held); i++ {
		if x, y := held[i-1], held[i]; x.before(y) && y.before(x) {
			return Illegal, []int32{x.value, y.value}, true
		}
	}
	for _, m := range moments {
		i, _ := slices.BinarySearchFunc(held, m, func(h, m zone) int {
			if h.before(m) {
				return -1
			}
			return 1
		})
		if i > 0 && m.before(held[i-1]) {
			return Illegal, []int32{held[i-1].value, m.value}, true
		}
	}
	return Legal, nil, true
}
