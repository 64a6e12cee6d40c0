// Package fleet has the verbs of a fleet and its database: worker, dashboard and db.
package fleet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fleet"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
)

// defaultSlice is how long a worker of a fleet runs a test before it may choose another.
const defaultSlice = 30 * time.Second

// fleetFlags are those of worker alone.
type fleetFlags struct {
	strategy  string
	store     string
	period    time.Duration
	slice     time.Duration
	untilRisk float64
	line      string
	canaries  []string
	labels    []string
	webhook   string
}

// riskFlag is the value of a flag that takes a chance.
type riskFlag struct{ risk *float64 }

func (riskFlag) Type() string { return "number" }
func (v riskFlag) String() string {
	if v.risk == nil || *v.risk == 0 {
		return ""
	}
	return strconv.FormatFloat(*v.risk, 'g', -1, 64)
}
func (v riskFlag) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x > 0 && x < 1) {
		return errors.New("give a probability between 0 and 1, such as 1e-4")
	}
	*v.risk = x
	return nil
}

func fleetVerb(a *console.App) *cobra.Command {
	f, w := &flags.Set{}, &fleetFlags{slice: defaultSlice}
	c := &cobra.Command{
		Use:   "worker [FOLDER or FILE]...",
		Short: "Run tests continuously and share the results in a store",
		Long: "Run the tests of one or more projects, in turn, and keep the findings in a store, where other " +
			"workers and the dashboard see them. A worker imports the findings of others, replays known failures " +
			"with this code, and shrinks new failures.\n\n" +
			"Any number of workers on any number of machines can share a store. Each may be killed at any time. " +
			"SIGTERM ends a worker after it has written everything it knows.",
		Args: func(_ *cobra.Command, args []string) error { return flags.NoneEmpty(args) },
		RunE: func(c *cobra.Command, args []string) error { return runWorker(a, c, f, w, args) },
	}
	f.AddDocument(c)
	f.AddWorkers(c)
	f.AddSnapshotMemory(c)
	c.Flags().Var(flags.Strategy(&w.strategy), "strategy", "search `strategy` (default: exploration.strategy, or "+search.Guided+")")
	database.AddStoreFlag(c, &w.store, " beside the first project")
	c.Flags().Var(program.Time(&w.period), "for", "end after this `time`, such as 1h")
	c.Flags().Var(riskFlag{&w.untilRisk}, "until-risk",
		"end when, in every test, the probability that the next random run shows something new is below this `bound`, with 95 % confidence")
	c.Flags().Var(program.Time(&w.slice), "slice", "how long a test runs before the next")
	c.Flags().Var(flags.Word(&w.line, []string{"main", "pr", "release"}, "lines"), "line",
		"the `line` of development: main, pr or release (default: derived from the git branch and tag)")
	c.Flags().Var(flags.Files(&w.canaries), "canary", "a project with a known bug, in this folder or `file`, to test the search itself: it must fail")
	c.Flags().StringVar(&w.webhook, "webhook", "", "post each new kind of failure to this `URL`, as JSON that Slack also reads")
	c.Flags().StringArrayVar(&w.labels, "label", nil, "describe the worker on the dashboard by `NAME=VALUE`, such as pod=x")
	return c
}

// FleetDocument is the JSON document of worker.
type FleetDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	ExitCode   int    `json:"exit_code"`
	Worker     string `json:"worker"` // id
	Store      string `json:"store"`
	fleet.Result
}

