package membership

import (
	"bytes"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"os"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

func specification(t *testing.T) *inproc.Specification {
	t.Helper()
	m, err := inproc.LoadSpecification("Membership.tla", "Followed.cfg", inproc.SpecificationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The story of the mail, reported to the model: it ends with a committed entry lost, and the rule of the same mail forbids its first step too many.
func TestTheStory(t *testing.T) {
	tell := func(careful bool) *inproc.Follower {
		t.Helper()
		text, err := os.ReadFile("Followed.cfg")
		if err != nil {
			t.Fatal(err)
		}
		if !careful {
			text = bytes.Replace(text, []byte("Careful = TRUE"), []byte("Careful = FALSE"), 1)
		}
		config, err := tla.ParseConfig("Followed.cfg", string(text))
		if err != nil {
			t.Fatal(err)
		}
		spec, err := tla.Load("Membership.tla", config)
		if err != nil {
			t.Fatal(err)
		}
		m, err := inproc.NewSpecification(spec, inproc.SpecificationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Follow()
		if err != nil {
			t.Fatal(err)
		}
		n := func(i int) value.Value { return value.ModelValue(names[i-1]) }
		f.Step("Timeout", n(1))
		f.Step("Vote", n(2), n(1), 1)
		f.Step("Vote", n(3), n(1), 1)
		f.Step("Lead", n(1))
		f.Step("Change", n(1), set(0b0111).members()) // n1 n2 n3, which no other server receives
		f.Step("Timeout", n(3))
		f.Step("Vote", n(2), n(3), 2)
		f.Step("Vote", n(4), n(3), 2)
		f.Step("Lead", n(3))
		f.Step("Change", n(3), set(0b1110).members()) // n2 n3 n4
		f.Step("Accept", n(4), 2, 0, 1)
		f.Step("Commit", n(3), 1) // by n3 and n4
		f.Step("See", n(1), 2)
		f.Step("Timeout", n(1))
		f.Saw(true, "Complete")
		f.Step("Vote", n(2), n(1), 3)
		f.Step("Lead", n(1)) // by n1 and n2
		return f
	}
	f := tell(false)
	f.Saw(false, "Complete")
	if f.Err() != nil {
		t.Error(f.Err())
	}
	if err := tell(true).Err(); err == nil || !strings.Contains(err.Error(), "Careful => b.commit > 0 is false") {
		t.Errorf("%v", err)
	}
}

// Careful leaders lose nothing, and do what the model says.
func TestMembership(t *testing.T) { sim.Test(t, World(false, specification(t))) }

// Properties see the consequence: two majorities that do not meet.
func TestTheLossIsFound(t *testing.T) {
	r, err := sim.Campaign{Dir: t.TempDir(), Runs: 20000}.Run(t.Context(), "membership", World(true, nil))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != sim.Violated || !strings.Contains(r.Failures[0].Signature, "a term has one leader") &&
		!strings.Contains(r.Failures[0].Signature, "what is committed stays") {
		t.Fatalf("%s:\n%s", r.Status, r.Text())
	}
}

// The model refuses the haste itself, long before anything is lost.
func TestTheHasteIsFound(t *testing.T) {
	r, err := sim.Campaign{Dir: t.TempDir()}.Run(t.Context(), "membership", World(true, specification(t)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != sim.Violated || !strings.Contains(r.Text(), "Careful => b.commit > 0 is false") {
		t.Fatalf("%s:\n%s", r.Status, r.Text())
	}
}
