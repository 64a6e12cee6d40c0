package machinefault

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/sdk"
)

// Memory makes the memory of this process scarce from time to time.
type Memory struct {
	squeeze *sdk.Fault
	bytes   int64

	mu     sync.Mutex
	held   []byte
	before int64 // the limit, while memory is scarce; or 0
}

// NewMemory makes a Memory. source decides, at the given rate, when memory is scarce; so many bytes are then taken, as if
// by another program. name names the memory in the ledger. NewMemory panics if the rate is invalid. Use only one Memory
// in a process at a time.
func NewMemory(name string, rate float64, bytes int64, source sdk.Source) *Memory {
	if bytes < 0 {
		panic(fmt.Sprintf("machinefault: %s takes %s", name, plural.Count(bytes, "byte")))
	}
	return &Memory{squeeze: sdk.NewFault(source, name+"_scarce", rate), bytes: bytes}
}

// Step decides whether memory is scarce until the next Step or Release. When it becomes scarce, garbage is collected:
// pools are emptied, weak pointers cleared, and finalizers run. While it is scarce, the process is at its memory limit
// (debug.SetMemoryLimit) and collects garbage constantly.
func (m *Memory) Step() {
	scarce := m.squeeze.Happens(false)
	m.Release()
	if !scarce {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = make([]byte, m.bytes)
	for i := 0; i < len(m.held); i += os.Getpagesize() {
		m.held[i] = 1 // the machine provides a page only once it is written
	}
	runtime.GC()
	runtime.GC() // what was left in pools after the first
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	m.before = debug.SetMemoryLimit(int64(min(now.Sys-now.HeapReleased, math.MaxInt64)))
}

// Release ends the scarcity that Step started. Call it at the end of a run.
func (m *Memory) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil {
		return
	}
	debug.SetMemoryLimit(m.before)
	m.held, m.before = nil, 0
}
