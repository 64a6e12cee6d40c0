package value

import (
	"cmp"
	"fmt"
	"strings"
)

// kindOf names the kind of a value, for messages about values that cannot be compared.
func kindOf(v Value) string {
	switch v.(type) {
	case Bool:
		return "Boolean"
	case Int:
		return "integer"
	case *Fraction:
		return "fraction"
	case *String:
		return "string"
	case *Model:
		return "model value"
	case *Tuple, *Record, *Function, Applicable:
		return "function"
	}
	return "set"
}

// Kind describes the kind of a value in a few words, for messages.
func Kind(v Value) string {
	switch v := v.(type) {
	case *Tuple:
		return "tuple"
	case *Record:
		return "record"
	case Lazy:
		return v.Kind()
	}
	return kindOf(v)
}

// AKind returns Kind with its article.
func AKind(v Value) string {
	k := Kind(v)
	if strings.ContainsRune("aeiou", rune(k[0])) {
		return "an " + k
	}
	return "a " + k
}

func incomparable(a, b Value) {
	message := fmt.Sprintf("the %s %s cannot be compared with the %s %s", Kind(a), Short(a), Kind(b), Short(b))
	panic(&Error{Message: message, incomparable: true})
}

// Short prints a value in at most about 200 characters. A Fraction includes its place in the log, since its mistake is
// there.
func Short(v Value) string {
	if f, ok := v.(*Fraction); ok {
		return fmt.Sprintf("%s of %s", f.text, f.place)
	}
	s := v.String()
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "..."
	}
	return s
}

// Equal reports whether two values are the same. It compares members one by one up to the first difference, though
// fingerprints would often suffice: members of different kinds are a mistake in the specification, which FALSE would
// hide.
func Equal(a, b Value) bool {
	switch x := a.(type) {
	case Bool:
		if y, ok := b.(Bool); ok {
			return x == y
		}
	case Int:
		if y, ok := b.(Int); ok {
			return x == y
		}
	case *Fraction:
		if y, ok := b.(*Fraction); ok {
			return x.n.Cmp(y.n) == 0
		}
	case *String:
		if y, ok := b.(*String); ok {
			return x == y
		}
	case *Model:
		return x.equal(b)
	case *Tuple:
		switch y := b.(type) {
		case *Tuple:
			return x == y || len(x.Items) == len(y.Items) && equalAll(x.Items, y.Items)
		case *Record:
			return len(x.Items) == 0 && len(y.Names) == 0
		case *Function:
			return false
		}
	case *Record:
		switch y := b.(type) {
		case *Record:
			if x == y {
				return true
			}
			if len(x.Names) != len(y.Names) {
				return false
			}
			for i, n := range x.Names {
				if n != y.Names[i] {
					return false
				}
			}
			return equalAll(x.Values, y.Values)
		case *Tuple, *Function:
			return false
		}
	case *Function:
		switch y := b.(type) {
		case *Function:
			return x == y || sameDomain(x.Domain, y.Domain) && equalAll(x.Values, y.Values)
		case *Tuple, *Record:
			return false
		}
	case *Set:
		if y, ok := b.(*Set); ok {
			if x == y {
				return true
			}
			return len(x.Items) == len(y.Items) && equalAll(x.Items, y.Items)
		}
	}
	if m, ok := b.(*Model); ok {
		return m.equal(a)
	}
	if f, ok := a.(Applicable); ok && kindOf(b) == "function" {
		return a == b || Equal(f.Spelled(), Spelled(b))
	}
	if g, ok := b.(Applicable); ok && kindOf(a) == "function" {
		return Equal(a, g.Spelled())
	}
	la, lazyA := a.(Lazy)
	lb, lazyB := b.(Lazy)
	if lazyA || lazyB {
		if lazyA && lazyB && la.Same(lb) {
			return true
		}
		if kindOf(a) == "set" && kindOf(b) == "set" {
			return Equal(Explicit(a), Explicit(b))
		}
	}
	incomparable(a, b)
	return false
}

// sameDomain compares domains; those of different kinds differ, so that a function may be compared with one of other arguments.
func sameDomain(a, b *Set) bool {
	return a == b || a.hash == b.hash && Equal(a, b)
}

