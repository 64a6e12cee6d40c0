package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// mappers are those that were compiled, by what they were made of: a process judges many runs of one world.
var mappers sync.Map

func mapperOf(m *world.Mapping) (*model.Mapper, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	key := string(text)
	for _, file := range []string{m.Spec, m.Config} {
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		key += fmt.Sprint(" ", info.ModTime().UnixNano(), info.Size())
	}
	if c, ok := mappers.Load(key); ok {
		return c.(*model.Mapper), nil
	}
	c, err := model.Map(m)
	if err != nil {
		return nil, err
	}
	mappers.Store(key, c)
	return c, nil
}

// followed follows a run in the specification of a mapping, and measures how close it came to what that has if it is asked for.
func followed(spec *world.Spec, m *world.Mapping, out *record.Outcome, measure bool) (*model.Followed, error) {
	c, err := mapperOf(m)
	if err != nil {
		return nil, fmt.Errorf("the model cannot be loaded: %w", err)
	}
	f, err := c.Follow(Happened(spec, out, c.Wants), measure)
	if err != nil {
		return nil, fmt.Errorf("the run cannot be followed in the model: %w", err)
	}
	return f, nil
}

// follow adds the behaviour of a run in the specifications of its properties: states, steps between them, and guards; and how
// close it came to others.
func follow(spec *world.Spec, out *record.Outcome, measure bool, b *coverage.Behaviour) {
	for i := range spec.Properties {
		if p := &spec.Properties[i]; p.Check.Type.Kind().Basis == world.ByModel {
			if f, err := followed(spec, p.Check.Mapping, out, measure); err == nil { // else its verdict returns why
				b.Add(p.Name, &f.Behaviour)
			}
		}
	}
}

// guided follows a run in the model that only guides the search: what became of it there, and what it reached or came close to.
func guided(spec *world.Spec, out *record.Outcome, measure bool) (*record.Guided, *model.Followed) {
	f, err := followed(spec, spec.Guide, out, measure)
	if err != nil {
		return &record.Guided{Failed: err.Error(), Tally: &coverage.Tally{Rules: make([]int, len(spec.Guide.Rules))}}, &model.Followed{}
	}
	g := &record.Guided{Mapped: f.Tally.Mapped, Tally: &f.Tally}
	switch {
	case f.Err == nil:
	case f.At != nil:
		reason, _, _ := strings.Cut(f.Err.Error(), "\nin the state\n")
		g.Left = reason + "; the event is " + strings.Join(whereLeft(spec.Guide, f), ", ") +
			"; if the program is right, correct the rule or the specification"
	default:
		g.Left = f.Err.Error()
	}
	return g, f
}

// whereLeft is the event at which a run left a model, and the rule that mapped it.
func whereLeft(m *world.Mapping, f *model.Followed) []string {
	list := []string{fmt.Sprintf("%s (event %d) %s", verdict.Seconds(f.At.TimeNs), f.At.Number, f.At)}
	if f.By >= 0 {
		list = append(list, "mapped by "+m.Place(f.By))
	}
	return list
}

// conforms judges that a run is one of a specification.
func conforms(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	f, err := followed(spec, p.Check.Mapping, out, false)
	if err != nil {
		return verdict.Undecided(p, "%v", err)
	}
	v := verdict.New(p)
	v = tallied(v, &f.Tally)
	for _, s := range f.Strange {
		v.Evidence = append(v.Evidence, "not modelled: "+s)
	}
	var left *model.Divergence
	switch {
	case errors.As(f.Err, &left):
		reason, state, _ := strings.Cut(left.Error(), "\nin the state\n")
		v.Violate(f.At.Number, f.At.TimeNs, failure.Claim{Cause: left.Cause(), Words: reason})
		v.Evidence = slices.Concat(whereLeft(p.Check.Mapping, f), []string{"the model was in the state"}, indented(state), v.Evidence)
	case f.Err != nil:
		v.Reason = f.Err.Error()
	case out.LogLost > 0:
		v.Reason = fmt.Sprintf("%d log lines were not kept, so the check followed the run only up to that point: %s", out.LogLost, &f.Tally)
	case out.SDK.Unread > 0 && slices.ContainsFunc(p.Check.Mapping.Rules, func(r world.ModelRule) bool { return r.SDK != "" }):
		v.Reason = fmt.Sprintf("%d SDK lines could not be read or were not kept, so events of the model may be missing; the first: %s",
			out.SDK.Unread, out.SDK.FirstUnread)
	case len(out.Ledger.Injections) >= fault.MaxInjections:
		v.Reason = "more faults occurred than are kept, so the check followed the run only up to that point"
	default:
		v.Status = Holds
	}
	return v
}

