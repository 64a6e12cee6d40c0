//go:build linux && amd64

package kernel

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Numbers of objects. Each kind counts on its own, from 1; 0 is none.
type (
	ThreadID = int64 // one in the world, also the Machine's name of the thread
	ProcID   = int64
	FileID   = int64 // an open file description
	TableID  = int64 // a file descriptor table
	SpaceID  = int64 // an address space
	NodeID   = int64 // index into State.Nodes
)

// State is everything that the kernel knows. It can be copied at any moment between two steps.
type State struct {
	Now    int64 // world time, ns
	Events uint64
	LastID map[string]int64 // last number given out, by kind

	Points    Points
	Switches  []record.Switch // the first record.MaxSwitches
	Nodes     []*Node
	Shared    *fs.Shared // volumes that several nodes mount; nil if there are none
	Threads   map[ThreadID]*Thread
	Procs     map[ProcID]*Proc
	Tables    map[TableID]*Table
	Spaces    map[SpaceID]*Space
	Files     map[FileID]*File
	Pipes     map[int64]*Pipe
	EventFDs  map[int64]*EventFD
	TimerFDs  map[int64]*TimerFD
	SignalFDs map[int64]*SignalFD
	Epolls    map[int64]*Epoll
	Segs      map[int64]*ShmSegment
	Sems      map[int64]*SemSet
	Queues    map[int64]*MsgQueue

	Net *net.State
	// Cause is the fault because of which sockets are being closed, if any.
	Cause  net.FaultRef
	Unread []FileID // files of messages that no program will receive, to be released

	Waiting  map[Key][]ThreadID // the threads that wait on each key, first come first
	Watching map[Key][]Watch    // which epoll items look at what
	Futexes  map[Key][]Waiter
	Timers   TimerHeap
	Runnable []ThreadID // in the order in which they became runnable
	Current  ThreadID
	Resched  bool
	Turns    uint64   // how often a thread was let run in user space
	Held     ThreadID // the thread that a debugger holds within its turn, 0 for none
	// IdleTurns counts turns of lazy threads since another thread ran; the world around lets time pass by it.
	IdleTurns int
	DropSeq   int64 // how many priority drops there were: a later drop goes below an earlier one

	Refused []Refused
	Unsafe  string // the first reason why this run may not repeat; empty while there is none
	Hash    []byte // state of the trace hash
	Strict  []byte // state of the strict hash
	Notices []Notice
	Failed  map[FailedCall]uint32 // how often calls of programs under test failed; nil where no caller asks
}

// FailedCall is one way in which a call of a program failed.
type FailedCall struct {
	Program string
	Nr      uint16
	Errno   uint16
}

// Node is one machine of the world.
type Node struct {
	ID         NodeID
	Name       string
	Hostname   string
	DomainName string // of NIS, empty is none
	Driver     bool   // a client: its programs are no programs under test
	Init       world.Init
	Main       ProcID // the main process that was started last
	Paused     int    // the fault that pauses it, 0 for none
	NextPID    int
	FS         *fs.State
	Net        net.NodeID
	BorrowsNet bool // Net is another node's
	LendsNet   bool // other nodes have it too
	OffsetNs   int64
	DriftPPB   int64
	BootNs     int64 // CLOCK_MONOTONIC at world time 0
	// TrueOffsetNs and TrueDriftPPB are the values of OffsetNs and DriftPPB without faults.
	TrueOffsetNs int64
	TrueDriftPPB int64
	ClockFaults  []ClockFault
	Pressure     Pressure
	FDLimit      FDLimit
	Leak         Leak
	Memory       Memory
	Sysctls      []world.Sysctl // what its settings show, where they differ from all others
	BootSysctls  []world.Sysctl // those that it starts with
	IPC          *IPCLimits     // nil for the default ones
	PIDMax       int            // the first number that no process gets, 0 for the default one
	PIDsAgain    bool           // its numbers of processes have begun again from below
	Tasks        int            // how many threads it may have, 0 for no bound
	CPUPPM       int64          // its share of a CPU, 0 for a whole CPU
	Procs        []ProcID
	FIFOs        map[fs.InodeID]int64 // open named pipes
	Recovering   net.FaultRef         // the fault that ended its programs, until one has read what an earlier one left
	Harmed       bool                 // faults are injected into single calls on its disk: see Kernel.DiskFault
	ReadsHarmed  bool                 // among them are reads that fail, or find other bytes
	OpensHarmed  bool                 // among them are openings that fail
	Slow         Slow                 // how slow its disk is
	Disk         fault.Speed          // how long calls on it take otherwise
	Torn         Torn                 // the write at which its power goes
	Images       map[int]*fs.Image    // copies of its disk, for faults that restore one
	Between      bool                 // a fault waits for its calls: see Moments.Counted
	AwaitsReady  bool                 // its main process runs and is not ready: see Moments.Listens
	Stopping     Stopping             // the signal and the fault that ordered its main process to stop
	Life         Life
	Changes      Changes
	Received     uint64 // the last event at which a driver read bytes from a connection to another node
}

