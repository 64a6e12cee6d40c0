package records

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// random makes the entries of a database of a few workers, tests and codes.
func random(r *rand.Rand) (list []store.Entry) {
	name := func(kind string, n int) string { return fmt.Sprint(kind, r.IntN(n)) }
	codes := []Code{{Commit: "a", CommitMs: 1}, {Commit: "b", CommitMs: 2}, {Commit: "b", Dirty: "x", CommitMs: 2}, {Commit: "c", CommitMs: 2}}
	list = append(list, (&Commit{ID: "b", Parents: []string{"a"}}).Entry(), (&Commit{ID: "c", Parents: []string{"a"}}).Entry())
	code := func() ID {
		c := codes[r.IntN(len(codes))]
		c.AtMs = int64(r.IntN(5))
		list = append(list, c.Entry())
		return c.ID()
	}
	seqs := map[string]uint64{}
	salt := r.Uint32() // a process has an ID that no other has
	for range r.IntN(120) {
		test := TestID(name("test", 2))
		env := Env{Engine: name("engine", 2)}
		worker := ID(fmt.Sprint(name("worker", 3), "-", salt))
		at := int64(r.IntN(1000))
		signature := name("signature", 3)
		switch r.IntN(14) {
		case 0:
			list = append(list, (&Test{Name: name("test", 2), Definition: name("d", 3), AtMs: at}).Entry())
		case 1:
			list = append(list, env.Entry())
		case 2:
			w := Worker{Host: "h", PID: int(worker[6]), StartedMs: 1}
			if r.IntN(2) == 0 {
				w.EndedMs, w.Reason = 100, "drained"
			}
			list = append(list, w.Entry(worker))
		case 3, 4:
			c := code()
			key := fmt.Sprint("s", test, c, env, worker)
			s := Span{Seq: seqs[key], AtMs: at, Ms: 10, Phase: []string{Search, Holdout}[r.IntN(2)], Runs: uint64(1 + r.IntN(50)), Events: 9, Size: 3}
			s.To = s.From.With(r.Uint64N(9))
			if s.Phase == Holdout {
				s.Classes = []Class{{AnyFeature, r.Uint64N(2), s.Runs}, {PropertyClass("a b=c/d"), 0, s.Runs}}
			}
			seqs[key]++
			list = append(list, s.Entry(test, c, env.ID(), worker))
		case 5:
			c := code()
			key := fmt.Sprint("f", test, c, env, worker)
			list = append(list, (&Found{Worker: worker, Seq: seqs[key], AtMs: at,
				Features: FeatureText([]uint64{r.Uint64N(20), r.Uint64N(20)})}).Entry(test, c, env.ID()))
			seqs[key]++
		case 6:
			list = append(list, (&Kept{Worker: worker, Code: code(), AtMs: at, Name: name("tape", 5), Search: json.RawMessage(`{}`)}).Entry(test))
		case 7:
			list = append(list, (&Failure{Failure: failure.Failure{Signature: signature, Property: "p"}, Level: []string{Raw, Shrunk}[r.IntN(2)],
				Decisions: r.IntN(9), Worker: worker, Code: code(), Env: env.ID(), AtMs: at}).Entry(test))
		case 8:
			list = append(list, (&Replay{Code: code(), Env: env.ID(), Worker: worker,
				Result: []string{Reproduced, Clean, Diverged, Varies}[r.IntN(4)], AtMs: at}).Entry(test, FailureID(test, signature)))
		case 9:
			list = append(list, (&Note{By: "me", State: []string{Open, Acknowledged}[r.IntN(2)], AtMs: at}).Entry(test, FailureID(test, signature)))
		case 13:
			list = append(list, (&Bisected{What: []string{Introduced, FixedBy}[r.IntN(2)], Commits: []Named{{ID: name("c", 3)}},
				Worker: worker, AtMs: at}).Entry(test, FailureID(test, signature)))
		case 12:
			d := Distilled{Worker: worker, Code: code(), AtMs: at, Of: []string{"tape1", "tape2", "tape3"}[:r.IntN(4)]}
			d.Kept = d.Of[:r.IntN(len(d.Of)+1)]
			list = append(list, d.Entry(test))
		case 11:
			list = append(list, (&Pause{On: r.IntN(2) == 0, By: name("person", 2), AtMs: at}).Entry())
		case 10:
			q := Request{Kind: "replay", Test: test, Failure: FailureID(test, signature), AtMs: at}
			list = append(list, q.Entry(), (&Done{Worker: worker, AtMs: at}).Entry(q.ID()))
		}
	}
	return list
}

