package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// EventKind is the kind of an event of a run.
type EventKind string

// Kinds of events.
const (
	LineEvent      EventKind = "log"
	SDKEvent       EventKind = "sdk"
	ProbeEvent     EventKind = "probe"
	CrashEvent     EventKind = "crash"
	RestartEvent   EventKind = "restart"
	OperationEvent EventKind = "operation"
)

// Event is one of a run that may be a step of a model.
type Event struct {
	Kind   EventKind
	Number uint64 // of the engine's event
	TimeNs int64
	Node   string
	Line   string         // of a log; of an SDK, the event's name, a blank and its details; of a probe, its property's name, a blank and what it returned
	Failed bool           // of a probe
	Op     *history.Event // of an operation
}

// String is an event in words.
func (e *Event) String() string {
	switch e.Kind {
	case LineEvent:
		return e.Node + ": " + e.Line
	case SDKEvent:
		return e.Node + ", by an SDK: " + e.Line
	case ProbeEvent:
		return "probe of " + e.Line
	case OperationEvent:
		return fmt.Sprintf("%s: %s %s %s", e.Op.Client, e.Op.Op, e.Op.Key, e.Op.Type)
	}
	return string(e.Kind) + " of " + e.Node
}

// Mapper turns events of runs into steps of a model, by rules. Several goroutines may use it at once.
type Mapper struct {
	model *Model
	lines *regexp.Regexp
	rules []rule
}

type rule struct {
	*world.ModelRule
	text            *regexp.Regexp // of Log, SDK or Probe
	node, operation *regexp.Regexp
	args            []*vm.Program
	shows           []shown
}

type shown struct {
	operator string
	args     []*vm.Program
	is       *vm.Program
}

// RuleError is a mistake in a mapping. Rule is the number of the rule from 0 on, or -1; Key is where in it, or in the mapping.
type RuleError struct {
	Rule    int
	Key     string
	Problem string
	Remedy  string
}

func (e *RuleError) Error() string {
	if e.Rule < 0 {
		return e.Key + ": " + e.Problem
	}
	return fmt.Sprintf("events[%d].%s: %s", e.Rule, e.Key, e.Problem)
}

// Map compiles a mapping and loads its specification. Mistakes in rules are of type *RuleError, all of them joined.
func Map(m *world.Mapping) (*Mapper, error) {
	left := m.LeftOut
	if left == 0 {
		left = 1e-12 // Options have a default for 0
	}
	spec, err := Load(m.Spec, m.Config, Options{Library: m.Library, MostLeftOut: left, View: m.View})
	var wrongView *viewError
	if errors.As(err, &wrongView) {
		return nil, &RuleError{-1, "view", plain(wrongView.err), "use an operator of the specification that takes no argument"}
	}
	if err != nil {
		return nil, err
	}
	c := &Mapper{model: spec}
	b := &ruleCompiler{spec: spec, rule: -1}
	c.lines = b.pattern("lines", m.Lines)
	for i := range m.Rules {
		b.rule = i
		c.rules = append(c.rules, b.compile(&m.Rules[i]))
	}
	if len(b.wrong) > 0 {
		return nil, errors.Join(b.wrong...)
	}
	return c, nil
}

// ruleCompiler compiles the rules of a mapping, and collects the mistakes in them.
type ruleCompiler struct {
	spec  *Model
	rule  int            // the one that is being compiled; -1: the mapping itself
	env   map[string]any // what its expressions see
	wrong []error
}

func (b *ruleCompiler) fail(key, remedy, format string, args ...any) {
	b.wrong = append(b.wrong, &RuleError{b.rule, key, fmt.Sprintf(format, args...), remedy})
}

func (b *ruleCompiler) pattern(key, text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		b.fail(key, "use Go's syntax: https://pkg.go.dev/regexp/syntax", "%v", err)
	}
	return re
}

func (b *ruleCompiler) expression(key, text string) *vm.Program {
	p, err := expr.Compile(text, expr.Env(b.env))
	var at *file.Error
	if errors.As(err, &at) {
		b.fail(key, "use "+strings.Join(slices.Sorted(maps.Keys(b.env)), ", "), "%s (column %d)", at.Message, at.Column+1)
	} else if err != nil {
		b.fail(key, "write an expression, such as node", "%v", err)
	}
	return p
}

