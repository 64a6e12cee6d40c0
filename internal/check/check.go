// Package check judges what happened in a run: it turns an Outcome into verdicts, one for each property of the Spec
// and one for each property that needs no configuration.
//
// A wrong "holds" is the worst that can happen here. So a violation is taken from anything that was seen, however the
// run ended, while "holds" must be earned: the run went through all its phases, its drivers did their work, each kind
// of fault that was asked for can be made, and what the property speaks of was really exercised. Everything else is
// unknown, with its reason. Verdicts are functions of the Spec and the Outcome alone, so a stored run can be judged
// again.
package check

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Judge gives a verdict on each property of the Spec, in its order, and then on those that hold for every program.
func Judge(spec *world.Spec, out *record.Outcome) []Verdict {
	var verdicts []Verdict
	left := firstRefused(out.Crashes)
	stops := stopsByDesign(spec, out)
	for i := range spec.Properties {
		p := &spec.Properties[i]
		seen := out
		if p.Waits() {
			seen = stops.asFaults(out)
		}
		v := stops.excuse(p, excuse(p, judge(spec, p, seen), left))
		verdicts = append(verdicts, unfounded(p, v, out))
	}
	verdicts = append(verdicts, crashes(spec, out.Crashes)...)
	verdicts = append(verdicts, assertions(&out.SDK)...)
	for i := range verdicts {
		if v := &verdicts[i]; v.Status == Violated && v.Cause == nil {
			panic(fmt.Sprintf("check: %s is violated without a cause: %s", v.Property, v.Reason))
		}
	}
	silent := silence(spec, out.History, out.Drivers)
	reason := doubt(spec, out, silent)
	idle := reason == "" || reason == atWork(spec, out.Drivers) // a driver that is late has done too little, and nothing else is wrong
	if reason == "" {
		reason = fruitless(spec, out.History)
	}
	for i := range verdicts {
		why := reason
		if why == "" && silent != "" && i < len(spec.Properties) && ofOperations(&spec.Properties[i].Check) {
			if judgesReported(&spec.Properties[i].Check) {
				verdicts[i].LeftOut = append(verdicts[i].LeftOut, silent)
			} else {
				why = silent
			}
		}
		if why != "" && verdicts[i].Status == Holds {
			verdicts[i].Status, verdicts[i].Reason, verdicts[i].Idle = Unknown, why, idle
		}
	}
	if out.Length != nil {
		curtail(spec, out, verdicts)
	}
	return append(verdicts, wanted(&out.SDK)...)
}

func judge(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	if m := histories.MethodOf(p.Check.Type); m.Judge != nil {
		return histories.Paired(p, out.History, func(p *world.Property, ops []history.Operation) Verdict {
			return m.Judge(p, ops, cutOff(spec, out))
		})
	}
	if m := methodOf(p.Check.Type); m.judge != nil {
		return m.judge(spec, p, out)
	}
	return History(p, out.History)
}

// cutOff returns why there may have been more of the history to come, or nothing.
func cutOff(spec *world.Spec, out *record.Outcome) string {
	return cmp.Or(unfinished(spec, out), undriven(spec, out.Drivers))
}

// abandoned is when the last driver was over, where one of them broke down: what its clients had under way then does not
// hang, no driver waits for it any more. It is 0 where no driver broke down, or not all are over.
func abandoned(spec *world.Spec, ends []record.DriverEnd) int64 {
	if atWork(spec, ends) != "" {
		return 0
	}
	broken, last := false, int64(0)
	for _, d := range ends {
		broken = broken || d.Signal != "" || d.ExitCode != 0
		last = max(last, d.TimeNs)
	}
	if !broken {
		return 0
	}
	return last
}

// History judges a property over a history alone, such as one that was read from a file: without a run around it, what
// a "holds" says of the run is not asked.
func History(p *world.Property, events []history.Event) Verdict {
	if ByOperations(p.Check.Type) {
		return histories.Paired(p, events, histories.Operations)
	}
	if m := methodOf(p.Check.Type); m.history != nil {
		return m.history(p, events)
	}
	return verdict.Undecided(p, "a check of type %q cannot judge a history", p.Check.Type)
}

// ByOperations reports whether checks of a type judge the operations of a history, and nothing else of a run.
func ByOperations(t world.CheckType) bool { return t.Kind().Basis == world.ByOperations }

