package trial_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// tried makes a trial of a world as programs are asked for it.
func tried(t *testing.T, describe func(*inproc.World), o trial.Order) *trial.Answer {
	t.Helper()
	dir := t.TempDir()
	if err := o.Save(dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv(trial.OrderFolder, dir)
	sim.Campaign{Dir: t.TempDir()}.Run(trial.Context(context.Background()), "trial", describe)
	a, err := trial.Answered(dir)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// counting loads the model of a counter.
func counting(t *testing.T) *inproc.Specification {
	t.Helper()
	dir := t.TempDir()
	spec, config := filepath.Join(dir, "Counter.tla"), filepath.Join(dir, "Counter.cfg")
	for file, text := range map[string]string{
		spec:   "---- MODULE Counter ----\nEXTENDS Naturals\nCONSTANT Limit\nVARIABLE n\nInit == n = 0\nUp == n < Limit /\\ n' = n + 1\nNext == Up\n====\n",
		config: "INIT Init\nNEXT Next\nCONSTANT Limit = 40\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := inproc.LoadSpecification(spec, config, inproc.SpecificationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// steps is a world whose only client fails a promise now and then, with a schedule.
func steps(w *inproc.World) {
	w.Set(inproc.Settings{Schedule: &inproc.Schedule{Steps: 20}, Settle: -1})
	w.Process("server", func(p *inproc.Process) {
		for {
			p.Reply(p.Receive(), 1)
		}
	})
	w.Process("load", func(p *inproc.Process) {
		for p.Turn() {
			p.Assert(p.Choose(40) != 39, "luck holds")
			p.Send("server", 1)
		}
	})
}

func TestATrialIsTheCampaign(t *testing.T) {
	a := tried(t, steps, trial.Order{Strategy: "random", Seed: 3, Runs: 400, Story: true})
	if a.Error != "" || !a.Found || a.Property == "" || a.Runs == 0 || a.Runs >= 400 || a.Seed != 3 || a.Strategy != "random" || len(a.Curve) > 0 {
		t.Fatalf("%+v", a)
	}
	if !strings.Contains(a.Story, "Turn(load") {
		t.Errorf("story %q", a.Story)
	}
	t.Setenv(trial.OrderFolder, "")
	r, err := sim.Campaign{Dir: t.TempDir(), Seed: 3, Runs: 400}.Run(trial.Context(context.Background()), "trial", steps)
	if err != nil || r.Runs != a.Runs {
		t.Errorf("%v: the campaign ends after %d runs, and the trial after %d", err, r.Runs, a.Runs)
	}
}

// A model that only guides costs nothing where no search reads it, and changes no run.
func TestASearchPaysForNoModelThatItDoesNotLookAt(t *testing.T) {
	m := counting(t)
	var followed int
	world := func(w *inproc.World) {
		if f := w.Guide(m); f != nil {
			followed++
			f.Step("Up")
		}
		steps(w)
	}
	const described = 1 // before all runs
	for _, c := range []struct {
		strategy string
		measure  bool
		looks    bool
	}{
		{"random", false, false},
		{"coverage-guided:trace", false, false},
		{"coverage-guided:state", false, true},
		{"coverage-guided", false, true},
		{"random", true, true},
	} {
		followed = 0
		a := tried(t, world, trial.Order{Strategy: c.strategy, Seed: 3, Runs: 100, Measure: c.measure})
		if a.Error != "" || (followed > described) != c.looks {
			t.Errorf("%+v: %d runs were followed: %s", c, followed-described, a.Error)
		}
		if with := tried(t, steps, trial.Order{Strategy: "random", Seed: 3, Runs: 100, Measure: c.measure}); c.strategy == "random" && with.Runs != a.Runs {
			t.Errorf("%+v: %d runs, and %d without a model", c, a.Runs, with.Runs)
		}
	}
}

// A trial reports whether what it found came by a mutant. Those that begin with random tapes find by random tapes alone.
func TestATrialTellsWhatFound(t *testing.T) {
	by := map[bool]int{}
	for seed := range uint64(10) {
		a := tried(t, steps, trial.Order{Strategy: "coverage-guided:trace", Seed: seed, Runs: 400})
		if a.Found {
			by[a.Mutant]++
		}
		if a.Mutant && a.Runs <= 16 {
			t.Errorf("run %d was a mutant", a.Runs)
		}
		if a := tried(t, steps, trial.Order{Strategy: "random", Seed: seed, Runs: 400}); !a.Found || a.Mutant {
			t.Errorf("random: %+v", a)
		}
	}
	if by[true] == 0 || by[false] == 0 {
		t.Errorf("%v: of mutants, and of others", by)
	}
}

// A trial that measures continues after a violation, and its curve never falls.
func TestAMeasuredTrialHasACurve(t *testing.T) {
	a := tried(t, steps, trial.Order{Strategy: "coverage-guided", Seed: 3, Runs: 200, Measure: true})
	if a.Error != "" || !a.Found || a.Runs != 200 {
		t.Fatalf("%+v", a)
	}
	last := trial.Point{}
	for _, p := range a.Curve {
		if p.Runs <= last.Runs || p.CPUNs < last.CPUNs || p.States < last.States {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}
	if last.Runs != 200 || len(a.Curve) < 10 || a.Curve[0].Runs != 1 {
		t.Errorf("%d points, up to %d runs", len(a.Curve), last.Runs)
	}
}

func TestOrdersThatCannotBeMet(t *testing.T) {
	for strategy, says := range map[string]string{
		"luck":                  "there are random",
		"modelfuzz":             "call World.Model or World.Guide",
		"coverage-guided:edge":  "call World.Model or World.Guide",
		"coverage-guided:line":  "go build -cover",
		"coverage-guided:state": "call World.Model or World.Guide",
		"pct":                   "ranks threads",
	} {
		if a := tried(t, steps, trial.Order{Strategy: strategy, Seed: 1, Runs: 5}); !strings.Contains(a.Error, says) {
			t.Errorf("%s: %q", strategy, a.Error)
		}
	}
	a := tried(t, func(w *inproc.World) { w.Process("a", func(p *inproc.Process) {}) }, trial.Order{Strategy: "modelfuzz:trace", Seed: 1, Runs: 30})
	if !strings.Contains(a.Error, "this world has none") {
		t.Errorf("a world without a schedule: %+v", a)
	}
	if err := a.Save(t.TempDir()); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	a.Save(dir)
	if err := a.Save(dir); err == nil || !strings.Contains(err.Error(), "several campaigns") {
		t.Error(err)
	}
}
