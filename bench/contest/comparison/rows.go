// Package comparison computes which strategies find known bugs sooner than random tapes do, from trials that were made with settings
// frozen before.
package comparison

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/contest/rank"
	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
)

// Trial is the result of one campaign, and Point a part of what it measured.
type (
	Trial = trial.Trial
	Point = trial.Point
)

// Settings are what all trials of a comparison share. They are written down before the first of them.
type Settings struct {
	Bloodhound string   `json:"bloodhound"`
	Machine    string   `json:"machine,omitempty"`
	Strategies []string `json:"strategies"`
	Bugs       []Bug    `json:"bugs"`
	Trials     uint64   `json:"trials"`
	FirstSeed  uint64   `json:"first_seed"` // trial k has the campaign seed FirstSeed+k
	Runs       uint64   `json:"runs"`       // the most of a trial
	TimeoutNs  int64    `json:"timeout_ns,omitempty"`
}

// Bug is a project with a known violation.
type Bug struct {
	Name string `json:"name"` // the folder or file, as it was given
	// Spec is a digest of the Spec and of the settings of its search, without folders that a checkout chooses.
	Spec string `json:"spec"`
	// Files are digests of the programs under test and of all else that runs read: path, in the project's folder or absolute, ->
	// SHA-256, hex; of an image, its id.
	Files map[string]string `json:"files"`
	// Strategies are those of this bug, if they are not the comparison's.
	Strategies []string `json:"strategies,omitempty"`
	// Correct says that there is nothing to find: what is reached is measured.
	Correct bool `json:"correct,omitempty"`
	// Of is the bug that this one is a variant of, and Variant how it differs.
	Of      string `json:"of,omitempty"`
	Variant string `json:"variant,omitempty"`
	// Mapper is how many lines report to the model what runs do; 0 is unknown.
	Mapper int `json:"mapper,omitempty"`
}

// Row is what a strategy did with a bug.
type Row struct {
	Bug      string `json:"bug"`
	Strategy string `json:"strategy"`
	Trials   int    `json:"trials"`
	Found    int    `json:"found"`
	Mutants  int    `json:"mutants,omitempty"` // of Found: trials whose violation came by a mutant
	Failed   int    `json:"failed,omitempty"`  // trials that say nothing and are not counted
	CutOff   int    `json:"cut_off,omitempty"` // trials that the timeout ended before their last run, not counted either
	Unknown  int    `json:"unknown,omitempty"` // of Trials: those that found nothing, and could not judge all of their runs
	// Runs and Seconds until the first violation. A value is absent where it lies beyond the end of trials. All are if trials were
	// cut off: those that are left are the quick ones.
	Runs    Quartiles `json:"runs"`
	Seconds Quartiles `json:"seconds"`
	CPU     Quartiles `json:"cpu_seconds"` // of CPU time, until then
	// Rate is the number of finds in all runs of all trials, divided by that of random: how many random tapes a run of the
	// strategy is worth. No find counts as half a one. Absent if that is not known.
	Rate *float64 `json:"rate,omitempty"`
	// RateInterval is that of Rate, absent for random itself.
	RateInterval *Interval `json:"rate_interval,omitempty"`
	// Share is the interval of the probability that a trial finds something.
	Share *Interval `json:"share_interval,omitempty"`
	// Against random, of runs. Absent for random itself.
	Against *Against `json:"against_random,omitempty"`
	// AgainstCPU is the same of CPU time, up to CPUSeconds: so far it is known of all trials of both whether they had found something.
	AgainstCPU *Against `json:"against_random_cpu,omitempty"`
	CPUSeconds float64  `json:"cpu_known_seconds,omitempty"`
	// Properties counts which of them were violated.
	Properties map[string]int `json:"properties,omitempty"`
	// Story is the shortest schedule of a violation that was reported.
	Story string `json:"story,omitempty"`

	rates []float64 // Rate in drawn samples
}

// Interval has a value with a probability of rank.Confidence. An absent High lies beyond the end of trials.
type Interval struct {
	Low  float64  `json:"low"`
	High *float64 `json:"high"`
}

func interval(i rank.Interval) *Interval {
	if math.IsInf(i.High, 1) {
		return &Interval{Low: i.Low}
	}
	return &Interval{i.Low, &i.High}
}

// Quartiles of a sample. Absent ones lie beyond the end of trials.
type Quartiles struct {
	First  *float64 `json:"first"`
	Median *float64 `json:"median"`
	Third  *float64 `json:"third"`
}

// Against compares a strategy with random tapes.
type Against struct {
	A12 float64 `json:"a12"` // the probability that a trial of the strategy needs fewer runs
	P   float64 `json:"p"`   // of the two-sided rank-sum test
	// Adjusted is P after the correction for all comparisons that are reported together (rank.Holm). It is 1 where nothing is compared.
	Adjusted float64 `json:"p_adjusted"`
	// Times is random's median divided by that of the strategy, with its interval: above 1 the strategy is better. Absent if both lie beyond the end of trials.
	Times         *float64  `json:"times,omitempty"`
	TimesInterval *Interval `json:"times_interval,omitempty"`
	// Says is what A12 and P come to. They are 0.5 and 1 where nothing can be said.
	Says   string `json:"says"`
	Reason string `json:"reason,omitempty"` // why it is unknown, or says nothing

	compared bool // P is of a test, whose result Correct puts into words
	words    words
}

