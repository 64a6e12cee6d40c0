package tla

import (
	"math"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// builtin is an operator of a module that is part of this package. One of its functions is set.
type builtin struct {
	none    value.Value
	one     func(a value.Value) value.Value
	two     func(a, b value.Value) value.Value
	three   func(a, b, c value.Value) value.Value
	test    func(a value.Value) bool
	compare func(a, b value.Value) bool
	// special compiles a use itself: operators as arguments, effects.
	special func(c *compiler, d *def, u call) node
}

// standard are the modules that a file of the same name does not replace.
var standard = map[string]bool{"Naturals": true, "Integers": true, "Reals": true, "Sequences": true, "FiniteSets": true, "TLC": true, "TLCExt": true,
	"Bags": true, "TLAPS": true, "Json": true, "IOUtils": true, "CSV": true, "Randomization": true, "Statistics": true}

// includes are the modules that a module of this package extends.
var includes = map[string][]string{"Integers": {"Naturals"}, "Reals": {"Integers"}, "Sequences": {}, "Bags": {}, "TLC": {}, "Statistics": {"Naturals"}}

// modules are those of this package, by name.
var modules = map[string]map[string]*builtin{}

func (c *compiler) native(d *def, u call) node {
	b := d.native
	args := func(n int) []node {
		c.arity(d, n, u)
		return c.all(u.args, u.from)
	}
	at := u.at
	switch {
	case b.none != nil:
		args(0)
		return constNode(b.none)
	case b.one != nil:
		a := args(1)
		return node{eval: func(x *ctx) value.Value {
			v := a[0].eval(x)
			x.m.at = at
			return b.one(v)
		}}.of(a...)
	case b.two != nil:
		a := args(2)
		f, first, second := b.two, a[0].eval, a[1].eval
		return node{eval: func(x *ctx) value.Value {
			v, w := first(x), second(x)
			x.m.at = at
			return f(v, w)
		}}.of(a...)
	case b.three != nil:
		a := args(3)
		return node{eval: func(x *ctx) value.Value {
			u, v, w := a[0].eval(x), a[1].eval(x), a[2].eval(x)
			x.m.at = at
			return b.three(u, v, w)
		}}.of(a...)
	case b.test != nil:
		a := args(1)
		return testNode(func(x *ctx) bool {
			v := a[0].eval(x)
			x.m.at = at
			return b.test(v)
		}, a...)
	case b.compare != nil:
		a := args(2)
		f, first, second := b.compare, a[0].eval, a[1].eval
		return testNode(func(x *ctx) bool {
			v, w := first(x), second(x)
			x.m.at = at
			return f(v, w)
		}, a...)
	}
	return b.special(c, d, u)
}

// operand compiles an operator that is an argument, as a function of values.
func (c *compiler) operand(arg syntax.Expr, from place, arity int, at *where) (func(x *ctx, args ...value.Value) value.Value, node) {
	op := c.operator(arg, from, arity)
	born := c.born
	p := from
	slots := make([]int, arity)
	u := call{name: op.name, at: at}
	for i := range arity {
		name := string(rune('1' + i)) // no name of TLA+ is a number
		p, slots[i] = c.name(p, name)
		u.args = append(u.args, &syntax.Apply{Pos: at.pos, Name: name})
	}
	u.from = p
	n := c.invoke(op, u).closed(born)
	return func(x *ctx, args ...value.Value) value.Value {
		for i, s := range slots {
			x.slots[s] = args[i]
		}
		return n.eval(x)
	}, n
}

func integer(v value.Value) int64 {
	n, ok := v.(value.Int)
	if !ok {
		value.Fail("an integer is needed, and not the %s %s", value.Kind(v), value.Short(v))
	}
	return int64(n)
}

func arithmetic(op string, f func(a, b int64) (int64, bool)) *builtin {
	return &builtin{two: func(a, b value.Value) value.Value {
		n, ok := f(integer(a), integer(b))
		if !ok {
			value.Fail("%s %s %s does not fit into 64 bits", a, op, b)
		}
		return value.Int(n)
	}}
}

func order(f func(a, b int64) bool) *builtin {
	return &builtin{compare: func(a, b value.Value) bool { return f(integer(a), integer(b)) }}
}

func init() {
	modules["Naturals"] = map[string]*builtin{
		"Nat": {none: value.Naturals},
		"+":   arithmetic("+", sum),
		"-":   arithmetic("-", func(a, b int64) (int64, bool) { s := a - b; return s, (s < a) == (b > 0) || b == 0 }),
		"*": arithmetic("*", func(a, b int64) (int64, bool) {
			if a == 0 || b == 0 {
				return 0, true
			}
			p := a * b
			return p, p/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
		}),
		"^": arithmetic("^", func(a, b int64) (int64, bool) {
			switch {
			case b < 0:
				value.Fail("%d^%d: the exponent is negative", a, b)
			case a == 0 && b == 0:
				value.Fail("0^0 is not defined")
			}
			p := int64(1)
			for ; b > 0; b-- {
				q := p * a
				if a != 0 && q/a != p {
					return 0, false
				}
				if p = q; a == 0 || a == 1 {
					break
				} else if a == -1 {
					if b%2 == 0 {
						return 1, true
					}
					return -1, true
				}
			}
			return p, true
		}),
		`\div`: arithmetic(`\div`, func(a, b int64) (int64, bool) {
			if b == 0 {
				value.Fail("%d \\div 0: there is no division by 0", a)
			}
			if b == -1 && a == math.MinInt64 {
				return 0, false
			}
			q := a / b
			if a%b != 0 && (a < 0) != (b < 0) {
				q--
			}
			return q, true
		}),
		"%": arithmetic("%", func(a, b int64) (int64, bool) {
			if b <= 0 {
				value.Fail("%d %% %d: the divisor must be positive", a, b)
			}
			if m := a % b; m < 0 {
				return m + b, true
			}
			return a % b, true
		}),
		"<":    order(func(a, b int64) bool { return a < b }),
		">":    order(func(a, b int64) bool { return a > b }),
		`\leq`: order(func(a, b int64) bool { return a <= b }),
		`\geq`: order(func(a, b int64) bool { return a >= b }),
		"..":   {two: func(a, b value.Value) value.Value { return &value.Interval{Low: integer(a), High: integer(b)} }},
	}
	modules["Integers"] = map[string]*builtin{
		"Int": {none: value.Integers},
		"-.": {one: func(a value.Value) value.Value {
			n := integer(a)
			if n == math.MinInt64 {
				value.Fail("-(%s) does not fit into 64 bits", a)
			}
			return value.Int(-n)
		}},
	}
	modules["Reals"] = map[string]*builtin{
		"Real": {none: value.Reals},
		"/": arithmetic("/", func(a, b int64) (int64, bool) {
			if b == 0 || a%b != 0 || b == -1 && a == math.MinInt64 {
				value.Fail("%d / %d is no integer: other numbers are not supported", a, b)
			}
			return a / b, true
		}),
		"Infinity": nil,
	}
	modules["TLAPS"] = map[string]*builtin{}
	modules["FiniteSets"] = map[string]*builtin{
		"Cardinality": {one: func(s value.Value) value.Value {
			if n, exact := value.Count(s); exact {
				return value.Int(n)
			}
			return value.Int(len(value.Explicit(s).Items))
		}},
		"IsFiniteSet": {test: value.Finite},
	}
	modules["Sequences"] = map[string]*builtin{
		"Seq": {one: func(s value.Value) value.Value { return &value.Sequences{Base: s} }},
		"Len": {one: func(s value.Value) value.Value {
			if t, ok := s.(*value.String); ok {
				return value.Int(len([]rune(t.Text)))
			}
			return value.Int(len(value.Items(s)))
		}},
		`\o`: {two: concatenation},
		"Append": {two: func(s, v value.Value) value.Value {
			items := value.Items(s)
			list := make([]value.Value, len(items)+1)
			copy(list, items)
			list[len(items)] = settled(v)
			return value.NewTuple(list)
		}},
		"Head": {one: func(s value.Value) value.Value {
			items := value.Items(s)
			if len(items) == 0 {
				value.Fail("Head(<<>>): the sequence is empty")
			}
			return items[0]
		}},
		"Tail": {one: func(s value.Value) value.Value {
			items := value.Items(s)
			if len(items) == 0 {
				value.Fail("Tail(<<>>): the sequence is empty")
			}
			return value.NewTuple(items[1:])
		}},
		"SubSeq": {three: func(s, from, to value.Value) value.Value {
			m, n := integer(from), integer(to)
			if t, ok := s.(*value.String); ok {
				r := []rune(t.Text)
				if m > n {
					return value.Text("")
				}
				if m < 1 || n > int64(len(r)) {
					value.Fail("SubSeq: %d..%d is not within %s", m, n, s)
				}
				return value.Text(string(r[m-1 : n]))
			}
			items := value.Items(s)
			if m > n {
				return value.EmptyTuple
			}
			if m < 1 || n > int64(len(items)) {
				value.Fail("SubSeq: %d..%d is not within 1..%d", m, n, len(items))
			}
			return value.NewTuple(items[m-1 : n])
		}},
		"SelectSeq": {special: func(c *compiler, d *def, u call) node {
			c.arity(d, 2, u)
			s := c.expr(u.args[0], u.from)
			f, n := c.operand(u.args[1], u.from, 1, u.at)
			at := u.at
			return node{eval: func(x *ctx) value.Value {
				var list []value.Value
				seq := s.eval(x)
				x.m.at = at
				for _, v := range value.Items(seq) {
					keep := f(x, v)
					x.m.at = at
					if boolean(keep) {
						list = append(list, v)
					}
				}
				return value.NewTuple(list)
			}}.of(s, n)
		}},
	}
}

// sum is a + b, if it fits.
func sum(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0) || b == 0
}

func boolean(v value.Value) bool {
	b, ok := v.(value.Bool)
	if !ok {
		value.Fail("a Boolean is needed, and not the %s %s", value.Kind(v), value.Short(v))
	}
	return bool(b)
}

func concatenation(s, t value.Value) value.Value {
	if a, ok := s.(*value.String); ok {
		if b, ok := t.(*value.String); ok {
			value.AtMost(len(a.Text) + len(b.Text))
			return value.Text(a.Text + b.Text)
		}
	}
	a, b := value.Items(s), value.Items(t)
	value.AtMost(len(a) + len(b))
	switch {
	case len(a) == 0:
		return value.NewTuple(b)
	case len(b) == 0:
		return value.NewTuple(a)
	}
	return value.NewTuple(append(append(make([]value.Value, 0, len(a)+len(b)), a...), b...))
}
