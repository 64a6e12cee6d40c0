package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Bounds of a page, so that a run of a million events makes one of a few megabytes at most.
const (
	PageOperations = 400
	PageLogs       = 1500
	PageInjections = 200
	PageDecisions  = 200
	PageEvidence   = 200
	PageTapeLines  = 1000
	PageFiles      = 200
	pageValueRunes = 120
	pageLineRunes  = 400
)

// PageOf is the input of a failure's page.
type PageOf struct {
	StoryOf
	Bloodhound string // version of the program
	// Commit and System are those of the failure's file, and Discovery says when it was found; empty and nil if that is unknown.
	Commit, System string
	Discovery      *Discovery
	// Diagram has the messages and marks of the run; without one, nodes are drawn without messages.
	Diagram *Diagram
	// Changed says how the run differs from the one that was stored, if it does.
	Changed string
	// Explanation is of this run; nil if there is none.
	Explanation *Explanation
}

//go:embed page.html
var pageText string

// Style is the style sheet of all pages.
//
//go:embed style.css
var Style string

// pageStyle is the part of the style sheet that pages of failures alone have.
//
//go:embed page.css
var pageStyle string

//go:embed page.js
var script string

var functions = template.FuncMap{
	"line":      func(s string) string { return Visible(s, pageLineRunes) },
	"value":     func(s string) string { return Visible(s, pageValueRunes) },
	"seconds":   Seconds,
	"events":    eventLinks,
	"count":     plural.Count[int],
	"style":     func() template.CSS { return template.CSS(Style) },
	"about":     aboutSeconds,
	"pageStyle": func() template.CSS { return template.CSS(pageStyle) },
	"script":    func() template.JS { return template.JS(script) },
	"policy":    Policy,

	"momentsHelp": func() string { return momentsHelp },

	"odds":     odds,
	"interval": interval,

	"shrunkPlain": ShrunkPlain,
	"shrunkSizes": ShrunkSizes,
	"shrunkShort": shrunkShort,
}

// Policy lets a page run its own script and nothing else, and load nothing, whatever the page shows.
func Policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Templates are parsed when they are needed: the drivers of a world are this program, too, and need none.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(functions).Parse(pageText))
})

// pageView is the data of the template.
type pageView struct {
	*PageOf
	Promise, Happened string
	AtNs              int64
	Title             string
	Overview, Close   []template.HTML // for wide screens, and for narrow ones
	Story             []string
	Commands          []commandView
	Issue             string
	Badge             badgeView
	Legend            []legendView
	Cycle             *cycleView
	Moments           []momentView
	Tested, Untested  []fault.Entry // kinds of faults with a number above zero, and the others
	Rules             []fault.RuleEntry
	FilesRead         []fileView
	FilesLeft         int
	Calls             []FailedCall // in the window
	FromNs, ToNs      int64
	Nodes             []nodeView
	Operations        []operationView
	OperationsLeft    int
	Clients           int
	Key               string
	Conflicts         int
	Broken            string
	Evidence          []string
	EvidenceLeft      int
	Logs              []logView
	LogsLeft          int
	Injections        []fault.Injection
	InjectionsLeft    int
	Decisions         []decisionView
	DecisionsLeft     int
	Crashed           *crashView
	TapeLines         []string
	TapeLeft          int
	Events            uint64
}

// commandView is a command for a failure, and its purpose.
type commandView struct{ Name, Command, For string }

// fileView is a file that the run opened, and the digest of its content.
type fileView struct{ Path, Digest string }

// momentView is a moment; Decisive is the moment of no return.
type momentView struct {
	Moment
	Decisive bool
}

type nodeView struct {
	Index  int
	Name   string
	Colour string
	Role   string
}

type operationView struct {
	history.Operation
	Conflict, SameKey, Pending bool
	Request, Result            string
	Line                       uint64 // the event of the log line that is nearest
	folding
}

// folding is a row's place among rows that say the same again.
type folding struct {
	Fold   int       // 0 if it is shown
	Before *foldView // what is in its place while it is folded
}

// decisionView is a decision, and when it was made.
type decisionView struct {
	tape.Decision
	At string // empty if it is not known
}

// crashView describes a program that crashed.
type crashView struct {
	*record.Crash
	Why, Debugger, Core string
	Threads             []threadView
}

type threadView struct {
	TID  int
	Name string
	Rows []stackRow
	Left int
}

// logView is a line of the interleaved logs; one without a node is the world's: a fault, a phase, the violation.
type logView struct {
	TimeNs int64
	Node   string
	Index  int // of the node; -1 for the world
	Colour string
	Stream string
	Text   string
	Class  string
	Event  uint64
	folding
}

