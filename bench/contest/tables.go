package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// guideTables are the tables of a comparison of guides.
type guideTables struct {
	Settings    *comparison.Settings
	Rows        []comparison.Row
	Reached     []comparison.Reach
	Rarity      []comparison.Rarity
	Differences []comparison.Difference
	Mutations   []comparison.Changes
	Guides      []comparison.Changes
	Failed      []trial.Trial
	Missing     int           // trials that were not made
	CutOff      int           // trials that the timeout ended
	Hung        []trial.Trial // those of them that it ended outside their campaigns
	Unknown     []trial.Trial // those that found nothing, and could not judge all of their runs
}

// maxListed bounds the trials without a result that are printed one by one.
const maxListed = 10

// table builds a table of Markdown.
type table struct{ strings.Builder }

func (t *table) head(cells ...string) {
	t.row(cells...)
	t.row(slices.Repeat([]string{"---"}, len(cells))...)
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ")
	}
	fmt.Fprintf(t, "| %s |\n", strings.Join(cells, " | "))
}

// markdown has all tables. What was lost comes first.
func (g *guideTables) markdown() string {
	var b table
	s := g.Settings
	limit := ""
	if s.TimeoutNs > 0 {
		limit = fmt.Sprintf(", cut off after %s", time.Duration(s.TimeoutNs))
	}
	fmt.Fprintf(&b, "# What leads a search\n\n%d trials of each strategy and target, campaign seeds %d to %d, at most %d runs "+
		"each%s; a process with one thread for each trial.\nBloodhound %s on %s.\n",
		s.Trials, s.FirstSeed, s.FirstSeed+s.Trials-1, s.Runs, limit, s.Bloodhound, s.Machine)
	g.open(&b)
	g.judged(&b)
	g.first(&b)
	g.rarity(&b)
	g.reached(&b)
	g.differences(&b)
	g.mutations(&b)
	g.mappers(&b)
	g.stories(&b)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// open prints what is not known.
func (g *guideTables) open(b *table) {
	if g.Missing > 0 {
		fmt.Fprintf(b, "\n**%d trials were not made: all that follows is of the others.**\n", g.Missing)
	}
	if g.CutOff > 0 {
		fmt.Fprintf(b, "\n**%d trials were cut off before their last run: what they would have found is unknown.**\n", g.CutOff)
	}
	lines(b, g.Hung)
	if len(g.Unknown) > 0 {
		fmt.Fprintf(b, "\n**%d trials found nothing, and could not judge all of their runs, or were led by a guide of no use:**\n", len(g.Unknown))
		lines(b, g.Unknown)
	}
	for _, r := range g.Reached {
		if r.Violated > 0 {
			fmt.Fprintf(b, "\n**%s, which is called correct, broke a promise in %d of %d trials of %s.**\n", r.Bug, r.Violated, r.Trials, r.Strategy)
		}
	}
	if len(g.Failed) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%d trials say nothing, and are not counted:**\n", len(g.Failed))
	lines(b, g.Failed)
}

// lines prints some trials one by one.
func lines(b *table, list []trial.Trial) {
	for i := range list {
		if i == 0 {
			b.WriteString("\n")
		}
		if i == maxListed {
			fmt.Fprintf(b, "- and %d others\n", len(list)-i)
			break
		}
		fmt.Fprintf(b, "- %s\n", oneLine(trialLine(&list[i])))
	}
}

// maxLine bounds a line about a trial, in runes.
const maxLine = 300

// oneLine is a text that a program wrote as one line of bounded length.
func oneLine(text string) string {
	r := []rune(strings.Join(strings.Fields(report.Printable(text)), " "))
	if len(r) > maxLine {
		r = append(r[:maxLine], '…')
	}
	return string(r)
}

// judged prints which strategies find bugs sooner than random does.
func (g *guideTables) judged(b *table) {
	rows := slices.DeleteFunc(slices.Clone(g.Rows), func(r comparison.Row) bool { return g.variant(r.Bug) })
	judged := comparison.Judged(rows)
	if len(judged) == 0 {
		return
	}
	b.WriteString("\n## Against random, what is lost first\n\nRuns until the first violation. A12 is the probability that a trial " +
		"of the strategy needs fewer runs than one of random (0.5: no difference), p the chance\nof such a difference if there is " +
		"none (two-sided rank-sum test; trials without a find have the worst rank), corrected by Holm's method for all " +
		"comparisons of this report. Variants are compared below. ")
	count, believed := 0, 0
	for _, r := range judged {
		switch r.Against.Says {
		case comparison.Beats, comparison.Loses:
			count, believed = count+1, believed+1
		case comparison.Even:
			count++
		}
	}
	fmt.Fprintf(b, "A difference is believed if\nthe corrected p is below %v: the chance that any of these is by chance is "+
		"smaller than that. Of %d comparisons of runs %d differ. `times` is random's median divided by that of the strategy. Brackets are 95 %% intervals.\n\n",
		comparison.Significant, count, believed)
	b.head("strategy", "says", "bug", "A12", "corrected p", "times")
	for _, r := range judged {
		switch a := r.Against; a.Says {
		case comparison.Unknown, comparison.Few:
			b.row(r.Strategy, a.Says+": "+a.Reason, r.Bug, "", "", "")
		case comparison.Nothing:
			b.row(r.Strategy, a.Says+": no trial of any strategy found it", r.Bug, "", "", "")
		default:
			b.row(r.Strategy, a.Says, r.Bug, fmt.Sprintf("%.2f", a.A12), fmt.Sprintf("%.2g", a.Adjusted), times(a))
		}
	}
	b.WriteString("\n")
	b.head("strategy", "loses in runs", "even", "beats", "shows nothing or unknown", "loses in CPU time", "even", "beats")
	for _, name := range g.Settings.Strategies {
		if name == search.Random {
			continue
		}
		runs, cpu := map[string]int{}, map[string]int{}
		for _, r := range rows {
			if r.Strategy == name && r.Against != nil {
				runs[r.Against.Says]++
			}
			if r.Strategy == name && r.AgainstCPU != nil {
				cpu[r.AgainstCPU.Says]++
			}
		}
		n := func(k int) string { return fmt.Sprint(k) }
		b.row(name, n(runs[comparison.Loses]), n(runs[comparison.Even]), n(runs[comparison.Beats]),
			n(runs[comparison.Nothing]+runs[comparison.Unknown]+runs[comparison.Few]), n(cpu[comparison.Loses]),
			n(cpu[comparison.Even]), n(cpu[comparison.Beats]))
	}
	b.WriteString("\n")
	for _, name := range g.Settings.Strategies {
		some, beats := false, false
		for _, r := range rows {
			if r.Strategy == name && r.Against != nil && r.Against.Says != comparison.Nothing &&
				r.Against.Says != comparison.Unknown && r.Against.Says != comparison.Few {
				some, beats = true, beats || r.Against.Says == comparison.Beats
			}
		}
		if some && !beats {
			fmt.Fprintf(b, "%s does not beat random with any of these bugs.\n", name)
		}
	}
}

// variant reports whether a target is a variant of another one.
func (g *guideTables) variant(name string) bool {
	return slices.ContainsFunc(g.Settings.Bugs, func(t comparison.Bug) bool { return t.Name == name && t.Of != "" })
}

// first is the table of first violations.
func (g *guideTables) first(b *table) {
	if len(g.Rows) == 0 {
		return
	}
	b.WriteString("\n## First violation\n\nQuartiles over trials. What lies beyond the end of trials is `>`; CPU time is that of " +
		"the process without its start, and is compared up to where it is known of\nall trials of both whether they had found something.\n\n")
	b.head("bug", "strategy", "found", "by mutants", "runs: quarter", "median", "three quarters", "CPU s: quarter", "median",
		"three quarters", "a run is worth", "A12, corrected p in runs", "A12, corrected p in CPU time", "violated")
	for _, r := range g.Rows {
		found := foundOf(&r)
		beyond, later := fmt.Sprintf("> %d", g.Settings.Runs), ">"
		if r.CutOff > 0 {
			found, beyond, later = fmt.Sprintf("%s, %d cut off", found, r.CutOff), "?", "?"
		} else if r.Trials == 0 {
			beyond, later = "-", "-"
		}
		found += unknown(r.Unknown)
		mutants := ""
		if r.Strategy != search.Random && r.Found > 0 {
			mutants = fmt.Sprint(r.Mutants)
		}
		cells := []string{r.Bug, r.Strategy, found, mutants}
		cells = append(cells, strings.Split(quartiles(r.Runs, beyond, "%.4g"), "\t")...)
		cells = append(cells, strings.Split(quartiles(r.CPU, later, "%.3g"), "\t")...)
		b.row(append(cells, worth(r.Rate, r.RateInterval), compared(r.Against), compared(r.AgainstCPU), violatedBy(r.Properties))...)
	}
}

// worth is how many random tapes a run of a strategy is worth.
func worth(rate *float64, i *comparison.Interval) string {
	switch {
	case rate == nil:
		return ""
	case i == nil:
		return fmt.Sprintf("%.2f", *rate)
	}
	return fmt.Sprintf("%.2f %s", *rate, bounds(i))
}

func compared(a *comparison.Against) string {
	switch {
	case a == nil:
		return ""
	case a.Says == comparison.Unknown || a.Says == comparison.Nothing || a.Says == comparison.Few:
		return a.Says
	}
	return fmt.Sprintf("%.2f, %.2g", a.A12, a.Adjusted)
}

// violatedBy lists what was violated, the most frequent first.
func violatedBy(counts map[string]int) string {
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", oneLine(name), counts[name])
	}
	return strings.Join(names, ", ")
}

