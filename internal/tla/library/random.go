package library

import (
	"math"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Chance gives numbers below another one, each as likely.
type Chance func(below uint64) uint64

// drawn is an operator of n values that depends on chance.
func drawn(n int, f func(r Chance, args []value.Value) value.Value) *Builtin {
	return &Builtin{Arguments: n, Draw: f}
}

var randomizationModule = map[string]*Builtin{
	"RandomSubset": drawn(2, func(r Chance, args []value.Value) value.Value {
		return r.subset(Integer(args[0]), args[1])
	}),
	// Of k subsets, whose members are taken each with the chance that gives them n members on average.
	"RandomSetOfSubsets": drawn(3, func(r Chance, args []value.Value) value.Value {
		k, n, items := Integer(args[0]), Integer(args[1]), value.Explicit(args[2]).Items
		if k < 0 || n < 0 || n > int64(len(items)) {
			value.Fail("RandomSetOfSubsets(%d, %d, S): the numbers are natural numbers, and the second is no larger than S", k, n)
		}
		value.AtMost(int(min(k, value.Most+1)))
		var list []value.Value
		for range k {
			var members []value.Value
			for _, v := range items {
				if int64(r(uint64(len(items)))) < n {
					members = append(members, v)
				}
			}
			list = append(list, value.SortedSet(members))
		}
		return value.NewSet(list)
	}),
}

// member is one of a set's, each with the same chance.
func (r Chance) member(set value.Value) value.Value {
	if value.Size(set) == 0 {
		value.Fail("RandomElement({}): the set is empty")
	}
	all := func(sets []value.Value) []value.Value {
		list := make([]value.Value, len(sets))
		for i, s := range sets {
			list[i] = r.member(s)
		}
		return list
	}
	switch s := set.(type) {
	case *value.Interval:
		return value.Int(s.Low + int64(r(uint64(s.High-s.Low)+1)))
	case *value.Subsets:
		var members []value.Value
		value.Each(s.Base, func(v value.Value) bool {
			if r(2) == 0 {
				members = append(members, v)
			}
			return true
		})
		return value.NewSet(members)
	case *value.Functions:
		domain := value.Explicit(s.Domain)
		values := make([]value.Value, len(domain.Items))
		for i := range values {
			values[i] = r.member(s.Range)
		}
		return value.NewFunction(domain, values)
	case *value.Records:
		return value.NewRecord(s.Names, all(s.Sets))
	case *value.Product:
		return value.NewTuple(all(s.Sets))
	}
	items := value.Explicit(set).Items
	if len(items) == 0 {
		value.Fail("RandomElement({}): the set is empty")
	}
	return items[r(uint64(len(items)))]
}

// subset is a set of k members.
func (r Chance) subset(k int64, set value.Value) value.Value {
	size, exact := value.Count(set)
	huge := !exact && value.Size(set) == math.MaxInt64 && value.Finite(set)
	switch {
	case huge:
		size = math.MaxInt64
	case !exact:
		size = int64(len(value.Explicit(set).Items))
	}
	if k < 0 {
		value.Fail("RandomSubset(%d, S): a set has no less than 0 members", k)
	}
	k = min(k, size) // as TLC: all of a set that is smaller
	value.AtMost(int(min(k, value.Most+1)))
	if (exact || huge) && k <= size/2 {
		// Few of many: those that come twice are drawn again.
		known := map[uint64]bool{}
		var list []value.Value
		for int64(len(list)) < k {
			v := r.member(set)
			if fp := v.Fingerprint(); !known[fp] {
				known[fp] = true
				list = append(list, v)
			}
		}
		return value.NewSet(list)
	}
	items := append([]value.Value(nil), value.Explicit(set).Items...)
	for i := range k {
		at := i + int64(r(uint64(size-i)))
		items[i], items[at] = items[at], items[i]
	}
	return value.NewSet(items[:k])
}