func equalAll(a, b []Value) bool {
	if len(a) > 0 && &a[0] == &b[0] { // parts of one sequence
		return true
	}
	for i, v := range a {
		if !Equal(v, b[i]) {
			return false
		}
	}
	return true
}

func (m *Model) equal(v Value) bool {
	other, ok := v.(*Model)
	if m.Type != 0 && (!ok || other.Type != m.Type && other.Type != 0) {
		incomparable(m, v)
	}
	return ok && m == other
}

// Compare orders values of one kind. Model values sort before all others.
func Compare(a, b Value) int {
	switch x := a.(type) {
	case Bool:
		if y, ok := b.(Bool); ok {
			switch {
			case x == y:
				return 0
			case bool(y):
				return -1
			}
			return 1
		}
	case Int:
		if y, ok := b.(Int); ok {
			return cmp.Compare(x, y)
		}
	case *Fraction:
		if y, ok := b.(*Fraction); ok {
			return x.n.Cmp(y.n)
		}
	case *String:
		if y, ok := b.(*String); ok {
			if x == y {
				return 0
			}
			return strings.Compare(x.Text, y.Text)
		}
	case *Model:
		if y, ok := b.(*Model); ok {
			if x.Type != y.Type && x.Type != 0 && y.Type != 0 {
				incomparable(a, b)
			}
			return strings.Compare(x.Name, y.Name)
		}
		if x.Type != 0 {
			incomparable(a, b)
		}
		return -1
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			if x == y {
				return 0
			}
			if c := cmp.Compare(len(x.Items), len(y.Items)); c != 0 {
				return c
			}
			return compareAll(x.Items, y.Items)
		}
	case *Record:
		if y, ok := b.(*Record); ok {
			if x == y {
				return 0
			}
			if c := cmp.Compare(len(x.Names), len(y.Names)); c != 0 {
				return c
			}
			if &x.Names[0] != &y.Names[0] {
				for i, n := range x.Names {
					if n != y.Names[i] {
						return strings.Compare(n.Text, y.Names[i].Text)
					}
				}
			}
			return compareAll(x.Values, y.Values)
		}
	case *Set:
		if y, ok := b.(*Set); ok {
			if x == y {
				return 0
			}
			if c := cmp.Compare(len(x.Items), len(y.Items)); c != 0 {
				return c
			}
			return compareAll(x.Items, y.Items)
		}
	}
	if m, ok := b.(*Model); ok {
		return -Compare(m, a)
	}
	if ka, kb := kindOf(a), kindOf(b); ka == kb {
		if ka == "set" {
			return Compare(Explicit(a), Explicit(b))
		}
		if ka == "function" {
			return compareFunctions(a, b)
		}
	}
	incomparable(a, b)
	return 0
}

func compareAll(a, b []Value) int {
	for i, v := range a {
		if c := Compare(v, b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// compareFunctions orders functions of which not both are tuples or records: by size, domain, and values. Domains of different kinds are
// ordered by kind.
func compareFunctions(a, b Value) int {
	ka, va := pairs(Spelled(a))
	kb, vb := pairs(Spelled(b))
	if c := cmp.Compare(len(ka), len(kb)); c != 0 {
		return c
	}
	for i, x := range ka {
		if kindOf(x) != kindOf(kb[i]) {
			return strings.Compare(kindOf(x), kindOf(kb[i]))
		}
		if c := Compare(x, kb[i]); c != 0 {
			return c
		}
	}
	return compareAll(va, vb)
}

// results are the values of a function that is spelled out, in the order of its arguments.
func results(f Value) []Value {
	switch f := f.(type) {
	case *Tuple:
		return f.Items
	case *Record:
		return f.Values
	case *Function:
		return f.Values
	}
	return nil
}

// pairs gives the arguments of a function, sorted, with its values.
func pairs(f Value) (domain, values []Value) {
	switch f := f.(type) {
	case *Tuple:
		for i := range f.Items {
			domain = append(domain, Int(i+1))
		}
		return domain, f.Items
	case *Record:
		for _, n := range f.Names {
			domain = append(domain, n)
		}
		return domain, f.Values
	case *Function:
		return f.Domain.Items, f.Values
	}
	return nil, nil
}
