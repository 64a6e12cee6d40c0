package debug

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// toyTimeline is a timeline of a run of so many turns of one instruction.
func toyTimeline(t *testing.T, turns int, budget runner.Budget) (*Timeline, *int) {
	t.Helper()
	run, copies := &toy{}, 1
	for range turns {
		run.turns = append(run.turns, toyTurn{1, []uint64{0x1000}})
	}
	timeline, err := New(&toyWorld{run: run, copies: &copies}, budget)
	if err != nil {
		t.Fatal(err)
	}
	return timeline, &copies
}

// passing takes snapshots as a world does that runs up to an event.
func passing(t *testing.T, timeline *Timeline, event int) {
	t.Helper()
	w := timeline.World().(*toyWorld)
	w.turn = event
	if timeline.focus = uint64(event); timeline.pays(uint64(event)) {
		if err := timeline.snapshot(w, between(w), false, false); err != nil {
			t.Fatal(err)
		}
	}
}

// Snapshots lie close together where the world is, and ever farther apart far away, on the way forward and back again.
func TestSnapshotsLieCloseTogetherWhereTheyAreUseful(t *testing.T) {
	const turns, most = 100_000, 24
	timeline, _ := toyTimeline(t, turns, runner.Budget{Most: most})
	farthest := func(at uint64) (worst float64) { // the longest way from a snapshot to the next for its distance, where the world has been since
		list := timeline.Snapshots()
		for i := 1; i < len(list); i++ {
			if at < turns/2 && list[i-1].Event < at-997 {
				continue
			}
			distance := max(at, list[i].Event) - min(at, list[i].Event)
			worst = max(worst, float64(list[i].Event-list[i-1].Event)/float64(distance+1000))
		}
		return worst
	}
	for event := sliceEvents; event < turns; event += sliceEvents {
		passing(t, timeline, event)
		if list := timeline.Snapshots(); len(list) > most || list[0].Event != 0 {
			t.Fatalf("at %d: %v", event, list)
		}
		if worst := farthest(uint64(event)); worst > 1 {
			t.Fatalf("at %d the snapshots are at %v", event, timeline.Snapshots())
		}
	}
	for event := turns - 2; event > turns/10; event -= 997 { // and back, from one to the next
		timeline.focus = uint64(event)
		for at := event - 997; at <= event; at += 100 {
			passing(t, timeline, at)
		}
	}
	if worst := farthest(turns / 10); worst > 1 || len(timeline.Snapshots()) > most {
		t.Errorf("at %d the snapshots are at %v", turns/10, timeline.Snapshots())
	}
}

// Snapshots have no more memory together than they may, those of branches included; the beginning of each timeline is never among
// those that go. What a user keeps stays, or is refused.
func TestSnapshotsFitIntoTheirMemory(t *testing.T) {
	const each = 1 << 20
	timeline, copies := toyTimeline(t, 50_000, runner.Budget{Most: 1000, MemoryBytes: 10 * each})
	s := &Session{Timeline: timeline}
	defer s.Close()
	bounded := func(beginnings int) {
		t.Helper()
		if total, _ := timeline.shelf.bytes(); total > 10*each || *copies > 10+beginnings {
			t.Fatalf("%d bytes, %d worlds, of %v", total, *copies, timeline.Snapshots())
		}
	}
	for event := sliceEvents; event < 20_000; event += sliceEvents {
		passing(t, timeline, event)
		bounded(1)
	}
	for range 6 {
		if err := timeline.Keep(); err != nil {
			t.Fatal(err)
		}
		passing(t, timeline, int(timeline.at.Event)+sliceEvents)
		timeline.at = between(timeline.now)
	}
	bounded(1)
	for range 2 {
		if _, err := s.write("something was written", func(World) error { return nil }); err != nil {
			t.Fatal(err)
		}
		bounded(3)
		if _, err := s.Timeline.GotoUntil(engine.Until{Position: record.PositionAt(30_000)}); err != nil {
			t.Fatal(err)
		}
		bounded(3)
	}
	s.turnTo(0)
	for range 9 {
		passing(t, timeline, int(timeline.at.Event)+sliceEvents)
		timeline.at = between(timeline.now)
		if err := timeline.Keep(); err != nil {
			if !strings.Contains(err.Error(), "--snapshot-memory") || !strings.Contains(err.Error(), "10.0 MiB") {
				t.Error(err)
			}
			if err := timeline.GotoBeginning(); err != nil || timeline.at.Event != 0 {
				t.Errorf("the beginning is gone: %v", err)
			}
			return
		}
		bounded(3)
	}
	t.Error("a user keeps more snapshots than there is memory for")
}

// Without memory for snapshots there is the beginning alone, from which everything is reached.
func TestNoSnapshots(t *testing.T) {
	for _, budget := range []runner.Budget{{None: true}, {MemoryBytes: 1}} {
		timeline, copies := toyTimeline(t, 5000, budget)
		if _, err := timeline.GotoUntil(engine.Until{Position: record.PositionAt(4000)}); err != nil {
			t.Fatal(err)
		}
		if _, err := timeline.StepBack(toyThreads[0]); err != nil {
			t.Fatal(err)
		}
		if at := timeline.Position(); at.Event != 3999 || *copies != 2 {
			t.Errorf("%+v: %s with %d worlds", budget, at, *copies)
		}
		timeline.Close()
	}
}
