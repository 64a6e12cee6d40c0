package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/loglines"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const second = int64(1_000_000_000)

// lossStory is the story of a put that was acknowledged at 2 s, and of a get at 9 s that finds nothing. n1 to n3 run the same program.
func lossStory() *StoryOf {
	o := &check.Judged{Outcome: record.Outcome{VirtualNs: 10 * second, Events: 1000, ReadyNs: second / 2}}
	o.History = []history.Event{
		{Number: 20, TimeNs: 2*second - 1000, Client: "c0", Type: history.Invoke, Op: "put", Key: "k", Input: "v"},
		{Number: 30, TimeNs: 2 * second, Client: "c0", Type: history.Ok, Op: "put", Key: "k"},
		{Number: 900, TimeNs: 9 * second, Client: "c1", Type: history.Invoke, Op: "get", Key: "k"},
		{Number: 910, TimeNs: 9*second + 1, Client: "c1", Type: history.Ok, Op: "get", Key: "k"},
	}
	server := func(name string) world.Node {
		return world.Node{Name: name, Role: world.Server, Command: []string{"kv", name}}
	}
	spec := &world.Spec{Nodes: []world.Node{server("n1"), server("n2"), server("n3"), {Name: "load", Role: world.Client}},
		Properties: []world.Property{{Name: "p", Kind: world.Safety, Check: world.Check{Type: world.Linearizability}}}}
	return &StoryOf{Spec: spec, Outcome: o, Replay: "bloodhound replay X",
		Verdict: check.Verdict{Property: "p", Kind: "safety", Status: check.Violated, TimeNs: 9*second + 1, Event: 910,
			Evidence: []string{"put (event 20) returned (event 30)", "get (event 900)"}}}
}

func (s *StoryOf) log(ns int64, node, text string) {
	s.Outcome.Log = append(s.Outcome.Log, record.LogLine{Position: record.PositionAt(uint64(ns / 10_000_000)), TimeNs: ns, Node: node,
		Stream: "stderr", Text: text})
}

