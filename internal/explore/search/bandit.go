package search

import (
	"cmp"
	"math"
	"slices"
)

// banditMemory is how many mutants it takes until the result of one has lost all but 1/e of its weight. What is new becomes rarer in the course of a campaign,
// and other changes find it.
const banditMemory = 1024

// bandit chooses among arms by Thompson sampling: it draws a rate of success for each arm from what is known of it, and prefers the arm whose draw is the
// highest (Thompson, "On the likelihood that one unknown probability exceeds another in view of the evidence of two samples", Biometrika 1933). AFL's
// mutations were chosen so by Karamcheti, Mann and Rosenberg, "Adaptive Grey-Box Fuzz-Testing with Thompson Sampling", AISec 2018. Old results lose their
// weight (Raj and Kalyani, "Taming Non-stationary Bandits: A Bayesian Approach", arXiv 1707.09727, 2017).
//
// Why not UCB1 (Auer, Cesa-Bianchi and Fischer, 2002): while the results of several runs are outstanding, it gives all of these
// runs the same arm, and draws do not. Why not EXP3 (Auer et al., 2002): it guards against an adversary by a fixed share of
// choices at random, and results here are noisy, not hostile. Why not the swarms of particles of MOpt (Lyu et al., USENIX
// Security 2019): each swarm needs a round of runs of its own, and campaigns here are short.
type bandit []arm

// arm has sums of results, older ones with less weight.
type arm struct {
	name         string
	paid, failed float64
}

// order lists the arms that fit, by their draws.
func (b bandit) order(d *dice, fits func(i int) bool) []int {
	draws := make([]float64, len(b))
	var list []int
	for i := range b {
		if fits(i) {
			draws[i] = d.beta(1+b[i].paid, 1+b[i].failed)
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(i, k int) int { return cmp.Compare(draws[k], draws[i]) })
	return list
}

// learn takes in whether a mutant paid, and the arms that made it, one as often as it was chosen.
func (b bandit) learn(names []string, paid bool) {
	for i := range b {
		a := &b[i]
		a.paid, a.failed = a.paid*(1-1.0/banditMemory), a.failed*(1-1.0/banditMemory)
		for _, name := range names {
			switch {
			case name != a.name:
			case paid:
				a.paid++
			default:
				a.failed++
			}
		}
	}
}

// beta draws from the beta distribution. Both parameters are 1 at least.
func (d *dice) beta(a, b float64) float64 {
	x, y := d.gamma(a), d.gamma(b)
	return x / (x + y)
}

// gamma draws from the gamma distribution of a shape that is 1 at least (Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS
// 2000).
func (d *dice) gamma(shape float64) float64 {
	k := shape - 1.0/3
	c := 1 / math.Sqrt(9*k)
	for {
		x := d.normal()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-d.unit()) < x*x/2+k-k*v+k*math.Log(v) {
			return k * v
		}
	}
}

// normal draws from the standard normal distribution (Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958).
func (d *dice) normal() float64 {
	return math.Sqrt(-2*math.Log(1-d.unit())) * math.Cos(2*math.Pi*d.unit())
}
