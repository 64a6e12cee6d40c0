package tla

import (
	"strings"
	"testing"
)

// What a definition stands for is remembered while its state does not change: in guards, primed, under ENABLED and \cdot, in a VIEW, in properties.
func TestDefinitionsAreOfTheirState(t *testing.T) {
	module := `---- MODULE Seen ----
EXTENDS Naturals, FiniteSets
VARIABLES x, y
vars == <<x, y>>
S == {x + i : i \in 0..1}
T == [i \in S |-> i * y]
Init == x = 0 /\ y = 0
Up == /\ x \in S
      /\ x < 3
      /\ x' = x + 1
      /\ \E k \in {0, 1} : y' = k
      /\ S' = {x + 1, x + 2}
      /\ S = {x, x + 1}
Down == x = 3 /\ S = {3, 4} /\ x' = 0 /\ y' = 0 /\ S' = {0, 1}
Twice == (x < 3 /\ x' = x + 1 /\ UNCHANGED y) \cdot (S = {x, x + 1} /\ x' = x + 1 /\ UNCHANGED y /\ S' = {x + 1, x + 2})
Next == Up \/ Down
Plain == /\ S = {x, x + 1}
         /\ T[x] = x * y
         /\ ENABLED Up <=> x < 3
         /\ ENABLED (x' = 5 /\ S' = {5, 6} /\ y' = 0)
         /\ S = {x, x + 1}
Moves == [][S' # S \/ y' # y]_vars
Shown == <<S, T>>
====
`
	for _, c := range []struct {
		config   string
		distinct int
	}{
		{"INIT Init\nNEXT Next\nINVARIANT Plain\nPROPERTY Moves\nCHECK_DEADLOCK FALSE", 7},
		{"INIT Init\nNEXT Next\nINVARIANT Plain\nVIEW Shown\nCHECK_DEADLOCK FALSE", 7},
		{"INIT Init\nNEXT Twice\nINVARIANT Plain\nCHECK_DEADLOCK FALSE", 3}, // 0, 2, and 4 by way of 3
	} {
		_, r := mustCheck(t, module, c.config)
		if len(r.Violations) > 0 || r.Distinct != c.distinct {
			t.Errorf("%s: %d distinct states and %v, and not %d", strings.ReplaceAll(c.config, "\n", " "), r.Distinct, r.Violations, c.distinct)
		}
	}
}
