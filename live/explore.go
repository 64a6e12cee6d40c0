package live

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sort"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// Handler is code to explore.
type Handler struct {
	// Run calls the handler once. It must make the handler's state anew, since a search calls Run once for each path.
	Run func()
	// Undo, if set, is called after each Run and reverts its changes, so that state which is slow to make is made only
	// once. It is not part of the path.
	Undo func()
	// Paths bounds the number of calls (10,000 by default), and Time the duration of a search (10 s by default).
	Paths int
	Time  time.Duration
}

// Result is the result of a search.
type Result struct {
	Paths    int       // calls of Run
	Complete bool      // all paths that the inputs decide were taken: no condition is left to negate, and none was lost
	Findings []Finding // failed checks and panics, each once
}

// Finding is a check that does not hold, or a panic.
type Finding struct {
	What   string            // the name of the check, or the text of the panic
	Where  string            // of a panic: file and line
	Inputs map[string]uint64 // the first inputs that led to it
	Path   int               // the number of that call of Run, from 1
}

const (
	defaultPaths = 10_000
	defaultTime  = 10 * time.Second
	// heapMax is how far the heap may grow, in bytes, before garbage is collected between paths.
	heapMax = 256 << 20
)

// Explore explores a handler, logs its coverage, and reports each finding as an error of the test. Without
// instrumentation it runs the handler once.
func Explore(t testing.TB, h Handler) Result {
	t.Helper()
	if raceEnabled {
		t.Fatal("live: a program with the race detector cannot be explored: the race detector cannot follow " +
			"instrumented code; run the test without -race")
	}
	if len(shadow.Packages) == 0 {
		t.Log("live: no package is instrumented, so the handler runs once; `bloodhound live test` explores it")
		for _, f := range runOnce(h.Run) {
			t.Errorf("live: %s %s", f.What, f.Where)
		}
		if h.Undo != nil {
			h.Undo()
		}
		return Result{Paths: 1}
	}
	begun := time.Now()
	found := explore(h)
	elapsed := time.Since(begun)
	report(t, found, elapsed)
	return resultOf(found)
}

func explore(h Handler) *search.Result {
	o := search.Options{Paths: h.Paths}
	if o.Paths == 0 {
		o.Paths = defaultPaths
	}
	limit := h.Time
	if limit == 0 {
		limit = defaultTime
	}
	end := time.Now().Add(limit)
	o.Stop = func() bool { return time.Now().After(end) }
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	shadow.Prepare()
	n, most := 0, heap()+heapMax
	return search.Search(o, func(values []uint64) search.Run {
		if n++; n%collectEvery == 0 && heap() > most {
			runtime.GC()
			shadow.Prepare()
			most = heap() + heapMax
		}
		shadow.BeginPath(values)
		failures := runOnce(h.Run)
		run := search.Run{Path: shadow.End(), Failures: failures}
		if h.Undo != nil {
			h.Undo()
		}
		return run
	})
}

// collectEvery is how many paths lie between two looks at the size of the heap.
const collectEvery = 16

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func resultOf(found *search.Result) Result {
	r := Result{Paths: found.Paths, Complete: found.Left == ""}
	for _, f := range found.Findings {
		g := Finding{What: f.What, Where: f.Where, Path: f.Path, Inputs: map[string]uint64{}}
		for _, in := range f.Inputs {
			g.Inputs[in.Name] = in.Value
		}
		r.Findings = append(r.Findings, g)
	}
	return r
}

// readSites are the places of the instrumented code, as the rewriter lists them.
func readSites() (sites []shadow.Site) {
	data, err := os.ReadFile(os.Getenv(shadow.SitesVariable))
	if err != nil {
		return nil
	}
	if json.Unmarshal(data, &sites) != nil {
		return nil
	}
	return sites
}

// report logs a result, and fails the test for each finding.
func report(t testing.TB, r *search.Result, elapsed time.Duration) {
	t.Helper()
	all := "no condition was left to negate"
	if r.Left != "" {
		all = "paths may be left: " + r.Left
	}
	t.Logf("live: %s in %v (%.0f a second); %s", plural.Count(r.Paths, "path"), elapsed.Round(time.Millisecond), float64(r.Paths)/elapsed.Seconds(), all)
	t.Logf("live: %s of %s taken; solver: %d sat, %d unsat, %d unknown", plural.Count(r.Sides, "side"),
		plural.Count(r.Sites, "branch"), r.Sat, r.Unsat, r.Unknown)
	sites := readSites()
	for _, c := range []struct {
		what   string
		counts map[uint32]int
	}{
		{"runs that did not take the branch that was solved for", r.Diverged},
		{"values that lost their dependencies", r.Lost},
		{"values with more than the tried alternatives", r.Picked},
	} {
		logCounts(t, c.what, c.counts, sites)
	}
	if r.Stale > 0 {
		t.Logf("live: %s did not match their value and were dropped", plural.Count(r.Stale, "shadow"))
	}
	if r.Dropped > 0 {
		t.Logf("live: beyond the limit of a path: %s", plural.Count(r.Dropped, "condition"))
	}
	for _, f := range r.Findings {
		t.Errorf("live: %s (path %d, and %d more)", f, f.Path, f.Paths-1)
	}
}

// sitesShown is how many places of a kind are logged.
const sitesShown = 5

func logCounts(t testing.TB, what string, counts map[uint32]int, sites []shadow.Site) {
	t.Helper()
	if len(counts) == 0 {
		return
	}
	var list []uint32
	total := 0
	for s, n := range counts {
		list = append(list, s)
		total += n
	}
	sort.Slice(list, func(i, j int) bool {
		if a, b := counts[list[i]], counts[list[j]]; a != b {
			return a > b
		}
		return list[i] < list[j]
	})
	t.Logf("live: %d %s, at %s", total, what, plural.Count(len(list), "place"))
	for i, s := range list {
		if i == sitesShown {
			break
		}
		name := fmt.Sprintf("site %d", s)
		if int(s) < len(sites) {
			name = sites[s].String()
		}
		t.Logf("live:   %d at %s", counts[s], name)
	}
}

// bodiesVariable set to "second" makes a whole program run second bodies, without recording paths: its tests then compare the bodies.
const bodiesVariable = "BLOODHOUND_LIVE_BODIES"

func init() {
	if os.Getenv(bodiesVariable) == "second" {
		shadow.On = true
	}
}
