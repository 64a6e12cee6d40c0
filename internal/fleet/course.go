package fleet

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// course is a test as one worker runs it, slice after slice.
type course struct {
	worker  *Worker
	project Project
	name    string
	test    records.ID
	canary  bool
	place   records.Place // where it runs
	weight  float64       // of the line of its code

	strategy *search.Shared
	seed     uint64
	classes  []string // of risk, in order
	known    map[uint64]bool
	state    records.State
	domains  map[uint64]coverage.Domain
	failures map[records.ID]bool   // that this worker has found on this code
	broken   bool                  // its run without faults fails, so that more runs show little
	taken    map[string]bool       // entries of the corpus that are its own, or were adopted
	paged    map[store.Digest]bool // failures' files of which this worker has tried to make a page
	reached  map[string]reach      // by runs of the corpus that it played, by name
	recent   []reach               // by others

	counted   records.Counted // of all runs of this worker
	countedAt time.Time       // when they were recorded

	tallies map[string]*records.Span // since the last record, by phase
	flushed time.Time                // when they were recorded
	spans   uint64                   // recorded
	finds   uint64
	runs    uint64 // of this worker
	barren  uint64 // since the last that reached something new
	time    time.Duration
}

func newCourse(w *Worker, p Project, t *records.Test, code *records.Code, seeds store.Digest) (*course, error) {
	c := &course{worker: w, project: p, name: t.Name, test: records.TestID(t.Name), canary: t.Canary,
		place: records.Place{Code: code.ID(), Env: w.Env.ID()}, weight: weightOf(code.Line), known: map[uint64]bool{}, domains: map[uint64]coverage.Domain{},
		failures: map[records.ID]bool{}, taken: map[string]bool{}, paged: map[store.Digest]bool{}, reached: map[string]reach{},
		tallies: map[string]*records.Span{}, flushed: time.Now(), countedAt: time.Now()}
	for _, q := range t.Properties {
		c.classes = append(c.classes, records.PropertyClass(q.Name))
	}
	c.classes = append(c.classes, records.AnyFeature)
	slices.Sort(c.classes)
	c.seed = seedOf(seeds, c.test)
	inner, err := p.Strategy(c.seed)
	if err != nil {
		return nil, err
	}
	c.strategy = search.NewShared(inner, seedOf(seeds, c.test, "holdout"))
	return c, nil
}

// seedOf draws a seed that no other worker has.
func seedOf(worker store.Digest, parts ...any) uint64 {
	b, _ := hex.DecodeString(string(store.DigestOf(fmt.Append([]byte(worker), parts...)))[:16])
	return binary.BigEndian.Uint64(b)
}

// slice runs a part of the campaign.
func (c *course) slice(ctx context.Context) error {
	w, began := c.worker, time.Now()
	end := began.Add(w.left(w.Slice))
	k := c.project.Campaign()
	k.Test = c.name
	k.Seed, k.Strategy, k.KeepGoing, k.Behaviours = c.seed, c.strategy, true, true
	if w.For > 0 {
		k.Timeout = w.left(w.For) + finishTime
	}
	k.BaselineFirst = c.runs == 0
	k.Ran, k.Found, k.Kept, k.Note = c.ran, c.found, c.kept, w.note
	c.strategy.Again(func() bool {
		w.look(ctx)
		return ctx.Err() != nil || w.view.Paused() || !time.Now().Before(end)
	})
	c.flushed = time.Now()
	runs, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finishTime, stop) })()
	t := k.Run(runs)
	c.flush()
	c.time += time.Since(began)
	switch {
	case t.Mistake != "":
		return fmt.Errorf("%s: %s", c.name, t.Mistake)
	case t.Runs == 0 && t.LostRuns >= explore.MaxConsecutiveLost:
		return fmt.Errorf("%s: no run could start: %s", c.name, t.Lost[0].Reason)
	}
	return nil
}

// finishTime is how long the runs under way may take when a worker ends.
const finishTime = 10 * time.Second

// phases of runs by the strategy of their origin.
func phaseOf(o *search.Origin) string {
	switch o.Strategy {
	case search.HoldoutOrigin:
		return records.Holdout
	case search.AdoptedOrigin:
		return records.Again
	}
	return records.Search
}

