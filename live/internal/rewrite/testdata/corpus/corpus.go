// Package corpus has functions whose second bodies must agree with the first ones. Each takes a few numbers and bytes and gives a text that has all that it did.
package corpus

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// Input is the input of a case.
type Input struct {
	A, B int32
	C    uint8
	S    []byte
}

// Call gives a case its input.
func (in *Input) Call(f func(a, b int32, c uint8, s []byte) string) string {
	return f(in.A, in.B, in.C, in.S)
}

// Case is a function of the corpus.
type Case struct {
	Name string
	Run  func(a, b int32, c uint8, s []byte) string
}

// seen counts values that show found special.
var seen int

// observe makes a value a branch, so that its shadow is tried.
func observe(v int64) {
	if v == 77 {
		seen++
	}
}

// show is fmt.Sprint, which branches on what it prints.
func show(args ...any) string {
	for _, x := range args {
		switch v := x.(type) {
		case int:
			observe(int64(v))
		case int8:
			observe(int64(v))
		case int16:
			observe(int64(v))
		case int32:
			observe(int64(v))
		case int64:
			observe(v)
		case uint:
			observe(int64(v))
		case uint8:
			observe(int64(v))
		case uint16:
			observe(int64(v))
		case uint32:
			observe(int64(v))
		case uint64:
			observe(int64(v))
		case bool:
			if v {
				seen++
			}
		case string:
			if v == "needle" || len(v) > 1 && v[1] == '7' {
				seen++
			}
		case []byte:
			for _, b := range v {
				observe(int64(b))
			}
		case []int32:
			for _, b := range v {
				observe(int64(b))
			}
		case point:
			observe(int64(v.x) + int64(v.y))
		case counter:
			observe(int64(v.n) + int64(v.hits[1]))
		case line:
			observe(int64(v.from.x) + int64(v.to.y))
		}
	}
	return fmt.Sprint(args...)
}

// Cases are all functions.
var Cases = []Case{
	{"arithmetic", arithmetic}, {"conversions", conversions}, {"shifts", shifts}, {"division", division}, {"logic", logic}, {"switches", switches}, {"fallthrough", falling},
	{"typeSwitch", typeSwitches}, {"loops", loops}, {"labels", labels}, {"ranges", ranges}, {"rangeFuncs", rangeFuncs}, {"closures", closures}, {"loopVariables", loopVariables}, {"defers", defers},
	{"recovered", recovered}, {"named", named}, {"methods", methods}, {"embedded", embedded}, {"generics", generics}, {"variadics", variadics}, {"structs", structs}, {"arrays", arrays},
	{"slices", slicesOf}, {"maps", maps}, {"texts", texts}, {"runes", runes}, {"pointers", pointers}, {"interfaces", interfaces}, {"order", order}, {"parallel", parallel}, {"builtins", builtins},
	{"constants", constants}, {"channels", channels}, {"composites", composites}, {"multiple", multiple}, {"errors", failing}, {"booleans", booleans}, {"decisions", decisions}, {"bounds", bounds},
	{"methodValues", methodValues}, {"recursion", recursion}, {"shadowing", shadowing}, {"sorting", sorting}, {"swap", swap}, {"typed", typed}, {"names", names}, {"parameters", parameters}, {"structsEqual", structsEqual}, {"tables", tables},
}

func arithmetic(a, b int32, c uint8, s []byte) string {
	x, y := int64(a)*int64(b), uint32(a)+uint32(b)
	z := a - b
	z += 7
	z *= 3
	z ^= b
	z |= 1
	z &^= 0x10
	c++
	c -= 200
	c--
	u := uint16(c) * 257
	return show(x, y, z, -a, ^b, +a, c, u, a&b, a|b, a^b, a&^b, -c, ^c)
}

