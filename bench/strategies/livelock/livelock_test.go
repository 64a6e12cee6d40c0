package livelock

import (
	"bytes"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"os"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// specified reads the specification under a configuration with other values for some constants, as pairs of text.
func specified(t *testing.T, config string, other ...string) *tla.Spec {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(other); i += 2 {
		if !bytes.Contains(text, []byte(other[i])) {
			t.Fatalf("%s has no %s", config, other[i])
		}
		text = bytes.Replace(text, []byte(other[i]), []byte(other[i+1]), 1)
	}
	c, err := tla.ParseConfig(config, string(text))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := tla.Load("Leadership.tla", c)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func specification(t *testing.T, other ...string) *inproc.Specification {
	t.Helper()
	m, err := inproc.NewSpecification(specified(t, "Followed.cfg", other...), inproc.SpecificationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The protocol makes progress with both remedies, and with one of them it need not.
func TestTheModel(t *testing.T) {
	for _, c := range []struct {
		config string
		broken bool
		other  []string
	}{
		{"Leadership.cfg", false, nil},
		{"Leadership.cfg", false, []string{"DeafOne", "LinkDown"}},
		{"Leadership.cfg", false, []string{"DeafOne", "AllLinks"}},
		{"NoPreVote.cfg", true, nil},
		{"NoPreVote.cfg", true, []string{"DeafOne", "LinkDown"}},
		{"NoPreVote.cfg", false, []string{"DeafOne", "AllLinks"}},
		{"NoCheckQuorum.cfg", true, nil},
		{"NoCheckQuorum.cfg", false, []string{"DeafOne", "LinkDown"}},
	} {
		t.Run(strings.Join(append([]string{c.config}, c.other...), " "), func(t *testing.T) {
			r, err := tla.Check(specified(t, c.config, c.other...), tla.Options{})
			if err != nil || len(r.Unchecked) > 0 || r.Stopped != "" || r.Distinct < 20 {
				t.Fatalf("%v, %+v", err, r)
			}
			if len(r.Violations) > 0 != c.broken || c.broken && r.Violations[0].Name != "Progress" {
				t.Errorf("%+v", r.Violations)
			}
		})
	}
}

// With both remedies writes get on, whatever a server does not hear, and the servers do what the model says.
func TestLeadership(t *testing.T) { sim.Campaign{Runs: 300}.Test(t, World(None, specification(t))) }

// Without one of them nothing gets on, while each step is still one that its model has: what breaks is liveness.
func TestTheLivelocks(t *testing.T) {
	for bug, other := range map[Bug][]string{NoPreVote: {"PreVote = TRUE", "PreVote = FALSE"}, NoCheckQuorum: {"CheckQuorum = TRUE", "CheckQuorum = FALSE"}} {
		t.Run(string(bug), func(t *testing.T) {
			r, err := sim.Campaign{Dir: t.TempDir(), KeepGoing: true, Runs: 60}.Run(t.Context(), "livelock", World(bug, specification(t, other...)))
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != sim.Violated || len(r.Failures) == 0 {
				t.Fatalf("%s:\n%s", r.Status, r.Text())
			}
			for _, f := range r.Failures {
				if !strings.HasPrefix(f.Signature, "writes get on") || f.Smallest.Faults != 1 {
					t.Errorf("%s:\n%s", f.Signature, r.Text())
				}
			}
		})
	}
}

// The model with both remedies refuses a candidate that asked no server for a vote before.
func TestTheMissingPreVoteIsFound(t *testing.T) {
	r, err := sim.Campaign{Dir: t.TempDir()}.Run(t.Context(), "livelock", World(NoPreVote, specification(t)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != sim.Violated || !strings.Contains(r.Text(), `PreVote => role[s] = "asking" is false`) {
		t.Fatalf("%s:\n%s", r.Status, r.Text())
	}
}
