package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Leases of duties: who holds one extends it while it works.
const (
	leaseTime   = 30 * time.Second
	leaseExtend = 10 * time.Second
)

// dutyTime bounds shrinking, and how long duties keep a worker from its search each time. Bisecting builds commits, and takes longer.
const (
	dutyTime   = time.Minute
	bisectTime = time.Hour
)

// duties does what one worker should do once: answer requests, replay failures on this code, and shrink what was found.
func (w *Worker) duties(ctx context.Context) {
	for _, id := range slices.Sorted(maps.Keys(w.view.Requests)) {
		r, limit := w.view.Requests[id], dutyTime
		switch r.Kind { // these end before, and say so
		case records.BisectRequest:
			limit = 2 * bisectTime
		case records.ExplainRequest:
			limit = 2 * dutyTime
		}
		within, cancel := context.WithTimeout(ctx, w.left(limit))
		w.answer(within, r)
		cancel()
	}
	ctx, cancel := context.WithTimeout(ctx, w.left(dutyTime))
	defer cancel()
	for _, c := range w.courses {
		failures := w.view.Test(c.test).Failures
		for _, id := range slices.Sorted(maps.Keys(failures)) {
			w.replayOnce(ctx, c, failures[id])
			w.shrinkOnce(ctx, c, failures[id])
			w.pageOnce(ctx, c, failures[id])
		}
		w.distill(ctx, c)
	}
}

// alone does something that others do not do meanwhile, if it is still needed after what they have written.
func (w *Worker) alone(ctx context.Context, name string, needed func() bool, do func(ctx context.Context)) {
	if ctx.Err() != nil || w.view.Paused() || !needed() {
		return
	}
	if _, err := w.Store.Lease(ctx, name, string(w.ID), leaseTime); err != nil {
		if !errors.Is(err, store.ErrHeld) && ctx.Err() == nil {
			w.note(fmt.Sprintf("cannot get the lease %s: %v", name, err))
		}
		return
	}
	defer w.Store.Release(context.WithoutCancel(ctx), name, string(w.ID))
	if w.refresh(ctx); !needed() {
		return // another has done it just now
	}
	working, stop := context.WithCancel(ctx)
	extended := make(chan struct{})
	go func() {
		defer close(extended)
		for {
			select {
			case <-working.Done():
				return
			case <-time.After(leaseExtend):
				if _, err := w.Store.Lease(working, name, string(w.ID), leaseTime); errors.Is(err, store.ErrHeld) {
					stop() // it was late, and another has it
				}
			}
		}
	}()
	do(working)
	stop()
	<-extended
}

// replayOnce replays a failure on this code in this environment, if nobody has.
func (w *Worker) replayOnce(ctx context.Context, c *course, f *records.FailureView) {
	needed := func() bool {
		_, had := f.Matrix()[c.place]
		return !had && f.Best() != nil
	}
	w.alone(ctx, fmt.Sprintf("replay/%s/%s/%s/%s", c.test, f.ID, c.place.Code, c.place.Env), needed, func(ctx context.Context) {
		r, err := w.replay(ctx, c, f.Best())
		if err != nil {
			w.trouble(ctx, c, f, "replayed", err)
			return
		}
		w.write(r.Entry(c.test, f.Key()))
	})
}

// replay makes the run of a failure again.
func (w *Worker) replay(ctx context.Context, c *course, f *records.Failure) (*records.Replay, error) {
	file, err := w.Store.Blob(ctx, f.File)
	if err != nil {
		return nil, err
	}
	c.flushed = time.Now()
	r, err := c.project.Replay(ctx, file)
	if err != nil {
		return nil, err
	}
	c.tally(records.Again).Runs++
	c.flush()
	r.Code, r.Env, r.Worker, r.AtMs = c.place.Code, c.place.Env, w.ID, now()
	return &r, nil
}

// shrinkOnce shrinks a failure that shows in this code and that nobody has shrunk.
func (w *Worker) shrinkOnce(ctx context.Context, c *course, f *records.FailureView) {
	needed := func() bool {
		best := f.Best()
		return best != nil && best.Level != records.Shrunk && f.Matrix()[c.place].Result == records.Reproduced
	}
	w.alone(ctx, fmt.Sprintf("shrink/%s/%s", c.test, f.ID), needed, func(ctx context.Context) {
		if err := w.shrink(ctx, c, f.Best()); err != nil {
			w.trouble(ctx, c, f, "shrunk", err)
		}
	})
}

