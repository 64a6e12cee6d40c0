package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// fake is a project whose runs are drawn from their tapes: rare features, and two kinds of failures.
type fake struct {
	name     string
	commit   string
	bugs     bool
	pause    time.Duration
	canary   bool
	broken   bool // also without faults
	replayed []string
	shrunk   int
}

func (f *fake) Test() records.Test {
	return records.Test{Name: f.name, Definition: "d", Properties: []records.Property{{Name: "p", Kind: "safety"}}, Canary: f.canary}
}

func (f *fake) Code() records.Code { return records.Code{Commit: f.commit} }

func (f *fake) Strategy(seed uint64) (search.Strategy, error) {
	return search.New(search.Guided, spec(), seed, search.Settings{OneBoot: true})
}

func spec() *world.Spec {
	return &world.Spec{Nodes: []world.Node{{Name: "n1", Role: world.Server}},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "crash", RatePPM: 1000, Targets: []string{"n1"}, ByUser: true}}}}
}

func (f *fake) Campaign() *explore.Campaign {
	return &explore.Campaign{Setup: &explore.Setup{Spec: spec()}, Workers: 1, Here: f.run}
}

func (f *fake) run(setup *explore.Setup, job *explore.Job, _ func(explore.Progress), _ <-chan struct{}) *explore.Reply {
	time.Sleep(f.pause) // a run takes time
	h := fnv.New64a()
	h.Write([]byte(search.NameOf(job.Tape)))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	s := &explore.Summary{Faults: []fault.Entry{{Kind: "kill", Planned: 2, Delivered: 1}},
		Hash: fmt.Sprintf("%s %016x", f.commit, r.Uint64()), Events: 100, Repeat: record.Repeat{Reproducible: true}}
	seen := &search.Seen{}
	for i := range 40 {
		if r.Float64() < 1/float64(i+1) {
			t := coverage.New(coverage.Log, fmt.Sprint("feature ", i))
			seen.Reached, seen.Texts = append(seen.Reached, t.ID), append(seen.Texts, t)
		}
	}
	v := check.Verdict{Property: "p", Kind: "safety", Status: check.Holds}
	if bug := r.IntN(60); f.bugs && bug < 2 {
		v.Status, v.Reason = check.Violated, "bug "+strings.Repeat("x", bug+1)
	}
	if faultless := job.ID == search.Baseline; f.broken && faultless {
		v.Status, v.Reason = check.Violated, "nothing works"
	}
	s.Verdicts = []check.Verdict{v}
	reply := &explore.Reply{Summary: s, Seen: seen}
	if v.Status == check.Violated {
		reply.Outcome = &check.Judged{Verdicts: s.Verdicts}
		reply.Outcome.Tape = job.Tape
	}
	return reply
}

func (f *fake) File(x *explore.Failure, _ *check.Judged) ([]byte, error) { return json.Marshal(x) }

func (f *fake) Replay(_ context.Context, file []byte) (records.Replay, error) {
	f.replayed = append(f.replayed, string(file))
	if f.bugs {
		return records.Replay{Result: records.Reproduced}, nil
	}
	return records.Replay{Result: records.Clean}, nil
}

func (f *fake) Shrink(_ context.Context, file []byte, _ time.Duration) (Smaller, error) {
	f.shrunk++
	return Smaller{File: append(file, ' '), Decisions: 1, Minimal: true}, nil
}

func (f *fake) Bisect(_ context.Context, _ []byte, good, bad string) (records.Bisected, error) {
	if f.commit == "" {
		return records.Bisected{}, fmt.Errorf("%w: no repository", ErrElsewhere)
	}
	return records.Bisected{What: records.Introduced,
		Commits: []records.Named{{ID: "c0ffee", Subject: "between " + good + " and " + cmp.Or(bad, f.commit)}}}, nil
}

func (f *fake) Page(_ context.Context, file []byte) ([]byte, error) {
	return append([]byte("<!doctype html>"), file...), nil
}

func (f *fake) Explain(context.Context, []byte, time.Duration) (Explanation, error) {
	return Explanation{"h", true, []byte(`{"hash":"h"}`)}, nil
}

