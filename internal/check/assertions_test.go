package check

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A run that was cut short proves nothing for good, but a witness stays one.
func TestAssertionsOfARunCutShort(t *testing.T) {
	at := &sdk.Sighting{Event: 7, TimeNs: 3e9, Node: "n1", Program: "/bin/p", PID: 10, Details: `{"got":3}`}
	out := &record.Outcome{Reason: record.Limit, SDK: sdk.Record{Assertions: []sdk.Assertion{
		{Message: "held", Type: sdk.Always, MustHit: true, Hits: 1, Pass: at},
		{Message: "broke", Type: sdk.Always, MustHit: true, Hits: 1, Fail: at, Location: sdk.Location{File: "a.go", Line: 3}},
		{Message: "unseen", Type: sdk.Always, MustHit: true},
		{Message: "seen", Type: sdk.Sometimes, MustHit: true, Hits: 1, Pass: at},
		{Message: "open", Type: sdk.Sometimes, MustHit: true, Hits: 1, Fail: at},
		{Message: "reached", Type: sdk.Reachability, MustHit: true, Hits: 1, Pass: at},
	}}}
	want := map[string]Status{"Always: held": Unknown, "Always: broke": Violated, "Always: unseen": NotYet,
		"Sometimes: seen": Holds, "Sometimes: open": NotYet, "Reachable: reached": Holds}
	for _, v := range Judge(&world.Spec{}, out) {
		status, ok := want[v.Property]
		if !ok {
			continue
		}
		delete(want, v.Property)
		if v.Status != status {
			t.Errorf("%s is %s: %s; want %s", v.Property, v.Status, v.Reason, status)
		}
		if v.Status == Violated && (v.Event != 7 || v.TimeNs != 3e9 || !strings.Contains(v.Reason, "a.go:3") ||
			!strings.Contains(strings.Join(v.Evidence, "\n"), `{"got":3}`)) {
			t.Errorf("the violation lacks event, place or details: %+v", v)
		}
	}
	if len(want) > 0 {
		t.Errorf("no verdict on %v", want)
	}
}

// A line that cannot be read may have been a failure.
func TestAssertionsThatCannotBeRead(t *testing.T) {
	out := &record.Outcome{Reason: record.Finished, SDK: sdk.Record{Unread: 2, FirstUnread: "p on n1"}}
	verdicts := Judge(&world.Spec{}, out)
	if v := verdicts[len(verdicts)-1]; v.Status != Unknown || !strings.Contains(v.Reason, "p on n1") {
		t.Errorf("%+v", v)
	}
}
