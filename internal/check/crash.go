package check

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// promise is a property of every program, and the kind of record.Crash that breaks it.
type promise struct{ kind, property string }

var builtin = []promise{
	{"crash", world.NoSignal},
	{"panic", world.NoPanic},
	{"sanitizer", world.NoReport},
	{"exit", world.NoExit},
}

// Promised reports whether anything was judged beside the promises of every program: by a property of the Spec, or by an
// assertion of a program, whose verdict is among those of these names.
func Promised(spec *world.Spec, names []string) bool {
	return len(spec.Properties) > 0 || slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(builtin, func(b promise) bool { return b.property == name })
	})
}

// Unjudged returns why a campaign, or a run, proves nothing, or nothing if it may: programs without a workload, and
// of which nothing is promised, end in peace.
func Unjudged(spec *world.Spec, names []string) string {
	if Promised(spec, names) || len(spec.Workloads) > 0 {
		return ""
	}
	return "only crashes of programs were judged: there is no workload, property or assertion; add one"
}

// crashes judges the properties that need no configuration. The engine lists no crash that a fault made.
func crashes(spec *world.Spec, list []record.Crash) []Verdict {
	list = slices.DeleteFunc(slices.Clone(list), func(c record.Crash) bool { return byDesign(spec, &c) })
	var verdicts []Verdict
	known := map[string]bool{}
	for _, b := range builtin {
		known[b.kind] = true
		verdicts = append(verdicts, crashesOf(b.property, list, func(c record.Crash) bool { return c.Kind == b.kind }))
	}
	// An engine may learn to report kinds that this list does not have; they must not go by unseen.
	if v := crashesOf(world.NoOther, list, func(c record.Crash) bool { return !known[c.Kind] }); v.Status == Violated {
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// ended is the end of a program that nothing explains: what kind of end, on which node, of which program, by which signal.
var ended = failure.Declare("program/ended")

// signalOf is the signal by which a program ended, or the message of its panic, or exit.
func signalOf(c *record.Crash) string {
	if c.Signal != "" {
		return c.Signal
	}
	return "exit"
}

func crashesOf(property string, list []record.Crash, belongs func(record.Crash) bool) Verdict {
	v := Verdict{Property: property, Kind: "safety", Status: Holds}
	count := 0
	for _, c := range list {
		if !belongs(c) {
			continue
		}
		if c.Refusal != nil {
			if v.Status == Holds {
				v.Status, v.Reason, v.Refusal = Unknown, refused(&c), c.Refusal
			}
			continue
		}
		count++
		end := ending(&c)
		if count == 1 {
			v.Violate(c.Event, c.TimeNs,
				ended.Cause(c.Kind, c.Node, c.Program, signalOf(&c)).Claim("%s on %s: %s ended with %s", c.Kind, c.Node, c.Program, end))
			v.Within, v.Refusal = c.Within, nil
			v.Proposal = propose(&c)
		}
		if count > verdict.MaxEvidence {
			continue
		}
		v.Evidence = append(v.Evidence, fmt.Sprintf("%s (event %d) %s: %s, pid %d, ended with %s", verdict.Seconds(c.TimeNs), c.Event,
			c.Node, c.Program, c.PID, end))
		if count == 1 {
			for _, line := range c.Lines {
				v.Evidence = append(v.Evidence, "  "+line)
			}
		}
	}
	if count > verdict.MaxEvidence {
		v.Evidence = append(v.Evidence, fmt.Sprintf("and %d more", count-verdict.MaxEvidence))
	}
	return v
}

// ending is how a program ended, in words.
func ending(c *record.Crash) string {
	if c.Signal != "" {
		return c.Signal
	}
	return fmt.Sprintf("exit code %d", c.ExitCode)
}

// refused says why the end of a program is nothing that it can be blamed for: on Linux its call might have succeeded.
func refused(c *record.Crash) string {
	r := c.Refusal
	call := fmt.Sprintf("its call %s (%s)", r.Call, r.Errno)
	if r.PID != c.PID {
		call = fmt.Sprintf("the call %s (%s) of %s, pid %d, which it waited for", r.Call, r.Errno, r.Program, r.PID)
	}
	return fmt.Sprintf("%s on %s ended with %s because the engine refused %s; %s", c.Program, c.Node, ending(c), call, record.RefusalRemedy())
}

// firstRefused is the first end of a program for a call that the engine refused, or nil.
func firstRefused(list []record.Crash) *record.Crash {
	for i := range list {
		if list[i].Refusal != nil {
			return &list[i]
		}
	}
	return nil
}

// excuse takes back a violation that the end of a program for a refused call may have brought about: that something does not work any more
// since then. What was wrong before, and what a check of safety has found, stays a violation.
func excuse(p *world.Property, v Verdict, left *record.Crash) Verdict {
	if left == nil || v.Status != Violated || !p.Waits() || v.TimeNs != 0 && v.TimeNs < left.TimeNs {
		return v
	}
	u := verdict.Undecided(p, "%s. Since then: %s", refused(left), v.Reason)
	u.Probes, u.Refusal = v.Probes, left.Refusal
	return u
}
