package histories

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// What may be wrong with an operation on a register: its name, and the client. A lost write makes a read stale or its key missing.
var (
	orderlessOp  = failure.Declare("register/no-order") // and whether it had a result
	missingKey   = failure.Declare(failure.MissingKey)
	staleValue   = failure.Declare(failure.StaleValue)
	failedValue  = failure.Declare("register/of-failed-write")
	unknownValue = failure.Declare("register/never-written")
)

// refuted explains a violation of linearizability on one key: which operation no order explains, and the fewest others
// that it conflicts with.
func refuted(v verdict.Verdict, key string, ops []placed, failed []history.Operation) verdict.Verdict {
	b := linear.NewBudget(maxEvidenceSteps, MaxBytes, MaxWall)
	culprit, prefix := firstConflict(ops, b)
	shown := smallest(culprit, prefix, b)
	last := shown[slices.IndexFunc(shown, func(p placed) bool { return p.from == culprit.from })]
	source := failedSource(last, shown, failed)
	c := complaint(last, shown, source)
	v.Violate(culprit.op.Return, culprit.op.ReturnTimeNs, c.Cause.Claim("not linearizable: %s", c.Words))
	v.Evidence = append(v.Evidence, fmt.Sprintf("key %q: %d of its %d operations conflict:", key, len(shown), len(ops)))
	listed := shown
	if more := len(shown) - verdict.MaxEvidence; more > 0 { // what is near the conflict shows most
		v.Evidence = append(v.Evidence, fmt.Sprintf("  %d more before these", more))
		listed = slices.DeleteFunc(slices.Clone(shown[more-1:]), func(p placed) bool { return p.from == culprit.from })
		listed = append(listed[len(listed)-(verdict.MaxEvidence-1):], last)
	}
	for _, p := range listed {
		v.Evidence = append(v.Evidence, "  "+describe(*p.op, asked(p)+outcome(p), p.to == forever))
	}
	if source != nil {
		why := ""
		if source.Error != "" {
			why = " (" + source.Error + ")"
		}
		v.Evidence = append(v.Evidence, fmt.Sprintf("  %s (event %d) client %s: %s %s failed at %s (event %d)%s: it must have "+
			"done nothing", verdict.Seconds(source.CallTimeNs), source.Call, source.Client, source.Op, verdict.Shorten(source.Input),
			verdict.Seconds(source.ReturnTimeNs), source.Return, why))
	}
	v.Evidence = append(v.Evidence, longestOrder(shown, b)...)
	return v
}

// firstConflict finds the earliest completion at which the history is no longer linearizable, and the history up to
// there. Linearizability is closed under prefixes, so a binary search finds it; what had not completed is pending. Most
// often the operations that are known to be in each other's way show the place, and two looks prove it.
func firstConflict(ops []placed, b *linear.Budget) (placed, []placed) {
	done := slices.DeleteFunc(slices.Clone(ops), func(p placed) bool { return p.op.Return == history.Pending })
	slices.SortFunc(done, func(x, y placed) int { return cmp.Compare(x.op.Return, y.op.Return) })
	upTo := func(i int) []placed { return until(ops, int64(done[i].op.Return)) }
	illegal := func(i int) bool { return search(upTo(i), b) == linear.Illegal }
	last := len(done) - 1 // whatever the budget leaves open, the conflict is there in the end
	if event, known := orderless(ops, b); known {
		at, _ := slices.BinarySearchFunc(done, event, func(p placed, event uint64) int { return cmp.Compare(p.op.Return, event) })
		if at < last && illegal(at) {
			last = at
		}
		if at == last && at > 0 && search(upTo(at-1), b) == linear.Legal {
			return done[last], upTo(last)
		}
	}
	i, _ := slices.BinarySearchFunc(done[:last], linear.Illegal, func(p placed, _ linear.Answer) int {
		if search(until(ops, int64(p.op.Return)), b) == linear.Illegal {
			return 0
		}
		return -1
	})
	return done[i], upTo(i)
}

// until is the history up to an event: what was called later is unknown, what returned later is pending.
func until(ops []placed, event int64) []placed {
	var out []placed
	for _, p := range ops {
		if p.from > event {
			continue
		}
		if p.op.Return == history.Pending || int64(p.op.Return) > event {
			if p.call.kind == read {
				continue
			}
			p.to, p.reply = forever, reply{}
			p.simple = p.call.kind == write || p.call.kind == remove
		}
		out = append(out, p)
	}
	return out
}

