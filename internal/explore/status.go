package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Status is the judgement of a campaign, of a run, or of a history.
type Status struct {
	Violated     bool     `json:"violated"` // a violation that replayed
	Failed       bool     `json:"failed"`   // the engine or the machine failed
	Unrepeatable bool     `json:"unrepeatable"`
	Once         bool     `json:"once,omitempty"`    // runs of the engine do not repeat: what they show was observed once
	Unknown      []string `json:"unknown,omitempty"` // reasons why the verdict is unknown
	// Notices do not change the judgement.
	Notices []string `json:"notices,omitempty"`
	// Cheaper are hints at what would make the runs of a campaign cheaper.
	Cheaper []string `json:"cheaper,omitempty"`
}

// ExitCode is the code of a judgement. Where several apply, the precedence is 3, 1, 4, 5, 0.
func (s *Status) ExitCode() int {
	switch {
	case s.Failed:
		return check.ExitEngine
	case s.Violated:
		return check.ExitViolated
	case s.Unrepeatable:
		return check.ExitNotReproducible
	case len(s.Unknown) > 0:
		return check.ExitUnknown
	}
	return check.ExitHolds
}

// require takes in whether there is enough evidence for what holds.
func (s *Status) require(spec *world.Spec, e *check.Evidence) {
	unknown, warnings := check.Enough(spec, e)
	if !s.Violated {
		s.Unknown = append(s.Unknown, unknown...)
	}
	s.Notices = append(s.Notices, warnings...)
}

// StatusOf judges one run, what is stored of one, or a history, as a campaign of it alone would be judged but for the faults that only a
// campaign can expect.
func StatusOf(spec *world.Spec, r *Summary) Status {
	s := StatusOfVerdicts(r)
	var judged []string
	for _, v := range r.Verdicts {
		judged = append(judged, v.Property)
	}
	s.require(spec, &r.Evidence)
	s.Notices = append(s.Notices, awaited(r)...)
	if reason := check.Unjudged(spec, judged); reason != "" {
		s.Unknown = append(s.Unknown, reason)
	}
	if g := r.Guide; g != nil && g.Tally != nil {
		text := fmt.Sprintf("the model that guides the search: %s", g.Tally)
		if why := g.Failed + g.Left; why != "" {
			text += "; it could not follow the run further: " + why
		}
		s.Notices = append(s.Notices, text)
	}
	if kinds := absent(spec, r); len(kinds) > 0 {
		s.Notices = append(s.Notices, fmt.Sprintf("no fault of kind %s was planned: with `faults.swarm`, which "+
			"`faults.mode` turns on, each tape leaves out some kinds; use another seed, or set `swarm: "+
			"false`", strings.Join(kinds, ", ")))
	}
	return s
}

// absent are the kinds of faults that the user wrote and that a run went without, perhaps by its swarm.
func absent(spec *world.Spec, r *Summary) (kinds []string) {
	for _, e := range r.Faults {
		if spec.Faults.Swarm && e.Planned == 0 && e.Unreached == 0 &&
			slices.ContainsFunc(spec.Faults.Rules, func(f world.FaultRule) bool { return f.ByUser && f.RatePPM > 0 && f.Kind == e.Kind }) {
			kinds = append(kinds, string(e.Kind))
		}
	}
	return kinds
}

// awaited names the faults of a run whose time had not come at the end of its chaos phase, by rule where a kind has several.
func awaited(r *Summary) (list []string) {
	for i := range r.FaultRules {
		if why := r.FaultRules[i].Awaits(); why != "" {
			list = append(list, fmt.Sprintf("fault %q: %s", r.FaultRules[i].Text, why))
		}
	}
	for i := range r.Faults {
		e := &r.Faults[i]
		if why := e.Awaits(); why != "" && !slices.ContainsFunc(r.FaultRules, func(x fault.RuleEntry) bool { return x.Kind == e.Kind }) {
			list = append(list, fmt.Sprintf("fault %s: %s", e.Kind, why))
		}
	}
	return list
}

// StatusOfVerdicts judges one run by its verdicts and its end alone, whatever stands behind them.
func StatusOfVerdicts(r *Summary) Status {
	s := Status{Violated: len(Violated(r.Verdicts)) > 0, Unrepeatable: r.Repeat.Failed(), Once: r.Repeat.Once}
	for _, v := range r.Verdicts {
		if v.Status == check.Unknown {
			s.Unknown = append(s.Unknown, v.Property+": "+v.Reason)
		}
	}
	switch r.Reason {
	case record.ReachedUntil:
		s.Unknown = append(s.Unknown, "the run was stopped as asked, and is not judged")
	case record.Stopped:
		if !s.Violated {
			s.Unknown = append(s.Unknown, "the run was interrupted")
		}
	}
	return s
}

