package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cpus"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// defaultSeeds is the length of a campaign without bounds.
const defaultSeeds = 1000

// vmEngine is the name of the engine that runs a world in a virtual machine.
const vmEngine = "vm"

func (a *app) exploreVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "explore [FOLDER or FILE]",
		Short: "Run a world many times until a property is violated",
		Long: `Runs a world many times, each time with another seed, until a property is violated; then shrinks that run.
` + exitCodes,
		Args: oneArgument,
		RunE: func(c *cobra.Command, args []string) error { return a.explore(c, f, args, false) },
	}
	f.where(c)
	f.verboseFlag(c)
	f.campaign(c)
	addSwitch(c, &f.async, "async-vm", "explore by the engine vm: the same as --engine vm")
	return c
}

// campaignDocument is the JSON document of explore and test.
type campaignDocument struct {
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
	*app
	ctx      context.Context
	f        *flags
	p        *project
	s        *session
	campaign *explore.Campaign
	show     *progress
	text     *fullText
	line     *campaignLine
	began    time.Time
	timeout  time.Duration // of the whole; 0 is none
	found    []finding
	changes  *changes // since the revision of --since; nil where they do not matter
	// Of test: the committed failures, replayed, and what was found near those that are stale.
	all  []standing
	near []*explore.Totals
}

// explore runs a campaign. plain is test: it replays committed failures first, and prints progress as lines also on a terminal.
func (a *app) explore(c *cobra.Command, f *flags, args []string, plain bool) error {
	if f.async {
		if f.engine != "" && f.engine != vmEngine {
			return fmt.Errorf("--async-vm asks for the engine %s, and --engine for %s; give one of them", vmEngine, f.engine)
		}
		f.engine = vmEngine
	}
	p, err := a.load(c.Context(), f, args)
	if err != nil {
		return err
	}
	x := &exploration{app: a, ctx: c.Context(), f: f, p: p}
	x.text = a.text(p.state, f)
	defer x.text.close()
	if err := x.completeBudget(c); err != nil {
		return err
	}
	if err := x.prepare(c); err != nil {
		return err
	}
	var kept []committed
	if plain {
		if kept, err = p.loadCommitted(); err != nil {
			return err
		}
	}
	if err := p.build(x.ctx, a); err != nil {
		return err
	}
	if err := x.open(); err != nil {
		return err
	}
	defer func() { x.s.close() }()
	if p.result.UsualFaults && !f.json {
		a.note("note: the configuration has no `faults`, so runs have those of mode %s; `faults: {enabled: false}` turns them off", usualFaults)
	}
	x.show = newProgress(a.err, plain, f.json)
	x.watch()
	x.began, x.timeout = time.Now(), x.campaign.Timeout
	if plain {
		if err := x.replayKept(kept); err != nil {
			return err
		}
	}
	totals := x.search()
	if len(totals.Failures) == 0 && p.moveOn(a, totals.Refusal) {
		if totals, err = x.searchAgain(c); err != nil {
			return err
		}
	}
	if !f.noShrink {
		x.shrinkFound()
	}
	x.show.end()
	return x.finish(c.Name(), totals)
}

// open makes the session of the campaign's runs.
func (x *exploration) open() (err error) {
	f, p := x.f, x.p
	x.s, err = p.open(f.html, f.pagesFolder(), f.junit, f.sarif, f.comment, p.output(seedsName), p.output(summaryName), f.coverageFile(p))
	return err
}

