package linear

import (
	"fmt"
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