// backwards is the first event before which there is a later time, or 0. Times that are left out are 0.
func backwards(events []history.Event) uint64 {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b history.Event) int { return cmp.Compare(a.Number, b.Number) })
	for i := range sorted {
		if i > 0 && sorted[i].TimeNs < sorted[i-1].TimeNs {
			return sorted[i].Number
		}
	}
	return 0
}

// Again judges what is known of a run by properties that may have changed since. What a property saw by programs inside
// the world, it saw as it was then: where its check is another one now, its verdict is unknown.
func Again(was *world.Spec, properties []world.Property, run *Judged) []Verdict {
	spec := *was
	spec.Properties = properties
	verdicts := run.judge(&spec)
	for i := range properties {
		p := &properties[i]
		if !p.Check.Type.Probes() && p.Check.Jobs == (world.Jobs{}) || slices.ContainsFunc(was.Properties, func(o world.Property) bool {
			return o.Name == p.Name && o.Kind == p.Kind && reflect.DeepEqual(o.Check, p.Check)
		}) {
			continue
		}
		verdicts[i] = verdict.Undecided(p, "that run did not include this check; run it again")
	}
	return verdicts
}

// invoked are the names of the operations that were begun.
func invoked(events []history.Event) map[string]bool {
	names := map[string]bool{}
	for i := range events {
		if events[i].Type == history.Invoke {
			names[events[i].Op] = true
		}
	}
	return names
}

// doubt is the first reason why this run can prove that nothing holds, or empty. silent is what silence says of the run.
func doubt(spec *world.Spec, out *record.Outcome, silent string) string {
	if left := firstRefused(out.Crashes); left != nil {
		return refused(left)
	}
	if reason := unfinished(spec, out); reason != "" {
		return reason
	}
	if len(out.NeverUp) > 0 {
		return strings.Join(out.NeverUp, "; ")
	}
	if spec.SetupNs > 0 && out.SDK.Late {
		return fmt.Sprintf("no program reported within %s that its setup was complete (simulation.wait_for_setup)", verdict.Seconds(spec.SetupNs))
	}
	if kinds := unsupported(spec); len(kinds) > 0 {
		return world.FaultNames(kinds) + " not supported"
	}
	if reason := undriven(spec, out.Drivers); reason != "" {
		return reason
	}
	if reason := unready(spec, out); reason != "" {
		return reason
	}
	if silent != "" { // what it could not find may be what it was to run
		for _, d := range out.Drivers {
			if d.Hidden != "" {
				return silent + ": " + d.Hidden
			}
		}
	}
	return ""
}

// unfinished returns why a run did not go through all its phases, or nothing if it did.
func unfinished(spec *world.Spec, out *record.Outcome) string {
	detail := ""
	if out.Detail != "" {
		detail = ": " + out.Detail
	}
	switch out.Reason {
	case record.Finished:
		return ""
	case record.MaxTime:
		if out.Detail != "" {
			return fmt.Sprintf("max_time: %s of virtual time passed during setup: %s; raise max_time or check the healthchecks",
				verdict.Seconds(spec.MaxTimeNs), out.Detail)
		}
		what, remedy := "the workload and the final checks finished", "raise max_time or shorten the workload"
		if len(spec.Workloads) == 0 {
			what, remedy = "all servers were healthy and the final checks finished", "raise max_time or check the healthchecks"
		}
		return fmt.Sprintf("max_time: %s of virtual time passed before %s; %s", verdict.Seconds(spec.MaxTimeNs), what, remedy)
	case record.Unstartable:
		return out.Detail
	case record.Limit:
		return "limit" + detail
	case record.Deadlock:
		return "deadlock" + detail
	case record.Stopped:
		return "the run was stopped before its end" + detail
	case record.ReachedUntil:
		return "the run was asked to stop before its end"
	}
	return fmt.Sprintf("the run ended for an unknown reason (%q)", out.Reason)
}

// undriven returns which workload's driver did not do its work to the end. An engine continues to the final checks when time
// gets short, so a run may be finished while a driver is still at work.
func undriven(spec *world.Spec, ends []record.DriverEnd) string {
	return cmp.Or(FailedDriver(ends), atWork(spec, ends))
}

