package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/records"
)

// A corpus is distilled when so many entries came since the last time, and a share of what was compared then.
const (
	distillFrom  = 64
	distillShare = 4
)

// Bounds of what a worker remembers for distilling.
const (
	maxReach  = 2048 // entries of the corpus; a larger one is not distilled
	maxRecent = 256  // runs of which it is not known yet whether they are kept
)

// reach lists the features that a run of a tape reached.
type reach struct {
	name     string
	events   uint64
	features []uint64
	fresh    []uint64 // of them, which the worker did not know
	lost     bool     // the machine failed it: nothing is known, and it is kept
}

// remember takes in what a run reached, until it is known whether it is in the corpus.
func (c *course) remember(r *explore.Ran, fresh []uint64) {
	x := reach{name: search.NameOf(r.Tape), fresh: fresh, lost: true}
	if r.Summary != nil && r.Seen != nil {
		x.events, x.features, x.lost = r.Summary.Events, r.Seen.Reached, false
	}
	if r.Origin.Strategy == search.AdoptedOrigin {
		c.remembered(x)
		return
	}
	if c.recent = append(c.recent, x); len(c.recent) > maxRecent {
		c.recent = slices.Delete(c.recent, 0, len(c.recent)-maxRecent)
	}
}

// remembered is a run that is in the corpus.
func (c *course) remembered(x reach) {
	if len(c.reached) < maxReach {
		c.reached[x.name] = x
	}
}

// cover chooses, from runs, some that reach all that all of them reach: small ones first, and then without those whose features
// later ones reach, too. Those that were lost are among them.
func cover(runs []reach) (kept []string, features int) {
	runs = slices.SortedFunc(slices.Values(runs), func(a, b reach) int {
		return cmp.Or(cmp.Compare(a.events, b.events), cmp.Compare(a.name, b.name))
	})
	times := map[uint64]int{} // that chosen runs reach a feature
	var chosen []reach
	for _, r := range runs {
		if r.lost {
			kept = append(kept, r.name)
			continue
		}
		if !slices.ContainsFunc(r.features, func(id uint64) bool { return times[id] == 0 }) {
			continue
		}
		chosen = append(chosen, r)
		for _, id := range r.features {
			times[id]++
		}
	}
	for _, r := range slices.Backward(chosen) {
		if slices.ContainsFunc(r.features, func(id uint64) bool { return times[id] == 1 }) {
			kept = append(kept, r.name)
			continue
		}
		for _, id := range r.features {
			times[id]--
		}
	}
	slices.Sort(kept)
	return kept, len(times)
}

// toDistill are the runs to compare now; none if it is too early, or this worker has not played them all.
func (c *course) toDistill() (runs []reach) {
	t := c.worker.view.Test(c.test)
	last := t.DistilledFor(c.place.Code)
	fresh := 0
	for name := range t.Corpus {
		if last.Dropped(name) {
			continue
		}
		r, played := c.reached[name]
		if !played {
			return nil
		}
		runs = append(runs, r)
		if !last.Compared(name) {
			fresh++
		}
	}
	if last != nil && last.Code == c.place.Code && fresh < len(last.Of)/distillShare || fresh < distillFrom {
		return nil
	}
	return runs
}

// distill records which entries of a corpus suffice.
func (w *Worker) distill(ctx context.Context, c *course) {
	name := fmt.Sprintf("distill/%s/%s", c.test, c.place.Code)
	w.alone(ctx, name, func() bool { return len(c.toDistill()) > 0 }, func(context.Context) {
		runs := c.toDistill()
		d := records.Distilled{Worker: w.ID, Code: c.place.Code, Env: c.place.Env, AtMs: now()}
		d.Kept, d.Features = cover(runs)
		of := map[string]bool{}
		for _, r := range runs {
			of[r.name] = true
		}
		if last := w.view.Test(c.test).DistilledFor(c.place.Code); last != nil {
			for _, name := range last.Of {
				of[name] = true
			}
		}
		d.Of = slices.Sorted(maps.Keys(of))
		w.write(d.Entry(c.test))
		w.note(fmt.Sprintf("%s: %d of %s of the corpus %s all its %s", c.name, len(d.Kept), plural.Count(len(d.Of), "run"),
			plural.Verb(len(d.Kept), "reaches", "reach"), plural.Count(d.Features, "feature")))
	})
}
