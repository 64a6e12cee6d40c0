package online

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/config"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
)

// Watch explores live processes, one after the other, until its context ends.
type Watch struct {
	Live *config.Live
	Once bool // ends when each handler was explored
	// Report is called with what came of each checkpoint, and Note with what people should know.
	Report func(*Explored, []Standing)
	Note   func(string)
	// Recorder records findings and effort; nil does not.
	Recorder *Recorder

	pace  *Pace
	tasks []*watched
}

// watched is a handler of a process.
type watched struct {
	Task
	due    time.Time
	failed bool // the last checkpoint could not be explored, as a note says
}

// Standing is a finding at one checkpoint.
type Standing struct {
	search.Finding
	New  bool // it was not known
	Gone bool // it was known, and the checkpoint does not show it
}

// Run explores until its context ends. found reports whether the last checkpoint of a handler showed a finding, and explored how
// many checkpoints were explored.
func (w *Watch) Run(ctx context.Context) (found bool, explored int, err error) {
	if w.pace, err = Lower(&w.Live.Budget); err != nil {
		return false, 0, err
	}
	if err := w.list(ctx); err != nil {
		return false, 0, err
	}
	shows := map[*watched]bool{}
	for {
		next := slices.MinFunc(w.tasks, func(a, b *watched) int { return a.due.Compare(b.due) })
		if w.Once && !next.due.IsZero() {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(next.due)):
		}
		if ctx.Err() != nil {
			break
		}
		next.due = time.Now().Add(w.Live.CheckpointEvery)
		shows[next], err = w.explore(ctx, next)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			if !next.failed {
				w.Note(err.Error())
			}
			next.failed = true
			continue
		}
		next.failed = false
		explored++
	}
	for _, s := range shows {
		found = found || s
	}
	return found, explored, nil
}

// list makes the tasks.
func (w *Watch) list(ctx context.Context) error {
	for _, n := range w.Live.Nodes {
		names, err := Handlers(&n)
		if err != nil {
			return err
		}
		for _, h := range n.Handlers {
			if !slices.Contains(names, h) {
				return fmt.Errorf("%s has no handler %s: it has %v", n.Name, h, names)
			}
		}
		if n.Handlers != nil {
			names = n.Handlers
		}
		for _, h := range names {
			t := &watched{Task: Task{Node: n, Handler: h}}
			if w.Recorder != nil {
				if t.Known, err = w.Recorder.known(ctx, &t.Task); err != nil {
					return err
				}
			}
			w.tasks = append(w.tasks, t)
		}
	}
	return nil
}

// explore explores the handler in a checkpoint of now.
func (w *Watch) explore(ctx context.Context, t *watched) (found bool, err error) {
	x, err := Explore(ctx, &t.Task, &w.Live.Budget, w.pace)
	if err != nil || ctx.Err() != nil {
		return false, err
	}
	list := Standings(t.Known, x)
	for _, s := range list {
		if s.New {
			t.Known = append(t.Known, s.Finding)
		}
		found = found || !s.Gone
	}
	w.Report(x, list)
	if w.Recorder != nil {
		if err := w.Recorder.record(ctx, &t.Task, x, list); err != nil {
			w.Note(fmt.Sprintf("could not store the findings for %s: %v", t.Node.Name, err))
		}
	}
	return found, nil
}

// Standings compares what was known before with what a checkpoint has shown.
func Standings(known []search.Finding, x *Explored) (list []Standing) {
	for i, f := range known {
		again := slices.IndexFunc(x.Findings, func(g search.Finding) bool { return g.Failure() == f.Failure() })
		if again >= 0 && !x.Known[i] { // other inputs show it now
			f = x.Findings[again]
		}
		list = append(list, Standing{Finding: f, Gone: again < 0 && !x.Known[i]})
	}
	for _, g := range x.Findings {
		if !slices.ContainsFunc(known, func(f search.Finding) bool { return g.Failure() == f.Failure() }) {
			list = append(list, Standing{Finding: g, New: true})
		}
	}
	return list
}