// FailedDriver says which driver failed, and how, or nothing.
func FailedDriver(ends []record.DriverEnd) string {
	for _, d := range ends {
		if d.Signal != "" {
			return fmt.Sprintf("the driver of workload %q was ended by %s at %s", d.Workload, d.Signal, verdict.Seconds(d.TimeNs))
		}
		if d.ExitCode != 0 {
			reason := fmt.Sprintf("the driver of workload %q ended with exit code %d at %s", d.Workload, d.ExitCode, verdict.Seconds(d.TimeNs))
			for _, more := range []string{d.Said, d.Hidden} {
				if more != "" {
					reason += ": " + more
				}
			}
			return reason
		}
	}
	return ""
}

// atWork returns which workload's driver had not ended before the final checks, or nothing.
func atWork(spec *world.Spec, ends []record.DriverEnd) string {
	for _, w := range spec.Workloads {
		if !slices.ContainsFunc(ends, func(d record.DriverEnd) bool { return d.Workload == w.Name }) {
			return fmt.Sprintf("the driver of workload %q did not end before the final checks; raise max_time or shorten the workload", w.Name)
		}
	}
	return ""
}

// unready returns which driver that announces where it is was not ready in time, or nothing.
func unready(spec *world.Spec, out *record.Outcome) string {
	for _, w := range spec.Workloads {
		if w.Announces && !slices.ContainsFunc(out.Marks, func(m record.Mark) bool {
			return m.Workload == w.Name && m.Type == history.Ready && m.TimeNs <= out.ReadyNs+w.ReadyNs
		}) {
			return fmt.Sprintf(`the driver of workload %q did not report "ready" within %s, so faults did not wait for it; make it write {"type":"ready"} before its first operation, or raise ready_timeout`, w.Name, verdict.Seconds(w.ReadyNs))
		}
	}
	return ""
}

// ofOperations reports whether a check judges what drivers reported, and not what programs, probes or jobs showed.
func ofOperations(c *world.Check) bool {
	if c.Type.Kind().Basis == world.ByModel {
		return c.Mapping != nil && slices.ContainsFunc(c.Mapping.Rules, func(r world.ModelRule) bool { return r.Operation != "" })
	}
	return !c.Type.Probes() && c.Jobs == (world.Jobs{})
}

// judgesReported reports whether a check promises something of the operations that were reported, whatever else there was:
// that they have an order, or that what they wrote is there. A driver that reported nothing is named beside it. Others
// promise something of all that a workload does, unless the user chooses operations.
func judgesReported(c *world.Check) bool {
	return c.Type.Kind().Reported || len(c.Operations) > 0
}

// work counts what each workload reported. Clients of the drivers that come with Bloodhound are named after their
// workload; all other records count together, under "".
type work struct {
	builtin            []string // workloads, sorted
	own                []string // those with drivers of the user's own, quoted
	records, successes map[string]int
}

func workOf(spec *world.Spec, events []history.Event) work {
	w := work{records: map[string]int{}, successes: map[string]int{}}
	for _, l := range spec.Workloads {
		switch {
		case l.Driver == "composer": // its commands are judged by their ends; they need not report operations
		case l.Driver == "command" || l.Name == "":
			w.own = append(w.own, fmt.Sprintf("%q", l.Name))
		default:
			w.builtin = append(w.builtin, l.Name)
		}
	}
	slices.Sort(w.builtin)
	for _, e := range events {
		name, _, again := strings.Cut(e.Client, world.RecoveryClients)
		if !again {
			name = e.Client[:max(strings.LastIndex(e.Client, "/"), 0)]
		}
		if !slices.Contains(w.builtin, name) {
			name = ""
		}
		w.records[name]++
		if e.Type == history.Ok {
			w.successes[name]++
		}
	}
	return w
}

// fruitless returns which workload got nothing done. A driver of the user's own may report no operations (see silence).
func fruitless(spec *world.Spec, events []history.Event) string {
	w := workOf(spec, events)
	failed := func(shown string) string {
		reason := "no operation of workload " + shown + " succeeded; see why they failed"
		switch {
		case !spec.Faults.Enabled:
		case spec.Engine == world.InProcess:
			reason += ", or start faults later (Settings.Warmup)"
		default:
			reason += ", or start faults later (faults.start)"
		}
		return reason
	}
	for _, name := range w.builtin {
		switch {
		case w.records[name] == 0:
			return fmt.Sprintf("workload %q reported no operation", name)
		case w.successes[name] == 0:
			return failed(fmt.Sprintf("%q", name))
		}
	}
	if len(w.own) > 0 && w.records[""] > 0 && w.successes[""] == 0 {
		return failed(strings.Join(w.own, ", "))
	}
	return ""
}

