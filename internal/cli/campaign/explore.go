package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// defaultSeeds is the length of a campaign without bounds.
const defaultSeeds = 1000

// vmEngine is the name of the engine that runs a world in a virtual machine.
const vmEngine = "vm"

func exploreVerb(a *console.App) *cobra.Command {
	f := &campaignFlags{}
	c := &cobra.Command{
		Use:   "explore [FOLDER or FILE]",
		Short: "Run with many seeds until a property is violated, then shrink that run",
		Long: "Run the system again and again, each time with another seed, until a property is violated. Then " +
			"shrink that run to the few faults and operations that matter.\n\n" +
			"Seeds never come from the clock, so the same command always does the same.",
		Args: flags.OneArgument,
		RunE: func(c *cobra.Command, args []string) error { return exploreProject(a, c, f, args, false) },
	}
	f.AddPlacesAndDocument(c)
	console.AddVerbose(&f.Set, c)
	addCampaign(f, c)
	flags.AddSwitch(c, &f.async, "async-vm", "the same as --engine vm")
	return c
}

// CampaignDocument is the JSON document of explore and test.
type CampaignDocument struct {
	Bloodhound string          `json:"bloodhound"`
	Verb       string          `json:"verb"`
	ExitCode   int             `json:"exit_code"`
	Judgement  string          `json:"judgement"`
	Status     explore.Status  `json:"status"`
	Campaign   *explore.Totals `json:"campaign"`
	// Error is why files that the configuration asks for could not be written.
	Error string `json:"error,omitempty"`
}

// exploration is a campaign of explore or test, with what comes before and after it.
type exploration struct {
	*console.App
	ctx      context.Context
	f        *campaignFlags
	p        *project.Project
	s        *project.Session
	campaign *explore.Campaign
	show     *console.Progress
	text     *console.FullText
	line     *campaignLine
	began    time.Time
	timeout  time.Duration // of the whole; 0 is none
	found    []stored.Finding
	changes  *changes // since the revision of --since; nil where they do not matter
	// Of test: the committed failures, replayed, and what was found near those that are stale.
	all  []stored.Standing
	near []*explore.Totals
}

// exploreProject runs a campaign. plain is test: it replays committed failures first, and prints progress as lines also on a terminal.
func exploreProject(a *console.App, c *cobra.Command, f *campaignFlags, args []string, plain bool) error {
	if f.async {
		if f.Engine != "" && f.Engine != vmEngine {
			return fmt.Errorf("--async-vm implies --engine %s, but you gave --engine %s; leave out one of "+
				"them", vmEngine, f.Engine)
		}
		f.Engine = vmEngine
	}
	p, err := project.Load(c.Context(), a, &f.Set, args)
	if err != nil {
		return err
	}
	x := &exploration{App: a, ctx: c.Context(), f: f, p: p}
	x.text = a.BeginText(p.State, &f.Set)
	defer x.text.Close()
	if err := x.completeBudget(c); err != nil {
		return err
	}
	if err := x.prepare(c); err != nil {
		return err
	}
	var kept []stored.Committed
	if plain {
		if kept, err = stored.LoadCommitted(p); err != nil {
			return err
		}
	}
	if err := p.Build(x.ctx, a); err != nil {
		return err
	}
	if err := x.open(); err != nil {
		return err
	}
	defer func() { x.s.Close() }()
	if p.Result.UsualFaults && !f.JSON {
		a.Note("note: no `faults` in the configuration: using mode %s; `faults: {enabled: false}` turns faults off", flags.UsualFaults)
	}
	x.show = console.NewProgress(a.Err, plain, f.JSON)
	x.watch()
	x.began, x.timeout = time.Now(), x.campaign.Timeout
	if plain {
		if err := x.replayKept(kept); err != nil {
			return err
		}
	}
	totals := x.search()
	if len(totals.Failures) == 0 && p.MoveOn(a, totals.Refusal) {
		if totals, err = x.searchAgain(c); err != nil {
			return err
		}
	}
	stored.CountRuns(a, p, x.found, totals.Runs)
	if !f.noShrink {
		x.shrinkFound()
	}
	x.show.End()
	return x.finish(c.Name(), totals)
}

