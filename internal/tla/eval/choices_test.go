package eval

import (
	"fmt"
	"testing"
)

func TestRelationFindsWhatParametersAreTakenFrom(t *testing.T) {
	spec, err := specification(t, `---- MODULE Choices ----
EXTENDS Naturals
CONSTANTS Server, a, b
VARIABLES x, sent
Init == x = 0 /\ sent = {}
Set(i, n) == x' = n /\ UNCHANGED sent
Send(from, to) == from # to /\ sent' = sent \cup {<<from, to>>} /\ UNCHANGED x
Receive(m) == sent' = sent \ {m} /\ UNCHANGED x
Bound(n, twice) == x' = twice /\ UNCHANGED sent
Of(i) == Set(i, 3) \/ \E j \in Server \ {i} : Send(i, j)
Next ==
  \/ \E s \in Server : Of(s)
  \/ \E m \in sent : Receive(m)
  \/ \E n \in Nat : Bound(n, n + n)
====
`, "INIT Init\nNEXT Next\nCONSTANTS Server = {a, b} a = a b = b")
	if err != nil {
		t.Fatal(err)
	}
	relation := Relation(spec)
	for name, want := range map[string]string{
		"Next":    "divided:",
		"Of":      "divided: i of Server [a b]",
		"Set":     " i of Server [a b] n of 3 [3]",
		"Send":    ` from of Server [a b] to of Server \ {i} [a b]`,
		"Receive": " m of sent []",
		"Bound":   " n of Nat [1] twice of  []",
	} {
		r := relation[name]
		if r == nil {
			t.Errorf("there is no %s", name)
			continue
		}
		got := ""
		if r.Divided {
			got = "divided:"
		}
		for _, c := range r.Choices {
			got += fmt.Sprintf(" %s of %s %v", c.Parameter, c.Set, c.Members)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := relation["Set"].Text; got != `x' = n /\ UNCHANGED sent` {
		t.Errorf("%q", got)
	}
}
