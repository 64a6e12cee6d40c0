package sim

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Garbage is collected less often while there are campaigns: a run leaves much of it and keeps little, and each collection marks all that is kept, such as what is
// remembered of a model. The heap may grow to so many times what is kept, but by spareBytes at most where that is more than Go would let it grow. A GOGC that is set goes before.
const (
	mostPercent  = 1600
	usualPercent = 100
	spareBytes   = 512 << 20
	// collectLooks is after how many runs the percentage is set anew.
	collectLooks = 16
)

// collection is what campaigns have Go's collector do.
var collection struct {
	sync.Mutex
	campaigns int
	before    int // the percentage without them
	percent   int
	runs      int
}

// collectLess begins it for a campaign. What it gives ends it.
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

// collected sets the percentage anew every few runs.
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

// percentFor is by how much the heap may grow between collections, of what is kept.
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
