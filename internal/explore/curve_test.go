package explore

import (
	"fmt"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
)

// Operations add up over runs of any length, and nothing is lost where buckets grow.
func TestLoadAddsUp(t *testing.T) {
	run := func(n int, everyNs, tookNs int64) []history.Event {
		var h []history.Event
		for i := range n {
			at := int64(i) * everyNs
			call := history.Event{Number: uint64(2*i + 1), TimeNs: at, Type: history.Invoke, Client: "c", Op: "get", Key: "k"}
			back := call
			back.Number, back.TimeNs, back.Type = call.Number+1, at+tookNs, history.Ok
			if i%5 == 4 {
				back.Type = history.Fail
			}
			h = append(h, call, back)
		}
		return h
	}
	var all Load
	all.Add(nil)
	all.Add(loadOf(run(10, 2e6, 1e6)))
	all.Add(loadOf(run(1000, 1e8, 4e6)))
	all.Add(loadOf(run(3, 1e6, 2e6)))
	if loadOf(nil) != nil {
		t.Error("there is a load without operations")
	}
	ok, fail, latencies := uint64(0), uint64(0), uint64(0)
	for i := range all.Buckets {
		b := &all.Buckets[i]
		ok, fail = ok+b.Ok, fail+b.Fail
		for _, n := range b.Latency {
			latencies += n
		}
	}
	if ok != 811 || fail != 202 || latencies != ok || all.Runs != 3 || len(all.Buckets) > maxBuckets || all.BucketNs < int64(1e11)/maxBuckets {
		t.Errorf("%d ok, %d fail, %d latencies of %d runs in %d buckets of %d ns", ok, fail, latencies, all.Runs, len(all.Buckets), all.BucketNs)
	}
	if q := all.Buckets[20].Quantile(0.5); q < 4e6 || q > 5e6 {
		t.Errorf("operations of 4 ms have the median %d", q)
	}
}

// A curve keeps its ends and spreads what is between, however long the campaign.
func TestCurveIsBounded(t *testing.T) {
	for _, runs := range []uint64{1, 2, 399, 400, 401, 100_000} {
		var c Curve
		for run := uint64(1); run <= runs; run++ {
			c.add(Point{Run: run, Failures: int(run / 10)})
		}
		n := len(c.Points)
		if n > maxPoints+1 || c.Points[0].Run != 1 || c.Points[n-1].Run != runs || runs >= maxPoints && n < maxPoints/3 {
			t.Errorf("%d runs: %d points, from %d to %d", runs, n, c.Points[0].Run, c.Points[n-1].Run)
		}
		gap := uint64(0)
		for i := 1; i < n; i++ {
			if c.Points[i].Run <= c.Points[i-1].Run {
				t.Fatal(fmt.Sprint(c.Points))
			}
			gap = max(gap, c.Points[i].Run-c.Points[i-1].Run)
		}
		if gap > 4*runs/maxPoints+1 {
			t.Errorf("%d runs: %d of them without a point", runs, gap)
		}
	}
}