func (s *StoryOf) text(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := Story(&b, *s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tells reports where a story lacks lines, or has some that it must not have.
func tells(t *testing.T, text string, want, not []string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the story lacks %q", w)
		}
	}
	for _, n := range not {
		if strings.Contains(text, n) {
			t.Errorf("the story has %q", n)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// Lines that no other run has come first, before what happened; those of other runs and of clients do not.
func TestUnusualLinesComeFirst(t *testing.T) {
	s := lossStory()
	s.Background = &explore.Background{}
	usual := []record.LogLine{{Node: "n2", Text: "started at 1"}}
	for range 30 {
		s.Background.Logs.Add(loglines.Keys(s.Spec, usual))
	}
	s.log(1*second, "n1", "started at 7")
	s.log(4*second, "n1", "checksum of page 7 differs")
	s.log(4*second+1, "n1", "  expected ab, found cd")
	s.log(5*second, "n1", "checksum of page 8 differs")
	s.log(6*second, "load", "a client complains")
	s.log(9*second+second/2, "n1", "after the violation")
	text := s.text(t)
	tells(t, text, []string{"unusual lines of logs, compared with 30 runs of this world in which all properties hold\n" +
		"       4.000000s  n1         checksum of page 7 differs  (in no other run; here 2 times; and 1 line after it)\n\n"}, nil)
	if strings.Index(text, "unusual lines") > strings.Index(text, "what happened") {
		t.Error("unusual lines do not come first")
	}
	s.Background.Logs.Full = true
	tells(t, s.text(t), []string{"(in few of them, if any; here 2 times"}, nil)
	s.Background = nil
	tells(t, s.text(t), nil, []string{"unusual lines"})
}

// Repetitions are folded, also of several lines, and not across a fault or an operation.
func TestRepetitionsAreFolded(t *testing.T) {
	s := lossStory()
	for i := range 44 {
		s.log(8*second+int64(i)*1e6, "n1", fmt.Sprintf("tick %d", i))
	}
	for i := range 3 {
		at := 9*second - second/2 + int64(i)*1e6
		s.log(at, "n2", fmt.Sprintf("ask %d", i))
		s.log(at+1, "n2", "no answer")
	}
	text := s.text(t)
	tells(t, text, []string{"8.000000s  n1         tick 0\n       8.001000s  n1         (43 times more, until 8.043000s)",
		"n2         (these 2 lines 2 times more, until 8.502000s)"}, []string{"tick 1", "ask 1"})
	s.Outcome.Ledger.Injections = []fault.Injection{{ID: 1, Kind: fault.Crash, Target: "n3", Node: "n3",
		StartNs: 8*second + 20_500_000, EndNs: 8*second + 20_600_000}}
	tells(t, s.text(t), []string{"tick 0", "(20 times more, until 8.020000s)", "tick 21", "(22 times more, until 8.043000s)"}, nil)
}

// Of a banner, the first and the last lines are shown, so that there is room for what came before it.
func TestBannersAreShortened(t *testing.T) {
	s := lossStory()
	s.log(8*second, "n1", "exits: cannot write its log")
	for i := range 60 {
		s.log(8*second+second/2+int64(i)*1000, "n1", "banner "+strings.Repeat("ab"[i%2:i%2+1], i+1))
	}
	s.log(8*second+second/2+10_000, "n2", "meanwhile")
	text := s.text(t)
	tells(t, text, []string{"exits: cannot write its log", "banner a\n", "banner bb\n", "banner aaa\n", "banner " + strings.Repeat("b", 60) + "\n", "meanwhile",
		"(55 lines of the last 2s before the violation are left out)"}, []string{"banner bbbb\n"})
}

// A fault of a single call stands in the timeline: by the call where the engine has it, and else by its decision.
func TestFaultsOfCallsAreInTheTimeline(t *testing.T) {
	s := lossStory()
	s.Outcome.Decisions = []tape.Decision{{Stream: "fault/fsync_fail/n1", Index: 5, Value: 1, N: 2}, {Stream: "net/n1", Index: 1, Value: 1, N: 2}}
	s.Outcome.DecisionsNs = []int64{3 * second, 4 * second}
	tells(t, s.text(t), []string{"3.000000s  fault      fsync_fail n1: one call"}, nil)
	s.Outcome.DiskChanges = []record.DiskChange{{Event: 40, TimeNs: 3 * second, Node: "n1", Call: "fsync", Path: "/log", Errno: "EIO", Fault: "fsync_fail"}}
	tells(t, s.text(t), []string{"3.000000s  fault      fsync_fail n1: fsync /log fails: EIO"}, []string{"one call"})
}

// Each story has one thing that may be to blame, and names it.
func TestWhatMayBeToBlame(t *testing.T) {
	change := func(at int64, call string, c record.DiskChange) record.DiskChange {
		c.TimeNs, c.Event, c.Node, c.Call = at, uint64(at/10_000_000), "n1", call
		if c.Path == "" {
			c.Path = "/log"
		}
		return c
	}
	power := fault.Injection{ID: 1, Kind: fault.PowerLoss, Target: "n1", Node: "n1", StartNs: 5 * second, EndNs: 6 * second}
	crash := power
	crash.Kind = fault.Crash
	const acknowledged = `although put k "v" by c0 had ended with ok at 2.000000s`
	for _, c := range []struct {
		name string
		make func(*StoryOf)
		want string // empty: nothing
	}{
		{"nothing", func(*StoryOf) {}, ""},
		{"the run without faults fails too", func(s *StoryOf) {
			s.Background = &explore.Background{Baseline: map[string]string{"p": "unknown: no probe"}}
		}, "configuration  in the run without faults the property is unknown: no probe"},
		{"no fault", func(s *StoryOf) { s.Outcome.Ledger.Entries = []fault.Entry{{Kind: fault.Crash}} }, "configuration  no fault was injected in this run"},
		{"a probe that failed before", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{crash}
			for i := range 3 {
				s.Outcome.Probes = append(s.Outcome.Probes,
					record.Probe{Property: "p", StartNs: int64(i+1) * second, EndNs: int64(i+1)*second + 1, ExitCode: min(i, 1)})
			}
		}, "configuration  before the first fault began, at 5.000000s, 2 of 3 probes of the property had already failed"},
		{"a refused call", func(s *StoryOf) {
			s.Outcome.Refused = []record.Unsupported{{Node: "n1", Program: "kv", Call: "bpf", Errno: "EPERM", Count: 1, LastNs: 8 * second}}
		}, "Bloodhound     1s before, at 8.000000s, it refused bpf of kv on n1 (EPERM)"},
		{"a call that is refused in runs that hold, too", func(s *StoryOf) {
			s.Outcome.Refused = []record.Unsupported{{Node: "n1", Program: "kv", Call: "bpf", Errno: "EPERM", Count: 1, LastNs: 8 * second}}
			s.Background = &explore.Background{Refused: []string{"kv bpf EPERM"}}
		}, ""},
		{"a call that was refused long ago", func(s *StoryOf) {
			s.Outcome.Refused = []record.Unsupported{{Node: "n1", Program: "kv", Call: "bpf", Errno: "EPERM", Count: 1, LastNs: second}}
		}, ""},
		{"a driver without an answer", func(s *StoryOf) { s.Outcome.Unanswered = []uint64{30} },
			`driver         it reported put k = "v" by c0 as ok at 2.000000s, and had read nothing from another node since the operation began`},
		{"an operation that is not in the evidence", func(s *StoryOf) { s.Outcome.Unanswered = []uint64{31} }, ""},
		{"a driver that failed", func(s *StoryOf) { s.Outcome.Drivers = []record.DriverEnd{{Workload: "w", ExitCode: 2, Said: "boom"}} },
			"driver         the driver of workload w ended with exit code 2  at 0.000000s: boom"},
		{"written and never synchronised", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{power}
			s.Outcome.DiskChanges = []record.DiskChange{change(2*second-10, "write", record.DiskChange{To: 100}),
				change(5*second, record.Lost, record.DiskChange{From: 40, To: 100})}
		}, "system         n1 had written to /log from 2.000000s to 2.000000s and not synchronised it since; the power loss at " +
			"5.000000s took content of the file back, " + acknowledged},
		{"a name that was not durable", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{power}
			s.Outcome.DiskChanges = []record.DiskChange{change(2*second-10, "write", record.DiskChange{To: 100}),
				change(5*second, record.Lost, record.DiskChange{Old: "log"}),
				change(6*second, "ftruncate", record.DiskChange{})}
		}, "system         n1 had written to /log from 2.000000s on; the power loss at 5.000000s undid the last change of that name, which was not durable, " +
			acknowledged},
		{"an fsync that failed", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{power}
			s.Outcome.DiskChanges = []record.DiskChange{change(second, "write", record.DiskChange{To: 100}),
				change(second+10, "fsync", record.DiskChange{Errno: "EIO", Fault: "fsync_fail"}),
				change(5*second, record.Lost, record.DiskChange{Pages: 1})}
		}, "system         fsync of /log failed on n1 at 1.000000s; the power loss at 5.000000s took content of the file back, " + acknowledged},
		{"half a record", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{crash}
			s.Outcome.DiskChanges = []record.DiskChange{change(second, "write", record.DiskChange{To: 41, Short: 85}),
				change(2*second-10, "write", record.DiskChange{From: 41, To: 126})}
		}, "system         n1 continues to use /log at 2.000000s (write from byte 41 on), although a write at 1.000000s had " +
			"stopped after 41 of 85 bytes, at byte 41"},
		{"a truncation after a start", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{crash}
			s.Outcome.DiskChanges = []record.DiskChange{change(2*second-10, "write", record.DiskChange{To: 126}),
				change(6*second, "ftruncate", record.DiskChange{To: 41})}
		}, "system         n1 cuts /log to 41 bytes at 6.000000s, where it had written up to byte 126, " + acknowledged},
		{"a log that is written over", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{crash}
			s.Outcome.DiskChanges = []record.DiskChange{change(second, "write", record.DiskChange{To: 126, Calls: 4}),
				change(6*second, "write", record.DiskChange{From: 40, To: 60})}
		}, "system         n1 wrote to /log from byte 40, at 6.000000s, over its own earlier data, which reached byte 126"},
		{"pages that are written again", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{crash}
			for i := range 6 {
				s.Outcome.DiskChanges = append(s.Outcome.DiskChanges,
					change(second*int64(i+1), "pwrite64", record.DiskChange{From: int64(i%2) * 4096, To: int64(i%2+1) * 4096}))
			}
		}, ""},
		{"an operation that ended well although its fsync failed", func(s *StoryOf) {
			s.Verdict.Evidence = nil
			s.Outcome.DiskChanges = []record.DiskChange{change(second, "write", record.DiskChange{To: 100}),
				{Event: 25, TimeNs: 2*second - 500, Node: "n1", Call: "fsync", Path: "/log", Errno: "EIO", Fault: "fsync_fail"},
				change(3*second, "write", record.DiskChange{From: 100, To: 200})}
		}, `system         n1 continues to use /log at 3.000000s (write from byte 100 on), although fsync of it had failed at 1.999999s (EIO); put k "v" by c0, which was under way then, ended with ok`},
		{"a removal after a failure", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{crash}
			s.Outcome.DiskChanges = []record.DiskChange{change(6*second, "openat",
				record.DiskChange{Path: "/index", Errno: "ENOSPC"}), change(6*second+1000, "unlinkat", record.DiskChange{Path: "/lock"})}
		}, "system         n1 removes /lock at 6.000001s, right after openat of /index had failed (ENOSPC)"},
		{"a file that is missing", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{crash}
			s.Outcome.DiskChanges = []record.DiskChange{change(6*second, "openat", record.DiskChange{Path: "/meta", Errno: "ENOENT"})}
		}, "system         after the crash n1 looks for /meta, which is not there (at 6.000000s)"},
		{"files that need not be there", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{crash}
			s.Outcome.DiskChanges = []record.DiskChange{change(6*second, "openat",
				record.DiskChange{Path: "/a", Errno: "ENOENT"}), change(6*second+1, "openat", record.DiskChange{Path: "/b", Errno: "ENOENT"})}
		}, ""},
		{"a folder that is taken away", func(s *StoryOf) {
			s.Outcome.Ledger.Injections = []fault.Injection{crash}
			s.Outcome.DiskChanges = []record.DiskChange{change(2*second-10, "write", record.DiskChange{Path: "/d/log", To: 126}),
				change(7*second, "renameat", record.DiskChange{Old: "/d", Path: "/.d"})}
		}, "system         n1 takes the folder /d away at 7.000000s (renameat), with files that it had written, " + acknowledged},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := lossStory()
			c.make(s)
			const head = "\nwhat may be to blame (hints, not a verdict)\n"
			text := s.text(t)
			if c.want == "" {
				tells(t, text, nil, []string{head})
				return
			}
			tells(t, text, []string{head + "  " + c.want}, nil)
			if _, after, _ := strings.Cut(text, head); strings.Index(after, "\n\n") != strings.Index(after, "\n") {
				t.Errorf("more than one hint: %s", after)
			}
		})
	}
}

