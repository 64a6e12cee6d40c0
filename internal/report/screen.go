package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Size of a screen: what a person sees of a command's end without scrolling, on a terminal of the smallest common size.
const (
	ScreenLines   = 24
	ScreenColumns = 80
)

// Bounds of the parts of a screen.
const (
	screenStory      = 6  // lines
	screenReason     = 2  // lines of a violation's reason
	screenNotice     = 3  // lines of a notice about properties that hold
	screenUnknown    = 4  // lines of the reasons why a verdict is unknown
	screenProperties = 6  // lines
	screenValueRunes = 48 // of a value in the story
	screenTime       = 20 // columns of a time in the story, at most
	screenFaults     = 3  // lines of the story
	screenOperations = 3
	screenUnusual    = 2
	screenMissing    = 24 // columns for kinds of faults
	screenHint       = 12 // columns that what a command is good for needs
	screenErrors     = 2  // servers whose last error is shown
	screenSaid       = 2  // last lines of a server that was never ready
	screenCode       = 2  // programs whose coverage is shown
)

// Screen is the end of a command as a person reads it: the verdict, the story behind it in a few lines, numbers, and what to do next. Everything
// else is in the full text.
type Screen struct {
	Verdict string // VIOLATED, HOLDS, UNKNOWN, ...
	Name    string // of the property that is violated, or what the verdict is about
	ID      string // of the failure
	Reason  string
	Story   []string
	Numbers []string
	Next    []Hint
	Tested  []string // kinds of faults, with how often
	Missing []string // kinds of faults that were not injected
	Remedy  string   // that has them injected
	Disks   string   // what of disks no power loss showed
	Details string   // where the full text is
}

// Hint is a command, and what it is good for.
type Hint struct {
	Command string
	For     string
}

// Colours of a terminal (ECMA-48, SGR).
const (
	redText    = "\x1b[1;31m"
	greenText  = "\x1b[32m"
	yellowText = "\x1b[33m"
	boldText   = "\x1b[1m"
	plainText  = "\x1b[0m"
)

// Print writes the screen: at most ScreenLines lines of at most ScreenColumns columns, apart from commands, which stay whole so that they can be copied.
func (s *Screen) Print(w io.Writer, coloured bool) error {
	lines := s.lines()
	for i := range lines {
		lines[i] = strings.TrimRight(Printable(lines[i]), " ")
	}
	if coloured && len(lines) > 0 {
		lines[0] = s.colour(lines[0])
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// colour paints the verdict and the name of the first line.
func (s *Screen) colour(line string) string {
	paint := yellowText
	switch {
	case strings.HasPrefix(s.Verdict, "VIOLATED"):
		paint = redText
	case strings.HasPrefix(s.Verdict, "HOLDS"):
		paint = greenText
	}
	rest := strings.TrimPrefix(line, s.Verdict)
	if s.Name != "" {
		rest = strings.Replace(rest, s.Name, boldText+s.Name+plainText, 1)
	}
	return paint + s.Verdict + plainText + rest
}

func (s *Screen) lines() []string {
	head := s.Verdict
	if s.Name != "" {
		head += "  " + s.Name
	}
	head = Fit(head, ScreenColumns-len(s.ID)-2)
	if s.ID != "" {
		head += strings.Repeat(" ", max(ScreenColumns-width(head)-len(s.ID), 2)) + s.ID
	}
	story := s.Story[:min(len(s.Story), max(screenStory, screenProperties))]
	lines := s.parts(head, wrapStory(story))
	if len(lines) > ScreenLines { // no room for lines that are wrapped
		short := make([]string, len(story))
		for i, line := range story {
			short[i] = fitEnds(line, ScreenColumns)
		}
		lines = s.parts(head, short)
	}
	for len(lines) > ScreenLines { // the blank lines between the parts go first
		i := slices.Index(lines, "")
		if i < 0 {
			break
		}
		lines = slices.Delete(lines, i, i+1)
	}
	for i := range lines {
		if command, _, _ := strings.Cut(strings.TrimPrefix(lines[i], "  "), "  "); !strings.HasPrefix(command, "bloodhound ") ||
			width(command)+2 < ScreenColumns-screenHint {
			lines[i] = Fit(lines[i], ScreenColumns)
		}
	}
	return lines
}

// parts are the lines of the screen with a blank line between its parts.
func (s *Screen) parts(head string, story []string) []string {
	lines := []string{head}
	reasonLines := screenReason
	if strings.HasPrefix(s.Verdict, "HOLDS") {
		reasonLines = screenNotice
	}
	if len(s.Story) == 0 || strings.HasPrefix(s.Verdict, "UNKNOWN") { // with the remedy
		reasonLines = screenUnknown
	}
	lines = append(lines, wrap(s.Reason, "  ", reasonLines)...)
	section := func(list []string) {
		if len(list) > 0 {
			lines = append(append(lines, ""), list...)
		}
	}
	section(story)
	section(s.Numbers)
	section(s.nextCommands())
	section(s.coverage())
	return lines
}

// wrapStory breaks each long line of a story into at most two, the second below the text of the first.
func wrapStory(story []string) (lines []string) {
	for _, line := range story {
		after := strings.Index(line, " s  ") + len(" s  ") // the time
		if width(line) <= ScreenColumns || !strings.HasPrefix(line, " ") || after < len(" s  ") || after > screenTime {
			lines = append(lines, line)
			continue
		}
		indent := strings.Repeat(" ", after)
		at, text := line[:after], line[after:]
		const most, ragged = 2, 12 // lines, and columns that breaks between words leave free
		broken := wrap(fitEnds(text, most*(ScreenColumns-after)-ragged), indent, most)
		broken[0] = at + strings.TrimPrefix(broken[0], indent)
		lines = append(lines, broken...)
	}
	return lines
}

// nextCommands lists the commands to run next, each with its purpose behind it.
func (s *Screen) nextCommands() (lines []string) {
	if len(s.Next) == 0 {
		return nil
	}
	column := 0
	for _, h := range s.Next {
		column = max(column, width(h.Command))
	}
	lines = []string{"Next"}
	for _, h := range s.Next {
		line := fmt.Sprintf("  %-*s  %s", column, h.Command, h.For)
		if 2+column+2+screenHint > ScreenColumns {
			line = "  " + h.Command // the command must stay whole
		}
		lines = append(lines, line)
	}
	return lines
}

// coverage says which faults were injected, and where the full text is.
func (s *Screen) coverage() (lines []string) {
	if len(s.Tested) > 0 {
		text := listed(s.Tested, ScreenColumns-12-len(" kinds"))
		switch {
		case strings.HasSuffix(text, " and 1 more"):
			text += " kind"
		case strings.HasSuffix(text, " more"):
			text += " kinds"
		}
		lines = append(lines, "Tested      "+text)
	}
	if len(s.Missing) > 0 {
		remedy := ""
		if s.Remedy != "" {
			remedy = " (try " + s.Remedy + ")"
		}
		lines = append(lines, "Not tested  "+listed(s.Missing, ScreenColumns-12-width(remedy))+remedy)
	}
	if s.Disks != "" {
		lines = append(lines, "Disks       "+s.Disks)
	}
	if s.Details != "" {
		lines = append(lines, "Details     "+s.Details)
	}
	return lines
}

// listed divides texts by commas, and counts those that do not fit into so many columns.
func listed(list []string, columns int) string {
	text := ""
	for i, x := range list {
		more := x
		if i > 0 {
			more = ", " + x
		}
		rest := ""
		if left := len(list) - i - 1; left > 0 {
			rest = fmt.Sprintf(" and %d more", left)
		}
		if i > 0 && width(text+more+rest) > columns {
			return text + fmt.Sprintf(" and %d more", len(list)-i)
		}
		text += more
	}
	return text
}

func width(text string) int { return utf8.RuneCountInString(text) }

// Fit cuts a text to so many columns.
func Fit(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:max(columns-3, 0)]), " ") + "..."
}

