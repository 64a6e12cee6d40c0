package eval

import (
	"cmp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// counted is an action of the next-state relation whose conditions are counted.
type counted struct {
	*Action
	act    act
	guards int // how many conditions it has
}

// counting compiles the next-state relation, with what the configuration demands of steps, such that its conditions are counted;
// measured: such that also what is missing of them is measured, and what gives a variable a value that it has already is no
// condition.
func (s *Spec) counting(measured bool) (actions []counted, guards []*placed, size int, err error) {
	s.compiling.Lock()
	defer s.compiling.Unlock()
	c := s.compiler
	err = failure.Catch(func() {
		_, size = c.alone(func() node {
			c.guards, c.compares, c.measures = &guards, !measured, measured
			defer func() { c.guards, c.compares, c.measures = nil, false, false }()
			last := act(func(x *ctx) bool { return x.m.emit() })
			for _, name := range slices.Backward(s.config.ActionConstraints) {
				n := s.named(name)
				last = c.act(n.expr, n.place, last)
			}
			before := 0
			r := nextRelation{compiler: c, found: func(leaf) act {
				before = len(guards)
				return last
			}, compiled: func(a leaf) {
				actions = append(actions, counted{&s.Actions[a.number], nil, len(guards) - before})
			}}
			next := r.compileParts(s.relation)
			for i := range actions {
				actions[i].act = alone(next, i)
			}
			for i, g := range guards {
				g.number = i
			}
			return node{}
		})
	})
	return actions, guards, size, err
}

// mostGuards is how many conditions of an action are reported.
const mostGuards = 3

// Tried is an action that was tried where the log continues in another way.
type Tried struct {
	Action *Action
	// Guards are the conditions that were false, those first that most others were true before. None: there was nothing to choose from.
	Guards []Guard
}

// Tried finds out for each action which of its conditions were false in some states, which enter gives in turn. First come the actions of which most
// conditions were true before.
func (ev *Evaluator) Tried(states int, enter func(i int) State) (tried []Tried, err error) {
	actions, guards, size, err := ev.spec.counting(false)
	if err != nil {
		return nil, err
	}
	m := ev.x.m
	met := guarded{seen: make([]uint8, len(guards)), falsified: make([]int, len(guards)), best: -1}
	type of struct {
		Tried
		deep int
	}
	var list []of
	for _, a := range actions {
		for i := range met.falsified {
			met.falsified[i] = -1
		}
		for i := range states {
			s := enter(i)
			m.cur, m.guarded = s, &met
			m.nxt = make(State, len(s))
			m.begins()
			met.deep = 0
			err := ev.enumerate(a.act, &ctx{slots: make([]value.Value, size), m: m}, enumeration{f: func(State) error { return nil }, at: &a.at})
			m.guarded = nil
			if err != nil {
				return nil, err
			}
		}
		var which []int
		for i, deep := range met.falsified {
			if deep >= 0 {
				which = append(which, i)
			}
		}
		slices.SortStableFunc(which, func(a, b int) int { return cmp.Compare(met.falsified[b], met.falsified[a]) })
		o := of{Tried{Action: a.Action}, -1}
		for _, i := range which {
			if o.deep < 0 {
				o.deep = met.falsified[i]
			}
			if met.falsified[i] < o.deep || len(o.Guards) == mostGuards {
				break
			}
			if !slices.ContainsFunc(o.Guards, func(g Guard) bool { return g.File == guards[i].File && g.Span == guards[i].Span }) {
				o.Guards = append(o.Guards, guards[i].Guard)
			}
		}
		list = append(list, o)
	}
	slices.SortStableFunc(list, func(a, b of) int { return cmp.Compare(b.deep, a.deep) })
	for _, o := range list {
		tried = append(tried, o.Tried)
	}
	return tried, nil
}
