package eval

import (
	"strings"
	"testing"
)

// TestReadState reads states as TLC and this package write them.
func TestReadState(t *testing.T) {
	const module = `---- MODULE M ----
EXTENDS Integers, TLC
CONSTANT r1
VARIABLES a, b
Init == /\ a = [i \in 1..2 |-> [k |-> -i, j |-> {r1}]]
        /\ b = (r1 :> "x = 1" @@ 5 :> {})
Next == UNCHANGED <<a, b>>
====
`
	spec, err := specification(t, module, "INIT Init\nNEXT Next\nCONSTANT r1 = r1")
	if err != nil {
		t.Fatal(err)
	}
	var want State
	NewEvaluator(spec).Initial(func(s State) error { want = append(want, s...); return nil })
	for _, text := range []string{
		spec.Text(Step{State: want}),
		"/\\ b = (5 :> {} @@ r1 :> \"x = 1\")\n/\\ a = << [j |-> {r1}, k |-> -1],\n   [j |-> {r1}, k |-> -2] >>\n",
		"/\\ b = (5 :> 3..2 @@ r1 :> \"x = 1\")\n/\\ a = << [j |-> {r1, r1}, k |-> -1], [k |-> -2, j |-> {r1}] >>",
	} {
		got, err := spec.ReadState(text)
		if err != nil || difference(want, got, same) != 0 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, wrong := range map[string]string{
		"/\\ a = 1":                          "the variable b has no value",
		"/\\ a = 1\n/\\ b = 2\n/\\ c = 3":    "no variable c",
		"/\\ a = 1\n/\\ b":                   "variable = value",
		"/\\ a = 1\n/\\ b = 1 + 1":           "spelled out",
		"/\\ a = 1\n/\\ b = {1, \"a\"}":      "state:",
		"/\\ a = [x |-> 1, x |-> ]\n/\\ b =": "state",
	} {
		if _, err := spec.ReadState(text); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", text, err, wrong)
		}
	}
}
