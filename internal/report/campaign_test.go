package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// mixed is a campaign in which all that can go wrong did.
func mixed() CampaignOf {
	v := check.Verdict{Property: "linearizable", Kind: "safety", Status: check.Violated, Reason: "not linearizable: a get",
		Evidence: []string{`key "k": 2 operations`}}
	return CampaignOf{Name: "kv", Bloodhound: "v1", Config: "a folder/bloodhound.yaml", ExitCode: 1, Arguments: " 'a folder'",
		Status: explore.Status{Violated: true, Unrepeatable: true,
			Unknown: []string{"healthy: unknown in 3 of 2000 runs: no probe", "fault crash was never observed"}},
		Totals: &explore.Totals{Seed: 7, Runs: 2000, Violated: 4, Events: 99, VirtualNs: 5e9, WallNs: 2e9, Workers: 2,
			Operations: explore.Operations{Invoked: 100, Ok: 70, Fail: 20, Info: 9},
			Reasons:    []explore.Reason{{Type: history.Fail, Text: "status 503", Count: 20}},
			Faults:     fault.Ledger{Entries: []fault.Entry{{Kind: fault.Partition, Planned: 5, Delivered: 4, Observed: 3}, {Kind: fault.Crash, Planned: 2}}},
			LogCounts:  map[string]uint64{"leader-changes": 12},
			Properties: []explore.PropertyTotal{{Property: "linearizable", Kind: "safety", Holds: 1996, Violated: 4},
				{Property: "healthy", Kind: "liveness", Holds: 1997, Unknown: 3, Reason: "no probe", Seed: 5},
				{Property: "flaky", Kind: "safety", Holds: 1999, Violated: 1}, {Property: "no panic", Kind: "safety", Holds: 2000}},
			Failures: []*explore.Failure{{Failure: failure.Failure{ID: "0123456789ab", Property: "linearizable",
				Signature: "linearizable: x", Headline: failure.Headline(v.Reason)}, Runs: 4, Run: 17,
				Tape: tape.Tape{Seed: 99}, Verdict: v, Hash: "h"}},
			Unrepeatable: 1, FirstUnrepeatable: &explore.Unrepeatable{Run: 3, Tape: tape.Tape{Seed: 33}, Reason: "a spin break"}}}
}

// clean is a campaign in which all properties hold.
func clean() CampaignOf {
	c := mixed()
	c.ExitCode, c.Status = 0, explore.Status{}
	t := *c.Totals
	t.Properties, t.Failures, t.Violated, t.Unrepeatable, t.FirstUnrepeatable = t.Properties[3:], nil, 0, 0, nil
	c.Totals = &t
	return c
}

func written(t *testing.T, write func(io.Writer, CampaignOf) error, c CampaignOf) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A property that was judged in part passes, and says what was left out.
func TestJUnitNamesWhatWasLeftOut(t *testing.T) {
	c := clean()
	c.Totals.Properties = []explore.PropertyTotal{{Property: "p", Holds: 3, Partial: 1,
		LeftOut: []string{`key "l" with 1 operation: operation "rpush" has no model`}}}
	if text := written(t, JUnit, c); !strings.Contains(text,
		`<system-out>p: judged only in part in 1 of 3 runs; the first of them left out key &#34;l&#34; with 1 operation`) {
		t.Error(text)
	}
}

func TestJUnit(t *testing.T) {
	golden(t, "junit.xml", written(t, JUnit, mixed()))
	ok := written(t, JUnit, clean())
	if !strings.Contains(ok, `tests="2" failures="0" errors="0"`) {
		t.Errorf("a clean campaign gives\n%s", ok)
	}
}

func TestSARIF(t *testing.T) {
	golden(t, "campaign.sarif", written(t, SARIF, mixed()))
	ok := written(t, SARIF, clean())
	if !strings.Contains(ok, `"results": []`) || !strings.Contains(ok, `"executionSuccessful": true`) {
		t.Errorf("a clean campaign gives\n%s", ok)
	}
}