func newWorker(s store.Store, id string, projects ...Project) *Worker {
	return &Worker{Store: s, ID: records.ID(id), Env: records.Env{Engine: "fake"}, Projects: projects,
		Slice: 200 * time.Millisecond, For: 700 * time.Millisecond}
}

func viewOf(t *testing.T, s store.Store) *records.View {
	t.Helper()
	v := records.NewView()
	if _, err := s.Read(t.Context(), "", "", func(e store.Entry) error { v.AddEntry(e); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(v.Strange) > 0 {
		t.Fatalf("strange records: %v", v.Strange)
	}
	return v
}

func work(t *testing.T, w *Worker) *Result {
	t.Helper()
	r, err := w.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWorker(t *testing.T) {
	s := store.NewMemory()
	p := &fake{name: "a", commit: "1", bugs: true, pause: time.Millisecond}
	r := work(t, newWorker(s, "w1", p))
	v := viewOf(t, s)
	test := v.Test(records.TestID("a"))
	code := p.Code()
	effort := test.Efforts[records.Place{Code: code.ID(), Env: (&records.Env{Engine: "fake"}).ID()}]
	if effort == nil || effort.Runs() < r.Runs || len(effort.Features) != r.Features || r.Features < 10 {
		t.Fatalf("%+v; recorded: %+v", r, effort)
	}
	if h := effort.Phases[records.Holdout]; h == nil || h.Runs*5 > r.Runs || h.Runs*20 < r.Runs {
		t.Errorf("the holdout has %+v of %d runs", h, r.Runs)
	}
	if len(test.Failures) != 2 || len(r.Failures) != 2 || r.Reason != TimeIsUp {
		t.Fatalf("%d failures, %+v", len(test.Failures), r)
	}
	for _, f := range test.Failures {
		if f.Best().Level != records.Shrunk || v.Standing(f) != records.Ongoing {
			t.Errorf("%s: %s, %s", f.Signature, f.Best().Level, v.Standing(f))
		}
		if _, err := s.Blob(t.Context(), f.Best().File); err != nil {
			t.Error(err)
		}
		if p := f.Page(f.Best().File); p == nil || len(f.Pages) > 2 {
			t.Errorf("%s has %d pages, and one of its shrunk run: %+v", f.Signature, len(f.Pages), p)
		} else if _, err := s.Blob(t.Context(), p.File); err != nil {
			t.Error(err)
		}
	}
	if w := v.Workers["w1"]; w == nil || w.Reason != TimeIsUp {
		t.Errorf("the worker: %+v", w)
	}
	counts := test.Counts(code.ID())
	if p := counts.Property("p"); counts.Runs != r.Runs || p.Checked() != r.Runs || p.Violated == 0 || p.Violated*10 > r.Runs ||
		*counts.Fault("kill") != (records.FaultCount{Kind: "kill", Planned: 2 * r.Runs, Delivered: r.Runs}) {
		t.Errorf("%d runs are counted as %+v", r.Runs, counts)
	}
	risks := test.Risks(code.ID())
	if len(risks) == 0 || risks[0].Class != records.AnyFeature || risks[0].Runs != effort.Phases[records.Holdout].Runs {
		t.Errorf("risks: %+v", risks)
	}
	i := slices.IndexFunc(risks, func(r records.Risk) bool { return r.Class == records.PropertyClass("p") })
	if i < 0 || risks[i].News == 0 {
		t.Errorf("the property: %+v", risks)
	}
	if len(risks) != 3 { // all, the property, and what these runs show: logs, and no code
		t.Errorf("classes that nobody looks for have a bound: %+v", risks)
	}

	// Another worker takes in what this one knows, and finds that the next code has no bugs.
	v.AddEntry((&records.Commit{ID: "2", Parents: []string{"1"}}).Entry())
	s.Add(t.Context(), (&records.Commit{ID: "2", Parents: []string{"1"}}).Entry())
	q := &fake{name: "a", commit: "2", pause: time.Millisecond}
	if r := work(t, newWorker(s, "w2", q)); len(r.Failures) != 0 {
		t.Errorf("on the next code: %+v", r)
	}
	v = viewOf(t, s)
	for _, f := range v.Test(records.TestID("a")).Failures {
		if v.Standing(f) != records.Fixed {
			t.Errorf("%s: %s", f.Signature, v.Standing(f))
		}
	}
	if len(q.replayed) != 2 {
		t.Errorf("%d failures were replayed", len(q.replayed))
	}
	next := q.Code()
	e := v.Test(records.TestID("a")).Efforts[records.Place{Code: next.ID(), Env: (&records.Env{Engine: "fake"}).ID()}]
	if again := e.Phases[records.Again]; again == nil || again.Runs <= 2 {
		t.Errorf("runs of the corpus of the first worker: %+v", again)
	}
}

// While a worker shrinks a failure, or when it just has, others do not begin to.
func TestShrinksAlone(t *testing.T) {
	s := store.NewMemory()
	test := records.TestID("a")
	var names []string
	for bug := range 2 {
		v := check.Verdict{Property: "p", Kind: "safety", Reason: "bug " + strings.Repeat("x", bug+1)}
		id := records.FailureID(test, v.Signature())
		names = append(names, fmt.Sprintf("shrink/%s/%s", test, id))
		if _, err := s.Lease(t.Context(), names[bug], "other", time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	p := &fake{name: "a", bugs: true, pause: time.Millisecond}
	work(t, newWorker(s, "w1", p))
	failures := viewOf(t, s).Test(test).Failures
	if len(failures) != 2 || p.shrunk != 0 {
		t.Fatalf("%d failures; %d were shrunk, which another does", len(failures), p.shrunk)
	}
	w2, w3 := newWorker(s, "w2", p), newWorker(s, "w3", p)
	for _, w := range []*Worker{w2, w3} {
		w.began = time.Now()
		if err := w.register(); err != nil {
			t.Fatal(err)
		}
		w.refresh(t.Context())
	}
	for _, name := range names {
		if err := s.Release(t.Context(), name, "other"); err != nil {
			t.Fatal(err)
		}
	}
	w2.duties(t.Context())
	w3.duties(t.Context()) // which has not read yet what w2 wrote
	if p.shrunk != 2 {
		t.Errorf("two failures were shrunk %d times", p.shrunk)
	}
}

// A worker that is paused finishes the runs under way and waits; then it goes on.
func TestPause(t *testing.T) {
	s := store.NewMemory()
	at := int64(0)
	pause := func(on bool, by string) {
		at++
		if err := s.Add(t.Context(), (&records.Pause{On: on, By: by, Text: "load test", AtMs: at}).Entry()); err != nil {
			t.Error(err)
		}
	}
	w := newWorker(s, "w1", &fake{name: "a", pause: time.Millisecond})
	w.Slice, w.began = time.Hour, time.Now()
	if err := w.register(); err != nil {
		t.Fatal(err)
	}
	w.For = 0
	pause(true, "ann")
	if err := w.courses[0].slice(t.Context()); err != nil { // it looks when it has made a run
		t.Fatal(err)
	}
	runs := w.courses[0].runs
	if runs == 0 || runs > 20 {
		t.Fatalf("%d runs", runs)
	}
	var notes []string
	w.Note = func(text string) {
		if notes = append(notes, text); len(notes) == 1 {
			time.AfterFunc(100*time.Millisecond, func() { pause(false, "bob") })
		}
	}
	w.waitWhilePaused(t.Context())
	if w.waitWhilePaused(t.Context()); !slices.Equal(notes, []string{"paused by ann: load test", "resumed by bob"}) {
		t.Fatalf("%q", notes)
	}
	if viewOf(t, s).Workers["w1"].SeenMs == 0 {
		t.Error("a worker that was paused gave no sign of life")
	}
	if e := viewOf(t, s).Test(w.courses[0].test).Efforts[w.courses[0].place]; e == nil || e.Runs() != runs {
		t.Errorf("%d runs are not recorded: %+v", runs, e)
	}
	// A pause does not keep a worker from ending.
	pause(true, "ann")
	w = newWorker(s, "w2", &fake{name: "a"})
	w.For = 300 * time.Millisecond
	if r := work(t, w); r.Runs != 0 || r.Reason != TimeIsUp {
		t.Errorf("%+v", r)
	}
}

// Workers answer requests that a page makes.
func TestRequests(t *testing.T) {
	s := store.NewMemory()
	work(t, newWorker(s, "w1", &fake{name: "a", commit: "1", bugs: true, pause: time.Millisecond}))
	test := records.TestID("a")
	for id := range viewOf(t, s).Test(test).Failures {
		for _, kind := range append(slices.Clone(records.RequestKinds), "later") {
			s.Add(t.Context(), (&records.Request{Kind: kind, Test: test, Failure: id, AtMs: 1}).Entry())
		}
	}
	s.Add(t.Context(), (&records.Request{Kind: records.ReplayRequest, Test: "other", AtMs: 2}).Entry())
	work(t, newWorker(s, "w2", &fake{name: "a", commit: "1", bugs: true, pause: time.Millisecond}))
	for _, r := range viewOf(t, s).Requests {
		if want := r.Test == test && r.Kind != "later"; (len(r.Answers) == 1) != want {
			t.Errorf("%+v has %d answers", r.Request, len(r.Answers))
		}
	}
	for _, f := range viewOf(t, s).Test(test).Failures {
		if e := f.Explanation("h"); e == nil || string(e.Explanation) != `{"hash":"h"}` || e.Worker != "w2" {
			t.Errorf("%s: %+v", f.Signature, e)
		}
	}
}

// counting counts what is read.
type counting struct {
	store.Store
	reads, entries int
}

func (c *counting) Read(ctx context.Context, prefix string, from store.Cursor, each func(store.Entry) error) (store.Cursor, error) {
	c.reads++
	return c.Store.Read(ctx, prefix, from, func(e store.Entry) error { c.entries++; return each(e) })
}

// A worker of several tests reads the store once for each choice of one, and nothing twice.
func TestReadsOnce(t *testing.T) {
	shared := store.NewMemory()
	a, b, other := &fake{name: "a", bugs: true}, &fake{name: "b"}, &fake{name: "other"}
	work(t, newWorker(shared, "w1", a, b, other))
	s := &counting{Store: shared}
	w := newWorker(s, "w2", a, b)
	if err := w.register(); err != nil {
		t.Fatal(err)
	}
	w.refresh(t.Context())
	if s.reads != 1 || len(w.view.Test(w.courses[0].test).Failures) != 2 || len(w.courses[1].known) < 10 {
		t.Fatalf("%d reads gave %d entries", s.reads, s.entries)
	}
	if w.view.Tests[records.TestID("other")] != nil {
		t.Error("records of a test were read that the worker does not run")
	}
	*s = counting{Store: shared}
	w.refresh(t.Context())
	if s.reads != 1 || s.entries != 0 {
		t.Errorf("where nothing was written, %d reads gave %d entries", s.reads, s.entries)
	}
}

// Spans say who searched from what state: a worker alone from where its last one ended, and one that has read what two others
// found from the state of both together.
func TestSpansFollowEachOther(t *testing.T) {
	a, b := store.NewMemory(), store.NewMemory()
	p := &fake{name: "a"}
	work(t, newWorker(a, "w1", p))
	work(t, newWorker(b, "w2", p))
	effort := func(s store.Store) *records.Effort {
		for _, e := range viewOf(t, s).Tests[records.TestID("a")].Efforts {
			return e
		}
		t.Fatal("no effort was recorded")
		return nil
	}
	spansOf := func(s store.Store, worker string) (list []records.WorkerSpan) {
		for x := range effort(s).Spans {
			if x.Worker == records.ID(worker) {
				list = append(list, *x)
			}
		}
		slices.SortFunc(list, func(x, y records.WorkerSpan) int { return cmp.Compare(x.Seq, y.Seq) })
		return list
	}
	for s, worker := range map[store.Store]string{a: "w1", b: "w2"} {
		at, ends := records.State{}, map[records.State]bool{{}: true}
		for _, x := range spansOf(s, worker) {
			if !ends[x.From] {
				t.Errorf("%s began a span of %s at %s, where none has ended", worker, x.Phase, x.From)
			}
			at, ends[x.To] = x.To, true
		}
		if at != effort(s).State() || at == (records.State{}) {
			t.Errorf("%s ended at %s, and has found %s", worker, at, effort(s).State())
		}
	}
	if _, err := store.Merge(t.Context(), a, b); err != nil {
		t.Fatal(err)
	}
	both := effort(a).State()
	work(t, newWorker(a, "w3", p))
	if list := spansOf(a, "w3"); len(list) == 0 || list[0].From != both || list[len(list)-1].To != effort(a).State() {
		t.Errorf("a worker that has read %s searched in %+v, and all is %s", both, list, effort(a).State())
	}
}

// A worker without the repository leaves a request to bisect to one that has it.
func TestBisect(t *testing.T) {
	s := store.NewMemory()
	work(t, newWorker(s, "w1", &fake{name: "a", bugs: true, pause: time.Millisecond}))
	test := records.TestID("a")
	for id := range viewOf(t, s).Test(test).Failures {
		for i, good := range []string{"v1", "--option"} {
			s.Add(t.Context(), (&records.Request{Kind: records.BisectRequest, Test: test, Failure: id, Good: good, AtMs: int64(1 + i)}).Entry())
		}
	}
	bisects := func() (list []*records.Bisected) {
		for _, f := range viewOf(t, s).Test(test).Failures {
			list = append(list, f.Bisects...)
		}
		return list
	}
	work(t, newWorker(s, "w2", &fake{name: "a", pause: time.Millisecond}))
	if list := bisects(); len(list) != 0 {
		t.Fatalf("found without a repository: %+v", list)
	}
	var list []*records.Bisected
	for tries := 0; len(list) < 2 && tries < 200; tries++ { // on a busy machine its time may be up before
		work(t, newWorker(s, "w3", &fake{name: "a", commit: "9", pause: time.Millisecond}))
		list = bisects()
	}
	if len(list) != 2 || list[0].Worker != "w3" || list[0].Commits[0].Subject != "between v1 and 9" {
		t.Fatalf("%+v", list)
	}
	for _, r := range viewOf(t, s).Requests {
		want := "introduced by c0ffee between v1 and 9"
		if r.Good != "v1" {
			want = `the commit could not be found: "--option" is not a revision`
		}
		if len(r.Answers) != 1 || r.Answers[0].Text != want {
			t.Errorf("%s: %+v", r.Good, r.Answers)
		}
	}
}

func TestEveryTestGetsSlices(t *testing.T) {
	s := store.NewMemory()
	w := newWorker(s, "w1", &fake{name: "a"}, &fake{name: "b", pause: 20 * time.Millisecond}, &fake{name: "c"})
	w.Slice, w.For = 20*time.Millisecond, 900*time.Millisecond
	work(t, w)
	for _, c := range w.courses {
		if c.runs < 2 {
			t.Errorf("%s had %d runs", c.name, c.runs)
		}
	}
}

// A test whose run without faults fails is recorded as such, and gets only its turns.
func TestBrokenTest(t *testing.T) {
	s := store.NewMemory()
	w := newWorker(s, "w1", &fake{name: "a", broken: true}, &fake{name: "b"}, &fake{name: "c"})
	var notes []string
	w.Note = func(text string) { notes = append(notes, text) }
	r := work(t, w)
	if len(r.Failures) != 1 || !slices.ContainsFunc(notes, func(n string) bool {
		return strings.Contains(n, "a: p is violated in the run without faults, so the test gets only the minimum effort: nothing works")
	}) {
		t.Fatalf("%+v, %q", r, notes)
	}
	code := (&fake{}).Code()
	v := viewOf(t, s)
	for _, name := range []string{"a", "b"} {
		for _, f := range v.Test(records.TestID(name)).Failures {
			if f.FaultlessOn(code.ID()) != (name == "a") || f.FaultlessOn("other") {
				t.Errorf("%s: %s", name, f.Signature)
			}
		}
	}
	const turns = 1200
	slices := map[string]int{}
	for turn := range uint64(turns) {
		slices[w.choose(turn+3).name]++
	}
	if floor := turns / floorShare / 3; slices["a"] != floor || slices["b"] < 2*floor {
		t.Errorf("slices: %v", slices)
	}
	for _, c := range w.courses {
		c.broken = true
	}
	clear(slices)
	for turn := range uint64(turns) {
		slices[w.choose(turn).name]++
	}
	if len(slices) != 3 {
		t.Errorf("where all are broken: %v", slices)
	}
}

func TestCanary(t *testing.T) {
	for _, bugs := range []bool{true, false} {
		r := work(t, newWorker(store.NewMemory(), "w1", &fake{name: "a"}, &fake{name: "canary", bugs: bugs, canary: true}))
		if silent := len(r.Silent) == 1; silent == bugs || len(r.Failures) > 0 {
			t.Errorf("the canary fails %t: %+v", bugs, r)
		}
	}
}

func TestUntilRisk(t *testing.T) {
	w := newWorker(store.NewMemory(), "w1", &fake{name: "a"})
	w.For, w.UntilRisk = 2*time.Minute, 0.05
	if r := work(t, w); r.Reason != RiskIsLow || r.Runs < 740 { // 3.7 / 0.05 of a holdout, one run in ten
		t.Errorf("%+v", r)
	}
}

// A store that fails for a while loses nothing.
func TestStoreAway(t *testing.T) {
	s := &storetest.Failing{Store: store.NewMemory()}
	s.Down.Store(true)
	w := newWorker(s, "w1", &fake{name: "a", bugs: true, pause: time.Millisecond})
	time.AfterFunc(400*time.Millisecond, func() { s.Down.Store(false) })
	r := work(t, w)
	if r.Unwritten != 0 {
		t.Fatalf("%+v", r)
	}
	recorded(t, s, r)
}

// recorded compares what a store has with what its only worker has done.
func recorded(t *testing.T, s store.Store, r *Result) {
	t.Helper()
	for _, e := range viewOf(t, s).Test(records.TestID("a")).Efforts {
		if e.Runs() < r.Runs || len(e.Features) != r.Features {
			t.Errorf("%s: recorded %d runs and %d features; %+v", s, e.Runs(), len(e.Features), r)
		}
	}
}

// A worker says once that a part of its store is damaged.
func TestDamagedStore(t *testing.T) {
	folder := t.TempDir()
	for range 2 {
		d, err := store.OpenDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Add(t.Context(), store.Entry{Key: "test/x"}); err != nil {
			t.Fatal(err)
		}
		d.Close()
	}
	storetest.Damage(t, folder)
	d, err := store.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w := newWorker(d, "w", &fake{name: "t"})
	notes := 0
	w.Note = func(text string) { notes += strings.Count(text, "the store is damaged: log/") }
	if err := w.register(); err != nil {
		t.Fatal(err)
	}
	w.refresh(t.Context())
	w.refresh(t.Context())
	if notes != 2 {
		t.Errorf("%d notes of two segments", notes)
	}
}

// A worker says once that its shared store is lost, why, and that it is back; and at its end that the store does not have all.
func TestNotesOfSharedStore(t *testing.T) {
	shared := &storetest.Failing{Store: store.NewMemory()}
	l := store.NewLayered(store.NewMemory(), shared, "")
	defer l.Close()
	w := newWorker(l, "w", &fake{name: "t"})
	var notes []string
	w.Note = func(text string) { notes = append(notes, text) }
	if err := w.register(); err != nil {
		t.Fatal(err)
	}
	for _, down := range []bool{false, true, true, false, false, true} {
		shared.Down.Store(down)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for ctx.Err() == nil {
			w.write(store.Entry{Key: "test/x"})
			l.Flush(ctx)
			w.refresh(ctx)
			if _, trouble := l.Trouble(); (trouble != nil) == down {
				break
			}
		}
		cancel()
	}
	if len(notes) != 3 || !strings.Contains(notes[0], "is unreachable: away") || !strings.Contains(notes[1], "is reachable again") ||
		!strings.Contains(notes[2], "is unreachable") {
		t.Errorf("%q", notes)
	}
	if r, err := w.signOff(t.Context(), Drained); err != nil || !strings.Contains(r.Unsent, "away") {
		t.Errorf("%+v, %v", r, err)
	}
}