// fitEnds shortens a text to so many columns. It loses its middle: the outcome of an operation is at the end.
func fitEnds(text string, columns int) string {
	r := []rune(text)
	if len(r) <= columns {
		return text
	}
	head := columns * 2 / 3
	return strings.TrimRight(string(r[:head]), " ") + "…" + strings.TrimLeft(string(r[len(r)-(columns-head-1):]), " ")
}

// wrap breaks a text between words into at most so many lines.
func wrap(text, indent string, most int) (lines []string) {
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		switch {
		case last >= 0 && width(lines[last])+1+width(word) <= ScreenColumns:
			lines[last] += " " + word
		case len(lines) == most:
			lines[last] = Fit(lines[last]+" "+word+" ...", ScreenColumns)
			return lines
		default:
			lines = append(lines, indent+word)
		}
	}
	return lines
}

// FoundNote tells a failure as soon as it is found, before it is shrunk.
func FoundNote(s *StoryOf, where string) string {
	c := ScreenOf(s, "")
	lines := append([]string{fmt.Sprintf("FOUND  %s is violated (%s): %s", c.Name, where, c.Reason)}, wrapStory(c.Story)...)
	lines = append(lines, "Shrinking begins when the search ends; Ctrl-C keeps the smallest run so far.")
	return strings.Join(lines, "\n")
}

// ScreenOf is the screen of a violation: its story and the commands for its failure. arguments are those that name the project.
func ScreenOf(s *StoryOf, arguments string) *Screen {
	v := &s.Verdict
	c := &Screen{Verdict: "VIOLATED", Name: v.Property, ID: s.ID, Reason: failure.Headline(v.Reason), Story: storyLines(s)}
	if s.Outcome.Repeat.Once {
		c.Verdict = "VIOLATED, observed once"
	}
	if s.File != "" {
		c.Next = []Hint{
			{"bloodhound replay " + s.ID + arguments, "the same run again"},
			{"bloodhound explain " + s.ID + arguments, "why it fails"},
			{"bloodhound report " + s.ID + arguments, "timeline as a page"},
			{"bloodhound debug " + s.ID + arguments, "step backwards"},
		}
	} else if s.Replay != "" {
		c.Next = []Hint{{s.Replay, "repeat this run"}}
	}
	return c
}

// storyLine is a line of a story on a screen.
type storyLine struct {
	atNs  int64
	event uint64
	text  string
}

