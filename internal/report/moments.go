package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// Bounds of the moments of a failure.
const (
	MomentFaults = 3
	momentRunes  = 60
)

// Moment is a point of a failing run that matters, and the commands that stop there: to look, and to debug.
type Moment struct {
	TimeNs      int64
	Kind        string // last good, fault, operation, violation
	Text        string
	Look, Debug string

	event uint64
}

// momentsHelp says what the commands of moments take.
const momentsHelp = "with --ps, --files, --logs, --sockets, --cat, --core, ..."

const replayCommand = "bloodhound replay "

// Moments lists the first places to look at in a failing run, in virtual time: the last success, the faults that may be
// the cause, the operation that shows the violation, and the violation. It is empty if no command replays the run from
// a stored failure.
func (s *StoryOf) Moments() (list []Moment) {
	run, ok := strings.CutPrefix(s.Replay, replayCommand)
	if !ok {
		return nil
	}
	o, v := s.Outcome, &s.Verdict
	if s.Found {
		run += " --original"
	}
	add := func(kind, text, at string, event uint64, ns int64) {
		run := run + " --at " + at
		list = append(list, Moment{TimeNs: ns, Kind: kind, Text: Visible(text, momentRunes), Look: replayCommand + run,
			Debug: "bloodhound debug " + run, event: event})
	}
	number := func(event uint64) string { return fmt.Sprint(event) }
	atNs := v.TimeNs
	if v.Event == 0 && v.TimeNs == 0 {
		atNs = o.VirtualNs
	}
	add("violation", v.Property+" is violated", "violation", cmp.Or(v.Event, o.Events), atNs)
	good, shows := s.turn()
	if shows != nil {
		add("operation", requestText(shows)+" by "+shows.Client+" begins", number(shows.Call), shows.Call, shows.CallTimeNs)
	}
	if good != nil {
		add("last good", requestText(good)+" by "+good.Client+" has returned", number(good.Return), good.Return, good.ReturnTimeNs)
	} else if event, ns := s.lastPass(); event > 0 {
		add("last good", "the check of "+v.Property+" passes for the last time", number(event), event, ns)
	}
	faults, _ := causes(o, atNs, MomentFaults)
	for i := range o.Ledger.Injections {
		f := &o.Ledger.Injections[i]
		if slices.ContainsFunc(faults, func(g fault.Injection) bool {
			return g.ID == f.ID && g.Kind == f.Kind && g.Target == f.Target && g.StartNs == f.StartNs
		}) {
			add("fault", fmt.Sprintf("%s %s begins", f.Kind, f.Target), fmt.Sprintf("'fault %d'", i+1), f.Event, f.StartNs)
		}
	}
	injected := 0 // into calls, which the ledger does not list
	for i := len(o.DiskChanges) - 1; i >= 0 && injected < MomentFaults; i-- {
		c := &o.DiskChanges[i]
		if c.Fault == "" || c.TimeNs > atNs {
			continue
		}
		injected++
		add("fault", fmt.Sprintf("%s %s: %s", c.Fault, c.Node, changeText(c)), number(c.Event), c.Event, c.TimeNs)
	}
	slices.SortStableFunc(list, func(a, b Moment) int {
		return cmp.Or(cmp.Compare(a.TimeNs, b.TimeNs), cmp.Compare(a.event, b.event), cmp.Compare(b.Kind, a.Kind))
	})
	return list
}

// turn finds, among the operations that the evidence names, the one that shows the violation, which is the last to begin, and the last one that had
// succeeded before it.
func (s *StoryOf) turn() (good, shows *history.Operation) {
	conflict, _ := s.cited()
	for i := range conflict {
		if op := &conflict[i]; shows == nil || op.Call > shows.Call {
			shows = op
		}
	}
	for i := range conflict {
		if op := &conflict[i]; op != shows && op.Type == history.Ok && op.Return < shows.Call && (good == nil || op.Return > good.Return) {
			good = op
		}
	}
	return good, shows
}

// lastPass is when a probe of the property passed last before the violation; event 0 if none did. A scrape passes no judgement.
func (s *StoryOf) lastPass() (event uint64, ns int64) {
	for i := range s.Outcome.Probes {
		p := &s.Outcome.Probes[i]
		if p.Property == s.Verdict.Property && p.ExitCode == 0 && len(p.Scrapes) == 0 &&
			p.EndNs <= cmp.Or(s.Verdict.TimeNs, s.Outcome.VirtualNs) && p.Event > event {
			event, ns = p.Event, p.EndNs
		}
	}
	return event, ns
}

// momentsStory prints the moments in a story.
func momentsStory(b *strings.Builder, s *StoryOf) {
	list := s.Moments()
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\nmoments, and the commands that look there (%s); debug in place of replay stops there for gdb\n", momentsHelp)
	width := 0
	for _, m := range list {
		width = max(width, len([]rune(m.Text)))
	}
	for _, m := range list {
		fmt.Fprintf(b, "  %14s  %-10s %-*s  %s\n", Seconds(m.TimeNs), m.Kind, width, m.Text, m.Look)
	}
}
