package report

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// lostLongAgo is a violation whose cause lies 20 s before it: a partition, and a decision of another kind.
func lostLongAgo() StoryOf {
	o := &check.Judged{Outcome: record.Outcome{Events: 900, VirtualNs: 30e9, Hash: "h", Tape: tape.Tape{Seed: 7},
		Decisions:   []tape.Decision{{Stream: "fault/partition/n1", Index: 4, N: 9, Value: 3}, {Stream: "net/n1-n2/0/delay", Index: 12, N: 5, Value: 2}},
		DecisionsNs: []int64{4_000_000_000, 4_100_000_000}}}
	o.Ledger.Injections = []fault.Injection{{ID: 1, Kind: fault.Partition, Target: "n1", StartNs: 4e9, EndNs: 5e9, Event: 100, Observed: 120},
		{ID: 2, Kind: fault.Crash, Target: "n2", StartNs: 28e9, EndNs: 29e9, Event: 890}}
	o.Log = []record.LogLine{{Position: record.PositionAt(90), TimeNs: 3e9, Node: "n1", Text: "long before"},
		{Position: record.PositionAt(110), TimeNs: 42e8, Node: "n1", Text: "steps down"},
		{Position: record.PositionAt(300), TimeNs: 15e9, Node: "n2", Text: "nothing of interest"},
		{Position: record.PositionAt(600), TimeNs: 24e9, Node: "n2", Text: "answers a read"}}
	return StoryOf{Spec: &world.Spec{Nodes: []world.Node{{Name: "n1"}, {Name: "n2"}}}, Outcome: o,
		Failure: failure.Failure{ID: "0123456789ab"}, Replay: "bloodhound replay 0123456789ab",
		Verdict: check.Verdict{Property: "durable", Kind: "safety", Status: check.Violated, Event: 610, TimeNs: 25e9},
		Shrunk:  &shrink.Shrunk{From: shrink.Size{Faults: 9}, To: shrink.Size{Faults: 1}, Runs: 30}}
}

