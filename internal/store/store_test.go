package store_test

import (
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

func openDir(t *testing.T, path string) *store.Dir {
	t.Helper()
	d, err := store.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// open keeps a database of this process open when a client closes it.
type shared struct{ store.Store }

func (shared) Close() error { return nil }

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		m := store.NewMemory()
		return func() store.Store { return shared{m} }
	})
}

func TestDir(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		path := filepath.Join(t.TempDir(), "db")
		return func() store.Store { return openDir(t, path) }
	})
}

func TestLayered(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		local, behind := t.TempDir(), store.NewMemory()
		return func() store.Store {
			return store.NewLayered(openDir(t, local), shared{behind}, filepath.Join(local, "pushed"))
		}
	})
}
