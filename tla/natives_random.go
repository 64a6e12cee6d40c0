package tla

import (
	"math"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// chance gives a number below n: of the simulation, or else of a sequence that is the same for each check.
func (r *registers) chance(n uint64) uint64 {
	if r.random == nil {
		r.drawn++
		return splitmix.Mix(r.drawn*splitmix.Gamma) % n
	}
	return r.random() % n
}

// drawn is an operator of n values that depends on chance.
func drawn(n int, f func(r *registers, args []value.Value) value.Value) *builtin {
	return &builtin{special: func(c *compiler, d *def, u call) node {
		c.arity(d, n, u)
		c.loader.draws = true
		args, at := c.all(u.args, u.from), u.at
		return node{fresh: true, eval: func(x *ctx) value.Value {
			values := make([]value.Value, n)
			for i := range args {
				values[i] = args[i].eval(x)
			}
			x.m.at = at
			return f(x.m.tlc, values)
		}}.of(args...)
	}}
}

func init() {
	modules["Randomization"] = map[string]*builtin{
		"RandomSubset": drawn(2, func(r *registers, args []value.Value) value.Value {
			return r.subset(integer(args[0]), args[1])
		}),
		// Of k subsets, whose members are taken each with the chance that gives them n members on average.
		"RandomSetOfSubsets": drawn(3, func(r *registers, args []value.Value) value.Value {
			k, n, items := integer(args[0]), integer(args[1]), value.Explicit(args[2]).Items
			if k < 0 || n < 0 || n > int64(len(items)) {
				value.Fail("RandomSetOfSubsets(%d, %d, S): the numbers are natural numbers, and the second is no larger than S", k, n)
			}
			value.AtMost(int(min(k, value.Most+1)))
			var list []value.Value
			for range k {
				var members []value.Value
				for _, v := range items {
					if int64(r.chance(uint64(len(items)))) < n {
						members = append(members, v)
					}
				}
				list = append(list, value.SortedSet(members))
			}
			return value.NewSet(list)
		}),
	}
}

// member is one of a set's, each with the same chance.
func (r *registers) member(set value.Value) value.Value {
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
		return value.Int(s.Low + int64(r.chance(uint64(s.High-s.Low)+1)))
	case *value.Subsets:
		var members []value.Value
		value.Each(s.Base, func(v value.Value) bool {
			if r.chance(2) == 0 {
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
	return items[r.chance(uint64(len(items)))]
}

// subset is a set of k members.
func (r *registers) subset(k int64, set value.Value) value.Value {
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
		// Few of many: those that come twice are drawn anew.
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
		at := i + int64(r.chance(uint64(size-i)))
		items[i], items[at] = items[at], items[i]
	}
	return value.NewSet(items[:k])
}
