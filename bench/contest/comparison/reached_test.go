package comparison

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// curve is a trial that reaches so many states after 1, 10 and 100 runs, and takes a second of CPU time for each run.
func curve(strategy string, seed uint64, second float64, states ...int) Trial {
	t := Trial{Bug: "right", Strategy: strategy, Seed: seed, Runs: 100}
	for i, n := range states {
		runs := []uint64{1, 10, 100}[i]
		t.Curve = append(t.Curve, Point{Runs: runs, CPUNs: int64(float64(runs) * second * 1e9), States: n, Whole: n, Guards: 3})
	}
	t.CPUNs = t.Curve[len(t.Curve)-1].CPUNs
	return t
}

func world() *Settings {
	s := settings()
	s.Strategies = []string{"random", "a"}
	s.Bugs = append(s.Bugs, Bug{Name: "right", Correct: true})
	return s
}

func value(t *testing.T, v *float64) float64 {
	t.Helper()
	if v == nil {
		t.Fatal("there is no value")
	}
	return *v
}

func TestWhatIsReached(t *testing.T) {
	trials := []Trial{
		curve("random", 1, 1, 1, 5, 9), curve("random", 2, 1, 1, 6, 10), curve("random", 3, 1, 2, 7, 11),
		// It reaches more in as many runs, and as each takes twice as long, less in as much time.
		curve("a", 1, 2, 1, 5, 19), curve("a", 2, 2, 1, 6, 20), curve("a", 3, 2, 2, 7, 21),
	}
	trials = append(times(4, trials...), Trial{Bug: "right", Strategy: "a", Seed: 4, Failed: "it was lost"})
	rows := Reached(world(), trials)
	Correct(nil, rows, nil)
	if len(rows) != 2 || rows[1].Trials != 12 || rows[1].Failed != 1 || rows[0].Runs != 100 || rows[0].CPUSeconds != 100 {
		t.Fatalf("%+v", rows)
	}
	random, a := rows[0].AfterRuns["states"], rows[1].AfterRuns["states"]
	if value(t, random.Median) != 10 || random.Against != nil || value(t, a.Median) != 20 || a.Against.A12 != 1 || a.Against.Says != Beats {
		t.Errorf("%+v, %+v", random, a)
	}
	// After 100 s it has made 50 runs: four ninths of the way from 10 to 100.
	if got := value(t, rows[1].AfterCPU["states"].Median); math.Abs(got-(6+14*40.0/90)) > 1e-9 {
		t.Errorf("%v states after equal CPU time", got)
	}
	if g := rows[1].AfterRuns["guards"]; value(t, g.Median) != 3 || g.Against.A12 != 0.5 || g.Against.Says != Even {
		t.Errorf("guards: %+v", g)
	}
	if _, ok := rows[0].AfterRuns["blocks"]; ok {
		t.Error("blocks were not measured, and have a row")
	}
	if want := []Point{{Runs: 1, CPUNs: 2e9, States: 1, Whole: 1, Guards: 3}, {Runs: 10, CPUNs: 20e9, States: 6, Whole: 6, Guards: 3},
		{Runs: 100, CPUNs: 200e9, States: 20, Whole: 20, Guards: 3}}; !reflect.DeepEqual(rows[1].Curve, want) {
		t.Errorf("the curve is %v", rows[1].Curve)
	}
	// Where one trial was cut short, all are compared up to there.
	trials[0].Curve = trials[0].Curve[:2]
	if rows = Reached(world(), trials); rows[1].Runs != 10 || value(t, rows[1].AfterRuns["states"].Median) != 6 ||
		rows[1].AfterRuns["states"].Against.A12 != 0.5 {
		t.Errorf("%+v", rows[1])
	}
	trials[1].Found = true
	if rows = Reached(world(), trials); rows[0].Violated != 1 {
		t.Error("a violation of the correct world is not reported")
	}
}