// storyLines tells a violation in a few lines, in virtual time: the faults before it, the operations that its evidence names, and what programs log in no
// other run.
func storyLines(s *StoryOf) (lines []string) {
	at := cmp.Or(s.Verdict.TimeNs, s.Outcome.VirtualNs)
	var list []storyLine // what says most comes first: there is room for screenStory lines
	add := func(l storyLine) {
		if len(list) < screenStory {
			list = append(list, l)
		}
	}
	cited, _ := s.cited()
	if len(namedEvents(s.Verdict.Evidence)) == 0 {
		cited = lastWrites(cited)
	} else {
		cited = cited[max(0, len(cited)-screenOperations):]
	}
	for i := range cited {
		line := operationLine(&cited[i])
		if replyOutlived(&cited[i], s.Outcome.Ledger.Injections) {
			line.text += " (its reply was on the way)"
		}
		add(line)
	}
	loss := tellingLoss(s.Outcome.DiskChanges, cited, at)
	if loss != nil {
		add(storyLine{loss.TimeNs, loss.Event, fmt.Sprintf("%s: %s", loss.Node, changeText(loss))})
	}
	injections, _ := causes(s.Outcome, at, screenFaults)
	injections = withLoss(injections, s.Outcome, loss)
	for i := range injections {
		add(storyLine{injections[i].StartNs, injections[i].Event, faultText(&injections[i])})
	}
	calls := callFaults(s, at)
	for _, e := range calls[:min(len(calls), screenFaults)] {
		add(storyLine{e.atNs, e.event, strings.ReplaceAll(e.text, "_", " ")})
	}
	if text := diskSpeeds(s); text != "" {
		add(storyLine{s.Outcome.ChaosNs, 0, text})
	}
	for i, u := range unusualLines(s) {
		if i < screenUnusual {
			add(storyLine{u.TimeNs, u.Event, fmt.Sprintf("%s logs: %s", u.Node, clip(u.Text))})
		}
	}
	for _, text := range crashLines(s) {
		add(storyLine{at, s.Verdict.Event, text})
	}
	slices.SortStableFunc(list, func(x, y storyLine) int {
		return cmp.Or(cmp.Compare(x.atNs, y.atNs), cmp.Compare(x.event, y.event))
	})
	write := milliseconds
	for i := 1; i < len(list); i++ { // with more digits where the order does not show otherwise
		if x, y := list[i-1].atNs, list[i].atNs; x/1e3 != y/1e3 && milliseconds(x) == milliseconds(y) {
			write = microseconds
		}
	}
	for _, l := range list {
		lines = append(lines, fmt.Sprintf("%9s  %s", write(l.atNs), l.text))
	}
	return lines
}

// withLoss makes sure that the power loss behind a loss is among the nearest faults: otherwise it replaces the farthest one.
func withLoss(nearest []fault.Injection, o *check.Judged, loss *record.DiskChange) []fault.Injection {
	if loss == nil || len(nearest) == 0 {
		return nearest
	}
	isOf := func(f fault.Injection) bool {
		takes := f.Kind == fault.PowerLoss || fault.Known(f.Kind) && fault.RowOf(f.Kind).Restores()
		return takes && f.Node == loss.Node && f.StartNs <= loss.TimeNs && loss.TimeNs <= f.EndNs
	}
	if slices.ContainsFunc(nearest, isOf) {
		return nearest
	}
	if i := slices.IndexFunc(o.Ledger.Injections, isOf); i >= 0 {
		nearest[0] = o.Ledger.Injections[i]
	}
	return nearest
}

// lastWrites are the last operations that change something, for a violation whose evidence names none.
func lastWrites(ops []history.Operation) (list []history.Operation) {
	for i := range ops {
		if o := &ops[i]; !history.IsRead(o.Op) && o.Output == "" && o.Type != history.Fail {
			list = append(list, *o)
		}
	}
	return list[max(0, len(list)-screenStory):]
}

// tellingLoss is, of what the last power loss took from a disk, the file that one of these operations had changed; else the last.
func tellingLoss(changes []record.DiskChange, ops []history.Operation, untilNs int64) *record.DiskChange {
	last := lastLoss(changes, untilNs)
	if last == nil {
		return nil
	}
	changed := map[string]bool{} // by the operations, before the loss
	for i := range changes {
		c := &changes[i]
		within := func(op history.Operation) bool { return during(&op, c) }
		if c.Call != record.Lost && c.Node == last.Node && c.Event < last.Event && slices.ContainsFunc(ops, within) {
			changed[c.Path] = true
		}
	}
	for i := range changes {
		c := &changes[i]
		if c.Call == record.Lost && c.Node == last.Node && c.TimeNs == last.TimeNs && changed[c.Path] {
			return c
		}
	}
	return last
}

// lastLoss is the last thing that a power loss took from a disk up to a time, or nil.
func lastLoss(changes []record.DiskChange, untilNs int64) *record.DiskChange {
	for i := len(changes) - 1; i >= 0; i-- {
		if c := &changes[i]; c.Call == record.Lost && c.TimeNs <= untilNs {
			return c
		}
	}
	return nil
}

// microseconds writes a point of virtual time, in seconds to the microsecond.
func microseconds(ns int64) string { return fmt.Sprintf("%.6f s", float64(ns)/1e9) }

// milliseconds writes a point of virtual time, in seconds to the millisecond.
func milliseconds(ns int64) string { return fmt.Sprintf("%.3f s", float64(ns)/1e9) }

