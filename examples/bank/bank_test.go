package bank

import (
	"flag"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/sim"
)

var lossy = flag.Bool("lossy", false, "test the bank that loses money")

// The bank holds what it promises. With -lossy it is the one that does not, to see how that looks.
func TestBank(t *testing.T) { sim.Test(t, World(!*lossy)) }

// A campaign finds the transfer that loses money, and what it takes: one crash between two accounts.
func TestTheCampaignFindsTheLoss(t *testing.T) {
	r, err := sim.Campaign{Dir: t.TempDir()}.Run(t.Context(), "bank", World(false))
	if err != nil {
		t.Fatal(err)
	}
	if r.ExitCode != check.ExitViolated || len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Signature, "the sum of all accounts stays the same") {
		t.Fatalf("exit code %d:\n%s", r.ExitCode, r.Text())
	}
	small := r.Failures[0].Smallest
	if small == nil || !small.Shrunk.Minimal || small.Shrunk.To.Faults != 1 {
		t.Fatalf("it is not one crash that is left:\n%s", r.Text())
	}
}
