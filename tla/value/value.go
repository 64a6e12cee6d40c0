// Package value holds the values of TLA+, which expressions without variables denote (Lamport, Specifying Systems,
// chapters 2 to 6).
//
// A value is immutable and in canonical form: a function with the domain 1..n is always a Tuple, one whose domain has
// only strings is always a Record, and sets are sorted without duplicates. So equal values have equal fingerprints, and
// different fingerprints mean different values. Sets that are large by nature stay symbolic (see Lazy) until their
// members are needed.
//
// Values of different kinds cannot be compared, as in TLC: 1 = "a" is an *Error, not FALSE. A model value differs from
// everything else.
package value

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// Error reports an expression without a value, such as 1 = "a". Functions of this package panic with it; package tla
// returns it with the place of the expression.
type Error struct {
	Message  string
	Asserted string // the message of an Assert whose condition is false

	incomparable bool // two values are of kinds that cannot be compared
}

func (e *Error) Error() string { return e.Message }

// Fail panics with an *Error.
func Fail(format string, args ...any) { panic(&Error{Message: fmt.Sprintf(format, args...)}) }

// Value is one of Bool, Int, *Fraction, *String, *Model, *Set, *Tuple, *Record, *Function, or a Lazy set.
type Value interface {
	// Fingerprint returns a 64-bit hash, which is equal for equal values.
	Fingerprint() uint64
	// String formats the value as TLC does.
	String() string
}

// Bool is TRUE or FALSE.
type Bool bool

// Int is an integer.
type Int int64

// String is a string. There is one *String for each text, so == compares them.
type String struct {
	Text string
	hash uint64
}

// Model is a model value, equal only to itself. There is one *Model for each name.
type Model struct {
	Name string
	// Type is 0, or for a typed model value the letter before _. Typed model values can only be compared with others of
	// their type.
	Type byte
	hash uint64
}

const (
	seedBool   = 0x51
	seedInt    = 0x52
	seedString = 0x53
	seedModel  = 0x54
	seedSet    = 0x55
	seedTuple  = 0x56
	seedPairs  = 0x57

	seedFraction = 0x58
)

func mix(h, x uint64) uint64 { return splitmix.Mix((h ^ x) + splitmix.Gamma) }

func hashText(seed uint64, s string) uint64 {
	h := uint64(14695981039346656037) ^ seed // FNV-1a
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return splitmix.Mix(h)
}

var (
	hashTrue  = mix(seedBool, 1)
	hashFalse = mix(seedBool, 0)
)

func (b Bool) Fingerprint() uint64 {
	if b {
		return hashTrue
	}
	return hashFalse
}

func (n Int) Fingerprint() uint64     { return mix(seedInt<<56, uint64(n)) }
func (s *String) Fingerprint() uint64 { return s.hash }
func (m *Model) Fingerprint() uint64  { return m.hash }

func (b Bool) String() string {
	if b {
		return "TRUE"
	}
	return "FALSE"
}

func (n Int) String() string    { return strconv.FormatInt(int64(n), 10) }
func (m *Model) String() string { return m.Name }

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\f", `\f`)

func (s *String) String() string { return `"` + escapes.Replace(s.Text) + `"` }

// Tuple is <<a, b>>: a function from 1..len. The empty one is also the function with an empty domain.
type Tuple struct {
	Items []Value
	hash  atomic.Uint64 // 0 until it is needed: many sequences are only compared
}

// Record is [a |-> 1, b |-> 2]: a function from strings. Names are sorted by their text.
type Record struct {
	Names  []*String
	Values []Value
	hash   uint64
}

// Function is a function that is neither a Tuple nor a Record. Its Domain is sorted.
type Function struct {
	Domain *Set
	Values []Value
	hash   uint64
}

// Set is a set with its members spelled out, sorted by Compare, without duplicates.
type Set struct {
	Items []Value
	hash  uint64
}

var (
	EmptyTuple = NewTuple(nil)
	EmptySet   = &Set{hash: seedSet}
	// Booleans is BOOLEAN.
	Booleans = SortedSet([]Value{Bool(false), Bool(true)})
)

// NewTuple makes <<items>>. It keeps items.
func NewTuple(items []Value) *Tuple { return &Tuple{Items: items} }

// NewRecord makes a record from sorted names and a value for each. It keeps both slices.
func NewRecord(names []*String, values []Value) Value {
	if len(names) == 0 {
		return EmptyTuple
	}
	h := uint64(seedPairs)
	for i, n := range names {
		h = mix(mix(h, n.hash), values[i].Fingerprint())
	}
	return &Record{names, values, h}
}

// NewFunction makes the function, in canonical form, with a domain and a value for each of its members. It keeps both.
func NewFunction(domain *Set, values []Value) Value {
	if len(values) == 0 {
		return EmptyTuple
	}
	switch domain.Items[0].(type) {
	case Int:
		if domain.Items[0] == Int(1) && domain.Items[len(values)-1] == Int(len(values)) {
			return NewTuple(values)
		}
	case *String:
		names := make([]*String, len(values))
		for i, item := range domain.Items {
			name, ok := item.(*String)
			if !ok {
				names = nil
				break
			}
			names[i] = name
		}
		if names != nil {
			return NewRecord(names, values)
		}
	}
	h := uint64(seedPairs)
	for i, x := range domain.Items {
		h += pairHash(x.Fingerprint(), values[i].Fingerprint())
	}
	return &Function{domain, values, h}
}