// Stopping is an order to the main process of a node to stop.
type Stopping struct {
	Cause  net.FaultRef // its ID is 0 where there is none
	Signal int
	// Taken is the first event at which the process has taken the signal itself, instead of being ended by it or leaving it
	// aside; 0 is none.
	Taken uint64
}

// ThreadState is the stage of a thread's life.
type ThreadState uint8

const (
	Ready   ThreadState = iota // may run in user space, or must try its call again
	Blocked                    // waits in a call
	Dead
)

// Thread is one thread of a program.
type Thread struct {
	ID    ThreadID
	TID   int // virtual
	Proc  ProcID
	Node  NodeID
	Name  string // fork path: n1/0.2.1
	Forks int    // how many threads and processes it has made, for their names
	Comm  string
	State ThreadState

	InCall  bool // stopped at a call that was not answered
	Call    Call
	Waits   []Key
	WaitNs  int64  // since when it waits
	Calls   uint64 // own calls so far
	Change  uint64 // the call at which its priority changes, 0 if none in this epoch
	Next    int64  // the priority that it gets then
	Prio    int64
	Strict  bool // its priority is the tape's, for all its life: see Kernel.Rank
	Lazy    bool // yields or polls without result: runs only when all others wait
	Empties int  // how many empty-handed calls it has made in a row

	Pending    []Signal
	Fault      int     // the last signal of the processor that was handed over to a handler
	WaitMask   *uint64 // the mask of a masked wait (sigsuspend, ppoll), while it waits
	AfterMask  *uint64 // the mask that returns after the handler of a masked wait
	ClearTID   uint64
	Robust     uint64
	BurnedNs   int64    // CPU time of what it has computed between two calls: see burn.go
	BurnsNs    int64    // since when it computes without a call, 0 if it does not: it uses CPU time as the world's passes
	BusyNs     int64    // until when it computes and does not run, 0 if it may run
	Clocks     uint64   // clock reads since the last event
	VforkOf    ThreadID // the thread that waits until this one executes or ends
	Vfork      bool     // waits for its vfork child
	Nice       int
	Policy     int
	SpinBreaks int
	Watches    int // how often in a row it has only read clocks, machine.MostReads of them, between two calls

	SlackNs, BaseSlackNs int64 // timer slack, and what it returns to (PR_SET_TIMERSLACK)
}