// searchAgain begins the campaign anew, by another engine.
func (x *exploration) searchAgain(c *cobra.Command) (*explore.Totals, error) {
	x.show.end()
	x.s.close()
	x.p.spec = fault.Underived(x.p.spec) // its own runs show the moments
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
	x.campaign = &explore.Campaign{Test: p.testName(), Seed: f.seedOf(c, p), Runs: f.seeds, Timeout: f.timeout, Workers: int(f.workers),
		KeepGoing: f.keepGoing, FromBoot: f.fromBoot, BaselineFirst: true}
	p.complete(x.campaign)
	if f.budget > 0 {
		x.campaign.Retries = budgetRetries
	}
	if x.campaign.Strategy, err = x.strategyOf(f, p, x.campaign.Seed); err != nil {
		return err
	}
	if _, ok := x.campaign.Strategy.(search.Keeper); ok {
		if err := p.checkCorpus(); err != nil {
			return err
		}
	}
	if err := f.completeCoverage(c, p); err != nil {
		return err
	}
	if f.since != "" && f.coverage {
		if x.changes, err = changesSince(x.ctx, p.spec.Dir, f.since); err != nil {
			return err
		}
	}
	if err := p.checkOutput(f.coverage); err != nil {
		return err
	}
	return f.checkReports()
}

// watch connects the campaign with workers, progress lines and stored failures.
func (x *exploration) watch() {
	c := x.campaign
	c.Setup, c.Command = x.s.setup, x.s.command
	c.EndsRefused = x.p.movesOn() && engineLacks(x.p.spec, world.VM) == ""
	c.Setup.Snapshots = x.snapshots(x.f, x.p, c.Workers)
	x.f.cover(c, x.p, x.changes)
	c.Behaviours = x.f.html != ""
	c.Derived = func(spec *world.Spec) { x.p.spec, x.s.setup.Spec = spec, spec }
	c.Note, c.Kept, c.Found = x.show.note, x.keepCorpus(x.p, x.show), x.keepFailure
	x.line = &campaignLine{runs: c.Runs, timeout: c.Timeout}
	c.UnderWay = x.line.underWay
	c.Finished = func(t *explore.Totals) { x.line.finished(t, time.Since(x.show.began)) }
}

// keepFailure stores a failure and prints it.
func (x *exploration) keepFailure(failure *explore.Failure, o *check.Judged) {
	x.show.end()
	if slices.ContainsFunc(x.found, func(known finding) bool { return known.Signature == failure.Signature }) {
		return // near a committed failure
	}
	x.addDumps(x.ctx, x.p, x.s, failure.Name(), x.p.spec, failure.Tape, o)
	story, file := x.keep(x.p, o, failure.Verdict, failure)
	x.found = append(x.found, finding{failure, story, file})
	switch {
	case x.f.noShrink && !x.f.json:
		report.Story(x.out, story)
		fmt.Fprintln(x.out)
	case !x.f.noShrink && !x.text.whole:
		x.show.note(fmt.Sprintf("FOUND  %s is violated. Its run is shrunk when the campaign ends; Ctrl-C keeps the best so far.", failure.Verdict.Property))
	case !x.f.noShrink:
		x.show.note(fmt.Sprintf("%s is violated (failure %s, %s); its run is shrunk when the campaign ends: %s\n  replay now: %s",
			failure.Property, failure.ID, failure.First(), failure.Headline, story.Replay))
	}
}

// left is how much of the timeout is left; 0 if there is none.
func (x *exploration) left() time.Duration {
	if x.timeout == 0 {
		return 0
	}
	return max(x.timeout-time.Since(x.began), time.Millisecond)
}

// replayKept replays the committed failures, and searches near those that are stale.
func (x *exploration) replayKept(kept []committed) (err error) {
	ctx, cancel := x.knownUntil()
	defer cancel()
	x.all, err = x.replayCommitted(ctx, x.s, kept, x.campaign.Workers, x.show)
	if err != nil && x.ctx.Err() == nil && ctx.Err() != nil {
		x.all, err = append(x.all, unplayed(kept[len(x.all):])...), nil
	}
	if err != nil {
		return err
	}
	x.near = searchAround(ctx, x.all, x.f.around, *x.campaign, x.left)
	x.show.end()
	if x.f.json {
		return nil
	}
	return x.printCommitted(x.p, x.all)
}

