package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// attempt is one try to get something done: an operation, or a run of a declared job.
type attempt struct {
	kind   string // of the operation; jobKind for jobs
	key    string // of the operation; the id of a job
	client string // who tried; the node of a job
	node   string // that the operation asked, as its driver reported it
	fromNs int64
	toNs   int64 // when it ended; until when it was seen to be under way if it did not
	ended  bool
	ok     bool
	event  uint64 // of its end, or of its begin if it did not end
	how    string // how it went, for people
	failed string // the error of one that did not succeed
}

// jobKind stands in attempts at jobs for the kind of operation.
const jobKind = "job"

// attemptsOf are the attempts of a run in the order in which they began, and the number of sightings of jobs. What the
// workload's clients had under way when their drivers broke down was under way until then, if abandonedNs is not 0.
func attemptsOf(p *world.Property, out *record.Outcome, abandonedNs int64) ([]attempt, int, error) {
	ops, err := histories.Pair(out.History)
	if err != nil {
		return nil, 0, err
	}
	var list []attempt
	for _, o := range ops {
		if len(p.Check.Operations) > 0 && !slices.ContainsFunc(p.Check.Operations, func(name string) bool { return strings.EqualFold(name, o.Op) }) {
			continue
		}
		a := attempt{kind: strings.ToLower(o.Op), key: o.Key, client: o.Client, node: o.Node, fromNs: o.CallTimeNs,
			toNs: out.VirtualNs, event: o.Call, how: "never returned"}
		if o.Type != history.Info || o.ReturnTimeNs > 0 {
			a.toNs, a.ended, a.ok, a.how = o.ReturnTimeNs, true, o.Type == history.Ok, string(o.Type)
			if o.Return != history.Pending {
				a.event = o.Return
			}
			if !a.ok {
				a.failed = o.Error
			}
			if o.Error != "" {
				a.how += " (" + verdict.Shorten(o.Error) + ")"
			}
		} else if abandonedNs > 0 && !world.IsRecovery(o.Client) {
			a.toNs = max(a.fromNs, min(a.toNs, abandonedNs))
			a.how = "never returned; its driver had failed"
		}
		list = append(list, a)
	}
	seen, watchedNs := 0, out.VirtualNs
	if n := len(out.Jobs); out.JobsLost > 0 && n > 0 {
		watchedNs = out.Jobs[n-1].TimeNs // a later line that was lost may have reported that a job was done
	}
	open := map[string]int{} // by node and id, the attempt that runs
	for i := range out.Jobs {
		j := &out.Jobs[i]
		if j.Property != p.Name {
			continue
		}
		seen++
		name := j.ID
		if !p.Check.Jobs.AcrossNodes {
			name = j.Node + "\x00" + j.ID
		}
		at, running := open[name]
		end := func(ok bool, how string) {
			a := &list[at]
			a.toNs, a.ended, a.ok, a.event, a.how = j.TimeNs, true, ok, j.Event, how
			delete(open, name)
		}
		switch j.What {
		case world.JobStart:
			if running { // no line says how it ended, but it does not run any more
				end(false, "started again before it was done")
			}
			open[name] = len(list)
			list = append(list, attempt{kind: jobKind, key: j.ID, client: j.Node, fromNs: j.TimeNs, toNs: watchedNs, event: j.Event, how: "was never done"})
		default:
			if !running { // its start was before the program wrote about it: it is over in the moment
				open[name], at = len(list), len(list)
				list = append(list, attempt{kind: jobKind, key: j.ID, client: j.Node, fromNs: j.TimeNs})
			}
			end(j.What == world.JobDone, string(j.What))
		}
	}
	slices.SortStableFunc(list, func(a, b attempt) int { return cmp.Compare(a.fromNs, b.fromNs) })
	return list, seen, nil
}

// subject names what an attempt was about.
func (a *attempt) subject() string {
	switch {
	case a.kind == jobKind:
		return fmt.Sprintf("job %q", a.key)
	case a.key == "":
		return a.kind
	}
	return fmt.Sprintf("%s %q", a.kind, a.key)
}

// code is the subject for causes.
func (a *attempt) code() string {
	if a.key == "" || a.kind == jobKind {
		return a.kind
	}
	return a.kind + "/key"
}

func (a *attempt) String() string {
	end := "until the end"
	if a.ended {
		end = "until " + verdict.Seconds(a.toNs)
	}
	who := "client"
	if a.kind == jobKind {
		who = "node"
	}
	return fmt.Sprintf("%s %s, %s %s %s (event %d): %s", verdict.Seconds(a.fromNs), a.subject(), who, a.client, end, a.event, a.how)
}

// span is a time from the one to the other, both in virtual nanoseconds.
type span struct{ fromNs, toNs int64 }

// faulty are the times in which faults lasted, each with so much time after it, in order and without overlaps, but for those
// of some kinds. It reports whether the ledger lists all faults.
func faulty(l *fault.Ledger, graceNs int64, but ...string) (spans []span, complete bool) {
	for _, s := range l.Injections {
		if slices.Contains(but, string(s.Kind)) {
			continue
		}
		spans = append(spans, span{s.StartNs, max(s.StartNs, s.EndNs) + graceNs})
	}
	return merged(spans), len(l.Injections) < fault.MaxInjections
}

func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.fromNs, b.fromNs) })
	var out []span
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && s.fromNs <= out[last].toNs {
			out[last].toNs = max(out[last].toNs, s.toNs)
			continue
		}
		out = append(out, s)
	}
	return out
}

// between are the times from the one to the other that no span covers.
func between(spans []span, from, to int64) []span {
	var out []span
	i, _ := slices.BinarySearchFunc(spans, from+1, func(s span, at int64) int { return cmp.Compare(s.toNs, at) })
	for _, s := range spans[i:] {
		if s.fromNs >= to {
			break
		}
		if s.fromNs > from {
			out = append(out, span{from, s.fromNs})
		}
		from = max(from, s.toNs)
	}
	if from < to {
		out = append(out, span{from, to})
	}
	return out
}

// touches reports whether a span has a moment of the time from the one to the other.
func touches(spans []span, from, to int64) bool {
	i, _ := slices.BinarySearchFunc(spans, from, func(s span, at int64) int { return cmp.Compare(s.toNs, at) })
	return i < len(spans) && spans[i].fromNs <= to
}
