package library

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

var tlcModule = map[string]*Builtin{
	":>": {Two: func(a, b value.Value) value.Value {
		return value.FunctionOf([]value.Value{Settled(a)}, []value.Value{Settled(b)})
	}},
	"@@":            {Two: value.Merge},
	"Permutations":  {One: permutations},
	"RandomElement": drawn(1, func(r Chance, args []value.Value) value.Value { return r.member(args[0]) }),
	"Any":           {None: &value.Infinite{Name: "Any", Has: func(value.Value) (bool, bool) { return true, true }}},
	"ToString":      {One: func(v value.Value) value.Value { return value.Text(v.String()) }},
	"TLCEval":       {One: Settled},
}

var tlcextModule = map[string]*Builtin{
	"AssertEq":          {Compare: func(a, b value.Value) bool { return value.Equal(a, b) }},
	"TLCEvalDefinition": nil,
	"ToTrace":           {One: toTrace},
	"TLCNoOp":           {One: func(v value.Value) value.Value { return v }},
	"TLCModelValue": {One: func(v value.Value) value.Value {
		s, ok := v.(*value.String)
		if !ok {
			value.Fail("TLCModelValue needs a string, and not the %s %s", value.Kind(v), value.Short(v))
		}
		return value.ModelValue(s.Text)
	}},
	"TLCCache": {Two: func(v, _ value.Value) value.Value { return v }},
	"TLCFP":    {One: func(v value.Value) value.Value { return value.Int(int32(v.Fingerprint())) }},
}

// permutations is the set of functions from a set onto itself.
func permutations(s value.Value) value.Value {
	domain := value.Explicit(s)
	Permutable(domain)
	var list []value.Value
	orders(domain.Items, func(order []value.Value) { list = append(list, value.NewFunction(domain, order)) })
	return value.NewSet(list)
}

// Permutable fails for a set that has too many permutations.
func Permutable(s value.Value) {
	if n := value.Size(s); n > 9 {
		value.Fail("Permutations of %s are too many", plural.Count(n, "member"))
	}
}

// orders gives the items in each order.
func orders(items []value.Value, give func(order []value.Value)) {
	var from func(taken, left []value.Value)
	from = func(taken, left []value.Value) {
		if len(left) == 0 {
			give(slices.Clone(taken))
			return
		}
		for i, v := range left {
			rest := append(slices.Clone(left[:i]), left[i+1:]...)
			from(append(taken, v), rest)
		}
	}
	from(nil, items)
}

// toTrace is the sequence of a counterexample's states.
func toTrace(v value.Value) value.Value {
	var numbers, states []value.Value
	value.Each(value.Apply(v, value.Text("state")), func(s value.Value) bool {
		numbers, states = append(numbers, value.Apply(s, value.Int(1))), append(states, value.Apply(s, value.Int(2)))
		return true
	})
	return value.FunctionOf(numbers, states)
}
