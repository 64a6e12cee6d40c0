// Package library has the modules that specifications extend: the standard modules and those of the community as functions of values, and modules
// in TLA+. Operators that take operators, or ask how a check continues, are added by the evaluator.
package library

import (
	"math"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Builtin is an operator of a module that is part of this package. One of its functions is set.
type Builtin struct {
	None      value.Value
	One       func(a value.Value) value.Value
	Two       func(a, b value.Value) value.Value
	Three     func(a, b, c value.Value) value.Value
	Test      func(a value.Value) bool
	Compare   func(a, b value.Value) bool
	Arguments int // of the functions that follow
	// effect must be evaluated each time: it has effects.
	Effect func(args []value.Value) value.Value
	// draw depends on chance.
	Draw func(chance Chance, args []value.Value) value.Value
	// pick has an operator as its last argument, which tests items.
	Pick func(args []value.Value, test func(value.Value) bool) value.Value
	// fold has an operator of two arguments as its first argument.
	Fold func(args []value.Value, step func(a, b value.Value) value.Value) value.Value
	// Special is an operator that the evaluator itself compiles.
	Special any
}

// Standard are the modules that a file of the same name does not replace.
var Standard = map[string]bool{"Naturals": true, "Integers": true, "Reals": true, "Sequences": true, "FiniteSets": true, "TLC": true, "TLCExt": true,
	"Bags": true, "TLAPS": true, "Json": true, "IOUtils": true, "CSV": true, "Randomization": true, "Statistics": true}

// Includes are the modules that a module of this package extends.
var Includes = map[string][]string{"Integers": {"Naturals"}, "Reals": {"Integers"}, "Sequences": {}, "Bags": {}, "TLC": {}, "Statistics": {"Naturals"}}

// Modules holds the modules whose operators are functions of values, by name. A nil Builtin is an unsupported operator.
var Modules = map[string]map[string]*Builtin{
	"Bags":                  bagsModule,
	"BagsExt":               bagsExtModule,
	"Bitwise":               bitwiseModule,
	"CSV":                   csvModule,
	"DifferentialEquations": differentialEquationsModule,
	"FiniteSets":            finiteSetsModule,
	"FiniteSetsExt":         finiteSetsExtModule,
	"Folds":                 {},
	"Functions":             functionsModule,
	"GraphViz":              {},
	"IOUtils":               ioutilsModule,
	"Integers":              integersModule,
	"Json":                  jsonModule,
	"Naturals":              naturalsModule,
	"Randomization":         randomizationModule,
	"Reals":                 realsModule,
	"SVG":                   svgModule,
	"Sequences":             sequencesModule,
	"SequencesExt":          sequencesExtModule,
	"ShiViz":                shiVizModule,
	"Statistics":            {},
	"TLAPS":                 {},
	"TLC":                   tlcModule,
	"TLCExt":                tlcextModule,
	"Toolbox":               {},
}

// Integer is the number that a value is; other values are an error.
func Integer(v value.Value) int64 {
	n, ok := v.(value.Int)
	if !ok {
		value.Fail("an integer is needed, and not the %s %s", value.Kind(v), value.Short(v))
	}
	return int64(n)
}

func arithmetic(op string, f func(a, b int64) (int64, bool)) *Builtin {
	return &Builtin{Two: func(a, b value.Value) value.Value {
		n, ok := f(Integer(a), Integer(b))
		if !ok {
			value.Fail("%s %s %s does not fit into 64 bits", a, op, b)
		}
		return value.Int(n)
	}}
}

func order(f func(a, b int64) bool) *Builtin {
	return &Builtin{Compare: func(a, b value.Value) bool { return f(Integer(a), Integer(b)) }}
}

var naturalsModule = map[string]*Builtin{
	"Nat": {None: value.Naturals},
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
	"..":   {Two: func(a, b value.Value) value.Value { return &value.Interval{Low: Integer(a), High: Integer(b)} }},
}

var integersModule = map[string]*Builtin{
	"Int": {None: value.Integers},
	"-.": {One: func(a value.Value) value.Value {
		n := Integer(a)
		if n == math.MinInt64 {
			value.Fail("-(%s) does not fit into 64 bits", a)
		}
		return value.Int(-n)
	}},
}

var realsModule = map[string]*Builtin{
	"Real": {None: value.Reals},
	"/": arithmetic("/", func(a, b int64) (int64, bool) {
		if b == 0 || a%b != 0 || b == -1 && a == math.MinInt64 {
			value.Fail("%d / %d is not an integer: other numbers are not supported", a, b)
		}
		return a / b, true
	}),
	"Infinity": nil,
}

var finiteSetsModule = map[string]*Builtin{
	"Cardinality": {One: func(s value.Value) value.Value {
		if n, exact := value.Count(s); exact {
			return value.Int(n)
		}
		return value.Int(len(value.Explicit(s).Items))
	}},
	"IsFiniteSet": {Test: value.Finite},
}

var sequencesModule = map[string]*Builtin{
	"Seq": {One: func(s value.Value) value.Value { return &value.Sequences{Base: s} }},
	"Len": {One: func(s value.Value) value.Value {
		if t, ok := s.(*value.String); ok {
			return value.Int(len([]rune(t.Text)))
		}
		return value.Int(len(value.Items(s)))
	}},
	`\o`: {Two: concatenation},
	"Append": {Two: func(s, v value.Value) value.Value {
		items := value.Items(s)
		list := make([]value.Value, len(items)+1)
		copy(list, items)
		list[len(items)] = Settled(v)
		return value.NewTuple(list)
	}},
	"Head": {One: func(s value.Value) value.Value {
		items := value.Items(s)
		if len(items) == 0 {
			value.Fail("Head(<<>>): the sequence is empty")
		}
		return items[0]
	}},
	"Tail": {One: func(s value.Value) value.Value {
		items := value.Items(s)
		if len(items) == 0 {
			value.Fail("Tail(<<>>): the sequence is empty")
		}
		return value.NewTuple(items[1:])
	}},
	"SubSeq": {Three: func(s, from, to value.Value) value.Value {
		m, n := Integer(from), Integer(to)
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
}

// sum is a + b, if it fits.
func sum(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0) || b == 0
}

// Boolean is the truth value that a value is; other values are an error.
func Boolean(v value.Value) bool {
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

// Settled spells a value out as far as it may be kept in another one.
func Settled(v value.Value) value.Value {
	switch x := v.(type) {
	case value.Lazy:
		if x.Size() <= 1<<16 {
			return value.Explicit(x)
		}
	case value.Applicable:
		if value.Size(x.Arguments()) <= value.Most {
			return x.Spelled()
		}
	}
	return v
}

// Text is the text of a string value.
func Text(v value.Value) string {
	s, ok := v.(*value.String)
	if !ok {
		value.Fail("a string is needed, and not the %s %s", value.Kind(v), value.Short(v))
	}
	return s.Text
}
