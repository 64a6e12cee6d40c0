package value

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// Lazy is a set that is given by its construction instead of its members, which may be many or infinitely many.
type Lazy interface {
	Value
	// Kind describes such a set in messages.
	Kind() string
	// Contains reports whether v is a member.
	Contains(v Value) bool
	// Each calls f with each member until f returns false, and reports whether f never did. It fails for an infinite
	// set.
	Each(f func(Value) bool) bool
	// Size returns the number of members; math.MaxInt64 stands for more than that, and for infinitely many.
	Size() int64
	// Same reports whether other has the same construction and is therefore equal.
	Same(other Lazy) bool
	// width is how many values a member has within it.
	width() int64
	explicit() *cell
}

// cell keeps a set's members once they were enumerated.
type cell struct{ set atomic.Pointer[Set] }

func (c *cell) explicit() *cell { return c }

const (
	// Most bounds the members of a set, and the items of a sequence, that is spelled out.
	Most = 4_000_000
	// MostWithin bounds the values nested in the members of such a set, all together: 16 bytes each.
	MostWithin = 4 * Most
	// mostVisited is how many members of a set that is larger than Most are gone through, before it is given up.
	mostVisited = 5 * Most
)

// small reports whether a set can be spelled out. Of a filtered set that shows on the way.
func small(s Lazy) bool {
	if _, ok := s.(*where); ok {
		return s.Size() <= mostVisited
	}
	return s.Size() <= Most && times(s.Size(), s.width()) <= MostWithin
}

func tooLarge(s Lazy) {
	switch n := s.Size(); {
	case n == math.MaxInt64:
		Fail("the set %s is infinite, or too large to be enumerated", Short(s))
	case n > Most:
		Fail("the set %s has %s: at most %d can be enumerated", Short(s), plural.Count(n, "member"), Most)
	default:
		Fail("the set %s has %s with %s within each: at most %d values can be enumerated", Short(s), plural.Count(n, "member"),
			plural.Count(s.width(), "value"), MostWithin)
	}
}

// fingerprint returns the fingerprint of the set's members, or of its construction if they are too many: such sets are
// equal only if constructed alike.
func fingerprint(s Lazy, parts ...Value) uint64 {
	if small(s) {
		return Explicit(s).hash
	}
	h := hashText(seedSet, fmt.Sprintf("%T", s))
	for _, v := range parts {
		h = mix(h, v.Fingerprint())
	}
	return h
}

// Explicit spells a set out. It fails if v is not a set, or is too large.
func Explicit(v Value) *Set {
	switch s := v.(type) {
	case *Set:
		return s
	case Lazy:
		c := s.explicit()
		if set := c.set.Load(); set != nil {
			return set
		}
		if !small(s) {
			tooLarge(s)
		}
		var items []Value
		s.Each(func(v Value) bool {
			items = append(items, v)
			AtMost(len(items))
			return true
		})
		var set *Set
		if _, ok := v.(*Interval); ok {
			set = SortedSet(items)
		} else {
			set = NewSet(items)
		}
		c.set.Store(set)
		return set
	}
	Fail("%s is %s, not a set", Short(v), AKind(v))
	return nil
}

// Each calls f with each member of a set until f returns false, and reports whether f never did.
func Each(set Value, f func(Value) bool) bool {
	switch s := set.(type) {
	case *Set:
		for _, v := range s.Items {
			if !f(v) {
				return false
			}
		}
		return true
	case Lazy:
		if small(s) {
			if _, ok := s.(*combined); ok { // in the order of its members, as for all sets that are equal
				return Each(Explicit(s), f)
			}
			return s.Each(f)
		}
		visited := 0
		return s.Each(func(v Value) bool {
			if visited++; visited > mostVisited {
				Fail("the set %s is too large to enumerate: %d members were visited", Short(s), mostVisited)
			}
			return f(v)
		})
	}
	Fail("%s is %s, not a set", Short(set), AKind(set))
	return false
}

