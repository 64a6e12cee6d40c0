package value

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// Applicable is a function that is given by a rule, because its domain is large or because it is recursive.
type Applicable interface {
	Value
	// Of returns the function's value at x, which must be in its domain.
	Of(x Value) Value
	// Arguments returns the domain.
	Arguments() Value
	// Spelled returns the same function with its values spelled out. It fails if the domain is too large.
	Spelled() Value
}

// large is from how many members on a set stays symbolic in unions, intersections and differences.
const large = 1 << 16

// Union evaluates a \cup b.
func Union(a, b Value) Value {
	if m, ok := a.(*mixed); ok && Size(b) == 0 {
		return m
	}
	if Size(a) > large || Size(b) > large {
		return &combined{A: a, B: b, Op: `\cup`}
	}
	x, y := Explicit(a), Explicit(b)
	switch {
	case len(x.Items) == 0:
		return y
	case len(y.Items) == 0:
		return x
	case len(y.Items) == 1:
		return x.with(y.Items[0])
	case len(x.Items) == 1:
		return y.with(x.Items[0])
	}
	items := make([]Value, 0, len(x.Items)+len(y.Items))
	i, k := 0, 0
	for i < len(x.Items) && k < len(y.Items) {
		switch c := Compare(x.Items[i], y.Items[k]); {
		case c < 0:
			items = append(items, x.Items[i])
			i++
		case c > 0:
			items = append(items, y.Items[k])
			k++
		default:
			items = append(items, x.Items[i])
			i, k = i+1, k+1
		}
	}
	items = append(append(items, x.Items[i:]...), y.Items[k:]...)
	switch len(items) {
	case len(x.Items):
		return x
	case len(y.Items):
		return y
	}
	return SortedSet(items)
}

// with is the set with one more member.
func (s *Set) with(v Value) *Set {
	at, found := s.Find(v)
	if found {
		return s
	}
	items := make([]Value, len(s.Items)+1)
	copy(items, s.Items[:at])
	items[at] = v
	copy(items[at+1:], s.Items[at:])
	return &Set{items, s.hash + memberHash(v.Fingerprint())}
}

// With returns the function with the value v for the argument x, or without x if have is false.
func (f *Function) With(x, v Value, have bool) Value {
	at, found := f.Domain.Find(x)
	items, values, hash, pairs := f.Domain.Items, f.Values, f.Domain.hash, f.hash
	if found {
		pairs -= pairHash(x.Fingerprint(), values[at].Fingerprint())
	}
	if have {
		pairs += pairHash(x.Fingerprint(), v.Fingerprint())
	}
	switch {
	case found && have:
		return &Function{f.Domain, replaced(values, at, v), pairs}
	case have:
		items, values = slices.Concat(items[:at], []Value{x}, items[at:]), slices.Concat(values[:at], []Value{v}, values[at:])
		hash += memberHash(x.Fingerprint())
	case found:
		items, values = slices.Concat(items[:at], items[at+1:]), slices.Concat(values[:at], values[at+1:])
		hash -= memberHash(x.Fingerprint())
	default:
		return f
	}
	if len(items) == 0 {
		return EmptyTuple
	}
	switch items[len(items)-1].(type) {
	case Int, *String: // it may be a tuple or a record now
		return NewFunction(SortedSet(items), values)
	}
	return &Function{&Set{items, hash}, values, pairs}
}

// Intersection evaluates a \cap b.
func Intersection(a, b Value) Value {
	if m, ok := a.(*mixed); ok {
		return m.filter(func(v Value) bool { return Contains(b, v) })
	}
	na, nb := Size(a), Size(b)
	if na > large && nb > large {
		return &combined{A: a, B: b, Op: `\cap`}
	}
	if na > nb {
		a, b = b, a
	}
	return Explicit(a).filter(func(v Value) bool { return Contains(b, v) })
}

