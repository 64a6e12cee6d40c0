package records_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/dashboard/dashboardtest"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
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
		if _, err := d.Read(b.Context(), "", "", func(e store.Entry) error { v.Take(e); return nil }); err != nil {
			b.Fatal(err)
		}
		if n := len(v.Tests); n != 1 {
			b.Fatal(n)
		}
	}
}

// BenchmarkTenThousandWorkers writes what ten thousand workers record in a minute after their first hour: a span each, and now and then a discovery. It
// reports the size of that, and of a day.
func BenchmarkTenThousandWorkers(b *testing.B) {
	const workers = 10_000
	const test, code, env = "0123456789abcdef", "0123456789abcdef", "0123456789abcdef"
	var list []store.Entry
	size := 0
	for w := range workers {
		id := records.ID(fmt.Sprintf("%016x", w))
		s := records.Span{Seq: 60, AtMs: 1790000000000, Ms: 60_000, Phase: records.Search, Runs: 200, Events: 4_000_000, Size: 1500}
		list = append(list, s.Entry(test, code, env, id))
		if w%10 == 0 {
			f := records.Found{Worker: id, Seq: 9, AtMs: 1790000000000, Run: 10_000, Features: records.FeatureText([]uint64{1, 2, 3})}
			list = append(list, f.Entry(test, code, env))
		}
	}
	for _, e := range list {
		size += len(e.Key) + len(e.Value)
	}
	for b.Loop() {
		d, err := store.OpenDir(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		for part := range slices.Chunk(list, 100) { // as a server that serves them would
			if err := d.Add(b.Context(), part...); err != nil {
				b.Fatal(err)
			}
		}
		d.Close()
	}
	b.ReportMetric(float64(len(list))/60, "records/s-needed")
	b.ReportMetric(float64(len(list))*float64(b.N)/b.Elapsed().Seconds(), "records/s-possible")
	b.ReportMetric(float64(size)/float64(len(list)), "bytes/record")
	b.ReportMetric(float64(size)*60*24/1e9, "GB/day")
}
