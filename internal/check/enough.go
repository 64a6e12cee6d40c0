package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/histories"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Shares of what was tried that must have succeeded, in percent: below the first the judgement is unknown, below the second it has a
// warning.
const (
	leastSuccess  = 1
	littleSuccess = 10
)

// Evidence counts the faults, operations and probes that support a "holds": sums over runs.
type Evidence struct {
	// Injected counts the faults in runs with operations, by kind.
	Injected map[world.FaultKind]Injected `json:"struck,omitempty"`
	// Rates counts the faults that are not injected one by one: those of single packets and calls.
	Rates uint64 `json:"rates,omitempty"`
	// MissedRates are those in runs without an operation in the chaos phase.
	MissedRates Injected `json:"missed_rates,omitzero"`
	// Concurrent counts the operations that began while another one was under way.
	Concurrent uint64           `json:"concurrent,omitempty"`
	Kinds      map[string]Tried `json:"kinds,omitempty"` // by the operation's name, in lower case
	// Probes are those of properties before the final phase, by the property's name.
	Probes map[string]Probed `json:"probes,omitempty"`
	// ReadBack counts the operations by which drivers read back when the world had settled.
	ReadBack Tried `json:"read_back,omitzero"`
	// Untimed reports that it is not known what was under way at once, as in a history of sessions without times.
	Untimed bool `json:"-"`
	// Recorded reports that a history from a file is judged, whose workload and faults are not known.
	Recorded bool `json:"-"`
}

// Tried counts the operations of a kind.
type Tried struct {
	Invoked uint64 `json:"invoked"`
	Ok      uint64 `json:"ok"`
	// Found counts the reads that found a value.
	Found uint64 `json:"found,omitempty"`
}

func (n Tried) plus(o Tried) Tried {
	return Tried{n.Invoked + o.Invoked, n.Ok + o.Ok, n.Found + o.Found}
}

// Injected counts the faults of a kind. DuringWork are those that were active between the first operation and the last return of
// their run, without the operations by which drivers read back. Before are those that had ended before the first operation began.
type Injected struct {
	Faults     uint64 `json:"faults"`
	DuringWork uint64 `json:"during_work"`
	Before     uint64 `json:"before,omitempty"`
}

// After counts the faults that began after the last return.
func (n Injected) After() uint64 { return n.Faults - n.DuringWork - n.Before }

func (n Injected) plus(o Injected) Injected {
	return Injected{n.Faults + o.Faults, n.DuringWork + o.DuringWork, n.Before + o.Before}
}

// Probed counts the probes of a property, and those of them that got an answer.
type Probed struct {
	Probes   uint64 `json:"probes"`
	Answered uint64 `json:"answered"`
}

// maxKinds bounds the kinds of operations that Evidence counts.
const maxKinds = 200

// EvidenceOf is the evidence of one run. The drivers that try everything again after the last heal do not count.
func EvidenceOf(out *record.Outcome) Evidence {
	e := Evidence{Kinds: map[string]Tried{}, Injected: map[world.FaultKind]Injected{}, Probes: map[string]Probed{}}
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
	w, back := Collector{evidence: e}, Collector{}
	readBack, last := readBackFrom(out), int64(0)
	for i := range out.History {
		h := &out.History[i]
		if w.Add(h); h.Number <= readBack {
			last = w.last
		} else {
			back.Add(h)
		}
	}
	if e = w.evidence; w.count == 0 {
		return e
	}
	for _, n := range back.evidence.Kinds {
		e.ReadBack = e.ReadBack.plus(n)
	}
	for i := range out.Ledger.Injections {
		s := &out.Ledger.Injections[i]
		n := Injected{Faults: 1}
		switch {
		case s.EndNs != 0 && max(s.EndNs, s.StartNs) < w.first:
			n.Before = 1
		case s.StartNs <= last:
			n.DuringWork = 1
		}
		e.Injected[s.Kind] = e.Injected[s.Kind].plus(n)
	}
	for i := range out.Ledger.Entries {
		x := &out.Ledger.Entries[i]
		if _, oneByOne := e.Injected[x.Kind]; oneByOne {
			continue
		}
		switch {
		case out.ChaosEndNs != 0 && out.ChaosEndNs < w.first:
			e.MissedRates = e.MissedRates.plus(Injected{Faults: x.Delivered, Before: x.Delivered})
		case out.ChaosNs > last:
			e.MissedRates = e.MissedRates.plus(Injected{Faults: x.Delivered})
		default:
			e.Rates += x.Delivered
		}
	}
	return e
}

