package bv

// What bounds the search of repair: beyond it, the SAT solver is likely to be faster.
const (
	repairRounds = 12
	repairTrials = 200
	repairDepth  = 40      // how far a demand is carried
	repairSteps  = 1000    // how often, over operators, in a round
	repairNodes  = 200_000 // what all trials evaluate
)

// repairer repairs one constraint after the other. What the constraint demands is carried from its root to an input: each
// operator on the way is inverted with the current values of its other operands (Niemetz, Preiner and Biere, "Propagation based
// local search for bit-precise reasoning", FMSD 2017). Unlike there, a demand is for some bits only, or for a range, and becomes
// a part of the input's domain, so that what was repaired is not broken by the next repair as long as other inputs stay.
type repairer struct {
	s      *Solver
	rest   []*Expr   // the constraints that domains do not stand for
	broken *Expr     // the one that is repaired
	now    evaluator // values in the model
	trial  evaluator // values with a change
	trials int
	steps  int
	best   struct {
		field  uint64
		domain domain
		value  uint64
		failed int // how many constraints do not hold then
	}
}

// repair changes s.model within the domains until the rest of the constraints hold, and reports whether they do.
func (s *Solver) repair(rest []*Expr) bool {
	r := &s.repairer
	r.s, r.rest = s, rest
	nodes := 0
	for _, e := range rest {
		nodes += int(min(e.size, repairNodes))
	}
	r.trials = min(repairTrials, repairNodes/max(nodes, 1))
	for round := 0; round < repairRounds && r.trials > 0; round++ {
		r.now.beginRound(s.model)
		r.broken = nil
		for _, e := range rest {
			if r.now.value(e) == 0 {
				r.broken = e
				break
			}
		}
		if r.broken == nil {
			return true
		}
		r.best.failed = len(rest) + 1
		r.steps = repairSteps
		r.carry(r.broken, 1, 1, repairDepth)
		if r.best.failed > len(rest) {
			return false
		}
		s.fields[r.best.field], s.model[r.best.field] = r.best.domain, r.best.value
		if r.best.failed == 0 {
			return true
		}
	}
	return false
}

// try gives an input the nearest value of a smaller domain, and remembers the change if it repairs the constraint and breaks
// fewer others than the best one. It reports whether the search is over.
func (r *repairer) try(field uint64, d domain) bool {
	r.trials--
	old := r.s.model[field]
	if v, found := d.nearest(old); found == Sat && v != old {
		r.s.model[field] = v
		r.trial.beginRound(r.s.model)
		if r.trial.value(r.broken) != 0 {
			failed := 0
			for _, e := range r.rest {
				if r.trial.value(e) == 0 {
					if failed++; failed >= r.best.failed {
						break
					}
				}
			}
			if failed < r.best.failed {
				r.best.field, r.best.domain, r.best.value, r.best.failed = field, d, v, failed
			}
		}
		r.s.model[field] = old
	}
	return r.best.failed == 0 || r.trials <= 0
}