func (g *guideTables) rarity(b *table) {
	if len(g.Rarity) == 0 {
		return
	}
	b.WriteString("\n## By how rare the bug is under random\n\nCommon: half of random's trials find it in at most 100 runs; " +
		"uncommon: in at most 1,000; rare: later or in fewer trials; unfound: in none. Variants are left out. A run is worth " +
		"so\nmany random tapes: finds a run, divided by random's, in the geometric mean over the bugs; a bug that is not found counts as half found.\n\n")
	b.head("class", "bugs", "strategy", "trials that found it", "a run is worth", "loses", "even", "beats")
	for _, r := range g.Rarity {
		b.row(r.Class, fmt.Sprint(len(r.Bugs)), r.Strategy, fmt.Sprintf("%d of %d", r.Found, r.Trials),
			worth(r.Rate, r.RateInterval), fmt.Sprint(r.Says[comparison.Loses]), fmt.Sprint(r.Says[comparison.Even]), fmt.Sprint(r.Says[comparison.Beats]))
	}
}

func (g *guideTables) reached(b *table) {
	if len(g.Reached) == 0 {
		return
	}
	for _, part := range []struct {
		title string
		of    func(*comparison.Reach) map[string]comparison.Amount
		after func(*comparison.Reach) string
	}{
		{"equal runs", func(r *comparison.Reach) map[string]comparison.Amount { return r.AfterRuns },
			func(r *comparison.Reach) string { return fmt.Sprintf("%d runs", r.Runs) }},
		{"equal CPU time", func(r *comparison.Reach) map[string]comparison.Amount { return r.AfterCPU },
			func(r *comparison.Reach) string { return fmt.Sprintf("%.3g s", r.CPUSeconds) }},
	} {
		fmt.Fprintf(b, "\n## What is reached after %s\n\nMedians and quartiles of different states of the model (as its view "+
			"shows them, and whole), steps between them, guards seen true or false, and blocks of code;\nA12 is the probability "+
			"that a trial reaches more than one of random. All strategies bear the cost of measuring.\n\n", part.title)
		b.head("target", "strategy", "after", "measure", "quarter", "median", "three quarters", "A12, corrected p", "says")
		for i := range g.Reached {
			r := &g.Reached[i]
			for _, m := range comparison.Measures {
				a, ok := part.of(r)[m]
				if !ok {
					continue
				}
				says := ""
				if a.Against != nil {
					says = a.Against.Says
				}
				cells := append([]string{r.Bug, r.Strategy, part.after(r), m}, strings.Split(quartiles(a.Quartiles, "?", "%.4g"), "\t")...)
				b.row(append(cells, compared(a.Against), says)...)
			}
		}
	}
	b.WriteString("\n## States of the model over runs\n\nMedians of trials.\n")
	for _, name := range g.worlds() {
		var marks []uint64
		list := g.reachOf(name)
		for _, r := range list {
			for _, p := range r.Curve {
				marks = append(marks, p.Runs)
			}
		}
		slices.Sort(marks)
		marks = thin(slices.Compact(marks))
		if len(marks) == 0 {
			continue
		}
		head := []string{name}
		for _, m := range marks {
			head = append(head, fmt.Sprint(m))
		}
		b.WriteString("\n")
		b.head(head...)
		for _, r := range list {
			cells := []string{r.Strategy}
			for _, m := range marks {
				k := slices.IndexFunc(r.Curve, func(p comparison.Point) bool { return p.Runs == m })
				if k < 0 {
					cells = append(cells, "")
					continue
				}
				cells = append(cells, fmt.Sprint(r.Curve[k].States))
			}
			b.row(cells...)
		}
	}
}

