package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/check"
	"github.com/bloodhound-dst/bloodhound/coverage"
	"github.com/bloodhound-dst/bloodhound/engine/inproc"
	"github.com/bloodhound-dst/bloodhound/model"
)

// counting loads a specification of a counter that goes up to a limit.
func counting(t *testing.T) *model.Model {
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
	m, err := model.Load(spec, config, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// followed is a world whose one server counts up to a number, and rests once.
func followed(m *model.Model, to int, kinds ...string) func(*inproc.World) {
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

// What became of the events of all runs stands in the text and the totals of a campaign.
func TestACampaignTellsWhatBecameOfEvents(t *testing.T) {
	m := counting(t)
	r := run(t, Campaign{Runs: 20}, followed(m, 40, "a nap"))
	want := &coverage.Tally{Mapped: 20 * 40, Ignored: map[string]int{"it rests": 20}, Unmodelled: map[string]int{"a nap": 20}}
	if r.ExitCode != 0 || !reflect.DeepEqual(r.Totals.Properties[0].Tally, want) {
		t.Errorf("exit code %d, %v instead of %v\n%s", r.ExitCode, r.Totals.Properties[0].Tally, want, r.Text())
	}
	if want := "    events: 800 mapped, 20 ignored (it rests), 20 not modelled (a nap)\n"; !strings.Contains(r.Text(), want) {
		t.Errorf("not in the text: %s\n%s", want, r.Text())
	}
	r = run(t, Campaign{Runs: 20}, followed(m, 41))
	if r.ExitCode != check.ExitViolated || !strings.Contains(r.Text(), "    events: 41 mapped, 1 ignored (it rests)\n") {
		t.Errorf("exit code %d\n%s", r.ExitCode, r.Text())
	}
	r = run(t, Campaign{Runs: 2}, followed(m, 10, "a nap"))
	if r.ExitCode != check.ExitUnknown || !strings.Contains(r.Text(), "2 ignored (it rests), 2 not modelled (a nap)") {
		t.Errorf("exit code %d\n%s", r.ExitCode, r.Text())
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
