package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// byDesign reports whether a Spec allows a program to end as it did.
func byDesign(spec *world.Spec, c *record.Crash) bool {
	if spec == nil || c.Refusal != nil || c.Kind == "sanitizer" {
		return false
	}
	allows := func(a world.Allowance) bool { return allowed(&a, c) }
	if slices.ContainsFunc(spec.Allow, allows) {
		return true
	}
	at := slices.IndexFunc(spec.Nodes, func(n world.Node) bool { return n.Name == c.Node })
	return at >= 0 && slices.ContainsFunc(spec.Nodes[at].Allow, allows)
}

func allowed(a *world.Allowance, c *record.Crash) bool {
	broken := slices.IndexFunc(builtin, func(b promise) bool { return b.kind == c.Kind })
	if a.Property != "" && (broken < 0 || builtin[broken].property != a.Property) {
		return false
	}
	suffered := func(kind world.FaultKind) bool { return slices.Contains(c.During, kind) }
	switch {
	case len(a.Exit) > 0 && !slices.Contains(a.Exit, exitCode(c)):
		return false
	case len(a.Exit) == 0 && c.Signal != "" && c.Signal != "SIGABRT":
		return false
	case a.Panic == "" && c.Kind == "panic":
		return false
	case len(a.While) > 0 && !slices.ContainsFunc(a.While, suffered):
		return false
	case a.Panic == "":
		return len(a.Exit) > 0
	}
	text, err := regexp.Compile(a.Panic)
	return err == nil && slices.ContainsFunc(c.Lines, text.MatchString)
}

// exitCode is the code of an end as a shell shows it: of a signal, 128 and its number.
func exitCode(c *record.Crash) int {
	if c.Signal != "" {
		return 128 + world.SignalNumber(c.Signal)
	}
	return c.ExitCode
}

// stops are the ends of main processes that a Spec allows.
type stops []record.Crash

func stopsByDesign(spec *world.Spec, out *record.Outcome) (list stops) {
	for i := range out.Crashes {
		if c := &out.Crashes[i]; c.Main && byDesign(spec, c) {
			list = append(list, *c)
		}
	}
	return list
}

// stopID is the ID of what stands for such an end in a ledger. Faults count from 1.
const stopID = 0

// asFaults is an outcome in which a node that had stopped and was started again had a crash meanwhile: as after one,
// what was under way does not count.
func (l stops) asFaults(out *record.Outcome) *record.Outcome {
	var list []fault.Injection
	for i := range l {
		if c := &l[i]; c.UpNs > 0 {
			list = append(list, fault.Injection{ID: stopID, Kind: fault.Crash, Target: c.Node, Node: c.Node, Event: c.Event,
				StartNs: c.TimeNs, EndNs: c.UpNs})
		}
	}
	if len(list) == 0 {
		return out
	}
	seen := *out
	seen.Ledger.Injections = append(slices.Clone(out.Ledger.Injections), list...)
	byStart := func(a, b fault.Injection) int { return cmp.Compare(a.StartNs, b.StartNs) }
	slices.SortStableFunc(seen.Ledger.Injections, byStart)
	return &seen
}

// excuse takes back a violation of a property that waits for something, since a node that had stopped was not started
// again.
func (l stops) excuse(p *world.Property, v Verdict) Verdict {
	if v.Status != Violated || !p.Waits() {
		return v
	}
	for i := range l {
		c := &l[i]
		if c.UpNs > 0 || v.TimeNs != 0 && v.TimeNs < c.TimeNs {
			continue
		}
		const why = "%s ended with %s at %s, which its configuration allows, and nothing started it again; " +
			"give it `restart: on-failure`. Since then: %s"
		u := verdict.Undecided(p, why, c.Node, ending(c), verdict.Seconds(c.TimeNs), v.Reason)
		u.Probes = v.Probes
		return u
	}
	return v
}

// lacks are the texts of errors by which programs say what they lack.
var lacks = regexp.MustCompile(`(?i)no space left on device|disk quota exceeded|input/output error|` +
	`cannot allocate memory|out of memory|too many open files|read-only file system`)

// maxProposedText bounds the text of a panic that a proposal quotes.
const maxProposedText = 80

// propose gives the Allowance for an end during a fault that kept the program from something, or nil if it ended
// during none.
func propose(c *record.Crash) *Proposal {
	a := world.Allowance{}
	for _, kind := range c.During {
		if fault.Known(kind) && fault.RowOf(kind).Lacks() {
			a.While = append(a.While, kind)
		}
	}
	if len(a.While) == 0 || c.Kind == "sanitizer" || c.Kind == "crash" && c.Signal != "SIGABRT" && c.Signal != "SIGBUS" {
		return nil
	}
	if c.Kind != "panic" {
		a.Exit = []int{exitCode(c)}
	}
	for _, line := range slices.Backward(c.Lines) {
		if a.Panic = lacks.FindString(line); a.Panic != "" {
			break
		}
	}
	if a.Panic == "" && c.Kind == "panic" {
		a.Panic = firstOfPanic(c.Lines)
	}
	if a.Panic == "" && len(a.Exit) == 0 || !allowed(&a, c) {
		return nil
	}
	return &Proposal{Node: c.Node, Kinds: a.While, Line: "allow: " + a.String()}
}

// firstOfPanic is the line of a report of a panic that says what went wrong, as a regular expression.
func firstOfPanic(lines []string) string {
	for _, line := range lines {
		at := strings.Index(line, "panic")
		if at < 0 {
			at = strings.Index(line, "fatal error")
		}
		if at >= 0 {
			text := []rune(line[at:])
			return regexp.QuoteMeta(string(text[:min(len(text), maxProposedText)]))
		}
	}
	return ""
}
