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

// What a property says of initial states is checked, unless it goes on to what a simulation does not see.
func TestASimulationBeginsAnywhere(t *testing.T) {
	for property, breaks := range map[string]int{"Late": 1, "Whole": 0} {
		spec, err := specOf(t, strings.Replace(coin, "====", "Late == heads = 1 /\\ [][Toss]_<<heads, tosses>>\nWhole == Late /\\ <>(tosses = 50)\n====", 1),
			"INIT Init\nNEXT Toss\nPROPERTY "+property+"\nCHECK_DEADLOCK FALSE")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Simulate(spec, Options{}, Simulation{Number: 3, Seed: 1})
		if err != nil || len(r.Violations) != breaks || len(r.Unchecked) != 1-breaks {
			t.Errorf("%s: %v, %v, not checked: %v", property, err, r.Violations, r.Unchecked)
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