// maxMarks is how many points of a curve a table has.
const maxMarks = 9

// thin leaves maxMarks of some numbers, the last among them.
func thin(list []uint64) []uint64 {
	if len(list) <= maxMarks {
		return list
	}
	var kept []uint64
	for k := range maxMarks {
		kept = append(kept, list[(k+1)*len(list)/maxMarks-1])
	}
	return kept
}

// worlds are the correct targets.
func (g *guideTables) worlds() []string {
	var names []string
	for _, r := range g.Reached {
		if !slices.Contains(names, r.Bug) {
			names = append(names, r.Bug)
		}
	}
	return names
}

func (g *guideTables) reachOf(world string) []*comparison.Reach {
	var list []*comparison.Reach
	for i := range g.Reached {
		if g.Reached[i].Bug == world {
			list = append(list, &g.Reached[i])
		}
	}
	return list
}

func (g *guideTables) differences(b *table) {
	if len(g.Differences) == 0 {
		return
	}
	b.WriteString("\n## Variants\n\nEach variant of a world against the usual one, by the same strategy, and each strategy " +
		"against the one without its last option. A12 is the probability that a trial of the variant is better: needs fewer runs, " +
		"or\nreaches more. x is the usual median of runs divided by the variant's.\n\n")
	b.head("variant", "of", "target", "strategy", "measure", "usual", "variant's", "x", "found", "A12, corrected p", "says")
	value := func(v *float64) string {
		if v == nil {
			return ">"
		}
		return fmt.Sprintf("%.4g", *v)
	}
	for _, d := range g.Differences {
		x := ""
		if d.Against.TimesInterval != nil {
			x = times(d.Against)
		}
		b.row(d.Variant, d.Of, d.Bug, d.Strategy, d.Measure, value(d.Usual), value(d.Median), x, d.Found, compared(d.Against), d.Against.Says)
	}
}