// crashLines are the lines of a violation's evidence that a program wrote before it ended.
func crashLines(s *StoryOf) (list []string) {
	for _, line := range s.Verdict.Evidence {
		if text, ok := strings.CutPrefix(line, "  "); ok && loud(text) {
			list = append(list, strings.TrimSpace(clip(text)))
		}
	}
	return list
}

// loud reports whether a line of a log says that something went wrong.
func loud(text string) bool {
	lower := strings.ToLower(text)
	if strings.Contains(lower, `"level":"info"`) || strings.Contains(lower, `"level":"debug"`) { // its keys may have any of the words
		return false
	}
	return slices.ContainsFunc([]string{"panic", "fatal", "error", "assert", "exception", "corrupt"},
		func(word string) bool { return strings.Contains(lower, word) })
}

// operationLine tells an operation when it returned, or when it began if it did not.
func operationLine(op *history.Operation) storyLine {
	who := "client " + op.Client
	if op.Group != "" {
		who += " of group " + Visible(op.Group, screenValueRunes)
	}
	text := who + ": " + strings.TrimSpace(op.Op+" "+op.Key)
	if op.Expect != "" {
		text += ` from "` + Visible(op.Expect, screenValueRunes) + `"`
	}
	if op.Input != "" {
		text += ` = "` + Visible(op.Input, screenValueRunes) + `"`
	}
	switch {
	case op.Type == history.Info || op.Return == history.Pending:
		return storyLine{op.CallTimeNs, op.Call, text + " -> outcome unknown"}
	case op.Type == history.Fail:
		text += " -> failed"
	case op.Output != "" || op.Found:
		text += ` -> "` + Visible(op.Output, screenValueRunes) + `"`
	case history.IsRead(op.Op):
		text += " -> nothing"
	default:
		text += " -> ok"
	}
	return storyLine{op.ReturnTimeNs, op.Return, text}
}

// replyOutlived reports whether the server of an operation was killed, or lost its power, after it had sent the reply and before the
// client had it.
func replyOutlived(op *history.Operation, injections []fault.Injection) bool {
	return op.Type == history.Ok && slices.ContainsFunc(injections, func(f fault.Injection) bool {
		return f.Node == op.Node && op.Node != "" && fault.Known(f.Kind) && fault.RowOf(f.Kind).Kills() &&
			op.CallTimeNs < f.StartNs && f.StartNs < op.ReturnTimeNs && op.ReturnTimeNs < f.EndNs
	})
}

// faultText tells a fault.
func faultText(f *fault.Injection) string {
	form := kindWords(f.Kind) + " on %s"
	if fault.Known(f.Kind) {
		form = cmp.Or(fault.RowOf(f.Kind).Story, form)
	}
	if fault.Known(f.Kind) && fault.RowOf(f.Kind).Ends == fault.RolledBack && f.RestoredNs > 0 {
		return fmt.Sprintf("a snapshot of the disk of %s is taken; it is restored at %s, and %s is down until %s", f.Target, milliseconds(f.RestoredNs),
			f.Target, milliseconds(f.EndNs))
	}
	text := onTarget(f, f.Target, withCommand(f, form), "are")
	if f.EndNs > f.StartNs && !untilEnd(*f) {
		text += " until " + milliseconds(f.EndNs)
	}
	return text
}

// commandRunes bounds what a story has of a command.
const commandRunes = 80

// withCommand names the command in the form of a sentence about a fault that runs one.
func withCommand(f *fault.Injection, form string) string {
	if len(f.Command) == 0 {
		return form
	}
	command := "`" + Visible(shell.Join(f.Command), commandRunes) + "`"
	return strings.Replace(form, "a command", strings.ReplaceAll(command, "%", "%%"), 1)
}

// onTarget puts the target of a fault into a sentence, in place of %s. A partition of a link has a sentence of its own, with
// the form of "be" for its tense.
func onTarget(f *fault.Injection, target, form, be string) string {
	if from, to, link := strings.Cut(target, "-"); link && f.Kind == fault.Partition {
		return from + " and " + strings.TrimPrefix(to, ">") + " " + be + " cut off from each other"
	}
	if f.Node == "" && len(f.Directions) > 0 && strings.Contains(form, "of %s") {
		link := f.Directions[0]
		return fmt.Sprintf(strings.Replace(form, "of %s", "between %s and %s", 1), link.From, link.To)
	}
	return fmt.Sprintf(form, target)
}

// kindWords is the name of a kind in plain words.
func kindWords(k world.FaultKind) string { return strings.ReplaceAll(string(k), "_", " ") }

// faultGroups are the kinds of faults that a campaign should have had, with the name of what they test.
var faultGroups = []struct {
	name  string
	kinds []world.FaultKind
}{
	{"network", []world.FaultKind{fault.Partition, fault.Clog, fault.SlowLink, fault.Delay, fault.Drop, fault.Reset}},
	{"crashes", []world.FaultKind{fault.Crash, fault.Restart}},
	{"power loss", []world.FaultKind{fault.PowerLoss}},
	{"full disk", []world.FaultKind{fault.DiskFull}},
	{"pauses", []world.FaultKind{fault.Pause}},
	{"slow disk", []world.FaultKind{fault.SlowDisk}},
	{"clocks", []world.FaultKind{fault.ClockSkew, fault.ClockJump}},
}

