package value

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
)

// canon is the slow obvious twin: a text that is the same for equal values, however they are made. Functions are their pairs, sets their members.
func canon(v Value, names map[*Model]Value) string {
	sorted := func(parts []string) string {
		sort.Strings(parts)
		return strings.Join(parts, ",")
	}
	set := func(s Value) string {
		known := map[string]bool{}
		Each(s, func(x Value) bool { known[canon(x, names)] = true; return true })
		var parts []string
		for p := range known {
			parts = append(parts, p)
		}
		return "{" + sorted(parts) + "}"
	}
	switch x := v.(type) {
	case Bool, Int, *String:
		return fmt.Sprintf("%T %v", x, x)
	case *Model:
		if y, ok := names[x]; ok {
			return canon(y, nil)
		}
		return "model " + x.Name
	case *Set, Lazy:
		return set(v)
	}
	var parts []string
	Each(Domain(v), func(x Value) bool {
		parts = append(parts, canon(x, names)+":>"+canon(Apply(v, x), names))
		return true
	})
	return "(" + sorted(parts) + ")"
}

// shape is a type, so that values of one shape can be compared.
type shape struct {
	kind  string // int, string, model, set, function, tuple, record
	parts []shape
}

func someShape(r *rand.Rand, depth int) shape {
	kinds := []string{"int", "string", "model", "set", "function", "tuple", "record"}
	if depth == 0 {
		kinds = kinds[:3]
	}
	s := shape{kind: kinds[r.IntN(len(kinds))]}
	n := map[string]int{"set": 1, "function": 2, "tuple": 2, "record": 2}[s.kind]
	for range n {
		s.parts = append(s.parts, someShape(r, depth-1))
	}
	return s
}

// table is a function that is given by a rule.
type table struct {
	domain Value
	whole  Value
}

func (t table) Of(x Value) Value    { return Apply(t.whole, x) }
func (t table) Arguments() Value    { return t.domain }
func (t table) Spelled() Value      { return t.whole }
func (t table) Fingerprint() uint64 { return t.whole.Fingerprint() }
func (t table) String() string      { return t.whole.String() }

func (s shape) make(r *rand.Rand) Value {
	switch s.kind {
	case "int":
		return Int(r.IntN(4))
	case "string":
		return Text(string(rune('a' + r.IntN(3))))
	case "model":
		return ModelValue(fmt.Sprint("m", r.IntN(3)))
	case "set":
		return s.parts[0].set(r)
	case "function":
		domain := Explicit(s.parts[0].set(r))
		var keys, values []Value
		for _, x := range domain.Items {
			keys, values = append(keys, x), append(values, s.parts[1].make(r))
		}
		r.Shuffle(len(keys), func(i, k int) { keys[i], keys[k] = keys[k], keys[i]; values[i], values[k] = values[k], values[i] })
		f := FunctionOf(keys, values)
		if r.IntN(3) == 0 {
			return table{domain, f}
		}
		return f
	case "tuple":
		items := []Value{s.parts[0].make(r), s.parts[1].make(r)}
		if r.IntN(2) == 0 {
			return NewFunction(Explicit(&Interval{Low: 1, High: 2}), items)
		}
		return NewTuple(items)
	}
	values := []Value{s.parts[0].make(r), s.parts[1].make(r)}
	if r.IntN(2) == 0 {
		return FunctionOf([]Value{Text("q"), Text("p")}, []Value{values[1], values[0]})
	}
	return NewRecord([]*String{Text("p"), Text("q")}, values)
}

