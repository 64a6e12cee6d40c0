package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/explore"
	"github.com/bloodhound-dst/bloodhound/report"
)

// defaultSeeds is the length of a campaign that nobody bounds.
const defaultSeeds = 1000

func (a *app) exploreVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "explore [FOLDER or FILE]",
		Short: "Search many tapes for a violation",
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
}

// explore runs a campaign; plain asks for progress as lines also on a terminal.
func (a *app) explore(c *cobra.Command, f *flags, args []string, plain bool) error {
	p, err := a.load(f, args)
	if err != nil {
		return err
	}
	campaign := &explore.Campaign{Seed: f.seedOf(c, p), Runs: f.seeds, Timeout: f.timeout, Workers: f.workers, KeepGoing: f.keepGoing}
	if err := p.complete(campaign); err != nil {
		return err
	}
	if err := p.build(c.Context(), a); err != nil {
		return err
	}
	s, err := openSession(p.spec, p.state)
	if err != nil {
		return err
	}
	defer s.close()
	campaign.Setup, campaign.Command = s.setup, s.command

	show := newProgress(a.err, plain, f.json)
	campaign.Note = show.note
	campaign.Finished = func(t *explore.Totals) {
		show.show(func(elapsed time.Duration) string { return campaignProgress(t, campaign.Runs, elapsed) })
	}
	var found []*explore.Failure
	campaign.Found = func(failure *explore.Failure, o *engine.Outcome) {
		show.end()
		story := a.keep(p, failure.ID, failure.Signature, o, failure.Verdict)
		found = append(found, failure)
		if !f.json {
			report.Story(a.out, story)
			fmt.Fprintln(a.out)
		}
	}
	totals := campaign.Run(c.Context())
	show.end()

	var late []error
	if p.saveTraces {
		for _, failure := range found {
			late = append(late, p.saveTrace(c.Context(), s, failure))
		}
	}
	status := totals.Status(p.spec)
	doc := campaignDocument{Bloodhound: Version(), Verb: c.Name(), ExitCode: exitOf(status),
		Judgement: report.Judgement(status, totals.Runs), Status: status, Campaign: totals}
	a.code = doc.ExitCode
	late = append(late, p.saveReports(&doc))
	if f.json {
		late = append(late, a.printJSON(doc))
	} else {
		late = append(late, report.Summary(a.out, totals, status))
	}
	if err := errors.Join(late...); err != nil {
		return failed(err)
	}
	return nil
}

// complete takes what the flags leave open from the configuration.
func (p *project) complete(c *explore.Campaign) error {
	if c.Workers < 0 {
		return fmt.Errorf("--workers %d: give the number of worlds to run at once, 1 or more", c.Workers)
	}
	if c.Timeout < 0 {
		return fmt.Errorf("--timeout %s: give a time above 0, such as 10m", c.Timeout)
	}
	if c.Workers == 0 {
		c.Workers = p.workers
	}
	if c.Workers == 0 {
		c.Workers = max(len(explore.CPUs()), 1)
	}
	if c.Runs == 0 {
		c.Runs = p.seeds
	}
	if c.Timeout == 0 {
		c.Timeout = p.timeout
	}
	if c.Runs == 0 && c.Timeout == 0 {
		c.Runs = defaultSeeds
	}
	return nil
}

func campaignProgress(t *explore.Totals, runs uint64, elapsed time.Duration) string {
	of := ""
	if runs > 0 {
		of = fmt.Sprintf(" of %d", runs)
	}
	text := fmt.Sprintf("%d%s runs, %.1f runs/s, %s of virtual time, %d failures", t.Runs, of,
		float64(t.Runs)/max(elapsed.Seconds(), 1e-3), time.Duration(t.VirtualNs).Round(time.Second), len(t.Failures))
	if t.LostRuns > 0 {
		text += fmt.Sprintf(", %d lost", t.LostRuns)
	}
	return text
}

// saveReports writes the files that the configuration asks for into its output folder.
func (p *project) saveReports(doc *campaignDocument) error {
	var errs []error
	if p.saveSeeds && len(doc.Campaign.Failures) > 0 {
		var b strings.Builder
		for _, f := range doc.Campaign.Failures {
			fmt.Fprintf(&b, "%d %s %s\n", f.Tape.Seed, f.ID, f.Signature)
		}
		errs = append(errs, report.WriteFile(filepath.Join(p.outputDir, "interesting_seeds.txt"), []byte(b.String())))
	}
	if p.summary {
		var b strings.Builder
		errs = append(errs, report.Summary(&b, doc.Campaign, doc.Status),
			report.WriteFile(filepath.Join(p.outputDir, "summary.txt"), []byte(b.String())))
	}
	return errors.Join(errs...)
}
