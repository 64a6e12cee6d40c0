package report

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/shrink"
)

// Shrunk tells what shrinking came to: the sizes before and after, and whether the result is 1-minimal.
func Shrunk(s *shrink.Shrunk) string {
	var b strings.Builder
	fmt.Fprintf(&b, "shrunk in %d runs: %s\n", s.Runs, ShrunkEnd(s))
	for _, row := range ShrunkSizes(s) {
		fmt.Fprintf(&b, "  %-12s %12s -> %s\n", row.What, row.From, row.To)
	}
	return b.String()
}

// ShrunkEnd says whether the smallest run is 1-minimal.
func ShrunkEnd(s *shrink.Shrunk) string {
	if s.Minimal {
		return "1-minimal (without any one of its decisions the failure is gone)"
	}
	return "not proven to be 1-minimal: " + s.End
}

// ShrunkSize is one measure of a run before and after.
type ShrunkSize struct{ What, From, To string }

// ShrunkSizes lists the measures of a run before and after.
func ShrunkSizes(s *shrink.Shrunk) []ShrunkSize {
	a, b := s.From, s.To
	row := func(what string, from, to any) ShrunkSize { return ShrunkSize{what, fmt.Sprint(from), fmt.Sprint(to)} }
	return []ShrunkSize{row("faults", a.Faults, b.Faults), row("operations", a.Operations, b.Operations), row("clients", a.Clients, b.Clients),
		row("decisions", a.Decisions, b.Decisions), row("nodes", a.Nodes, b.Nodes), row("events", a.Events, b.Events),
		row("virtual time", Seconds(a.VirtualNs), Seconds(b.VirtualNs))}
}

// shrunkShort is the same in a few words.
func shrunkShort(s *shrink.Shrunk) string {
	text := fmt.Sprintf("shrunk: faults %d -> %d, operations %d -> %d, decisions %d -> %d", s.From.Faults, s.To.Faults,
		s.From.Operations, s.To.Operations, s.From.Decisions, s.To.Decisions)
	if !s.Minimal {
		text += "; " + s.End
	}
	return text
}
