package check

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/plural"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// tolerance knows when a property must hold although faults last. Without a group that is while no fault lasts but those of
// the kinds that excuse nothing. With a group it is while enough of its nodes are up, and connected with each other: one and
// the same nodes throughout a time, since a group whose majority changes every second need not agree on a leader.
type tolerance struct {
	what    string // the condition, for people
	code    string // and for causes
	names   []string
	group   []int // places in names; empty without a condition on a group
	least   int   // of the group
	clients map[string]int
	spans   []span // of all faults, without a group
	nodes   [][]span
	links   map[[2]int][]span
	// starts and ends are those of all spans, in order: what is true changes there alone.
	starts, ends []int64
	readyNs      int64
	complete     bool // the ledger lists all faults, and what they lay on
}

// toleranceOf reads the faults of a run as a property sees them.
func toleranceOf(spec *world.Spec, p *world.Property, out *record.Outcome) (*tolerance, error) {
	t := &tolerance{clients: map[string]int{}, links: map[[2]int][]span{}, readyNs: out.ReadyNs,
		complete: len(out.Ledger.Injections) < fault.MaxInjections}
	place := map[string]int{}
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		place[n.Name] = i
		t.names, t.nodes = append(t.names, n.Name), append(t.nodes, nil)
		if n.Role == world.Server && len(n.Command) == 0 {
			t.nodes[i] = append(t.nodes[i], span{0, math.MaxInt64}) // shrinking has taken it out
		}
	}
	for i := range spec.Workloads {
		if at, known := place[spec.Workloads[i].Node]; known {
			t.clients[spec.Workloads[i].Name] = at
		}
	}
	if p.Check.While != "" {
		for _, name := range p.Check.Nodes {
			at, known := place[name]
			if !known {
				return nil, fmt.Errorf("`nodes` lists %q, which is not in the world", name)
			}
			t.group = append(t.group, at)
		}
		var err error
		if t.least, err = world.Connected(p.Check.While, len(t.group)); err != nil {
			return nil, err
		}
	}
	t.read(p, out, place)
	for i := range spec.Nodes {
		t.broke(&spec.Nodes[i], i, out)
	}
	t.settle()
	t.what, t.code = t.condition(p), t.conditionCode(p)
	return t, nil
}

// read notes where faults lay. Those of kinds that excuse nothing are passed over.
func (t *tolerance) read(p *world.Property, out *record.Outcome, place map[string]int) {
	for i := range out.Ledger.Injections {
		s := &out.Ledger.Injections[i]
		if slices.Contains(p.Check.Despite, string(s.Kind)) {
			continue
		}
		lasts := span{s.StartNs, max(s.EndNs, s.StartNs+1)}
		t.spans = append(t.spans, lasts)
		at, known := place[s.Node]
		if !known && len(s.Directions) == 0 {
			t.complete = false // a record of an earlier version
		}
		if known {
			t.nodes[at] = append(t.nodes[at], lasts)
		}
		for _, c := range s.Directions {
			link := linkOf(place[c.From], place[c.To])
			t.links[link] = append(t.links[link], lasts)
		}
	}
}

// broke notes when a node's program ended by itself: it is down until its restart policy starts it again. That it ended is
// judged by a property of its own.
func (t *tolerance) broke(n *world.Node, at int, out *record.Outcome) {
	for i := range out.Crashes {
		c := &out.Crashes[i]
		if c.Node != n.Name {
			continue
		}
		down := span{c.TimeNs, math.MaxInt64}
		if n.Restart.Mode != world.RestartNo && n.Restart.Mode != "" {
			down.toNs = c.TimeNs + n.Restart.DelayNs + 1
		}
		t.nodes[at] = append(t.nodes[at], down)
	}
}

// settle puts all spans in order.
func (t *tolerance) settle() {
	all := func(spans []span) []span {
		spans = merged(spans)
		for _, s := range spans {
			t.starts, t.ends = append(t.starts, s.fromNs), append(t.ends, s.toNs)
		}
		return spans
	}
	t.spans = all(t.spans)
	for i := range t.nodes {
		t.nodes[i] = all(t.nodes[i])
	}
	for link := range t.links {
		t.links[link] = all(t.links[link])
	}
	slices.Sort(t.starts)
	slices.Sort(t.ends)
	t.starts, t.ends = slices.Compact(t.starts), slices.Compact(t.ends)
}

// condition is when the property must hold, in words that follow "while" or "although".
func (t *tolerance) condition(p *world.Property) string {
	text := "no fault lasted"
	if len(t.group) > 0 {
		text = fmt.Sprintf("%d of %d nodes were up and connected with each other", t.least, len(t.group))
	}
	if len(p.Check.Despite) > 0 {
		text += ", ignoring " + strings.Join(p.Check.Despite, ", ")
	}
	return text
}

