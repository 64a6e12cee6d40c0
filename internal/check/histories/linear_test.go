package histories

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/historytest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func property(operations ...string) *world.Property {
	return &world.Property{Name: "p", Kind: world.Safety, Check: world.Check{Type: world.Linearizability,
		Subject: world.Subject{Operations: operations}}}
}

// histories are judged by everything below: each illegal one has one reason.
var histories = []struct {
	name    string
	short   string
	list    []string
	legal   bool
	unknown string // part of the reason, when the verdict is unknown
}{
	{name: "read your write", short: "a:put=1 a! b:get b!1", legal: true},
	{name: "lost write", short: "a:put=1 a! b:get b!-"},
	{name: "stale read", short: "a:put=1 a! a:put=2 a! b:get b!1"},
	{name: "value from nowhere", short: "a:put=1 a! b:get b!7"},
	{name: "read from the future", short: "b:get b!1 a:put=1 a! b:get b!1"},
	{name: "concurrent write seen", short: "a:put=1 b:get b!1 a!", legal: true},
	{name: "concurrent write not seen", short: "a:put=1 b:get b!- a! b:get b!1", legal: true},
	{name: "seen, then not", short: "a:put=1 b:get b!1 b:get b!- a!"},
	{name: "seen by one, then not by another", short: "a:put=1 b:get b!1 c:get c!- a!"},
	{name: "unknown write seen late", short: "a:put=1 a? b:get b!- b:get b!1", legal: true},
	{name: "unknown write never seen", short: "a:put=1 a? b:get b!- b:put=2 b! b:get b!2", legal: true},
	{name: "unknown write seen, overwritten, seen again", short: "a:put=1 a? b:get b!1 b:put=2 b! b:get b!1"},
	{name: "unknown write unseen cannot hide a lost one", short: "c:put=0 c! a:put=1 a? b:get b!-"},
	{name: "unknown write takes effect after another", short: "a:put=1 a? b:put=2 b! b:get b!2 b:get b!1", legal: true},
	{name: "write that never returned is seen", short: "a:put=1 b:get b!1", legal: true},
	{name: "failed write seen", short: "a:put=1 a/ b:put=2 b! b:get b!1"},
	{name: "failed write not seen", short: "a:put=1 a/ b:put=2 b! b:get b!2", legal: true},
	{name: "read of unknown outcome proves nothing", short: "b:put=1 b! b:get b!1 a:get a?", legal: true},
	{name: "empty value is a value", short: "a:put= a! b:get b!-"},
	{name: "deleted", short: "a:put=1 a! a:delete a! b:get b!-", legal: true},
	{name: "delete undone", short: "a:put=1 a! a:delete a! b:get b!1"},
	{name: "delete of unknown outcome", short: "a:put=1 a! a:delete a? b:get b!1 b:get b!-", legal: true},
	{name: "delete of unknown outcome, undone", short: "a:put=1 a! a:delete a? b:get b!- b:get b!1"},
	{name: "delete counts", short: "a:SET=1 a! a:DEL a!1 a:DEL a!0", legal: true},
	{name: "delete counts what is gone", short: "a:SET=1 a! a:DEL a!1 b:DEL b!1"},
	{name: "delete misses what is there", short: "a:SET=1 a! a:DEL a!0"},
	{name: "counting up", short: "a:INCR a!1 b:INCR b!2 a:GET a!2", legal: true},
	{name: "counted twice", short: "a:INCR a!1 b:INCR b!3"},
	{name: "two get the same number", short: "a:INCR b:INCR a!1 b!1"},
	{name: "counts that nobody reports, all seen", short: "a:INCR a! b:INCR b! a:GET a!2", legal: true},
	{name: "counts that nobody reports, one lost", short: "a:INCR a! b:INCR b! a:GET a!1"},
	{name: "a count that nobody reports, of a text", short: "a:SET=x a! a:INCR a! b:GET b!x"},
	{name: "unknown count explains", short: "a:INCR a? b:INCR b!2", legal: true},
	{name: "unknown count explains only one", short: "a:INCR a? b:INCR b!3"},
	{name: "counting from a written number", short: "a:SET=41 a! a:INCR a!42", legal: true},
	{name: "counting by", short: "a:INCRBY=5 a!5 a:INCRBY=-7 a!-2", legal: true},
	{name: "counting a text", short: "a:SET=x a! a:INCR a!1"},
	{name: "unknown count of a text", short: "a:SET=x a! a:INCR a? b:GET b!x", legal: true},
	{name: "counting over the end", short: "a:SET=9223372036854775807 a! a:INCR a!-9223372036854775808"},
	{name: "swapped", short: "a:put=1 a! a:cas=1>2 a!true b:get b!2", legal: true},
	{name: "swapped, though another value", short: "a:put=1 a! a:cas=3>2 a!true"},
	{name: "not swapped, though the value", short: "a:put=1 a! a:cas=1>2 a!false"},
	{name: "two swap the same", short: "a:put=1 a! a:cas=1>2 b:cas=1>3 a!true b!true"},
	{name: "unknown swap seen", short: "a:put=1 a! a:cas=1>2 a? b:get b!2", legal: true},
	{name: "unknown swap of another value", short: "a:put=1 a! a:cas=3>2 a? b:get b!2"},
	{name: "keys are apart", short: "a:put(x)=1 a! a:put(y)=2 a! a:get(x) a!1 a:get(y) a!2", legal: true},
	{name: "keys mixed up", short: "a:put(x)=1 a! a:put(y)=2 a! a:get(x) a!2"},
	{name: "what is not listed still changes the key", short: "a:put=1 a! a:delete a! a:get a!-", list: []string{"put", "get"}, legal: true},
	{name: "what is not listed is not judged", short: "a:put=1 a! a:get a!1 a:DEL a!0", list: []string{"put", "get"}, legal: true},
	{name: "names of the list are kinds", short: "a:SET=1 a! a:GET a!-", list: []string{"put", "get"}},

	{name: "nothing", short: "", unknown: "no operation was reported"},
	{name: "nothing of the list", short: "a:put=1 a!", list: []string{"get"}, unknown: "no operation of get"},
	{name: "nothing succeeded", short: "a:put=1 a? b:get b/", unknown: "only 0 of 2"},
	{name: "no read", short: "a:put=1 a! a:put=2 a!", unknown: "no key was written and then read"},
	{name: "no read of what was written", short: "a:put(x)=1 a! a:get(y) a!-", unknown: "no key was written and then read"},
	{name: "a listed kind never succeeded", short: "a:put=1 a! a:get a!1 b:delete b?", list: []string{"put", "get", "delete"}, unknown: "no delete succeeded"},
	{name: "a kind without a model", short: "a:put=1 a! a:get a!1", list: []string{"put", "rename"}, unknown: `"rename" has no model`},
	{name: "a change without a model", short: "a:put=1 a! a:rename=2 a! a:get a!1", unknown: `"rename" has no model`},
	{name: "a change without a model or a key", short: "a:put=1 a! a:flushall() a! a:get a!-", unknown: `"flushall" has no model`},
	{name: "a change without a model that failed", short: "a:put=1 a! a:rename=2 a/ a:get a!1", legal: true},
	{name: "appended", short: "a:put=x a! a:append=y a! a:get a!xy b:append=z a:append=w b! a! b:get b!xywz", legal: true},
	{name: "an append that is lost", short: "a:put=x a! a:append=y a! a:append=z a! a:get a!xz"},
	{name: "an append seen twice", short: "a:put=x a! a:append=y a! a:get a!xyy"},
	{name: "an append seen too late", short: "a:append=y a! b:get b!-"},
	{name: "appends alone", short: "a:append=y a! a:append=z a!", unknown: "no key was written and then read"},
	{name: "counts alone that nobody reports", short: "a:INCR a! b:INCR b!", unknown: "no key was written and then read"},
	{name: "appended to a list", short: "a:append=1 a! a:get a![1]", unknown: "use `model: append-list`"},
	{name: "a change without a model elsewhere", short: "a:put=1 a! a:push(q)=2 a! a:get a!1", legal: true},
	{name: "a broken cas", short: "a:put=1 a! a:cas=1>2 a!", unknown: "the output of a cas"},
	{name: "a broken count", short: "a:INCRBY=x a!1", unknown: "not an integer"},
	{name: "a broken delete", short: "a:DEL a!7", unknown: "the output of a delete"},
	{name: "a broken history", short: "a:put=1 a:get a!1", unknown: "broken history"},
}