// smallest leaves out what the conflict does not need: first all but the operations that are known to be in each
// other's way, or else all that is far before the culprit, and then of the rest large pieces and ever smaller ones (delta
// debugging: Zeller and Hildebrandt, TSE 2002). When the budget ends, what is left is shown.
func smallest(culprit placed, ops []placed, b *linear.Budget) []placed {
	ops = slices.Clone(ops)
	slices.SortFunc(ops, func(x, y placed) int { return cmp.Compare(x.from, y.from) })
	ops = near(culprit, ops, b)
	plain := !slices.ContainsFunc(ops, func(p placed) bool { return !p.simple })
	stays := func(p placed) bool { return p.from == culprit.from || p.call.kind != read && !plain }
	for size := (len(ops) + 1) / 2; size > 0; size /= 2 {
		for again := true; again; {
			again = false
			for i := 0; i < len(ops); {
				end := min(i+size, len(ops))
				if !slices.ContainsFunc(ops[i:end], func(p placed) bool { return !stays(p) }) {
					i = end
					continue
				}
				if !b.SpendAll(len(ops)) {
					return ops
				}
				rest := without(ops, i, end, culprit)
				if len(rest) < len(ops) && search(rest, b) == linear.Illegal {
					// A write can go only after the reads of its value, so one round may make room for another.
					again = size == 1
					i = max(0, end-(len(ops)-len(rest)))
					ops = rest
					continue
				}
				i = end
			}
		}
	}
	return ops
}

// near is the part of a history that still conflicts and that the culprit is in: the operations that are in each other's
// way, if that is known, or those of the shortest time before the culprit that shows it. Operations are in order of calls.
func near(culprit placed, ops []placed, b *linear.Budget) []placed {
	few := opposed(ops, b)
	if len(few) < len(ops) && slices.ContainsFunc(few, func(p placed) bool { return p.from == culprit.from }) && search(few, b) == linear.Illegal {
		return few
	}
	const first = 16
	for n := first; n < len(ops); n *= 2 {
		if rest := without(ops, 0, len(ops)-n, culprit); search(rest, b) == linear.Illegal {
			return rest
		}
	}
	return ops
}

