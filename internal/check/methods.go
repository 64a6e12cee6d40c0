package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// method has how a type of checks judges, beside its row in world.CheckKinds.
type method struct {
	of world.CheckType
	// judge judges a run; nil for checks that judge the history alone.
	judge func(*world.Spec, *world.Property, *record.Outcome) Verdict
	// operations judges the operations of a history. It is there for all types ByOperations.
	operations func(*world.Property, []history.Operation) Verdict
	// history judges a history without a run around it; nil for checks ByOperations, and for those that judge no history.
	history func(*world.Property, []history.Event) Verdict
	// validate returns why a property can never be judged; nil for checks that can always be.
	validate func(*world.Property) error
	// near measures how close a run came to a violation; nil for checks without a measure.
	near func(*nearness, *world.Spec, *world.Property, *record.Outcome, []history.Operation)
	// promise says what a property promises, in words; nil for checks whose type says it.
	promise func(*world.Check) string
}

// methods has a row for each type of checks, in the order of world.CheckKinds.
var methods = []method{
	{of: world.Linearizability, operations: linearizable, validate: validLinearizability, near: nearStale,
		promise: func(c *world.Check) string {
			return "the " + strings.TrimSpace("operations "+strings.Join(c.Operations, ", ")) +
				" behave as if each took effect at one moment between its call and its return"
		}},
	{of: world.Isolation, operations: serializable, validate: validIsolation, near: nearLost},
	{of: world.Expression, judge: expressedWhole, operations: expressedAlone, validate: validExpression, near: nearExpression, promise: conditionOf},
	{of: world.InvariantCheck, judge: expressedWhole, operations: expressedAlone, validate: validExpression, near: nearExpression, promise: conditionOf},
	{of: world.Monotonic, operations: monotonic, near: nearBackward},
	{of: world.Durability, judge: durableWhole, operations: durable, validate: validDurability, near: nearLost},
	{of: world.Conformance, judge: conforms},
	{of: world.HTTPCheck, judge: byProbes, near: nearLiveness,
		promise: func(c *world.Check) string {
			return fmt.Sprintf("%s answers with status %d", c.Endpoint, c.ExpectStatus)
		}},
	{of: world.RedisCheck, judge: byProbes, near: nearLiveness,
		promise: func(c *world.Check) string {
			return fmt.Sprintf("%s answers %s with %q", c.Endpoint, strings.Join(c.Command, " "), c.Expect)
		}},
	{of: world.SQLCheck, judge: byProbes, near: nearLiveness,
		promise: func(c *world.Check) string {
			if c.Expect != "" {
				return c.Query + " gives " + strconv.Quote(c.Expect)
			}
			return c.Query + " succeeds"
		}},
	{of: world.Custom, judge: byProbes, near: nearLiveness,
		promise: func(c *world.Check) string { return strings.Join(c.Script, " ") + " ends with exit code 0" }},
	{of: world.Agreement, judge: agreed, near: nearLiveness,
		promise: func(c *world.Check) string { return strings.Join(c.Nodes, ", ") + " give the same answer" }},
	{of: world.ProgressCheck, judge: progressed, history: progressOf, near: nearProgress,
		promise: func(*world.Check) string { return "nothing is stuck: no kind of operation, key or job" }},
	{of: world.RecoveryCheck, judge: recovered, near: nearRecovery,
		promise: func(*world.Check) string { return "what was done before works again" }},
	{of: world.AlertsCheck, judge: quietly, near: nearLiveness},
	{of: world.RunningCheck, judge: runningAtEnd},
}

// methodOf gives the row of a type; an empty one for a type that methods lacks.
func methodOf(t world.CheckType) *method {
	for i := range methods {
		if methods[i].of == t {
			return &methods[i]
		}
	}
	return &method{}
}

// Promise says in words what a check promises.
func Promise(c *world.Check) string {
	if m := methodOf(c.Type); m.promise != nil {
		return m.promise(c)
	}
	return "the check " + string(c.Type) + " passes"
}

func conditionOf(c *world.Check) string { return c.Condition }

// Validate returns why a property can never be judged: a condition that is no expression, an operation without a model.
func Validate(p *world.Property) error {
	if m := methodOf(p.Check.Type); m.validate != nil {
		return m.validate(p)
	}
	return nil
}

func validExpression(p *world.Property) error {
	_, err := compileExpression(p.Check.Condition)
	return err
}

