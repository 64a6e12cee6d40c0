package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// planted plays a search in a world where what a run reaches depends on how its tape was made.
func planted(t *testing.T, name string, seed, runs uint64, reaches func(run uint64, o *Origin) []coverage.Feature) (*guided, []Candidate) {
	t.Helper()
	s, err := New(name, stepped(), seed, Settings{Coverage: true})
	if err != nil {
		t.Fatal(err)
	}
	var list []Candidate
	for run := range runs {
		if run >= DefaultFeedbackDelay {
			k := run - DefaultFeedbackDelay
			r := told(s, k, list[k], reaches(k, &list[k].Origin)...)
			r.Injections = []tape.Decision{{Stream: "fault/crash/n1", Index: 10, N: 17, Value: 3}, {Stream: "fault/crash/n2", Index: 30, N: 17, Value: 9}}
			s.Learn(r)
		}
		c, answer := s.Next(run)
		if answer != Here {
			t.Fatalf("%s: run %d: %v", name, run, answer)
		}
		list = append(list, c)
	}
	return s.(*guided), list
}

// shares are the parts of choices that were each arm, in percent.
func shares(list []Candidate, arms func(*Origin) []string) map[string]float64 {
	of, sum := map[string]float64{}, 0.0
	for i := range list {
		for _, a := range arms(&list[i].Origin) {
			of[a]++
			sum++
		}
	}
	for a := range of {
		of[a] *= 100 / sum
	}
	return of
}

func guideOf(o *Origin) []string {
	if o.Guide == "" {
		return nil
	}
	return []string{o.Guide}
}

// beginning returns features for the first runs of planted searches: one of each guide.
func beginning(run uint64) []coverage.Feature {
	if run >= 2*DefaultFeedbackDelay {
		return nil
	}
	var list []coverage.Feature
	for _, d := range []coverage.Domain{coverage.Log, coverage.ModelState, coverage.ModelEdge, coverage.ModelWhole,
		coverage.ModelGuard, coverage.Line, coverage.Trace} {
		list = append(list, coverage.New(d, fmt.Sprint(run)))
	}
	return list
}

// The bandit finds out which of four changes leads to something new, also when that changes, and does so the same each time.
func TestBanditLearnsWhichChangePays(t *testing.T) {
	const name, runs = "coverage-guided+bandit+add+future+choices+counts", 6000
	pays := func(run uint64) string {
		if run < runs/2 {
			return "choices"
		}
		return "add"
	}
	reaches := func(run uint64, o *Origin) []coverage.Feature {
		list := beginning(run)
		if run%3 == 0 && slices.Contains(kindsOf(o), pays(run)) { // most such mutants reach nothing
			list = append(list, coverage.New(coverage.Log, fmt.Sprint("new ", run)))
		}
		return list
	}
	g, list := planted(t, name, 1, runs, reaches)
	first, early, late := shares(list[:100], kindsOf), shares(list[runs/4:runs/2], kindsOf), shares(list[runs*3/4:], kindsOf)
	t.Log(first, early, late)
	if first["choices"] > 45 || early["choices"] < 60 || late["add"] < 60 {
		t.Errorf("shares of changes: %v at first, %v while choices pay, %v while add does", first, early, late)
	}
	for _, m := range g.Standing().Mutations {
		if m.Kept == 0 || m.Kept >= m.Made {
			t.Errorf("%+v", m) // others are in mutants that pay, too
		}
	}
	_, again := planted(t, name, 1, runs, reaches)
	if fmt.Sprint(list) != fmt.Sprint(again) {
		t.Error("the same seed gives other tapes")
	}
	if _, other := planted(t, name, 2, 100, reaches); fmt.Sprint(list[20:100]) == fmt.Sprint(other[20:]) {
		t.Error("another seed gives the same tapes")
	}
}