func conversions(a, b int32, c uint8, s []byte) string {
	type small int8
	w := small(a)
	return show(int8(a), uint8(b), int16(c), int64(int8(c)), uint64(a), uint64(uint32(a)), uint32(int8(b)), w, int32(w), uintptr(c), float64(a)/3, int(float32(c)), rune(c), string(rune(c)), complex(float64(a), 1))
}

func shifts(a, b int32, c uint8, s []byte) string {
	n := c % 70
	m := uint64(n)
	k := int(b & 31)
	var one int64 = 1 << n
	return show(a<<n, a>>n, uint32(a)>>m, uint8(b)<<m, int8(b)>>k, one, 1<<k, uint16(1)<<n, a<<3, b>>2, ^0>>k)
}

func division(a, b int32, c uint8, s []byte) string {
	d := int32(c) - 3
	return show(a/d, a%d, uint32(a)/uint32(d), uint32(b)%uint32(d), int8(a)/int8(d), b/7, b%-5)
}

func logic(a, b int32, c uint8, s []byte) string {
	calls := 0
	f := func(v bool) bool { calls++; return v }
	r := f(a > b) && f(c > 10) || f(a == 3) && !f(b < 0)
	if a > 0 && (b > 0 || f(c == 0)) && len(s) > 2 && s[2] > 10 {
		calls += 100
	}
	q := a < b != (c == 1)
	return show(r, q, calls)
}

func switches(a, b int32, c uint8, s []byte) string {
	r := ""
	switch x := c & 7; x {
	case 0, 1:
		r += "low"
	case uint8(a) & 7:
		r += "a"
	default:
		r += "other"
	case 5:
		if a > 0 {
			break
		}
		r += "five"
	}
	switch {
	case a < 0 && b < 0:
		r += "both"
	case a < 0:
		r += "a<0"
	case len(s) > 3:
		r += "long"
	}
	switch string(s) {
	case "":
		r += "empty"
	case "abc", "x":
		r += "text"
	}
	switch {
	}
	switch f := any(a).(type) {
	case int32:
		r += show(f)
	}
	return r
}

func falling(a, b int32, c uint8, s []byte) string {
	r := 0
	switch c % 5 {
	case 0:
		r++
		fallthrough
	case 1:
		r += 10
		fallthrough
	default:
		r += 100
	case 3:
		r += 1000
		if b > 0 {
			r++
		}
		fallthrough
	case 4:
		r += 10000
	}
	return show(r)
}

type shape interface{ area() int32 }
type square struct{ side int32 }
type rect struct{ w, h int32 }
type celsius int16

func (s square) area() int32  { return s.side * s.side }
func (r *rect) area() int32   { return r.w * r.h }
func (c celsius) area() int32 { return int32(c) }

func typeSwitches(a, b int32, c uint8, s []byte) string {
	list := []any{a, c, square{a}, &rect{a, b}, celsius(b), nil, "x", s, []int{1}, errors.New("e"), c > 3}
	r := ""
	for _, x := range list {
		switch v := x.(type) {
		case nil:
			r += "nil"
		case int32:
			r += show("int32", v+1)
		case uint8, bool:
			r += show("small", v)
		case shape:
			r += show("shape", v.area())
		case []byte:
			r += show(len(v))
		case error, string:
			r += show(v)
		default:
			r += "?"
		}
	}
	v, ok := list[int(c)%len(list)].(square)
	n, isInt := list[0].(int32)
	return r + show(v, ok, n, isInt)
}

func loops(a, b int32, c uint8, s []byte) string {
	sum := 0
	for i := 0; i < int(c%20); i++ {
		if i == 3 {
			continue
		}
		if i > 12 {
			break
		}
		sum += i
	}
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
		sum += int(s[i])
	}
	n := a & 0xff
	for n > 0 {
		n >>= 1
		sum++
	}
	for {
		sum++
		if sum%7 == 0 {
			break
		}
	}
	var k int32
	for k = b & 3; k < 5; k += 2 {
	}
	for ; k > 0; k-- {
		sum += int(k)
	}
	return show(sum, k, s)
}

