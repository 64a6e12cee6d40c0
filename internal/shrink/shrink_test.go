package shrink

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// lossy is a world that loses an acknowledged write when there is a partition at the time of a put.
func lossy(mode string) *world.Spec {
	return &world.Spec{Name: "kv", TimeStepNs: 10e6,
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Command: []string{"kv"}, Env: []string{"FAKE=" + mode}},
			{Name: "n2", Role: world.Server, Command: []string{"kv"}}, {Name: "n3", Role: world.Server, Command: []string{"kv"}},
			{Name: "client", Role: world.Client}},
		Workloads: []world.Workload{{Name: "load", Driver: "http", Node: "client", Clients: 3, Operations: 60}},
		Properties: []world.Property{{Name: "linearizable", Kind: world.Safety,
			Check: world.Check{Type: world.Linearizability, Subject: world.Subject{Operations: []string{"put", "get"}}}}},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{
			{Kind: "partition", RatePPM: 60_000, MinNs: 10e6, MaxNs: 100e6, Targets: []string{"n1-n2", "n1-n3", "n2-n3"}},
			{Kind: "crash", RatePPM: 20_000}}}}
}

// try makes runs on the fake engine.
func try(spec *world.Spec, runs *atomic.Int64) Try {
	return func(ctx context.Context, c Case, _ bool) (*Run, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		runs.Add(1)
		cut := c.Cut.Apply(spec)
		out, err := runner.Do(enginetest.New(), cut, c.Tape, engine.Options{}, record.Position{})
		if err != nil {
			return nil, err
		}
		for _, v := range out.Verdicts {
			if v.Status == check.Violated && v.Property == "linearizable" {
				return &Run{Same: true, Outcome: out, Verdict: v}, nil
			}
		}
		return &Run{}, nil
	}
}

// failing is a tape whose run fails, with several faults.
func failing(t *testing.T, spec *world.Spec, skip int) tape.Tape {
	t.Helper()
	for seed := uint64(1); seed < 500; seed++ {
		r, err := try(spec, new(atomic.Int64))(t.Context(), Case{Tape: tape.Tape{Seed: seed}}, false)
		if err != nil {
			t.Fatal(err)
		}
		if r.Same && len(r.Outcome.Ledger.Injections) >= 4 {
			if skip--; skip < 0 {
				return tape.Tape{Seed: seed}
			}
		}
	}
	t.Fatal("no run fails")
	return tape.Tape{}
}

// minimal checks, one run a decision, that none of them can be taken away.
func minimal(t *testing.T, spec *world.Spec, r *Result) {
	t.Helper()
	for i, d := range r.Outcome.Decisions {
		less := slices.Delete(slices.Clone(r.Outcome.Decisions), i, i+1)
		run, err := try(spec, new(atomic.Int64))(t.Context(), Case{Bare(r.Tape, less), r.Cut}, false)
		if err != nil {
			t.Fatal(err)
		}
		if run.Same {
			t.Errorf("decision %+v can be taken away", d)
		}
	}
}

func TestTheSmallestRunIsMinimalAndRepeats(t *testing.T) {
	spec := lossy(enginetest.LostWrite)
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var runs atomic.Int64
			s := &Search{Spec: spec, Try: try(spec, &runs), Workers: 1 + i%3}
			r, err := s.Shrink(t.Context(), Case{Tape: failing(t, spec, i)})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v -> %+v in %d runs", r.From, r.To, r.Runs)
			if !r.Minimal || r.End != "" || r.Runs != int(runs.Load()) {
				t.Errorf("minimal %v, end %q, %d runs of %d", r.Minimal, r.End, r.Runs, runs.Load())
			}
			if r.To.Faults*3 > r.From.Faults || r.To.Operations*3 > r.From.Operations || r.To.VirtualNs > r.From.VirtualNs {
				t.Errorf("%+v is no third of %+v", r.To, r.From)
			}
			minimal(t, spec, r)
			for range 20 {
				again, err := try(spec, &runs)(t.Context(), r.Case, false)
				if err != nil || !again.Same || again.Outcome.Hash != r.Outcome.Hash {
					t.Fatalf("a replay came out differently: %v, %+v", err, again)
				}
			}
		})
	}
}

