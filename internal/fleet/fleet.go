// Package fleet is the life of a worker: it chooses a test, runs a slice of its campaign, writes what came of it into the store, takes in what others have
// written, and shrinks and replays failures. Workers know each other only by the store. There is no coordinator.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Project is a test that this machine can run.
type Project interface {
	Test() records.Test
	// Code identifies the code that it runs.
	Code() records.Code
	// Strategy makes the strategy of its campaigns.
	Strategy(seed uint64) (search.Strategy, error)
	// Campaign makes a campaign that lacks only what the worker sets: strategy, time, and what is called for its runs.
	Campaign() *explore.Campaign
	// File is the file of a violation, which replays it.
	File(f *explore.Failure, o *check.Judged) ([]byte, error)
	// Replay makes the run of a failure's file on the present code. It sets Result, Hash and Reason.
	Replay(ctx context.Context, file []byte) (records.Replay, error)
	// Shrink makes the run of a failure's file smaller within a time, and returns the file with it.
	Shrink(ctx context.Context, file []byte, within time.Duration) (Smaller, error)
	// Bisect finds the commit between two revisions that introduced the failure of a file, or fixed it; no bad one is the present commit. It sets what it
	// finds. ErrElsewhere says that this machine lacks what it takes.
	Bisect(ctx context.Context, file []byte, good, bad string) (records.Bisected, error)
	// Page makes the run of a failure's file and gives its report page.
	Page(ctx context.Context, file []byte) ([]byte, error)
	// Explain finds, within a time, from which moment on the run of a failure's file was likely to fail.
	Explain(ctx context.Context, file []byte, within time.Duration) (Explanation, error)
}

// ErrElsewhere is the answer to a request that another worker may be able to answer.
var ErrElsewhere = errors.New("this worker cannot do that")

// Smaller is a failure that was shrunk.
type Smaller struct {
	File      []byte
	Reason    string // of its violation
	Decisions int
	Minimal   bool // 1-minimal: removing any one decision makes the failure disappear
}

// Explanation says why a run came to its failure.
type Explanation struct {
	Hash  string // trace hash of the run
	Clear bool   // there is a moment from which on it was likely
	JSON  []byte // the report.Explanation
}

// Worker is one of a fleet.
type Worker struct {
	Store    store.Store
	ID       records.ID
	Identity records.Worker
	Env      records.Env
	Projects []Project
	// Slice is how long a test runs before another may be chosen.
	Slice time.Duration
	// For ends the worker after a time, UntilRisk when the risk that the next run of any test shows something new is at most so much; 0 is never.
	For       time.Duration
	UntilRisk float64
	// Note is called for what people should know while it runs.
	Note func(string)
	// Announce is called for a kind of failure that the store did not have, with the name of its test.
	Announce func(test string, f *records.Failure)

	courses []*course
	view    *records.View
	prefix  string // of the records that it reads
	cursor  store.Cursor
	looked  time.Time           // when it read them last
	packed  time.Time           // when it tried to pack spans last
	owed    []store.Entry       // that the store could not take
	failing bool                // at the last try
	local   bool                // whether it has noted that the local store takes nothing
	away    bool                // whether it has noted that the shared store is away
	damages map[string]bool     // parts of the store of which it has noted that they are damaged
	refused map[records.ID]bool // requests that are for others
	began   time.Time
}

// Result summarises the work of a worker.
type Result struct {
	Runs     uint64   `json:"runs"`
	Features int      `json:"features"` // that it knows, its own and those of others
	Failures []string `json:"failures"` // signatures of failures that show in the code that it ran
	Reason   string   `json:"reason"`   // why it ended
	// Silent are the canaries of which no failure is known, although enough of their runs were made.
	Silent []string `json:"silent,omitempty"`
	// Unwritten counts records that the store did not take.
	Unwritten int `json:"unwritten,omitempty"`
	// Unsent says why the shared store does not have all.
	Unsent string `json:"unsent,omitempty"`
}

