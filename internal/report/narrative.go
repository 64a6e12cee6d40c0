package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Bounds of a narrative.
const (
	narrativeFaults  = 2
	narrativeClients = 4
	narrativeRunes   = 110 // of a line of a log, or of a change of a file
)

// Narrative tells a violation in at most three sentences: the faults before it, what the system did then, and the operations that show it.
func (s *StoryOf) Narrative() []string {
	t := &timesTold{}
	list := s.sentences(t)
	if t.clash() {
		list = s.sentences(t)
	}
	return list
}

func (s *StoryOf) sentences(t *timesTold) (list []string) {
	for _, sentence := range []string{s.faultSentence(t), s.systemSentence(t), s.operationSentence(t)} {
		if sentence != "" {
			list = append(list, sentence)
		}
	}
	return list
}

// timesTold writes the times of a text to the millisecond, and with more digits where two of them would look equal.
type timesTold struct{ told []int64 }

func (t *timesTold) about(ns int64) string {
	const most = 9 // digits
	digits := 3
	for digits < most && slices.ContainsFunc(t.told, func(x int64) bool { return x != ns && secondsTo(x, digits) == secondsTo(ns, digits) }) {
		digits++
	}
	if !slices.Contains(t.told, ns) {
		t.told = append(t.told, ns)
	}
	return secondsTo(ns, digits)
}

// clash reports whether two of the times look equal to the millisecond.
func (t *timesTold) clash() bool {
	seen := map[string]bool{}
	for _, ns := range t.told {
		seen[aboutSeconds(ns)] = true
	}
	return len(seen) < len(t.told)
}

// faultSentence tells the faults that may have led to the violation.
func (s *StoryOf) faultSentence(t *timesTold) string {
	at := cmp.Or(s.Verdict.TimeNs, s.Outcome.VirtualNs)
	injections, left := causes(s.Outcome, at, narrativeFaults)
	var parts []string
	for i := range injections {
		parts = append(parts, pastFault(&injections[i], t))
	}
	calls := 0
	for i := range s.Outcome.DiskChanges {
		c := &s.Outcome.DiskChanges[i]
		if c.Fault != "" && c.TimeNs <= at && len(parts) < narrativeFaults {
			parts = append(parts, pastCall(c, t))
			calls++
		}
	}
	if calls == 0 { // such as a read, which changes no file
		list := callDecisions(s.Outcome, at)
		for _, c := range list[max(0, len(list)-(narrativeFaults-len(parts))):] {
			parts = append(parts, pastCallDecision(&c, t))
		}
	}
	switch {
	case len(parts) == 0:
		return "No fault was injected before the violation."
	case left > 0:
		parts[len(parts)-1] += ", after " + plural.Count(left, "other fault")
	}
	return upper(strings.Join(parts, ", and ")) + "."
}

// pastFault tells a fault that is over.
func pastFault(f *fault.Injection, t *timesTold) string {
	form := kindWords(f.Kind) + " hit %s"
	if fault.Known(f.Kind) {
		form = cmp.Or(fault.RowOf(f.Kind).StoryPast, form)
	}
	if fault.Known(f.Kind) && fault.RowOf(f.Kind).Ends == fault.RolledBack && f.RestoredNs > 0 {
		return fmt.Sprintf("the disk of %s was rolled back at %s to a snapshot from %s", f.Target, t.about(f.RestoredNs), t.about(f.StartNs))
	}
	text := onTarget(f, Visible(f.Target, screenValueRunes), withCommand(f, form), "were")
	if f.EndNs > f.StartNs && !untilEnd(*f) {
		return fmt.Sprintf("%s from %s to %s", text, t.about(f.StartNs), t.about(f.EndNs))
	}
	return text + " at " + t.about(f.StartNs)
}

