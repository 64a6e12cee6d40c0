package tla

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestGenerated compares how many states are generated with what TLC reports for the same modules when it has one worker.
func TestGenerated(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals
VARIABLES x, s
Some(a) == \E i \in s : i >= a
Both(a) == a > 0 \/ a < 3
Fixed == \E i \in {1, 2, 3} : i > 1
Up[n \in Nat] == n < 5 \/ (n > 0 /\ Up[n - 1])
Of == [i \in s |-> i > 0 \/ i < 5]
Pair == [n \in 1..3 |-> n > 0 \/ n < 5]
Down[n \in s] == n = 1 \/ n > 2 \/ (n > 1 /\ Down[n - 1])
Given(f) == f[1]
RECURSIVE Rec(_)
Rec(n) == n = 0 \/ n > 1 \/ (n > 0 /\ Rec(n - 1))
RECURSIVE A(_), B(_)
A(n) == n = 0 \/ (n > 0 /\ B(n - 1))
B(n) == n = 0 \/ (n > 0 /\ A(n - 1) /\ (n > 0 \/ n > 1))
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
		{start, `Up[3]`, 9},
		{start, `Down[3]`, 5},
		{start, `Rec(3)`, 7},
		{start, `\A i \in s : Rec(i)`, 13},
		{start, `~Rec(3) \/ Rec(2)`, 5},
		{start, `A(3) /\ B(2)`, 9},
		{start, `Pair[1]`, 3},
		{start, `Of[2]`, 5},
		{start, `Given(Of)`, 5},
		{start, `[i \in s |-> i > 0 \/ i > 1][2]`, 5},
		{start, `LET F[n \in Nat] == n = 0 \/ \E k \in 1..2 : k <= n /\ F[n - k] IN F[4]`, 11},
		{start, `LET F[i \in s, j \in s] == i = j \/ i < j \/ i <= j IN F[1, 2] /\ F[<<2, 2>>]`, 9},
		{start, `LET F[n \in Nat] == IF n = 0 THEN TRUE ELSE F[n - 1] IN F[3]`, 3},
		{start, `LET F[n \in Nat] == IF n = 0 THEN x = 0 \/ x < 1 ELSE F[n - 1] IN F[3]`, 5},
		{start, `LET F[n \in 0..3] == n = 0 \/ n > 2 \/ (n > 0 /\ F[n - 1] /\ F[n - 1]) IN F[3]`, 5},
		{start, `LET F[n \in 0..3] == n = 0 \/ (n > 0 /\ (~F[n - 1] \/ F[n - 1])) IN F[3]`, 3},
		{start, `LET F[n \in 0..3] == n = 0 => x = 0 \/ s # {} IN F[0] /\ F[1]`, 5},
		{start, `LET k == x + 2 F[n \in 0..3] == n = k \/ (n < k /\ F[n + 1]) \/ n < 9 IN F[0]`, 9},
		{start, `LET F[n \in 0..3] == n = 0 \/ n > 1 \/ (n > 0 /\ LET G[m \in 0..3] == m = 0 \/ (m > 0 /\ (F[n - 1] \/ G[m - 1])) IN G[2]) IN F[2]`, 17},
		{start, `\E i \in s : LET F[n \in 0..3] == n = i \/ (n < i /\ F[n + 1]) \/ n < 2 IN F[0]`, 19},
		{start, `LET RECURSIVE T(_) T(n) == \E i \in s : n = 0 \/ (n > 0 /\ T(n - 1)) IN T(2)`, 55},
		{start, `LET RECURSIVE T(_, _) T(n, k) == \/ n = 0 \/ (n > 0 /\ \E i \in 1..k : T(n - 1, i)) IN T(2, 3)`, 13},
		{`x = 0 /\ Up[2] /\ s = {1}`, "TRUE", 5},
		{`x = 0 /\ Rec(2) /\ s = {1}`, "TRUE", 4},
		{`x = 0 /\ s = {1} /\ Rec(2)`, "TRUE", 3},
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

// TestGeneratedByConstants has the counts of TLC where a condition is constant: a definition of the specification it evaluates
// once, before it looks for states, and what a LET, an argument or an instance says in each place anew.
func TestGeneratedByConstants(t *testing.T) {
	files := map[string]string{
		"A": "EXTENDS Naturals\nCONSTANT k\nSome == \\E i \\in 1..3 : i >= k\nTwice == Some /\\ Some",
		"B": "EXTENDS Naturals, E\nVARIABLE v\nSome == \\E i \\in 1..3 : i >= v",
		"D": "EXTENDS Naturals\nVARIABLE x\nSome == \\E i \\in 1..3 : i >= x",
		"E": "EXTENDS Naturals\nEver == \\E i \\in 1..3 : i >= 2",
		"F": "EXTENDS Naturals\nSome == \\E i \\in 1..3 : i >= 2",
		"G": "EXTENDS Naturals\nVARIABLE w\nW == INSTANCE B WITH v <- 1\nAgain == W!Some\nO == INSTANCE F\nFree == O!Some",
	}
	const module = `EXTENDS Naturals, E
VARIABLE x
I == INSTANCE A WITH k <- 2
J(z) == INSTANCE A WITH k <- z
K(z) == INSTANCE F
L == INSTANCE F
V == INSTANCE B WITH v <- 0
U == INSTANCE B WITH v <- x
X == INSTANCE D WITH x <- 1
N == INSTANCE G WITH w <- x
Own == \E i \in 1..3 : i >= 2
Called(c) == c
Init == x = 0
Next == x = 0 /\ (%s) /\ x' \in 1..2`
	for _, c := range []struct {
		condition string
		generated int
	}{
		{`Own`, 3},
		{`Ever`, 3},
		{`LET P == \E i \in 1..3 : i >= 2 IN P`, 5},
		{`Called(\E i \in 1..3 : i >= 2)`, 5},
		{`Called(I!Some)`, 3},
		{`I!Some`, 3},
		{`I!Twice`, 3},
		{`\A n \in 1..2 : I!Some`, 3},
		{`x = 0 => I!Some`, 3},
		{`J(2)!Some`, 5},
		{`J(2)!Twice`, 9},
		{`K(1)!Some`, 5},
		{`L!Some`, 3},
		{`V!Some`, 3},
		{`U!Some`, 7},
		{`U!Ever`, 3},
		{`X!Some`, 7}, // it has the name of a variable
		{`N!Again`, 3},
		{`N!W!Some`, 3},
		{`N!Free`, 3},
	} {
		config, err := ParseConfig("M.cfg", "INIT Init NEXT Next CHECK_DEADLOCK FALSE")
		if err != nil {
			t.Fatal(err)
		}
		files["M"] = fmt.Sprintf(module, c.condition)
		dir := t.TempDir()
		for name, text := range files {
			text = "---- MODULE " + name + " ----\n" + text + "\n====\n"
			if err := os.WriteFile(filepath.Join(dir, name+".tla"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		spec, err := Load(filepath.Join(dir, "M.tla"), config)
		if err != nil {
			t.Fatal(c.condition, err)
		}
		if r, err := Check(spec, Options{}); err != nil || r.Generated != c.generated {
			t.Errorf("%s: %d states generated, %v; want %d", c.condition, r.Generated, err, c.generated)
		}
	}
}

// TestGeneratedByArguments has the counts of TLC where arguments are conditions. It evaluates those between Next and the actions
// before it looks for states, if all of an operator's are constant, and others in each place anew.
func TestGeneratedByArguments(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals
VARIABLE x
---- MODULE A ----
EXTENDS Naturals
VARIABLE v
Go(c) == c /\ v = 0 /\ v' = 1
Op(F(_), k) == F(k) /\ v = 0 /\ v' = k
Named == Go(TRUE \/ 1 = 1)
Of == (v = v \/ TRUE) /\ TRUE
Free == (1 = 1 \/ TRUE) /\ TRUE
====
I == INSTANCE A WITH v <- x
K == INSTANCE A WITH v <- 0
If(c, a) == c /\ x = 0 /\ a
Op(F(_), k) == F(k) /\ x = 0 /\ x' = k
Twice(F(_)) == F(1) /\ F(2) /\ x = 0 /\ x' = 1
C == 1
Yes(k) == k > 0 \/ k > 1
Go(c) == c /\ x = 0 /\ x' = 1
Named == Go(TRUE \/ C = 1)
Init == x = 0
Next == %s
====
`
	for _, c := range []struct {
		next      string
		generated int
	}{
		{`Go(TRUE \/ C = 1)`, 2},
		{`Go(x = 0 \/ x < 3)`, 3},
		{`Named`, 2},
		{`If(TRUE \/ C = 1, x' = 1)`, 3},
		{`\E k \in 1..2 : Go(k > 0 \/ k > 1)`, 3},
		{`\E k \in 1..(2 - x) : Go(k > 0 \/ k > 1)`, 4},
		{`Op(LAMBDA k : k > 0 \/ k < 5, 1)`, 2},
		{`Op(LAMBDA k : k > x \/ k < 5, 1)`, 3},
		{`Op(Yes, 2)`, 2},
		{`Op(Yes, 2 - x)`, 3},
		{`\E k \in 1..2 : Op(Yes, k)`, 3},
		{`Twice(Yes)`, 2},
		{`I!Go(TRUE \/ C = 1)`, 2},
		{`I!Op(Yes, 2)`, 2},
		{`I!Named`, 3},
		{`LET k == C IN Go(k = 1 \/ k = 1)`, 2},
		{`LET G(k) == Go(k = 1 \/ k = 1) IN G(1)`, 2},
		{`LET k == C IN Op(Yes, k)`, 2},
		{`x = 0 /\ Go(TRUE \/ C = 1)`, 3},
		{`Go(\E k \in 1..3 : k > 1)`, 2},
		{`Go(K!Of!1)`, 3}, // SANY does not ask what stands for the variable
		{`Go(K!Free!1)`, 2},
	} {
		if _, r := mustCheck(t, fmt.Sprintf(module, c.next), "INIT Init NEXT Next CHECK_DEADLOCK FALSE"); r.Generated != c.generated {
			t.Errorf("%s: %d states generated; want %d", c.next, r.Generated, c.generated)
		}
	}
}

// TestGeneratedByParts has the counts of TLC where a condition is a part of a definition, which it evaluates in each place anew, even if it is constant.
func TestGeneratedByParts(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals
VARIABLE x
---- MODULE A ----
EXTENDS Naturals
CONSTANT k
VARIABLE v
D == (1 = 1 \/ TRUE) /\ 2 = 2
K == (k = 1 \/ TRUE) /\ 2 = 2
====
I == INSTANCE A WITH v <- x, k <- 1
J(z) == INSTANCE A WITH v <- x, k <- z
D == (1 = 1 \/ TRUE) /\ 2 = 2
L == lab:: (1 = 1 \/ TRUE)
Q == \A i \in 1..2 : in(i):: i > 0 \/ i > 1
Act == (1 = 1 \/ TRUE) /\ x = 0 /\ x' = 1
P(a) == (a = 1 \/ a = a) /\ TRUE
Init == x = 0
Next == x = 0 /\ (%s) /\ x' = 1
====
`
	for _, c := range []struct {
		condition string
		generated int
	}{
		{`D`, 2}, {`D!1`, 3}, {`D!1!1`, 2}, {`L`, 2}, {`L!lab`, 3}, {`Q!(2)`, 3}, {`Q!in(2)`, 3}, {`Act!1`, 3}, {`P(1)!1`, 3}, {`P(x)!1`, 2},
		{`I!K`, 2}, {`I!D!1`, 3}, {`I!K!1`, 3}, {`J(1)!D!1`, 3}, {`J(1)!K!1`, 3},
	} {
		if _, r := mustCheck(t, fmt.Sprintf(module, c.condition), "INIT Init NEXT Next CHECK_DEADLOCK FALSE"); r.Generated != c.generated {
			t.Errorf("%s: %d states generated; want %d", c.condition, r.Generated, c.generated)
		}
	}
}
