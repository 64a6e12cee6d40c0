package fault

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// MaxInjections bounds the injections that a ledger lists one by one; Entries count all of them.
const MaxInjections = 10_000

// MaxHits bounds the kinds of moments that a ledger counts hits of.
const MaxHits = 512

// countHit counts a fault of a rule at a moment; none of a rule that injects at time steps.
func (l *Ledger) countHit(r *Rule, call, file string) {
	h := Hit{Kind: r.Kind, Call: call, Count: 1}
	if r.Moment.Alone() {
		h.Call = string(r.Moment)
	}
	if h.Call == "" {
		return
	}
	if file != "" {
		h.File = moments.Pattern(moments.Template(file))
	}
	l.addHit(h)
}

func (l *Ledger) addHit(h Hit) {
	i := slices.IndexFunc(l.Hits, func(o Hit) bool { return o.Kind == h.Kind && o.Call == h.Call && o.File == h.File })
	switch {
	case i >= 0:
		l.Hits[i].Count += h.Count
	case len(l.Hits) < MaxHits:
		l.Hits = append(l.Hits, h)
	}
}

func (l *Ledger) entry(k world.FaultKind) *Entry {
	for i := range l.Entries {
		if l.Entries[i].Kind == k {
			return &l.Entries[i]
		}
	}
	i := 0
	for i < len(l.Entries) && rank(l.Entries[i].Kind) <= rank(k) {
		i++
	}
	l.Entries = slices.Insert(l.Entries, i, Entry{Kind: k})
	return &l.Entries[i]
}

// each does something to the entry of a kind and to that of a rule for this kind, where there is one.
func (l *Ledger) each(k world.FaultKind, rule int, do func(*Entry)) {
	do(l.entry(k))
	if i := slices.IndexFunc(l.Rules, func(r RuleEntry) bool { return r.Rule == rule }); i >= 0 {
		do(&l.Rules[i].Entry)
	}
}

func (l *Ledger) plan(k world.FaultKind, rule int) { l.each(k, rule, func(e *Entry) { e.Planned++ }) }

// DeliveredPacket counts a fault per packet that a rule drew and that was done to it. Planned and delivered are one thing for
// these kinds.
func (l *Ledger) DeliveredPacket(k world.FaultKind, rule int) {
	l.each(k, rule, func(e *Entry) {
		e.Planned++
		e.Delivered++
	})
}

// Begun lists an action of the Plan that an engine performs at the given event, so that it can be observed from its first effect on.
// It counts as soon as it was Delivered.
func (l *Ledger) Begun(a *Action, event uint64) {
	if len(l.Injections) < MaxInjections {
		l.Injections = append(l.Injections, Injection{ID: a.ID, Kind: a.Kind, Rule: a.Rule, Target: a.Target, Event: event,
			StartNs: a.StartNs, EndNs: a.StartNs + a.DurationNs, Node: a.Node, Directions: a.Directions, Command: a.Command})
	}
}

// Restored notes when a rollback restored a disk. That delivers it.
func (l *Ledger) Restored(a *Action, nowNs int64) {
	if i := slices.IndexFunc(l.Injections, func(x Injection) bool { return x.ID == a.ID }); i >= 0 {
		l.Injections[i].RestoredNs = nowNs
	}
	l.Delivered(a)
}

// Delivered counts an action that has had its effect.
func (l *Ledger) Delivered(a *Action) { l.each(a.Kind, a.Rule, func(e *Entry) { e.Delivered++ }) }

// Observed records that the result of an event, given to a program under test, would have been another one without
// the injection. Each injection counts once.
func (l *Ledger) Observed(id int, event uint64) {
	for i := range l.Injections {
		s := &l.Injections[i]
		if s.ID != id {
			continue
		}
		if s.Observed == 0 {
			s.Observed = event
			l.observed(s.Kind, s.Rule, event, 0)
		}
		return
	}
}

// ObservedPacket is Observed for a fault per packet or call, which has no ID: each packet or call counts. A program that makes a
// call observes what it meets as it is delivered.
func (l *Ledger) ObservedPacket(k world.FaultKind, rule int, event uint64) {
	delivered := uint64(0)
	if Known(k) && RowOf(k).Place == OnCall {
		delivered = 1
	}
	l.observed(k, rule, event, delivered)
}

func (l *Ledger) observed(k world.FaultKind, rule int, event, delivered uint64) {
	l.each(k, rule, func(e *Entry) {
		e.Delivered += delivered
		e.Observed++
		if e.FirstObserved == 0 {
			e.FirstObserved = event
		}
	})
}

// Handled records a sign that a program dealt with a kind of fault. Before the first injection it means nothing.
func (l *Ledger) Handled(k world.FaultKind) {
	if e := l.entry(k); e.Delivered > 0 {
		e.Handled++
	}
}

func (l *Ledger) ended(id int, atNs int64) {
	for i := len(l.Injections) - 1; i >= 0; i-- {
		if l.Injections[i].ID == id {
			l.Injections[i].EndNs = atNs
			return
		}
	}
}

// Add adds the counts of another ledger to l's, as a campaign does over its runs; injections stay with their run.
func (l *Ledger) Add(other *Ledger) {
	for i := range other.Entries {
		l.entry(other.Entries[i].Kind).add(&other.Entries[i])
	}
	for i := range other.Rules {
		o := &other.Rules[i]
		k, ok := slices.BinarySearchFunc(l.Rules, o.Rule, func(r RuleEntry, rule int) int { return r.Rule - rule })
		if !ok {
			l.Rules = slices.Insert(l.Rules, k, RuleEntry{Rule: o.Rule, Text: o.Text, Derived: o.Derived, Entry: Entry{Kind: o.Kind}})
		}
		l.Rules[k].add(&o.Entry)
	}
	for _, h := range other.Hits {
		l.addHit(h)
	}
}

func (e *Entry) add(o *Entry) {
	e.Planned += o.Planned
	e.Delivered += o.Delivered
	e.Observed += o.Observed
	e.Handled += o.Handled
	e.Unreached += o.Unreached
}
