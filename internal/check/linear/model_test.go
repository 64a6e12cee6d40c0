package linear

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
)

// stack is a model as a user writes it.
var stack = Model{
	Initial: "",
	Step: func(state any, op history.Operation) (any, bool) {
		s := state.(string)
		switch {
		case op.Op == "push":
			return op.Input + "," + s, true
		case s == "":
			return s, op.Type == history.Info || op.Output == ""
		}
		top, rest, _ := strings.Cut(s, ",")
		return rest, op.Type == history.Info || op.Output == top
	},
}

func op(client, kind, in, out string, call, ret uint64) history.Operation {
	o := history.Operation{Client: client, Op: kind, Key: "k", Input: in, Output: out, Type: history.Ok, Call: call, Return: ret}
	if ret == 0 {
		o.Type, o.Return = history.Info, history.Pending
	}
	return o
}

func TestModels(t *testing.T) {
	check := func(m Model, ops ...history.Operation) Verdict {
		return Check(m, ops, 1_000_000, 1<<28, time.Minute)
	}
	push1, push2 := op("a", "push", "1", "", 1, 2), op("a", "push", "2", "", 3, 4)
	if v := check(stack, push1, push2, op("b", "pop", "", "2", 5, 6), op("b", "pop", "", "1", 7, 8)); v.Answer != Legal {
		t.Errorf("%+v", v)
	}
	if v := check(stack, push1, push2, op("b", "pop", "", "1", 5, 6)); v.Answer != Illegal || v.Object != "k" || v.Op == nil || v.Op.Output != "1" {
		t.Errorf("%+v", v)
	}
	if v := check(stack, push1, push2, op("c", "pop", "", "", 5, 0), op("b", "pop", "", "1", 6, 7)); v.Answer != Legal {
		t.Errorf("someone unknown popped: %+v", v)
	}
	failed := op("b", "push", "9", "", 5, 6)
	failed.Type = history.Fail
	if v := check(stack, failed, op("b", "pop", "", "9", 7, 8)); v.Answer != Illegal {
		t.Errorf("what failed did nothing: %+v", v)
	}
	m := stack
	m.Object = func(o history.Operation) string { return o.Client }
	if v := check(m, push1, op("b", "pop", "", "", 5, 6)); v.Answer != Legal {
		t.Errorf("objects of their own: %+v", v)
	}

	panics := func(state any, o history.Operation) (any, bool) {
		if o.Op == "pop" {
			panic("no " + o.Op)
		}
		return state, true
	}
	slices := func(state any, o history.Operation) (any, bool) { return []string{o.Input}, true }
	hangs := func(state any, o history.Operation) (any, bool) { select {} }
	for _, c := range []struct {
		name   string
		m      Model
		reason string
	}{
		{"panics", Model{Initial: 0, Step: panics}, "the model panics: no pop"},
		{"no step", Model{Initial: 0}, "the model panics"},
		{"panics over objects", Model{Initial: 0, Step: stack.Step, Object: func(history.Operation) string { panic("!") }}, "the model panics: !"},
		{"slices", Model{Initial: "", Step: slices}, "type []string cannot be compared"},
		{"slices at first", Model{Initial: []int{}, Step: slices}, "type []int cannot be compared"},
	} {
		// With many operations open at once the depth-first search has its turn, in a goroutine of its own.
		ops := []history.Operation{push1, op("b", "pop", "", "1", 3, 4)}
		for i := range 70 {
			v := check(c.m, ops...)
			if v.Answer != Undecided || !strings.Contains(v.Reason, c.reason) {
				t.Errorf("%s: %+v", c.name, v)
			}
			if i == 0 {
				for k := range 70 {
					ops = append(ops, op(fmt.Sprint("x", k), "push", "x", "", 0, 0))
				}
			} else {
				break
			}
		}
	}
	at := time.Now()
	v := Check(Model{Initial: 0, Step: hangs}, []history.Operation{push1}, 1000, 1<<20, 50*time.Millisecond)
	if v.Answer != Undecided || !strings.Contains(v.Reason, "budget") || time.Since(at) > 10*time.Second {
		t.Errorf("%+v after %s", v, time.Since(at))
	}
}

// Verdicts on many objects are the same with any number of CPUs, and name the same object of those that violate.
func TestObjectsAtOnce(t *testing.T) {
	var ops []history.Operation
	add := func(key string, o history.Operation) {
		o.Key = key
		ops = append(ops, o)
	}
	for i := range 40 {
		key := fmt.Sprintf("%02d", i)
		// Pushes that are all in flight take long where the result is wrong: all orders are tried.
		for k := range 4 + i%3 {
			add(key, op(fmt.Sprint("c", k), "push", fmt.Sprint(k), "", 1, 100))
		}
		popped := "0"
		if i == 17 || i == 23 || i == 31 {
			popped = "never pushed"
		}
		add(key, op("p", "pop", "", popped, 200, 201))
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, steps := range []int64{100, 1_000, 3_000, 10_000, 100_000, 10_000_000} {
		var first Verdict
		for cpus := 1; cpus <= 8; cpus *= 2 {
			runtime.GOMAXPROCS(cpus)
			for range 5 {
				v := Check(stack, ops, steps, 1<<30, time.Minute)
				if v.Op != nil {
					v.Op = nil // an address
				}
				if first.Reason == "" {
					first = v
				}
				if v != first {
					t.Fatalf("%d steps, %d CPUs: %+v, and with one %+v", steps, cpus, v, first)
				}
			}
		}
		if steps >= 100_000 && first.Answer != Illegal {
			t.Errorf("%d steps: %+v", steps, first)
		}
	}
}

// An object that needs more memory than its part of the budget has the whole budget once the others are judged.
func TestLargeObjectAmongOthers(t *testing.T) {
	var ops []history.Operation
	for k := range 7 {
		ops = append(ops, op(fmt.Sprint("c", k), "push", fmt.Sprint(k), "", 1, 100))
	}
	ops = append(ops, op("p", "pop", "", "never pushed", 200, 201))
	least := int64(1 << 10) // of memory that decides it where it is the only object
	for Check(stack, ops, 100_000_000, least, time.Minute).Answer == Undecided {
		least *= 2
	}
	for i := range 4 {
		o := op("a", "push", "1", "", 1, 2)
		o.Key = fmt.Sprint("other", i)
		ops = append(ops, o)
	}
	if v := Check(stack, ops, 100_000_000, least, time.Minute); v.Answer != Illegal || v.Object != "k" {
		t.Errorf("%+v with %d bytes, which decide it alone", v, least)
	}
}
