package search

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Two faults of a known sequence follow each other, most often on one node; a world without the kinds of any has none.
func TestSequence(t *testing.T) {
	s := &space{at: map[string]int{}, stepNs: 1e7}
	add := func(stream string, kind world.FaultKind, rule int, steps bool, end uint64) {
		s.add(dimension{stream: stream, kind: kind, rule: rule, steps: steps, minNs: 1e8, maxNs: 1e9, n: 17, end: end})
	}
	add("fault/clock/n1", fault.ClockSkew, 1, true, 1000)
	if m := (&draft{space: s, dice: newDice(1, 0)}); sequence(m, nil) || len(m.edits) > 0 {
		t.Fatalf("a clock alone makes a sequence: %v", m.edits)
	}
	for _, n := range []string{"n1", "n2", "n3"} {
		add("fault/crash/"+n, fault.Crash, 2, true, 1000)
		add("fault/disk_full/"+n, fault.DiskFull, 3, true, 1000)
		add("fault/fsync/"+n, fault.FsyncFail, 4, false, 50)
	}
	kinds, same := map[[2]world.FaultKind]int{}, 0
	for run := range uint64(1000) {
		m := &draft{space: s, dice: newDice(1, run)}
		if !sequence(m, nil) {
			t.Fatal("no sequence")
		}
		if len(m.injections) < 2 { // both are one draw
			continue
		}
		a, b := m.injections[0], m.injections[1]
		ga, gb := s.dimensionOf(a.Stream), s.dimensionOf(b.Stream)
		kinds[[2]world.FaultKind{ga.kind, gb.kind}]++
		if touches(a.Stream, b.Stream) {
			same++
		}
		switch {
		case a.Index >= ga.end || b.Index >= gb.end:
			t.Errorf("beyond the draws of a run: %v", m.injections)
		case ga.steps && gb.steps && (b.Index < a.Index || b.Index > a.Index+100+nearSteps):
			t.Errorf("not soon after: %v", m.injections)
		}
	}
	if len(kinds) != 5 || same < 700 {
		t.Errorf("%d of 1000 on one node, %v", same, kinds)
	}
}

// A run that drew more than is kept has faults in streams of which no draws are known.
func TestInjectionsOfUnknownDimensionStayWhereTheyAre(t *testing.T) {
	const stream = "fault/crash/n1"
	ter := &space{at: map[string]int{}, stepNs: 1e7}
	ter.add(dimension{stream: stream, kind: "crash", rule: 1, steps: true})
	for run := range uint64(20) {
		m := &draft{space: ter, dice: newDice(1, run), injections: []tape.Decision{{Stream: stream, Index: 3, N: 17, Value: 1}}}
		if move(m, nil) {
			t.Fatalf("it was moved: %v", m.injections)
		}
	}
}
