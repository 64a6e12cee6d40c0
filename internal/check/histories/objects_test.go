package histories

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/historytest"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
)

// objectHistories have for each way in which an object can be wrong a small history, and beside it one that is right.
var objectHistories = []struct {
	model, name, short string
	want               string // holds, violated, or part of the reason why it is unknown
}{
	{"set", "seen", `a:add=1 a! b:read b![1]`, "holds"},
	{"set", "lost", `a:add=1 a! b:read b![]`, "violated"},
	{"set", "numbers and texts are the same", `a:add=1 a! b:read b!["1"]`, "holds"},
	{"set", "from nowhere", `a:add=1 a! b:read b![1,2]`, "violated"},
	{"set", "in flight, seen", `a:add=1 b:read b![1] a!`, "holds"},
	{"set", "in flight, not seen", `a:add=1 b:read b![] a!`, "holds"},
	{"set", "seen, then not", `a:add=1 b:read b![1] b:read b![] a!`, "violated"},
	{"set", "two looks that exclude each other", `a:add=1 b:add=2 c:read d:read c![1] d![2] a! b!`, "violated"},
	{"set", "twice in it", `a:add=1 a! b:read b![1,1]`, "violated"},
	{"set", "unknown, seen", `a:add=1 a? b:read b![1]`, "holds"},
	{"set", "unknown, not seen", `a:add=1 a? b:read b![]`, "holds"},
	{"set", "unknown, seen, then not", `a:add=1 a? b:read b![1] b:read b![]`, "violated"},
	{"set", "failed, seen", `a:add=1 a/ b:read b![1]`, "violated"},
	{"set", "removed", `a:add=1 a! a:remove=1 a! b:contains=1 b!false`, "holds"},
	{"set", "removed, still there", `a:add=1 a! a:remove=1 a! b:contains=1 b!true`, "violated"},
	{"set", "removed, and looked at", `a:add=1 a! a:remove=1 a! b:read b![]`, "holds"},
	{"set", "removed, and looked at, still there", `a:add=1 a! a:remove=1 a! b:read b![1]`, "violated"},
	{"set", "added twice, told once", `a:add=1 a!true b:add=1 b!false`, "holds"},
	{"set", "added twice, told twice", `a:add=1 a!true b:add=1 b!true`, "violated"},
	{"set", "not a list", `a:add=1 a! b:read b!x`, "not a list"},
	{"set", "no answer", `a:add=1 a! b:contains=1 b!`, "no output"},
	{"set", "nobody looked", `a:add=1 a!`, "nothing was read"},
	{"set", "a kind without a model", `a:add=1 a! b:pop b!1 b:read b![1]`, `"pop" is not supported by a set`},

	{"queue", "first in, first out", `a:enqueue=1 a! a:enqueue=2 a! b:dequeue b!1 b:dequeue b!2`, "holds"},
	{"queue", "last in, first out", `a:enqueue=1 a! a:enqueue=2 a! b:dequeue b!2 b:dequeue b!1`, "violated"},
	{"queue", "in flight at once", `a:enqueue=1 c:enqueue=2 a! c! b:dequeue b!2 b:dequeue b!1`, "holds"},
	{"queue", "left behind", `a:enqueue=1 a! a:enqueue=2 a! b:dequeue b!2`, "violated"},
	{"queue", "taken by someone unknown", `a:enqueue=1 a! a:enqueue=2 a! c:dequeue c? b:dequeue b!2`, "holds"},
	{"queue", "taken by someone unknown too late", `a:enqueue=1 a! a:enqueue=2 a! b:dequeue b!2 c:dequeue c?`, "violated"},
	{"queue", "one unknown cannot take two", `a:enqueue=1 a! a:enqueue=2 a! a:enqueue=3 a! c:dequeue c? b:dequeue b!3`, "violated"},
	{"queue", "empty", `b:dequeue b!- a:enqueue=1 a! b:dequeue b!1`, "holds"},
	{"queue", "empty, though not", `a:enqueue=1 a! b:dequeue b!-`, "violated"},
	{"queue", "empty, since someone unknown took it", `a:enqueue=1 a! c:dequeue c? b:dequeue b!-`, "holds"},
	{"queue", "taken twice", `a:enqueue=1 a! b:dequeue b!1 b:dequeue b!1`, "violated"},
	{"queue", "from nowhere", `a:enqueue=1 a! b:dequeue b!7`, "violated"},
	{"queue", "unknown put, taken", `a:enqueue=1 a? b:dequeue b!1`, "holds"},
	{"queue", "unknown put, not there", `a:enqueue=1 a? b:dequeue b!-`, "holds"},
	{"queue", "put twice, taken twice", `a:enqueue=1 a! a:enqueue=1 a! b:dequeue b!1 b:dequeue b!1`, "holds"},
	{"queue", "put twice, taken three times", `a:enqueue=1 a! a:enqueue=1 a! b:dequeue b!1 b:dequeue b!1 b:dequeue b!1`, "violated"},

	{"lock", "one after the other", `a:acquire a! a:release a! b:acquire b!`, "holds"},
	{"lock", "two at once", `a:acquire a! b:acquire b!`, "violated"},
	{"lock", "handed over while it is released", `a:acquire a! a:release b:acquire b! a!`, "holds"},
	{"lock", "refused", `a:acquire a! b:acquire b!false`, "holds"},
	{"lock", "refused, though free", `a:acquire a! a:release a! b:acquire b!false`, "violated"},
	{"lock", "unknown, may be released later by nobody", `a:acquire a? b:acquire b!`, "holds"},
	{"lock", "unknown release", `a:acquire a! a:release a? b:acquire b!`, "holds"},
	{"lock", "unknown release lets in only one", `a:acquire a! a:release a? b:acquire b! c:acquire c!`, "violated"},
	{"lock", "released by another", `a:acquire a! b:release b!`, "violated"},
	{"lock", "owner by name", `a:acquire=x a! b:release=x b! c:acquire=y c!`, "holds"},

	{"counter", "counted", `a:add=2 a! b:add=3 b! c:read c!5`, "holds"},
	{"counter", "lost", `a:add=2 a! b:add=3 b! c:read c!3`, "violated"},
	{"counter", "counted twice", `a:add a! c:read c!2`, "violated"},
	{"counter", "in flight", `a:add=2 c:read c!2 a!`, "holds"},
	{"counter", "back and forth", `a:add=2 c:read c!2 c:read c!0 a!`, "violated"},
	{"counter", "unknown counts or not", `a:add=2 a? c:read c!0 c:read c!2`, "holds"},
	{"counter", "unknown counts once", `a:add=2 a? c:read c!4`, "violated"},
	{"counter", "numbered", `a:add a!1 b:add b!2 c:read c!2`, "holds"},
	{"counter", "numbered twice", `a:add a!1 b:add b!1`, "violated"},
	{"counter", "numbered in another order", `a:add a!2 b:add b!1`, "violated"},
	{"counter", "numbered with a gap", `a:add a!1 b:add b!3 c:read c!3`, "violated"},
	{"counter", "an unknown change fills the gap", `a:add a!1 d:add d? b:add b!3 c:read c!3`, "holds"},
	{"counter", "the unknown change came later", `a:add a!1 b:add b!3 d:add d? c:read c!3`, "violated"},
	{"counter", "numbered, then back", `a:add a!1 b:add b!2 c:read c!1`, "violated"},
	{"counter", "down", `a:add=2 a! a:decr a!1 c:read c!1`, "holds"},
	{"counter", "wrong answer", `a:add=2 a! a:decr a!2`, "violated"},
	{"counter", "over the end", `a:add=9223372036854775807 a! a:add a!-9223372036854775808`, "violated"},
	{"counter", "no number", `a:add=x a! c:read c!0`, "not an integer"},

	{"append-list", "in order", `a:append=1 a! a:append=2 a! b:read b![1,2]`, "holds"},
	{"append-list", "out of order", `a:append=1 a! a:append=2 a! b:read b![2,1]`, "violated"},
	{"append-list", "in flight at once", `a:append=1 c:append=2 a! c! b:read b![2,1]`, "holds"},
	{"append-list", "lost", `a:append=1 a! a:append=2 a! b:read b![2]`, "violated"},
	{"append-list", "stale", `a:append=1 a! b:read b![]`, "violated"},
	{"append-list", "two that exclude each other", `a:append=1 c:append=2 b:read d:read b![1] d![2] a! c!`, "violated"},
	{"append-list", "twice", `a:append=1 a! b:read b![1,1]`, "violated"},
	{"append-list", "unknown, seen late", `a:append=1 a? b:read b![] c:append=2 c! b:read b![2,1]`, "holds"},
	{"append-list", "put in twice", `a:append=1 a! a:append=1 a! b:read b![1,1]`, "holds"},
	{"append-list", "put in twice, seen once", `a:append=1 a! a:append=1 a! b:read b![1]`, "violated"},
}

