// Package liveness finds behaviours that break a temporal property. A Formula is made into an Automaton, a Graph records which
// atoms of formulas are true in each step between states, and a Search looks in the product of both for a fair cycle. The package
// knows nothing of expressions: its caller evaluates atoms.
package liveness

// Fairness is WF_v(A) or SF_v(A): if <<A>>_v is enabled forever, or ever again, it happens ever again.
type Fairness struct {
	Enabled int // the atoms of the formula
	Happens int
	Strong  bool
}

// Connective is the outermost connective of a temporal formula whose negations stand only at the atoms.
type Connective uint8

const (
	truth Connective = iota
	falsity
	Letter    // a formula of a state or of a step
	notLetter // its negation
	Both
	Either
	until    // a U b: b comes true, and a holds until then
	releases // a R b: b holds until a and b do, or forever
)

// Formula is a formula about behaviours in negation normal form.
type Formula struct {
	Connective
	Atom int
	a, b *Formula
}

var (
	Always  = &Formula{Connective: truth}
	Never   = &Formula{Connective: falsity}
	opposed = map[Connective]Connective{Both: Either, Either: Both, until: releases, releases: until}
)

// Henceforth is []f.
func Henceforth(f *Formula) *Formula { return &Formula{Connective: releases, a: Never, b: f} }

// Eventually is <>f.
func Eventually(f *Formula) *Formula { return &Formula{Connective: until, a: Always, b: f} }

// Join is the conjunction or disjunction of two formulas, as how says.
func Join(how Connective, a, b *Formula) *Formula {
	zero, one := Never, Always
	if how == Either {
		zero, one = Always, Never
	}
	switch {
	case a == zero || b == zero:
		return zero
	case a == one:
		return b
	case b == one:
		return a
	}
	return &Formula{Connective: how, a: a, b: b}
}

// Not is the negation.
func (f *Formula) Not() *Formula {
	switch f.Connective {
	case truth:
		return Never
	case falsity:
		return Always
	case Letter:
		return &Formula{Connective: notLetter, Atom: f.Atom}
	case notLetter:
		return &Formula{Connective: Letter, Atom: f.Atom}
	}
	return &Formula{Connective: opposed[f.Connective], a: f.a.Not(), b: f.b.Not()}
}

// When says what an atom of a temporal formula is about, and so when it is evaluated.
type When uint8

const (
	OfState    When = iota
	OfStep          // it has primes
	OfExpanded      // it asks how far the check is (TLCGet), which counts once the successors of the state are known
)

// Restricts reports whether a formula may be false of all behaviours that begin as some finite one does.
func (f *Formula) Restricts() bool {
	switch f.Connective {
	case falsity, Letter, notLetter:
		return true
	case Both:
		return f.a.Restricts() || f.b.Restricts()
	case Either:
		return f.a.Restricts() && f.b.Restricts()
	case until:
		return f.a != Always && f.a.Restricts() && f.b.Restricts()
	case releases:
		return f.b.Restricts()
	}
	return false
}

// EachAtom calls know for each atom of a formula, until it returns an error.
func (f *Formula) EachAtom(know func(atom int) error) error {
	switch f.Connective {
	case truth, falsity:
		return nil
	case Letter, notLetter:
		return know(f.Atom)
	}
	if err := f.a.EachAtom(know); err != nil {
		return err
	}
	return f.b.EachAtom(know)
}
