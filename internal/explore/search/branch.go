package search

import (
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Of each branchRuns runs that follow one another, the first is a run of its own, and the others branch from it.
const branchRuns = 5

// branchShare is the part of the chaos phase in which runs branch, one of so many: a run that begins later has too little time left for faults of
// its own.
const branchShare = 2

// branching is the strategy of random tapes, most of which branch from another one right behind its first fault. What comes before needs no
// further runs, since no fault is under way there; and each of them has a fault for certain (importance splitting, with the first fault as the
// only level: Villén-Altamirano and Villén-Altamirano, "RESTART", ITC-13, 1991). When runs branch follows from the tape and from the run
// without faults, not from the run that they branch from, so that none waits for another.
type branching struct {
	tapes
	row
	spec *world.Spec
	// The chaos phase of the run without faults; without it, no run branches.
	beginNs, endNs int64

	head   uint64 // the run for which partNs is known
	partNs int64
}

// Calm is the run without faults, which shares its setup with most others.
type Calm struct {
	ReadyNs int64 // the end of setup
	ChaosNs int64 // the beginning of the chaos phase
	HealNs  int64 // its end
	// Clients are those that read nothing after it, and Drained reports that it ended because drivers had done all that they were to do.
	Clients []Client
	Drained bool
}

// Timed is a Strategy that uses the virtual times of the run without faults. It is given them before the first tape, if there is such a run.
type Timed interface{ Begins(Calm) }

// Deriving is a Strategy that tries rules which a campaign derives from the moments of its run without faults. It is given the Spec with them before
// the first tape.
type Deriving interface {
	// Scouts are tapes of runs with such faults as show further moments: those of a program that ends and starts again. The campaign makes them
	// before it derives rules.
	Scouts() []tape.Tape
	Derived(spec *world.Spec)
}

// Begins implements Timed.
func (b *branching) Begins(c Calm) {
	b.beginNs, b.endNs = c.ReadyNs+b.spec.Faults.StartNs, c.HealNs
}

func (b *branching) Next(run uint64) (Candidate, Answer) {
	c, answer := b.tapes.Next(run)
	if run%bootEvery == 0 { // it has a setup of its own
		return c, answer
	}
	head := run - (run-1)%branchRuns
	if c.PartNs = b.part(head); c.PartNs > 0 && head != run {
		c.Tape = b.row.tape(head).Behind(c.PartNs, c.Tape.Own())
	}
	return c, answer
}

// part is the virtual time at which runs branch from a run: when the first time step is over at which it draws a fault. It is 0 if that is too
// late, or never.
func (b *branching) part(head uint64) int64 {
	if b.spec.TimeStepNs <= 0 || b.endNs <= b.beginNs {
		return 0
	}
	if b.head != head {
		b.head, b.partNs = head, 0
		steps := (b.endNs - b.beginNs) / branchShare / b.spec.TimeStepNs
		if step, ok := fault.First(b.spec, b.row.tape(head), uint64(steps)); ok {
			b.partNs = b.beginNs + int64(step+1)*b.spec.TimeStepNs
		}
	}
	return b.partNs
}

// newBranching makes the strategy of a row whose runs share their setup.
func newBranching(name string, spec *world.Spec, random row) *branching {
	b := &branching{row: random, spec: spec}
	b.tapes = tapes{name, b.row.tape}
	return b
}
