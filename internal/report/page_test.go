package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/cause"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var fakeEngine = enginetest.New()

// violatedPage is the page of the fake engine's lost write.
func violatedPage(t *testing.T) PageOf {
	t.Helper()
	var o *check.Judged
	var lines *bytes.Buffer
	var violated []check.Verdict
	for seed := uint64(1); len(violated) == 0; seed++ {
		if seed > 100 {
			t.Fatal("no run violates anything")
		}
		o, lines = drawn(t, seed)
		o.Judge(spec(), false)
		violated = explore.Violated(o.Verdicts)
	}
	d, err := ReadDiagram(lines, Nearness(o, violated[0]))
	if err != nil {
		t.Fatal(err)
	}
	return PageOf{StoryOf: StoryOf{Failure: failure.Failure{ID: "4daa56b854d2", Signature: violated[0].Signature()}, Spec: spec(),
		Outcome: o, Verdict: violated[0], File: ".bloodhound/failures/4daa56b854d2.json",
		Replay: "bloodhound replay 4daa56b854d2"}, Bloodhound: "v1", Diagram: d}
}

// explainedPage is the same page with an explanation, the rest of a campaign's knowledge and a failed call.
func explainedPage(t *testing.T) PageOf {
	t.Helper()
	p := violatedPage(t)
	p.Commit, p.Discovery = "0312caa1f00d with changes", &Discovery{At: time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC), Runs: 1, Of: 17}
	p.Outcome.Ledger.Entries = append(p.Outcome.Ledger.Entries, fault.Entry{Kind: fault.Crash}, fault.Entry{Kind: fault.DiskFull})
	f := &p.Outcome.Ledger.Injections[0]
	e := &Explanation{Hash: p.Outcome.Hash, Faults: []fault.Injection{*f}}
	for i, failed := range []int{0, 1, 0, 10, 10} {
		share := float64(failed) / 10
		e.Points = append(e.Points, cause.Point{AtNs: f.StartNs + int64(i-2)*1e6, Failed: failed, Runs: 10, Low: max(share-0.2, 0), High: min(share+0.2, 1)})
	}
	e.Runs, e.Jump = 50, &cause.Jump{Before: e.Points[2], After: e.Points[3], Clear: true}
	p.Explanation = e
	p.Diagram.Calls = []FailedCall{{Node: "n1", TimeNs: p.Verdict.TimeNs, Event: 7, Text: `fsync(7) = -1 EIO (Input/output error) (INJECTED: fsync_fail)`}}
	return p
}

// skewPage is the page of a write skew.
func skewPage() PageOf {
	at := func(n uint64, client string, t history.Type, in, out string) history.Event {
		return history.Event{Number: n, TimeNs: int64(n) * 1e6, Client: client, Type: t, Op: "txn", Input: in, Output: out, Found: out != ""}
	}
	o := &check.Judged{Outcome: record.Outcome{Events: 9, VirtualNs: 9e6, History: []history.Event{
		at(1, "a", history.Invoke, "[]", ""), at(2, "b", history.Invoke, "[]", ""),
		at(3, "a", history.Ok, "", `[["r","x",[]],["append","y",1]]`), at(4, "b", history.Ok, "", `[["r","y",[]],["append","x",1]]`),
		at(5, "c", history.Invoke, "[]", ""), at(6, "c", history.Ok, "", `[["r","x",[1]],["r","y",[1]]]`)}}}
	s := &world.Spec{Nodes: []world.Node{{Name: "db"}}, Properties: []world.Property{{Name: "serial", Kind: world.Safety,
		Check: world.Check{Type: world.Isolation}}}}
	o.Judge(s, false)
	return PageOf{StoryOf: StoryOf{Spec: s, Outcome: o, Verdict: o.Verdicts[0], Failure: failure.Failure{ID: "0123456789ab"},
		Replay: "bloodhound replay 0123456789ab"}}
}

// crashPage is the page of a program that crashed.
func crashPage() PageOf {
	c := record.Crash{Position: record.PositionAt(9), TimeNs: 9e6, Node: "n1", Program: "/srv/bin/kv", Kind: "signal", Signal: "SIGSEGV", Dump: &record.Dump{
		Why: "address not mapped", Address: "0x10", Instruction: "mov %rax, 0x10(%rbx)", Core: "/tmp/a long path/of/a/core/file.core",
		Threads: []record.ThreadStack{{TID: 7, Name: "kv", Frames: []record.Frame{{Function: "apply_committed_entries_of_the_log(raft_node*, entry const*)",
			File: "/srv/src/raft/apply_committed_entries.cc", Line: 142}}}}}}
	o := &check.Judged{Outcome: record.Outcome{Events: 10, VirtualNs: 10e6, Crashes: []record.Crash{c}}}
	return PageOf{StoryOf: StoryOf{Spec: &world.Spec{Nodes: []world.Node{{Name: "n1", Role: world.Server}}}, Outcome: o,
		Verdict: check.Verdict{Property: "no crash", Kind: "safety", Event: 9, TimeNs: 9e6, Reason: "kv crashes"},
		Failure: failure.Failure{ID: "0123456789ab"}, Replay: "bloodhound replay 0123456789ab"}}
}

