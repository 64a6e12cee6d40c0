package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// CampaignOf is the input of a campaign's reports.
type CampaignOf struct {
	Name       string // of the world
	Bloodhound string // version of the program
	Config     string // the configuration file, relative to the folder in which the program was started, with slashes
	Totals     *explore.Totals
	Status     explore.Status
	ExitCode   int
	// Arguments name the project on a command line, with a space before them.
	Arguments string
	// Pages are the pages of failures, by id, relative to the folder of the campaign's page, with slashes.
	Pages map[string]string
}

// replay returns the command that replays a failure.
func (c *CampaignOf) replay(f *explore.Failure) string {
	return "bloodhound replay " + f.ID + c.Arguments
}

// often writes in how many runs a failure showed.
func often(runs, all uint64) string {
	if all == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %s", runs, plural.Count(all, "run"))
	switch {
	case runs == 0 || runs == all:
		return text
	case runs*2 > all:
		return fmt.Sprintf("%s (%.1f %%)", text, 100*float64(runs)/float64(all))
	}
	return fmt.Sprintf("%s (1 in %.0f)", text, float64(all)/float64(runs))
}

// failuresOf are the failures of one property.
func (c *CampaignOf) failuresOf(property string) []*explore.Failure {
	var list []*explore.Failure
	for _, f := range c.Totals.Failures {
		if f.Verdict.Property == property {
			list = append(list, f)
		}
	}
	return list
}

// ownUnknown lists the reasons why the campaign's verdict is unknown, apart from the reasons of properties.
func (c *CampaignOf) ownUnknown() []string {
	return slices.DeleteFunc(slices.Clone(c.Status.Unknown), func(reason string) bool {
		return slices.ContainsFunc(c.Totals.Properties, func(p explore.PropertyTotal) bool {
			return p.Unjudged() && strings.HasPrefix(reason, p.Property+": unknown in ") ||
				p.Never() && strings.HasPrefix(reason, p.Property+": not in any of ")
		})
	})
}

// troubles lists the reasons, apart from properties, why a campaign proves nothing.
func (c *CampaignOf) troubles() []string {
	t := c.Totals
	var list []string
	if t.LostRuns > 0 {
		list = append(list, fmt.Sprintf("%s lost to the engine or the machine; the first: %s: %s", were(t.LostRuns), t.Lost[0], t.Lost[0].Reason))
	}
	if u := t.FirstUnrepeatable; u != nil {
		list = append(list, fmt.Sprintf("%s not reproducible; the first: %s: %s", were(t.Unrepeatable), u, u.Reason))
	}
	if t.MoreFailures > 0 {
		list = append(list, fmt.Sprintf("%s beyond the %d failures that are listed", plural.Count(t.MoreFailures, "violation"), explore.MaxFailures))
	}
	for _, reason := range c.ownUnknown() {
		list = append(list, "unknown: "+reason)
	}
	return list
}

func were(runs uint64) string {
	return plural.Count(runs, "run") + " " + plural.Verb(runs, "was", "were")
}

// showed writes where a failure was found.
func showed(f *explore.Failure, runs uint64) string {
	if f.Near != "" {
		return "near the tape of " + f.Near
	}
	return often(f.Runs, runs)
}

//go:embed campaign.html
var campaignText string

// TableStyle lays out tables of the class "stacked" as rows of labels and values on narrow screens. It follows Style.
//
//go:embed tables.css
var TableStyle string

// tables returns TableStyle for a template.
func tables() template.CSS { return template.CSS(TableStyle) }

var campaignTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("campaign").Funcs(functions).Funcs(template.FuncMap{
		"duration": duration,
		"often":    often,
		"tables":   tables,
		"count":    plural.Count[uint64],
		"countInt": plural.Count[int],
	}).Parse(campaignText))
})