// open makes the session of the campaign's runs.
func (x *exploration) open() (err error) {
	f, p := x.f, x.p
	x.s, err = p.Open(f.html, pagesFolder(f), f.junit, f.sarif, f.comment, p.Output(seedsName), p.Output(summaryName), coverageFile(f, p))
	return err
}

// searchAgain begins the campaign anew, by another engine.
func (x *exploration) searchAgain(c *cobra.Command) (*explore.Totals, error) {
	x.show.End()
	x.s.Close()
	x.p.Spec = fault.Underived(x.p.Spec) // its own runs show the moments
	if err := x.open(); err != nil {
		return nil, err
	}
	if err := x.prepare(c); err != nil {
		return nil, err
	}
	x.watch()
	return x.search(), nil
}

// prepare makes the campaign, and finds mistakes that would show only when it has ended.
func (x *exploration) prepare(c *cobra.Command) (err error) {
	f, p := x.f, x.p
	x.campaign = &explore.Campaign{Test: p.TestName(), Seed: project.SeedOf(&f.Set, c, p), Runs: f.seeds, Timeout: f.timeout, Workers: int(f.Workers),
		KeepGoing: f.keepGoing, FromBoot: f.FromBoot, BaselineFirst: true}
	completeCampaign(p, x.campaign)
	if f.budget > 0 {
		x.campaign.Retries = budgetRetries
	}
	if x.campaign.Strategy, err = strategyOf(x.App, f, p, x.campaign.Seed); err != nil {
		return err
	}
	if _, ok := x.campaign.Strategy.(search.Keeper); ok {
		if err := checkCorpus(p); err != nil {
			return err
		}
	}
	if err := completeCoverage(f, c, p); err != nil {
		return err
	}
	if f.since != "" && f.coverage {
		if x.changes, err = changesSince(x.ctx, p.Spec.Dir, f.since); err != nil {
			return err
		}
	}
	if err := checkOutput(p, f.coverage); err != nil {
		return err
	}
	return checkReports(f)
}

// watch connects the campaign with workers, progress lines and stored failures.
func (x *exploration) watch() {
	c := x.campaign
	c.Setup, c.Command = x.s.Setup, x.s.Command
	c.EndsRefused = x.p.MovesOn() && project.EngineLacks(x.p.Spec, world.VM) == ""
	c.Setup.Snapshots = project.Snapshots(x.App, &x.f.Set, x.p, c.Workers)
	if x.f.coverage {
		WatchCoverage(c, x.p, x.changes)
	}
	c.Behaviours = x.f.html != ""
	c.Derived = func(spec *world.Spec) { x.p.Spec, x.s.Setup.Spec = spec, spec }
	c.Note, c.Kept, c.Found = x.show.Note, keepCorpus(x.App, x.p, x.show), x.keepFailure
	x.line = &campaignLine{runs: c.Runs, timeout: c.Timeout}
	c.UnderWay = x.line.underWay
	c.Finished = func(t *explore.Totals) { x.line.finished(t, time.Since(x.show.Began)) }
}

// keepFailure stores a failure and prints it.
func (x *exploration) keepFailure(failure *explore.Failure, o *check.Judged) {
	x.show.End()
	if slices.ContainsFunc(x.found, func(known stored.Finding) bool { return known.Signature == failure.Signature }) {
		return // near a committed failure
	}
	stored.AddDumps(x.ctx, x.App, x.p, x.s, failure.Name(), x.p.Spec, failure.Tape, o)
	story, file := stored.KeepViolation(x.App, x.p, o, failure.Verdict, failure)
	x.found = append(x.found, stored.Finding{Failure: failure, Story: story, File: file})
	switch {
	case x.f.noShrink && !x.f.JSON:
		report.Story(x.Out, story)
		fmt.Fprintln(x.Out)
	case !x.f.noShrink && !x.text.Whole:
		x.show.Note(report.FoundNote(&story, runOf(failure)))
	case !x.f.noShrink:
		x.show.Note(fmt.Sprintf("%s is violated (failure %s, %s); shrinking begins when the campaign ends: %s\n  replay now: %s",
			failure.Property, failure.ID, failure.First(), failure.Headline, story.Replay))
	}
}

