package commit

import (
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sim"
)

func specification(t *testing.T) *inproc.Specification {
	t.Helper()
	m, err := inproc.LoadSpecification("TwoPhaseCommit.tla", "TwoPhaseCommit.cfg", inproc.SpecificationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The code does what the model says.
func TestCommit(t *testing.T) { sim.Test(t, World(None, specification(t))) }

func TestBugs(t *testing.T) {
	for _, c := range []struct {
		bug    Bug
		sign   string
		faults bool // that it takes some
	}{
		{Silent, "all come to an end", true}, // the model allows it: it promises nothing of when
		{Unsynced, `decision = "none" is false`, true},
		{Impatient, `state[p] = "working" is false`, false},
		{Miscounting, "votes = Participants is false", false},
	} {
		t.Run(string(c.bug), func(t *testing.T) {
			r, err := sim.Campaign{Dir: t.TempDir(), Runs: 3000}.Run(t.Context(), "commit", World(c.bug, specification(t)))
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != sim.Violated || !strings.Contains(r.Text(), c.sign) {
				t.Fatalf("%s, and nothing of %s:\n%s", r.Status, c.sign, r.Text())
			}
			if small := r.Failures[0].Smallest; small.Faults > 0 != c.faults || small.Nodes < 2 {
				t.Errorf("faults are needed: %v, and two nodes are:\n%s", c.faults, r.Text())
			}
		})
	}
}
