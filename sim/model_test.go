package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// counting loads a specification of a counter that goes up to a limit.
func counting(t *testing.T) *inproc.Specification {
	t.Helper()
	return loaded(t, "Counter", "EXTENDS Naturals\nCONSTANT Limit\nVARIABLE n\nInit == n = 0\nUp == n < Limit /\\ n' = n + "+
		"1\nBy(k) == n' = n + k\nTotal == n\nNext == Up", "INIT Init\nNEXT Next\nCONSTANT Limit = 40\n")
}

// loaded writes a module and its configuration, and loads them.
func loaded(t *testing.T, name, module, configuration string) *inproc.Specification {
	t.Helper()
	dir := t.TempDir()
	spec, config := filepath.Join(dir, name+".tla"), filepath.Join(dir, name+".cfg")
	for file, text := range map[string]string{spec: "---- MODULE " + name + " ----\n" + module + "\n====\n", config: configuration} {
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

// followed is a world whose one server counts up to a number, and rests once.
func followed(m *inproc.Specification, to int, kinds ...string) func(*inproc.World) {
	return func(w *inproc.World) {
		f := w.Model("counts as Counter.tla", m)
		w.Process("server", func(p *inproc.Process) {
			for range to {
				p.Sleep(time.Millisecond)
				f.Step("Up")
			}
			f.Ignore("it rests")
			for _, k := range kinds {
				f.Unmodelled(k)
			}
			p.Sleep(time.Hour)
		})
		w.Set(inproc.Settings{Chaos: 100 * time.Millisecond, Settle: 10 * time.Millisecond})
	}
}

// The text and the totals of a campaign count what the model did with the events of all runs.
func TestACampaignTellsWhatBecameOfEvents(t *testing.T) {
	m := counting(t)
	r := run(t, Campaign{Runs: 20}, followed(m, 40, "a nap"))
	want := &coverage.Tally{Mapped: 20 * 40, Ignored: map[string]int{"it rests": 20}, Unmodelled: map[string]int{"a nap": 20}}
	if r.ExitCode != 0 || !reflect.DeepEqual(r.Totals.Properties[0].Tally, want) {
		t.Errorf("exit code %d, %v instead of %v\n%s", r.ExitCode, r.Totals.Properties[0].Tally, want, r.text.String())
	}
	if want := "    events: 800 mapped, 20 ignored (it rests), 20 not modelled (a nap)\n"; !strings.Contains(r.text.String(), want) {
		t.Errorf("not in the text: %s\n%s", want, r.text.String())
	}
	r = run(t, Campaign{Runs: 20}, followed(m, 41))
	if r.ExitCode != check.ExitViolated || !strings.Contains(r.text.String(), "    events: 41 mapped, 1 ignored (it rests)\n") {
		t.Errorf("exit code %d\n%s", r.ExitCode, r.text.String())
	}
	if want := "is false (Counter, line 6, column 7)\n    in the state\n    n = 40\n"; !strings.Contains(r.text.String(), want) {
		t.Errorf("not in the text: %s\n%s", want, r.text.String())
	}
	r = run(t, Campaign{Runs: 2}, followed(m, 10, "a nap"))
	if r.ExitCode != check.ExitUnknown || !strings.Contains(r.text.String(), "2 ignored (it rests), 2 not modelled (a nap)") {
		t.Errorf("exit code %d\n%s", r.ExitCode, r.text.String())
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("kind ", i))
	}
	r = run(t, Campaign{Runs: 2}, followed(m, 40, many...))
	if u := r.Totals.Properties[0].Tally.Unmodelled; len(u) != 51 || u["others"] != 100 {
		t.Errorf("%d kinds, %d others", len(u), u["others"])
	}
}

// Mistakes in a specification, or in the steps that it is given, are reported in turn; no such run hangs, and no property holds.
func TestModelsThatCannotBeFollowed(t *testing.T) {
	up := func(args ...any) func(*inproc.Follower) { return func(f *inproc.Follower) { f.Step("Up", args...) } }
	for name, c := range map[string]struct {
		spec string
		tell func(*inproc.Follower)
		code int
		says string
	}{
		"no initial state": {"Init == x = 0 /\\ x = 1\nUp == x' = x + 1", up(), check.ExitUsage,
			`the model of property "conforms": the specification has no initial state`},
		"an infinite set":     {"Init == x \\in Nat\nUp == x' = x + 1", up(), check.ExitUsage, "Nat is infinite"},
		"many initial states": {"Init == x \\in [1..20 -> 1..20]\nUp == x' = x", up(), check.ExitUsage, "more than 64 initial states"},
		"nothing is enabled":  {"Init == x = 0\nUp == FALSE /\\ x' = 1", up(), check.ExitViolated, "step 1, Up(), is not allowed by the model: FALSE is false"},
		"no such action":      {"Init == x = 0\nUp == x' = x", func(f *inproc.Follower) { f.Step("Down") }, check.ExitUnknown, "there is no operator Down"},
		"another number":      {"Init == x = 0\nUp == x' = x", up(1), check.ExitUnknown, "Up needs 0 arguments, and has 1"},
		"another kind":        {"Init == x = 0\nUp(n) == x' = x + n", up("a"), check.ExitUnknown, `an integer is needed, and not the string "a"`},
		"what it shows is a lie": {"Init == x = 0\nUp == x' = x + 1\nShown == x",
			func(f *inproc.Follower) { f.Step("Up"); f.Saw("a", "Shown") }, check.ExitViolated, `Shown() is 1 after it, but the system shows "a"`},
		"what it shows is broken": {"Init == x = 0\nUp == x' = x + 1\nShown == x.a",
			func(f *inproc.Follower) { f.Step("Up"); f.Saw(1, "Shown") }, check.ExitUnknown, "not a function"},
		"infinitely many next": {"Init == x = 0\nUp == x' \\in Nat", up(), check.ExitUnknown, "Nat is infinite"},
		"too many next": {"Init == x = 0\nUp == x' \\in SUBSET (1..50)", up(), check.ExitUnknown,
			"more than 64 states: report more of what the system shows"},
		"steps without an end": {"Init == x = 0\nUp == x' = x + 1", func(f *inproc.Follower) { f.Repeat("Up"); f.Step("Up") },
			check.ExitUnknown, "more than 64 states"},
		"recursion": {"RECURSIVE F(_)\nF(n) == F(n + 1)\nInit == x = 0\nUp == x' = F(0)", up(), check.ExitUnknown,
			"F uses itself without an end"},
		"not assigned":       {"Init == x = 0\nUp == x < 1", up(), check.ExitUnknown, "The following variable is not assigned: x"},
		"too large a number": {"Init == x = 9223372036854775807\nUp == x' = x + 1", up(), check.ExitUnknown, "does not fit into 64 bits"},
		"too large a value": {"Init == x = <<1>>\nUp == x' = x \\o x \\o x \\o x \\o x \\o x \\o x \\o x", func(f *inproc.Follower) {
			up()(f)
			up()(f)
			up()(f)
			up()(f)
			up()(f)
			up()(f)
			up()(f)
			up()(f)
		}, check.ExitUnknown, "too large"},
		"all is ignored": {"Init == x = 0\nUp == x' = x", func(f *inproc.Follower) { f.Ignore("it is nothing") },
			check.ExitUnknown, "no event of the run was mapped"},
		"nothing is told": {"Init == x = 0\nUp == x' = x", func(*inproc.Follower) {}, check.ExitUnknown, "no event of the run was mapped"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			spec := filepath.Join(dir, "M.tla")
			if err := os.WriteFile(spec, []byte("---- MODULE M ----\nEXTENDS Integers, Sequences\nVARIABLE x\n"+c.spec+
				"\nNext == x' = x\n====\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			config, err := tla.ParseConfig("M.cfg", "INIT Init\nNEXT Next\n")
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := tla.Load(spec, config)
			if err != nil {
				t.Fatal(err)
			}
			m, err := inproc.NewSpecification(loaded, inproc.SpecificationOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := Campaign{Dir: dir, Runs: 2, Doubles: -1, ShrinkRuns: -1}.run(t.Context(), "model", func(w *inproc.World) {
				f := w.Model("conforms", m)
				w.Process("server", func(p *inproc.Process) {
					p.Sleep(time.Millisecond)
					c.tell(f)
					p.Sleep(time.Hour)
				})
				w.Set(inproc.Settings{Chaos: 10 * time.Millisecond, Settle: -1})
			})
			code, text := check.ExitUsage, ""
			if err != nil {
				text = err.Error()
			} else {
				code, text = r.ExitCode, r.text.String()
			}
			if code != c.code || !strings.Contains(text, c.says) {
				t.Errorf("exit code %d, and not %d with %q:\n%s", code, c.code, c.says, text)
			}
		})
	}
}

// A step without a meaning in the model ends the campaign after a run, whatever the model is for, and is reported once, with the
// place. A step that a guide's model does not allow may be the bug that is searched for; it ends the following alone.
func TestMistakesInWhatModelsAreTold(t *testing.T) {
	m := counting(t)
	world := func(promised bool, tell func(*inproc.Follower, *inproc.Process)) func(*inproc.World) {
		return func(w *inproc.World) {
			var f *inproc.Follower
			if promised {
				f = w.Model("conforms", m)
			} else {
				f = w.Guide(m)
			}
			w.Process("server", func(p *inproc.Process) {
				p.Sleep(time.Millisecond)
				p.Assert(true, "all is well")
				tell(f, p)
				p.Sleep(time.Hour)
			})
			w.Set(inproc.Settings{Chaos: 100 * time.Millisecond, Settle: 10 * time.Millisecond})
		}
	}
	for name, c := range map[string]struct {
		tell func(*inproc.Follower, *inproc.Process)
		says string
	}{
		"no such action": {func(f *inproc.Follower, _ *inproc.Process) { f.Step("Upp", 1) }, `Step("Upp", 1) at `},
		"repeats none": {func(f *inproc.Follower, _ *inproc.Process) { f.Repeat("Upp") },
			"there is no operator Upp with a definition in module Counter; the actions are Up"},
		"a number":           {func(f *inproc.Follower, _ *inproc.Process) { f.Step("Up", 1) }, "Up needs 0 arguments, and has 1"},
		"no such operator":   {func(f *inproc.Follower, _ *inproc.Process) { f.Step("Up"); f.Saw(1, "Shown", "a") }, `Saw(1, "Shown", "a") at `},
		"its number":         {func(f *inproc.Follower, _ *inproc.Process) { f.Step("Up"); f.Saw(1, "Total", 2) }, "Total needs 0 arguments, and has 1"},
		"in some run, later": {func(f *inproc.Follower, p *inproc.Process) { f.Step([]string{"Up", "Upp"}[p.Choose(2)]) }, "there is no operator Upp"},
	} {
		for _, promised := range []bool{false, true} {
			r := run(t, Campaign{Runs: 300, KeepGoing: true}, world(promised, c.tell))
			said := r.Totals.Mistake
			if r.ExitCode != check.ExitUnknown || !strings.Contains(said, c.says) || strings.Count(r.text.String(), said) > 2 ||
				!strings.Contains(said, "model_test.go:") {
				t.Errorf("%s, promised %t: exit code %d, %q\n%s", name, promised, r.ExitCode, said, r.text.String())
			}
			if runs := r.Totals.Runs; runs > 20 || runs != 1 && name != "in some run, later" {
				t.Errorf("%s, promised %t: reported after %d runs", name, promised, runs)
			}
			if !promised && strings.Count(r.text.String(), said) != 1 {
				t.Errorf("%s: reported several times\n%s", name, r.text.String())
			}
		}
	}
	for name, c := range map[string]struct {
		tell func(*inproc.Follower, *inproc.Process)
		code int
		says string
	}{
		"it leaves the model": {func(f *inproc.Follower, _ *inproc.Process) {
			for range 41 {
				f.Step("Up")
			}
		}, check.ExitHolds, "note: the model that guides the search was not followed to the end in 20 of 20 runs; the first: seed "},
		"it is followed": {func(f *inproc.Follower, _ *inproc.Process) { f.Step("Up") }, check.ExitHolds, "all properties hold over 20 runs"},
		"nothing is told": {func(f *inproc.Follower, _ *inproc.Process) { f.Ignore("it is nothing") }, check.ExitUnknown,
			"UNKNOWN: no run reported a step to the model that guides the search"},
		"it cannot be evaluated": {func(f *inproc.Follower, _ *inproc.Process) { f.Step("Up"); f.Step("By", "a") }, check.ExitUnknown,
			"UNKNOWN: the model that guides the search could not be followed in 20 of 20 runs: step 2, By(\"a\"): "},
		"it cannot be evaluated in a few runs": {func(f *inproc.Follower, p *inproc.Process) {
			if f.Step("Up"); p.Choose(10) == 0 {
				f.Step("By", "a")
			}
		}, check.ExitHolds, "note: the model that guides the search was not followed to the end in "},
	} {
		r := run(t, Campaign{Runs: 20, Seed: 4}, world(false, c.tell))
		if r.ExitCode != c.code || !strings.Contains(r.text.String(), c.says) {
			t.Errorf("%s: exit code %d, and not %d with %q\n%s", name, r.ExitCode, c.code, c.says, r.text.String())
		}
	}
}

// A search that is guided by guards comes closer, run by run, to a step that random tapes do not reach.
func TestGuardsGuide(t *testing.T) {
	m := loaded(t, "Doors", "EXTENDS Naturals\nVARIABLE open\nInit == open = 0\nOpen == open < 60 /\\ open' = open + 1\nShut == "+
		"open' = 0\nPass == open = 60 /\\ open' = open\nNext == Open \\/ Shut \\/ Pass", "INIT Init\nNEXT Next\n")
	doors := func(w *inproc.World) {
		f := w.Guide(m)
		w.Process("thief", func(p *inproc.Process) {
			for open := 0; p.Turn(); {
				switch {
				case open == 60:
				case p.Choose(4) == 0:
					f.Step("Shut")
					open = 0
				default:
					f.Step("Open")
					open++
				}
			}
		})
		w.Set(inproc.Settings{Schedule: &inproc.Schedule{Steps: 100}, Settle: -1})
	}
	distance := func(strategy string, seed uint64) float64 {
		near := run(t, Campaign{Runs: 2000, Seed: seed, Strategy: strategy}, doors).Totals.Search.Near
		i := slices.IndexFunc(near, func(n coverage.Nearness) bool { return n.Name == "guide: Pass possible" })
		if i < 0 {
			t.Fatalf("%s, seed %d: the distances are %v", strategy, seed, near)
		}
		return near[i].Distance
	}
	for seed := range uint64(4) {
		if with, without := distance("coverage-guided:guard", seed+1), distance("coverage-guided:guard+unguided", seed+1); with >= without {
			t.Errorf("seed %d: the distance is %v, and %v without the guide", seed+1, with, without)
		}
	}
}