// Difference evaluates a \ b.
func Difference(a, b Value) Value {
	if m, ok := a.(*mixed); ok {
		return m.filter(func(v Value) bool { return !Contains(b, v) })
	}
	if Size(a) > large {
		return &combined{A: a, B: b, Op: `\`}
	}
	return Explicit(a).filter(func(v Value) bool { return !Contains(b, v) })
}

// filter gives the members that pass.
func (s *Set) filter(pass func(Value) bool) *Set {
	var items []Value
	for i, v := range s.Items {
		ok := pass(v)
		switch {
		case ok && items != nil:
			items = append(items, v)
		case !ok && items == nil:
			items = append(make([]Value, 0, len(s.Items)), s.Items[:i]...)
		}
	}
	if items == nil {
		return s
	}
	return SortedSet(items)
}

// AtMost fails if a set or sequence of n members would be too large.
func AtMost(n int) {
	if n > Most {
		Fail("a set or sequence has more than %d members: that is too large", Most)
	}
}

// Filter evaluates {x \in set : pass(x)}.
func Filter(set Value, pass func(Value) bool) Value {
	if Size(set) > large {
		if _, ok := set.(*Infinite); ok || Size(set) > Most {
			return &where{Base: set, Test: pass}
		}
		var items []Value
		Each(set, func(v Value) bool {
			if pass(v) {
				items = append(items, v)
			}
			return true
		})
		return NewSet(items)
	}
	return Explicit(set).filter(pass)
}

// IsSubset evaluates a \subseteq b.
func IsSubset(a, b Value) bool {
	switch x := b.(type) {
	case *Subsets: // SUBSET A \subseteq SUBSET B
		if y, ok := a.(*Subsets); ok {
			return IsSubset(y.Base, x.Base)
		}
	case *Infinite:
		if a == b || x == Integers && a == Value(Naturals) || x == Reals && (a == Value(Naturals) || a == Value(Integers)) {
			return true
		}
	}
	return Each(a, func(v Value) bool { return Contains(b, v) })
}

// BigUnion evaluates UNION set.
func BigUnion(set Value) Value {
	if s, ok := set.(*Subsets); ok {
		return s.Base
	}
	var items []Value
	var big Value
	Each(set, func(v Value) bool {
		if Size(v) > large {
			if big == nil {
				big = v
			} else {
				big = &combined{A: big, B: v, Op: `\cup`}
			}
			return true
		}
		items = append(items, Explicit(v).Items...)
		if len(items) > Most {
			items = NewSet(items).Items
			AtMost(len(items))
		}
		return true
	})
	if big != nil {
		return &combined{A: big, B: NewSet(items), Op: `\cup`}
	}
	return NewSet(items)
}

// Domain evaluates DOMAIN f.
func Domain(f Value) Value {
	switch f := f.(type) {
	case *Tuple:
		return &Interval{Low: 1, High: int64(len(f.Items))}
	case *Record:
		names := make([]Value, len(f.Names))
		for i, n := range f.Names {
			names[i] = n
		}
		return SortedSet(names)
	case *Function:
		return f.Domain
	case Applicable:
		return f.Arguments()
	}
	Fail("%s is %s, not a function: it has no DOMAIN", Short(f), AKind(f))
	return nil
}

// Apply evaluates f[x].
func Apply(f, x Value) Value {
	switch f := f.(type) {
	case *Tuple:
		if n, ok := x.(Int); ok {
			if n >= 1 && int(n) <= len(f.Items) {
				return f.Items[n-1]
			}
			Fail("the index %d is out of range of %s, which has %s", n, Short(f), plural.Count(len(f.Items), "item"))
		}
	case *Record:
		if n, ok := x.(*String); ok {
			if i := f.Field(n); i >= 0 {
				return f.Values[i]
			}
			names := make([]string, len(f.Names))
			for i, n := range f.Names {
				names[i] = n.Text
			}
			Fail("the record has no field %s: it has %s", n.Text, strings.Join(names, ", "))
		}
	case *Function:
		if i, ok := f.Domain.Find(x); ok {
			return f.Values[i]
		}
	case Applicable:
		if !Contains(f.Arguments(), x) {
			Fail("%s is not in the domain %s of the function", Short(x), Short(f.Arguments()))
		}
		return f.Of(x)
	default:
		Fail("%s is %s, not a function: it cannot be applied to %s", Short(f), AKind(f), Short(x))
	}
	Fail("%s is not in the domain of the function %s", Short(x), Short(f))
	return nil
}

// Replace evaluates [f EXCEPT ![x] = change(f[x])]. An x outside of the domain changes nothing.
func Replace(f, x Value, change func(Value) Value) Value {
	switch f := f.(type) {
	case *Tuple:
		if n, ok := x.(Int); ok && n >= 1 && int(n) <= len(f.Items) {
			old := f.Items[n-1]
			if v := change(old); v != old {
				return NewTuple(replaced(f.Items, int(n-1), v))
			}
		}
		return f
	case *Record:
		if n, ok := x.(*String); ok {
			if i := f.Field(n); i >= 0 {
				old := f.Values[i]
				if v := change(old); v != old {
					return NewRecord(f.Names, replaced(f.Values, i, v))
				}
			}
		}
		return f
	case *Function:
		if i, ok := f.Domain.Find(x); ok {
			old, argument := f.Values[i], f.Domain.Items[i].Fingerprint()
			if v := change(old); v != old {
				return &Function{f.Domain, replaced(f.Values, i, v), f.hash - pairHash(argument, old.Fingerprint()) + pairHash(argument, v.Fingerprint())}
			}
		}
		return f
	case Applicable:
		return exceptOf(f, x, change)
	}
	Fail("%s is %s, not a function: EXCEPT cannot change it", Short(f), AKind(f))
	return nil
}

func replaced(values []Value, i int, v Value) []Value {
	list := make([]Value, len(values))
	copy(list, values)
	list[i] = v
	return list
}

// Items returns the items of a sequence. It fails if the value is not a sequence.
func Items(v Value) []Value {
	switch t := v.(type) {
	case *Tuple:
		return t.Items
	case Applicable:
		return Items(t.Spelled())
	}
	Fail("%s is %s, not a sequence", Short(v), AKind(v))
	return nil
}

// whole is a function by its values, and all else as it is. A rule with too large a domain stays one: it is neither a tuple nor a record.
func whole(v Value) Value {
	if f, ok := v.(Applicable); ok && Size(f.Arguments()) <= Most {
		return f.Spelled()
	}
	return v
}

// Merge evaluates f @@ g: arguments that f lacks come from g.
func Merge(f, g Value) Value {
	kf, vf := pairs(Spelled(f))
	kg, vg := pairs(Spelled(g))
	have := NewSet(append([]Value(nil), kf...))
	keys, values := append([]Value(nil), kf...), append([]Value(nil), vf...)
	for i, x := range kg {
		if !Contains(have, x) {
			keys, values = append(keys, x), append(values, vg[i])
		}
	}
	return FunctionOf(keys, values)
}

// Spelled returns a function with its values spelled out. It fails if v is not a function.
func Spelled(v Value) Value {
	switch f := v.(type) {
	case *Tuple, *Record, *Function:
		return v
	case Applicable:
		return f.Spelled()
	}
	Fail("%s is %s, not a function", Short(v), AKind(v))
	return nil
}

// FunctionOf makes a function from its arguments, each once and in any order, and their values. It keeps both slices.
func FunctionOf(arguments, values []Value) Value {
	domain := NewSet(append([]Value(nil), arguments...))
	sorted := make([]Value, len(values))
	for i, x := range arguments {
		at, _ := domain.Find(x)
		sorted[at] = values[i]
	}
	return NewFunction(domain, sorted)
}
