package histories

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/formats"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A format in which the histories of these tests are written. Its values are lists of spellings of equal values, and the twins below know a value by
// its place in that list alone: they share no code with what reads and spells values.
type language struct {
	name   string
	values [][]string
	null   string
	list   func(items []string) string
	set    func(items []string) string
	kind   func(access string) string
	event  func(fields [][2]string) string
	open   string // around all events
	close  string
	read   func(in string) ([]history.Event, error)
	plain  bool // clients are texts, and events stand in their order
}

var edn = &language{
	name: "EDN",
	values: [][]string{{"1", "1N"}, {`"1"`, `"\u0031"`}, {"1.0", "1e0"}, {"1M", "1.0M"}, {":a"}, {`"a"`}, {"a"}, {`":a"`}, {`\a`},
		{"true"}, {`"true"`}, {`""`}, {"0", "-0"},
		{"0.0", "-0.0"}, {"[1 2]", "(1 2)", "[1, 2N]"}, {`["1" 2]`}, {"[1.0 2]"}, {"#{1 2}", "#{2 1}"},
		{"{:a 1 :b 2}", "{:b 2 :a 1}"}, {`{"a" 1 "b" 2}`}, {"[nil]"},
		{`"null"`}, {`"nil"`}, {":nil"}, {"1/2", "2/4"}, {"0.5"}, {`"[1,2]"`}, {"#inst \"2020\""}, {"1e21"},
		{"1000000000000000000000"}, {"##Inf"}, {"-1"}, {`"-1"`}, {"[]", "()"}},
	null:  "nil",
	list:  func(items []string) string { return "[" + strings.Join(items, " ") + "]" },
	set:   func(items []string) string { return "#{" + strings.Join(items, " ") + "}" },
	kind:  func(access string) string { return ":" + access },
	open:  "[",
	close: "]",
	event: func(fields [][2]string) string {
		var b strings.Builder
		for _, f := range fields {
			value := f[1]
			if f[0] == "type" || f[0] == "f" {
				value = ":" + value
			}
			fmt.Fprintf(&b, " :%s %s", f[0], value)
		}
		return "{" + b.String()[1:] + "}\n"
	},
	read: func(in string) ([]history.Event, error) { return readIn(formats.ReadEDN, formats.ReadEDNInOrder, in) },
}

var jsonOfJepsen = &language{
	name: "JSON",
	values: [][]string{{"1", "1.0", "1e0", "10e-1"}, {`"1"`, `"\u0031"`}, {`"1.0"`}, {`"a"`, `"\u0061"`}, {`":a"`}, {"true"},
		{`"true"`}, {"false"}, {"0", "-0", "0.0"}, {`"0"`},
		{`"null"`}, {`""`}, {`[1,"1"]`, `[1.0, "1"]`}, {`["1",1]`}, {`{"a":1,"b":2}`, `{"b":2.0, "a":1}`}, {`{"a":"1","b":2}`},
		{`"[1]"`}, {"[1]", "[1.0]"}, {"1.5", "15e-1"}, {"-1"},
		{"1e21", "1000000000000000000000"}, {"[null]"}, {`["null"]`}, {"[]"}, {"{}"}, {`"{}"`}},
	null:  "null",
	list:  jsonList,
	set:   jsonList,
	kind:  strconv.Quote,
	open:  "",
	close: "",
	event: jsonEvent,
	read: func(in string) ([]history.Event, error) {
		return readIn(formats.ReadJepsenJSON, formats.ReadJepsenJSONInOrder, in)
	},
}

func jsonList(items []string) string { return "[" + strings.Join(items, ",") + "]" }

func jsonEvent(fields [][2]string) string {
	var b strings.Builder
	for _, f := range fields {
		value := f[1]
		if f[0] == "type" || f[0] == "f" {
			value = strconv.Quote(value)
		}
		fmt.Fprintf(&b, ",%q:%s", f[0], value)
	}
	return "{" + b.String()[1:] + "}\n"
}

// pieces are texts that look like other values, or do so when they are joined.
var pieces = []string{`""`, `"1"`, `"a"`, `"tr"`, `"ue"`, `"true"`, `":a"`, `"{"`, `"2}"`, `"\""`, `"null"`, `"-"`}

type readingOf func(io.Reader, bool, func(*history.Event) error) error

