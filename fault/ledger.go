package fault

import "slices"

// MaxStrikes bounds the strikes that a ledger lists one by one; Entries count all of them.
const MaxStrikes = 10_000

func (l *Ledger) entry(k Kind) *Entry {
	i := 0
	for ; i < len(l.Entries); i++ {
		if l.Entries[i].Kind == k {
			return &l.Entries[i]
		}
		if rank(l.Entries[i].Kind) > rank(k) {
			break
		}
	}
	l.Entries = slices.Insert(l.Entries, i, Entry{Kind: k})
	return &l.Entries[i]
}

func (l *Ledger) plan(k Kind) { l.entry(k).Planned++ }

// DeliveredPacket counts a fault per packet or call that was drawn and done to it. Planned and delivered are one
// thing for these kinds.
func (l *Ledger) DeliveredPacket(k Kind) {
	e := l.entry(k)
	e.Planned++
	e.Delivered++
}

// Delivered records that an action of the Plan was performed at the given event.
func (l *Ledger) Delivered(a Action, event uint64) {
	l.entry(a.Kind).Delivered++
	if len(l.Strikes) < MaxStrikes {
		l.Strikes = append(l.Strikes, Strike{ID: a.ID, Kind: a.Kind, Target: a.Target, Event: event,
			StartNs: a.StartNs, EndNs: a.EndNs()})
	}
}

// Observed records that the result of an event, given to a program under test, would have been another one without
// the strike. Each strike counts once.
func (l *Ledger) Observed(id int, event uint64) {
	for i := range l.Strikes {
		s := &l.Strikes[i]
		if s.ID != id {
			continue
		}
		if s.Observed == 0 {
			s.Observed = event
			l.observe(s.Kind, event)
		}
		return
	}
}

// ObservedPacket is Observed for a fault per packet or call, which has no ID: each packet or call counts.
func (l *Ledger) ObservedPacket(k Kind, event uint64) { l.observe(k, event) }

func (l *Ledger) observe(k Kind, event uint64) {
	e := l.entry(k)
	e.Observed++
	if e.FirstObserved == 0 {
		e.FirstObserved = event
	}
}

// Handled records a sign that a program dealt with a kind of fault. Before the first strike it means nothing.
func (l *Ledger) Handled(k Kind) {
	if e := l.entry(k); e.Delivered > 0 {
		e.Handled++
	}
}

func (l *Ledger) ended(id int, atNs int64) {
	for i := len(l.Strikes) - 1; i >= 0; i-- {
		if l.Strikes[i].ID == id {
			l.Strikes[i].EndNs = atNs
			return
		}
	}
}

// Add adds the counts of another ledger to l's, as a campaign does over its runs; strikes stay with their run.
func (l *Ledger) Add(other *Ledger) {
	for _, o := range other.Entries {
		e := l.entry(o.Kind)
		e.Planned += o.Planned
		e.Delivered += o.Delivered
		e.Observed += o.Observed
		e.Handled += o.Handled
	}
}