func TestCampaignPage(t *testing.T) {
	text := written(t, CampaignPage, mixed())
	for _, want := range []string{
		"1 failure in 4 of 2000 runs", "4 of 2000 runs (1 in 500)", "seed 99", "bloodhound replay 0123456789ab &#39;a folder&#39;",
		"bloodhound report 0123456789ab", `<td class="wide">partition</td><td class="n" data-label="planned">5</td><td class="n" data-label="delivered">4</td>` +
			`<td class="n" data-label="observed">3</td>`,
		`<h3>` + failure.Headline("not linearizable: a get") + `</h3>`, `<span class="mono">0123456789ab</span>`, `<span title="first run 17, seed 99">first in run 17</span>`, "the run could not decide the property",
		"70.0 %", "status 503", "leader-changes", "1 run was not reproducible; the first: run 3 (seed 33): a spin break",
		"unknown: fault crash was never observed", "unknown, first with seed 5: no probe",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if n := strings.Count(text, "bloodhound replay "); n != 1 {
		t.Errorf("one failure has %d commands that replay it", n)
	}
	ok := written(t, CampaignPage, clean())
	if !strings.Contains(ok, "all properties hold over 2000 runs") || !strings.Contains(ok, `<header class="holds">`) || strings.Contains(ok, "Failures") {
		t.Error("the page of a clean campaign does not say that all holds")
	}
}

// The judgement of a report is that of the exit code: where the campaign does not end with 0, no format shows green.
func TestNoReportIsGreenUnlessAllHolds(t *testing.T) {
	for name, spoil := range map[string]func(*CampaignOf){
		"lost": func(c *CampaignOf) {
			c.Totals.LostRuns, c.Totals.Lost = 1, []explore.Lost{{Run: 2, Reason: "died"}}
			c.Status.Failed = true
		},
		"unrepeatable": func(c *CampaignOf) {
			c.Totals.Unrepeatable, c.Totals.FirstUnrepeatable = 1, &explore.Unrepeatable{Reason: "spin"}
			c.Status.Unrepeatable = true
		},
		"unknown fault": func(c *CampaignOf) { c.Status.Unknown = []string{"fault crash was planned 0 times"} },
		"unknown property": func(c *CampaignOf) {
			c.Totals.Properties = []explore.PropertyTotal{{Property: "p", Unknown: 1, Reason: "x"}}
			c.Status.Unknown = []string{"p: unknown in 1 of 2000 runs: x"}
		},
		"no run": func(c *CampaignOf) {
			c.Totals.Runs, c.Totals.Properties = 0, nil
			c.Status.Unknown = []string{"no run was finished"}
		},
	} {
		c := clean()
		spoil(&c)
		if text := written(t, JUnit, c); !strings.Contains(text, `errors="1"`) {
			t.Errorf("%s: JUnit has no error:\n%s", name, text)
		}
		if text := written(t, SARIF, c); !strings.Contains(text, "toolExecutionNotifications") {
			t.Errorf("%s: SARIF has no notification:\n%s", name, text)
		}
		if text := written(t, CampaignPage, c); strings.Contains(text, `class="holds"`) {
			t.Errorf("%s: the page is green", name)
		}
	}
}

func TestCampaignFormatsEscapeWhatProgramsWrite(t *testing.T) {
	c := mixed()
	c.Name, c.Config, c.Arguments, c.Bloodhound = hostile, hostile, hostile, hostile
	tt := c.Totals
	tt.Machine, tt.FirstUnrepeatable.Reason, tt.Stopped = hostile, hostile, hostile
	tt.Properties[0].Property, tt.Properties[1].Reason, tt.Properties[1].Kind = hostile, hostile, hostile
	f := tt.Failures[0]
	f.Verdict.Property, f.Verdict.Reason, f.Verdict.Evidence, f.Signature = hostile, hostile, []string{hostile}, hostile
	tt.Warnings = []explore.Warning{{Text: hostile, Runs: 1}}
	tt.Refused = []record.Unsupported{{Program: hostile, Call: hostile, Errno: hostile}}
	tt.Reasons = []explore.Reason{{Type: history.Fail, Text: hostile}}
	tt.LogCounts = map[string]uint64{hostile: 1}
	tt.Faults.Entries[0].Kind = hostile
	tt.Lost = []explore.Lost{{Reason: hostile}}
	c.Status.Unknown, c.Status.Notices = []string{hostile}, []string{hostile}
	harmless(t, written(t, CampaignPage, c), 2)

	var back junitSuites
	text := written(t, JUnit, c)
	if err := xml.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Suites[0].Cases[0]; got.Name != Visible(hostile, 1000) || !strings.Contains(got.Failure.Text, Visible(hostile, 1000)) {
		t.Errorf("JUnit gives %+v", got)
	}
	var log sarifLog
	text = written(t, SARIF, c)
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatal(err)
	}
	if got := log.Runs[0].Results[0]; got.RuleID != Visible(hostile, pageValueRunes) ||
		strings.ContainsAny(got.Locations[0].Physical.Artifact.URI, "<> \x00\xff") {
		t.Errorf("SARIF gives %+v", got)
	}
}

func TestOften(t *testing.T) {
	for _, c := range []struct {
		runs, all uint64
		want      string
	}{{1, 1_000_000, "1 of 1000000 runs (1 in 1000000)"}, {4, 2000, "4 of 2000 runs (1 in 500)"}, {3, 4, "3 of 4 runs (75.0 %)"},
		{2, 2, "2 of 2 runs"}, {0, 0, ""}} {
		if got := often(c.runs, c.all); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.runs, c.all, got, c.want)
		}
	}
}
