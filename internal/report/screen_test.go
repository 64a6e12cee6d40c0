package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// whole checks the size of a screen, and returns its text.
func whole(t *testing.T, s *Screen) string {
	t.Helper()
	var b strings.Builder
	if err := s.Print(&b, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) > ScreenLines {
		t.Errorf("%d lines:\n%s", len(lines), b.String())
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > ScreenColumns && !strings.HasPrefix(line, "  bloodhound ") {
			t.Errorf("longer than %d columns: %s", ScreenColumns, line)
		}
	}
	return b.String()
}

// The screen of a real violation has its property, its failure, what a client read, and the fault before it.
func TestScreenOfViolation(t *testing.T) {
	page := violatedPage(t)
	o, v := page.Outcome, page.Verdict
	s := &StoryOf{Spec: spec(), Outcome: o, Verdict: v, Failure: failure.Failure{ID: "0123456789ab"}, File: "x.json"}
	text := whole(t, ScreenOf(s, " ."))
	for _, want := range []string{"VIOLATED  linearizable ", " 0123456789ab\n", "client ", "get k",
		"n1 and n2 are cut off from each other until ", "\n  bloodhound explain 0123456789ab .  why it fails\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

// However much a campaign has to say, its end is one screen, with the verdict on top.
func TestScreensFit(t *testing.T) {
	long := strings.Repeat("a reason that is long ", 60)
	totals := &explore.Totals{Runs: 123456, Workers: 128, VirtualNs: 1e15, WallNs: 1e14, Stopped: explore.TimedOut,
		Operations: explore.Operations{Invoked: 1 << 40, Fail: 1 << 39}, Reasons: []explore.Reason{{Text: long, Count: 7}}}
	status := explore.Status{}
	for i := range 40 {
		totals.Properties = append(totals.Properties, explore.PropertyTotal{Property: fmt.Sprintf("property %d %s", i, long), Holds: 1 << 40, Unknown: 1 << 40})
		totals.Committed = append(totals.Committed, explore.Committed{File: long, Standing: explore.StillFails})
		status.Unknown = append(status.Unknown, fmt.Sprintf("property %d: %s", i, long))
	}
	for _, kind := range []world.FaultKind{fault.Crash, fault.Partition, fault.PowerLoss, fault.DiskFull, fault.ClockJump, fault.FsyncFail} {
		totals.Faults.Entries = append(totals.Faults.Entries, fault.Entry{Kind: kind, Planned: 1 << 40, Delivered: 1 << 40, Observed: 3})
	}
	many := spec()
	for i := range totals.Properties {
		many.Properties = append(many.Properties, world.Property{Name: totals.Properties[i].Property})
	}
	text := whole(t, CampaignScreen(many, totals, status, nil, " "+long))
	if !strings.HasPrefix(text, "UNKNOWN  40 of 40 properties\n") || !strings.Contains(text, "and 35 further properties") {
		t.Errorf("got\n%s", text)
	}

	page := violatedPage(t)
	o, v := page.Outcome, page.Verdict
	v.Property, v.Reason = long, long
	v.Evidence = append(v.Evidence, "  panic: "+long)
	story := &StoryOf{Spec: spec(), Outcome: o, Verdict: v, Failure: failure.Failure{ID: "0123456789ab"}, Replay: "bloodhound run --seed 1"}
	totals.Failures = []*explore.Failure{{Failure: failure.Failure{ID: "0123456789ab"}, Run: 1 << 50},
		{Failure: failure.Failure{ID: "b"}}, {Failure: failure.Failure{ID: "c"}}}
	text = whole(t, CampaignScreen(many, totals, status, story, ""))
	for _, want := range []string{"VIOLATED  a reason", "...   0123456789ab\n", "2 further failures", "and 5 more kinds\n",
		"\n  bloodhound run --seed 1  repeat this run\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

// A screen says what was not tried, and how to try it.
func TestScreenSaysWhatWasNotTested(t *testing.T) {
	totals := &explore.Totals{Runs: 3, Workers: 1, Properties: []explore.PropertyTotal{{Property: "linearizable", Holds: 3}}}
	totals.Faults.Entries = []fault.Entry{{Kind: fault.Partition, Planned: 4, Delivered: 4, Observed: 4}, {Kind: fault.Crash, Planned: 2}}
	text := whole(t, CampaignScreen(spec(), totals, explore.Status{}, nil, ""))
	for _, want := range []string{"HOLDS  1 property over 3 runs\n", "\nTested      partition 4\n",
		"\nNot tested  crashes, power loss, full disk, ", "(try --mode harsh)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

// Colours are for a terminal, and change no character that is read.
func TestScreenInColour(t *testing.T) {
	s := &Screen{Verdict: "VIOLATED", Name: "linearizable", ID: "0123456789ab"}
	var plain, coloured strings.Builder
	s.Print(&plain, false)
	s.Print(&coloured, true)
	bare := strings.NewReplacer(redText, "", boldText, "", plainText, "").Replace(coloured.String())
	if bare != plain.String() || coloured.String() == plain.String() {
		t.Errorf("%q in colour is %q", plain.String(), coloured.String())
	}
	if strings.ContainsRune(plain.String(), '\x1b') {
		t.Error("colour without a terminal")
	}
}

// What a program writes cannot move a terminal's cursor.
func TestScreenIsPrintable(t *testing.T) {
	s := &Screen{Verdict: "VIOLATED", Name: "p", Reason: "\x1b[2J gone", Story: []string{"\x1b[1A\r up"}}
	var b strings.Builder
	s.Print(&b, false)
	if strings.ContainsAny(b.String(), "\x1b\r") {
		t.Errorf("%q", b.String())
	}
}

// A kind of verdict that is not told by a story has its judgement.
func TestScreenOfJudgements(t *testing.T) {
	for want, status := range map[string]explore.Status{
		"FAILED\n  the engine or the machine failed":        {Failed: true},
		"NOT REPRODUCIBLE\n  a run does not repeat":         {Unrepeatable: true},
		"UNKNOWN\n  p: too little; the run was interrupted": {Unknown: []string{"p: too little", "the run was interrupted"}},
		"HOLDS  1 property in this run\n":                   {},
	} {
		r := &explore.Summary{Verdicts: []check.Verdict{{Property: "linearizable", Status: check.Holds}}}
		if text := whole(t, RunScreen(spec(), r, nil, status, nil, 7, "")); !strings.HasPrefix(text, want) {
			t.Errorf("got\n%swant\n%s", text, want)
		}
	}
}

// Where most operations fail, the screen says why: what clients got, and the last error of a server, and not that of a client.
func TestScreenOfFailingOperations(t *testing.T) {
	r := &explore.Summary{Operations: explore.Operations{Invoked: 10, Ok: 2, Fail: 8}, Reasons: []explore.Reason{{Text: "status 503", Count: 8}}}
	log := []record.LogLine{{Node: "n1", Text: "Error: no leader"}, {Node: "n1", Text: "fatal error: lease lost"},
		{Node: "n1", Text: "ready"}, {Node: "n1", Text: `{"level":"info","initial-corrupt-check":false}`}, {Node: "load", Text: "error of a client"}}
	text := whole(t, RunScreen(spec(), r, log, explore.Status{}, nil, 7, ""))
	if !strings.Contains(text, "Most operations fail: status 503\n  n1: fatal error: lease lost\n") || strings.Contains(text, "of a client") {
		t.Errorf("got\n%s", text)
	}
	r.Operations = explore.Operations{Invoked: 10, Ok: 8, Fail: 2}
	if text := whole(t, RunScreen(spec(), r, log, explore.Status{}, nil, 7, "")); strings.Contains(text, "fail:") {
		t.Errorf("got\n%s", text)
	}
}

// Runs of a campaign that have no number, since they come before all others, are not counted to the first failure.
func TestWhereAFailureWasFound(t *testing.T) {
	for want, f := range map[string]explore.Failure{
		"Found after 3 runs (--seed 7).":                                          {Run: 2},
		"Found in the run without faults.":                                        {Run: math.MaxUint64, Baseline: true},
		"Found in the first runs with faults, which look for moments (--seed 7).": {Run: math.MaxUint64 - 16},
	} {
		f.ID, f.Tape.Seed = "x", 7
		if got := strings.Join(foundLines(&explore.Totals{Failures: []*explore.Failure{&f}, Seed: 7}, "x"), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What the budget of shrinking has left undone can be gone on with, and a clean campaign says of which file system its power losses were.
func TestScreenSaysWhatIsLeft(t *testing.T) {
	f := &explore.Failure{Failure: failure.Failure{ID: "x"}, Run: 2, Shrunk: &shrink.Shrunk{End: "the budget of 36.682s ended"}}
	c := &Screen{Next: []Hint{{"a", ""}, {"b", ""}, {"c", ""}}}
	c.shrinkFurther(&explore.Totals{Failures: []*explore.Failure{f}}, "x", " .")
	if len(c.Next) != 4 || c.Next[0].Command != "a" || c.Next[2].Command != "bloodhound shrink x ." {
		t.Errorf("%v", c.Next)
	}
	stale := &explore.Totals{Runs: 1, Committed: []explore.Committed{{File: "failures/x.json", Standing: explore.Stale}}}
	if next := c.campaignHints(stale, explore.Status{}, ""); next[0].Command != "rm failures/x.json" {
		t.Errorf("%v", next)
	}
	changes := []record.DiskChange{{TimeNs: 1, Call: record.Lost, Path: "/a", Old: "x"},
		{TimeNs: 2, Call: record.Lost, Path: "/b", Old: "x"}, {TimeNs: 2, Call: "write"}, {TimeNs: 5, Call: record.Lost}}
	if loss := lastLoss(changes, 4); loss == nil || loss.Path != "/b" {
		t.Errorf("the last loss is %v", loss)
	}
	lost := []fault.Entry{{Kind: fault.PowerLoss, Planned: 1, Delivered: 1}}
	for profile, want := range map[string]bool{"": true, "ext4-ordered": true, "posix-minimal": false} {
		spec := &world.Spec{Faults: world.Faults{DiskProfile: profile}}
		totals := &explore.Totals{Runs: 3, Properties: []explore.PropertyTotal{{Property: "p", Holds: 3}}}
		totals.Faults.Entries = lost
		text := whole(t, CampaignScreen(spec, totals, explore.Status{}, nil, ""))
		if strings.Contains(text, "\nDisks       as ext4 keeps them; posix-minimal loses more (faults.disk.profile)\n") != want {
			t.Errorf("profile %q:\n%s", profile, text)
		}
	}
}

// A screen shows the power loss that took something from a disk, whatever else was injected after it, and the last operation.
func TestScreenKeepsTheLoss(t *testing.T) {
	s := lossStory()
	s.Outcome.Ledger.Injections = []fault.Injection{{ID: 1, Kind: fault.PowerLoss, Target: "n1", Node: "n1", StartNs: 5e9, EndNs: 6e9, Observed: 1}}
	for i, kind := range []world.FaultKind{fault.Crash, fault.Pause, fault.ClockJump} {
		at := int64(65+5*i) * 1e8
		s.Outcome.Ledger.Injections = append(s.Outcome.Ledger.Injections,
			fault.Injection{ID: 2 + i, Kind: kind, Target: "n1", Node: "n1", StartNs: at, EndNs: at + 1e8, Observed: 1})
	}
	s.Outcome.DiskChanges = []record.DiskChange{{Event: 500, TimeNs: 5e9 + 1, Node: "n1", Call: record.Lost, Path: "/log", From: 10, To: 20}}
	lines := storyLines(s)
	text := strings.Join(lines, "\n")
	if len(lines) > screenStory || !strings.Contains(text, "n1 loses power") || !strings.Contains(text, "/log") {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	cited, _ := s.cited()
	if last := operationLine(&cited[len(cited)-1]); !strings.Contains(text, last.text) {
		t.Errorf("no line has %q:\n%s", last.text, text)
	}
}

// A line of the story that does not fit loses its middle, so the end of an input and the outcome stay.
func TestLongLinesOfTheStory(t *testing.T) {
	input := `{"from": "` + strings.Repeat("a", 200) + `", "to": "bob", "amount": 7}`
	op := &history.Operation{Client: "c1.0", Op: "transfer", Key: "alice", Input: input, Type: history.Info}
	line := "  0.217 s  " + operationLine(op).text
	wrapped := whole(t, &Screen{Verdict: "VIOLATED", Story: []string{line}})
	narrow := fitEnds(line, ScreenColumns)
	for text, wants := range map[string][]string{
		strings.Join(strings.Fields(wrapped), " "): {`transfer alice = "{"from": "a`, `"amount": 7} (`, "-> outcome unknown"},
		narrow: {`transfer alice = "{"from": "a`, "…", "-> outcome unknown"},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
	if width(narrow) > ScreenColumns {
		t.Errorf("%d columns: %s", width(narrow), narrow)
	}
	full := &Screen{Story: slices.Repeat([]string{strings.Repeat("x", 300) + " the end"}, screenStory),
		Numbers: slices.Repeat([]string{"a number"}, ScreenLines)}
	for _, line := range full.lines() {
		if strings.Contains(line, "xx") && (!strings.HasSuffix(line, "the end") || width(line) > ScreenColumns) {
			t.Errorf("a line without its end: %s", line)
		}
	}
}
