package check

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What may not work again: what, and after what.
var (
	notRecovered = failure.Declare("recovery/fails")
	notAgain     = failure.Declare("recovery/not-again") // a job that comes again and again
)

// again collects the attempts at one thing, a kind of operation, a key or a job, within the time after a heal.
type again struct {
	name  string
	code  string // for causes
	tries []attempt
	done  bool
	lost  string // why it will not be done any more, though no client has tried for long
}

// stuck reports whether the tries prove that it does not work: the last of several began in the second half of the time, or one
// that began in the first half has not ended within it.
func (g *again) stuck(fromNs, toNs int64) bool {
	if g.done {
		return false
	}
	half := fromNs + (toNs-fromNs)/2
	late, tried := false, 0
	for i := range g.tries {
		a := &g.tries[i]
		if !a.ended && a.toNs < toNs {
			continue // no client has seen its outcome
		}
		tried++
		late = late || a.fromNs >= half
		if a.fromNs <= half && (!a.ended || a.toNs > toNs) {
			return true
		}
	}
	return g.lost != "" || late && tried > 1
}

// recovered judges that what faults have disturbed works again: within the timeout after the start and after each heal, each
// kind of operation succeeds, each key that was tried, and each job. Where the next fault begins first, a heal promises nothing.
// After the last heal, all that the run has ever done must be seen to work.
func recovered(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	attempts, jobs, err := attemptsOf(p, out, abandoned(spec, out.Drivers))
	if err != nil {
		return verdict.Undecided(p, "%v", err)
	}
	attempts, never := withoutNeverWorked(withoutReadBack(attempts, out), out)
	timeout := p.Timeout()
	windows := windowsOf(out.ReadyNs, out.Heals, timeout)
	doubt := ""
	for i, w := range windows {
		disturbed, complete := interrupted(out.Ledger, w)
		disturbed = disturbed || !w.heal && steady(&spec.Faults) && w.fromNs+spec.Faults.StartNs < w.endNs
		last := w.heal && i == len(windows)-1
		things := tried(p, attempts, w.fromNs, w.endNs)
		for _, g := range things {
			if !disturbed && complete && out.VirtualNs >= w.endNs && g.stuck(w.fromNs, w.endNs) {
				return g.unrecovered(p, w)
			}
		}
		if last {
			doubt = unproven(things, attempts, w, complete)
		}
	}
	withstood := uint64(0)
	if p.Tolerant() {
		v, ok := recoveredMeanwhile(spec, p, out, attempts)
		if v.Status == Violated || doubt == "" && !ok {
			return v
		}
		withstood = v.Withstood
	}
	missing := histories.Unseen(p.Check.Operations, invoked(out.History))
	switch {
	case missing != "":
		return verdict.Undecided(p, "%s", missing)
	case len(out.Heals) == 0:
		return verdict.Idle(p, "there was no heal")
	case p.Check.Jobs.Start != "" && jobs == 0:
		return verdict.Undecided(p, "no job was seen: no line of a program matched the patterns")
	case out.JobsLost > 0:
		return verdict.Undecided(p, "too many lines report jobs: %d lines beyond the limit were ignored", out.JobsLost)
	case never != "":
		return verdict.Undecided(p, "%s, so there was nothing to recover; check the errors of the first such operations, and what the workload sends",
			never)
	case doubt != "":
		return verdict.Undecided(p, "%s", doubt)
	}
	v := verdict.New(p)
	v.Status, v.Withstood = Holds, withstood
	return v
}

// withoutNeverWorked leaves out the operations of kinds of which none has ever succeeded, where no fault is the cause: the workload
// asks for something that the system does not do. Either some had ended before the first fault, and operations of other kinds did
// succeed; or the server rejected nearly all of them as client errors. The reason is about one of these kinds.
func withoutNeverWorked(attempts []attempt, out *record.Outcome) (left []attempt, never string) {
	fromNs := firstFault(out)
	kinds := map[string]*kindTally{}
	anyWorked := false
	for i := range attempts {
		a := &attempts[i]
		k := kinds[a.kind]
		if k == nil {
			k = &kindTally{}
			kinds[a.kind] = k
		}
		k.worked = k.worked || a.ok
		k.calmly = k.calmly || a.ended && a.toNs < fromNs
		if isMistake(a.failed) {
			k.mistakes++
			k.mistake = a.failed
		} else {
			k.others++
		}
		anyWorked = anyWorked || a.ok
	}
	for _, a := range attempts {
		k := kinds[a.kind]
		mistaken := k.mistakes > k.others*mistakesPerOther
		if a.kind != jobKind && !k.worked && (k.calmly && anyWorked || mistaken) {
			never = fmt.Sprintf("no %s has ever succeeded, not even before the first fault", a.kind)
			if mistaken {
				never = fmt.Sprintf("no %s has ever succeeded: the server rejects each one as a mistake of the client (%s)", a.kind, k.mistake)
			}
			continue
		}
		left = append(left, a)
	}
	return left, never
}

