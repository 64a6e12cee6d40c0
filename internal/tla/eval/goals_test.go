package eval

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/config"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Of each state, the distances order what is nearer and what is further, are 0 where the goal is reached and nowhere else, and name the guard that is false.
func TestDistances(t *testing.T) {
	spec, err := specification(t, `---- MODULE Votes ----
EXTENDS Naturals, FiniteSets, Sequences
VARIABLES term, votes, log
Servers == {"a", "b", "c", "d", "e"}
Quorum == {q \in SUBSET Servers : Cardinality(q) * 2 > Cardinality(Servers)}
Init == term \in 0..9 /\ votes \in SUBSET Servers /\ log \in {<<>>, <<1>>, <<1, 2>>}
Lead == /\ term > 3
        /\ Cardinality(votes) * 2 > Cardinality(Servers)
        /\ log' = Append(log, term)
        /\ UNCHANGED <<term, votes>>
Same == \E q \in Quorum : votes = q /\ UNCHANGED <<term, votes, log>>
Any == \/ term = 100 /\ UNCHANGED <<term, votes, log>>
       \/ term >= 8 /\ log # <<>> /\ Head(log) = 1 /\ UNCHANGED <<term, votes, log>>
Next == Lead \/ Same \/ Any
Small == term <= 8
Empty == \A s \in Servers : s \in votes => ~(term > 6 /\ Len(log) > 1)
====
`, "INIT Init NEXT Next\nINVARIANTS Small Empty\n")
	if err != nil {
		t.Fatal(err)
	}
	goals, err := GoalsOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(goals.Names, []string{"Lead", "Same", "Any", "Small", "Empty"}) {
		t.Fatalf("the goals are %q", goals.Names)
	}
	ev := NewEvaluator(spec)
	var states []State
	if err := ev.Initial(func(s State) error { states = append(states, slices.Clone(s)); return nil }); err != nil {
		t.Fatal(err)
	}
	at := func(term int, votes, log string) []Distance {
		t.Helper()
		for _, s := range states {
			if s[0] == value.Int(term) && s[1].String() == votes && s[2].String() == log {
				all, _ := ev.Distances(s, goals, 0)
				return all
			}
		}
		t.Fatalf("there is no state %d %s %s", term, votes, log)
		return nil
	}
	for _, c := range []struct {
		goal      int
		near, far []Distance
	}{
		{0, at(3, `{}`, `<<>>`), at(1, `{"a", "b", "c"}`, `<<>>`)},  // the first guard by its numbers
		{0, at(4, `{}`, `<<>>`), at(3, `{"a", "b", "c"}`, `<<>>`)},  // the second guard before the first
		{0, at(4, `{"a", "b"}`, `<<>>`), at(9, `{"a"}`, `<<>>`)},    // the second by its numbers
		{1, at(0, `{"a", "b"}`, `<<>>`), at(0, `{"a"}`, `<<>>`)},    // members of a set
		{2, at(7, `{}`, `<<1>>`), at(6, `{}`, `<<1>>`)},             // the nearest way
		{3, at(7, `{}`, `<<>>`), at(3, `{}`, `<<>>`)},               // an invariant
		{4, at(7, `{"a"}`, `<<1>>`), at(6, `{"a"}`, `<<1>>`)},       // what is left of a conjunction
		{4, at(6, `{"a"}`, `<<1, 2>>`), at(5, `{"a"}`, `<<1, 2>>`)}, // and its numbers
	} {
		if near, far := c.near[c.goal].Value, c.far[c.goal].Value; !(0 < near && near < far && far < 1) {
			t.Errorf("%s: %v is not nearer than %v", goals.Names[c.goal], near, far)
		}
	}
	if g := at(3, `{}`, `<<>>`)[0].Guard; g == nil || g.Text != "term > 3" {
		t.Errorf("the guard is %+v", g)
	}
	zeros := agree(t, spec, goals, states)
	for _, name := range goals.Names {
		if zeros[name] == 0 || zeros[name] == len(states) {
			t.Errorf("%s is reached in %d of %d states", name, zeros[name], len(states))
		}
	}
}