// untested are the groups of faults of which no kind was injected.
func untested(entries []fault.Entry) (names []string) {
	for _, g := range faultGroups {
		injected := func(e fault.Entry) bool { return e.Delivered > 0 && slices.Contains(g.kinds, e.Kind) }
		if !slices.ContainsFunc(entries, injected) {
			names = append(names, g.name)
		}
	}
	return names
}

// tests fills in which faults were injected and which were not.
func (c *Screen) tests(spec *world.Spec, entries []fault.Entry, first *StoryOf) {
	entries = storyFirst(entries, first)
	for i := range entries {
		e := &entries[i]
		if e.Delivered == 0 {
			continue
		}
		text := fmt.Sprintf("%s %d", kindWords(e.Kind), e.Delivered)
		switch {
		case e.Observed == 0:
			text += " (none seen)"
		case e.Observed < e.Delivered:
			text += fmt.Sprintf(" (%d seen)", e.Observed)
		}
		c.Tested = append(c.Tested, text)
	}
	c.Missing = untested(entries)
	written := true
	for _, g := range faultGroups {
		asked := func(r world.FaultRule) bool { return slices.Contains(g.kinds, r.Kind) }
		if slices.Contains(c.Missing, g.name) {
			written = written && slices.ContainsFunc(spec.Faults.Rules, asked)
		}
	}
	if len(c.Missing) > 0 && !written {
		c.Remedy = "--mode " + world.Harsh
	}
}

// storyFirst sorts the kinds of faults that the story of a failure names before all others, since a narrow screen lists
// only some.
func storyFirst(entries []fault.Entry, first *StoryOf) []fault.Entry {
	if first == nil {
		return entries
	}
	told, _ := causes(first.Outcome, cmp.Or(first.Verdict.TimeNs, first.Outcome.VirtualNs), screenFaults)
	rank := func(e fault.Entry) int {
		if slices.ContainsFunc(told, func(f fault.Injection) bool { return f.Kind == e.Kind }) {
			return 0
		}
		return 1
	}
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(x, y fault.Entry) int { return rank(x) - rank(y) })
	return sorted
}

// disks says that power losses were those of one kind of file system, where nothing was found.
func (c *Screen) disks(spec *world.Spec, entries []fault.Entry) {
	lost := slices.ContainsFunc(entries, func(e fault.Entry) bool { return e.Kind == fault.PowerLoss && e.Delivered > 0 })
	if lost && spec.Faults.DiskProfile != "posix-minimal" {
		c.Disks = "as ext4 keeps them; posix-minimal loses more (faults.disk.profile)"
	}
}

// propertyLines list the properties of a campaign, those of the user first; those that Bloodhound checks by itself share a line.
func propertyLines(spec *world.Spec, list []explore.PropertyTotal) (lines []string) {
	own := map[string]bool{}
	for i := range spec.Properties {
		own[spec.Properties[i].Name] = true
	}
	hidden := func(p *explore.PropertyTotal) bool { return !own[p.Property] && p.Violated == 0 && p.Unknown == 0 }
	others, column := 0, 0
	for i := range list {
		if p := &list[i]; !hidden(p) {
			column = max(column, min(width(p.Property), ScreenColumns/2))
		}
	}
	for i := range list {
		p := &list[i]
		if hidden(p) {
			others++
			continue
		}
		text := fmt.Sprintf("  %-*s  %d of %s", column, Fit(p.Property, column), p.Holds, plural.Count(int(p.Holds+p.Violated+p.Unknown), "run"))
		if p.Violated > 0 {
			text += fmt.Sprintf(", %d violated", p.Violated)
		}
		if p.Unknown > 0 {
			text += fmt.Sprintf(", %d unknown", p.Unknown)
		}
		lines = append(lines, text)
	}
	if n := len(lines) + min(others, 1) - screenProperties; n > 0 {
		kept := len(lines) - n - 1
		lines = append(lines[:kept:kept], fmt.Sprintf("  and %s", plural.Count(len(lines)-kept, "further property")))
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("  no crash, panic or unexpected exit (%s)", plural.Count(others, "check")))
	}
	return lines
}

