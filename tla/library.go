package tla

import (
	"embed"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// library has community modules as far as they are written in TLA+.
//
//go:embed library/*.tla
var library embed.FS

// proven are modules that hold nothing but theorems, for proofs.
func proven(name string) bool {
	return strings.HasSuffix(name, "Theorems") || strings.HasSuffix(name, "Theorems_proofs") || name == "NaturalsInduction" || name == "WellFoundedInduction"
}

func init() {
	modules["Folds"] = map[string]*builtin{"MapThenFoldSet": {special: mapThenFoldSet}}
	modules["Functions"] = map[string]*builtin{
		"Range":       {one: rangeOf},
		"IsInjective": {test: injective},
		"AntiFunction": {one: func(f value.Value) value.Value {
			if !injective(f) {
				value.Fail("AntiFunction: %s has a value twice", value.Short(f))
			}
			var domain, values []value.Value
			value.Each(value.Domain(f), func(x value.Value) bool {
				domain, values = append(domain, settled(value.Apply(f, x))), append(values, x)
				return true
			})
			return value.FunctionOf(domain, values)
		}},
		"FoldFunction": {special: func(c *compiler, d *def, u call) node {
			return c.fold(d, u, 3, 0, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
				sum := args[0]
				value.Each(value.Domain(args[1]), func(x value.Value) bool { sum = step(value.Apply(args[1], x), sum); return true })
				return sum
			})
		}},
		"FoldFunctionOnSet": {special: func(c *compiler, d *def, u call) node {
			return c.fold(d, u, 4, 0, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
				sum := args[0]
				value.Domain(args[1]) // an error also if the set is empty and the function none
				value.Each(args[2], func(x value.Value) bool { sum = step(value.Apply(args[1], x), sum); return true })
				return sum
			})
		}},
	}
	modules["FiniteSetsExt"] = map[string]*builtin{
		"FoldSet": {special: func(c *compiler, d *def, u call) node {
			return c.fold(d, u, 3, 0, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
				sum := args[0]
				value.Each(args[1], func(x value.Value) bool { sum = step(x, sum); return true })
				return sum
			})
		}},
		"kSubset": {two: func(k, s value.Value) value.Value {
			n := integer(k)
			var list []value.Value
			base := value.Explicit(s)
			if size := int64(len(base.Items)); n >= 0 && n <= size {
				ways := int64(1)
				for i := range min(n, size-n) {
					if ways = ways * (size - i) / (i + 1); ways > value.Most || ways*n > value.MostWithin {
						value.Fail("kSubset(%d, S): of %d members there are more such subsets than can be enumerated", n, size)
					}
				}
			}
			(&value.Subsets{Base: base}).EachOf(int(min(n, value.Most)), func(v value.Value) bool {
				list = append(list, v)
				return true
			})
			return value.NewSet(list)
		}},
		"Max": {one: func(s value.Value) value.Value { return extreme(s, "Max", func(a, b int64) bool { return a > b }) }},
		"Min": {one: func(s value.Value) value.Value { return extreme(s, "Min", func(a, b int64) bool { return a < b }) }},
	}
	modules["SequencesExt"] = map[string]*builtin{
		"ToSet":    {one: rangeOf},
		"SetToSeq": {one: func(s value.Value) value.Value { return value.NewTuple(value.Explicit(s).Items) }},
		"Reverse": {one: func(s value.Value) value.Value {
			items := value.Items(s)
			list := make([]value.Value, len(items))
			for i, v := range items {
				list[len(items)-1-i] = v
			}
			return value.NewTuple(list)
		}},
		"ReplaceAllSubSeqs":  {three: func(r, s, t value.Value) value.Value { return replacedIn(r, s, t, -1) }},
		"ReplaceFirstSubSeq": {three: func(r, s, t value.Value) value.Value { return replacedIn(r, s, t, 1) }},
		"FoldSeq":            modules["Functions"]["FoldFunction"],
		"Contains": {compare: func(s, e value.Value) bool {
			return first(value.Items(s), func(v value.Value) bool { return value.Equal(v, e) }) > 0
		}},
		"RemoveFirst": {two: func(s, e value.Value) value.Value {
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
		"SetToSeqs": {one: func(s value.Value) value.Value {
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
		"Suffixes": {one: func(s value.Value) value.Value {
			items := value.Items(s)
			value.AtMost(len(items) * len(items) / 2)
			list := make([]value.Value, 0, len(items)+1)
			for i := range len(items) + 1 {
				list = append(list, value.NewTuple(items[i:]))
			}
			return value.NewSet(list)
		}},
		"AllSubSeqs": {one: func(s value.Value) value.Value {
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
		"FoldLeft": {special: func(c *compiler, d *def, u call) node {
			return c.fold(d, u, 3, 0, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
				sum := args[0]
				for _, x := range value.Items(args[1]) {
					sum = step(sum, x)
				}
				return sum
			})
		}},
		"FoldRight": {special: func(c *compiler, d *def, u call) node {
			return c.fold(d, u, 3, 0, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
				items, sum := value.Items(args[0]), args[1]
				for i := len(items) - 1; i >= 0; i-- {
					sum = step(items[i], sum)
				}
				return sum
			})
		}},
	}
	modules["BagsExt"] = map[string]*builtin{
		"FoldBag": {special: func(c *compiler, d *def, u call) node {
			return c.fold(d, u, 3, 0, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
				sum := args[0]
				value.Each(value.Domain(args[1]), func(x value.Value) bool {
					n := copies(args[1], x)
					if n <= 0 {
						value.Fail("FoldBag: a bag cannot have %d copies of %s", n, value.Short(x))
					}
					for range n {
						sum = step(sum, x)
					}
					return true
				})
				return sum
			})
		}},
	}
	modules["Bitwise"] = map[string]*builtin{
		"&":  arithmetic("&", func(a, b int64) (int64, bool) { return a & b, true }),
		"|":  arithmetic("|", func(a, b int64) (int64, bool) { return a | b, true }),
		"^^": arithmetic("^^", func(a, b int64) (int64, bool) { return a ^ b, true }),
		"Not": {one: func(a value.Value) value.Value { // within the digits that a has
			n := integer(a)
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
	modules["GraphViz"] = map[string]*builtin{"DotDiGraph": {special: dotDiGraph}}
	modules["DifferentialEquations"] = map[string]*builtin{"Integrate": nil}
	modules["ShiViz"] = map[string]*builtin{"Host": nil, "Clock": nil}
	modules["Toolbox"] = map[string]*builtin{}
}

// injective tells whether the values of a function differ. Of a set of records TLC compares the sets of values, and so does this.
func injective(f value.Value) bool {
	if r, ok := f.(*value.Records); ok {
		return len(value.NewSet(slices.Clone(r.Sets)).Items) == len(r.Sets) // NewSet sorts what it is given
	}
	return value.Size(rangeOf(f)) == value.Size(value.Explicit(value.Domain(f)))
}

// picks is an operator of n arguments whose last is a test of items.
func picks(n int, of func(args []value.Value, test func(value.Value) bool) value.Value) *builtin {
	return &builtin{special: func(c *compiler, d *def, u call) node {
		c.arity(d, n, u)
		test, tested := c.operand(u.args[n-1], u.from, 1, u.at)
		args, at := c.all(u.args[:n-1], u.from), u.at
		return node{eval: func(x *ctx) value.Value {
			values := evalAll(x, args)
			x.m.at = at
			return of(values, func(v value.Value) bool {
				holds := test(x, v)
				x.m.at = at
				return boolean(holds)
			})
		}}.of(append(args, tested)...)
	}}
}

// first is the place, from 1 on, of the first item that passes a test, and 0 if none does. What stands behind it is not tested.
func first(items []value.Value, test func(value.Value) bool) int {
	return slices.IndexFunc(items, test) + 1
}

// last is the place of the last item that passes a test, and 0 if none does. What stands before it is not tested.
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
	items, from, to := value.Items(args[0]), integer(args[1]), integer(args[2])
	switch {
	case from > to:
		return nil, 0
	case from < 1 || to > int64(len(items)):
		value.Fail("%s: %d..%d is not within 1..%d", operator, from, to, len(items))
	}
	return items[from-1 : to], int(from - 1)
}

// dotDiGraph is a graph [node, edge] in the language of Graphviz. The names of nodes there are fingerprints.
func dotDiGraph(c *compiler, d *def, u call) node {
	c.arity(d, 3, u)
	graph := c.expr(u.args[0], u.from)
	ofNode, n1 := c.operand(u.args[1], u.from, 1, u.at)
	ofEdge, n2 := c.operand(u.args[2], u.from, 1, u.at)
	at := u.at
	return node{eval: func(x *ctx) value.Value {
		g := graph.eval(x)
		x.m.at = at
		var b strings.Builder
		name := func(v value.Value) string { return strconv.FormatInt(int64(v.Fingerprint()), 10) }
		b.WriteString("digraph MyGraph {")
		value.Each(value.Explicit(value.Apply(g, value.Text("node"))), func(v value.Value) bool {
			fmt.Fprintf(&b, "%s[label=%s];", name(v), ofNode(x, v))
			return true
		})
		value.Each(value.Explicit(value.Apply(g, value.Text("edge"))), func(e value.Value) bool {
			ends := value.Items(e)
			if len(ends) < 2 {
				value.Fail("DotDiGraph: the edge %s has no two ends", value.Short(e))
			}
			fmt.Fprintf(&b, "%s->%s[label=%s];", name(ends[0]), name(ends[1]), ofEdge(x, e))
			return true
		})
		return value.Text(b.String() + "}")
	}}.of(graph, n1, n2)
}

func rangeOf(f value.Value) value.Value {
	var items []value.Value
	value.Each(value.Domain(f), func(x value.Value) bool { items = append(items, value.Apply(f, x)); return true })
	return value.NewSet(items)
}

// replacedIn is t with r in the place of s, from its beginning on; all of them, or the first. All three are sequences, or strings. An empty s
// stands before each item of t.
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
		if n := integer(v); best == nil || better(n, integer(best)) {
			best = v
		}
		return true
	})
	if best == nil {
		value.Fail("%s({}): the set is empty", name)
	}
	return best
}

// fold compiles an operator whose argument number at is an operator of two, with what goes through the other arguments.
func (c *compiler) fold(d *def, u call, arity, at int, through func(args []value.Value, step func(a, b value.Value) value.Value) value.Value) node {
	c.arity(d, arity, u)
	f, n := c.operand(u.args[at], u.from, 2, u.at)
	var others []node
	for i, a := range u.args {
		if i != at {
			others = append(others, c.expr(a, u.from))
		}
	}
	place := u.at
	return node{eval: func(x *ctx) value.Value {
		args := make([]value.Value, len(others))
		for i := range others {
			args[i] = others[i].eval(x)
		}
		x.m.at = place
		return through(args, func(a, b value.Value) value.Value { return f(x, a, b) })
	}}.of(append(others, n)...)
}

func mapThenFoldSet(c *compiler, d *def, u call) node {
	c.arity(d, 5, u)
	step, n1 := c.operand(u.args[0], u.from, 2, u.at)
	base := c.expr(u.args[1], u.from)
	image, n2 := c.operand(u.args[2], u.from, 1, u.at)
	pick, n3 := c.operand(u.args[3], u.from, 1, u.at)
	set := c.expr(u.args[4], u.from)
	return node{eval: func(x *ctx) value.Value {
		var order []value.Value
		for left := value.Value(value.Explicit(set.eval(x))); value.Size(left) > 0; {
			v := pick(x, left)
			order = append(order, v)
			if !value.Contains(left, v) {
				value.Fail("MapThenFoldSet: %s was chosen, which is no member of the set %s", value.Short(v), value.Short(left))
			}
			left = value.Difference(left, value.SortedSet([]value.Value{v}))
		}
		sum := base.eval(x)
		for i := len(order) - 1; i >= 0; i-- {
			sum = step(x, image(x, order[i]), sum)
		}
		return sum
	}}.of(n1, base, n2, n3, set)
}