// conditionCode is the condition for causes: with the kinds of faults that are no excuse.
func (t *tolerance) conditionCode(p *world.Property) string {
	code := noFault
	if len(t.group) > 0 {
		code = "connected"
	}
	return despite(code, p.Check.Despite)
}

// noFault is the circumstance that no fault lasted.
const noFault = "calm"

// despite is a circumstance, with the kinds of faults that are no excuse.
func despite(code string, kinds []string) string {
	return strings.Join(append([]string{code}, kinds...), ", ")
}

func linkOf(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// free reports whether none of the spans, which are in order, has a moment of the time from the one to before the other.
func free(spans []span, from, to int64) bool {
	i, _ := slices.BinarySearchFunc(spans, from+1, func(s span, at int64) int { return cmp.Compare(s.toNs, at) })
	return i == len(spans) || spans[i].fromNs >= to
}

// whole reports whether the condition was true all the time from the one to before the other, by nodes that can reach those
// in must; they may be of the group. It returns the nodes of the group that were connected.
func (t *tolerance) whole(from, to int64, must []int) (members []int, ok bool) {
	to = max(to, from+1)
	if len(t.group) == 0 {
		return nil, free(t.spans, from, to)
	}
	linked := func(a, b int) bool { return a == b || free(t.links[linkOf(a, b)], from, to) }
	for i, m := range must {
		if !free(t.nodes[m], from, to) || slices.ContainsFunc(must[:i], func(o int) bool { return !linked(m, o) }) {
			return nil, false
		}
	}
	var left []int
	for _, g := range t.group {
		if free(t.nodes[g], from, to) && !slices.ContainsFunc(must, func(m int) bool { return !linked(g, m) }) {
			left = append(left, g)
		}
	}
	return clique(left, t.least, linked)
}

// clique finds so many nodes that are all linked with each other.
func clique(nodes []int, least int, linked func(a, b int) bool) ([]int, bool) {
	if len(nodes) < least {
		return nil, false
	}
	for i, a := range nodes {
		for _, b := range nodes[i+1:] {
			if linked(a, b) {
				continue
			}
			// One of the two is not in it.
			for _, out := range []int{a, b} {
				rest := slices.DeleteFunc(slices.Clone(nodes), func(n int) bool { return n == out })
				if found, ok := clique(rest, least, linked); ok {
					return found, true
				}
			}
			return nil, false
		}
	}
	return nodes, true
}

// times are the longest times between the two in which the condition was true, in order. They may overlap, as each is of
// nodes of its own.
func (t *tolerance) times(from, to int64, must []int) (list []span) {
	at, _ := slices.BinarySearch(t.ends, from+1)
	begin, last := from, int64(math.MinInt64)
	for begin < to {
		if end := t.until(begin, to, must); end > begin && end > last {
			list, last = append(list, span{begin, end}), end
		}
		if last == to || at == len(t.ends) {
			break
		}
		begin = t.ends[at]
		at++
	}
	return list
}

// until is when the condition stops being true that is true from a moment on, at the latest the limit.
func (t *tolerance) until(from, limit int64, must []int) int64 {
	if _, ok := t.whole(from, limit, must); ok {
		return limit
	}
	low, _ := slices.BinarySearch(t.starts, from+1)
	high, _ := slices.BinarySearch(t.starts, limit)
	n, _ := slices.BinarySearchFunc(t.starts[low:high], 0, func(start int64, _ int) int {
		if _, ok := t.whole(from, start, must); ok {
			return -1
		}
		return 1
	})
	// The condition was true until the last start for which it is; then that fault broke it.
	if n == 0 {
		return from
	}
	return t.starts[low+n-1]
}

// asked are the nodes that must be connected for an attempt to be owed a success: the client's, and the node that it asked, or the
// node of a job. Of a client that no workload is known for, all workloads' are.
func (t *tolerance) asked(a *attempt) (must []int) {
	add := func(at int) {
		if !slices.Contains(must, at) {
			must = append(must, at)
		}
	}
	node := a.node
	if a.kind == jobKind {
		node = a.client
	} else if at, known := t.clients[workloadOf(a.client)]; known {
		add(at)
	} else {
		for _, at := range t.clients {
			add(at)
		}
	}
	host, _, _ := strings.Cut(node, ":")
	if at := slices.Index(t.names, host); at >= 0 {
		add(at)
	}
	slices.Sort(must)
	return must
}

// workloadOf is the workload that a client of a driver that comes with Bloodhound is named after.
func workloadOf(client string) string {
	if name, _, again := strings.Cut(client, world.RecoveryClients); again {
		return name
	}
	return client[:max(strings.LastIndex(client, "/"), 0)]
}

// named lists nodes.
func (t *tolerance) named(nodes []int) string {
	var names []string
	for _, n := range nodes {
		names = append(names, t.names[n])
	}
	return strings.Join(names, ", ")
}

// allowance says what of attempts does not count.
type allowance interface {
	// covers reports whether a failure of an attempt does not count.
	covers(a *attempt) bool
	// counted returns the times of an attempt that count, and countedInRun the times of the whole run that do, whatever was asked.
	counted(a *attempt) []span
	countedInRun(endNs int64) []span
}

// faultTimes excuse whatever overlaps one of them.
type faultTimes []span

func (f faultTimes) covers(a *attempt) bool          { return touches(f, a.fromNs, a.toNs) }
func (f faultTimes) counted(a *attempt) []span       { return between(f, a.fromNs, a.toNs) }
func (f faultTimes) countedInRun(endNs int64) []span { return between(f, 0, endNs) }

// patient excuses what happens while a condition is not true, or has not been for the grace.
type patient struct {
	*tolerance
	graceNs int64
}

func (e patient) covers(a *attempt) bool {
	if e.graceNs > 0 && a.fromNs < e.readyNs+e.graceNs {
		return true
	}
	_, ok := e.whole(a.fromNs-e.graceNs, a.toNs, e.asked(a))
	return !ok
}

func (e patient) counted(a *attempt) []span { return e.within(a.fromNs, a.toNs, e.asked(a)) }

func (e patient) countedInRun(endNs int64) []span { return e.within(0, endNs, nil) }

func (e patient) within(from, to int64, must []int) (list []span) {
	if e.graceNs > 0 {
		from = max(from-e.graceNs, e.readyNs)
	}
	for _, s := range e.times(from, to, must) {
		if s.fromNs += e.graceNs; s.fromNs < s.toNs {
			list = append(list, s)
		}
	}
	return list
}

// circumstance is when attempts count, in words that follow what became of them, and for causes.
type circumstance struct{ words, code string }

// allowanceOf returns the times in which attempts of a run may fail, and words for the others: " without a fault" and
// the like.
func allowanceOf(spec *world.Spec, p *world.Property, out *record.Outcome) (e allowance, without circumstance, err error) {
	const unlisted = "the ledger does not list all faults, so it is unknown which attempts overlapped one"
	c := &p.Check
	if spec != nil && c.While != "" {
		t, err := toleranceOf(spec, p, out)
		switch {
		case err != nil:
			return nil, without, err
		case !t.complete:
			return nil, without, errors.New(unlisted)
		}
		return patient{t, c.GraceNs}, circumstance{" while " + t.what, t.code}, nil
	}
	spans, complete := excused(c, out)
	switch {
	case !complete:
		return nil, without, errors.New(unlisted)
	case c.DuringFaults:
		return faultTimes(spans), without, nil
	case len(c.Despite) > 0:
		return faultTimes(spans), circumstance{" without a fault other than " + strings.Join(c.Despite, ", "), despite(noFault, c.Despite)}, nil
	}
	return faultTimes(spans), circumstance{" without a fault", noFault}, nil
}

// failedMeanwhile is a property of liveness that did not hold although it should: when it should have, and what its check says.
var failedMeanwhile = failure.Declare("liveness/failed-meanwhile")

// withstands judges that a property of liveness holds again and again while the condition is true: in no time of the timeout
// throughout which it was true did all probes fail.
func withstands(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	v := verdict.New(p)
	probes := probesOf(p, out)
	v.Probes = len(probes)
	if len(probes) == 0 {
		v.Reason = "the check never ran"
		return v
	}
	t, err := toleranceOf(spec, p, out)
	if err != nil {
		return verdict.Undecided(p, "%v", err)
	}
	timeout := p.Timeout()
	must := t.endpoint(spec, p.Check.Endpoint)
	last := probes[len(probes)-1].EndNs
	begins := append([]int64{out.ReadyNs}, t.ends...)
	for i := range probes {
		if probes[i].ExitCode == world.ProbeHolds {
			begins = append(begins, probes[i].EndNs+1)
		}
	}
	slices.Sort(begins)
	proven, unsure := 0, ""
	lasted, _ := faulty(&out.Ledger, 0)
	for _, from := range slices.Compact(begins) {
		to := from + timeout
		if from < out.ReadyNs || from > last || to > last {
			continue
		}
		members, ok := t.whole(from, to, must)
		if !ok {
			continue
		}
		w := lookedAt(probes, from, to)
		switch {
		case w.proof != nil:
			proven++
			if !free(lasted, from, to) {
				v.Withstood++
			}
		case !t.complete:
			unsure = "the ledger does not list all faults, so it is unknown during which faults the check failed"
		case w.count == 0:
			unsure = fmt.Sprintf("no run of the check began and ended from %s to %s; make it give up sooner, or raise the timeout",
				verdict.Seconds(from), verdict.Seconds(to))
		case w.ran == 0:
			unsure = "the check itself failed: " + sentence(w.last)
		case w.last.StartNs < from+timeout/2:
			unsure = fmt.Sprintf("the check ran too rarely from %s to %s; make it give up sooner, shorten its interval, or raise the timeout",
				verdict.Seconds(from), verdict.Seconds(to))
		case w.missed(p, probes):
			unsure = w.tooRare()
		default:
			v.Violate(w.last.Event, w.last.EndNs, failedMeanwhile.Cause(append([]string{t.code}, said(p, w.last)...)...).
				Claim("did not hold for %s although %s: %s", verdict.Seconds(timeout), t.what, firstLine(w.last.Output)))
			v.Evidence = append(t.evidence(members, from, to, out), fmt.Sprintf("%d probes failed in that time, the last one:", w.count), sentence(w.last))
			return v
		}
	}
	hang := hung(probes)
	switch {
	case hang != nil:
		v.Reason = hangs(hang)
	case unsure != "":
		v.Reason = unsure
	case proven == 0:
		v.Idle, v.Reason = true, fmt.Sprintf("there was no period of %s throughout which %s", verdict.Seconds(timeout), t.what)
	default:
		v.Status = Holds
	}
	return v
}

// gap is the longest time without a success of a probe throughout which the condition was true.
func (t *tolerance) gap(probes []record.Probe, must []int) (longest int64) {
	from := t.readyNs
	gaps := func(to int64) {
		for _, s := range t.times(from, to, must) {
			longest = max(longest, s.toNs-s.fromNs)
		}
	}
	for i := range probes {
		if q := &probes[i]; q.ExitCode == world.ProbeHolds {
			gaps(q.StartNs)
			from = max(from, q.EndNs)
		}
	}
	gaps(probes[len(probes)-1].EndNs)
	return longest
}

// endpoint is the node that a check asks, if it asks one.
func (t *tolerance) endpoint(spec *world.Spec, url string) []int {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		host = host[at+1:]
	}
	host, _, _ = strings.Cut(host, ":")
	for i := range spec.Nodes {
		if n := &spec.Nodes[i]; host != "" && (host == n.Name || host == n.Hostname || host == n.IPv4 || slices.Contains(n.Aliases, host)) {
			return []int{i}
		}
	}
	return nil
}