func TestLinearizability(t *testing.T) {
	for _, c := range histories {
		t.Run(c.name, func(t *testing.T) {
			v := History(property(c.list...), historytest.Events(t, c.short))
			want := verdict.Violated
			switch {
			case c.unknown != "":
				want = verdict.Unknown
			case c.legal:
				want = verdict.Holds
			}
			if strings.Contains(v.Reason, "could have been wrong") && !v.Idle || strings.Contains(v.Reason, "broken") && v.Idle {
				t.Errorf("idle %v: %s", v.Idle, v.Reason)
			}
			if v.Status != want || !strings.Contains(v.Reason, c.unknown) {
				t.Fatalf("%s: %s\n%s\nwant %s %s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"), want, c.unknown)
			}
			if want == verdict.Violated && (v.Event == 0 || v.TimeNs == 0 || len(v.Evidence) < 2) {
				t.Fatalf("a violation without place or evidence: %+v", v)
			}
		})
	}
}

// TestMutants breaks the model in one way after another; each must change the answer to one of the histories, or the
// table would not notice that break.
func TestMutants(t *testing.T) {
	mutants := map[string]stepFunc{
		"writes are lost": func(s state, c call, r reply) (bool, state) {
			ok, next := step(s, c, r)
			if c.kind == write {
				return ok, s
			}
			return ok, next
		},
		"reads return anything": func(s state, c call, r reply) (bool, state) {
			if c.kind == read {
				return true, s
			}
			return step(s, c, r)
		},
		"reads may find nothing": func(s state, c call, r reply) (bool, state) {
			if c.kind == read && !r.found {
				return true, s
			}
			return step(s, c, r)
		},
		"reads compare values only": func(s state, c call, r reply) (bool, state) {
			if c.kind == read {
				return r.value == s.value, s
			}
			return step(s, c, r)
		},
		"deletes do nothing": func(s state, c call, r reply) (bool, state) {
			ok, next := step(s, c, r)
			if c.kind == remove {
				return ok, s
			}
			return ok, next
		},
		"deletes count nothing": func(s state, c call, r reply) (bool, state) {
			if c.kind == remove {
				return true, state{}
			}
			return step(s, c, r)
		},
		"incr returns anything": func(s state, c call, r reply) (bool, state) {
			if c.kind == incr {
				r.known = false
			}
			return step(s, c, r)
		},
		"incr counts one": func(s state, c call, r reply) (bool, state) {
			c.delta = 1
			return step(s, c, r)
		},
		"incr starts over on texts": func(s state, c call, r reply) (bool, state) {
			if _, ok := number(s); c.kind == incr && !ok {
				s = state{}
			}
			return step(s, c, r)
		},
		"incr wraps": func(s state, c call, r reply) (bool, state) {
			if n, ok := number(s); c.kind == incr && ok {
				text := strconv.FormatInt(n+c.delta, 10)
				return !r.known || text == r.value, state{true, text}
			}
			return step(s, c, r)
		},
		"cas always swaps": func(s state, c call, r reply) (bool, state) {
			if c.kind == cas {
				return !r.known || r.value == "true", state{true, c.value}
			}
			return step(s, c, r)
		},
		"cas never swaps": func(s state, c call, r reply) (bool, state) {
			if c.kind == cas {
				return !r.known || r.value == "false", s
			}
			return step(s, c, r)
		},
		"cas says anything": func(s state, c call, r reply) (bool, state) {
			if c.kind == cas {
				r.known = false
			}
			return step(s, c, r)
		},
	}
	for name, mutant := range mutants {
		caught := ""
		for _, c := range histories {
			ops, err := history.Pair(historytest.Events(t, c.short))
			if err != nil || c.unknown != "" {
				continue
			}
			h, reason := perKey(&world.Check{Subject: world.Subject{Operations: c.list}}, ops)
			keys := h.keys
			if reason != "" {
				t.Fatal(reason)
			}
			legal := true
			for _, k := range keys {
				ops, classes := asOps(tighten(k))
				legal = legal && linear.DepthFirst(ops, modelOf(mutant, classes), plenty()) == linear.Legal
			}
			if legal != c.legal {
				caught = c.name
				break
			}
		}
		if caught == "" {
			t.Errorf("no history notices that %s", name)
		}
	}
}