// tallied adds to a verdict what became of the run's events.
func tallied(v Verdict, t *coverage.Tally) Verdict {
	v.Tally = t
	v.Evidence = append(v.Evidence, "events: "+t.String())
	return v
}

func indented(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, "  "+line)
	}
	return lines
}

// ordered is the order of a run's events without their times: lines of servers' logs without what varies in them, crashes, restarts and operations.
func ordered(spec *world.Spec, out *record.Outcome) coverage.Feature {
	sum := fnv.New64a()
	var text []byte
	for _, e := range Happened(spec, out, func(k model.EventKind) bool { return k == model.OperationEvent }) {
		text = append(append(append(text[:0], e.Kind...), 0), e.Node...)
		text = coverage.Template(append(text, 0), e.Line)
		if e.Op != nil {
			text = fmt.Append(text, e.Op.Client, " ", e.Op.Op, " ", e.Op.Type)
		}
		sum.Write(append(text, 0))
	}
	return coverage.Feature{ID: sum.Sum64(), Domain: coverage.Trace}
}

// Happened are the events of a run that a model may know, in the order of their times.
func Happened(spec *world.Spec, out *record.Outcome, wants func(model.EventKind) bool) []model.Event {
	server := map[string]bool{}
	for i := range spec.Nodes {
		server[spec.Nodes[i].Name] = spec.Nodes[i].Role == world.Server
	}
	type ranked struct {
		model.Event
		rank int // of what has the same time: what has no number comes before what has one
	}
	var list []ranked
	last := uint64(0) // of the log, if it is not whole
	for _, l := range out.Log {
		last = max(last, l.Event)
		if server[l.Node] && l.Stream != "engine" && (l.Stream != "sdk" || !wants(model.SDKEvent)) { // what an SDK reports is in the log, too
			list = append(list, ranked{model.Event{Kind: model.LineEvent, Number: l.Event, TimeNs: l.TimeNs, Node: l.Node, Line: l.Text}, 1})
		}
	}
	for i := range out.Ledger.Injections {
		s := &out.Ledger.Injections[i]
		if !server[s.Target] || !fault.Known(s.Kind) || fault.RowOf(s.Kind).Ends == fault.NoEnd {
			continue
		}
		crash := ranked{model.Event{Kind: model.CrashEvent, Number: s.Event, TimeNs: s.StartNs, Node: s.Target}, 1}
		if fault.RowOf(s.Kind).Ends == fault.RolledBack { // it began with the snapshot
			if s.RestoredNs == 0 {
				continue
			}
			crash = ranked{model.Event{Kind: model.CrashEvent, TimeNs: s.RestoredNs, Node: s.Target}, 0}
		}
		list = append(list, crash)
		if fault.RowOf(s.Kind).Ends != fault.OutOfMemory && s.EndNs > s.StartNs && s.EndNs <= out.VirtualNs {
			list = append(list, ranked{model.Event{Kind: model.RestartEvent, TimeNs: s.EndNs, Node: s.Target}, 0})
		}
	}
	for i := range out.Crashes {
		if c := &out.Crashes[i]; server[c.Node] && c.Kind != "sanitizer" {
			list = append(list, ranked{model.Event{Kind: model.CrashEvent, Number: c.Event, TimeNs: c.TimeNs, Node: c.Node}, 1})
		}
	}
	if wants(model.SDKEvent) {
		for i := range out.SDK.Events {
			if e := &out.SDK.Events[i]; server[e.Node] {
				list = append(list, ranked{model.Event{Kind: model.SDKEvent, Number: e.Event, TimeNs: e.TimeNs, Node: e.Node,
					Line: strings.TrimSpace(e.Name + " " + e.Details)}, 1})
			}
		}
	}
	if wants(model.ProbeEvent) {
		for i := range out.Probes {
			p := &out.Probes[i]
			list = append(list, ranked{model.Event{Kind: model.ProbeEvent, Number: p.Event, TimeNs: p.EndNs,
				Line: strings.TrimSpace(p.Property + " " + p.Output), Failed: p.ExitCode != 0}, 1})
		}
	}
	if wants(model.OperationEvent) {
		for i := range out.History {
			h := &out.History[i]
			list = append(list, ranked{model.Event{Kind: model.OperationEvent, Number: h.Number, TimeNs: h.TimeNs, Node: h.Node, Op: h}, 1})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.TimeNs, b.TimeNs), a.rank-b.rank, cmp.Compare(a.Number, b.Number))
	})
	events := make([]model.Event, 0, len(list))
	for _, e := range list {
		if out.LogLost > 0 && e.Number > last {
			break // what came between is not known
		}
		events = append(events, e.Event)
	}
	return events
}