// Page writes a failure as one HTML file that needs nothing else: the property, its violation, the space-time
// diagram, the operations, the logs of all nodes, the faults, the tape, and how to replay it.
func Page(w io.Writer, p PageOf) error {
	f := newFocus(p.Outcome, p.Verdict)
	if p.Explanation != nil && p.Explanation.Jump != nil { // it belongs into the window
		f.fromNs = max(0, min(f.fromNs, p.Explanation.Jump.Before.AtNs-(f.toNs-f.fromNs)/12))
	}
	v := pageView{PageOf: &p, Promise: promise(&p.StoryOf, p.Verdict), Happened: failure.Headline(p.Verdict.Reason),
		AtNs: f.atNs, FromNs: f.fromNs, ToNs: f.toNs, Key: f.key, Conflicts: len(f.conflict), Events: p.Outcome.Events}
	v.Title = v.Happened
	v.Story, v.Commands, v.Moments, v.Issue = p.Narrative(), p.commands(), p.moments(), p.IssueText(v.Happened)
	v.Cycle = p.cycle(f.operations)
	v.Badge = p.badge()
	v.sortFaults()
	var files []fileView
	for _, path := range slices.Sorted(maps.Keys(p.Outcome.Files)) {
		files = append(files, fileView{path, p.Outcome.Files[path]})
	}
	v.FilesRead, v.FilesLeft = first(files, PageFiles)
	if p.Diagram != nil {
		for _, c := range p.Diagram.Calls {
			if c.TimeNs >= f.fromNs && c.TimeNs <= f.toNs {
				v.Calls = append(v.Calls, c)
			}
		}
	}
	lanes := p.lanes()
	for _, n := range p.Spec.Nodes {
		v.Nodes = append(v.Nodes, nodeView{lanes[n.Name], n.Name, colour(lanes[n.Name]), string(n.Role)})
	}
	ops, left := f.shownOperations(p.Outcome, PageOperations)
	v.OperationsLeft, v.Legend = left, p.legend(f, ops)
	for _, c := range []canvas{wideCanvas, narrowCanvas} {
		v.Overview, v.Close = append(v.Overview, p.overview(c, f, ops)), append(v.Close, p.closeUp(c, f, ops))
	}
	if f.broken != nil {
		v.Broken = f.broken.Error()
	}
	v.Crashed = p.crash()
	v.Logs, v.LogsLeft = p.logs(f, lanes)
	v.Operations = v.operations(f, ops)
	v.Evidence, v.EvidenceLeft = first(slices.Concat(p.Verdict.Evidence, ByDesign(p.Spec, &p.Verdict)), PageEvidence)
	v.Injections, v.InjectionsLeft = injectionsIn(p.Outcome.Ledger.Injections, 0, max(p.Outcome.VirtualNs, f.atNs), PageInjections)
	v.Decisions, v.DecisionsLeft = first(faultsFirst(p.Outcome), PageDecisions)
	v.TapeLines, v.TapeLeft = first(strings.Split(strings.TrimSpace(tape.Format(p.Outcome.Tape)), "\n"), PageTapeLines)
	return pageTemplate().Execute(w, &v)
}

// commands lists the next things to do with a failure.
func (p *PageOf) commands() []commandView {
	replay := commandView{"replay", p.Replay, "see it again"}
	run, ok := strings.CutPrefix(p.Replay, replayCommand)
	switch {
	case !ok:
		return []commandView{replay}
	case p.Outcome.Repeat.Once: // no run of the engine repeats
		return []commandView{{"replay", p.Replay, "run its tape on the native engine"}}
	}
	return []commandView{replay,
		{"explain", "bloodhound explain " + run, "find the cause"},
		{"debug", "bloodhound debug " + run, "stop there in gdb"}}
}

// badgeView names a violation in a word, with the signal, program or property.
type badgeView struct{ Word, Subject string }

// endWords name the ends of programs that break a promise.
var endWords = map[string]string{world.NoSignal: "crashed", world.NoPanic: "panicked", world.NoExit: "exited", world.NoReport: "sanitizer report"}

// badge names a broken promise by the end of the program, and another violation by its property.
func (p *PageOf) badge() badgeView {
	word, known := endWords[p.Verdict.Property]
	if known {
		for i := range p.Outcome.Crashes {
			if c := &p.Outcome.Crashes[i]; c.Position == p.Verdict.Position() {
				return badgeView{word, cmp.Or(c.Signal, c.Program)}
			}
		}
	}
	return badgeView{"violated", p.Verdict.Property}
}

// ToExplain lists the commands that add an explanation to the page.
func (v *pageView) ToExplain() []commandView {
	run, ok := strings.CutPrefix(v.Replay, replayCommand)
	if !ok || v.Outcome.Repeat.Once {
		return nil
	}
	return []commandView{{"explain-first", "bloodhound explain " + run, ""}, {"report-then", "bloodhound report " + run, ""}}
}

