package model

import (
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
)

// nearness is how close runs come to the goals of a specification.
type nearness struct {
	goals *eval.Goals
	ev    *eval.Evaluator     // of its own, for steps that are only tried have effects on what TLCSet keeps
	known map[uint64]measured // of states
	met   map[uint64]bool     // states of the present run
	left  int                 // of mostLooks
	best  []eval.Distance     // in the present run
}

// measured holds the measurements of a state.
type measured struct {
	all   []eval.Distance
	looks int
}

const (
	// mostMeasured bounds the states that are measured in a run: those that it meets first.
	mostMeasured = 1000
	// mostMembers bounds the members of sets that are looked at for a goal in a state, and mostLooks those in a run, which is a
	// part of a second: states that come after are not measured. Before the first run, firstMembers may be looked at, such that
	// what is evaluated once for all runs counts in none.
	mostMembers  = 1 << 13
	mostLooks    = 1 << 18
	firstMembers = 1 << 20
	// mostDistances bounds the states whose distances are kept from run to run.
	mostDistances = 20_000
)

// Measure has the follower measure in this run how close it comes to a step of each action, and to a state in which an invariant of the configuration is false.
func (f *Follower) Measure() {
	if f == nil {
		return
	}
	if f.near == nil {
		goals, err := f.model.goals()
		if err != nil {
			return
		}
		f.near = &nearness{goals: goals, ev: eval.NewEvaluator(f.model.spec), known: map[uint64]measured{}, met: map[uint64]bool{}}
		for _, s := range f.first {
			f.near.ev.Distances(s, goals, firstMembers)
		}
	}
	n := f.near
	if len(n.known) > mostDistances {
		clear(n.known)
	}
	clear(n.met)
	n.left = mostLooks
	n.best = n.best[:0]
	for range n.goals.Names {
		n.best = append(n.best, eval.Distance{Value: 1})
	}
	f.measures = true
}

// addState adds a state of the run.
func (n *nearness) addState(m *memory, p *point) {
	if n.met[p.print] || len(n.met) >= mostMeasured || n.left < 0 {
		return
	}
	n.met[p.print] = true
	k, ok := n.known[p.print]
	if !ok {
		k.all, k.looks = n.ev.Distances(m.state(p), n.goals, mostMembers)
		n.known[p.print] = k
	}
	n.left -= k.looks
	for i, d := range k.all {
		b := &n.best[i]
		if b.Err == nil {
			b.Err = d.Err
		}
		if d.Value < b.Value {
			b.Value, b.Guard = d.Value, d.Guard
		}
	}
}

// Near is how close the run came to each goal, if it was measured: to `ACTION possible`, and to `INVARIANT false`.
func (f *Follower) Near() []coverage.Nearness {
	if f == nil || !f.measures {
		return nil
	}
	f.look()
	var list []coverage.Nearness
	for i, d := range f.near.best {
		name, says := f.near.goals.Names[i], "it was not"
		switch {
		case d.Value == 0:
			says = "it was"
		case d.Guard != nil:
			says = d.Guard.Text + " was false"
		case d.Value < 1:
			says = "it was true"
		}
		if d.Err != nil && d.Value > 0 {
			says += "; it could not be measured in some states: " + plain(d.Err)
		}
		if f.near.goals.Invariant(i) {
			name += " false"
		} else {
			name += " possible"
		}
		list = append(list, coverage.Nearness{Name: name, Distance: d.Value, Says: says, Domain: coverage.ModelGoal})
	}
	return list
}
