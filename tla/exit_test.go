package tla

import "testing"

// TestExitAtOnce has a specification end its check, which it does behind the state whose successors are being found: TLC's number of states.
func TestExitAtOnce(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Next == x' \in {x + 1, x + 2}
Stop == TLCSet("exit", TLCGet("distinct") > 10)
====
`
	_, r := mustCheck(t, module, "INIT Init NEXT Next INVARIANT Stop")
	if r.Stopped != ByExit || r.Distinct != 11 {
		t.Errorf("%q with %d states", r.Stopped, r.Distinct)
	}
}