// kindTally counts the outcomes of the operations of one kind.
type kindTally struct {
	worked           bool // one succeeded
	calmly           bool // one ended before the first fault
	mistake          string
	mistakes, others int // operations that the server rejected as client errors, and the rest
}

// mistakesPerOther is how many client errors a kind needs for each operation that ended otherwise, such as one that was lost on the
// network: fewer do not show that the kind never works.
const mistakesPerOther = 3

// mistake matches the error of a request that is wrong by itself, whatever the server's state: RFC 9110, section 15.5, without
// 408, 409, 412, 423, 425 and 429, which depend on the moment.
var mistake = regexp.MustCompile(`^status 4(00|01|03|04|05|06|10|11|13|14|15|22|31)$`)

func isMistake(failed string) bool { return mistake.MatchString(failed) }

// firstFault is the virtual time from which on a run had faults.
func firstFault(out *record.Outcome) int64 {
	first := int64(math.MaxInt64)
	listed := map[world.FaultKind]bool{}
	for i := range out.Ledger.Injections {
		f := &out.Ledger.Injections[i]
		first = min(first, f.StartNs)
		listed[f.Kind] = true
	}
	for i := range out.Ledger.Entries {
		e := &out.Ledger.Entries[i]
		if e.Delivered > 0 && !listed[e.Kind] { // such as those of packets and calls, which are not listed one by one
			first = min(first, out.ChaosNs)
		}
	}
	return first
}

// recoveredMeanwhile judges that things work again while faults last that are no excuse: within the timeout after the moment
// from which on the condition of the property was true. It reports whether there was such a time.
func recoveredMeanwhile(spec *world.Spec, p *world.Property, out *record.Outcome, attempts []attempt) (v Verdict, ok bool) {
	t, err := toleranceOf(spec, p, out)
	switch {
	case err != nil:
		return verdict.Undecided(p, "%v", err), false
	case !t.complete:
		return verdict.Undecided(p, "the ledger does not list all faults, so it is unknown when %s", t.what), false
	}
	timeout := p.Timeout()
	v = verdict.New(p)
	lasted, _ := faulty(&out.Ledger, 0)
	for _, s := range t.times(out.ReadyNs, out.VirtualNs, nil) {
		w := window{name: "a moment after which " + t.what, code: t.code, fromNs: s.fromNs, endNs: s.fromNs + timeout}
		if w.endNs > s.toNs {
			continue
		}
		ok = true
		reached := map[[2]string]bool{} // by who tried and whom it asked
		var owed []attempt
		for i := range attempts {
			a := &attempts[i]
			if a.fromNs > w.endNs {
				break
			}
			who := [2]string{a.client, a.node}
			if _, known := reached[who]; !known {
				_, reached[who] = t.whole(w.fromNs, w.endNs, t.asked(a))
			}
			if reached[who] {
				owed = append(owed, *a)
			}
		}
		for _, g := range tried(p, owed, w.fromNs, w.endNs) {
			if g.stuck(w.fromNs, w.endNs) {
				v := g.unrecovered(p, w)
				members, _ := t.whole(w.fromNs, w.endNs, nil)
				v.Evidence = append(t.evidence(members, w.fromNs, w.endNs, out), v.Evidence...)
				return v, true
			}
		}
		if !free(lasted, w.fromNs, w.endNs) {
			v.Withstood++
		}
	}
	if !ok {
		return verdict.Idle(p, "there was no period of %s throughout which %s", verdict.Seconds(timeout), t.what), false
	}
	return v, true
}

// unrecovered is the violation by a thing that does not work again within a window.
func (g *again) unrecovered(p *world.Property, w window) Verdict {
	v := verdict.New(p)
	timeout := verdict.Seconds(w.endNs - w.fromNs)
	failed := g.name + " did not succeed"
	if kind, all := strings.CutPrefix(g.name, "every "); all {
		failed = "no " + kind + " succeeded"
	}
	c := notRecovered.Cause(g.code, w.code).Claim("%s within %s after %s at %s", failed, timeout, w.the(), verdict.Seconds(w.fromNs))
	if g.lost != "" {
		c = notAgain.Cause(g.code, w.code).Claim("%s: %s", c.Words, g.lost)
	}
	v.Violate(0, w.endNs, c)
	v.Evidence = append(v.Evidence, fmt.Sprintf("%d tries within %s after %s", len(g.tries), timeout, w.the()))
	for k := range g.tries {
		if k < maxStreakShown || k == len(g.tries)-1 {
			v.Evidence = append(v.Evidence, g.tries[k].String())
		}
		v.Event = g.tries[k].event
	}
	return v
}

