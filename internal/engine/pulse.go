package engine

import "sync/atomic"

// Pulse shows from outside whether a world comes to its next step. The world looks at it before each step, which costs it next to nothing.
type Pulse struct{ asked atomic.Bool }

// Ask asks the world for a sign.
func (p *Pulse) Ask() { p.asked.Store(true) }

// Silent reports whether the world has come to no step since it was asked.
func (p *Pulse) Silent() bool { return p.asked.Load() }

// Beat is the sign of a world, before a step. A nil Pulse asks for none.
func (p *Pulse) Beat() {
	if p != nil && p.asked.Load() {
		p.asked.Store(false)
	}
}