func (g *guideTables) mutations(b *table) {
	changes(b, g.Mutations, "Mutations",
		"How often a change of a run, alone or with others, led to something that was new to the guide (to combined, where a bandit chooses guides).",
		"mutation")
	changes(b, g.Guides, "Guides that bandits chose",
		"How often a mutant of an entry in the corpus of a guide led to something that was new to combined.", "guide")
}

func changes(b *table, list []comparison.Changes, title, says, kind string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n", title, says)
	b.head("strategy", kind, "mutants", "led to something new", "share")
	for _, m := range list {
		b.row(m.Strategy, m.Kind, fmt.Sprint(m.Made), fmt.Sprint(m.Kept), fmt.Sprintf("%.2f %%", 100*float64(m.Kept)/float64(max(m.Made, 1))))
	}
}

func (g *guideTables) mappers(b *table) {
	if !slices.ContainsFunc(g.Settings.Bugs, func(t comparison.Bug) bool { return t.Mapper > 0 }) {
		return
	}
	b.WriteString("\n## Mappers\n\nLines that report to the model what runs do, without comments.\n\n")
	b.head("target", "lines")
	for _, t := range g.Settings.Bugs {
		if t.Mapper > 0 && t.Of == "" {
			b.row(t.Name, fmt.Sprint(t.Mapper))
		}
	}
}

