package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/cpus"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/loglines"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/sweep"
	"github.com/bloodhound-dst/bloodhound/internal/view"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// workerName is the hidden verb that a campaign starts its worker processes with.
const workerName = "__worker"

// progressInterval is how often a worker reports the progress of a run.
const progressInterval = 200 * time.Millisecond

func (a *app) workerVerb() *cobra.Command {
	return &cobra.Command{
		Use:    workerName,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			abandon := func() { os.Exit(check.ExitEngine) } // the kernel ends what the world has left
			if err := explore.Serve(os.Stdin, a.out, new(worker).do, abandon); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

// worker makes the runs of a worker process.
type worker struct{ snapshots runner.Snapshots }

// do runs one world to its end and judges it.
func (w *worker) do(setup *explore.Setup, job *explore.Job, progress func(explore.Progress), interrupt <-chan struct{}) *explore.Reply {
	own, programs := cpus.UsedHere(), cpus.UsedByChildren()
	out, began, look, err := w.run(setup, job, progress, interrupt)
	if err != nil {
		return explore.Failed(err)
	}
	used := explore.CPU{EngineNs: int64(cpus.UsedHere() - own), ProgramsNs: int64(cpus.UsedByChildren() - programs)}
	if look != nil && look.Refused != "" {
		return &explore.Reply{Look: look}
	}
	r := &explore.Reply{Summary: explore.Summarise(out), Seen: setup.See(out), Measured: setup.Measured(out), Look: look, CPU: used}
	r.Summary.Templates = loglines.Keys(setup.Spec, out.Log)
	if r.StartNs = began.StartNs; began.Event > 0 {
		r.Began = &began
	}
	r.Memory = explore.Memory{WorldBytes: out.MemoryBytes, SnapshotBytes: w.snapshots.Bytes(), LimitBytes: w.snapshots.MemoryBytes}
	if why := w.snapshots.Refused; why != nil && !errors.Is(why, engine.ErrUnsupported) {
		r.NoSnapshots = why.Error()
	}
	if setup.Learn || len(setup.Measure) > 0 { // the search has them
		out.Draws, r.Summary.Behaviour = nil, coverage.Behaviour{}
	}
	if job.Sweep != nil {
		layout, err := sweep.LayoutOf(setup.Spec)
		if err != nil {
			return explore.Failed(err)
		}
		r.Sweep = layout.Read(job.Sweep, out.Moments, out.Decisions, out.DecisionsNs)
		r.Summary.Moments, out.Moments, out.Decisions, out.DecisionsNs = nil, nil, nil, nil // it needs no more of them
	}
	if job.Full || len(explore.Violated(out.Verdicts)) > 0 {
		r.Outcome = out
	}
	return r
}

func (w *worker) run(setup *explore.Setup, job *explore.Job, progress func(explore.Progress),
	interrupt <-chan struct{}) (out *check.Judged, began runner.Begin, look *view.Answer, err error) {
	spec := setup.Spec
	if job.RulesVersion != nil {
		spec = spec.UnderRules(*job.RulesVersion)
	}
	if job.Cut != nil {
		spec = job.Cut.Apply(spec)
	}
	eng, err := engineFor(spec)
	if err != nil {
		return nil, began, nil, err
	}
	images, err := imagesOf(spec)
	if err != nil {
		return nil, began, nil, err
	}
	w.snapshots.Budget = setup.Snapshots
	o, err := setup.JobOptions(job, engine.Options{Dir: setup.Scratch, Hidden: setup.Hidden, Then: setup.Then, Images: images,
		Driver: setup.Driver, Interrupt: interrupt})
	if err != nil {
		return nil, began, nil, err
	}
	finish := func(*check.Judged) error { return nil }
	if job.Trace != nil {
		if finish, err = trace(&o, job.Trace, spec); err != nil {
			return nil, began, nil, err
		}
	}
	stop := func() {}
	if job.Capture != "" {
		end := func() error { return nil }
		if stop, end, err = capture(&o, job.Capture, spec); err != nil {
			return nil, began, nil, err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	if job.Progress {
		defer watch(&o, progress)()
	}
	if job.Look != nil {
		if out, look, err = lookAt(eng, spec, job, o, stop); look != nil && look.Refused != "" {
			return nil, began, look, err
		}
		return out, began, look, errors.Join(err, finish(out))
	}
	out, began, err = w.snapshots.Do(eng,
		&runner.Work{Spec: spec, Cut: job.Cut, Tape: job.Tape, Options: o, Until: record.At(job.Until), Along: job.Along, PartNs: job.PartNs,
			FromBoot: job.FromBoot || job.Contrast || job.Trace != nil && !job.Trace.Late || job.Dumps != "" || job.Capture != ""}) // these begin at the boot
	return out, began, nil, errors.Join(err, finish(out))
}

// lookAt makes a run that stops once on its way to be looked at. One that is refused an answer ends there.
func lookAt(eng engine.Engine, spec *world.Spec, job *explore.Job, o engine.Options, reached func()) (*check.Judged, *view.Answer, error) {
	r, err := runner.Boot(eng, spec, job.Tape, o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	look, err := view.Look(r.World, job.Look, spec.EndNs)
	if err != nil || look.Refused != "" {
		return nil, look, err
	}
	reached()
	if err := r.Advance(record.Position{}); err != nil {
		return nil, nil, err
	}
	out := r.Judge()
	return out, look, r.Close()
}

// trace adds an observer to o that writes the trace into a file.
func trace(o *engine.Options, t *explore.Trace, spec *world.Spec) (finish func(*check.Judged) error, err error) {
	f, err := os.Create(t.File)
	if err != nil {
		return nil, fmt.Errorf("the trace: %w", report.DiskError(err, filepath.Dir(t.File)))
	}
	sink := report.NewDiagramSink(f, spec)
	if t.Format != report.DiagramFormat {
		if sink, err = report.NewSink(t.Format, f, report.Filter{Level: t.Level, Events: t.Events}, spec); err != nil {
			f.Close()
			return nil, err
		}
	}
	o.Observe, o.Log = sink.Event, sink.Log
	return func(out *check.Judged) error {
		err := sink.Finish(out)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("the trace is incomplete: %w", report.DiskError(err, filepath.Dir(t.File)))
		}
		return nil
	}, nil
}

// watch asks for the progress of a run, and reports it from a goroutine of its own, outside the world. The function that it returns
// ends it.
func watch(o *engine.Options, progress func(explore.Progress)) (stop func()) {
	var events atomic.Uint64
	var virtual atomic.Int64
	o.Progress = func(n uint64, ns int64) {
		events.Store(n)
		virtual.Store(ns)
	}
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				progress(explore.Progress{Events: events.Load(), VirtualNs: virtual.Load()})
			}
		}
	}()
	return func() { close(done) }
}
