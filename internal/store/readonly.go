package store

import (
	"context"
	"time"
)

// ReadOnly is a database that takes nothing.
type ReadOnly struct{ Store }

func (r ReadOnly) String() string { return "readonly:" + r.Store.String() }

// Add implements Store.
func (ReadOnly) Add(context.Context, ...Entry) error { return ErrReadOnly }

// Drop implements Store.
func (ReadOnly) Drop(context.Context, string, func(Entry) bool) (int, error) { return 0, ErrReadOnly }

// Compact implements Store.
func (ReadOnly) Compact(context.Context) (int, error) { return 0, ErrReadOnly }

// PutBlob implements Store.
func (ReadOnly) PutBlob(context.Context, []byte) (Digest, error) { return "", ErrReadOnly }

// DropBlob implements Store.
func (ReadOnly) DropBlob(context.Context, Digest) error { return ErrReadOnly }

// Damages lists those of the database behind it.
func (r ReadOnly) Damages() []Damage { return Damages(r.Store) }

// Check checks the database behind it.
func (r ReadOnly) Check(ctx context.Context, report func(what, damage string)) error {
	return Check(ctx, r.Store, report)
}

// Lease implements Store.
func (ReadOnly) Lease(context.Context, string, string, time.Duration) (Lease, error) {
	return Lease{}, ErrReadOnly
}

// Release implements Store.
func (ReadOnly) Release(context.Context, string, string) error { return ErrReadOnly }

// Upgrade implements upgradable.
func (ReadOnly) Upgrade(context.Context) (Upgraded, error) { return Upgraded{}, ErrReadOnly }
