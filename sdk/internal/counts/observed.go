package counts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

const (
	// least is the smallest share of the calls of what production has seen, however rare it is there: of 100 runs that make one
	// call each, and the first of which has no fault, a fault with this share happens in at least one with a probability of 99 %.
	least = 0.05
	// most is the largest share of the calls of an operation that fail: the others let the program go on.
	most = 0.8
)

// CountOf returns the count of an operation that a test plays.
func (c Counts) CountOf(operation string) (Count, error) {
	n, ok := c.Operations[operation]
	switch {
	case !ok:
		return n, fmt.Errorf("production counted no operation %q, only %s: correct the name in the test, or add "+
			"the operation to the Counter",
			operation, strings.Join(slices.Sorted(maps.Keys(c.Operations)), ", "))
	case n.Calls == 0:
		return n, fmt.Errorf("production made no call of %s, so there are no rates: count for longer, or leave the operation out", operation)
	}
	return n, nil
}

// Nothing is the error where nothing went wrong in production with operations, and the test has no rates of its own.
func Nothing(operations []string) error {
	return fmt.Errorf("production saw nothing go wrong with %s, so there is nothing to play: count for longer, "+
		"or choose rates in the test instead of Observed", strings.Join(operations, ", "))
}

// Rates is where a fault of a test keeps what counts decide.
type Rates struct {
	Before, After *float64
	Breach        *bool // of an answer
}

// Play gives the faults of an operation in a test the rates of n, and reports whether any is above 0: lost calls, answers that
// are cut (nil for a dependency that has none), and listed answers, of the fault package's type A. It appends the answers that
// the test has not listed. of is the code and the rates of an answer, and fresh makes one for a code that is not listed, or that
// stands for an answer of another form. Answers that production has not seen get the rate 0. It is an error if the test sets what
// the counts decide, if an answer is documented in the test and a breach in production, or the reverse, or if two have one code.
//
// A call meets the kinds in this order: lost, answers, cut. Each rate is of the calls that those before it leave, so that each kind gets its share of all.
func Play[A any](n Count, lost Rates, cut *float64, listed []A, of func(*A) (string, Rates),
	fresh func(code string, unparsable bool) (A, error)) ([]A, bool, error) {
	if err := unset("", lost); err != nil {
		return nil, false, err
	}
	switch {
	case cut == nil && n.Breaches.Cut > 0:
		return nil, false, fmt.Errorf("production counted %s, which only HTTP has: store the JSON of the Counter of this dependency",
			plural.Count(n.Breaches.Cut, "cut answer"))
	case cut != nil && *cut != 0:
		return nil, false, decided("CutBody", *cut)
	}
	listed = slices.Clone(listed)
	at := map[string]int{}
	for i := range listed {
		code, r := of(&listed[i])
		if err := unset(" of the answer "+code, r); err != nil {
			return nil, false, err
		}
		if first, twice := at[code]; !twice {
			at[code] = i
		} else if n.Failures[code]+n.Breaches.Codes[code]+n.Breaches.Unparsable[code] > 0 {
			return nil, false, fmt.Errorf("the test has two answers %s, the numbers %d and %d, and production only counts codes: leave one", code, first+1, i+1)
		}
	}
	seen := map[int]uint64{} // by the number of the answer
	for class, counts := range []map[string]uint64{n.Failures, n.Breaches.Codes, n.Breaches.Unparsable} {
		for _, code := range slices.Sorted(maps.Keys(counts)) {
			if counts[code] == 0 {
				continue
			}
			breach := class > 0
			i, known := at[code]
			if !known {
				a, err := fresh(code, class == 2)
				if err != nil {
					return nil, false, err
				}
				i, listed = len(listed), append(listed, a)
				_, r := of(&listed[i])
				*r.Breach = breach
			}
			if _, r := of(&listed[i]); *r.Breach != breach {
				in := map[bool]string{false: "documented", true: "a breach"}
				return nil, false, fmt.Errorf("the answer %s is %s in the test and %s in production: give both "+
					"the same contract",
					code, in[*r.Breach], in[breach])
			}
			seen[i] = counts[code]
		}
	}
	kinds := n.half(nil, n.Lost, lost)
	for i := range listed {
		_, r := of(&listed[i])
		kinds = n.half(kinds, seen[i], r)
	}
	if n.Breaches.Cut > 0 {
		kinds = append(kinds, kind{cut, n.share(n.Breaches.Cut)})
	}
	scale(kinds)
	return listed, len(kinds) > 0, nil
}

// unset reports rates of a test that counts decide.
func unset(what string, r Rates) error {
	if *r.Before != 0 {
		return decided("Before"+what, *r.Before)
	}
	if *r.After != 0 {
		return decided("After"+what, *r.After)
	}
	return nil
}

func decided(what string, rate float64) error {
	return fmt.Errorf("the test sets %s to %v, but the counts decide it: leave it 0, or change it in the result "+
		"of Observed", what, rate)
}

// kind is a kind of fault that has happened in production.
type kind struct {
	rate  *float64
	share float64 // of the calls
}

// half gives each of two kinds, which production cannot tell apart, half of k calls.
func (n Count) half(kinds []kind, k uint64, r Rates) []kind {
	if k == 0 {
		return kinds
	}
	return append(kinds, kind{r.Before, n.share(k) / 2}, kind{r.After, n.share(k) / 2})
}

func (n Count) share(k uint64) float64 { return float64(k) / float64(n.Calls) }

// scale gives kinds the rates by which each gets its share of the calls, but at least 0.05, or in proportion where these are more than 0.8 of the calls.
func scale(kinds []kind) {
	var sum float64
	for _, k := range kinds {
		sum += max(least, k.share)
	}
	left := 1.0
	for _, k := range kinds {
		share := max(least, k.share) * min(1, most/sum)
		*k.rate = share / left
		left -= share
	}
}
