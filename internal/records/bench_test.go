package records_test

import (
	"fmt"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// BenchmarkView reads a folder of a million spans of 64 workers, as a dashboard does when it starts.
func BenchmarkView(b *testing.B) {
	path := b.TempDir()
	const workers, each = 64, 1_000_000 / 64
	for w := range workers {
		d, err := store.OpenDir(path)
		if err != nil {
			b.Fatal(err)
		}
		var list []store.Entry
		for i := range each {
			s := records.Span{Seq: uint64(i), AtMs: 1790000000000 + int64(i)*1000, Ms: 1000, Phase: records.Search, Runs: 12, Events: 123456, Size: uint64(i)}
			if i%10 == 0 {
				s.Phase, s.Classes = records.Holdout, []records.Class{{Name: records.AnyFeature, After: 12}, {Name: "code", After: 12}}
			}
			list = append(list, s.Entry("0123456789abcdef", "0123456789abcdef", "0123456789abcdef", records.ID(fmt.Sprintf("%016x", w))))
		}
		if err := d.Add(b.Context(), list...); err != nil {
			b.Fatal(err)
		}
		d.Close()
	}
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
