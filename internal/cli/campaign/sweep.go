package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore/sweeping"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/sweep"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// defaultPerClass is how many moments of each class a sweep tries.
const defaultPerClass = 3

// sweepFlags are those of sweep alone.
type sweepFlags struct {
	kind     string
	perClass uint64
	cpu      time.Duration
	time     time.Duration
}

func sweepVerb(a *console.App) *cobra.Command {
	f, own := &flags.Set{}, &sweepFlags{}
	c := &cobra.Command{
		Use:   "sweep [FOLDER or FILE]",
		Short: "Crash a node at many moments of one run, and find crashes it does not recover from",
		Long: "Run the system once without faults. Then crash a node, or cut its power, at the moments of that " +
			"run: after it created, synchronised, renamed, truncated or unlinked a file, started a program or " +
			"answered a client; during a synchronisation; and once more while it recovers.\n\nMoments fall into " +
			"classes by call, file, program and phase. sweep tries --per-class moments of each class. It " +
			"confirms each failure to recover with a run from boot, a replay of that run, and another clean " +
			"restart.\n\nThe same command continues a sweep that was stopped.",
		Args: flags.OneArgument,
		RunE: func(c *cobra.Command, args []string) error { return sweepProject(a, c, f, own, args) },
	}
	f.AddPlacesAndDocument(c)
	f.AddOneSeed(c)
	words := []string{string(fault.Crash), string(fault.PowerLoss)}
	c.Flags().Var(flags.Word(&own.kind, words, "kinds"), "kind", "inject only this `kind` of fault: crash or power_loss (default: both)")
	c.Flags().Var(flags.Number(&own.perClass, 1, 1<<20, "give the number of moments, 1 or more"),
		"per-class", fmt.Sprintf("how many moments of each class to try (default: %d)", defaultPerClass))
	c.Flags().Var(program.Time(&own.cpu), "cpu", "stop after this much CPU `time`, summed over all runs")
	c.Flags().Var(program.Time(&own.time), "time", "stop after this `time`")
	f.AddWorkers(c)
	f.AddSnapshotMemory(c)
	return c
}

// SweepDocument is the JSON document of sweep.
type SweepDocument struct {
	Bloodhound string           `json:"bloodhound"`
	Verb       string           `json:"verb"`
	ExitCode   int              `json:"exit_code"`
	Judgement  string           `json:"judgement"`
	Sweep      *sweeping.Totals `json:"sweep"`
}

func sweepProject(a *console.App, c *cobra.Command, f *flags.Set, own *sweepFlags, args []string) error {
	f.AsWritten = true
	p, err := project.Load(c.Context(), a, f, args)
	if err != nil {
		return err
	}
	if err := project.RequireRepeats(p.Spec, "bloodhound sweep"); err != nil {
		return err
	}
	if err := p.Build(c.Context(), a); err != nil {
		return err
	}
	s, err := p.Open()
	if err != nil {
		return err
	}
	defer s.Close()
	show := console.NewProgress(a.Err, false, f.JSON)
	var left []string
	t, err := sweepOnce(a, c, f, own, p, s, show, left)
	for _, name := range []string{worksAgain, runAgain} {
		var violated *sweeping.ErrViolated
		if errors.As(err, &violated) && violated.Only(worksAgain, runAgain) && violated.Violates(name) {
			show.Note("note: the sweep leaves out the property " + strconv.Quote(name) + ", which does not hold even without faults")
			left = append(left, name)
			t, err = sweepOnce(a, c, f, own, p, s, show, left)
		}
	}
	show.End()
	switch {
	case errors.As(err, new(*sweeping.ErrViolated)):
		return program.WithCode(check.ExitViolated, fmt.Errorf("%w; a sweep needs a run without faults that passes: see `bloodhound run%s`", err, p.Arguments))
	case errors.As(err, new(*sweeping.ErrVaries)):
		return program.WithCode(check.ExitNotReproducible, err)
	case errors.As(err, new(*sweeping.ErrNothing)):
		return program.WithCode(check.ExitUnknown, err)
	case err != nil:
		return console.Failed(err)
	}
	doc := SweepDocument{Bloodhound: program.Version(), Verb: "sweep", Sweep: t}
	doc.Judgement, doc.ExitCode = judgeSweep(t)
	a.Code = doc.ExitCode
	if f.JSON {
		return a.PrintJSON(doc)
	}
	return printSweep(a, p, &doc)
}

// runAgain is the property that a sweep adds to all worlds: each server runs again in the end.
const runAgain = "servers run again"

// worksAgain is the property that a sweep adds where the world has none of its kind: each kind of operation succeeds again.
const worksAgain = "works again"

