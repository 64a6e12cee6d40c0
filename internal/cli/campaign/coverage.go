package campaign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// percentFlag is the value of a flag that takes a share.
type percentFlag struct {
	percent *float64
	given   *bool
}

func (percentFlag) Type() string { return "share" }
func (v percentFlag) String() string {
	if v.percent == nil || *v.percent == 0 {
		return ""
	}
	return fmt.Sprintf("%g%%", *v.percent)
}
func (v percentFlag) Set(text string) error {
	p, remedy, err := config.Percent(text)
	if err != nil {
		return fmt.Errorf("%w; %s", err, remedy)
	}
	*v.percent, *v.given = p, true
	return nil
}

func addCoverage(f *campaignFlags, c *cobra.Command) {
	flags.AddSwitch(c, &f.coverage, "coverage", "measure code coverage and write a report")
	c.Flags().Var(revisionFlag{&f.since}, "since",
		"report the coverage of code that changed since this git `revision`; guided searches prefer runs that reach rarely executed parts of the changed code")
	c.Flags().Var(percentFlag{&f.threshold, &f.thresholdGiven}, "coverage-threshold",
		"minimum `share` of blocks that must run, such as 80%; below it the verdict is unknown")
}

// coverageFormat is a file that a campaign writes its coverage to, and how.
type coverageFormat struct {
	name  string
	write func(io.Writer, report.CoverageOf) error
}

func coverageFormatOf(p *project.Project) coverageFormat {
	return coverageFormats[cmp.Or(p.Result.Output.CoverageFormat, "html")]
}

// coverageFormats are those that output.coverage_format names.
var coverageFormats = map[string]coverageFormat{
	"html": {"coverage.html", report.CoveragePage},
	"json": {"coverage.json", report.CoverageJSON},
	"text": {"coverage.txt", report.CoverageText},
	"lcov": {"lcov.info", report.CoverageLCOV},
}

// completeCoverage takes from the configuration what the flags leave open.
func completeCoverage(f *campaignFlags, c *cobra.Command, p *project.Project) error {
	set := &p.Result.Coverage
	plan, err := search.Parse(cmp.Or(f.strategy, p.Search.Strategy))
	if err != nil {
		return err
	}
	off := c.Flags().Changed("coverage") && !f.coverage
	switch {
	case off && f.thresholdGiven:
		return errors.New("--coverage-threshold needs coverage, and --coverage=false turns it off; leave out one of them")
	case off && f.since != "":
		return errors.New("--since needs coverage, and --coverage=false turns it off; leave out one of them")
	case off && plan.WatchesBlocks():
		return fmt.Errorf("the guide %s needs coverage, and --coverage=false turns it off; leave out one of them", search.GuideLine)
	case off:
		return nil
	}
	f.coverage = f.coverage || set.Enabled || f.thresholdGiven || f.since != "" || plan.WatchesBlocks()
	if f.coverage && !f.thresholdGiven && set.Threshold != nil {
		f.threshold, f.thresholdGiven = *set.Threshold, true
	}
	return nil
}

// coverageFile is the file that coverage is written to, empty for none.
func coverageFile(f *campaignFlags, p *project.Project) string {
	if !f.coverage {
		return ""
	}
	return p.Output(coverageFormatOf(p).name)
}

// WatchCoverage has a campaign find out which code runs, and which of it is among some changes.
func WatchCoverage(c *explore.Campaign, p *project.Project, since *changes) {
	c.Setup.Binaries = p.Result.Coverage.Binaries
	c.Code = &explore.Code{State: &code.State{}, Dir: c.Setup.Scratch}
	if since != nil {
		c.Code.Changed = since.blocks
	}
}