// pastCall tells a fault of one call.
func pastCall(c *record.DiskChange, t *timesTold) string {
	what := fmt.Sprintf("the %s of %s on %s", c.Call, Visible(c.Path, narrativeRunes), c.Node)
	switch {
	case c.Short > 0:
		return fmt.Sprintf("Bloodhound let %s write only %d of %s at %s", what, c.To-c.From, plural.Count(c.Short, "byte"), t.about(c.TimeNs))
	case c.Errno != "":
		return fmt.Sprintf("Bloodhound made %s fail with %s at %s", what, c.Errno, t.about(c.TimeNs))
	}
	return fmt.Sprintf("Bloodhound injected %s into %s at %s", strings.ReplaceAll(c.Fault, "_", " "), what, t.about(c.TimeNs))
}

// callPast says what Bloodhound did to a call; %s is the node.
var callPast = map[world.FaultKind]string{
	fault.WriteFail:    "made a write on %s fail",
	fault.ReadFail:     "made a read on %s fail",
	fault.OpenFail:     "made an open on %s fail",
	fault.FsyncFail:    "made an fsync on %s fail",
	fault.PartialWrite: "cut a write on %s short",
	fault.TornWrite:    "tore a write on %s",
	fault.ReadCorrupt:  "corrupted the data of a read on %s",
}

// pastCallDecision tells a fault of one call of which no more than the decision is known.
func pastCallDecision(c *callDecision, t *timesTold) string {
	form, known := callPast[c.kind]
	if !known {
		form = "injected " + kindWords(c.kind) + " into a call on %s"
	}
	return fmt.Sprintf("Bloodhound "+form+" at %s", Visible(c.node, screenValueRunes), t.about(c.atNs))
}

// pastCrash tells how a program ended, and where.
func pastCrash(c *record.Crash, t *timesTold) string {
	text := filepath.Base(Visible(c.Program, narrativeRunes))
	if text != c.Node {
		text += " on " + Visible(c.Node, screenValueRunes)
	}
	text += " ended with " + c.Signal
	if list := c.Dump.Threads; len(list) > 0 && len(list[0].Frames) > 0 {
		f := &list[0].Frames[0]
		if f.Function != "" {
			text += " in " + Visible(f.Function, narrativeRunes)
		}
		if f.File != "" {
			text += fmt.Sprintf(" (%s:%d)", filepath.Base(Visible(f.File, narrativeRunes)), f.Line)
		}
	}
	return text + " at " + t.about(c.TimeNs) + "."
}

// systemSentence tells what the programs under test did: what a power loss took from them, how one ended, or what they logged in no other run.
func (s *StoryOf) systemSentence(t *timesTold) string {
	at := cmp.Or(s.Verdict.TimeNs, s.Outcome.VirtualNs)
	if c := s.Crash(); c != nil {
		return pastCrash(c, t)
	}
	cited, _ := s.cited()
	if loss := tellingLoss(s.Outcome.DiskChanges, cited, at); loss != nil {
		return fmt.Sprintf("On %s, %s.", loss.Node, Visible(changeText(loss), narrativeRunes))
	}
	for _, u := range unusualLines(s) {
		return fmt.Sprintf("%s logged “%s” at %s.", u.Node, Visible(strings.TrimSpace(u.Text), narrativeRunes), t.about(u.TimeNs))
	}
	return ""
}

// operationSentence tells the operation that shows the violation, with the last success before it.
func (s *StoryOf) operationSentence(t *timesTold) string {
	good, shows := s.turn()
	switch {
	case shows != nil && strings.EqualFold(shows.Op, "txn"):
		return s.transactionSentence()
	case good != nil && shows != nil:
		return upper(pastOperation(good, "", t)) + ", but " + pastOperation(shows, good.Client, t) + "."
	case shows != nil:
		return upper(pastOperation(shows, "", t)) + "."
	}
	if event, ns := s.lastPass(); event > 0 && s.Verdict.TimeNs > 0 {
		return fmt.Sprintf("The check of %s passed for the last time at %s and failed at %s.", s.Verdict.Property, t.about(ns),
			t.about(s.Verdict.TimeNs))
	}
	if s.Verdict.TimeNs > 0 && s.Crash() == nil {
		return fmt.Sprintf("The property was violated at %s.", t.about(s.Verdict.TimeNs))
	}
	return ""
}

