package library

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

var bagsModule = map[string]*Builtin{
	"IsABag":   {Test: isBag},
	"BagToSet": {One: value.Domain},
	"SetToBag": {One: func(s value.Value) value.Value {
		return bagOf(value.Explicit(s).Items, func(value.Value) int64 { return 1 })
	}},
	"BagIn":       {Compare: func(e, b value.Value) bool { return value.Contains(value.Domain(b), e) }},
	"EmptyBag":    {None: value.EmptyTuple},
	"CopiesIn":    {Two: func(e, b value.Value) value.Value { return value.Int(Copies(b, e)) }},
	`\oplus`:      {Two: func(a, b value.Value) value.Value { return BagSum(a, b, 1) }},
	`\ominus`:     {Two: func(a, b value.Value) value.Value { return BagSum(a, b, -1) }},
	`\sqsubseteq`: {Compare: subBag},
	"BagUnion": {One: func(s value.Value) value.Value {
		sum := value.Value(value.EmptyTuple)
		value.Each(s, func(b value.Value) bool { sum = BagSum(sum, b, 1); return true })
		return sum
	}},
	"BagCardinality": {One: func(b value.Value) value.Value {
		n := int64(0)
		value.Each(value.Domain(b), func(e value.Value) bool { n += Copies(b, e); return true })
		return value.Int(n)
	}},
	"SubBag": {One: subBags},
}

func isBag(b value.Value) bool {
	switch b.(type) {
	case *value.Tuple, *value.Record, *value.Function, value.Applicable:
	default:
		return false
	}
	return value.Each(value.Domain(b), func(e value.Value) bool {
		n, ok := value.Apply(b, e).(value.Int)
		return ok && n > 0
	})
}

// Copies is how many copies of e are in a bag.
func Copies(b, e value.Value) int64 {
	if f, ok := b.(*value.Function); ok {
		if at, found := f.Domain.Find(e); found {
			return Integer(f.Values[at])
		}
		return 0
	}
	if !value.Contains(value.Domain(b), e) {
		return 0
	}
	return Integer(value.Apply(b, e))
}

// bagOf makes a bag of members that are sorted and differ; those with no copies are left out.
func bagOf(members []value.Value, count func(value.Value) int64) value.Value {
	var keys, values []value.Value
	for _, e := range members {
		if n := count(e); n > 0 {
			keys, values = append(keys, e), append(values, value.Int(n))
		}
	}
	return value.NewFunction(value.SortedSet(keys), values)
}

// BagSum adds the copies of a bag to those of another one, or takes them away if sign is -1.
func BagSum(a, b value.Value, sign int64) value.Value {
	if f, ok := b.(*value.Function); ok && len(f.Values) == 1 { // as messages come and go
		if g, ok := a.(*value.Function); ok && !slices.ContainsFunc(g.Values, isNone) {
			e := f.Domain.Items[0]
			if n, ok := sum(Copies(a, e), sign*Integer(f.Values[0])); ok {
				return g.With(e, value.Int(n), n > 0)
			}
		}
	}
	members := value.Explicit(value.Union(value.Domain(a), value.Domain(b))).Items
	return bagOf(members, func(e value.Value) int64 {
		n, ok := sum(Copies(a, e), sign*Copies(b, e))
		if !ok {
			value.Fail("a bag has more copies of %s than fit into 64 bits", value.Short(e))
		}
		return n
	})
}

// isNone reports whether a value is no count of copies in a bag.
func isNone(v value.Value) bool {
	n, ok := v.(value.Int)
	return !ok || n <= 0
}

func subBag(a, b value.Value) bool {
	return value.Each(value.Domain(a), func(e value.Value) bool { return Copies(a, e) <= Copies(b, e) })
}

func subBags(b value.Value) value.Value {
	members := value.Explicit(value.Domain(b)).Items
	size := 1
	for _, e := range members {
		n := int(min(Copies(b, e), value.Most)) + 1
		value.AtMost(n)
		size *= n
		value.AtMost(size * len(members))
	}
	list := []value.Value{}
	count := make([]int64, len(members))
	for {
		i := 0
		list = append(list, bagOf(members, func(value.Value) int64 { i++; return count[i-1] }))
		k := len(members) - 1
		for ; k >= 0; k-- {
			if count[k]++; count[k] <= Copies(b, members[k]) {
				break
			}
			count[k] = 0
		}
		if k < 0 {
			return value.NewSet(list)
		}
	}
}
