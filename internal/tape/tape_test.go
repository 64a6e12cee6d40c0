package tape

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// draw is one call on a Source, of any of its three kinds.
type draw struct {
	stream string
	n      uint64
	rate   uint64
	bytes  int
}

var streams = []string{"net/n1/0", "net/n1/1", "net/n2/0", "fault/crash/n1", "sched/n1/0.2", "getrandom/n1"}

func randomDraws(r *rand.Rand, count int) []draw {
	list := make([]draw, count)
	for i := range list {
		k := r.IntN(len(streams))
		list[i] = draw{stream: streams[k], n: 1 + r.Uint64N(20)}
		switch {
		case k == len(streams)-1:
			list[i].bytes = 1 + r.IntN(20)
		case r.IntN(2) == 0:
			list[i].rate = 1 + r.Uint64N(Certain)
		}
	}
	return list
}

func randomTape(r *rand.Rand) Tape {
	t := Tape{Seed: r.Uint64()}
	patterns := append([]string{"**", "net/**", "*/n1/*", "fault/**"}, streams...)
	for range r.IntN(6) {
		from := r.Uint64N(20)
		switch r.IntN(3) {
		case 0:
			t.Edits = append(t.Edits, Edit{Op: Set, Stream: streams[r.IntN(len(streams))], From: from, Value: r.Uint64N(30)})
		case 1:
			t.Edits = append(t.Edits, Edit{Op: Default, Stream: patterns[r.IntN(len(patterns))], From: from, To: from + 1 + r.Uint64N(9)})
		case 2:
			t.Edits = append(t.Edits, Edit{Op: Reseed, Stream: patterns[r.IntN(len(patterns))], From: from, Seed: r.Uint64()})
		}
	}
	return t
}

// play makes draws and writes down, per stream, what they gave.
func play(s *Source, draws []draw) map[string][]string {
	got := map[string][]string{}
	for _, d := range draws {
		var v string
		switch {
		case d.bytes > 0:
			p := make([]byte, d.bytes)
			s.Bytes(d.stream, p)
			v = fmt.Sprintf("%x", p)
		case d.rate > 0:
			v = fmt.Sprint(s.Rare(d.stream, d.n, d.rate))
		default:
			v = fmt.Sprint(s.Choose(d.stream, d.n))
		}
		got[d.stream] = append(got[d.stream], v)
	}
	return got
}

// The draws of a seed are a promise: tapes in committed failure files depend on them.
func TestDrawsAreStable(t *testing.T) {
	s := NewSource(Tape{Seed: 1})
	var got []uint64
	for range 4 {
		got = append(got, s.Choose("a/b", 1000))
	}
	for range 4 {
		got = append(got, s.Rare("a/c", 17, 500_000))
	}
	var p [5]byte
	s.Bytes("a/d", p[:])
	const want = "[504 29 377 993 0 4 14 13] cbc687aa3b"
	if line := fmt.Sprintf("%d %x", got, p); line != want {
		t.Errorf("got %q, want %q", line, want)
	}
}

func TestDeletingAnEditShiftsNoOtherStream(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 500 {
		full := randomTape(r)
		if len(full.Edits) == 0 {
			continue
		}
		k := r.IntN(len(full.Edits))
		gone := full.Edits[k]
		less := Tape{Seed: full.Seed, Edits: append(append([]Edit(nil), full.Edits[:k]...), full.Edits[k+1:]...)}
		draws := randomDraws(r, 100)
		a, b := play(NewSource(full), draws), play(NewSource(less), draws)
		for _, s := range streams {
			if !Match(gone.Stream, s) && !reflect.DeepEqual(a[s], b[s]) {
				t.Fatalf("round %d: deleting %+v changed %s:\n%v\n%v", round, gone, s, a[s], b[s])
			}
		}
	}
}

// Leaving out all draws of one stream, as when a node is removed, does not change what others get.
func TestStreamsAreIndependent(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		tp, draws := randomTape(r), randomDraws(r, 100)
		silent := streams[r.IntN(len(streams))]
		var fewer []draw
		for _, d := range draws {
			if d.stream != silent {
				fewer = append(fewer, d)
			}
		}
		a, b := play(NewSource(tp), draws), play(NewSource(tp), fewer)
		delete(a, silent)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("without %s:\n%v\nwith it\n%v", silent, b, a)
		}
	}
}

func TestReplayMakesTheSameDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		tp := randomTape(r)
		// A replay keeps the seed of byte streams, not a reseed of them.
		for i, e := range tp.Edits {
			if e.Op == Reseed && Match(e.Stream, "getrandom/n1") {
				tp.Edits[i].Stream = "net/**"
			}
		}
		draws := randomDraws(r, 100)
		s := NewSource(tp)
		want := play(s, draws)
		again := NewSource(Replay(tp.Seed, s.Decisions()))
		if got := play(again, draws); !reflect.DeepEqual(got, want) {
			t.Fatalf("tape\n%s\nreplayed as\n%v\nwant\n%v", Format(tp), got, want)
		}
		if !reflect.DeepEqual(again.Decisions(), s.Decisions()) {
			t.Fatalf("decisions of the replay\n%v\nwant\n%v", again.Decisions(), s.Decisions())
		}
	}
}

func TestTextFormMakesTheSameDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		tp, draws := randomTape(r), randomDraws(r, 100)
		parsed, err := Parse(Format(tp))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := play(NewSource(tp), draws), play(NewSource(parsed), draws); !reflect.DeepEqual(a, b) {
			t.Fatalf("%s\ngives\n%v\nwant\n%v", Format(tp), b, a)
		}
	}
}

func TestStateRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		s := NewSource(randomTape(r))
		s.Watch([]string{"net/**"})
		play(s, randomDraws(r, r.IntN(100)))
		st := s.State()
		copied := NewSource(randomTape(r))
		held := copied.Stream("net/n1/0")
		held.Choose(7)
		copied.Restore(st)
		want := s.Stream("net/n1/0")
		for range 5 {
			if a, b := want.Choose(100), held.Choose(100); a != b {
				t.Fatalf("a stream that was handed out before gives %d, want %d", b, a)
			}
		}
		rest := randomDraws(r, 60)
		if a, b := play(s, rest), play(copied, rest); !reflect.DeepEqual(a, b) {
			t.Fatalf("the copy went on with\n%v\nwant\n%v", b, a)
		}
		// A copy shares nothing with the original.
		if reflect.DeepEqual(st, s.State()) {
			t.Fatal("the state moved with its source")
		}
		copied.Restore(st)
		if again := copied.State(); !reflect.DeepEqual(again.Decisions, st.Decisions) || !reflect.DeepEqual(again.Draws, st.Draws) || again.Met != st.Met {
			t.Fatalf("state %+v, want %+v", again, st)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		name  string
		edits string
		want  string // _ stands for the seed's own value
	}{
		{"none", "", "_ _ _ _ _ _"},
		{"default all", "default ** 0..", "0 0 0 0 0 0"},
		{"default range", "default a/* 1..3", "_ 0 0 _ _ _"},
		{"set clamps to n-1", "default ** 0..\nset a/b 2 = 99", "0 0 9 0 0 0"},
		{"later wins", "set a/b 0 = 5\ndefault ** 0..", "0 0 0 0 0 0"},
		{"set is for one stream", "default ** 0..\nset a/* 0 = 5", "0 0 0 0 0 0"},
		{"reseed takes back what came before", "default ** 0..\nreseed a/b 4.. seed 5", "0 0 0 0 _ _"},
	} {
		tp, err := Parse("tape 1\nseed 5\n" + c.edits)
		if err != nil {
			t.Fatal(err)
		}
		base, s := NewSource(Tape{Seed: 5}), NewSource(tp)
		for i, want := range strings.Fields(c.want) {
			plain, got := fmt.Sprint(base.Choose("a/b", 10)), fmt.Sprint(s.Choose("a/b", 10))
			if want == "_" {
				want = plain
			}
			if got != want {
				t.Errorf("%s: draw %d is %s, want %s", c.name, i, got, want)
			}
		}
	}
}

