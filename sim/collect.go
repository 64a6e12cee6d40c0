package sim

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Campaigns collect garbage less often than Go's default: a run makes much garbage, and each collection marks all
// memory in use, such as the remembered steps of a specification. The heap may grow by mostPercent of the memory in
// use, but by no more than spareBytes, unless Go's default allows more. If GOGC is set, it applies instead.
const (
	mostPercent  = 1600
	usualPercent = 100
	spareBytes   = 512 << 20
	// collectLooks is the number of runs after which the percentage is set again.
	collectLooks = 16
)

// collection is the state of the garbage collector during campaigns.
var collection struct {
	sync.Mutex
	campaigns int
	before    int // the percentage without them
	percent   int
	runs      int
}

// collectLess begins it for a campaign. The function that it returns ends it.
func collectLess() (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	c := &collection
	c.Lock()
	defer c.Unlock()
	if c.campaigns++; c.campaigns == 1 {
		c.percent = percentFor(liveBytes())
		c.before = debug.SetGCPercent(c.percent)
	}
	return func() {
		c.Lock()
		defer c.Unlock()
		if c.campaigns--; c.campaigns == 0 {
			debug.SetGCPercent(c.before)
		}
	}
}

// collected sets the percentage again every few runs.
func collected() {
	c := &collection
	c.Lock()
	defer c.Unlock()
	if c.runs++; c.campaigns == 0 || c.runs%collectLooks != 0 {
		return
	}
	if p := percentFor(liveBytes()); p != c.percent {
		c.percent = p
		debug.SetGCPercent(p)
	}
}

// percentFor is how much the heap may grow between collections, in percent of the memory in use.
func percentFor(live uint64) int {
	// In steps of ten, since to set it stops the program for a moment.
	p := int(spareBytes * 10 / max(live, 1<<20) * usualPercent / 10 / 10 * 10)
	return min(max(p, usualPercent), mostPercent)
}

func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
