package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/records"
)

// lastTime bounds how long a worker whose time is up makes pages of what it found in its last slice.
const lastTime = 20 * time.Second

// pageOnce stores what the run of a failure looks like, if it shows in this code and nobody has.
func (w *Worker) pageOnce(ctx context.Context, c *course, f *records.FailureView) {
	needed := func() bool {
		best := f.Best()
		return best != nil && f.Page(best.File) == nil && !c.paged[best.File] && f.Matrix()[c.place].Result == records.Reproduced
	}
	w.alone(ctx, fmt.Sprintf("page/%s/%s", c.test, f.ID), needed, func(ctx context.Context) {
		best := f.Best()
		err := w.page(ctx, c, f, best)
		c.paged[best.File] = ctx.Err() == nil // what does not work now does not work a minute later
		if err != nil {
			w.trouble(ctx, c, f, "shown", err)
		}
	})
}

func (w *Worker) page(ctx context.Context, c *course, f *records.FailureView, best *records.Failure) error {
	file, err := w.Store.Blob(ctx, best.File)
	if err != nil {
		return err
	}
	page, err := c.project.Page(ctx, file)
	switch {
	case err != nil:
		return err
	case len(page) > records.MaxPageBytes:
		return fmt.Errorf("its page has %s, but the store accepts at most %d", plural.Count(len(page), "byte"), records.MaxPageBytes)
	}
	digest, err := w.Store.PutBlob(ctx, page)
	if err != nil {
		return err
	}
	p := records.Page{Of: best.File, File: digest, Worker: w.ID, Code: c.place.Code, Env: c.place.Env, AtMs: now()}
	w.write(p.Entry(c.test, f.Key()))
	return nil
}

// lastPages makes pages of failures that this worker has found and has had no time to do more about.
func (w *Worker) lastPages(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastTime)
	defer cancel()
	for _, c := range w.courses {
		failures := w.view.Test(c.test).Failures
		for _, id := range slices.Sorted(maps.Keys(c.failures)) {
			if f := failures[id]; f != nil {
				w.pageOnce(ctx, c, f)
			}
		}
	}
}

// explain finds from which moment on a failure was likely, and records it. It returns the answer for people.
func (w *Worker) explain(ctx context.Context, c *course, f *records.FailureView) string {
	file, err := w.Store.Blob(ctx, f.Best().File)
	var e Explanation
	if err == nil {
		e, err = c.project.Explain(ctx, file, w.left(dutyTime))
	}
	if err != nil {
		return "it could not be explained: " + err.Error()
	}
	x := records.Explained{Hash: e.Hash, Worker: w.ID, Code: c.place.Code, Env: c.place.Env, AtMs: now(), Explanation: e.JSON}
	w.write(x.Entry(c.test, f.Key()))
	if !e.Clear {
		return "explained: no single moment decided it"
	}
	return "explained"
}
