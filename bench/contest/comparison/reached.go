package comparison

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/contest/rank"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
)

// Measures are what trials of a correct world count, by name.
var Measures = []string{"states", "whole states", "edges", "guards", "blocks"}

// counts are the values of Measures at a point.
func counts(p *Point) []float64 {
	return []float64{float64(p.States), float64(p.Whole), float64(p.Edges), float64(p.Guards), float64(p.Lines)}
}

// Reach is how much a strategy has reached in a correct world.
type Reach struct {
	Bug      string `json:"bug"` // the world
	Strategy string `json:"strategy"`
	Trials   int    `json:"trials"`
	Failed   int    `json:"failed,omitempty"`
	CutOff   int    `json:"cut_off,omitempty"`
	// Violated counts trials in which the correct world broke a promise.
	Violated int `json:"violated,omitempty"`
	// AfterRuns is after Runs runs, AfterCPU after CPUSeconds of CPU time: as much as all trials with this world have had.
	Runs       uint64            `json:"runs"`
	CPUSeconds float64           `json:"cpu_seconds"`
	AfterRuns  map[string]Amount `json:"after_runs"` // by measure
	AfterCPU   map[string]Amount `json:"after_cpu"`
	// Curve has the medians of trials, point by point.
	Curve []Point `json:"curve,omitempty"`
}

// Amount is a number of different things that trials have reached.
type Amount struct {
	Quartiles
	// Against random, where A12 is the probability that a trial of the strategy reaches more. Absent for random itself.
	Against *Against `json:"against_random,omitempty"`
}