func plenty() *linear.Budget {
	return linear.NewBudget(MaxSteps, MaxBytes, MaxWall)
}

// slowly decides linearizability by trying every order, with a map and words of its own: nothing of the model, of
// tightening or of porcupine is in it. An operation may go next if none that is still missing returned before it was
// called; one of unknown outcome may also never happen.
func slowly(ops []history.Operation, values map[string]string) bool {
	missing := false
	earliest := uint64(history.Pending)
	for _, o := range ops {
		if o.Type == history.Ok {
			missing = true
			earliest = min(earliest, o.Return)
		}
	}
	if !missing {
		return true
	}
	for i, o := range ops {
		if o.Type == history.Fail || o.Call > earliest {
			continue
		}
		old, exists := values[o.Key]
		after := map[string]string{}
		maps.Copy(after, values)
		sure := o.Type == history.Ok
		switch o.Op {
		case "put":
			after[o.Key] = o.Input
		case "get":
			if sure && (exists != o.Found || old != o.Output) {
				continue
			}
		case "DEL":
			if sure && o.Output != map[bool]string{true: "1", false: "0"}[exists] {
				continue
			}
			delete(after, o.Key)
		case "delete":
			delete(after, o.Key)
		case "INCR":
			if !exists {
				old = "0"
			}
			n, err := strconv.Atoi(old)
			if err == nil {
				after[o.Key] = strconv.Itoa(n + 1)
			}
			if sure && (err != nil || o.Output != after[o.Key]) {
				continue
			}
		case "cas":
			swaps := exists && old == o.Expect
			if sure && o.Output != fmt.Sprint(swaps) {
				continue
			}
			if swaps {
				after[o.Key] = o.Input
			}
		}
		if slowly(slices.Delete(slices.Clone(ops), i, i+1), after) {
			return true
		}
	}
	return false
}