func runWorker(a *console.App, c *cobra.Command, f *flags.Set, w *fleetFlags, args []string) error {
	labels, err := labelsOf(w.labels)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	var projects []fleet.Project
	for _, arg := range slices.Concat(args, w.canaries) {
		p, err := openProject(c.Context(), a, f, w, arg, slices.Contains(w.canaries, arg))
		if err != nil {
			return err
		}
		defer p.session.Close()
		projects = append(projects, p)
	}
	first := projects[0].(*fleetProject)
	local := filepath.Join(first.p.State, "store")
	db, err := open.ForWorker(database.StoreURL(w.store, local), local)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := refused(c.Context(), db); err != nil {
		return err
	}
	id, identity := newWorker(labels)
	worker := &fleet.Worker{Store: db, ID: id, Projects: projects, Slice: w.slice, For: w.period, UntilRisk: w.untilRisk,
		Identity: identity, Env: envHere(string(first.p.Spec.Engine), first.features()),
		Note: func(text string) { a.Note("%s %s", time.Now().Format(time.TimeOnly), text) }}
	hook, err := newWebhook(w.webhook, worker.Note)
	if err != nil {
		return err
	}
	defer hook.wait()
	worker.Announce = hook.announce
	for _, p := range projects {
		x := p.(*fleetProject)
		err := project.RecordCommits(c.Context(), db, x.p.Spec.Dir)
		if err == nil {
			err = importFailures(c.Context(), db, x)
		}
		if err != nil {
			return console.Failed(err)
		}
	}
	a.Note("worker %s on %s; SIGTERM or Ctrl-C stops it", worker.ID, db)
	result, err := worker.Run(c.Context())
	if err != nil {
		return console.Failed(err)
	}
	switch {
	case len(result.Failures) > 0:
		a.Code = check.ExitViolated
	case result.Unsent != "" || result.Unwritten > 0:
		a.Code = check.ExitEngine
	case len(result.Silent) > 0:
		a.Code = check.ExitUnknown
	}
	if f.JSON {
		return a.PrintJSON(FleetDocument{program.Version(), "worker", a.Code, string(id), db.String(), *result})
	}
	printEnd(a.Out, worker.ID, result)
	return nil
}

// printEnd prints the outcome of a worker.
func printEnd(out io.Writer, id records.ID, result *fleet.Result) {
	fmt.Fprintf(out, "worker %s has ended (%s): %s, %s known\n", id, result.Reason, plural.Count(result.Runs, "run"),
		plural.Count(result.Features, "feature"))
	for _, s := range result.Failures {
		fmt.Fprintf(out, "  fails: %s\n", s)
	}
	for _, s := range result.Silent {
		fmt.Fprintf(out, "  the canary %s did not fail, so the search may not work\n", s)
	}
}

// accessTime is how long a worker that starts asks its shared store whether that takes it. One that is away is not waited for.
const accessTime = 5 * time.Second

// refused is the error of a shared store that does not take the user.
func refused(ctx context.Context, db store.Store) error {
	l, ok := db.(*store.Layered)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, accessTime)
	defer cancel()
	return l.Refused(ctx)
}

// labelsOf reads NAME=VALUE.
func labelsOf(words []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--label %s: write it as NAME=VALUE", w)
		}
		labels[name] = value
	}
	return labels, nil
}

// fleetProject is a project as a worker runs it.
type fleetProject struct {
	*console.App
	f       *flags.Set
	p       *project.Project
	session *project.Session
	canary  bool
	wanted  string // strategy; empty if none is asked for
	code    records.Code
	workers int
}

func openProject(ctx context.Context, a *console.App, f *flags.Set, w *fleetFlags, arg string, canary bool) (*fleetProject, error) {
	p, err := project.Load(ctx, a, f, []string{arg})
	if err != nil {
		return nil, err
	}
	if err := p.Build(ctx, a); err != nil {
		return nil, err
	}
	s, err := p.Open()
	if err != nil {
		return nil, err
	}
	x := &fleetProject{App: a, f: f, p: p, session: s, canary: canary, wanted: w.strategy, workers: int(cmp.Or(f.Workers, 1))}
	s.Setup.Snapshots = project.Snapshots(a, f, p, x.workers)
	if why := project.NoCommit(ctx, p.Spec.Dir); why != "" {
		a.Note("%s", why)
	}
	x.code = project.CodeUnderTest(ctx, p, w.line)
	return x, nil
}

// Test implements fleet.Project.
func (x *fleetProject) Test() records.Test {
	t := records.Test{Name: x.p.TestName(), Definition: project.WorldDigest(x.p.Spec), Config: strings.Join(x.p.Sources, " "), Strategy: x.strategy(),
		RulesVersion: x.p.Spec.RulesVersion, Canary: x.canary, AtMs: time.Now().UnixMilli()}
	for _, q := range x.p.Spec.Properties {
		t.Properties = append(t.Properties, records.Property{Name: q.Name, Kind: string(q.Kind)})
	}
	return t
}

