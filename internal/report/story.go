package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Bounds of a story, so that a person reads it to its end.
const (
	StoryLogNs         = 2_000_000_000 // virtual time of the logs before and after the violation
	StoryLinesBefore   = 30
	StoryLinesAfter    = 10
	StoryLinesFault    = 5 // after the begin of each fault that lies before that
	StoryLineRunes     = 160
	StoryDecisions     = 12
	StoryInjections    = 20
	StoryEvidenceLines = 40
	StoryUnusual       = 10 // lines of logs that other runs do not have
	StoryChanges       = 6  // of files, before and after each fault and within each operation
	StoryRemovals      = 18 // of names, for each node
	StoryOperations    = 8  // that the evidence names
)

// StoryOf is the input of a violation's story.
type StoryOf struct {
	Spec    *world.Spec
	Outcome *check.Judged
	Verdict check.Verdict
	failure.Failure
	File   string // of the failure; empty if it could not be stored
	Replay string // the command that makes the run again
	// Found means that this is the run as it was found, although Replay makes a smaller one.
	Found bool
	// Shrunk means that this is the smallest run of its failure, and how it came about.
	Shrunk *shrink.Shrunk
	// Background describes other runs of the world; nil if nothing is known of any.
	Background *explore.Background
}

// Story prints a violation: the property, what was observed, the logs of all nodes and the faults around it in
// virtual time, on which tape, and how to replay it.
func Story(w io.Writer, s StoryOf) error {
	var b strings.Builder
	v := s.Verdict
	fmt.Fprintf(&b, "violated: %s (%s)\n", v.Property, v.Kind)
	fmt.Fprintf(&b, "  expected  %s\n", promise(&s, v))
	fmt.Fprintf(&b, "  observed  %s\n", failure.Headline(v.Reason))
	if v.Event > 0 || v.TimeNs > 0 {
		fmt.Fprintf(&b, "            at %s of virtual time, event %d of %d\n", Seconds(v.TimeNs), v.Event, s.Outcome.Events)
	}
	programsStory(&b, s.Spec)
	disksStory(&b, &s)
	if len(v.Evidence) > 0 {
		b.WriteString("\nevidence\n")
		for i, line := range v.Evidence {
			if i == StoryEvidenceLines {
				fmt.Fprintf(&b, "  ... and %d more\n", len(v.Evidence)-i)
				break
			}
			fmt.Fprintf(&b, "  %s\n", clip(line))
		}
	}
	designStory(&b, &s)
	failedStory(&b, &s)
	unusual := unusualLines(&s)
	unusualStory(&b, &s, unusual)
	crashStory(&b, &s)
	timeline(&b, &s, unusual)
	replicasStory(&b, &s)
	blameStory(&b, &s)
	if !s.Outcome.Repeat.Once { // another run has other moments
		momentsStory(&b, &s)
	}
	ledger(&b, &s.Outcome.Ledger, true)
	fmt.Fprintf(&b, "\ntape\n  %s", s.Outcome.Tape.Name())
	fmt.Fprintf(&b, ", %s that were not the default, trace hash %s\n", plural.Count(len(s.Outcome.Decisions), "decision"), s.Outcome.Hash)
	decisions(&b, &s)
	if s.Shrunk != nil {
		b.WriteString("\n" + Shrunk(s.Shrunk))
	}
	if s.Outcome.Repeat.Once {
		b.WriteString("\nobserved once: no run of this engine repeats. Its tape, on the native engine:\n")
	} else {
		b.WriteString("\nreplay\n")
	}
	if s.File != "" {
		fmt.Fprintf(&b, "  %s\n  (stored in %s)\n", s.Replay, s.File)
	} else {
		fmt.Fprintf(&b, "  %s\n", s.Replay)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// programsStory says what the nodes under test run, in a line for those that run the same.
func programsStory(b *strings.Builder, spec *world.Spec) {
	head := "programs"
	told := map[string]bool{}
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		if told[n.Name] || n.Role != world.Server || len(n.Command) == 0 {
			continue
		}
		names := []string{n.Name}
		for _, group := range replicas(spec) {
			if slices.Contains(group, n.Name) {
				names = group
			}
		}
		for _, name := range names {
			told[name] = true
		}
		program := strings.Join(append([]string{filepath.Base(n.Command[0])}, n.Command[1:]...), " ")
		fmt.Fprintf(b, "  %-9s %s: %s\n", head, strings.Join(names, ", "), clip(program))
		head = ""
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Expected says what a property of a Spec promises, for a verdict whose run is not at hand.
func Expected(spec *world.Spec, v check.Verdict) string {
	return promise(&StoryOf{Spec: spec, Outcome: &check.Judged{}}, v)
}

// promise says what a property promises: in the user's words, or else from its check.
func promise(s *StoryOf, v check.Verdict) string {
	for _, p := range s.Spec.Properties {
		if p.Name != v.Property {
			continue
		}
		if p.Description != "" {
			return p.Description
		}
		text := check.Promise(&p.Check)
		if p.TimeoutNs > 0 {
			text += " within " + Seconds(p.TimeoutNs) + " of the start and of each heal"
		}
		return text
	}
	if want, message, ok := strings.Cut(v.Property, ": "); ok {
		for _, a := range s.Outcome.SDK.Assertions {
			if a.Wants() == want && a.Message == message {
				return "what a program asserts (" + want + "): " + message
			}
		}
	}
	return "no program under test crashes, panics or ends unexpectedly"
}

// untilEnd reports whether a fault lasts until the end of chaos.
func untilEnd(f fault.Injection) bool { return fault.Known(f.Kind) && fault.RowOf(f.Kind).UntilEnd }

// causes are the faults that may have led to a violation: all, if there are no more than limit, or else the nearest ones, those first that
// a program has seen. Those that began after it are none. A fault that lasts until the end of chaos, such as a jump of a clock, is as near as its begin: it
// did what it does then.
func causes(o *check.Judged, atNs int64, limit int) (list []fault.Injection, left int) {
	keep := nearest[fault.Injection]{limit: limit}
	for i, f := range o.Ledger.Injections {
		if f.StartNs > atNs {
			continue
		}
		distance := max(atNs-f.EndNs, 0)
		if untilEnd(f) {
			distance = atNs - f.StartNs
		}
		if f.Observed == 0 {
			distance += 1 << 61
		}
		keep.add(f, uint64(i), distance)
	}
	return keep.list()
}

func seen(f fault.Injection) string {
	if f.Observed == 0 {
		return ""
	}
	return fmt.Sprintf(" (first seen by a program at event %d)", f.Observed)
}

// ledger prints what became of the faults of one run, or, without its derived rules, of a campaign.
func ledger(b *strings.Builder, l *fault.Ledger, derived bool) {
	if len(l.Entries) == 0 {
		return
	}
	b.WriteString("\nfaults                     planned  delivered   observed\n")
	for _, e := range l.Entries {
		fmt.Fprintf(b, "  %-22s %9d  %9d  %9d\n", e.Kind, e.Planned, e.Delivered, e.Observed)
		if why := e.Awaits(); why != "" {
			fmt.Fprintf(b, "    %s\n", why)
		}
		for i := range l.Rules {
			if r := &l.Rules[i]; r.Kind == e.Kind && (derived || !r.Derived) {
				fmt.Fprintf(b, "    %9d %9d  %9d   %s\n", r.Planned, r.Delivered, r.Observed, clip(r.Text))
				if why := r.Awaits(); why != "" && e.Awaits() == "" {
					fmt.Fprintf(b, "      %s\n", why)
				}
			}
		}
	}
}

// decisions shows those that a person can follow, with the times at which they were made: of a run that was shrunk all, since nothing
// else is left in it that chance has decided, and of another one the faults.
func decisions(b *strings.Builder, s *StoryOf) {
	shown, switches := 0, SwitchesOf(s.Outcome)
	for i, d := range s.Outcome.Decisions {
		if s.Shrunk == nil && !strings.HasPrefix(d.Stream, "fault/") {
			continue
		}
		if shown++; shown > StoryDecisions {
			b.WriteString("  ...\n")
			return
		}
		fmt.Fprintf(b, "  %s%s: draw %d is %d of %d\n", decidedAt(s.Outcome, i), d.Stream, d.Index, d.Value, d.N)
		if what := switches.Says(i); what != "" {
			fmt.Fprintf(b, "  %*s  %s\n", len(decidedAt(s.Outcome, i)), "", what)
		}
	}
}

// decidedAt is when a decision was made, with spaces behind it; nothing where that is not known.
func decidedAt(o *check.Judged, i int) string {
	if len(o.DecisionsNs) != len(o.Decisions) {
		return ""
	}
	return fmt.Sprintf("%14s  ", Seconds(o.DecisionsNs[i]))
}

// clip makes one printable line of bounded length of a text that a program wrote. A long one loses its middle.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			return ' '
		}
		return r
	}, text)
	if r := []rune(text); len(r) > StoryLineRunes {
		const head = StoryLineRunes * 2 / 3
		return string(r[:head]) + " ... " + string(r[len(r)-(StoryLineRunes-head):])
	}
	return text
}
