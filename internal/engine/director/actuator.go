package director

import (
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Actuator acts for a Director. Nodes go by their places in the Spec, processes by numbers that the engine gives. An engine that
// lacks a part embeds Unable, or Blind for what it cannot see.
type Actuator interface {
	Trace
	Programs
	Readiness
	Nodes
	Memory
	fault.Acts
	Rates
	Probes
	Inspection
	Reports
}

// Trace is the order of events of a run.
type Trace interface {
	// Now is the virtual time in ns, and Events the number of the last event.
	Now() int64
	Events() uint64
	// Happen makes an event of the trace and gives its number. An empty node is the world.
	Happen(node, call string, result int64, detail string) uint64
	// Deliver hands over what has happened that the Director does not know yet.
	Deliver() error
}

// Programs starts and ends programs.
type Programs interface {
	// Launch starts a program. An error of type StartError is the program's, any other one ends the run.
	Launch(l *Launch) (proc int64, err error)
	// Alive reports whether a process runs, and Running lists the tags of those that do on a node.
	Alive(proc int64) bool
	Running(node int) []int64
	// Kill ends a process, and KillTagged all that were started by a job.
	Kill(proc int64)
	KillTagged(tag int64)
}

// Readiness tells when the programs of a node serve others.
type Readiness interface {
	// Starting reports whether a main process is still at its first work, where the engine can say so without a healthcheck.
	Starting(node int) bool
	// AwaitReady has the engine report when programs of a node begin to listen, and its first answer to a client (Listens, AnsweredClient),
	// from the start of its main process on, or no longer. An engine that does not see them as they happen reports nothing, and Listening
	// gives the TCP ports on which programs of a node listen now and that other nodes can reach.
	AwaitReady(node int, on bool)
	Listening(node int) (ports []int)
}

// Nodes ends, stops and pauses whole nodes.
type Nodes interface {
	// KillNode ends the programs of a node by a fault, or, if it is nil, as the main process takes them along. LosePower ends them
	// and takes what its disk has not made durable, of which streams of the tape say how much; PowerOn lets the disk be used again.
	KillNode(node int, by *fault.Action)
	LosePower(node int, by *fault.Action, stream string) error
	PowerOn(node int)
	// TakeImage copies the disk of a node under a number, and DropImage gives the copy up. Reimage ends all programs of a node as LosePower
	// does, and gives it the disk of an image, which stays; PowerOn lets it be used.
	TakeImage(node, number int) error
	DropImage(node, number int)
	Reimage(node int, by *fault.Action, number int) error
	// Stop sends the stop signal of a node to its main process, and Stopping reports what became of that; Stopped ends the rest.
	Stop(node int, by *fault.Action, signal int)
	Stopping(node int) Stopping
	Stopped(node int)
	// Pause stops the threads of a node. Resume lets them continue, and reports whether one of them would have run meanwhile.
	Pause(node, id int)
	Resume(node, id int) (late bool)
	// Restarts notes that the node will start again because of a fault.
	Restarts(node, id int)
}

// Memory takes memory from nodes.
type Memory interface {
	// Leak takes the memory of a node away from one moment to another, and EndLeak gives it back. KillLargest kills the largest process
	// of the node.
	Leak(node, id int, fromNs, toNs int64)
	EndLeak(node int)
	KillLargest(node, id int) (Killed, bool)
}

// Rates follows the faults that packets and calls suffer at a rate.
type Rates interface {
	// Rates says that what packets and calls on disks suffer has changed (Director.Packet, Director.Calls).
	Rates()
}

// Probes asks the checks of a world.
type Probes interface {
	// Ask makes a check without a process, where the engine can; the answer is there at once.
	Ask(property int, end bool) (code int, text string, ok bool)
	// Order writes a line to the prober, and reports whether it takes one.
	Order(proc int64, line []byte) bool
}

// Inspection looks at programs from outside.
type Inspection interface {
	// Watch begins the life of a main process, whose calls Life sums up; tag 0 ends that.
	Watch(node int, tag int64)
	Life(node int) Life
	// Hidden names what programs of a node have looked for without success although the machine has it, with the remedy.
	Hidden(node int) string
	// Dump takes the core file of a process that a signal has ended, or nil.
	Dump(proc int64, signal int) *record.Dump
}

// Reports hears what the Director has done or learned.
type Reports interface {
	Injected(a *fault.Action)
	Undone(a *fault.Action)
	RoleChanged(node string)
	Logged(l record.LogLine)
}

// Launch is a program to start.
type Launch struct {
	Node   int
	As     *world.Node // says user and working directory
	Kind   JobKind
	Tag    int64 // of the job
	Number int   // how many programs the node has had
	Own    bool  // Argv are arguments of Bloodhound's own program
	// KeepDisk has the engine copy the node's disk first, as the image EmptyDisk.
	KeepDisk bool
	// Ordered programs read lines from their standard input, which Order writes. Those that are Own may write answers there.
	Ordered bool
	Argv    []string
	Env     []string // that of the node, and what the job adds
	Stdout  string   // names of streams
	Stderr  string
}

// StartError reports why a program could not be started.
type StartError struct {
	Text    string
	Errno   int
	Missing bool // there is no such file
	Busy    bool // a process writes to it
	Foreign bool // it was taken from the machine meanwhile: nothing in the world did it
}

func (e *StartError) Error() string { return e.Text }

// Stopping is the progress of a node that was signalled to stop. ID is that of the fault, Taken the event at which its program took the signal.
type Stopping struct {
	ID     int
	Signal int
	Taken  uint64
}

// Killed is the process that a lack of memory has ended.
type Killed struct {
	PID     int
	Program string
	Bytes   int64
}

// Life sums up what a main process has seen and done. Open says that it has heard of others.
type Life struct {
	Tag  int64
	Sum  uint64
	Open bool
}

// Notice is something that a process did: what an engine reports.
type Notice struct {
	Event   uint64
	TimeNs  int64
	Node    int
	Proc    int64
	PID     int
	Program string
	Tag     int64 // of the job that it belongs to
	Status  int   // wait status
	ByFault bool
	Stream  string
	Text    []byte
	Refusal *record.Refusal // of a program that ended on its way out of a call that the engine refused
}

// Chooser is the tape.
type Chooser interface {
	fault.Chooser
	Choose(stream string, n uint64) uint64
	// Named lists the streams below a prefix of which an edit of the tape sets a draw.
	Named(prefix string) []string
	// Ready notes that setup is over.
	Ready()
}