func labels(a, b int32, c uint8, s []byte) string {
	r := 0
outer:
	for i := range 10 {
		for j := range 10 {
			switch {
			case i*j == int(c):
				break outer
			case j > i:
				continue outer
			}
			r += j
		}
	}
pick:
	switch {
	case a > 0:
		for {
			r++
			if r%3 == 0 {
				break pick
			}
		}
	default:
		r = -1
	}
	return show(r)
}

func ranges(a, b int32, c uint8, s []byte) string {
	r := ""
	for i := range int(c % 5) {
		r += show(i)
	}
	for i := range c % 4 {
		r += fmt.Sprintf("%T", i)
	}
	for range 3 {
		r += "."
	}
	array := [4]int32{a, b, a + b, 7}
	for i, v := range array {
		array[3] = 9
		r += show(i, v)
	}
	for i, v := range &array {
		array[3] = v + 1
		r += show(i, v)
	}
	for i := range array {
		r += show(i)
	}
	list := []int{1, 2, 3}
	for i, v := range list {
		if i == 0 {
			list = append(list, 4)
			list[1] = 50
		}
		r += show(v)
	}
	var k int
	var v byte
	for k, v = range s {
		r += show(k, v)
	}
	for i, ch := range string(s) + "äß" {
		r += show(i, ch)
	}
	m := map[int32]uint8{a: c}
	for k, v := range m {
		r += show(k, v)
	}
	ch := make(chan int32, 3)
	ch <- a
	ch <- b
	close(ch)
	for v := range ch {
		r += show(v)
	}
	for range s {
		r += "-"
	}
	return r + show(k, v)
}

func count(n int32) func(yield func(int32) bool) {
	return func(yield func(int32) bool) {
		for i := int32(0); i < n; i++ {
			if !yield(i * i) {
				return
			}
		}
	}
}

func rangeFuncs(a, b int32, c uint8, s []byte) string {
	sum := int32(0)
	for v := range count(int32(c % 9)) {
		if v == 4 {
			continue
		}
		if v > 30 {
			break
		}
		sum += v + a
	}
	find := func() int32 {
		for v := range count(100) {
			if v > b&0xff {
				return v
			}
		}
		return -1
	}
	return show(sum, find())
}

func closures(a, b int32, c uint8, s []byte) string {
	n := a
	add := func(d int32) int32 { n += d; return n }
	get := func() int32 { return n * b }
	x := add(1)
	y := add(int32(c))
	fixed := b + 1
	f := func() func() int32 {
		return func() int32 { fixed2 := fixed; return fixed2 + n }
	}()
	n = 5
	func() { n++ }()
	return show(x, y, get(), f(), n)
}

func loopVariables(a, b int32, c uint8, s []byte) string {
	var list []func() int32
	for i := a & 3; i < 6; i++ {
		list = append(list, func() int32 { i += 10; return i })
		if i == 4 {
			continue
		}
		list = append(list, func() int32 { return i })
	}
	for _, v := range s {
		list = append(list, func() int32 { return int32(v) })
	}
	r := ""
	for _, f := range list {
		r += show(f(), " ")
	}
	return r
}

func defers(a, b int32, c uint8, s []byte) (r string) {
	for i := range 3 {
		defer func(n int) { r += show(n, i, a) }(i * int(c))
	}
	x := func() (n int32, err error) {
		defer func() { n += b }()
		n = a
		if c > 100 {
			return n * 2, errors.New("big")
		}
		n++
		return
	}
	n, err := x()
	defer func() { r += show(n, err) }()
	return show("ret", n)
}

func deep(a int32, c uint8) (r int32, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("recovered: %v", e)
			r = -r
		}
	}()
	r = a
	list := []int32{1, 2, 3}
	r += list[c%6]
	if a == 0 {
		panic("zero")
	}
	return r / (a - 1), nil
}