// opposed are the operations of an illegal history that are known to be in each other's way: those of one or two values,
// where each was written once. Where nothing is known there are none.
func opposed(ops []placed, b *linear.Budget) []placed {
	tight := tighten(ops)
	accesses, count, ok := asAccesses(tight)
	if !ok || !b.SpendAll(len(tight)) {
		return nil
	}
	_, values, _ := linear.Zones(accesses, count)
	in := map[int64]bool{} // by call
	for i, a := range accesses {
		if slices.Contains(values, a.Value) {
			in[tight[i].from] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(ops), func(p placed) bool { return !in[p.from] })
}

// orderless is the event of a completion at which an illegal history certainly has no order left, though perhaps not the
// first one.
func orderless(ops []placed, b *linear.Budget) (event uint64, known bool) {
	if few := opposed(ops, b); len(few) > 0 && len(few) < len(ops) {
		culprit, _ := firstConflict(few, b)
		return culprit.op.Return, true
	}
	tight := tighten(ops)
	if !b.SpendAll(len(tight)) {
		return 0, false
	}
	list, classes := asOps(tight)
	answer, at := linear.Search(list, modelOf(step, classes), b)
	if answer != linear.Illegal || at < 0 || tight[at].op.Return == history.Pending {
		return 0, false
	}
	return tight[at].op.Return, true
}

// without is ops without those of [from, to) that may go: if the rest is illegal, so was the whole. Reads may go, since
// they change nothing. A write may go when no remaining read returned its value, and a delete when none found nothing:
// in a legal order of the whole no read could stand between it and the next change. The culprit stays.
func without(ops []placed, from, to int, culprit placed) []placed {
	seen := map[state]bool{} // what the remaining reads returned
	plain := true
	for i, p := range ops {
		plain = plain && p.simple
		if p.call.kind == read && (i < from || i >= to || p.from == culprit.from) {
			s := state{}
			if p.reply.found {
				s = state{true, p.reply.value}
			}
			seen[s] = true
		}
	}
	var rest []placed
	for i, p := range ops {
		goes := p.call.kind == read || plain && p.call.kind == write && !seen[state{true, p.call.value}] ||
			plain && p.call.kind == remove && !seen[state{}]
		if i < from || i >= to || p.from == culprit.from || !goes {
			rest = append(rest, p)
		}
	}
	return rest
}

// complaint says in words what is wrong with the operation that no order explains. It claims only what is certain.
func complaint(p placed, ops []placed, source *history.Operation) failure.Claim {
	who := fmt.Sprintf("a %s by client %s", p.op.Op, p.op.Client)
	plain := !slices.ContainsFunc(ops, func(q placed) bool { return !q.simple })
	switch {
	case p.call.kind != read || !plain:
		return orderlessOp.Cause(p.op.Op, p.op.Client, sortOfOutcome(p)).Claim("no order of the operations explains %s%s", who, outcome(p))
	case !p.reply.found:
		return missingKey.Cause(p.op.Op, p.op.Client).Claim("%s found nothing, although the key was there", who)
	case source != nil:
		return failedValue.Cause(p.op.Op, p.op.Client).Claim("%s returned %s, which only a failed operation had written",
			who, verdict.Shorten(p.reply.value))
	case !wrote(ops, p.reply.value):
		return unknownValue.Cause(p.op.Op, p.op.Client).Claim("%s returned %s, which was never written", who, verdict.Shorten(p.reply.value))
	}
	return staleValue.Cause(p.op.Op, p.op.Client).Claim("%s returned %s, which was no longer the value", who, verdict.Shorten(p.reply.value))
}

func wrote(ops []placed, value string) bool {
	return slices.ContainsFunc(ops, func(p placed) bool { return p.call.kind == write && p.call.value == value })
}

// failedSource is the failed operation that alone can have written the value that a read returned, or nil.
func failedSource(p placed, ops []placed, failed []history.Operation) *history.Operation {
	if p.call.kind != read || !p.reply.known || !p.reply.found || wrote(ops, p.reply.value) {
		return nil
	}
	for i, o := range failed {
		k := kindOf(o.Op)
		if (k == write || k == cas) && o.Key == p.op.Key && o.Input == p.reply.value && int64(o.Call) < p.to {
			return &failed[i]
		}
	}
	return nil
}

// describe is one operation in words: who did what, with which result, when, and where. inFlight says that it had not returned when the
// check's answer was certain.
func describe(o history.Operation, what string, inFlight bool) string {
	text := fmt.Sprintf("%s (event %d) client %s: %s", verdict.Seconds(o.CallTimeNs), o.Call, o.Client, what)
	switch {
	case o.Return != history.Pending && inFlight:
		text += fmt.Sprintf("; still in flight then, it returned at %s (event %d)", verdict.Seconds(o.ReturnTimeNs), o.Return)
	case o.Return != history.Pending:
		text += fmt.Sprintf("; returned at %s (event %d)", verdict.Seconds(o.ReturnTimeNs), o.Return)
	case o.Error != "":
		text += fmt.Sprintf("; outcome unknown (%s), it may take effect at any time", o.Error)
	default:
		text += "; outcome unknown, it may take effect at any time"
	}
	if o.Node != "" {
		text += "; asked " + o.Node
	}
	return text
}

// sortOfOutcome tells operations with a result from those without.
func sortOfOutcome(p placed) string {
	switch {
	case outcome(p) == "":
		return "none"
	case p.call.kind == read && !p.reply.found:
		return "nothing"
	}
	return "value"
}

func asked(p placed) string {
	switch p.call.kind {
	case write, grow:
		return p.op.Op + " " + verdict.Shorten(p.call.value)
	case cas:
		return fmt.Sprintf("%s from %s to %s", p.op.Op, orNothing(p.call.expect, p.call.noExpect), orNothing(p.call.value, p.call.noValue))
	case incr:
		return fmt.Sprintf("%s by %d", p.op.Op, p.call.delta)
	}
	if p.op.NoInput && kindOf(p.op.Op) == write {
		return p.op.Op + " nothing"
	}
	return p.op.Op
}

func orNothing(value string, none bool) string {
	if none {
		return "nothing"
	}
	return verdict.Shorten(value)
}

func outcome(p placed) string {
	switch {
	case !p.reply.known || p.call.kind == write || p.call.kind == grow || (p.call.kind == remove || p.call.kind == incr) && p.reply.value == "":
		return ""
	case p.call.kind == read && !p.reply.found:
		return " -> nothing"
	}
	return " -> " + verdict.Shorten(p.reply.value)
}

// longestOrder shows the longest order that could be built, the value after it, and what has no place in it.
func longestOrder(ops []placed, b *linear.Budget) []string {
	if len(ops) > verdict.MaxEvidence {
		return nil
	}
	ops = tighten(ops)
	list, classes := asOps(ops)
	best, ok := linear.Longest(list, modelOf(step, classes), b)
	if !ok {
		return nil
	}
	text := "the longest consistent order:"
	s := state{}
	for i, id := range best {
		if i > 0 {
			text += ","
		}
		p := ops[id]
		_, s = step(s, p.call, p.reply)
		text += fmt.Sprintf(" %s%s (%s)", asked(p), outcome(p), p.op.Client)
	}
	if len(best) == 0 {
		text += " none at all"
	}
	after := "; then the key holds nothing"
	if s.found {
		after = "; then the key holds " + verdict.Shorten(s.value)
	}
	lines := []string{text + after}
	for id, p := range ops {
		if !slices.Contains(best, id) && p.op.Return != history.Pending {
			lines = append(lines, fmt.Sprintf("it has no place for: %s%s (%s)", asked(p), outcome(p), p.op.Client))
		}
	}
	return lines
}
