package storetest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Failing is a database that can be away, or full. Close leaves it open, as that of one client among several does.
type Failing struct {
	store.Store
	Down atomic.Bool
}

// ErrAway is the answer of a Failing that is down.
var ErrAway = errors.New("away")

// Add implements store.Store.
func (f *Failing) Add(ctx context.Context, entries ...store.Entry) error {
	if f.Down.Load() {
		return ErrAway
	}
	return f.Store.Add(ctx, entries...)
}

// Read implements store.Store.
func (f *Failing) Read(ctx context.Context, prefix string, from store.Cursor, each func(store.Entry) error) (store.Cursor, error) {
	if f.Down.Load() {
		return from, ErrAway
	}
	return f.Store.Read(ctx, prefix, from, each)
}

// Close implements store.Store.
func (*Failing) Close() error { return nil }
