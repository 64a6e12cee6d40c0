package library

import (
	"embed"
	"math/bits"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// sources has community modules as far as they are written in TLA+.
//
//go:embed library/*.tla
var sources embed.FS

// ModuleText is the text of a file of these, as library/Graphs.tla.
func ModuleText(file string) (text string, found bool) {
	b, err := sources.ReadFile(file)
	return string(b), err == nil
}

// Proven are modules that hold nothing but theorems, for proofs.
func Proven(name string) bool {
	return strings.HasSuffix(name, "Theorems") || strings.HasSuffix(name, "Theorems_proofs") || name == "NaturalsInduction" || name == "WellFoundedInduction"
}

var functionsModule = map[string]*Builtin{
	"Range":       {One: rangeOf},
	"IsInjective": {Test: injective},
	"AntiFunction": {One: func(f value.Value) value.Value {
		if !injective(f) {
			value.Fail("AntiFunction: %s has a value twice", value.Short(f))
		}
		var domain, values []value.Value
		value.Each(value.Domain(f), func(x value.Value) bool {
			domain, values = append(domain, Settled(value.Apply(f, x))), append(values, x)
			return true
		})
		return value.FunctionOf(domain, values)
	}},
	"FoldFunction": folds(3, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
		sum := args[0]
		value.Each(value.Domain(args[1]), func(x value.Value) bool { sum = step(value.Apply(args[1], x), sum); return true })
		return sum
	}),
	"FoldFunctionOnSet": folds(4, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
		sum := args[0]
		value.Domain(args[1]) // an error also if the set is empty and the function none
		value.Each(args[2], func(x value.Value) bool { sum = step(value.Apply(args[1], x), sum); return true })
		return sum
	}),
}

var finiteSetsExtModule = map[string]*Builtin{
	"FoldSet": folds(3, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
		sum := args[0]
		value.Each(args[1], func(x value.Value) bool { sum = step(x, sum); return true })
		return sum
	}),
	"kSubset": {Two: func(k, s value.Value) value.Value {
		n := Integer(k)
		var list []value.Value
		base := value.Explicit(s)
		if size := int64(len(base.Items)); n >= 0 && n <= size {
			ways := int64(1)
			for i := range min(n, size-n) {
				if ways = ways * (size - i) / (i + 1); ways > value.Most || ways*n > value.MostWithin {
					value.Fail("kSubset(%d, S): of %s there are more such subsets than can be enumerated", n, plural.Count(size, "member"))
				}
			}
		}
		(&value.Subsets{Base: base}).EachOf(int(min(n, value.Most)), func(v value.Value) bool {
			list = append(list, v)
			return true
		})
		return value.NewSet(list)
	}},
	"Max": {One: func(s value.Value) value.Value { return extreme(s, "Max", func(a, b int64) bool { return a > b }) }},
	"Min": {One: func(s value.Value) value.Value { return extreme(s, "Min", func(a, b int64) bool { return a < b }) }},
}