// silence says that the drivers of the user's own reported no operation, or nothing. It puts in doubt what is judged by operations: a
// plain script may have done its work all the same, and programs that crash meanwhile crash.
func silence(spec *world.Spec, events []history.Event, ends []record.DriverEnd) string {
	w := workOf(spec, events)
	silent := w.own
	if w.records[""] > 0 {
		silent = nil
		for _, d := range ends {
			if d.Silent {
				silent = append(silent, strconv.Quote(d.Workload))
			}
		}
	}
	if len(silent) == 0 {
		return ""
	}
	return "workload " + strings.Join(silent, ", ") + " reported no operation"
}

// unsupported lists the kinds of fault that the Spec asks for, with a rate above 0, and that no engine can make.
func unsupported(spec *world.Spec) []world.FaultKind {
	var kinds []world.FaultKind
	if !spec.Faults.Enabled {
		return nil
	}
	for _, r := range spec.Faults.Rules {
		if r.RatePPM > 0 && !fault.Known(r.Kind) && !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// Untested says which faults a campaign proves nothing about, by the ledgers of its runs or their sum. Missing are those that make it
// unknown: kinds that Require lists and that no program under test observed, and kinds that the user named and that were never delivered. Where the
// user named a kind by several rules, each of them counts. Unseen are kinds that the user named and that were delivered, but never observed.
func Untested(spec *world.Spec, ledgers []fault.Ledger) (missing, unseen []string) {
	if !spec.Faults.Enabled {
		return nil, nil
	}
	var sum fault.Ledger
	for i := range ledgers {
		sum.Add(&ledgers[i])
	}
	account := func(what string, e *fault.Entry, required bool) {
		text := fmt.Sprintf("%s was planned %d times, delivered %d times and never observed by a program under test%s", what,
			e.Planned, e.Delivered, e.Unseen())
		switch {
		case e.Observed > 0:
		case required || e.Delivered == 0:
			missing = append(missing, text)
		default:
			unseen = append(unseen, text)
		}
	}
	entry := func(kind world.FaultKind) *fault.Entry {
		if k := slices.IndexFunc(sum.Entries, func(e fault.Entry) bool { return e.Kind == kind }); k >= 0 {
			return &sum.Entries[k]
		}
		return &fault.Entry{Kind: kind}
	}
	var told []world.FaultKind
	for i := range spec.Faults.Rules {
		r := &spec.Faults.Rules[i]
		switch {
		case !r.ByUser || r.RatePPM == 0 || slices.Contains(spec.Faults.Require, r.Kind) || slices.Contains(told, r.Kind):
		case !fault.Several(spec, r.Kind):
			told = append(told, r.Kind)
			account(string(r.Kind), entry(r.Kind), false)
		default:
			e := fault.RuleEntry{Entry: fault.Entry{Kind: r.Kind}}
			if k := slices.IndexFunc(sum.Rules, func(e fault.RuleEntry) bool { return e.Rule == i+1 }); k >= 0 {
				e = sum.Rules[k]
			}
			account(fmt.Sprintf("%q", fault.Sentence(r)), &e.Entry, false)
		}
	}
	for i, kind := range spec.Faults.Require {
		if !slices.Contains(spec.Faults.Require[:i], kind) {
			account(string(kind), entry(kind), true)
		}
	}
	return missing, unseen
}

// Unhandled returns for each kind of fault that the Spec ties to a sign of its handling, and whose sign no run of a
// campaign showed after such a fault, what was looked for.
func Unhandled(spec *world.Spec, ledger *fault.Ledger) []string {
	if !spec.Faults.Enabled {
		return nil
	}
	var reasons []string
	for _, h := range spec.Faults.Handling {
		var e fault.Entry
		if k := slices.IndexFunc(ledger.Entries, func(e fault.Entry) bool { return e.Kind == h.Kind }); k >= 0 {
			e = ledger.Entries[k]
		}
		if e.Handled == 0 {
			sign := "the log pattern " + h.Log
			if h.Assertion != "" {
				sign = fmt.Sprintf("the assertion %q", h.Assertion)
			}
			reasons = append(reasons, fmt.Sprintf("%s was delivered %d times, but %s never appeared after it", h.Kind, e.Delivered, sign))
		}
	}
	return reasons
}