// text writes all of a view, so that two of the same records are equal.
func text(t *testing.T, v *View) string {
	t.Helper()
	order := func(list any) string {
		b, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		var parts []json.RawMessage
		if json.Unmarshal(b, &parts) != nil {
			return string(b)
		}
		words := make([]string, len(parts))
		for i := range parts {
			words[i] = string(parts[i])
		}
		slices.Sort(words)
		return fmt.Sprint(words)
	}
	out := order(v.Codes) + order(v.Envs) + order(v.Workers) + order(v.Commits) + order(v.Strange) + order(v.Held) + order(v.Pause)
	var tests []string
	for _, r := range v.Requests {
		tests = append(tests, order(r.Request)+order(r.Answers))
	}
	for id, x := range v.Tests {
		line := fmt.Sprint(id, x.Name, order(x.Definitions), order(x.Corpus), order(x.Distilled), order(x.DistilledFor("")))
		var parts []string
		for p, e := range x.Efforts {
			parts = append(parts, fmt.Sprint(p, order(e.Phases), order(e.Features), order(spansOf(e)), e.State(), x.Risks(p.Code)))
		}
		for _, f := range x.Failures {
			parts = append(parts, fmt.Sprint(f.Signature, order(f.Files), order(f.Replays), order(f.Notes), order(f.Bisects),
				order(f.Bisected(Introduced)), order(f.Bisected(FixedBy)), v.Standing(f), f.State(), f.Matrix()))
			if len(f.Files) > 0 {
				parts = append(parts, fmt.Sprint(*f.Best(), *f.First()))
			}
		}
		slices.Sort(parts)
		tests = append(tests, line+fmt.Sprint(parts))
	}
	slices.Sort(tests)
	return out + fmt.Sprint(tests)
}

func spansOf(e *Effort) (list []WorkerSpan) {
	for s := range e.Spans {
		list = append(list, *s)
	}
	return list
}

func viewOf(list ...[]store.Entry) *View {
	v := NewView()
	for _, l := range list {
		for _, e := range l {
			v.AddEntry(e)
		}
	}
	return v
}

// A view does not depend on the order of entries, nor on how often they come: so databases may be merged in any order.
func TestViewIsOfASet(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		list := random(r)
		want := viewOf(list)
		if len(want.Strange) > 0 {
			t.Fatalf("seed %d: not read: %v", seed, want.Strange)
		}
		shuffled := slices.Clone(list)
		for range len(list) / 2 {
			shuffled = append(shuffled, list[r.IntN(len(list))])
		}
		r.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		if a, b := text(t, want), text(t, viewOf(shuffled)); a != b {
			k := 0
			for k < min(len(a), len(b)) && a[k] == b[k] {
				k++
			}
			from := max(k-200, 0)
			t.Fatalf("seed %d: a view depends on the order of its entries:\n%.400s\n%.400s", seed, a[from:], b[from:])
		}
	}
}

func TestSpansReadAsWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		s := Span{Seq: r.Uint64N(99), AtMs: r.Int64N(1e13), Ms: r.Int64N(1e5), Phase: Holdout,
			From: State{r.Uint64(), r.Uint64()}, To: State{r.Uint64(), r.Uint64()},
			Size: r.Uint64N(9), Runs: r.Uint64N(9), Violated: r.Uint64N(3), Events: r.Uint64(), Lost: r.Uint64N(2), Varying: r.Uint64N(2),
			Classes: []Class{{AnyFeature, r.Uint64N(3), 4}, {PropertyClass("no =% / such\nthing"), 0, 9}}}
		var got Span
		if err := got.parse(string(s.Entry("t", "c", "e", "w").Value)); err != nil || fmt.Sprint(got) != fmt.Sprint(s) {
			t.Fatalf("%+v came back as %+v: %v", s, got, err)
		}
	}
}

// What another version, or a hostile worker, has written is counted and does no harm.
func TestStrangeEntries(t *testing.T) {
	v := NewView()
	list := []store.Entry{{Key: "test/x", Value: []byte("{")}, {Key: "new/x", Value: nil},
		{Key: "span/a/b/c/d", Value: []byte("seq=-1")}, {Key: "span/a/b", Value: []byte("seq=1")},
		{Key: "span/a/b/c/d", Value: []byte("at=9999999999999999999999")}, {Key: "", Value: nil},
		{Key: "failure/a", Value: []byte("{}")}, {Key: "found/a/b/c", Value: []byte(`{"features":"zz"}`)},
		{Key: "span/a/b/c/d", Value: []byte("seq=1 later=7 phase=x")}}
	for _, e := range append(list, list...) {
		v.AddEntry(e)
	}
	if v.Strange["span"] != 3 || v.Strange["test"] != 1 || v.Strange["new"] != 1 || v.Strange["failure"] != 1 {
		t.Fatalf("%v", v.Strange)
	}
	if want := (Held{1, uint64(len("span/a/b/c/d" + "seq=1 later=7 phase=x"))}); v.Held["span"] != want {
		t.Fatalf("%+v, want %+v", v.Held["span"], want)
	}
}

func TestStates(t *testing.T) {
	a := State{}.With(1).With(2).With(3)
	if b := (State{}).With(3).With(1).With(2); a != b || a == (State{}).With(1).With(2) {
		t.Fatal("a state depends on the order of features, or not on the features")
	}
	if b, err := parseState(a.String()); err != nil || b != a {
		t.Fatalf("%v, %v", b, err)
	}
}