func htmlOf(t *testing.T, p PageOf) string {
	t.Helper()
	var b bytes.Buffer
	if err := Page(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	p := explainedPage(t)
	text := htmlOf(t, p)
	for _, want := range []string{
		`<h1 id="sentence">a get by client`, "the operations put, get behave as if", "bloodhound replay 4daa56b854d2",
		`id="overview"`, `id="close"`, "partition n1-n2", `class="op ok conflict"`, `<tr class="conflict"`, `class="arrow c2"`,
		"set fault/partition/n1-n2 1 = 1", `<td>partition</td><td class="n">1</td><td class="n">1</td><td class="n">1</td>`,
		p.Outcome.Hash, "lost contact: n1-n2", "linearizable is violated", `<input type="checkbox" value="0" checked>`,
		"found 2026-11-29 · commit 0312caa1 with changes · 1 of 17 runs", "n1 and n2 were cut off from each other from ",
		"bloodhound explain 4daa56b854d2</code>", "bloodhound replay 4daa56b854d2 --trace 4daa56b854d2.json --trace-format chrome",
		`class="no-return"`, "Moment of no return: ", "0 of 10 runs fail", "2 kinds not injected in this run",
		"fsync(7) = -1 EIO (Input/output error) (INJECTED: fsync_fail)",
		`<span class="soft">see it again</span><code id="replay">`, `<span class="soft">find the cause</span><code id="explain">`,
		`<span class="soft">stop there in gdb</span><code id="debug">`,
		">chance of failure</text>", "Random from here on, 0 of 10 runs fail", "With this moment kept, 10 of 10 runs fail",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if rows, conflict := strings.Count(text, `<tr class="conflict"`), strings.Count(text, `"op ok conflict"`); 2*rows != conflict || rows < 2 { // two drawings
		t.Errorf("%d rows and %d bars in conflict", rows, conflict)
	}
	// Nothing but the page itself is asked for.
	alone := strings.Replace(text, `<a href="https://ui.perfetto.dev" rel="noreferrer">`, "", 1) // which a reader may follow
	if m := regexp.MustCompile(`(?i)(src|href|action|data)\s*=\s*"?(https?:|//|file:)|url\([^#]|@import`).FindString(alone); m != "" {
		t.Errorf("the page asks for another resource: %s", m)
	}
	if strings.Index(text, `id="trace"`) < strings.Index(text, `id="details"`) {
		t.Error("the command for a trace is not among the details")
	}
	if !bytes.Equal([]byte(text), []byte(htmlOf(t, p))) {
		t.Error("two pages of one failure differ")
	}
}

// The legend lists what the timeline has, and nothing else.
func TestLegend(t *testing.T) {
	entries := regexp.MustCompile(`<i class="(k-[a-z]+)"></i>`)
	unread := violatedPage(t)
	unread.Diagram.Messages = append(unread.Diagram.Messages, Message{From: "n1", To: "n2", Via: "tcp", SentNs: unread.Verdict.TimeNs})
	for name, c := range map[string]struct {
		page PageOf
		want string
	}{
		"explained": {explainedPage(t), "k-chance k-conflict k-op k-fault k-violation"},
		"unread":    {unread, "k-conflict k-op k-fault k-unread k-violation"},
		"a crash":   {crashPage(), "k-violation"},
		"skew":      {skewPage(), "k-conflict k-op k-violation"},
	} {
		var got []string
		for _, m := range entries.FindAllStringSubmatch(htmlOf(t, c.page), -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A page without an explanation has the commands that add one.
func TestPageWithoutExplanation(t *testing.T) {
	text := htmlOf(t, violatedPage(t))
	for _, want := range []string{`<code id="explain-first">bloodhound explain 4daa56b854d2</code><button data-copy="explain-first">`,
		`<code id="report-then">bloodhound report 4daa56b854d2</code><button data-copy="report-then">`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(htmlOf(t, explainedPage(t)), "explain-first") {
		t.Error("a page with an explanation has the commands for one")
	}
}

// The cycle of a violation of isolation is drawn: its transactions, and what lies between them.
func TestCycleOnThePage(t *testing.T) {
	text := htmlOf(t, skewPage())
	for _, want := range []string{`<svg class="cycle"`, `class="dependency rw"`, ">rw x</text>", ">rw y</text>", ">T1</text>", ">T2</text>",
		"T1 read x before T2 wrote it", "No order of all transactions explains what a and b read and wrote."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(htmlOf(t, violatedPage(t)), `<svg class="cycle"`) {
		t.Error("a cycle of no transactions")
	}
}

// The text of an issue has all that someone else needs.
func TestIssueText(t *testing.T) {
	p := explainedPage(t)
	text := p.IssueText("a get\nfound nothing")
	for _, want := range []string{"# a get found nothing\n", "linearizable is violated", "n1 and n2 were cut off from each other",
		"```sh\nbloodhound replay 4daa56b854d2\n",
		"- Bloodhound v1\n", "- commit: 0312caa1f00d with changes\n", p.Outcome.Hash} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// The evidence of a check names events; what values say does not count.
func TestConflictingOperationsAreThoseOfTheEvidence(t *testing.T) {
	o := &check.Judged{Outcome: record.Outcome{VirtualNs: 100, History: []history.Event{
		{Number: 1, TimeNs: 1, Client: "a", Type: history.Invoke, Op: "put", Key: "k", Input: "(event 5)"},
		{Number: 2, TimeNs: 2, Client: "a", Type: history.Ok},
		{Number: 5, TimeNs: 5, Client: "b", Type: history.Invoke, Op: "put", Key: "k", Input: "x"},
		{Number: 6, TimeNs: 6, Client: "b", Type: history.Ok},
		{Number: 7, TimeNs: 7, Client: "c", Type: history.Invoke, Op: "get", Key: "k"},
		{Number: 8, TimeNs: 8, Client: "c", Type: history.Ok, Output: "x", Found: true}}}}
	f := newFocus(o, check.Verdict{TimeNs: 8, Event: 8, Evidence: []string{
		`  0.000001 s (event 1) client a: put "(event 5) \"(event 5)"; returned at 0.000002 s (event 2)`, `it has no place for: get (event 8)`}})
	if !f.conflict[1] || f.conflict[5] || !f.conflict[7] || f.key != "k" {
		t.Errorf("in conflict: %v of key %q", f.conflict, f.key)
	}
}

const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\x00\xff\xfe\u202e\u2028]]>&amp;'\"`${x}-->"

// hostilePage is a page in which every text that a program writes or a user names is hostile.
func hostilePage(t *testing.T) PageOf {
	t.Helper()
	p := violatedPage(t)
	o := p.Outcome
	for i := range o.Log {
		o.Log[i].Text = hostile
	}
	for i := range o.History {
		h := &o.History[i]
		h.Key, h.Input, h.Output, h.Error, h.Node = hostile, hostile, hostile, hostile, hostile
	}
	o.Ledger.Injections = append(o.Ledger.Injections, fault.Injection{ID: 9, Kind: hostile, Target: hostile, StartNs: 1, EndNs: p.Verdict.TimeNs})
	o.Ledger.Entries = append(o.Ledger.Entries, fault.Entry{Kind: hostile})
	o.Warnings = []string{hostile}
	o.Machine, o.Repeat.Reason = hostile, hostile
	o.Crashes = []record.Crash{{Node: hostile, Program: hostile, Kind: hostile, Signal: hostile}}
	o.Decisions = append(o.Decisions, tape.Decision{Stream: hostile})
	o.Verdicts = append(o.Verdicts, check.Verdict{Property: hostile + "x", Kind: hostile, Reason: hostile, Status: check.Unknown})
	p.Spec.Nodes = append(p.Spec.Nodes, world.Node{Name: hostile, Role: hostile})
	p.Diagram.Marks = append(p.Diagram.Marks, Mark{Node: hostile, TimeNs: p.Verdict.TimeNs, Text: hostile}, Mark{TimeNs: p.Verdict.TimeNs, Text: hostile})
	p.Diagram.Messages = append(p.Diagram.Messages, Message{From: hostile, To: "n1", Via: hostile, SentNs: p.Verdict.TimeNs},
		Message{From: "n1", To: hostile, Via: hostile, SentNs: p.Verdict.TimeNs, ReadNs: p.Verdict.TimeNs, ReadEvent: 1})
	p.Verdict.Property, p.Verdict.Kind, p.Verdict.Reason = hostile, hostile, hostile
	p.Verdict.Evidence = append(p.Verdict.Evidence, hostile)
	o.Tape.Edits = append(o.Tape.Edits, tape.Edit{Op: tape.Set, Stream: hostile})
	p.Replay, p.File, p.Signature, p.Changed, p.Bloodhound = hostile, hostile, hostile, hostile, hostile
	return p
}

// Whatever a program writes or a user names is text on the page, and every byte of that text can be seen.
func TestPageEscapesWhatProgramsWrite(t *testing.T) {
	text := htmlOf(t, hostilePage(t))
	harmless(t, text, 2)
	if !strings.Contains(text, `\x1b[31m\x00\xff\xfe\u202e\u2028`) {
		t.Error("control characters and broken UTF-8 are not shown")
	}
}

// harmless checks that hostile text has brought no markup and no character that does not print into an HTML file that
// has some scripts of its own.
func harmless(t *testing.T, text string, scripts int) {
	t.Helper()
	if n := strings.Count(text, "script>"); n != scripts {
		t.Errorf("%d tags of scripts, want %d", n, scripts)
	}
	for _, bad := range []string{"<img", "<!--", "]]>"} {
		if strings.Contains(text, bad) {
			t.Errorf("the file has %q", bad)
		}
	}
	if !utf8.ValidString(text) {
		t.Error("the file is not UTF-8")
	}
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("the file has %U", r)
			break
		}
	}
}

// A long run gives a page of bounded size that says what it leaves out.
func TestPageOfALongRunIsBounded(t *testing.T) {
	const messages, lines, operations = 150_000, 100_000, 100_000
	p := violatedPage(t)
	o := p.Outcome
	const stepNs = 1_000_000
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range uint64(messages) {
		enc.Encode(diagramLine{Message: &Message{From: "n1", To: "n2", Via: "tcp", SentNs: int64(i) * stepNs, SentEvent: i*6 + 1,
			ReadNs: int64(i)*stepNs + 500, ReadEvent: i*6 + 3}})
	}
	enc.Encode(diagramLine{Untracked: new(uint64)})
	o.Log, o.History = nil, nil
	for i := range uint64(lines) {
		o.Log = append(o.Log, record.LogLine{Position: record.PositionAt(i * 9), TimeNs: int64(i) * stepNs, Node: "n1", Stream: "stdout",
			Text: strings.Repeat("long line ", 200)})
	}
	for i := range uint64(operations) {
		h := history.Event{Number: i*9 + 4, TimeNs: int64(i) * stepNs, Client: fmt.Sprintf("load/%d", i%50), Type: history.Invoke,
			Op: "put", Key: "k", Input: strings.Repeat("v", 1000)}
		o.History = append(o.History, h)
		h.Number, h.Type = h.Number+2, history.Ok
		o.History = append(o.History, h)
	}
	for i := range int64(fault.MaxInjections) {
		o.Ledger.Injections = append(o.Ledger.Injections, fault.Injection{Kind: "partition", Target: "n1-n2", StartNs: i * stepNs, EndNs: (i + 9) * stepNs})
	}
	o.VirtualNs = messages * stepNs
	o.Events = 1_000_000
	p.Verdict.TimeNs, p.Verdict.Event = 60_000*stepNs, 500_000
	p.Verdict.Evidence = []string{strings.Repeat("x", 1<<20), "(event 4)", fmt.Sprintf("(event %d)", 59_999*9+6)}
	for range 10_000 {
		p.Verdict.Evidence = append(p.Verdict.Evidence, "more")
		o.Decisions = append(o.Decisions, tape.Decision{Stream: "x"})
	}
	d, err := ReadDiagram(&b, Nearness(o, p.Verdict))
	if err != nil {
		t.Fatal(err)
	}
	p.Diagram = d
	text := htmlOf(t, p)
	if len(text) > 4<<20 {
		t.Errorf("the page has %d bytes", len(text))
	}
	for _, want := range []string{"146000 messages further away are left out", "98500 lines further from the violation are left out",
		"operations outside the window or further away are left out", "not drawn", "shorter ones are left out", "more lines are left out",
		"2 operations in conflict are marked"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(text, `<tr class="conflict"`); n != 2 {
		t.Errorf("%d of 2 operations in conflict are on the page", n)
	}
}

// A page needs neither a history nor logs nor messages.
func TestPageOfLittle(t *testing.T) {
	v := check.Verdict{Property: "no panic", Kind: "safety", Status: check.Violated}
	text := htmlOf(t, PageOf{StoryOf: StoryOf{Spec: &world.Spec{}, Outcome: &check.Judged{}, Verdict: v}})
	for _, want := range []string{"no program under test crashes", "Messages are unknown", "No fault was planned"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	broken := &check.Judged{Outcome: record.Outcome{History: []history.Event{{Number: 1, Client: "a", Type: history.Ok}}}}
	if text := htmlOf(t, PageOf{StoryOf: StoryOf{Spec: &world.Spec{}, Outcome: broken, Verdict: v}}); !strings.Contains(text,
		"The history cannot be read as operations: ") {
		t.Error("the page does not say that the history is broken")
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü 漢": "plain ü 漢", "tab\tend": "tab    end", "a\x00b": `a\x00b`, "\xe2\x82": `\xe2\x82`, "\u202ex": `\u202ex`, "\ufffd": "\ufffd",
		"back\\slash": `back\slash`, "123456789012345": "12345678…2345 (15 bytes)",
		`{"from": "a", "amount": 5}`: `{"from":…: 5} (26 bytes)`,
	} {
		if got := Visible(in, 12); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
