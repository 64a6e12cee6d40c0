package shrink

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Most failures of real servers need one fault at the right moment. The others of their run only shift that moment, so
// that none of them can be taken away by itself.
const (
	maxAlone   = 8  // faults that are tried alone
	aloneTries = 96 // runs
	// aloneShare is the divisor of their share of the budget. That share is part of the share of all leaps.
	aloneShare = 16
	fewFaults  = 3 // that are moved together
)

// offsets are by how many opportunities a fault that is alone is moved, the nearest first. Without the other faults the run is another one
// soon, so that some are far away.
var offsets = []int64{0, 2, -2, 5, -5, 9, -9, 14, -14, 21, -21, 32, -32, 48, -48}

// alone looks for a failing run with a single fault and no other decision that counts: each fault that came before the failure, at its own moment
// and at those nearby. A fault that ends programs is tried before one that delays them, and a later one before an earlier one.
func (w *work) alone() {
	plan, err := fault.New(w.Spec)
	injections := chosen(w.Run, isFault)
	if err != nil || len(injections) < 2 || w.oneWay {
		return
	}
	strikes := w.strikes(plan, injections)
	var cases []Case
	for step := range len(offsets) + len(strikes) {
		for i, d := range strikes {
			// Of a likely fault more moments are tried, by the time that an unlikely one has its first turn.
			if at := step - i; at >= 0 && at < len(offsets) {
				cases = append(cases, w.lone(plan, d, offsets[at], uint64(len(cases)))...)
			}
		}
	}
	cases = cases[:min(len(cases), aloneTries)]
	smaller := func(r *Run) bool { return len(chosen(r, isFault)) < len(injections) }
	before := w.part()
	w.turn.until = min(w.turn.until, before+1.0/aloneShare)
	led := w.any(cases, smaller) >= 0
	w.leaps += w.part() - before
	if led {
		w.aloneLed = true
		w.end(slackNs)
	}
}

// elsewhere tries what the evidence names alone, with the faults at other moments: among fewer operations the old ones may have lost their meaning.
func (w *work) elsewhere() {
	plan, err := fault.New(w.Spec)
	injections, ops := chosen(w.Run, isFault), operations(&w.Cut, w.Outcome.History)
	if err != nil || len(injections) == 0 || len(injections) > fewFaults {
		return
	}
	less := func(r *Run) bool { return fewer(r, w.Run) && len(chosen(r, isFault)) <= len(injections) }
	for _, named := range []func(operation) bool{w.cited, w.quoted} {
		unnamed := func(o operation) bool { return !named(o) }
		gone := slices.DeleteFunc(slices.Clone(ops), named)
		if len(gone) == 0 || len(gone) == len(ops) {
			continue
		}
		cut := w.Cut
		cut.Skip, cut.EndNs = without(w.Cut.Skip, gone), 0
		list := w.follow(w.Outcome.Decisions, unnamed)
		var cases []Case
		for _, by := range offsets {
			if moved, ok := shifted(plan, list, by); ok {
				c := Case{Bare(w.Tape, moved), cut}
				cases = append(cases, withOtherRemains(c, plan, injections, uint64(len(cases))+1)...)
			}
		}
		if w.any(cases, less) >= 0 {
			w.end(slackNs)
			return
		}
	}
}

// shifted moves all faults by as many opportunities.
func shifted(plan *fault.Plan, decisions []tape.Decision, by int64) ([]tape.Decision, bool) {
	moved := slices.Clone(decisions)
	for i, d := range moved {
		if !isFault(d) {
			continue
		}
		var ok bool
		if moved[i], ok = plan.Shift(d, by); !ok {
			return nil, false
		}
	}
	return moved, true
}

// lone are the cases with nothing but one of the faults, moved by some opportunities.
func (w *work) lone(plan *fault.Plan, strike tape.Decision, by int64, seed uint64) []Case {
	moved, ok := plan.Shift(strike, by)
	if !ok {
		return nil
	}
	list := append(chosen(w.Run, func(d tape.Decision) bool { return isLength(d) || fault.OfRun(d.Stream) }), moved)
	c := Case{Bare(w.Tape, append(list, w.leftovers(plan, strike)...)), w.Cut}
	c.Cut.EndNs = 0 // it may fail later
	return withOtherRemains(c, plan, []tape.Decision{strike}, seed)
}

