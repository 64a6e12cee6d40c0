package tla

import (
	"errors"
	"fmt"
	"runtime/metrics"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/internal/tla/visited"
)

// memory tracks the heap of this process during a check.
type memory struct {
	read   func() heap
	looked uint64 // the garbage collection that was looked at last, from 1 on
	tight  int    // so many collections in a row left too much
	disk   *visited.Disk
}

// heap has the bytes of all objects, of those that the last garbage collection left, and the number of that collection, from 1 on.
type heap struct{ all, live, collection uint64 }

// newHeap gives a function that measures the heap.
var newHeap = func() func() heap {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	return func() heap {
		metrics.Read(samples)
		return heap{samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64() + 1}
	}
}

const (
	// spillAbove is the percentage of the memory that may be live before states go to the disk. The collector needs the
	// rest.
	spillAbove = 50
	// fullAbove is the percentage that may be live after tightAtMost collections in a row, before each of which
	// everything possible went to the disk.
	fullAbove   = 85
	tightAtMost = 3
	// overflowAbove is the percentage of the memory that all objects, including garbage, may take before the check
	// stops at once.
	overflowAbove = 115
	// fewParents are not worth a write.
	fewParents = 1 << 16
	// fingerprintsPart of the memory is for fingerprints: one in so many.
	fingerprintsPart = 4
	// bytesAFingerprint bounds the memory of one fingerprint, with its slots in half-empty tables and the state before
	// it.
	bytesAFingerprint = 40
)

// useDisk lets states that exceed the memory go to the disk, if there is one for them.
func (c *checker) useDisk() {
	if c.o.Disk == "" || c.o.MemoryBytes == 0 {
		return
	}
	c.memory.disk = visited.NewDisk(c.o.Disk, c.interrupted)
	c.known.Limit(int(c.o.MemoryBytes/fingerprintsPart/bytesAFingerprint), c.memory.disk)
	c.queue.Limit(c.memory.disk)
}

// interrupted reports whether the check is to stop.
func (c *checker) interrupted() bool {
	select {
	case <-c.o.Stop:
		return true
	default:
		return false
	}
}

// fit moves states to the disk where memory gets short, and stops the check where that does not help.
func (c *checker) fit() {
	m, limit := &c.memory, c.o.MemoryBytes
	h := m.read()
	if m.disk == nil {
		if h.all > limit {
			c.r.Stopped = fmt.Sprintf("the memory of %s is used up%s", size(limit), remedy)
		}
		return
	}
	if c.known.Spilled() && c.parent.InMemory() >= fewParents {
		if err := c.parent.Spill(m.disk); err != nil {
			c.broken(err)
			return
		}
	}
	if h.all > limit/100*overflowAbove {
		c.r.Stopped = c.beyond()
	}
	if h.collection == m.looked {
		return // what went to the disk is seen by the next collection only
	}
	m.looked = h.collection
	if h.live > limit/100*fullAbove {
		m.tight++
	} else {
		m.tight = 0
	}
	if h.live > limit/100*spillAbove {
		c.queue.Spill(int(c.at))
	}
	if m.tight == tightAtMost {
		c.r.Stopped = c.beyond()
	}
}

const remedy = "; raise --memory, or bound the model with a CONSTRAINT or --depth"

// beyond says what memory has no room for though states are on the disk.
func (c *checker) beyond() string {
	what := "values that an evaluation holds at once"
	if c.graph != nil {
		what = fmt.Sprintf("the graph that temporal properties need, with %s so far,", plural.Count(c.graph.Edges(), "step"))
	}
	return fmt.Sprintf("the memory of %s is used up: states go to the disk, but %s does not%s", size(c.o.MemoryBytes), what, remedy)
}

// broken ends the check for a reason other than a mistake in the specification.
func (c *checker) broken(err error) error {
	if errors.Is(err, visited.ErrStopped) {
		c.r.Stopped = "it was interrupted"
	} else {
		c.r.Stopped = err.Error()
	}
	return eval.ErrStop
}

// size is a number of bytes in words.
func size(bytes uint64) string {
	switch {
	case bytes >= 1<<30 && bytes%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}
