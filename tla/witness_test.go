package tla

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const walker = `---- MODULE Walker ----
EXTENDS Naturals, Sequences
VARIABLES x, y
A(i) == x' = x + i /\ UNCHANGED y
B(r) == y' = y + r[1] * r[2] /\ UNCHANGED x
Next == \/ \E i \in {1, 2} : A(i)
        \/ \E a, b \in 1..2 : B(<<a, b>>)
====
`

// An operator that was applied proves a relation that is built from it, if it is the same operator and its arguments are in the sets.
func TestAppliedOperatorsProveRelations(t *testing.T) {
	for name, c := range map[string]struct {
		module string
		broken bool
	}{
		"the same": {`I == INSTANCE Walker
Step == x < 6 /\ y < 6 /\ (A(2) \/ B(<<1, 2>>))`, false},
		"another argument": {`I == INSTANCE Walker
Step == x < 6 /\ A(3)`, true},
		"another argument in a tuple": {`I == INSTANCE Walker
Step == y < 6 /\ B(<<1, 3>>)`, true},
		"other variables": {`I == INSTANCE Walker WITH x <- y, y <- x
Step == x < 6 /\ A(2)`, false}, // it is B(<<1, 2>>) there
		"other variables that do not do so": {`I == INSTANCE Walker WITH x <- y, y <- 2 * x
Step == x < 6 /\ A(1) /\ y' = y`, false},
		"a variable that stands still": {`I == INSTANCE Walker WITH y <- 0 * y
Step == y < 6 /\ B(<<1, 1>>)`, true}, // there nothing changes, which Next does not allow
		"a formula for a variable": {`I == INSTANCE Walker WITH x <- 3 * x
Step == x < 6 /\ A(1)`, true},
		"what follows the operator": {`I == INSTANCE Walker
Step == /\ x < 6
        /\ \E i \in 1..3 : A(i) /\ i # 2`, true},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"Walker.tla": walker, "M.tla": `---- MODULE M ----
EXTENDS Walker
` + c.module + `
Init == x = 0 /\ y = 0
Refines == [][I!Next]_<<x, y>>
====
`} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		config, err := ParseConfig("M.cfg", "INIT Init\nNEXT Step\nPROPERTY Refines\nCHECK_DEADLOCK FALSE")
		if err != nil {
			t.Fatal(err)
		}
		spec, err := Load(filepath.Join(dir, "M.tla"), config)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r, err := Check(spec, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if broken := len(r.Violations) > 0; broken != c.broken || !broken && r.Distinct < 3 {
			t.Errorf("%s: broken is %v, with %d states", name, broken, r.Distinct)
		}
	}
}

// Conditions that do not use the names of a loop are asked before it, and none before one that guards it.
func TestConditionsAreAskedEarlyAndInTheirOrder(t *testing.T) {
	_, r := mustCheck(t, `---- MODULE Loops ----
EXTENDS Naturals, Sequences
VARIABLES x, s
Init == x = 0 /\ s = <<5, 6>>
Pick(r, k) == /\ r[1] \in DOMAIN s
              /\ x < 3
              /\ s[r[1]] > k
              /\ IF x > 1 THEN TRUE ELSE s[x + 1] > 0
              /\ r[2] = x + 1
              /\ x' = r[2]
              /\ UNCHANGED s
Next == \/ \E a \in 0..3, b \in 1..4 : Pick(<<a, b>>, a)
        \/ \E a \in {}, b \in 1..2 : s[9] = a /\ x' = b /\ UNCHANGED s
        \/ x = 2 /\ \E k \in 1..2 : s[7 - x * 3 + k * 0] = k /\ x' = 9 /\ UNCHANGED s
====
`, "INIT Init\nNEXT Next\nCHECK_DEADLOCK FALSE")
	if len(r.Violations) > 0 || r.Distinct != 4 {
		t.Errorf("%d distinct states, %v", r.Distinct, r.Violations)
	}
}