// The evidence of every model returns which server was asked.
func TestObjectsNameTheServer(t *testing.T) {
	all := historytest.Events(t, "a:add=2 a! b:read b!1")
	for i := range all {
		all[i].Node = "n" + all[i].Client
	}
	p := property()
	p.Check.Model = "counter"
	if v := History(p, all); len(v.Evidence) != 2 || !strings.HasSuffix(v.Evidence[0], "; asked na") || !strings.HasSuffix(v.Evidence[1], "; asked nb") {
		t.Errorf("%s: %q", v.Status, v.Evidence)
	}
}

func TestObjects(t *testing.T) {
	for _, c := range objectHistories {
		t.Run(c.model+"/"+c.name, func(t *testing.T) {
			p := property()
			p.Check.Model = c.model
			v := History(p, historytest.Events(t, c.short))
			switch c.want {
			case string(verdict.Holds), string(verdict.Violated):
				if string(v.Status) != c.want {
					t.Fatalf("%s: %s\n%s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"))
				}
				if v.Status == verdict.Violated && (v.Event == 0 || len(v.Evidence) == 0 || v.Reason == "") {
					t.Fatalf("a violation without place or evidence: %+v", v)
				}
			default:
				if v.Status != verdict.Unknown || !strings.Contains(v.Reason, c.want) {
					t.Fatalf("%s: %s", v.Status, v.Reason)
				}
			}
		})
	}
}