func (g *guideTables) stories(b *table) {
	shortest := map[string]string{}
	for _, r := range g.Rows {
		if have := shortest[r.Bug]; r.Story != "" && (have == "" || len(r.Story) < len(have)) {
			shortest[r.Bug] = r.Story
		}
	}
	if len(shortest) == 0 {
		return
	}
	b.WriteString("\n## The shortest schedules that were found\n\n")
	for _, t := range g.Settings.Bugs {
		if story := shortest[t.Name]; story != "" {
			fmt.Fprintf(b, "- %s: `%s`\n", t.Name, strings.ReplaceAll(story, "`", "'"))
		}
	}
}

// The measures of a drawing of curves.
const (
	curveWidth, curveHeight = 720.0, 400.0
	curveLeft, curveTop     = 70.0, 30.0
	curveKey                = 230.0 // for the names of strategies
	curveTicks              = 5
)

var curveColours = []string{"#555555", "#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22"}

// curves draws, for each correct target, the states of the model that strategies reach over runs: a name of a file and an SVG each.
func (g *guideTables) curves() map[string]string {
	files := map[string]string{}
	for i, name := range g.worlds() {
		list := g.reachOf(name)
		most, runs := 0, uint64(1)
		for _, r := range list {
			for _, p := range r.Curve {
				most, runs = max(most, p.States), max(runs, p.Runs)
			}
		}
		if most == 0 {
			continue
		}
		var d strings.Builder
		add := func(format string, args ...any) { fmt.Fprintf(&d, format+"\n", args...) }
		label := func(x, y float64, class, anchor, text string) {
			add(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, text)
		}
		width, height := curveLeft+curveWidth+curveKey, curveTop+curveHeight+60
		add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12"><rect width="100%%" height="100%%" fill="white"/>`, width, height)
		label(curveLeft, 18, "title", "start", name+": different states of the model, median of trials, over runs (logarithmic)")
		x := func(n uint64) float64 {
			return curveLeft + curveWidth*math.Log(float64(max(n, 1)))/math.Log(float64(max(runs, 2)))
		}
		y := func(n int) float64 { return curveTop + curveHeight*(1-float64(n)/float64(most)) }
		for k := range curveTicks + 1 {
			n := most * k / curveTicks
			add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/>`, curveLeft, y(n), curveLeft+curveWidth, y(n))
			label(curveLeft-8, y(n)+4, "tick", "end", fmt.Sprint(n))
		}
		for n := uint64(1); n <= runs; n *= 10 {
			add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/>`, x(n), curveTop, x(n), curveTop+curveHeight)
			label(x(n), curveTop+curveHeight+18, "tick", "middle", fmt.Sprint(n))
		}
		for k, r := range list {
			var points []string
			for _, p := range r.Curve {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(p.Runs), y(p.States)))
			}
			colour, at := curveColours[k%len(curveColours)], curveTop+14+18*float64(k)
			dash := ""
			if k >= len(curveColours) {
				dash = ` stroke-dasharray="6 3"`
			}
			add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6"%s/>`, strings.Join(points, " "), colour, dash)
			add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="3"%s/>`, curveLeft+curveWidth+12, at-4,
				curveLeft+curveWidth+32, at-4, colour, dash)
			label(curveLeft+curveWidth+38, at, "key", "start", r.Strategy)
		}
		add(`</svg>`)
		files[fmt.Sprintf("states-%d.svg", i+1)] = d.String()
	}
	return files
}
