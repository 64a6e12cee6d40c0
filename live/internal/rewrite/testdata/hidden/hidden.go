// Package hidden has functions in which shadows may get lost.
package hidden

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
)

// needle is the number that hidden cases look for.
const needle = 0x5bd1e995

// message is an input of a hidden case.
type message struct {
	n    uint32
	text string
	list []byte
}

// Hidden is a function that finds the needle by a way on which shadows may get lost: a search of it either finds the needle or says what it lost.
type Hidden struct {
	Name string
	Run  func(m *message) bool
}

// Finds decides whether the function has found the needle.
func (h Hidden) Finds(m *message) bool {
	if h.Run(m) {
		return true
	}
	return false
}

// Hiding are all of them.
var Hiding = []Hidden{
	{"goto", func(m *message) bool { return jumping(m.n) }},
	{"goto, by pointer", func(m *message) bool { return jumpingTo(m) }},
	{"goto, by an interface", func(m *message) bool { return finder(jumper{}).find(m) }},
	{"recover", func(m *message) bool { return recovering(m.n) }},
	{"formatted", func(m *message) bool { return fmt.Sprintf("%+v", *m)[1:14] == "n:1540483477 " }},
	{"formatted, by pointer", func(m *message) bool { return strings.HasPrefix(fmt.Sprintf("%+v", m), "&{n:1540483477 ") }},
	{"an interface's method elsewhere", func(m *message) bool {
		var w writer = new(bytes.Buffer)
		w.Write(m.list)
		return w.(*bytes.Buffer).String() == "need"
	}},
	{"a method elsewhere by value", func(m *message) bool {
		write := new(bytes.Buffer)
		f := write.Write
		f(m.list)
		return write.String() == "need"
	}},
	{"a literal without parameters", func(m *message) bool { return given(func() uint32 { return m.n }) }},
	{"a function without parameters in a variable", func(m *message) bool {
		kept = m.n
		f := ofKept
		return given(f)
	}},
	{"a value's method, by an interface", func(m *message) bool { return number(held{n: m.n}) }},
	{"a value's method, by an interface and a pointer", func(m *message) bool { return number(&held{n: m.n}) }},
	{"a value's hidden method, by an interface and a pointer", func(m *message) bool { var a secretive = &held{n: m.n}; return a.number() == needle }},
	{"a number's method, by an interface", func(m *message) bool { return number(counted(m.n)) }},
	{"an embedded value's method, by an interface", func(m *message) bool { return number(holder{held: held{n: m.n}}) }},
	{"an embedded value's method, by an interface and a pointer", func(m *message) bool { return number(&holder{held: held{n: m.n}}) }},
	{"an embedded pointer's method, by an interface", func(m *message) bool { return number(pointer{held: &held{n: m.n}}) }},
	{"an embedded interface's method, by an interface", func(m *message) bool { return number(wrapper{numbered: held{n: m.n}}) }},
	{"a value's method as a function", func(m *message) bool { f := held{n: m.n}.Number; return given(f) }},
	{"an interface's method as a function", func(m *message) bool { var a numbered = held{n: m.n}; f := a.Number; return given(f) }},
	{"a method of a type", func(m *message) bool { f := held.Number; return f(held{n: m.n}) == needle }},
	{"a method of an interface's type", func(m *message) bool { f := numbered.Number; return f(held{n: m.n}) == needle }},
	{"a deferred method of a value", func(m *message) (found bool) {
		defer func() { found = kept == needle }()
		var k keeper = held{n: m.n}
		defer k.Keep()
		return false
	}},
	{"reader", func(m *message) bool {
		var b [4]byte
		bytes.NewReader(m.list).Read(b[:])
		return b == [4]byte{'n', 'e', 'e', 'd'}
	}},
	{"goroutine", func(m *message) bool {
		found := make(chan bool)
		go func() { found <- m.n == needle }()
		return <-found
	}},
	{"channel", func(m *message) bool {
		c := make(chan uint32, 1)
		c <- m.n
		return <-c == needle
	}},
	{"map of numbers", func(m *message) bool { return map[int]uint32{1: m.n}[1] == needle }},
	{"map by number", func(m *message) bool { return map[uint32]bool{needle: true}[m.n] }},
	{"map by text", func(m *message) bool { return map[string]bool{"need": true}[m.text] }},
	{"map by interface", func(m *message) bool { return map[any]bool{uint32(needle): true}[m.n] }},
	{"map by interface that holds it", func(m *message) bool {
		var k any = m.n
		return map[any]bool{uint32(needle): true}[k]
	}},
	{"map by struct", func(m *message) bool { return map[struct{ s string }]bool{{"need"}: true}[struct{ s string }{m.text}] }},
	{"map by mixed struct", func(m *message) bool {
		return map[named]bool{{needle, "need"}: true}[named{m.n, m.text}]
	}},
	{"map by parameter", func(m *message) bool { return has(map[string]bool{"need": true}, m.text) }},
	{"map by number parameter", func(m *message) bool { return has(map[uint32]bool{needle: true}, m.n) }},
	{"map by struct parameter", func(m *message) bool { return has(map[named]bool{{needle, "need"}: true}, named{m.n, m.text}) }},
	{"interfaces", func(m *message) bool { return any(m.n) == any(uint32(needle)) }},
	{"an interface and a value", func(m *message) bool {
		var x any = uint32(needle)
		return x == m.n
	}},
	{"interfaces in structs", func(m *message) bool { return struct{ x any }{m.n} == struct{ x any }{uint32(needle)} }},
	{"switch of an interface", func(m *message) bool {
		switch any(m.n) {
		case uint32(needle):
			return true
		}
		return false
	}},
	{"structs of texts", func(m *message) bool { return struct{ a, b string }{m.text, "x"} == struct{ a, b string }{"need", "x"} }},
	{"arrays of texts", func(m *message) bool { return [2]string{m.text} == [2]string{"need"} }},
	{"equal parameters", func(m *message) bool { return same(m.n, needle) }},
	{"equal texts", func(m *message) bool { return same(m.text, "need") }},
	{"equal structs", func(m *message) bool { return same(named{m.n, m.text}, named{needle, "need"}) }},
	{"equal arrays", func(m *message) bool { return same([2]string{m.text}, [2]string{"need"}) }},
	{"equal interfaces", func(m *message) bool { return same[any](m.n, uint32(needle)) }},
	{"minus", func(m *message) bool { return minus(int32(m.n)) == -needle }},
	{"shift", func(m *message) bool { return shifted(m.n, 1) == needle>>1 }},
	{"shift by it", func(m *message) bool { return shiftedBy(uint64(1), m.n>>8) == 1<<7 }},
	{"without", func(m *message) bool { return without(m.n, 1) == needle-1 }},
	{"minimum", func(m *message) bool {
		return least(m.n, needle) == needle && least(^m.n, ^uint32(needle)) == ^uint32(needle)
	}},
	{"minimum of texts", func(m *message) bool { return min(m.text, "need") == "need" && max(m.text, "need") == "need" }},
	{"converted", func(m *message) bool { return converted[uint32, uint64](m.n) == needle }},
	{"converted to a float", func(m *message) bool { return fromInt[float64](m.n) == needle }},
	{"a float", func(m *message) bool { return float64(m.n) == needle }},
	{"bytes or text", func(m *message) bool {
		return first(m.text) == 'n' && at(m.list, 1) == 'e' && len(clone(m.text)) == 4 && clone(m.text) == "need"
	}},
	{"copied by a parameter", func(m *message) bool { return string(copied(m.text)) == "need" }},
	{"runes", func(m *message) bool { return string([]rune(m.text)) == "need" }},
	{"runes, one by one", func(m *message) bool { return []rune(m.text)[2] == 'e' }},
	{"a rune", func(m *message) bool { return string(rune(m.n)) == "\x15" }},
	{"range over a function", func(m *message) bool {
		for x := range one(m.n) {
			return x == needle
		}
		return false
	}},
	{"range over a function, assigned", func(m *message) bool {
		var x uint32
		for x = range one(m.n) {
		}
		return x == needle
	}},
	{"range over values", func(m *message) bool {
		for x := range slices.Values([]uint32{m.n}) {
			return x == needle
		}
		return false
	}},
	{"range over a map", func(m *message) bool {
		for _, x := range maps.All(map[int]uint32{1: m.n}) {
			return x == needle
		}
		return false
	}},
	{"range over a number", func(m *message) bool { return turns(m.n>>24) == needle>>24 }},
	{"callback", func(m *message) bool { return apply(m.n, func(x uint32) bool { return x == needle }) }},
	{"names of one type", func(m *message) bool {
		var a asker = asked{}
		return a.ask(nil, byte(m.n))
	}},
	{"callback elsewhere", func(m *message) bool {
		return slices.IndexFunc([]uint32{m.n}, func(x uint32) bool { return x == needle }) == 0
	}},
	{"sorted", func(m *message) bool {
		list := []uint32{needle, m.n}
		sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
		return list[0] == list[1]
	}},
	{"many arguments", func(m *message) bool {
		return seventeen(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, m.n)
	}},
	{"deferred", func(m *message) (found bool) {
		defer func(n uint32) { found = n == needle }(m.n)
		return
	}},
	{"recovered", func(m *message) (found bool) {
		defer func() { found = recover() == any(uint32(needle)) }()
		panic(m.n)
	}},
	{"error", func(m *message) bool {
		var c *code
		return errors.As(fmt.Errorf("x: %w", &code{m.n}), &c) && c.n == needle
	}},
	{"result that is dropped", func(m *message) bool {
		return dropping(m) && m.n == needle
	}},
	{"negative shift", func(m *message) (found bool) {
		defer func() { found = recover() != nil }()
		_ = 1 << int32(m.n)
		return
	}},
	{"deep stack", func(m *message) bool {
		n := m.n
		p := &n
		return deep(2000, p) == needle
	}},
}