// store is an object as the slow twin knows it: a list, in an implementation of its own.
type store []string

// do applies an operation; it reports whether what a client saw is right. Without an outcome all is right.
func (s store) do(model string, o history.Operation) (store, bool) {
	sure := o.Type == history.Ok
	at := slices.Index(s, o.Input)
	switch model + " " + o.Op {
	case "set add":
		if at < 0 {
			s = append(slices.Clone(s), o.Input)
		}
		return s, !sure || o.Output == "" || o.Output == fmt.Sprint(at < 0)
	case "set remove":
		if at >= 0 {
			return slices.Delete(slices.Clone(s), at, at+1), !sure || o.Output == "" || o.Output == "true"
		}
		return s, !sure || o.Output == "" || o.Output == "false"
	case "set contains":
		return s, !sure || o.Output == fmt.Sprint(at >= 0)
	case "set read":
		sorted := slices.Clone(s)
		slices.Sort(sorted)
		return s, !sure || o.Output == sorted.json()
	case "append-list read":
		return s, !sure || o.Output == s.json()
	case "append-list append", "queue enqueue":
		return append(slices.Clone(s), o.Input), true
	case "queue dequeue":
		if len(s) == 0 {
			return s, !sure || o.Output == ""
		}
		return s[1:], !sure || o.Output == s[0]
	case "lock acquire":
		if len(s) == 0 {
			return store{o.Input}, !sure || o.Output == "true"
		}
		return s, !sure || o.Output == "false"
	case "lock release":
		if at == 0 {
			return nil, !sure || o.Output == "true"
		}
		return s, !sure || o.Output == "false"
	case "counter add":
		n := len(s) + map[string]int{"": 1, "2": 2}[o.Input]
		return make(store, n), !sure || o.Output == "" || o.Output == fmt.Sprint(n)
	case "counter read":
		return s, !sure || o.Output == fmt.Sprint(len(s))
	}
	panic(model + " " + o.Op)
}

