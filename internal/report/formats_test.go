package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// junitHas are the elements of junit-10.xsd of Jenkins' xUnit plugin that a report may use: their attributes, those that must be there
// with a star, and their children.
var junitHas = map[string]struct{ attributes, children string }{
	"testsuites": {"name time tests failures errors", "testsuite"},
	"testsuite": {"name* tests* failures* errors* group time skipped timestamp hostname id package file log url version",
		"testsuite properties testcase system-out system-err"},
	"properties": {"", "property"},
	"property":   {"name* value*", ""},
	"testcase":   {"name* time classname group", "skipped error failure system-out system-err"},
	"failure":    {"type message", ""},
	"error":      {"type message", ""},
	"skipped":    {"type message", ""},
	"system-out": {"", ""},
	"system-err": {"", ""},
}

// surefireTime is the form of times on suites.
var surefireTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?$`)

// Jenkins' schema takes what JUnit writes, whatever a campaign found.
func TestJUnitIsJenkins(t *testing.T) {
	hostile := mixed()
	hostile.Totals.Properties[0].Property = "p\x00\"<&\u202e]]>"
	hostile.Totals.WallNs = 123456789 * 1e9
	for name, c := range map[string]CampaignOf{"mixed": mixed(), "clean": clean(), "hostile": hostile} {
		dec := xml.NewDecoder(strings.NewReader(written(t, JUnit, c)))
		var open []string
		for {
			token, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				has, ok := junitHas[e.Name.Local]
				if !ok || len(open) == 0 && e.Name.Local != "testsuites" ||
					len(open) > 0 && !slices.Contains(strings.Fields(junitHas[open[len(open)-1]].children), e.Name.Local) {
					t.Errorf("%s: <%s> in %v", name, e.Name.Local, open)
				}
				given := map[string]bool{}
				for _, a := range e.Attr {
					given[a.Name.Local] = true
					if !slices.Contains(strings.Fields(strings.ReplaceAll(has.attributes, "*", "")), a.Name.Local) {
						t.Errorf("%s: <%s> has the attribute %s", name, e.Name.Local, a.Name.Local)
					}
					if a.Name.Local == "time" && !surefireTime.MatchString(a.Value) {
						t.Errorf("%s: the time %q", name, a.Value)
					}
				}
				for _, a := range strings.Fields(has.attributes) {
					if must, ok := strings.CutSuffix(a, "*"); ok && !given[must] {
						t.Errorf("%s: <%s> lacks %s", name, e.Name.Local, must)
					}
				}
				open = append(open, e.Name.Local)
			case xml.EndElement:
				open = open[:len(open)-1]
			case xml.CharData:
				if text := strings.TrimSpace(string(e)); text != "" && !slices.Contains([]string{"failure", "error", "system-out"}, open[len(open)-1]) {
					t.Errorf("%s: <%s> has the text %q", name, open[len(open)-1], text)
				}
			}
		}
	}
}

// libxml2 finds the XML to be well formed, too.
func TestJUnitIsXML(t *testing.T) {
	xmllint := needs.Program(t, "xmllint")
	cmd := exec.Command(xmllint, "--noout", "-")
	cmd.Stdin = strings.NewReader(written(t, JUnit, mixed()))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Flows lead from spans to spans and not back in time, and counters end at zero but for what is never read.
func TestChromeFlowsAndCounters(t *testing.T) {
	var doc struct {
		TraceEvents []struct {
			Name, Ph, ID, Bp string
			Ts, Dur          float64
			Pid, Tid         int
			Args             map[string]any
		}
	}
	text, _ := run(t, "chrome", Filter{})
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	type place struct {
		pid, tid int
		ts       float64
	}
	spans, starts := map[place]bool{}, map[string]float64{}
	counters, last := map[string]int{}, map[string]float64{}
	for _, e := range doc.TraceEvents {
		at := place{e.Pid, e.Tid, e.Ts}
		switch e.Ph {
		case "X":
			spans[at] = true
		case "s":
			if starts[e.ID] = e.Ts; !spans[at] {
				t.Errorf("flow %s begins at no span", e.ID)
			}
		case "f":
			if begin, ok := starts[e.ID]; !ok || begin > e.Ts || !spans[at] || e.Bp != "e" {
				t.Errorf("flow %s: from %v to %v, at a span %v", e.ID, begin, e.Ts, spans[at])
			}
			delete(starts, e.ID)
		case "C":
			counters[e.Name]++
			last[e.Name] = e.Args["value"].(float64)
		}
	}
	if len(starts) > 0 {
		t.Errorf("flows that do not end: %v", starts)
	}
	if counters["messages unread"] < 10 || counters["operations in flight"] < 2 || last["operations in flight"] != 0 ||
		counters["faults in force"] < 2 || last["faults in force"] != 0 {
		t.Errorf("counters %v end at %v", counters, last)
	}
}

// shivizEvent matches an event as ShiViz' default parser does.
var shivizEvent = regexp.MustCompile(`(?m)^(.*)\n(\S*) (\{.*\})$`)

// Every host counts its own events without a gap, and who reads a message knows all that its sender knew.
func TestShiviz(t *testing.T) {
	text, _ := run(t, "shiviz", Filter{})
	events := shivizEvent.FindAllStringSubmatch(text, -1)
	if len(events) < 20 || 2*len(events) != strings.Count(text, "\n") {
		t.Fatalf("%d events in %d lines", len(events), strings.Count(text, "\n"))
	}
	own, sent := map[string]int{}, map[string]map[string]int{}
	reads := 0
	for _, e := range events {
		var clock map[string]int
		if err := json.Unmarshal([]byte(e[3]), &clock); err != nil {
			t.Fatalf("%v: %s", err, e[3])
		}
		if own[e[2]]++; clock[e[2]] != own[e[2]] {
			t.Fatalf("event %d of %s has the clock %v", own[e[2]], e[2], clock)
		}
		var number, from int
		if m := regexp.MustCompile(`sends .*\(event (\d+)\)$`).FindStringSubmatch(e[1]); m != nil {
			sent[m[1]] = clock
		} else if m := regexp.MustCompile(`reads .*\(event (\d+), sent by event (\d+)\)$`).FindStringSubmatch(e[1]); m != nil {
			reads++
			fmt.Sscan(m[1], &number)
			fmt.Sscan(m[2], &from)
			knew := sent[m[2]]
			if knew == nil || number <= from {
				t.Fatalf("%s: no client has sent that before", e[1])
			}
			for host, n := range knew {
				if clock[host] < n {
					t.Errorf("%s: the clock %v is behind its sender's %v", e[1], clock, knew)
				}
			}
		}
	}
	if reads < 5 {
		t.Errorf("%d messages were read", reads)
	}
}