// Code implements fleet.Project.
func (x *fleetProject) Code() records.Code { return x.code }

// strategy returns the strategy that the user named. Without one a fleet is guided, so that it learns.
func (x *fleetProject) strategy() string {
	name := cmp.Or(x.wanted, x.p.Search.Strategy, search.Guided)
	if (name == search.Random || name == search.Default) && x.wanted == "" {
		return search.Guided
	}
	return name
}

// Strategy implements fleet.Project.
func (x *fleetProject) Strategy(seed uint64) (search.Strategy, error) {
	set := project.SettingsOf(&x.p.Search)
	set.OneBoot, set.FullLength = true, true // what a database says of risk counts runs that are alike
	return search.New(x.strategy(), x.p.Spec, seed, set)
}

// Campaign implements fleet.Project.
func (x *fleetProject) Campaign() *explore.Campaign {
	setup := *x.session.Setup
	return &explore.Campaign{Test: x.p.TestName(), Setup: &setup, Command: x.session.Command, Workers: x.workers}
}

// File implements fleet.Project.
func (x *fleetProject) File(found *explore.Failure, o *check.Judged) ([]byte, error) {
	return stored.NewFailure(x.p, o, found.Verdict, found).Content()
}

// Replay implements fleet.Project.
func (x *fleetProject) Replay(ctx context.Context, file []byte) (r records.Replay, err error) {
	f, err := report.Parse("the failure in the store", file)
	if err != nil {
		return r, err
	}
	t, err := stored.TryCode(ctx, x.App, x.p, x.session, f, *x.Campaign(), console.NewProgress(x.Err, true, true))
	return records.Replay{Result: t.Result, Reason: t.Reason, Hash: t.Hash}, err
}

// Shrink implements fleet.Project.
func (x *fleetProject) Shrink(ctx context.Context, file []byte, within time.Duration) (s fleet.Smaller, err error) {
	f, err := report.Parse("the failure in the store", file)
	if err != nil {
		return s, err
	}
	if _, err := stored.AdoptFailure(x.p, f, ""); err != nil {
		return s, err
	}
	show := console.NewProgress(x.Err, true, true)
	budget := stored.ShrinkBudget{Workers: x.workers, Runs: stored.DefaultShrinkRuns, Time: within}
	if _, err := stored.ShrinkFailure(ctx, x.App, x.session, f, budget, show); err != nil {
		return s, err
	}
	s.Reason = f.Smallest.Verdict.Reason
	s.Decisions, s.Minimal = f.Smallest.Shrunk.To.Decisions, f.Smallest.Shrunk.Minimal
	s.File, err = f.Content()
	return s, err
}

// Bisect implements fleet.Project.
func (x *fleetProject) Bisect(ctx context.Context, file []byte, good, bad string) (found records.Bisected, err error) {
	f, err := report.Parse("the failure in the store", file)
	if err != nil {
		return found, err
	}
	b, err := stored.NewBisector(ctx, x.App, x.f, x.p, f, console.NewProgress(x.Err, true, true))
	if err != nil {
		return found, fmt.Errorf("%w: %w", fleet.ErrElsewhere, err)
	}
	return b.Find(ctx, good, cmp.Or(bad, "HEAD"))
}

// here is a session and a failure of the store as the present code and configuration have them, alone or with its smallest run.
func (x *fleetProject) here(file []byte) (*project.Session, *report.Failure, error) {
	f, err := report.Parse("the failure in the store", file)
	if err != nil {
		return nil, nil, err
	}
	if _, err := stored.AdoptFailure(x.p, f, ""); err != nil {
		return nil, nil, err
	}
	f.Spec = x.p.Spec.UnderRules(f.Spec.RulesVersion)
	own, setup := *x.session, *x.session.Setup
	own.Setup, setup.Spec = &setup, f.Small().Spec
	return &own, f, nil
}

