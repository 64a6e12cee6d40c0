package world

import "slices"

// CheckType is the way a property is judged.
type CheckType string

const (
	// Over the history of operations.
	Linearizability CheckType = "linearizability"
	Isolation       CheckType = "isolation"
	Expression      CheckType = "expression"
	InvariantCheck  CheckType = "invariant" // an expression that is true at every event
	Monotonic       CheckType = "monotonic"
	Durability      CheckType = "durability"
	Delivery        CheckType = "delivery"  // of messages, by queues, logs and publish/subscribe
	Watch           CheckType = "watch"     // of changes of keys
	Exclusion       CheckType = "exclusion" // by locks and leases
	Unique          CheckType = "unique"    // ids
	Prefix          CheckType = "prefix"    // restored copies are prefixes of what was committed
	Listing         CheckType = "listing"   // lists of names agree with writes
	// Over the history, the faults and the jobs of a run.
	ProgressCheck CheckType = "progress"
	RecoveryCheck CheckType = "recovery"
	// RunningCheck is of sweeps: every server runs in the end, and its healthcheck has succeeded.
	RunningCheck CheckType = "running"
	// Over the logs, the faults and the history of a run.
	Conformance CheckType = "model" // it is a run of a TLA+ specification
	// By probes.
	HTTPCheck  CheckType = "http"
	RedisCheck CheckType = "redis"
	SQLCheck   CheckType = "sql"
	Custom     CheckType = "custom"
	Agreement  CheckType = "agreement" // all nodes give the same answer in the final phase
	// AlertsCheck scrapes metrics, on which rules of Prometheus are evaluated.
	AlertsCheck CheckType = "alerts"
)

// Basis names the part of a run that a check judges.
type Basis uint8

const (
	ByOperations Basis = iota + 1 // the operations of a history, and nothing else of a run
	ByRun                         // the history, the faults and the jobs of a run
	ByModel                       // the steps of a TLA+ specification that a run takes
	ByProbes                      // programs that it executes inside the world
)

// CheckKind describes a type of checks. All that packages know about types of checks without judging is in CheckKinds. How they judge is
// in histories.Methods, for those ByOperations, and in check.methods, for the others.
type CheckKind struct {
	Type  CheckType
	Basis Basis
	// Keys lists the keys of `check` that a configuration may give this type. A type without keys is not for configurations.
	Keys []string
	// Models are those that a configuration may name; the first is the default.
	Models []string
	// Property is the kind of property that has no other check; empty for a check of several kinds.
	Property PropertyKind
	// Waits says that the check promises that something works again or goes on, which a node that is down may keep from coming true.
	Waits bool
	// AnyLength says that a verdict means the same in a run that is cut short. What a shorter run could violate or fulfil only because it is
	// shorter must be judged in runs of full length alone: amounts, shares, progress, jobs, alerts, models, and expressions, which may count.
	AnyLength bool
	// Reported says that the check promises something of the operations that were reported, whatever else there was: that they have an
	// order, or that what they wrote is there.
	Reported bool
	// Overlapping says that the check finds bugs of ordering, which show only where operations overlap.
	Overlapping bool

	// IntervalNs is the default of how often a check ByProbes runs; 0 for one that runs at the end alone.
	IntervalNs int64
	// Even says that its probes keep to their interval, whatever happens in the world.
	Even bool
	// AsksNodes says that a probe asks the nodes of the check one after the other.
	AsksNodes bool
	// Words says that its probes print Bloodhound's own words, and not the output of a user's program.
	Words bool

	// WatchedNs is how long after the last heal a check of the type watches the run; nil if it does not. Lasting says that the run goes on
	// that long for it.
	WatchedNs func(*Property) int64
	Lasting   bool
}