func (s store) json() string {
	return "[" + strings.Join(s, ",") + "]"
}

// tryAll tries every order of the operations.
func tryAll(model string, ops []history.Operation, s store) bool {
	earliest := uint64(history.Pending)
	for _, o := range ops {
		earliest = min(earliest, o.Return)
	}
	if earliest == history.Pending {
		return true
	}
	for i, o := range ops {
		if o.Call > earliest {
			continue
		}
		if next, ok := s.do(model, o); ok && tryAll(model, slices.Delete(slices.Clone(ops), i, i+1), next) {
			return true
		}
	}
	return false
}

// randomObject makes a history of a few operations against a store that sometimes lies.
func randomObject(r *rand.Rand, model string, kinds []string, unique bool) []history.Event {
	type flight struct {
		e    history.Event
		done bool
	}
	var s store
	names := []string{"a", "b", "c"}
	flights := map[int]*flight{}
	var out []history.Event
	count, next := 5+r.IntN(4), 0
	lies := r.IntN(4) > 0
	for count > 0 || len(flights) > 0 {
		i := r.IntN(len(names))
		f := flights[i]
		switch {
		case f == nil && count > 0:
			count--
			e := history.Event{Client: names[i], Type: history.Invoke, Op: kinds[r.IntN(len(kinds))], Key: "k"}
			switch e.Op {
			case "add", "append", "enqueue", "remove", "contains":
				next++
				e.Input = fmt.Sprint(r.IntN(3))
				if unique && e.Op != "remove" && e.Op != "contains" {
					e.Input = fmt.Sprint(next)
				}
			case "acquire", "release":
				e.Input = names[i]
			}
			if model == "counter" {
				e.Input = []string{"", "", "2"}[r.IntN(3)]
				if e.Op == "read" || unique {
					e.Input = ""
				}
			}
			flights[i] = &flight{e: e}
			out = append(out, e)
		case f == nil:
		case !f.done:
			f.done = true
			before := s
			guesses := []string{"", "true", "false", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
			if model == "counter" && unique {
				guesses = guesses[1:] // every answer has the number
			}
			for _, guess := range guesses {
				f.e.Output = guess
				if f.e.Op == "read" && model != "counter" {
					sorted := slices.Clone(s)
					if model == "set" {
						slices.Sort(sorted)
					}
					f.e.Output = sorted.json()
				}
				if after, ok := s.do(model, history.Operation{Op: f.e.Op, Input: f.e.Input, Output: f.e.Output, Type: history.Ok}); ok {
					s = after
					break
				}
			}
			if lies && r.IntN(2) == 0 {
				s = before
			}
		case r.IntN(10) == 0:
			e := f.e
			e.Type, e.Output = history.Info, ""
			names[i] += "'"
			delete(flights, i)
			out = append(out, e)
		default:
			e := f.e
			e.Type = history.Ok
			delete(flights, i)
			out = append(out, e)
		}
	}
	for i := range out {
		out[i].Number = uint64(i + 1)
	}
	return out
}

func TestObjectsAgreeWithTheSlowTwin(t *testing.T) {
	for _, c := range []struct {
		model  string
		kinds  []string
		unique bool
	}{
		{"set", []string{"add", "read"}, true},
		{"set", []string{"add", "remove", "contains", "contains"}, false},
		{"set", []string{"add", "add", "remove", "read"}, false},
		{"queue", []string{"enqueue", "dequeue"}, true},
		{"queue", []string{"enqueue", "dequeue", "dequeue"}, false},
		{"lock", []string{"acquire", "release"}, false},
		{"counter", []string{"add", "read"}, false},
		{"counter", []string{"add", "read"}, true},
		{"append-list", []string{"append", "read"}, true},
		{"append-list", []string{"append", "read"}, false},
	} {
		t.Run(fmt.Sprint(c.model, c.kinds, c.unique), func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 12))
			count := map[bool]int{}
			for i := range 10_000 {
				events := randomObject(r, c.model, c.kinds, c.unique)
				ops, err := history.Pair(events)
				if err != nil {
					t.Fatal(err)
				}
				want := tryAll(c.model, ops, nil)
				count[want]++
				p := property()
				p.Check.Model = c.model
				v := History(p, events)
				if (v.Status == verdict.Violated) == want || strings.Contains(v.Reason, "budget") || strings.Contains(v.Reason, "broken") {
					t.Fatalf("history %d: %s %s, the slow twin says legal=%v\n%+v", i, v.Status, v.Reason, want, ops)
				}
			}
			if count[true] < 2000 || count[false] < 700 {
				t.Fatalf("%d legal and %d illegal histories: too few of one kind to prove anything", count[true], count[false])
			}
		})
	}
}