var sequencesExtModule = map[string]*Builtin{
	"ToSet":    {One: rangeOf},
	"SetToSeq": {One: func(s value.Value) value.Value { return value.NewTuple(value.Explicit(s).Items) }},
	"Reverse": {One: func(s value.Value) value.Value {
		items := value.Items(s)
		list := make([]value.Value, len(items))
		for i, v := range items {
			list[len(items)-1-i] = v
		}
		return value.NewTuple(list)
	}},
	"ReplaceAllSubSeqs":  {Three: func(r, s, t value.Value) value.Value { return replacedIn(r, s, t, -1) }},
	"ReplaceFirstSubSeq": {Three: func(r, s, t value.Value) value.Value { return replacedIn(r, s, t, 1) }},
	"FoldSeq":            functionsModule["FoldFunction"],
	"Contains": {Compare: func(s, e value.Value) bool {
		return first(value.Items(s), func(v value.Value) bool { return value.Equal(v, e) }) > 0
	}},
	"RemoveFirst": {Two: func(s, e value.Value) value.Value {
		return without(s, first(value.Items(s), func(v value.Value) bool { return value.Equal(v, e) }))
	}},
	"RemoveFirstMatch": picks(2, func(args []value.Value, test func(value.Value) bool) value.Value {
		return without(args[0], first(value.Items(args[0]), test))
	}),
	"SelectInSeq": picks(2, func(args []value.Value, test func(value.Value) bool) value.Value {
		return value.Int(first(value.Items(args[0]), test))
	}),
	"SelectLastInSeq": picks(2, func(args []value.Value, test func(value.Value) bool) value.Value {
		return value.Int(last(value.Items(args[0]), test))
	}),
	"SelectInSubSeq": picks(4, func(args []value.Value, test func(value.Value) bool) value.Value {
		part, before := between(args, "SelectInSubSeq")
		if at := first(part, test); at > 0 {
			return value.Int(before + at)
		}
		return value.Int(0)
	}),
	"SelectLastInSubSeq": picks(4, func(args []value.Value, test func(value.Value) bool) value.Value {
		part, before := between(args, "SelectLastInSubSeq")
		if at := last(part, test); at > 0 {
			return value.Int(before + at)
		}
		return value.Int(0)
	}),
	"SetToSeqs": {One: func(s value.Value) value.Value {
		items := value.Explicit(s).Items
		ways := 1
		for i := range items {
			ways *= i + 1
			value.AtMost(ways * len(items))
		}
		var list []value.Value
		orders(items, func(order []value.Value) { list = append(list, value.NewTuple(order)) })
		return value.NewSet(list)
	}},
	"Suffixes": {One: func(s value.Value) value.Value {
		items := value.Items(s)
		value.AtMost(len(items) * len(items) / 2)
		list := make([]value.Value, 0, len(items)+1)
		for i := range len(items) + 1 {
			list = append(list, value.NewTuple(items[i:]))
		}
		return value.NewSet(list)
	}},
	"AllSubSeqs": {One: func(s value.Value) value.Value {
		items := value.Items(s)
		value.AtMost(max(len(items), 1) << min(len(items), 32))
		list := []value.Value{value.EmptyTuple}
		for _, v := range items { // each with and without v
			for _, t := range list[:len(list):len(list)] {
				list = append(list, value.NewTuple(append(slices.Clone(value.Items(t)), v)))
			}
		}
		return value.NewSet(list)
	}},
	"FoldLeft": folds(3, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
		sum := args[0]
		for _, x := range value.Items(args[1]) {
			sum = step(sum, x)
		}
		return sum
	}),
	"FoldRight": folds(3, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
		items, sum := value.Items(args[0]), args[1]
		for i := len(items) - 1; i >= 0; i-- {
			sum = step(items[i], sum)
		}
		return sum
	}),
}

var bagsExtModule = map[string]*Builtin{
	"FoldBag": folds(3, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
		sum := args[0]
		value.Each(value.Domain(args[1]), func(x value.Value) bool {
			n := Copies(args[1], x)
			if n <= 0 {
				value.Fail("FoldBag: a bag cannot have %s of %s", plural.Count(n, "copy"), value.Short(x))
			}
			for range n {
				sum = step(sum, x)
			}
			return true
		})
		return sum
	}),
}

var bitwiseModule = map[string]*Builtin{
	"&":  arithmetic("&", func(a, b int64) (int64, bool) { return a & b, true }),
	"|":  arithmetic("|", func(a, b int64) (int64, bool) { return a | b, true }),
	"^^": arithmetic("^^", func(a, b int64) (int64, bool) { return a ^ b, true }),
	"Not": {One: func(a value.Value) value.Value { // within the digits that a has
		n := Integer(a)
		if n < 0 {
			value.Fail("Not(%d): a natural number is needed", n)
		}
		return value.Int(n ^ (1<<bits.Len64(uint64(n)) - 1))
	}},
	"shiftR": arithmetic("shiftR", func(a, b int64) (int64, bool) {
		if a < 0 || b < 0 {
			value.Fail("shiftR(%d, %d): natural numbers are needed", a, b)
		}
		return a >> uint(b), true
	}),
}

var differentialEquationsModule = map[string]*Builtin{"Integrate": nil}

var shiVizModule = map[string]*Builtin{"Host": nil, "Clock": nil}

