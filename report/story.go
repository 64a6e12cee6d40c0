package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/fault"
	"github.com/bloodhound-dst/bloodhound/shrink"
	"github.com/bloodhound-dst/bloodhound/tape"
	"github.com/bloodhound-dst/bloodhound/world"
)

// Bounds of a story, so that a person reads it to its end.
const (
	StoryLogNs         = 2_000_000_000 // virtual time of the logs before and after the violation
	StoryLinesBefore   = 30
	StoryLinesAfter    = 10
	StoryLineRunes     = 160
	StoryDecisions     = 12
	StoryStrikes       = 20
	StoryEvidenceLines = 40
)

// StoryOf is what the story of a violation is told from.
type StoryOf struct {
	Spec    *world.Spec
	Outcome *engine.Outcome
	Verdict engine.Verdict
	ID      string // of the failure
	File    string // of the failure; empty if it could not be stored
	Replay  string // the command that makes the run again
	// Shrunk tells that this is the smallest run of its failure, and how it came about.
	Shrunk *shrink.Shrunk
}

// Story tells a violation: what was promised, what happened, the logs of all nodes and the faults around it in
// virtual time, on which tape, and how to replay it.
func Story(w io.Writer, s StoryOf) error {
	var b strings.Builder
	v := s.Verdict
	fmt.Fprintf(&b, "violated: %s (%s)\n", v.Property, v.Kind)
	fmt.Fprintf(&b, "  promised  %s\n", promise(&s, v))
	fmt.Fprintf(&b, "  happened  %s\n", orElse(v.Reason, "see the evidence"))
	if v.Event > 0 || v.TimeNs > 0 {
		fmt.Fprintf(&b, "            at %s of virtual time, event %d of %d\n", Seconds(v.TimeNs), v.Event, s.Outcome.Events)
	}
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
	timeline(&b, &s)
	ledger(&b, &s.Outcome.Ledger)
	fmt.Fprintf(&b, "\ntape\n  %s", s.Outcome.Tape.Name())
	fmt.Fprintf(&b, ", %d decisions that were not the default, trace hash %s\n", len(s.Outcome.Decisions), s.Outcome.Hash)
	decisions(&b, s.Outcome.Decisions)
	if s.Shrunk != nil {
		b.WriteString("\n" + Shrunk(s.Shrunk))
	}
	b.WriteString("\nreplay\n")
	if s.File != "" {
		fmt.Fprintf(&b, "  %s\n  (stored in %s)\n", s.Replay, s.File)
	} else {
		fmt.Fprintf(&b, "  %s\n", s.Replay)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// promise says what a property promises: in the user's words, or else from its check.
func promise(s *StoryOf, v engine.Verdict) string {
	for _, p := range s.Spec.Properties {
		if p.Name != v.Property {
			continue
		}
		if p.Description != "" {
			return p.Description
		}
		text := ""
		switch p.Check.Type {
		case world.Linearizability:
			text = "the " + strings.TrimSpace("operations "+strings.Join(p.Check.Operations, ", ")) + " behave as if each took effect at one moment between its call and its return"
		case world.HTTPCheck:
			text = fmt.Sprintf("%s answers with status %d", p.Check.Endpoint, p.Check.ExpectStatus)
		case world.RedisCheck:
			text = fmt.Sprintf("%s answers %s with %q", p.Check.Endpoint, strings.Join(p.Check.Command, " "), p.Check.Expect)
		case world.Custom:
			text = strings.Join(p.Check.Script, " ") + " ends with exit code 0"
		case world.SQLCheck:
			text = p.Check.Query + " succeeds"
			if p.Check.Expect != "" {
				text = p.Check.Query + " gives " + strconv.Quote(p.Check.Expect)
			}
		case world.ProgressCheck:
			text = "nothing is stuck: no kind of operation, key or job"
		case world.RecoveryCheck:
			text = "what was done before works again"
		case world.Agreement:
			text = strings.Join(p.Check.Nodes, ", ") + " give the same answer"
		case world.Expression, world.InvariantCheck:
			text = p.Check.Condition
		default:
			text = "the check " + string(p.Check.Type) + " passes"
		}
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

// entry is a line of the timeline; ties keep the order in which lines were added.
type entry struct {
	atNs int64
	text string
}

// timeline interleaves logs of all nodes, faults and the violation itself in virtual time.
func timeline(b *strings.Builder, s *StoryOf) {
	at := s.Verdict.TimeNs
	if at == 0 {
		at = s.Outcome.VirtualNs
	}
	var before, after []engine.LogLine
	for _, l := range s.Outcome.Log {
		switch {
		case l.TimeNs < at-StoryLogNs || l.TimeNs > at+StoryLogNs:
		case l.Event <= s.Verdict.Event || s.Verdict.Event == 0 && l.TimeNs <= at:
			before = append(before, l)
		case len(after) < StoryLinesAfter:
			after = append(after, l)
		}
	}
	skipped := max(len(before)-StoryLinesBefore, 0)
	before = before[skipped:]
	from := at - StoryLogNs
	if skipped > 0 {
		from = before[0].TimeNs
	}
	to := at
	var entries []entry
	add := func(l engine.LogLine) {
		entries = append(entries, entry{l.TimeNs, fmt.Sprintf("%-10s %s", l.Node, clip(l.Text))})
		to = max(to, l.TimeNs)
	}
	for _, l := range before {
		add(l)
	}
	entries = append(entries, entry{at, fmt.Sprintf("%-10s %s", "=======>", s.Verdict.Property+" is violated")})
	for _, l := range after {
		add(l)
	}
	// A fault that began before the window and reaches into it is told at its true time.
	strikes := 0
	for _, f := range s.Outcome.Ledger.Strikes {
		if f.EndNs < from || f.StartNs > to {
			continue
		}
		if strikes++; strikes > StoryStrikes {
			break
		}
		entries = append(entries, entry{f.StartNs, fmt.Sprintf("%-10s %s %s begins%s", "fault", f.Kind, f.Target, seen(f))})
		if f.EndNs <= to {
			entries = append(entries, entry{f.EndNs, fmt.Sprintf("%-10s %s %s ends", "fault", f.Kind, f.Target)})
		}
	}
	slices.SortStableFunc(entries, func(x, y entry) int {
		switch {
		case x.atNs < y.atNs:
			return -1
		case x.atNs > y.atNs:
			return 1
		}
		return 0
	})
	b.WriteString("\nlogs and faults around it, in virtual time\n")
	if skipped > 0 {
		fmt.Fprintf(b, "  (%d earlier lines are left out)\n", skipped)
	}
	for _, e := range entries {
		fmt.Fprintf(b, "  %14s  %s\n", Seconds(e.atNs), e.text)
	}
}

func seen(f fault.Strike) string {
	if f.Observed == 0 {
		return ""
	}
	return fmt.Sprintf(" (first seen by a program at event %d)", f.Observed)
}

func ledger(b *strings.Builder, l *fault.Ledger) {
	if len(l.Entries) == 0 {
		return
	}
	b.WriteString("\nfaults                     planned  delivered   observed\n")
	for _, e := range l.Entries {
		fmt.Fprintf(b, "  %-22s %9d  %9d  %9d\n", e.Kind, e.Planned, e.Delivered, e.Observed)
		for i := range l.Rules {
			if r := &l.Rules[i]; r.Kind == e.Kind {
				fmt.Fprintf(b, "    %9d %9d  %9d   %s\n", r.Planned, r.Delivered, r.Observed, clip(r.Text))
			}
		}
	}
}

// decisions shows the faults among the decisions first: they are what a person can follow.
func decisions(b *strings.Builder, list []tape.Decision) {
	shown := 0
	for _, d := range list {
		if !strings.HasPrefix(d.Stream, "fault/") {
			continue
		}
		if shown++; shown > StoryDecisions {
			b.WriteString("  ...\n")
			return
		}
		fmt.Fprintf(b, "  %s: draw %d is %d of %d\n", d.Stream, d.Index, d.Value, d.N)
	}
}

// clip makes one printable line of bounded length of a text that a program wrote.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			return ' '
		}
		return r
	}, text)
	if r := []rune(text); len(r) > StoryLineRunes {
		return string(r[:StoryLineRunes]) + "..."
	}
	return text
}