// A file that is written, synchronised and renamed is one line.
func TestTemporaryFilesAreFolded(t *testing.T) {
	at := func(ns int64, call, path string, c record.DiskChange) record.DiskChange {
		c.TimeNs, c.Event, c.Node, c.Call, c.Path = ns, uint64(ns), "n1", call, path
		return c
	}
	changes := []record.DiskChange{at(1, "openat", "/a.tmp", record.DiskChange{}),
		at(2, "write", "/a.tmp", record.DiskChange{To: 7}), at(3, "fsync", "/a.tmp", record.DiskChange{}),
		at(4, "rename", "/a", record.DiskChange{Old: "/a.tmp"}),
		at(5, "openat", "/b.tmp", record.DiskChange{}), at(6, "write", "/b.tmp", record.DiskChange{To: 9}),
		at(7, "rename", "/b", record.DiskChange{Old: "/b.tmp"}),
		at(8, "write", "/old", record.DiskChange{To: 9}), at(9, "rename", "/older", record.DiskChange{Old: "/old"})}
	var got []string
	for _, c := range withoutTemporary(changes) {
		got = append(got, changeText(&c))
	}
	want := "rename /a.tmp to /a, with 7 bytes, synchronised|rename /b.tmp to /b, with 9 bytes, not synchronised|write /old bytes 0 to 9|rename /old to /older"
	if strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", strings.Join(got, "|"), want)
	}
}

