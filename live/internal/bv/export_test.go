package bv

import "math/rand"

// RandomCondition is a random expression of width 1, for tests outside of the package.
func RandomCondition(b *Builder, r *rand.Rand, widths []uint8, depth int) *Expr {
	return randomTerm(r, widths, 1, depth).build(b, make([]uint64, len(widths)))
}

// RandomValues are random values of inputs.
func RandomValues(r *rand.Rand, widths []uint8) []uint64 { return randomInputs(r, widths) }
