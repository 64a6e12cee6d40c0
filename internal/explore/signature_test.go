package explore

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
)

// A verdict that has the very signature comes before one of the failure's other form.
func TestShown(t *testing.T) {
	stale := check.Verdict{Property: "p", Status: check.Violated, Reason: `not linearizable: a get by client c2 returned "17", which was no longer the value`}
	none := check.Verdict{Property: "p", Status: check.Violated, Reason: "not linearizable: a get by client c1 found nothing, although the key was there"}
	lost := none.Signature()
	if v := Shown([]check.Verdict{stale, none}, lost); v == nil || v.Reason != none.Reason {
		t.Errorf("the very failure comes first: %v", v)
	}
	if v := Shown([]check.Verdict{stale}, lost); v == nil {
		t.Error("the other form is not seen")
	}
	if v := ShownExactly([]check.Verdict{stale}, lost); v != nil {
		t.Error("the other form is not the same")
	}
}
