package eval

import (
	"errors"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Goals lists the goals of a search in a specification: a step of each action of the next-state relation, and a state
// that breaks each invariant.
type Goals struct {
	Names   []string // of the actions, each once, and then of the invariants
	actions []counted
	goal    []int // of each of actions: which of Names
	guards  []*placed
	broken  []measure // of each invariant: how far it is from being false
	size    int       // of a frame
}

// Invariant reports whether a goal is a state in which an invariant is false, and not a step.
func (g *Goals) Invariant(i int) bool { return i >= len(g.Names)-len(g.broken) }

// GoalsOf compiles the goals of a specification.
func GoalsOf(s *Spec) (*Goals, error) {
	g := &Goals{}
	var err error
	if g.actions, g.guards, g.size, err = s.counting(true); err != nil {
		return nil, err
	}
	for _, a := range g.actions {
		k := slices.Index(g.Names, a.Name)
		if k < 0 {
			k = len(g.Names)
			g.Names = append(g.Names, a.Name)
		}
		g.goal = append(g.goal, k)
	}
	s.compiling.Lock()
	defer s.compiling.Unlock()
	for _, name := range s.config.Invariants {
		err := failure.Catch(func() {
			_, size := s.compiler.alone(func() node {
				n := s.named(name)
				g.broken = append(g.broken, s.compiler.measured(n.expr, n.place, false))
				return node{}
			})
			g.Names, g.size = append(g.Names, name), max(g.size, size)
		})
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Distance is how far a state is from a goal: from 0, where it is reached, to 1.
type Distance struct {
	Value float64
	// Guard is the condition that keeps an action from a step, which of all ways to take one is the nearest; nil for an
	// invariant, and where the goal is reached.
	Guard *Guard
	// Err says why the distance is not known, or only of some of the ways: the goal cannot be evaluated, or that takes
	// too long.
	Err error
}

var errTooLong = errors.New("its quantifiers have too many members")

// Distances measures how far a state is from each goal: of an action, the part of its conditions that are not true yet, in their
// order (the approach level of Wegener, Baresel and Sthamer, "Evolutionary test environment for automatic structural testing",
// 2001), with what the first of them is missing. Steps have effects on what TLCSet keeps, so that a run must be followed by
// another evaluator. It looks at most at so many members of sets for each goal, and returns how many they were in all.
func (ev *Evaluator) Distances(s State, g *Goals, most uint32) (all []Distance, members int) {
	all = make([]Distance, len(g.Names))
	for i := range all {
		all[i].Value = 1
	}
	t, m := &ev.TLC, ev.x.m
	begin := func() { t.Ticks, t.budget = 0, most }
	ended := func(d *Distance, err error) {
		if err == ErrStop {
			err = errTooLong
		}
		if err != nil && d.Err == nil {
			d.Err = err
		}
		members += int(t.Ticks)
	}
	met := guarded{seen: make([]uint8, len(g.guards))}
	slots := make([]value.Value, g.size)
	for i, a := range g.actions {
		d := &all[g.goal[i]]
		if d.Value == 0 {
			continue
		}
		m.cur, m.nxt = s, make(State, len(s))
		m.begins()
		clear(slots)
		met.best, met.deep, m.guarded = -1, 0, &met
		reached := false
		begin()
		err := ev.enumerate(a.act, &ctx{slots: slots, m: m}, enumeration{f: func(State) error { reached = true; return ErrStop }, at: &a.at, action: a.Name})
		m.guarded = nil
		ended(d, err)
		switch {
		case reached:
			*d = Distance{}
		case met.best >= 0:
			behind := max(0, a.guards-met.best-1)
			if far := (float64(behind) + lack(met.near)) / float64(behind+met.best+1); far < d.Value {
				d.Value, d.Guard = far, &g.guards[met.which].Guard
			}
		}
	}
	for i, broken := range g.broken {
		before := m.enter(s, nil)
		clear(slots)
		begin()
		d := &all[len(all)-len(g.broken)+i]
		ended(d, ev.run(func() { d.Value = lack(broken(&ctx{slots: slots, m: m})) }))
		m.leave(before)
	}
	return all, members
}
