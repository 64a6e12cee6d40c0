package fleet

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// failing is a store that can be away.
type failing struct {
	store.Store
	down atomic.Bool
}

var errAway = errors.New("away")

func (f *failing) Add(ctx context.Context, entries ...store.Entry) error {
	if f.down.Load() {
		return errAway
	}
	return f.Store.Add(ctx, entries...)
}

func (f *failing) Read(ctx context.Context, prefix string, from store.Cursor, each func(store.Entry) error) (store.Cursor, error) {
	if f.down.Load() {
		return from, errAway
	}
	return f.Store.Read(ctx, prefix, from, each)
}
