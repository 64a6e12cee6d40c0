package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// SummaryRefused is the number of refused calls that a summary lists.
const SummaryRefused = 20

// Summary prints what a campaign did, also one that found nothing.
func Summary(w io.Writer, t *explore.Totals, status explore.Status) error {
	var b strings.Builder
	fmt.Fprintf(&b, "campaign of seed %d: %s, %s of virtual time in %s on %s (%s runs/s)\n", t.Seed, plural.Count(t.Runs, "run"),
		duration(t.VirtualNs), duration(t.WallNs), plural.Count(t.Workers, "worker"), Rate(float64(t.Runs), t.WallNs))
	costs(&b, t)
	if t.Stopped != "" {
		fmt.Fprintf(&b, "  stopped early: %s\n", t.Stopped)
	}
	if s := &t.Snapshots; s.Ready+s.Later > 0 {
		fmt.Fprintf(&b, "  %d of %s began at a snapshot, %d of them at the end of setup, which saved %s\n", s.Ready+s.Later,
			plural.Count(t.Runs, "run"), s.Ready, duration(s.SavedNs))
	}
	footprint(&b, t)
	standing(&b, &t.Search)
	operations(&b, t.Operations, t.VirtualNs, t.WallNs)
	reasons(&b, t.Reasons)
	ledger(&b, &t.Faults, false)
	hits(&b, t)
	missed(&b, &t.Evidence)
	properties(&b, t.Properties)
	if t.Baseline.Done && !slices.ContainsFunc(t.Failures, func(f *explore.Failure) bool { return f.Baseline }) {
		b.WriteString("\nno property was violated in the baseline run (without faults)\n")
	}
	ranCode(&b, t)
	logCounts(&b, t.LogCounts)
	refused(&b, t.Refused)
	if len(t.Warnings) > 0 {
		b.WriteString("\nwarnings\n")
		for _, x := range t.Warnings {
			fmt.Fprintf(&b, "  %s (%s)\n", x.Text, plural.Count(x.Runs, "run"))
		}
	}
	for _, n := range status.Notices {
		fmt.Fprintf(&b, "\nnote: %s\n", n)
	}
	if names := untested(t.Faults.Entries); len(names) > 0 && t.Runs > 0 {
		fmt.Fprintf(&b, "\nnot tested: %s\n", strings.Join(names, ", "))
	}
	if len(status.Cheaper) > 0 {
		b.WriteString("\nwhat would make a run cheaper\n")
		for _, text := range status.Cheaper {
			fmt.Fprintf(&b, "  %s\n", text)
		}
	}
	if t.LostRuns > 0 {
		fmt.Fprintf(&b, "\n%s lost to the engine or the machine; the first: %s: %s\n", were(t.LostRuns), t.Lost[0], t.Lost[0].Reason)
	}
	if u := t.FirstUnrepeatable; u != nil {
		fmt.Fprintf(&b, "\n%s not reproducible; the first: %s: %s\n", were(t.Unrepeatable), u, u.Reason)
	}
	for _, u := range t.Unsteady {
		fmt.Fprintf(&b, "\n%s\n", u)
	}
	if len(t.Committed) > 0 {
		b.WriteString("\ncommitted failures\n")
		for _, k := range t.Committed {
			fmt.Fprintf(&b, "  %-16s  %s (%s)\n", k.Standing, k.File, k.Property)
		}
	}
	if len(t.Failures) > 0 {
		b.WriteString("\nfailures\n")
		for _, f := range t.Failures {
			where := fmt.Sprintf("%d of %s", f.Runs, plural.Count(t.Runs, "run"))
			if f.Near != "" {
				where = showed(f, t.Runs)
			}
			fmt.Fprintf(&b, "  %s  %s: %s  (%s, %s)\n", f.ID, f.Property, clip(f.Headline), where, f.First())
			if f.Shrunk != nil {
				fmt.Fprintf(&b, "                %s\n", shrunkShort(f.Shrunk))
			}
		}
		if t.MoreFailures > 0 {
			fmt.Fprintf(&b, "  and %s of other signatures, beyond the %d that are kept\n", plural.Count(t.MoreFailures, "violation"), explore.MaxFailures)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", Judgement(status, t.Runs))
	_, err := io.WriteString(w, b.String())
	return err
}

// footprint prints how much memory and disk a campaign used, as far as that is known.
func footprint(b *strings.Builder, t *explore.Totals) {
	var parts []string
	m := &t.Memory
	if m.WorldBytes > 0 {
		parts = append(parts, fmt.Sprintf("a world took up to %s", runner.SizeText(m.WorldBytes)))
	}
	if m.SnapshotBytes > 0 && m.LimitBytes > 0 {
		parts = append(parts, fmt.Sprintf("the snapshots of a worker up to %s of at most %s", runner.SizeText(m.SnapshotBytes), runner.SizeText(m.LimitBytes)))
	}
	if len(parts) > 0 {
		fmt.Fprintf(b, "  memory: %s\n", strings.Join(parts, ", "))
	}
	if t.StateBytes > 0 {
		fmt.Fprintf(b, "  disk: .bloodhound has %s\n", runner.SizeText(t.StateBytes))
	}
}

// costs says where the time of runs went.
func costs(b *strings.Builder, t *explore.Totals) {
	c, known := t.Costs()
	if !known {
		return
	}
	fmt.Fprintf(b, "  CPU time: %s s a run; programs %d %%, engine %d %%", twoDigits(float64(c.RunNs)/1e9), c.Programs, 100-c.Programs)
	if c.Start >= 0 {
		fmt.Fprintf(b, "; the start of worlds, in %s, took %d %% of the time of runs", plural.Count(t.Starts, "run"), c.Start)
	}
	b.WriteByte('\n')
}

// standing prints how far a search came that is not random.
func standing(b *strings.Builder, s *search.Standing) {
	switch {
	case s.Strategy == "" || search.KindOf(s.Strategy).Plain:
		return
	case s.Complete:
		fmt.Fprintf(b, "  %s: all %s with up to %s of the base tape\n", s.Strategy, plural.Count(s.States, "tape"), plural.Count(s.Depth, "edit"))
	default:
		fmt.Fprintf(b, "  %s\n", s)
	}
	var reached []string
	for _, d := range slices.Sorted(maps.Keys(s.Domains)) {
		reached = append(reached, fmt.Sprintf("%d %s", s.Domains[d], d))
	}
	if len(reached) > 0 {
		fmt.Fprintf(b, "  reached: %s\n", strings.Join(reached, ", "))
	}
	near := slices.DeleteFunc(slices.Clone(s.Near), func(n coverage.Nearness) bool { return n.Distance >= 1 || n.Distance <= 0 })
	slices.SortStableFunc(near, func(a, b coverage.Nearness) int { return cmp.Compare(a.Distance, b.Distance) })
	for _, n := range near[:min(len(near), summaryNear)] {
		nearest := "nearest to a violation"
		if n.Domain == coverage.ModelGoal {
			nearest = "nearest in the model"
		}
		fmt.Fprintf(b, "  %s: %s, %.3f: %s\n", nearest, n.Name, n.Distance, Visible(n.Says, maxReachedText))
	}
	if p, _ := search.Parse(s.Strategy); p.Bandit {
		paid(b, "mutations", s.Mutations)
		paid(b, "guides", s.Guides)
	}
	if text := lengths(s.Lengths); text != "" {
		fmt.Fprintf(b, "  lengths: %s\n", text)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(b, "  %s\n", n)
	}
}

// lengths says how many runs of each length there were; nothing if all were whole.
func lengths(list []search.LengthTotal) string {
	var texts []string
	short := false
	for i := range list {
		if l := &list[i]; l.Runs > 0 {
			texts = append(texts, fmt.Sprintf("%s %d", l.Length, l.Runs))
			short = short || i > 0
		}
	}
	if !short {
		return ""
	}
	return strings.Join(texts, ", ")
}

// paid prints what a bandit chose among: how many mutants it chose each for, and how many of those reached something new.
func paid(b *strings.Builder, arms string, list []search.Mutations) {
	var texts []string
	for _, m := range list {
		texts = append(texts, fmt.Sprintf("%s %d of %d", m.Kind, m.Kept, m.Made))
	}
	if len(texts) > 0 {
		fmt.Fprintf(b, "  %s that led to something new: %s\n", arms, strings.Join(texts, ", "))
	}
}

// summaryNear is how many of the smallest distances a summary lists.
const summaryNear = 5

// ranCode prints which code ran.
func ranCode(b *strings.Builder, t *explore.Totals) {
	if len(t.Code) == 0 {
		return
	}
	b.WriteString("\ncode coverage\n")
	for _, c := range t.Code {
		fmt.Fprintf(b, "  %s: %s\n", c.Path, c)
	}
	if t.CodeFile != "" {
		fmt.Fprintf(b, "  more in %s\n", t.CodeFile)
	}
}

// Judgement is the last line of a summary.
func Judgement(s explore.Status, runs uint64) string {
	switch {
	case s.Failed:
		return "FAILED: the engine or the machine failed; see above"
	case s.Violated && s.Once:
		return "VIOLATED, observed once: runs of this engine do not repeat"
	case s.Violated:
		return "VIOLATED"
	case s.Unrepeatable:
		return "NOT REPRODUCIBLE: a run does not repeat; see above"
	case len(s.Unknown) > 0:
		return "UNKNOWN: " + strings.Join(together(s.Unknown), "\n         ")
	}
	switch {
	case runs == 1 && s.Once:
		return "all properties hold in this run, which was observed once"
	case runs == 1:
		return "all properties hold"
	}
	return fmt.Sprintf("all properties hold over %s", plural.Count(runs, "run"))
}

// together says reasons that several properties have once: those written "name: reason".
func together(unknown []string) []string {
	var list []string
	at := map[string]int{}
	for _, u := range unknown {
		_, reason, ok := strings.Cut(u, ": ")
		if i, same := at[reason]; ok && same {
			list[i] = strings.TrimSuffix(list[i], ": "+reason) + ", " + u
			continue
		}
		if ok {
			at[reason] = len(list)
		}
		list = append(list, u)
	}
	return list
}

func operations(b *strings.Builder, o explore.Operations, virtualNs, wallNs int64) {
	if o.Invoked == 0 {
		b.WriteString("  no operation was performed\n")
		return
	}
	share := func(n uint64) float64 { return 100 * float64(n) / float64(o.Invoked) }
	fmt.Fprintf(b, "  operations: %d (%s per virtual second, %s per real second): %.1f %% ok, %.1f %% fail, %.1f %% info, %.1f %% never returned\n",
		o.Invoked, Rate(float64(o.Invoked), virtualNs), Rate(float64(o.Invoked), wallNs),
		share(o.Ok), share(o.Fail), share(o.Info), share(o.Open()))
}

// Reasons is the number of reasons that are listed for operations of one type.
const Reasons = 4

// reasons says why operations were not ok, the most frequent reasons of each type first.
func reasons(b *strings.Builder, list []explore.Reason) {
	for _, typ := range []history.Type{history.Fail, history.Info} {
		shown, rest := 0, uint64(0)
		for _, r := range list {
			switch {
			case r.Type != typ:
			case shown < Reasons && r.Text != explore.OtherReasons:
				shown++
				fmt.Fprintf(b, "    %s %6d  %s\n", typ, r.Count, clip(r.Text))
			default:
				rest += r.Count
			}
		}
		if rest > 0 {
			fmt.Fprintf(b, "    %s %6d  for other reasons\n", typ, rest)
		}
	}
}

func properties(b *strings.Builder, list []explore.PropertyTotal) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\nproperties                   holds   violated    unknown     probes\n")
	for _, p := range list {
		fmt.Fprintf(b, "  %-22s %9d  %9d  %9d  %9d\n", p.Property, p.Holds, p.Violated, p.Unknown, p.Probes)
		if p.Tally != nil {
			fmt.Fprintf(b, "    events: %s\n", p.Tally)
		}
		if p.Short > 0 {
			fmt.Fprintf(b, "    short runs do not count: %d\n", p.Short)
		}
		if p.Unknown > 0 {
			fmt.Fprintf(b, "    unknown, first with %s: %s\n", p.First(), p.Reason)
		}
		if p.Never() {
			fmt.Fprintf(b, "    not in any run: %s\n", p.Reason)
		}
	}
}

func logCounts(b *strings.Builder, counts map[string]uint64) {
	if len(counts) == 0 {
		return
	}
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	sort.Strings(names)
	b.WriteString("\nlog patterns\n")
	for _, n := range names {
		fmt.Fprintf(b, "  %-22s %9d\n", n, counts[n])
	}
}

// refused lists the calls that programs made and the engine refused, each once for all nodes.
func refused(b io.Writer, list []record.Unsupported) {
	if len(list) == 0 {
		return
	}
	list = explore.MergeRefused(nil, list)
	sort.SliceStable(list, func(i, j int) bool { return list[i].Count > list[j].Count })
	fmt.Fprint(b, "\nsystem calls that were refused (a program that needs one of them may behave differently outside)\n")
	for i, r := range list {
		if i == SummaryRefused {
			fmt.Fprintf(b, "  ... and %d more\n", len(list)-i)
			break
		}
		fmt.Fprintf(b, "  %s: %s -> %s, %s\n", r.Program, r.Call, r.Errno, plural.Count(r.Count, "time"))
	}
}

// Run prints how one run ended, apart from its violations.
func Run(w io.Writer, t uint64, s *explore.Summary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "run of seed %d: %s after %s, %s of virtual time in %s\n", t, ended(s), plural.Count(s.Events, "event"),
		duration(s.VirtualNs), duration(s.WallNs))
	fmt.Fprintf(&b, "  trace hash %s, %s\n", s.Hash, repeat(s.Repeat))
	operations(&b, s.Operations, s.VirtualNs, s.WallNs)
	reasons(&b, s.Reasons)
	if len(s.Faults) > 0 {
		b.WriteString("  faults (planned/delivered/observed):")
		for _, e := range s.Faults {
			fmt.Fprintf(&b, " %s %d/%d/%d", e.Kind, e.Planned, e.Delivered, e.Observed)
		}
		b.WriteByte('\n')
		for _, r := range s.FaultRules {
			fmt.Fprintf(&b, "    %d/%d/%d %s\n", r.Planned, r.Delivered, r.Observed, clip(r.Text))
		}
	}
	missed(&b, &s.Evidence)
	for _, m := range s.Marks {
		fmt.Fprintf(&b, "  %14s  the driver of workload %q reported %s\n", Seconds(m.TimeNs), m.Workload, m.Type)
	}
	for i, v := range s.Verdicts {
		why := because(v)
		if i > 0 && v.Reason != "" && v.Reason == s.Verdicts[i-1].Reason {
			why = ": as above"
		}
		fmt.Fprintf(&b, "  %-9s %s%s%s\n", v.Status, v.Property, nature(v), why)
		if v.Tally != nil {
			fmt.Fprintf(&b, "            events: %s\n", v.Tally)
		}
		if len(v.LeftOut) > 0 {
			b.WriteString("            left out:\n")
			leftOut(&b, "              ", v.LeftOut)
		}
	}
	logCounts(&b, s.LogCounts)
	refused(&b, s.Refused)
	for _, x := range s.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s\n", x)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxLeftOutShown bounds the lines about what was not judged.
const maxLeftOutShown = 8

// leftOut lists what a verdict is not about.
func leftOut(b *strings.Builder, indent string, lines []string) {
	for i, line := range lines {
		if i == maxLeftOutShown {
			fmt.Fprintf(b, "%s... and %d more\n", indent, len(lines)-i)
			break
		}
		fmt.Fprintf(b, "%s%s\n", indent, clip(line))
	}
}

// missed counts the faults that met no operation, if there are any.
func missed(b *strings.Builder, e *check.Evidence) {
	if n := e.Faults(); n.DuringWork < n.Faults {
		fmt.Fprintf(b, "    %d of %s overlapped no operation: %d ended before the first one began, %d began after the last one had returned\n",
			n.Faults-n.DuringWork, plural.Count(n.Faults, "fault"), n.Before, n.After())
	}
}

func ended(s *explore.Summary) string {
	text := string(s.Reason)
	switch s.Reason {
	case record.MaxTime:
		text = "max_time reached"
	case record.ReachedUntil:
		text = "stopped as asked"
	case record.Unstartable:
		text = "ended: a server did not come up"
	case record.Limit:
		text = "a limit was reached"
	}
	if s.Detail != "" {
		text += " (" + s.Detail + ")"
	}
	return text
}

func repeat(r record.Repeat) string {
	switch {
	case r.Reproducible:
		return "reproducible"
	case r.Once:
		return "observed once: " + r.Reason
	}
	return "NOT reproducible: " + r.Reason
}

func because(v check.Verdict) string {
	if v.Reason == "" {
		return ""
	}
	return ": " + v.Reason
}

// duration rounds to what a person reads.
func duration(ns int64) string { return roundedTo(ns, 10*time.Millisecond, 10*time.Microsecond) }

// roundedTo rounds to seconds from a minute on, and below that to one unit from a second on and to another one below.
func roundedTo(ns int64, seconds, less time.Duration) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(seconds).String()
	}
	return d.Round(less).String()
}