// A search that is interrupted keeps what it had found some runs before.
func TestAnInterruptLosesFewRuns(t *testing.T) {
	spec := lossy(enginetest.LostWrite)
	from := Case{Tape: failing(t, spec, 2)}
	const few = 12 // runs
	for _, end := range []int64{25, 40, 55, 70, 85} {
		var runs atomic.Int64
		ctx, interrupt := context.WithCancel(t.Context())
		attempt := try(spec, &runs)
		var seen []Progress
		s := &Search{Spec: spec, Progress: func(p Progress) { seen = append(seen, p) }, Try: func(ctx context.Context, c Case, proof bool) (*Run, error) {
			if runs.Load() == end {
				interrupt()
			}
			return attempt(ctx, c, proof)
		}}
		r, err := s.Shrink(ctx, from)
		interrupt()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range seen {
			if p.Runs < int(end)-few && (r.To.Decisions > p.Size.Decisions || r.To.Operations > p.Size.Operations) {
				t.Errorf("interrupted after %d runs: %d decisions and %d operations are kept, and it had %d and %d after %d runs",
					end, r.To.Decisions, r.To.Operations,
					p.Size.Decisions, p.Size.Operations, p.Runs)
				break
			}
		}
		if r.End != "interrupted" {
			t.Errorf("after %d runs: %q", end, r.End)
		}
	}
}

// What is found depends on the run alone, not on how many runs are made at once.
func TestWorkersDoNotChangeTheResult(t *testing.T) {
	spec := lossy(enginetest.LostWrite)
	from := Case{Tape: failing(t, spec, 2)}
	var keys []string
	for _, workers := range []int{1, 2, 7} {
		s := &Search{Spec: spec, Try: try(spec, new(atomic.Int64)), Workers: workers}
		r, err := s.Shrink(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, fmt.Sprint(key(r.Case)))
	}
	if keys[0] != keys[1] || keys[0] != keys[2] {
		t.Error("1, 2 and 7 workers found different runs")
	}
}

