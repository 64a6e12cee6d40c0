package debug

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// NewWorld wraps a booted world for a Timeline. The other arguments are those of its Boot. The error may be engine.ErrUnsupported.
func NewWorld(w engine.World, spec *world.Spec, t tape.Tape, o engine.Options) (World, error) {
	d, err := engine.Debug(w)
	if err != nil {
		return nil, err
	}
	return &copied{d, w, spec, t, o}, nil
}

type copied struct {
	engine.Debugging
	world   engine.World
	spec    *world.Spec
	tape    tape.Tape
	options engine.Options
}

func (c *copied) Moment() (uint64, int64) { return c.world.Moment() }
func (c *copied) Close() error            { return c.world.Close() }
func (c *copied) Bytes() int64 {
	if sized, ok := c.world.(engine.Sized); ok {
		return sized.Bytes()
	}
	return 0
}
func (c *copied) Outcome() *record.Outcome { return c.world.Outcome() }

func (c *copied) Fork() (World, error) {
	w, err := c.world.Fork(c.spec, c.tape, c.options)
	if err != nil {
		return nil, err
	}
	return NewWorld(w, c.spec, c.tape, c.options)
}

// Run ends where the run ends: Spec.EndNs bounds it.
func (c *copied) Run(s *engine.Stops) (engine.Halt, error) {
	end := c.spec.EndNs
	if end == 0 {
		return c.Debugging.Run(s)
	}
	bounded := *s
	if bounded.Until.TimeNs == 0 || bounded.Until.TimeNs > end {
		bounded.Until.TimeNs = end
	}
	h, err := c.Debugging.Run(&bounded)
	if _, now := c.Moment(); err == nil && h.Reason == record.ReachedUntil && now >= end {
		h.Reason = record.Finished
	}
	return h, err
}
