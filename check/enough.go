package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/world"
)

// Shares of the operations that must have succeeded, in percent: below the first a campaign is unknown, below the second it warns.
const (
	leastSuccess  = 1
	littleSuccess = 10
)

// Evidence is what stands behind a "holds" of properties that are judged by operations: sums over runs.
type Evidence struct {
	// Strikes counts the faults that struck in runs with operations, and DuringWork those of them that were in force between
	// the first operation and the last return of their run.
	Strikes    uint64 `json:"strikes,omitempty"`
	DuringWork uint64 `json:"during_work,omitempty"`
	// Rates counts the faults that are no strikes: those of single packets and calls.
	Rates uint64 `json:"rates,omitempty"`
	// Concurrent counts the operations that began while another one was under way.
	Concurrent uint64           `json:"concurrent,omitempty"`
	Kinds      map[string]Tried `json:"kinds,omitempty"` // by the operation's name, in lower case
}

// Tried counts the operations of a kind.
type Tried struct {
	Invoked uint64 `json:"invoked"`
	Ok      uint64 `json:"ok"`
}

// maxKinds bounds the kinds of operations that Evidence counts.
const maxKinds = 200

// EvidenceOf is the evidence of one run. The drivers that try everything again after the last heal do not count.
func EvidenceOf(out *engine.Outcome) Evidence {
	e := Evidence{Kinds: map[string]Tried{}}
	first, last, open := int64(-1), int64(0), map[string]string{}
	for i := range out.History {
		h := &out.History[i]
		if isRecovery(h.Client) {
			continue
		}
		if first < 0 {
			first = h.TimeNs
		}
		last = max(last, h.TimeNs)
		if h.Type == history.Invoke {
			if len(open) > 0 {
				e.Concurrent++
			}
			open[h.Client] = strings.ToLower(h.Op)
			e.try(open[h.Client], Tried{Invoked: 1})
			continue
		}
		if h.Type == history.Ok {
			if op, ok := open[h.Client]; ok {
				e.try(op, Tried{Ok: 1})
			}
		}
		delete(open, h.Client)
	}
	if first < 0 {
		return e
	}
	struck := map[string]bool{}
	for i := range out.Ledger.Strikes {
		s := &out.Ledger.Strikes[i]
		struck[string(s.Kind)] = true
		e.Strikes++
		if s.StartNs <= last && (s.EndNs == 0 || max(s.EndNs, s.StartNs) >= first) {
			e.DuringWork++
		}
	}
	for i := range out.Ledger.Entries {
		if x := &out.Ledger.Entries[i]; !struck[string(x.Kind)] {
			e.Rates += uint64(x.Delivered)
		}
	}
	return e
}

func (e *Evidence) try(kind string, n Tried) {
	t, known := e.Kinds[kind]
	if !known && len(e.Kinds) >= maxKinds {
		return
	}
	e.Kinds[kind] = Tried{t.Invoked + n.Invoked, t.Ok + n.Ok}
}

// Add takes in the evidence of another run.
func (e *Evidence) Add(o *Evidence) {
	e.Strikes += o.Strikes
	e.DuringWork += o.DuringWork
	e.Rates += o.Rates
	e.Concurrent += o.Concurrent
	if e.Kinds == nil {
		e.Kinds = map[string]Tried{}
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Kinds)) {
		e.try(kind, o.Kinds[kind])
	}
}

// Enough tells why evidence is too little for properties that hold to be called so, and what warrants a warning. It is the
// one rule of docs/checks.md, "Too little evidence", for runs and for campaigns.
func Enough(spec *world.Spec, e *Evidence) (unknown, warnings []string) {
	var all Tried
	for _, kind := range slices.Sorted(maps.Keys(e.Kinds)) {
		t := e.Kinds[kind]
		all.Invoked += t.Invoked
		all.Ok += t.Ok
		if t.Ok > 0 {
			continue
		}
		reason := fmt.Sprintf("none of %d operations %q succeeded", t.Invoked, kind)
		if kindOf(kind) == read {
			unknown = append(unknown, reason+": nothing is known of what was stored; look at the reasons of the failed operations")
		} else {
			warnings = append(warnings, reason+", so what it does was not tested")
		}
	}
	if all.Invoked == 0 {
		return nil, nil
	}
	judges := func(types ...world.CheckType) bool {
		return slices.ContainsFunc(spec.Properties, func(p world.Property) bool { return slices.Contains(types, p.Check.Type) })
	}
	few := fmt.Sprintf("only %d of %d operations succeeded", all.Ok, all.Invoked)
	switch remedy := "look at the reasons of the failed operations, or let faults be rarer"; {
	case all.Ok == 0: // each kind is named
	case all.Ok*100 < all.Invoked*leastSuccess:
		unknown = append(unknown, few+"; "+remedy)
	case all.Ok*100 < all.Invoked*littleSuccess:
		warnings = append(warnings, few+"; "+remedy)
	}
	if e.Strikes > 0 && e.DuringWork == 0 && e.Rates == 0 {
		reason := fmt.Sprintf("all %d faults struck before the first operation or after the last, so no operation met a fault; "+
			"lengthen the workload, or move faults.start and faults.stop", e.Strikes)
		if judges(world.Linearizability, world.Isolation, world.Monotonic, world.Durability, world.Expression, world.InvariantCheck) {
			unknown = append(unknown, reason)
		} else {
			warnings = append(warnings, reason)
		}
	}
	if e.Concurrent == 0 && judges(world.Linearizability, world.Isolation) {
		warnings = append(warnings, "no two operations were under way at once, so their order was never in question; give the workload more clients")
	}
	return unknown, warnings
}
