package tla

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// leg is a step of a counterexample, between states with numbers from 1 on.
type leg struct {
	from, to int
	action   *Action // nil: the state stays as it is
}

func (v *Violation) legs(s *Spec) (list []leg) {
	for i := 1; i < len(v.Trace); i++ {
		list = append(list, leg{i, i + 1, v.Trace[i].Action})
	}
	if last := len(v.Trace); v.Back >= 0 && v.Back < last {
		list = append(list, leg{last, v.Back + 1, s.Between(v.Trace[last-1].State, v.Trace[v.Back].State).Action})
	}
	return list
}

// counterexample is a counterexample as TLCExt has it: the sets of its states, with their numbers, and of the steps between them. v is nil if there is none.
func counterexample(s *Spec, v *Violation) value.Value {
	states, steps := []value.Value{}, []value.Value{}
	if v != nil {
		var names []value.Value
		for _, name := range s.Variables {
			names = append(names, value.Text(name))
		}
		for i := range v.Trace {
			states = append(states, value.NewTuple([]value.Value{value.Int(i + 1), value.FunctionOf(names, v.Trace[i].State)}))
		}
		for _, l := range v.legs(s) {
			steps = append(steps, value.NewTuple([]value.Value{states[l.from-1], actionValue(l.action), states[l.to-1]}))
		}
	}
	return recordOf("action", value.NewSet(steps), "state", value.NewSet(slices.Clone(states)))
}

// actionValue is an action as counterexamples have it.
func actionValue(a *Action) value.Value {
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

// JSON returns a counterexample in the format in which TLC dumps traces: states with their numbers, and the steps
// between them.
func (v *Violation) JSON(s *Spec) (text []byte, err error) {
	err = failure.CatchValue(func() {
		var b bytes.Buffer
		state := func(n int) {
			fmt.Fprintf(&b, "[%d,{", n)
			for i, name := range s.Variables {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, "%q:", name)
				library.WriteJSON(&b, library.Settled(v.Trace[n-1].State[i]), library.JSONAny)
			}
			b.WriteString("}]")
		}
		b.WriteString(`{"counterexample":{"action":[`)
		for i, l := range v.legs(s) {
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

// Module returns a counterexample as a TLA+ module with one operator, CounterExample, which holds the sets of its
// states and steps.
func (v *Violation) Module(s *Spec, name string) (text []byte, err error) {
	err = failure.CatchValue(func() {
		state := func(n int) string {
			var fields []string
			for i, name := range s.Variables {
				fields = append(fields, name+" |-> "+library.Settled(v.Trace[n-1].State[i]).String())
			}
			return fmt.Sprintf("<<%d, [%s]>>", n, strings.Join(fields, ", "))
		}
		var steps, states []string
		for _, l := range v.legs(s) {
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