func recovered(a, b int32, c uint8, s []byte) string {
	x, err := deep(a&3, c)
	return show(x, err)
}

func divmod(a, b int32) (q, r int32, ok bool) {
	if b == 0 {
		return
	}
	q, ok = a/b, true
	r = a - q*b
	return q, r, ok
}

func named(a, b int32, c uint8, s []byte) string {
	q, r, ok := divmod(a, int32(c))
	_, r2, _ := divmod(b, 3)
	return show(q, r, ok, r2)
}

type counter struct {
	n    int32
	hits [3]uint8
	next *counter
}

func (c *counter) inc(d int32) *counter { c.n += d; c.hits[int(uint32(d)%3)]++; return c }
func (c counter) double() counter       { c.n *= 2; return c }
func (c counter) value() int32          { return c.n }

func methods(a, b int32, c uint8, s []byte) string {
	x := counter{n: a}
	x.inc(b).inc(int32(c))
	y := x.double()
	p := &y
	z := p.double().double()
	p.next = &x
	p.next.n++
	return show(x, y.value(), z.value(), p.next.value(), z.hits, counter{n: 3}.value(), (*counter).inc(p, 1).n, counter.value(z))
}

type outer struct {
	*counter
	rect
	tag uint8
}

func embedded(a, b int32, c uint8, s []byte) string {
	o := outer{counter: &counter{n: a}, rect: rect{a, b}, tag: c}
	o.inc(b)
	o.n += 2
	o.w++
	var sh shape = &o.rect
	d := o.double()
	return show(o.n, o.value(), o.area(), sh.area(), o.tag, o.counter.n, d.n, o.hits)
}

type number interface {
	~int32 | ~uint8 | ~int64
}

func largest[T number](list ...T) (m T) {
	for i, v := range list {
		if i == 0 || v > m {
			m = v
		}
	}
	return m
}

type stack[T comparable] struct{ list []T }

func (s *stack[T]) push(v T) { s.list = append(s.list, v) }
func (s *stack[T]) pop() (v T, ok bool) {
	if len(s.list) == 0 {
		return v, false
	}
	v = s.list[len(s.list)-1]
	s.list = s.list[:len(s.list)-1]
	return v, true
}
func (s *stack[T]) has(v T) bool {
	for _, x := range s.list {
		if x == v {
			return true
		}
	}
	return false
}

func apply[T, U any](list []T, f func(T) U) (out []U) {
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}

func generics(a, b int32, c uint8, s []byte) string {
	var st stack[int32]
	st.push(a)
	st.push(b)
	st.push(int32(c))
	has := st.has(b)
	x, ok := st.pop()
	names := stack[string]{}
	names.push(string(s))
	return show(largest(a, b, 4), largest(c, 7), largest[int64](), has, st.has(77), x, ok, names.has("abc"), apply(s, func(v byte) int32 { return int32(v) + a }))
}

func sum(first int32, rest ...uint8) (n int32) {
	n = first
	for _, v := range rest {
		n += int32(v)
	}
	return n
}

func variadics(a, b int32, c uint8, s []byte) string {
	return show(sum(a), sum(b, c), sum(a, c, c+1, 3), sum(b, s...), sum(1, nil...))
}

type point struct{ x, y int32 }
type line struct {
	from, to point
	name     string
	flags    [2]bool
}

func move(l line, d int32) line {
	l.to.x += d
	l.from = point{l.from.y, l.from.x}
	l.flags[1] = d > 0
	return l
}

func structs(a, b int32, c uint8, s []byte) string {
	l := line{from: point{a, b}, name: string(s)}
	m := move(l, int32(c))
	n := m
	n.to, n.from = n.from, n.to
	p := &n.to
	p.x = 4
	k := *p
	k.y++
	anonymous := struct {
		a int32
		point
	}{a, point{1, b}}
	return show(l, m, n, k, l == m, m.from == n.to, l.from != point{a, b}, anonymous.y, anonymous, struct{}{})
}

