// Package storetest has the tests that every kind of database passes.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// New makes an empty database, and gives a function that opens it. Each call of that is another client, as of another process; who calls it
// closes it.
type New func(t *testing.T) (open func() store.Store)

// Run tests a kind of database.
func Run(t *testing.T, fresh New) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, fresh New)
	}{
		{"Sets", testSets}, {"BadEntries", testBadEntries}, {"Cursors", testCursors}, {"WatchHasNoGap", testWatch}, {"Blobs", testBlobs},
		{"Leases", testLeases}, {"LeaseHasOneHolder", testContention}, {"Drop", testDrop}, {"Durable", testDurable}, {"Merge", testMerge}, {"Ends", testEnds},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, fresh) })
	}
}

// open opens a database for a test.
func open(t *testing.T, fresh New) store.Store {
	t.Helper()
	s := fresh(t)()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func add(t *testing.T, s store.Store, entries ...store.Entry) {
	t.Helper()
	if err := s.Add(t.Context(), entries...); err != nil {
		t.Fatalf("add: %v", err)
	}
}

func entry(key, value string) store.Entry { return store.Entry{Key: key, Value: []byte(value)} }

// All gives the entries of a database under a prefix as sorted texts, each once.
func All(t *testing.T, s store.Store, prefix string) []string {
	t.Helper()
	set := map[string]bool{}
	if _, err := s.Read(t.Context(), prefix, "", func(e store.Entry) error { set[e.Key+" = "+string(e.Value)] = true; return nil }); err != nil {
		t.Fatalf("read: %v", err)
	}
	return slices.Sorted(maps.Keys(set))
}

// Put adds values to a set.
func Put(t *testing.T, s store.Store, values ...string) {
	t.Helper()
	for _, v := range values {
		add(t, s, entry("k", v))
	}
}

// Later are the values that come behind a cursor.
func Later(t *testing.T, s store.Store, from store.Cursor) (list []string, next store.Cursor) {
	t.Helper()
	next, err := s.Read(t.Context(), "", from, func(e store.Entry) error { list = append(list, string(e.Value)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return list, next
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func testSets(t *testing.T, fresh New) {
	s := open(t, fresh)
	same(t, "empty", All(t, s, ""))
	add(t, s)
	add(t, s, entry("a/1", "x"), entry("a/1", "y"), entry("a/2", "x"), entry("b", ""))
	add(t, s, entry("a/1", "x"))
	add(t, s, entry("a%_\\*?[x]", "pattern"), entry("ключ", "\x00\xff\n"))
	same(t, "all", All(t, s, ""), "a%_\\*?[x] = pattern", "a/1 = x", "a/1 = y", "a/2 = x", "b = ", "ключ = \x00\xff\n")
	same(t, "a/", All(t, s, "a/"), "a/1 = x", "a/1 = y", "a/2 = x")
	same(t, "a%", All(t, s, "a%"), "a%_\\*?[x] = pattern")
	same(t, "a_", All(t, s, "a_"))
	same(t, "a*", All(t, s, "a*"))
	same(t, "c", All(t, s, "c"))
	same(t, "b or a/1", All(t, s, store.AnyOf("b", "a/1")), "a/1 = x", "a/1 = y", "b = ")
	same(t, "a/2 or a/, which begins it", All(t, s, store.AnyOf("a/2", "a/")), "a/1 = x", "a/1 = y", "a/2 = x")

	large := bytes.Repeat([]byte{7}, store.MaxValueBytes)
	key := strings.Repeat("k", store.MaxKeyBytes)
	add(t, s, store.Entry{Key: key, Value: large})
	got := []byte(nil)
	if _, err := s.Read(t.Context(), "kk", "", func(e store.Entry) error { got = bytes.Clone(e.Value); return nil }); err != nil || !bytes.Equal(got, large) {
		t.Fatalf("a large value: %d bytes, %v", len(got), err)
	}
	stop := errors.New("stop")
	if _, err := s.Read(t.Context(), "", "", func(store.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Fatalf("an error of each: %v", err)
	}
}

func testBadEntries(t *testing.T, fresh New) {
	s := open(t, fresh)
	for _, e := range []store.Entry{entry("", "x"), entry("a\x00", "x"), entry("a\nb", "x"), entry("\xff", "x"),
		entry(strings.Repeat("k", store.MaxKeyBytes+1), "x"),
		{Key: "a", Value: make([]byte, store.MaxValueBytes+1)}} {
		if err := s.Add(t.Context(), entry("good", "x"), e); err == nil {
			t.Errorf("an entry of %d bytes with the key %.20q was taken", len(e.Value), e.Key)
		}
	}
	same(t, "after refusals", All(t, s, ""))
}

func testCursors(t *testing.T, fresh New) {
	s := open(t, fresh)
	add(t, s, entry("a", "1"), entry("b", "1"))
	from, err := s.Read(t.Context(), "", "", func(store.Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var later []string
	read := func() {
		later = nil
		if from, err = s.Read(t.Context(), "", from, func(e store.Entry) error { later = append(later, e.Key); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	add(t, s, entry("a", "2"))
	read()
	if !slices.Contains(later, "a") {
		t.Fatalf("behind the cursor: %q", later)
	}
	// What comes again may be a few entries, not all of them for ever.
	for range 3 {
		read()
	}
	if len(later) > 0 {
		time.Sleep(100 * time.Millisecond)
		if read(); len(later) > 0 {
			t.Fatalf("nothing was added, and reading gives %q again and again", later)
		}
	}
	for _, c := range []store.Cursor{"garbage", "{", "-1", "99999999999999999999999"} {
		n := 0
		if _, err := s.Read(t.Context(), "", c, func(store.Entry) error { n++; return nil }); err != nil || n < 3 {
			t.Errorf("the unknown cursor %q: %d entries, %v", c, n, err)
		}
	}
}

func testWatch(t *testing.T, fresh New) {
	again := fresh(t)
	const writers, each = 6, 60
	var wg sync.WaitGroup
	for w := range writers {
		s := again()
		wg.Go(func() {
			defer s.Close()
			for i := range each {
				if err := s.Add(t.Context(), entry(fmt.Sprintf("log/%d", w), fmt.Sprint(i)), entry("other", fmt.Sprint(w, i))); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := errors.New("done")
	var watchers sync.WaitGroup
	for range 3 {
		s := again()
		watchers.Go(func() {
			defer s.Close()
			seen := map[string]bool{}
			err := store.Watch(ctx, s, "log/", "", func(e store.Entry) error {
				if !strings.HasPrefix(e.Key, "log/") {
					return fmt.Errorf("the key %s was not asked for", e.Key)
				}
				seen[e.Key+"="+string(e.Value)] = true
				return nil
			}, func(store.Cursor) error {
				if len(seen) == writers*each {
					return done
				}
				return nil
			})
			if !errors.Is(err, done) {
				t.Errorf("%d of %d entries were seen: %v", len(seen), writers*each, err)
			}
		})
	}
	wg.Wait()
	watchers.Wait()
}

func testBlobs(t *testing.T, fresh New) {
	s := open(t, fresh)
	want := map[store.Digest]bool{}
	for _, b := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("abc"), 1<<20), random(3 << 20)} {
		for range 2 {
			d, err := s.PutBlob(t.Context(), b)
			if err != nil || d != store.DigestOf(b) {
				t.Fatalf("put: %s, %v", d, err)
			}
			want[d] = true
			got, err := s.Blob(t.Context(), d)
			if err != nil || !bytes.Equal(got, b) {
				t.Fatalf("a blob of %d bytes came back with %d: %v", len(b), len(got), err)
			}
		}
	}
	have := map[store.Digest]bool{}
	if err := s.Blobs(t.Context(), func(i store.BlobInfo) error {
		if old := time.Since(i.At); old > time.Hour || old < -time.Hour {
			t.Errorf("%s was put at %s", i.Digest, i.At)
		}
		have[i.Digest] = true
		return nil
	}); err != nil || !maps.Equal(have, want) {
		t.Fatalf("the list of blobs is %v, %v; want %v", have, err, want)
	}
	for d := range want {
		if err := s.DropBlob(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Blob(t.Context(), d); !errors.Is(err, store.ErrNoBlob) {
			t.Fatalf("a dropped blob: %v", err)
		}
	}
	if _, err := s.Blob(t.Context(), "../../etc/passwd"); !errors.Is(err, store.ErrNoBlob) {
		t.Fatalf("what is no digest: %v", err)
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func testLeases(t *testing.T, fresh New) {
	s := open(t, fresh)
	ctx := t.Context()
	first, err := s.Lease(ctx, "shrink/1", "a", time.Hour)
	if err != nil || first.Epoch == 0 || !first.Expires.After(time.Now().Add(time.Minute)) {
		t.Fatalf("%+v, %v", first, err)
	}
	if l, err := s.Lease(ctx, "shrink/1", "b", time.Hour); !errors.Is(err, store.ErrHeld) {
		t.Fatalf("a lease of another: %+v, %v", l, err)
	}
	if l, err := s.Lease(ctx, "shrink/2", "b", time.Hour); err != nil {
		t.Fatalf("another lease: %+v, %v", l, err)
	}
	longer, err := s.Lease(ctx, "shrink/1", "a", 2*time.Hour)
	if err != nil || longer.Epoch != first.Epoch || !longer.Expires.After(first.Expires) {
		t.Fatalf("extended: %+v, %v", longer, err)
	}
	if err := s.Release(ctx, "shrink/1", "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lease(ctx, "shrink/1", "b", time.Hour); !errors.Is(err, store.ErrHeld) {
		t.Fatalf("another could release it: %v", err)
	}
	if err := s.Release(ctx, "shrink/1", "a"); err != nil {
		t.Fatal(err)
	}
	second, err := s.Lease(ctx, "shrink/1", "b", time.Millisecond)
	if err != nil || second.Epoch <= first.Epoch {
		t.Fatalf("after a release: %+v, %v; the first was %+v", second, err, first)
	}
	time.Sleep(20 * time.Millisecond)
	third, err := s.Lease(ctx, "shrink/1", "a", time.Hour)
	if err != nil || third.Epoch <= second.Epoch {
		t.Fatalf("after its end: %+v, %v; the one before was %+v", third, err, second)
	}
}

func testContention(t *testing.T, fresh New) {
	again := fresh(t)
	const clients, rounds = 8, 12
	var mu sync.Mutex
	holders := map[uint64]map[string]bool{} // by epoch
	var wg sync.WaitGroup
	for c := range clients {
		s, me := again(), fmt.Sprint("client", c)
		wg.Go(func() {
			defer s.Close()
			for range rounds {
				l, err := s.Lease(t.Context(), "one", me, time.Hour)
				if errors.Is(err, store.ErrHeld) {
					continue
				}
				if err != nil {
					t.Errorf("lease: %v", err)
					return
				}
				mu.Lock()
				if holders[l.Epoch] == nil {
					holders[l.Epoch] = map[string]bool{}
				}
				holders[l.Epoch][me] = true
				mu.Unlock()
				if err := s.Release(t.Context(), "one", me); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if len(holders) == 0 {
		t.Fatal("nobody got the lease")
	}
	for epoch, list := range holders {
		if len(list) > 1 {
			t.Errorf("epoch %d had the holders %v", epoch, list)
		}
	}
}

func testDrop(t *testing.T, fresh New) {
	s := open(t, fresh)
	for i := range 50 {
		add(t, s, entry("a", fmt.Sprint(i)), entry("b", fmt.Sprint(i)))
	}
	n, err := s.Drop(t.Context(), "a", func(e store.Entry) bool { return len(e.Value) == 2 })
	if err != nil || n != 40 {
		t.Fatalf("%d were dropped, %v", n, err)
	}
	if got := All(t, s, "a"); len(got) != 10 {
		t.Fatalf("%d are left: %q", len(got), got)
	}
	if got := All(t, s, "b"); len(got) != 50 {
		t.Fatalf("%d of another key are left", len(got))
	}
	from, err := s.Read(t.Context(), "", "", func(store.Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, entry("a", "10"))
	later := false
	if _, err := s.Read(t.Context(), "", from,
		func(e store.Entry) error { later = later || string(e.Value) == "10" && e.Key == "a"; return nil }); err != nil || !later {
		t.Fatalf("what was dropped and came again is not given: %v", err)
	}
	before := All(t, s, "")
	if _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "after Compact", All(t, s, ""), before...)
	if err := store.Check(t.Context(), s, func(what, damage string) { t.Errorf("%s: %s", what, damage) }); err != nil {
		t.Fatal(err)
	}
}

func testDurable(t *testing.T, fresh New) {
	again := fresh(t)
	s := again()
	add(t, s, entry("a", "1"), entry("b", "2"))
	d, err := s.PutBlob(t.Context(), []byte("blob"))
	if err != nil {
		t.Fatal(err)
	}
	other := again()
	same(t, "another client", All(t, other, ""), "a = 1", "b = 2")
	if err := errors.Join(s.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	s = again()
	defer s.Close()
	same(t, "after both closed", All(t, s, ""), "a = 1", "b = 2")
	if b, err := s.Blob(t.Context(), d); err != nil || string(b) != "blob" {
		t.Fatalf("the blob: %q, %v", b, err)
	}
}

// fill adds random entries and blobs, of a few, so that databases share some.
func fill(t *testing.T, s store.Store, r *rand.Rand) {
	t.Helper()
	var list []store.Entry
	for range r.IntN(40) {
		list = append(list, entry(fmt.Sprintf("k/%d", r.IntN(4)), fmt.Sprint(r.IntN(30))))
	}
	add(t, s, list...)
	for range r.IntN(4) {
		if _, err := s.PutBlob(t.Context(), []byte(fmt.Sprint(r.IntN(6)))); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are the entries and blobs of a database.
func contents(t *testing.T, s store.Store) []string {
	t.Helper()
	list := All(t, s, "")
	if err := s.Blobs(t.Context(), func(i store.BlobInfo) error { list = append(list, "blob "+string(i.Digest)); return nil }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func testMerge(t *testing.T, fresh New) {
	merge := func(to store.Store, from ...store.Store) store.Store {
		t.Helper()
		for _, f := range from {
			if _, err := store.Merge(t.Context(), to, f); err != nil {
				t.Fatalf("merge: %v", err)
			}
		}
		return to
	}
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b, c := open(t, fresh), open(t, fresh), open(t, fresh)
		memory := store.NewMemory()
		for _, s := range []store.Store{a, b, c, memory} {
			fill(t, s, r)
		}
		want := contents(t, merge(store.NewMemory(), a, b, c, memory))
		same(t, "a, b, c, memory", contents(t, merge(open(t, fresh), a, b, c, memory)), want...)
		bc := merge(open(t, fresh), b, c)
		same(t, "memory, (b, c), a", contents(t, merge(open(t, fresh), memory, bc, a)), want...)
		again := merge(open(t, fresh), c, memory, b, a, c)
		same(t, "c, memory, b, a, c", contents(t, again), want...)
		m, err := store.Merge(t.Context(), again, a)
		if err != nil || m != (store.Merged{}) {
			t.Fatalf("merged once more: %+v, %v", m, err)
		}
		same(t, "b, itself", contents(t, merge(b, b)), contents(t, b)...)
	}
}

func testEnds(t *testing.T, fresh New) {
	s := open(t, fresh)
	add(t, s, entry("a", "1"))
	from, err := s.Read(t.Context(), "", "", func(store.Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		for ctx.Err() == nil {
			s.Wait(ctx, "", from)
		}
		ended <- ctx.Err()
	}()
	cancel()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("Wait does not end with its context")
	}
	if err := s.Add(ctx, entry("a", "2")); err == nil {
		t.Error("Add does not mind that its context has ended")
	}
}