// Reasons why a worker ends.
const (
	Drained   = "drained"
	TimeIsUp  = "its time is up"
	RiskIsLow = "the risk is low enough"
)

// Run works until ctx ends, or what was asked for is reached.
func (w *Worker) Run(ctx context.Context) (*Result, error) {
	w.began = time.Now()
	if err := w.register(); err != nil {
		return nil, err
	}
	reason := ""
	for turn := uint64(0); reason == ""; turn++ {
		w.refresh(ctx)
		w.waitWhilePaused(ctx)
		w.duties(ctx)
		w.pack(ctx)
		if reason = w.over(ctx); reason != "" {
			break
		}
		c := w.choose(turn)
		if err := c.slice(ctx); err != nil {
			return nil, err
		}
		reason = w.over(ctx)
	}
	w.lastPages(ctx)
	return w.signOff(ctx, reason)
}

// register writes what the worker is and runs.
func (w *Worker) register() error {
	w.view, w.refused, w.damages = records.NewView(), map[records.ID]bool{}, map[string]bool{}
	seeds := store.DigestOf([]byte(w.ID))
	list := []store.Entry{w.Identity.Entry(w.ID), w.Env.Entry()}
	prefixes := records.RequestPrefixes()
	for _, p := range w.Projects {
		t, code := p.Test(), p.Code()
		c, err := newCourse(w, p, &t, &code, seeds)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		w.courses = append(w.courses, c)
		list = append(list, t.Entry(), code.Entry())
		prefixes = append(prefixes, records.Prefixes(c.test, c.place.Code, w.UntilRisk > 0)...)
	}
	w.prefix = store.AnyOf(prefixes...)
	w.write(list...)
	return nil
}

// over says why the worker ends now; empty if it goes on.
func (w *Worker) over(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return Drained
	case w.For > 0 && time.Since(w.began) >= w.For:
		return TimeIsUp
	case w.UntilRisk > 0 && w.risk() <= w.UntilRisk:
		return RiskIsLow
	}
	return ""
}

// left bounds a time by the end of the worker.
func (w *Worker) left(d time.Duration) time.Duration {
	if w.For > 0 {
		d = min(d, w.For-time.Since(w.began))
	}
	return max(d, time.Millisecond)
}

// risk is the largest bound among the tests that the next run shows something new; 1 where there is none.
func (w *Worker) risk() (most float64) {
	for _, c := range w.courses {
		bound := 1.0
		if r := w.view.Test(c.test).Risk(c.place.Code, records.AnyFeature); r != nil && r.Not == "" {
			bound = r.Bound
		}
		most = max(most, bound)
	}
	return most
}

// signOff writes that the worker ends, and why.
func (w *Worker) signOff(ctx context.Context, reason string) (*Result, error) {
	bye := w.Identity
	bye.EndedMs, bye.Reason = now(), reason
	for _, c := range w.courses {
		c.flushCounts()
	}
	w.write(bye.Entry(w.ID))
	r := &Result{Reason: reason, Unwritten: len(w.owed)}
	if l, ok := w.Store.(*store.Layered); ok {
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		switch err := l.Flush(flush); {
		case errors.Is(err, store.ErrLocal):
			w.note(fmt.Sprintf("the shared store has everything; %v", oneLine(err)))
		case err != nil:
			r.Unsent = oneLine(err)
			w.note(fmt.Sprintf("the shared store does not have everything yet: %s; "+
				"the rest follows when a worker runs again with the same local store", r.Unsent))
		}
	}
	for _, c := range w.courses {
		r.Runs += c.runs
		if c.canary {
			if len(w.view.Test(c.test).Failures) == 0 && c.runs >= canaryRuns {
				r.Silent = append(r.Silent, c.name)
			}
			continue
		}
		r.Features += len(c.known)
		for id, f := range w.view.Test(c.test).Failures {
			if cell := f.Matrix()[c.place]; cell.Result == records.Reproduced || c.failures[id] {
				r.Failures = append(r.Failures, f.Signature)
			}
		}
	}
	return r, nil
}

