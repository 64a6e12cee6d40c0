//go:build amd64

package search_test

import (
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A world of a real program with two opportunities for a pause: bfs plays the base tape, each of 16 pauses at either of them,
// and each pair of them.
func TestBreadthFirstInARealWorld(t *testing.T) {
	spec := &world.Spec{Dir: t.TempDir(), StartUnixNs: 1735689600e9, MaxTimeNs: 30e6, TimeStepNs: 20e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", WorkingDir: "/",
			Command: []string{"/bin/sleep", "9"}, Env: []string{"PATH=/usr/bin:/bin"}}},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "pause", RatePPM: 1000, MinNs: 1e6, MaxNs: 5e6, Targets: []string{"n1"}}}}}
	s, err := search.New(search.Breadth, spec, 7, search.Settings{MaxDepth: 2, Streams: []string{"fault/**"}})
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string]bool{}
	var got []string
	base := len(search.BaseTape(7).Edits)
	for i := uint64(0); ; i++ {
		c, answer := s.Next(i)
		if answer == search.Exhausted {
			break
		}
		o, err := engine.Run(native.New(), spec, c.Tape, engine.Options{Draws: search.Watched})
		if err != nil {
			t.Fatal(err)
		}
		hashes[o.Hash] = true
		got = append(got, sentence(c.Tape.Edits[base:]))
		s.Learn(&search.Run{Number: i, Candidate: c, Seen: &search.Seen{Draws: o.Draws, DrawsLost: o.DrawsLost}})
	}
	want := []string{sentence(nil)}
	pause := func(i, v uint64) tape.Edit {
		return tape.Edit{Op: tape.Set, Stream: "fault/pause/n1", From: i, Value: v}
	}
	for v := uint64(1); v <= 16; v++ {
		want = append(want, sentence([]tape.Edit{pause(0, v)}), sentence([]tape.Edit{pause(1, v)}))
		for w := uint64(1); w <= 16; w++ {
			want = append(want, sentence([]tape.Edit{pause(0, v), pause(1, w)}))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d tapes, want %d", len(got), len(want))
	}
	if len(hashes) < 2 {
		t.Error("pauses change nothing")
	}
	if n := s.Standing(); !n.Complete {
		t.Errorf("%+v", n)
	}
}
