package model

import (
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
)

// nearness is how close runs come to the goals of a specification.
type nearness struct {
	goals *eval.Goals
	ev    *eval.Evaluator            // of its own, for steps that are only tried have effects on what TLCSet keeps
	known map[uint64][]eval.Distance // of states
	met   map[uint64]bool            // states of the present run
	best  []eval.Distance            // in the present run
}

const (
	// mostMeasured bounds the states that are measured in a run: those that it meets first.
	mostMeasured = 1000
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
		f.near = &nearness{goals: goals, ev: eval.NewEvaluator(f.model.spec), known: map[uint64][]eval.Distance{}, met: map[uint64]bool{}}
	}
	n := f.near
	if len(n.known) > mostDistances {
		clear(n.known)
	}
	clear(n.met)
	n.best = n.best[:0]
	for range n.goals.Names {
		n.best = append(n.best, eval.Distance{Value: 1})
	}
	f.measures = true
}

// take takes in a state of the run.
func (n *nearness) take(m *memory, p *point) {
	if n.met[p.print] || len(n.met) >= mostMeasured {
		return
	}
	n.met[p.print] = true
	all, ok := n.known[p.print]
	if !ok {
		all = n.ev.Distances(m.state(p), n.goals)
		n.known[p.print] = all
	}
	for i, d := range all {
		if d.Value < n.best[i].Value {
			n.best[i] = d
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
		name, says := f.near.goals.Names[i], ""
		switch {
		case d.Guard != nil:
			says = d.Guard.Text + " was false"
		case d.Value == 0:
			says = "it was"
		default:
			says = "it was not"
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
