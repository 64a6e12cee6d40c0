package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/internal/alerts"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var fires = failure.Declare("alerts/fires") // the alert, and its summary

// quietly judges that no alert fires. Its rules are evaluated after each scrape, in the order of the run. What faults explain is
// no violation: while one lasts, and for the grace after it, no alert is pending, so that its time begins anew.
func quietly(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	if alerts.Evaluate == nil {
		return verdict.Undecided(p, "this program cannot evaluate Prometheus rules; run the world from the command line, such as `bloodhound run FOLDER`")
	}
	v := verdict.New(p)
	probes := slices.DeleteFunc(probesOf(p, out), func(q record.Probe) bool { return len(q.Scrapes) == 0 && q.ExitCode == world.ProbeHolds })
	spans, complete := excused(&p.Check, out)
	var scrapes []alerts.Scrape
	for i := range probes {
		q := &probes[i]
		if len(q.Scrapes) == 0 {
			break
		}
		within := slices.ContainsFunc(spans, func(s span) bool { return s.fromNs <= q.StartNs && q.StartNs <= s.toNs })
		if !within {
			v.Probes++
		}
		scrapes = append(scrapes, alerts.Scrape{AtMs: (spec.StartUnixNs + q.StartNs) / 1e6, Targets: q.Scrapes, Excused: within})
	}
	e, err := alerts.Evaluate(p.Check.Alerts, scrapes)
	if err != nil {
		return verdict.Undecided(p, "%v", err)
	}
	silent, all := neverAnswered(scrapes[:e.Scrapes])
	last := func() *record.Probe { return &probes[e.Scrapes-1] }
	switch {
	case e.Mistake != "":
		v.Reason = fmt.Sprintf("%s (at %s)", e.Mistake, verdict.Seconds(last().StartNs))
	case e.Firing == nil && len(scrapes) < len(probes):
		v.Reason = "a scrape did not finish: " + sentence(&probes[len(scrapes)])
	case len(probes) == 0:
		v.Reason = "metrics were never scraped"
	case all:
		v.Reason = "all scrapes failed: " + silent
	case !complete:
		v.Reason = "the ledger does not list all faults, so it is unknown which alerts they explain"
	case e.Firing != nil:
		q := last()
		v.Violate(q.Event, q.StartNs, fires.Cause(e.Firing.Alert, e.Firing.Summary).Claim("alert %s fires: %s", e.Firing.Alert, e.Firing.Summary))
		v.Evidence = firing(e.Firing, spec, q.StartNs)
	case silent != "":
		v.Reason = "no scrape succeeded for " + silent
	case e.Pending != nil:
		a := e.Pending
		v.Reason = fmt.Sprintf("alert %s was still pending at the end, after %s of %s; raise faults.settle and simulation.max_time", a.Alert,
			verdict.Seconds(last().StartNs-(a.SinceMs*1e6-spec.StartUnixNs)), a.For)
	case v.Probes == 0:
		v.Reason = fmt.Sprintf("all %d evaluations were during a fault, or in the grace of %s after a fault or the start; shorten "+
			"the grace, add time without faults, or raise simulation.max_time", len(scrapes), time.Duration(p.Check.GraceNs))
	default:
		if v.Reason = couldNotFire(e.Judged, undisturbedMs(scrapes)*1e6); v.Reason == "" {
			v.Status = Holds
		}
	}
	return v
}

// undisturbedMs is the longest time in which alerts counted.
func undisturbedMs(scrapes []alerts.Scrape) (longest int64) {
	first := -1
	for i := range scrapes {
		switch {
		case scrapes[i].Excused:
			first = -1
		case first < 0:
			first = i
		default:
			longest = max(longest, scrapes[i].AtMs-scrapes[first].AtMs)
		}
	}
	return longest
}

// neverAnswered lists the targets of which no scrape succeeded, in their order, each with why the last one failed; and whether these are all targets.
func neverAnswered(scrapes []alerts.Scrape) (silent string, all bool) {
	answered := map[string]bool{}
	failed := map[string]string{}
	for i := range scrapes {
		for _, s := range scrapes[i].Targets {
			answered[s.Instance] = answered[s.Instance] || s.Error == ""
			failed[s.Instance] = cmp.Or(s.Error, failed[s.Instance])
		}
	}
	var list []string
	if len(scrapes) > 0 {
		for _, s := range scrapes[0].Targets {
			if !answered[s.Instance] {
				list = append(list, fmt.Sprintf("%s (%s)", s.Instance, failed[s.Instance]))
			}
		}
	}
	return strings.Join(list, ", "), len(list) > 0 && len(list) == len(scrapes[0].Targets)
}

// couldNotFire returns why one of the judged alerts could not have fired, or nothing.
func couldNotFire(judged []alerts.Rule, longestNs int64) string {
	for i := range judged {
		r := &judged[i]
		if r.Unseen != "" {
			return fmt.Sprintf("alert %s could not fire: %s; correct the rule or `scrape`, add a workload that produces the metric, or write `ignore: [%s]`",
				r.Alert, r.Unseen, r.Alert)
		}
		if longestNs < r.For.Nanoseconds() {
			return fmt.Sprintf("alert %s could not fire: it must be pending for %s, but the longest time without a fault was %s; raise "+
				"simulation.max_time, or write `ignore: [%s]`", r.Alert, r.For,
				verdict.Seconds(longestNs), r.Alert)
		}
	}
	return ""
}

// firing is the evidence of an alert.
func firing(a *alerts.Alert, spec *world.Spec, ns int64) []string {
	since := a.SinceMs*1e6 - spec.StartUnixNs
	lines := []string{
		fmt.Sprintf("%s %s becomes true", verdict.Seconds(since), a.Expr),
		fmt.Sprintf("%s it has been true for %s: %s fires with the value %v", verdict.Seconds(ns), a.For, a.Text, a.Value),
	}
	if a.Description != "" {
		lines = append(lines, a.Description)
	}
	return append(lines, fmt.Sprintf("rule %s of group %s in %s", a.Alert, a.Group, a.File))
}
