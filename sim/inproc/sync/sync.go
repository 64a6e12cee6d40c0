// Package sync stands in for the package sync of Go in code that worlds of package inproc run: at each of its
// operations the tape may let other goroutines of the world run, and a goroutine that waits for a lock lets the world
// continue.
//
// Users do not import it. `bloodhound test --actor-mode --switches` builds packages with it instead of sync, and with
// its package atomic instead of sync/atomic. Outside of worlds it does what sync does.
//
// docs/reference/inproc.md is the manual.
package sync

import (
	"slices"
	std "sync"
	"sync/atomic"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
)

func init() { points.Linked = true }

// Built records the copies from which a program was built. Rewritten files call it.
func Built(manifest string) bool {
	points.Manifests[manifest] = true
	return true
}

// Go is the go statement: main runs as a goroutine of the world.
func Go(main func()) {
	if t := points.Here(); t != nil {
		t.Go(main)
		return
	}
	go main()
}

// A Locker can be locked.
type Locker = std.Locker

// lock takes a lock of the standard package, which try takes if it is free. Threads of worlds do not wait there: they let others run, of which one
// unlocks it.
func lock(key unsafe.Pointer, try func() bool, wait func()) points.Thread {
	t := points.Here()
	if t == nil {
		wait()
		return nil
	}
	t.Point()
	for !try() {
		t.Park(key)
	}
	t.Holds(1)
	return t
}

// unlocked ends the waits for a lock that is free now. The lock was held by owner.
func unlocked(key unsafe.Pointer, owner points.Thread) {
	if owner != nil {
		owner.Holds(-1)
	}
	if t := points.Here(); t != nil {
		t.Rouse(key)
		t.Point()
	}
}

// Mutex is sync.Mutex.
type Mutex struct {
	std   std.Mutex
	owner points.Thread // guarded by std
}

// Lock locks m.
func (m *Mutex) Lock() { m.owner = lock(unsafe.Pointer(m), m.std.TryLock, m.std.Lock) }

// TryLock locks m if it is not locked, and reports whether it did.
func (m *Mutex) TryLock() bool {
	points.Switch()
	if !m.std.TryLock() {
		return false
	}
	if m.owner = points.Here(); m.owner != nil {
		m.owner.Holds(1)
	}
	return true
}

// Unlock unlocks m.
func (m *Mutex) Unlock() {
	owner := m.owner
	m.owner = nil
	m.std.Unlock()
	unlocked(unsafe.Pointer(m), owner)
}

// RWMutex is sync.RWMutex: a reader that arrives while a writer waits queues behind it.
type RWMutex struct {
	std     std.RWMutex
	owner   points.Thread // that writes; guarded by std
	writers atomic.Int32  // that wait
}

// Lock locks rw for writing.
func (rw *RWMutex) Lock() {
	rw.writers.Add(1)
	defer rw.writers.Add(-1)
	rw.owner = lock(unsafe.Pointer(rw), rw.std.TryLock, rw.std.Lock)
}

// TryLock locks rw for writing if it is not locked, and reports whether it did.
func (rw *RWMutex) TryLock() bool {
	points.Switch()
	if !rw.std.TryLock() {
		return false
	}
	if rw.owner = points.Here(); rw.owner != nil {
		rw.owner.Holds(1)
	}
	return true
}

// Unlock ends writing.
func (rw *RWMutex) Unlock() {
	owner := rw.owner
	rw.owner = nil
	rw.std.Unlock()
	unlocked(unsafe.Pointer(rw), owner)
}

// RLock locks rw for reading.
func (rw *RWMutex) RLock() {
	lock(unsafe.Pointer(rw), func() bool { return rw.writers.Load() == 0 && rw.std.TryRLock() }, rw.std.RLock)
}

// TryRLock locks rw for reading if it is not locked for writing, and reports whether it did.
func (rw *RWMutex) TryRLock() bool {
	points.Switch()
	if rw.writers.Load() > 0 || !rw.std.TryRLock() {
		return false
	}
	if t := points.Here(); t != nil {
		t.Holds(1)
	}
	return true
}

// RUnlock ends reading.
func (rw *RWMutex) RUnlock() {
	rw.std.RUnlock()
	unlocked(unsafe.Pointer(rw), points.Here())
}

// RLocker returns a Locker that locks rw for reading.
func (rw *RWMutex) RLocker() Locker { return (*reader)(rw) }

type reader RWMutex

func (r *reader) Lock()   { (*RWMutex)(r).RLock() }
func (r *reader) Unlock() { (*RWMutex)(r).RUnlock() }

// WaitGroup is sync.WaitGroup.
type WaitGroup struct {
	std std.WaitGroup
	n   atomic.Int64
}

// Add adds delta, which may be negative, to the number that Wait waits for.
func (wg *WaitGroup) Add(delta int) {
	points.Switch()
	wg.std.Add(delta)
	if wg.n.Add(int64(delta)) == 0 {
		if t := points.Here(); t != nil {
			t.Rouse(unsafe.Pointer(wg))
		}
	}
}

// Done subtracts one.
func (wg *WaitGroup) Done() { wg.Add(-1) }

// Wait waits until the number is 0.
func (wg *WaitGroup) Wait() {
	t := points.Here()
	if t == nil {
		wg.std.Wait()
		return
	}
	t.Point()
	for wg.n.Load() > 0 {
		t.Park(unsafe.Pointer(wg))
	}
}

// Go calls f in a new goroutine, for which Wait waits.
func (wg *WaitGroup) Go(f func()) {
	wg.Add(1)
	Go(func() {
		defer wg.Done()
		f()
	})
}

// Cond is sync.Cond.
type Cond struct {
	L Locker

	mu      std.Mutex
	waiting []*waiter // in the order of their calls
}

type waiter struct {
	woken bool
	ready chan struct{} // of a goroutine of no world
}

// NewCond makes a Cond with a Locker.
func NewCond(l Locker) *Cond { return &Cond{L: l} }

// Wait unlocks c.L, waits for a Signal or Broadcast, and locks c.L.
func (c *Cond) Wait() {
	w := &waiter{ready: make(chan struct{})}
	c.mu.Lock()
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	c.L.Unlock()
	if t := points.Here(); t != nil {
		for !w.woken {
			t.Park(unsafe.Pointer(w))
		}
	} else {
		<-w.ready
	}
	c.L.Lock()
}

// Signal wakes the goroutine that has waited longest.
func (c *Cond) Signal() { c.wake(1) }

// Broadcast wakes all waiting goroutines.
func (c *Cond) Broadcast() { c.wake(-1) }

func (c *Cond) wake(n int) {
	points.Switch()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < 0 || n > len(c.waiting) {
		n = len(c.waiting)
	}
	for _, w := range c.waiting[:n] {
		w.woken = true
		close(w.ready)
		if t := points.Here(); t != nil {
			t.Rouse(unsafe.Pointer(w))
		}
	}
	c.waiting = slices.Clone(c.waiting[n:])
}
