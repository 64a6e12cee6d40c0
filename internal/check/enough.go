package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Shares of what was tried that must have succeeded, in percent: below the first the judgement is unknown, below the second it has a
// warning.
const (
	leastSuccess  = 1
	littleSuccess = 10
)

// Evidence is what stands behind a "holds": sums over runs.
type Evidence struct {
	// Struck counts the strikes in runs with operations, by the kind of fault.
	Struck map[string]Struck `json:"struck,omitempty"`
	// Rates counts the faults that are no strikes: those of single packets and calls.
	Rates uint64 `json:"rates,omitempty"`
	// Concurrent counts the operations that began while another one was under way.
	Concurrent uint64           `json:"concurrent,omitempty"`
	Kinds      map[string]Tried `json:"kinds,omitempty"` // by the operation's name, in lower case
	// Probes are those of properties before the final phase, by the property's name.
	Probes map[string]Probed `json:"probes,omitempty"`
	// Untimed tells that it is not known what was under way at once, as in a history of sessions without times.
	Untimed bool `json:"-"`
}

// Tried counts the operations of a kind.
type Tried struct {
	Invoked uint64 `json:"invoked"`
	Ok      uint64 `json:"ok"`
}

// Struck counts the strikes of a kind of fault. DuringWork are those that were in force between the first operation and the last
// return of their run.
type Struck struct {
	Strikes    uint64 `json:"strikes"`
	DuringWork uint64 `json:"during_work"`
}

// Probed counts the probes of a property, and those of them that got an answer.
type Probed struct {
	Probes   uint64 `json:"probes"`
	Answered uint64 `json:"answered"`
}

// maxKinds bounds the kinds of operations that Evidence counts.
const maxKinds = 200

// EvidenceOf is the evidence of one run. The drivers that try everything again after the last heal do not count.
func EvidenceOf(out *engine.Outcome) Evidence {
	e := Evidence{Kinds: map[string]Tried{}, Struck: map[string]Struck{}, Probes: map[string]Probed{}}
	for i := range out.Probes {
		if q := &out.Probes[i]; q.Phase != finalPhase {
			n := e.Probes[q.Property]
			n.Probes++
			if q.ExitCode == world.ProbeHolds || q.ExitCode == world.ProbeViolated {
				n.Answered++
			}
			e.Probes[q.Property] = n
		}
	}
	w := Weighing{evidence: e}
	for i := range out.History {
		w.Add(&out.History[i])
	}
	if e = w.evidence; w.count == 0 {
		return e
	}
	for i := range out.Ledger.Strikes {
		s := &out.Ledger.Strikes[i]
		n := e.Struck[string(s.Kind)]
		n.Strikes++
		if s.StartNs <= w.last && (s.EndNs == 0 || max(s.EndNs, s.StartNs) >= w.first) {
			n.DuringWork++
		}
		e.Struck[string(s.Kind)] = n
	}
	for i := range out.Ledger.Entries {
		x := &out.Ledger.Entries[i]
		if _, strikes := e.Struck[string(x.Kind)]; !strikes {
			e.Rates += uint64(x.Delivered)
		}
	}
	return e
}

// Weighing counts what the events of a history are evidence of, one after the other.
type Weighing struct {
	evidence    Evidence
	count       uint64            // of events
	first, last int64             // virtual times of the first event and of the latest
	open        map[string]string // operations under way, by client
}

// Evidence is that of all events so far.
func (w *Weighing) Evidence() Evidence { return w.evidence }

// Add takes in one event.
func (w *Weighing) Add(h *history.Event) {
	if isRecovery(h.Client) {
		return
	}
	if w.count == 0 {
		w.first, w.open = h.TimeNs, map[string]string{}
	}
	w.count++
	w.last = max(w.last, h.TimeNs)
	if h.Type == history.Invoke {
		if len(w.open) > 0 {
			w.evidence.Concurrent++
		}
		op := strings.ToLower(h.Op)
		w.open[h.Client] = op
		w.evidence.try(op, Tried{Invoked: 1})
		return
	}
	if h.Type == history.Ok {
		if op, ok := w.open[h.Client]; ok {
			w.evidence.try(op, Tried{Ok: 1})
		}
	}
	delete(w.open, h.Client)
}

func (e *Evidence) try(kind string, n Tried) {
	if e.Kinds == nil {
		e.Kinds = map[string]Tried{}
	}
	t, known := e.Kinds[kind]
	if !known && len(e.Kinds) >= maxKinds {
		return
	}
	e.Kinds[kind] = Tried{t.Invoked + n.Invoked, t.Ok + n.Ok}
}

// Add takes in the evidence of another run.
func (e *Evidence) Add(o *Evidence) {
	e.Rates += o.Rates
	e.Concurrent += o.Concurrent
	if e.Kinds == nil {
		e.Kinds, e.Struck, e.Probes = map[string]Tried{}, map[string]Struck{}, map[string]Probed{}
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Kinds)) {
		e.try(kind, o.Kinds[kind])
	}
	for kind, n := range o.Struck {
		was := e.Struck[kind]
		e.Struck[kind] = Struck{was.Strikes + n.Strikes, was.DuringWork + n.DuringWork}
	}
	for property, n := range o.Probes {
		was := e.Probes[property]
		e.Probes[property] = Probed{was.Probes + n.Probes, was.Answered + n.Answered}
	}
}

