package library

import (
	"math"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// ChiSquare is Pearson's test of goodness of fit: whether the actual counts may stem from a distribution with the expected ones, given how likely
// it may be that this is denied though it is so. Expected counts are scaled to the sum of the actual ones.
func ChiSquare(expected, actual value.Value, alpha string) bool {
	level, err := strconv.ParseFloat(alpha, 64)
	if err != nil || level <= 0 || level > 0.5 {
		value.Fail("ChiSquare: the level of significance is above 0 and at most 0.5, and not %q", alpha)
	}
	if !value.Equal(value.Explicit(value.Domain(expected)), value.Explicit(value.Domain(actual))) || value.Size(value.Domain(expected)) < 2 {
		value.Fail("ChiSquare needs two functions of the same two or more arguments")
	}
	var e, a []float64
	var sumE, sumA float64
	value.Each(value.Domain(expected), func(x value.Value) bool {
		m, n := Integer(value.Apply(expected, x)), Integer(value.Apply(actual, x))
		if m <= 0 || n < 0 {
			value.Fail("ChiSquare: %d is expected of %s, and %d actual: counts are natural numbers, and expected ones not 0", m, value.Short(x), n)
		}
		e, a = append(e, float64(m)), append(a, float64(n))
		sumE, sumA = sumE+float64(m), sumA+float64(n)
		return true
	})
	statistic := 0.0
	for i := range e {
		want := e[i] * (sumA / sumE)
		if want > 0 {
			statistic += (a[i] - want) * (a[i] - want) / want
		}
	}
	return upperGamma(float64(len(e)-1)/2, statistic/2) >= level
}

// upperGamma is the regularised upper incomplete gamma function Q(s, x): Abramowitz and Stegun, 6.5.29 for small x, 6.5.31 for others.
func upperGamma(s, x float64) float64 {
	if x <= 0 {
		return 1
	}
	lgamma, _ := math.Lgamma(s)
	front := math.Exp(s*math.Log(x) - x - lgamma)
	if x < s+1 {
		term := 1 / s
		sum := term
		for n := 1.0; n < 10_000 && term > sum*1e-16; n++ {
			term *= x / (s + n)
			sum += term
		}
		return 1 - front*sum
	}
	fraction := 0.0
	for n := 1000.0; n >= 1; n-- {
		fraction = n * (n - s) / (x + 2*n + 1 - s - fraction)
	}
	return front / (x + 1 - s - fraction)
}
