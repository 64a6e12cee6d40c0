package bv

import "math/bits"

// domain combines the constraints on one input: some bits are known, the number lies in a range, and some patterns are
// excluded. Each part represents its constraints exactly.
type domain struct {
	known, value uint64 // bits that are known, and what they are; bits above the width are known zeros
	low, high    uint64 // both included
	except       []pattern
	empty        bool
}

// pattern is a set of numbers: those that have value under mask.
type pattern struct{ mask, value uint64 }

// narrow puts together what constraints say of single inputs, and gives the rest of them. Unsat means that an input has no value
// left. Sat means that s.model has for each input the value nearest to the current one of those that are left; the rest may hold
// or not. Unknown means that a search for such a value took too long.
func (s *Solver) narrow(atoms []*Expr) (rest []*Expr, result Result) {
	if len(s.fields) != len(s.widths) {
		s.fields = make([]domain, len(s.widths))
	}
	for i, w := range s.widths {
		d := &s.fields[i]
		*d = domain{known: ^Mask(w), high: Mask(w), except: d.except[:0]}
	}
	for _, e := range atoms {
		s.inputsOf(e) // which checks them
		if !s.absorb(e, true) {
			rest = append(rest, e)
		}
	}
	s.model = append(s.model[:0], s.seed...)
	result = Sat
	for i := range s.fields {
		v, found := s.fields[i].nearest(s.seed[i])
		if found == Unsat {
			return nil, Unsat
		}
		if found == Unknown {
			result = Unknown
		}
		s.model[i] = v
	}
	return rest, result
}

// absorb makes a constraint, or its opposite, a part of domains. It reports whether they stand for all of it; they may stand for a part.
func (s *Solver) absorb(e *Expr, holds bool) bool {
	switch {
	case e.Op == Not:
		return s.absorb(e.A, !holds)
	case e.Op == Eq && e.B.Op == Const && holds:
		return s.force(e.A, e.B.Bits)
	case e.Op == Eq && e.B.Op == Const:
		if field, shift := e.A.field(); field != nil {
			d := &s.fields[field.Bits]
			d.except = append(d.except, pattern{Mask(e.A.Width) << shift, e.B.Bits << shift})
			return true
		}
	case e.Op == Ult && !holds:
		return s.bound(e.B, e.A, false)
	case e.Op == Ule && !holds:
		return s.bound(e.B, e.A, true)
	case e.Op == Ult:
		return s.bound(e.A, e.B, true)
	case e.Op == Ule:
		return s.bound(e.A, e.B, false)
	case e.Op == Slt && holds && e.B.Op == Const && e.B.Bits&signBit(e.B.Width) != 0: // x < c < 0
		return s.bound(s.builder.Const(signBit(e.B.Width), e.B.Width), e.A, false) && s.bound(e.A, e.B, true)
	case e.Op == Sle && holds && e.A.Op == Const && e.A.Bits&signBit(e.A.Width) == 0: // 0 <= c <= x
		return s.bound(e.A, e.B, false) && s.bound(e.B, s.builder.Const(signBit(e.A.Width), e.A.Width), true)
	case e.Width == 1:
		return s.force(e, truth(holds))
	}
	return false
}

// field is the input that an expression is bits of, and the number of the lowest of these.
func (e *Expr) field() (input *Expr, low uint64) {
	switch {
	case e.Op == Input:
		return e, 0
	case e.Op == Extract && e.A.Op == Input:
		return e.A, e.Bits
	}
	return nil, 0
}

// force makes domains such that e has a value, if it only moves bits of inputs.
func (s *Solver) force(e *Expr, v uint64) bool {
	if input, low := e.field(); input != nil {
		d := &s.fields[input.Bits]
		mask, v := Mask(e.Width)<<low, v<<low
		if (d.value^v)&d.known&mask != 0 {
			d.empty = true
		}
		d.known |= mask
		d.value |= v
		return true
	}
	switch e.Op {
	case Const:
		return v == e.Bits
	case Not:
		return s.force(e.A, ^v&Mask(e.Width))
	case Concat:
		high := s.force(e.A, v>>e.B.Width)
		return s.force(e.B, v&Mask(e.B.Width)) && high
	case ZExt, SExt:
		inner := v & Mask(e.A.Width)
		return e.apply(inner, 0, 0) == v && s.force(e.A, inner)
	}
	return false
}

