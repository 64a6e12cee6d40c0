// Package points joins the stand-ins for sync and sync/atomic (sim/inproc/sync) with the worlds inside a process: the stand-ins know neither runs nor
// nodes, and a world knows no lock.
package points

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Thread is a sequential program of a world.
type Thread interface {
	// Point is a moment at which the tape may let others run.
	Point()
	// Park waits until a Rouse of the key. It may return without one.
	Park(key unsafe.Pointer)
	// Rouse ends the waits for a key.
	Rouse(key unsafe.Pointer)
	// Holds counts the locks that the thread holds.
	Holds(change int)
	// Go starts another thread of the same node.
	Go(main func())
	// Run identifies the run of a world, in which nothing of another run is left.
	Run() any
}

// Linked reports whether a part of this program was built with the stand-ins. Their package sets it.
var Linked bool

// threads holds the threads of all runs, by their goroutines. No two share one.
var (
	count   atomic.Int64
	mu      sync.RWMutex
	threads = map[uintptr]Thread{}
)

// Enter notes that a thread runs on this goroutine, until Leave.
func Enter(t Thread) {
	mu.Lock()
	defer mu.Unlock()
	threads[self()] = t
	count.Store(int64(len(threads)))
}

// Leave notes that the thread of this goroutine has ended.
func Leave() {
	mu.Lock()
	defer mu.Unlock()
	delete(threads, self())
	count.Store(int64(len(threads)))
}

// Here returns the thread that runs on this goroutine, or nil.
func Here() Thread {
	if count.Load() == 0 {
		return nil
	}
	mu.RLock()
	defer mu.RUnlock()
	return threads[self()]
}

// Switch is a Point of the thread of this goroutine, if it has one.
func Switch() {
	if t := Here(); t != nil {
		t.Point()
	}
}
