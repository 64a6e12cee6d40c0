package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
)

// Reached prints what a run has reached, by domain and text, and how near it came to what it did not.
func Reached(w io.Writer, features []coverage.Feature, near []coverage.Nearness) error {
	b := bufio.NewWriter(w)
	list := slices.Clone(features)
	slices.SortFunc(list, func(a, b coverage.Feature) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Text, b.Text))
	})
	b.WriteString("\nreached\n")
	for i := range list {
		text := list[i].Text
		if text == "" {
			text = fmt.Sprintf("%016x", list[i].ID)
		}
		fmt.Fprintf(b, "  %-10s  %s\n", list[i].Domain, Visible(text, maxReachedText))
	}
	if len(list) == 0 {
		b.WriteString("  nothing\n")
	}
	if len(near) > 0 {
		b.WriteString("\nnear\n")
		for _, n := range near {
			fmt.Fprintf(b, "  %.4f  %s: %s\n", n.Distance, n.Name, Visible(n.Says, maxReachedText))
		}
	}
	return b.Flush()
}

const maxReachedText = 300