// Status judges the campaign; spec is the one of its runs.
func (t *Totals) Status(spec *world.Spec) Status {
	s := Status{Violated: len(t.Failures) > 0 || t.Violated > 0, Failed: t.LostRuns > 0, Unrepeatable: t.Unrepeatable > 0, Once: t.Once}
	s.Violated = s.Violated || slices.ContainsFunc(t.Unsteady, (*Unsteady).Confirmed)
	for _, c := range t.Committed {
		switch c.Standing {
		case StillFails:
			s.Violated = true
		case Varies:
			s.Unrepeatable = true
		case Unplayed:
			s.Unknown = append(s.Unknown, fmt.Sprintf("%s was not replayed: %s", c.File, c.Reason))
		case Stale:
			s.Unknown = append(s.Unknown, fmt.Sprintf("%s is stale: %s; remove the file if the bug is fixed, or replace it with a new failure",
				c.File, c.Reason))
		}
	}
	var judged []string
	for _, p := range t.Properties {
		judged = append(judged, p.Property)
	}
	if t.Runs == 0 && !s.Violated && len(t.Baseline.Unknown) == 0 {
		s.Unknown = append(s.Unknown, "no run was finished")
	} else if reason := check.Unjudged(spec, judged); reason != "" {
		s.Unknown = append(s.Unknown, reason)
	} else if !check.Promised(spec, judged) && !slices.ContainsFunc(spec.Workloads, func(w world.Workload) bool { return w.Driver == "composer" }) {
		s.Notices = append(s.Notices, "no property checks the results of operations; only crashes were checked")
	}
	s.Unknown = append(s.Unknown, t.unjudged()...)
	s.Notices = append(s.Notices, t.idle()...)
	if m := t.Mistake; m != "" && !slices.ContainsFunc(s.Unknown, func(u string) bool { return strings.Contains(u, m) }) {
		s.Unknown = append(s.Unknown, "a world reported a step that its model does not have: "+m)
	}
	if useless := t.Guide.Useless(); useless != "" {
		s.Unknown = append(s.Unknown, useless)
	} else if g := t.Guide; g != nil && g.Left+g.Failed > 0 {
		s.Notices = append(s.Notices, fmt.Sprintf("the model that guides the search was not followed to the end in %d of %s; the first: %s: %s",
			g.Left+g.Failed, plural.Count(g.Runs, "run"), g.Run, g.Reason))
	}
	for _, p := range t.Properties {
		if text := p.InPart(); text != "" {
			s.Notices = append(s.Notices, text)
		}
		if p.Never() {
			s.Unknown = append(s.Unknown, fmt.Sprintf("%s: not in any of %s: %s", p.Property, plural.Count(t.Runs, "run"), p.Reason))
		}
	}
	if spec.Faults.Enabled && t.Runs > 0 && t.Violated == 0 && t.Mistake == "" {
		t.judgeFaults(spec, &s)
	}
	s.require(spec, &t.Evidence)
	unmatched, notices := t.unmatched(spec)
	s.Unknown, s.Notices = append(s.Unknown, unmatched...), append(s.Notices, notices...)
	s.Notices = append(s.Notices, t.Replaced...)
	s.Unknown = append(s.Unknown, t.Baseline.Unknown...)
	s.Unknown = append(s.Unknown, t.Search.Unknown...)
	if t.Stopped == Interrupted {
		s.Unknown = append(s.Unknown, "the campaign was interrupted")
	}
	s.Cheaper = t.Cheaper(spec)
	return s
}

