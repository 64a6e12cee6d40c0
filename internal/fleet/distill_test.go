package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// What is kept reaches all, nothing of it can be spared, and it does not depend on the order of the runs.
func TestCover(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var runs []reach
		for i := range r.IntN(30) {
			x := reach{name: fmt.Sprintf("%02d", i), events: r.Uint64N(5), lost: r.IntN(20) == 0}
			for range r.IntN(8) {
				if id := r.Uint64N(25); !x.lost && !slices.Contains(x.features, id) {
					x.features = append(x.features, id)
				}
			}
			runs = append(runs, x)
		}
		union := func(spared func(name string) bool) int {
			set := map[uint64]bool{}
			for _, x := range runs {
				for _, id := range x.features {
					set[id] = set[id] || !spared(x.name)
				}
			}
			n := 0
			for _, is := range set {
				if is {
					n++
				}
			}
			return n
		}
		kept, features := cover(runs)
		if all := union(func(string) bool { return false }); features != all || union(func(name string) bool { return !slices.Contains(kept, name) }) != all {
			t.Fatalf("seed %d: %q of %+v do not reach all %d features", seed, kept, runs, all)
		}
		for _, x := range runs {
			if x.lost && !slices.Contains(kept, x.name) {
				t.Fatalf("seed %d: %s, of which nothing is known, is dropped", seed, x.name)
			}
			if slices.Contains(kept, x.name) && !x.lost && union(func(name string) bool { return name == x.name || !slices.Contains(kept, name) }) == features {
				t.Fatalf("seed %d: %s of %q can be spared", seed, x.name, kept)
			}
		}
		shuffled := slices.Clone(runs)
		r.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		if again, _ := cover(shuffled); !slices.Equal(again, kept) {
			t.Fatalf("seed %d: %q and %q", seed, kept, again)
		}
	}
}

// A worker that has played a corpus records what suffices of it, and later workers play only that.
func TestDistill(t *testing.T) {
	s := store.NewMemory()
	p := &fake{name: "a"}
	test := records.TestID("a")
	features := map[string][]uint64{}
	all := map[uint64]bool{}
	for i := range uint64(100) {
		tp := tape.Tape{Seed: i}
		e := search.Entry{Version: search.EntryVersion, Name: search.NameOf(tp), Tape: tp}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		k := records.Kept{Worker: "other", Name: e.Name, Search: text}
		if err := s.Add(t.Context(), k.Entry(test)); err != nil {
			t.Fatal(err)
		}
		features[e.Name] = p.run(nil, &explore.Job{Request: runner.Play(tp)}, nil, nil).Seen.Reached
		for _, id := range features[e.Name] {
			all[id] = true
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorker(s, "w1", p)
	w.Slice, w.For = 50*time.Millisecond, time.Minute
	w.Note = func(text string) {
		if strings.Contains(text, "runs of the corpus reach all its") {
			cancel()
		}
	}
	if r, err := w.Run(ctx); err != nil || r.Reason != Drained {
		t.Fatalf("the corpus was not distilled: %+v, %v", r, err)
	}
	v := viewOf(t, s)
	code := p.Code()
	d := v.Test(test).Distilled[code.ID()]
	if d == nil || len(d.Of) < 100 || len(d.Kept) > 40 || d.Features < len(all) {
		t.Fatalf("%+v", d)
	}
	for _, name := range d.Kept {
		for _, id := range features[name] {
			delete(all, id)
		}
	}
	for name, k := range v.Test(test).Corpus { // the worker's own, which are kept in place of others perhaps
		if k.Worker == "w1" && !d.Dropped(name) {
			for _, id := range w.courses[0].reached[name].features {
				delete(all, id)
			}
		}
	}
	if len(all) > 0 {
		t.Errorf("%d features of the corpus are not reached by what was kept", len(all))
	}
	next := newWorker(s, "w2", p)
	if err := next.register(); err != nil {
		t.Fatal(err)
	}
	next.refresh(t.Context())
	for name := range next.courses[0].taken {
		if d.Dropped(name) {
			t.Errorf("%s is played, although others reach all that it does", name)
		}
	}
	if n := len(next.courses[0].taken); n < len(d.Kept) {
		t.Errorf("%d of %d runs are played", n, len(d.Kept))
	}
}
