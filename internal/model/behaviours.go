package model

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Behaviour is a row of steps of a specification, from an initial state on.
type Behaviour struct {
	walk  *walk
	moves []*visit
}

// visit is a state that was met on a walk, and how.
type visit struct {
	state  tla.State
	from   *visit // nil: an initial state
	action string // that led here
	view   uint64
}

// walk goes through the states of a specification, breadth first.
type walk struct {
	model *Model
	ev    *eval.Evaluator
	shows map[string]*eval.Operator
	err   error
}

// Behaviours walks through the states of the specification, breadth first, and gives a shortest behaviour for each step from one state to another that is new,
// as the view shows them. It ends after so many whole states, which bound the memory, or when give returns false. It reports whether all were met.
func (m *Model) Behaviours(most int, give func(Behaviour) (more bool)) (all bool, err error) {
	w := &walk{model: m, ev: eval.NewEvaluator(m.spec), shows: map[string]*eval.Operator{}}
	met, steps := map[uint64]bool{}, map[uint64]bool{}
	var queue []*visit
	full, enough := false, false
	take := func(s tla.State, from *visit, action string) error {
		print := value.Hash(s)
		v := &visit{state: slices.Clone(s), from: from, action: action, view: print}
		if m.view != nil {
			shown, err := w.ev.Value(v.state, m.view)
			if err != nil {
				return err
			}
			v.view = shown.Fingerprint()
		}
		if !met[print] {
			if len(met) >= most {
				full = true
			} else {
				met[print] = true
				queue = append(queue, v)
			}
		}
		if from == nil {
			return nil
		}
		step := splitmix.Mix(splitmix.Mix(from.view^edgeSeed)^v.view) ^ value.Hash([]value.Value{value.Text(action)})
		if steps[step] || enough {
			return nil
		}
		steps[step] = true
		enough = !give(v.behaviour(w))
		return w.err
	}
	if err := w.ev.Initial(func(s tla.State) error { return take(s, nil, "") }); err != nil {
		return false, err
	}
	for len(queue) > 0 && !enough {
		v := queue[0]
		queue = queue[1:]
		for i := range m.spec.Actions {
			var next []tla.State // an evaluator is at one thing at a time
			a := &m.spec.Actions[i]
			err := w.ev.Successors(v.state, a, func(s tla.State) error {
				next = append(next, slices.Clone(s))
				return nil
			})
			if err != nil {
				return false, err
			}
			for _, s := range next {
				if err := take(s, v, a.Name); err != nil {
					return false, err
				}
			}
		}
	}
	return len(queue) == 0 && !full && !enough, nil
}

// behaviour is how a walk came to a visit.
func (v *visit) behaviour(w *walk) Behaviour {
	b := Behaviour{walk: w}
	for at := v; at != nil; at = at.from {
		b.moves = append(b.moves, at)
	}
	slices.Reverse(b.moves)
	return b
}

// Len is the number of steps.
func (b *Behaviour) Len() int { return len(b.moves) - 1 }

// Action is the name of the action of step i, from 1 on.
func (b *Behaviour) Action(i int) string { return b.moves[i].action }

// Shows reports whether an operator of the specification has a value for some arguments after step i; 0 is the initial state. What cannot be evaluated ends the
// walk with its error.
func (b *Behaviour) Shows(i int, want any, operator string, args ...any) bool {
	w := b.walk
	op := w.shows[operator]
	if op == nil && w.err == nil {
		op, w.err = eval.ExpressionOf(w.model.spec, operator)
		w.shows[operator] = op
	}
	if w.err != nil {
		return false
	}
	var values []value.Value
	for _, a := range args {
		values = append(values, valueOf(a))
	}
	v, err := w.ev.Value(b.moves[i].state, op, values...)
	if err != nil {
		w.err = err
		return false
	}
	return value.Equal(v, valueOf(want))
}
