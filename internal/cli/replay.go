package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/check"
	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/explore"
	"github.com/bloodhound-dst/bloodhound/report"
	"github.com/bloodhound-dst/bloodhound/world"
)

func (a *app) replayVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "replay ID [FOLDER or FILE]",
		Short: "Make the run of a failure again",
		Long: `Makes the run of a failure again and compares its trace hash and its verdict with those that were stored. ID is the
id of a failure, the beginning of one, or the path of a failure file. Where the run has changed, it says what else has.
Exit code 1 means that the violation is there, and 5 that the run has changed and does not show it any more.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("replay takes the id or the file of a failure, and after it a folder or a file at most: bloodhound replay ID [FOLDER or FILE]")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.replay(c, f, args) },
	}
	f.where(c)
	f.tracing(c)
	c.Flags().Uint64Var(&f.runs, "runs", 1, "how often to make the run")
	return c
}

func (a *app) replay(c *cobra.Command, f *flags, args []string) error {
	if f.runs == 0 {
		return errors.New("--runs 0: give 1 or more")
	}
	p, failure, err := a.loadFailure(c, f, args)
	if err != nil {
		return err
	}
	job := &explore.Job{Tape: failure.Tape, Full: true, Progress: !f.json}
	if job.Trace, err = f.traceJob(p); err != nil {
		return err
	}
	s, err := openSession(failure.Spec, p.state)
	if err != nil {
		return err
	}
	defer s.close()
	var first *explore.Reply
	var status explore.Status
	for run := uint64(1); run <= f.runs; run++ {
		reply, err := a.oneRun(c.Context(), s, job, f.json)
		if err != nil {
			return err
		}
		if c.Context().Err() != nil {
			return errInterrupted
		}
		if !f.json && f.runs > 1 {
			fmt.Fprintf(a.out, "replay %d of %d: trace hash %s\n", run, f.runs, reply.Summary.Hash)
		}
		if first == nil {
			first = reply
			continue
		}
		if d := explore.Differs(first.Summary, reply.Summary); d != "" {
			status.Unrepeatable = true
			first.Summary.Repeat = engine.Repeat{Reason: fmt.Sprintf("replay %d differs from the first: %s", run, d)}
			break
		}
	}
	if !f.json {
		if err := report.Run(a.out, failure.Tape.Seed, first.Summary); err != nil {
			return err
		}
	}
	doc := runDocument{Bloodhound: Version(), Verb: "replay", Tape: failure.Tape, Run: first.Summary, Failures: []string{failure.ID}}
	doc.Changes = failure.Changes(first.Outcome)
	if v := Version(); v != failure.Bloodhound {
		doc.Changes = append(doc.Changes, fmt.Sprintf("bloodhound was %q and is %q", failure.Bloodhound, v))
	}
	if status.Unrepeatable {
		doc.Judgement, doc.ExitCode = report.Judgement(status, 1), check.ExitNotReproducible
	} else {
		doc.Judgement, doc.ExitCode = judgeReplay(failure, first, doc.Changes)
	}
	a.code = doc.ExitCode
	if f.json {
		return a.printJSON(doc)
	}
	for _, v := range explore.Violated(first.Summary.Verdicts) {
		if explore.Signature(v) != failure.Signature {
			continue
		}
		fmt.Fprintln(a.out)
		story := report.StoryOf{Spec: failure.Spec, Outcome: first.Outcome, Verdict: v, ID: failure.ID,
			Replay: "bloodhound replay " + strings.Join(args, " ")}
		if err := report.Story(a.out, story); err != nil {
			return err
		}
	}
	if first.Summary.Hash != failure.Hash && len(doc.Changes) > 0 {
		fmt.Fprintln(a.out, "\nwhat else is different now")
		for _, change := range doc.Changes {
			fmt.Fprintf(a.out, "  %s\n", change)
		}
	}
	fmt.Fprintf(a.out, "\n%s\n", doc.Judgement)
	return nil
}

// judgeReplay compares a replay with what was stored.
func judgeReplay(f *report.Failure, r *explore.Reply, changes []string) (text string, code int) {
	same := r.Summary.Hash == f.Hash
	status := statusOf(r.Summary)
	there := false
	for _, v := range explore.Violated(r.Summary.Verdicts) {
		there = there || explore.Signature(v) == f.Signature
	}
	switch {
	case same && there:
		return "replayed: the same trace hash and the same violation", check.ExitViolated
	case same:
		return fmt.Sprintf("UNKNOWN: the run is the same, but %s is judged differently now: the check or its property has changed",
			f.Verdict.Property), check.ExitUnknown
	case status.Unrepeatable:
		return report.Judgement(status, 1), check.ExitNotReproducible
	case there:
		return fmt.Sprintf("VIOLATED again, in a run that has changed: its trace hash was %s and is %s", f.Hash, r.Summary.Hash), check.ExitViolated
	case status.Violated:
		return "VIOLATED in another way than was stored, in a run that has changed", check.ExitViolated
	case len(changes) == 0:
		return fmt.Sprintf("NOT REPRODUCIBLE: nothing is known to have changed, but the trace hash was %s and is %s", f.Hash, r.Summary.Hash), check.ExitNotReproducible
	}
	return "UNKNOWN: stale: the run has changed and does not show the violation; search around it with `bloodhound explore`", check.ExitUnknown
}

// loadFailure reads a failure and, where there is one, the project that it belongs to, whose programs are built
// first.
func (a *app) loadFailure(c *cobra.Command, f *flags, args []string) (*project, *report.Failure, error) {
	p, err := a.load(f, args[1:])
	if err != nil && (len(args) > 1 || f.config != "" || f.compose != "" || !isFile(args[0])) {
		return nil, nil, err
	}
	if err != nil { // a failure file without a project
		p = &project{state: filepath.Join(filepath.Dir(args[0]), stateName)}
	}
	failure, err := report.Load(p.state, args[0])
	if err != nil {
		return nil, nil, err
	}
	if p.spec != nil && p.spec.Dir != failure.Spec.Dir {
		if failure.Spec, err = moved(failure.Spec, p.spec.Dir); err != nil {
			return nil, nil, err
		}
	}
	if p.spec != nil {
		if err := p.build(c.Context(), a); err != nil {
			return nil, nil, err
		}
	}
	return p, failure, nil
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// moved is a Spec whose project lies in another folder now: every text that begins with the old folder gets the new
// one.
func moved(spec *world.Spec, dir string) (*world.Spec, error) {
	b, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	quote := func(s string) []byte {
		q, _ := json.Marshal(s)
		return q[:len(q)-1] // without its closing quote
	}
	old, now := quote(spec.Dir), quote(dir)
	b = bytes.ReplaceAll(b, append(bytes.Clone(old), '"'), append(bytes.Clone(now), '"'))
	b = bytes.ReplaceAll(b, append(bytes.Clone(old), '/'), append(bytes.Clone(now), '/'))
	out := new(world.Spec)
	return out, json.Unmarshal(b, out)
}
