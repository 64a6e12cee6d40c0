package tla

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Between is a step from one state to another; its Action is nil if none leads there.
func (s *Spec) Between(from, to State) Step {
	ev := s.Evaluator()
	ev.TLC.level = 1
	for i := range s.Actions {
		if args, found := ev.leads(&s.Actions[i], from, to); found {
			return Step{Action: &s.Actions[i], Args: args, State: to}
		}
	}
	return Step{State: to}
}

// leads tells whether an action leads from one state to another, and for which arguments.
func (ev *Evaluator) leads(a *Action, from, to State) (args []value.Value, found bool) {
	err := ev.Successors(from, a, func(next State) error {
		if value.Hash(next) != value.Hash(to) {
			return nil
		}
		found = true
		for _, n := range a.args {
			args = append(args, settled(n.eval(ev.x)))
		}
		return ErrStop
	})
	return args, found && err == nil
}

// leg is a step of a counterexample, between states with numbers from 1 on.
type leg struct {
	from, to int
	action   *Action // nil: the state stays as it is
}

func (s *Spec) legs(v *Violation) (list []leg) {
	for i := 1; i < len(v.Trace); i++ {
		list = append(list, leg{i, i + 1, v.Trace[i].Action})
	}
	if last := len(v.Trace); v.Back >= 0 && v.Back < last {
		list = append(list, leg{last, v.Back + 1, s.Between(v.Trace[last-1].State, v.Trace[v.Back].State).Action})
	}
	return list
}

// counterexample is a counterexample as TLCExt has it: the sets of its states, with their numbers, and of the steps between them. v is nil if there is none.
func (s *Spec) counterexample(v *Violation) value.Value {
	states, steps := []value.Value{}, []value.Value{}
	if v != nil {
		var names []value.Value
		for _, name := range s.Variables {
			names = append(names, value.Text(name))
		}
		for i := range v.Trace {
			states = append(states, value.NewTuple([]value.Value{value.Int(i + 1), value.FunctionOf(names, v.Trace[i].State)}))
		}
		for _, l := range s.legs(v) {
			steps = append(steps, value.NewTuple([]value.Value{states[l.from-1], l.action.value(), states[l.to-1]}))
		}
	}
	return recordOf("action", value.NewSet(steps), "state", value.NewSet(slices.Clone(states)))
}

// value is an action as counterexamples have it.
func (a *Action) value() value.Value {
	if a == nil {
		return recordOf("name", value.Text("Stuttering"))
	}
	return recordOf("location", recordOf("beginColumn", value.Int(a.Span.First.Column), "beginLine", value.Int(a.Span.First.Line),
		"endColumn", value.Int(a.Span.Last.Column), "endLine", value.Int(a.Span.Last.Line), "module", value.Text(a.Module)), "name", value.Text(a.Name))
}

func recordOf(fields ...any) value.Value {
	var names, values []value.Value
	for i := 0; i < len(fields); i += 2 {
		names, values = append(names, value.Text(fields[i].(string))), append(values, fields[i+1].(value.Value))
	}
	return value.FunctionOf(names, values)
}

// JSON is a counterexample in the form in which TLC dumps traces: states with their numbers, and the steps between them.
func (s *Spec) JSON(v *Violation) (text []byte, err error) {
	err = valued(func() {
		var b bytes.Buffer
		state := func(n int) {
			fmt.Fprintf(&b, "[%d,{", n)
			for i, name := range s.Variables {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, "%q:", name)
				writeJSON(&b, settled(v.Trace[n-1].State[i]), jsonAny)
			}
			b.WriteString("}]")
		}
		b.WriteString(`{"counterexample":{"action":[`)
		for i, l := range s.legs(v) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('[')
			state(l.from)
			if a := l.action; a != nil {
				fmt.Fprintf(&b, `,{"name":%q,"location":{"beginLine":%d,"beginColumn":%d,"endLine":%d,"endColumn":%d,"module":%q}},`,
					a.Name, a.Span.First.Line, a.Span.First.Column, a.Span.Last.Line, a.Span.Last.Column, a.Module)
			} else {
				b.WriteString(`,{"name":"Stuttering"},`)
			}
			state(l.to)
			b.WriteByte(']')
		}
		b.WriteString(`],"state":[`)
		for n := range v.Trace {
			if n > 0 {
				b.WriteByte(',')
			}
			state(n + 1)
		}
		b.WriteString(`]},"vars":[`)
		for i, name := range s.Variables {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%q", name)
		}
		b.WriteString("]}\n")
		text = b.Bytes()
	})
	return text, err
}

// Module is a counterexample as a module of TLA+ with one operator, CounterExample: the sets of its states and of its steps.
func (s *Spec) Module(name string, v *Violation) (text []byte, err error) {
	err = valued(func() {
		state := func(n int) string {
			var fields []string
			for i, name := range s.Variables {
				fields = append(fields, name+" |-> "+settled(v.Trace[n-1].State[i]).String())
			}
			return fmt.Sprintf("<<%d, [%s]>>", n, strings.Join(fields, ", "))
		}
		var steps, states []string
		for _, l := range s.legs(v) {
			action := `[name |-> "Stuttering"]`
			if a := l.action; a != nil {
				action = fmt.Sprintf(`[name |-> "%s", location |-> [beginLine |-> %d, beginColumn |-> %d, endLine |-> %d, endColumn |-> %d, module |-> "%s"]]`,
					a.Name, a.Span.First.Line, a.Span.First.Column, a.Span.Last.Line, a.Span.Last.Column, a.Module)
			}
			steps = append(steps, fmt.Sprintf("<<%s, %s, %s>>", state(l.from), action, state(l.to)))
		}
		for n := range v.Trace {
			states = append(states, state(n+1))
		}
		text = fmt.Appendf(nil, "---- MODULE %s ----\nLOCAL INSTANCE TLC\n\nCounterExample ==\n  [action |-> {%s},\n   state |-> {%s}]\n====\n",
			name, strings.Join(steps, ",\n     "), strings.Join(states, ",\n     "))
	})
	return text, err
}

// valued makes what is wrong with a value an error.
func valued(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *value.Error:
			err = errors.New(r.Message)
		default:
			panic(r)
		}
	}()
	f()
	return nil
}
