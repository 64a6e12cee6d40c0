package records

import (
	"cmp"
	"maps"
	"slices"
)

// Grown is how far the search of a code had come.
type Grown struct {
	AtMs     int64  `json:"at_ms"`
	Runs     uint64 `json:"runs"` // of the search and of the holdout, of all workers
	Features int    `json:"features"`
}

// Growth follows the features of a code over its runs, in all environments together: a point for each time at which something new was found, and one for the
// end.
func (t *TestView) Growth(code ID) []Grown {
	first := map[uint64]int64{}
	var efforts []*Effort
	for p, e := range t.Efforts {
		if p.Code != code {
			continue
		}
		efforts = append(efforts, e)
		for id, d := range e.Features {
			if at, known := first[id]; !known || d.AtMs < at {
				first[id] = d.AtMs
			}
		}
	}
	counts := map[int64]int{}
	for _, at := range first {
		counts[at]++
	}
	times := slices.Sorted(maps.Keys(counts))
	runs := make([]uint64, len(times)+1) // that ended after the time before, and not after this one
	end := int64(0)
	for _, e := range efforts {
		for s := range e.Spans {
			if s.Phase == Search || s.Phase == Holdout {
				i, _ := slices.BinarySearch(times, s.AtMs)
				runs[i] += s.Runs
				end = max(end, s.AtMs)
			}
		}
	}
	var list []Grown
	g := Grown{}
	for i, at := range times {
		g.AtMs, g.Runs, g.Features = at, g.Runs+runs[i], g.Features+counts[at]
		list = append(list, g)
	}
	if len(efforts) > 0 && (len(list) == 0 || end > g.AtMs) {
		list = append(list, Grown{end, g.Runs + runs[len(times)], g.Features})
	}
	return list
}

// Calibrated compares a bound of the risk with what the runs behind it showed.
type Calibrated struct {
	Runs  uint64  `json:"runs"`  // of the holdout, from which the bound was computed
	Bound float64 `json:"bound"` // 1 if nothing was known
	Next  uint64  `json:"next"`  // runs behind them
	News  uint64  `json:"news"`  // of these that showed something new
}

// Calibration compares, for each doubling of the runs of a holdout, the bound of a class as it was with the share of as many runs behind it that showed
// something new.
func (t *TestView) Calibration(code ID, class string) []Calibrated {
	var list []Calibrated
	var open *Calibrated
	r, next := Risk{}, uint64(1)
	for _, s := range t.holdout(code) {
		i := slices.IndexFunc(s.Classes, func(c Class) bool { return c.Name == class })
		if i < 0 {
			continue
		}
		if open != nil {
			open.Next += s.Runs
			open.News += s.Classes[i].News
		}
		r.addRuns(s.Runs, s.Classes[i])
		if r.Runs >= next {
			if open != nil {
				list = append(list, *open)
			}
			open = &Calibrated{Runs: r.Runs, Bound: bound(r.News, r.After)}
			next = 2 * r.Runs
		}
	}
	return list
}

// addRuns adds the runs of a span to a risk.
func (r *Risk) addRuns(runs uint64, c Class) {
	r.Runs += runs
	if c.News > 0 {
		r.News += c.News
		r.After = 0
	}
	r.After += c.After
}

// holdout gives the spans of the holdouts of a code, of all environments, in the order of their ends.
func (t *TestView) holdout(code ID) (spans []*WorkerSpan) {
	for p, e := range t.Efforts {
		if p.Code != code {
			continue
		}
		for s := range e.Spans {
			if s.Phase == Holdout {
				spans = append(spans, s)
			}
		}
	}
	slices.SortFunc(spans, func(a, b *WorkerSpan) int {
		return cmp.Or(cmp.Compare(a.AtMs, b.AtMs), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Seq, b.Seq))
	})
	return spans
}
