package caspaxos

import (
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sim"
)

func specification(t *testing.T) *inproc.Specification {
	t.Helper()
	m, err := inproc.LoadSpecification("CasPaxos.tla", "CasPaxos.cfg", inproc.SpecificationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The register is one, and does what the model says.
func TestCasPaxos(t *testing.T) { sim.Test(t, World(false, specification(t))) }

// Clients see a register that is none.
func TestTheLossIsFound(t *testing.T) {
	r, err := sim.Campaign{Dir: t.TempDir(), Runs: 5000}.Run(t.Context(), "caspaxos", World(true, nil))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != sim.Violated || !strings.Contains(r.Failures[0].Signature, "linearizable") {
		t.Fatalf("%s:\n%s", r.Status, r.Text())
	}
}

// The model sees the wrong ballot where it is used, before a client can notice.
func TestTheMixUpIsFound(t *testing.T) {
	r, err := sim.Campaign{Dir: t.TempDir()}.Run(t.Context(), "caspaxos", World(true, specification(t)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != sim.Violated || !strings.Contains(r.Text(), `p.accepted = from is false`) {
		t.Fatalf("%s:\n%s", r.Status, r.Text())
	}
}