func TestReseedEqualsTheOtherSeed(t *testing.T) {
	a := NewSource(Tape{Seed: 1, Edits: []Edit{{Op: Reseed, Stream: "x", From: 3, Seed: 2}}})
	b, c := NewSource(Tape{Seed: 1}), NewSource(Tape{Seed: 2})
	for i := range 10 {
		got, one, two := a.Choose("x", 1<<40), b.Choose("x", 1<<40), c.Choose("x", 1<<40)
		if i < 3 && got != one || i >= 3 && got != two {
			t.Errorf("draw %d is %d, seeds 1 and 2 give %d and %d", i, got, one, two)
		}
	}
	var p, q [16]byte
	NewSource(Tape{Seed: 1, Edits: []Edit{{Op: Reseed, Stream: "**", Seed: 2}}}).Bytes("y", p[:])
	NewSource(Tape{Seed: 2}).Bytes("y", q[:])
	if !bytes.Equal(p[:], q[:]) {
		t.Errorf("bytes %x, want %x", p, q)
	}
}

func TestRareKeepsItsRate(t *testing.T) {
	s := NewSource(Tape{Seed: 11})
	const draws, rate = 200_000, 20_000 // 2 %
	counts := make([]int, 5)
	for range draws {
		counts[s.Rare("r", 5, rate)]++
	}
	for v := 1; v < 5; v++ {
		if c := counts[v]; c < 850 || c > 1150 { // 1,000 expected, standard deviation 32
			t.Errorf("value %d came %d times, expected about 1000", v, c)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, stream string
		want            bool
	}{
		{"**", "", true}, {"**", "a/b", true}, {"a", "a", true}, {"a", "a/b", false}, {"a/*", "a/b", true},
		{"a/*", "a", false}, {"a/*", "a/b/c", false}, {"a/**", "a", true}, {"a/**/d", "a/b/c/d", true},
		{"a/**/d", "a/d", true}, {"a/**/d", "a/b/c", false}, {"**/n1/*", "x/y/n1/z", true}, {"*", "a", true},
		{"**/**", "a", true}, {strings.Repeat("**/", 6) + "x", "a/b/c", false},
	} {
		if got := Match(c.pattern, c.stream); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.stream, got)
		}
	}
}

func TestChooseFromNothingPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Choose(s, 0) returned")
		}
	}()
	NewSource(Tape{}).Choose("s", 0)
}

// Watched draws are listed whatever they gave, in rows, and the rows report which of them came after an edit.
func TestWatchedDraws(t *testing.T) {
	tp, err := Parse("tape 1\nseed 3\nset fault/b 1 = 1")
	if err != nil {
		t.Fatal(err)
	}
	s := NewSource(tp)
	s.Watch([]string{"fault/*", "other"})
	for i := range 4 {
		s.Rare("fault/a", 5, 1)
		s.Rare("fault/b", 2, 1)
		s.Choose("fault/one", 1)
		s.Choose("else", 7)
		s.Choose("other", 2+uint64(i)/2)
	}
	want := []Draws{{"fault/a", 0, 2, 5, 0}, {"fault/b", 0, 2, 2, 0}, {"other", 0, 1, 2, 0}, {"other", 1, 2, 2, 1},
		{"fault/a", 2, 4, 5, 1}, {"fault/b", 2, 4, 2, 1}, {"other", 2, 4, 3, 1}}
	if !reflect.DeepEqual(s.Draws(), want) {
		t.Errorf("got  %v\nwant %v", s.Draws(), want)
	}
	many := NewSource(Tape{})
	many.Watch([]string{"**"})
	for i := range uint64(maxDraws + 10) {
		many.Choose("x", 2+i%2)
	}
	if len(many.Draws()) != maxDraws || many.DrawsLost() != 10 {
		t.Errorf("%d rows and %d lost", len(many.Draws()), many.DrawsLost())
	}
}

// What is given is 0 on every seed, and what an edit says.
func TestGiven(t *testing.T) {
	for seed := range uint64(1000) {
		s := NewSource(Tape{Seed: seed, Edits: []Edit{{Op: Reseed, Stream: "**", Seed: 5}, {Op: Set, Stream: "rank/a", From: 1, Value: 7}}})
		if a, b, c := s.Given("rank/a", 10), s.Given("rank/a", 10), s.Given("rank/b", 10); a != 0 || b != 7 || c != 0 || len(s.Decisions()) != 1 {
			t.Fatalf("seed %d gives %d %d %d", seed, a, b, c)
		}
	}
}