// injective reports whether the values of a function differ. Of a set of records TLC compares the sets of values, and so does this.
func injective(f value.Value) bool {
	if r, ok := f.(*value.Records); ok {
		return len(value.NewSet(slices.Clone(r.Sets)).Items) == len(r.Sets) // NewSet sorts what it is given
	}
	return value.Size(rangeOf(f)) == value.Size(value.Explicit(value.Domain(f)))
}

// picks is an operator of n arguments whose last is a test of items.
func picks(n int, of func(args []value.Value, test func(value.Value) bool) value.Value) *Builtin {
	return &Builtin{Arguments: n, Pick: of}
}

// folds is an operator of n arguments whose first is an operator of two.
func folds(n int, through func(args []value.Value, step func(a, b value.Value) value.Value) value.Value) *Builtin {
	return &Builtin{Arguments: n, Fold: through}
}

// first is the place, from 1 on, of the first item that passes a test, and 0 if none does. Later items are not tested.
func first(items []value.Value, test func(value.Value) bool) int {
	return slices.IndexFunc(items, test) + 1
}

// last is the place of the last item that passes a test, and 0 if none does. Earlier items are not tested.
func last(items []value.Value, test func(value.Value) bool) int {
	for i, v := range slices.Backward(items) {
		if test(v) {
			return i + 1
		}
	}
	return 0
}

// without is a sequence without its item at a place, or as it is for place 0.
func without(s value.Value, at int) value.Value {
	items := value.Items(s)
	if at == 0 {
		return value.NewTuple(items)
	}
	return value.NewTuple(slices.Delete(slices.Clone(items), at-1, at))
}

// between is the part of a sequence from one place up to another, and how many items are before it.
func between(args []value.Value, operator string) ([]value.Value, int) {
	items, from, to := value.Items(args[0]), Integer(args[1]), Integer(args[2])
	switch {
	case from > to:
		return nil, 0
	case from < 1 || to > int64(len(items)):
		value.Fail("%s: %d..%d is not within 1..%d", operator, from, to, len(items))
	}
	return items[from-1 : to], int(from - 1)
}

func rangeOf(f value.Value) value.Value {
	var items []value.Value
	value.Each(value.Domain(f), func(x value.Value) bool { items = append(items, value.Apply(f, x)); return true })
	return value.NewSet(items)
}

// replacedIn is t with r in the place of s, from its beginning on; all of them, or the first. All three are sequences, or strings. An empty s
// is found before each item of t.
func replacedIn(r, s, t value.Value, most int) value.Value {
	if text, ok := t.(*value.String); ok {
		old, ok := s.(*value.String)
		by, fine := r.(*value.String)
		if !ok || !fine {
			value.Fail("a string cannot have its parts replaced by anything but strings")
		}
		if text.Text == old.Text {
			return r
		}
		value.AtMost(len(text.Text) + strings.Count(text.Text, old.Text)*len(by.Text))
		replaced := strings.Replace(text.Text, old.Text, by.Text, most)
		if old.Text == "" && most < 0 {
			replaced = strings.TrimSuffix(replaced, by.Text)
		}
		return value.Text(replaced)
	}
	items, old, by := value.Items(t), value.Items(s), value.Items(r)
	if len(items) == 0 && len(old) == 0 {
		return r
	}
	var list []value.Value
	for at := 0; at < len(items); {
		switch {
		case most != 0 && at+len(old) <= len(items) && value.Equal(value.NewTuple(items[at:at+len(old)]), s):
			most--
			list = append(list, by...)
			if at += len(old); len(old) > 0 {
				break
			}
			fallthrough
		default:
			list = append(list, items[at])
			at++
		}
		value.AtMost(len(list))
	}
	return value.NewTuple(list)
}

func extreme(s value.Value, name string, better func(a, b int64) bool) value.Value {
	var best value.Value
	value.Each(s, func(v value.Value) bool {
		if n := Integer(v); best == nil || better(n, Integer(best)) {
			best = v
		}
		return true
	})
	if best == nil {
		value.Fail("%s({}): the set is empty", name)
	}
	return best
}