// Rate is how many of n there were a second, in so many nanoseconds.
func Rate(n float64, ns int64) string {
	if ns <= 0 {
		return "0"
	}
	return twoDigits(n / (float64(ns) / 1e9))
}

// twoDigits is a number with two digits that count, or more if its whole part has more.
func twoDigits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// Verdicts prints verdicts one by one, each with its evidence.
func Verdicts(w io.Writer, list []check.Verdict) error {
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "  %-9s %s%s%s\n", v.Status, v.Property, nature(v), because(v))
		for i, line := range v.Evidence {
			if i == StoryEvidenceLines {
				fmt.Fprintf(&b, "      ... and %d more\n", len(v.Evidence)-i)
				break
			}
			fmt.Fprintf(&b, "      %s\n", line)
		}
		if len(v.LeftOut) > 0 {
			b.WriteString("      left out:\n")
			leftOut(&b, "        ", v.LeftOut)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// nature names the kind of a verdict's property, and says how often it was judged.
func nature(v check.Verdict) string {
	if v.Probes == 1 {
		return fmt.Sprintf(" (%s, judged once)", v.Kind)
	}
	if v.Probes > 0 {
		return fmt.Sprintf(" (%s, judged %s)", v.Kind, plural.Count(v.Probes, "time"))
	}
	return fmt.Sprintf(" (%s)", v.Kind)
}
