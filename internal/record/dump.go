package record

// Dump describes the state of a program when a fatal signal ended it.
type Dump struct {
	// Why says what the signal's siginfo does: address not mapped, integer division by zero, raised by the program itself.
	Why string `json:"why"`
	// Address is the address of the fault, such as 0x8; empty if the signal has none.
	Address string `json:"address,omitempty"`
	// Instruction is the one that the program had come to, with its address.
	Instruction string     `json:"instruction,omitempty"`
	Registers   []Register `json:"registers"`
	// Threads lists the threads of the program, first the one that the signal ended; ThreadsLeft counts further ones.
	Threads     []ThreadStack `json:"threads"`
	ThreadsLeft int           `json:"threads_left,omitempty"`
	// Program is the program's file on this machine, for a debugger; empty where it has none.
	Program string `json:"program,omitempty"`
	// Core is the core file; empty if none could be written. CoreNote says why, or what it leaves out.
	Core     string `json:"core,omitempty"`
	CoreNote string `json:"core_note,omitempty"`
}

// Register is a register of a processor, its value as 0x1f.
type Register struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ThreadStack are the calls of a thread, the innermost first.
type ThreadStack struct {
	TID    int     `json:"tid"` // as the program sees it
	Name   string  `json:"name"`
	Frames []Frame `json:"frames"`
	// Skipped counts the frames that are left out before Frames[SkippedAt]. Endless says that there are more than were looked at.
	Skipped   int  `json:"skipped,omitempty"`
	SkippedAt int  `json:"skipped_at,omitempty"`
	Endless   bool `json:"endless,omitempty"`
}

// Frame is a call under way.
type Frame struct {
	PC       string `json:"pc"`                 // such as 0x401136
	Function string `json:"function,omitempty"` // empty if nothing names the place
	Offset   uint64 `json:"offset,omitempty"`   // of the place in the function
	File     string `json:"file,omitempty"`     // of its source
	Line     int    `json:"line,omitempty"`
	Module   string `json:"module,omitempty"`  // the file that has the code, in the world
	Inlined  bool   `json:"inlined,omitempty"` // into the frame that follows
}
