package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

// While the shared database is away, a worker goes on; what it added arrives later, also if it was ended before.
func TestLayeredSharedAway(t *testing.T) {
	shared := &storetest.Failing{Store: store.NewMemory()}
	local := t.TempDir()
	mark := filepath.Join(local, "pushed")
	shared.Down.Store(true)
	l := store.NewLayered(openDir(t, local), shared, mark)
	storetest.Put(t, l, "first")
	blob, err := l.PutBlob(t.Context(), []byte("blob"))
	if err != nil {
		t.Fatal(err)
	}
	if got := storetest.All(t, l, ""); !slices.Equal(got, []string{"k = first"}) {
		t.Fatalf("while it is away: %q", got)
	}
	if local, shared := l.Trouble(); local != nil || !errors.Is(shared, storetest.ErrAway) {
		t.Fatalf("trouble: %v, %v", local, shared)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	shared.Down.Store(false)
	l = store.NewLayered(openDir(t, local), shared, mark)
	storetest.Put(t, l, "second")
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := storetest.All(t, shared, ""); !slices.Equal(got, []string{"k = first", "k = second"}) {
		t.Fatalf("afterwards: %q", got)
	}
	if b, err := shared.Blob(t.Context(), blob); err != nil || string(b) != "blob" {
		t.Fatalf("the blob: %q, %v", b, err)
	}
	if local, shared := l.Trouble(); local != nil || shared != nil {
		t.Fatalf("trouble: %v, %v", local, shared)
	}
	l.Close()
}

// full is a database that takes nothing while it is down, and can be read.
type full struct{ *storetest.Failing }

func (f full) Read(ctx context.Context, prefix string, from store.Cursor, each func(store.Entry) error) (store.Cursor, error) {
	return f.Store.Read(ctx, prefix, from, each)
}

// While the local database is full, the shared one gets what is added, and the local one later.
func TestLayeredLocalFull(t *testing.T) {
	shared, local := &storetest.Failing{Store: store.NewMemory()}, &storetest.Failing{Store: store.NewMemory()}
	l := store.NewLayered(full{local}, shared, "")
	defer l.Close()
	local.Down.Store(true)
	storetest.Put(t, l, "first", "second")
	for range 100 {
		if len(storetest.All(t, shared, "")) == 2 {
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		l.Flush(ctx)
		cancel()
	}
	soon, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if err := l.Flush(soon); !errors.Is(err, store.ErrLocal) || !errors.Is(err, storetest.ErrAway) {
		t.Errorf("the shared one has all: %v", err)
	}
	if mine, theirs := l.Trouble(); !errors.Is(mine, storetest.ErrAway) || theirs != nil {
		t.Errorf("trouble: %v, %v", mine, theirs)
	}
	local.Down.Store(false)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []store.Store{shared, local} {
		if got := storetest.All(t, s, ""); !slices.Equal(got, []string{"k = first", "k = second"}) {
			t.Fatalf("%q", got)
		}
	}
}

// silent is a database that answers late that it is away.
type silent struct {
	store.Store
	asked atomic.Int64
}

func (s *silent) Read(ctx context.Context, _ string, from store.Cursor, _ func(store.Entry) error) (store.Cursor, error) {
	s.asked.Add(1)
	time.Sleep(100 * time.Millisecond) // as the end of a timeout would
	return from, storetest.ErrAway
}

// A shared database that does not answer is not asked each time, so that a worker spends its time on its work.
func TestLayeredSharedSilent(t *testing.T) {
	shared := &silent{Store: store.NewMemory()}
	l := store.NewLayered(store.NewMemory(), shared, "")
	defer l.Close()
	storetest.Put(t, l, "first")
	for range 50 {
		if got := storetest.All(t, l, ""); !slices.Equal(got, []string{"k = first"}) {
			t.Fatalf("%q", got)
		}
	}
	if n := shared.asked.Load(); n == 0 || n > 10 {
		t.Errorf("it was asked %d times", n)
	}
}

// Of the processes with the same local database one copies, and another goes on where it ends.
func TestLayeredOneCopies(t *testing.T) {
	shared := &counting{Store: store.NewMemory()}
	local := t.TempDir()
	mark := filepath.Join(local, "pushed")
	var list []*store.Layered
	for range 4 {
		list = append(list, store.NewLayered(openDir(t, local), shared, mark))
	}
	for i, l := range list {
		storetest.Put(t, l, fmt.Sprint("entry ", i))
	}
	for _, l := range list {
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := storetest.All(t, shared, ""); len(got) != len(list) {
		t.Fatalf("the shared database has %q", got)
	}
	// One that begins now has nothing to copy.
	before := shared.added.Load()
	l := store.NewLayered(openDir(t, local), shared, mark)
	defer l.Close()
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := shared.added.Load() - before; n != 0 {
		t.Errorf("%d entries were copied again", n)
	}
}

// counting counts the entries that it is given.
type counting struct {
	store.Store
	added atomic.Int64
}

func (c *counting) Add(ctx context.Context, entries ...store.Entry) error {
	c.added.Add(int64(len(entries)))
	return c.Store.Add(ctx, entries...)
}

func (c *counting) Close() error { return nil }

// A shared database that refuses the user is told from one that is away.
func TestLayeredRefused(t *testing.T) {
	for _, why := range []error{store.ErrRefused, storetest.ErrAway, nil} {
		l := store.NewLayered(store.NewMemory(), &refusing{store.NewMemory(), why}, "")
		if err := l.Refused(t.Context()); (err != nil) != (why == store.ErrRefused) {
			t.Errorf("%v: %v", why, err)
		}
		l.Close()
	}
}

type refusing struct {
	store.Store
	why error
}

func (r *refusing) Release(context.Context, string, string) error { return r.why }