// Trace is the command that writes the run as a trace for Perfetto; empty if no run repeats.
func (v *pageView) Trace() string {
	if !strings.HasPrefix(v.Replay, replayCommand) || v.Outcome.Repeat.Once {
		return ""
	}
	return v.Replay + " --trace " + shell.Quote(v.ID+".json") + " --trace-format chrome"
}

// moments are the moments of a failure, with the moment of no return.
func (p *PageOf) moments() (list []momentView) {
	for _, m := range p.Moments() {
		list = append(list, momentView{Moment: m})
	}
	if p.Explanation == nil || p.Explanation.Jump == nil {
		return list
	}
	decisive := p.Explanation.Jump.Before.AtNs
	for i := range list {
		if list[i].TimeNs == decisive {
			list[i].Decisive = true
			return list
		}
	}
	run, ok := strings.CutPrefix(p.Replay, replayCommand)
	if !ok {
		return list
	}
	run += " --at " + Seconds(decisive)
	at := 0
	for at < len(list) && list[at].TimeNs < decisive {
		at++
	}
	return slices.Insert(list, at, momentView{Moment{TimeNs: decisive, Kind: "decision", Text: "the failure becomes likely", Look: replayCommand + run,
		Debug: "bloodhound debug " + run}, true})
}

// sortFaults parts the kinds of faults that were planned, delivered or observed from the others.
func (v *pageView) sortFaults() {
	for _, e := range v.Outcome.Ledger.Entries {
		if e.Planned+e.Delivered+e.Observed > 0 {
			v.Tested = append(v.Tested, e)
		} else {
			v.Untested = append(v.Untested, e)
		}
	}
	for _, r := range v.Outcome.Ledger.Rules {
		if r.Planned+r.Delivered+r.Observed > 0 {
			v.Rules = append(v.Rules, r)
		}
	}
}

// Seen says how many of the runs of its campaign showed the failure; empty if that is unknown.
func (v *pageView) Seen() string {
	d := v.Discovery
	if d == nil || d.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s", d.Runs, plural.Count(d.Of, "run"))
}

// ShortCommit is the beginning of the commit's name.
func (v *pageView) ShortCommit() string {
	name, rest, _ := strings.Cut(v.Commit, " ")
	if len(name) > 8 {
		name = name[:8]
	}
	return strings.TrimSpace(name + " " + rest)
}

func first[T any](list []T, limit int) (kept []T, left int) {
	if len(list) <= limit {
		return list, 0
	}
	return list[:limit], len(list) - limit
}

// faultsFirst orders decisions as people ask for them; the order of each part stays.
func faultsFirst(o *check.Judged) []decisionView {
	var sorted []decisionView
	for i, d := range o.Decisions {
		sorted = append(sorted, decisionView{d, strings.TrimSpace(decidedAt(o, i))})
	}
	slices.SortStableFunc(sorted, func(x, y decisionView) int {
		a, b := strings.HasPrefix(x.Stream, "fault/"), strings.HasPrefix(y.Stream, "fault/")
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	})
	return sorted
}

// crash describes the program that crashed, if the violation is about its end.
func (p *PageOf) crash() *crashView {
	c := p.Crash()
	if c == nil {
		return nil
	}
	v := &crashView{Crash: c, Why: crashWhy(c.Dump), Debugger: Debugger(c.Dump), Core: c.Dump.Core}
	for i := range c.Dump.Threads {
		t := &c.Dump.Threads[i]
		rows, left := first(stackRows(t), PageFrames)
		v.Threads = append(v.Threads, threadView{t.TID, t.Name, rows, left})
	}
	return v
}

// operations are rows of the table, with those folded that a client made again and again with the same result.
func (v *pageView) operations(f *focus, ops []history.Operation) (list []operationView) {
	var folds folder
	for i := range ops {
		op := &ops[i]
		view := operationView{Operation: *op, Conflict: f.conflict[op.Call], SameKey: f.key != "" && op.Key == f.key,
			Pending: op.Return == history.Pending, Request: requestText(op), Result: resultText(op)}
		k, _ := slices.BinarySearchFunc(v.Logs, op.CallTimeNs, func(l logView, ns int64) int { return cmp.Compare(l.TimeNs, ns) })
		if k < len(v.Logs) {
			view.Line = v.Logs[k].Event
		}
		key := op.Op + " " + op.Key + " " + string(op.Type) + " " + op.Error
		if op.Type == history.Ok {
			key += " " + op.Output
		}
		if view.Conflict || op.Input != "" && op.Type != history.Fail {
			key = "" // what was written may matter
		}
		folds.row(op.Client, key, i)
		list = append(list, view)
	}
	group, before := folds.fold(func(row int) int64 { return ops[row].CallTimeNs })
	for i := range list {
		list[i].folding = foldingOf(i, group, before, 1_000_000)
	}
	return list
}