// withOtherRemains are a case and, if its faults include power losses, the same one in which these leave something else on the disks of their nodes.
func withOtherRemains(c Case, plan *fault.Plan, injections []tape.Decision, seed uint64) []Case {
	var remains []tape.Edit
	losses := map[string]int{}
	for _, d := range injections {
		if node := plan.LosesPower(d); node != "" {
			losses[node]++
			remains = append(remains, tape.Edit{Op: tape.Reseed, Stream: fault.LossStreams(node, losses[node]) + "**", Seed: seed})
		}
	}
	if len(remains) == 0 {
		return []Case{c}
	}
	other := c
	other.Tape.Edits = slices.Concat(c.Tape.Edits, remains) // of two edits of a draw, the later one counts
	return []Case{c, other}
}

// anywhere is a case with one of the faults alone, at any moment among part of the operations: one in so many.
func (w *work) anywhere(plan *fault.Plan, strike tape.Decision, cut world.Cut, part int, seed uint64) (Case, bool) {
	from := plan.Opportunity(strike)
	moments := 2*from/int64(part) + 4
	to := int64(tape.NewSource(tape.Tape{Seed: seed}).Choose("moment", uint64(moments)))
	cases := w.lone(plan, strike, to-from, seed)
	if len(cases) == 0 {
		return Case{}, false
	}
	c := cases[len(cases)-1]
	c.Cut = cut
	return c, true
}

// strikes are the faults that may be the decisive one, the likeliest first.
func (w *work) strikes(plan *fault.Plan, injections []tape.Decision) []tape.Decision {
	var list []tape.Decision
	at := map[tape.Decision]int64{}
	for _, d := range injections {
		at[d] = w.decidedNs(d)
		if w.Verdict.TimeNs == 0 || at[d] <= w.Verdict.TimeNs {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b tape.Decision) int {
		return cmp.Or(cmp.Compare(plan.Severity(a), plan.Severity(b)), cmp.Compare(at[b], at[a]))
	})
	return list[:min(len(list), maxAlone)]
}

// leftovers are the decisions about what a power loss leaves on its disk, as those of the first power loss of the run. They are drawn right after it.
func (w *work) leftovers(plan *fault.Plan, loss tape.Decision) (list []tape.Decision) {
	node, of := plan.LosesPower(loss), ""
	after := slices.Index(w.Outcome.Decisions, loss) + 1
	for _, d := range w.Outcome.Decisions[after:] {
		if of == "" {
			of = fault.LossOf(d.Stream, node)
		}
		if rest, is := strings.CutPrefix(d.Stream, of); of != "" && is {
			d.Stream = fault.LossStreams(node, 1) + rest
			list = append(list, d)
		}
	}
	return list
}

// decidedNs is the virtual time at which a decision of the smallest run was made, or 0 if its engine does not know.
func (w *work) decidedNs(d tape.Decision) int64 {
	if i := slices.Index(w.Outcome.Decisions, d); i >= 0 && i < len(w.Outcome.DecisionsNs) {
		return w.Outcome.DecisionsNs[i]
	}
	return 0
}

// ofMoment reports whether a decision says after how many of its writes a power loss leaves a file.
func ofMoment(d tape.Decision) bool {
	return strings.HasPrefix(d.Stream, "disk/") && strings.HasSuffix(d.Stream, "/moment")
}

// follow moves faults that were drawn at what programs did, such as the 57th reply, for a run in which operations before them are left out: there,
// the same moment comes earlier, about in proportion to the operations that are left. So does the write up to which a power loss leaves a file.
func (w *work) follow(decisions []tape.Decision, gone func(operation) bool) []tape.Decision {
	if len(w.Outcome.DecisionsNs) == 0 {
		return decisions
	}
	plan, err := fault.New(w.Spec)
	if err != nil {
		return decisions
	}
	begun := map[uint64]int64{} // virtual times of operations, by event
	for i := range w.Outcome.History {
		if h := &w.Outcome.History[i]; h.Type == history.Invoke {
			begun[h.Number] = h.TimeNs
		}
	}
	all := operations(&w.Cut, w.Outcome.History)
	moved := slices.Clone(decisions)
	for i, d := range moved {
		atMoment := isFault(d) && plan.AtMoments(d)
		if !atMoment && !ofMoment(d) {
			continue
		}
		now := w.decidedNs(d)
		var before, left int64
		for _, o := range all {
			if begun[o.event] > now {
				continue
			}
			before++
			if !gone(o) {
				left++
			}
		}
		if left == before {
			continue
		}
		if !atMoment {
			moved[i].Value = max(d.Value*uint64(left)/uint64(before), 1)
			continue
		}
		from := plan.Opportunity(d)
		if d, ok := plan.Shift(d, from*left/before-from); ok {
			moved[i] = d
		}
	}
	return moved
}
