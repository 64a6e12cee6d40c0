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

// Memory is the memory of this process, which becomes scarce now and then.
type Memory struct {
	squeeze *sdk.Fault
	bytes   int64

	mu     sync.Mutex
	held   []byte
	before int64 // the limit, while memory is scarce; or 0
}

// NewMemory makes memory that is scarce by rate, as source decides. bytes are those that somebody else takes meanwhile. name is
// that of the memory in the ledger. It panics at a rate that cannot be. There may be one in a process at a time.
func NewMemory(name string, rate float64, bytes int64, source sdk.Source) *Memory {
	if bytes < 0 {
		panic(fmt.Sprintf("machinefault: %s takes %s", name, plural.Count(bytes, "byte")))
	}
	return &Memory{squeeze: sdk.NewFault(source, name+"_scarce", rate), bytes: bytes}
}

// Step decides whether memory is scarce until the next Step or Release. When it becomes so, garbage is collected: pools are
// emptied, weak pointers cleared, and finalizers run. While it is, the process has no memory left by its limit
// (debug.SetMemoryLimit), and collects all the time.
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
		m.held[i] = 1 // until then the machine has not given it
	}
	runtime.GC()
	runtime.GC() // what was left in pools after the first
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	m.before = debug.SetMemoryLimit(int64(min(now.Sys-now.HeapReleased, math.MaxInt64)))
}

// Release ends what Step has begun. Call it at the end of a run.
func (m *Memory) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil {
		return
	}
	debug.SetMemoryLimit(m.before)
	m.held, m.before = nil, 0
}
