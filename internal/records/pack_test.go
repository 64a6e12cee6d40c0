package records

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// randomSpan makes a span as workers write them, and now and then one as they do not.
func randomSpan(r *rand.Rand, before *Span) Span {
	s := Span{Seq: before.Seq + 1, AtMs: before.AtMs + r.Int64N(3)*r.Int64N(60_000), Ms: r.Int64N(60_000),
		Phase: []string{Search, Holdout, Again, Shrink, "later"}[r.IntN(5)], From: before.To, Size: before.Size,
		Runs: r.Uint64N(300), Events: r.Uint64N(1e7)}
	s.To = s.From
	if r.IntN(5) == 0 {
		s.To, s.Size = s.From.With(r.Uint64()), s.Size+1
	}
	if r.IntN(10) == 0 {
		s.Seq, s.From, s.AtMs = s.Seq+r.Uint64N(5000), State{r.Uint64(), r.Uint64()}, r.Int64()-r.Int64()
	}
	if r.IntN(6) == 0 {
		s.Violated, s.Lost, s.Varying = r.Uint64N(3), r.Uint64N(2), r.Uint64N(2)
	}
	if s.Phase == Holdout {
		for i := range r.IntN(4) {
			c := Class{Name: fmt.Sprint("class ", i), After: s.Runs}
			if r.IntN(8) == 0 {
				c.News, c.After = 1, r.Uint64N(9)
			}
			s.Classes = append(s.Classes, c)
		}
	}
	return s
}

func TestPacksReadAsWritten(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 21))
		var list, got []Span
		var last Span
		for range r.IntN(60) {
			last = randomSpan(r, &last)
			list = append(list, last)
		}
		value := pack(list)
		if err := unpack(value, func(s *Span) { got = append(got, *s) }); err != nil || fmt.Sprint(got) != fmt.Sprint(list) {
			t.Fatalf("seed %d: %v came back as %v: %v", seed, list, got, err)
		}
		for cut := range value {
			if unpack(value[:cut], func(*Span) {}) == nil {
				t.Fatalf("seed %d: the first %d bytes of %d are a pack", seed, cut, len(value))
			}
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(pack([]Span{{Seq: 1, Phase: Holdout, Runs: 2, Classes: []Class{{AnyFeature, 0, 2}}}, {Seq: 2, AtMs: 5, Phase: Search}}))
	f.Add([]byte(packMagic + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, value []byte) {
		var list []Span
		if unpack(value, func(s *Span) { list = append(list, *s) }) != nil {
			return
		}
		var again []Span
		if err := unpack(pack(list), func(s *Span) { again = append(again, *s) }); err != nil || fmt.Sprint(again) != fmt.Sprint(list) {
			t.Errorf("%v and %v: %v", list, again, err)
		}
	})
}

// history makes the spans of a few workers, each with its numbers in order, and the discoveries that belong to them.
func history(r *rand.Rand) (list []store.Entry) {
	code := Code{Commit: "a"}
	list = append(list, code.Entry(), (&Code{Commit: "b"}).Entry())
	for w := range 1 + r.IntN(3) {
		worker := ID(fmt.Sprint("w", w))
		var last Span
		for n := range r.IntN(40) {
			if last = randomSpan(r, &last); n == 0 {
				last.Seq = r.Uint64N(2) * 4090 // over the end of a block, too
			}
			last.AtMs = r.Int64N(1000)
			list = append(list, last.Entry("t", code.ID(), "e", worker))
			if r.IntN(5) == 0 {
				list = append(list, (&Found{Worker: worker, Seq: uint64(n), AtMs: r.Int64N(1000),
					Features: FeatureText([]uint64{r.Uint64N(40)})}).Entry("t", code.ID(), "e"))
			}
		}
	}
	return list
}

// said is all that a view says but for how many entries say it.
func said(t *testing.T, v *View) string {
	v.Held = nil
	out := text(t, v)
	for _, test := range v.Tests {
		for _, code := range v.CodesByAge() {
			out += fmt.Sprint(test.Growth(code), test.Calibration(code, AnyFeature), test.Risks(code))
		}
	}
	return out
}