// A stream at hand and its name are one row of draws.
func TestStreamAtHand(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 100 {
		tp := randomTape(r)
		byName, atHand := NewSource(tp), NewSource(tp)
		stream := atHand.Stream("net/n1/0")
		for i := range 30 {
			a := []uint64{byName.Choose("net/n1/0", 9), byName.Rare("net/n1/0", 5, 300_000)}
			b := []uint64{stream.Choose(9), atHand.Rare("net/n1/0", 5, 300_000)}
			var p [8]byte
			byName.Bytes("net/n1/0", p[:])
			a, b = append(a, binary.LittleEndian.Uint64(p[:])), append(b, stream.Uint64())
			if i%2 == 1 {
				a, b = append(a, byName.Rare("net/n1/0", 5, 300_000)), append(b, stream.Rare(5, 300_000))
			}
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("tape %s, round %d: by name %v, at hand %v", Format(tp), i, a, b)
			}
		}
		if !reflect.DeepEqual(byName.State(), atHand.State()) {
			t.Fatal("the states differ")
		}
	}
}

// At reports what Choose gives, whatever the tape, and leaves no trace.
func TestAtIsWhatADrawGives(t *testing.T) {
	tp := Tape{Seed: 7, Edits: []Edit{{Op: Set, Stream: "a", From: 3, Value: 9}, {Op: Default, Stream: "*", From: 5, To: 7},
		{Op: Reseed, Stream: "a", From: 9, Seed: 4}, {Op: Set, Stream: "a", From: 11, Value: 99}}}
	plain, asked := NewSource(tp), NewSource(tp)
	for i := range uint64(20) {
		for k := range uint64(20) {
			asked.PeekDraw("a", k, 10)
		}
		want := plain.Choose("a", 10)
		if got := asked.PeekDraw("a", i, 10); got != want {
			t.Errorf("draw %d is %d, and At tells %d", i, want, got)
		}
		if got := asked.Choose("a", 10); got != want {
			t.Errorf("draw %d is %d after At and %d without", i, got, want)
		}
	}
	if a, b := len(asked.Decisions()), len(plain.Decisions()); a != b || asked.State().Met != plain.State().Met {
		t.Errorf("%d decisions and %d without At", a, b)
	}
}