// Where no change pays, none is preferred.
func TestBanditPrefersNothingWithoutReason(t *testing.T) {
	kinds := []string{"add", "drop", "future", "choices", "counts"}
	_, list := planted(t, "coverage-guided+bandit+"+strings.Join(kinds, "+"), 3, 3000, func(run uint64, _ *Origin) []coverage.Feature { return beginning(run) })
	got := shares(list, kindsOf)
	for _, kind := range kinds {
		if got[kind] < 15 || got[kind] > 25 {
			t.Errorf("shares %v", got)
		}
	}
}

// Each guide keeps what is new to it. The bandit prefers the one whose entries have mutants that reach something new to the guide combined: trace, to which
// every run is new, does not win by that.
func TestBanditLearnsWhichGuidePays(t *testing.T) {
	const runs = 3000
	for _, pays := range []string{GuideEdge, GuideTrace, "none"} {
		g, list := planted(t, "coverage-guided+bandit", 1, runs, func(run uint64, o *Origin) []coverage.Feature {
			reached := append(beginning(run), coverage.New(coverage.Trace, fmt.Sprint("order ", run)))
			if run%4 == 0 && o.Guide == pays {
				reached = append(reached, coverage.New(coverage.Log, fmt.Sprint("new ", run)))
			}
			return reached
		})
		got := shares(list[runs/2:], guideOf)
		t.Log(pays, got)
		for _, guide := range guides {
			switch share := got[guide]; {
			case guide == pays && share < 60, pays == "none" && (share < 10 || share > 30):
				t.Errorf("%s pays: shares %v", pays, got)
			}
		}
		for i := range g.corpora {
			if c := &g.corpora[i]; len(c.held) == 0 || len(c.held) > maxCorpus/len(guides) {
				t.Errorf("%s has %d entries", c.guide, len(c.held))
			}
		}
		if s := g.Standing(); len(s.Guides) != len(guides) || s.Corpus > maxCorpus {
			t.Errorf("%+v", s)
		}
	}
}

// With a guide of its own, or without any, a search has one corpus, and the bandit chooses changes alone.
func TestBanditWithOneGuide(t *testing.T) {
	for _, name := range []string{"coverage-guided:state+bandit", "coverage-guided+bandit+unguided"} {
		g, list := planted(t, name, 1, 200, func(run uint64, _ *Origin) []coverage.Feature {
			return []coverage.Feature{coverage.New(coverage.ModelState, fmt.Sprint(run))}
		})
		if len(g.corpora) != 1 || len(shares(list, guideOf)) > 0 || len(g.Standing().Mutations) == 0 || g.Watches(coverage.Trace) {
			t.Errorf("%s: %d corpora, %+v", name, len(g.corpora), g.Standing())
		}
	}
	p, err := Parse("coverage-guided+bandit")
	if err != nil || !p.WatchesModel() || p.NeedsModel() || !p.Watches(coverage.ModelWhole) || !p.Watches(coverage.ModelGoal) ||
		!p.Watches(coverage.Trace) || !p.Watches(coverage.Line) || !p.Watches(coverage.Log) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := Parse("modelfuzz+bandit"); err == nil || !strings.Contains(err.Error(), "has no option") {
		t.Errorf("modelfuzz: %v", err)
	}
}

// Draws of the beta distribution have its mean and variance.
func TestBeta(t *testing.T) {
	const n = 20_000
	d := newDice(7, 0)
	for _, c := range [][2]float64{{1, 1}, {1, 20}, {3.5, 1.25}, {40, 400}} {
		a, b := c[0], c[1]
		sum, squares := 0.0, 0.0
		for range n {
			x := d.beta(a, b)
			sum, squares = sum+x, squares+x*x
		}
		mean, variance := sum/n, squares/n-sum/n*sum/n
		wantMean, wantVariance := a/(a+b), a*b/((a+b)*(a+b)*(a+b+1))
		if math.Abs(mean-wantMean) > 5*math.Sqrt(wantVariance/n) || math.Abs(variance/wantVariance-1) > 0.1 {
			t.Errorf("beta(%g, %g): mean %g, want %g; variance %g, want %g", a, b, mean, wantMean, variance, wantVariance)
		}
	}
}
