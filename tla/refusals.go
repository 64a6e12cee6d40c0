package tla

import (
	"cmp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// counted is an action of the next-state relation whose conditions are counted.
type counted struct {
	*Action
	act act
}

// counting compiles the next-state relation, with what the configuration demands of steps, such that its conditions are counted.
func (s *Spec) counting() (actions []counted, guards []*placed, size int, err error) {
	s.compiling.Lock()
	defer s.compiling.Unlock()
	c := s.compiler
	err = catch(func() {
		_, size = c.alone(func() node {
			c.guards, c.compares = &guards, true
			defer func() { c.guards, c.compares = nil, false }()
			last := act(func(x *ctx) bool { return x.m.emit() })
			for _, name := range slices.Backward(s.config.ActionConstraints) {
				n := s.named(name)
				last = c.act(n.expr, n.place, last)
			}
			k := 0
			for _, n := range s.relation {
				c.actionsOf(n, func(_ string, _ []node, _ syntax.Expr, _ where, build func(act) act) {
					actions = append(actions, counted{&s.Actions[k], build(last)})
					k++
				})
			}
			for i, g := range guards {
				g.number = i
			}
			return node{}
		})
	})
	return actions, guards, size, err
}

// told is how many conditions of an action are told, and tellers of how many states they are.
const (
	told    = 3
	tellers = 8
)

// refusals finds out which conditions were false where the longest behaviours end.
func (w *validator) refusals() error {
	actions, guards, size, err := w.spec.counting()
	if err != nil {
		return err
	}
	m := w.ev.x.m
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
		for _, t := range w.furthest[:min(len(w.furthest), tellers)] {
			w.now = t
			w.ev.TLC.level = t.level
			m.cur, m.guarded = t.state, &met
			m.nxt = make(State, len(t.state))
			m.begins()
			met.deep = 0
			err := w.ev.enumerate(a.act, &ctx{slots: make([]value.Value, size), m: m}, enumeration{f: func(State) error { return nil }, at: &a.at})
			m.guarded = nil
			if err != nil {
				return err
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
			if met.falsified[i] < o.deep || len(o.Guards) == told {
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
		w.v.Tried = append(w.v.Tried, o.Tried)
	}
	return nil
}
