package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// SummaryMoments is the number of kinds of moments that a summary lists.
const SummaryMoments = 16

// hits prints at which moments of the programs faults were injected how often, the most important first; nothing if there was none.
func hits(b *strings.Builder, t *explore.Totals) {
	if len(t.Faults.Hits) == 0 || len(t.Moments) == 0 {
		return
	}
	b.WriteString("\nmoments                                    seen     faults\n")
	missed := 0
	for i, m := range t.Moments {
		total, kinds := uint64(0), []string{}
		for _, h := range t.Faults.Hits {
			if h.Call == m.Call && h.File == m.File {
				total += h.Count
				kinds = append(kinds, fmt.Sprintf("%s %d", h.Kind, h.Count))
			}
		}
		slices.Sort(kinds)
		switch {
		case i < SummaryMoments:
			name := m.Call
			if m.File != "" {
				name += " of " + m.File
			}
			fmt.Fprintf(b, "  %-38s %6d  %9d  %s\n", clip(name), m.Seen, total, strings.Join(kinds, ", "))
		case total == 0:
			missed++
		}
	}
	if n := len(t.Moments) - SummaryMoments; n > 0 {
		fmt.Fprintf(b, "  and %s, %d without a fault (--json has all)\n", plural.Count(n, "further kind"), missed)
	}
}
