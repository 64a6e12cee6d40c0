package tla

import "testing"

// TestLevelBeforeStates asks for the level where there is no state yet, in states and in steps: TLC's numbers.
func TestLevelBeforeStates(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals, TLC
VARIABLES x, y
ASSUME TLCGet("level") = 0
AXIOM x = 5
Init == x = 1 /\ y = TLCGet("level")
Next == x < 4 /\ x' = x + 1 /\ y' = TLCGet("level")
Inv == TLCGet("level") = x /\ y = x - 1
Never == x < 3
====
`
	if _, r := mustCheck(t, module, "INIT Init NEXT Next INVARIANT Inv CHECK_DEADLOCK FALSE"); len(r.Violations) > 0 || r.Distinct != 4 {
		t.Errorf("%v, %d states", r.Violations, r.Distinct)
	}
	_, r := mustCheck(t, module, "INIT Init NEXT Next INVARIANT Never")
	if len(r.Violations) != 1 || len(r.Violations[0].Trace) != 3 {
		t.Errorf("%v", r.Violations)
	}
	spec, err := specOf(t, module, "INIT Init NEXT Next INVARIANT Inv CHECK_DEADLOCK FALSE")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Simulate(spec, Options{}, Simulation{Number: 1, Depth: 4}); err != nil || len(r.Violations) > 0 {
		t.Errorf("simulation: %v, %v", r.Violations, err)
	}
}