// CampaignScreen is the screen of a campaign. first is the story of its first failure, or nil; seed and arguments are for commands.
func CampaignScreen(spec *world.Spec, t *explore.Totals, status explore.Status, first *StoryOf, arguments string) *Screen {
	var c *Screen
	if first != nil {
		c = ScreenOf(first, arguments)
		for _, text := range foundLines(t, first.ID) {
			c.Numbers = append(c.Numbers, wrap(text, "", 2)...)
		}
		c.shrinkFurther(t, first.ID, arguments)
	} else {
		c = judged(status, t.Runs)
		c.Story = propertyLines(spec, t.Properties)
		c.name(t.Properties)
		c.nothingWorked(status, t.NeverReady, t.DriverFailed, t.Operations)
		if c.Verdict == "HOLDS" {
			c.Name = fmt.Sprintf("%s over %s", plural.Count(len(t.Properties), "property"), plural.Count(t.Runs, "run"))
		}
	}
	c.tests(spec, t.Faults.Entries, first)
	if len(c.Missing) > 0 && c.Remedy == "" {
		c.Remedy = "more runs"
	}
	if first == nil {
		c.disks(spec, t.Faults.Entries)
		c.Next = c.campaignHints(t, status, arguments)
		if t.Stopped == explore.Interrupted && c.Verdict == "UNKNOWN" {
			c.interrupted(t, arguments)
		}
	}
	numbers := campaignNumbers(t)
	if first != nil {
		numbers = "Searched " + numbers // without shrinking
	}
	c.Numbers = append(c.Numbers, wrap(numbers, "", 2)...)
	if first == nil { // else the story says more
		c.Numbers = append(c.Numbers, failing(spec, t.Operations, t.Reasons, nil)...)
	}
	var warnings []string
	for i := range t.Warnings {
		warnings = append(warnings, t.Warnings[i].Text)
	}
	c.Numbers = append(c.Numbers, commandWarning(warnings)...)
	for i := range t.Code[:min(len(t.Code), screenCode)] {
		c.Numbers = append(c.Numbers, Fit(fmt.Sprintf("Coverage of %s: %s", t.Code[i].Path, t.Code[i]), ScreenColumns))
	}
	for _, k := range t.Committed {
		if k.Standing == explore.StillFails {
			c.Numbers = append(c.Numbers, Fit(fmt.Sprintf("%s fails still: %s", k.File, k.Property), ScreenColumns))
			break
		}
	}
	if t.Stopped == explore.TimedOut {
		c.Numbers = append(c.Numbers, "Stopped by the timeout.")
	}
	if n := len(t.Failures) - 1; first != nil && n > 0 {
		c.Numbers = append(c.Numbers, fmt.Sprintf("%s of other kinds: see the details.", plural.Count(n, "further failure")))
	}
	return c
}

// campaignHints suggests commands after a campaign without a failure.
func (c *Screen) campaignHints(t *explore.Totals, status explore.Status, arguments string) []Hint {
	harsh := Hint{fmt.Sprintf("bloodhound explore%s %s", arguments, c.Remedy), "add " + listed(c.Missing, screenMissing)}
	longer := Hint{fmt.Sprintf("bloodhound explore%s --seeds %d", arguments, max(10*t.Runs, 100)), "search longer"}
	one := oneRun(arguments)
	for i := range t.Committed {
		if k := &t.Committed[i]; k.Standing == explore.Stale {
			return []Hint{{"rm " + k.File, "in the project, if the bug is fixed"}, longer, one}
		}
	}
	if status.ExitCode() == check.ExitUnknown && t.Operations.Ok == 0 {
		return helpless(arguments)
	}
	if strings.HasPrefix(c.Remedy, "--") {
		return []Hint{harsh, longer, one}
	}
	return []Hint{longer, {"bloodhound sweep" + arguments, "a fault at each moment in turn"}, one}
}

// oneRun is the hint to look at a run.
func oneRun(arguments string) Hint {
	return Hint{fmt.Sprintf("bloodhound run%s --logs", arguments), "one run, with the programs' output"}
}

// foundLines say where a failure was found, and how far it was shrunk.
func foundLines(t *explore.Totals, id string) (lines []string) {
	for _, f := range t.Failures {
		if f.ID != id {
			continue
		}
		text := ""
		switch {
		case f.Baseline:
			text = "Found in the run without faults."
		case f.Scout():
			text = fmt.Sprintf("Found in the first runs with faults, which look for moments (--seed %d).", t.Seed)
		default:
			text = fmt.Sprintf("Found after %s (--seed %d).", plural.Count(int(f.Run)+1, "run"), t.Seed)
		}
		lines = append(lines, text)
		if s := f.Shrunk; s != nil {
			if text := shrunkText(s); text != "" {
				lines = append(lines, text)
			}
		}
		return lines
	}
	return nil
}

// shrinkFurther offers to go on where the budget of shrinking has ended.
func (c *Screen) shrinkFurther(t *explore.Totals, id, arguments string) {
	for _, f := range t.Failures {
		if f.ID == id && f.Shrunk != nil && f.Shrunk.End != "" && len(c.Next) > 1 {
			c.Next = slices.Insert(c.Next, 2, Hint{"bloodhound shrink " + id + arguments, "a smaller run: " + f.Shrunk.End})
			c.Next = c.Next[:min(len(c.Next), 4)]
		}
	}
}

// shrunkText says what shrinking has taken away, and how many runs it took.
func shrunkText(s *shrink.Shrunk) string {
	from, to := s.From, s.To
	var parts []string
	add := func(what string, a, b int) {
		if a != b {
			parts = append(parts, fmt.Sprintf("%s %d -> %d", what, a, b))
		}
	}
	add("faults", int(from.Faults), int(to.Faults))
	add("operations", from.Operations, to.Operations)
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Shrunk in %s: %s.", plural.Count(s.Runs, "run"), strings.Join(parts, ", "))
}

func campaignNumbers(t *explore.Totals) string {
	if t.Stopped == explore.NoServer || t.Stopped == explore.NoDriver {
		return fmt.Sprintf("Stopped after the run without faults (%s): further runs could not show more.", rounded(t.WallNs))
	}
	return fmt.Sprintf("%s in %s (%s virtual), %s; %s.", plural.Count(t.Runs, "run"), rounded(t.WallNs), rounded(t.VirtualNs),
		plural.Count(t.Workers, "worker"), operationsText(t.Operations))
}

func operationsText(o explore.Operations) string {
	if o.Invoked == 0 {
		return "no operation"
	}
	return fmt.Sprintf("%.0f %% of %s ok", 100*float64(o.Ok)/float64(o.Invoked), plural.Count(o.Invoked, "operation"))
}