// arguments compiles those of an operator with some parameters.
func (b *ruleCompiler) arguments(key, name string, params []string, args []string) (list []*vm.Program) {
	if len(params) != len(args) {
		b.fail(key, fmt.Sprintf("give %s(%s) its arguments", name, strings.Join(params, ", ")), "%s needs %s, and has %d", name,
			plural.Count(len(params), "argument"), len(args))
	}
	for k, text := range args {
		list = append(list, b.expression(fmt.Sprintf("args[%d]", k), text))
	}
	return list
}

func (b *ruleCompiler) compile(m *world.ModelRule) rule {
	r := rule{ModelRule: m}
	key := "log"
	switch {
	case r.SDK != "":
		key = "sdk"
	case r.Probe != "":
		key = "probe"
	}
	r.text, r.operation = b.pattern(key, r.Log+r.SDK+r.Probe), b.pattern("operation", r.Operation)
	if r.Node != "" {
		r.node = b.pattern("node", "^(?:"+r.Node+")$")
	}
	b.env = environment(&Event{Op: &history.Event{}})
	if r.text != nil {
		for _, g := range r.text.SubexpNames() {
			if _, taken := b.env[g]; taken {
				b.fail(key, "give the group another name", "the group %s has the name of a field of every event", g)
			} else if g != "" {
				b.env[g] = ""
			}
		}
	}
	if r.Action != "" {
		if op, err := eval.ActionOf(b.spec.spec, r.Action); err != nil {
			b.fail("action", "use an operator of the specification", "%s", plain(err))
		} else {
			r.args = b.arguments("args", r.Action, op.Params, r.Args)
		}
	}
	for k, s := range r.Shows {
		op, err := eval.ExpressionOf(b.spec.spec, s.Operator)
		if err != nil {
			b.fail(fmt.Sprintf("shows[%d].operator", k), "use an operator of the specification", "%s", plain(err))
			continue
		}
		r.shows = append(r.shows, shown{s.Operator, b.arguments(fmt.Sprintf("shows[%d].args", k), s.Operator, op.Params, s.Args),
			b.expression(fmt.Sprintf("shows[%d].is", k), s.Is)})
	}
	return r
}

// plain is an error of a specification without its place, where the place does not help.
func plain(err error) string {
	var at *syntax.Error
	if errors.As(err, &at) {
		return at.Message
	}
	return err.Error()
}

// environment returns the variables that expressions see for an event.
func environment(e *Event) map[string]any {
	env := map[string]any{"node": e.Node, "line": e.Line, "name": func(s string) value.Value { return value.ModelValue(s) },
		"client": "", "op": "", "key": "", "input": "", "output": "", "outcome": "", "found": false}
	if o := e.Op; o != nil {
		env["client"], env["op"], env["key"], env["input"], env["output"], env["outcome"], env["found"] = o.Client, o.Op, o.Key,
			o.Input, o.Output, string(o.Type), o.Found
		env["node"] = cmp.Or(e.Node, o.Node)
	}
	if e.Kind == ProbeEvent {
		env["outcome"] = e.outcome()
	}
	return env
}

// outcome returns the outcome of a probe.
func (e *Event) outcome() string {
	if e.Failed {
		return string(history.Fail)
	}
	return string(history.Ok)
}

// Wants reports whether a rule is about events of a kind.
func (c *Mapper) Wants(k EventKind) bool {
	return slices.ContainsFunc(c.rules, func(r rule) bool { return r.kind() == k })
}

// kind returns the kind of the events that a rule matches.
func (r *rule) kind() EventKind {
	switch {
	case r.Log != "":
		return LineEvent
	case r.SDK != "":
		return SDKEvent
	case r.Probe != "":
		return ProbeEvent
	case r.Crash:
		return CrashEvent
	case r.Restart:
		return RestartEvent
	}
	return OperationEvent
}

// matches gives what an expression sees of an event that a rule is about, or nil.
func (r *rule) matches(e *Event) map[string]any {
	if r.node != nil && !r.node.MatchString(e.Node) {
		return nil
	}
	if e.Kind != r.kind() {
		return nil
	}
	switch e.Kind {
	case LineEvent, SDKEvent, ProbeEvent:
		m := r.text.FindStringSubmatch(e.Line)
		if m == nil || e.Kind == ProbeEvent && r.Outcome != "" && r.Outcome != e.outcome() {
			return nil
		}
		env := environment(e)
		for i, g := range r.text.SubexpNames() {
			if g != "" {
				env[g] = m[i]
			}
		}
		return env
	case OperationEvent:
		if !r.operation.MatchString(e.Op.Op) || r.Outcome != "" && r.Outcome != string(e.Op.Type) {
			return nil
		}
	}
	return environment(e)
}

