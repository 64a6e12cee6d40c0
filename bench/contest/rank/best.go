package rank

import "math"

// Estimate is a value with its interval.
type Estimate struct {
	Value float64
	Interval
}

// AgainstBest compares choices by the samples of each bug, indexed by bug and choice: the median of a choice divided by that of the best choice of the
// same bug. It returns, for each choice, the geometric mean over all bugs with its bootstrap interval, and the largest of these ratios. A value of +Inf was
// not reached by limit, and counts as limit: the ratio is then at least the true one divided by what lies beyond. Each choice of each bug needs values.
func AgainstBest(samples [][][]float64, limit float64) (mean []Estimate, worst []float64) {
	if len(samples) == 0 {
		return nil, nil
	}
	choices := len(samples[0])
	median := func(values []float64) float64 { return min(Quantile(values, 0.5), limit) }
	// means computes the mean and the largest ratio of each choice, from the samples that pick returns.
	means := func(pick func([]float64) []float64) (list, largest []float64) {
		list, largest = make([]float64, choices), make([]float64, choices)
		for _, bug := range samples {
			of, best := make([]float64, choices), math.Inf(1)
			for i := range bug {
				of[i] = median(pick(bug[i]))
				best = min(best, of[i])
			}
			for i := range of {
				list[i] += math.Log(of[i]/best) / float64(len(samples))
				largest[i] = max(largest[i], of[i]/best)
			}
		}
		for i := range list {
			list[i] = math.Exp(list[i])
		}
		return list, largest
	}
	value, worst := means(func(x []float64) []float64 { return x })
	d := draws(3)
	drawn := make([][]float64, choices)
	for range resamples {
		list, _ := means(d.sample)
		for i, x := range list {
			drawn[i] = append(drawn[i], x)
		}
	}
	for i := range value {
		mean = append(mean, Estimate{value[i], Middle(drawn[i])})
	}
	return mean, worst
}