// failing says why operations fail, if more than half of them do: what clients got, and the last errors that servers wrote.
func failing(spec *world.Spec, o explore.Operations, reasons []explore.Reason, log []record.LogLine) (lines []string) {
	if o.Invoked == 0 && len(spec.Workloads) == 0 && len(spec.Properties) == 0 {
		return []string{"The servers received no requests: add a `workload` and `properties`."}
	}
	if o.Invoked == 0 || 2*o.Ok > o.Invoked || len(reasons) == 0 {
		return nil
	}
	lines = append(lines, Fit("Most operations fail: "+clip(reasons[0].Text), ScreenColumns))
	for i, text := range lastErrors(spec, log) {
		if i < screenErrors {
			lines = append(lines, Fit("  "+text, ScreenColumns))
		}
	}
	return lines
}

// judged is the screen of a judgement without a violation that could be told.
func judged(status explore.Status, runs uint64) *Screen {
	text := Judgement(status, runs)
	verdict, rest, _ := strings.Cut(text, ":")
	switch status.ExitCode() {
	case check.ExitHolds:
		return &Screen{Verdict: "HOLDS", Name: text, Reason: withoutTape(strings.Join(status.Notices[:min(len(status.Notices), 1)], "; "))}
	case check.ExitUnknown:
		return &Screen{Verdict: verdict, Reason: reasonsText(together(status.Unknown))}
	}
	return &Screen{Verdict: verdict, Reason: strings.TrimSpace(rest)}
}

// reasonsText joins reasons, and shortens them so that a long one leaves room for the next.
func reasonsText(reasons []string) string {
	if len(reasons) == 1 {
		return reasons[0]
	}
	var short []string
	for _, r := range reasons {
		short = append(short, Fit(r, screenUnknown/2*(ScreenColumns-4)))
	}
	return strings.Join(short, "; ")
}

// nothingWorked explains on a screen without a verdict why no operation succeeded: servers were never ready, or else a driver failed. It
// reports whether either is the case.
func (c *Screen) nothingWorked(status explore.Status, neverReady []record.NotUp, failedDriver string, o explore.Operations) bool {
	switch {
	case status.ExitCode() != check.ExitUnknown || o.Ok > 0:
		return false
	case len(neverReady) > 0:
		c.unready(neverReady)
	case failedDriver != "":
		c.Verdict, c.Name, c.Reason = "UNKNOWN", "no operation succeeded", failedDriver
	default:
		return false
	}
	return true
}

// unready names the servers that were never ready, and shows the last lines that they wrote.
func (c *Screen) unready(list []record.NotUp) {
	var names []string
	for i := range list {
		names = append(names, list[i].Node)
	}
	verb := " was"
	if len(list) > 1 {
		verb = " were"
	}
	c.Name = listed(names, ScreenColumns/2) + verb + " never ready"
	c.Reason, c.Story = "No operation succeeded, so nothing could be judged.", nil
	for i := range list[:min(len(list), screenErrors)] {
		u := &list[i]
		c.Story = append(c.Story, Fit(fmt.Sprintf("  %s: %s", u.Node, clip(u.Why)), ScreenColumns))
		for _, text := range u.Said[max(0, len(u.Said)-screenSaid):] {
			c.Story = append(c.Story, Fit(fmt.Sprintf("  %s wrote: %s", u.Node, clip(text)), ScreenColumns))
		}
	}
}

// helpless suggests commands when nothing works.
func helpless(arguments string) []Hint {
	return []Hint{{fmt.Sprintf("bloodhound run%s --logs", arguments), "all the programs' output"},
		{"bloodhound doctor", "what this machine lacks"},
		{"bloodhound config" + arguments, "the world as it was read"}}
}

// withoutTape leaves out which run was the first of those that a notice is about: that is in the full text.
func withoutTape(notice string) string {
	before, after, cut := strings.Cut(notice, ", the first with ")
	if _, reason, ok := strings.Cut(after, ": "); cut && ok {
		return before + ": " + reason
	}
	return notice
}

// name puts the properties without a verdict behind it, or how many there are.
func (c *Screen) name(list []explore.PropertyTotal) {
	var names []string
	for i := range list {
		if list[i].Unjudged() {
			names = append(names, list[i].Property)
		}
	}
	switch {
	case c.Verdict != "UNKNOWN" || len(names) == 0:
	case len(names) == 1:
		c.Name = names[0]
	default:
		c.Name = fmt.Sprintf("%d of %s", len(names), plural.Count(len(list), "property"))
	}
}

// interrupted says how far a campaign has come that a user has ended, and how to go on.
func (c *Screen) interrupted(t *explore.Totals, arguments string) {
	c.Verdict, c.Name, c.Reason = "UNKNOWN", "interrupted after "+plural.Count(t.Runs, "run"), "No violation so far."
	c.Next = []Hint{
		{fmt.Sprintf("bloodhound explore%s --seed %d", arguments, t.Seed+1), "continue with other tapes"},
		{fmt.Sprintf("bloodhound explore%s --timeout 10m", arguments), "the same search, which ends by itself"},
		oneRun(arguments),
	}
}

