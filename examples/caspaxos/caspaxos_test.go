package caspaxos

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/sim"
)

func specification(t *testing.T) *model.Model {
	t.Helper()
	m, err := model.Load("CasPaxos.tla", "CasPaxos.cfg", model.Options{})
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
	if r.ExitCode != check.ExitViolated || !strings.Contains(r.Failures[0].Signature, "linearizable") {
		t.Fatalf("exit code %d:\n%s", r.ExitCode, r.Text())
	}
}

// The model sees the wrong ballot where it is used, before a client can tell.
func TestTheMixUpIsFound(t *testing.T) {
	r, err := sim.Campaign{Dir: t.TempDir()}.Run(t.Context(), "caspaxos", World(true, specification(t)))
	if err != nil {
		t.Fatal(err)
	}
	if r.ExitCode != check.ExitViolated || !strings.Contains(r.Text(), `p.accepted = from is false`) {
		t.Fatalf("exit code %d:\n%s", r.ExitCode, r.Text())
	}
}