func arrays(a, b int32, c uint8, s []byte) string {
	var grid [3][4]int32
	grid[c%3][c%4] = a
	copied := grid
	grid[1][2] += b
	row := &grid[2]
	row[3]--
	sub := grid[1][1:3]
	sub[0] = 8
	list := [...]uint8{3: c, 1: 5, 3}
	return show(grid, copied, grid == copied, row, list, len(list), sub)
}

func slicesOf(a, b int32, c uint8, s []byte) string {
	list := make([]int32, 2, 4)
	list[0], list[1] = a, b
	more := append(list, 1)
	again := append(list, 2)
	big := append(more, 3, 4, 5)
	big[0] = 9
	n := copy(list, big[1:])
	t := append([]byte("pre"), s...)
	t = append(t, "post"...)
	u := t[1 : len(t)-1 : len(t)]
	u[0] ^= c
	k := copy(u, "zz")
	var none []int32
	none = append(none, none...)
	clear(again[1:])
	pairs := []point{{a, b}, {1, 2}}
	pairs = append(pairs, pairs[0])
	pairs[0].x++
	return show(list, more, again, big, n, t, u, k, none == nil, pairs, cap(list), len(s))
}

func maps(a, b int32, c uint8, s []byte) string {
	m := map[int32]int32{a: b, 3: 4}
	m[a]++
	m[b] += int32(c)
	v, ok := m[7]
	delete(m, 3)
	n := map[string][]byte{string(s): s}
	n["x"] = append(n["x"], c)
	byPoint := map[point]*counter{{a, b}: {n: a}}
	byPoint[point{a, b}].inc(3)
	count := map[bool]int{}
	for _, x := range s {
		count[x > c]++
	}
	if w, ok := m[b]; ok && w > 0 {
		m[100] = w
	}
	return show(m, v, ok, n, byPoint[point{a, b}].n, len(m), count)
}

func texts(a, b int32, c uint8, s []byte) string {
	t := string(s)
	u := t + "-" + string(s[:len(s)/2])
	u += "!"
	bytes := []byte(t)
	if len(bytes) > 0 {
		bytes[0]++
	}
	r := ""
	if len(t) > 1 {
		r = t[1:] + show(t[0], t[len(t)-1] == 'c')
	}
	type name string
	n := name(t) + "x"
	return show(u, t, string(bytes), r, t == "abc", t < "b", t >= u, n, n > "m", strings.ToUpper(t), len(t))
}

func runes(a, b int32, c uint8, s []byte) string {
	list := []rune(string(s) + "é€")
	list[0] += rune(c & 1)
	n := 0
	for _, r := range string(s) {
		if r >= 'a' && r <= 'z' {
			n++
		}
	}
	return show(string(list), n, string(list[len(list)-1]), len(list))
}

func set(p *int32, v int32) int32 { old := *p; *p = v; return old }

func pointers(a, b int32, c uint8, s []byte) string {
	x, y := a, b
	p, q := &x, &y
	p, q = q, p
	*p += 1
	*q = *p + *q
	old := set(&x, 9)
	pp := &p
	**pp = 3
	z := new(int32)
	*z = x
	var nothing *point
	k := nothing == nil || nothing.x > 0
	return show(x, y, *p, *q, old, *z, p == q, k)
}

func interfaces(a, b int32, c uint8, s []byte) string {
	list := []shape{square{a}, &rect{b, 2}, celsius(a)}
	total := int32(0)
	for _, x := range list {
		total += x.area()
	}
	var e any = a
	var f any = b
	var g fmt.Stringer
	return show(total, e == f, e == any(a), g == nil, list[0] == shape(square{a}), e.(int32)+1, any(c))
}

var log []int32

func note(v int32) int32 { log = append(log, v); return v }