func readIn(quick, sorted readingOf, in string) (events []history.Event, err error) {
	keep := func(e *history.Event) error {
		events = append(events, *e)
		return nil
	}
	if err = quick(strings.NewReader(in), false, keep); errors.Is(err, formats.ErrUnordered) {
		events = nil
		err = sorted(strings.NewReader(in), false, keep)
	}
	return events, err
}

// what is a value in a twin: the place of its spellings, or nothing.
type what int

const nothing what = -1

// spelling is one of a value's spellings.
func (l *language) spelling(r *rand.Rand, v what) string {
	if v == nothing {
		return l.null
	}
	list := l.values[v]
	return list[r.IntN(len(list))]
}

// move is an operation of a typed history. Its times are places in the order of all calls and returns.
type move struct {
	call, ret int // ret < 0: its outcome is unknown
	failed    bool
	f         string
	key       what
	a, b      what   // what it writes, adds, compares
	result    []what // what a read returned
	found     bool   // of contains, and of an acquire or a release
	text      string
	accesses  []access
}

// access is one of a transaction.
type access struct {
	write bool
	key   what
	value what
	list  []what // what a read of a list returned
}

// typed is a kind of history: how to do a move on a correct system, and what it writes in a language.
type typed struct {
	name   string
	check  world.Check
	fill   func(r *rand.Rand, l *language, m *move)
	do     func(s *contents, m *move, learn bool) bool // with learn it sets the results, else it reports whether they are right
	spoil  func(r *rand.Rand, l *language, m *move)
	value  func(r *rand.Rand, l *language, m *move, done bool) string
	unsure string // a reason of an unknown verdict that is right
}

// contents is the state of a correct system.
type contents struct {
	items map[what][]what // registers have one or none
	texts map[what]string
	there map[what]bool
}

func newContents() *contents {
	return &contents{map[what][]what{}, map[what]string{}, map[what]bool{}}
}

func (s *contents) clone() *contents {
	c := newContents()
	for k, v := range s.items {
		c.items[k] = slices.Clone(v)
	}
	for k, v := range s.texts {
		c.texts[k] = v
	}
	for k, v := range s.there {
		c.there[k] = v
	}
	return c
}

// legal tries every order of the moves.
func legal(t *typed, moves []move, s *contents) bool {
	earliest, any := 1<<30, false
	for _, m := range moves {
		if m.ret >= 0 {
			earliest, any = min(earliest, m.ret), true
		}
	}
	if !any {
		return true
	}
	for i := range moves {
		if moves[i].call > earliest {
			continue
		}
		next := s.clone()
		if m := moves[i]; t.do(next, &m, false) && legal(t, slices.Delete(slices.Clone(moves), i, i+1), next) {
			return true
		}
	}
	return false
}

// random makes moves that overlap, each with the results that a correct system gives at one moment between its call and its return.
func (t *typed) random(r *rand.Rand, l *language, count int) []move {
	moves := make([]move, count)
	order := r.Perm(count)
	s, now, begun := newContents(), 0, 0
	var open, done []int
	keys := []what{what(r.IntN(len(l.values))), what(r.IntN(len(l.values)))}
	for ended := 0; ended < count; now++ {
		switch k := r.IntN(3); {
		case k == 0 && begun < count:
			i := order[begun]
			begun++
			moves[i] = move{call: now, ret: -1, key: keys[r.IntN(len(keys))]}
			t.fill(r, l, &moves[i])
			open = append(open, i)
		case k == 1 && len(open) > 0:
			at := r.IntN(len(open))
			i := open[at]
			open = slices.Delete(open, at, at+1)
			t.do(s, &moves[i], true)
			done = append(done, i)
		case k == 2 && len(done) > 0:
			at := r.IntN(len(done))
			moves[done[at]].ret = now
			done = slices.Delete(done, at, at+1)
			ended++
		}
	}
	slices.SortFunc(moves, func(x, y move) int { return x.call - y.call })
	for i := range moves {
		if m := &moves[i]; m.f == "read" || m.f == "contains" || m.f == "dequeue" && r.IntN(4) > 0 {
			continue // of an unknown result nothing is known
		}
		switch r.IntN(12) {
		case 0:
			moves[i].ret = -1
		case 1:
			moves[i].failed = true // its effect may have been seen: then no order is left
		}
	}
	if r.IntN(2) == 0 {
		t.spoil(r, l, &moves[r.IntN(count)])
	}
	return moves
}

