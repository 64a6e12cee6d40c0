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
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/fault"
	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/world"
)

// Judge gives a verdict on each property of the Spec, in its order, and then on those that hold for every program.
func Judge(spec *world.Spec, out *engine.Outcome) []engine.Verdict {
	var verdicts []engine.Verdict
	for i := range spec.Properties {
		verdicts = append(verdicts, judge(spec, &spec.Properties[i], out))
	}
	verdicts = append(verdicts, crashes(out.Crashes)...)
	if reason := doubt(spec, out); reason != "" {
		for i := range verdicts {
			if verdicts[i].Status == engine.Holds {
				verdicts[i].Status, verdicts[i].Reason = engine.Unknown, reason
			}
		}
	}
	return verdicts
}

func judge(spec *world.Spec, p *world.Property, out *engine.Outcome) engine.Verdict {
	switch p.Check.Type {
	case world.Linearizability:
		return linearizable(p, out.History)
	case world.HTTPCheck, world.RedisCheck, world.Custom:
		if p.Kind == world.Liveness {
			return live(p, out)
		}
		return safe(p, out)
	}
	v := verdict(p)
	v.Reason = fmt.Sprintf("a check of type %q is not supported", p.Check.Type)
	return v
}

// verdict is the start of a judgement: nothing is known yet.
func verdict(p *world.Property) engine.Verdict {
	return engine.Verdict{Property: p.Name, Kind: string(p.Kind), Status: engine.Unknown}
}

// doubt is the first reason why this run can prove that nothing holds, or empty.
func doubt(spec *world.Spec, out *engine.Outcome) string {
	if reason := unfinished(spec, out); reason != "" {
		return reason
	}
	if kinds := Unsupported(spec); len(kinds) > 0 {
		return strings.Join(kinds, ", ") + " not supported"
	}
	for _, d := range out.Drivers {
		if d.Signal != "" {
			return fmt.Sprintf("the driver of workload %q was ended by %s at %s", d.Workload, d.Signal, seconds(d.TimeNs))
		}
		if d.ExitCode != 0 {
			return fmt.Sprintf("the driver of workload %q ended with exit code %d at %s", d.Workload, d.ExitCode, seconds(d.TimeNs))
		}
	}
	return idle(spec, out.History)
}

// unfinished says why a run did not go through all its phases, or nothing if it did.
func unfinished(spec *world.Spec, out *engine.Outcome) string {
	detail := ""
	if out.Detail != "" {
		detail = ": " + out.Detail
	}
	switch out.Reason {
	case engine.Finished:
		return ""
	case engine.MaxTime:
		if len(spec.Workloads) == 0 {
			return "" // a world without a workload ends like this
		}
		return fmt.Sprintf("max_time: %s of virtual time were over before the workload and the final checks were; "+
			"raise max_time or shorten the workload", seconds(spec.MaxTimeNs))
	case engine.Limit:
		return "limit" + detail
	case engine.Deadlock:
		return "deadlock" + detail
	case engine.Stopped:
		return "the run was stopped before its end" + detail
	case engine.ReachedUntil:
		return "the run was asked to stop before its end"
	}
	return fmt.Sprintf("the run ended for no known reason (%q)", out.Reason)
}

// idle tells that drivers which report each operation got nothing done. Programs of the user's own need not report.
func idle(spec *world.Spec, events []history.Event) string {
	var names []string
	for _, w := range spec.Workloads {
		if w.Driver != "command" {
			names = append(names, fmt.Sprintf("%q", w.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if len(events) == 0 {
		return "workload " + strings.Join(names, ", ") + " reported no operation"
	}
	if !slices.ContainsFunc(events, func(e history.Event) bool { return e.Type == history.Ok }) {
		return "no operation of workload " + strings.Join(names, ", ") + " succeeded"
	}
	return ""
}

// Unsupported lists the kinds of fault that the Spec asks for, with a rate above 0, and that no engine can make.
func Unsupported(spec *world.Spec) []string {
	var kinds []string
	if !spec.Faults.Enabled {
		return nil
	}
	for _, r := range spec.Faults.Rules {
		if r.RatePPM > 0 && !fault.Supported(fault.Kind(r.Kind)) && !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// Unobserved says for each kind of fault that the user named, or that Require lists, that no run of a campaign showed
// its effect to a program under test. Such a campaign proves nothing about that kind: its verdict is unknown. The
// ledgers are those of its runs, or their sum.
func Unobserved(spec *world.Spec, ledgers []fault.Ledger) []string {
	if !spec.Faults.Enabled {
		return nil
	}
	var sum fault.Ledger
	for i := range ledgers {
		sum.Add(&ledgers[i])
	}
	wanted := slices.Clone(spec.Faults.Require)
	for _, r := range spec.Faults.Rules {
		if r.ByUser && r.RatePPM > 0 {
			wanted = append(wanted, r.Kind)
		}
	}
	var reasons []string
	for i, kind := range wanted {
		if slices.Contains(wanted[:i], kind) {
			continue
		}
		var e fault.Entry
		if k := slices.IndexFunc(sum.Entries, func(e fault.Entry) bool { return string(e.Kind) == kind }); k >= 0 {
			e = sum.Entries[k]
		}
		if e.Observed == 0 {
			reasons = append(reasons, fmt.Sprintf("%s was planned %d times, delivered %d times and never observed", kind,
				e.Planned, e.Delivered))
		}
	}
	return reasons
}