func (w *Worker) shrink(ctx context.Context, c *course, f *records.Failure) error {
	file, err := w.Store.Blob(ctx, f.File)
	if err != nil {
		return err
	}
	c.flushed = time.Now()
	smaller, err := c.project.Shrink(ctx, file, w.left(dutyTime))
	if err != nil {
		return err
	}
	c.tally(records.Shrink).Runs++
	c.flush()
	r := *f
	r.Level, r.Decisions, r.Origin, r.Imported = records.Shrunk, smaller.Decisions, "", ""
	r.Reason, r.Headline = cmp.Or(smaller.Reason, r.Reason), failure.Headline(cmp.Or(smaller.Reason, r.Reason))
	return w.keep(c, &r, smaller.File)
}

// keep stores the file of a failure and its record.
func (w *Worker) keep(c *course, f *records.Failure, file []byte) error {
	digest, err := w.Store.PutBlob(context.Background(), file)
	if err != nil {
		return err
	}
	f.File, f.Worker, f.Code, f.Env, f.AtMs = digest, w.ID, c.place.Code, c.place.Env, now()
	w.write(f.Entry(c.test))
	return nil
}

// answer answers a request that nobody has answered, if it is for a test of this worker.
func (w *Worker) answer(ctx context.Context, r *records.RequestView) {
	k := slices.IndexFunc(w.courses, func(c *course) bool { return c.test == r.Test })
	if k < 0 {
		return
	}
	c := w.courses[k]
	known := w.view.Test(c.test)
	f := known.Failures[known.Known(r.Failure)]
	needed := func() bool { return len(r.Answers) == 0 && f != nil && f.Best() != nil && !w.refused[r.ID] }
	w.alone(ctx, "request/"+string(r.ID), needed, func(ctx context.Context) {
		d := records.Done{Worker: w.ID}
		switch r.Kind {
		case records.ReplayRequest:
			replay, err := w.replay(ctx, c, f.Best())
			if err == nil {
				w.write(replay.Entry(c.test, f.Key()))
				d.Text = replay.Result + ": " + replay.Reason
			} else {
				d.Text = "it could not be replayed: " + err.Error()
			}
		case records.ShrinkRequest:
			if err := w.shrink(ctx, c, f.Best()); err != nil {
				d.Text = "it could not be shrunk: " + err.Error()
			} else {
				d.Text = "shrunk"
			}
		case records.BisectRequest:
			found, err := w.bisect(ctx, c, f, &r.Request)
			if w.refused[r.ID] = errors.Is(err, ErrElsewhere); w.refused[r.ID] {
				w.note(fmt.Sprintf("%s: only a worker with the repository can find the commit of failure %s: %v", c.name, f.ID, err))
				return
			}
			if d.Text = found.String(); err != nil {
				d.Text = "the commit could not be found: " + err.Error()
			}
		case records.ExplainRequest:
			d.Text = w.explain(ctx, c, f)
		default:
			return // of a later version
		}
		if ctx.Err() == nil {
			d.AtMs = now()
			w.write(d.Entry(r.ID))
		}
	})
}

// bisect finds the commit of a failure and records it.
func (w *Worker) bisect(ctx context.Context, c *course, f *records.FailureView, r *records.Request) (*records.Bisected, error) {
	b := &records.Bisected{}
	if err := r.Check(); err != nil {
		return b, err
	}
	file, err := w.Store.Blob(ctx, f.Best().File)
	if err != nil {
		return b, err
	}
	w.note(fmt.Sprintf("%s: looking for the commit of failure %s, at the request of %s", c.name, f.ID, r.By))
	within, cancel := context.WithTimeoutCause(ctx, bisectTime, fmt.Errorf("it took longer than %s", bisectTime))
	defer cancel()
	if *b, err = c.project.Bisect(within, file, r.Good, r.Bad); err != nil {
		return b, cmp.Or(context.Cause(within), err)
	}
	b.Worker, b.Env, b.AtMs = w.ID, c.place.Env, now()
	w.write(b.Entry(c.test, f.Key()))
	return b, nil
}

// trouble notes what could not be done, unless the worker ends.
func (w *Worker) trouble(ctx context.Context, c *course, f *records.FailureView, what string, err error) {
	if ctx.Err() == nil {
		w.note(fmt.Sprintf("%s: failure %s could not be %s: %v", c.name, f.ID, what, err))
	}
}
