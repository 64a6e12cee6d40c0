package check

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// method judges runs for one type of checks. It complements the row of the type in world.CheckKinds. Checks that judge nothing but the
// operations of a history are in histories.Methods.
type method struct {
	of world.CheckType
	// judge judges a run.
	judge func(*world.Spec, *world.Property, *record.Outcome) Verdict
	// history judges a history without a run around it; nil for checks that judge no history.
	history func(*world.Property, []history.Event) Verdict
	// near measures how close a run came to a violation; nil for checks without a measure.
	near func(*nearness, *world.Spec, *world.Property, *record.Outcome)
	// promise says what a property promises, in words; nil for checks whose type says it.
	promise func(*world.Check) string
}

// methods has a row for each other type of checks, in the order of world.CheckKinds.
var methods = []method{
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
		promise: func(*world.Check) string { return "no kind of operation, key or job is stuck" }},
	{of: world.RecoveryCheck, judge: recovered, near: nearRecovery,
		promise: func(*world.Check) string { return "everything that worked before works again" }},
	{of: world.AlertsCheck, judge: quietly, near: nearLiveness},
	{of: world.RunningCheck, judge: runningAtEnd},
}

// methodOf returns the row of a type, or an empty row for a type that methods lacks.
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
	if m := histories.MethodOf(c.Type); m.Promise != nil {
		return m.Promise(c)
	}
	if m := methodOf(c.Type); m.promise != nil {
		return m.promise(c)
	}
	return "the check " + string(c.Type) + " passes"
}

// What judges runs.

func progressed(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	return progressing(spec, p, out, abandoned(spec, out.Drivers))
}

func runningAtEnd(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	return verdict.AtEnd(p, running(p, out), cutOff(spec, out))
}

// agreed judges an agreement: while a driver is at work, nodes differ.
func agreed(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	return verdict.AtEnd(p, safe(p, out), atWork(spec, out.Drivers))
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
		return verdict.Undecided(p, "the history has no times, so hanging operations cannot be found")
	}
	if at := backwards(events); at != 0 && p.Check.HangNs > 0 {
		return verdict.Undecided(p, "the time goes backwards at event %d, or some events have no time, so hanging operations cannot be found", at)
	}
	return progressing(nil, p, &record.Outcome{History: events, VirtualNs: end}, 0)
}

// What measures how close runs came to a violation.

func nearProgress(n *nearness, spec *world.Spec, p *world.Property, out *record.Outcome) {
	n.progress(spec, p, out)
}

func nearRecovery(n *nearness, spec *world.Spec, p *world.Property, out *record.Outcome) {
	n.recovery(spec, p, out)
}

func nearLiveness(n *nearness, spec *world.Spec, p *world.Property, out *record.Outcome) {
	if p.Kind == world.Liveness {
		n.liveness(spec, p, out)
	}
}