// CheckKinds has all types of checks, in the order in which users see them.
var CheckKinds = []CheckKind{
	{Type: Linearizability, Basis: ByOperations, Keys: []string{"operations", "model", "keys"}, AnyLength: true, Reported: true, Overlapping: true,
		Models: []string{"kv", "register", "cas-register", "key-value", "set", "queue", "lock", "counter", "append-list"}},
	{Type: Isolation, Basis: ByOperations, Keys: []string{"model", "level"}, AnyLength: true, Reported: true, Overlapping: true,
		Models: []string{"list-append", "rw-register"}},
	{Type: Expression, Basis: ByOperations, Keys: []string{"condition"}},
	{Type: InvariantCheck, Basis: ByOperations, Keys: []string{"condition"}, Property: Invariant},
	{Type: Monotonic, Basis: ByOperations, Keys: []string{"operations", "keys"}, AnyLength: true, Reported: true},
	{Type: Durability, Basis: ByOperations, Keys: []string{"model", "keys"}, AnyLength: true, Reported: true,
		Models: []string{"kv", "register", "key-value", "set", "append-list"}},
	{Type: Delivery, Basis: ByOperations, Keys: []string{"level", "order", "keys"}, AnyLength: true, Reported: true},
	{Type: Watch, Basis: ByOperations, Keys: []string{"keys"}, AnyLength: true, Reported: true},
	{Type: Exclusion, Basis: ByOperations, Keys: []string{"keys"}, AnyLength: true, Reported: true},
	{Type: Unique, Basis: ByOperations, Keys: []string{"operations", "order", "keys"}, AnyLength: true, Reported: true},
	{Type: Prefix, Basis: ByOperations, Keys: []string{"order", "keys"}, AnyLength: true, Reported: true},
	{Type: Listing, Basis: ByOperations, Keys: []string{"keys"}, AnyLength: true, Reported: true},
	{Type: Conformance, Basis: ByModel, Keys: []string{"spec", "config", "library", "view", "lines", "left_out", "events"}},
	{Type: HTTPCheck, Basis: ByProbes, IntervalNs: 1e9, Words: true, WatchedNs: whileLive,
		Keys: []string{"endpoint", "body", "expect", "interval", "nodes", "while", "despite"}},
	{Type: RedisCheck, Basis: ByProbes, IntervalNs: 1e9, Words: true, WatchedNs: whileLive,
		Keys: []string{"endpoint", "command", "expect", "interval", "nodes", "while", "despite"}},
	{Type: SQLCheck, Basis: ByProbes, IntervalNs: 1e9, Words: true, WatchedNs: whileLive,
		Keys: []string{"endpoint", "query", "expect", "interval", "nodes", "while", "despite"}},
	{Type: Custom, Basis: ByProbes, IntervalNs: 1e9, WatchedNs: whileLive, Keys: []string{"script", "interval", "nodes", "while", "despite"}},
	{Type: Agreement, Basis: ByProbes, AnyLength: true, AsksNodes: true, Words: true, WatchedNs: whileLive,
		Keys: []string{"endpoint", "command", "query", "body", "expect", "script", "nodes", "pattern", "unanswered"}},
	{Type: ProgressCheck, Basis: ByRun, Property: Progress, Waits: true,
		Keys: []string{"operations", "failures", "hang", "grace", "during_faults", "jobs", "nodes", "while", "despite"},
		WatchedNs: func(p *Property) int64 {
			return p.Check.GraceNs + p.Check.HangNs + min(p.Check.HangNs, beginNs)
		}},
	{Type: RecoveryCheck, Basis: ByRun, Property: Recovery, Waits: true, WatchedNs: (*Property).Timeout,
		Keys: []string{"operations", "keys", "jobs", "nodes", "while", "despite"}},
	{Type: AlertsCheck, Basis: ByProbes, IntervalNs: 15e9, Even: true, Lasting: true,
		Keys:      []string{"grace", "during_faults", "despite", "interval", "rules", "scrape", "alerts", "ignore", "labels"},
		WatchedNs: func(p *Property) int64 { return p.Check.GraceNs + p.Check.Alerts.WatchNs }},
	{Type: RunningCheck, Basis: ByRun, WatchedNs: (*Property).Timeout},
}

// beginNs is how long after a heal things may begin, and still have their whole time to show that they hang.
const beginNs = 2e9

// whileLive is the time in which a property of liveness must come true.
func whileLive(p *Property) int64 {
	if p.Kind == Liveness {
		return p.Timeout()
	}
	return 0
}

// Kind returns the row of a type in CheckKinds, or an empty row for a type that it lacks.
func (t CheckType) Kind() *CheckKind {
	for i := range CheckKinds {
		if CheckKinds[i].Type == t {
			return &CheckKinds[i]
		}
	}
	return &CheckKind{}
}

// Probes reports whether a check executes programs inside the world.
func (t CheckType) Probes() bool { return t.Kind().Basis == ByProbes }

// Uses reports whether a key of `check` in a configuration belongs to the type.
func (k *CheckKind) Uses(key string) bool { return slices.Contains(k.Keys, key) }

// Often reports whether a check probes while faults are injected, and not at the end alone.
func (k *CheckKind) Often() bool { return k.Basis == ByProbes && k.IntervalNs > 0 }

// CheckTypes lists the types that configurations can name and that fit, in the order of CheckKinds.
func CheckTypes(fit func(*CheckKind) bool) (names []string) {
	for i := range CheckKinds {
		if k := &CheckKinds[i]; len(k.Keys) > 0 && fit(k) {
			names = append(names, string(k.Type))
		}
	}
	return names
}

// Waits reports whether a property promises that something works again or goes on.
func (p *Property) Waits() bool { return p.Kind == Liveness || p.Check.Type.Kind().Waits }

// WatchedNs is how long after the last heal a property watches the run; 0 if it does not.
func (p *Property) WatchedNs() int64 {
	if k := p.Check.Type.Kind(); k.WatchedNs != nil {
		return k.WatchedNs(p)
	}
	return 0
}

// AnyLength reports whether a verdict on a property means the same in a run that is cut short.
func (p *Property) AnyLength() bool {
	return (p.Kind == Safety || p.Kind == Invariant) && p.Check.Type.Kind().AnyLength
}

// defaultTimeoutNs is the time that a property of liveness or recovery without a timeout has after each heal.
const defaultTimeoutNs = 30_000_000_000

// Timeout is the time within which a property of liveness or recovery must hold after the start and after each heal.
func (p *Property) Timeout() int64 {
	if p.TimeoutNs > 0 {
		return p.TimeoutNs
	}
	return defaultTimeoutNs
}