// Page implements fleet.Project.
func (x *fleetProject) Page(ctx context.Context, file []byte) ([]byte, error) {
	s, full, err := x.here(file)
	if err != nil {
		return nil, err
	}
	page, err := stored.PageOfRun(ctx, x.App, s, full.Small(), func(o *check.Judged) {
		for i := range o.Crashes {
			if d := o.Crashes[i].Dump; d != nil {
				d.Core, d.CoreNote = "", "it is not in the store; `bloodhound report` stores it"
			}
		}
	})
	if err != nil {
		return nil, err
	}
	page.Replay = "bloodhound replay " + full.Name() + ".json"
	if full.Smallest != nil {
		page.Shrunk = &full.Smallest.Shrunk
	}
	var b bytes.Buffer
	err = report.Page(&b, *page)
	return b.Bytes(), err
}

// Explain implements fleet.Project.
func (x *fleetProject) Explain(ctx context.Context, file []byte, within time.Duration) (e fleet.Explanation, err error) {
	s, full, err := x.here(file)
	if err != nil {
		return e, err
	}
	explain := stored.Explainer{App: x.App, Session: s, Failure: full.Small(), Workers: x.workers, Runs: stored.DefaultExplainRuns, Time: within}
	r, err := explain.Explain(ctx, console.NewProgress(x.Err, true, true))
	if err != nil {
		return e, err
	}
	return stored.ExplanationOf(r)
}

// features are those of this machine that the engine cannot hide from a run.
func (x *fleetProject) features() []string {
	eng, err := project.EngineFor(x.p.Spec)
	if f, is := eng.(engine.Featured); is && err == nil {
		return f.Features()
	}
	return nil
}

// newWorker is this process as a worker of a store.
func newWorker(labels map[string]string) (records.ID, records.Worker) {
	host, _ := os.Hostname()
	return records.ID(strings.ToLower(rand.Text()[:16])),
		records.Worker{Host: host, PID: os.Getpid(), Bloodhound: program.Version(), Labels: labels, CPUs: runtime.NumCPU(), StartedMs: time.Now().UnixMilli()}
}

// envHere identifies this machine, build and system for runs of an engine.
func envHere(engine string, features []string) records.Env {
	return records.Env{Engine: engine, Bloodhound: program.Version(), TraceVersion: report.TraceVersion, System: program.System(),
		Machine: program.Machine(), Features: features}
}

// importFailures takes in the failures that lie beside a project and in its state folder, as they are.
func importFailures(ctx context.Context, db store.Store, x *fleetProject) error {
	test := x.p.TestID()
	known, err := database.ViewOf(ctx, db, records.FailuresOf(test))
	if err != nil {
		return err
	}
	have := map[store.Digest]bool{}
	for _, f := range known.Test(test).Failures {
		for _, r := range f.Files {
			have[r.File] = true
		}
	}
	paths, err := stored.FailureFiles(x.p.Spec.Dir, x.p.State)
	if err != nil {
		return err
	}
	for _, path := range paths {
		f, err := report.Load("", path)
		if err != nil {
			x.Note("note: %v; it is not added to the store", err)
			continue
		}
		if x.p.FromAnother(f) {
			continue
		}
		content, err := f.Content()
		if err != nil {
			return err
		}
		if have[store.DigestOf(content)] {
			continue
		}
		f.Belongs(x.p.TestName())
		r := records.Failure{Failure: f.Failure, Reason: f.Verdict.Reason, Level: records.Raw,
			Decisions: len(f.Decisions), Tape: f.Tape.Name(),
			Imported: flags.RelativeTo(x.p.Spec.Dir, path), AtMs: time.Now().UnixMilli()}
		if f.Smallest != nil {
			r.Level, r.Decisions, r.Tape = records.Shrunk, f.Smallest.Shrunk.To.Decisions, f.Smallest.Tape.Name()
		}
		if r.File, err = db.PutBlob(ctx, content); err == nil {
			err = db.Add(ctx, r.Entry(test))
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s is not added to the store", path), err)
		}
	}
	return nil
}