// A request for something that no worker does is not written, and a revision is never an option of git.
func TestRequestsAreChecked(t *testing.T) {
	for _, test := range []struct {
		r    Request
		fine bool
	}{
		{Request{Kind: ReplayRequest}, true}, {Request{Kind: ShrinkRequest}, true}, {Request{Kind: "dance"}, false},
		{Request{Kind: ReplayRequest, Good: "v1"}, false},
		{Request{Kind: BisectRequest, Good: "v1.4.0"}, true},
		{Request{Kind: BisectRequest, Good: "HEAD~4", Bad: "feature/x@{1}"}, true}, {Request{Kind: BisectRequest}, false},
		{Request{Kind: BisectRequest, Good: "--upload-pack=x"}, false},
		{Request{Kind: BisectRequest, Good: "v1", Bad: "-x"}, false}, {Request{Kind: BisectRequest, Good: "a b"}, false},
		{Request{Kind: BisectRequest, Good: strings.Repeat("a", 300)}, false},
	} {
		if err := test.r.Check(); (err == nil) != test.fine {
			t.Errorf("%+v: %v", test.r, err)
		}
	}
}

// The record of the most entries decides about a code, and the latest about a code of which there is none.
func TestDistilled(t *testing.T) {
	d := func(code ID, at int64, kept string, of ...string) store.Entry {
		return (&Distilled{Code: code, AtMs: at, Of: of, Kept: []string{kept}}).Entry("t")
	}
	v := viewOf([]store.Entry{d("c1", 1, "a", "a", "b", "c"), d("c1", 2, "b", "a", "b"), d("c2", 1, "b", "a", "b"), d("c2", 3, "a", "a", "b")}).Test("t")
	for code, want := range map[ID]string{"c1": "b c", "c2": "b", "c3": "b"} {
		var dropped []string
		for _, name := range []string{"a", "b", "c", "d"} {
			if v.DistilledFor(code).Dropped(name) {
				dropped = append(dropped, name)
			}
		}
		if got := strings.Join(dropped, " "); got != want {
			t.Errorf("%s: dropped %s, want %s", code, got, want)
		}
	}
	if viewOf().Test("t").DistilledFor("c").Dropped("a") {
		t.Error("nothing was distilled")
	}
}

// The latest pause decides, also where clocks differ.
func TestPauses(t *testing.T) {
	v := NewView()
	if v.Paused() {
		t.Error("nobody asked for a pause")
	}
	for i, on := range []bool{true, false, true} {
		p := v.NextPause(on, "me", "", int64(100-i)) // each by a clock that is behind the last one
		v.AddEntry(p.Entry())
		if v.Paused() != on {
			t.Errorf("record %d does not decide", i)
		}
	}
}

func TestStanding(t *testing.T) {
	a, b, c, other := Code{Commit: "a", CommitMs: 1}, Code{Commit: "b", CommitMs: 2}, Code{Commit: "c", CommitMs: 3}, Code{Commit: "x", CommitMs: 9}
	dirty := Code{Commit: "b", Dirty: "1", CommitMs: 2}
	at := func(c Code, env, result string) store.Entry {
		return (&Replay{Code: c.ID(), Env: ID(env), Result: result}).Entry("t", FailureID("t", "p: a/s"))
	}
	found := func(c Code, env string) store.Entry {
		return (&Failure{Failure: failure.Failure{Signature: "p: a/s"}, Code: c.ID(), Env: ID(env), Level: Raw}).Entry("t")
	}
	base := []store.Entry{a.Entry(), b.Entry(), c.Entry(), other.Entry(), dirty.Entry(),
		(&Commit{ID: "b", Parents: []string{"a"}}).Entry(), (&Commit{ID: "c", Parents: []string{"b"}}).Entry()}
	for _, test := range []struct {
		name string
		list []store.Entry
		want Standing
	}{
		{"found", []store.Entry{found(a, "e")}, Ongoing},
		{"clean on a descendant", []store.Entry{found(a, "e"), at(b, "e", Clean)}, Fixed},
		{"clean on changes of the same commit", []store.Entry{found(b, "e"), at(dirty, "e", Clean)}, Fixed},
		{"clean in another environment", []store.Entry{found(a, "e"), at(b, "other", Clean)}, Unclear},
		{"clean on a code of another line", []store.Entry{found(a, "e"), at(other, "e", Clean)}, Unclear},
		{"clean on an ancestor", []store.Entry{found(b, "e"), at(a, "e", Clean)}, Ongoing},
		{"the tape makes another run", []store.Entry{found(a, "e"), at(b, "e", Diverged)}, Unclear},
		{"back again", []store.Entry{found(a, "e"), at(b, "e", Clean), at(c, "e", Reproduced)}, Ongoing},
		{"clean and shown on the same code", []store.Entry{found(a, "e"), at(b, "e", Clean), at(b, "e", Reproduced)}, Ongoing},
		{"fixed after it came back", []store.Entry{found(a, "e"), found(b, "other"), at(c, "e", Clean)}, Fixed},
		{"imported", []store.Entry{(&Failure{Failure: failure.Failure{Signature: "p: a/s"}, Imported: "failures/x.json"}).Entry("t")}, Unclear},
	} {
		v := viewOf(base, test.list)
		if got := v.Standing(v.Tests["t"].Failures[FailureID("t", "p: a/s")]); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
