package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/loglines"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// entry is a line of the timeline. Entries of the same time are in the order of events, and then in the order in which they were added.
type entry struct {
	atNs  int64
	event uint64
	lane  string // who says or does something
	text  string
	key   string // what repetitions of the entry have in common; empty if it is never folded
}

// timeline interleaves faults, the operations of the evidence, logs of all nodes, changes of files and the violation itself in virtual
// time. Faults are listed wherever they lie, with what was logged as they began: the cause of a violation may be long past.
func timeline(b *strings.Builder, s *StoryOf, unusual []unusualLine) {
	at := s.Verdict.TimeNs
	if at == 0 {
		at = s.Outcome.VirtualNs
	}
	injections, farther := causes(s.Outcome, at, StoryInjections)
	named, underWay := storyOperations(s)
	operations := slices.Concat(named, underWay)
	entries, left := logEntries(s, at, injections, unusual)
	entries = append(entries, entry{at, cmp.Or(s.Verdict.Event, s.Outcome.Events), "=======>", s.Verdict.Property + " is violated", ""})
	for i := range injections {
		entries = append(entries, faultEntries(&injections[i])...)
	}
	changes := changesAround(withoutTemporary(s.Outcome.DiskChanges), injections, operations, at)
	if len(s.Outcome.DiskChanges) == 0 {
		entries = append(entries, callFaults(s, at)...)
	}
	for i := range changes {
		entries = append(entries, changeEntry(&changes[i]))
	}
	for i := range operations {
		entries = append(entries, operationEntries(&operations[i])...)
	}
	slices.SortStableFunc(entries, func(x, y entry) int {
		return cmp.Or(cmp.Compare(x.atNs, y.atNs), cmp.Compare(x.event, y.event))
	})
	b.WriteString("\nwhat happened, in virtual time: faults, operations of the evidence, logs")
	if len(changes) > 0 {
		b.WriteString(", changes of files")
	}
	b.WriteByte('\n')
	if left > 0 {
		fmt.Fprintf(b, "  (%s of the last %s before the violation %s left out)\n", plural.Count(left, "line"),
			duration(StoryLogNs), plural.Verb(left, "is", "are"))
	}
	if farther > 0 {
		fmt.Fprintf(b, "  (left out: %s further from the violation)\n", plural.Count(farther, "fault"))
	}
	printEntries(b, entries)
}

// printEntries prints a timeline, with repetitions folded.
func printEntries(b *strings.Builder, entries []entry) {
	var f folder
	for i := range entries {
		if entries[i].key == "" { // what repeats before it and after it stays apart
			for _, lane := range f.lanes {
				f.row(lane, "", i)
			}
			continue
		}
		f.row(entries[i].lane, entries[i].key, i)
	}
	group, folds := f.fold(func(row int) int64 { return entries[row].atNs })
	last := int64(0)
	for i, e := range entries {
		fold, begins := folds[i]
		if group[i] != 0 && !begins {
			continue
		}
		if i > 0 && e.atNs-last >= StoryLogNs {
			fmt.Fprintf(b, "  %14s\n", "...")
		}
		if last = e.atNs; begins {
			fmt.Fprintf(b, "  %14s  %-10s (%s, until %s)\n", Seconds(e.atNs), e.lane, times(fold), Seconds(fold.ToNs))
			last = fold.ToNs
			continue
		}
		fmt.Fprintf(b, "  %14s  %-10s %s\n", Seconds(e.atNs), e.lane, e.text)
	}
}

// times says how often a row, or several, come again.
func times(f foldView) string {
	if f.Rounds == f.Count {
		return fmt.Sprintf("%s more", plural.Count(f.Count, "time"))
	}
	return fmt.Sprintf("these %s %s more", plural.Count(f.Count/f.Rounds, "line"), plural.Count(f.Rounds, "time"))
}

// logEntries are the lines of logs in a timeline: those around the violation, the rarest of this run after each fault and between the
// last one and the violation, and unusual ones wherever they lie. left counts the lines before the violation that there was no room for.
func logEntries(s *StoryOf, at int64, injections []fault.Injection, unusual []unusualLine) (list []entry, left int) {
	log := s.Outcome.Log
	always := map[int]bool{}
	for i := range unusual {
		always[unusual[i].Line] = true
	}
	after := make([][]int, len(injections)+1) // lines after each fault, and after all of them
	var before []int                          // lines before the violation, of which there is room for some
	later := 0
	for i := range log {
		l := &log[i]
		near := l.TimeNs >= at-StoryLogNs && l.TimeNs <= at+StoryLogNs
		switch {
		case near && (l.Event <= s.Verdict.Event || s.Verdict.Event == 0 && l.TimeNs <= at):
			before = append(before, i)
		case near:
			if later++; later <= StoryLinesAfter {
				list = append(list, logEntry(l))
			}
		case l.TimeNs < at:
			if k := belongs(l, injections); k >= 0 {
				after[k] = append(after[k], i)
			} else if always[i] {
				list = append(list, logEntry(l))
			}
		}
	}
	kept := lastLines(log, before, always)
	left = len(before) - len(kept)
	times := commonness(log)
	for _, lines := range after {
		kept = append(kept, rarest(lines, times, always)...)
	}
	for _, i := range kept {
		list = append(list, logEntry(&log[i]))
	}
	return list, left
}

