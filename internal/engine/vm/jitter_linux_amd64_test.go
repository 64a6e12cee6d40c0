package vm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A draw has one node stand still for its time, from its moment on, but for a node that a fault has paused and before setup is over.
func TestJitter(t *testing.T) {
	const draw = 1 + 40*1 + 4*2 + 3 // the second node, 20 ms after the beginning of the period, for 30 ms
	edits := []tape.Edit{{Op: tape.Default, Stream: "**", To: tape.End},
		{Op: tape.Set, Stream: "sched/still", From: 1, Value: draw}, {Op: tape.Set, Stream: "sched/still", From: 3, Value: draw}}
	w := &World{spec: &world.Spec{MaxTimeNs: 1e9, Nodes: []world.Node{{Name: "a", Command: []string{"a"}}, {Name: "b", Command: []string{"b"}}}},
		tape: tape.NewSource(tape.Tape{Edits: edits}), director: &director.Director{}}
	w.director.Phase = director.PhaseSetup
	w.Nodes = make([]nodeState, 2)
	if due := w.jitter(); due != 1e9 || len(w.tape.Decisions()) > 0 {
		t.Errorf("in setup it is due at %d", due)
	}
	w.Seeded, w.director.Phase = true, director.PhaseChaos
	var log []string
	for w.NowNs < 450e6 {
		if w.NowNs > 300e6 {
			w.Nodes[1].Paused = 1
		}
		due := w.jitter()
		for _, a := range w.Acts {
			log = append(log, fmt.Sprint(a.Kind, " ", a.Node, " at ", w.NowNs/1e6))
		}
		if w.Acts = nil; due <= w.NowNs {
			t.Fatalf("at %d it is due at %d", w.NowNs, due)
		}
		w.NowNs = due
	}
	if got := strings.Join(log, ", "); got != "pause 1 at 120, resume 1 at 150" {
		t.Error(got)
	}
}
