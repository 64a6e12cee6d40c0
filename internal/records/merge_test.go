package records

import (
	"crypto/sha256"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Databases of 10^5 records in all, some of which several have, give the same view whatever the order in which they are merged, and how often.
func TestMergedDatabases(t *testing.T) {
	const operations = 100_000
	folder := t.TempDir()
	open := func(name string) *store.Dir {
		d, err := store.OpenDir(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	r := rand.New(rand.NewPCG(1, 11))
	sources := []store.Store{open("a"), open("b"), store.NewMemory()}
	for made := 0; made < operations; {
		list := random(r)
		made += len(list)
		for i, s := range sources {
			if i == r.IntN(len(sources)) || r.IntN(4) == 0 {
				if err := s.Add(t.Context(), list...); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	sum := func(s store.Store) [sha256.Size]byte {
		v := NewView()
		if _, err := s.Read(t.Context(), "", "", func(e store.Entry) error { v.AddEntry(e); return nil }); err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256([]byte(text(t, v)))
	}
	merged := func(name string, order ...store.Store) store.Store {
		d := open(name)
		for _, s := range order {
			if _, err := store.Merge(t.Context(), d, s); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	a, b, c := sources[0], sources[1], sources[2]
	want := sum(merged("abc", a, b, c))
	for name, d := range map[string]store.Store{"cba": merged("cba", c, b, a), "a(bc)": merged("a-bc", a, merged("bc", b, c)),
		"(ca)bac": merged("ca-bac", merged("ca", c, a), b, a, c)} {
		if sum(d) != want {
			t.Errorf("%s is not abc", name)
		}
	}
	if sum(a) == want {
		t.Error("a alone is all already; the test shows nothing")
	}
}