// Faults sums up those of all kinds, but for Rates.
func (e *Evidence) Faults() Injected {
	all := e.MissedRates
	for _, n := range e.Injected {
		all = all.plus(n)
	}
	return all
}

// readBackFrom is the event at which the first driver began to read back, or one that never comes.
func readBackFrom(out *record.Outcome) uint64 {
	event := uint64(math.MaxUint64)
	for _, m := range out.Marks {
		if m.Type == history.Check {
			event = min(event, m.Event)
		}
	}
	return event
}

// Collector counts the evidence of a history, event by event.
type Collector struct {
	evidence    Evidence
	count       uint64            // of events
	first, last int64             // virtual times of the first event and of the latest
	open        map[string]string // operations under way, by client
}

// Evidence returns the counts over all events so far.
func (w *Collector) Evidence() Evidence { return w.evidence }

// Add takes in one event.
func (w *Collector) Add(h *history.Event) {
	if world.IsRecovery(h.Client) {
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
			n := Tried{Ok: 1}
			if h.Found {
				n.Found = 1
			}
			w.evidence.try(op, n)
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
	e.Kinds[kind] = t.plus(n)
}

// Add takes in the evidence of another run.
func (e *Evidence) Add(o *Evidence) {
	e.Rates += o.Rates
	e.MissedRates = e.MissedRates.plus(o.MissedRates)
	e.Concurrent += o.Concurrent
	e.ReadBack = e.ReadBack.plus(o.ReadBack)
	if e.Kinds == nil {
		e.Kinds, e.Injected, e.Probes = map[string]Tried{}, map[world.FaultKind]Injected{}, map[string]Probed{}
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Kinds)) {
		e.try(kind, o.Kinds[kind])
	}
	for kind, n := range o.Injected {
		e.Injected[kind] = e.Injected[kind].plus(n)
	}
	for property, n := range o.Probes {
		was := e.Probes[property]
		e.Probes[property] = Probed{was.Probes + n.Probes, was.Answered + n.Answered}
	}
}

// Enough returns why evidence is too little for properties that hold to be called so, and what warrants a warning. It is the
// one rule of docs/reference/checks.md, "Too little evidence", for runs, campaigns and histories.
func Enough(spec *world.Spec, e *Evidence) (unknown, warnings []string) {
	add := func(w weight, reason string) {
		switch w {
		case tooLittle:
			unknown = append(unknown, reason)
		case little:
			warnings = append(warnings, reason)
		}
	}
	e.operations(add)
	if n := e.emptyReads(); n > 0 {
		add(little, fmt.Sprintf("all %d reads found nothing, and nothing was written, so this tests little; add writes to the workload, or "+
			"write a driver (`bloodhound docs write-a-driver`)", n))
	}
	if t := e.ReadBack; t.Invoked > 0 {
		add(share(t.Ok, t.Invoked), fmt.Sprintf("only %d of %d operations that read back the results succeeded, so little is "+
			"known about them; see why the others failed, or raise faults.settle", t.Ok, t.Invoked))
	}
	if silent := silence(spec, nil, nil); silent != "" && len(e.Kinds) == 0 {
		add(little, silent+", so no property could be judged by its operations; report them as `bloodhound docs workloads` shows")
	}
	e.faults(spec, add)
	e.probes(spec, add)
	return unknown, warnings
}

// emptyReads counts the reads if there was nothing else and none of them found a value.
func (e *Evidence) emptyReads() (n uint64) {
	if e.Recorded {
		return 0
	}
	for kind, t := range e.Kinds {
		if !history.IsRead(kind) || t.Found > 0 {
			return 0
		}
		n += t.Ok
	}
	return n
}

// Meeting is the remedy where faults and operations do not meet.
func Meeting(spec *world.Spec) string {
	if spec.Engine == world.InProcess {
		return "make clients work longer, or start faults later (Settings.Warmup)"
	}
	remedy := "lengthen the workload, or move faults.start and faults.stop"
	if slices.ContainsFunc(spec.Workloads, func(w world.Workload) bool { return w.Driver == "command" && !w.Announces }) {
		remedy = "make the driver report when it is ready and done (`announces: true`), " + remedy
	}
	return remedy
}

