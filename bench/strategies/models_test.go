package strategies

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/bench/strategies/caspaxos"
	"github.com/bloodhound-dst/bloodhound/bench/strategies/livelock"
	"github.com/bloodhound-dst/bloodhound/bench/strategies/membership"
	commit "github.com/bloodhound-dst/bloodhound/bench/strategies/two-phase-commit"
	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// The protocols themselves are right: TLC's question, asked of their models.
func TestTheModelsHold(t *testing.T) {
	for _, c := range []struct {
		spec, config string
		distinct     int // states, at least
	}{
		{"two-phase-commit/TwoPhaseCommit.tla", "TwoPhaseCommit.cfg", 50},
		{"membership/Membership.tla", "Membership.cfg", 10000}, // what leaders have committed stays
		{"caspaxos/CasPaxos.tla", "CasPaxos.cfg", 10000},       // no change passes over what was decided
	} {
		t.Run(c.spec, func(t *testing.T) {
			config, err := tla.ReadConfig(filepath.Join(filepath.Dir(c.spec), c.config))
			if err != nil {
				t.Fatal(err)
			}
			spec, err := tla.Load(c.spec, config)
			if err != nil {
				t.Fatal(err)
			}
			r, err := tla.Check(spec, tla.Options{})
			if err != nil || len(r.Violations) > 0 || len(r.Unchecked) > 0 || r.Stopped != "" || r.Distinct < c.distinct {
				t.Fatalf("%v, %+v", err, r)
			}
		})
	}
}

// A mapping that forgets one action, whichever it is, does not go unnoticed: runs of the right code then leave the model, or are unknown.
func TestNoActionCanBeForgotten(t *testing.T) {
	for _, c := range []struct {
		spec, config string
		world        func(*inproc.Specification) func(*inproc.World)
	}{
		{"two-phase-commit/TwoPhaseCommit.tla", "TwoPhaseCommit.cfg",
			func(m *inproc.Specification) func(*inproc.World) { return commit.World(commit.None, m) }},
		{"membership/Membership.tla", "Followed.cfg", func(m *inproc.Specification) func(*inproc.World) { return membership.World(false, m) }},
		{"caspaxos/CasPaxos.tla", "CasPaxos.cfg", func(m *inproc.Specification) func(*inproc.World) { return caspaxos.World(false, m) }},
		{"livelock/Leadership.tla", "Followed.cfg", func(m *inproc.Specification) func(*inproc.World) { return livelock.World(livelock.None, m) }},
	} {
		load := func(forget string) *inproc.Specification {
			t.Helper()
			m, err := inproc.LoadSpecification(c.spec, filepath.Join(filepath.Dir(c.spec), c.config), inproc.SpecificationOptions{Forget: forget})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		actions := load("").Actions()
		if len(actions) < 3 {
			t.Errorf("%s has only the actions %v", c.spec, actions)
		}
		for _, forgotten := range append(actions, "") {
			t.Run(c.spec+"/"+forgotten, func(t *testing.T) {
				runs := uint64(500) // the campaign ends with the first that leaves the model
				if forgotten == "" {
					runs = 50
				}
				r, err := sim.Campaign{Dir: t.TempDir(), Runs: runs, Doubles: -1, ShrinkRuns: -1}.Run(t.Context(), "forgetful", c.world(load(forgotten)))
				switch {
				case err != nil:
					t.Fatal(err)
				case forgotten == "" && r.Status != sim.Holds:
					t.Errorf("nothing is forgotten: %s:\n%s", r.Status, r.Text())
				case forgotten == "":
				case r.Status == sim.Unknown && strings.Contains(r.Text(), "UNKNOWN: conforms to"):
				case r.Status == sim.Violated && strings.HasPrefix(r.Failures[0].Signature, "conforms to"):
				default:
					t.Errorf("%s:\n%s", r.Status, r.Text())
				}
			})
		}
	}
}
