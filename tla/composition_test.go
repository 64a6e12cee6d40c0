package tla

import "testing"

// TestStatesBetweenComposedStepsCount has numbers of states that TLC generates with -Dtlc2.tool.impl.Tool.cdot=true.
func TestStatesBetweenComposedStepsCount(t *testing.T) {
	const text = `---- MODULE M ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0 /\ y = 0
Up == x < 3 /\ x' \in {x, x + 1} /\ y' = y
Flip == y' = 1 - y /\ (x = 0 \/ x < 2 \/ y = 1) /\ x' = x
Down == x > 0 /\ x' \in 0..(x-1) /\ y' = y
Second == Up \cdot Flip \/ (y = 1 /\ (Flip \cdot (Up \cdot Flip)))
First == ((x < 2 \/ y = 0) /\ Up \cdot Flip) \/ (y = 1 /\ ((Flip \cdot Up) \cdot Down)) \/ Up
Inv == x < 3
====
`
	for _, c := range []struct {
		config              string
		generated, distinct int
	}{
		{"NEXT Second", 39, 5},
		{"NEXT First", 69, 8},
		{"NEXT First INVARIANT Inv", 60, 7},
	} {
		spec, err := specOf(t, text, "INIT Init CHECK_DEADLOCK FALSE "+c.config)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Check(spec, Options{}); err != nil || r.Generated != c.generated || r.Distinct != c.distinct {
			t.Errorf("%s: %d generated, %d distinct, %v", c.config, r.Generated, r.Distinct, err)
		}
	}
}