// transactionSentence tells whose transactions show a violation of isolation.
func (s *StoryOf) transactionSentence() string {
	conflict, _ := s.cited()
	names := clients(conflict)
	for i := range names {
		names[i] = Visible(names[i], screenValueRunes)
	}
	last := len(names) - 1
	if last == 0 {
		return fmt.Sprintf("No order of all transactions explains what %s of %s read and wrote.", plural.Count(len(conflict), "transaction"), names[0])
	}
	return fmt.Sprintf("No order of all transactions explains what %s and %s read and wrote.", Some(names[:last], narrativeClients), names[last])
}

// pastOperation tells an operation that is over. client is whom the sentence has named.
func pastOperation(op *history.Operation, client string, t *timesTold) string {
	text := Visible(strings.TrimSpace(op.Op+" "+op.Key), narrativeRunes)
	if op.Input != "" {
		text += ` = "` + Visible(op.Input, screenValueRunes) + `"`
	}
	if op.Client == client {
		text = "its " + text
	} else {
		text = "the " + text + " by " + Visible(op.Client, screenValueRunes)
	}
	at := " at " + t.about(op.ReturnTimeNs)
	switch {
	case op.Type == history.Info || op.Return == history.Pending:
		return text + " at " + t.about(op.CallTimeNs) + " has an unknown outcome"
	case op.Type == history.Fail:
		return text + " failed" + at
	case op.Output != "" || op.Found:
		return text + ` returned "` + Visible(op.Output, screenValueRunes) + `"` + at
	case history.IsRead(op.Op):
		return text + " found nothing" + at
	}
	return text + " was acknowledged" + at
}

// aboutSeconds writes a time to the millisecond, without zeros at its end.
func aboutSeconds(ns int64) string { return secondsTo(ns, 3) }

// secondsTo writes a time with so many digits at most.
func secondsTo(ns int64, digits int) string {
	text := fmt.Sprintf("%.*f", digits, float64(ns)/1e9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " s"
}

// upper begins a sentence, unless that is with the name of a node or a call.
func upper(text string) string {
	for _, word := range []string{"the ", "packets "} {
		if strings.HasPrefix(text, word) {
			return strings.ToUpper(text[:1]) + text[1:]
		}
	}
	return text
}

// environment lists what someone else needs to know about the run, for an issue.
func (p *PageOf) environment() []string {
	list := []string{"Bloodhound " + p.Bloodhound, "machine: " + p.Outcome.Machine, "failure: " + p.ID}
	if p.Commit != "" {
		list = append(list, "commit: "+p.Commit)
	}
	if p.System != "" {
		list = append(list, "system: "+p.System)
	}
	list = append(list, fmt.Sprintf("tape: %s, trace hash %s", p.Outcome.Tape.Name(), p.Outcome.Hash))
	return slices.DeleteFunc(list, func(line string) bool { return strings.HasSuffix(line, ": ") })
}

// IssueText writes a failure as the short text of an issue, in Markdown: the headline, the story, the command, the environment.
func (p *PageOf) IssueText(headline string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s is violated: %s\n\n", flat(headline), flat(p.Verdict.Property), flat(promise(&p.StoryOf, p.Verdict)))
	for _, sentence := range p.Narrative() {
		b.WriteString(flat(sentence) + "\n")
	}
	text := p.Replay + "\n"
	for _, m := range p.Moments() {
		text += fmt.Sprintf("# %s  %s\n", aboutSeconds(m.TimeNs), m.Text)
	}
	fence := fenceOf(text)
	fmt.Fprintf(&b, "\n## Reproduce\n\n%ssh\n%s%s\n\n## Environment\n\n", fence, Printable(text), fence)
	for _, line := range p.environment() {
		b.WriteString("- " + flat(line) + "\n")
	}
	return b.String()
}

func flat(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }
