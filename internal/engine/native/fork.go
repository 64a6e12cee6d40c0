//go:build linux && amd64

package native

import (
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Fork copies the world between two events. Both go on as if there were no other; one of them runs at a time.
func (w *World) Fork() (engine.World, error) {
	var c *World
	var err error
	w.do(func() { c, err = w.fork() })
	if err != nil {
		return nil, host.Explain(err)
	}
	return c, nil
}

func (w *World) fork() (*World, error) {
	if w.failure != nil {
		return nil, w.failure
	}
	real, err := w.real.Fork()
	if err != nil {
		return nil, err
	}
	c := &World{spec: w.spec, options: w.options, shared: w.shared, memoryBytes: w.memoryBytes, started: time.Now(), tape: tape.NewSource(w.tape.Tape()), real: real}
	c.connect()
	if err := c.direct(w.director.Setting); err != nil {
		real.Close()
		real.Tracer.End()
		return nil, err
	}
	c.load(w.save())
	return c, nil
}