// Reached is what trials of correct worlds have reached, in the order of the settings.
func Reached(s *Settings, trials []Trial) []Reach {
	var rows []Reach
	for _, bug := range s.Bugs {
		if !bug.Correct {
			continue
		}
		of := map[string][]*Trial{}
		runs, cpu := uint64(math.MaxUint64), int64(math.MaxInt64)
		for i := range trials {
			t := &trials[i]
			if t.Bug != bug.Name || t.Failed != "" || len(t.Curve) == 0 {
				continue
			}
			of[t.Strategy] = append(of[t.Strategy], t)
			last := t.Curve[len(t.Curve)-1]
			runs, cpu = min(runs, last.Runs), min(cpu, last.CPUNs)
		}
		at := func(strategy string, point func(*Trial) []float64) [][]float64 { // by measure
			values := make([][]float64, len(Measures))
			for _, t := range of[strategy] {
				for k, v := range point(t) {
					values[k] = append(values[k], v)
				}
			}
			return values
		}
		afterRuns := func(t *Trial) []float64 {
			return reachedAt(t, float64(runs), func(p *Point) float64 { return float64(p.Runs) })
		}
		afterCPU := func(t *Trial) []float64 {
			return reachedAt(t, float64(cpu), func(p *Point) float64 { return float64(p.CPUNs) })
		}
		baseRuns, baseCPU := at(search.Random, afterRuns), at(search.Random, afterCPU)
		for _, strategy := range s.strategiesOf(&bug) {
			r := Reach{Bug: bug.Name, Strategy: strategy, Trials: len(of[strategy])}
			for i := range trials {
				switch t := &trials[i]; {
				case t.Bug != bug.Name || t.Strategy != strategy:
				case t.Failed != "":
					r.Failed++
				case t.Found:
					r.Violated++
				case t.CutOff:
					r.CutOff++
				}
			}
			if r.Trials > 0 {
				r.Runs, r.CPUSeconds = runs, float64(cpu)/1e9
				r.AfterRuns = amounts(at(strategy, afterRuns), baseRuns, strategy)
				r.AfterCPU = amounts(at(strategy, afterCPU), baseCPU, strategy)
				r.Curve = medians(of[strategy])
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func amounts(values, base [][]float64, strategy string) map[string]Amount {
	m := map[string]Amount{}
	for k, name := range Measures {
		if slices.Max(values[k]) == 0 {
			continue // it was not measured, or there is none
		}
		a := Amount{Quartiles: quartiles(values[k])}
		if strategy != search.Random && len(base[k]) > 0 {
			a.Against = against(less(values[k]), less(base[k]), words{Loses, Even, Beats}) // who reaches more is better
		}
		m[name] = a
	}
	return m
}

// less turns values around: what is large comes first.
func less(values []float64) []float64 {
	list := slices.Clone(values)
	for i := range list {
		list[i] = -list[i]
	}
	return list
}

// reachedAt is what a trial had reached at a place of its curve, by measure; between two points it is on the line between them.
func reachedAt(t *Trial, place float64, of func(*Point) float64) []float64 {
	var before Point // nothing was reached after no runs
	for i := range t.Curve {
		p := &t.Curve[i]
		x0, x1 := of(&before), of(p)
		if x1 < place && i < len(t.Curve)-1 {
			before = *p
			continue
		}
		share := 1.0
		if x1 > x0 {
			share = min((place-x0)/(x1-x0), 1)
		}
		a, b := counts(&before), counts(p)
		for k := range b {
			b[k] = a[k] + share*(b[k]-a[k])
		}
		return b
	}
	return counts(&before)
}

// medians is the curve of several trials: the median of each measure wherever all of them have a point.
func medians(list []*Trial) []Point {
	at := map[uint64][]*Point{}
	for _, t := range list {
		for i := range t.Curve {
			p := &t.Curve[i]
			at[p.Runs] = append(at[p.Runs], p)
		}
	}
	var curve []Point
	for _, first := range list[0].Curve {
		points := at[first.Runs]
		if len(points) < len(list) {
			continue
		}
		median := func(of func(*Point) float64) float64 {
			var values []float64
			for _, p := range points {
				values = append(values, of(p))
			}
			return rank.Quantile(values, 0.5)
		}
		count := func(of func(*Point) int) int {
			return int(math.Round(median(func(p *Point) float64 { return float64(of(p)) })))
		}
		curve = append(curve, Point{Runs: first.Runs, CPUNs: int64(median(func(p *Point) float64 { return float64(p.CPUNs) })),
			States: count(func(p *Point) int { return p.States }), Whole: count(func(p *Point) int { return p.Whole }),
			Edges:  count(func(p *Point) int { return p.Edges }),
			Guards: count(func(p *Point) int { return p.Guards }), Lines: count(func(p *Point) int { return p.Lines })})
	}
	return curve
}

// The classes of bugs, by how rare they are under random tapes.
const (
	Common   = "common"   // half of the trials of random find it in at most 100 runs
	Uncommon = "uncommon" // in at most 1,000
	Rare     = "rare"     // later, or fewer than half of them find it
	Unfound  = "unfound"  // none of them does
)

// Rarity is how strategies fare with bugs of one class.
type Rarity struct {
	Class    string         `json:"class"`
	Strategy string         `json:"strategy"`
	Bugs     []string       `json:"bugs"`
	Found    int            `json:"found"` // trials
	Trials   int            `json:"trials"`
	Says     map[string]int `json:"says,omitempty"` // against random, in runs, by bug
	// Rate is the geometric mean of Row.Rate over the bugs of which it is known; absent if of none.
	Rate *float64 `json:"rate,omitempty"`
	// RateInterval is that of Rate, absent for random itself.
	RateInterval *Interval `json:"rate_interval,omitempty"`
}

// ByRarity splits rows by how rare their bugs are. Variants do not count.
func ByRarity(s *Settings, rows []Row) []Rarity {
	class := map[string]string{}
	for _, r := range rows {
		if r.Strategy != search.Random || r.Trials == 0 {
			continue
		}
		switch {
		case r.Found == 0:
			class[r.Bug] = Unfound
		case r.Runs.Median != nil && *r.Runs.Median <= 100:
			class[r.Bug] = Common
		case r.Runs.Median != nil && *r.Runs.Median <= 1000:
			class[r.Bug] = Uncommon
		default:
			class[r.Bug] = Rare
		}
	}
	variant := map[string]bool{}
	for i := range s.Bugs {
		variant[s.Bugs[i].Name] = s.Bugs[i].Of != ""
	}
	var list []Rarity
	for _, c := range []string{Common, Uncommon, Rare, Unfound} {
		for _, strategy := range s.Strategies {
			of := Rarity{Class: c, Strategy: strategy, Says: map[string]int{}}
			sum, known := 0.0, 0
			var sums []float64 // in drawn samples
			for i := range rows {
				r := &rows[i]
				if r.Strategy != strategy || class[r.Bug] != c || variant[r.Bug] {
					continue
				}
				of.Bugs = append(of.Bugs, r.Bug)
				of.Found, of.Trials = of.Found+r.Found, of.Trials+r.Trials
				if r.Against != nil {
					of.Says[r.Against.Says]++
				}
				if r.Rate != nil {
					sum, known = sum+math.Log(*r.Rate), known+1
					for k, v := range r.rates {
						if sums == nil {
							sums = make([]float64, len(r.rates))
						}
						sums[k] += math.Log(v)
					}
				}
			}
			if known > 0 {
				mean := math.Exp(sum / float64(known))
				of.Rate = &mean
				for k := range sums {
					sums[k] = math.Exp(sums[k] / float64(known))
				}
				if sums != nil {
					of.RateInterval = interval(rank.Middle(sums))
				}
			}
			if len(of.Bugs) > 0 {
				list = append(list, of)
			}
		}
	}
	return list
}

// Difference is how a variant of a world compares with that world, by one strategy; or how a strategy with a further option compares with the strategy without
// it, in one world.
type Difference struct {
	Bug      string `json:"bug"`
	Of       string `json:"of"` // the world, or the strategy
	Variant  string `json:"variant"`
	Strategy string `json:"strategy"` // with the option, if that is the variant
	// Of a world with a bug: runs until the first violation; of a correct one: whole states of the model after equal runs.
	Measure string `json:"measure"`
	// Usual is the median of what is varied, Median that of the variant; absent beyond the end of trials.
	Usual  *float64 `json:"usual"`
	Median *float64 `json:"median"`
	Found  string   `json:"found,omitempty"` // how many trials did, of the variant and of what is varied
	// Against: A12 is the probability that a trial of the variant is better, and Says compares it with what is varied.
	Against *Against `json:"against_usual,omitempty"`
}

// What is said of variants.
const (
	Better = "better"
	Worse  = "worse"
	Same   = "no difference shown"
)

// Differences compares variants of worlds with these worlds, and strategies with their options but the last.
func Differences(s *Settings, trials []Trial) []Difference {
	var list []Difference
	rows := rows(s, trials)
	add := func(d Difference, correct bool, own, usual side) {
		says := words{Worse, Same, Better}
		var mine, theirs []float64
		if correct {
			d.Measure = Measures[1]
			mine, theirs = reachedWhole(trials, own, usual)
			d.Against = against(less(mine), less(theirs), says)
		} else {
			d.Measure = "runs"
			a, b := sample(trials, own.bug, own.strategy), sample(trials, usual.bug, usual.strategy)
			if a.cutOff+b.cutOff > 0 {
				return
			}
			mine, theirs = a.runs, b.runs
			d.Found = foundText(rows, own) + " against " + foundText(rows, usual)
			d.Against = sooner(mine, theirs, float64(s.Runs), says)
		}
		if len(mine) == 0 || len(theirs) == 0 {
			return
		}
		d.Median, d.Usual = quartiles(mine).Median, quartiles(theirs).Median
		list = append(list, d)
	}
	for i := range s.Bugs {
		if v := &s.Bugs[i]; v.Of != "" {
			for _, strategy := range s.strategiesOf(v) {
				add(Difference{Bug: v.Name, Of: v.Of, Variant: v.Variant, Strategy: strategy}, v.Correct, side{v.Name, strategy}, side{v.Of, strategy})
			}
		}
	}
	for i := range s.Bugs {
		v := &s.Bugs[i]
		for _, strategy := range s.strategiesOf(v) {
			k := strings.LastIndex(strategy, "+")
			if k < 0 || strategy[:k] == search.Random || !slices.Contains(s.strategiesOf(v), strategy[:k]) {
				continue // all are compared with random
			}
			add(Difference{Bug: v.Name, Of: strategy[:k], Variant: strategy[k:], Strategy: strategy}, v.Correct,
				side{v.Name, strategy}, side{v.Name, strategy[:k]})
		}
	}
	return list
}

// side is one side of a comparison.
type side struct{ bug, strategy string }

// foundText says how many trials of a row have found something.
func foundText(rows []Row, of side) string {
	for i := range rows {
		if r := &rows[i]; r.Bug == of.bug && r.Strategy == of.strategy {
			return fmt.Sprintf("%d of %d", r.Found, r.Trials)
		}
	}
	return "none"
}

// reachedWhole has the whole states that trials of two sides have reached after as many runs as all of them have made.
func reachedWhole(trials []Trial, a, b side) (own, usual []float64) {
	runs := uint64(math.MaxUint64)
	mine := func(t *Trial) bool {
		of := side{t.Bug, t.Strategy}
		return (of == a || of == b) && t.Failed == "" && len(t.Curve) > 0
	}
	for i := range trials {
		if t := &trials[i]; mine(t) {
			runs = min(runs, t.Curve[len(t.Curve)-1].Runs)
		}
	}
	for i := range trials {
		t := &trials[i]
		if !mine(t) {
			continue
		}
		whole := reachedAt(t, float64(runs), func(p *Point) float64 { return float64(p.Runs) })[1]
		if (side{t.Bug, t.Strategy}) == a {
			own = append(own, whole)
		} else {
			usual = append(usual, whole)
		}
	}
	return own, usual
}

// Changes counts, over all trials of a strategy, how often a change of a run led to something new.
type Changes struct {
	Strategy string `json:"strategy"`
	search.Mutations
}

// Mutations are the changes that strategies have made, by strategy and kind.
func Mutations(s *Settings, trials []Trial) []Changes {
	return changes(s, trials, func(t *Trial) []search.Mutations { return t.Mutations })
}

// Guides are the mutants of strategies that choose among guides, by strategy and guide.
func Guides(s *Settings, trials []Trial) []Changes {
	return changes(s, trials, func(t *Trial) []search.Mutations { return t.Guides })
}

func changes(s *Settings, trials []Trial, of func(*Trial) []search.Mutations) []Changes {
	var list []Changes
	for _, strategy := range s.Strategies {
		var order []string
		sums := map[string]*search.Mutations{}
		for i := range trials {
			if trials[i].Strategy != strategy {
				continue
			}
			for _, m := range of(&trials[i]) {
				sum := sums[m.Kind]
				if sum == nil {
					sum = &search.Mutations{Kind: m.Kind}
					sums[m.Kind], order = sum, append(order, m.Kind)
				}
				sum.Made, sum.Kept = sum.Made+m.Made, sum.Kept+m.Kept
			}
		}
		for _, kind := range order {
			list = append(list, Changes{strategy, *sums[kind]})
		}
	}
	return list
}