// commandWarning is the first of some warnings about a command that a fault should have run: without it, nothing says why that had no effect.
func commandWarning(warnings []string) []string {
	i := slices.IndexFunc(warnings, func(text string) bool { return strings.HasPrefix(text, record.CommandWarning) })
	if i < 0 {
		return nil
	}
	return wrap("Warning: "+strings.TrimPrefix(warnings[i], record.CommandWarning), "", 2)
}

// RunScreen is the screen of one run with a log. first is the story of its first violation, or nil.
func RunScreen(spec *world.Spec, r *explore.Summary, log []record.LogLine, status explore.Status, first *StoryOf, seed uint64, arguments string) *Screen {
	var c *Screen
	if first != nil {
		c = ScreenOf(first, arguments)
		if first.File != "" && !r.Repeat.Once {
			c.Next[1] = Hint{"bloodhound shrink " + first.ID + arguments, "the same failure in a smaller run"}
		}
	} else {
		c = judged(status, 1)
		c.Next = []Hint{{"bloodhound explore" + arguments, "many runs, until one breaks a property"},
			{fmt.Sprintf("bloodhound run%s --seed %d", arguments, seed+1), "another seed"},
			{fmt.Sprintf("bloodhound run%s --seed %d --logs", arguments, seed), "this run, with the programs' output"}}
		var totals []explore.PropertyTotal
		for _, v := range r.Verdicts {
			totals = append(totals, total(&v))
		}
		c.Story = propertyLines(spec, totals)
		c.name(totals)
		if c.Verdict == "HOLDS" {
			c.Name = plural.Count(len(totals), "property") + " in this run"
		}
		if r.Reason == record.Stopped && c.Verdict == "UNKNOWN" {
			c.Name, c.Reason = "interrupted", ""
			c.Next = append([]Hint{{fmt.Sprintf("bloodhound run%s --seed %d", arguments, seed), "the same run, to its end"}}, c.Next[:2]...)
		}
		if c.nothingWorked(status, r.NeverReady, r.DriverFailed, r.Operations) {
			c.Next = helpless(arguments)
		}
		c.Numbers = failing(spec, r.Operations, r.Reasons, log)
	}
	c.Numbers = append(wrap(runNumbers(r, seed), "", 2), c.Numbers...)
	c.Numbers = append(c.Numbers, commandWarning(r.Warnings)...)
	c.tests(spec, r.Faults, first)
	if len(c.Missing) > 0 && c.Remedy == "" {
		c.Remedy = "more runs: explore"
	}
	return c
}

// ReplayScreen is the screen of a replay with a judgement and its exit code. first is the story of the stored violation, or nil if the run does not show it.
func ReplayScreen(spec *world.Spec, r *explore.Summary, first *StoryOf, judgement string, code int, changes []string, arguments string) *Screen {
	verdict, rest, _ := strings.Cut(judgement, ":")
	c := &Screen{Verdict: verdict, Reason: strings.TrimSpace(rest)}
	if first != nil {
		c = ScreenOf(first, arguments)
	} else {
		c.Next = []Hint{{"bloodhound explore" + arguments, "search again: this run can no longer tell"},
			{"bloodhound replay --all" + arguments, "all failures on the code as it is now"},
			{"bloodhound list" + arguments, "all failures, with their state"}}
	}
	c.Numbers = []string{fmt.Sprintf("%s in %s; %s.", plural.Count(r.Events, "event"), rounded(r.VirtualNs), operationsText(r.Operations))}
	if first != nil {
		c.Numbers = append(c.Numbers, wrap(sentence(judgement), "", screenReason)...)
	}
	if code != check.ExitViolated || len(changes) > 0 && !strings.HasPrefix(judgement, "replayed:") {
		for _, change := range changes[:min(len(changes), screenReason)] {
			c.Numbers = append(c.Numbers, Fit("Changed: "+clip(change), ScreenColumns))
		}
	}
	c.tests(spec, r.Faults, first)
	return c
}

// sentence begins a text with a capital letter.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// total counts one verdict.
func total(v *check.Verdict) explore.PropertyTotal {
	t := explore.PropertyTotal{Property: v.Property}
	switch v.Status {
	case check.Holds:
		t.Holds = 1
	case check.Violated:
		t.Violated = 1
	default:
		t.Unknown = 1
	}
	return t
}

func runNumbers(r *explore.Summary, seed uint64) string {
	repeat := "replays identically"
	switch {
	case r.Repeat.Once:
		repeat = "observed once"
	case r.Repeat.Failed():
		repeat = "does not repeat"
	case r.Reason == record.Stopped:
		repeat = "interrupted"
	}
	return fmt.Sprintf("Seed %d: %s, %s virtual; %s; %s.", seed, plural.Count(r.Events, "event"), rounded(r.VirtualNs),
		operationsText(r.Operations), repeat)
}

// lastErrors are the last lines of servers that say that something went wrong, one for each server.
func lastErrors(spec *world.Spec, log []record.LogLine) (list []string) {
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		if n.Role != world.Server {
			continue
		}
		for k := len(log) - 1; k >= 0; k-- {
			if log[k].Node == n.Name && loud(log[k].Text) {
				list = append(list, fmt.Sprintf("%s: %s", n.Name, clip(log[k].Text)))
				break
			}
		}
	}
	return list
}

// rounded is duration with fewer digits, for a line that has little room.
func rounded(ns int64) string { return roundedTo(ns, 100*time.Millisecond, time.Millisecond) }
