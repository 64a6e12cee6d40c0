package tla

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
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

// A definition is evaluated again only if a variable has changed that it reads: the next state is made in many ways, and most
// variables stay the same in most of them.
func TestDefinitionsAreRememberedWhileTheirVariablesStay(t *testing.T) {
	spec, err := specOf(t, `---- MODULE Stay ----
EXTENDS Naturals
VARIABLES x, y
Orders == {R \in SUBSET ((0..2) \X (0..2)) : \A i \in 0..x : <<i, i>> \in R}
Init == x = 0 /\ y = {}
Next == x' = (x + 1) % 3 /\ y' \in SUBSET (0..5) /\ \E R \in Orders' : <<x', x'>> \in R
====
`, "INIT Init\nNEXT Next")
	if err != nil {
		t.Fatal(err)
	}
	ev := eval.NewEvaluator(spec)
	successors := 0
	err = ev.Initial(func(s State) error {
		return ev.Successors(slices.Clone(s), &spec.Actions[0], func(State) error { successors++; return nil })
	})
	if err != nil || successors != 64 {
		t.Fatalf("%d successors, and not 64: %v", successors, err)
	}
	if most := uint64(4 * 512); uint64(ev.TLC.Ticks) > most {
		t.Errorf("%d members of sets were looked at, and not up to %d: the orders do not depend on y", ev.TLC.Ticks, most)
	}
}

// What is remembered is of the variables that were read for it, of however many there are, and none of those of another value.
func TestDefinitionsFollowTheirVariables(t *testing.T) {
	for _, count := range []int{2, 3, 64, 65, 70} {
		var names, same []string
		for i := range count {
			names = append(names, fmt.Sprintf("v%d", i))
			same = append(same, fmt.Sprintf("/\\ v%d = 0", i))
		}
		a, b, rest := names[count-2], names[count-1], names[:count-2]
		unchanged := ""
		if len(rest) > 0 {
			unchanged = "/\\ UNCHANGED <<" + strings.Join(rest, ", ") + ">>"
		}
		_, r := mustCheck(t, fmt.Sprintf(`---- MODULE Follow ----
EXTENDS Naturals, FiniteSets
VARIABLES %[1]s
A == {i \in 0..9 : i < %[3]s}
B == {i \in 0..9 : i < %[4]s}
Both == {i \in 0..9 : i < IF %[3]s = 1 THEN 7 ELSE %[3]s + %[4]s}
Ask[n \in 0..%[3]s] == IF n = 0 THEN %[4]s ELSE Ask[n - 1]
Init == %[2]s
Next == /\ %[3]s' \in 0..2 /\ Cardinality(A') = %[3]s' /\ %[4]s' \in 0..2 %[5]s
        /\ Cardinality(B') = %[4]s' /\ Cardinality(Both') = (IF %[3]s' = 1 THEN 7 ELSE %[3]s' + %[4]s')
        /\ Ask'[%[3]s'] = %[4]s' /\ Ask[%[3]s] = %[4]s
        /\ Cardinality(A) = %[3]s /\ Cardinality(B) = %[4]s
Right == Cardinality(A) = %[3]s /\ Cardinality(B) = %[4]s /\ Cardinality(Both) = (IF %[3]s = 1 THEN 7 ELSE %[3]s + %[4]s)
====
`, strings.Join(names, ", "), strings.Join(same, " "), a, b, unchanged), "INIT Init\nNEXT Next\nINVARIANT Right")
		if len(r.Violations) > 0 || r.Distinct != 9 || r.Generated != 1+9*9 {
			t.Errorf("%d variables: %d distinct states of %d, and not 9 of 82; %v", count, r.Distinct, r.Generated, r.Violations)
		}
	}
}
