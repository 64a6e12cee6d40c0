package records

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Counted counts the checks and faults of all runs that a worker has made so far of a test, on a code in an
// environment. So the latest Counted of a worker includes its earlier ones, and those of several workers add up.
type Counted struct {
	AtMs       int64           `json:"at_ms"`
	Runs       uint64          `json:"runs"`
	Faults     []FaultCount    `json:"faults,omitempty"`
	Properties []PropertyCount `json:"properties,omitempty"`
}

// FaultCount counts what became of one kind of fault, as a fault.Entry does.
type FaultCount struct {
	Kind      string `json:"kind"`
	Planned   uint64 `json:"planned"`
	Delivered uint64 `json:"delivered"`
	Observed  uint64 `json:"observed"`
}

// Add adds to the counts.
func (f *FaultCount) Add(planned, delivered, observed uint64) {
	f.Planned, f.Delivered, f.Observed = f.Planned+planned, f.Delivered+delivered, f.Observed+observed
}

// PropertyCount counts runs by their verdict on a property.
type PropertyCount struct {
	Name     string `json:"name"`
	Kind     string `json:"kind,omitempty"`
	Holds    uint64 `json:"holds"`
	Violated uint64 `json:"violated"`
	Unknown  uint64 `json:"unknown"`
	NotYet   uint64 `json:"not_yet"` // runs in which what must happen in some run did not happen
}

// Checked is how many runs the property was checked in.
func (p *PropertyCount) Checked() uint64 { return p.Holds + p.Violated + p.Unknown + p.NotYet }

// Fault is the count of a kind, which is added if it is missing.
func (c *Counted) Fault(kind string) *FaultCount {
	i, had := slices.BinarySearchFunc(c.Faults, kind, func(f FaultCount, kind string) int { return cmp.Compare(f.Kind, kind) })
	if !had {
		c.Faults = slices.Insert(c.Faults, i, FaultCount{Kind: kind})
	}
	return &c.Faults[i]
}

// Property is the count of a property, which is added if it is missing.
func (c *Counted) Property(name string) *PropertyCount {
	i, had := slices.BinarySearchFunc(c.Properties, name, func(p PropertyCount, name string) int { return cmp.Compare(p.Name, name) })
	if !had {
		c.Properties = slices.Insert(c.Properties, i, PropertyCount{Name: name})
	}
	return &c.Properties[i]
}

// add adds the counts of other runs.
func (c *Counted) add(o *Counted) {
	c.AtMs, c.Runs = max(c.AtMs, o.AtMs), c.Runs+o.Runs
	for _, x := range o.Faults {
		c.Fault(x.Kind).Add(x.Planned, x.Delivered, x.Observed)
	}
	for _, x := range o.Properties {
		p := c.Property(x.Name)
		p.Kind = max(p.Kind, x.Kind)
		p.Holds, p.Violated, p.Unknown, p.NotYet = p.Holds+x.Holds, p.Violated+x.Violated, p.Unknown+x.Unknown, p.NotYet+x.NotYet
	}
}

// Entry gives what a store takes.
func (c *Counted) Entry(test, code, env, worker ID) store.Entry {
	return entry(key(kindCounted, test, code, env, worker), c)
}

// Counts adds up what the runs of a code were checked for, and which faults they had, in all environments.
func (t *TestView) Counts(code ID) *Counted {
	sum := &Counted{}
	for p, e := range t.Efforts {
		if p.Code == code {
			for _, c := range e.Counted {
				sum.add(c)
			}
		}
	}
	return sum
}

// later gives the one of two counts of a worker that has more of its runs.
func later(a, b *Counted) *Counted {
	if a == nil || b != nil && cmp.Or(cmp.Compare(a.Runs, b.Runs), cmp.Compare(a.AtMs, b.AtMs), compareJSON(a, b)) < 0 {
		return b
	}
	return a
}

// Superseded reports which records of workers later ones stand for: counts, and what workers say of themselves. It takes in all entries first.
type Superseded struct {
	counts  map[string]*Counted
	workers map[string]*Worker
}

// SupersededPrefix matches the records that later ones may replace.
var SupersededPrefix = store.AnyOf(kindCounted+"/", kindWorker+"/")

// AddEntry adds an entry of the database.
func (s *Superseded) AddEntry(e store.Entry) {
	if s.counts == nil {
		s.counts, s.workers = map[string]*Counted{}, map[string]*Worker{}
	}
	if w := recordOf[Worker](e, kindWorker); w != nil {
		s.workers[e.Key] = laterWorker(s.workers[e.Key], w)
	}
	if c := recordOf[Counted](e, kindCounted); c != nil {
		s.counts[e.Key] = later(s.counts[e.Key], c)
	}
}

// Is reports whether a later record than that of an entry was taken in.
func (s *Superseded) Is(e store.Entry) bool {
	if w := recordOf[Worker](e, kindWorker); w != nil {
		last := s.workers[e.Key]
		return last != nil && laterWorker(last, w) == last && compareJSON(w, last) != 0
	}
	c, last := recordOf[Counted](e, kindCounted), s.counts[e.Key]
	return c != nil && last != nil && later(last, c) == last && compareJSON(c, last) != 0
}

// recordOf is the record of an entry; nil if it is of another kind, or cannot be read.
func recordOf[T any](e store.Entry, kind string) *T {
	var r T
	if !strings.HasPrefix(e.Key, kind+"/") || json.Unmarshal(e.Value, &r) != nil {
		return nil
	}
	return &r
}

// laterWorker gives the one of two records of a worker that says more of its life.
func laterWorker(a, b *Worker) *Worker {
	if a == nil || b != nil && cmp.Or(cmp.Compare(a.EndedMs, b.EndedMs), cmp.Compare(a.SeenMs, b.SeenMs), compareJSON(a, b)) < 0 {
		return b
	}
	return a
}