// runOf says in which run a failure was found, as the last screen counts runs.
func runOf(f *explore.Failure) string {
	if f.Baseline {
		return "run without faults"
	}
	if f.Scout() {
		return "run that looks for moments"
	}
	return "after " + plural.Count(int(f.Run)+1, "run")
}

// replayKept replays the committed failures, and searches near those that are stale.
func (x *exploration) replayKept(kept []stored.Committed) (err error) {
	ctx, cancel := x.knownUntil()
	defer cancel()
	x.all, err = stored.ReplayCommitted(ctx, x.App, x.s, kept, x.campaign.Workers, x.show)
	if err != nil && x.ctx.Err() == nil && ctx.Err() != nil {
		x.all, err = append(x.all, unplayed(kept[len(x.all):])...), nil
	}
	if err != nil {
		return err
	}
	x.near = stored.SearchAround(ctx, x.all, x.f.around, *x.campaign, x.left)
	x.show.End()
	if x.f.JSON {
		return nil
	}
	return stored.PrintCommitted(x.App, x.p, x.all)
}

// search runs the campaign, unless a committed failure fails already.
func (x *exploration) search() *explore.Totals {
	totals := &explore.Totals{Seed: x.campaign.Seed, RulesVersion: x.p.Spec.RulesVersion, Workers: x.campaign.Workers}
	if x.campaign.KeepGoing || !anyFails(x.all, x.near) {
		x.campaign.Timeout = x.searchTime()
		stop := x.show.Every(x.line.now)
		totals = x.campaign.Run(x.ctx)
		stop()
	}
	for i := range x.all {
		totals.Committed = append(totals.Committed, x.all[i].Committed)
	}
	for _, t := range x.near {
		totals.Near(t)
	}
	return totals
}

// shrinkFound shrinks the failures that were found and prints their stories.
func (x *exploration) shrinkFound() {
	b := stored.ShrinkBudgetOf(&x.f.Set, x.campaign.Workers)
	ctx := x.ctx
	if x.timeout > 0 { // it bounds all
		b.Time = min(cmp.Or(b.Time, x.left()), x.left())
		bounded, cancel := context.WithTimeout(ctx, x.left())
		defer cancel()
		ctx = bounded
	}
	stored.ShrinkAll(ctx, x.App, x.p, x.s, x.found, b, x.show)
	if n := unshrunk(x.found); n > 0 && x.ctx.Err() == nil && ctx.Err() != nil {
		x.show.Note(fmt.Sprintf("the timeout of %s ended before %s could be shrunk; `bloodhound shrink ID` continues", x.timeout, plural.Count(n, "failure")))
	}
	x.show.End()
	if x.f.JSON {
		return
	}
	for i := range x.found {
		report.Story(x.Out, x.found[i].Story)
		fmt.Fprintln(x.Out)
	}
}

// finish writes the files that were asked for, and prints the result.
func (x *exploration) finish(verb string, totals *explore.Totals) error {
	f, p := x.f, x.p
	var late []error
	if p.SaveTraces && x.ctx.Err() == nil {
		for i := range x.found {
			late = append(late, stored.SaveTrace(x.ctx, p, x.s, x.found[i].Failure))
		}
	}
	if x.campaign.Code != nil {
		late = append(late, saveCoverage(f, p, x.campaign.Code, totals))
	}
	totals.StateBytes = project.BytesIn(p.State)
	status := totals.Status(p.Spec)
	judgeCoverage(f, x.changes, p.Result.Coverage.Binaries, x.campaign.Code, totals.Code, &status)
	doc := CampaignDocument{Bloodhound: program.Version(), Verb: verb, ExitCode: status.ExitCode(),
		Judgement: report.Judgement(status, totals.Runs), Status: status, Campaign: totals}
	late = append(late, saveOutputs(p, &doc), saveReports(f, p, &doc, stored.WritePages(x.ctx, x.App, p, x.s, pagesFolder(f), x.found)))
	late = append(late, x.saveComment(&doc))
	err := errors.Join(late...)
	if err != nil {
		doc.Error, doc.ExitCode, err = err.Error(), check.ExitEngine, console.Failed(err)
	}
	x.Code = doc.ExitCode
	if f.JSON {
		return errors.Join(x.PrintJSON(doc), err)
	}
	err = errors.Join(report.Summary(x.Out, totals, status), err)
	var first *report.StoryOf
	if len(x.found) > 0 {
		first = &x.found[0].Story
	}
	return errors.Join(x.text.Show(report.CampaignScreen(p.Spec, totals, status, first, p.Arguments)), err)
}

// unshrunk counts the failures whose runs are as they were found.
func unshrunk(found []stored.Finding) (n int) {
	for i := range found {
		if found[i].Shrunk == nil {
			n++
		}
	}
	return n
}

// anyFails reports whether a committed failure, or a run near one, is a violation.
func anyFails(all []stored.Standing, near []*explore.Totals) bool {
	return slices.ContainsFunc(all, func(s stored.Standing) bool { return s.Standing == explore.StillFails }) ||
		slices.ContainsFunc(near, func(t *explore.Totals) bool { return len(t.Failures) > 0 })
}

// checkOutput fails before the campaign runs if its files could not be written after it.
func checkOutput(p *project.Project, coverage bool) error {
	if !p.SaveTraces && !p.SaveSeeds && !p.Summary && !coverage || p.OutputDir == p.State {
		return nil // the session looks at the state folder
	}
	if err := os.MkdirAll(p.OutputDir, 0o777); err != nil {
		return p.Result.Mistake("output.dir", err.Error(), "give a folder that you can create and write to")
	}
	if problem, _ := report.Unwritable(p.Output(summaryName)); problem != "" {
		return p.Result.Mistake("output.dir", problem, "give a folder that you can write to")
	}
	return nil
}

// completeCampaign takes what the flags leave open from the configuration.
func completeCampaign(p *project.Project, c *explore.Campaign) {
	c.Workers = p.WorkersOf(c.Workers)
	if c.Runs == 0 {
		c.Runs = p.Seeds
	}
	if c.Timeout == 0 {
		c.Timeout = p.Timeout
	}
	if c.Runs == 0 && c.Timeout == 0 {
		c.Runs = defaultSeeds
	}
}

// Files in the output folder.
const (
	seedsName   = "interesting_seeds.txt"
	summaryName = "summary.txt"
)

// saveOutputs writes the files that the configuration asks for into its output folder.
func saveOutputs(p *project.Project, doc *CampaignDocument) error {
	var errs []error
	if p.SaveSeeds && len(doc.Campaign.Failures) > 0 {
		var b strings.Builder
		for _, f := range doc.Campaign.Failures {
			fmt.Fprintf(&b, "%d %s %s", f.Tape.Seed, f.ID, f.Signature)
			if len(f.Tape.Edits) > 0 {
				fmt.Fprintf(&b, " (%s: only `replay %s` reproduces it)", f.Tape.Name(), f.ID)
			}
			b.WriteString("\n")
		}
		errs = append(errs, report.WriteFile(p.Output(seedsName), []byte(b.String())))
		project.RecordOutput(p.Spec, p.Output(seedsName))
	}
	if p.Summary {
		var b strings.Builder
		errs = append(errs, report.Summary(&b, doc.Campaign, doc.Status),
			report.WriteFile(p.Output(summaryName), []byte(b.String())))
		project.RecordOutput(p.Spec, p.Output(summaryName))
	}
	return errors.Join(errs...)
}