// randomHistory makes a history of a few operations by running them against a store that sometimes lies, so that
// about half are legal.
func randomHistory(r *rand.Rand, kinds []string) []history.Event {
	type flight struct {
		e    history.Event
		done bool // took effect
	}
	store := map[string]string{}
	clients := []string{"a", "b", "c"}
	flights := map[string]*flight{}
	var out []history.Event
	count := 2 + r.IntN(5)
	apply := func(f *flight) {
		e := &f.e
		f.done = true
		old, exists := store[e.Key]
		lie := r.IntN(3) == 0
		switch e.Op {
		case "put":
			if !lie {
				store[e.Key] = e.Input
			}
		case "get":
			e.Output, e.Found = old, exists
			if lie {
				e.Output, e.Found = strconv.Itoa(r.IntN(3)), true
			}
		case "DEL", "delete":
			if e.Op == "DEL" {
				e.Output = count2(exists)
			}
			if !lie {
				delete(store, e.Key)
			}
		case "INCR":
			if !exists {
				old = "0"
			}
			n, _ := strconv.Atoi(old)
			e.Output = strconv.Itoa(n + 1)
			if !lie {
				store[e.Key] = e.Output
			}
		case "cas":
			e.Output = "false"
			if exists && old == e.Expect {
				e.Output = "true"
				if !lie {
					store[e.Key] = e.Input
				}
			}
		}
	}
	for range 60 {
		i := r.IntN(len(clients))
		c := clients[i]
		f := flights[c]
		var e history.Event
		switch {
		case f == nil && count > 0:
			count--
			e = history.Event{Client: c, Type: history.Invoke, Op: kinds[r.IntN(len(kinds))], Key: []string{"k", "k", "k", "j"}[r.IntN(4)]}
			if e.Op == "put" || e.Op == "cas" {
				e.Input, e.Expect = strconv.Itoa(r.IntN(4)), strconv.Itoa(r.IntN(4))
			}
			if e.Op != "cas" {
				e.Expect = ""
			}
			flights[c] = &flight{e: e}
		case f == nil:
			continue
		case !f.done && r.IntN(3) > 0:
			apply(f)
			continue
		case r.IntN(4) == 0: // whether it took effect or not
			e = f.e
			e.Type, e.Output, e.Found = history.Info, "", false
			clients[i] += "'"
			delete(flights, c)
		case f.done:
			e = f.e
			e.Type = history.Ok
			delete(flights, c)
		default:
			e = f.e
			e.Type = history.Fail
			delete(flights, c)
		}
		e.Number, e.TimeNs = uint64(len(out)+1), int64(len(out)+1)
		out = append(out, e)
	}
	return out
}

