package linear

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
)

// Model is a sequential specification in Go, for objects that have none here.
type Model struct {
	// Initial is the state of an object at first. States are values that can be compared with ==, such as texts, numbers
	// and structs of them.
	Initial any
	// Step reports whether an operation may happen in a state, and the state after it. It is a pure function. An operation
	// of type Info has no result: it may have done its work, and whatever it returned is right. One that did not take
	// effect at all need not be thought of. It is called by several goroutines at once, for different objects.
	Step func(state any, op history.Operation) (any, bool)
	// Object names the object that an operation belongs to; nil means its key. Operations on one object say nothing of
	// another one.
	Object func(op history.Operation) string
}

// Verdict on a history by a Model.
type Verdict struct {
	Answer Answer
	Reason string // why it is illegal or undecided
	Object string // the object that Reason speaks of
	// Op is the operation at whose return no order was left, where that is known.
	Op *history.Operation
}

// Check judges operations by a model. A model that panics, gives states that cannot be compared, or does not come to an
// end within the budget's time leaves the history undecided. A step that hangs is left behind in a goroutine of its own,
// for Go cannot end it.
func Check(m Model, ops []history.Operation, steps, bytes int64, wall time.Duration) Verdict {
	objects := map[string][]history.Operation{}
	for _, o := range ops {
		if o.Type == history.Fail {
			continue
		}
		name := o.Key
		if m.Object != nil {
			if reason := guard(func() { name = m.Object(o) }); reason != "" {
				return Verdict{Reason: reason}
			}
		}
		objects[name] = append(objects[name], o)
	}
	done := make(chan Verdict, 1)
	go func() {
		done <- m.checkAll(objects, NewBudget(steps, bytes, wall))
	}()
	// Steps of a model that come to an end are bounded by the budget; this is for one that does not.
	late := time.NewTimer(wall + wall/4 + 100*time.Millisecond)
	defer late.Stop()
	select {
	case v := <-done:
		return v
	case <-late.C:
		return Verdict{Reason: fmt.Sprintf("budget: the model did not finish within %s", wall)}
	}
}

// Steps that each object may take before all others have had as many, and how many times as many in each round after that.
const (
	firstRound = 20_000
	nextRound  = 64
)

// parallel objects are judged at once, with as many CPUs or with fewer: it bounds the memory of each, on which verdicts depend.
const parallel = 8

// checkAll judges objects in rounds, so that a violation of one that is soon found does not wait for one that takes long. What each object
// may take in a round is fixed before the round, so that the verdict does not depend on which of them is judged first.
func (m Model) checkAll(objects map[string][]history.Operation, b *Budget) Verdict {
	result := Verdict{Answer: Legal}
	left := slices.Sorted(maps.Keys(objects))
	var alone []string // those that need more than their part of the memory
	for share := int64(firstRound); len(left) > 0; share *= nextRound {
		part := *b
		part.Steps = min(share, b.Steps/int64(len(left)))
		if len(left) > 1 {
			part.Bytes /= parallel
		}
		var later []string
		for _, j := range m.round(objects, left, part) {
			b.Steps -= part.Steps - max(j.rest.Steps, 0)
			switch {
			case j.Answer == Illegal:
				return j.Verdict
			case j.Answer == Undecided && j.rest.Steps < 0 && part.Steps == share:
				later = append(later, j.Object)
			case j.Answer == Undecided && j.rest.Bytes < 0 && len(left) > 1:
				alone = append(alone, j.Object)
			case j.Answer == Undecided && result.Answer == Legal:
				result = j.Verdict
			}
		}
		left = later
	}
	for _, name := range alone {
		part := *b
		v := m.check(objects[name], &part)
		v.Object = name
		b.Steps = max(part.Steps, 0)
		switch {
		case v.Answer == Illegal:
			return v
		case v.Answer == Undecided && result.Answer == Legal:
			result = v
		}
	}
	return result
}

