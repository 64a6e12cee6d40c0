package eval

import (
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// file is the module that an expression is in, as it was reached by way of the operators around.
func (c *compiler) file(p place) *scope.Source {
	s := p.scope.File()
	if c.via == nil || s == nil {
		return s
	}
	if c.reached == nil {
		c.reached = map[*scope.Source]*scope.Source{}
	}
	if c.reached[s] == nil {
		reached := *s
		reached.Via = c.via
		c.reached[s] = &reached
	}
	return c.reached[s]
}

// using notes that an operator's body is compiled for a use. What it gives ends that.
func (c *compiler) using(name string, at *scope.Where, s *special) (end func()) {
	via, reached := c.via, c.reached
	c.via, c.reached = &scope.Use{Name: name, At: at}, nil
	if s != nil {
		c.via.Special = s
	}
	return func() { c.via, c.reached = via, reached }
}

// within is using, for a definition. What the configuration names is used at its own place, which says nothing.
func (c *compiler) within(d *scope.Def, at *scope.Where) (end func()) {
	if at.Pos == d.At.Pos && at.Source != nil && d.At.Source != nil && at.Source.File == d.At.Source.File {
		at = nil
	}
	return c.using(d.Name, at, nil)
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
	err := scope.ErrorAt(*at, e.Message)
	if err, ok := err.(*syntax.Error); ok {
		var calls []scope.Call
		for x := ev.TLC.top; x != nil; x = x.caller {
			calls = append(calls, *x.call)
		}
		err.Chain = scope.Chain(*at, calls)
	}
	if e.Asserted != "" {
		return &Assertion{err, e.Asserted}
	}
	return err
}

// Assertion is the error of an Assert whose condition is false.
type Assertion struct {
	Err  error
	Said string
}

func (a *Assertion) Error() string { return a.Err.Error() }

func (a *Assertion) Unwrap() error { return a.Err }

// within evaluates what works on a machine of its own, so that an error has its place.
func (m *machine) within(eval func() value.Value) value.Value {
	around := m.tlc.inside
	m.tlc.inside = m
	v := eval()
	m.tlc.inside = around
	return v
}

// interrupted is the value of a panic that ends an evaluation without an error.
type interrupted struct{}

// tick is called wherever evaluations loop, so that none continues for long after the check that it is part of was stopped.
func (m *machine) tick() {
	t := m.tlc
	if t.Ticks++; t.Ticks&0xfff == 0 && (t.Pause != nil && t.Pause() || t.budget > 0 && t.Ticks >= t.budget) {
		panic(interrupted{})
	}
}

// pause ends the evaluation if the check that it is part of was stopped. It is for what takes long without a tick.
func (m *machine) pause() {
	if t := m.tlc; t.Pause != nil && t.Pause() {
		panic(interrupted{})
	}
}
