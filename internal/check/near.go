package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// nearest is the least distance of what is not broken, and the most that a lower bound can claim.
const nearest = 0.001

// Near measures how close a run came to breaking each property, by one number or two for each of those kinds that have a measure, and
// to what its programs set as goals by guidance. Verdicts say what is broken; this says nothing of them but where a search should
// continue. It costs O(n log n) of the history.
func Near(spec *world.Spec, out *record.Outcome, verdicts []Verdict) []coverage.Nearness {
	n := &nearness{broken: map[string]bool{}}
	ops, err := histories.Pair(out.History)
	if err != nil {
		ops = nil // verdicts say why
	}
	for _, v := range verdicts {
		n.broken[v.Property] = n.broken[v.Property] || v.Status == Violated
	}
	for i := range spec.Properties {
		p := &spec.Properties[i]
		if m := methodOf(p.Check.Type); m.near != nil {
			m.near(n, spec, p, out)
		}
		h := histories.MethodOf(p.Check.Type)
		if h.Near != nil {
			h.Near(p, ops, func(measure string, sign float64, format string, args ...any) {
				n.add(p, measure, sign, format, args...)
			})
		}
		if h.Acknowledged {
			n.harmed(spec, p, ops, &out.Ledger)
		}
	}
	for i := range out.SDK.Guidance {
		n.guidance(&out.SDK.Guidance[i])
	}
	return n.list
}

type nearness struct {
	broken map[string]bool
	list   []coverage.Nearness
}

// add takes in a measure of a property: sign is 0 where there was no sign that it breaks, and 1 where it would.
func (n *nearness) add(p *world.Property, measure string, sign float64, format string, args ...any) {
	d := 1 - sign
	if math.IsNaN(d) {
		return
	}
	d = min(max(d, nearest), 1)
	says := fmt.Sprintf(format, args...)
	if n.broken[p.Name] {
		d, says = 0, "violated in this run: "+says // whatever the measure, nothing is nearer
	}
	n.list = append(n.list, coverage.Nearness{Name: p.Name + ": " + measure, Distance: d, Says: says})
}

// liveness is the longest time after the start or a heal until a probe succeeded, over the timeout. What a fault or the end of
// the run cut short took at least until then.
func (n *nearness) liveness(spec *world.Spec, p *world.Property, out *record.Outcome) {
	probes := probesOf(p, out)
	if len(probes) == 0 {
		return
	}
	timeout := p.Timeout()
	longest := int64(0)
	if p.Tolerant() {
		if t, err := toleranceOf(spec, p, out); err == nil {
			longest = t.gap(probes, t.endpoint(spec, p.Check.Endpoint))
			n.add(p, "longest recovery", float64(longest)/float64(timeout), "the check failed for %s of %s while %s",
				verdict.Seconds(longest), verdict.Seconds(timeout), t.what)
		}
		return
	}
	for _, w := range undisturbed(out, timeout) {
		w.fill(probes)
		switch {
		case w.proof != nil:
			longest = max(longest, w.proof.EndNs-w.fromNs)
		case w.last != nil:
			longest = max(longest, min(w.last.EndNs, w.endNs, out.VirtualNs)-w.fromNs)
		}
	}
	n.add(p, "longest recovery", float64(longest)/float64(timeout), "longest recovery %s of %s", verdict.Seconds(longest), verdict.Seconds(timeout))
}

// undisturbed are the times after the start and after each heal in which a property may come true: until its timeout is over, or
// a fault is injected.
func undisturbed(out *record.Outcome, timeout int64) []window {
	list := windowsOf(out.ReadyNs, out.Heals, timeout)
	var injections []int64
	for i := range out.Ledger.Injections {
		injections = append(injections, out.Ledger.Injections[i].StartNs)
	}
	slices.Sort(injections)
	for i := range list {
		w := &list[i]
		if k, _ := slices.BinarySearch(injections, w.fromNs); k < len(injections) {
			w.endNs = min(w.endNs, injections[k])
		}
	}
	return list
}

// progress is the longest row of failures over the allowed number, and the longest time under way over the allowed one.
func (n *nearness) progress(spec *world.Spec, p *world.Property, out *record.Outcome) {
	attempts, _, err := attemptsOf(p, out, abandoned(spec, out.Drivers))
	if err != nil || len(attempts) == 0 {
		return
	}
	c := &p.Check
	allowed, _, err := allowanceOf(spec, p, out)
	if err != nil {
		return // the verdict says why
	}
	if c.Failures > 0 {
		longest, who := 0, ""
		eachRow(allowed, attempts, func(s rowSubject, r *streak, a *attempt) bool {
			if r.count > longest {
				longest, who = r.count, s.String()
			}
			return true
		})
		n.add(p, "failures in a row", float64(longest)/float64(c.Failures), "%d of %d failures in a row: %s", longest, c.Failures, cmp.Or(who, "none"))
	}
	if c.HangNs > 0 {
		longest, who := int64(0), ""
		for i := range attempts {
			a := &attempts[i]
			for _, s := range allowed.counted(a) {
				if d := s.toNs - s.fromNs; d > longest {
					longest, who = d, a.subject()
				}
			}
		}
		n.add(p, "longest under way", float64(longest)/float64(c.HangNs), "%s under way for %s of %s", cmp.Or(who, "nothing"),
			verdict.Seconds(longest), verdict.Seconds(c.HangNs))
	}
}

