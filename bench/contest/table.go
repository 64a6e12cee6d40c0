package main

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
)

// tableText is a Markdown table with a row for each bug and a column for each strategy: the median time and runs until the first violation, and how many
// trials found one.
func tableText(s *comparison.Settings, rows []comparison.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| bug | %s |\n|---|%s\n", strings.Join(s.Strategies, " | "), strings.Repeat("---|", len(s.Strategies)))
	for _, bug := range s.Bugs {
		fmt.Fprintf(&b, "| `%s` |", bug.Name)
		for _, strategy := range s.Strategies {
			cell := " not tried |"
			for _, r := range rows {
				if r.Bug == bug.Name && r.Strategy == strategy {
					cell = " " + cellText(s, &r) + " |"
				}
			}
			b.WriteString(cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func cellText(s *comparison.Settings, r *comparison.Row) string {
	switch {
	case r.CutOff > 0:
		return fmt.Sprintf("unknown: %d trials cut off", r.CutOff)
	case r.Trials == 0:
		return "not tried"
	case r.Runs.Median == nil:
		return fmt.Sprintf("> %d runs, %d of %d", s.Runs, r.Found, r.Trials)
	}
	return fmt.Sprintf("%.3g s, %.4g runs, %d of %d", *r.Seconds.Median, *r.Runs.Median, r.Found, r.Trials)
}
