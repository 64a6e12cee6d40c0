package eval

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Step is a state of a behaviour with the action that led to it. Action is nil in the first, and in a stuttering step.
type Step struct {
	Action *Action
	Args   []value.Value // of the action's definition, where they depend on no state
	State  State
	Alias  value.Value // what ALIAS shows of the state, if there is one
}

// Text is a state as TLC prints it: a conjunct a line.
func (s *Spec) Text(step Step) string {
	if step.Alias != nil {
		if r, ok := step.Alias.(*value.Record); ok {
			text := ""
			for i, n := range r.Names {
				text += fmt.Sprintf("/\\ %s = %s\n", n.Text, r.Values[i])
			}
			return text
		}
		return step.Alias.String() + "\n"
	}
	if len(s.Variables) == 1 {
		return fmt.Sprintf("%s = %s\n", s.Variables[0], shown(step.State[0]))
	}
	text := ""
	for i, name := range s.Variables {
		text += fmt.Sprintf("/\\ %s = %s\n", name, shown(step.State[i]))
	}
	return text
}

// String is an action as TLC names it: its definition and where it is.
func (a *Action) String() string { return Step{Action: a}.String() }

// shown is a value as TLC prints it, also where there is none.
func shown(v value.Value) string {
	if v == nil {
		return "null"
	}
	return v.String()
}

// String is the action of a step with its arguments and its place, as TLC prints it.
func (s Step) String() string {
	a, args := s.Action, ""
	if len(s.Args) > 0 {
		var texts []string
		for _, v := range s.Args {
			texts = append(texts, v.String())
		}
		args = "(" + strings.Join(texts, ",") + ")"
	}
	return fmt.Sprintf("<%s%s line %d, col %d to line %d, col %d of module %s>", a.Name, args, a.Span.First.Line,
		a.Span.First.Column, a.Span.Last.Line, a.Span.Last.Column, a.Module)
}

// Between is a step from one state to another; its Action is nil if none leads there.
func (s *Spec) Between(from, to State) Step {
	ev := NewEvaluator(s)
	ev.TLC.Level = 1
	for i := range s.Actions {
		if args, found := ev.leads(&s.Actions[i], from, to); found {
			return Step{Action: &s.Actions[i], Args: args, State: to}
		}
	}
	return Step{State: to}
}

// leads reports whether an action leads from one state to another, and for which arguments.
func (ev *Evaluator) leads(a *Action, from, to State) (args []value.Value, found bool) {
	err := ev.Successors(from, a, func(next State) error {
		if value.Hash(next) != value.Hash(to) {
			return nil
		}
		found = true
		for _, n := range a.args {
			args = append(args, library.Settled(n.eval(ev.x)))
		}
		return ErrStop
	})
	return args, found && err == nil
}

// StatesTo are the states of a behaviour up to one that may be its last.
func StatesTo(steps []Step, cur State) []State {
	var list []State
	for _, s := range steps {
		list = append(list, s.State)
	}
	if len(list) == 0 || value.Hash(list[len(list)-1]) != value.Hash(cur) {
		list = append(list, cur)
	}
	return list
}

// Another is an evaluator for what is looked at again, with the registers of this one.
func (ev *Evaluator) Another() *Evaluator {
	other := NewEvaluator(ev.spec)
	other.TLC = registers{values: ev.TLC.values, named: ev.TLC.named, Named: ev.TLC.Named, Possible: ev.TLC.Possible, Seen: ev.TLC.Seen}
	return other
}

// Show adds the arguments of actions, and what ALIAS says of each state, to the last part of a behaviour, from the state with a number on.
func (ev *Evaluator) Show(level int, steps []Step) []Step {
	other := ev.Another()
	for i := 1; i < len(steps); i++ {
		if a := steps[i].Action; a != nil && len(a.args) > 0 {
			other.TLC.Level = level + i - 1
			steps[i].Args, _ = other.leads(a, steps[i-1].State, steps[i].State)
		}
	}
	if ev.spec.alias == nil {
		return steps
	}
	m, behaviour, present := ev.x.m, ev.TLC.Behaviour, ev.TLC.Level
	defer func() { ev.TLC.Behaviour, ev.TLC.Level = behaviour, present }()
	for i := range steps {
		ev.TLC.Level = level + i
		ev.TLC.Behaviour = func(State) ([]State, error) { return StatesTo(steps[:i], steps[i].State), nil }
		before := m.enter(steps[i].State, steps[min(i+1, len(steps)-1)].State)
		if v, err := ev.value(*ev.spec.alias); err == nil {
			steps[i].Alias = v
		}
		m.leave(before)
	}
	return steps
}