// judgeFaults is the judgement that only a campaign as a whole allows. It is unknown if no operation met a fault, if a kind that the user
// named was never delivered, or if one that the Spec requires was never observed by a program under test. Kinds that a preset
// added and that were never delivered are listed as not tested.
func (t *Totals) judgeFaults(spec *world.Spec, s *Status) {
	missing, unseen := check.Untested(spec, []fault.Ledger{t.Faults})
	for _, reason := range missing {
		why := "a kind that the configuration names must be delivered"
		if slices.ContainsFunc(spec.Faults.Require, func(kind world.FaultKind) bool { return strings.HasPrefix(reason, string(kind)+" ") }) {
			why = "faults.require_observed requires it"
		}
		s.Unknown = append(s.Unknown, "fault "+reason+" ("+why+")")
	}
	noneObserved := !slices.ContainsFunc(t.Faults.Entries, func(e fault.Entry) bool { return e.Observed > 0 })
	for _, reason := range unseen {
		if noneObserved {
			s.Unknown = append(s.Unknown, "fault "+reason+" (no fault of any kind was observed, so nothing ran under faults)")
			continue
		}
		s.Notices = append(s.Notices, "fault "+reason+" (list it in faults.require_observed to make the verdict unknown)")
	}
	missed, remedy := check.Missed(spec, &t.Evidence)
	for _, kind := range missed {
		if named(spec, kind) {
			s.Unknown = append(s.Unknown, "fault "+string(kind)+" was never injected between the first operation and the last; "+remedy)
		}
	}
	for i := range spec.Properties {
		p := &spec.Properties[i]
		k := slices.IndexFunc(t.Properties, func(o PropertyTotal) bool { return o.Property == p.Name })
		if p.Tolerant() && k >= 0 && t.Properties[k].Holds > 0 && t.Properties[k].Withstood == 0 {
			s.Notices = append(s.Notices, p.Name+": the property never had to hold during a fault, so `while` and `despite` made no difference; "+
				"make faults last longer, or make them rarer")
		}
	}
	for _, reason := range check.Unhandled(spec, &t.Faults) {
		s.Unknown = append(s.Unknown, "fault "+reason+" (faults.handling requires it)")
	}
	delivered, preset := uint64(0), 0
	var untested, rare []string
	for _, e := range t.Faults.Entries {
		delivered += e.Delivered
		if e.Delivered > 0 && e.Delivered < rareDelivered && t.Runs >= rareRuns {
			rare = append(rare, fmt.Sprintf("%s (%d)", e.Kind, e.Delivered))
		}
		if named(spec, e.Kind) {
			continue
		}
		preset++
		switch {
		case e.Observed > 0:
		case e.Delivered == 0:
			untested = append(untested, fmt.Sprintf("%s (planned %s%s)", e.Kind, plural.Count(e.Planned, "time"), e.Unseen()))
		default:
			s.Notices = append(s.Notices, fmt.Sprintf("fault %s of the preset was planned %s, delivered %s and never observed%s",
				e.Kind, plural.Count(e.Planned, "time"), plural.Count(e.Delivered, "time"), e.Unseen()))
		}
	}
	met := t.Evidence.Faults()
	switch {
	case delivered == 0 && preset > 0 && check.JudgesOperations(spec):
		s.Unknown = append(s.Unknown, fmt.Sprintf("no fault was injected in any of %s, although %s requests "+
			"faults; lengthen the workload, or run more tapes",
			plural.Count(t.Runs, "run"), asking(spec)))
	case len(untested) > 0:
		s.Notices = append(s.Notices, "not tested: kinds of faults of the preset that were never delivered: "+strings.Join(untested, ", "))
	}
	if delivered > 0 && met.Faults == 0 && t.Evidence.Rates == 0 && check.JudgesOperations(spec) {
		s.Unknown = append(s.Unknown, fmt.Sprintf("no run of %d had both operations and faults: %s %s "+
			"delivered in runs without operations; %s",
			t.Runs, plural.Count(delivered, "fault"), plural.Verb(delivered, "was", "were"), check.Meeting(spec)))
	}
	if len(rare) > 0 {
		s.Notices = append(s.Notices, fmt.Sprintf("these kinds of faults were hardly ever delivered in %s: %s; run more tapes "+
			"(--seeds), or write a rule with a higher rate", plural.Count(t.Runs, "run"), strings.Join(rare, ", ")))
	}
}

// A kind of fault is rare if a campaign of at least rareRuns delivers fewer than rareDelivered of it.
const rareRuns, rareDelivered = 20, 3

// asking names the place that asks for kinds of faults that the user has not named: the world itself, or `faults.mode`.
func asking(spec *world.Spec) string {
	if spec.Engine == world.InProcess {
		return "the world"
	}
	return "`faults.mode: " + spec.Faults.Mode + "`"
}

// named reports whether the user has asked for a kind of fault, and not a preset alone.
func named(spec *world.Spec, kind world.FaultKind) bool {
	return slices.Contains(spec.Faults.Require, kind) || slices.ContainsFunc(spec.Faults.Rules,
		func(r world.FaultRule) bool { return r.ByUser && r.RatePPM > 0 && r.Kind == kind })
}
