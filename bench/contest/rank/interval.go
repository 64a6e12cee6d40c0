package rank

import (
	"math"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/cause"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// Confidence is the probability with which an interval of this package holds the value that it is about.
const Confidence = 0.95

// resamples is how many samples are drawn anew for an interval.
const resamples = 2000

// Interval is a range of a value. High may be +Inf, and Low 0, where the samples leave an end open.
type Interval struct{ Low, High float64 }

// Share is the exact interval of a probability of which so many of n trials show the event. Without trials it is all from 0 to 1.
func Share(found, n int) Interval {
	low, high := cause.Interval(found, n)
	return Interval{low, high}
}

// MedianRatio is the median of base divided by that of x, and the interval of this ratio: the percentiles of samples that are
// drawn anew from both (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993). A value of +Inf is one that was not
// reached by limit: a ratio with such a median is known to be above or below a bound only, and the interval goes up to +Inf or
// down to 0. Both samples must have values. The ratio is NaN if both medians are +Inf.
func MedianRatio(x, base []float64, limit float64) (ratio float64, i Interval) {
	d := draws(1)
	var low, high []float64
	for range resamples {
		a, b := Quantile(d.sample(x), 0.5), Quantile(d.sample(base), 0.5)
		l, h := min(b, limit)/a, b/min(a, limit)
		if math.IsInf(a, 1) && math.IsInf(b, 1) {
			l, h = 0, b
		}
		low, high = append(low, l), append(high, h)
	}
	return Quantile(base, 0.5) / Quantile(x, 0.5), between(low, high)
}

// Work is what one trial found, and the runs that it made.
type Work struct {
	Found bool
	Runs  uint64
}

// Rates are the finds in all runs of trials of x, divided by those of base, in each of the samples that are drawn anew. No find counts as half a one.
func Rates(x, base []Work) []float64 {
	d := draws(2)
	list := make([]float64, resamples)
	for k := range list {
		list[k] = rate(d.pick(x)) / rate(d.pick(base))
	}
	return list
}

func rate(list []Work) float64 {
	found, runs := 0.0, uint64(0)
	for _, w := range list {
		if runs += w.Runs; w.Found {
			found++
		}
	}
	return max(found, 0.5) / float64(max(runs, 1))
}

// Middle is the interval that the values of drawn samples show.
func Middle(values []float64) Interval { return between(values, values) }

func between(low, high []float64) Interval {
	slices.Sort(low)
	high = slices.Sorted(slices.Values(high))
	cut := int(math.Floor(float64(len(low)) * (1 - Confidence) / 2))
	return Interval{low[cut], high[len(high)-1-cut]}
}

// draws chooses values of samples. It begins the same way each time, so that the same trials give the same interval.
type draws uint64

func (d *draws) below(n int) int {
	*d += draws(uint64(splitmix.Gamma))
	return int((splitmix.Mix(uint64(*d)) >> 1) % uint64(n))
}

func (d *draws) sample(of []float64) []float64 {
	list := make([]float64, len(of))
	for i := range list {
		list[i] = of[d.below(len(of))]
	}
	return list
}

func (d *draws) pick(of []Work) []Work {
	list := make([]Work, len(of))
	for i := range list {
		list[i] = of[d.below(len(of))]
	}
	return list
}

// Holm adjusts the p-values of comparisons that are made together (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979): the probability that
// any of those below a bound is by chance alone is then below that bound, whatever they have in common.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	adjusted, most := make([]float64, len(p)), 0.0
	for k, i := range order {
		most = max(most, min(1, p[i]*float64(len(p)-k)))
		adjusted[i] = most
	}
	return adjusted
}