func jumping(n uint32) bool {
	if n == needle {
		goto yes
	}
	return false
yes:
	return true
}

func jumpingTo(m *message) bool {
	if m.n == needle {
		goto yes
	}
	return false
yes:
	return true
}

type finder interface{ find(m *message) bool }

type jumper struct{}

func (jumper) find(m *message) bool { return jumpingTo(m) }

type writer interface{ Write(p []byte) (int, error) }

func recovering(n uint32) bool {
	if recover() != nil {
		return false
	}
	return n == needle
}

type named struct {
	n uint32
	s string
}

func has[K comparable](m map[K]bool, k K) bool { return m[k] }

func same[T comparable](x, y T) bool { return x == y }

func minus[T ~int32 | ~int64](x T) T { return -x }

func shifted[T ~uint32 | ~uint64](x T, n int) T { return x >> n }

func shiftedBy[T, U ~uint32 | ~uint64](x T, n U) T { return x << n }

func without[T ~uint32 | ~uint64](x, y T) T { return x &^ y }

func least[T ~uint32 | ~uint64](x, y T) T { return min(x, y) }

func converted[T, U ~uint32 | ~uint64](x T) U { return U(x) }

func fromInt[T ~uint64 | ~float64](n uint32) T { return T(n) }

func first[T ~string | ~[]byte](s T) byte { return s[0] }