// canaryRuns is after how many runs a canary should have failed.
const canaryRuns = 100

// flushTime is how long a worker that ends tries to reach the shared store.
const flushTime = 10 * time.Second

// write adds entries to the store. What it does not take is tried again with the next ones.
func (w *Worker) write(list ...store.Entry) {
	w.owed = append(w.owed, list...)
	for _, e := range list {
		w.view.AddEntry(e) // also what the store lacks
	}
	err := w.Store.Add(context.Background(), w.owed...)
	if err == nil {
		w.owed = nil
	}
	if err != nil && !w.failing {
		w.note(fmt.Sprintf("the store refuses findings: %v; the worker keeps them in memory and retries", err))
	}
	w.failing = err != nil
}

// refresh takes in what others have written since it was called before.
func (w *Worker) refresh(ctx context.Context) {
	w.looked = time.Now()
	news := false
	next, err := w.Store.Read(ctx, w.prefix, w.cursor, func(e store.Entry) error {
		news = w.view.AddEntry(e) || news
		return nil
	})
	if err == nil {
		w.cursor = next
	} else if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		w.note(fmt.Sprintf("the store cannot be read: %v", err))
	}
	w.troubles()
	for _, d := range store.Damages(w.Store) {
		if !w.damages[d.What] {
			w.damages[d.What] = true
			w.note(fmt.Sprintf("the store is damaged: %s: %s; see bloodhound db fsck", d.What, d.Damage))
		}
	}
	if !news {
		return
	}
	for _, c := range w.courses {
		c.adopt()
	}
}

// troubles notes that the shared store is lost, or back, and the same of a local one in front of it, once each.
func (w *Worker) troubles() {
	l, ok := w.Store.(*store.Layered)
	if !ok {
		return
	}
	local, shared := l.Trouble()
	if shared != nil && !w.away {
		w.note(fmt.Sprintf("the shared store %s is unreachable: %s; findings go to the local store", l.Shared(), oneLine(shared)))
	} else if shared == nil && w.away {
		w.note(fmt.Sprintf("the shared store %s is reachable again", l.Shared()))
	}
	if local != nil && !w.local {
		w.note(fmt.Sprintf("the local store accepts no writes: %s; findings go to the shared store", oneLine(local)))
	} else if local == nil && w.local {
		w.note("the local store accepts findings again")
	}
	w.away, w.local = shared != nil, local != nil
}

// oneLine is the text of an error whose lines are joined.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// lookEvery is how often a worker takes in what others have written while it runs a test.
const lookEvery = 10 * time.Second

// look refreshes when it is time for it.
func (w *Worker) look(ctx context.Context) {
	if time.Since(w.looked) >= lookEvery {
		w.refresh(ctx)
	}
}

// signEvery is how often a worker that is paused gives a sign of life.
const signEvery = time.Minute

// waitWhilePaused returns when nobody asks workers to pause any more, or the worker's time is over.
func (w *Worker) waitWhilePaused(ctx context.Context) {
	if !w.view.Paused() {
		return
	}
	w.note(strings.TrimSuffix(fmt.Sprintf("paused by %s: %s", w.view.Pause.By, w.view.Pause.Text), ": "))
	var signed time.Time
	for w.view.Paused() && w.over(ctx) == "" {
		if time.Since(signed) >= signEvery {
			signed = time.Now()
			sign := w.Identity
			sign.SeenMs = now()
			w.write(sign.Entry(w.ID))
		}
		w.write() // what the store could not take
		wait, cancel := context.WithTimeout(ctx, w.left(lookEvery))
		if err := w.Store.Wait(wait, w.prefix, w.cursor); err != nil {
			<-wait.Done() // it is away
		}
		cancel()
		w.refresh(ctx)
	}
	if !w.view.Paused() {
		w.note("resumed by " + w.view.Pause.By)
	}
}

func (w *Worker) note(text string) {
	if w.Note != nil {
		w.Note(text)
	}
}

// now is the present, as records have it.
func now() int64 { return time.Now().UnixMilli() }