// carry tries changes of inputs that give e, in the bits of a mask, the value v. It reports whether the search is over.
func (r *repairer) carry(e *Expr, mask, v uint64, depth int) bool {
	mask &= Mask(e.Width)
	v &= mask
	r.steps--
	switch {
	case r.trials <= 0 || r.steps <= 0:
		return true
	case depth == 0 || e.Op == Const || mask == 0:
		return false
	case e.Op == Input:
		d := r.s.fields[e.Bits]
		if (d.value^v)&d.known&mask != 0 {
			return false
		}
		d.known |= mask
		d.value |= v
		return r.try(e.Bits, d)
	}
	depth--
	a, b := e.A, e.B
	x := r.now.value(a)
	// Arithmetic carries from low bits to high ones: what it gives in some bits needs all below them.
	whole := func() (all, value uint64) {
		if mask&(mask+1) == 0 {
			return mask, v
		}
		return Mask(e.Width), v | r.now.value(e)&^mask
	}
	switch e.Op {
	case Not:
		return r.carry(a, mask, ^v, depth)
	case Neg:
		mask, v := whole()
		return r.carry(a, mask, -v, depth)
	case Extract:
		return r.carry(a, mask<<e.Bits, v<<e.Bits, depth)
	case ZExt:
		return v>>a.Width == 0 && r.carry(a, mask, v, depth)
	case SExt:
		if above := mask >> (a.Width - 1); above > 1 {
			sign := truth(v>>(a.Width-1) != 0)
			if v>>(a.Width-1) != above*sign {
				return false
			}
			mask |= signBit(a.Width)
			v |= sign << (a.Width - 1)
		}
		return r.carry(a, mask, v, depth)
	case Ite:
		if x != 0 && r.carry(b, mask, v, depth) || x == 0 && r.carry(e.C, mask, v, depth) {
			return true
		}
		return r.carry(a, 1, x^1, depth)
	}
	y := r.now.value(b)
	switch e.Op {
	case Add:
		mask, v := whole()
		return r.carry(a, mask, v-y, depth) || r.carry(b, mask, v-x, depth)
	case Sub:
		mask, v := whole()
		return r.carry(a, mask, v+y, depth) || r.carry(b, mask, x-v, depth)
	case Mul:
		mask, v := whole()
		return y&1 != 0 && r.carry(a, mask, v*inverseOdd(y), depth) || x&1 != 0 && r.carry(b, mask, v*inverseOdd(x), depth)
	case UDiv:
		mask, v := whole()
		return mask == Mask(e.Width) && (y != 0 && v <= mask/y && r.carry(a, mask, v*y+x%y, depth) || v != 0 && r.carry(b, mask, x/v, depth))
	case URem:
		mask, v := whole()
		return mask == Mask(e.Width) && (y > v && r.carry(a, mask, x-x%y+v, depth) || x > v && r.carry(b, mask, x-v, depth))
	case Xor:
		return r.carry(a, mask, v^y, depth) || r.carry(b, mask, v^x, depth)
	case And: // where the other operand is 0, any bit will do
		return v&^y == 0 && r.carry(a, mask&y, v, depth) || v&^x == 0 && r.carry(b, mask&x, v, depth)
	case Or:
		zeros := mask &^ v
		return zeros&y == 0 && r.carry(a, mask&^y, v, depth) || zeros&x == 0 && r.carry(b, mask&^x, v, depth)
	case Shl:
		return y < uint64(e.Width) && r.carry(a, mask>>y, v>>y, depth) || r.amounts(e, x, mask, v, depth)
	case LShr, AShr:
		return y < uint64(e.Width) && r.carry(a, mask<<y, v<<y, depth) || r.amounts(e, x, mask, v, depth)
	case Concat:
		return r.carry(a, mask>>b.Width, v>>b.Width, depth) || r.carry(b, mask, v, depth)
	case Eq:
		if v != 0 {
			return r.carry(a, Mask(a.Width), y, depth) || r.carry(b, Mask(b.Width), x, depth)
		}
		return r.differ(a, y, depth) || r.differ(b, x, depth)
	case Ult:
		if v != 0 {
			return r.below(a, y, true, depth) || r.above(b, x, true, depth)
		}
		return r.above(a, y, false, depth) || r.below(b, x, false, depth)
	case Ule:
		if v != 0 {
			return r.below(a, y, false, depth) || r.above(b, x, false, depth)
		}
		return r.above(a, y, true, depth) || r.below(b, x, true, depth)
	case Slt, Sle:
		for _, d := range [...]uint64{0, 1, ^uint64(0)} { // at the border, and next to it
			w := a.Width
			if e.apply((y+d)&Mask(w), y, 0) == v && r.carry(a, Mask(w), y+d, depth) || e.apply(x, (x+d)&Mask(w), 0) == v && r.carry(b, Mask(w), x+d, depth) {
				return true
			}
		}
	}
	return false
}

// differ makes e another value than v.
func (r *repairer) differ(e *Expr, v uint64, depth int) bool {
	if input, low := e.field(); input != nil {
		d := r.s.fields[input.Bits]
		d.except = append(d.except, pattern{Mask(e.Width) << low, v << low}) // in place, until another one is tried
		return r.try(input.Bits, d)
	}
	return r.carry(e, Mask(e.Width), v+1, depth) || r.carry(e, Mask(e.Width), v-1, depth)
}

// below makes e less than v, or at most v.
func (r *repairer) below(e *Expr, v uint64, strict bool, depth int) bool {
	if strict {
		if v == 0 {
			return false
		}
		v--
	}
	if input, low := e.field(); input != nil && uint64(e.Width)+low == uint64(input.Width) {
		d := r.s.fields[input.Bits]
		d.high = min(d.high, v<<low|(1<<low-1))
		return r.try(input.Bits, d)
	}
	return r.carry(e, Mask(e.Width), v, depth) || r.carry(e, Mask(e.Width), 0, depth)
}

// above makes e more than v, or at least v.
func (r *repairer) above(e *Expr, v uint64, strict bool, depth int) bool {
	if strict {
		if v == Mask(e.Width) {
			return false
		}
		v++
	}
	if input, low := e.field(); input != nil && uint64(e.Width)+low == uint64(input.Width) {
		d := r.s.fields[input.Bits]
		d.low = max(d.low, v<<low)
		return r.try(input.Bits, d)
	}
	return r.carry(e, Mask(e.Width), v, depth) || r.carry(e, Mask(e.Width), Mask(e.Width), depth)
}

// amounts tries all amounts of a shift that give the value.
func (r *repairer) amounts(e *Expr, x, mask, v uint64, depth int) bool {
	for k := uint64(0); k <= uint64(e.Width) && k <= Mask(e.Width); k++ {
		if (e.apply(x, k, 0)^v)&mask == 0 && r.carry(e.B, Mask(e.Width), k, depth) {
			return true
		}
	}
	return false
}

// inverseOdd is the number whose product with an odd one is 1, modulo 2^64, by Newton's iteration: each step doubles the bits that are right.
func inverseOdd(x uint64) uint64 {
	y := x // right in 3 bits
	for range 5 {
		y *= 2 - x*y
	}
	return y
}