// bound makes domains such that x < y, or x <= y, if one is a constant and the other the high bits of an input.
func (s *Solver) bound(x, y *Expr, strict bool) bool {
	switch {
	case y.Op == Const:
		input, low := x.field()
		if input == nil || low+uint64(x.Width) != uint64(input.Width) {
			return false
		}
		d := &s.fields[input.Bits]
		most := y.Bits
		if strict {
			if most == 0 {
				d.empty = true
				return true
			}
			most--
		}
		d.high = min(d.high, most<<low|(1<<low-1))
		return true
	case x.Op == Const:
		input, low := y.field()
		if input == nil || low+uint64(y.Width) != uint64(input.Width) {
			return false
		}
		d := &s.fields[input.Bits]
		least := x.Bits
		if strict {
			if least == Mask(y.Width) {
				d.empty = true
				return true
			}
			least++
		}
		d.low = max(d.low, least<<low)
		return true
	}
	return false
}

// has reports whether a value is in the domain.
func (d *domain) has(v uint64) bool {
	if d.empty || v < d.low || v > d.high || v&d.known != d.value {
		return false
	}
	for _, p := range d.except {
		if v&p.mask == p.value {
			return false
		}
	}
	return true
}

// stepsMax is how many excluded patterns a search for a value goes past, in each direction, beyond the number that there are.
const stepsMax = 64

// nearest is the value of the domain that is nearest to v: Sat if there is one, Unsat if there is none, Unknown if the search was given up.
func (d *domain) nearest(v uint64) (uint64, Result) {
	if d.empty || d.low > d.high {
		return v, Unsat
	}
	if d.has(v) {
		return v, Sat
	}
	up, above := d.upward(max(v, d.low))
	down, below := d.downward(min(v, d.high))
	switch {
	case above == Sat && (below != Sat || up-v <= v-down):
		return up, Sat
	case below == Sat:
		return down, Sat
	case above == Unsat && below == Unsat:
		return v, Unsat
	}
	return v, Unknown
}

// upward is the least value of the domain from v on.
func (d *domain) upward(v uint64) (uint64, Result) {
	for range len(d.except) + stepsMax {
		u, ok := leastFrom(v, d.known, d.value)
		if !ok || u > d.high {
			return 0, Unsat
		}
		end, hit := u, false
		for _, p := range d.except {
			if u&p.mask == p.value {
				hit = true
				end = max(end, u|(p.mask&-p.mask-1)) // all numbers up to there are of the pattern
			}
		}
		if !hit {
			return u, Sat
		}
		if end >= d.high {
			return 0, Unsat
		}
		v = end + 1
	}
	return 0, Unknown
}

// downward is the greatest value of the domain up to v.
func (d *domain) downward(v uint64) (uint64, Result) {
	for range len(d.except) + stepsMax {
		u, ok := leastFrom(^v, d.known, ^d.value&d.known)
		if u = ^u; !ok || u < d.low {
			return 0, Unsat
		}
		end, hit := u, false
		for _, p := range d.except {
			if u&p.mask == p.value {
				hit = true
				end = min(end, u&^(p.mask&-p.mask-1))
			}
		}
		if !hit {
			return u, Sat
		}
		if end <= d.low {
			return 0, Unsat
		}
		v = end - 1
	}
	return 0, Unknown
}

// leastFrom is the least number from v on that has value under mask.
func leastFrom(v, mask, value uint64) (uint64, bool) {
	differs := (v ^ value) & mask
	if differs == 0 {
		return v, true
	}
	p := bits.Len64(differs) - 1
	if value>>p&1 != 0 { // more than v at the first bit that differs: below it, the least
		below := uint64(1)<<p - 1
		return v&^mask&^below | value, true
	}
	// Less than v there: a free bit above it must grow.
	free := ^mask & ^v &^ (uint64(1)<<p - 1)
	if free == 0 {
		return 0, false
	}
	bit := free & -free
	return (v&^mask|bit)&^(bit-1) | value, true
}
