package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Pair makes operations of events: each invoke with the completion of the same client, in the order of the invokes.
// Events are ordered by Number. An operation whose completion is Info or missing has Return Pending, and its client
// may not go on under the same name, since its operation may still be in flight. The error wraps ErrBuffered when
// events share a number, and ErrBroken when events contradict each other; both name the place.
func Pair(events []Event) ([]Operation, error) {
	if len(events) > MaxEvents {
		return nil, fmt.Errorf("%w: %d events; the limit is %d", ErrBroken, len(events), MaxEvents)
	}
	sorted := events
	byNumber := func(a, b Event) int { return cmp.Compare(a.Number, b.Number) }
	if !slices.IsSortedFunc(sorted, byNumber) {
		sorted = slices.Clone(events)
		slices.SortStableFunc(sorted, byNumber)
	}
	invokes := 0
	for i := range sorted {
		e := &sorted[i]
		if e.Type == Invoke {
			invokes++
		}
		if e.Type == Broken {
			return nil, fmt.Errorf("event %d: %w", e.Number, brokenRecord(e))
		}
		if i > 0 && sorted[i-1].Number == e.Number {
			return nil, fmt.Errorf("%w: the records of clients %s and %s came with one write (event %d); "+
				"write each record by itself and flush it", ErrBuffered, sorted[i-1].Client, e.Client, e.Number)
		}
	}
	ops := make([]Operation, 0, invokes)
	type flight struct {
		op      int  // index into ops
		open    bool // invoked and not completed
		retired bool // after an info
	}
	clients := map[string]*flight{}
	for i := range sorted {
		e := &sorted[i]
		c := clients[e.Client]
		if c == nil {
			c = &flight{}
			clients[e.Client] = c
		}
		if c.retired {
			return nil, fmt.Errorf("%w: client %s goes on at event %d, but the operation it invoked at event %d ended with info and may "+
				"still be in flight; so continue as a new client (such as %s.1)", ErrBroken, e.Client, e.Number,
				ops[c.op].Call, e.Client)
		}
		if e.Type == Invoke {
			if c.open {
				return nil, fmt.Errorf("%w: client %s invokes %s at event %d while its %s of event %d is in flight; "+
					"a client has one operation in flight, and no two drivers share a client's name", ErrBroken,
					e.Client, e.Op, e.Number, ops[c.op].Op, ops[c.op].Call)
			}
			c.op, c.open = len(ops), true
			ops = append(ops, Operation{Client: e.Client, Op: e.Op, Key: e.Key, Input: e.Input, Expect: e.Expect,
				Node: e.Node, Type: Info, Call: e.Number, CallTimeNs: e.TimeNs, Return: Pending})
			continue
		}
		if !c.open {
			return nil, fmt.Errorf("%w: client %s reports %s at event %d without an operation in flight; write "+
				"invoke before the request is sent", ErrBroken, e.Client, e.Type, e.Number)
		}
		o := &ops[c.op]
		if err := same(o, e); err != nil {
			return nil, err
		}
		c.open, c.retired = false, e.Type == Info
		o.Type, o.Output, o.Found, o.Error, o.ReturnTimeNs = e.Type, e.Output, e.Found, e.Error, e.TimeNs
		if e.Node != "" {
			o.Node = e.Node
		}
		if e.Type != Info {
			o.Return = e.Number
		}
	}
	return ops, nil
}

// same tells whether a completion belongs to the operation that is in flight; what it leaves out is not compared.
func same(o *Operation, e *Event) error {
	for _, f := range []struct{ name, invoked, completed string }{
		{"op", o.Op, e.Op}, {"key", o.Key, e.Key}, {"input", o.Input, e.Input}, {"expect", o.Expect, e.Expect},
	} {
		if f.completed != "" && f.completed != f.invoked {
			return fmt.Errorf("%w: client %s invoked %s %q at event %d and reports %s of %s %q at event %d", ErrBroken,
				e.Client, f.name, f.invoked, o.Call, e.Type, f.name, f.completed, e.Number)
		}
	}
	return nil
}

func brokenRecord(e *Event) error {
	if e.Error == "" {
		return ErrBroken
	}
	// The text comes from ParseRecords and names ErrBroken already.
	return errText{e.Error}
}

// errText is an error that was stored as text and is still one of ErrBroken.
type errText struct{ text string }

func (e errText) Error() string        { return e.text }
func (e errText) Is(target error) bool { return target == ErrBroken }