// recovery is the longest time after the start or a heal in which something failed until it succeeded, over the timeout.
func (n *nearness) recovery(spec *world.Spec, p *world.Property, out *record.Outcome) {
	attempts, _, err := attemptsOf(p, out, abandoned(spec, out.Drivers))
	if err != nil {
		return
	}
	timeout := p.Timeout()
	longest, who := int64(0), ""
	for _, w := range undisturbed(out, timeout) {
		for _, g := range tried(p, attempts, w.fromNs, w.endNs) {
			first, failed := int64(math.MaxInt64), int64(0)
			for i := range g.tries {
				a := &g.tries[i]
				if a.ok && a.ended {
					first = min(first, a.toNs)
				}
			}
			for i := range g.tries {
				// Until the first success, what failed or is still under way has shown that it does not work yet.
				if a := &g.tries[i]; !a.ok && a.toNs <= first {
					failed = max(failed, a.toNs)
				}
			}
			if failed == 0 {
				continue
			}
			took := min(first, w.endNs, out.VirtualNs)
			if first == math.MaxInt64 {
				took = min(failed, w.endNs)
			}
			if took-w.fromNs > longest {
				longest, who = took-w.fromNs, g.name
			}
		}
	}
	n.add(p, "longest recovery", float64(longest)/float64(timeout), "%s worked again %s after a heal; the timeout is %s",
		cmp.Or(who, "everything"), verdict.Seconds(longest), verdict.Seconds(timeout))
}

// goneNs is how long before a crash an acknowledged change is half as near as one that is acknowledged right before it.
const goneNs = 10e6

// killing are the faults that end a node's programs at once.
var killing = fault.KindsOf((*fault.Row).Kills)

// harmed measures how close faults came to acknowledged operations, where drivers say which node they asked: how soon
// after a change the node that acknowledged it was killed, or lost power and with it all that it had not yet written; and
// how many operations a node acknowledged while it was cut off from all others throughout, so that it could not know
// their state. Their sign is n/(n+8), as for changes without an answer.
func (n *nearness) harmed(spec *world.Spec, p *world.Property, ops []history.Operation, l *fault.Ledger) {
	if !spec.Faults.Enabled {
		return
	}
	gone := map[string][]int64{} // by node, in order
	cut := map[string][]span{}
	for i := range l.Injections {
		switch s := &l.Injections[i]; {
		case slices.Contains(killing, s.Kind):
			gone[s.Target] = append(gone[s.Target], s.StartNs)
		case s.Kind == fault.Partition:
			cut[s.Target] = append(cut[s.Target], span{s.StartNs, s.EndNs})
		}
	}
	for _, times := range gone {
		slices.Sort(times)
	}
	soonest, lonely, asked := int64(math.MaxInt64), 0, 0
	for i := range ops {
		o := &ops[i]
		node, _, _ := strings.Cut(o.Node, ":")
		if o.Type != history.Ok || node == "" {
			continue
		}
		asked++
		if times := gone[node]; !history.IsRead(o.Op) {
			if k, _ := slices.BinarySearch(times, o.ReturnTimeNs); k < len(times) {
				soonest = min(soonest, times[k]-o.ReturnTimeNs)
			}
		}
		if slices.ContainsFunc(cut[node], func(s span) bool { return s.fromNs <= o.CallTimeNs && o.ReturnTimeNs <= s.toNs }) {
			lonely++
		}
	}
	if asked == 0 {
		return
	}
	if slices.ContainsFunc(killing, spec.Faults.Injects) {
		if soonest == math.MaxInt64 {
			n.add(p, "lost with its node", 0, "no node was killed after it had acknowledged a change")
		} else {
			n.add(p, "lost with its node", goneNs/(goneNs+float64(soonest)), "a node was killed %s after it had acknowledged a change",
				verdict.Seconds(soonest))
		}
	}
	if spec.Faults.Injects(fault.Partition) {
		n.add(p, "acknowledged while cut off", float64(lonely)/float64(lonely+8), "%d operations were acknowledged by a node that was cut off", lonely)
	}
}

// operands holds the two numbers that numeric guidance compares.
type operands struct {
	Left  *float64 `json:"left"`
	Right *float64 `json:"right"`
}

// guidance is the best of the values by which a program measures how close it came to something: a difference of two numbers that is to be
// large or small, or a set of conditions of which all or none are to be true.
func (n *nearness) guidance(g *sdk.Guidance) {
	best, says := math.Inf(1), ""
	for i := range g.Values {
		data := []byte(g.Values[i].Details)
		var d float64
		switch g.Type {
		case "numeric":
			var o operands
			if json.Unmarshal(data, &o) != nil || o.Left == nil || o.Right == nil {
				continue
			}
			if d = squash(*o.Left - *o.Right); g.Maximize {
				d = 1 - d
			}
		case "boolean":
			var set map[string]bool
			if json.Unmarshal(data, &set) != nil || len(set) == 0 {
				continue
			}
			wrong := 0
			for _, is := range set {
				if is != g.Maximize {
					wrong++
				}
			}
			d = float64(wrong) / float64(len(set))
		default:
			continue
		}
		if d < best {
			best, says = d, string(data)
		}
	}
	if says != "" {
		n.list = append(n.list, coverage.Nearness{Name: "guidance: " + g.Message, Distance: best, Says: says})
	}
}

// squash maps numbers to (0, 1), in their order: 0 to 1/2, and each doubling a bit further.
func squash(x float64) float64 {
	bits := math.Log2(1 + math.Abs(x))
	return 0.5 + math.Copysign(bits/(8+bits)/2, x)
}