// Contains evaluates v \in set.
func Contains(set, v Value) bool {
	switch s := set.(type) {
	case *Set:
		return s.has(v)
	case Lazy:
		return s.Contains(v)
	}
	Fail("%s is %s, not a set", Short(set), AKind(set))
	return false
}

// Size returns the number of members of a finite set. math.MaxInt64 stands for more than that, and for infinitely many.
// For a union, intersection, difference or subset of large sets, Size may return more than the number of members.
func Size(set Value) int64 {
	switch s := set.(type) {
	case *Set:
		return int64(len(s.Items))
	case Lazy:
		return s.Size()
	}
	Fail("%s is %s, not a set", Short(set), AKind(set))
	return 0
}

// Count returns the number of members of a set; exact reports whether it is known without enumerating them.
func Count(set Value) (n int64, exact bool) {
	all := func(sets ...Value) (int64, bool) {
		for _, s := range sets {
			if _, exact := Count(s); !exact {
				return 0, false
			}
		}
		n := Size(set)
		return n, n < math.MaxInt64
	}
	switch s := set.(type) {
	case *Set:
		return int64(len(s.Items)), true
	case *Interval:
		return all()
	case *Subsets:
		return all(s.Base)
	case *Functions:
		return all(s.Domain, s.Range)
	case *Records:
		return all(s.Sets...)
	case *Product:
		return all(s.Sets...)
	}
	return 0, false
}

// Finite reports whether a set is finite. It fails where that is not decidable from its construction.
func Finite(set Value) bool {
	all := func(sets []Value) bool {
		finite := true
		for _, s := range sets {
			if Size(s) == 0 {
				return true
			}
			finite = Finite(s) && finite
		}
		return finite
	}
	switch s := set.(type) {
	case *Set, *Interval, *mixed:
		return true
	case *Infinite:
		return false
	case *Subsets:
		return Finite(s.Base)
	case *Functions:
		return Size(s.Domain) == 0 || Size(s.Range) <= 1 || Finite(s.Domain) && Finite(s.Range)
	case *Sequences:
		return Size(s.Base) == 0
	case *Records:
		return all(s.Sets)
	case *Product:
		return all(s.Sets)
	case *where:
		if Finite(s.Base) {
			return true
		}
	case *combined:
		a, b := Finite(s.A), Finite(s.B)
		switch {
		case s.Op == `\cup`:
			return a && b
		case a || b && s.Op == `\cap`:
			return true
		case b:
			return false
		}
	default:
		Fail("%s is %s, not a set", Short(set), AKind(set))
	}
	Fail("it is not known whether the set %s is finite", Short(set))
	return false
}

// IsSet reports whether v is a set.
func IsSet(v Value) bool {
	switch v.(type) {
	case *Set, Lazy:
		return true
	}
	return false
}

func times(a, b int64) int64 {
	switch {
	case a == 0 || b == 0:
		return 0
	case a > math.MaxInt64/b:
		return math.MaxInt64
	}
	return a * b
}

func power(base, n int64) int64 {
	result := int64(1)
	for range n {
		if result = times(result, base); result == 0 || result == 1 || result == math.MaxInt64 {
			return result
		}
	}
	return result
}

// Interval is Low..High.
type Interval struct {
	Low, High int64
	cell
}

