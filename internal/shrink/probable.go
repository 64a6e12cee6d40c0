package shrink

import (
	"cmp"
	"slices"
)

// needs says, for things of a run by name, how likely each is to be needed for the failure: 1 if it was tried alone and the failure was gone. The
// method is probabilistic delta debugging (Wang, Shen, Chen, Xiong and Zhang, "Probabilistic Delta Debugging", ESEC/FSE 2021): what
// is tried next is what is likely to take away most, and each result tells of all things that were tried together.
type needs map[string]float64

// Few things of a run are needed, however many there are.
const (
	neededThings = 3.0
	mostNeeded   = 0.25 // how likely any thing is to be needed before something is known of it
)

// likelihood returns the probability that one of n things is needed.
func (p needs) likelihood(name string, n int) float64 {
	if v, ok := p[name]; ok {
		return v
	}
	return min(mostNeeded, neededThings/float64(n))
}

// choose names the things, of those that there are, that are to be tried without next; none if each was tried alone. They stand in the order
// of the list.
func (p needs) choose(all []string) []string {
	open := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return p.likelihood(name, len(all)) >= 1 })
	slices.SortStableFunc(open, func(a, b string) int { return cmp.Compare(p.likelihood(a, len(all)), p.likelihood(b, len(all))) })
	best, gain, none := 0, 0.0, 1.0
	for i, name := range open {
		none *= 1 - p.likelihood(name, len(all)) // that none of the first i+1 is needed
		if expected := float64(i+1) * none; expected > gain {
			best, gain = i+1, expected
		}
	}
	if best == 0 && len(open) > 0 {
		best = 1
	}
	chosen := map[string]bool{}
	for _, name := range open[:best] {
		chosen[name] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !chosen[name] })
}

// failed notes that the failure was gone without some things of all.
func (p needs) failed(gone, all []string) {
	none := 1.0
	before := make([]float64, len(gone))
	for i, name := range gone {
		before[i] = p.likelihood(name, len(all))
		none *= 1 - before[i]
	}
	for i, name := range gone {
		p[name] = before[i] / (1 - none)
		if len(gone) == 1 || p[name] > 1-1e-9 {
			p[name] = 1
		}
	}
}

// copied returns a copy, to which further assumptions can be added.
func (p needs) copied() needs {
	c := make(needs, len(p))
	for name, v := range p {
		c[name] = v
	}
	return c
}

// lessen removes things, all at once if it can, until each one left has been tried alone. all lists the names of the present ones, and without returns the
// Case without some of them. If inVain is not 0, it gives up after that many failed tries in a row.
func (w *work) lessen(all func() []string, without func(gone map[string]bool) Case, good func(*Run) bool, inVain int) {
	if everything := all(); len(everything) > 1 {
		w.any([]Case{without(set(everything))}, good)
	}
	p := needs{}
	for vain := 0; !w.over() && (inVain == 0 || vain < inVain); {
		now := all()
		// With several workers, what would be tried after a failure is tried at once: the result does not depend on their number.
		var tries [][]string
		supposed := p.copied()
		for range max(w.Workers, 1) {
			if inVain > 0 && vain+len(tries) == inVain {
				break
			}
			gone := supposed.choose(now)
			if len(gone) == 0 {
				break
			}
			tries = append(tries, gone)
			supposed.failed(gone, now)
		}
		if len(tries) == 0 {
			return
		}
		led := w.first(len(tries), func(i int) Case { return without(set(tries[i])) }, good)
		for i := range tries {
			if i == led {
				vain = 0
				break
			}
			p.failed(tries[i], now)
			vain++
		}
	}
}

func set(names []string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}