func TestABudgetEndsASearchThatCanGoOn(t *testing.T) {
	spec := lossy(enginetest.LostWrite)
	from := Case{Tape: failing(t, spec, 1)}
	full, err := (&Search{Spec: spec, Try: try(spec, new(atomic.Int64))}).Shrink(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	for rounds := 0; ; rounds++ {
		var runs atomic.Int64
		s := &Search{Spec: spec, Try: try(spec, &runs), Workers: 2, MaxRuns: 40}
		r, err := s.Shrink(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		if r.Minimal {
			minimal(t, spec, r)
			break
		}
		if r.End != "the budget of 40 runs ended" || runs.Load() > 41 { // and the replay
			t.Fatalf("end %q after %d runs", r.End, runs.Load())
		}
		if rounds == 100 {
			t.Fatalf("no end: %+v", r.To)
		}
		from = r.Case
	}
	if full.To.Decisions > full.From.Decisions {
		t.Error("a smaller run has more decisions")
	}
}

func TestARunThatDoesNotRepeatIsNotBelieved(t *testing.T) {
	spec := lossy(enginetest.LostWrite + "," + enginetest.Chance)
	_, err := (&Search{Spec: spec, Try: try(spec, new(atomic.Int64))}).Shrink(t.Context(), Case{Tape: failing(t, spec, 0)})
	if err != ErrVaries {
		t.Errorf("error %v, want %v", err, ErrVaries)
	}
	spec = lossy(enginetest.LostWrite)
	from := Case{Tape: failing(t, spec, 0)}
	// From the tenth run on each run comes out a little different.
	var runs atomic.Int64
	inner := try(spec, &runs)
	s := &Search{Spec: spec, Try: func(ctx context.Context, c Case, proof bool) (*Run, error) {
		r, err := inner(ctx, c, proof)
		if n := runs.Load(); err == nil && r.Same && n > 10 {
			r.Outcome.Hash += fmt.Sprint(n)
		}
		return r, err
	}}
	r, err := s.Shrink(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	if r.Minimal || r.End != "a smaller run did not repeat" || strings.Contains(r.Outcome.Hash, "11") && len(r.Outcome.Hash) != 16 {
		t.Errorf("minimal %v, end %q, hash %s", r.Minimal, r.End, r.Outcome.Hash)
	}
	healthy := lossy("")
	if _, err := (&Search{Spec: healthy, Try: try(healthy, &runs)}).Shrink(t.Context(), from); err != ErrGone {
		t.Errorf("error %v, want %v", err, ErrGone)
	}
}

func TestOperationsOfADriverThatDoesNotListen(t *testing.T) {
	spec := lossy(enginetest.LostWrite)
	deaf := try(spec, new(atomic.Int64))
	s := &Search{Spec: spec, Try: func(ctx context.Context, c Case, proof bool) (*Run, error) {
		c.Cut.Skip = nil
		return deaf(ctx, c, false)
	}}
	r, err := s.Shrink(t.Context(), Case{Tape: failing(t, spec, 3)})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Minimal || len(r.Cut.Skip) != 0 || r.Cut.EndNs == 0 {
		t.Errorf("minimal %v, cut %+v", r.Minimal, r.Cut)
	}
}

// Of many clients most go in rows: it takes far fewer runs than there are clients. Here two operations of 600 matter.
func TestManyClients(t *testing.T) {
	const clients, each = 200, 3
	needed := []string{"c7/1", "c150/2"}
	runs := 0
	s := &Search{Spec: &world.Spec{}, Workers: 1, Try: func(_ context.Context, c Case, _ bool) (*Run, error) {
		runs++
		o := &check.Judged{}
		w := world.Workload{Skip: c.Cut.Skip}
		left := 0
		for i := range clients * each {
			client, k := fmt.Sprintf("c%d", i%clients), i/clients
			if w.Skips(client, k) {
				continue
			}
			o.History = append(o.History, history.Event{Number: uint64(i + 1), Client: client, Type: history.Invoke, Op: "put", Key: "k"})
			if slices.Contains(needed, fmt.Sprintf("%s/%d", client, k)) {
				left++
			}
		}
		return &Run{Same: left == len(needed), Outcome: o}, nil
	}}
	r, err := s.Shrink(t.Context(), Case{})
	if err != nil {
		t.Fatal(err)
	}
	if r.To.Operations != len(needed) || r.To.Clients != 2 || !r.Minimal {
		t.Errorf("%+v is left", r.To)
	}
	if runs > clients/2 {
		t.Errorf("%d runs were made to leave out operations of %d clients", runs, clients)
	}
}

func TestSkipsAreJoined(t *testing.T) {
	got := without([]world.Skip{{Client: "a", From: 4, To: 6}, {Client: "b", From: 9}},
		[]operation{{client: "a", k: 6}, {client: "a", k: 3}, {client: "b", k: 8}, {client: "b", k: 3}, {client: "a", k: 9}})
	want := []world.Skip{{Client: "a", From: 3, To: 7}, {Client: "a", From: 9, To: 10}, {Client: "b", From: 3, To: 4}, {Client: "b", From: 8}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Two faults of which none can go, but for which one at another target or moment would do.
func TestFewerFaultsAtOtherMoments(t *testing.T) {
	spec := lossy(enginetest.LostWrite)
	both := func(ctx context.Context, c Case, _ bool) (*Run, error) {
		r, err := try(spec, new(atomic.Int64))(ctx, c, false)
		if err != nil || !r.Same {
			return r, err
		}
		var targets []string
		for _, s := range r.Outcome.Ledger.Injections {
			targets = append(targets, s.Target)
		}
		r.Same = slices.Contains(targets, "n1-n3") || slices.Contains(targets, "n1-n2") && slices.Contains(targets, "n2-n3")
		return r, nil
	}
	var from Case
	for seed := uint64(1); ; seed++ {
		from.Tape = tape.Tape{Seed: seed}
		r, err := both(t.Context(), from, false)
		if err != nil {
			t.Fatal(err)
		}
		if r.Same && !slices.ContainsFunc(r.Outcome.Decisions, func(d tape.Decision) bool { return strings.HasSuffix(d.Stream, "n1-n3") }) {
			break
		}
	}
	r, err := (&Search{Spec: spec, Try: both}).Shrink(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	if r.To.Faults != 1 || !r.Minimal {
		t.Errorf("%d faults are left: %+v", r.To.Faults, r.Outcome.Ledger.Injections)
	}
}

// What has more operations, faults or decisions than the run that is to be shrunk does not count as smaller, whatever it lacks.
func TestTheResultDoesNotGrow(t *testing.T) {
	const operations, decisions = 100, 5
	s := &Search{Spec: &world.Spec{}, Workers: 2, Try: func(_ context.Context, c Case, _ bool) (*Run, error) {
		o := &check.Judged{}
		for i := range uint64(decisions) {
			if d := (tape.Decision{Stream: "net/delay", Index: i, N: 2, Value: 1}); slices.ContainsFunc(c.Tape.Edits,
				func(e tape.Edit) bool { return e.Op == tape.Set && e.From == i }) || len(c.Tape.Edits) == 0 {
				o.Decisions = append(o.Decisions, d)
			}
		}
		for i := range operations + 10*(decisions-len(o.Decisions)) { // a driver that does not listen
			o.History = append(o.History, history.Event{Number: uint64(i + 1), Client: "c", Type: history.Invoke, Op: "put"})
		}
		return &Run{Same: true, Outcome: o}, nil
	}}
	r, err := s.Shrink(t.Context(), Case{})
	if err != nil {
		t.Fatal(err)
	}
	if r.To.Operations > r.From.Operations || r.To.Decisions > r.From.Decisions {
		t.Errorf("%+v became %+v", r.From, r.To)
	}
}

// CPU time bounds a search as runs do, and the result says so, and which decisions are known to be needed.
func TestABudgetOfCPUTime(t *testing.T) {
	spec := lossy(enginetest.LostWrite)
	var runs atomic.Int64
	inner := try(spec, &runs)
	s := &Search{Spec: spec, MaxCPU: 40 * time.Second, Try: func(ctx context.Context, c Case, proof bool) (*Run, error) {
		r, err := inner(ctx, c, proof)
		if r != nil {
			r.CPUNs = int64(time.Second)
		}
		return r, err
	}}
	r, err := s.Shrink(t.Context(), Case{Tape: failing(t, spec, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if n := runs.Load(); r.End != "the budget of 40s of CPU time ended" || n < 40 || n > 42 || r.Shrunk.CPUNs != n*int64(time.Second) {
		t.Errorf("end %q after %d runs, %s of CPU time", r.End, n, time.Duration(r.Shrunk.CPUNs))
	}
	s.MaxCPU = time.Hour
	if r, err = s.Shrink(t.Context(), Case{Tape: failing(t, spec, 1)}); err != nil {
		t.Fatal(err)
	}
	if !r.Minimal || r.Needed != r.To.Decisions || r.Needed == 0 {
		t.Errorf("minimal %v, %d of %d decisions are needed", r.Minimal, r.Needed, r.To.Decisions)
	}
}

// fitting makes runs that show the failure only where the moments of their faults fit the number of operations: one in six sets of moments
// does, and another one for half as many operations.
func fitting(spec *world.Spec) Try {
	attempt := try(spec, new(atomic.Int64))
	return func(ctx context.Context, c Case, proof bool) (*Run, error) {
		r, err := attempt(ctx, c, proof)
		if err != nil || !r.Same {
			return r, err
		}
		moments := fnv.New32()
		for _, d := range chosen(r, isFault) {
			fmt.Fprintln(moments, d.Stream, d.Index)
		}
		if moments.Sum32()%6 != uint32(bits.Len(uint(countOperations(r, ""))))%6 {
			return &Run{}, nil
		}
		return r, nil
	}
}

// A failure that depends on the moments of faults, and so is gone with half of the operations, is found anew among these.
func TestFewerOperationsWithFaultsAtOtherMoments(t *testing.T) {
	spec := lossy(enginetest.LostWrite)
	spec.Workloads[0].Operations = 400
	var found tape.Tape
	for seed := uint64(1); ; seed++ {
		found = tape.Tape{Seed: seed}
		r, err := fitting(spec)(t.Context(), Case{Tape: found}, false)
		if err != nil {
			t.Fatal(err)
		}
		if r.Same && len(r.Outcome.Ledger.Injections) >= 35 { // about as many as others have
			break
		}
	}
	left := map[bool]int{} // when operations have been halved
	for _, renews := range []bool{true, false} {
		s := &Search{Spec: spec, Try: fitting(spec), Workers: 2, MaxRuns: 150}
		if renews {
			s.Found = &found
		}
		left[renews] = 400
		s.Progress = func(p Progress) {
			if p.Stage == halving {
				left[renews] = min(left[renews], p.Size.Operations)
			}
		}
		r, err := s.Shrink(t.Context(), Case{Tape: found})
		if err != nil {
			t.Fatal(err)
		}
		if r.To.Faults > r.From.Faults || r.To.Decisions > r.From.Decisions {
			t.Errorf("it has grown from %+v to %+v", r.From, r.To)
		}
	}
	if left[true] > 60 || left[false] < 3*left[true] {
		t.Errorf("%d operations are left, and %d where nothing is found anew; want at most 60, and three times as many", left[true], left[false])
	}
}
