package shrink

import (
	"context"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	compactingMs = 400 // how often the server compacts
	openMs       = 80  // how long what it acknowledges then is lost with the power
	blockedMs    = 130 // how long a partition keeps the driver waiting
)

// momentStream decides up to which of its writes a file is left by the power loss. Nothing depends on it here.
const momentStream = "disk/n1/1/file/9/moment"

// compacting is a server that compacts now and then: what it acknowledges just after that is lost if the power goes. Its driver begins an operation every
// 10 ms, later ones where a partition blocks it. So no partition of a run that loses something can go by itself: the power would go at another moment.
type compacting struct {
	spec  *world.Spec
	plan  *fault.Plan
	calls int
}

func newCompacting(t *testing.T) *compacting {
	t.Helper()
	w := &compacting{spec: lossy("")}
	rule, err := fault.Parse("power_loss on n1 after reply rate 1%")
	if err != nil {
		t.Fatal(err)
	}
	w.spec.Faults.Rules = []world.FaultRule{rule, {Kind: "partition", RatePPM: 1, MinNs: 1, MaxNs: 1, Targets: []string{"n1-n2"}}}
	if w.plan, err = fault.New(w.spec); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *compacting) try(_ context.Context, c Case, _ bool) (*Run, error) {
	w.calls++
	src := tape.NewSource(c.Tape)
	loss, partition := w.plan.Rules[0].Targets[0].Stream, w.plan.Rules[1].Targets[0].Stream
	load := world.Workload{Skip: c.Cut.Skip}
	r := &Run{Outcome: &check.Judged{}}
	planned := map[string]uint64{}
	nowMs := 0
	src.Clock(func() int64 { return int64(nowMs) * 1e6 })
	for k := range 120 {
		if load.Skips("c0", k) {
			continue
		}
		event := uint64(2 * k)
		if src.Rare(partition, 2, 1) != 0 {
			planned[partition]++
			nowMs += blockedMs
		}
		r.Outcome.History = append(r.Outcome.History, history.Event{Number: event, TimeNs: int64(nowMs) * 1e6, Client: "c0", Type: history.Invoke, Op: "put"})
		nowMs += 10
		if src.Rare(loss, 1+fault.DurationSteps, 1) != 0 {
			planned[loss]++
			src.Rare(momentStream, 1000, 1)
			r.Same = nowMs >= compactingMs && nowMs%compactingMs < openMs
			r.Verdict.TimeNs = int64(nowMs) * 1e6
			break
		}
	}
	r.Outcome.Decisions, r.Outcome.DecisionsNs = src.Decisions(), src.Times()
	for stream, n := range planned {
		r.Outcome.Ledger.Entries = append(r.Outcome.Ledger.Entries, fault.Entry{Kind: world.FaultKind(stream), Planned: n})
	}
	return r, nil
}

// The other faults of a run may do nothing but shift the moment of the decisive one. It is enough, at a moment nearby.
func TestOneFaultAlone(t *testing.T) {
	w := newCompacting(t)
	loss, partition := w.plan.Rules[0].Targets[0].Stream, w.plan.Rules[1].Targets[0].Stream
	var decisions []tape.Decision
	for i := range uint64(9) {
		decisions = append(decisions, tape.Decision{Stream: partition, Index: 7 * i, N: 2, Value: 1})
	}
	decisions = append(decisions, tape.Decision{Stream: loss, Index: 87, N: 17, Value: 5})
	var stages []string
	s := &Search{Spec: w.spec, Try: w.try, MaxRuns: 300, Progress: func(p Progress) {
		if p.Size.Faults > 1 {
			stages = append(stages, p.Stage)
		}
	}}
	r, err := s.Shrink(t.Context(), Case{Tape: tape.Replay(1, decisions)})
	if err != nil {
		t.Fatal(err)
	}
	if r.To.Faults != 1 || r.To.Operations > 60 {
		t.Errorf("%+v is left of %+v, after %d runs", r.To, r.From, w.calls)
	}
	for _, stage := range stages {
		if stage != "ending the run earlier" && stage != "trying single faults" {
			t.Errorf("more than one fault is left in the stage %q", stage)
			break
		}
	}
}

// Where operations are left out, a fault after the n-th reply comes after an earlier one.
func TestFaultsFollowOperations(t *testing.T) {
	w := newCompacting(t)
	loss := w.plan.Rules[0].Targets[0].Stream
	tape := tape.Replay(1, []tape.Decision{{Stream: loss, Index: 83, N: 17, Value: 5}, {Stream: momentStream, N: 1000, Value: 840}})
	run, err := w.try(t.Context(), Case{Tape: tape}, false)
	if err != nil {
		t.Fatal(err)
	}
	search := &work{Search: &Search{Spec: w.spec}, Case: Case{Tape: tape}, Run: run}
	for _, c := range []struct {
		from, to int // what is left out
		reply    uint64
		write    uint64
	}{{0, 42, 41, 420}, {84, 120, 83, 840}, {40, 44, 79, 800}} {
		cut := search.leaveOut(func(o operation) bool { return o.k >= c.from && o.k < c.to })
		run, err := w.try(t.Context(), cut, false)
		if err != nil {
			t.Fatal(err)
		}
		reply, write := run.Outcome.Decisions[0].Index, run.Outcome.Decisions[1].Value
		if reply != c.reply || write != c.write {
			t.Errorf("without operations %d to %d: after reply %d and write %d, want %d and %d", c.from, c.to, reply, write, c.reply, c.write)
		}
	}
}