func validLinearizability(p *world.Property) error {
	if ob := objects[p.Check.Model]; ob != nil {
		return ob.knows(p)
	}
	if !isRegister(p.Check.Model) {
		return noModel(p.Check.Model)
	}
	if _, reason := judged(p.Check.Operations); reason != "" {
		return errors.New(reason)
	}
	return nil
}

func validIsolation(p *world.Property) error {
	level := cmp.Or(isolation.Level(p.Check.Level), isolation.Serializable)
	known := isolation.Levels
	switch p.Check.Model {
	case "", ListAppend:
		known = slices.DeleteFunc(slices.Clone(known), isolation.OfRegisters)
	case RWRegister:
	default:
		return noTransactions(p.Check.Model)
	}
	if !slices.Contains(known, level) {
		return fmt.Errorf("no level %q; there are %s", level, joined(known))
	}
	return nil
}

func validDurability(p *world.Property) error {
	if !isRegister(p.Check.Model) && p.Check.Model != "set" && p.Check.Model != "append-list" {
		return fmt.Errorf("no model %q for durability; there are register, key-value, set, append-list", p.Check.Model)
	}
	return nil
}

// What judges the operations of a history.

func serializable(p *world.Property, ops []history.Operation) Verdict {
	return isolated(p, cmp.Or(isolation.Level(p.Check.Level), isolation.Serializable), ops)
}

func expressedAlone(p *world.Property, ops []history.Operation) Verdict { return expressed(p, ops, "") }

// What judges runs.

func expressedWhole(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	return Paired(p, out.History, func(p *world.Property, ops []history.Operation) Verdict {
		return expressed(p, ops, cutOff(spec, out))
	})
}

func durableWhole(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	return final(p, Paired(p, out.History, durable), cutOff(spec, out))
}

func progressed(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	return progressing(spec, p, out, abandoned(spec, out.Drivers))
}

func runningAtEnd(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	return final(p, running(p, out), cutOff(spec, out))
}

// agreed judges an agreement: while a driver is at work, nodes differ.
func agreed(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	return final(p, safe(p, out), atWork(spec, out.Drivers))
}

func byProbes(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	switch {
	case p.Kind == world.Liveness && p.Tolerant():
		return withstands(spec, p, out)
	case p.Kind == world.Liveness:
		return live(spec, p, out)
	}
	return safe(p, out)
}

// progressOf judges a history without a run around it.
func progressOf(p *world.Property, events []history.Event) Verdict {
	end := int64(0)
	for _, e := range events {
		end = max(end, e.TimeNs)
	}
	if end == 0 && p.Check.HangNs > 0 && len(events) > 0 {
		return unknown(p, "the history has no times, so hanging operations cannot be found")
	}
	if at := backwards(events); at != 0 && p.Check.HangNs > 0 {
		return unknown(p, "the time goes back at event %d, or some events have none, so hanging operations cannot be found", at)
	}
	return progressing(nil, p, &record.Outcome{History: events, VirtualNs: end}, 0)
}

// What measures how close runs came to a violation.

func nearStale(n *nearness, spec *world.Spec, p *world.Property, out *record.Outcome, ops []history.Operation) {
	n.reads(p, ops)
	nearLost(n, spec, p, out, ops)
}

func nearLost(n *nearness, spec *world.Spec, p *world.Property, out *record.Outcome, ops []history.Operation) {
	n.ambiguous(p, ops)
	n.harmed(spec, p, ops, &out.Ledger)
}

func nearBackward(n *nearness, _ *world.Spec, p *world.Property, _ *record.Outcome, ops []history.Operation) {
	n.backward(p, ops)
}

func nearExpression(n *nearness, _ *world.Spec, p *world.Property, _ *record.Outcome, ops []history.Operation) {
	n.expression(p, ops)
}

func nearProgress(n *nearness, spec *world.Spec, p *world.Property, out *record.Outcome, _ []history.Operation) {
	n.progress(spec, p, out)
}

func nearRecovery(n *nearness, spec *world.Spec, p *world.Property, out *record.Outcome, _ []history.Operation) {
	n.recovery(spec, p, out)
}

func nearLiveness(n *nearness, spec *world.Spec, p *world.Property, out *record.Outcome, _ []history.Operation) {
	if p.Kind == world.Liveness {
		n.liveness(spec, p, out)
	}
}