// judged is the verdict on one object, and what is left of its part of the budget.
type judged struct {
	Verdict
	rest Budget
}

// round judges objects with a part of the budget each, and returns the verdicts in the order of names. Those behind an illegal one are not
// waited for.
func (m Model) round(objects map[string][]history.Operation, names []string, part Budget) []judged {
	all := make([]judged, len(names))
	var next, illegal atomic.Int64
	illegal.Store(int64(len(names)))
	var workers sync.WaitGroup
	for range min(parallel, len(names), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= illegal.Load() { // len(names), where none is illegal
					return
				}
				j := &all[i]
				j.rest = part
				j.rest.moot = func() bool { return illegal.Load() < i }
				j.Verdict = m.check(objects[names[i]], &j.rest)
				j.Object = names[i]
				if j.Answer == Illegal {
					for first := illegal.Load(); i < first && !illegal.CompareAndSwap(first, i); first = illegal.Load() {
					}
				}
			}
		})
	}
	workers.Wait()
	return all[:min(int(illegal.Load())+1, len(names))]
}

func (m Model) check(all []history.Operation, b *Budget) Verdict {
	ops := slices.Clone(all)
	list := make([]Op, len(ops))
	for i, o := range ops {
		list[i] = Op{Call: int64(o.Call), Return: Forever, Class: int32(i)}
		if o.Type == history.Ok && o.Return != history.Pending {
			list[i].Return = int64(o.Return)
		} else {
			ops[i].Type = history.Info
		}
	}
	failed := ""
	step := func(state any, class int32) (next any, ok bool) {
		if failed != "" {
			return state, false
		}
		next, ok, failed = m.step(state, ops[class])
		if failed != "" {
			return state, false
		}
		return next, ok
	}
	if reason := incomparable(m.Initial); reason != "" {
		return Verdict{Reason: reason}
	}
	answer, culprit := Search(list, Spec[any]{Initial: m.Initial, Step: step, Bytes: size, Unlike: true}, b)
	switch {
	case failed != "":
		return Verdict{Reason: failed}
	case answer == Undecided:
		return Verdict{Reason: fmt.Sprintf("budget: could not order %d operations within %s", len(ops), b.Reached)}
	case answer == Illegal:
		v := Verdict{Answer: Illegal, Reason: "no order of the operations explains all their results"}
		if culprit >= 0 {
			v.Op = &ops[culprit]
			v.Reason = fmt.Sprintf("no order of the operations explains %s of client %s, which returned at event %d", v.Op.Op, v.Op.Client, v.Op.Return)
		}
		return v
	}
	return Verdict{Answer: Legal}
}

// step asks the model. failed returns why it has no answer, if that is so.
func (m Model) step(state any, op history.Operation) (next any, ok bool, failed string) {
	defer func() {
		if p := recover(); p != nil {
			failed = panics(p)
		}
	}()
	if next, ok = m.Step(state, op); ok {
		failed = incomparable(next)
	}
	return next, ok, failed
}

// incomparable returns why a state cannot be compared with others, if that is so.
func incomparable(state any) string {
	switch state.(type) {
	case nil, string, int: // most are, and need no reflection
		return ""
	}
	if reflect.ValueOf(state).Comparable() {
		return ""
	}
	return fmt.Sprintf("a state of type %T cannot be compared; use a string or a struct of plain values", state)
}

// guard runs a part of a model, and says how it panicked, if it did.
func guard(f func()) (reason string) {
	defer func() {
		if p := recover(); p != nil {
			reason = panics(p)
		}
	}()
	f()
	return ""
}

func panics(p any) string { return fmt.Sprintf("the model panics: %v", p) }

// size is about what a state takes.
func size(state any) int64 {
	if s, ok := state.(string); ok {
		return int64(len(s))
	}
	if state == nil {
		return 0
	}
	return int64(reflect.TypeOf(state).Size())
}
