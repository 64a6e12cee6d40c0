package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
)

// Shrunk says what shrinking came to: the sizes before and after, and whether the result is 1-minimal.
func Shrunk(s *shrink.Shrunk) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", ShrunkHead(s))
	for _, row := range ShrunkSizes(s) {
		fmt.Fprintf(&b, "  %-12s %12s -> %s\n", row.What, row.From, row.To)
	}
	return b.String()
}

// needed says that a run is 1-minimal.
const needed = "removing any one decision makes the failure disappear"

// ShrunkHead says what shrinking came to in a line.
func ShrunkHead(s *shrink.Shrunk) string { return shrunkHead(s, "1-minimal ("+needed+")") }

// ShrunkPlain is ShrunkHead for pages, without the word 1-minimal.
func ShrunkPlain(s *shrink.Shrunk) string { return shrunkHead(s, needed) }

func shrunkHead(s *shrink.Shrunk, minimal string) string {
	end := minimal
	if !s.Minimal {
		end = shrunkEnd(s)
	}
	if s.From == s.To {
		return fmt.Sprintf("no smaller run was found after %s: %s", plural.Count(s.Runs, "run"), end)
	}
	return fmt.Sprintf("shrunk in %s: %s", plural.Count(s.Runs, "run"), end)
}

// shrunkEnd says how far the smallest run is known to be minimal.
func shrunkEnd(s *shrink.Shrunk) string {
	end := fmt.Sprintf("stopped before it was proven minimal (%s)", s.End)
	if n := s.To.Decisions; n > 0 {
		end += fmt.Sprintf("; %d of its %s are known to be needed", s.Needed, plural.Count(n, "decision"))
	}
	return end
}

// ShrunkSize is one measure of a run before and after.
type ShrunkSize struct{ What, From, To string }

// essential are the measures that say what a failure consists of. They are listed also if shrinking has not changed them.
var essential = []string{"faults", "operations", "decisions"}

// ShrunkSizes lists the measures of a run before and after, without those of what the run never had. There are none if nothing could be
// taken away.
func ShrunkSizes(s *shrink.Shrunk) (rows []ShrunkSize) {
	a, b := s.From, s.To
	if a == b {
		return nil
	}
	row := func(what string, from, to any) {
		if r := (ShrunkSize{what, fmt.Sprint(from), fmt.Sprint(to)}); (r.From != "0" || r.To != "0") && (r.From != r.To || slices.Contains(essential, what)) {
			rows = append(rows, r)
		}
	}
	row("faults", a.Faults, b.Faults)
	row("operations", a.Operations, b.Operations)
	row("clients", a.Clients, b.Clients)
	row("decisions", a.Decisions, b.Decisions)
	row("nodes", a.Nodes, b.Nodes)
	row("events", a.Events, b.Events)
	row("virtual time", Seconds(a.VirtualNs), Seconds(b.VirtualNs))
	return rows
}

// shrunkShort is the same in a few words.
func shrunkShort(s *shrink.Shrunk) string {
	var parts []string
	for _, row := range ShrunkSizes(s) {
		if slices.Contains(essential, row.What) {
			parts = append(parts, row.What+" "+row.From+" -> "+row.To)
		}
	}
	text := "shrunk: " + strings.Join(parts, ", ")
	if len(parts) == 0 {
		text = "no smaller run was found"
	}
	if !s.Minimal {
		text += "; " + s.End
	}
	return text
}