// tried are the kinds, keys and jobs that were tried within a time, and what is left of jobs from before it.
func tried(p *world.Property, attempts []attempt, from, to int64) []*again {
	var list []*again
	by := map[string]*again{}
	of := func(name, code string) *again {
		if by[name] == nil {
			by[name] = &again{name: name, code: code}
			list = append(list, by[name])
		}
		return by[name]
	}
	add := func(g *again, a attempt) {
		g.tries = append(g.tries, a)
		g.done = g.done || a.ok && a.toNs <= to
	}
	starts := map[string][]attempt{} // of jobs, up to the end of the time
	for _, a := range attempts {
		if a.fromNs > to {
			break
		}
		if a.kind == jobKind {
			name := a.subject()
			if !p.Check.Jobs.AcrossNodes {
				name += " on " + a.client
			}
			starts[name] = append(starts[name], a)
			if a.fromNs >= from || !a.ended || a.toNs > from {
				add(of(name, jobKind), a)
				add(of("every job", "every/"+jobKind), a)
			}
			continue
		}
		if a.fromNs < from {
			continue
		}
		add(of("every "+a.kind, "every/"+a.kind), a)
		if a.key != "" {
			add(of(fmt.Sprintf("key %q", a.key), "key"), a)
			if world.IsRecovery(a.client) {
				add(of(fmt.Sprintf("%s of key %q", a.kind, a.key), a.kind+"/key"), a)
			}
		}
	}
	// A job that comes again and again, and whose last run before the heal failed, has to come again.
	for _, name := range slices.Sorted(maps.Keys(starts)) {
		runs := starts[name]
		last := runs[len(runs)-1]
		if len(runs) < 2 || last.fromNs >= from || !last.ended || last.toNs > from || last.ok {
			continue
		}
		g := of(name, jobKind)
		g.tries, g.lost = append(g.tries, last), "its last run failed before that, and it did not run again"
	}
	return list
}

// withoutReadBack leaves out the kinds of operations that drivers perform only when they read back: nothing of them can come
// back to work after a heal.
func withoutReadBack(attempts []attempt, out *record.Outcome) []attempt {
	from := readBackFrom(out)
	worked := map[string]bool{jobKind: true}
	for i := range out.History {
		if h := &out.History[i]; h.Type == history.Invoke && h.Number < from {
			worked[strings.ToLower(h.Op)] = true
		}
	}
	return slices.DeleteFunc(attempts, func(a attempt) bool { return !worked[a.kind] })
}

// unproven says what was not seen to work after the last heal, or nothing.
func unproven(things []*again, attempts []attempt, w window, complete bool) string {
	byName := map[string]*again{}
	keys := 0
	for _, g := range things {
		byName[g.name] = g
		if g.done && strings.HasPrefix(g.name, "key ") {
			keys++
		}
	}
	keyed := false
	for _, a := range attempts {
		keyed = keyed || a.kind != jobKind && a.key != ""
		g := byName["every "+a.kind]
		switch {
		case g == nil && a.kind == jobKind:
			return fmt.Sprintf("no job was under way after the last heal at %s", verdict.Seconds(w.fromNs))
		case g == nil:
			return fmt.Sprintf("no %s was tried after the last heal at %s; to show recovery, the workload must try it within %s of a heal: "+
				"end the faults earlier (faults.stop), or list other operations in the check",
				a.kind, verdict.Seconds(w.fromNs), verdict.Seconds(w.endNs-w.fromNs))
		case !g.done:
			return undecided(g, w, complete)
		}
	}
	for _, g := range things {
		if g.done || !strings.HasPrefix(g.name, "job ") && !slices.ContainsFunc(g.tries, func(a attempt) bool { return world.IsRecovery(a.client) }) {
			continue
		}
		young := !slices.ContainsFunc(g.tries, func(a attempt) bool { return a.fromNs <= w.fromNs+(w.endNs-w.fromNs)/2 })
		failedOnce := slices.ContainsFunc(g.tries, func(a attempt) bool { return a.ended })
		if strings.HasPrefix(g.name, "job ") && (young || failedOnce) {
			continue // it began too late to be judged, or has said that it failed and was not asked for again
		}
		return undecided(g, w, complete)
	}
	if keyed && keys == 0 {
		return fmt.Sprintf("no key was seen to work after the last heal at %s", verdict.Seconds(w.fromNs))
	}
	if len(attempts) == 0 {
		return "neither an operation nor a job was seen"
	}
	return ""
}

func undecided(g *again, w window, complete bool) string {
	why := "it was not tried for long enough, or the run ended too early"
	if !complete {
		why = "the ledger does not list all faults, so it is unknown whether the heal lasted"
	}
	return fmt.Sprintf("%s did not succeed after the last heal at %s, but %s", g.name, verdict.Seconds(w.fromNs), why)
}