func read1(t *testing.T, s store.Store) (list []store.Entry) {
	t.Helper()
	if _, err := s.Read(context.Background(), "", "", func(e store.Entry) error { list = append(list, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return list
}

// packing packs a database step by step.
type packing struct {
	s    store.Store
	add  []store.Entry
	drop map[store.Identity]bool
	step int
}

func (p *packing) next(t *testing.T, before int64) {
	t.Helper()
	switch p.step % 3 {
	case 0:
		packer := Packer{BeforeMs: before}
		for _, e := range read1(t, p.s) {
			packer.AddEntry(e)
		}
		p.add, p.drop = packer.Packs()
	case 1:
		if err := p.s.Add(t.Context(), p.add...); err != nil {
			t.Fatal(err)
		}
	case 2:
		if _, err := p.s.Drop(t.Context(), SpanPrefix, func(e store.Entry) bool { return p.drop[e.Identity()] }); err != nil {
			t.Fatal(err)
		}
	}
	p.step++
}

// Several pack a database at once, step by step in any order, while workers write and old copies are merged in. Nothing that it
// says is lost or counted twice; and when all is packed, packing again does nothing.
func TestPackedDatabasesSayTheSame(t *testing.T) {
	dropped := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 22))
		list := history(r)
		s := store.NewMemory()
		written := 0
		var copies []store.Store
		packings := []*packing{{s: s}, {s: s}, {s: s}}
		for step := 0; written < len(list) || step < 60; step++ {
			switch r.IntN(6) {
			case 0, 1:
				n := min(r.IntN(20), len(list)-written)
				if err := s.Add(t.Context(), list[written:written+n]...); err != nil {
					t.Fatal(err)
				}
				written += n
			case 2:
				c := store.NewMemory()
				if _, err := store.Merge(t.Context(), c, s); err != nil {
					t.Fatal(err)
				}
				copies = append(copies, c)
				if r.IntN(2) == 0 { // the copy is packed, too
					p := &packing{s: c}
					for range 3 {
						p.next(t, r.Int64N(1200))
					}
				}
			case 3:
				if len(copies) > 0 {
					if _, err := store.Merge(t.Context(), s, copies[r.IntN(len(copies))]); err != nil {
						t.Fatal(err)
					}
				}
			default:
				packings[r.IntN(len(packings))].next(t, r.Int64N(1200))
			}
			if got, want := said(t, viewOf(read1(t, s))), said(t, viewOf(list[:written])); got != want {
				t.Fatalf("seed %d, step %d: a packed database says something else", seed, step)
			}
		}
		for range 6 {
			packings[0].next(t, 2000)
		}
		had := len(read1(t, s))
		dropped += written - had
		for range 3 {
			packings[0].next(t, 2000)
		}
		if len(packings[0].add) > 0 || len(packings[0].drop) > 0 || len(read1(t, s)) != had {
			t.Fatalf("seed %d: packing again adds %d and drops %d", seed, len(packings[0].add), len(packings[0].drop))
		}
		shuffled := read1(t, s)
		shuffled = append(shuffled, list...)
		r.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		a, b := viewOf(shuffled), viewOf(shuffled)
		slices.Reverse(shuffled)
		c := viewOf(shuffled)
		if text(t, a) != text(t, c) { // with the counts of entries
			t.Fatalf("seed %d: a view of packs and spans depends on their order", seed)
		}
		if said(t, b) != said(t, viewOf(list)) {
			t.Fatalf("seed %d: packs and spans say something else than spans", seed)
		}
	}
	if dropped < 500 {
		t.Errorf("only %d entries were dropped", dropped)
	}
}

// What is young stays as it is.
func TestPacksAreOfOldSpans(t *testing.T) {
	packer := Packer{BeforeMs: 100}
	for i := range uint64(10) {
		packer.AddEntry((&Span{Seq: i, AtMs: int64(95 + i), Phase: Search, Runs: 1}).Entry("t", "c", "e", "w"))
	}
	packer.AddEntry(store.Entry{Key: "span/t/c/e/w", Value: []byte("seq=what")})
	packer.AddEntry(store.Entry{Key: "span/short", Value: []byte("seq=1")})
	add, drop := packer.Packs()
	if len(add) != 1 || len(drop) != 5 {
		t.Fatalf("%d packs, %d to drop", len(add), len(drop))
	}
	v := viewOf(add)
	if e := v.Test("t").Efforts[Place{"c", "e"}]; e.Runs() != 5 || e.Shares["w"].LastMs != 99 {
		t.Errorf("%+v", e)
	}
}
