//go:build linux && amd64

package kernel

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
)

// numCalls is one more than the largest number of a system call, and one for all numbers that do not exist.
const numCalls = 520

// System is the part of Linux beyond the core: its calls, its kinds of open files, and their work at certain moments.
// It has no state. Package linux provides the only one.
type System struct {
	Calls [numCalls]Syscall // by number; the last one is for numbers that do not exist
	Kinds [NumKinds]Behaviour

	// Synth serves /proc and /sys, as the thread sees them that Kernel.Caller gives.
	Synth func(k *Kernel) fs.Synth
	// Subjects are the paths of the files that the call at which t stopped is about.
	Subjects func(k *Kernel, t *Thread) []string
	// Act returns the effect of a call that has taken effect, and the files that it concerns. It is empty for most
	// calls.
	Act func(k *Kernel, t *Thread) (moments.Act, []string)
	// Makes reports whether the call at which t stopped asks for a file to be made if it is not there.
	Makes func(k *Kernel, t *Thread) bool
	// Charge notes what a call asks for, on a node whose memory is bounded. The thread may be gone afterwards.
	Charge func(k *Kernel, t *Thread)
	// Recorded sees each event of a call on a node whose Life is asked for.
	Recorded func(k *Kernel, l *Life, t *Thread, result int64)
	// Changed sees each event of a call that Changes files, or Receives.
	Changed func(k *Kernel, t *Thread, e *Syscall, result int64)
	// WayOut reports whether a call that has ended may be one of the way out of a process: it takes in nothing that the process could
	// go on with, and begins nothing.
	WayOut func(k *Kernel, t *Thread, result int64) bool
	// ThreadEnds runs while the memory of a thread that ends is still there, ProcessEnds while the descriptors of a process are.
	ThreadEnds  func(k *Kernel, t *Thread)
	ProcessEnds func(k *Kernel, p *Proc)
}

// Changing says what a call changes of a disk, and where its arguments say so.
type Changing uint8

const (
	ChangesNothing    Changing = iota
	ChangesNames               // of files: the arguments are paths
	ChangesAtPosition          // the open file of the first argument, before its position
	ChangesAtOffset            // the same file at the offset of the fourth argument
	ChangesSize                // the same file, to the size of the second argument
	ChangesDurable             // what of the same file lasts
)

// Restart says what SA_RESTART means for a call that a handler has interrupted (signal(7)).
type Restart uint8

const (
	restartNever     Restart = iota // always EINTR
	RestartFlag                     // restarted if the handler has SA_RESTART
	RestartNoTimeout                // the same, but EINTR when a timeout is set
	restartAlways
)

// Handler answers the call at which a thread stopped.
type Handler func(k *Kernel, t *Thread) Result

// Syscall is an entry in the table of calls.
type Syscall struct {
	Name        string
	Handle      Handler // nil: ENOSYS, named in the report
	Scalars     [6]bool // which arguments are scalars, for events
	Pointer     bool    // the result is an address
	Restart     Restart
	Interrupted func(k *Kernel, t *Thread) // runs before EINTR is returned
	Descriptor  bool                       // the first argument is an open file whose kind is worth telling
	Neutral     bool                       // says nothing about whether a thread makes progress
	Holds       bool                       // may wait for the file of its first argument
	Deaf        bool                       // waits for a disk: no signal ends that
	Receives    bool                       // takes bytes from the open file of its first argument
	Changes     Changing
	Abandon     func(k *Kernel, t *Thread) // runs when a thread gives the call up: a signal interrupts it, or ends the thread
}

// Restarts sets what SA_RESTART means for the call.
func (e *Syscall) Restarts(r Restart) *Syscall { e.Restart = r; return e }
