//go:build linux && amd64

package machine

// Traps lists the places that a debugger watches in one address space.
type Traps struct {
	Breakpoints []uint64 // addresses of instructions, each once
	Watchpoints []Watchpoint
}

// Watchpoint is a place in memory, aligned to its size.
type Watchpoint struct {
	Addr  uint64
	Bytes int  // 1, 2, 4 or 8
	Reads bool // reads are watched, too
}

// MaxWatchpoints is how many places the processor watches at once.
const MaxWatchpoints = 4

// Arrival is a point of a thread's own code that a debugger is asked about: the thread stands before the instruction at PC.
type Arrival struct {
	PC      uint64
	Start   bool   // its turn begins
	Stepped bool   // it has executed one instruction, as it was asked to
	Break   bool   // a breakpoint lies at PC
	Watched uint32 // bit i: the instruction before has accessed Watchpoints[i]
}

// Debugger decides where threads are held within their turns. Its methods are called on the world's thread while a thread of the world is stopped, and
// change nothing in the world.
type Debugger interface {
	// Traps returns the traps of a thread's address space, or nil.
	Traps(id ThreadID) *Traps
	// Asks reports whether it is to be asked at the beginning of the thread's turn, whatever lies there.
	Asks(id ThreadID) bool
	// Steps reports whether a thread is to be stopped after its next instruction.
	Steps(id ThreadID) bool
	// Wrote is called before the engine writes into the memory of a thread's process, for a system call.
	Wrote(id ThreadID, addr uint64, bytes int)
	// Arrived reports whether the thread is to be held there.
	Arrived(id ThreadID, a Arrival) bool
}
