package tla

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// use is the use of an operator while its body is compiled: at is nil where the body is compiled once for all uses.
type use struct {
	name    string
	at      *where
	special *special // of a recursive operator
}

// entry is one call of a recursive operator, as it stands in a text.
type entry struct {
	special *special
	at      *where
}

// file is the module that an expression stands in, as it was reached by way of the operators around.
func (c *compiler) file(p place) *source {
	s := p.scope.file()
	if c.via == nil || s == nil {
		return s
	}
	if c.reached == nil {
		c.reached = map[*source]*source{}
	}
	if c.reached[s] == nil {
		reached := *s
		reached.via = c.via
		c.reached[s] = &reached
	}
	return c.reached[s]
}

// using notes that an operator's body is compiled for a use. What it gives ends that.
func (c *compiler) using(name string, at *where, s *special) (end func()) {
	via, reached := c.via, c.reached
	c.via, c.reached = &use{name, at, s}, nil
	return func() { c.via, c.reached = via, reached }
}

// within is using, for a definition. What the configuration names is used at its own place, which says nothing.
func (c *compiler) within(d *def, at *where) (end func()) {
	if at.pos == d.at.pos && at.source != nil && d.at.source != nil && at.source.file == d.at.source.file {
		at = nil
	}
	return c.using(d.name, at, nil)
}

// mostShown is how many operators an error names that led to it.
const mostShown = 10

// chain names the operators by which a place was reached, from the inside out. top is the frame of the recursive operator that is evaluated.
func chain(at where, top *ctx) []string {
	var list []string
	last, times, count := "", 0, 0
	flush := func() {
		switch {
		case times == 0 || len(list) == mostShown:
		case times == 1:
			list = append(list, last)
		default:
			list = append(list, fmt.Sprintf("%s, %d times", last, times))
		}
		times = 0
	}
	add := func(format string, args ...any) {
		if count++; len(list) == mostShown {
			return
		}
		if s := fmt.Sprintf(format, args...); s != last {
			flush()
			last = s
		}
		times++
	}
	for s := at.source; s != nil && s.via != nil; {
		u := s.via
		for u.special != nil && top != nil && top.call.special != u.special {
			top = top.caller
		}
		switch {
		case u.special != nil && top != nil:
			add("in %s, used at %s", u.name, top.call.at)
			s, top = top.call.at.source, top.caller
		case u.at == nil || u.at.source == nil:
			add("in %s", u.name)
			s = nil
		default:
			add("in %s, used at %s", u.name, u.at)
			s = u.at.source
		}
	}
	flush()
	if len(list) == mostShown {
		list = append(list, fmt.Sprintf("of %d operators in all", count))
	}
	return list
}

// explained is an error of an evaluation, with the place that it came to.
func (ev *Evaluator) explained(e *value.Error) error {
	at := ev.x.m.at
	if in := ev.TLC.inside; in != nil {
		at = in.at
	}
	if at == nil {
		return e
	}
	err := errorAt(*at, e.Message)
	if err, ok := err.(*syntax.Error); ok {
		err.Chain = chain(*at, ev.TLC.top)
	}
	if e.Asserted != "" {
		return &assertion{err, e.Asserted}
	}
	return err
}

// assertion is the error of an Assert whose condition is false.
type assertion struct {
	error
	said string
}

func (a *assertion) Unwrap() error { return a.error }

// within evaluates what works on a machine of its own, so that an error has its place.
func (m *machine) within(eval func() value.Value) value.Value {
	around := m.tlc.inside
	m.tlc.inside = m
	v := eval()
	m.tlc.inside = around
	return v
}

// interrupted is what a panic has that ends an evaluation without an error.
type interrupted struct{}

// tick stands where evaluations go around, so that none goes on for long after the check that it is part of was stopped.
func (m *machine) tick() {
	t := m.tlc
	if t.ticks++; t.ticks&0xfff == 0 && t.pause != nil && t.pause() {
		panic(interrupted{})
	}
}