// campaignView is the data of the template.
type campaignView struct {
	*CampaignOf
	Class, Judgement string
	Headline         string
	Troubles         []string
	Failures         []failureView
	Properties       []propertyView
	Plots            []plotView
	Shares           []shareView
	PerSecond        string
	Open             uint64
	LogCounts        []countView
}

type failureView struct {
	*explore.Failure
	Often, Seen, Replay, Report, Page string
}

// firstSeen names the run that showed a failure first.
func firstSeen(f *explore.Failure) string {
	switch {
	case f.Baseline:
		return "in the run without faults"
	case f.Scout():
		return "first in a run that looks for moments"
	}
	return fmt.Sprintf("first in run %d", f.Run)
}

// propertyView is a property with an example of each verdict, and the failures that violate it.
type propertyView struct {
	explore.PropertyTotal
	Shown    []exampleView
	Failures []*explore.Failure
}

type exampleView struct {
	explore.Example
	At, Command string
}

type shareView struct {
	Name  string
	Count uint64
	Share float64 // percent
}

type countView struct {
	Name  string
	Count uint64
}

// CampaignPage writes a campaign as one HTML file that needs nothing else.
func CampaignPage(w io.Writer, c CampaignOf) error {
	t := c.Totals
	v := campaignView{CampaignOf: &c, Judgement: Judgement(c.Status, t.Runs), Troubles: c.troubles(),
		PerSecond: Rate(float64(t.Runs), t.WallNs), Open: t.Operations.Open()}
	v.Class = "unknown"
	switch {
	case c.Status.Failed, c.Status.Violated, c.Status.Unrepeatable:
		v.Class = "violated"
	case len(c.Status.Unknown) == 0:
		v.Class = "holds"
	}
	v.Headline, _, _ = strings.Cut(v.Judgement, "\n")
	if c.Status.Violated && !c.Status.Failed {
		v.Headline = fmt.Sprintf("%s in %d of %s", plural.Count(len(t.Failures), "failure"), t.Violated, plural.Count(t.Runs, "run"))
		if len(t.Failures) == 0 {
			v.Headline = "a committed failure still fails"
		}
	}
	for _, f := range t.Failures {
		v.Failures = append(v.Failures, failureView{f, showed(f, t.Runs), firstSeen(f), c.replay(f),
			"bloodhound report " + f.ID + c.Arguments, c.Pages[f.ID]})
	}
	for _, p := range t.Properties {
		view := propertyView{PropertyTotal: p, Failures: c.failuresOf(p.Property)}
		for _, e := range p.Examples {
			if e.Status == check.Violated && len(view.Failures) > 0 {
				continue // the failures say the same
			}
			x := exampleView{Example: e}
			if e.Event > 0 {
				x.At = fmt.Sprintf("at %s, event %d", Seconds(e.TimeNs), e.Event)
			}
			if e.Seed != nil {
				boot := *e.Seed
				if e.BootSeed != nil {
					boot = *e.BootSeed
				}
				x.Command = RunCommand(boot, *e.Seed, c.Arguments)
			}
			view.Shown = append(view.Shown, x)
		}
		v.Properties = append(v.Properties, view)
	}
	v.Plots = c.plots()
	if o := t.Operations; o.Invoked > 0 {
		for _, s := range []countView{{"ok", o.Ok}, {"fail", o.Fail}, {"info", o.Info}, {"never returned", o.Open()}} {
			v.Shares = append(v.Shares, shareView{s.Name, s.Count, 100 * float64(s.Count) / float64(o.Invoked)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.LogCounts)) {
		v.LogCounts = append(v.LogCounts, countView{name, t.LogCounts[name]})
	}
	return campaignTemplate().Execute(w, &v)
}

// RunCommand returns the command that makes a run whose tape is nothing but seeds (tape.Tape.Seeds).
func RunCommand(boot, seed uint64, arguments string) string {
	command := fmt.Sprintf("bloodhound run --seed %d", seed)
	if boot != seed {
		command += fmt.Sprintf(" --boot-seed %d", boot)
	}
	return command + arguments
}