// belongs gives the fault after whose begin a line was written, or the number of faults for a later line of a node that one has hit;
// -1 for any other line.
func belongs(l *record.LogLine, injections []fault.Injection) int {
	hit := false
	for k := range injections {
		f := &injections[k]
		if l.TimeNs >= f.StartNs && l.TimeNs <= f.EndNs+StoryLogNs {
			return k
		}
		hit = hit || l.TimeNs >= f.StartNs && affects(f, l.Node)
	}
	if hit {
		return len(injections)
	}
	return -1
}

// affects reports whether a fault affects a node.
func affects(f *fault.Injection, node string) bool {
	return f.Node == node || f.Target == node || slices.ContainsFunc(f.Directions, func(c fault.Direction) bool { return c.From == node || c.To == node })
}

// commonness says of each line of a log how often the log has such lines.
func commonness(log []record.LogLine) []int {
	log = log[:min(len(log), maxTemplates)]
	templates, times, count := make([]string, len(log)), make([]int, len(log)), map[string]int{}
	for i := range log {
		templates[i] = loglines.Template(log[i].Text)
		count[templates[i]]++
	}
	for i, t := range templates {
		times[i] = count[t]
	}
	return times
}

// maxTemplates bounds the lines of a log that are compared with each other: those that an engine keeps are fewer.
const maxTemplates = 50_000