// search runs the campaign, unless a committed failure fails already.
func (x *exploration) search() *explore.Totals {
	totals := &explore.Totals{Seed: x.campaign.Seed, RulesVersion: x.p.spec.RulesVersion, Workers: x.campaign.Workers}
	if x.campaign.KeepGoing || !anyFails(x.all, x.near) {
		x.campaign.Timeout = x.searchTime()
		stop := x.show.every(x.line.now)
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
	b := x.f.shrinkBudget(x.campaign.Workers)
	ctx := x.ctx
	if x.timeout > 0 { // it bounds all
		b.time = min(cmp.Or(b.time, x.left()), x.left())
		bounded, cancel := context.WithTimeout(ctx, x.left())
		defer cancel()
		ctx = bounded
	}
	x.shrinkAll(ctx, x.p, x.s, x.found, b, x.show)
	if n := unshrunk(x.found); n > 0 && x.ctx.Err() == nil && ctx.Err() != nil {
		x.show.note(fmt.Sprintf("the timeout of %s ended before %s could be shrunk; `bloodhound shrink ID` goes on", x.timeout, plural.Count(n, "failure")))
	}
	x.show.end()
	if x.f.json {
		return
	}
	for i := range x.found {
		report.Story(x.out, x.found[i].story)
		fmt.Fprintln(x.out)
	}
}

// finish writes the files that were asked for, and prints the result.
func (x *exploration) finish(verb string, totals *explore.Totals) error {
	f, p := x.f, x.p
	var late []error
	if p.saveTraces && x.ctx.Err() == nil {
		for i := range x.found {
			late = append(late, p.saveTrace(x.ctx, x.s, x.found[i].Failure))
		}
	}
	if x.campaign.Code != nil {
		late = append(late, f.saveCoverage(p, x.campaign.Code, totals))
	}
	totals.StateBytes = bytesIn(p.state)
	status := totals.Status(p.spec)
	f.judgeCoverage(x.changes, p.result.Coverage.Binaries, x.campaign.Code, totals.Code, &status)
	doc := campaignDocument{Bloodhound: program.Version(), Verb: verb, ExitCode: status.ExitCode(),
		Judgement: report.Judgement(status, totals.Runs), Status: status, Campaign: totals}
	late = append(late, p.saveReports(&doc), f.saveReports(p, &doc, x.writePages(x.ctx, p, x.s, f.pagesFolder(), x.found)))
	late = append(late, x.saveComment(&doc))
	err := errors.Join(late...)
	if err != nil {
		doc.Error, doc.ExitCode, err = err.Error(), check.ExitEngine, failed(err)
	}
	x.code = doc.ExitCode
	if f.json {
		return errors.Join(x.printJSON(doc), err)
	}
	err = errors.Join(report.Summary(x.out, totals, status), err)
	var first *report.StoryOf
	if len(x.found) > 0 {
		first = &x.found[0].story
	}
	return errors.Join(x.text.show(report.CampaignScreen(p.spec, totals, status, first, p.arguments)), err)
}

// unshrunk counts the failures whose runs are as they were found.
func unshrunk(found []finding) (n int) {
	for i := range found {
		if found[i].Shrunk == nil {
			n++
		}
	}
	return n
}

// anyFails reports whether a committed failure, or a run near one, is a violation.
func anyFails(all []standing, near []*explore.Totals) bool {
	return slices.ContainsFunc(all, func(s standing) bool { return s.Standing == explore.StillFails }) ||
		slices.ContainsFunc(near, func(t *explore.Totals) bool { return len(t.Failures) > 0 })
}

// checkOutput fails before the campaign runs if its files could not be written after it.
func (p *project) checkOutput(coverage bool) error {
	if !p.saveTraces && !p.saveSeeds && !p.summary && !coverage || p.outputDir == p.state {
		return nil // the session looks at the state folder
	}
	if err := os.MkdirAll(p.outputDir, 0o777); err != nil {
		return p.result.Mistake("output.dir", err.Error(), "name a folder that can be made and written")
	}
	if problem, _ := report.Unwritable(p.output(summaryName)); problem != "" {
		return p.result.Mistake("output.dir", problem, "name a folder that can be written")
	}
	return nil
}

// complete takes what the flags leave open from the configuration.
func (p *project) complete(c *explore.Campaign) {
	c.Workers = p.workersOf(c.Workers)
	if c.Runs == 0 {
		c.Runs = p.seeds
	}
	if c.Timeout == 0 {
		c.Timeout = p.timeout
	}
	if c.Runs == 0 && c.Timeout == 0 {
		c.Runs = defaultSeeds
	}
}

// workersOf is how many worlds run at once: what a flag says, or else the configuration, or else one for each CPU that this process may use, as far
// as the quota of its control group goes (GOMAXPROCS).
func (p *project) workersOf(flag int) int {
	return cmp.Or(flag, p.workers, max(min(len(cpus.Allowed()), runtime.GOMAXPROCS(0)), 1))
}

// snapshots bounds those of each worker.
func (a *app) snapshots(f *flags, p *project, workers int) runner.Budget {
	b, none := snapshotBudget(f, p)
	if b.Among = workers; b.None {
		a.note("note: all runs begin at their boot, as %s is 0; leave it out to have the default", none)
	}
	return b
}

// snapshotBudget bounds snapshots by a flag, or else by the configuration. Where there may be none, none is what says so.
func snapshotBudget(f *flags, p *project) (b runner.Budget, none string) {
	set := &p.search.Snapshots
	for _, bound := range []struct {
		set  *int64
		name string
		to   func(int64)
	}{
		{f.snapshotMemory, "--snapshot-memory", func(n int64) { b.MemoryBytes = n }},
		{set.MemoryBytes, "exploration.snapshots.memory_bytes", func(n int64) { b.MemoryBytes = cmp.Or(b.MemoryBytes, n) }},
		{set.Max, "exploration.snapshots.max", func(n int64) { b.Most = int(min(n, math.MaxInt32)) }},
	} {
		switch {
		case bound.set == nil || b.None || f.fromBoot:
		case *bound.set == 0:
			b.None, none = true, bound.name
		default:
			bound.to(*bound.set)
		}
	}
	return b, none
}

// campaignLine is the progress line of a campaign, the most important first.
type campaignLine struct {
	runs    uint64 // the campaign's bounds; 0 is none
	timeout time.Duration
	last    explore.Point // when something new was shown last
	news    string
	newsAt  time.Duration

	mu    sync.Mutex
	first explore.FirstRun // how far the first run has come, as long as none has ended
	known []part           // of the runs that have ended
	at    time.Duration    // when the last of them ended
}

// underWay takes in how far a run has come.
func (l *campaignLine) underWay(u *explore.FirstRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = *u
}

// finished takes in that a run has ended.
func (l *campaignLine) finished(t *explore.Totals, elapsed time.Duration) {
	parts := l.parts(t, elapsed)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.at = parts, elapsed
}

// longRun is how long no run has ended before a line says so.
const longRun = 5 * time.Second

// now is the line of a campaign at any time.
func (l *campaignLine) now(elapsed time.Duration) []part {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch u := &l.first; {
	case l.known != nil && elapsed-l.at < longRun:
		return l.known
	case l.known != nil:
		return append(slices.Clone(l.known[:2]), part{"the last run ended " + (elapsed - l.at).Round(time.Second).String() + " ago", noColour})
	case u.Events == 0:
		return []part{{"starting the world", bold}, {elapsed.Round(time.Second).String(), noColour}}
	case u.Baseline:
		return append([]part{{"baseline run (without faults)", bold}}, far(u, elapsed)...)
	default:
		return append([]part{{"first run", bold}}, far(u, elapsed)...)
	}
}

func far(u *explore.FirstRun, elapsed time.Duration) []part {
	return []part{{plural.Count(u.Events, "event"), noColour}, {report.Seconds(u.VirtualNs) + " of virtual time", noColour},
		{elapsed.Round(time.Second).String(), noColour}}
}

// newsStay is how long a progress line shows what is new.
const newsStay = 3 * time.Second

func (l *campaignLine) parts(t *explore.Totals, elapsed time.Duration) []part {
	of := ""
	if l.runs > 0 {
		of = fmt.Sprintf(" of %d", l.runs)
	}
	failures := part{"no failure", green}
	if n := len(t.Failures); n > 0 {
		failures = part{plural.Count(n, "failure"), red}
	}
	parts := []part{{fmt.Sprintf("%d%s runs", t.Runs, of), bold}, failures}
	if left := l.left(elapsed); left > 0 {
		parts = append(parts, part{left.String() + " left", noColour})
	}
	if news := l.fresh(t, elapsed); news != "" {
		parts = append(parts, part{"new: " + news, green})
	}
	parts = append(parts, part{report.Rate(float64(t.Runs), max(int64(elapsed), 1e6)) + " runs/s", noColour},
		part{time.Duration(t.VirtualNs).Round(time.Second).String() + " of virtual time", grey}, part{t.Search.String(), grey})
	if t.LostRuns > 0 {
		parts = slices.Insert(parts, 2, part{fmt.Sprintf("%d lost", t.LostRuns), red})
	}
	return parts
}

// left is how much of the campaign's time is left, 0 if it has no bound.
func (l *campaignLine) left(elapsed time.Duration) time.Duration {
	left := max(l.timeout-elapsed, 0)
	if left > 10*time.Minute {
		return left.Round(time.Minute)
	}
	return left.Round(time.Second)
}

// fresh is what runs have reached since it was asked last, and for some time after.
func (l *campaignLine) fresh(t *explore.Totals, elapsed time.Duration) string {
	n := len(t.Curve.Points)
	if n == 0 {
		return ""
	}
	now := t.Curve.Points[n-1]
	now.Behaviours = max(now.Behaviours, t.Search.Features)
	var news []string
	for _, x := range []struct {
		more int
		one  string
	}{{now.Failures - l.last.Failures, "kind of failure"}, {now.Behaviours - l.last.Behaviours, "behaviour"}, {now.Code - l.last.Code, "block of code"}} {
		if x.more > 0 {
			news = append(news, plural.Count(x.more, x.one))
		}
	}
	l.last = now
	if len(news) > 0 {
		l.news, l.newsAt = strings.Join(news, " and "), elapsed
	} else if elapsed-l.newsAt > newsStay {
		l.news = ""
	}
	return l.news
}

// Files in the output folder.
const (
	seedsName   = "interesting_seeds.txt"
	summaryName = "summary.txt"
)

// output is the path of a file in the output folder.
func (p *project) output(name string) string { return filepath.Join(p.outputDir, name) }

// saveReports writes the files that the configuration asks for into its output folder.
func (p *project) saveReports(doc *campaignDocument) error {
	var errs []error
	if p.saveSeeds && len(doc.Campaign.Failures) > 0 {
		var b strings.Builder
		for _, f := range doc.Campaign.Failures {
			fmt.Fprintf(&b, "%d %s %s", f.Tape.Seed, f.ID, f.Signature)
			if len(f.Tape.Edits) > 0 {
				fmt.Fprintf(&b, " (%s: only replay %s makes it)", f.Tape.Name(), f.ID)
			}
			b.WriteString("\n")
		}
		errs = append(errs, report.WriteFile(p.output(seedsName), []byte(b.String())))
		wrote(p.spec, p.output(seedsName))
	}
	if p.summary {
		var b strings.Builder
		errs = append(errs, report.Summary(&b, doc.Campaign, doc.Status),
			report.WriteFile(p.output(summaryName), []byte(b.String())))
		wrote(p.spec, p.output(summaryName))
	}
	return errors.Join(errs...)
}
