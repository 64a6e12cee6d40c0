package tla

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

const counter = `---- MODULE Counter ----
EXTENDS Naturals
CONSTANT Most
VARIABLES x, y
vars == <<x, y>>
Init == x = 0 /\ y = 0
Up == /\ x < Most
      /\ x' = x + 1
      /\ UNCHANGED y
Reset == x = Most /\ x' = 0 /\ y' = 1 - y
Next == Up \/ Reset
Spec == Init /\ [][Next]_vars /\ WF_vars(Up)
Small == x <= 2
Monotonic == [][x' >= x]_vars
Again == []<>(x = 0)
Top == <>(x = Most)
Both == Small /\ Top
====
`

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		config     string
		distinct   int
		violations string
	}{
		{"SPECIFICATION Spec CONSTANT Most = 2 INVARIANT Small PROPERTY Top", 6, ""},
		{"SPECIFICATION Spec CONSTANT Most = 3 INVARIANT Small", 4, "invariant Small: Up Up Up"},
		{"SPECIFICATION Spec CONSTANT Most = 2 PROPERTY Monotonic", 4, "action property Monotonic: Up Up Reset"},
		{"SPECIFICATION Spec CONSTANT Most = 2 PROPERTY Again", 6, "temporal property Again: Up Up, back to 2"}, // nothing makes Reset happen
		{"SPECIFICATION Spec CONSTANT Most = 2 PROPERTY Both", 6, ""},
		{"INIT Init NEXT Up CONSTANT Most = 2", 3, "deadlock : Up Up"},
		{"INIT Init NEXT Up CONSTANT Most = 2 CHECK_DEADLOCK FALSE", 3, ""},
		{"INIT Init NEXT Next CONSTANT Most = 2 PROPERTY Top", 6, "temporal property Top: , back to 0"}, // without fairness all may stand still
	} {
		c.config = strings.NewReplacer(" INV", "\nINV", " CONST", "\nCONST", " PROP", "\nPROP", " NEXT", "\nNEXT").Replace(c.config)
		spec, err := specOf(t, counter, c.config)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Check(spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, v := range r.Violations {
			var actions []string
			for _, s := range v.Trace {
				if s.Action != nil {
					actions = append(actions, s.Action.Name)
				}
			}
			text := fmt.Sprintf("%s %s: %s", v.Kind, v.Name, strings.Join(actions, " "))
			if v.Back >= 0 {
				text += fmt.Sprintf(", back to %d", v.Back)
			}
			told = append(told, text)
		}
		if got := strings.Join(told, "; "); got != c.violations || r.Distinct != c.distinct {
			t.Errorf("%q: %d distinct states and %q, and not %d and %q", c.config, r.Distinct, got, c.distinct, c.violations)
		}
	}
}

// TestLevels asks for the level of states in invariants and constraints, where it is that of the state itself, and in steps,
// where it is that of the first state.
func TestLevels(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals, TLC
VARIABLE x
Init == x = 1
Next == x < 5 /\ x' = x + 1 /\ TLCGet("level") = x
Level == TLCGet("level") = x
Steps == [][TLCGet("level") = x]_x
Few == TLCGet("level") < 4
Short == TLCGet("level") < 3
====
`
	spec, err := specOf(t, module, "INIT Init\nNEXT Next\nINVARIANT Level\nCONSTRAINT Level Few\nACTION_CONSTRAINT Level\nPROPERTY Steps\nCHECK_DEADLOCK FALSE")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(spec, Options{})
	if err != nil || len(r.Violations) > 0 || r.Distinct != 3 || r.Generated != 4 {
		t.Errorf("%d distinct states, %d generated, %d violations, %v", r.Distinct, r.Generated, len(r.Violations), err)
	}
	if r, err = Simulate(spec, Options{}, Simulation{Number: 1, Seed: 1}); err != nil || len(r.Violations) > 0 || r.Depth != 3 {
		t.Errorf("a behaviour of %d states, %d violations, %v", r.Depth, len(r.Violations), err)
	}
	if spec, err = specOf(t, module, "INIT Init\nNEXT Next\nINVARIANT Short"); err != nil {
		t.Fatal(err)
	}
	if r, err = Check(spec, Options{}); err != nil || len(r.Violations) != 1 || len(r.Violations[0].Trace) != 3 {
		t.Errorf("%v, %v", r, err)
	}
}

// TestPostconditionAfterAViolation gives POSTCONDITION the counterexample, and registers that may be empty.
func TestPostconditionAfterAViolation(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals, Sequences, FiniteSets, TLC, TLCExt
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 5
Inv == x < 2
Seen == TLCGetAndSet(9, LAMBDA old, more: old + more, 1, 0) >= 0 /\ TLCGetOrDefault(7, "nothing") = "nothing"
Told == /\ ToTrace(CounterExample) = <<[x |-> 0], [x |-> 1], [x |-> 2]>>
        /\ \A s \in CounterExample.action : s[2].name = "Next" /\ s[2].location.beginLine = 5 /\ s[3][2].x = s[1][2].x + 1
        /\ Cardinality(CounterExample.action) = 2
        /\ TLCGet(9) >= 2
None == CounterExample.state = {} /\ CounterExample.action = {} /\ TLCGet(9) = 5
Never == FALSE
====
`
	for _, c := range []struct{ config, want string }{
		{"INVARIANT Inv\nINVARIANT Seen\nPOSTCONDITION Told", "invariant Inv"},
		{"INVARIANT Seen\nINVARIANT Inv\nPOSTCONDITION Told", "invariant Inv"},
		{"INVARIANT Inv\nPOSTCONDITION Never", "invariant Inv, postcondition Never"},
		{"INVARIANT Seen\nPOSTCONDITION None", ""},
		{"INVARIANT Seen\nPOSTCONDITION Never", "postcondition Never"},
	} {
		for _, simulated := range []bool{false, true} {
			spec, err := specOf(t, module, "INIT Init\nNEXT Next\n"+c.config)
			if err != nil {
				t.Fatal(err)
			}
			check := func() (*Report, error) { return Check(spec, Options{}) }
			if simulated {
				check = func() (*Report, error) { return Simulate(spec, Options{}, Simulation{Number: 1, Depth: 5, Seed: 1}) }
			}
			r, err := check()
			if err != nil {
				t.Fatal(c.config, err)
			}
			var told []string
			for _, v := range r.Violations {
				told = append(told, string(v.Kind)+" "+v.Name)
			}
			if got := strings.Join(told, ", "); got != c.want {
				t.Errorf("%q, simulated %v: %q, want %q", c.config, simulated, got, c.want)
			}
		}
	}
}