func order(a, b int32, c uint8, s []byte) string {
	log = nil
	x := note(1) + note(a)*note(3)
	m := map[int32]int32{note(4): note(5)}
	list := []int32{note(6), note(b)}
	list[note(0)] = note(8)
	m[note(4)] = note(9)
	p := func() *point { note(10); return &point{} }
	p().x = note(11)
	y := sum(note(12), uint8(note(13)), uint8(note(14)))
	z := note(15) > 0 && note(0) > 0 && note(16) > 0
	return show(log, x, m, list, y, z)
}

func parallel(a, b int32, c uint8, s []byte) string {
	x, y, z := a, b, int32(c)
	x, y, z = y, z, x
	list := []int32{1, 2, 3}
	i := 0
	i, list[i] = 2, 9
	list[0], list[2] = list[2], list[0]
	p := point{a, b}
	p.x, p.y = p.y, p.x
	q := &p
	q, q.x = &point{5, 6}, 7
	return show(x, y, z, i, list, p, *q)
}

func builtins(a, b int32, c uint8, s []byte) string {
	return show(min(a, b), max(a, b, 5), min(c, 9, c+1), max("a", string(s)), min(1.5, float64(a)), len(s), cap(s[:0:0]), real(complex(1, 2)), len([3]int{}))
}

const big = 1 << 40

func constants(a, b int32, c uint8, s []byte) string {
	const local = 3 + iota
	type level uint8
	const (
		low level = iota + 1
		high
	)
	l := low
	if c > 50 {
		l = high
	}
	x := int64(a) + big
	y := 'x' + rune(c)
	z := 2.5 * float64(a)
	var u8 uint8 = 255
	u8 += c
	return show(l, x, y, z, local, u8, uint8(1)<<7, -1, ^uint32(0), "c"+"d", len("abc"), 07, 1e3, l == high)
}

func channels(a, b int32, c uint8, s []byte) string {
	ch := make(chan int32, 2)
	done := make(chan struct{})
	go func(n int32) {
		for i := range 3 {
			ch <- n + int32(i)
		}
		close(ch)
		close(done)
	}(a)
	r := ""
	v, ok := <-ch
	r += show(v, ok, <-ch)
	for x := range ch {
		r += show(x)
	}
	<-done
	select {
	case x, ok := <-ch:
		r += show("closed", x, ok)
	case <-make(chan int):
	}
	out := make(chan uint8, 1)
	select {
	case out <- c:
		r += "sent"
	default:
		r += "full"
	}
	return r + show(<-out)
}

func composites(a, b int32, c uint8, s []byte) string {
	tree := &line{from: point{y: a}, to: point{b, 1}, flags: [2]bool{true, c > 4}}
	grid := [][]point{{{a, b}, {1, 2}}, nil, {{3, 4}}}
	ptrs := []*point{{a, b}, nil, {x: b}}
	index := map[string]point{"a": {a, 1}, string(s): {y: b}}
	nested := map[point][]uint8{{1, a}: {c, 2}}
	lists := [...][2]int32{{a}, {1: b}}
	keyed := []uint8{3: c, 1: 2}
	anys := []any{a, point{a, b}, nil, &point{1, 1}, c}
	return show(*tree, grid, *ptrs[0], ptrs[2].x, index, nested, lists, keyed, anys[0], anys[1], anys[4])
}

func pair(a, b int32) (int32, int32) { return b, a }

func multiple(a, b int32, c uint8, s []byte) string {
	x, y := pair(pair(a, b))
	x, z := pair(x, int32(c))
	var l []int32
	l = make([]int32, 3)
	l[0], l[1] = pair(y, z)
	var p, q = pair(1, 2)
	return show(x, y, z, l, p, q) + show(pair(a, z))
}

type failure struct{ code uint8 }

func (f *failure) Error() string { return show("code ", f.code) }