func count2(exists bool) string {
	if exists {
		return "1"
	}
	return "0"
}

func TestAgreesWithTheSlowTwin(t *testing.T) {
	mixes := [][]string{
		{"put", "get", "get"}, {"put", "get", "delete"}, {"put", "get", "DEL"}, {"INCR", "get", "INCR"},
		{"put", "get", "INCR", "DEL"}, {"put", "cas", "get"}, {"put", "get", "delete", "DEL", "INCR", "cas"},
	}
	r := rand.New(rand.NewPCG(1, 2))
	legal, illegal := 0, 0
	for i := range 6000 {
		events := randomHistory(r, mixes[i%len(mixes)])
		ops, err := history.Pair(events)
		if err != nil {
			t.Fatal(err)
		}
		want := slowly(ops, nil)
		v := History(property(), events)
		// A legal history may prove too little to hold; an illegal one is always violated.
		if (v.Status == verdict.Violated) == want {
			t.Fatalf("history %d: %s %s, the slow twin says legal=%v\n%+v", i, v.Status, v.Reason, want, ops)
		}
		if want {
			legal++
			continue
		}
		illegal++
		// Evidence is a proof of its own: what it shows is illegal without the rest.
		if proof := shownOperations(t, events); slowly(proof, nil) {
			t.Fatalf("history %d: the evidence proves nothing: %v", i, v.Evidence)
		}
	}
	if legal < 1000 || illegal < 1000 {
		t.Fatalf("%d legal and %d illegal histories: too few of one kind to prove anything", legal, illegal)
	}
}

// shownOperations are the operations of a history's evidence, as they were known at the conflict.
func shownOperations(t *testing.T, events []history.Event) []history.Operation {
	ops, err := history.Pair(events)
	if err != nil {
		t.Fatal(err)
	}
	h, _ := perKey(&world.Check{}, ops)
	keys := h.keys
	for _, name := range bySize(keys) {
		if search(keys[name], plenty()) != linear.Illegal {
			continue
		}
		culprit, prefix := firstConflict(keys[name], plenty())
		var out []history.Operation
		for _, p := range smallest(culprit, prefix, plenty()) {
			if !p.reply.known && p.op.Type == history.Ok {
				p.op.Type, p.op.Return, p.op.Output = history.Info, history.Pending, ""
			}
			out = append(out, *p.op)
		}
		return out
	}
	t.Fatal("no key is violated")
	return nil
}

// TestClasses compares classes with a map of all that an operation asked and learned.
func TestClasses(t *testing.T) {
	type same struct {
		call  call
		reply reply
	}
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 10_000 {
		values := 1 + r.IntN(3)
		value := func() string { return []string{"", "1", "2", "true"}[r.IntN(values+1)] }
		ops := make([]placed, r.IntN(20+2*(i%100)))
		for k := range ops {
			ops[k].call = call{kind: write + kind(r.IntN(5)), value: value(), expect: value(), delta: r.Int64N(2)}
			ops[k].reply = reply{known: r.IntN(2) == 0, found: r.IntN(2) == 0, value: value()}
		}
		list, classes := asOps(ops)
		number := map[same]int32{}
		for k, p := range ops {
			c, seen := number[same{p.call, p.reply}]
			if !seen {
				c = int32(len(number))
				number[same{p.call, p.reply}] = c
			}
			if list[k].Class != c || classes[c].call != p.call || classes[c].reply != p.reply {
				t.Fatalf("%+v is of class %d, want %d", p, list[k].Class, c)
			}
		}
		if len(classes) != len(number) {
			t.Fatalf("%d classes, want %d", len(classes), len(number))
		}
	}
}

func TestPrefixesAgreeWithTheSlowTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	checked := 0
	for checked < 300 {
		events := randomHistory(r, []string{"put", "get", "get", "DEL"})
		v := History(property(), events)
		if v.Status != verdict.Violated {
			continue
		}
		checked++
		// The conflict is there right after the event that the verdict names, and it happens that operations which
		// failed later did nothing.
		ops, _ := history.Pair(events)
		var prefix []history.Operation
		for _, o := range ops {
			if o.Call > v.Event {
				break
			}
			if o.Type == history.Ok && o.Return > v.Event {
				o.Type, o.Return = history.Info, history.Pending
			}
			prefix = append(prefix, o)
		}
		if slowly(prefix, nil) {
			t.Fatalf("no conflict up to event %d: %+v", v.Event, events)
		}
	}
}

