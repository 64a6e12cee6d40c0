//go:build linux && amd64

package native

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Room reports whether this machine has memory for a copy of a world.
func (*Engine) Room() bool { return host.Room() }

// Follows reports whether the run of a tape is the same as this one up to here.
func (w *World) Follows(t tape.Tape) bool { return w.tape.Follows(t) }

// Fork copies the world between two events. Both go on as if there were no other; one of them runs at a time.
func (w *World) Fork(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	if !w.Follows(t) {
		return nil, errors.New("cannot copy a world for another tape, with which its run would have been another one")
	}
	var c *World
	var err error
	w.do(func() { c, err = w.fork(spec, t, o) })
	if err != nil {
		return nil, host.Explain(err)
	}
	return c, nil
}

func (w *World) fork(spec *world.Spec, t tape.Tape, o engine.Options) (*World, error) {
	if w.failure != nil {
		return nil, w.failure
	}
	for _, id := range slices.Sorted(maps.Keys(w.kernel.Procs)) {
		p := w.kernel.Procs[id]
		if s := w.kernel.Spaces[p.Space]; s != nil && s.Unforked && !p.Zombie {
			return nil, fmt.Errorf("cannot copy a world: %s has memory that a fork leaves out or clears (MADV_DONTFORK, MADV_WIPEONFORK)", p.Path)
		}
	}
	setting := w.director.Setting
	if spec != w.spec {
		var err error
		if setting, err = director.Prepare(spec); err != nil {
			return nil, err
		}
	}
	real, err := w.real.Fork()
	if err != nil {
		return nil, err
	}
	c := &World{spec: spec, options: o, shared: w.shared, memoryBytes: w.memoryBytes, started: time.Now(), tape: tape.NewSource(t), real: real}
	c.connect()
	if err := c.direct(setting); err != nil {
		real.Close()
		real.Tracer.End()
		return nil, err
	}
	s := w.save()
	s.Tape.Tape = t
	c.load(s)
	return c, nil
}