// What the smallest tape has left is reported with its time, however long before the violation it was.
func TestTheCauseIsInTheStory(t *testing.T) {
	var b strings.Builder
	if err := Story(&b, lostLongAgo()); err != nil {
		t.Fatal(err)
	}
	story := b.String()
	at := -1
	for _, want := range []string{"4.000000s  fault      partition n1 begins (first seen by a program at event 120)",
		"4.200000s  n1         steps down", "5.000000s  fault      partition n1 ends",
		"24.000000s  n2         answers a read", "25.000000s  =======>   durable is violated",
		"4.000000s  fault/partition/n1: draw 4 is 3 of 9", "4.100000s  net/n1-n2/0/delay: draw 12 is 2 of 5"} {
		next := strings.Index(story, want)
		if next <= at {
			t.Errorf("%q is missing, or too early, in\n%s", want, story)
		}
		at = next
	}
	for _, not := range []string{"nothing of interest", "long before", "crash n2"} { // a fault after the violation is no cause
		if strings.Contains(story, not) {
			t.Errorf("%q is in\n%s", not, story)
		}
	}
	page := htmlOf(t, PageOf{StoryOf: lostLongAgo()})
	for _, want := range []string{`class="fault" data-a="4000000000" data-b="5000000000"`, "partition n1 begins",
		`<td class="n mono">4.100000s</td><td class="mono">net/n1-n2/0/delay</td>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// Jumps of clocks last until the end of chaos. They must not displace what happened nearer to the violation.
func TestLastingFaultsDisplaceNoNearerOnes(t *testing.T) {
	s := lostLongAgo()
	s.Outcome.Ledger.Injections = nil
	for i := range int64(2 * StoryInjections) {
		s.Outcome.Ledger.Injections = append(s.Outcome.Ledger.Injections,
			fault.Injection{Kind: fault.ClockJump, Target: "n1", StartNs: i * 1e8, EndNs: 49e9, Observed: 700})
	}
	s.Outcome.Ledger.Injections = append(s.Outcome.Ledger.Injections,
		fault.Injection{Kind: fault.PowerLoss, Target: "n2", StartNs: 20e9, EndNs: 21e9, Observed: 720},
		fault.Injection{Kind: fault.ClockJump, Target: "n2", StartNs: 24e9, EndNs: 49e9, Observed: 730},
		fault.Injection{Kind: fault.PowerLoss, Target: "n1", StartNs: 26e9, EndNs: 27e9, Observed: 740})
	var b strings.Builder
	if err := Story(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"power_loss n2 begins", "power_loss n2 ends", "clock_jump n2 begins", "(left out: 22 faults further from the violation)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	for _, not := range []string{"power_loss n1", "clock_jump n2 ends"} {
		if strings.Contains(b.String(), not) {
			t.Errorf("%q is in\n%s", not, b.String())
		}
	}
}

// crashed is the end of a program by a signal.
func crashed() StoryOf {
	frame := func(f, file string, line int) record.Frame {
		return record.Frame{PC: "0x401000", Function: f, File: file, Line: line, Module: "/bin/kv"}
	}
	var deep []record.Frame
	for range 30 {
		deep = append(deep, frame("deep", "/src/kv.c", 9))
	}
	d := &record.Dump{Why: "address not mapped", Address: "0x8", Instruction: "0x401000: mov (%rax),%eax",
		Registers: []record.Register{{Name: "rip", Value: "0x401000"}},
		Threads: []record.ThreadStack{{TID: 10, Name: "kv",
			Frames: append([]record.Frame{frame("take<script>", "/src/kv.c", 7)}, deep...), Skipped: 4000, SkippedAt: 20},
			{TID: 11, Name: "idle", Frames: []record.Frame{{PC: "0x7f00", Module: "/lib/libc.so.6"}}}},
		Program: "/home/a b/kv", Core: "/p/.bloodhound/cores/0123456789ab/1-n1-kv-10.core", CoreNote: "memory beyond the first 256 MiB is left out"}
	o := &check.Judged{Outcome: record.Outcome{Events: 90, VirtualNs: 3e9,
		Crashes: []record.Crash{{Position: record.PositionAt(4), TimeNs: 1e9, Node: "n2", Program: "/bin/other", Kind: "panic"},
			{Position: record.PositionAt(50), TimeNs: 2e9, Node: "n1", Program: "/bin/kv", PID: 10, Signal: "SIGSEGV", Kind: "crash", Dump: d}}}}
	return StoryOf{Spec: &world.Spec{Nodes: []world.Node{{Name: "n1"}}}, Outcome: o, Failure: failure.Failure{ID: "0123456789ab"},
		Replay:  "bloodhound replay 0123456789ab",
		Verdict: check.Verdict{Property: "no crash by a signal", Status: check.Violated, Event: 50, TimeNs: 2e9},
		Shrunk:  &shrink.Shrunk{Runs: 9, Minimal: true}}
}

// A crash is reported with its place, its stack, and what opens its core file; that nothing could be made smaller, without an empty table.
func TestCrashIsTold(t *testing.T) {
	var b strings.Builder
	if err := Story(&b, crashed()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SIGSEGV: address not mapped: 0x8", "at 0x401000: mov (%rax),%eax",
		"#0   take<script>  /src/kv.c:7", "#1   deep  /src/kv.c:9", "4000 frames",
		"gdb '/home/a b/kv' /p/.bloodhound/cores/0123456789ab/1-n1-kv-10.core", "core file: memory beyond", "no smaller run was found after 9 runs"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the story has no %q:\n%s", want, b.String())
		}
	}
	page := htmlOf(t, PageOf{StoryOf: crashed()})
	for _, want := range []string{`<section id="crash">`, `<span class="badge">crashed</span><b>SIGSEGV</b>`, "take&lt;script&gt;", "/src/kv.c:7", "4000 frames", ">#4030<",
		"in /lib/libc.so.6", `<code id="debugger">gdb &#39;/home/a b/kv&#39;`, "<b>rip</b> 0x401000", "no smaller run was found"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(page, "<th class=\"n\">smallest</th>") || strings.Contains(b.String(), "0 ->") {
		t.Error("there is an empty table of sizes")
	}
}
