package records_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/dashboardtest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

// BenchmarkView reads a folder of a million spans of 64 workers, as a dashboard does when it starts.
func BenchmarkView(b *testing.B) {
	path := b.TempDir()
	dashboardtest.Spans(b, path)
	d, err := store.OpenDir(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	for b.Loop() {
		v := records.NewView()
		if _, err := d.Read(b.Context(), "", "", func(e store.Entry) error { v.AddEntry(e); return nil }); err != nil {
			b.Fatal(err)
		}
		if n := len(v.Tests); n != 1 {
			b.Fatal(n)
		}
	}
}

// BenchmarkTenThousandWorkers writes what ten thousand workers record in a minute after their first hour into each kind of
// database: a span of searches and one of the holdout each, and now and then a discovery; that of one worker after that of the
// other, although a server takes that of several at once. It reports the size of that, and of a day before spans are packed.
func BenchmarkTenThousandWorkers(b *testing.B) {
	const workers = 10_000
	const test, code, env = "0123456789abcdef", "0123456789abcdef", "0123456789abcdef"
	minute := func(turn int) (list [][]store.Entry) {
		at := 1790000000000 + 60_000*int64(turn)
		for w := range workers {
			id := records.ID(fmt.Sprintf("%016x", w))
			search := records.Span{Seq: 2 * uint64(turn), AtMs: at, Ms: 54_000, Phase: records.Search, Runs: 180, Events: 3_600_000, Size: 1500}
			holdout := records.Span{Seq: 2*uint64(turn) + 1, AtMs: at, Ms: 6_000, Phase: records.Holdout, Runs: 20,
				Events: 400_000, Size: 1500, Classes: []records.Class{{Name: records.AnyFeature, After: 20}}}
			of := []store.Entry{search.Entry(test, code, env, id), holdout.Entry(test, code, env, id)}
			if w%10 == 0 {
				f := records.Found{Worker: id, Seq: uint64(turn), AtMs: at, Run: 10_000, Features: records.FeatureText([]uint64{1, 2, 3})}
				of = append(of, f.Entry(test, code, env))
			}
			list = append(list, of)
		}
		return list
	}
	for _, kind := range []struct {
		name string
		url  func(testing.TB) string
	}{
		{"folder", func(b testing.TB) string { return b.TempDir() }},
		{"postgres", func(b testing.TB) string { return storetest.Postgres(b).URL }},
		{"redis", func(b testing.TB) string { return storetest.Redis(b).URL }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			s, err := open.Open(kind.url(b))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			n, size, turn := 0, 0, 0
			for b.Loop() {
				b.StopTimer()
				list := minute(turn)
				turn, n, size = turn+1, 0, 0
				for _, e := range slices.Concat(list...) {
					n, size = n+1, size+len(e.Key)+len(e.Value)
				}
				b.StartTimer()
				for _, of := range list {
					if err := s.Add(b.Context(), of...); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)/60, "records/s-needed")
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s-possible")
			b.ReportMetric(float64(size)/float64(n), "bytes/record")
			b.ReportMetric(float64(size)*60*24/1e9, "GB/day")
		})
	}
}

// BenchmarkPackedDay packs what 50 workers record in a day, of searches and of holdouts, and reports the size of what ten thousand do, before and after.
func BenchmarkPackedDay(b *testing.B) {
	const workers, minutes = 50, 24 * 60
	const test, code, env = "0123456789abcdef", "0123456789abcdef", "0123456789abcdef"
	r := rand.New(rand.NewPCG(1, 1))
	classes := []string{records.AnyFeature, "fault", "log", "net", records.PropertyClass("linearizable"), records.PropertyClass("no-crash")}
	size := func(list []store.Entry) (n float64) {
		for _, e := range list {
			n += float64(len(e.Key) + len(e.Value))
		}
		return n
	}
	var singles []store.Entry
	for w := range workers {
		id := records.ID(fmt.Sprintf("%016x", w))
		state, known, seq, at := records.State{}, uint64(1500), uint64(0), int64(1790000000000)
		for range minutes {
			at += 60_000 + r.Int64N(400)
			from := state
			if r.IntN(30) == 0 {
				state, known = state.With(r.Uint64()), known+1
			}
			runs := 170 + r.Uint64N(30)
			search := records.Span{Seq: seq, AtMs: at, Ms: 54_000 + r.Int64N(100), Phase: records.Search, From: from, To: state,
				Size: known, Runs: runs, Events: runs*20_000 + r.Uint64N(100_000)}
			holdout := records.Span{Seq: seq + 1, AtMs: at, Ms: 6_000 + r.Int64N(100), Phase: records.Holdout, From: from,
				To: state, Size: known, Runs: runs / 10, Events: runs*2_000 + r.Uint64N(10_000)}
			for _, c := range classes {
				holdout.Classes = append(holdout.Classes, records.Class{Name: c, After: holdout.Runs})
			}
			seq += 2
			singles = append(singles, search.Entry(test, code, env, id), holdout.Entry(test, code, env, id))
		}
	}
	var packs []store.Entry
	for b.Loop() {
		p := records.Packer{BeforeMs: 1 << 60}
		for _, e := range singles {
			p.AddEntry(e)
		}
		packs, _ = p.Packs()
	}
	b.ReportMetric(size(singles)*10_000/workers/1e9, "GB/day-before")
	b.ReportMetric(size(packs)*10_000/workers/1e9, "GB/day-after")
	b.ReportMetric(size(packs)/float64(len(singles)), "bytes/span")
	b.ReportMetric(float64(len(singles))*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
}