// TestConstantsOfChance draws a constant definition once, so that it has one value in all states, and two of them by themselves.
func TestConstantsOfChance(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals, Randomization, TLC
VARIABLES x, y
R == RandomElement(1..1000000)
S == RandomElement(1..1000000)
Said == PrintT("said")
Pairs == RandomSubset(3, (1..100) \X (1..100))
Init == x = R /\ y \in Pairs
Next == Said /\ x' = R /\ y' \in Pairs
Same == x = R /\ y \in Pairs /\ R # S
====
`
	var first value.Value
	for _, simulated := range []bool{false, false, true} {
		spec, err := specOf(t, module, "INIT Init\nNEXT Next\nINVARIANT Same")
		if err != nil {
			t.Fatal(err)
		}
		said := 0
		o := Options{Print: func(string) { said++ }, Continue: true}
		var r *Report
		if simulated {
			r, err = Simulate(spec, o, Simulation{Number: 3, Depth: 5, Seed: 7})
		} else {
			r, err = Check(spec, o)
		}
		if err != nil || len(r.Violations) > 0 || said != 1 || !simulated && r.Distinct != 3 {
			t.Errorf("simulated %v: %d violations, %d distinct states, said %d times, %v", simulated, len(r.Violations), r.Distinct, said, err)
		}
		if simulated {
			continue
		}
		op, err := eval.ExpressionOf(spec, "R")
		if err != nil {
			t.Fatal(err)
		}
		v, err := eval.NewEvaluator(spec).Value(nil, op)
		if err != nil || first != nil && !value.Equal(v, first) {
			t.Errorf("drawn %v, and %v before, %v", v, first, err)
		}
		first = v
	}
}

// Under SYMMETRY the graph of temporal properties has more states than are counted: the counts are those of a check without it.
func TestCountsUnderSymmetry(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Naturals, FiniteSets, TLC
CONSTANT Proc
VARIABLES at, turns
Init == at = [p \in Proc |-> 0] /\ turns = {}
Step(p) == at[p] < 2 /\ at' = [at EXCEPT ![p] = @ + 1] /\ turns' \in {turns, turns \union {p}}
Next == \E p \in Proc : Step(p)
Spec == Init /\ [][Next]_<<at, turns>> /\ WF_<<at, turns>>(Next)
Perms == Permutations(Proc)
Few == Cardinality(turns) < 9
Ends == <>(\A p \in Proc : at[p] = 2)
====
`
	const config = "SPECIFICATION Spec\nCONSTANT Proc = {a, b, c, d}\nSYMMETRY Perms\nINVARIANT Few\nCHECK_DEADLOCK FALSE\n"
	var counts [2]Report
	for i, more := range []string{"", "PROPERTY Ends\n"} {
		spec, err := specOf(t, module, config+more)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Check(spec, Options{})
		if err != nil || len(r.Violations) > 0 {
			t.Fatal(err, r.Violations)
		}
		counts[i] = *r
	}
	if a, b := counts[0], counts[1]; a.Distinct != b.Distinct || a.Generated != b.Generated ||
		a.Actions[0].Generated != b.Actions[0].Generated || a.Distinct < 50 {
		t.Errorf("%d distinct states of %d without a property, and %d of %d with it", a.Distinct, a.Generated, b.Distinct, b.Generated)
	}
}