// againNs is the timeout of both.
const againNs = 20e9

// sweptSpec is a Spec in which it is judged whether servers run again after faults, and everything works again, if its drivers can try it. Properties
// that were left out are none.
func sweptSpec(spec *world.Spec, left []string) *world.Spec {
	own := *spec
	own.Properties = slices.Clone(spec.Properties)
	add := func(name, says string, kind world.PropertyKind, check world.Check) {
		if !slices.Contains(left, name) {
			own.Properties = append(own.Properties, world.Property{Name: name, Description: says, Kind: kind, TimeoutNs: againNs, Check: check})
		}
	}
	add(runAgain, "at the end every server runs, and its healthcheck has succeeded since its start", world.Safety, world.Check{Type: world.RunningCheck})
	tries := func(w world.Workload) bool { return w.Driver != "command" && w.Driver != "composer" }
	judged := func(p world.Property) bool { return p.Check.Type == world.RecoveryCheck }
	if !slices.ContainsFunc(spec.Properties, judged) && slices.ContainsFunc(spec.Workloads, tries) {
		add(worksAgain, "after the faults, each kind of operation succeeds again", world.Recovery,
			world.Check{Type: world.RecoveryCheck, Keys: 10})
	}
	return &own
}

func sweepOnce(a *console.App, c *cobra.Command, f *flags.Set, own *sweepFlags, p *project.Project, s *project.Session,
	show *console.Progress, left []string) (*sweeping.Totals, error) {
	setup := *s.Setup
	setup.Spec = sweptSpec(p.Spec, left)
	kinds := sweep.Kinds
	if own.kind != "" {
		kinds = []world.FaultKind{world.FaultKind(own.kind)}
	}
	workers := p.WorkersOf(int(f.Workers))
	setup.Snapshots = project.Snapshots(a, f, p, workers)
	x := &sweeping.Sweep{Setup: &setup, Command: s.Command, Seed: project.SeedOf(f, c, p), Kinds: kinds, PerClass: defaultPerClass, Workers: workers,
		CPU: own.cpu, Time: own.time, Note: show.Note}
	if own.perClass > 0 {
		x.PerClass = int(own.perClass)
	}
	x.File = sweepFile(p, setup.Spec, x.Seed, kinds)
	x.Store = func(found *sweeping.Finding, spec *world.Spec, out *check.Judged, v check.Verdict) failure.Failure {
		q := *p
		q.Spec = spec
		_, file := stored.KeepViolation(a, &q, out, v, nil)
		return file.Failure
	}
	x.Planned = func(t *sweeping.Totals) { show.Note(planned(t)) }
	x.Finished = func(t *sweeping.Totals) {
		show.ShowParts(func(elapsed time.Duration) []console.Part { return sweepLine(t, elapsed) })
	}
	return x.Run(c.Context())
}

// sweepFile is where a sweep keeps what it has learned: one file for each world, seed and choice of kinds.
func sweepFile(p *project.Project, spec *world.Spec, seed uint64, kinds []world.FaultKind) string {
	own, err := spec.Moved(".")
	if err != nil {
		panic(err) // a Spec is plain data
	}
	content, err := json.Marshal([]any{p.Sources, own, seed, kinds})
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(content)
	return filepath.Join(p.State, "sweep", hex.EncodeToString(sum[:6])+".jsonl")
}

// planned says what a sweep is about to do.
func planned(t *sweeping.Totals) string {
	if t.Recoveries > 0 {
		return fmt.Sprintf("and %s in recoveries; about %s of CPU time in all", plural.Count(t.Recoveries, "moment"), cpuText(t.EstimateNs))
	}
	b := &t.Baseline
	text := fmt.Sprintf("the run without faults holds: %s in %s of virtual time, %s of CPU time\n", plural.Count(b.Events, "event"),
		time.Duration(b.VirtualNs).Round(100*time.Millisecond), cpuText(b.CPUNs))
	for _, why := range b.Unknown {
		if strings.HasPrefix(why, worksAgain+": ") {
			continue // nobody has asked for it
		}
		text += "note: unknown without faults: " + why + "\n"
	}
	return text + fmt.Sprintf("%s in %s, up to %d of each: about %s of CPU time, plus the moments during "+
		"recoveries", plural.Count(t.Moments, "moment"),
		plural.Count(len(t.Classes), "class"), t.PerClass, cpuText(t.EstimateNs))
}

func cpuText(ns int64) string {
	if s := time.Duration(ns).Seconds(); s < 10 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", time.Duration(ns).Seconds())
}