// CPU time is compared up to where it is known of all trials whether they had found something.
func TestCPUTimeIsComparedAsFarAsItIsKnown(t *testing.T) {
	s := settings()
	s.Strategies = []string{"random", "a"}
	trial := func(strategy string, seed uint64, found bool, seconds float64) Trial {
		return Trial{Bug: "bug", Strategy: strategy, Seed: seed, Found: found, Runs: 100, CPUNs: int64(seconds * 1e9), Property: "p"}
	}
	rows := Rows(s, times(4,
		trial("random", 1, true, 1), trial("random", 2, true, 8), trial("random", 3, false, 5),
		trial("a", 1, true, 2), trial("a", 2, true, 3), trial("a", 3, true, 30)))
	random, a := rows[0], rows[1]
	// One of random had found nothing after 5 s, and what it would have found by 8 s is not known.
	if value(t, random.CPU.First) != 1 || random.CPU.Median != nil {
		t.Errorf("%+v", random.CPU)
	}
	if a.CPUSeconds != 5 || value(t, a.CPU.Median) != 3 || value(t, a.CPU.Third) != 30 {
		t.Errorf("%+v, compared up to %v s", a.CPU, a.CPUSeconds)
	}
	// Up to 5 s: 1, -, - against 2, 3, -.
	if got := a.AgainstCPU.A12; math.Abs(got-(2+2+1)/9.0) > 1e-9 {
		t.Errorf("A12 %v", got)
	}
	if !reflect.DeepEqual(a.Properties, map[string]int{"p": 12}) {
		t.Errorf("%v", a.Properties)
	}
}

func TestRarity(t *testing.T) {
	s := settings()
	s.Strategies = []string{"random", "a"}
	s.Runs = 10_000
	s.Bugs = nil
	var all []Trial
	for name, runs := range map[string][3]uint64{"common": {1, 50, 10_000}, "uncommon": {1, 500, 10_000},
		"rare": {1, 5000, 10_000}, "rarer": {7, 10_000, 10_000}, "unfound": {10_000, 10_000, 10_000}, "variant": {1, 1, 1}} {
		b := Bug{Name: name}
		if name == "variant" {
			b.Of = "common"
		}
		s.Bugs = append(s.Bugs, b)
		for k, n := range runs {
			all = append(all, Trial{Bug: name, Strategy: "random", Seed: uint64(k) + 1, Runs: n, Found: n < 10_000},
				Trial{Bug: name, Strategy: "a", Seed: uint64(k) + 1, Runs: 3, Found: true})
		}
	}
	got := map[string]string{}
	for _, r := range ByRarity(s, Rows(s, all)) {
		if r.Strategy == "a" {
			got[r.Class] = strings.Join(r.Bugs, " ")
			if r.Found != r.Trials {
				t.Errorf("%+v", r)
			}
		} else if r.Class == Common && (r.Found != 2 || r.Trials != 3) {
			t.Errorf("%+v", r)
		}
	}
	if got[Common] != "common" || got[Uncommon] != "uncommon" || got[Unfound] != "unfound" || len(got[Rare]) != len("rare rarer") {
		t.Errorf("%v", got)
	}
}

// A run is worth as many random tapes as it finds more; no find counts as half a one, and what both do not find is worth nothing that is known.
func TestWhatARunIsWorth(t *testing.T) {
	s := &Settings{Bugs: []Bug{{Name: "seldom"}, {Name: "often"}, {Name: "same"}, {Name: "never"}}, Strategies: []string{"random", "a"}, Trials: 2, Runs: 100}
	var all []Trial
	for bug, finds := range map[string][2]int{"seldom": {2, 0}, "often": {1, 2}, "same": {2, 2}, "never": {}} {
		for i, strategy := range s.Strategies {
			for k := range 2 {
				all = append(all, Trial{Bug: bug, Strategy: strategy, Seed: uint64(k) + 1, Runs: 50, Found: k < finds[i]})
			}
		}
	}
	rows := Rows(s, all)
	for _, r := range rows {
		want := map[string]float64{"seldom a": 0.25, "often a": 2, "seldom random": 1, "often random": 1, "same a": 1, "same random": 1}[r.Bug+" "+r.Strategy]
		if want == 0 && r.Rate != nil || want > 0 && (r.Rate == nil || *r.Rate != want) {
			t.Errorf("%+v, want %v", r, want)
		}
	}
	for _, r := range ByRarity(s, rows) {
		if want := math.Sqrt(0.25 * 1); r.Strategy == "a" && r.Class == Common && (r.Rate == nil || math.Abs(*r.Rate-want) > 1e-9) {
			t.Errorf("%+v, want %v", r, want)
		}
	}
}

