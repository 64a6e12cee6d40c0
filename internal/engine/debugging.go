package engine

import "github.com/bloodhound-dst/bloodhound/internal/record"

// Debugging is an Inspection of a world that a debugger can stop inside the code of its threads. Neither a stop nor a question is an event, takes
// virtual time or draws: a world that a debugger has stopped continues as one that it has not.
//
// The run of a world is a sequence of turns: in a turn one thread executes its own code up to its next system call, or to another place
// at which the engine takes over. Equal tapes have equal turns.
type Debugging interface {
	Inspection
	// Run runs the world until one of the stops, or to its end.
	Run(s *Stops) (Halt, error)
	// Turn is the number of turns that have begun.
	Turn() uint64
	// Held is the thread of the last turn, if it is stopped within it.
	Held() (Thread, bool)
	// WaitsFor says, for people, why a thread does not run. It is empty for one that can.
	WaitsFor(node string, tid int) (string, error)
	// CPU reads the registers of a thread.
	CPU(node string, tid int) (*CPU, error)
	// Stack are the calls of a thread, with names and lines as far as the files of its process have them. executed says that the innermost one is
	// to be named for the instruction that the thread has just executed.
	Stack(node string, tid int, executed bool) (record.ThreadStack, error)
	// Auxv is the auxiliary vector of a process, as its program got it.
	Auxv(node string, pid int) ([]byte, error)
	// Maps returns the contents of /proc/PID/maps for a process (proc_pid_maps(5)).
	Maps(node string, pid int) (string, error)
	// SetMemory writes into the memory of a process, all bytes or none: only where the program itself could. From then on the run is another one than that of
	// the tape.
	SetMemory(node string, pid int, address uint64, b []byte) error
	// SetCPU changes registers of a thread, and from then on the run: general ones, the instruction pointer, arithmetic flags,
	// and those of x87, SSE and AVX. The error is why another register cannot be changed, or no register of a thread that waits
	// in a system call.
	SetCPU(node string, tid int, cpu *CPU) error
}

// Debugged is a World that a debugger can stop.
type Debugged interface{ Debug() (Debugging, error) }

// Debug is how a debugger drives a world, or ErrUnsupported.
func Debug(w World) (Debugging, error) {
	if d, ok := w.(Debugged); ok {
		return d.Debug()
	}
	return nil, ErrUnsupported
}

// CPU is the state of the processor in a thread, as core files have it (elf(5)).
type CPU struct {
	General  [27]uint64 // struct user_regs_struct (sys/user.h)
	Extended []byte     // NT_X86_XSTATE, or what FXSAVE stores
}

// Stops are the places at which a Run ends. A thread stops before it executes the instruction.
type Stops struct {
	Breakpoints []Breakpoint
	Watchpoints []Watchpoint
	Turn        uint64  // the beginning of this turn; 0 is none
	Begins      *Thread // the beginning of any turn of this thread: its Node and TID count
	// Step stops the thread that is stopped within its turn after one instruction, or after the turn if that ends it.
	Step  bool
	Until Until
}

// Breakpoint is an instruction of a process.
type Breakpoint struct {
	Node    string
	PID     int
	Address uint64
}

// Watchpoint is a place in the memory of a process that is written to, aligned to its size of 1, 2, 4 or 8 bytes.
type Watchpoint struct {
	Node    string
	PID     int
	Address uint64
	Bytes   int
	Reads   bool // or read
}

// MaxWatchpoints is how many watchpoints a process has at most.
const MaxWatchpoints = 4

// Halt is where and why a Run has ended.
type Halt struct {
	// Reason is Halted, or as that of Advance: then no thread is stopped within its turn.
	Reason record.Reason
	Thread Thread // where Reason is Halted
	PC     uint64 // the instruction that it executes next
	Begins bool   // its turn has begun
	Step   bool   // it has executed one instruction
	Break  bool   // a breakpoint lies at PC
	// Watched are the indices of watchpoints that the instruction before has accessed, or, where no thread is stopped within its turn or Begins, that a
	// system call of Thread has written to.
	Watched []int
	// Over says that a Step has ended the turn.
	Over bool
}
