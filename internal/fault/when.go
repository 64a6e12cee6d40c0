package fault

import (
	"fmt"
	"maps"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// Bounds of a condition.
const (
	MaxConditionBytes = 4096
	maxConditionNodes = 1000
)

// Moment is the state of a world at an opportunity to inject, as far as conditions can ask about it.
type Moment struct {
	NowNs      int64
	Event      uint64              // number of the last event
	Operations uint64              // that clients have begun
	Logs       map[string]uint64   // lines that match each of the Spec's log patterns
	Roles      map[string][]string // node -> the roles that it has, in the order in which it took them on
	Mains      Mains               // nil if none runs
	// Conditions are those of the rules, compiled. One that is missing is compiled each time.
	Conditions Conditions
}

// Mains are the main programs of nodes.
type Mains interface {
	// StartedNs gives when that of a node has started, if it runs.
	StartedNs(node string) (ns int64, ok bool)
	// ReadyNs gives when a node was ready for the first time since then, if it has been.
	ReadyNs(node string) (ns int64, ok bool)
	// NeverReady reports whether a node is a server that has not been ready in this run, and may still become so.
	NeverReady(node string) bool
}

// Conditions are compiled, by their text.
type Conditions map[string]*vm.Program

// Conditions compiles those of the plan's rules, once for all runs.
func (p *Plan) Conditions() Conditions {
	var list Conditions
	for i := range p.Rules {
		if when := p.Rules[i].When; when != "" {
			if list == nil {
				list = Conditions{}
			}
			list[when] = mustCompile(when)
		}
	}
	return list
}

// mustCompile reads a condition that New has read.
func mustCompile(when string) *vm.Program {
	program, err := CompileCondition(when)
	if err != nil {
		panic("fault: " + err.Error())
	}
	return program
}

// question holds the variables of a condition: a Moment, and the rule and target that are judged.
type question struct {
	Event      int               `expr:"event"`
	TimeS      float64           `expr:"time_s"`  // since the chaos phase began
	UpS        float64           `expr:"up_s"`    // since the main program of node has started, 0 if it does not run
	ReadyS     float64           `expr:"ready_s"` // since node was ready for the first time after that start, 0 if it has not been
	Operations int               `expr:"operations"`
	Logs       map[string]int    `expr:"logs"`
	Roles      map[string]string `expr:"roles"` // the latest one by node; see severalRoles
	Target     string            `expr:"target"`
	Node       string            `expr:"node"` // the target, or the first end of a link
	Peer       string            `expr:"peer"` // the second end of a link
	Role       string            `expr:"role"` // of node, the latest one
	Call       string            `expr:"call"` // rules with at: the system call
	Path       string            `expr:"path"` // rules with at: the file that it is about
	Injected   int               `expr:"struck"`
	Active     int               `expr:"active"` // faults under way, of all kinds

	HasRole func(node, role string) bool      `expr:"has_role"`
	HasAny  func(node string, roles any) bool `expr:"has_any_role"`
	Held    []string                          `expr:"held_roles"` // by any node
}

// CompileCondition reads a condition (github.com/expr-lang/expr). Its errors name line and column.
func CompileCondition(text string) (*vm.Program, error) {
	if len(text) > MaxConditionBytes {
		return nil, fmt.Errorf("the condition has %d bytes; the limit is %d", len(text), MaxConditionBytes)
	}
	// The machine's clock must not reach a world.
	program, err := expr.Compile(text, expr.Env(question{}), expr.MaxNodes(maxConditionNodes), expr.DisableBuiltin("now"), expr.Patch(severalRoles{}))
	if err != nil {
		return nil, err
	}
	if t := program.Node().Type(); t == nil || t.Kind() != reflect.Bool {
		return nil, fmt.Errorf("the condition is of type %v; it must be true or false", t)
	}
	return program, nil
}

// holds reports whether a rule's condition is true at a moment. A condition that cannot be evaluated is false, and is noted
// in p.Broken.
func (p *Plan) holds(r *Rule, t *Target, m *Moment, call, file string) bool {
	if r.When == "" {
		return true
	}
	program := m.Conditions[r.When]
	if program == nil {
		program = mustCompile(r.When)
	}
	q := question{Event: clamp(m.Event), TimeS: float64(m.NowNs-p.BeganNs) / 1e9, Operations: clamp(m.Operations),
		Logs: map[string]int{}, Roles: map[string]string{},
		Target: t.Name, Node: t.A, Peer: t.B, Role: latest(m.Roles[t.A]), Call: call, Path: file, Injected: r.Injected, Active: len(p.Active),
		HasRole: m.hasRole, HasAny: m.hasAny}
	if m.Mains != nil {
		if ns, ok := m.Mains.StartedNs(t.A); ok {
			q.UpS = float64(m.NowNs-ns) / 1e9
		}
		if ns, ok := m.Mains.ReadyNs(t.A); ok && r.AsksReady {
			q.ReadyS = float64(m.NowNs-ns) / 1e9
		}
	}
	for _, node := range slices.Sorted(maps.Keys(m.Roles)) {
		if held := m.Roles[node]; len(held) > 0 {
			q.Roles[node] = latest(held)
			q.Held = append(q.Held, held...)
		}
	}
	for name, n := range m.Logs {
		q.Logs[name] = clamp(n)
	}
	result, err := expr.Run(program, q)
	if err != nil {
		if p.Broken == "" {
			p.Broken = fmt.Sprintf("fault %s: the condition %q cannot be evaluated: %v", r.Kind, r.When, err)
		}
		return false
	}
	return result.(bool)
}

// Unreached counts in the ledger the rules whose conditions wait for a time or an event beyond a moment, the end of the chaos phase.
func (p *Plan) Unreached(m *Moment) {
	for i := range p.Rules {
		r := &p.Rules[i]
		if r.When == "" || r.Masked {
			continue
		}
		program := m.Conditions[r.When]
		if program == nil {
			program = mustCompile(r.When)
		}
		if waits(program.Node(), float64(m.NowNs-p.BeganNs)/1e9, float64(m.Event)) {
			p.Ledger.each(r.Kind, r.Number, func(e *Entry) { e.Unreached++ })
		}
	}
}

// waits reports whether a condition demands a time or an event that has not come.
func waits(n ast.Node, timeS, event float64) bool {
	b, ok := n.(*ast.BinaryNode)
	if !ok {
		return false
	}
	name, _ := b.Left.(*ast.IdentifierNode)
	switch b.Operator {
	case "and", "&&":
		return waits(b.Left, timeS, event) || waits(b.Right, timeS, event)
	case ">=", ">":
		if name == nil {
			return false
		}
		var least float64
		switch v := b.Right.(type) {
		case *ast.IntegerNode:
			least = float64(v.Value)
		case *ast.FloatNode:
			least = v.Value
		default:
			return false
		}
		return name.Value == "time_s" && least > timeS || name.Value == "event" && least > event
	}
	return false
}

func clamp(n uint64) int { return int(min(n, math.MaxInt)) }

// meets reports whether a rule speaks of a call on files, and which of them conditions are asked about: the first that it
// speaks of.
func (r *Rule) meets(call string, files []string) (string, bool) {
	for _, f := range files {
		if r.about(call, f) {
			return f, true
		}
	}
	return "", len(files) == 0 && r.about(call, "")
}

// about reports whether a rule speaks of a call on a file.
func (r *Rule) about(call, file string) bool { return matches(r.At, r.Path, call, file) }

// matches reports whether a call is among some, if there are any, and its file fits a pattern, if there is one.
func matches(calls []string, pattern, call, file string) bool {
	if len(calls) > 0 && !slices.Contains(calls, call) {
		return false
	}
	if pattern == "" {
		return true
	}
	if !strings.Contains(pattern, "/") {
		file = path.Base(file)
	}
	ok, _ := path.Match(pattern, file) // New has looked at the pattern
	return ok
}
