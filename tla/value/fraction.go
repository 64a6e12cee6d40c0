package value

import "math/big"

// Fraction is a number of a log that is no integer, such as a date. TLA+ as it is checked has no such numbers: it may be carried
// along, and compared with others of its kind, and all else fails. TLC takes the integer before the point for it.
type Fraction struct {
	text  string
	place string
	n     *big.Rat
}

// NewFraction is a number that is written so at a place of a log.
func NewFraction(n *big.Rat, text, place string) *Fraction { return &Fraction{text, place, n} }

func (f *Fraction) Fingerprint() uint64 { return hashText(seedFraction, f.n.RatString()) }
func (f *Fraction) String() string      { return f.text }
