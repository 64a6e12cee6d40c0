package vm

import (
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
)

// The guest's kernel decides which program runs when, always alike. So now and then the tape has a node stand still for a moment,
// and the others go on: programs meet in another order. That is no fault, since any scheduler may do it.
const (
	jitterPeriod = 100 * time.Millisecond
	jitterPlaces = 10     // moments of a period
	jitterPPM    = 100000 // of periods
)

var jitterLengths = []time.Duration{time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond}

// jitter is the next moment at which a node stands still, or goes on.
type jitter struct {
	NextNs int64 // when the next period begins
	Node   int
	FromNs int64 // 0 if no node is to stand still
	ToNs   int64
	Still  bool
}

// jitter has nodes stand still and go on, and gives the time at which it is due again.
func (w *World) jitter() (dueNs int64) {
	j := &w.Jitter
	if !w.Seeded { // setup is not over
		return w.spec.MaxTimeNs
	}
	if j.FromNs > 0 && !j.Still && w.NowNs >= j.FromNs {
		j.Still = true
		w.still(j.Node, wire.DoPause)
	}
	if j.Still && w.NowNs >= j.ToNs {
		w.still(j.Node, wire.DoResume)
		j.FromNs, j.Still = 0, false
	}
	if w.NowNs >= j.NextNs && j.FromNs == 0 {
		j.NextNs = w.NowNs + int64(jitterPeriod)
		each := uint64(jitterPlaces * len(jitterLengths))
		if v := w.tape.Rare("sched/still", 1+each*uint64(len(w.spec.Nodes)), jitterPPM); v > 0 {
			v--
			j.Node, v = int(v/each), v%each
			j.FromNs = w.NowNs + int64(v/uint64(len(jitterLengths)))*int64(jitterPeriod)/jitterPlaces + 1
			j.ToNs = j.FromNs + int64(jitterLengths[v%uint64(len(jitterLengths))])
		}
	}
	switch {
	case j.Still:
		return j.ToNs
	case j.FromNs > 0:
		return j.FromNs
	}
	return j.NextNs
}

// still freezes the programs of a node, or has them go on, unless a fault has paused them.
func (w *World) still(node int, act string) {
	if w.Nodes[node].Paused == 0 && len(w.spec.Nodes[node].Command) > 0 {
		w.Acts = append(w.Acts, wire.Act{Kind: act, Node: node})
	}
}
