package report

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

func TestWhereAPowerLossTookContentBack(t *testing.T) {
	for _, c := range []struct {
		change record.DiskChange
		want   string
	}{
		{record.DiskChange{Pages: 1, Rows: []record.Row{{From: 28672, To: 32768}}},
			"the power loss took back the content of 1 page (bytes 28672 to 32768) of /log"},
		{record.DiskChange{Pages: 3, Rows: []record.Row{{From: 0, To: 8192}, {From: 16384, To: 20480}}},
			"the power loss took back the content of 3 pages (bytes 0 to 8192, 16384 to 20480) of /log"},
		{record.DiskChange{Pages: 9, Rows: []record.Row{{From: 0, To: 8192}}},
			"the power loss took back the content of 9 pages (bytes 0 to 8192, ...) of /log"},
		{record.DiskChange{Pages: 2}, "the power loss took back the content of 2 pages of /log"},
	} {
		c.change.Call, c.change.Path = record.Lost, "/log"
		if got := changeText(&c.change); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A fault of a single call is a moment, as one of the ledger is.
func TestFaultsOfCallsAreMoments(t *testing.T) {
	s := StoryOf{Replay: "bloodhound replay 0123", Outcome: &check.Judged{}}
	s.Verdict.TimeNs, s.Verdict.Event = 10e9, 900
	s.Outcome.Ledger = fault.Ledger{}
	s.Outcome.DiskChanges = []record.DiskChange{
		{Node: "n1", Call: "write", Path: "/log", TimeNs: 1e9, Event: 10},
		{Node: "n1", Call: "fsync", Path: "/log", TimeNs: 2e9, Event: 20, Errno: "EIO", Fault: "fsync_fail"},
		{Node: "n1", Call: "fsync", Path: "/log", TimeNs: 20e9, Event: 2000, Errno: "EIO", Fault: "fsync_fail"}}
	var faults []string
	for _, m := range s.Moments() {
		if m.Kind == "fault" {
			faults = append(faults, m.Text+": "+m.Look)
		}
	}
	want := "fsync_fail n1: fsync /log fails: EIO: bloodhound replay 0123 --at 20"
	if strings.Join(faults, "\n") != want {
		t.Errorf("%q, want %q", faults, want)
	}
}
