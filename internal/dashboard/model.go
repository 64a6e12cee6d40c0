package dashboard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Model is the content of a store, as far as it has been read. It follows the store until the context of Follow ends.
type Model struct {
	store store.Store

	mu      sync.RWMutex
	view    *records.View
	state   State
	changed chan struct{} // closed at the next change of state
	caught  chan struct{} // closed when all was read for the first time
}

// State is how far a Model is.
type State struct {
	Version   uint64    `json:"version"`    // grows with each change
	Changed   time.Time `json:"changed_at"` // when the last entries came
	Reading   bool      `json:"reading"`    // not all was read yet
	Problem   string    `json:"problem,omitempty"`
	ProblemAt time.Time `json:"problem_at,omitzero"`
	// Damages lists the parts that the store could not read of itself.
	Damages []store.Damage `json:"damages,omitempty"`
}

// bundle is how many entries are taken under one lock.
const bundle = 512

// How long Follow waits before it asks a store again that has failed.
const (
	retryFirst = time.Second
	retryMost  = 30 * time.Second
)

// Follow begins to read a store, and goes on when entries come.
func Follow(ctx context.Context, s store.Store, now func() time.Time) *Model {
	m := &Model{store: s, view: records.NewView(), state: State{Reading: true}, changed: make(chan struct{}), caught: make(chan struct{})}
	go m.follow(ctx, now)
	return m
}

func (m *Model) follow(ctx context.Context, now func() time.Time) {
	var at store.Cursor
	var list []store.Entry
	came := 0
	take := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, e := range list {
			m.view.AddEntry(e)
		}
		came += len(list)
		list = list[:0]
	}
	each := func(e store.Entry) error {
		if list = append(list, e); len(list) == bundle {
			take()
		}
		return nil
	}
	wait := retryFirst
	first, sweeps := true, 0 // how often entries had been dropped when all was read
	caught := func(next store.Cursor) error {
		take()
		at, wait = next, retryFirst
		if first {
			first, sweeps = false, m.view.Sweeps
		}
		if m.view.Sweeps > sweeps {
			return errSwept
		}
		m.set(func(s *State) bool {
			damages := store.Damages(m.store)
			news := came > 0 || s.Reading || s.Problem != "" || !slices.Equal(damages, s.Damages)
			s.Damages = damages
			if came > 0 || s.Reading {
				s.Changed = now()
			}
			s.Reading, s.Problem, s.ProblemAt = false, "", time.Time{}
			return news
		})
		came = 0
		return nil
	}
	for {
		err := store.Watch(ctx, m.store, "", at, each, caught)
		if errors.Is(err, errSwept) {
			var next store.Cursor
			if next, err = m.again(ctx); err == nil {
				sweeps = m.view.Sweeps
				came++
				caught(next)
				continue
			}
		}
		if ctx.Err() != nil {
			return
		}
		take() // a later Read gives the same entries again, which does no harm
		m.set(func(s *State) bool {
			if s.Problem == "" {
				s.ProblemAt = now()
			}
			s.Problem = err.Error()
			return true
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			wait = min(2*wait, retryMost)
		}
	}
}

// errSwept ends following when entries were dropped.
var errSwept = errors.New("entries were dropped")

// again reads all of the store into another view, since a view forgets nothing, and takes that.
func (m *Model) again(ctx context.Context) (store.Cursor, error) {
	v := records.NewView()
	next, err := m.store.Read(ctx, "", "", func(e store.Entry) error { v.AddEntry(e); return nil })
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view = v
	return next, nil
}

// set changes the state, and wakes those who wait for that, if change reports that there is something new.
func (m *Model) set(change func(*State) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !change(&m.state) {
		return
	}
	m.state.Version++
	close(m.changed)
	m.changed = make(chan struct{})
	select {
	case <-m.caught:
	default:
		if !m.state.Reading {
			close(m.caught)
		}
	}
}

// Caught is closed when all that was there has been read.
func (m *Model) Caught() <-chan struct{} { return m.caught }

// State gives the present state, and what is closed at its next change.
func (m *Model) State() (State, <-chan struct{}) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state, m.changed
}

// Read calls f with the view, which does not change meanwhile, and which f must not keep.
func (m *Model) Read(f func(*records.View)) State {
	m.mu.RLock()
	defer m.mu.RUnlock()
	f(m.view)
	return m.state
}

// take takes in an entry that was just written, before the store gives it.
func (m *Model) take(e store.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view.AddEntry(e)
}
