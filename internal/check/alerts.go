package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/alerts"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// quietly judges that no alert fires. Its rules are evaluated after each scrape, in the order of the run. What faults explain is no violation: while one lasts, and for the
// grace after it, no alert is pending, so that its time begins anew.
func quietly(spec *world.Spec, p *world.Property, out *engine.Outcome) Verdict {
	rules, err := alerts.Read(p.Check.Alerts)
	if err != nil {
		return unknown(p, "%v", err)
	}
	v := verdict(p)
	probes := slices.DeleteFunc(probesOf(p, out), func(q engine.Probe) bool { return len(q.Scrapes) == 0 && q.ExitCode == world.ProbeHolds })
	v.Probes = len(probes)
	spans, complete := excused(&p.Check, out)
	e := alerts.New(rules)
	w := watch{firstNs: -1}
	answered := map[string]bool{}
	failed := map[string]string{} // by target, why its last scrape failed
	var pending []*alerts.Alert
	for i := range probes {
		q := &probes[i]
		if len(q.Scrapes) == 0 {
			v.Reason = "a scrape came to no end: " + sentence(q)
			return v
		}
		atMs := (spec.StartUnixNs + q.StartNs) / 1e6
		for _, broken := range e.Scraped(atMs, q.Scrapes) {
			v.Reason = fmt.Sprintf("%s (at %s)", broken, seconds(q.StartNs))
			return v
		}
		for _, s := range q.Scrapes {
			answered[s.Instance] = answered[s.Instance] || s.Error == ""
			failed[s.Instance] = cmp.Or(s.Error, failed[s.Instance])
		}
		within := slices.ContainsFunc(spans, func(s span) bool { return s.fromNs <= q.StartNs && q.StartNs <= s.toNs })
		active, err := e.Step(atMs, within)
		if err != nil {
			v.Reason = fmt.Sprintf("%v (at %s)", err, seconds(q.StartNs))
			return v
		}
		w.step(q.StartNs, within)
		pending = nil
		for _, a := range active {
			switch {
			case !a.Rule.Judged:
			case !a.Firing:
				pending = append(pending, a)
			case v.Status != Violated:
				v.Status, v.Event, v.TimeNs = Violated, q.Event, q.StartNs
				v.Reason = fmt.Sprintf("alert %s fires: %s", a.Rule.Alert, a.Summary())
				v.Evidence = firing(a, spec, q.StartNs)
			}
		}
		if v.Status == Violated {
			break
		}
	}
	silent := neverAnswered(probes, answered, failed)
	switch {
	case len(probes) == 0:
		v.Reason = "metrics were never scraped"
	case len(answered) > 0 && !slices.ContainsFunc(values(answered), func(is bool) bool { return is }):
		return unknownAfter(v, "all scrapes failed: "+silent)
	case !complete:
		return unknownAfter(v, "the ledger does not list all faults, so it is unknown which alerts they explain")
	case v.Status == Violated:
	case silent != "":
		v.Reason = "no scrape succeeded of " + silent
	case len(pending) > 0:
		a := pending[0]
		v.Reason = fmt.Sprintf("alert %s was pending at the end, for %s of %s; let the run last longer, by faults.settle and simulation.max_time", a.Rule.Alert,
			seconds(probes[len(probes)-1].StartNs-(a.SinceMs*1e6-spec.StartUnixNs)), a.Rule.For)
	default:
		if v.Reason = couldNotFire(e, rules, w.longestNs); v.Reason == "" {
			v.Status = Holds
		}
	}
	return v
}

// unknownAfter makes a verdict unknown, whatever it was.
func unknownAfter(v Verdict, reason string) Verdict {
	return Verdict{Property: v.Property, Kind: v.Kind, Status: Unknown, Reason: reason, Probes: v.Probes}
}

func values(m map[string]bool) (list []bool) {
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// watch measures the longest time in which alerts counted.
type watch struct{ firstNs, longestNs int64 }

func (w *watch) step(ns int64, excused bool) {
	switch {
	case excused:
		w.firstNs = -1
	case w.firstNs < 0:
		w.firstNs = ns
	default:
		w.longestNs = max(w.longestNs, ns-w.firstNs)
	}
}

// neverAnswered lists the targets of which no scrape succeeded, in their order, each with why the last one failed.
func neverAnswered(probes []engine.Probe, answered map[string]bool, failed map[string]string) string {
	var list []string
	if len(probes) > 0 {
		for _, s := range probes[0].Scrapes {
			if !answered[s.Instance] {
				list = append(list, fmt.Sprintf("%s (%s)", s.Instance, failed[s.Instance]))
			}
		}
	}
	return strings.Join(list, ", ")
}

// couldNotFire returns why one of the judged alerts could not have fired, or nothing.
func couldNotFire(e *alerts.Evaluation, rules []alerts.Rule, longestNs int64) string {
	for i := range rules {
		r := &rules[i]
		if !r.Judged {
			continue
		}
		if why := e.Unseen(r); why != "" {
			return fmt.Sprintf("alert %s could not fire: %s; correct the rule or `scrape`, have a workload that leads to the metric, or write `ignore: [%s]`", r.Alert, why, r.Alert)
		}
		if longestNs < r.For.Nanoseconds() {
			return fmt.Sprintf("alert %s could not fire: it is pending for %s, and the longest time without a fault was %s; raise simulation.max_time, or write `ignore: [%s]`", r.Alert, r.For,
				seconds(longestNs), r.Alert)
		}
	}
	return ""
}

// firing is the evidence of an alert.
func firing(a *alerts.Alert, spec *world.Spec, ns int64) []string {
	since := a.SinceMs*1e6 - spec.StartUnixNs
	lines := []string{
		fmt.Sprintf("%s %s begins to be true", seconds(since), a.Rule.Expr),
		fmt.Sprintf("%s it has been true for %s: %s fires with the value %v", seconds(ns), a.Rule.For, a, a.Value),
	}
	if text := a.Description(); text != "" {
		lines = append(lines, text)
	}
	return append(lines, fmt.Sprintf("rule %s of group %s in %s", a.Rule.Alert, a.Rule.Group, a.Rule.File))
}