// saveCoverage writes what a campaign has covered.
func saveCoverage(f *campaignFlags, p *project.Project, c *explore.Code, t *explore.Totals) error {
	file := coverageFile(f, p)
	if file == "" {
		return nil
	}
	of := report.CoverageOf{Name: p.Spec.Name, Bloodhound: program.Version(), Seed: t.Seed, Runs: t.Runs}
	here := sourcesOf(p.Spec.Dir)
	for i, total := range explore.CodeTotals(c.State) {
		of.Binaries = append(of.Binaries, report.NewBinary(c.State.Files[i], total, here))
	}
	for _, b := range of.Binaries {
		for i := range t.Code {
			if t.Code[i].Digest == b.Digest {
				t.Code[i].Own, t.Code[i].OwnCovered = b.Own, b.OwnCovered
			}
		}
	}
	slices.SortStableFunc(of.Binaries, func(x, y *report.BinaryOf) int { return explore.CompareCode(x.CodeTotal, y.CodeTotal) })
	var b bytes.Buffer
	err := coverageFormatOf(p).write(&b, of)
	if err == nil {
		err = report.WriteFile(file, b.Bytes())
	}
	project.RecordOutput(p.Spec, file)
	t.CodeFile = flags.RelativeTo(p.Spec.Dir, file)
	return err
}

// sourcesOf finds the source files of a project and of what it is made with. Without Go on this machine there are none of Go's.
func sourcesOf(dir string) *report.Sources {
	here := &report.Sources{Project: dir}
	cmd := exec.Command("go", "env", "GOROOT", "GOMODCACHE")
	cmd.Dir = dir
	if out, err := cmd.Output(); err == nil {
		here.GoRoot, here.GoModules, _ = strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	}
	return here
}

// judgeCoverage makes a campaign that has covered less than it shall unknown, and says what was not watched.
func judgeCoverage(f *campaignFlags, since *changes, choice code.Choice, c *explore.Code, totals []explore.CodeTotal, status *explore.Status) {
	if c == nil {
		return
	}
	if since != nil {
		if why := since.noEffect(f.since, c.State.Files); why != "" {
			status.Notices = append(status.Notices, why)
		}
	}
	covered, total, whose := 0, 0, ""
	for _, t := range totals {
		if t.Off == "" {
			n, of := t.Judged()
			covered, total = covered+n, total+of
			if t.Own > 0 && t.Own < t.Total {
				whose = "own code of "
			}
		}
	}
	var names []string
	for _, file := range c.State.Files {
		name := file.Path
		if file.Source != blocks.Breakpoints {
			name += " (" + file.Source.Blocks() + ")"
		}
		if file.Off == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	missing := unwatched(choice, c)
	switch {
	case !f.thresholdGiven || total > 0:
		if missing != "" {
			status.Notices = append(status.Notices, "coverage: "+missing)
		}
	default:
		status.Unknown = append(status.Unknown, fmt.Sprintf("coverage: cannot compare with the threshold of %g %%: %s", f.threshold,
			cmp.Or(missing, "no program is watched; the report says why")))
	}
	if f.thresholdGiven && float64(covered)*100 < f.threshold*float64(total) {
		status.Unknown = append(status.Unknown, fmt.Sprintf("coverage: %d of the %s of %s%s ran, %.1f %%; the threshold is %g %%",
			covered, plural.Count(total, "block"), whose, strings.Join(names, ", "), 100*float64(covered)/float64(total), f.threshold))
	}
}

// unwatched says which patterns have chosen nothing, or that nothing is watched at all; it is empty if all is as it was asked for.
func unwatched(choice code.Choice, c *explore.Code) string {
	ran := "no program of a node under test ran"
	if len(c.Ran) > 0 {
		ran = "these ran: " + report.Some(c.Ran, maxNamed)
	}
	var idle []string
	for _, pattern := range choice {
		chosen := slices.ContainsFunc(c.State.Files, func(f *code.File) bool {
			return code.Choice{pattern}.Watches(f.Path, true) || code.Choice{pattern}.Watches(f.Host, true)
		})
		if !chosen && !strings.HasPrefix(pattern, "!") {
			idle = append(idle, pattern)
		}
	}
	switch {
	case len(idle) > 0 && len(c.State.Files) == 0:
		return fmt.Sprintf("nothing was watched: no program or library that ran is named %s (coverage.binaries); %s", strings.Join(idle, " or "), ran)
	case len(idle) > 0:
		return fmt.Sprintf("no program or library that ran is named %s (coverage.binaries); %s", strings.Join(idle, " or "), ran)
	case len(c.State.Files) == 0:
		return fmt.Sprintf("nothing was watched: no program that ran is watched by default (choose others with coverage.binaries); %s", ran)
	}
	return ""
}

// maxNamed is how many programs a line names.
const maxNamed = 10