// TestObjectBudget: what has too many orders is unknown, and named so.
func TestObjectBudget(t *testing.T) {
	var short strings.Builder
	for i := range 40 {
		fmt.Fprintf(&short, "a%d:add=%d ", i, 1<<i)
	}
	short.WriteString("b:read b!-1")
	for i := range 40 {
		fmt.Fprintf(&short, " a%d!", i)
	}
	ops, err := history.Pair(historytest.Events(t, short.String()))
	if err != nil {
		t.Fatal(err)
	}
	var acts []act
	for _, o := range ops {
		a := act{op: &o, verb: objects["counter"].verbs[o.Op], from: int64(o.Call), to: int64(o.Return), known: true, value: o.Input}
		if err := placeCounter(&a); err != nil {
			t.Fatal(err)
		}
		acts = append(acts, a)
	}
	b := linear.NewBudget(100_000, MaxBytes, MaxWall)
	if answer, _ := objects["counter"].decide(acts, b); answer != linear.Undecided || b.Reached != "100000 steps" {
		t.Fatalf("%v, reached %q", answer, b.Reached)
	}
}

// Where every answer has the number, many changes of unknown outcome are no search among all their orders.
func TestNumberedCounterNeedsNoSearch(t *testing.T) {
	var short strings.Builder
	for i := range 200 {
		fmt.Fprintf(&short, "u%d:add u%d? ", i, i)
	}
	for i := range 200 {
		fmt.Fprintf(&short, "a:add a!%d b:read b!%d ", 2*i+2, 2*i+2)
	}
	for want, last := range map[verdict.Status]string{verdict.Holds: "b:read b!400", verdict.Violated: "b:read b!399"} {
		p := property()
		p.Check.Model = "counter"
		if v := History(p, historytest.Events(t, short.String()+last)); v.Status != want {
			t.Errorf("%s: %s %s", last, v.Status, v.Reason)
		}
	}
}

// TestElementsAgreeWithTheSlowTwin compares the quick reader of lists with encoding/json, on texts of few characters.
func TestElementsAgreeWithTheSlowTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	const letters = `[[[]]],,,0011-"" \x`
	read := 0
	for range 200_000 {
		b := []byte{'['}
		for range r.IntN(8) {
			b = append(b, letters[r.IntN(len(letters))])
		}
		text := string(append(b, ']'))
		got, ok := plainElements(text)
		if !ok {
			continue
		}
		read++
		var raw []json.RawMessage
		if err := json.Unmarshal([]byte(text), &raw); err != nil || len(raw) != len(got) {
			t.Fatalf("%s became %q: %v", text, got, err)
		}
		for i := range raw {
			if plain(string(raw[i])) != got[i] {
				t.Fatalf("%s became %q", text, got)
			}
		}
	}
	if read < 1000 {
		t.Fatalf("only %d lists were read", read)
	}
}