func (s *Interval) Kind() string { return "set" }
func (s *Interval) Contains(v Value) bool {
	n, ok := v.(Int)
	if !ok {
		if m, model := v.(*Model); model && m.Type == 0 {
			return false
		}
		if s.Size() > 0 {
			incomparable(v, s)
		}
	}
	return ok && int64(n) >= s.Low && int64(n) <= s.High
}
func (s *Interval) Each(f func(Value) bool) bool {
	for n := s.Low; n <= s.High; n++ {
		if !f(Int(n)) {
			return false
		}
		if n == s.High { // which may be the largest there is
			break
		}
	}
	return true
}
func (s *Interval) Size() int64 {
	if s.High < s.Low {
		return 0
	}
	if n := s.High - s.Low + 1; n > 0 {
		return n
	}
	return math.MaxInt64
}
func (s *Interval) Same(o Lazy) bool {
	x, ok := o.(*Interval)
	return ok && x.Low == s.Low && x.High == s.High
}
func (s *Interval) width() int64        { return 1 }
func (s *Interval) Fingerprint() uint64 { return fingerprint(s, Int(s.Low), Int(s.High)) }
func (s *Interval) String() string {
	if s.Size() > 1000 {
		return Int(s.Low).String() + ".." + Int(s.High).String()
	}
	return Explicit(s).String()
}

// Infinite is one of Nat, Int, Real and STRING. Has also reports whether a value is of a kind that can be compared with
// its members.
type Infinite struct {
	Name string
	Has  func(Value) (member, comparable bool)
	cell
}

// The sets of Naturals, Integers and Reals, and STRING.
var (
	Naturals = &Infinite{Name: "Nat", Has: func(v Value) (bool, bool) { n, ok := v.(Int); return ok && n >= 0, ok }}
	Integers = &Infinite{Name: "Int", Has: func(v Value) (bool, bool) { _, ok := v.(Int); return ok, ok }}
	Reals    = &Infinite{Name: "Real", Has: func(v Value) (bool, bool) { _, ok := v.(Int); return ok, ok }}
	Strings  = &Infinite{Name: "STRING", Has: func(v Value) (bool, bool) { _, ok := v.(*String); return ok, ok }}
)

func (s *Infinite) Kind() string { return "set" }
func (s *Infinite) Contains(v Value) bool {
	member, comparable := s.Has(v)
	if m, ok := v.(*Model); !comparable && !(ok && m.Type == 0) {
		Fail("the %s %s cannot be compared with the members of %s", Kind(v), Short(v), s.Name)
	}
	return member
}
func (s *Infinite) Each(func(Value) bool) bool {
	Fail("%s is infinite: it cannot be enumerated", s.Name)
	return false
}
func (s *Infinite) Size() int64         { return math.MaxInt64 }
func (s *Infinite) width() int64        { return 1 }
func (s *Infinite) Same(o Lazy) bool    { return Lazy(s) == o }
func (s *Infinite) Fingerprint() uint64 { return hashText(seedSet, s.Name) }
func (s *Infinite) String() string      { return s.Name }

// Subsets is SUBSET Base.
type Subsets struct {
	Base Value
	cell
}

func (s *Subsets) Kind() string { return "set" }
func (s *Subsets) Contains(v Value) bool {
	if _, ok := v.(*Model); ok {
		return false
	}
	return IsSubset(v, s.Base)
}
func (s *Subsets) Each(f func(Value) bool) bool {
	n := len(Explicit(s.Base).Items)
	for size := 0; size <= n; size++ { // small subsets come first
		if !s.EachOf(size, f) {
			return false
		}
	}
	return true
}

// EachOf calls f with each subset of a size, in order, until f returns false, and reports whether f never did.
func (s *Subsets) EachOf(size int, f func(Value) bool) bool {
	base := Explicit(s.Base).Items
	if size < 0 || size > len(base) {
		return true
	}
	at := make([]int, size)
	for i := range at {
		at[i] = i
	}
	for {
		items := make([]Value, size)
		for i, k := range at {
			items[i] = base[k]
		}
		if !f(SortedSet(items)) {
			return false
		}
		i := size - 1
		for i >= 0 && at[i] == len(base)-size+i {
			i--
		}
		if i < 0 {
			return true
		}
		at[i]++
		for k := i + 1; k < size; k++ {
			at[k] = at[k-1] + 1
		}
	}
}
func (s *Subsets) Size() int64 {
	if n := Size(s.Base); n < 62 {
		return 1 << n
	}
	return math.MaxInt64
}
func (s *Subsets) Same(o Lazy) bool {
	x, ok := o.(*Subsets)
	return ok && Equal(x.Base, s.Base)
}
func (s *Subsets) width() int64        { return Size(s.Base)/2 + 1 }
func (s *Subsets) Fingerprint() uint64 { return fingerprint(s, s.Base) }
func (s *Subsets) String() string      { return "SUBSET " + s.Base.String() }