// A tape follows another one as long as it overrides none of the draws that were made in another way.
func TestFollows(t *testing.T) {
	set := func(stream string, i, v uint64) Edit { return Edit{Op: Set, Stream: stream, From: i, Value: v} }
	calm := Edit{Op: Default, Stream: "**", To: End}
	played := Tape{Seed: 7, Edits: []Edit{calm, set("a/b", 1, 3), set("a/c", 9, 1)}}
	s := NewSource(played)
	for range 3 {
		s.Choose("a/b", 10)
		s.Choose("a/c", 10)
	}
	for _, c := range []struct {
		what string
		t    Tape
		want bool
	}{
		{"itself", played, true},
		{"another seed", Tape{Seed: 8, Edits: played.Edits}, false},
		{"without a draw to come", Tape{Seed: 7, Edits: []Edit{calm, set("a/b", 1, 3)}}, true},
		{"with another draw to come", Tape{Seed: 7, Edits: []Edit{calm, set("a/b", 1, 3), set("a/b", 3, 1)}}, true},
		{"with an edit of a stream to come", Tape{Seed: 7, Edits: []Edit{calm, set("a/b", 1, 3), set("z", 0, 1)}}, true},
		{"without a draw that was made", Tape{Seed: 7, Edits: []Edit{calm, set("a/c", 9, 1)}}, false},
		{"with another value", Tape{Seed: 7, Edits: []Edit{calm, set("a/b", 1, 4), set("a/c", 9, 1)}}, false},
		{"with one more draw that was made", Tape{Seed: 7, Edits: []Edit{calm, set("a/b", 1, 3), set("a/c", 2, 1)}}, false},
		{"with a range that ends later", Tape{Seed: 7, Edits: []Edit{{Op: Default, Stream: "**", To: 3}, set("a/b", 1, 3)}}, true},
		{"with a range that ends before", Tape{Seed: 7, Edits: []Edit{{Op: Default, Stream: "**", To: 2}, set("a/b", 1, 3)}}, false},
		{"with another seed once it is ready", Tape{Seed: 7, Edits: append(slices.Clone(played.Edits), FromReady(7, 8).Edits...)}, true},
		{"with another seed from draw 3 on", Tape{Seed: 7, Edits: append(slices.Clone(played.Edits), Edit{Op: Reseed, Stream: "**", From: 3, Seed: 1})}, true},
		{"with another seed from draw 2 on",
			Tape{Seed: 7, Edits: append(slices.Clone(played.Edits), Edit{Op: Reseed, Stream: "a/*", From: 2, Seed: 1})}, false},
	} {
		if got := s.Follows(c.t); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	s.Ready()
	s.Choose("a/b", 10)
	if s.Follows(Tape{Seed: 7, Edits: append(slices.Clone(played.Edits), FromReady(7, 8).Edits...)}) {
		t.Error("a tape with another seed follows a world that is ready and has drawn since")
	}
}

// Up to a time the draws are those of a tape, whatever it sets, and from then on those of another seed.
func TestBehind(t *testing.T) {
	of := Tape{Seed: 1, Edits: []Edit{{Op: Default, Stream: "x", To: End}, {Op: Set, Stream: "x", From: 1, Value: 5},
		{Op: Set, Stream: "x", From: 4, Value: 5}}}
	tp := of.Behind(200, 2)
	if again, err := Parse(Format(tp)); err != nil || !reflect.DeepEqual(again, tp) || !tp.Timed() || of.Timed() {
		t.Errorf("%v %v", again, err)
	}
	for _, wrong := range []string{"after", "after 5", "after -5ns", "after 0ns", "after 5ns ready", "before 5ns"} {
		if _, err := Parse("tape 1\nseed 1\nreseed ** 0.. seed 1 " + wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	var now int64
	s, chance := NewSource(tp), NewSource(Tape{Seed: 2})
	s.Clock(func() int64 { return now })
	draw := func(s *Source) (list [2]uint64) {
		var b [8]byte
		s.Bytes("bytes", b[:])
		return [2]uint64{s.Choose("x", 1000), binary.LittleEndian.Uint64(b[:])}
	}
	var old *Source
	for i := range 6 {
		now = int64(100 * i)
		if i == 2 {
			if !s.Follows(of) || !s.Follows(of.Behind(101, 9)) || s.Follows(of.Behind(100, 9)) {
				t.Error("what comes later counts")
			}
			old = NewSource(of)
			old.Restore(s.State())
			old.Clock(func() int64 { return now })
		}
		got, fresh := draw(s), draw(chance)
		switch {
		case i == 1 && got[0] != 5, i < 2 && got[1] == fresh[1], i >= 2 && got != fresh:
			t.Errorf("draw %d: %v, and of the other seed %v", i, got, fresh)
		}
		if old != nil && draw(old) != got {
			t.Errorf("draw %d of the restored one is another", i)
		}
	}
	if s.Follows(of) || !s.Follows(tp) {
		t.Error("what came does not count")
	}
}

// Up to the world's being ready the draws are those of one seed, and then those of another one.
func TestFromReady(t *testing.T) {
	tp := FromReady(1, 2)
	boot, then, s := NewSource(Tape{Seed: 1}), NewSource(Tape{Seed: 2}), NewSource(tp)
	draws := func(s *Source, n int) (list []uint64) {
		var b [8]byte
		for range n {
			s.Bytes("bytes", b[:])
			list = append(list, s.Choose("x", 1000), binary.LittleEndian.Uint64(b[:]))
		}
		return list
	}
	if got, want := draws(s, 20), draws(boot, 20); !slices.Equal(got, want) {
		t.Errorf("before it is ready: %v, and with its seed alone %v", got, want)
	}
	s.Ready()
	draws(then, 20)
	if got, want := draws(s, 20), draws(then, 20); !slices.Equal(got, want) {
		t.Errorf("ready: %v, and with the other seed %v", got, want)
	}
	if boot, seed, rest := tp.Seeds(); boot != 1 || seed != 2 || len(rest) != 0 || tp.Name() != "seed 2, booted with seed 1" {
		t.Errorf("%d %d %v, %q", boot, seed, rest, tp.Name())
	}
	if again, err := Parse(Format(tp)); err != nil || !reflect.DeepEqual(again, tp) {
		t.Errorf("%v, %v from %s", again, err, Format(tp))
	}
}