// words are what a comparison may say.
type words struct{ loses, even, beats string }

// Significant is the corrected p-value below which a difference is believed.
const Significant = 0.05

// LeastTrials is how many trials each side of a comparison needs.
const LeastTrials = 10

// What is said of a comparison.
const (
	Beats = "beats random"
	Even  = "does not beat random"
	Loses = "loses to random"
	// Nothing is said of a bug that no trial of any strategy found.
	Nothing = "shows nothing"
	Unknown = "unknown"
	// Few means that one of both has fewer than LeastTrials.
	Few = "too few trials"
)

// Rows are the results by bug and strategy, in the order of the settings. Their comparisons are corrected for each other.
func Rows(s *Settings, trials []Trial) []Row {
	rows := rows(s, trials)
	Correct(rows, nil, nil)
	return rows
}

func rows(s *Settings, trials []Trial) []Row {
	var rows []Row
	for _, bug := range s.Bugs {
		if bug.Correct {
			continue
		}
		base := sample(trials, bug.Name, search.Random)
		found := slices.ContainsFunc(trials, func(t Trial) bool { return t.Bug == bug.Name && t.Failed == "" && t.Found })
		for _, strategy := range s.strategiesOf(&bug) {
			of := sample(trials, bug.Name, strategy)
			r := Row{Bug: bug.Name, Strategy: strategy, Trials: len(of.runs), Found: of.found, Failed: of.failed, CutOff: of.cutOff, Unknown: of.unknown}
			if of.cutOff == 0 {
				r.Runs, r.Seconds = quartiles(of.runs), quartiles(of.seconds)
				if known := knownCPU(trials, bug.Name, strategy); known > 0 {
					r.CPU = quartiles(within(of.cpu, known))
				}
			}
			r.Properties, r.Story, r.Mutants = of.properties, of.story, of.mutants
			if r.Trials > 0 {
				r.Share = interval(rank.Share(r.Found, r.Trials))
			}
			if r.Rate = rate(&of, &base); r.Rate != nil && strategy != search.Random {
				r.rates = rank.Rates(of.works, base.works)
				r.RateInterval = interval(rank.Middle(r.rates))
			}
			switch cut := of.cutOff + base.cutOff; {
			case strategy == search.Random:
			case cut > 0:
				r.Against = nothing(Unknown, cutOffReason(of.cutOff, base.cutOff))
			case len(of.runs) == 0 || len(base.runs) == 0:
			case !found:
				r.Against = nothing(Nothing, "")
			default:
				r.Against = sooner(of.runs, base.runs, float64(s.Runs), words{Loses, Even, Beats})
				if known := knownCPU(trials, bug.Name, strategy, search.Random); known > 0 {
					r.AgainstCPU, r.CPUSeconds = sooner(within(of.cpu, known), within(base.cpu, known), known, words{Loses, Even, Beats}), known
				}
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// rate is Row.Rate.
func rate(of, base *measured) *float64 {
	if of.cutOff+base.cutOff > 0 || of.made == 0 || base.made == 0 || of.found+base.found == 0 {
		return nil
	}
	finds := func(m *measured) float64 { return max(float64(m.found), 0.5) / float64(m.made) }
	r := finds(of) / finds(base)
	return &r
}

// cutOffReason says why trials that the timeout ended leave a comparison open.
func cutOffReason(own, base int) string {
	var list []string
	if own > 0 {
		list = append(list, fmt.Sprintf("%d of its trials", own))
	}
	if base > 0 {
		list = append(list, fmt.Sprintf("%d of random", base))
	}
	return strings.Join(list, " and ") + " cut off by the timeout"
}

// strategiesOf returns the strategies to try with a bug.
func (s *Settings) strategiesOf(bug *Bug) []string {
	if bug.Strategies != nil {
		return bug.Strategies
	}
	return s.Strategies
}

// knownCPU is the CPU time, in seconds, up to which it is known of all trials of some strategies with a bug whether they had found something: that of the
// quickest trial without a find, or else of the slowest. It is 0 if no trial reports its CPU time.
func knownCPU(trials []Trial, bug string, strategies ...string) float64 {
	open, longest := math.Inf(1), 0.0
	for i := range trials {
		t := &trials[i]
		if t.Bug != bug || t.Failed != "" || !slices.Contains(strategies, t.Strategy) {
			continue
		}
		seconds := float64(t.CPUNs) / 1e9
		if longest = max(longest, seconds); !t.Found {
			open = min(open, seconds)
		}
	}
	return min(open, longest)
}

// within has values up to a bound; what lies beyond it is unknown, and worse than all others.
func within(values []float64, most float64) []float64 {
	list := slices.Clone(values)
	for i, v := range list {
		if v > most {
			list[i] = math.Inf(1)
		}
	}
	return list
}

// measured has the runs, and the seconds, until the first violation; a trial without one is worse than all others.
type measured struct {
	runs, seconds, cpu []float64
	failed, cutOff     int
	unknown            int
	found, mutants     int
	made               uint64 // runs, of trials that count
	works              []rank.Work
	properties         map[string]int
	story              string
}

func sample(trials []Trial, bug, strategy string) (m measured) {
	for _, t := range trials {
		if t.Bug != bug || t.Strategy != strategy {
			continue
		}
		if t.Failed == "" {
			m.made += t.Runs
			m.works = append(m.works, rank.Work{Found: t.Found, Runs: t.Runs})
		}
		switch {
		case t.Failed != "":
			m.failed++
		case t.Found:
			m.found++
			m.runs, m.seconds, m.cpu = append(m.runs, float64(t.Runs)), append(m.seconds, float64(t.WallNs)/1e9), append(m.cpu, float64(t.CPUNs)/1e9)
			if m.properties == nil {
				m.properties = map[string]int{}
			}
			m.properties[t.Property]++
			if t.Mutant {
				m.mutants++
			}
			if t.Story != "" && (m.story == "" || len(t.Story) < len(m.story)) {
				m.story = t.Story
			}
		case t.CutOff:
			m.cutOff++
		default:
			if t.Unknown != "" {
				m.unknown++
			}
			m.runs, m.seconds, m.cpu = append(m.runs, math.Inf(1)), append(m.seconds, math.Inf(1)), append(m.cpu, math.Inf(1))
		}
	}
	return m
}

func quartiles(values []float64) Quartiles {
	of := func(q float64) *float64 {
		if len(values) == 0 {
			return nil
		}
		v := rank.Quantile(values, q)
		if math.IsInf(v, 1) {
			return nil
		}
		return &v
	}
	return Quartiles{of(0.25), of(0.5), of(0.75)}
}

// against compares samples in which small values are better, unless one of them has too few values. Correct says what it comes to.
func against(own, base []float64, w words) *Against {
	if n, m := len(own), len(base); min(n, m) < LeastTrials {
		return nothing(Few, fmt.Sprintf("%d against %d; %d of each are needed", n, m, LeastTrials))
	}
	return &Against{A12: rank.A12(own, base), P: rank.MannWhitney(own, base), Adjusted: 1, compared: true, words: w}
}

// sooner is against for runs or seconds until the first violation, which trials looked for up to limit.
func sooner(own, base []float64, limit float64, w words) *Against {
	a := against(own, base, w)
	if a.compared {
		times, i := rank.MedianRatio(own, base, limit)
		if a.TimesInterval = interval(i); !math.IsNaN(times) && !math.IsInf(times, 1) {
			a.Times = &times
		}
	}
	return a
}

func nothing(says, reason string) *Against {
	return &Against{A12: 0.5, P: 1, Adjusted: 1, Says: says, Reason: reason}
}

// Correct puts into words what comparisons say that are reported together, corrected for how many they are.
func Correct(rows []Row, reached []Reach, differences []Difference) {
	var list []*Against
	for i := range rows {
		list = append(list, rows[i].Against, rows[i].AgainstCPU)
	}
	for i := range reached {
		for _, m := range Measures {
			list = append(list, reached[i].AfterRuns[m].Against, reached[i].AfterCPU[m].Against)
		}
	}
	for i := range differences {
		list = append(list, differences[i].Against)
	}
	list = slices.DeleteFunc(list, func(a *Against) bool { return a == nil || !a.compared })
	var p []float64
	for _, a := range list {
		p = append(p, a.P)
	}
	for i, adjusted := range rank.Holm(p) {
		a := list[i]
		switch a.Adjusted = adjusted; {
		case adjusted >= Significant:
			a.Says = a.words.even
		case a.A12 > 0.5:
			a.Says = a.words.beats
		default:
			a.Says = a.words.loses
		}
	}
}

// Judged are the comparisons with random, those that were lost first and those that were won last. Those that say nothing come
// between.
func Judged(rows []Row) []Row {
	order := []string{Loses, Even, Few, Unknown, Nothing, Beats}
	var list []Row
	for _, r := range rows {
		if r.Against != nil {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b Row) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Against.Says), slices.Index(order, b.Against.Says)), cmp.Compare(a.Against.A12, b.Against.A12))
	})
	return list
}

// key identifies a trial in its comparison.
type key struct {
	bug, strategy string
	seed          uint64
}

func keyOf(t *Trial) key { return key{t.Bug, t.Strategy, t.Seed} }

// Missing are the trials that have not been made, in the order in which they are made: each bug and strategy has one before
// any has another, so that a comparison that is cut short is a smaller one.
func Missing(s *Settings, done []Trial) []Trial {
	made := map[key]bool{}
	for i := range done {
		made[keyOf(&done[i])] = true
	}
	var list []Trial
	for k := range s.Trials {
		for _, bug := range s.Bugs {
			for _, strategy := range s.strategiesOf(&bug) {
				if t := (Trial{Bug: bug.Name, Strategy: strategy, Seed: s.FirstSeed + k}); !made[keyOf(&t)] {
					list = append(list, t)
				}
			}
		}
	}
	return list
}