func TestVariantsAreComparedWithTheirWorld(t *testing.T) {
	s := world()
	s.Strategies = []string{"random"}
	s.Bugs = append(s.Bugs, Bug{Name: "slow", Of: "bug", Variant: "v"}, Bug{Name: "coarse", Of: "right", Variant: "w", Correct: true})
	all := trials("random", 1, 2, 3, 4, 5, 6)
	for k, n := range []uint64{11, 12, 13, 14, 100, 100} {
		all = append(all, Trial{Bug: "slow", Strategy: "random", Seed: uint64(k) + 1, Runs: n, Found: n < 100})
	}
	for k := range uint64(6) {
		all = append(all, curve("random", k+1, 1, 1, 2, 10+int(k)))
		more := curve("random", k+1, 1, 1, 2, 40+int(k))
		more.Bug = "coarse"
		all = append(all, more)
	}
	list := Differences(s, times(2, all...))
	Correct(nil, nil, list)
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	slow, coarse := list[0], list[1]
	if slow.Against.Says != Worse || slow.Against.A12 != 0 || value(t, slow.Usual) != 3.5 || value(t, slow.Median) != 13.5 ||
		slow.Found != "8 of 12 against 12 of 12" || slow.Measure != "runs" {
		t.Errorf("%+v", slow)
	}
	if coarse.Against.Says != Better || value(t, coarse.Usual) != 12.5 || value(t, coarse.Median) != 42.5 || coarse.Measure != "whole states" {
		t.Errorf("%+v", coarse)
	}
}

// A strategy with an option is compared with the one without it, where both are; all are compared with random as it is.
func TestOptionsAreComparedWithTheStrategyWithoutThem(t *testing.T) {
	s := &Settings{Bugs: []Bug{{Name: "bug"}, {Name: "right", Correct: true}},
		Strategies: []string{"random", "random+x2", "a", "a+b", "a+b+c", "d+e"}, Trials: 12, Runs: 100}
	var all []Trial
	for seed := range uint64(12) {
		for i, strategy := range s.Strategies {
			all = append(all, Trial{Bug: "bug", Strategy: strategy, Seed: seed + 1, Runs: 90 - 10*uint64(i) + seed%3,
				Found: true}, curve(strategy, seed+1, 1, 1, 2, 10+int(seed)))
		}
	}
	list := Differences(s, all)
	Correct(nil, nil, list)
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprint(d.Bug, " ", d.Strategy, " of ", d.Of, ": ", d.Variant, " ", d.Against.Says))
	}
	want := []string{"bug a+b of a: +b better", "bug a+b+c of a+b: +c better", "right a+b of a: +b no difference shown",
		"right a+b+c of a+b: +c no difference shown"}
	if !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	if x := list[0].Against.Times; x == nil || *x != 71.0/61 || list[0].Against.TimesInterval == nil {
		t.Errorf("%+v", list[0].Against)
	}
}

// A bug may have strategies of its own.
func TestStrategiesOfABug(t *testing.T) {
	s := settings()
	s.Trials = 2
	s.Bugs = append(s.Bugs, Bug{Name: "other", Strategies: []string{"random", "d"}})
	list := Missing(s, []Trial{{Bug: "other", Strategy: "d", Seed: 2}})
	if len(list) != 2*4+2*2-1 {
		t.Errorf("%d trials are missing", len(list))
	}
	if rows := Rows(s, nil); len(rows) != 6 || rows[5].Strategy != "d" {
		t.Errorf("%+v", rows)
	}
}
