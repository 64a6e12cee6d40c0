package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

// Random databases that add, and merge with each other in any direction and order, have the union of what came to them; and merging all of them in two orders
// gives the same.
func TestMergesAreUnions(t *testing.T) {
	operations := 20_000
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		operations = 1_000_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	type database struct {
		store.Store
		want map[string]bool
	}
	var list []database
	folder := t.TempDir()
	for i := range 8 {
		s := store.Store(store.NewMemory())
		if i%2 == 0 {
			d := openDir(t, filepath.Join(folder, fmt.Sprint(i)))
			defer d.Close()
			s = d
		}
		list = append(list, database{s, map[string]bool{}})
	}
	merge := func(to, from database) {
		t.Helper()
		if _, err := store.Merge(t.Context(), to.Store, from.Store); err != nil {
			t.Fatal(err)
		}
		maps.Copy(to.want, from.want)
	}
	for done := 0; done < operations; {
		db := list[r.IntN(len(list))]
		if r.IntN(12) == 0 {
			merge(db, list[r.IntN(len(list))])
			done++
			continue
		}
		var bundle []store.Entry
		for range 1 + r.IntN(400) {
			e := store.Entry{Key: fmt.Sprint("k", r.IntN(20)), Value: fmt.Append(nil, r.IntN(operations/10))}
			bundle = append(bundle, e)
			db.want[e.Key+" = "+string(e.Value)] = true
			done++
		}
		if err := db.Add(t.Context(), bundle...); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, db database) {
		t.Helper()
		if got, want := storetest.All(t, db, ""), slices.Sorted(maps.Keys(db.want)); !slices.Equal(got, want) {
			t.Errorf("%s has %d entries, want %d", what, len(got), len(want))
		}
	}
	for i, db := range list {
		check(fmt.Sprint("database ", i), db)
	}
	d := openDir(t, filepath.Join(folder, "all"))
	defer d.Close()
	all := []database{{store.NewMemory(), map[string]bool{}}, {d, map[string]bool{}}}
	for _, to := range all {
		for _, i := range r.Perm(len(list)) {
			merge(to, list[i])
			merge(to, list[i])
		}
		check(to.String(), to)
	}
	if !maps.Equal(all[0].want, all[1].want) {
		t.Error("two orders give two databases")
	}
}
