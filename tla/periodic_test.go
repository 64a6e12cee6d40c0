package tla

import (
	"strings"
	"testing"
)

// What is under _PERIODIC is evaluated while states are looked for, and ends the check once it is false.
func TestPeriodic(t *testing.T) {
	before := periodicEvery
	periodicEvery = 0
	defer func() { periodicEvery = before }()
	const text = `---- MODULE M ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 100000
Few == TLCGet("distinct") < 500
Some == "no Boolean"
Reward == x
====
`
	for name, broken := range map[string]bool{"Few": true, "Some": false} {
		spec, err := specOf(t, text, "INIT Init\nNEXT Next\n_PERIODIC "+name+"\n_RL_REWARD Reward")
		if err != nil {
			t.Fatal(err)
		}
		if len(spec.Notes) != 1 || !strings.Contains(spec.Notes[0], "_RL_REWARD changes nothing") {
			t.Errorf("notes: %q", spec.Notes)
		}
		r, err := Check(spec, Options{})
		if err != nil || r.Complete == broken || len(r.Violations) > 0 != broken || broken && r.Violations[0].Kind != AssumptionViolated {
			t.Errorf("%s: %v, complete: %v, stopped: %q, %v", name, err, r.Complete, r.Stopped, r.Violations)
		}
	}
	if _, err := specOf(t, text, "INIT Init\nNEXT Next\n_PERIODIC Reward"); err == nil || !strings.Contains(err.Error(), "is evaluated without a state") {
		t.Errorf("%v", err)
	}
}