// foldingOf is a row's place; groups of different tables have different numbers.
func foldingOf(row int, group map[int]int, before map[int]foldView, base int) (f folding) {
	if group[row] > 0 {
		f.Fold = base + group[row]
	}
	if b, ok := before[row]; ok {
		b.Group += base
		f.Before = &b
	}
	return f
}

// logs interleaves the lines of all nodes with faults, phases and the violation.
func (p *PageOf) logs(f *focus, lanes map[string]int) (list []logView, left int) {
	lines, left := f.shownLogs(p.Outcome.Log, PageLogs)
	type numbered struct {
		logView
		event uint64
	}
	var all []numbered
	world := func(ns int64, event uint64, class, text string) {
		all = append(all, numbered{logView{TimeNs: ns, Index: -1, Text: text, Class: class, Event: event}, event})
	}
	group, before := foldLogs(lines)
	for i, l := range lines {
		index, ok := lanes[l.Node]
		if !ok {
			index = -1
		}
		all = append(all, numbered{logView{TimeNs: l.TimeNs, Node: l.Node, Index: index, Colour: colour(max(index, 0)),
			Stream: l.Stream, Text: l.Text, Event: l.Event,
			folding: foldingOf(i, group, before, 0)}, l.Event})
	}
	fromNs, toNs := f.fromNs, f.toNs
	if len(lines) > 0 {
		fromNs, toNs = min(fromNs, lines[0].TimeNs), max(toNs, lines[len(lines)-1].TimeNs)
	}
	injections, _ := injectionsIn(p.Outcome.Ledger.Injections, fromNs, toNs, PageInjections)
	for _, s := range injections {
		if s.StartNs >= fromNs {
			world(s.StartNs, s.Event, "fault", fmt.Sprintf("%s %s begins%s", s.Kind, s.Target, seen(s)))
		}
		if s.EndNs <= toNs {
			world(s.EndNs, s.Event, "fault", fmt.Sprintf("%s %s ends", s.Kind, s.Target))
		}
	}
	if p.Diagram != nil {
		for _, m := range p.Diagram.Marks {
			if m.Node == "" && m.TimeNs >= fromNs && m.TimeNs <= toNs {
				world(m.TimeNs, m.Event, "phase", "phase "+m.Text)
			}
		}
	}
	world(f.atNs, p.Verdict.Event, "violated", p.Verdict.Property+" is violated")
	slices.SortStableFunc(all, func(x, y numbered) int {
		switch {
		case x.TimeNs != y.TimeNs:
			if x.TimeNs < y.TimeNs {
				return -1
			}
			return 1
		case x.event < y.event:
			return -1
		case x.event > y.event:
			return 1
		}
		return 0
	})
	for _, n := range all {
		list = append(list, n.logView)
	}
	return list, left
}

// requestText describes the request of an operation.
func requestText(op *history.Operation) string {
	text := strings.TrimSpace(op.Op + " " + op.Key)
	if op.Expect != "" {
		text += " from " + quote(op.Expect)
	}
	if op.Input != "" {
		text += " = " + quote(op.Input)
	}
	if op.Group != "" {
		text += " for group " + quote(op.Group)
	}
	return text
}

func quote(s string) string { return `"` + Visible(s, pageValueRunes) + `"` }

// resultText is the result of an operation.
func resultText(op *history.Operation) string {
	text := string(op.Type)
	switch {
	case op.Type == history.Info:
		text = "outcome unknown: it may take effect at any time"
		if history.IsRead(op.Op) {
			text = "outcome unknown"
		}
	case op.Output != "" || op.Found:
		text += " → " + quote(op.Output)
	case op.Type == history.Ok && (op.Op == "get" || op.Op == "read"):
		text += " → nothing"
	}
	if op.Error != "" {
		text += " (" + op.Error + ")"
	}
	return text
}

func operationText(op *history.Operation) string {
	until := ""
	if op.Return != history.Pending {
		until = " to " + Seconds(op.ReturnTimeNs)
	}
	return requestText(op) + ": " + resultText(op) + ", " + Seconds(op.CallTimeNs) + until
}

// Others are the verdicts on the run besides the one that the page is about.
func (v *pageView) Others() []check.Verdict {
	var list []check.Verdict
	for _, o := range v.Outcome.Verdicts {
		if o.Property != v.Verdict.Property {
			list = append(list, o)
		}
	}
	return list
}

// eventLinks is a line of evidence in which the events that it names are links to what the page has of them.
func eventLinks(line string) template.HTML {
	text := markup(line, pageLineRunes)
	return template.HTML(eventNumber.ReplaceAllString(text, `(<a href="#op-$1" data-event="$1">event $1</a>)`))
}
