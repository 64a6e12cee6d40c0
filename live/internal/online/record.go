package online

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
)

// Recorder records findings and effort in a store: a handler of a node is a test, and its process a worker's code.
type Recorder struct {
	store  store.Store
	worker records.ID
	env    records.Env
	seq    uint64
	states map[string]records.State // of tests: the sides of branches that were taken
	codes  map[string]records.ID    // of programs
}

// NewRecorder records this process as a worker.
func NewRecorder(ctx context.Context, s store.Store, worker records.ID, w records.Worker, env records.Env) (*Recorder, error) {
	r := &Recorder{store: s, worker: worker, env: env, states: map[string]records.State{}, codes: map[string]records.ID{}}
	return r, s.Add(ctx, w.Entry(worker), env.Entry())
}

// End records that this process ends.
func (r *Recorder) End(ctx context.Context, w records.Worker) error {
	w.EndedMs = time.Now().UnixMilli()
	return r.store.Add(ctx, w.Entry(r.worker))
}

// known are the findings that the store has of a handler, and does not know to be fixed.
func (r *Recorder) known(ctx context.Context, t *Task) (list []search.Finding, err error) {
	id := records.TestID(records.LiveTest(t.Node.Name, t.Handler))
	v := records.NewView()
	if _, err := r.store.Read(ctx, records.FailuresOf(id), "", func(e store.Entry) error { v.AddEntry(e); return nil }); err != nil {
		return nil, err
	}
	for _, f := range v.Test(id).Failures {
		best := f.Best()
		if best == nil {
			continue
		}
		file, err := r.store.Blob(ctx, best.File)
		if err != nil {
			return nil, err
		}
		live, err := records.ParseLiveFailure(file)
		if err != nil {
			return nil, fmt.Errorf("failure %s of %s in the store: %w", f.ID, t.Node.Name, err)
		}
		g := search.Finding{What: live.What, Where: live.Where}
		for _, in := range live.Inputs {
			g.Inputs = append(g.Inputs, search.Value(in))
		}
		list = append(list, g)
	}
	return list, nil
}

// record adds what a checkpoint has shown.
func (r *Recorder) record(ctx context.Context, t *Task, x *Explored, list []Standing) error {
	name := records.LiveTest(t.Node.Name, t.Handler)
	test := records.TestID(name)
	now := time.Now().UnixMilli()
	var entries []store.Entry
	code, known := r.codes[x.Program]
	if !known {
		c := records.Code{AtMs: now}
		digest, err := digestOf(x.Program)
		if err != nil {
			return err
		}
		c.Programs = []string{filepath.Base(x.Program) + " " + digest}
		code = c.ID()
		r.codes[x.Program] = code
		entries = append(entries, c.Entry(), (&records.Test{Name: name, Definition: digest, AtMs: now}).Entry())
	}
	violated := uint64(0)
	for _, s := range list {
		live := records.LiveFailure{Node: t.Node.Name, Handler: t.Handler, What: s.What, Where: s.Where}
		for _, in := range s.Inputs {
			live.Inputs = append(live.Inputs, records.LiveInput(in))
		}
		failure := records.FailureID(test, live.Signature())
		switch {
		case s.New:
			text, err := json.Marshal(live)
			if err != nil {
				return err
			}
			file, err := r.store.PutBlob(ctx, text)
			if err != nil {
				return err
			}
			entries = append(entries, (&records.Failure{Failure: live.Identity(), Reason: s.InputsText(),
				Level: records.Raw, Decisions: len(s.Inputs), Tape: fmt.Sprintf("path %d", s.Path),
				Run: uint64(s.Path), Origin: "concolic", File: file, Worker: r.worker, Code: code, Env: r.env.ID(), AtMs: now}).Entry(test))
		default:
			result := records.Reproduced
			if s.Gone {
				result = records.Clean
			}
			entries = append(entries, (&records.Replay{Code: code, Env: r.env.ID(), Worker: r.worker, Result: result, AtMs: now}).Entry(test, failure))
		}
		if !s.Gone {
			violated += uint64(max(1, s.Paths))
		}
	}
	from := r.states[name]
	to := records.State{}
	for site, sides := range x.Taken {
		for side := range 2 {
			if sides&(1<<side) != 0 {
				to = to.With(uint64(site)<<1 | uint64(side))
			}
		}
	}
	r.states[name] = to
	r.seq++
	span := &records.Span{Seq: r.seq, AtMs: now, Ms: x.Took.Milliseconds(), Phase: records.Search, From: from, To: to,
		Size: uint64(x.Sides), Runs: uint64(x.Paths), Violated: violated, Lost: uint64(x.Stuck)}
	return r.store.Add(ctx, append(entries, span.Entry(test, code, r.env.ID(), r.worker))...)
}

func digestOf(program string) (string, error) {
	f, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