// Missed lists the kinds of faults all of whose injections were before the first operation or after the last, where a check judges operations. The
// remedy is the same for all.
func Missed(spec *world.Spec, e *Evidence) (kinds []world.FaultKind, remedy string) {
	for _, kind := range slices.Sorted(maps.Keys(e.Injected)) {
		if e.Injected[kind].DuringWork == 0 && JudgesOperations(spec) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, Meeting(spec)
}

// JudgesOperations reports whether a property's check judges what the operations of the workload returned.
func JudgesOperations(spec *world.Spec) bool {
	return judges(spec, func(k *world.CheckKind) bool { return k.Basis == world.ByOperations })
}

func judges(spec *world.Spec, fits func(*world.CheckKind) bool) bool {
	return slices.ContainsFunc(spec.Properties, func(p world.Property) bool { return fits(p.Check.Type.Kind()) })
}

// weight says how far a reason weakens a judgement.
type weight uint8

const (
	sufficient weight = iota
	little
	tooLittle
)

// share judges that so many of all succeeded.
func share(ok, all uint64) weight {
	switch {
	case ok*100 < all*leastSuccess:
		return tooLittle
	case ok*100 < all*littleSuccess:
		return little
	}
	return sufficient
}

func (e *Evidence) operations(add func(weight, string)) {
	var all Tried
	worst := sufficient
	remedy := "see why the others failed"
	if len(e.Injected) > 0 || e.Rates > 0 {
		remedy += ", or make faults rarer"
	}
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
		case histories.Reads(kind):
			few += ": few reads show what was stored"
		default:
			w = little
			few += ": it was hardly tested"
		}
		worst = max(worst, w)
		add(w, few+"; "+remedy)
	}
	if w := share(all.Ok, all.Invoked); w == tooLittle && worst < w {
		add(w, fmt.Sprintf("only %d of %d operations succeeded; %s", all.Ok, all.Invoked, remedy))
	}
}

func (e *Evidence) faults(spec *world.Spec, add func(weight, string)) {
	all := e.Faults()
	var missed []string
	for _, kind := range slices.Sorted(maps.Keys(e.Injected)) {
		n := e.Injected[kind]
		if n.DuringWork == 0 {
			missed = append(missed, fmt.Sprintf("all %d faults %s", n.Faults, kind))
		}
	}
	const outside = "were active only before the first operation or after the last"
	longer := Meeting(spec)
	switch {
	case all.Faults > 0 && all.DuringWork == 0 && e.Rates == 0:
		add(tooLittle, fmt.Sprintf("all %d faults %s (%d before, %d after), so no operation ran during a fault; %s", all.Faults, outside,
			all.Before, all.After(), longer))
	case len(missed) > 0:
		add(little, fmt.Sprintf("%s %s; %s", strings.Join(missed, " and "), outside, longer))
	case share(all.DuringWork, all.Faults) > sufficient && e.Rates == 0:
		add(little, fmt.Sprintf("only %d of %d faults were active between the first operation and the last; %s", all.DuringWork, all.Faults, longer))
	}
	if len(e.Kinds) > 0 && e.Concurrent == 0 && !e.Untimed && judges(spec, func(k *world.CheckKind) bool { return k.Overlapping }) {
		const alone = "no two operations overlapped, so no ordering bug could show"
		if e.Recorded {
			add(little, alone+"; record clients that work at the same time")
			return
		}
		remedy := "give the workload more clients"
		if slices.ContainsFunc(spec.Workloads, func(w world.Workload) bool { return w.RatePerS > 0 }) {
			remedy = "raise the workload's `qps`, which all its clients share, or give it more clients"
		}
		if all.Faults == 0 && e.Rates == 0 {
			remedy += ", and inject faults: without them, most bugs do not show"
		}
		add(little, alone+"; "+remedy)
	}
}

// probes judges what the probes of each property saw before the final phase, in which all must answer again.
func (e *Evidence) probes(spec *world.Spec, add func(weight, string)) {
	for i := range spec.Properties {
		p := &spec.Properties[i]
		if k := p.Check.Type.Kind(); p.Kind == world.Liveness || !k.Often() || k.Even {
			continue
		}
		if n := e.Probes[p.Name]; n.Probes > 0 {
			add(share(n.Answered, n.Probes), fmt.Sprintf("%s: %d of %d probes before the final phase got an answer, so little is "+
				"known about that time; make faults rarer, or shorten the interval of the check",
				p.Name, n.Answered, n.Probes))
		}
	}
}
