package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// defaultSeeds is the length of a campaign that nobody bounds.
const defaultSeeds = 1000

func (a *app) exploreVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "explore [FOLDER or FILE]",
		Short: "Run many tapes until one violates a property",
		Args:  oneArgument,
		RunE:  func(c *cobra.Command, args []string) error { return a.explore(c, f, args, false) },
	}
	f.where(c)
	f.campaign(c)
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

// explore runs a campaign; plain asks for progress as lines also on a terminal.
func (a *app) explore(c *cobra.Command, f *flags, args []string, plain bool) error {
	p, err := a.load(c.Context(), f, args)
	if err != nil {
		return err
	}
	campaign := &explore.Campaign{Seed: f.seedOf(c, p), Runs: f.seeds, Timeout: f.timeout, Workers: int(f.workers), KeepGoing: f.keepGoing, BaselineFirst: true}
	p.complete(campaign)
	if campaign.Strategy, err = a.strategyOf(f, p, campaign.Seed); err != nil {
		return err
	}
	if _, ok := campaign.Strategy.(search.Keeper); ok {
		if err := p.checkCorpus(); err != nil {
			return err
		}
	}
	if err := f.completeCoverage(c, p); err != nil {
		return err
	}
	if f.since != "" && f.coverage {
		if f.changes, err = changesSince(c.Context(), p.spec.Dir, f.since); err != nil {
			return err
		}
	}
	if err := p.checkOutput(f.coverage); err != nil {
		return err
	}
	if err := f.checkReports(); err != nil {
		return err
	}
	var kept []committed
	if plain {
		if kept, err = p.loadCommitted(); err != nil {
			return err
		}
	}
	if err := p.build(c.Context(), a); err != nil {
		return err
	}
	s, err := p.open(f.html, f.pagesFolder(), f.junit, f.sarif, p.output(seedsName), p.output(summaryName), f.coverageFile(p))
	if err != nil {
		return err
	}
	defer s.close()
	campaign.Setup, campaign.Command = s.setup, s.command
	f.cover(campaign, p)
	campaign.Behaviours = f.html != ""

	show := newProgress(a.err, plain, f.json)
	campaign.Note = show.note
	campaign.Kept = a.keepCorpus(p, show)
	far := campaignLine{runs: campaign.Runs, timeout: campaign.Timeout}
	campaign.Finished = func(t *explore.Totals) {
		show.showParts(func(elapsed time.Duration) []part { return far.parts(t, elapsed) })
	}
	var found []finding
	campaign.Found = func(failure *explore.Failure, o *check.Judged) {
		show.end()
		failure.ID = p.failureID(failure.Signature, failure.Tape)
		if slices.ContainsFunc(found, func(known finding) bool { return known.Signature == failure.Signature }) {
			return // near a committed failure
		}
		a.addDumps(c.Context(), p, s, failure.ID, p.spec, failure.Tape, o)
		story, file := a.keep(p, failure.Signature, o, failure.Verdict, &failure.Origin)
		found = append(found, finding{failure, story, file})
		switch {
		case f.noShrink && !f.json:
			report.Story(a.out, story)
			fmt.Fprintln(a.out)
		case !f.noShrink:
			show.note(fmt.Sprintf("%s is violated (failure %s, %s); its run is shrunk when the campaign ends: %s\n  replay now: %s",
				failure.Verdict.Property, failure.ID, failure.First(), failure.Verdict.Reason, story.Replay))
		}
	}
	var all []standing
	var near []*explore.Totals
	began := time.Now()
	timeout := campaign.Timeout
	left := func() time.Duration { // of the time that the whole may take
		if timeout == 0 {
			return 0
		}
		return max(timeout-time.Since(began), time.Millisecond)
	}
	if plain {
		if all, err = a.replayCommitted(c.Context(), s, kept, campaign.Workers, show); err != nil {
			return err
		}
		near = searchAround(c.Context(), all, f.around, *campaign, left)
		show.end()
		if !f.json {
			if err := a.tell(p, all); err != nil {
				return err
			}
		}
	}
	totals := &explore.Totals{Seed: campaign.Seed, Workers: campaign.Workers}
	if campaign.KeepGoing || !anyFails(all, near) {
		campaign.Timeout = left()
		totals = campaign.Run(c.Context())
	}
	for i := range all {
		totals.Committed = append(totals.Committed, all[i].Committed)
	}
	for _, t := range near {
		totals.Near(t)
	}
	if !f.noShrink {
		b := f.shrinkBudget(campaign.Workers)
		ctx := c.Context()
		if timeout > 0 { // it bounds all
			b.time = min(b.time, left())
			bounded, cancel := context.WithTimeout(ctx, left())
			defer cancel()
			ctx = bounded
		}
		a.shrinkAll(ctx, p, s, found, b, show)
		if n := unshrunk(found); n > 0 && c.Context().Err() == nil && ctx.Err() != nil {
			show.note(fmt.Sprintf("the timeout of %s ended before %s could be shrunk; `bloodhound shrink ID` goes on", timeout, report.Count(n, "failure")))
		}
	}
	show.end()
	for i := range found {
		if !f.noShrink && !f.json {
			report.Story(a.out, found[i].story)
			fmt.Fprintln(a.out)
		}
	}

	var late []error
	if p.saveTraces && c.Context().Err() == nil {
		for i := range found {
			late = append(late, p.saveTrace(c.Context(), s, found[i].Failure))
		}
	}
	if campaign.Code != nil {
		late = append(late, f.saveCoverage(p, campaign.Code, totals))
	}
	status := totals.Status(p.spec)
	f.judgeCoverage(p.result.Coverage.Binaries, campaign.Code, totals.Code, &status)
	doc := campaignDocument{Bloodhound: Version(), Verb: c.Name(), ExitCode: status.ExitCode(),
		Judgement: report.Judgement(status, totals.Runs), Status: status, Campaign: totals}
	late = append(late, p.saveReports(&doc), f.saveReports(p, &doc, a.writePages(c.Context(), p, s, f.pagesFolder(), found)))
	err = errors.Join(late...)
	if err != nil {
		doc.Error, doc.ExitCode, err = err.Error(), check.ExitEngine, failed(err)
	}
	a.code = doc.ExitCode
	if f.json {
		return errors.Join(a.printJSON(doc), err)
	}
	return errors.Join(report.Summary(a.out, totals, status), err)
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

// checkOutput tells before a campaign runs that its files could not be written after it.
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

// workersOf is how many worlds run at once: what a flag says, or else the configuration, or else one for each CPU.
func (p *project) workersOf(flag int) int {
	return cmp.Or(flag, p.workers, max(len(explore.CPUs()), 1))
}

// campaignLine is the progress line of a campaign, the most important first.
type campaignLine struct {
	runs    uint64 // the campaign's bounds; 0 is none
	timeout time.Duration
	last    explore.Point // as it was when something new was told last
	news    string
	newsAt  time.Duration
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
		failures = part{report.Count(n, "failure"), red}
	}
	parts := []part{{fmt.Sprintf("%d%s runs", t.Runs, of), bold}, failures}
	if left := l.left(t.Runs, elapsed); left > 0 {
		parts = append(parts, part{"ends in " + left.String(), noColour})
	}
	if news := l.fresh(t, elapsed); news != "" {
		parts = append(parts, part{"new: " + news, green})
	}
	parts = append(parts, part{fmt.Sprintf("%.1f runs/s", float64(t.Runs)/max(elapsed.Seconds(), 1e-3)), noColour},
		part{time.Duration(t.VirtualNs).Round(time.Second).String() + " of virtual time", grey}, part{t.Search.String(), grey})
	if t.LostRuns > 0 {
		parts = slices.Insert(parts, 2, part{fmt.Sprintf("%d lost", t.LostRuns), red})
	}
	return parts
}

// left estimates how long the campaign still takes, 0 if that is not known.
func (l *campaignLine) left(runs uint64, elapsed time.Duration) time.Duration {
	left := time.Duration(0)
	if l.runs > runs && runs > 0 {
		left = time.Duration(float64(elapsed) / float64(runs) * float64(l.runs-runs))
	}
	if l.timeout > elapsed && (left == 0 || l.timeout-elapsed < left) {
		left = l.timeout - elapsed
	}
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
		more      int
		one, many string
	}{{now.Failures - l.last.Failures, "kind of failure", "kinds of failures"}, {now.Behaviours - l.last.Behaviours, "behaviour", "behaviours"}, {now.Code - l.last.Code, "block of code", "blocks of code"}} {
		switch {
		case x.more == 1:
			news = append(news, "1 "+x.one)
		case x.more > 1:
			news = append(news, fmt.Sprintf("%d %s", x.more, x.many))
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
