package tla

import (
	"fmt"
	"time"
)

// Limits end a check before all states were seen.
type Limits struct {
	Distinct int           // states; 0: no limit
	Time     time.Duration // 0: no limit
}

// Report is what a check found.
type Report struct {
	Generated, Distinct int
	Depth               int
	Complete            bool // all states that can be reached were seen
	Violation           *Violation
}

// Violation is a behaviour that the specification allows and that breaks a property.
type Violation struct {
	Kind  string // "invariant", "deadlock", "assumption"
	Name  string
	Trace []Step
}

// Step is a state of a behaviour with the action that led to it; the first has none.
type Step struct {
	Action string
	State  State
}

type seen struct {
	parent int32
	action int16
	depth  int32
}

// Check goes through all states that can be reached, breadth first.
func Check(spec *Spec, limits Limits) (*Report, error) {
	ev := spec.Evaluator()
	r := &Report{}
	for i := range spec.Assumptions {
		f := &spec.Assumptions[i]
		ok, err := ev.Holds(f, nil, nil)
		if err != nil {
			return r, err
		}
		if !ok {
			r.Violation = &Violation{Kind: "assumption", Name: f.Name}
			return r, nil
		}
	}
	began := time.Now()
	known := map[uint64]int32{}
	var list []seen
	var queue []State
	var queueID []int32
	trace := func(id int32) []Step { return nil }
	visit := func(s State, parent int32, action int, from State) error {
		r.Generated++
		inModel := true
		for i := range spec.Constraints {
			ok, err := ev.Holds(&spec.Constraints[i], s, nil)
			if err != nil {
				return err
			}
			inModel = inModel && ok
		}
		if from != nil {
			for i := range spec.ActionConstraints {
				if !inModel {
					break
				}
				ok, err := ev.Holds(&spec.ActionConstraints[i], from, s)
				if err != nil {
					return err
				}
				inModel = inModel && ok
			}
		}
		id := int32(len(list))
		if inModel {
			fp, err := ev.Fingerprint(s)
			if err != nil {
				return err
			}
			if _, ok := known[fp]; ok {
				return nil
			}
			known[fp] = id
			depth := int32(1)
			if parent >= 0 {
				depth = list[parent].depth + 1
			}
			list = append(list, seen{parent, int16(action), depth})
			r.Depth = max(r.Depth, int(depth))
			r.Distinct++
		}
		for i := range spec.Invariants {
			f := &spec.Invariants[i]
			ok, err := ev.Holds(f, s, nil)
			if err != nil {
				return err
			}
			if !ok {
				r.Violation = &Violation{Kind: "invariant", Name: f.Name, Trace: append(trace(parent), Step{State: s})}
				return ErrStop
			}
		}
		if inModel {
			queue = append(queue, s)
			queueID = append(queueID, id)
		}
		return nil
	}
	ev.TLC.level = 1
	err := ev.Initial(func(s State) error { return visit(s, -1, -1, nil) })
	if err != nil || r.Violation != nil {
		return r, err
	}
	for at := 0; at < len(queue); at++ {
		s := queue[at]
		queue[at] = nil
		some := false
		ev.TLC.level = int(list[queueID[at]].depth)
		for a := range spec.Actions {
			err := ev.Successors(s, &spec.Actions[a], func(next State) error {
				some = true
				return visit(next, queueID[at], a, s)
			})
			if err != nil || r.Violation != nil {
				return r, err
			}
		}
		if !some && spec.CheckDeadlock {
			r.Violation = &Violation{Kind: "deadlock", Trace: append(trace(queueID[at]), Step{State: s})}
			return r, nil
		}
		if at%256 == 0 && limits.Time > 0 && time.Since(began) > limits.Time || limits.Distinct > 0 && r.Distinct >= limits.Distinct {
			return r, fmt.Errorf("stopped after %d distinct states, %d are left", r.Distinct, len(queue)-at)
		}
	}
	r.Complete = true
	return r, nil
}
