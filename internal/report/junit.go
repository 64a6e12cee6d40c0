package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
)

// The JUnit XML that CI systems read: a suite is a campaign, a case is a property, or the campaign as a whole. A
// violation is a failure; a property whose verdict is unknown, and a campaign that proves nothing, are errors. Elements and attributes are
// those that Jenkins' schema has (junit-10.xsd of its xUnit plugin).
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"` // real seconds
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		File       string          `xml:"file,attr,omitempty"` // the configuration
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitTrouble `xml:"failure"`
		Error   *junitTrouble `xml:"error"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitTrouble struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a campaign as JUnit XML.
func JUnit(w io.Writer, c CampaignOf) error {
	t := c.Totals
	seconds := strconv.FormatFloat(float64(t.WallNs)/1e9, 'f', 3, 64)
	class := "bloodhound." + strings.ReplaceAll(Visible(orElse(c.Name, "world"), pageValueRunes), ".", "_")
	suite := junitSuite{Name: Visible(orElse(c.Name, "world"), pageValueRunes), File: Visible(c.Config, pageLineRunes),
		Time: seconds, Properties: []junitProperty{
			{"seed", strconv.FormatUint(t.Seed, 10)}, {"runs", strconv.FormatUint(t.Runs, 10)},
			{"virtual_ns", strconv.FormatInt(t.VirtualNs, 10)}, {"exit_code", strconv.Itoa(c.ExitCode)}, {"bloodhound", Visible(c.Bloodhound, pageValueRunes)}}}
	add := func(name string, failure, err *junitTrouble) {
		suite.Cases = append(suite.Cases, junitCase{Class: class, Name: Visible(name, pageLineRunes), Time: "0", Failure: failure, Error: err})
		suite.Tests++
		if failure != nil {
			suite.Failures++
		}
		if err != nil {
			suite.Errors++
		}
	}
	for _, p := range t.Properties {
		failure, err := c.junitTrouble(&p)
		add(p.Property, failure, err)
		suite.Cases[len(suite.Cases)-1].Out = Visible(p.InPart(), pageLineRunes)
	}
	for i := range t.Committed {
		k := &t.Committed[i]
		text := Visible(string(k.Standing)+": "+k.Reason, pageLineRunes)
		switch k.Standing {
		case explore.StillFails:
			if k.Verdict != nil {
				text += "\n" + Visible(k.Verdict.Reason, pageLineRunes)
			}
			add("replay of "+k.File, &junitTrouble{"violated", Visible(k.Property, pageLineRunes), text}, nil)
		case explore.Fixed:
			add("replay of "+k.File, nil, nil)
		default:
			add("replay of "+k.File, nil, &junitTrouble{string(k.Standing), Visible(k.Reason, pageLineRunes), text})
		}
	}
	if list := c.troubles(); len(list) > 0 {
		for i := range list {
			list[i] = Visible(list[i], pageLineRunes)
		}
		add("the campaign as a whole", nil, &junitTrouble{"campaign", list[0], strings.Join(list, "\n")})
	} else {
		add("the campaign as a whole", nil, nil)
	}
	all := junitSuites{Name: "bloodhound", Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Time: seconds, Suites: []junitSuite{suite}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (c *CampaignOf) junitTrouble(p *explore.PropertyTotal) (failure, err *junitTrouble) {
	runs := c.Totals.Runs
	if list := c.failuresOf(p.Property); len(list) > 0 {
		var b strings.Builder
		for _, f := range list {
			fmt.Fprintf(&b, "%s: %s\n", f.ID, Visible(f.Headline, pageLineRunes))
			fmt.Fprintf(&b, "%s, %s\n", showed(f, runs), f.First())
			for i, line := range f.Verdict.Evidence {
				if i == StoryEvidenceLines {
					fmt.Fprintf(&b, "... and %d more\n", len(f.Verdict.Evidence)-i)
					break
				}
				fmt.Fprintf(&b, "  %s\n", Visible(line, pageLineRunes))
			}
			fmt.Fprintf(&b, "%s\n", Visible(c.replay(f), pageLineRunes))
		}
		return &junitTrouble{"violated", Visible(list[0].Headline, pageLineRunes), b.String()}, nil
	}
	switch {
	case p.Violated > 0:
		text := fmt.Sprintf("violated in %s, and not again when they were replayed", often(p.Violated, runs))
		return nil, &junitTrouble{"not reproducible", text, text}
	case p.Unjudged():
		unknown, reason := p.Doubt()
		first := ""
		if p.Unknown > 0 {
			first = ", first with " + p.First()
		}
		text := fmt.Sprintf("unknown in %s%s: %s", often(unknown, runs), first, Visible(reason, pageLineRunes))
		return nil, &junitTrouble{"unknown", text, text}
	case p.Never():
		text := "not in any run: " + Visible(p.Reason, pageLineRunes)
		return nil, &junitTrouble{"unknown", text, text}
	}
	return nil, nil
}
