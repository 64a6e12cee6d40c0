//go:build linux && amd64

package debug

import (
	"fmt"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// A timeline with memory for four snapshots goes forward and backward as one with memory for all, and its snapshots have no more, as measured.
func TestTimelineWithLittleMemory(t *testing.T) {
	spec := bank(t)
	want := original(t, spec)
	timeline := timelineOf(t, spec)
	stops := &Stops{Breakpoints: []engine.Breakpoint{{Node: "bank", PID: mainPID, Address: symbol(t, spec, "book")}}}
	var all []string
	back := func() (list []string) {
		if _, err := timeline.GotoUntil(engine.Until{}); err != nil {
			t.Fatal(err)
		}
		for {
			stop, err := timeline.Back(stops)
			if err != nil {
				t.Fatal(err)
			}
			if stop.Kind == AtBegin {
				return list
			}
			list = append(list, digest(t, timeline.World()))
			at := timeline.Position()
			if _, err := timeline.StepBack(stop.Thread); err != nil {
				t.Fatal(err)
			}
			list = append(list, digest(t, timeline.World()))
			if err := timeline.Goto(at); err != nil {
				t.Fatal(err)
			}
		}
	}
	all = back()
	one := timeline.snapshots[0].world.Bytes()
	timeline.shelf.budget = runner.Budget{MemoryBytes: 4 * one}
	if little := back(); fmt.Sprint(little) != fmt.Sprint(all) {
		t.Errorf("with little memory the world is another one\n%v\n%v", little, all)
	}
	timeline.shelf.measured = time.Time{}
	timeline.shelf.fit(timeline)
	total := int64(0)
	timeline.shelf.all(func(o *snapshot) { total += o.world.Bytes() })
	if total > 4*one || len(all) < 40 {
		t.Errorf("snapshots have %d bytes, and may have %d; %d stops", total, 4*one, len(all))
	}
	endOf(t, timeline, want)
}
