package search

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

func someRun() *Run {
	h := newHandler([]uint64{4242})
	h.decides(3, h.Ult(h.Const(1000, 16), h.x))
	h.decides(4, h.Eq(h.Add(h.x, h.x), h.Const(7, 16)))
	h.picks(5, h.x)
	h.Lost = map[uint32]int{1: 2, 9: 1}
	h.Stale, h.Dropped = 3, 4
	return &Run{Path: h.Path, Failures: []Failure{{What: "a check"}, {What: "panic: x", Where: "a.go:1"}}}
}

func TestRunsCrossAPipe(t *testing.T) {
	want := someRun()
	for _, v := range []reflect.Value{reflect.ValueOf(want).Elem(), reflect.ValueOf(&want.Path).Elem()} {
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Ended" { // which is set by whoever waits for the copy
				t.Errorf("the run has no %s, so it is not known whether that crosses", name)
			}
		}
	}
	var b bv.Builder
	got, err := ParseRun(&b, AppendRun(nil, want))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Path.Branches {
		x, y := &want.Path.Branches[i], &got.Path.Branches[i]
		for v := range uint64(1 << 16) {
			if bv.Eval(x.Cond, []uint64{v}) != bv.Eval(y.Cond, []uint64{v}) {
				t.Fatalf("branch %d is another one for %d", i, v)
			}
		}
		x.Cond, y.Cond = nil, nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v instead of %+v", got, want)
	}
	values, err := ParseValues(AppendValues(nil, []uint64{0, 1 << 63, 5}))
	if err != nil || !reflect.DeepEqual(values, []uint64{0, 1 << 63, 5}) {
		t.Error(values, err)
	}
}

// What comes out of a copy may be anything: it is an error or a run, and nothing else happens.
func TestDamagedRuns(t *testing.T) {
	whole := AppendRun(nil, someRun())
	r := rand.New(rand.NewPCG(1, 1))
	errs := 0
	for range 20_000 {
		text := append([]byte{}, whole[:r.IntN(len(whole)+1)]...)
		for range r.IntN(4) {
			if len(text) > 0 {
				text[r.IntN(len(text))] = byte(r.Uint32())
			}
		}
		var b bv.Builder
		run, err := ParseRun(&b, text)
		if err != nil {
			errs++
			continue
		}
		for _, br := range run.Path.Branches {
			if br.Cond == nil || br.Cond.Width != 1 {
				t.Fatalf("a branch without a condition from %x", text)
			}
		}
	}
	if errs < 1000 {
		t.Errorf("%d of 20,000 damaged runs are errors", errs)
	}
}

// A path that does not come back is no path that was taken.
func TestRunsThatEnd(t *testing.T) {
	found := Search(Options{Paths: 100}, func(values []uint64) Run {
		h := newHandler(values)
		if h.decides(1, h.Eq(h.x, h.Const(4242, 16))) {
			return Run{Ended: true, Failures: []Failure{{What: "crash: out of memory"}}}
		}
		return Run{Path: h.Path}
	})
	if found.Ended != 1 || found.Left != "some runs ended before the handler returned" || len(found.Findings) != 1 || found.Findings[0].Values()[0] != 4242 {
		t.Errorf("%+v", found)
	}
}