// Replicas differ first where one of them alone writes a line that other runs do not have, and in their answers.
func TestWhereReplicasDiffer(t *testing.T) {
	s := lossStory()
	s.Background = &explore.Background{}
	s.Background.Logs.Add(loglines.Keys(s.Spec, []record.LogLine{{Node: "n1", Text: "I lead term 4"}}))
	s.log(2*second, "n1", "I lead term 5")
	for i := range 3 {
		s.log(3*second, fmt.Sprint("n", i+1), "joined 7")
	}
	s.log(4*second, "n2", "discards 12 entries")
	tells(t, s.text(t), []string{"where replicas differ first\n       4.000000s  only n2, and not n1, n3, logs: discards 12 entries\n\n"}, nil)
	s.Spec.Properties[0].Check = world.Check{Type: world.Agreement}
	s.Outcome.Probes = []record.Probe{{Property: "p", EndNs: 2 * second, ExitCode: world.ProbeHolds},
		{Property: "p", EndNs: 5 * second, ExitCode: world.ProbeViolated, Output: "n1: 7\nn2: 8\n"},
		{Property: "p", EndNs: 6 * second, ExitCode: world.ProbeViolated, Output: "n1: 7\nn2: 9"}}
	tells(t, s.text(t), []string{"5.000000s  their answers: n1: 7; n2: 8 (the same until 2.000000s)"}, []string{"n2: 9"})
}

