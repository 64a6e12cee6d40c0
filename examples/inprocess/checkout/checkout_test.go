package checkout

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sim"
)

// A shop that names its payments charges once, whatever fails and crashes.
func TestCheckout(t *testing.T) {
	sim.Test(t, World(Options{Keys: true, Before: 0.1, After: 0.1, Faults: []string{
		"crash on shop, db, pay rate 1% for 50ms..500ms", "power_loss on db, pay at fsync rate 1% for 50ms..500ms", "drop rate 1%"}}))
}

// Without names, failures before the effect are harmless.
func TestFailuresBeforeTheEffectShowNothing(t *testing.T) {
	sim.Campaign{Runs: 300}.Test(t, World(Options{Before: 0.3}))
}

// It takes one failure after the effect to charge twice: of the service, or of the connection to it.
func TestTheDoubleChargeIsFound(t *testing.T) {
	for kind, o := range map[string]Options{"http_500_after": {Before: 0.1, After: 0.1}, "pay_charge_after": {Lost: 0.1}} {
		r, err := sim.Campaign{Dir: t.TempDir()}.Run(t.Context(), "checkout", World(o))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != sim.Violated || !strings.Contains(r.Failures[0].Signature, "no order is charged twice") {
			t.Fatalf("%s:\n%s", r.Status, r.Text())
		}
		if r.Failures[0].Smallest.Faults != 1 || !strings.Contains(r.Text(), kind) {
			t.Errorf("it is not one failure that is left:\n%s", r.Text())
		}
	}
}
