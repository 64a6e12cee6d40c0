package tla

import (
	"embed"
	"math/bits"
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
		"Range": {one: rangeOf},
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
		"FoldSeq": {special: func(c *compiler, d *def, u call) node {
			return c.fold(d, u, 3, 0, func(args []value.Value, step func(a, b value.Value) value.Value) value.Value {
				sum := args[0]
				for _, x := range value.Items(args[1]) {
					sum = step(x, sum)
				}
				return sum
			})
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
					for range copies(args[1], x) {
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
	for _, name := range []string{"GraphViz", "ShiViz", "HTML", "Toolbox"} {
		modules[name] = map[string]*builtin{}
	}
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
		if best == nil || better(integer(v), integer(best)) {
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
			left = value.Difference(left, value.SortedSet([]value.Value{v}))
		}
		sum := base.eval(x)
		for i := len(order) - 1; i >= 0; i-- {
			sum = step(x, image(x, order[i]), sum)
		}
		return sum
	}}.of(n1, base, n2, n3, set)
}