func fail(c uint8) error {
	if c < 100 {
		return nil
	}
	if c < 200 {
		return &failure{c}
	}
	return fmt.Errorf("wrapped: %w", &failure{c})
}

func failing(a, b int32, c uint8, s []byte) string {
	err := fail(c)
	var f *failure
	if errors.As(err, &f) && f.code > 150 {
		return show("code", f.code, err)
	}
	if err := fail(c + 100); err != nil {
		return err.Error()
	}
	return show(err)
}

// Functions may have the names of the runtime's.
func Text(a int32) int32  { return a + 1 }
func Load(a int32) int32  { return Index(a) * 2 }
func Index(a int32) int32 { return [3]int32{1, 2, 3}[a%3] }

func names(a, b int32, c uint8, s []byte) string { return show(Text(a), Load(b), Index(int32(c))) }

type truth bool

func booleans(a, b int32, c uint8, s []byte) string {
	x := a > b
	y := !x
	var t truth = a == b
	u := truth(x) || t
	var flags [3]bool
	flags[c%3] = x
	flags[1] = flags[0] == y
	w := x != y && flags[2]
	return show(x, y, t, u, flags, w, x == (c > 3))
}

func decisions(a, b int32, c uint8, s []byte) string {
	if x := a * 2; x > 10 {
		return "big"
	} else if y := x + b; y < 0 {
		return show("negative", x, y)
	} else {
		x += y
		if x == 7 {
			return "seven"
		}
		return show(x)
	}
}

func bounds(a, b int32, c uint8, s []byte) string {
	list := []int32{1, 2, 3}
	array := [4]uint8{1, 2, 3, 4}
	x, y := list[c%4], array[a&3]
	z := s[int(b&7)]
	t := string(s)[1:]
	return show(x, y, z, t, list[a&1:b&3])
}

func methodValues(a, b int32, c uint8, s []byte) string {
	x := counter{n: a}
	f := x.inc
	g := x.value
	h := (*counter).inc
	f(b)
	h(&x, 2)
	var sh shape = square{b}
	k := sh.area
	sh = nil
	m := shape.area
	return show(x, g(), k(), m(square{a}))
}

func fib(n int32) int32 {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func recursion(a, b int32, c uint8, s []byte) string {
	var walk func(n uint8) int32
	walk = func(n uint8) int32 {
		if n == 0 {
			return b
		}
		return walk(n-1) + a
	}
	return show(fib(int32(c%12)), walk(c%9))
}

func shadowing(a, b int32, c uint8, s []byte) string {
	x := a
	{
		x := x + 1
		x *= 2
		a = x
	}
	if x := b; x > 0 {
		x := x - 1
		b = x
	}
	for x := range 2 {
		x := x * 10
		c += uint8(x)
	}
	len := func(v int32) int32 { return v + 1 }
	return show(x, a, b, c, len(x))
}

func sorting(a, b int32, c uint8, s []byte) string {
	list := []int32{a, b, int32(c), 5, -5}
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
	i := sort.Search(len(list), func(i int) bool { return list[i] >= 5 })
	return show(list, i)
}

type node struct {
	value int32
	next  *node
}

func swap(a, b int32, c uint8, s []byte) string {
	n := &node{a, &node{b, nil}}
	n.next, n = nil, n.next
	m := node{1, n}
	m, *n = *n, m
	return show(n.value, m.value, m.next == nil)
}

type (
	id    uint16
	ids   []id
	bytes []byte
	table map[id]int32
)

func typed(a, b int32, c uint8, s []byte) string {
	list := ids{id(a), id(b)}
	list = append(list, id(c)<<8|1)
	t := table{list[0]: a}
	t[list[1]] -= 3
	bs := bytes(s)
	bs = append(bs, byte(list[2]), 'x')
	var f func(id) id = func(v id) id { return v ^ 0xff }
	return show(list, t, string(bs), f(list[0]), bs[len(bs)-2])
}