// Call is a system call in progress.
type Call struct {
	Nr       uint64
	Args     [6]Argument
	IP       uint64
	Again    bool  // a later try of the same call
	Until    int64 // absolute deadline, 0 none
	HasUntil bool
	Done     int64 // progress of calls that work piecewise
	Aux      int64
	Digest   uint64
	Detail   string
	Signaled bool   // a signal wants to interrupt it
	Woken    bool   // futex: was woken
	Empty    bool   // came back empty-handed
	End      int64  // recvmmsg: when its own timeout is over, 0 none
	Held     FileID // the file of its first argument, kept open while it waits, 0 none
	Reserved bool   // it has a descriptor for what it opens, see ReserveFD
	Slow     int    // the fault because of which it waits for a disk, 0 none
	Wall     bool   // its deadline is a time of CLOCK_REALTIME
	Moved    int    // the fault that has moved that clock meanwhile, 0 none

	Files    []string // what it is about, where a rule watches the call
	Client   int      // 1 + the node to which it has sent the first bytes of an answer, 0 none
	Bulk     int      // 1 + the node to which much is on its way since it has sent, 0 none
	DiskNs   int64    // when the disk has done its work
	StrikeNs int64    // when the fault Strike begins, before that
	Strike   int      // see Moments.Waits; 0 none

	// Act is the effect of the call where its handler knows it better than its number does (System.Act). Said is the
	// kind of the answer that the call has begun to send to Client.
	Act  moments.Act
	Said string
	// Fault is the kind of fault that it has met, see Meet.
	Fault world.FaultKind
}

// Meet notes the fault that has changed what a call gives. It shows in the event, behind the path that the call names.
func (c *Call) Meet(kind world.FaultKind) {
	if c.Detail != "" && c.Fault == "" {
		c.Detail += ": " + string(kind)
	} else {
		c.Detail = string(kind)
	}
	c.Fault = kind
}

// Proc is one process of a program.
type Proc struct {
	ID       ProcID
	Node     NodeID
	PID      int
	PGID     int
	SID      int
	Parent   ProcID // 0 is the node's init
	Children []ProcID
	Threads  []ThreadID
	Leader   ThreadID
	Table    TableID
	Space    SpaceID
	Path     string // path of the program
	Argv     []string
	Env      []string
	Auxv     []byte     // the auxiliary vector, as the program has it
	Cwd      fs.InodeID // holds a reference
	Root     fs.InodeID // of chroot(2), holds a reference; 0 is the node's
	Umask    uint32
	Sharers  int64 // identifies the processes that share folder and umask (CLONE_FS), 0 if none do
	Cred     Cred

	Actions     [65]Action
	Pending     []Signal
	Stopped     bool
	Reported    bool // a stop or continue that wait has not seen yet
	Continued   bool
	Zombie      bool
	Status      int // as wait4 reports it
	ExitSignal  int // 0 to 255: only that of a signal sends one
	ParentExecs int // how many programs its parent had executed when it was made
	DeathSignal int
	Subreaper   bool
	Unkillable  bool // process 1: signals without a handler do nothing
	Dumpable    int
	NoNewPrivs  bool
	Login       uint32 // 1 + the user who has logged in (loginuid of proc(5)); 0 is no user
	Personality uint32
	Limits      [16][2]uint64
	OOMAdj      int
	Condemned   int // the fault that has killed it, 0 none
	StartNs     int64
	Timers      []PosixTimer
	Undo        []SemUndo
	NextTimer   int
	Real        Itimer
	CPUTimers   [2]CPUTimer // ITIMER_VIRTUAL and ITIMER_PROF
	EndedNs     int64       // CPU time of its threads that have ended
	ChildNs     int64       // and of its children
	Tag         int64       // what the world started it as: see Launch
	Bounded     bool        // likewise
	Orders      FileID      // of a program that was launched with Ordered
	Execs       int
	Refusal     *record.Refusal // the last call that was refused, while only calls of the way out have followed
	Broken      bool            // it has met a failure of its own: what is refused later is not why it ends
}

// Cred is the virtual identity of a process.
type Cred struct {
	UID, EUID, SUID, FSUID int
	GID, EGID, SGID, FSGID int
	Groups                 []int
	// Of a process that is not root: the capabilities kept when it ceased to be root, and those of them that are in force.
	Permitted, Effective uint64
	KeepCaps             bool // PR_SET_KEEPCAPS
}