// set makes a set of some values of the shape, by a random construction.
func (s shape) set(r *rand.Rand) Value {
	few := func() Value {
		var items []Value
		for range r.IntN(4) {
			items = append(items, s.make(r))
		}
		return NewSet(items)
	}
	switch r.IntN(6) {
	case 0:
		return Union(few(), few())
	case 1:
		return &combined{A: few(), B: few(), Op: []string{`\cup`, `\cap`, `\`}[r.IntN(3)]}
	case 2:
		return &where{Base: few(), Test: func(v Value) bool { return v.Fingerprint()%2 == 0 }}
	}
	switch s.kind {
	case "int":
		return &Interval{Low: int64(r.IntN(4)), High: int64(r.IntN(4))}
	case "set":
		return &Subsets{Base: s.parts[0].set(r)}
	case "function":
		if d := s.parts[0].set(r); Size(d) < 4 {
			return &Functions{Domain: d, Range: few2(s.parts[1], r)}
		}
	case "tuple":
		if r.IntN(2) == 0 && fmt.Sprint(s.parts[0]) == fmt.Sprint(s.parts[1]) {
			return &Functions{Domain: &Interval{Low: 1, High: 2}, Range: s.parts[0].set(r)}
		}
		return &Product{Sets: []Value{few2(s.parts[0], r), few2(s.parts[1], r)}}
	case "record":
		return &Records{Names: []*String{Text("p"), Text("q")}, Sets: []Value{few2(s.parts[0], r), few2(s.parts[1], r)}}
	}
	return few()
}

func few2(s shape, r *rand.Rand) Value { return NewSet([]Value{s.make(r), s.make(r)}) }

// TestTwins makes values of one shape in many ways and checks that what their texts show holds for them, too.
func TestTwins(t *testing.T) {
	if c := canon(&Subsets{Base: &Interval{Low: 1, High: 2}}, nil); c != "{{value.Int 1,value.Int 2},{value.Int 1},{value.Int 2},{}}" {
		t.Fatal(c)
	}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := someShape(r, 2)
		a, b, c := s.make(r), s.make(r), s.make(r)
		ta, tb := canon(a, nil), canon(b, nil)
		report := func(what string, got any) { t.Errorf("seed %d, %v: %s of\n %v\n %v\nis %v", seed, s, what, a, b, got) }
		if got := Equal(a, b); got != (ta == tb) {
			report("Equal", got)
		}
		if got := a.Fingerprint() == b.Fingerprint(); got != (ta == tb) {
			report("Fingerprint ==", got)
		}
		ab, ba := Compare(a, b), Compare(b, a)
		if (ab == 0) != (ta == tb) || ab != -ba {
			report("Compare", []int{ab, ba})
		}
		if Compare(a, b) <= 0 && Compare(b, c) <= 0 && Compare(a, c) > 0 {
			report("Compare", fmt.Sprint("not transitive with ", c))
		}
		names := map[*Model]Value{ModelValue("m0"): ModelValue("m1"), ModelValue("m1"): ModelValue("m2"), ModelValue("m2"): ModelValue("m0")}
		if got := Renamed(a, names); canon(got, nil) != canon(a, names) {
			report("Renamed", got)
		} else if ways := (renamingBy(names)); ways.Least([]Value{a, b}) != min(Hash([]Value{a, b}), Hash([]Value{got, Renamed(b, names)})) {
			report("Renaming", "not the least of Hash and of Hash of Renamed")
		}
		sets(t, seed, s, r)
		if t.Failed() {
			return
		}
	}
}

func sets(t *testing.T, seed uint64, s shape, r *rand.Rand) {
	a, b, v := s.set(r), s.set(r), s.make(r)
	members := func(s Value) map[string]bool {
		m := map[string]bool{}
		Each(s, func(x Value) bool { m[canon(x, nil)] = true; return true })
		return m
	}
	ma, mb, tv := members(a), members(b), canon(v, nil)
	report := func(what string, got any) {
		t.Errorf("seed %d, %v: %s of\n %v\n %v\n %v\nis %v", seed, s, what, a, b, v, got)
	}
	if got := Contains(a, v); got != ma[tv] {
		report("Contains", got)
	}
	Each(b, func(x Value) bool {
		if got := Contains(a, x); got != ma[canon(x, nil)] {
			report("Contains "+x.String(), got)
		}
		return true
	})
	want := map[string]map[string]bool{"cup": {}, "cap": {}, "minus": {}, "with": {tv: true}}
	subset := true
	for x := range ma {
		want["cup"][x], want["with"][x] = true, true
		if mb[x] {
			want["cap"][x] = true
		} else {
			want["minus"][x], subset = true, false
		}
	}
	for x := range mb {
		want["cup"][x] = true
	}
	for name, got := range map[string]Value{"cup": Union(a, b), "cap": Intersection(a, b), "minus": Difference(a, b), "with": Explicit(a).with(v),
		"cup ": BigUnion(NewSet([]Value{Explicit(a), Explicit(b)}))} {
		if fmt.Sprint(members(got)) != fmt.Sprint(want[strings.TrimSpace(name)]) {
			report(name, got)
		}
	}
	if got := IsSubset(a, b); got != subset {
		report("IsSubset", got)
	}
	if n, exact := Count(a); exact && n != int64(len(ma)) || Size(a) < int64(len(ma)) {
		report("Count", n)
	}
	if !Finite(a) {
		report("Finite", false)
	}
	if got := Filter(a, func(x Value) bool { return Contains(b, x) }); fmt.Sprint(members(got)) != fmt.Sprint(want["cap"]) {
		report("Filter", got)
	}
	e := Explicit(a)
	if a.Fingerprint() != e.Fingerprint() || !Equal(a, e) || !Equal(e, a) {
		report("Explicit", e)
	}
	// What goes through a set goes in one order, so that CHOOSE takes the same of sets that are equal.
	i := 0
	if lazy, ok := a.(Lazy); ok {
		if _, ok := a.(*where); !ok {
			Each(lazy, func(x Value) bool {
				if canon(x, nil) != canon(e.Items[i], nil) {
					report("Each", x)
				}
				i++
				return true
			})
		}
	}
}

func message(f func()) (m string) {
	defer func() {
		if e, ok := recover().(*Error); ok {
			m = e.Message
		}
	}()
	f()
	return ""
}

func interval(low, high int64) Value { return &Interval{Low: low, High: high} }

// TestWhatHasNoAnswer asks what must fail, rather than be FALSE.
func TestWhatHasNoAnswer(t *testing.T) {
	one, a, m := Value(Int(1)), Value(Text("a")), Value(ModelValue("m"))
	typed, other := Value(ModelValue("A_x")), Value(ModelValue("B_x"))
	tuple := func(v ...Value) Value { return NewTuple(v) }
	set := func(v ...Value) Value { return NewSet(v) }
	rec := func(name string, v Value) Value { return NewRecord([]*String{Text(name)}, []Value{v}) }
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { Equal(one, a) }, `the integer 1 cannot be compared with the string "a"`},
		{func() { Equal(Bool(true), one) }, "the Boolean TRUE cannot be compared with the integer 1"},
		{func() { Equal(tuple(one), one) }, "the tuple <<1>> cannot be compared with the integer 1"},
		{func() { Equal(set(one), one) }, "the set {1} cannot be compared with the integer 1"},
		{func() { Equal(rec("x", one), a) }, `the record [x |-> 1] cannot be compared with the string "a"`},
		{func() { Equal(tuple(one), tuple(a)) }, `the integer 1 cannot be compared with the string "a"`},
		{func() { Equal(set(one), set(a)) }, `the integer 1 cannot be compared with the string "a"`},
		{func() { Equal(rec("x", one), rec("x", a)) }, `the integer 1 cannot be compared with the string "a"`},
		{func() { Equal(typed, one) }, "the model value A_x cannot be compared with the integer 1"},
		{func() { Equal(typed, other) }, "the model value A_x cannot be compared with the model value B_x"},
		{func() { NewSet([]Value{one, a}) }, `the string "a" cannot be compared with the integer 1`},
		{func() { Contains(set(one), a) }, `the integer 1 cannot be compared with the string "a"`},
		{func() { Contains(interval(1, 3), a) }, `the string "a" cannot be compared with the set {1, 2, 3}`},
		{func() { Contains(Naturals, a) }, `the string "a" cannot be compared with the members of Nat`},
		{func() { Contains(Strings, one) }, "the integer 1 cannot be compared with the members of STRING"},
		{func() { Contains(&Sequences{Base: Naturals}, one) }, "the integer 1 cannot be a member of the set of sequences Seq(Nat)"},
		{func() { Contains(&Functions{Domain: set(a), Range: Naturals}, one) }, `the integer 1 cannot be a member of the set of functions [{"a"} -> Nat]`},
		{func() { Contains(&Records{Names: []*String{Text("a")}, Sets: []Value{Naturals}}, one) },
			"the integer 1 cannot be a member of the set of records [a: Nat]"},
		{func() { Contains(one, a) }, "1 is an integer, not a set"},
		{func() { Contains(&Subsets{Base: Naturals}, one) }, "1 is an integer, not a set"},
		{func() { Explicit(Naturals) }, "the set Nat is infinite, or too large to be enumerated"},
		{func() { Each(Naturals, func(Value) bool { return true }) }, "Nat is infinite: it cannot be enumerated"},
		{func() { Explicit(&Functions{Domain: interval(1, 3), Range: Naturals}) }, "the set [{1, 2, 3} -> Nat] is infinite, or too large to be enumerated"},
		{func() { Explicit(&Subsets{Base: interval(1, 40)}) },
			"the set SUBSET " + interval(1, 40).String() + " has 1099511627776 members: at most 4000000 can be enumerated"},
		{func() { Explicit(&Subsets{Base: interval(1, 21)}) },
			"the set SUBSET " + interval(1, 21).String() + " has 2097152 members with 11 values within each: at most 16000000 values can be enumerated"},
		{func() { Explicit(&Subsets{Base: interval(1, 100)}) },
			"the set SUBSET " + interval(1, 100).String()[:193] + "... is infinite, or too large to be enumerated"},
		{func() { Apply(tuple(one), Int(2)) }, "the index 2 is out of range of <<1>>, which has 1 item"},
		{func() { Apply(rec("x", one), Text("y")) }, "the record has no field y: it has x"},
		{func() { Apply(one, one) }, "1 is an integer, not a function: it cannot be applied to 1"},
		{func() { Items(rec("x", one)) }, "[x |-> 1] is a record, not a sequence"},
		{func() { Finite(&where{Base: Naturals, Test: func(Value) bool { return true }}) }, `it is not known whether the set {x \in Nat : ...} is finite`},
		{func() { AtMost(Most + 1) }, "a set or sequence has more than 4000000 members: that is too large"},
	} {
		if got := message(c.do); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	for what, differ := range map[string]bool{
		"m = 1":                       !Equal(m, one),
		"1 = m":                       !Equal(one, m),
		"m = {}":                      !Equal(m, EmptySet),
		"m \\in Nat":                  !Contains(Naturals, m),
		"m \\in 1..3":                 !Contains(interval(1, 3), m),
		"m \\in SUBSET Nat":           !Contains(&Subsets{Base: Naturals}, m),
		"m \\in Seq(Nat)":             !Contains(&Sequences{Base: Naturals}, m),
		"<<1>> = [x |-> 1]":           !Equal(tuple(one), rec("x", one)),
		"[x |-> 1] = [y |-> 1]":       !Equal(rec("x", one), rec("y", one)),
		"<<1>> = <<1, \"a\">>":        !Equal(tuple(one), tuple(one, a)),
		"<<1, 1>> = <<2, \"a\">>":     !Equal(tuple(one, one), tuple(Int(2), a)),
		"[x |-> 1] \\in [{1} -> Nat]": !Contains(&Functions{Domain: set(one), Range: Naturals}, rec("x", one)),
		"[x |-> 1] \\in Seq(Nat)":     !Contains(&Sequences{Base: Naturals}, rec("x", one)),
		"-1 \\in Nat":                 !Contains(Naturals, Int(-1)),
	} {
		if !differ {
			t.Errorf("%s is TRUE", what)
		}
	}
}

// TestSetsThatAreNotSpelledOut asks what large and infinite sets answer without their members.
func TestSetsThatAreNotSpelledOut(t *testing.T) {
	huge := &Subsets{Base: interval(1, 100)}
	words := &Sequences{Base: Strings}
	f := NewTuple([]Value{Int(1), Int(2), Int(3)})
	twice := &combined{A: interval(1, 70000), B: interval(2, 70001), Op: `\cup`}
	n, exact := Count(&Product{Sets: []Value{twice, interval(1, 1)}})
	for what, holds := range map[string]bool{
		"{1} \\in SUBSET (1..100)":               Contains(huge, NewSet([]Value{Int(1)})),
		"SUBSET (1..100) = itself":               Equal(huge, &Subsets{Base: interval(1, 100)}),
		"its fingerprint":                        huge.Fingerprint() == (&Subsets{Base: Explicit(interval(1, 100))}).Fingerprint(),
		"another's fingerprint":                  huge.Fingerprint() != (&Subsets{Base: interval(1, 101)}).Fingerprint(),
		"Seq(STRING) = Seq(STRING)":              Equal(words, &Sequences{Base: Strings}),
		"Seq({}) = {<<>>}":                       Equal(&Sequences{Base: EmptySet}, NewSet([]Value{EmptyTuple})),
		"the fingerprint of Seq({})":             (&Sequences{Base: EmptySet}).Fingerprint() == NewSet([]Value{EmptyTuple}).Fingerprint(),
		"<<1, 2, 3>> \\in [1..3 -> Nat]":         Contains(&Functions{Domain: interval(1, 3), Range: Naturals}, f),
		"~(<<1, 2, 3>> \\in [1..2 -> Nat])":      !Contains(&Functions{Domain: interval(1, 2), Range: Naturals}, f),
		"a rule \\in Nat \\X Nat \\X Nat":        Contains(&Product{Sets: []Value{Naturals, Naturals, Naturals}}, table{interval(1, 3), f}),
		"a rule \\in Seq(Nat)":                   Contains(&Sequences{Base: Naturals}, table{interval(1, 3), f}),
		"Nat \\subseteq Int":                     IsSubset(Naturals, Integers),
		"Nat \\subseteq Real":                    IsSubset(Naturals, Reals),
		"SUBSET Nat \\subseteq SUBSET Int":       IsSubset(&Subsets{Base: Naturals}, &Subsets{Base: Integers}),
		"the union of large sets is not counted": !exact || n == 70001,
		"its members are counted once":           len(Explicit(twice).Items) == 70001,
		"the size of SUBSET (1..100)":            huge.Size() == math.MaxInt64,
		"[1..3 -> {}] = {}":                      Equal(&Functions{Domain: interval(1, 3), Range: EmptySet}, EmptySet),
		"[{} -> Nat] = {<<>>}":                   Equal(&Functions{Domain: EmptySet, Range: Naturals}, NewSet([]Value{EmptyTuple})),
		"IsFiniteSet of [{} -> Nat]":             Finite(&Functions{Domain: EmptySet, Range: Naturals}),
		"~IsFiniteSet of [a: Nat]":               !Finite(&Records{Names: []*String{Text("a")}, Sets: []Value{Naturals}}),
		"IsFiniteSet of Nat \\X {}":              Finite(&Product{Sets: []Value{Naturals, EmptySet}}),
		"~IsFiniteSet of Nat \\ {0}":             !Finite(&combined{A: Naturals, B: NewSet([]Value{Int(0)}), Op: `\`}),
		"IsFiniteSet of Nat \\cap {0}":           Finite(&combined{A: Naturals, B: NewSet([]Value{Int(0)}), Op: `\cap`}),
		"the last interval ends":                 Each(interval(math.MaxInt64-1, math.MaxInt64), func(Value) bool { return true }),
		"the size of all":                        Size(interval(math.MinInt64, math.MaxInt64)) == math.MaxInt64,
		"SUBSET of model values, renamed": canon(Renamed(&Subsets{Base: NewSet([]Value{ModelValue("m0")})},
			map[*Model]Value{ModelValue("m0"): ModelValue("m1")}), nil) ==
			"{{model m1},{}}",
	} {
		if !holds {
			t.Errorf("not so: %s", what)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{NewTuple([]Value{Int(1), Text("a\"\\\n")}), `<<1, "a\"\\\n">>`},
		{NewRecord([]*String{Text("a"), Text("b")}, []Value{Bool(true), EmptySet}), "[a |-> TRUE, b |-> {}]"},
		{FunctionOf([]Value{Int(2), Int(0)}, []Value{Int(5), Int(6)}), "(0 :> 6 @@ 2 :> 5)"},
		{FunctionOf(nil, nil), "<<>>"},
		{NewSet([]Value{Int(3), Int(-1), Int(3)}), "{-1, 3}"},
		{ModelValue("p1"), "p1"},
		{&Functions{Domain: Naturals, Range: Booleans}, "[Nat -> {FALSE, TRUE}]"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// A function with one more argument, one less, or another value, is the one that is made of all of them.
func TestFunctionWith(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []func(i int) Value{
		func(i int) Value { return NewTuple([]Value{Int(i)}) },
		func(i int) Value { return Int(i) },
		func(i int) Value { return Text(string(rune('a' + i))) },
		func(i int) Value {
			if i < 3 {
				return ModelValue("m" + string(rune('a'+i)))
			}
			return Int(i - 2)
		},
	} {
		have := map[int]Value{0: Int(1), 5: Int(2)}
		for range 300 {
			made := func() Value {
				var keys, values []Value
				for i, v := range have {
					keys, values = append(keys, kind(i)), append(values, v)
				}
				return FunctionOf(keys, values)
			}
			f, ok := made().(*Function)
			i, v, with := r.IntN(7), Int(r.IntN(3)), r.IntN(2) == 0
			if with {
				have[i] = v
			} else {
				delete(have, i)
			}
			if !ok {
				continue
			}
			before, got, want := f.Fingerprint(), f.With(kind(i), v, with), made()
			if got.Fingerprint() != want.Fingerprint() || got.String() != want.String() || !Equal(got, want) || f.Fingerprint() != before {
				t.Fatalf("%s, and not %s", got, want)
			}
		}
	}
}

// A function of which an EXCEPT changes one value is the one that is made of all its values, whether the value is another or not;
// and it is in the sets of functions that its arguments and values allow.
func TestReplace(t *testing.T) {
	changed, kept := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := shape{kind: []string{"function", "tuple", "record"}[r.IntN(3)], parts: []shape{someShape(r, 1), someShape(r, 1)}}
		if s.kind != "function" {
			s.parts[0] = s.parts[1] // so that its values are in a set
		}
		f := Spelled(s.make(r))
		keys := append([]Value(nil), Explicit(Domain(f)).Items...)
		if len(keys) == 0 {
			continue
		}
		at := r.IntN(len(keys))
		v := s.parts[1].make(r)
		var values []Value
		for i, k := range keys {
			values = append(values, Apply(f, k))
			if i == at {
				values[i] = v
			}
		}
		before := f.Fingerprint()
		got, want := Replace(f, keys[at], func(Value) Value { return v }), FunctionOf(keys, values)
		if got.Fingerprint() != want.Fingerprint() || canon(got, nil) != canon(want, nil) || f.Fingerprint() != before {
			t.Fatalf("seed %d: %s with %s for %s is %s", seed, f, v, keys[at], got)
		}
		if got == f {
			kept++
		} else {
			changed++
		}
		domain, members := NewSet(append([]Value(nil), keys...)), NewSet(append([]Value(nil), values...))
		for _, set := range []Value{domain, NewSet(append([]Value(nil), keys[1:]...)), NewSet([]Value{Int(1), Int(3)}),
			NewSet([]Value{Text("p"), Text("r")}), EmptySet} {
			is := (&Functions{Domain: set, Range: members}).Contains(want)
			if is != (canon(set, nil) == canon(domain, nil)) {
				t.Fatalf("seed %d: whether %s has the domain %s is not %t", seed, want, set, is)
			}
		}
		if (&Functions{Domain: domain, Range: EmptySet}).Contains(want) {
			t.Fatalf("seed %d: %s is a function to no value", seed, want)
		}
	}
	if changed < 300 || kept < 300 {
		t.Errorf("%d functions changed, and %d did not", changed, kept)
	}
}

// renamingBy is a Renaming with one way.
func renamingBy(names map[*Model]Value) *Renaming {
	var models []*Model
	for from, to := range names {
		models = append(models, from, to.(*Model))
	}
	image := func(_, i int) int {
		if to, ok := names[models[i]]; ok {
			return slices.Index(models, to.(*Model))
		}
		return i
	}
	return NewRenaming(NewWays(models, 1, image), func() {})
}