// Followed is the result of following the events of a run.
type Followed struct {
	// Err is the result of Follower.End. At is the event that it concerns, or nil if it concerns all of them. By is the
	// rule that mapped that event, or -1 if there is none.
	Err   error
	At    *Event
	By    int
	Tally coverage.Tally
	// Strange are a few events that no rule is about.
	Strange []string
	coverage.Behaviour
}

// mostStrange bounds Followed.Strange.
const mostStrange = 3

// Follow follows events in their order, and measures how close the run came to what the specification has if that is asked for.
func (c *Mapper) Follow(events []Event, measure bool) (*Followed, error) {
	f, err := c.model.Follow()
	if err != nil {
		return nil, err
	}
	defer f.Release()
	if measure {
		f.Measure()
	}
	done, others, lines := &Followed{By: -1}, 0, 0
	matched := make([]int, len(c.rules))
	for i := range events {
		e := &events[i]
		if e.Kind == LineEvent && c.lines != nil && !c.lines.MatchString(e.Line) {
			others++
			continue
		}
		if e.Kind == LineEvent {
			lines++
		}
		known := -1
		for k := range c.rules {
			r := &c.rules[k]
			env := r.matches(e)
			if env == nil {
				continue
			}
			known = k
			matched[k]++
			if err := r.step(f, env); err != nil {
				return nil, fmt.Errorf("events[%d], at %s: %w", k, e, err)
			}
			break
		}
		if known < 0 {
			f.Unmodelled(string(e.Kind) + " of " + cmp.Or(e.Node, "a client"))
			if len(done.Strange) < mostStrange {
				done.Strange = append(done.Strange, e.String())
			}
		}
		if f.Err() != nil {
			done.At, done.By = e, known
			break
		}
	}
	done.Err, done.Tally = f.End(), *f.Tally()
	done.Tally.Others, done.Tally.Rules = others, matched
	if done.Err == nil && lines == 0 && others > 0 && c.Wants(LineEvent) {
		done.Err = &Unknown{fmt.Sprintf("none of %s in the servers' logs is an event: `lines: '%s'` matches none", plural.Count(others, "line"), c.lines)}
	}
	done.Reached, done.Near = slices.Clone(f.Reached()), f.Near()
	return done, nil
}

func (r *rule) step(f *Follower, env map[string]any) error {
	if r.Action == "" {
		f.Ignore(r.Ignore)
		return nil
	}
	all := func(list []*vm.Program, key string) ([]any, error) {
		args := make([]any, len(list))
		for i, p := range list {
			v, err := evaluated(p, env)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", key, i, err)
			}
			args[i] = v
		}
		return args, nil
	}
	args, err := all(r.args, "args")
	if err != nil {
		return err
	}
	f.Step(r.Action, args...)
	for _, s := range r.shows {
		args, err := all(s.args, "shows.args")
		if err != nil {
			return err
		}
		is, err := evaluated(s.is, env)
		if err != nil {
			return fmt.Errorf("shows.is: %w", err)
		}
		f.Saw(is, s.operator, args...)
	}
	return nil
}

// evaluated is the value of the specification that an expression gives.
func evaluated(p *vm.Program, env map[string]any) (value.Value, error) {
	v, err := vm.Run(p, env)
	if err != nil {
		var at *file.Error
		if errors.As(err, &at) {
			return nil, errors.New(at.Message)
		}
		return nil, err
	}
	return asValue(v)
}

func asValue(v any) (value.Value, error) {
	switch v := v.(type) {
	case value.Value, bool, int, int64, uint64, string:
		return valueOf(v), nil
	case []any:
		items := make([]value.Value, len(v))
		for i := range v {
			item, err := asValue(v[i])
			if err != nil {
				return nil, err
			}
			items[i] = item
		}
		return value.NewTuple(items), nil
	case map[string]any:
		var names, values []value.Value
		for _, k := range slices.Sorted(maps.Keys(v)) {
			item, err := asValue(v[k])
			if err != nil {
				return nil, err
			}
			names, values = append(names, value.Text(k)), append(values, item)
		}
		return value.FunctionOf(names, values), nil
	}
	return nil, fmt.Errorf("%v cannot be a value of a specification; use true or false, whole numbers, texts, names, lists or mappings", v)
}