// Space is an address space, as far as the engine must know it: the program in it, and shared mappings, for futexes and
// for snapshots.
type Space struct {
	ID       SpaceID
	Node     NodeID
	Refs     int
	Exe      fs.InodeID // the program's file, with a reference; 0 before the first program
	Counts   int        // names, to whom Kernel.Code belongs, what the program counts in its memory; 0 is nothing
	Modules  []Module   // that have announced themselves
	ExecNs   int64      // world time at which the program was executed
	Break    uint64     // the last end of the heap that it asked for, on nodes whose memory is bounded
	Regions  []Region
	Files    []FileMap // the later hides the earlier
	Bars     []Bar     // parts of maps to which the real map lacks a permission
	Made     bool      // the program may execute what was not looked through as it was mapped
	Unforked bool      // a fork leaves out or clears some of its memory, or may do so
}

// FileMap says which file of the node was mapped to a range of addresses. It holds no reference: what is unmapped is not
// seen here, and would keep its file alive.
type FileMap struct {
	Start, End uint64
	File       fs.InodeID
	Dev        uint64
	Path       string // when it was mapped
	Real       string // what the real /proc/PID/maps calls it
	Object     Key    // names it where the map is shared
	// Description is the open file that was mapped. As long as it is open it knows which of the file's failed
	// synchronisations were reported, and SyncErrors afterwards.
	Description FileID
	SyncErrors  int
	ReadOnly    bool // that file is: to Linux such a map is a private one (VM_SHARED of mm.h)
}

// Bar is a part of a shared map of a file to which the program lacks a permission that it has asked for
// (linux/barrier.go).
type Bar struct {
	Start, End  uint64
	Prot, Taken uint64 // what the program has asked for, and what of it is lacking
	File        fs.InodeID
	Blob        int64
	Offset      int64 // of Start in the file
}

// Region is one shared mapping.
type Region struct {
	Start, Size uint64
	Object      Key
	Seg         int64
	Anon        bool // it belongs to no file
}

// ShmSegment is System V shared memory.
type ShmSegment struct {
	ID               int64
	Node             NodeID
	Key              int64
	Blob             int64
	Size             int64
	Mode             uint32
	UID, GID         int
	Attach           int
	Removed          bool
	Creator          int
	Last             int
	AtNs, DtNs, CtNs int64
}

// NoticeKind says what a Notice is about.
type NoticeKind string

const (
	Exited NoticeKind = "exited" // a process ended
	Logged NoticeKind = "logged" // a line of output
	// Overflowed is a program that writes more than is taken in of its output.
	Overflowed NoticeKind = "overflowed"
	Reported   NoticeKind = "reported" // a write to the driver's report file
	Told       NoticeKind = "told"     // a line that an SDK wrote; Stream is cut where it has no end
	Asked      NoticeKind = "asked"    // a line that a driver wrote to the control file
	Answered   NoticeKind = "answered" // what a program wrote that has orders
	// Wondered is a program that asks for a draw; Tag is the file from which it reads the answer.
	Wondered NoticeKind = "wondered"
	// Spun is a thread of a Bounded program that computes without end; Text says how.
	Spun NoticeKind = "spun"
	// PacketFault is a fault per packet: Program is its kind, Tag its rule, Stream is delivered or observed.
	PacketFault NoticeKind = "packet fault"
	// OutOfMemory is a process that is killed because its node has more memory than it may have; Text says so.
	OutOfMemory NoticeKind = "out of memory"
	// Ineffective is a write to a setting of the kernel (Text is its file) that shows there and changes nothing.
	Ineffective NoticeKind = "ineffective"
	// Unreached is another node that is refused where this one listens on a loopback address alone, which is Text.
	Unreached NoticeKind = "unreached"
	// TornWrite is a write at which the power of a node goes: Tag is the number of the fault.
	TornWrite NoticeKind = "torn write"
)

// Notice reports to the world around the kernel what happened in a step.
type Notice struct {
	Kind    NoticeKind
	Event   uint64
	TimeNs  int64
	Node    NodeID
	Proc    ProcID
	PID     int
	Program string
	Tag     int64
	Status  int // wait status
	ByFault bool
	Stream  string
	Text    []byte
	Refusal *record.Refusal // of a process that ended on its way out of a call that was refused
}

// NewID gives out the next number of a kind of object.
func (s *State) NewID(kind string) int64 {
	s.LastID[kind]++
	return s.LastID[kind]
}