func at[T ~string | ~[]byte](s T, i int) byte { return s[i] }

func clone[T ~string | ~[]byte](s T) string { return string(s) }

func copied[T ~string | ~[]byte](s T) []byte {
	b := make([]byte, len(s))
	copy(b, s)
	return b
}

func one[T any](x T) iter.Seq[T] { return func(yield func(T) bool) { yield(x) } }

func turns[T ~uint32](n T) (sum T) {
	for range n {
		sum++
	}
	return sum
}

func apply[T any](x T, f func(T) bool) bool { return f(x) }

func seventeen(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q uint32) bool { return q == needle }

type code struct{ n uint32 }

func (c *code) Error() string { return "code" }

func big(m *message) bool { return m.n > 7 }

func dropping(m *message) bool {
	big(m)
	return true
}

func deep(n int, p *uint32) uint32 {
	var frame [64]uint32
	frame[n%64] = uint32(n)
	if n > 0 {
		return deep(n-1, p) + frame[(n+1)%64]
	}
	return *p
}

type asker interface {
	ask(x interface{}, b byte) bool
}

type asked struct{}

func (asked) ask(_ any, b uint8) bool { return b == needle>>24 }

// given calls a function value without parameters.
//
//go:noinline
func given(f func() uint32) bool { return f() == needle }

//go:noinline
func number(a numbered) bool { return a.Number() == needle }

type numbered interface{ Number() uint32 }
type secretive interface{ number() uint32 }
type keeper interface{ Keep() }

type held struct {
	pad uint64
	n   uint32
}

func (h held) Number() uint32 { return h.n }
func (h held) number() uint32 { return h.n }
func (h held) Keep()          { kept = h.n }

type counted uint32

func (c counted) Number() uint32 { return uint32(c) }

type holder struct {
	pad uint32
	held
}

type pointer struct {
	pad uint32
	*held
}

type wrapper struct {
	pad uint32
	numbered
}

var kept uint32

func ofKept() uint32 { return kept }