// write is a history in a language, sometimes in another order than that of its indices.
func (t *typed) write(r *rand.Rand, l *language, moves []move) string {
	type line struct {
		at   int
		text string
	}
	var lines []line
	for i := range moves {
		m := &moves[i]
		process := strconv.Itoa(i)
		if i%3 == 2 && !l.plain {
			process = strconv.Quote(strconv.Itoa(i - 1)) // the process "1" is not 1
		}
		event := func(at int, kind string, done bool) {
			fields := [][2]string{{"process", process}, {"type", kind}, {"f", m.f}, {"value", t.value(r, l, m, done)}, {"index", strconv.Itoa(at)}}
			if !t.whole() {
				fields = append(fields, [2]string{"key", l.spelling(r, m.key)})
			}
			if l == edn && r.IntN(4) == 0 {
				fields = append(fields, [2]string{"other", []string{`#object[x "y"]`, "##NaN", "#my.Record{:a 1}", "0x1F"}[r.IntN(4)]})
			}
			r.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
			lines = append(lines, line{at, l.event(fields)})
		}
		event(m.call, "invoke", false)
		switch {
		case m.ret >= 0 && m.failed:
			event(m.ret, "fail", false)
		case m.ret >= 0:
			event(m.ret, "ok", true)
		}
	}
	slices.SortFunc(lines, func(x, y line) int { return x.at - y.at })
	if r.IntN(4) == 0 && !l.plain {
		r.Shuffle(len(lines), func(a, b int) { lines[a], lines[b] = lines[b], lines[a] })
	}
	var b strings.Builder
	for _, x := range lines {
		b.WriteString(x.text)
	}
	return l.open + b.String() + l.close
}

// whole reports that operations have no key of their own.
func (t *typed) whole() bool { return t.check.Type == world.Isolation }

func (l *language) any(r *rand.Rand) what { return what(r.IntN(len(l.values))) }

// few gives one of the first values, which look alike, most of the time.
func (l *language) few(r *rand.Rand) what {
	if r.IntN(3) > 0 {
		return what(r.IntN(3))
	}
	return l.any(r)
}

var typedRegister = &typed{
	name: "register", check: world.Check{Type: world.Linearizability},
	fill: func(r *rand.Rand, l *language, m *move) {
		m.f = []string{"read", "read", "write", "cas"}[r.IntN(4)]
		m.a, m.b = l.few(r), l.few(r)
		if r.IntN(4) == 0 {
			m.a = nothing
		}
		if r.IntN(4) == 0 {
			m.b = nothing
		}
	},
	do: func(s *contents, m *move, learn bool) bool {
		held := nothing
		if list := s.items[m.key]; len(list) > 0 {
			held = list[0]
		}
		put := func(v what) {
			if s.items[m.key] = nil; v != nothing {
				s.items[m.key] = []what{v}
			}
		}
		switch m.f {
		case "read":
			if learn {
				m.result = []what{held}
			}
			return m.result[0] == held
		case "write":
			put(m.a)
			return true
		}
		if learn {
			m.failed = held != m.a
		}
		switch {
		case held == m.a:
			put(m.b)
		case m.ret >= 0:
			return false
		}
		return true
	},
	spoil: func(r *rand.Rand, l *language, m *move) {
		if m.result = []what{l.few(r)}; r.IntN(4) == 0 {
			m.result[0] = nothing
		}
	},
	value: func(r *rand.Rand, l *language, m *move, done bool) string {
		switch {
		case m.f == "cas":
			return l.list([]string{l.spelling(r, m.a), l.spelling(r, m.b)})
		case m.f == "write":
			return l.spelling(r, m.a)
		case done:
			return l.spelling(r, m.result[0])
		}
		return l.null
	},
}