func (t *Tuple) Fingerprint() uint64 {
	h := t.hash.Load()
	if h == 0 {
		h = mix(seedTuple, uint64(len(t.Items)))
		for _, v := range t.Items {
			h = mix(h, v.Fingerprint())
		}
		t.hash.Store(h)
	}
	return h
}

func (r *Record) Fingerprint() uint64   { return r.hash }
func (f *Function) Fingerprint() uint64 { return f.hash }
func (s *Set) Fingerprint() uint64      { return s.hash }

// NewSet makes the set of some values, which may repeat. It keeps and sorts items.
func NewSet(items []Value) *Set {
	if len(items) == 0 {
		return EmptySet
	}
	if len(items) > 1 {
		slices.SortFunc(items, Compare)
		items = slices.CompactFunc(items, Equal)
	}
	return SortedSet(items)
}

// SortedSet makes a set from distinct, sorted values. It keeps items.
func SortedSet(items []Value) *Set {
	if len(items) == 0 {
		return EmptySet
	}
	h := uint64(seedSet)
	for _, v := range items {
		h += memberHash(v.Fingerprint())
	}
	return &Set{items, h}
}

// The hashes of sets and functions are sums over their members, so that one more member changes them by one more number, and members may come
// in any order.
func memberHash(fp uint64) uint64            { return mix(seedSet, fp) }
func pairHash(argument, value uint64) uint64 { return mix(mix(seedPairs, argument), value) }

// mostScanned is how many members of a set are compared by their addresses, one after the other.
const mostScanned = 32

// has reports whether v is in the set.
func (s *Set) has(v Value) bool {
	if len(s.Items) == 0 {
		return false
	}
	if text, ok := v.(*String); ok && len(s.Items) <= mostScanned {
		if _, ok := s.Items[0].(*String); ok { // then all are: of other kinds, only model values stand with strings, and those come first
			return slices.Contains(s.Items, Value(text))
		}
	}
	_, found := s.Find(v)
	return found
}

// Find returns the index of v in the set, or the index at which it would be inserted, and whether v is a member.
func (s *Set) Find(v Value) (int, bool) {
	switch v := v.(type) {
	case *Model, *String: // few, and compared by their address
		if len(s.Items) <= 8 {
			for i, x := range s.Items {
				if x == Value(v) {
					return i, true
				}
			}
		}
	case *Record: // one that is equal is often the same
		if len(s.Items) <= mostScanned {
			for i, x := range s.Items {
				if x == Value(v) {
					return i, true
				}
			}
		}
	}
	return slices.BinarySearchFunc(s.Items, v, Compare)
}

func (t *Tuple) String() string {
	var b strings.Builder
	b.WriteString("<<")
	list(&b, t.Items)
	b.WriteString(">>")
	return b.String()
}

func list(b *strings.Builder, items []Value) {
	for i, v := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v.String())
	}
}

func (s *Set) String() string {
	var b strings.Builder
	b.WriteString("{")
	list(&b, s.Items)
	b.WriteString("}")
	return b.String()
}

func (r *Record) String() string {
	var b strings.Builder
	b.WriteString("[")
	for i, n := range r.Names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n.Text + " |-> " + r.Values[i].String())
	}
	b.WriteString("]")
	return b.String()
}

func (f *Function) String() string {
	var b strings.Builder
	b.WriteString("(")
	for i, x := range f.Domain.Items {
		if i > 0 {
			b.WriteString(" @@ ")
		}
		b.WriteString(x.String() + " :> " + f.Values[i].String())
	}
	b.WriteString(")")
	return b.String()
}

// Field returns the index of a name in the record, or -1.
func (r *Record) Field(name *String) int {
	for i, n := range r.Names {
		if n == name {
			return i
		}
	}
	return -1
}

// Hash returns a fingerprint of a list of values.
func Hash(values []Value) uint64 {
	h := uint64(len(values))
	for _, v := range values {
		h = mix(h, v.Fingerprint())
	}
	return h
}

// Renamed returns a value in which other values replace model values.
func Renamed(v Value, names map[*Model]Value) Value {
	all := func(list []Value) ([]Value, bool) {
		var changed []Value
		for i, x := range list {
			y := Renamed(x, names)
			if y != x && changed == nil {
				changed = append(make([]Value, 0, len(list)), list[:i]...)
			}
			if changed != nil {
				changed = append(changed, y)
			}
		}
		return changed, changed != nil
	}
	switch x := v.(type) {
	case *Model:
		if y, ok := names[x]; ok {
			return y
		}
	case *Tuple:
		if items, ok := all(x.Items); ok {
			return NewTuple(items)
		}
	case *Record:
		if values, ok := all(x.Values); ok {
			return NewRecord(x.Names, values)
		}
	case *Set:
		if items, ok := all(x.Items); ok {
			return NewSet(items)
		}
	case *Function:
		keys, moved := all(x.Domain.Items)
		values, changed := all(x.Values)
		if !changed {
			values = x.Values
		}
		switch {
		case moved:
			return FunctionOf(keys, append([]Value(nil), values...))
		case changed:
			return NewFunction(x.Domain, values)
		}
	case *Infinite:
	case Lazy:
		return Renamed(Explicit(x), names)
	case Applicable:
		return Renamed(x.Spelled(), names)
	}
	return v
}
