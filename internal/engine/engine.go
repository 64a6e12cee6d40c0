// Package engine is the waist of Bloodhound: what every engine offers and what everything above relies on.
// Engines know nothing of exploration; exploration, checks, shrinking and reports know only this package.
package engine

import (
	"context"
	"errors"
	"io"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// ErrUnsupported is the answer of an engine to what it cannot do.
var ErrUnsupported = errors.New("not supported by this engine")

// Engine boots worlds.
type Engine interface {
	Boot(spec *world.Spec, t tape.Tape, o Options) (World, error)
}

// Roomy is an Engine that knows the memory of this machine.
type Roomy interface {
	// Room reports whether there is memory for a copy of a world.
	Room() bool
	// MachineBytes is how much memory there is in all, 0 if unknown.
	MachineBytes() int64
}

// Sized is a World that knows how much memory of the machine it has, in bytes. What several worlds share counts in parts.
type Sized interface{ Bytes() int64 }

// World is one run in progress.
type World interface {
	// Advance runs the world until the given point, or until it ends by itself.
	Advance(until Until) (record.Reason, error)
	// Fork copies the world; the original continues unaffected. The copy continues with a tape that Follows, and with
	// its own Options, which request the same records. Its Spec may differ from the world's only in parts that have not
	// been used so far: before the end of setup, those are the workloads' skips. Fork returns ErrUnsupported, or the
	// reason why this world cannot be copied now.
	Fork(spec *world.Spec, t tape.Tape, o Options) (World, error)
	// Follows reports whether the run of a tape is the same as this one up to here. It may report false where it is.
	Follows(t tape.Tape) bool
	// Inspect gives what can be asked about the stopped world, or ErrUnsupported.
	Inspect() (Inspection, error)
	// Moment is the position of the world in its run: how many events have happened, and the virtual time.
	Moment() (event uint64, timeNs int64)
	// Outcome reports what happened so far.
	Outcome() *record.Outcome
	// Close ends the world and leaves none of its files and processes behind. It may be called at any time, and twice.
	Close() error
}

// Until bounds an Advance; zero fields do not bound it.
type Until struct {
	record.Position       // stop there
	TimeNs          int64 // stop when virtual time has reached this point
	Ready           bool  // stop before the end of setup, when all servers are up and no workload has begun, unless the world is past that
}

// Options of a run that do not change what happens in it.
type Options struct {
	// Observe receives every event of the trace, if not nil. It must not keep the pointer.
	Observe func(*record.Event)
	// Progress is told, if not nil, how many events there were and how much virtual time has passed: of each event, or now and then by
	// engines for which that is dear.
	Progress func(events uint64, virtualNs int64)
	// Capture receives every packet of the virtual network, as nodes send and get it, if not nil. It must not keep the pointer.
	Capture func(*Packet)
	// Log receives every line that a node's programs write to their standard output or error, if not nil.
	Log func(record.LogLine)
	// Dir is a folder for the run's scratch files; empty is the system's temporary folder.
	Dir string
	// Hidden are files and folders of the machine, absolute, that nodes do not see: what comes and goes between runs and is
	// no part of the world.
	Hidden []string
	// Then is, if not nil, what the folder of the project had when the run was recorded: nodes see no later names in it, and the permissions
	// of that time.
	Then *filetree.Tree
	// Images has the images of nodes that are made from one.
	Images Images
	// Driver is the path of the program that runs built-in workloads, probers and an engine's own helpers inside the world.
	Driver string
	// Code asks for Outcome.Code, if not nil.
	Code *code.Watch
	// Behaviour asks for Outcome.Reached.
	Behaviour bool
	// Moments asks for Outcome.Moments.
	Moments bool
	// Unwatched are the domains of which Outcome.Reached may have nothing.
	Unwatched []coverage.Domain
	// Draws asks for Outcome.Draws of the streams that match one of these patterns.
	Draws []string
	// Contrast has programs read other bytes of their own code, wherever the engine changes them, than they do in a run without it. If
	// the two differ, a program reads its code, and what it finds there is not what it would find outside.
	Contrast bool
	// Dumps is a folder for core files of programs under test that a fatal signal ends, and asks for Crash.Dump. Empty asks for neither.
	Dumps string
	// Interrupt, if not nil, ends the run soon after it is closed.
	Interrupt <-chan struct{}
	// Pulse, if not nil, is given a sign before each step by engines that run worlds inside this process.
	Pulse *Pulse
}

// Images gives engines the files of container images.
type Images interface {
	// Root gives the files of an image by its id, sha256:....
	Root(ctx context.Context, id string) (*rootfs.Root, error)
	// Files is the folder at or below which the contents of all files of all images lie.
	Files() string
}

// Run boots a world, runs it to its end and closes it.
func Run(e Engine, spec *world.Spec, t tape.Tape, o Options) (*record.Outcome, error) {
	w, err := e.Boot(spec, t, o)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	reason, err := w.Advance(Until{})
	if err != nil {
		return nil, err
	}
	out := w.Outcome()
	out.Reason = reason
	return out, w.Close()
}

// Layered is a World that can be asked what is left of a node whose root is an image.
type Layered interface {
	// Ended reports whether a node's main process is over, and its exit code: 128 and the number of a signal that ended it.
	Ended(node string) (code int, over bool)
	// Layer hands out what a node's programs have changed in its root, as the entries of a layer in the order of its archive, with
	// the contents of files.
	Layer(node string, change func(e rootfs.Entry, content io.Reader) error) error
}
