package records

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Confidence is the confidence level of the bounds that View computes.
const Confidence = 0.95

// Risk bounds the chance that the next run of a random tape shows something of a class that was not seen before.
//
// The runs of a holdout are of random tapes, from their boot, whatever the search has found. Each shows something new with a
// chance that is at least the present one, since what is known only grows. Let c be a number, and consider the runs from one that
// showed something new to the next. Both that none of the first m shows something, and that the sum of their chances is above c,
// happens for some m with a chance of at most exp(-c): the sum of chances at which something shows is an exponential variable, or
// larger. With c = ln((k+1)(k+2)/(1-Confidence)) behind the k-th run that showed something, the chances of being wrong add up to
// 1-Confidence over all k. So m runs bound the chance by c/m, whenever one looks, and although the search adapts. A run that the
// machine failed counts as one that showed something of every class.
type Risk struct {
	Class string
	Runs  uint64  // of the holdout
	News  uint64  // those that showed something new
	After uint64  // those behind the last of them
	Bound float64 // 1 if nothing is known
	// Not says why there is no bound; empty if there is one.
	Not string
}

// bound computes Risk.Bound.
func bound(news, after uint64) float64 {
	if after == 0 {
		return 1
	}
	k := float64(news)
	return min(1, math.Log((k+1)*(k+2)/(1-Confidence))/float64(after))
}

// RunsFor is how many runs of a holdout without anything new give a bound, behind so many that showed something.
func RunsFor(risk float64, news uint64) uint64 {
	k := float64(news)
	return uint64(math.Ceil(math.Log((k+1)*(k+2)/(1-Confidence)) / risk))
}

// Risks returns the risks of all classes in the efforts on a code, over all environments, in the order of their names,
// AnyFeature first.
func (t *TestView) Risks(code ID) []Risk {
	spans := t.holdout(code)
	varying := uint64(0)
	byName := map[string]*Risk{}
	var list []*Risk
	runs := uint64(0)
	for i := range spans {
		for _, c := range spans[i].Classes {
			r := byName[c.Name]
			if r == nil { // it was not looked for in the spans before
				r = &Risk{Class: c.Name}
				byName[c.Name] = r
				list = append(list, r)
			}
			r.addRuns(spans[i].Runs, c)
		}
		varying += spans[i].Varying
		runs += spans[i].Runs
	}
	slices.SortFunc(list, func(a, b *Risk) int {
		switch AnyFeature {
		case a.Class:
			return -1
		case b.Class:
			return 1
		}
		return cmp.Compare(a.Class, b.Class)
	})
	var risks []Risk
	for _, r := range list {
		r.Bound = bound(r.News, r.After)
		switch {
		case varying > 0:
			r.Not = fmt.Sprintf("%d of %d holdout runs cannot be replayed, so their results do not depend on their tapes alone", varying, runs)
		case r.Bound == 1:
			r.Not = fmt.Sprintf("only %d holdout runs followed the last one that showed something new; at least %d are needed",
				r.After, RunsFor(1, r.News))
		}
		risks = append(risks, *r)
	}
	return risks
}

// Risk returns the risk of one class, or nil if no run of a holdout looked for it.
func (t *TestView) Risk(code ID, class string) *Risk {
	list := t.Risks(code)
	if i := slices.IndexFunc(list, func(r Risk) bool { return r.Class == class }); i >= 0 {
		return &list[i]
	}
	return nil
}
