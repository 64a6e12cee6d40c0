package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Pair pairs each invoke with the completion of the same client, and returns operations in the order of the invokes. Events are ordered by
// Number. An operation whose completion is Info or missing has Return Pending; its client must not continue under the same name, since
// the operation may still be in flight. The error wraps ErrBuffered if events share a number, and ErrBroken if events contradict each
// other; both name the place.
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
		if sorted[i].Type == Invoke {
			invokes++
		}
	}
	p := NewPairing(invokes)
	for i := range sorted {
		p.Add(&sorted[i])
	}
	return p.Operations()
}

// errUnordered: a Pairing got an event whose number is below that of the one before.
var errUnordered = errors.New("events out of order")

// Pairing is Pair for events that are added one by one in the order of their numbers. It does not keep them.
type Pairing struct {
	ops     []Operation
	each    func(number int, o *Operation) // if set, no operation is kept
	invoked int
	clients map[string]*flight
	any     bool   // an event was added
	last    uint64 // its number
	client  string // whose event it was
	// The first errors of three kinds. An unreadable record, or one whose order is unknown, explains more than records that contradict each other.
	unordered, unread, contradiction error
}

// NewPairing returns a Pairing with room for about so many operations.
func NewPairing(operations int) *Pairing {
	return &Pairing{ops: make([]Operation, 0, operations), clients: map[string]*flight{}}
}

// NewPairingEach returns a Pairing that keeps no operation, and calls a function for each as soon as its completion is known: with its number, from 0 on
// in the order of the invokes. Operations without a completion come last, when Operations is called, which then returns none. The function may use the
// operation until it returns. An error of the Pairing is known at the end only.
func NewPairingEach(each func(number int, o *Operation)) *Pairing {
	return &Pairing{each: each, clients: map[string]*flight{}}
}

// flight is the operation that a client has in flight.
type flight struct {
	number  int       // of the operation
	own     Operation // itself, where the Pairing keeps none
	open    bool      // invoked, not completed
	retired bool      // after an info
}

// Add adds one event.
func (p *Pairing) Add(e *Event) {
	switch {
	case p.unordered != nil:
		return
	case p.any && e.Number < p.last:
		p.unordered = fmt.Errorf("%w: event %d comes after %d", errUnordered, e.Number, p.last)
		return
	case p.unread != nil:
	case e.Type == Broken:
		p.unread = fmt.Errorf("event %d: %w", e.Number, brokenRecord(e))
	case p.any && e.Number == p.last:
		p.unread = fmt.Errorf("%w: the records of clients %s and %s came in one write (event %d); "+
			"write each record separately and flush it", ErrBuffered, p.client, e.Client, e.Number)
	case p.contradiction == nil:
		p.contradiction = p.pair(e)
	}
	p.any, p.last, p.client = true, e.Number, e.Client
}

// Operations returns the operations of all events. The error is one of Pair's, or says that the events were not in order.
func (p *Pairing) Operations() ([]Operation, error) {
	if err := cmp.Or(p.unordered, p.unread, p.contradiction); err != nil {
		return nil, err
	}
	if p.each != nil {
		var open []*flight
		for _, c := range p.clients {
			if c.open {
				open = append(open, c)
			}
		}
		slices.SortFunc(open, func(a, b *flight) int { return cmp.Compare(a.number, b.number) })
		for _, c := range open {
			p.each(c.number, &c.own)
		}
	}
	return p.ops, nil
}

// operation is the one that a client has in flight, or had last.
func (p *Pairing) operation(c *flight) *Operation {
	if p.each != nil {
		return &c.own
	}
	return &p.ops[c.number]
}

func (p *Pairing) pair(e *Event) error {
	c := p.clients[e.Client]
	if c == nil {
		c = &flight{}
		p.clients[e.Client] = c
	}
	if c.retired {
		return fmt.Errorf("%w: client %s continues at event %d, but the operation it invoked at event %d ended with info and may "+
			"still be in flight; continue as a new client (such as %s.1)", ErrBroken, e.Client, e.Number,
			p.operation(c).Call, e.Client)
	}
	if e.Type == Invoke {
		if c.open {
			return fmt.Errorf("%w: client %s invokes %s at event %d while its %s of event %d is in flight; "+
				"a client can have only one operation in flight, and two drivers must not use the same client name", ErrBroken,
				e.Client, e.Op, e.Number, p.operation(c).Op, p.operation(c).Call)
		}
		c.number, c.open = p.invoked, true
		p.invoked++
		o := Operation{Client: e.Client, Op: e.Op, Key: e.Key, Input: e.Input, Expect: e.Expect, Group: e.Group,
			NoInput: e.NoInput, NoExpect: e.NoExpect, Node: e.Node, Type: Info, Call: e.Number, CallTimeNs: e.TimeNs, Return: Pending}
		if p.each != nil {
			c.own = o
		} else {
			p.ops = append(p.ops, o)
		}
		return nil
	}
	if !c.open {
		return fmt.Errorf("%w: client %s reports %s at event %d without an operation in flight; write "+
			"invoke before the request is sent", ErrBroken, e.Client, e.Type, e.Number)
	}
	o := p.operation(c)
	if err := same(o, e); err != nil {
		return err
	}
	c.open, c.retired = false, e.Type == Info
	o.Type, o.Output, o.Found, o.Error, o.ReturnTimeNs = e.Type, e.Output, e.Found, e.Error, e.TimeNs
	if e.Node != "" {
		o.Node = e.Node
	}
	if e.Type != Info {
		o.Return = e.Number
	}
	if p.each != nil {
		p.each(c.number, o)
		c.own = Operation{Call: o.Call}
	}
	return nil
}

// same checks that a completion belongs to the operation in flight. Fields that the completion leaves out are not compared.
func same(o *Operation, e *Event) error {
	for _, f := range []struct{ name, invoked, completed string }{
		{"op", o.Op, e.Op}, {"key", o.Key, e.Key}, {"input", o.Input, e.Input}, {"expect", o.Expect, e.Expect},
		{"group", o.Group, e.Group},
	} {
		if f.completed != "" && f.completed != f.invoked {
			return fmt.Errorf("%w: client %s invoked %s %q at event %d but reports %s of %s %q at event %d", ErrBroken,
				e.Client, f.name, f.invoked, o.Call, e.Type, f.name, f.completed, e.Number)
		}
	}
	return nil
}

func brokenRecord(e *Event) error {
	if e.Error == "" {
		return ErrBroken
	}
	// The text comes from parseRecords and names ErrBroken already.
	return errText{e.Error}
}

// errText is an error that was stored as text and is still one of ErrBroken.
type errText struct{ text string }

func (e errText) Error() string        { return e.text }
func (e errText) Is(target error) bool { return target == ErrBroken }