func TestEvidence(t *testing.T) {
	long := strings.Repeat("x", 50)
	in := historytest.Events(t, "a:put=0 a! b:get b!0 c:put=9 c? a:put=1 a! b:get b!1 d:put="+long+" d! a:get a!"+long+" b:get b!1 a:get a!"+long)
	for i := range in {
		in[i].Node = "n1"
	}
	in[4].Error, in[5].Error = "", "timeout"
	got := History(property("put", "get"), in)
	want := `violated at event 16: not linearizable: a get by client b returned "1", which was no longer the value
key "k": 3 of its 9 operations conflict:
  0.007000 s (event 7) client a: put "1"; returned at 0.008000 s (event 8); asked n1
  0.011000 s (event 11) client d: put "xxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxx" (50 bytes); returned at 0.012000 s (event 12); asked n1
  0.015000 s (event 15) client b: get -> "1"; returned at 0.016000 s (event 16); asked n1
the longest consistent order: put "1" (a), put "xxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxx" (50 bytes) (d); then the key holds "xxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxx" (50 bytes)
it has no place for: get -> "1" (b)`
	text := fmt.Sprintf("%s at event %d: %s\n%s", got.Status, got.Event, got.Reason, strings.Join(got.Evidence, "\n"))
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}

	got = History(property(), historytest.Events(t, "x:put=8 x? a:put=1 a! d:put=2 b:get b!2 c:get c!1 d!"))
	want = `violated at event 9: not linearizable: a get by client c returned "1", which was no longer the value
key "k": 4 of its 5 operations conflict:
  0.003000 s (event 3) client a: put "1"; returned at 0.004000 s (event 4)
  0.005000 s (event 5) client d: put "2"; still in flight then, it returned at 0.010000 s (event 10)
  0.006000 s (event 6) client b: get -> "2"; returned at 0.007000 s (event 7)
  0.008000 s (event 8) client c: get -> "1"; returned at 0.009000 s (event 9)
the longest consistent order: put "1" (a), put "2" (d), get -> "2" (b); then the key holds "2"
it has no place for: get -> "1" (c)`
	text = fmt.Sprintf("%s at event %d: %s\n%s", got.Status, got.Event, got.Reason, strings.Join(got.Evidence, "\n"))
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestEvidenceOfAFailedWrite(t *testing.T) {
	in := historytest.Events(t, "a:put=1 a! b:get b!1 a:put=2 a/ b:get b!2")
	in[5].Error = "503"
	got := History(property("put", "get"), in)
	want := `not linearizable: a get by client b returned "2", which only a failed operation had written
key "k": 1 of its 3 operations conflict:
  0.007000 s (event 7) client b: get -> "2"; returned at 0.008000 s (event 8)
  0.005000 s (event 5) client a: put "2" failed at 0.006000 s (event 6) (503): it must have done nothing
the longest consistent order: none at all; then the key holds nothing
it has no place for: get -> "2" (b)`
	if text := got.Reason + "\n" + strings.Join(got.Evidence, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestBudget shows that a hopeless history ends as unknown, and the same each time: many concurrent counts of unknown
// outcome have too many orders.
func TestBudget(t *testing.T) {
	var short strings.Builder
	for i := range 30 {
		fmt.Fprintf(&short, "a%d:INCRBY=%d a%d? ", i, 1<<i, i)
	}
	short.WriteString("b:get b!-5")
	ops, err := history.Pair(historytest.Events(t, short.String()))
	if err != nil {
		t.Fatal(err)
	}
	h, _ := perKey(&world.Check{}, ops)
	keys := h.keys
	for range 2 {
		b := linear.NewBudget(50_000, MaxBytes, MaxWall)
		if got := search(keys["k"], b); got != linear.Undecided || !strings.Contains(b.Reached, "steps") {
			t.Fatalf("%s, reached %q", got, b.Reached)
		}
		b = linear.NewBudget(MaxSteps, 1<<20, MaxWall)
		if got := search(keys["k"], b); got != linear.Undecided || !strings.Contains(b.Reached, "MiB") {
			t.Fatalf("%s, reached %q", got, b.Reached)
		}
		b = linear.NewBudget(MaxSteps, MaxBytes, -1)
		if got := search(keys["k"], b); got != linear.Undecided || b.Reached == "" {
			t.Fatalf("%s, reached %q", got, b.Reached)
		}
	}
}

// TestManyUnknownWrites would not end in this life without tightening.
func TestManyUnknownWrites(t *testing.T) {
	var short strings.Builder
	for i := range 400 {
		fmt.Fprintf(&short, "a%d:put=u%d a%d? ", i, i, i)
		fmt.Fprintf(&short, "b:put=v%d b! c:get c!v%d ", i, i)
	}
	if v := History(property("put", "get"), historytest.Events(t, short.String())); v.Status != verdict.Holds {
		t.Fatalf("%s %s", v.Status, v.Reason)
	}
	short.WriteString("c:get c!v3")
	v := History(property("put", "get"), historytest.Events(t, short.String()))
	if v.Status != verdict.Violated || len(v.Evidence) != 6 {
		t.Fatalf("%s %s\n%s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"))
	}
}

// Transactions and compactions beside operations on keys: only keys that a transaction names are in doubt.
func TestOperationsBesideKeys(t *testing.T) {
	for input, want := range map[string]verdict.Status{
		`[["append","other",1],["r","more",null]]`: verdict.Holds,
		`[["append","other",1],["w","k",2]]`:       verdict.Unknown,
		`no accesses`:                              verdict.Unknown,
		``:                                         verdict.Unknown,
	} {
		events := []history.Event{
			{Number: 1, Client: "a", Type: history.Invoke, Op: "put", Key: "k", Input: "1"}, {Number: 2, Client: "a", Type: history.Ok},
			{Number: 3, Client: "a", Type: history.Invoke, Op: "compact"}, {Number: 4, Client: "a", Type: history.Ok},
			{Number: 5, Client: "a", Type: history.Invoke, Op: "txn", Input: input}, {Number: 6, Client: "a", Type: history.Info},
			{Number: 7, Client: "b", Type: history.Invoke, Op: "get", Key: "k"}, {Number: 8, Client: "b", Type: history.Ok, Output: "1", Found: true},
		}
		p := &world.Property{Name: "p", Check: world.Check{Type: world.Linearizability}}
		if v := History(p, events); v.Status != want {
			t.Errorf("%s: %s %s, want %s", input, v.Status, v.Reason, want)
		}
	}
}

// The evidence of a long history is as small as that of a short one: what is far from the conflict goes at once, whether
// each value was written once or many times.
func TestEvidenceOfALongHistory(t *testing.T) {
	const rounds = 25_000
	for name, values := range map[string]int{"once": rounds, "again and again": 97} {
		t.Run(name, func(t *testing.T) {
			var events []history.Event
			add := func(client string, typ history.Type, op, input, output string) {
				events = append(events, history.Event{Number: uint64(len(events) + 1), Client: client, Type: typ, Op: op,
					Key: "k", Input: input, Output: output, Found: output != ""})
			}
			for i := range rounds {
				v := fmt.Sprint("v", i%values)
				add("a", history.Invoke, "put", v, "")
				add("b", history.Invoke, "get", "", "")
				add("a", history.Ok, "put", "", "")
				add("b", history.Ok, "get", "", v)
			}
			add("b", history.Invoke, "get", "", "")
			add("b", history.Ok, "get", "", "v7")
			v := History(property(), events)
			var n, of int
			if v.Status != verdict.Violated || len(v.Evidence) == 0 {
				t.Fatalf("%s: %s", v.Status, v.Reason)
			}
			if _, err := fmt.Sscanf(v.Evidence[0], `key "k": %d of its %d operations conflict:`, &n, &of); err != nil {
				t.Fatal(err)
			}
			if most := 4 + rounds/values; n > most || v.Event != uint64(len(events)) {
				t.Fatalf("%d of %d operations, want %d at most; event %d of %d:\n%s", n, of, most, v.Event, len(events), strings.Join(v.Evidence, "\n"))
			}
			if last := v.Evidence[min(n, verdict.MaxEvidence+1)]; !strings.Contains(last, `get -> "v7"`) {
				t.Fatalf("the last operation that is shown is not the culprit: %s", last)
			}
		})
	}
}

// History judges a history by its operations.
func History(p *world.Property, events []history.Event) verdict.Verdict {
	return Paired(p, events, Operations)
}
