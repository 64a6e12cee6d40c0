// Package inprocess is the side of in-process worlds that Bloodhound itself uses: their engine. Users describe such worlds with
// package sim/inproc, which implements the engine and exports no part of the engine.
package inprocess

import (
	"context"
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// New makes the engine of one world. describe is a func(*inproc.World). Errors are mistakes in the description, each with its place.
// Package sim/inproc sets New.
var New func(name string, describe any) (Engine, error)

// Engine runs one world that a Go function describes.
type Engine interface {
	engine.Engine
	// Spec returns a copy of the world's Spec.
	Spec() *world.Spec
	// Quiet returns the same engine whose runs keep no logs unless a rule or the search reads them. Traces are the same.
	Quiet() Engine
	// Unguided returns the same engine whose runs are not followed in specifications that only guide a search. Traces are the same.
	Unguided() Engine
	// Scheduled reports whether the steps of the world are choices of the tape.
	Scheduled() bool
	// Followed reports whether runs are followed in a specification.
	Followed() bool
	// Steer makes the edits of a tape whose run begins with these choices, one at each step, and without other faults. Random draws
	// decide the rest. A step whose channel is empty delivers from another channel.
	Steer(list []Choice) ([]tape.Edit, error)
	// Diverge makes runs of one tape and compares them event by event, and by what they show of assertions and properties. It returns
	// nil if all runs were the same and nothing was seen that may make a further one differ, and if it is interrupted.
	Diverge(spec *world.Spec, t tape.Tape, runs int, o engine.Options) (*Divergence, error)
}

// World is a run of an Engine.
type World interface {
	engine.World
	// Story returns the choices of a run whose world has a schedule, such as Deliver(n1, 9) . Crash(n1) . Start(n1). A delivery names its
	// receiver, the number of messages, and the sender, where channels have one. Without a schedule it is empty.
	Story() string
}

// Choice requests the effect of one step of a schedule.
type Choice struct {
	// Deliver up to Messages messages (1 if it is 0) from one node to another. With mailboxes From is ignored. Without To the step
	// delivers what it draws.
	From, To string
	Messages int
	// Crash is a node that crashes before the step; a rule of the world must allow it.
	Crash string
}

// Schedules returns the schedules that the strategy "enumerated" plays in the world of an engine.
type Schedules func(Engine) ([][]tape.Edit, error)

// Doubt has specifications that are loaded while it is true evaluate again what they remember of earlier steps, and panic if it differs.
// It is for tests, and slow.
var Doubt bool

type schedulesKey struct{}

// WithSchedules gives the campaigns that run under a context the schedules of the strategy "enumerated".
func WithSchedules(ctx context.Context, s Schedules) context.Context {
	return context.WithValue(ctx, schedulesKey{}, s)
}

// SchedulesOf returns what WithSchedules has put into a context, or nil.
func SchedulesOf(ctx context.Context) Schedules {
	s, _ := ctx.Value(schedulesKey{}).(Schedules)
	return s
}

// Divergence is the first difference between two runs of one tape.
type Divergence struct {
	// Runs is how many runs were made.
	Runs int
	// Event is the number of the first event that differs, or of the one before which something else differs; 0 if nothing does.
	Event uint64
	// First and Second describe the difference in the two runs: node, call, and the place of the call in the source.
	First, Second string
	// Before is the last event that was equal; empty if no event differs.
	Before string
	// Cause names something else that was seen: a goroutine that the program started, or a message that was changed
	// after it was sent.
	Cause string
	// Left reports that nothing was seen but goroutines that had not ended with their run.
	Left bool
}

// Error describes the difference.
func (d *Divergence) Error() string {
	var b strings.Builder
	if d.Event > 0 {
		fmt.Fprintf(&b, "two runs of one tape differ at event %d\n  one run:      %s\n  another one:  %s", d.Event, d.First, d.Second)
		if d.Before != "" {
			fmt.Fprintf(&b, "\n  before that:  %s", d.Before)
		}
	} else {
		fmt.Fprintf(&b, "%d runs of one tape were equal, but another may differ", d.Runs)
	}
	if d.Cause != "" {
		fmt.Fprintf(&b, "\n  seen besides: %s", d.Cause)
	}
	b.WriteString("\n  A node may use messages, its disk, and its own Now, Uint64, Rand and Choose, and nothing else: not " +
		"the order of a map, time.Now, math/rand, crypto/rand, goroutines, or variables that keep their values between runs")
	return b.String()
}