// sweepLine is the progress line of a sweep, the most important first.
func sweepLine(t *sweeping.Totals, elapsed time.Duration) []console.Part {
	findings := console.Part{Text: "no finding", Colour: console.Green}
	if n := len(t.Findings); n > 0 {
		findings = console.Part{Text: plural.Count(n, "finding"), Colour: console.Red}
	}
	parts := []console.Part{{Text: fmt.Sprintf("%d of %s", t.Swept, plural.Count(t.Moments, "moment")), Colour: console.Bold}, findings}
	if fresh := t.Swept - t.Resumed; fresh > 0 && t.Moments > t.Swept {
		left := time.Duration(float64(elapsed) / float64(fresh) * float64(t.Moments-t.Swept))
		parts = append(parts, console.Part{Text: "ends in about " + left.Round(time.Second).String()})
	}
	return append(parts, console.Part{Text: cpuText(t.CPU.Ns()) + " of CPU time", Colour: console.Grey})
}

// judgeSweep gives the judgement of a sweep and its exit code.
func judgeSweep(t *sweeping.Totals) (text string, code int) {
	confirmed := 0
	for _, f := range t.Findings {
		if f.Replays {
			confirmed++
		}
	}
	swept := fmt.Sprintf("%d of %s %s tried", t.Swept, plural.Count(t.Moments, "moment"), plural.Verb(t.Swept, "was", "were"))
	switch {
	case confirmed > 0:
		return fmt.Sprintf("VIOLATED: %s; %s", plural.Count(confirmed, "confirmed finding"), swept), check.ExitViolated
	case len(t.Lost) > 0 && t.Swept == 0:
		return "the engine or the machine failed every run: " + t.Lost[0], check.ExitEngine
	case len(t.Findings) > 0:
		return fmt.Sprintf("NOT REPRODUCIBLE: %s did not replay; %s", plural.Count(len(t.Findings), "finding"), swept), check.ExitNotReproducible
	case t.Stopped != "":
		return fmt.Sprintf("UNKNOWN: %s, because %s; the same command continues", swept, t.Stopped), check.ExitUnknown
	case len(t.Lost) > 0:
		return fmt.Sprintf("UNKNOWN: %s; %s lost", swept, plural.Count(len(t.Lost), "run")), check.ExitUnknown
	case t.Missed == t.Swept:
		return "UNKNOWN: no fault was delivered at any moment", check.ExitUnknown
	}
	return fmt.Sprintf("HOLDS: the system recovers at each moment; %s", swept), check.ExitHolds
}

// printSweep prints the result of a sweep for people.
func printSweep(a *console.App, p *project.Project, doc *SweepDocument) error {
	t := doc.Sweep
	fmt.Fprintf(a.Out, "moments  tried  failed  class\n")
	for i := range t.Classes {
		x := &t.Classes[i]
		failed := "-"
		if x.Violated > 0 {
			failed = fmt.Sprint(x.Violated)
		}
		of := fmt.Sprint(x.Count)
		if x.Second {
			of = "-"
		}
		fmt.Fprintf(a.Out, "%7s  %5d  %6s  %s\n", of, x.Swept, failed, x.Name)
	}
	for i, f := range t.Findings {
		fmt.Fprintf(a.Out, "\nfinding %d: %s: %s\n", i+1, f.Property, f.Reason)
		fmt.Fprintf(a.Out, "  seen after %s (%s)\n", f.Class, plural.Count(f.Times, "moment"))
		for _, rule := range f.Rules {
			fmt.Fprintf(a.Out, "  rule: %s\n", rule)
		}
		fmt.Fprintf(a.Out, "  %s\n", strings.Join(standingOf(f, p.Arguments), "\n  "))
	}
	if t.Missed > 0 {
		fmt.Fprintf(a.Out, "\nnote: %s not delivered, because the node was down or the run had ended\n", plural.Count(t.Missed, "fault was"))
	}
	for _, text := range t.Lost {
		fmt.Fprintf(a.Out, "\nlost: %s\n", text)
	}
	_, err := fmt.Fprintf(a.Out, "\n%s\n%s, %s of CPU time, %s\n", doc.Judgement, plural.Count(t.Runs, "run"),
		cpuText(t.CPU.Ns()), time.Duration(t.WallNs).Round(time.Second))
	return err
}

// standingOf says how far a finding is confirmed.
func standingOf(f *sweeping.Finding, arguments string) []string {
	if !f.Replays {
		return []string{"not confirmed: " + f.Why}
	}
	restart := map[sweeping.Restart]string{
		sweeping.Stays:    "another clean restart does not help",
		sweeping.Goes:     "less severe: another clean restart helps",
		sweeping.Untested: "the workload ended before a clean restart was possible",
	}[f.Restart]
	return []string{"replays from boot; " + restart, "bloodhound replay " + f.Name() + arguments}
}
