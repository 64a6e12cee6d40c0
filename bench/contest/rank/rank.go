// Package rank compares two samples by the order of their values alone, so that it does not matter how far apart they are: what
// was never reached within a limit counts as +Inf, the worst of all values, equal to others like it.
package rank

import (
	"math"
	"slices"
)

// A12 is the probability that a value of x is smaller than one of y, with equal values counted by half (Vargha and Delaney, "A
// Critique and Improvement of the CL Common Language Effect Size Statistics", 2000). It is 0.5 where neither tends to be smaller.
// Both samples must have values.
func A12(x, y []float64) float64 {
	smaller := 0.0
	for _, a := range x {
		for _, b := range y {
			switch {
			case a < b:
				smaller++
			case a == b:
				smaller += 0.5
			}
		}
	}
	return smaller / float64(len(x)*len(y))
}

// maxExact is the number of values of both samples up to which the distribution of ranks is computed and not approximated.
const maxExact = 100

// MannWhitney is the two-sided p-value of the rank-sum test (Mann and Whitney, "On a Test of Whether one of Two Random Variables
// is Stochastically Larger than the Other", 1947): how probable a difference in ranks is, as large as that of x and y, if both
// come from one distribution. Equal values share their ranks; the value is exact for these values up to maxExact of them, and
// beyond that the normal approximation with the correction for equal values and for continuity.
func MannWhitney(x, y []float64) float64 {
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return 1
	}
	ranks := doubled(slices.Concat(x, y))
	sum := 0
	for _, r := range ranks[:n] {
		sum += r
	}
	if n+m > maxExact {
		return approximate(ranks, n, sum)
	}
	return exact(ranks, n, sum)
}

// doubled are the ranks of values, from 1 on, times two: equal values share the mean of their ranks.
func doubled(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case values[a] < values[b]:
			return -1
		case values[a] > values[b]:
			return 1
		}
		return 0
	})
	ranks := make([]int, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = from + 1 + to
		}
		from = to
	}
	return ranks
}

// exact counts the ways to choose n of the ranks, by their sum.
func exact(ranks []int, n, sum int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	ways := make([][]float64, n+1) // ways[k][s]: of choosing k ranks with sum s
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n; k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	// The mean sum is n/N of the total; compared times N, so that all numbers are whole.
	far := func(s int) int { return max(s*len(ranks)-n*total, n*total-s*len(ranks)) }
	all, as := 0.0, 0.0
	for s, w := range ways[n] {
		all += w
		if far(s) >= far(sum) {
			as += w
		}
	}
	return as / all
}

func approximate(ranks []int, n, sum int) float64 {
	size := len(ranks)
	m := float64(size - n)
	counts := map[int]float64{}
	for _, r := range ranks {
		counts[r]++
	}
	ties := 0.0
	for _, r := range slices.Compact(slices.Sorted(slices.Values(ranks))) {
		ties += counts[r]*counts[r]*counts[r] - counts[r]
	}
	N := float64(size)
	variance := float64(n) * m / 12 * (N + 1 - ties/(N*(N-1)))
	if variance <= 0 {
		return 1 // all values are equal
	}
	u := float64(sum)/2 - float64(n)*(float64(n)+1)/2
	distance := max(math.Abs(u-float64(n)*m/2)-0.5, 0)
	return math.Erfc(distance / math.Sqrt(2*variance))
}

// Quantile is the value below which a share q of the values lie, with the values between two places interpolated (Hyndman and
// Fan, "Sample Quantiles in Statistical Packages", 1996, definition 7). It is +Inf where that is one of the two.
func Quantile(values []float64, q float64) float64 {
	list := slices.Sorted(slices.Values(values))
	at := q * float64(len(list)-1)
	low := int(math.Floor(at))
	if high := low + 1; at > float64(low) {
		if math.IsInf(list[high], 1) {
			return list[high]
		}
		return list[low] + (at-float64(low))*(list[high]-list[low])
	}
	return list[low]
}
