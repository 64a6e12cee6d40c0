package records

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// slowGrowth counts, for each time at which a feature was found first, all features and runs until then.
func slowGrowth(t *TestView, code ID) (list []Grown) {
	first, times, end := map[uint64]int64{}, map[int64]bool{}, int64(-1)
	for p, e := range t.Efforts {
		for id, d := range e.Features {
			if at, known := first[id]; p.Code == code && (!known || d.AtMs < at) {
				first[id] = d.AtMs
			}
		}
		for _, s := range spansOf(e) {
			if p.Code == code && (s.Phase == Search || s.Phase == Holdout) {
				end = max(end, s.AtMs)
			}
		}
	}
	last := int64(-1)
	for _, at := range first {
		times[at], last = true, max(last, at)
	}
	if end > last {
		times[end] = true
	}
	for at := int64(0); at <= max(end, last); at++ {
		if !times[at] {
			continue
		}
		g := Grown{AtMs: at}
		for _, found := range first {
			if found <= at {
				g.Features++
			}
		}
		for p, e := range t.Efforts {
			for _, s := range spansOf(e) {
				if p.Code == code && (s.Phase == Search || s.Phase == Holdout) && s.AtMs <= at {
					g.Runs += s.Runs
				}
			}
		}
		list = append(list, g)
	}
	return list
}

func TestGrowth(t *testing.T) {
	points := 0
	for seed := range uint64(200) {
		v := viewOf(random(rand.New(rand.NewPCG(seed, 3))))
		for _, test := range v.Tests {
			for code := range v.Codes {
				got, want := test.Growth(code), slowGrowth(test, code)
				if fmt.Sprint(got) != fmt.Sprint(want) && len(want) > 0 {
					t.Fatalf("seed %d:\n%v, want\n%v", seed, got, want)
				}
				points += len(want)
			}
		}
	}
	if points < 100 {
		t.Fatalf("only %d points were compared", points)
	}
}

// The bound behind 1, 2, 4, ... runs is compared with as many runs behind them.
func TestCalibration(t *testing.T) {
	var list []store.Entry
	for i := range 40 {
		s := Span{Seq: uint64(i), AtMs: int64(i), Phase: Holdout, Runs: 1, Classes: []Class{{Name: AnyFeature, After: 1}}}
		if i == 5 || i == 9 {
			s.Classes[0] = Class{Name: AnyFeature, News: 1}
		}
		list = append(list, s.Entry("t", "c", "e", "w"))
	}
	got := viewOf(list).Tests["t"].Calibration("c", AnyFeature)
	var runs, news []uint64
	for _, c := range got {
		runs, news = append(runs, c.Runs), append(news, c.News)
		if c.Next != c.Runs {
			t.Errorf("%+v", c)
		}
	}
	if fmt.Sprint(runs, news) != "[1 2 4 8 16] [0 0 1 1 0]" {
		t.Error(runs, news)
	}
	if got[2].Bound != bound(0, 4) || got[3].Bound != bound(1, 2) {
		t.Errorf("%+v", got)
	}
}

func TestFindings(t *testing.T) {
	a, b := Code{Commit: "a", CommitMs: 1}, Code{Commit: "b", CommitMs: 2}
	runs := func(c Code, n uint64) store.Entry {
		return (&Span{Phase: Search, Runs: n}).Entry("t", c.ID(), "e", "w")
	}
	found := func(c Code, worker ID) store.Entry {
		return (&Failure{Failure: failure.Failure{Signature: "p: a/s"}, Code: c.ID(), Env: "e", Level: Raw, Worker: worker}).Entry("t")
	}
	clean := (&Replay{Code: b.ID(), Env: "e", Result: Clean}).Entry("t", FailureID("t", "p: a/s"))
	for _, test := range []struct {
		name string
		list []store.Entry
		want Finding
	}{
		{"in the newest code only", []store.Entry{found(b, "w"), runs(a, 9), runs(b, 9)}, NewFinding},
		{"in both", []store.Entry{found(a, "w"), found(b, "w"), runs(b, 9)}, OngoingFinding},
		{"in the older one, and not tried since", []store.Entry{found(a, "w"), runs(b, 9)}, OngoingFinding},
		{"once in many runs", []store.Entry{found(b, "w"), runs(b, RareRuns)}, RareFinding},
		{"by two workers in many runs", []store.Entry{found(b, "w"), found(b, "x"), runs(b, RareRuns)}, NewFinding},
		{"clean on the newest code", []store.Entry{found(a, "w"), clean, runs(b, 9)}, ResolvedFinding},
		{"imported", []store.Entry{(&Failure{Failure: failure.Failure{Signature: "p: a/s"}, Imported: "x.json"}).Entry("t"), runs(b, 9)}, UnclearFinding},
	} {
		v := viewOf([]store.Entry{a.Entry(), b.Entry(), (&Commit{ID: "b", Parents: []string{"a"}}).Entry()}, test.list)
		tv := v.Tests["t"]
		if got := v.Finding(tv, tv.Failures[FailureID("t", "p: a/s")], v.CodesOf(tv)[0]); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