func TestInvariantsOfVariablesThatDidNotChangeAreKnown(t *testing.T) {
	for _, c := range []struct{ invariant, want string }{
		{"Sum == x + Count(y) < 4", "Sum"},
		{"Sum == \\A i \\in S : i < 4", "Sum"},
		{"Sum == TLCGet(\"level\") < 4", "Sum"},
		{"Sum == Cardinality([{1, 2} -> 0..x]) < 9 \\/ ENABLED (y' = 1 /\\ x' = x /\\ y = 5)", "Sum"},
		{"Sum == /\\ x < 30\n       /\\ y < 7\n       /\\ x < 30", "Sum"},
		{"Lower == /\\ x < 30\n         /\\ IF x = 5 THEN y < 4 ELSE TRUE\nLow == x < 30 /\\ (y < 30 /\\ Lower)\nSum == Low", "Sum"},
		{"Low == y < 30 /\\ x < 30\nSum == (x < 30) /\\ LET k == x IN /\\ k < 30\n       /\\ Low /\\ x + k < 11", "Sum"},
		{"Sum == y < 30 /\\ IF x = 0 THEN TLCGet(\"level\") < 4 ELSE TRUE", "Sum"},
		{"Sum == y < 30 /\\ x < 30 /\\ TLCGet(\"level\") < 4", "Sum"},
	} {
		_, r := mustCheck(t, `---- MODULE Sums ----
EXTENDS Naturals, Sequences, TLC, FiniteSets
VARIABLES x, y
RECURSIVE Count(_)
Count(n) == IF n = 0 THEN 0 ELSE 1 + Count(n - 1)
S == {x, y}
Init == x = 0 /\ y = 0
Next == \/ x < 9 /\ x' = x + 1 /\ UNCHANGED y
        \/ y < 9 /\ y' = y + 1 /\ UNCHANGED x
`+c.invariant+`
====
`, "INIT Init\nNEXT Next\nINVARIANT Sum\nCHECK_DEADLOCK FALSE")
		if len(r.Violations) != 1 || !strings.Contains(r.Violations[0].Name, c.want) {
			t.Errorf("%s: %v", c.invariant, r.Violations)
		}
	}
}

// Of an invariant, only those conjuncts are evaluated that a step can have changed.
func TestConjunctsOfVariablesThatDidNotChangeAreNotEvaluated(t *testing.T) {
	spec, err := specOf(t, `---- MODULE Parts ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0 /\ y = 0
Next == y < 200 /\ y' = y + 1 /\ UNCHANGED x
Small == y < 1000 /\ \A i, k \in 0..99 : i + k + x >= 0
Inv == /\ y >= 0
       /\ Small
====
`, "INIT Init\nNEXT Next\nINVARIANT Inv\nCHECK_DEADLOCK FALSE")
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker(spec, Options{})
	c.key = c.keys(c.ev)
	if err := c.all(); err != nil || c.r.Distinct != 201 || len(c.r.Violations) > 0 {
		t.Fatal(err, c.r.Distinct, c.r.Violations)
	}
	if most := uint64(20_000); uint64(c.ev.TLC.Ticks) > most {
		t.Errorf("%d members of sets were looked at, and not up to %d: x stays", c.ev.TLC.Ticks, most)
	}
}

// A variable may have values of different kinds in the two states of a step.
func TestStepsBetweenKinds(t *testing.T) {
	_, r := mustCheck(t, `---- MODULE Kinds ----
VARIABLES x, y
Init == x = 0 /\ y = 0
Turn == \/ y = 0 /\ x' = "one" /\ y' = 1
        \/ y = 1 /\ x' = <<2>> /\ y' = 2
Next == Turn
Moves == [][\/ y' = 1 /\ x' = "one"
            \/ y' = 2 /\ UNCHANGED x]_<<x, y>>
====
`, "INIT Init\nNEXT Next\nPROPERTY Moves\nCHECK_DEADLOCK FALSE")
	if len(r.Violations) != 1 || r.Violations[0].Kind != StepViolated || len(r.Violations[0].Trace) != 3 {
		t.Errorf("%+v", r.Violations)
	}
}
