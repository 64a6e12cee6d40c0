package bank

import (
	"flag"
	"strings"
	"testing"

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
	if r.Status != sim.Violated || len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Signature, "the sum of all accounts stays the same") {
		t.Fatalf("%s:\n%s", r.Status, r.Text())
	}
	if f := r.Failures[0]; !f.Minimal || f.Smallest.Faults != 1 {
		t.Fatalf("it is not one crash that is left:\n%s", r.Text())
	}
}
