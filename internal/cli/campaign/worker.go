package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/cpus"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/view"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// progressInterval is how often a worker reports the progress of a run.
const progressInterval = 200 * time.Millisecond

func workerVerb(a *console.App) *cobra.Command {
	return &cobra.Command{
		Use:    project.WorkerName,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			abandon := func() { os.Exit(check.ExitEngine) } // the kernel ends what the world has left
			if err := explore.Serve(os.Stdin, a.Out, new(worker).do, abandon); err != nil {
				return console.Failed(err)
			}
			return nil
		},
	}
}

// worker makes the runs of a worker process.
type worker struct{ snapshots runner.Snapshots }

// do makes the run of a job.
func (w *worker) do(setup *explore.Setup, job *explore.Job, progress func(explore.Progress), interrupt <-chan struct{}) *explore.Reply {
	var began runner.Begin
	var look *view.Answer
	var used explore.CPU
	w.snapshots.Budget = setup.Snapshots
	options := engine.Options{Dir: setup.Scratch, Hidden: setup.Hidden, Then: setup.Then, Driver: setup.Driver, Interrupt: interrupt}
	r := setup.Perform(job, options, func(spec *world.Spec, o engine.Options) (out *check.Judged, err error) {
		own, programs := cpus.UsedHere(), cpus.UsedByChildren()
		out, began, look, err = w.run(spec, job, o, progress)
		used = explore.CPU{EngineNs: int64(cpus.UsedHere() - own), ProgramsNs: int64(cpus.UsedByChildren() - programs)}
		return out, err
	})
	r.Look = look
	if r.Summary == nil {
		return r
	}
	r.CPU = used
	if r.StartNs = began.StartNs; began.Event > 0 {
		r.Began = &began
	}
	r.Memory.SnapshotBytes, r.Memory.LimitBytes = w.snapshots.Bytes(), w.snapshots.MemoryBytes
	if why := w.snapshots.Refused; why != nil && !errors.Is(why, engine.ErrUnsupported) {
		r.NoSnapshots = why.Error()
	}
	return r
}

// run executes the run of a job, and writes a trace and packets, reports progress and looks at the world where the job asks for that. If
// the look is refused, there is no record.
func (w *worker) run(spec *world.Spec, job *explore.Job, o engine.Options, progress func(explore.Progress)) (out *check.Judged,
	began runner.Begin, look *view.Answer, err error) {
	eng, err := project.EngineFor(spec)
	if err != nil {
		return nil, began, nil, err
	}
	if o.Images, err = project.ImagesOf(spec); err != nil {
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
		if stop, end, err = stored.CapturePackets(&o, job.Capture, spec); err != nil {
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
	work := &runner.Work{Request: job.Request, Spec: spec, Options: o}
	if job.Contrast || job.Trace != nil && !job.Trace.Late || job.Dumps != "" || job.Capture != "" {
		work.FromBoot = true // these begin at the boot
	}
	out, began, err = w.snapshots.Do(eng, work)
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
