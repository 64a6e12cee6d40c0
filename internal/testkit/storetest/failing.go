package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

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

// Damage writes something that is no entry behind those of each segment of a folder.
func Damage(t testing.TB, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "log", "*.seg"))
	if err != nil || len(files) == 0 {
		t.Fatal("no segments", err)
	}
	for _, file := range files {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("\xff\xff\xff\xff\xff\xff\xff\xff"); err != nil {
			t.Fatal(err)
		}
	}
}