// What cannot be evaluated, or only in a long time, has no distance, or that of what was looked at; the error says so.
func TestDistancesThatCannotBeMeasured(t *testing.T) {
	spec, err := specification(t, `---- MODULE Wide ----
EXTENDS Naturals, TLC
VARIABLE n
Init == n = 0
Far == \E a, b, c, d, e, f \in 1..12 : a + b + c + d + e + f + n = 100 /\ n' = n
Near == PrintT("x") /\ n = 3 /\ n' = n
Next == Far \/ Near
Subsets == \A s \in SUBSET (1..25) : n < 1
Texts == n < "a"
Divided == 7 \div n > 1
====
`, "INIT Init NEXT Next\nINVARIANTS Subsets Texts Divided\n")
	if err != nil {
		t.Fatal(err)
	}
	goals, err := GoalsOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	const most = 1 << 13
	all, members := NewEvaluator(spec).Distances(State{value.Int(0)}, goals, most)
	for i, c := range []struct {
		value float64
		says  string
	}{{58. / (58 + 59), "too many members"}, {3. / 7, ""}, {1, "too many members"}, {1, "an integer is needed"}, {1, "no division by 0"}} {
		d := all[i]
		if math.Abs(d.Value-c.value) > 1e-9 || (d.Err == nil) != (c.says == "") || d.Err != nil && !strings.Contains(d.Err.Error(), c.says) {
			t.Errorf("%s: %v, %v", goals.Names[i], d.Value, d.Err)
		}
	}
	if members < most || members > 3*most {
		t.Errorf("%d members", members)
	}
}

// agree tests that the distance to a goal is 0 in those of some states in which it is reached, and counts them.
func agree(t *testing.T, spec *Spec, goals *Goals, states []State) map[string]int {
	t.Helper()
	ev, zeros := NewEvaluator(spec), map[string]int{}
	for _, s := range states {
		reached := map[string]bool{}
		for i := range spec.Actions {
			a := &spec.Actions[i]
			if err := ev.Successors(s, a, func(State) error { reached[a.Name] = true; return ErrStop }); err != nil {
				t.Fatal(err)
			}
		}
		for i := range spec.parts.Invariants {
			f := &spec.parts.Invariants[i]
			holds, err := ev.Holds(f, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			reached[f.Name] = !holds
		}
		all, _ := ev.Distances(s, goals, 0)
		for i, d := range all {
			name := goals.Names[i]
			if d.Value == 0 {
				zeros[name]++
			}
			if (d.Value == 0) != reached[name] || d.Value < 0 || d.Value > 1 {
				t.Fatalf("%s has the distance %v where it is reached: %v, in %s", name, d.Value, reached[name], spec.Text(Step{State: s}))
			}
		}
	}
	return zeros
}

// Along walks through specifications of the examples, too.
func TestDistancesOfExamples(t *testing.T) {
	for _, file := range []string{"bench/raft/Elections.tla", "bench/bugs/pogreb/Recovery.tla", "bench/strategies/caspaxos/CasPaxos.tla",
		"bench/strategies/membership/Membership.tla", "bench/strategies/two-phase-commit/TwoPhaseCommit.tla"} {
		file = filepath.Join("..", "..", "..", file)
		from, err := config.Read(strings.TrimSuffix(file, ".tla") + ".cfg")
		if err != nil {
			t.Fatal(err)
		}
		spec, err := Load(file, from)
		if err != nil {
			t.Fatal(err)
		}
		goals, err := GoalsOf(spec)
		if err != nil {
			t.Fatal(err)
		}
		ev, states, known := NewEvaluator(spec), []State(nil), map[uint64]bool{}
		add := func(s State) error {
			fp, err := ev.Fingerprint(s)
			if err == nil && !known[fp] && len(states) < 300 {
				known[fp] = true
				states = append(states, slices.Clone(s))
			}
			return err
		}
		if err := ev.Initial(add); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(states); i++ {
			for k := range spec.Actions {
				if err := ev.Successors(states[i], &spec.Actions[k], add); err != nil {
					t.Fatal(err)
				}
			}
		}
		t.Logf("%s: %d states; reached: %v", file, len(states), agree(t, spec, goals, states))
	}
}
