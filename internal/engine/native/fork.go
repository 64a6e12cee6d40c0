//go:build linux && amd64

package native

import (
	"errors"
	"fmt"
	"maps"
	"runtime/metrics"
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

// MachineBytes is how much memory this machine has, 0 if unknown.
func (*Engine) MachineBytes() int64 { return host.MachineBytes() }

// Follows reports whether the run of a tape is the same as this one up to here.
func (w *World) Follows(t tape.Tape) bool { return w.tape.Follows(t) }

// Fork copies the world between two events. Both go on as if there were no other; one of them runs at a time.
func (w *World) Fork(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	if !w.Follows(t) {
		return nil, errors.New("cannot copy this world for another tape: with that tape, the run so far would " +
			"have been different")
	}
	var c *World
	var err error
	if broken := w.do(func() { c, err = w.fork(spec, t, o) }); broken != nil {
		err = broken
	}
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
	made := false
	defer func() {
		if !made { // also after a panic
			real.Close()
			real.Tracer.End()
		}
	}()
	c := &World{spec: spec, options: o, shared: w.shared, memoryBytes: w.memoryBytes, started: time.Now(),
		tape: tape.NewSource(t), real: real, stackCode: w.stackCode}
	c.connect()
	if err := c.direct(setting); err != nil {
		return nil, err
	}
	before := allocated()
	s := w.save()
	s.Tape.Tape = t
	c.load(s)
	if !o.Moments {
		c.outcome.Moments = nil
	}
	c.stateBytes = allocated() - before
	made = true
	return c, nil
}

// allocated is how much memory this process has allocated for Go's values so far, in bytes.
func allocated() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// Bytes is how much memory a copy has that is not in use by others: its processes', its files', and the engine's for it.
func (w *World) Bytes() int64 { return w.real.Bytes() + w.stateBytes }