// Operations that were not ok are counted by what the system answered.
func TestFailedOperationsOfAStory(t *testing.T) {
	s := lossStory()
	for i := range 7 {
		s.Outcome.History = append(s.Outcome.History,
			history.Event{Number: uint64(500 + i), TimeNs: 5*second + int64(i), Client: "c9", Type: history.Invoke, Op: "put", Key: "k"},
			history.Event{Number: uint64(600 + i), TimeNs: 6*second + int64(i), Client: "c9", Type: history.Fail, Op: "put",
				Key: "k", Error: fmt.Sprintf("try %d: stream not found", i)})
	}
	tells(t, s.text(t), []string{"operations that were not ok (info: the outcome is unknown)\n     7 fail  from 6.000000s on: try 0: stream not found\n\n"},
		nil)
}

// Programs are named once for all nodes that run the same.
func TestProgramsOfAStory(t *testing.T) {
	tells(t, lossStory().text(t), []string{"  programs  n1, n2, n3: kv n1\n\nevidence"}, nil)
}

func TestOverlap(t *testing.T) {
	op := func(client string, from, to uint64) history.Operation {
		return history.Operation{Client: client, Call: from, Return: to}
	}
	for _, c := range []struct {
		list []history.Operation
		want bool
	}{
		{nil, false},
		{[]history.Operation{op("a", 1, 3), op("b", 2, 4)}, true},
		{[]history.Operation{op("a", 1, 2), op("b", 2, 4)}, false},
		{[]history.Operation{op("a", 1, history.Pending), op("b", 2, 4)}, true},
		{[]history.Operation{op("a", 1, 3), op("a", 2, 4)}, false},
	} {
		if got := overlap(c.list); got != c.want {
			t.Errorf("%v overlap: %v", c.list, got)
		}
	}
}