// ran takes in a run of the campaign.
func (c *course) ran(r *explore.Ran) {
	phase := phaseOf(&r.Origin)
	t := c.tally(phase)
	if r.Summary == nil {
		t.Lost++
		c.remember(r, nil)
		c.sample(t, func(string) bool { return true })
		return
	}
	c.runs++
	t.Runs++
	t.Events += r.Summary.Events
	c.count(r)
	violated := explore.Violated(r.Summary.Verdicts)
	if r.Varies != "" {
		t.Varying++
		violated = nil
	}
	if len(violated) > 0 {
		t.Violated++
	}
	fresh := c.fresh(r.Seen)
	c.remember(r, fresh)
	c.sample(t, func(class string) bool {
		switch {
		case class == records.AnyFeature:
			return len(fresh) > 0
		case slices.ContainsFunc(violated, func(v check.Verdict) bool { return records.PropertyClass(v.Property) == class }):
			return true
		}
		return slices.ContainsFunc(fresh, func(id uint64) bool { return string(c.domains[id]) == class })
	})
	c.barren++
	if len(fresh) > 0 {
		c.barren = 0
		c.discover(fresh)
	}
	if len(fresh) > 0 || time.Since(c.flushed) >= c.interval() {
		c.flush()
	}
	if time.Since(c.countedAt) >= min(flushFirst+time.Since(c.worker.began)/countShare, countLast) {
		c.flushCounts()
	}
}

// fresh gives the features of a run that the worker did not know.
func (c *course) fresh(seen *search.Seen) (list []uint64) {
	if seen == nil {
		return nil
	}
	for _, f := range seen.Texts {
		c.domains[f.ID] = f.Domain
		// A class whose features no run has shown may be one that nobody looks for: it has no bound.
		if i, had := slices.BinarySearch(c.classes, string(f.Domain)); !had {
			c.classes = slices.Insert(c.classes, i, string(f.Domain))
		}
	}
	for _, id := range seen.Reached {
		if !c.known[id] {
			list = append(list, id)
		}
	}
	return list
}

// sample counts a run of a holdout for each class of which it shows something.
func (c *course) sample(t *records.Span, shows func(class string) bool) {
	if t.Phase != records.Holdout {
		return
	}
	for i, name := range c.classes {
		if i == len(t.Classes) || t.Classes[i].Name != name {
			t.Classes = slices.Insert(t.Classes, i, records.Class{Name: name})
		}
	}
	for i := range t.Classes {
		if k := &t.Classes[i]; shows(k.Name) {
			k.News, k.After = k.News+1, 0
		} else {
			k.After++
		}
	}
}

// learn adds features to what is known.
func (c *course) learn(features ...uint64) {
	for _, id := range features {
		if !c.known[id] {
			c.known[id] = true
			c.state = c.state.With(id)
		}
	}
}

// discover records features that were reached first, as far as this worker knows.
func (c *course) discover(fresh []uint64) {
	c.learn(fresh...)
	for part := range slices.Chunk(fresh, maxFound) {
		f := records.Found{Worker: c.worker.ID, Seq: c.finds, AtMs: now(), Run: c.runs, Features: records.FeatureText(part)}
		c.finds++
		c.worker.write(f.Entry(c.test, c.place.Code, c.place.Env))
	}
}

// maxFound bounds the features of a record.
const maxFound = 16384

// adopt takes in what others have found of the same code in the same environment, and the runs that they kept.
func (c *course) adopt() {
	t := c.worker.view.Test(c.test)
	if e := t.Efforts[c.place]; e != nil && len(e.Features) > len(c.known) {
		var came []uint64
		for id := range e.Features {
			if !c.known[id] {
				came = append(came, id)
			}
		}
		c.learn(came...)
		c.strategy.Know(came)
	}
	type adopted struct {
		search.Entry
		*records.Kept
	}
	var list []adopted
	distilled := t.DistilledFor(c.place.Code)
	for name, k := range t.Corpus {
		if c.taken[name] || k.Worker == c.worker.ID || distilled.Dropped(name) {
			continue
		}
		c.taken[name] = true
		var e search.Entry
		if json.Unmarshal(k.Search, &e) == nil && e.Version == search.EntryVersion {
			list = append(list, adopted{e, k})
		}
	}
	slices.SortFunc(list, func(a, b adopted) int {
		return cmp.Or(cmp.Compare(len(a.Tape.Edits), len(b.Tape.Edits)), cmp.Compare(a.Entry.Name, b.Entry.Name))
	})
	for _, x := range list {
		if here := (records.Place{Code: x.Code, Env: x.Env}); here == c.place && (x.Features != "" || len(x.Near) > 0) {
			c.strategy.AdoptKnown(x.Entry, x.IDs())
		} else {
			c.strategy.Adopt(x.Entry)
		}
	}
}

