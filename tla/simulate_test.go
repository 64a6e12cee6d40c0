package tla

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const coin = `---- MODULE Coin ----
EXTENDS Naturals, TLC
VARIABLES heads, tosses
Init == heads = 0 /\ tosses = 0
Toss == tosses < 50 /\ tosses' = tosses + 1 /\ heads' \in {heads, heads + 1}
Rarely == heads < 36
Mode == TLCGet("config").mode = "simulate"
Enough == TLCGet("level") < 3 \/ TLCSet("exit", TRUE)
====
`

func TestSimulationsRepeatAndFindWhatIsCommon(t *testing.T) {
	spec, err := specOf(t, coin, "INIT Init\nNEXT Toss\nINVARIANTS Rarely Mode\nCHECK_DEADLOCK FALSE")
	if err != nil {
		t.Fatal(err)
	}
	walk := func(seed uint64, number int) *Report {
		t.Helper()
		r, err := Simulate(spec, Options{}, Simulation{Number: number, Depth: 60, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := walk(1, 20)
	if len(r.Violations) > 0 || r.Initial != 20 || r.Depth != 51 || r.Generated != 20*51 {
		t.Errorf("%d behaviours, %d states, depth %d, %v", r.Initial, r.Generated, r.Depth, r.Violations)
	}
	many := walk(1, 0) // until 36 of 50 tosses are heads: one behaviour in some 800
	if len(many.Violations) != 1 || many.Initial < 20 || walk(1, 0).Initial != many.Initial || walk(2, 0).Initial == many.Initial {
		t.Errorf("%d behaviours, %v", many.Initial, many.Violations)
	}
}

// What a property says of initial states is checked, unless it continues to temporal parts. Those are checked among the states of each behaviour, as in TLC.
func TestWhatASimulationChecksOfProperties(t *testing.T) {
	text := strings.Replace(coin, "====", `Late == heads = 1 /\ [][Toss]_<<heads, tosses>>
Whole == Late /\ <>(tosses = 50)
vars == <<heads, tosses>>
Tosses == Init /\ [][Toss]_vars
Fair == Tosses /\ WF_vars(Toss)
Again == tosses = 3 /\ tosses' = 1 /\ UNCHANGED heads
Around == Init /\ [][(Toss /\ heads' = 0) \/ Again]_vars /\ WF_vars(Toss \/ Again)
All == <>(tosses = 50)
Heads == <>(heads > 40)
Most == []<>(tosses # 2)
Three == <>[](tosses = 3)
====`, 1)
	for _, c := range []struct {
		specification, property string
		kind                    Kind
		back                    int // where the cycle begins
	}{
		{"Tosses", "Late", InitialViolated, -1},
		{"Tosses", "Whole", TemporalViolated, 0}, // it may stand still
		{"Tosses", "All", TemporalViolated, 0},
		{"Fair", "All", "", 0},
		{"Fair", "Heads", TemporalViolated, 50},
		{"Fair", "Most", "", 0},
		{"Around", "Three", TemporalViolated, 1},
		{"Around", "Most", "", 0},
	} {
		spec, err := specOf(t, text, "SPECIFICATION "+c.specification+"\nPROPERTY "+c.property+"\nCHECK_DEADLOCK FALSE")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Simulate(spec, Options{}, Simulation{Number: 3, Depth: 60, Seed: 1})
		if err != nil || len(r.Unchecked) > 0 || len(r.Violations) > 0 != (c.kind != "") {
			t.Errorf("%s of %s: %v, %v, not checked: %v", c.property, c.specification, err, r.Violations, r.Unchecked)
			continue
		}
		if c.kind != "" && (r.Violations[0].Kind != c.kind || r.Violations[0].Back != c.back) {
			t.Errorf("%s of %s: %s, back to %d of %d", c.property, c.specification, r.Violations[0].Kind, r.Violations[0].Back, len(r.Violations[0].Trace))
		}
	}
}

func TestASpecificationMayEndItsCheck(t *testing.T) {
	spec, err := specOf(t, coin, "INIT Init\nNEXT Toss\nINVARIANT Enough\nCHECK_DEADLOCK FALSE")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Check(spec, Options{}); err != nil || !strings.Contains(r.Stopped, "exit") {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestModulesBesideTheFirstInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "First.tla")
	if err := os.WriteFile(file, []byte(`---- MODULE First ----
EXTENDS Second
VARIABLE x
Init == x = Two
Next == x' = Missing(x)
====
text between
---- MODULE Second ----
Two == 2
Missing(n) == n.field
====
`), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := ParseConfig("First.cfg", "INIT Init\nNEXT Next")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Load(file, config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Check(spec, Options{}); err == nil || !strings.Contains(err.Error(), "First.tla:10:15") {
		t.Errorf("%v", err)
	}
}

// TestDeferred evaluates what TLCDefer is given for the steps that a simulation takes, and in a check not at all.
func TestDeferred(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "M.tla")
	text := "---- MODULE M ----\nEXTENDS Naturals, TLC, TLCExt\nVARIABLE x\nInit == x = 0\nNext == \\E i \\in 1..9 : x' = i /\\ TLCDefer(TLCSet(7, i))\n" +
		"Last == TLCGetOrDefault(7, x) = x\nNone == TLCGetOrDefault(7, 0) = 0\n===="
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	load := func(invariant string) *Spec {
		config, err := ParseConfig("M.cfg", "INIT Init NEXT Next INVARIANT "+invariant)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := Load(file, config)
		if err != nil {
			t.Fatal(err)
		}
		return spec
	}
	if r, err := Simulate(load("Last"), Options{}, Simulation{Number: 1, Depth: 20}); err != nil || len(r.Violations) > 0 || r.Generated != 20 {
		t.Errorf("a simulation: %d states, %v, %v", r.Generated, r.Violations, err)
	}
	if r, err := Simulate(load("None"), Options{}, Simulation{Number: 1, Depth: 20}); err != nil || len(r.Violations) == 0 {
		t.Errorf("a simulation that defers nothing: %v", err)
	}
	if r, err := Check(load("None"), Options{}); err != nil || len(r.Violations) > 0 {
		t.Errorf("a check: %v, %v", r.Violations, err)
	}
}
