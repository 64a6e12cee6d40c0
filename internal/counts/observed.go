package counts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// least is the smallest rate of what production has seen, however rare it is there: of 100 runs that make one call each, and the first of which has no fault, a fault with this rate
// happens in at least one with a probability of 99 %, if no other fault takes the call.
const least = 0.05

// Of is the count of an operation that a test plays.
func (c Counts) Of(operation string) (Count, error) {
	n, ok := c.Operations[operation]
	switch {
	case !ok:
		return n, fmt.Errorf("production did not count the operation %q, but %s: correct the name in the test, or add the operation to the Counter",
			operation, strings.Join(slices.Sorted(maps.Keys(c.Operations)), ", "))
	case n.Calls == 0:
		return n, fmt.Errorf("production made no call of %s, so there are no rates: count for longer, or leave the operation out", operation)
	}
	return n, nil
}

// Rate is the rate of what became of k calls: 0 if it never happened, and else the share of the calls, but at least 0.05.
func (n Count) Rate(k uint64) float64 { return n.part(k, 1) }

// Half is half of the share in place of all of it, for the rates before and after a call is done, which a client cannot tell apart.
func (n Count) Half(k uint64) float64 { return n.part(k, 2) }

func (n Count) part(k uint64, parts float64) float64 {
	if k == 0 {
		return 0
	}
	return max(least, float64(k)/float64(n.Calls)/parts)
}

// Rates is where an answer of a test keeps what counts decide.
type Rates struct {
	Before, After *float64
	Breach        *bool
}

// Answers gives the answers of an operation in a test, of the fault package's type A, the rates of n, and appends those that the test has not listed. of is the code and the rates of an
// answer, and fresh makes one for a code that is not listed, or that stands for an answer of another form. Answers that production has not seen get the rate 0. It is an error if an answer
// is documented in the test and a breach in production, or the reverse, or if two have one code.
func Answers[A any](n Count, listed []A, of func(*A) (string, Rates), fresh func(code string, unparsable bool) (A, error)) ([]A, error) {
	listed = slices.Clone(listed)
	at := map[string]int{}
	for i := range listed {
		code, r := of(&listed[i])
		if first, twice := at[code]; !twice {
			at[code] = i
		} else if n.Failures[code]+n.Breaches.Codes[code]+n.Breaches.Unparsable[code] > 0 {
			return nil, fmt.Errorf("the test has two answers %s, the numbers %d and %d, and production only counts codes: leave one", code, first+1, i+1)
		}
		*r.Before, *r.After = 0, 0
	}
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
					return nil, err
				}
				i, listed = len(listed), append(listed, a)
				_, r := of(&listed[i])
				*r.Breach = breach
			}
			_, r := of(&listed[i])
			if *r.Breach != breach {
				in := map[bool]string{false: "documented", true: "a breach"}
				return nil, fmt.Errorf("the answer %s is %s in the test and %s in production: let both have the same contract", code, in[*r.Breach], in[breach])
			}
			*r.Before, *r.After = n.Half(counts[code]), n.Half(counts[code])
		}
	}
	return listed, nil
}
