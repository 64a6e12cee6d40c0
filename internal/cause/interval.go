package cause

import "math"

// Interval is the 95 % confidence interval of a probability that so many of runs have shown: whatever the probability is, it lies within
// in at least 95 of 100 samples (Clopper and Pearson 1934).
func Interval(failed, runs int) (low, high float64) {
	const tail = 0.025
	low, high = 0, 1
	if failed > 0 { // the smallest p at which as many failures or more are not too unlikely
		low = bisect(func(p float64) bool { return 1-atMost(failed-1, runs, p) >= tail })
	}
	if failed < runs {
		high = bisect(func(p float64) bool { return atMost(failed, runs, p) < tail })
	}
	return low, high
}

// bisect finds where a condition begins to hold.
func bisect(holds func(p float64) bool) float64 {
	a, b := 0.0, 1.0
	for range 60 {
		if m := (a + b) / 2; holds(m) {
			b = m
		} else {
			a = m
		}
	}
	return b
}

// atMost is the probability of at most k successes in n trials (binomial distribution).
func atMost(k, n int, p float64) float64 {
	switch {
	case k >= n || p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	logs := func(v int) float64 { l, _ := math.Lgamma(float64(v) + 1); return l }
	sum := 0.0
	for i := 0; i <= k; i++ {
		sum += math.Exp(logs(n) - logs(i) - logs(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}