// Functions is [Domain -> Range].
type Functions struct {
	Domain, Range Value
	cell
}

func (s *Functions) Kind() string { return "set of functions" }
func (s *Functions) Contains(v Value) bool {
	switch v.(type) {
	case *Tuple, *Record, *Function, Applicable:
	case *Model:
		return false
	default:
		Fail("the %s %s cannot be a member of the set of functions %s", Kind(v), Short(v), Short(s))
	}
	if a, ok := v.(Applicable); ok {
		v = a.Spelled()
	}
	if !sameArguments(v, s.Domain) {
		return false
	}
	for _, x := range results(v) {
		if !Contains(s.Range, x) {
			return false
		}
	}
	return true
}
func (s *Functions) Each(f func(Value) bool) bool {
	domain := Explicit(s.Domain)
	if len(domain.Items) == 0 {
		return f(EmptyTuple)
	}
	choices := make([][]Value, len(domain.Items))
	choices[0] = Explicit(s.Range).Items
	for i := range choices {
		choices[i] = choices[0]
	}
	return combinations(choices, func(values []Value) bool { return f(NewFunction(domain, values)) })
}
func (s *Functions) Size() int64 { return power(Size(s.Range), Size(s.Domain)) }
func (s *Functions) Same(o Lazy) bool {
	x, ok := o.(*Functions)
	return ok && Equal(x.Domain, s.Domain) && Equal(x.Range, s.Range)
}
func (s *Functions) width() int64        { return Size(s.Domain) }
func (s *Functions) Fingerprint() uint64 { return fingerprint(s, s.Domain, s.Range) }
func (s *Functions) String() string      { return "[" + s.Domain.String() + " -> " + s.Range.String() + "]" }

// sameArguments reports whether a set is the domain of a function. Sets of members of different kinds differ.
func sameArguments(f, set Value) bool {
	t, ok := f.(*Tuple)
	if i, interval := set.(*Interval); ok && interval && i.Size() > 0 {
		return i.Low == 1 && i.High == int64(len(t.Items))
	}
	if s, explicit := set.(*Set); explicit {
		switch f := f.(type) {
		case *Tuple:
			n := len(f.Items)
			return n == len(s.Items) && (n == 0 || s.Items[0] == Value(Int(1)) && s.Items[n-1] == Value(Int(n)))
		case *Record:
			return slices.EqualFunc(f.Names, s.Items, func(name *String, x Value) bool { return x == Value(name) })
		}
	}
	domain := Explicit(Domain(f))
	return Size(set) >= int64(len(domain.Items)) && sameDomain(domain, Explicit(set))
}

// combinations calls f with each way to take one of each choice; the last changes fastest. f may keep what it gets.
func combinations(choices [][]Value, f func([]Value) bool) bool {
	at := make([]int, len(choices))
	for _, c := range choices {
		if len(c) == 0 {
			return true
		}
	}
	for {
		values := make([]Value, len(choices))
		for i, c := range choices {
			values[i] = c[at[i]]
		}
		if !f(values) {
			return false
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(choices[i]) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return true
		}
	}
}

// Records is [a : S, b : T]. Names are sorted.
type Records struct {
	Names []*String
	Sets  []Value
	cell
}

