package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/history"
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

func htmlOf(t *testing.T, p PageOf) string {
	t.Helper()
	var b bytes.Buffer
	if err := Page(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	p := violatedPage(t)
	text := htmlOf(t, p)
	for _, want := range []string{
		`<h1 id="sentence">a get by client`, "the operations put, get behave as if", "bloodhound replay 4daa56b854d2",
		`id="overview"`, `id="close"`, "partition n1-n2", `class="op ok conflict"`, `<tr class="conflict"`, `class="arrow c2"`,
		"set fault/partition/n1-n2 1 = 1", `<td>partition</td><td class="n">1</td><td class="n">1</td><td class="n">1</td>`,
		p.Outcome.Hash, "lost contact: n1-n2", "linearizable is violated", `<input type="checkbox" value="0" checked>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if rows, conflict := strings.Count(text, `<tr class="conflict"`), strings.Count(text, `"op ok conflict"`); rows != conflict || rows < 2 {
		t.Errorf("%d rows and %d bars in conflict", rows, conflict)
	}
	// Nothing but the page itself is asked for.
	if m := regexp.MustCompile(`(?i)(src|href|action|data)\s*=\s*"?(https?:|//|file:)|url\([^#]|@import`).FindString(text); m != "" {
		t.Errorf("the page asks for another resource: %s", m)
	}
	if !bytes.Equal([]byte(text), []byte(htmlOf(t, p))) {
		t.Error("two pages of one failure differ")
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
		`  0.000001 s (event 1) client a: put "(event 5) \"(event 5)"; returned at 0.000002 s (event 2)`, `no place in it for: get (event 8)`}})
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
		o.Log = append(o.Log, record.LogLine{Position: record.At(i * 9), TimeNs: int64(i) * stepNs, Node: "n1", Stream: "stdout",
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
	for _, want := range []string{"no program under test crashes", "Messages are not known", "No fault was planned"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	broken := &check.Judged{Outcome: record.Outcome{History: []history.Event{{Number: 1, Client: "a", Type: history.Ok}}}}
	if text := htmlOf(t, PageOf{StoryOf: StoryOf{Spec: &world.Spec{}, Outcome: broken, Verdict: v}}); !strings.Contains(text,
		"The history makes no operations: ") {
		t.Error("the page does not say that the history is broken")
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü 漢": "plain ü 漢", "tab\tend": "tab    end", "a\x00b": `a\x00b`, "\xe2\x82": `\xe2\x82`, "\u202ex": `\u202ex`, "\ufffd": "\ufffd",
		"back\\slash": `back\slash`, "123456789012345": "123456789012… (15 bytes)",
	} {
		if got := Visible(in, 12); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