// kept records the entries that the strategy keeps.
func (c *course) kept(came []*search.Entry, _ []string) {
	var list []store.Entry
	for _, e := range came {
		if c.taken[e.Name] {
			continue
		}
		var fresh []uint64
		if i := slices.IndexFunc(c.recent, func(r reach) bool { return r.name == e.Name }); i >= 0 {
			c.remembered(c.recent[i])
			fresh = c.recent[i].fresh
		}
		c.taken[e.Name] = true
		text, err := json.Marshal(e)
		if err != nil {
			panic("fleet: " + err.Error()) // plain data
		}
		k := records.Kept{Worker: c.worker.ID, Code: c.place.Code, Env: c.place.Env, AtMs: now(), Name: e.Name, Search: text,
			Features: records.FeatureText(fresh[:min(len(fresh), maxFound)])}
		if entry := k.Entry(c.test); len(entry.Value) <= store.MaxValueBytes {
			list = append(list, entry)
		}
	}
	if len(list) > 0 {
		c.worker.write(list...)
	}
}

// found records a failure, as soon as it was found.
func (c *course) found(f *explore.Failure, o *check.Judged) {
	id := records.ID(f.ID)
	if c.failures[id] {
		return
	}
	c.failures[id] = true
	c.broken = c.broken || f.Baseline
	fresh := c.worker.view.Test(c.test).Failures[id] == nil
	file, err := c.project.File(f, o)
	if err == nil {
		r := records.Failure{Failure: f.Failure, Reason: f.Verdict.Reason, Level: records.Raw,
			Decisions: len(o.Decisions), Tape: f.Tape.Name(), Run: f.Run, Origin: originText(&f.Origin), Faultless: f.Baseline}
		err = c.worker.keep(c, &r, file)
		if announce := c.worker.Announce; fresh && announce != nil {
			announce(c.name, &r)
		}
	}
	if err != nil {
		c.worker.note(fmt.Sprintf("%s: the failure of %s could not be stored: %v", c.name, f.Verdict.Property, err))
		return
	}
	how := ""
	if f.Baseline {
		how = " in the run without faults, so the test gets only the minimum effort"
	}
	c.worker.note(fmt.Sprintf("%s: %s is violated%s: %s (failure %s)", c.name, f.Property, how, f.Headline, f.ID))
}

func originText(o *search.Origin) string {
	if o.Mutation == "" {
		return o.Strategy
	}
	return o.Strategy + ": " + o.Mutation
}

// tally is the span of a phase since the last record.
func (c *course) tally(phase string) *records.Span {
	t := c.tallies[phase]
	if t == nil {
		t = &records.Span{Phase: phase, From: c.state}
		c.tallies[phase] = t
	}
	return t
}

// How often effort is recorded that has found nothing: often in the life of a worker that may be short, and less later.
const (
	flushFirst = time.Second
	flushLast  = time.Minute
	flushShare = 60 // of the worker's age
)

func (c *course) interval() time.Duration {
	return min(flushFirst+time.Since(c.worker.began)/flushShare, flushLast)
}

// flush records effort.
func (c *course) flush() {
	took := time.Since(c.flushed)
	var runs uint64
	for _, t := range c.tallies {
		runs += t.Runs + t.Lost
	}
	var list []store.Entry
	for _, phase := range []string{records.Search, records.Holdout, records.Again, records.Shrink} {
		t := c.tallies[phase]
		if t == nil || runs == 0 {
			continue
		}
		t.Seq, t.AtMs, t.To, t.Size = c.spans, now(), c.state, uint64(len(c.known))
		t.Ms = took.Milliseconds() * int64(t.Runs+t.Lost) / int64(runs)
		c.spans++
		list = append(list, t.Entry(c.test, c.place.Code, c.place.Env, c.worker.ID))
	}
	c.tallies, c.flushed = map[string]*records.Span{}, time.Now()
	if len(list) > 0 {
		c.worker.write(list...)
	}
}