// Enough tells why evidence is too little for properties that hold to be called so, and what warrants a warning. It is the
// one rule of docs/reference/checks.md, "Too little evidence", for runs, campaigns and histories.
func Enough(spec *world.Spec, e *Evidence) (unknown, warnings []string) {
	weigh := func(w weight, reason string) {
		switch w {
		case tooLittle:
			unknown = append(unknown, reason)
		case little:
			warnings = append(warnings, reason)
		}
	}
	e.operations(weigh)
	if silent := silence(spec, nil, nil); silent != "" && len(e.Kinds) == 0 {
		weigh(little, silent+": what it did is not known, and nothing was judged by operations; report them as docs/reference/workloads.md shows")
	}
	e.faults(spec, weigh)
	e.probes(spec, weigh)
	return unknown, warnings
}

// Missed lists the kinds of faults all of whose strikes were before the first operation or after the last, where a check judges operations.
func Missed(spec *world.Spec, e *Evidence) (kinds []string) {
	for _, kind := range slices.Sorted(maps.Keys(e.Struck)) {
		if e.Struck[kind].DuringWork == 0 && JudgesOperations(spec) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// JudgesOperations reports whether a property's check judges what the operations of the workload returned.
func JudgesOperations(spec *world.Spec) bool {
	return judges(spec, world.Linearizability, world.Isolation, world.Monotonic, world.Durability, world.Expression, world.InvariantCheck)
}

func judges(spec *world.Spec, types ...world.CheckType) bool {
	return slices.ContainsFunc(spec.Properties, func(p world.Property) bool { return slices.Contains(types, p.Check.Type) })
}

// weight is what a reason makes of a judgement.
type weight uint8

const (
	sufficient weight = iota
	little
	tooLittle
)

// share weighs that so many of all succeeded.
func share(ok, all uint64) weight {
	switch {
	case ok*100 < all*leastSuccess:
		return tooLittle
	case ok*100 < all*littleSuccess:
		return little
	}
	return sufficient
}

// reads tells whether operations of a name say what is stored. What fails of them tells nothing.
func reads(name string) bool {
	if kindOf(name) == read || name == "txn" || objects["queue"].verbs[name] == take {
		return true
	}
	for _, ob := range objects {
		if v := ob.verbs[name]; v == look || v == has {
			return true
		}
	}
	return false
}

func (e *Evidence) operations(weigh func(weight, string)) {
	var all Tried
	worst := sufficient
	for _, kind := range slices.Sorted(maps.Keys(e.Kinds)) {
		t := e.Kinds[kind]
		all.Invoked += t.Invoked
		all.Ok += t.Ok
		w := share(t.Ok, t.Invoked)
		few := fmt.Sprintf("only %d of %d operations %q succeeded", t.Ok, t.Invoked, kind)
		if t.Ok == 0 {
			few = fmt.Sprintf("none of %d operations %q succeeded", t.Invoked, kind)
		}
		switch {
		case w == sufficient:
			continue
		case reads(kind):
			few += ": little is known of what was stored"
		default:
			w = little
			few += ": what it does was hardly tested"
		}
		worst = max(worst, w)
		weigh(w, few+"; "+rarer)
	}
	if w := share(all.Ok, all.Invoked); w == tooLittle && worst < w {
		weigh(w, fmt.Sprintf("only %d of %d operations succeeded; %s", all.Ok, all.Invoked, rarer))
	}
}

const rarer = "look at the reasons of the failed operations, or let faults be rarer"

func (e *Evidence) faults(spec *world.Spec, weigh func(weight, string)) {
	var all Struck
	var missed []string
	for _, kind := range slices.Sorted(maps.Keys(e.Struck)) {
		n := e.Struck[kind]
		all.Strikes += n.Strikes
		all.DuringWork += n.DuringWork
		if n.DuringWork == 0 {
			missed = append(missed, fmt.Sprintf("all %d faults %s", n.Strikes, kind))
		}
	}
	const outside = "struck before the first operation or after the last"
	const longer = "lengthen the workload, or move faults.start and faults.stop"
	switch {
	case all.Strikes > 0 && all.DuringWork == 0 && e.Rates == 0:
		w := little
		if JudgesOperations(spec) {
			w = tooLittle
		}
		weigh(w, fmt.Sprintf("all %d faults %s, so no operation met a fault; %s", all.Strikes, outside, longer))
	case len(missed) > 0:
		weigh(little, fmt.Sprintf("%s %s; %s", strings.Join(missed, " and "), outside, longer))
	case share(all.DuringWork, all.Strikes) > sufficient && e.Rates == 0:
		weigh(little, fmt.Sprintf("only %d of %d faults struck between the first operation and the last; %s", all.DuringWork, all.Strikes, longer))
	}
	if len(e.Kinds) > 0 && e.Concurrent == 0 && !e.Untimed && judges(spec, world.Linearizability, world.Isolation) {
		weigh(little, "no two operations were under way at once, so their order was never in question; give the workload more clients")
	}
}

// probes weighs what the probes of each property saw before the final phase, in which all must answer again.
func (e *Evidence) probes(spec *world.Spec, weigh func(weight, string)) {
	for i := range spec.Properties {
		p := &spec.Properties[i]
		if p.Kind == world.Liveness {
			continue
		}
		switch p.Check.Type {
		case world.HTTPCheck, world.RedisCheck, world.SQLCheck, world.Custom:
		default:
			continue
		}
		if n := e.Probes[p.Name]; n.Probes > 0 {
			weigh(share(n.Answered, n.Probes), fmt.Sprintf("%s: %d of %d probes before the final phase got an answer, so little is known of that time; let faults be rarer, or the interval of the check be shorter",
				p.Name, n.Answered, n.Probes))
		}
	}
}