// lookedAt sums up the probes of a time. A success that overlaps it is a proof; failures count if they lie in it.
func lookedAt(probes []record.Probe, from, to int64) window {
	w := window{fromNs: from, endNs: to}
	for i := range probes {
		q := &probes[i]
		if q.EndNs < from || q.StartNs > to {
			continue
		}
		if q.ExitCode == world.ProbeHolds {
			w.proof = q
			continue
		}
		if q.StartNs < from || q.EndNs > to {
			continue
		}
		w.count++
		if q.ExitCode >= 0 && q.ExitCode != world.ProbeNotExecuted && q.ExitCode != world.ProbeNotFound {
			w.ran++
			w.last = q
		} else if w.last == nil {
			w.last = q
		}
	}
	return w
}

// evidence says which nodes were connected, and which faults lasted meanwhile.
func (t *tolerance) evidence(members []int, from, to int64, out *record.Outcome) (lines []string) {
	line := fmt.Sprintf("from %s to %s: ", verdict.Seconds(from), verdict.Seconds(to))
	if len(t.group) == 0 {
		line += t.what
	} else {
		line += fmt.Sprintf("%s of %s were up and connected with each other", t.named(members), t.named(t.group))
	}
	lines = append(lines, line)
	meanwhile := 0
	for i := range out.Ledger.Injections {
		s := &out.Ledger.Injections[i]
		if s.StartNs >= to || max(s.EndNs, s.StartNs+1) <= from {
			continue
		}
		if meanwhile++; meanwhile <= maxFaultsShown {
			lines = append(lines, fmt.Sprintf("meanwhile: %s %s from %s to %s", s.Kind, s.Target, verdict.Seconds(s.StartNs), verdict.Seconds(s.EndNs)))
		}
	}
	switch {
	case meanwhile == 0:
		lines = append(lines, "meanwhile: no fault")
	case meanwhile > maxFaultsShown:
		lines = append(lines, fmt.Sprintf("and %s more", plural.Count(meanwhile-maxFaultsShown, "fault")))
	}
	return lines
}

// maxFaultsShown bounds the faults that evidence lists.
const maxFaultsShown = 5
