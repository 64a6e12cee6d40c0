package tla

import "testing"

// TestOrderOfActions has TLC's counts up to a violation, which tell in what order it takes the actions: for each member of an \E all that are under it.
func TestOrderOfActions(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0 /\ y = 0
Up(k) == x' = k /\ y' = 0
Side(k) == x' = x /\ y' = k
Both(k) == Up(k) \/ Side(k) \/ Up(k)
Constant == \E k \in 1..4 : Up(k) \/ Side(k)
Nested == \E k \in 1..3 : Both(k) \/ \E j \in 1..2 : Up(k + j) \/ Side(j)
Own == \E k \in 1..(3 - x) : Both(k)
Mixed == Side(4) \/ (\E k \in 1..2 : Side(k) \/ Up(k)) \/ Up(3)
====
`
	for _, c := range []struct {
		next, invariant     string
		generated, distinct int
	}{
		{"Constant", "x < 2", 4, 4},
		{"Constant", "y < 3", 7, 7},
		{"Nested", "x < 3", 7, 5},
		{"Nested", "y < 2", 8, 6},
		{"Own", "x < 2", 5, 4},
		{"Own", "y < 3", 9, 7},
		{"Mixed", "x < 3", 7, 7},
		{"Mixed", "x < 2", 6, 6},
	} {
		text := module[:len(module)-len("====\n")] + "Inv == " + c.invariant + "\n====\n"
		_, r := mustCheck(t, text, "INIT Init NEXT "+c.next+" INVARIANT Inv")
		if len(r.Violations) != 1 || r.Generated != c.generated || r.Distinct != c.distinct {
			t.Errorf("NEXT %s, %s: %d violations, %d states generated, %d distinct; want %d and %d",
				c.next, c.invariant, len(r.Violations), r.Generated, r.Distinct, c.generated, c.distinct)
		}
	}
}