// rarest chooses the lines that a run has fewest of, and those that are shown in any case.
func rarest(lines []int, times []int, always map[int]bool) (list []int) {
	rare := slices.DeleteFunc(slices.Clone(lines), func(i int) bool { return i >= len(times) })
	slices.SortStableFunc(rare, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	for n, i := range rare {
		if n < StoryLinesFault || always[i] {
			list = append(list, i)
		}
	}
	return list
}

// lastLines are the last of some lines for which a story has room. Lines that repeat others take no room, as they are folded. Of a
// message of many lines, such as a banner, the first and the last ones are kept.
func lastLines(log []record.LogLine, lines []int, always map[int]bool) []int {
	lines = shortened(log, lines, always)
	var f folder
	for row, i := range lines {
		f.row(log[i].Node, logEntry(&log[i]).key, row)
	}
	group, _ := f.fold(func(int) int64 { return 0 })
	room, first := StoryLinesBefore, len(lines)
	for first > 0 && (room > 0 || group[first-1] != 0) {
		if first--; group[first] == 0 {
			room--
		}
	}
	var kept []int
	for row, i := range lines {
		if row >= first || always[i] {
			kept = append(kept, i)
		}
	}
	return kept
}

// How many lines of a message are kept, where it has more.
const (
	messageBegin = 3
	messageEnd   = 2
)

// shortened leaves out the midst of messages: of lines that a node writes one directly after the other.
func shortened(log []record.LogLine, lines []int, always map[int]bool) (kept []int) {
	message := map[string][]int{} // the one that a node has begun, the lines of it
	var order []string
	end := func(node string) {
		m := message[node]
		for k, i := range m {
			if k < messageBegin || k >= len(m)-messageEnd || always[i] {
				kept = append(kept, i)
			}
		}
		delete(message, node)
	}
	for _, i := range lines {
		l := &log[i]
		if m := message[l.Node]; len(m) > 0 && l.TimeNs-log[m[len(m)-1]].TimeNs > oneMessageNs {
			end(l.Node)
		}
		if !slices.Contains(order, l.Node) {
			order = append(order, l.Node)
		}
		message[l.Node] = append(message[l.Node], i)
	}
	for _, node := range order {
		end(node)
	}
	slices.Sort(kept)
	return kept
}

func logEntry(l *record.LogLine) entry {
	return entry{l.TimeNs, l.Event, l.Node, clip(l.Text), l.Stream + " " + loglines.Template(l.Text)}
}

// faultEntries are the begin and the end of a fault.
func faultEntries(f *fault.Injection) []entry {
	list := []entry{{f.StartNs, f.Event, "fault", fmt.Sprintf("%s %s begins%s", f.Kind, f.Target, seen(*f)), ""}}
	if untilEnd(*f) {
		return list
	}
	return append(list, entry{f.EndNs, 0, "fault", fmt.Sprintf("%s %s ends", f.Kind, f.Target), ""})
}

// callDecision is a decision that injected a fault into a call.
type callDecision struct {
	atNs int64
	kind world.FaultKind
	node string
}

// callDecisions are the faults of single calls until a time, which a ledger does not list, by the decisions that injected them.
func callDecisions(o *check.Judged, untilNs int64) (list []callDecision) {
	if len(o.DecisionsNs) != len(o.Decisions) {
		return nil
	}
	for i, d := range o.Decisions {
		rest, ok := strings.CutPrefix(d.Stream, "fault/")
		word, node, _ := strings.Cut(rest, "/")
		kind := world.FaultKind(word)
		if ok && fault.Known(kind) && fault.RowOf(kind).Place == fault.OnCall && o.DecisionsNs[i] <= untilNs {
			list = append(list, callDecision{o.DecisionsNs[i], kind, node})
		}
	}
	return list
}

// callFaults are the first faults of single calls as lines of a timeline.
func callFaults(s *StoryOf, at int64) (list []entry) {
	calls := callDecisions(s.Outcome, at)
	for _, c := range calls[:min(len(calls), StoryInjections)] {
		list = append(list, entry{c.atNs, 0, "fault", fmt.Sprintf("%s %s: one call", c.kind, c.node), ""})
	}
	return list
}

// cited parts the operations of a run: those that the evidence names, and the others.
func (s *StoryOf) cited() (cited, others []history.Operation) {
	operations, err := history.Pair(s.Outcome.History)
	if err != nil {
		return nil, nil
	}
	named := namedEvents(s.Verdict.Evidence)
	for _, op := range operations {
		if named[op.Call] || named[op.Return] {
			cited = append(cited, op)
		} else {
			others = append(others, op)
		}
	}
	ofHistory := s.Verdict.Cause != nil && strings.HasPrefix(string(s.Verdict.Cause.Code), "expression/")
	if len(named) == 0 && ofHistory && len(others) <= fewOperations {
		return others, nil
	}
	return cited, others
}

// fewOperations is the most operations of a run all of which are cited if the evidence names none.
const fewOperations = 25

// storyOperations are the operations of a story: those that the evidence names, the last ones if there are many, and further ones that were under way
// as a fault was injected into a call.
func storyOperations(s *StoryOf) (named, underWay []history.Operation) {
	cited, others := s.cited()
	for _, op := range others {
		if len(underWay) == StoryOperations {
			break
		}
		if slices.ContainsFunc(s.Outcome.DiskChanges, func(c record.DiskChange) bool { return c.Fault != "" && during(&op, &c) }) {
			underWay = append(underWay, op)
		}
	}
	return cited[max(0, len(cited)-StoryOperations):], underWay
}

// during reports whether a change of a file was made while an operation was under way.
func during(op *history.Operation, c *record.DiskChange) bool {
	return c.Event > op.Call && c.Event < op.Return
}

// operationEntries are the begin and the end of an operation.
func operationEntries(op *history.Operation) []entry {
	const lane = "client"
	request := strings.TrimSpace(op.Op+" "+op.Key) + given(op) + " by " + op.Client
	begins := entry{op.CallTimeNs, op.Call, lane, clip(request + " begins"), ""}
	switch {
	case op.Type == history.Info:
		begins.text = clip(request + " begins; its outcome is unknown: " + orElse(op.Error, "no reason given"))
		return []entry{begins}
	case op.Return == history.Pending:
		begins.text = clip(request + " begins, and never returns")
		return []entry{begins}
	}
	return []entry{begins, {op.ReturnTimeNs, op.Return, lane, clip(request + ": " + outcome(op)), ""}}
}

// storyValueRunes bounds the values in a story's timeline.
const storyValueRunes = 48

func given(op *history.Operation) string {
	text := ""
	if op.Expect != "" {
		text += ` from "` + Visible(op.Expect, storyValueRunes) + `"`
	}
	if op.Input != "" {
		text += ` "` + Visible(op.Input, storyValueRunes) + `"`
	}
	return text
}

// outcome is how an operation ended.
func outcome(op *history.Operation) string {
	text := string(op.Type)
	switch {
	case op.Output != "" || op.Found:
		text += `, "` + Visible(op.Output, storyValueRunes) + `"`
	case op.Type == history.Ok && history.IsRead(op.Op):
		text += ", nothing"
	}
	if op.Error != "" {
		text += " (" + op.Error + ")"
	}
	return text
}