var typedText = &typed{
	name: "register of texts", check: world.Check{Type: world.Linearizability},
	fill: func(r *rand.Rand, l *language, m *move) {
		m.f = []string{"read", "read", "write", "append", "append"}[r.IntN(5)]
		m.text = pieces[r.IntN(len(pieces))]
	},
	do: func(s *contents, m *move, learn bool) bool {
		text, _ := strconv.Unquote(m.text)
		switch m.f {
		case "write":
			s.texts[m.key], s.there[m.key] = text, true
		case "append":
			s.texts[m.key], s.there[m.key] = s.texts[m.key]+text, true
		default:
			if learn {
				if m.text = ""; s.there[m.key] {
					m.text = strconv.Quote(s.texts[m.key])
				}
			}
			text, _ = strconv.Unquote(m.text)
			return (m.text != "") == s.there[m.key] && text == s.texts[m.key]
		}
		return true
	},
	spoil: func(r *rand.Rand, l *language, m *move) { m.text = pieces[r.IntN(len(pieces))] },
	value: func(r *rand.Rand, l *language, m *move, done bool) string {
		if m.f == "read" && !done || m.text == "" {
			return l.null
		}
		return m.text
	},
}

var typedSet = &typed{
	name: "set", check: world.Check{Type: world.Linearizability, Subject: world.Subject{Model: "set"}},
	fill: func(r *rand.Rand, l *language, m *move) {
		m.f = []string{"add", "add", "add", "remove", "contains", "read"}[r.IntN(6)]
		if m.a = l.few(r); r.IntN(6) == 0 {
			m.a = nothing
		}
	},
	do: func(s *contents, m *move, learn bool) bool {
		held := s.items[m.key]
		at := slices.Index(held, m.a)
		switch m.f {
		case "add":
			if at < 0 {
				s.items[m.key] = append(held, m.a)
			}
		case "remove":
			if at >= 0 {
				s.items[m.key] = slices.Delete(held, at, at+1)
			}
		case "contains":
			if learn {
				m.found = at >= 0
			}
			return m.found == (at >= 0)
		default:
			if learn {
				m.result = slices.Clone(held)
			}
			x, y := slices.Sorted(slices.Values(held)), slices.Sorted(slices.Values(m.result))
			return slices.Equal(x, y)
		}
		return true
	},
	spoil: func(r *rand.Rand, l *language, m *move) {
		m.found = !m.found
		if len(m.result) > 0 && r.IntN(2) == 0 {
			m.result[r.IntN(len(m.result))] = l.few(r)
		} else {
			m.result = append(m.result, l.few(r))
		}
	},
	value: func(r *rand.Rand, l *language, m *move, done bool) string {
		switch {
		case m.f == "contains" && done:
			return strconv.FormatBool(m.found)
		case m.f != "read":
			return l.spelling(r, m.a)
		case !done:
			return l.null
		}
		items := l.spellings(r, m.result)
		if unique := slices.Compact(slices.Sorted(slices.Values(items))); len(unique) < len(items) || r.IntN(2) == 0 {
			return l.list(items)
		}
		return l.set(items)
	},
}

func (l *language) spellings(r *rand.Rand, list []what) []string {
	var items []string
	for _, v := range list {
		items = append(items, l.spelling(r, v))
	}
	return items
}

var typedList = &typed{
	name: "append-list", check: world.Check{Type: world.Linearizability, Subject: world.Subject{Model: "append-list"}},
	fill: func(r *rand.Rand, l *language, m *move) {
		m.f = []string{"append", "append", "read"}[r.IntN(3)]
		if m.a = l.any(r); r.IntN(6) == 0 {
			m.a = nothing
		}
	},
	do: func(s *contents, m *move, learn bool) bool {
		if m.f == "append" {
			s.items[m.key] = append(s.items[m.key], m.a)
			return true
		}
		if learn {
			m.result = slices.Clone(s.items[m.key])
		}
		return slices.Equal(m.result, s.items[m.key])
	},
	spoil: typedSet.spoil,
	value: func(r *rand.Rand, l *language, m *move, done bool) string {
		switch {
		case m.f == "append":
			return l.spelling(r, m.a)
		case done:
			return l.list(l.spellings(r, m.result))
		}
		return l.null
	},
}

