package report

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// A story has three sentences at most: faults, what the system did, and the operations that show it.
func TestNarrative(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*StoryOf)
		want   string
	}{
		"stale read": {func(*StoryOf) {},
			`Packets of n2 waited from 0.002 s to 0.003 s, and n1 was cut off from 0.015 s to 0.04 s. ` +
				`The put k = "v2" by c1 was acknowledged at 0.03 s, but the get k by c3 found nothing at 0.07 s.`},
		"of one client": {func(s *StoryOf) {
			for i := range s.Outcome.History {
				if e := &s.Outcome.History[i]; e.Client == "c3" {
					e.Client = "c1"
				}
			}
		}, `Packets of n2 waited from 0.002 s to 0.003 s, and n1 was cut off from 0.015 s to 0.04 s. ` +
			`The put k = "v2" by c1 was acknowledged at 0.03 s, but its get k found nothing at 0.07 s.`},
		"of probes, after more faults": {func(s *StoryOf) {
			l := &s.Outcome.Ledger
			l.Injections = append(l.Injections[:2:2], fault.Injection{ID: 4, Kind: fault.PowerLoss, Target: "n1", Event: 41,
				StartNs: 41e6, EndNs: 42e6, Observed: 43},
				fault.Injection{ID: 5, Kind: fault.Partition, Target: "n1-n2", Event: 44, StartNs: 44e6, EndNs: 45e6, Observed: 46})
			s.Verdict = check.Verdict{Property: "up", Event: 60, TimeNs: 60e6}
		}, "n1 lost power and stayed down from 0.041 s to 0.042 s, and n1 and n2 were cut off from each other from 0.044 s to 0.045 s, after 2 other faults. " +
			"The check of up passed for the last time at 0.05 s and failed at 0.06 s."},
		"of a call": {func(s *StoryOf) {
			o := s.Outcome
			o.Ledger.Injections = nil
			o.DiskChanges = []record.DiskChange{{Event: 16, TimeNs: 16e6, Node: "n1", Call: "fsync", Path: "/data/wal", Errno: "EIO", Fault: "fsync_fail"}}
			s.Background = &explore.Background{}
			s.Verdict = check.Verdict{Property: "done", TimeNs: 40e6}
		}, "Bloodhound made the fsync of /data/wal on n1 fail with EIO at 0.016 s. The property was violated at 0.04 s."},
		"of nothing": {func(s *StoryOf) {
			s.Outcome.Ledger.Injections, s.Verdict = nil, check.Verdict{Property: "done"}
		}, "No fault was injected before the violation."},
		"of a crash": {func(s *StoryOf) {
			s.Outcome.Ledger.Injections = nil
			s.Outcome.Crashes = []record.Crash{{Position: record.PositionAt(50), TimeNs: 50e6, Node: "n1",
				Program: "/srv/kv", Signal: "SIGSEGV", Dump: &record.Dump{
					Threads: []record.ThreadStack{{Frames: []record.Frame{{Function: "apply", File: "/src/raft.c", Line: 8}}}}}}}
			s.Verdict = check.Verdict{Property: "no crash", Event: 50, TimeNs: 50e6}
		}, "No fault was injected before the violation. kv on n1 ended with SIGSEGV in apply (raft.c:8) at 0.05 s."},
		"of a crash after a call that failed": {func(s *StoryOf) {
			o := s.Outcome
			o.Ledger.Injections = nil
			o.Decisions, o.DecisionsNs = []tape.Decision{{Stream: "fault/open_fail/n1", N: 2, Value: 1}}, []int64{49_999_000}
			o.Crashes = []record.Crash{{Position: record.PositionAt(50), TimeNs: 50e6, Node: "n1", Program: "/srv/kv", Signal: "SIGSEGV", Dump: &record.Dump{}}}
			s.Verdict = check.Verdict{Property: "no crash", Event: 50, TimeNs: 50e6}
		}, "Bloodhound made an open on n1 fail at 0.049999 s. kv on n1 ended with SIGSEGV at 0.05 s."},
		"of equal milliseconds": {func(s *StoryOf) {
			f := s.Outcome.Ledger.Injections
			for i := range f {
				f[i].EndNs = f[i].StartNs + 40_000
			}
		}, `Packets of n2 waited from 0.002 s to 0.00204 s, and n1 was cut off from 0.015 s to 0.01504 s. ` +
			`The put k = "v2" by c1 was acknowledged at 0.03 s, but the get k by c3 found nothing at 0.07 s.`},
		"unknown outcome": {func(s *StoryOf) {
			s.Outcome.Ledger.Injections = nil
			s.Outcome.History = s.Outcome.History[:6]
			s.Verdict.Evidence = []string{"(event 40) client c2: put"}
		}, `No fault was injected before the violation. The put k = "v3" by c2 at 0.04 s has an unknown outcome.`},
	} {
		s := staleRead()
		s.Outcome.History = append([]history.Event(nil), s.Outcome.History...)
		c.change(&s)
		if got := strings.Join(s.Narrative(), " "); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
		if n := len(s.Narrative()); n > 3 {
			t.Errorf("%s: %d sentences", name, n)
		}
	}
}
