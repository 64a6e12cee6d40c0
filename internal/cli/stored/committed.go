package stored

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// DefaultAround is how many tapes are run around a stale failure.
const DefaultAround = 20

// Committed is a failure that lies beside the configuration.
type Committed struct {
	*report.Failure
	File string // from the project's folder on
	// reconfigured means that the configuration is another one than the failure's.
	reconfigured bool
	movedFrom    string // where the project lay, if elsewhere
}

// LoadCommitted reads the failures of the project's configuration that lie in its folder, in the order of their names.
func LoadCommitted(p *project.Project) ([]Committed, error) {
	paths, err := filepath.Glob(filepath.Join(p.Spec.Dir, project.CommittedName, "*.json"))
	if err != nil {
		return nil, err
	}
	var list []Committed
	for _, path := range paths {
		f, err := report.Load("", path)
		if err != nil {
			return nil, err
		}
		if p.FromAnother(f) {
			continue
		}
		c, err := AdoptFailure(p, f, flags.RelativeTo(p.Spec.Dir, path))
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// AdoptFailure fits a failure to where the project lies now.
func AdoptFailure(p *project.Project, f *report.Failure, file string) (c Committed, err error) {
	c = Committed{Failure: f, File: file}
	f.Belongs(p.TestName())
	if f.Spec.Dir != p.Spec.Dir {
		c.movedFrom = f.Spec.Dir
		f.Relocate(p.Spec.Dir)
		if f.Spec, err = f.Spec.Moved(p.Spec.Dir); err != nil {
			return c, err
		}
	}
	takeImages(f.Spec, p.Spec)
	c.reconfigured = !sameSpec(p.Spec.UnderRules(f.Spec.RulesVersion), f.Spec)
	return c, nil
}

// Standing says whether a committed failure still fails, and holds the run that shows it.
type Standing struct {
	explore.Committed
	Kept    *Committed
	outcome *check.Judged
	changed bool // it is another run than the stored one
	// decisions are those of the original tape's run as it is now, of a failure that is stale.
	decisions []tape.Decision
}

// ReplayCommitted replays the committed failures of a project in its present state.
func ReplayCommitted(ctx context.Context, a *console.App, s *project.Session, list []Committed, workers int, show *console.Progress) ([]Standing, error) {
	if len(list) == 0 {
		return nil, nil
	}
	pool := explore.NewPool(s.Setup, s.Command, workers)
	defer pool.Close()
	var all []Standing
	for i := range list {
		show.Show(func(time.Duration) string { return "replaying " + list[i].File })
		st, err := list[i].stand(ctx, s.Setup.Spec, pool)
		switch {
		case ctx.Err() != nil:
			return all, project.ErrInterrupted
		case err != nil:
			return nil, console.Failed(fmt.Errorf("%s: %w", list[i].File, err))
		}
		all = append(all, *st)
	}
	show.End()
	return all, nil
}

// failsStill records that the replay violates a property; same reports whether it is the run that was stored.
func (s *Standing) failsStill(violation *check.Verdict, same bool) {
	s.Standing, s.Verdict = explore.StillFails, violation
	s.Reason = "the same run, and the same violation"
	if !same {
		s.Reason = "violated again, in a changed run"
	}
	if !failure.Alike(violation.Signature(), s.Signature) {
		s.Reason = "violated in another way than stored"
		s.Property, s.Headline = violation.Property, failure.Headline(violation.Reason)
	}
}

// stand replays a failure and reports how its run ends now.
func (c *Committed) stand(ctx context.Context, spec *world.Spec, pool *explore.Pool) (*Standing, error) {
	small := c.Small()
	cut := new(world.Cut)
	if c.Smallest != nil {
		cut = &c.Smallest.Cut
	}
	result := &Standing{Committed: explore.Committed{Failure: c.Failure.Failure, File: c.File}, Kept: c}
	run := func(t tape.Tape, cut *world.Cut) (*explore.Reply, *check.Verdict, error) {
		return c.again(ctx, pool, t, cut)
	}
	began := filedigest.Now()
	r, violation, err := run(small.Tape, cut)
	if err != nil {
		return nil, err
	}
	result.outcome = r.Outcome
	same := r.Summary.Hash == small.Hash
	result.changed, result.Changes = !same, c.changes(small, r.Outcome)
	if violation != nil {
		if !same { // no earlier run to compare with
			again, _, err := run(small.Tape, cut)
			if err != nil {
				return nil, err
			}
			if d := DiffRuns(began, r, again); d != "" {
				result.Standing, result.Reason = explore.Varies, "its replay differs: "+d
				return result, nil
			}
		}
		result.failsStill(violation, same)
		return result, nil
	}
	switch {
	case same:
		result.decisions = c.Decisions
		return result, c.judgedAnew(spec, result, run)
	case len(result.Changes) == 0:
		result.Standing, result.Reason = explore.Varies,
			fmt.Sprintf("no change was found, but the trace hash was %s and is now %s", small.Hash, r.Summary.Hash)
	case small.Machine != r.Outcome.Machine:
		result.Standing, result.Reason = explore.Stale, "it was found in another environment; here the run differs and shows no violation"
	default:
		result.Standing, result.Reason = explore.Stale, "the run has changed and no longer shows the violation"
	}
	if r.Summary.Repeat.Once {
		result.Standing, result.Reason = explore.Stale, "runs of its engine happen only once, and this one did not show the violation"
		return result, nil
	}
	if r.Summary.Repeat.Failed() {
		result.Standing, result.Reason = explore.Varies, r.Summary.Repeat.Reason
	}
	if result.Standing == explore.Stale && c.Smallest == nil {
		result.decisions = r.Outcome.Decisions
	} else if result.Standing == explore.Stale {
		original, _, err := run(c.Tape, nil)
		if err != nil {
			return nil, err
		}
		result.decisions = original.Outcome.Decisions
	}
	return result, nil
}

// again runs a tape. It gives the violation that was stored, else the first one.
func (c *Committed) again(ctx context.Context, pool *explore.Pool, t tape.Tape, cut *world.Cut) (*explore.Reply, *check.Verdict, error) {
	job := &explore.Job{Request: runner.Play(t), RulesVersion: &c.Spec.RulesVersion, Full: true}
	job.FromBoot, job.Cut = true, cut
	r, err := pool.Do(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	if v := explore.Shown(r.Summary.Verdicts, c.Signature); v != nil {
		return r, v, nil
	}
	if violated := explore.Violated(r.Summary.Verdicts); len(violated) > 0 {
		return r, &violated[0], nil
	}
	return r, nil, nil
}

// judgedAnew stands for a run that is the one that was stored and is judged differently. The smallest run may end before
// anything can hold, so the original has the word: it, too, must be the run that was stored.
func (c *Committed) judgedAnew(spec *world.Spec, result *Standing, run func(tape.Tape, *world.Cut) (*explore.Reply, *check.Verdict, error)) error {
	r, violation, err := run(c.Tape, nil)
	if err != nil {
		return err
	}
	result.Standing = explore.Stale
	thin, _ := check.Enough(spec, &r.Summary.Evidence)
	i := slices.IndexFunc(r.Summary.Verdicts, func(v check.Verdict) bool { return v.Property == c.Verdict.Property })
	switch {
	case violation != nil:
		result.Standing, result.Verdict, result.outcome = explore.StillFails, violation, r.Outcome
		result.Reason = "its original run fails; its smallest run is judged differently"
	case r.Summary.Hash != c.Hash:
		result.Reason = "its smallest run is judged differently, and its original run has changed"
	case i < 0:
		result.Reason = "the run is the same, but no check judges the property any more"
	case r.Summary.Verdicts[i].Status != check.Holds:
		result.Reason = "the run is the same, but whether the property holds is unknown: " + r.Summary.Verdicts[i].Reason
	case len(thin) > 0:
		result.Reason = "the run is the same, but there is too little evidence that the property holds: " + thin[0]
	case c.Machine != r.Outcome.Machine || c.System != program.System():
		result.Reason = "the run is the same and the property holds, but in another environment"
	default:
		result.Standing, result.Reason = explore.Fixed, "the run is the same, and the property holds by the current check"
	}
	return nil
}

// changes names what is different from when the failure was stored.
func (c *Committed) changes(f *report.Failure, o *check.Judged) []string {
	list := append(BuildChanges(f, o), f.Changes(o)...)
	if now := program.System(); c.System != "" && c.System != now {
		list = append([]string{fmt.Sprintf("the system was %q and is now %q", c.System, now)}, list...)
	}
	if c.movedFrom != "" {
		list = append([]string{"the project was in " + c.movedFrom}, list...)
	}
	if c.reconfigured {
		list = append([]string{"the configuration has changed"}, list...)
	}
	return list
}

// staleShare divides the time that is left: a search near one stale failure takes at most one part in so many.
const staleShare = 3

// SearchAround runs tapes near each stale failure.
func SearchAround(ctx context.Context, all []Standing, runs uint64, campaign explore.Campaign, left func() time.Duration) []*explore.Totals {
	var totals []*explore.Totals
	for i := range all {
		st := &all[i]
		if st.Standing != explore.Stale || ctx.Err() != nil {
			continue
		}
		if runs == 0 {
			st.Reason += "; nothing near it was searched (--around 0)"
			continue
		}
		around := campaign
		around.Runs, around.KeepGoing, around.BaselineFirst = runs, true, false
		around.Timeout = left() / staleShare // a new failure is worth more than one that may be repaired
		near := &explore.Neighbourhood{Original: st.Kept.Tape, Smallest: st.Kept.Small().Tape, Stored: st.Kept.Decisions, Now: st.decisions}
		around.Strategy = search.Tapes("around", near.Around)
		t := around.Run(ctx)
		totals = append(totals, t)
		st.Around = t.Runs
		for _, found := range t.Failures {
			found.Near = st.File
			if found.Signature == st.Signature {
				st.Standing, st.Verdict = explore.StillFails, &found.Verdict
				st.Reason += "; a run near it fails"
			}
		}
		if st.Standing == explore.Stale {
			st.Reason += fmt.Sprintf("; %s near it %s searched (%s of virtual time), and ", plural.Count(t.Runs, "tape"),
				plural.Verb(t.Runs, "was", "were"), time.Duration(t.VirtualNs).Round(time.Millisecond))
			if len(t.Failures) > 0 {
				st.Reason += "fail in other ways"
			} else {
				st.Reason += "none fails"
			}
		}
	}
	return totals
}

// PrintCommitted prints a line on each committed failure, and the story of those that still fail by their own run.
func PrintCommitted(a *console.App, p *project.Project, all []Standing) error {
	for i := range all {
		st := &all[i]
		fmt.Fprintf(a.Out, "%s (%s): %s: %s\n", st.File, st.Property, st.Standing, st.Reason)
		switch {
		case st.changed && len(st.Changes) == 0:
			fmt.Fprintln(a.Out, WhyChanged(nil))
		case st.changed || st.Standing == explore.Stale || st.Standing == explore.Varies:
			PrintChanges(a.Out, st.Changes)
		}
		if st.Standing != explore.StillFails || st.Around > 0 {
			continue
		}
		path := filepath.Join(p.Spec.Dir, st.File)
		if here, err := os.Getwd(); err == nil {
			path = flags.RelativeTo(here, path)
		}
		story := report.StoryOf{Spec: p.Spec, Outcome: st.outcome, Verdict: *st.Verdict, Failure: st.Failure, File: path,
			Replay: "bloodhound replay " + flags.ShellQuote(path) + p.Arguments, Background: st.Kept.Background}
		if small := st.Kept.Smallest; small != nil {
			story.Shrunk = &small.Shrunk
		}
		if err := report.Story(a.Out, story); err != nil {
			return err
		}
		fmt.Fprintln(a.Out)
	}
	return nil
}
