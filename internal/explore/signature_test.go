package explore

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
)

// Whether a read after a lost write finds an older value or none depends on the operations before it, and is no other failure.
func TestAlike(t *testing.T) {
	of := func(property, reason string) string {
		return Signature(check.Verdict{Property: property, Reason: "not linearizable: " + reason})
	}
	lost := of("p", "a get by client c1 found nothing, although the key was there")
	for other, want := range map[string]bool{
		of("p", `a get by client c2 returned "17", which was no longer the value`):                       true,
		of("p", `a get by client c2 returned "aaaaaaaa"... (4096 bytes), which was no longer the value`): true,
		of("p", `a get by client c2 found nothing, although the key was there`):                          true,
		of("q", `a get by client c2 returned "17", which was no longer the value`):                       false,
		of("p", `a get by client c2 returned "17", which nobody had written`):                            false,
		of("p", `a read by client c2 returned "17", which was no longer the value`):                      false,
		of("p", "no order of the operations explains a get by client c1"):                                false,
	} {
		if Alike(lost, other) != want || Alike(other, lost) != want {
			t.Errorf("%q and %q: want alike %v", lost, other, want)
		}
	}
	stale := check.Verdict{Property: "p", Status: check.Violated, Reason: `not linearizable: a get by client c2 returned "17", which was no longer the value`}
	none := check.Verdict{Property: "p", Status: check.Violated, Reason: "not linearizable: a get by client c1 found nothing, although the key was there"}
	if v := Shown([]check.Verdict{stale, none}, lost); v == nil || v.Reason != none.Reason {
		t.Errorf("the very failure comes first: %v", v)
	}
	if v := Shown([]check.Verdict{stale}, lost); v == nil {
		t.Error("the other form is not seen")
	}
}
