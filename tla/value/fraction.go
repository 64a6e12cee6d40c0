package value

import "math/big"

// Fraction is a number in a log that is not an integer, such as a date. The checked part of TLA+ has no such numbers: a
// Fraction may be carried along and compared with other Fractions, and all other operations fail. TLC truncates it to
// an integer instead.
type Fraction struct {
	text  string
	place string
	n     *big.Rat
}

// NewFraction makes a Fraction of n, which a log spells as text at place.
func NewFraction(n *big.Rat, text, place string) *Fraction { return &Fraction{text, place, n} }

func (f *Fraction) Fingerprint() uint64 { return hashText(seedFraction, f.n.RatString()) }
func (f *Fraction) String() string      { return f.text }
