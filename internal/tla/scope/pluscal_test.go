package scope

import (
	"strings"
	"testing"
)

// translated is a module as the translator of PlusCal writes it.
const translated = `---- MODULE P ----
EXTENDS Naturals
(* --algorithm Counter
variables x = 0;
begin
  A: while x < 3 do x := x + 1; end while;
end algorithm; *)
\* BEGIN TRANSLATION (chksum(pcal) = "cd4dc2b6" /\ chksum(tla) = "c1a88886")
VARIABLES pc, x

vars == << pc, x >>

Init == (* Global variables *)
        /\ x = 0
        /\ pc = "A"

A == /\ pc = "A"
     /\ IF x < 3
           THEN /\ x' = x + 1
                /\ pc' = "A"
           ELSE /\ pc' = "Done"
                /\ x' = x

(* Allow infinite stuttering to prevent deadlock on termination. *)
Terminating == pc = "Done" /\ UNCHANGED vars

Next == A
           \/ Terminating

Spec == Init /\ [][Next]_vars

Termination == <>(pc = "Done")

\* END TRANSLATION 
====
`

// TestPlusCal finds algorithms whose translation is missing, or was changed.
func TestPlusCal(t *testing.T) {
	begin, end := strings.Index(translated, "\\* BEGIN"), strings.Index(translated, "====")
	empty := translated[:begin] + "\\* BEGIN TRANSLATION\n\\* END TRANSLATION\n===="
	for _, c := range []struct {
		what, text           string
		none, missing, stale bool
	}{
		{what: "as it was translated", text: translated},
		{what: "with the ends of lines of Windows", text: strings.ReplaceAll(translated, "\n", "\r\n")},
		{what: "with a changed translation", text: strings.Replace(translated, "VARIABLE", "VARIABLES", 1), stale: true},
		{what: "without checksums", text: strings.Replace(strings.ReplaceAll(translated, "VARIABLE", "VARIABLES"), "chksum", "sum", 2)},
		{what: "without a translation", text: translated[:begin] + translated[end:], missing: true},
		{what: "with an empty translation", text: empty, missing: true},
		{what: "a fair algorithm without a translation", text: "---- MODULE M ----\n(* --fair algorithm A { { skip } } *)\n====", missing: true},
		{what: "no algorithm", text: "---- MODULE M ----\n(* an --algorithm *)\n====", none: true},
		{what: "an algorithm after the module", text: "---- MODULE M ----\n====\n(* --algorithm A *)", none: true},
	} {
		p := plusCalOf(&Source{File: "P.tla", Text: c.text})
		if p == nil || c.none {
			if (p == nil) != c.none {
				t.Errorf("%s: found %v", c.what, p)
			}
			continue
		}
		if p.untranslated != c.missing || (p.changed != "") != c.stale {
			t.Errorf("%s: untranslated %v, changed %q", c.what, p.untranslated, p.changed)
		}
	}
}
