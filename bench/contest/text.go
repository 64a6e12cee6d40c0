package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
)

// settingsText has what the trials of a comparison share.
func settingsText(s *comparison.Settings) string {
	limit := ""
	if s.TimeoutNs > 0 {
		limit = fmt.Sprintf(" or %s", time.Duration(s.TimeoutNs))
	}
	return fmt.Sprintf("%d trials of each strategy and bug, campaign seeds %d to %d, one worker each, at most %d "+
		"runs%s\nstrategies: %s\nbloodhound %s on %s\n\n",
		s.Trials, s.FirstSeed, s.FirstSeed+s.Trials-1, s.Runs, limit, strings.Join(s.Strategies, ", "), s.Bloodhound, s.Machine)
}

// trialLine is the result of a trial in one line.
func trialLine(t *trial.Trial) string {
	what := fmt.Sprintf("%s, %s, seed %d: ", t.Bug, t.Strategy, t.Seed)
	wall := time.Duration(t.WallNs).Round(10 * time.Millisecond)
	switch {
	case t.Failed != "":
		return what + "it says nothing: " + t.Failed
	case t.Hung != "":
		return what + fmt.Sprintf("cut off after %s: %s", wall, t.Hung)
	case t.CutOff:
		return what + fmt.Sprintf("cut off after %d runs, %s", t.Runs, wall)
	case t.Found:
		return what + fmt.Sprintf("%s violated after %d runs, %s", t.Property, t.Runs, wall)
	}
	what += fmt.Sprintf("nothing in %d runs, %s", t.Runs, wall)
	if t.Unknown != "" {
		what += ", and that is not known: " + t.Unknown
	}
	return what
}

// unknown counts trials that could not judge all of their runs.
func unknown(trials int) string {
	if trials == 0 {
		return ""
	}
	return fmt.Sprintf(", %d unknown", trials)
}

// comparisonText says which strategies find bugs sooner than random tapes do, those that lose first.
func comparisonText(s *comparison.Settings, rows []comparison.Row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "bug\tstrategy\tfound\truns: quarter\tmedian\tthree quarters\tseconds: quarter\tmedian\tthree quarters\tCPU seconds: median\n")
	for _, r := range rows {
		found, runs, seconds := foundOf(&r), fmt.Sprintf("> %d", s.Runs), "-"
		if r.CutOff > 0 {
			found, runs, seconds = fmt.Sprintf("%s, %d cut off", found, r.CutOff), "?", "?"
		} else if r.Trials == 0 {
			runs = "-"
		}
		found += unknown(r.Unknown)
		cpu := "-"
		if r.CPU.Median != nil {
			cpu = fmt.Sprintf("%.3g", *r.CPU.Median)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Bug, r.Strategy, found, quartiles(r.Runs, runs, "%.4g"), quartiles(r.Seconds, seconds, "%.3g"), cpu)
	}
	w.Flush()
	for _, r := range rows {
		if r.Failed > 0 {
			fmt.Fprintf(&b, "%d trials of %s with %s say nothing, and are not counted\n", r.Failed, r.Strategy, r.Bug)
		}
		if r.Unknown > 0 {
			fmt.Fprintf(&b, "%d trials of %s with %s found nothing, and could not judge all of their runs\n", r.Unknown, r.Strategy, r.Bug)
		}
	}
	judged := comparison.Judged(rows)
	if len(judged) == 0 {
		return b.String()
	}
	b.WriteString("\nruns until the first violation, against random; A12 is the probability that a trial needs fewer,\np the " +
		"chance of any such difference among all that are reported here if there is none (two-sided rank-sum test,\ncorrected by " +
		"Holm's method), x how many times random's median is that of the strategy; brackets are 95 % intervals\n\n")
	w = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	said := map[string]map[string]bool{} // by strategy
	for _, r := range judged {
		switch a := r.Against; a.Says {
		case comparison.Unknown:
			fmt.Fprintf(w, "%s\t%s: %s\t\t\t\t\t%s\n", r.Strategy, a.Says, a.Reason, r.Bug)
		case comparison.Nothing:
			fmt.Fprintf(w, "%s\t%s: no trial found anything\t\t\t\t\t%s\n", r.Strategy, a.Says, r.Bug)
		case comparison.Few:
			fmt.Fprintf(w, "%s\t%s: %s\t\t\t\t\t%s\n", r.Strategy, a.Says, a.Reason, r.Bug)
		default:
			fmt.Fprintf(w, "%s\t%s\tA12 %.2f\tp %.2g\truns x %s\tCPU x %s\t%s\n", r.Strategy, a.Says, a.A12, a.Adjusted, times(a), times(r.AgainstCPU), r.Bug)
		}
		if said[r.Strategy] == nil {
			said[r.Strategy] = map[string]bool{}
		}
		said[r.Strategy][r.Against.Says] = true
	}
	w.Flush()
	b.WriteString("\n")
	for _, name := range s.Strategies {
		switch says := said[name]; {
		case says == nil || says[comparison.Beats]:
		case says[comparison.Unknown] || says[comparison.Few]:
			fmt.Fprintf(&b, "whether %s beats random with any of these bugs is unknown\n", name)
		case !says[comparison.Even] && !says[comparison.Loses]:
			fmt.Fprintf(&b, "nothing is shown of %s against random: no trial found anything\n", name)
		case says[comparison.Nothing]:
			fmt.Fprintf(&b, "%s does not beat random with any of the bugs that a trial found\n", name)
		default:
			fmt.Fprintf(&b, "%s does not beat random with any of these bugs\n", name)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// foundOf is how many trials of a row found something, with the interval of that share.
func foundOf(r *comparison.Row) string {
	text := fmt.Sprintf("%d of %d", r.Found, r.Trials)
	if r.Share != nil {
		text += fmt.Sprintf(" [%.0f-%.0f %%]", 100*r.Share.Low, 100**r.Share.High)
	}
	return text
}

// times is how many times better than random's the median of a strategy is.
func times(a *comparison.Against) string {
	switch {
	case a == nil || a.TimesInterval == nil:
		return "?"
	case a.Times == nil:
		return "? " + bounds(a.TimesInterval)
	}
	return fmt.Sprintf("%.2g %s", *a.Times, bounds(a.TimesInterval))
}

func bounds(i *comparison.Interval) string {
	if i.High == nil {
		return fmt.Sprintf("[%.2g-]", i.Low)
	}
	return fmt.Sprintf("[%.2g-%.2g]", i.Low, *i.High)
}

// quartiles writes three values; beyond stands for those that no trial shows.
func quartiles(q comparison.Quartiles, beyond, format string) string {
	var list []string
	for _, v := range []*float64{q.First, q.Median, q.Third} {
		if v == nil {
			list = append(list, beyond)
		} else {
			list = append(list, fmt.Sprintf(format, *v))
		}
	}
	return strings.Join(list, "\t")
}