var typedQueue = &typed{
	name: "queue", check: world.Check{Type: world.Linearizability,
		Subject: world.Subject{Model: "queue"}}, unsure: "may have returned it or found the queue empty",
	fill: func(r *rand.Rand, l *language, m *move) {
		m.f = []string{"enqueue", "dequeue"}[r.IntN(2)]
		if m.a = l.any(r); r.IntN(20) == 0 {
			m.a = nothing
		}
	},
	do: func(s *contents, m *move, learn bool) bool {
		held := s.items[m.key]
		if m.f == "enqueue" {
			s.items[m.key] = append(held, m.a)
			return true
		}
		first := nothing
		if len(held) > 0 {
			first, s.items[m.key] = held[0], held[1:]
		}
		if learn {
			m.result = []what{first}
		}
		return m.ret < 0 || m.result[0] == first && (first != nothing || len(held) == 0)
	},
	spoil: func(r *rand.Rand, l *language, m *move) {
		if m.result = []what{l.few(r)}; r.IntN(4) == 0 {
			m.result[0] = nothing
		}
	},
	value: func(r *rand.Rand, l *language, m *move, done bool) string {
		switch {
		case m.f == "enqueue":
			return l.spelling(r, m.a)
		case done:
			return l.spelling(r, m.result[0])
		}
		return l.null
	},
}

var typedLock = &typed{
	name: "lock", check: world.Check{Type: world.Linearizability, Subject: world.Subject{Model: "lock"}},
	fill: func(r *rand.Rand, l *language, m *move) {
		m.f = []string{"acquire", "release"}[r.IntN(2)]
		m.a = what(r.IntN(3))
	},
	do: func(s *contents, m *move, learn bool) bool {
		held := s.items[m.key]
		can := len(held) == 0
		if m.f == "release" {
			can = len(held) > 0 && held[0] == m.a
		}
		if learn {
			m.failed = !can
		}
		switch {
		case !can:
			return m.ret < 0
		case m.f == "release":
			s.items[m.key] = nil
		default:
			s.items[m.key] = []what{m.a}
		}
		return true
	},
	spoil: func(r *rand.Rand, l *language, m *move) { m.failed, m.a = false, what(r.IntN(3)) },
	value: func(r *rand.Rand, l *language, m *move, done bool) string { return l.spelling(r, m.a) },
}

// TestTypedHistories judges random histories of numbers, texts, keywords, null, floats and values within values, and asks twins that try all orders
// who is right.
func TestTypedHistories(t *testing.T) {
	runs := 250 // of each kind in each language
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		runs = 7000
	}
	all := 0
	for _, kind := range []*typed{typedRegister, typedText, typedSet, typedList, typedQueue, typedLock} {
		for _, l := range []*language{edn, jsonOfJepsen} {
			t.Run(kind.name+" in "+l.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(len(kind.name)), uint64(len(l.name))))
				count := map[verdict.Status]int{}
				for range runs {
					moves := kind.random(r, l, 3+r.IntN(5))
					text := kind.write(r, l, moves)
					kept := slices.DeleteFunc(slices.Clone(moves), func(m move) bool { return m.failed && m.ret >= 0 })
					want := legal(kind, kept, newContents())
					v := judgeTyped(t, l, kind.check, text)
					count[v.Status]++
					switch {
					case kind.unsure != "" && v.Status == verdict.Unknown && strings.Contains(v.Reason, kind.unsure):
					case leavesOut(&v, kind.unsure) && v.Status != verdict.Violated: // of a key, and the twin judges all
					case want && v.Status == verdict.Violated, !want && v.Status != verdict.Violated, v.Status == verdict.Unknown && !v.Idle:
						t.Fatalf("%s, %s; an order explains it: %v\n%s", v.Status, v.Reason, want, text)
					}
				}
				all += runs
				t.Logf("%d histories: %v", runs, count)
				if count[verdict.Holds] < runs/8 || count[verdict.Violated] < runs/8 {
					t.Errorf("%v of %d: too few of one kind to prove anything", count, runs)
				}
			})
		}
	}
	t.Logf("%d histories in all", all)
}

// leavesOut reports whether a verdict names a reason for which it has left out keys.
func leavesOut(v *verdict.Verdict, reason string) bool {
	return reason != "" && slices.ContainsFunc(v.LeftOut, func(line string) bool { return strings.Contains(line, reason) })
}

func judgeTyped(t *testing.T, l *language, check world.Check, text string) verdict.Verdict {
	t.Helper()
	events, err := l.read(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return Paired(&world.Property{Name: "p", Check: check}, events, Typed)
}
