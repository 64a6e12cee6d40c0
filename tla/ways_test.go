package tla

import (
	"fmt"
	"testing"
)

// TestGenerated compares how many states are generated with what TLC tells of the same modules when it has one worker.
func TestGenerated(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals
VARIABLES x, s
Some(a) == \E i \in s : i >= a
Both(a) == a > 0 \/ a < 3
Fixed == \E i \in {1, 2, 3} : i > 1
Init == %s
Next == x = 0 /\ (%s) /\ x' \in 1..2 /\ s' = s
====
`
	const start = `x = 0 /\ s = {1, 2, 3}`
	for _, c := range []struct {
		init, condition string
		generated       int
	}{
		{start, `\E i \in s : i > 1`, 5},
		{start, `\A i \in s : \E j \in s : j >= i`, 13},
		{start, `\A i \in s : i > 0`, 3},
		{start, `x = 0 \/ x < 1 \/ x > 5`, 5},
		{start, `\A i, j \in s : i = j \/ i # j`, 3},
		{start, `(\E i \in s : i > 1) => x = 0`, 3},
		{start, `x = 0 => \E i \in s : i < 3`, 5},
		{start, `x = 1 => \E i \in s : i < 3`, 3},
		{start, `Some(2) /\ Both(1)`, 9},
		{start, `\A i \in s : Some(i) /\ Both(i)`, 49},
		{start, `~(\E i \in s : i > 3) \/ Some(1)`, 9},
		{start, `IF x = 0 THEN Some(1) ELSE Both(2)`, 7},
		{start, `CASE x = 0 -> Some(1) [] OTHER -> Both(2)`, 7},
		{start, `\A k \in {1, 2} : CASE x = 0 -> Some(1) [] OTHER -> Both(2)`, 19},
		{start, `LET t == s \ {1} IN \E i \in t : i > 0`, 5},
		{start, `LET T(a) == \E i \in s : i # a IN T(2) /\ \A k \in {1, 2} : T(k)`, 17},
		{start, `(\E i \in s : i > 1) <=> TRUE`, 3},
		{start, `\E i \in s, j \in s : i < j`, 7},
		{start, `Fixed`, 3},
		{start, `\A i \in s : Fixed \/ i > 2`, 5},
		{start, `\E i \in s : i > 1 /\ \A j \in s : j >= 1 \/ j <= 1`, 9},
		{start, `\A i \in {} : \E j \in s : j = i`, 3},
		{start, `\E i \in s : x' = i \/ i > 2`, 5},
		{start, `\A i \in s : x' = 1`, 2},
		{start, `x = 0 => x' = 1`, 2},
		{start, `s' \subseteq {1, 2, 3}`, 3},
		{start + ` /\ \E i \in s : i > 1`, "TRUE", 3}, // all variables have values: what follows is tested
		{start + ` /\ (x = 0 => (x = 0 \/ x < 1))`, "TRUE", 3},
		{`x = 0 /\ (\E i \in {1, 2, 3} : i > 1) /\ (\A i \in {1, 2} : x > i \/ x = 0 \/ x < 9) /\ s = {1, 2} /\ (\E i \in s : i > 0)`, "TRUE", 10},
		{`x = 0 /\ s \subseteq {1, 2}`, "TRUE", 12},
		{`x = 0 /\ (x = 0 => s = {1})`, "TRUE", 3},
	} {
		spec, err := specOf(t, fmt.Sprintf(module, c.init, c.condition), "INIT Init NEXT Next CHECK_DEADLOCK FALSE")
		if err != nil {
			t.Fatal(c.condition, err)
		}
		if r, err := Check(spec, Options{}); err != nil || r.Generated != c.generated {
			t.Errorf("Init == %s, condition %s: %d states generated, %v; want %d", c.init, c.condition, r.Generated, err, c.generated)
		}
	}
}