func (s *Records) Kind() string { return "set of records" }
func (s *Records) Contains(v Value) bool {
	r, ok := whole(v).(*Record)
	if !ok {
		if _, model := v.(*Model); model || kindOf(v) == "function" {
			return false
		}
		Fail("the %s %s cannot be a member of the set of records %s", Kind(v), Short(v), Short(s))
	}
	if len(r.Names) != len(s.Names) {
		return false
	}
	for i, n := range s.Names {
		if r.Names[i] != n {
			return false
		}
	}
	for i := range s.Names {
		if !Contains(s.Sets[i], r.Values[i]) {
			return false
		}
	}
	return true
}
func (s *Records) Each(f func(Value) bool) bool {
	return combinations(explicitAll(s.Sets), func(values []Value) bool { return f(NewRecord(s.Names, values)) })
}

func explicitAll(sets []Value) [][]Value {
	list := make([][]Value, len(sets))
	for i, s := range sets {
		list[i] = Explicit(s).Items
	}
	return list
}

func product(sets []Value) int64 {
	n := int64(1)
	for _, s := range sets {
		n = times(n, Size(s))
	}
	return n
}

func (s *Records) Size() int64 { return product(s.Sets) }
func (s *Records) Same(o Lazy) bool {
	x, ok := o.(*Records)
	if !ok || len(x.Names) != len(s.Names) {
		return false
	}
	for i, n := range s.Names {
		if x.Names[i] != n || !Equal(x.Sets[i], s.Sets[i]) {
			return false
		}
	}
	return true
}
func (s *Records) width() int64 { return int64(len(s.Sets)) }
func (s *Records) Fingerprint() uint64 {
	parts := slices.Clone(s.Sets)
	for _, n := range s.Names {
		parts = append(parts, n)
	}
	return fingerprint(s, parts...)
}
func (s *Records) String() string {
	parts := make([]string, len(s.Names))
	for i, n := range s.Names {
		parts[i] = n.Text + ": " + s.Sets[i].String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Product is A \X B \X C.
type Product struct {
	Sets []Value
	cell
}

func (s *Product) Kind() string { return "set of tuples" }
func (s *Product) Contains(v Value) bool {
	t, ok := whole(v).(*Tuple)
	if !ok {
		if _, model := v.(*Model); model || kindOf(v) == "function" {
			return false
		}
		Fail("the %s %s cannot be a member of the set of tuples %s", Kind(v), Short(v), Short(s))
	}
	if len(t.Items) != len(s.Sets) {
		return false
	}
	for i, set := range s.Sets {
		if !Contains(set, t.Items[i]) {
			return false
		}
	}
	return true
}
func (s *Product) Each(f func(Value) bool) bool {
	return combinations(explicitAll(s.Sets), func(values []Value) bool { return f(NewTuple(values)) })
}
func (s *Product) Size() int64 { return product(s.Sets) }
func (s *Product) Same(o Lazy) bool {
	x, ok := o.(*Product)
	if !ok || len(x.Sets) != len(s.Sets) {
		return false
	}
	for i := range s.Sets {
		if !Equal(x.Sets[i], s.Sets[i]) {
			return false
		}
	}
	return true
}
func (s *Product) width() int64        { return int64(len(s.Sets)) }
func (s *Product) Fingerprint() uint64 { return fingerprint(s, s.Sets...) }
func (s *Product) String() string {
	parts := make([]string, len(s.Sets))
	for i, x := range s.Sets {
		parts[i] = x.String()
	}
	return "(" + strings.Join(parts, ` \X `) + ")"
}

// Sequences is Seq(Base): infinite unless Base is empty.
type Sequences struct {
	Base Value
	cell
}

func (s *Sequences) Kind() string { return "set of sequences" }
func (s *Sequences) Contains(v Value) bool {
	t, ok := whole(v).(*Tuple)
	if !ok {
		if _, model := v.(*Model); model || kindOf(v) == "function" {
			return false
		}
		Fail("the %s %s cannot be a member of the set of sequences %s", Kind(v), Short(v), Short(s))
	}
	for _, x := range t.Items {
		if !Contains(s.Base, x) {
			return false
		}
	}
	return true
}
func (s *Sequences) Each(f func(Value) bool) bool {
	if Size(s.Base) == 0 {
		return f(EmptyTuple)
	}
	Fail("%s is infinite: it cannot be enumerated", Short(s))
	return false
}
func (s *Sequences) Size() int64 {
	if Size(s.Base) == 0 {
		return 1
	}
	return math.MaxInt64
}
func (s *Sequences) Same(o Lazy) bool {
	x, ok := o.(*Sequences)
	return ok && Equal(x.Base, s.Base)
}
func (s *Sequences) width() int64        { return 1 }
func (s *Sequences) Fingerprint() uint64 { return fingerprint(s, s.Base) }
func (s *Sequences) String() string      { return "Seq(" + s.Base.String() + ")" }

// where is {x \in Base : Test(x)} of a set that is too large to be gone through.
type where struct {
	Base Value
	Test func(Value) bool
	cell
}

func (s *where) Kind() string          { return "set" }
func (s *where) Contains(v Value) bool { return Contains(s.Base, v) && s.Test(v) }
func (s *where) Each(f func(Value) bool) bool {
	return Each(s.Base, func(v Value) bool { return !s.Test(v) || f(v) })
}
func (s *where) Size() int64         { return Size(s.Base) }
func (s *where) width() int64        { return widthOf(s.Base) }
func (s *where) Same(o Lazy) bool    { return Lazy(s) == o }
func (s *where) Fingerprint() uint64 { return Explicit(s).hash } // two conditions cannot be compared
func (s *where) String() string      { return `{x \in ` + s.Base.String() + " : ...}" }

// combined is A \cup B, A \cap B or A \ B of sets of which one is too large to be spelled out.
type combined struct {
	A, B Value
	Op   string
	cell
}

func (s *combined) Kind() string { return "set" }
func (s *combined) Contains(v Value) bool {
	switch s.Op {
	case `\cup`:
		return Contains(s.A, v) || Contains(s.B, v)
	case `\cap`:
		return Contains(s.A, v) && Contains(s.B, v)
	}
	return Contains(s.A, v) && !Contains(s.B, v)
}
func (s *combined) Each(f func(Value) bool) bool {
	switch s.Op {
	case `\cup`:
		return Each(s.A, f) && Each(s.B, func(v Value) bool { return Contains(s.A, v) || f(v) })
	case `\cap`:
		if Size(s.A) > Size(s.B) {
			return Each(s.B, func(v Value) bool { return !Contains(s.A, v) || f(v) })
		}
		return Each(s.A, func(v Value) bool { return !Contains(s.B, v) || f(v) })
	}
	return Each(s.A, func(v Value) bool { return Contains(s.B, v) || f(v) })
}
func (s *combined) Size() int64 {
	a, b := Size(s.A), Size(s.B)
	switch s.Op {
	case `\cup`:
		if a > math.MaxInt64-b {
			return math.MaxInt64
		}
		return a + b
	case `\cap`:
		return min(a, b)
	}
	return a
}
func (s *combined) width() int64 { return max(widthOf(s.A), widthOf(s.B)) }
func (s *combined) Same(o Lazy) bool {
	x, ok := o.(*combined)
	return ok && (x == s || x.Op == s.Op && alike(x.A, s.A) && alike(x.B, s.B))
}
func (s *combined) Fingerprint() uint64 { return fingerprint(s, Text(s.Op), s.A, s.B) }
func (s *combined) String() string      { return "(" + s.A.String() + " " + s.Op + " " + s.B.String() + ")" }

func widthOf(set Value) int64 {
	if s, ok := set.(Lazy); ok {
		return s.width()
	}
	return 1
}

// alike reports whether two sets are one, or constructed alike.
func alike(a, b Value) bool {
	x, lazyA := a.(Lazy)
	y, lazyB := b.(Lazy)
	if lazyA && lazyB {
		return x.Same(y)
	}
	return !lazyA && !lazyB && Equal(a, b)
}
