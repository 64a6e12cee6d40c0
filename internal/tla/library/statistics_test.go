package library

import (
	"math"
	"testing"
)

// TestUpperGamma compares Q with sums that are exact for whole and half arguments: Q(n, x) is e^-x times the first n terms of e^x, and Q(1/2, x) is
// erfc of the root of x.
func TestUpperGamma(t *testing.T) {
	for _, x := range []float64{0.01, 0.5, 1, 2.5, 5, 20, 100} {
		term, sum := 1.0, 0.0
		for n := 1.0; n <= 20; n++ {
			sum += term
			term *= x / n
			if got, want := upperGamma(n, x), math.Exp(-x)*sum; math.Abs(got-want) > 1e-9 {
				t.Errorf("Q(%v, %v) is %v, and not %v", n, x, got, want)
			}
		}
		if got, want := upperGamma(0.5, x), math.Erfc(math.Sqrt(x)); math.Abs(got-want) > 1e-9 {
			t.Errorf("Q(1/2, %v) is %v, and not %v", x, got, want)
		}
	}
}
