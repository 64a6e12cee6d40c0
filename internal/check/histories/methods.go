// Package histories judges histories of operations: whether a store was linearizable, which isolation transactions had, whether values
// went back or were lost. It knows nothing of the run around a history.
package histories

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Add records a measure of how close a history came to a violation, from 0, no sign of one, to 1, a violation.
type Add func(measure string, sign float64, format string, args ...any)

// Method judges histories for one type of checks. It complements the row of the type in world.CheckKinds.
type Method struct {
	Of world.CheckType
	// Judge judges operations. cut says why there may have been more of the history to come, if there may.
	Judge func(p *world.Property, ops []history.Operation, cut string) verdict.Verdict
	// Validate returns why a property can never be judged; nil for checks that can always be.
	Validate func(*world.Property) error
	// Near measures how close a history came to a violation.
	Near func(p *world.Property, ops []history.Operation, add Add)
	// Acknowledged says that what was acknowledged must stay, so faults of the nodes that did so bring a run close to a violation.
	Acknowledged bool
	// Promise says what a property promises, in words; nil for checks whose type says it.
	Promise func(*world.Check) string
}

// Methods has a row for each type of checks ByOperations, in the order of world.CheckKinds.
var Methods = []Method{
	{Of: world.Linearizability, Judge: whole(linearizable), Validate: validLinearizability, Near: nearStale, Acknowledged: true,
		Promise: func(c *world.Check) string {
			return "the " + strings.TrimSpace("operations "+strings.Join(c.Operations, ", ")) +
				" behave as if each took effect at one moment between its call and its return"
		}},
	{Of: world.Isolation, Judge: whole(serializable), Validate: validIsolation, Near: nearAmbiguous, Acknowledged: true},
	{Of: world.Expression, Judge: expressed, Validate: validExpression, Near: nearExpression, Promise: condition},
	{Of: world.InvariantCheck, Judge: expressed, Validate: validExpression, Near: nearExpression, Promise: condition},
	{Of: world.Monotonic, Judge: whole(monotonic), Near: nearBackward},
	{Of: world.Durability, Judge: durableAtEnd, Validate: validDurability, Near: nearAmbiguous, Acknowledged: true},
	{Of: world.Delivery, Judge: delivered, Validate: validDelivery, Near: nearAmbiguous, Acknowledged: true,
		Promise: func(c *world.Check) string {
			return "acknowledged messages are delivered " + strings.ReplaceAll(cmp.Or(c.Level, AtLeastOnce), "-", " ")
		}},
	{Of: world.Watch, Judge: watched, Near: nearAmbiguous, Acknowledged: true,
		Promise: func(*world.Check) string { return "watches see each change once, in order" }},
	{Of: world.Exclusion, Judge: whole(exclusive), Near: nearAmbiguous,
		Promise: func(*world.Check) string { return "no two clients hold a lock at the same time" }},
	{Of: world.Unique, Judge: whole(uniqueIDs), Validate: validUnique, Near: nearAmbiguous,
		Promise: func(c *world.Check) string { return strings.Join(c.Operations, ", ") + " gives each id once" }},
	{Of: world.Prefix, Judge: whole(prefixes), Validate: validPrefix, Near: nearAmbiguous, Acknowledged: true,
		Promise: func(*world.Check) string { return "each restored copy has the values of a committed prefix" }},
	{Of: world.Listing, Judge: whole(namesListed), Near: nearAmbiguous, Acknowledged: true,
		Promise: func(*world.Check) string { return "lists have the names that are there, and no other" }},
}

// whole is a judgement that means the same of the beginning of a history.
func whole(judge func(*world.Property, []history.Operation) verdict.Verdict) func(*world.Property, []history.Operation, string) verdict.Verdict {
	return func(p *world.Property, ops []history.Operation, _ string) verdict.Verdict { return judge(p, ops) }
}

func durableAtEnd(p *world.Property, ops []history.Operation, cut string) verdict.Verdict {
	return verdict.AtEnd(p, durable(p, ops), cut)
}

func condition(c *world.Check) string { return c.Condition }

// MethodOf returns the row of a type, or an empty row for a type that Methods lacks.
func MethodOf(t world.CheckType) *Method {
	for i := range Methods {
		if Methods[i].Of == t {
			return &Methods[i]
		}
	}
	return &Method{}
}

// Operations judges a property by the operations of a history. Its check is ByOperations.
func Operations(p *world.Property, ops []history.Operation) verdict.Verdict {
	if m := MethodOf(p.Check.Type); m.Judge != nil {
		return m.Judge(p, ops, "")
	}
	panic(fmt.Sprintf("histories: operations for a check of type %q", p.Check.Type))
}

// Paired judges by the operations of events. If the events do not pair up, the verdict is unknown.
func Paired(p *world.Property, events []history.Event, judge func(*world.Property, []history.Operation) verdict.Verdict) verdict.Verdict {
	ops, err := Pair(events)
	if err != nil {
		return verdict.Undecided(p, "%v", err)
	}
	return judge(p, ops)
}

// Validate explains why a property can never be judged, such as a condition that does not compile or an operation outside its model.
func Validate(p *world.Property) error {
	if m := MethodOf(p.Check.Type); m.Validate != nil {
		return m.Validate(p)
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
		return fmt.Errorf("unknown level %q; use one of %s", level, joined(known))
	}
	return nil
}

func validDurability(p *world.Property) error {
	if !isRegister(p.Check.Model) && p.Check.Model != "set" && p.Check.Model != "append-list" {
		return fmt.Errorf("unknown model %q for durability; use register, key-value, set, append-list", p.Check.Model)
	}
	return nil
}

func validUnique(p *world.Property) error {
	if len(p.Check.Operations) == 0 {
		return errors.New("no operations; list those that give ids: `operations: [next]`")
	}
	return validOrder(p, NoOrder, IncreasingOrder)
}

func validPrefix(p *world.Property) error { return validOrder(p, NoOrder, TotalOrder) }

func validOrder(p *world.Property, orders ...string) error {
	if p.Check.Order != "" && !slices.Contains(orders, p.Check.Order) {
		return fmt.Errorf("no order %q for %s; there are %s", p.Check.Order, p.Check.Type, strings.Join(orders, ", "))
	}
	return nil
}

func serializable(p *world.Property, ops []history.Operation) verdict.Verdict {
	return isolated(p, cmp.Or(isolation.Level(p.Check.Level), isolation.Serializable), ops)
}
