package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// hint is something in a run that may be to blame for a violation, with the evidence. It is no verdict.
type hint struct {
	Who  string // system, driver, configuration or Bloodhound
	What string
}

// Who may be to blame.
const (
	blameSystem        = "system"
	blameDriver        = "driver"
	blameConfiguration = "configuration"
	blameBloodhound    = "Bloodhound"
)

// blameNs is how long before a violation a refused call may have to do with it, in virtual time.
const blameNs = 2_000_000_000

// maxHints bounds the hints of each kind.
const maxHints = 4

// hints lists possible causes of a violation, those outside the system first: as long as they are possible, the system
// need not be at fault.
func hints(s *StoryOf) (list []hint) {
	operations, met := storyOperations(s)
	for _, some := range [][]hint{configurationHints(s), bloodhoundHints(s), driverHints(s, operations), diskHints(s, operations, met)} {
		list = append(list, some[:min(len(some), maxHints)]...)
	}
	return list
}

// blameStory prints the hints.
func blameStory(b *strings.Builder, s *StoryOf) {
	list := hints(s)
	if len(list) == 0 {
		return
	}
	b.WriteString("\nwhat may be to blame (hints, not a verdict)\n")
	for _, h := range list {
		fmt.Fprintf(b, "  %-13s  %s\n", h.Who, h.What)
	}
}

// configurationHints say that the property does not hold without faults either.
func configurationHints(s *StoryOf) (list []hint) {
	if s.Background != nil {
		if text := s.Background.Baseline[s.Verdict.Property]; text != "" && text != string(check.Holds) && text != string(check.NotYet) {
			list = append(list, hint{blameConfiguration, "in the run without faults the property is " + clip(text)})
		}
	}
	first := firstFault(s.Outcome)
	if first == 0 {
		operations, _ := storyOperations(s)
		switch {
		case overlap(operations):
			list = append(list, hint{blameSystem, "no fault was injected in this run: requests that overlap are enough"})
		case len(s.Outcome.Ledger.Entries) > 0:
			list = append(list, hint{blameConfiguration, "no fault was injected in this run: operations may race, or the property, its driver " +
				"or the system's settings may be wrong"})
		}
		return list
	}
	failed, passed := 0, 0
	for i := range s.Outcome.Probes {
		p := &s.Outcome.Probes[i]
		switch {
		case p.Property != s.Verdict.Property || p.EndNs >= first || p.StartNs < s.Outcome.ReadyNs:
		case p.ExitCode == world.ProbeHolds:
			passed++
		default:
			failed++
		}
	}
	if failed > 0 {
		list = append(list, hint{blameConfiguration, fmt.Sprintf("before the first fault began, at %s, %d of %s of the property had already failed",
			Seconds(first), failed, plural.Count(failed+passed, "probe"))})
	}
	return list
}

// overlap reports whether operations of two clients overlapped.
func overlap(operations []history.Operation) bool {
	for i := range operations {
		for j := range operations[:i] {
			a, b := &operations[i], &operations[j]
			if a.Client != b.Client && a.Call < b.Return && b.Call < a.Return {
				return true
			}
		}
	}
	return false
}

// firstFault is when the first fault was delivered, 0 if none was.
func firstFault(o *check.Judged) int64 {
	first := int64(0)
	for i := range o.Ledger.Injections {
		if at := o.Ledger.Injections[i].StartNs; first == 0 || at < first {
			first = at
		}
	}
	for i := range o.DiskChanges {
		if c := &o.DiskChanges[i]; c.Fault != "" && (first == 0 || c.TimeNs < first) {
			first = c.TimeNs
		}
	}
	if first == 0 && slices.ContainsFunc(o.Ledger.Entries, func(e fault.Entry) bool { return e.Delivered > 0 }) {
		first = max(o.ChaosNs, 1)
	}
	return first
}

// bloodhoundHints name calls that Bloodhound refused shortly before the violation: outside of worlds they succeed. Calls that it
// also refused in passing runs are not to blame.
func bloodhoundHints(s *StoryOf) (list []hint) {
	at := cmp.Or(s.Verdict.TimeNs, s.Outcome.VirtualNs)
	for i := range s.Outcome.Refused {
		r := &s.Outcome.Refused[i]
		if s.Background != nil && slices.Contains(s.Background.Refused, explore.RefusedCall(r)) {
			continue
		}
		if r.LastNs > 0 && r.LastNs <= at && at-r.LastNs <= blameNs {
			list = append(list, hint{blameBloodhound, fmt.Sprintf("%s before, at %s, it refused %s of %s on %s (%s), which worlds do not support",
				duration(at-r.LastNs), Seconds(r.LastNs), r.Call, clip(r.Program), r.Node, r.Errno)})
		}
	}
	return list
}

// driverHints name operations of the evidence that a driver cannot know the result of, and drivers that failed.
func driverHints(s *StoryOf, operations []history.Operation) (list []hint) {
	o := s.Outcome
	for i := range operations {
		op := &operations[i]
		if op.Type == history.Ok && slices.Contains(o.Unanswered, op.Return) {
			list = append(list, hint{blameDriver,
				fmt.Sprintf("it reported %s by %s as ok at %s, and had read nothing from another node since the operation began",
					clip(requestText(op)), op.Client, Seconds(op.ReturnTimeNs))})
		}
	}
	for i := range o.Drivers {
		if d := &o.Drivers[i]; d.ExitCode != 0 || d.Signal != "" {
			text := fmt.Sprintf("the driver of workload %s ended with exit code %d %s at %s: %s", d.Workload, d.ExitCode, d.Signal, Seconds(d.TimeNs), d.Said)
			list = append(list, hint{blameDriver, clip(text)})
		}
	}
	return list
}

// diskHints say what a node did with its files that fits the violation: it relied on what was not durable, continued after a failed
// call, or wrote over what it had written.
func diskHints(s *StoryOf, operations, met []history.Operation) (list []hint) {
	at := cmp.Or(s.Verdict.TimeNs, s.Outcome.VirtualNs)
	for _, node := range changedNodes(s.Outcome.DiskChanges) {
		d := disk{node: node, operations: operations, met: met, injections: s.Outcome.Ledger.Injections}
		for i := range s.Outcome.DiskChanges {
			if c := &s.Outcome.DiskChanges[i]; c.Node == node && c.TimeNs <= at {
				d.add(c)
			}
		}
		if len(d.sought) == 1 { // a program that looks for many is one that can do without
			d.system("%s", d.sought[0].text)
		}
		list = append(list, d.hints...)
	}
	return list
}

// changedNodes are the nodes whose files changed, in order.
func changedNodes(changes []record.DiskChange) (nodes []string) {
	for i := range changes {
		if !slices.Contains(nodes, changes[i].Node) {
			nodes = append(nodes, changes[i].Node)
		}
	}
	return nodes
}

// disk follows the changes of a node's files.
type disk struct {
	node       string
	operations []history.Operation // of the evidence
	met        []history.Operation // those that were under way as a call failed
	injections []fault.Injection
	files      map[string]*followed
	latest     *record.DiskChange // the last call that failed
	sought     []sought
	hints      []hint
}

// sought is a file that a node looked for after a fault, and that was not there.
type sought struct{ path, text string }

// followed is the state of a file so far.
type followed struct {
	wrote    *record.DiskChange // the last write
	writes   []*record.DiskChange
	synced   int64              // when it was last synchronised with success
	failed   *record.DiskChange // the last call that failed, or wrote too little
	told     bool               // that the node continued after it
	unsynced *record.DiskChange // the last synchronisation that failed
	appends  uint64             // calls that wrote behind each other, as long as all did
	mixed    bool               // one wrote elsewhere
	end      int64              // of what was written
}

func (d *disk) system(format string, arguments ...any) {
	d.hints = append(d.hints, hint{blameSystem, fmt.Sprintf(format, arguments...)})
}

// add takes in the next change.
func (d *disk) add(c *record.DiskChange) {
	if d.files == nil {
		d.files = map[string]*followed{}
	}
	if c.Removes() {
		d.removed(c)
		return
	}
	f := d.files[c.Path]
	if f == nil {
		f = &followed{}
		d.files[c.Path] = f
	}
	switch {
	case c.Errno == "ENOENT": // it looks for what is not there
		if f.wrote == nil {
			d.missing(c)
		}
	case c.Call == record.Lost:
		d.lost(f, c)
		f.failed, f.unsynced = nil, nil
	case c.Errno != "" || c.Short > 0:
		d.latest = nil
		if c.Errno != "" {
			d.latest = c
		}
		if f.failed == nil || f.told {
			f.failed, f.told = c, false
		}
		if syncs(c) {
			f.unsynced = c
		}
	case syncs(c):
		f.synced = max(c.LastNs, c.TimeNs)
		d.continued(f, c)
	case strings.Contains(c.Call, "write"):
		d.overwrote(f, c)
		f.wrote, f.end = c, max(f.end, c.To)
		f.writes = append(f.writes, c)
		d.continued(f, c)
	case c.Call == "ftruncate":
		d.cut(f, c)
		*f = followed{end: c.To}
	case opens(c):
		*f = followed{end: c.To}
	case c.Old != "": // another file
		*f = followed{}
		delete(d.files, c.Old)
	}
}

// lost is a power loss that took something from a file.
func (d *disk) lost(f *followed, c *record.DiskChange) {
	if f.wrote == nil || c.Restored { // another disk: nothing that the program could have synchronised
		return
	}
	from := f.wrote.TimeNs
	if c.Old != "" {
		d.system("%s had written to %s from %s on; the power loss at %s undid the last change of that name, which was not durable%s", d.node, clip(c.Path),
			Seconds(f.writes[0].TimeNs), Seconds(c.TimeNs), d.although(f.writes[0].TimeNs, c.TimeNs))
		*f = followed{}
		return
	}
	if k := slices.IndexFunc(f.writes, func(w *record.DiskChange) bool { return w.To > c.From }); k >= 0 && c.To > c.From { // the first that is lost
		from = f.writes[k].TimeNs
	}
	text := fmt.Sprintf("%s had written to %s from %s to %s", d.node, clip(c.Path), Seconds(from), Seconds(max(f.wrote.LastNs, f.wrote.TimeNs)))
	switch {
	case f.unsynced != nil:
		from = f.unsynced.TimeNs
		text = fmt.Sprintf("%s of %s failed on %s at %s", f.unsynced.Call, clip(c.Path), d.node, Seconds(from))
	case f.synced < f.wrote.TimeNs:
		text += " and not synchronised it since"
	}
	d.system("%s; the power loss at %s took content of the file back%s", text, Seconds(c.TimeNs), d.although(from, c.TimeNs))
}

// cut is a truncation that takes away what the node had written.
func (d *disk) cut(f *followed, c *record.DiskChange) {
	if f.wrote == nil || f.mixed || c.To >= f.end {
		return
	}
	from := f.wrote.TimeNs
	if f.failed != nil {
		from = f.failed.TimeNs
	}
	d.system("%s cuts %s to %s at %s, where it had written up to byte %d%s", d.node, clip(c.Path), plural.Count(c.To, "byte"),
		Seconds(c.TimeNs), f.end, d.although(from, c.TimeNs))
}

// although names an operation of the evidence that ended between two times, with a result that what happens at the second one belies.
func (d *disk) although(fromNs, toNs int64) string {
	for i := range d.operations {
		op := &d.operations[i]
		if op.Type == history.Ok && op.ReturnTimeNs >= fromNs && op.ReturnTimeNs <= toNs {
			return fmt.Sprintf(", although %s by %s had ended with %s at %s", strings.TrimSpace(op.Op+" "+op.Key)+given(op),
				op.Client, outcome(op), Seconds(op.ReturnTimeNs))
		}
	}
	return ""
}

// afterFaultNs is how long after a fault a node is busy with its start.
const afterFaultNs = 1_000_000_000

// cleanUpNs is how long after a call failed a removal may be part of dealing with that.
const cleanUpNs = 1_000_000

// removed is a removal right after a failed call, or one of a folder with files that the node had written.
func (d *disk) removed(c *record.DiskChange) {
	if failed := d.latest; failed != nil && strings.HasPrefix(c.Call, "unlink") && c.TimeNs-failed.TimeNs <= cleanUpNs {
		d.latest = nil
		d.system("%s removes %s at %s, right after %s of %s had failed (%s)", d.node, clip(c.Path), Seconds(c.TimeNs),
			failed.Call, clip(failed.Path), failed.Errno)
	}
	folder := orElse(c.Old, c.Path) + "/"
	for path, f := range d.files {
		if f.wrote != nil && strings.HasPrefix(path, folder) {
			d.system("%s takes the folder %s away at %s (%s), with files that it had written%s", d.node, clip(orElse(c.Old, c.Path)), Seconds(c.TimeNs), c.Call,
				d.although(0, c.TimeNs))
			break
		}
	}
	maps.DeleteFunc(d.files, func(path string, _ *followed) bool { return strings.HasPrefix(path, folder) || path+"/" == folder })
}

// missing is a file that a node looks for after a fault, in a folder of its own, and that is not there.
func (d *disk) missing(c *record.DiskChange) {
	k := slices.IndexFunc(d.injections, func(f fault.Injection) bool {
		return f.Node == d.node && f.EndNs <= c.TimeNs && c.TimeNs-f.EndNs <= afterFaultNs
	})
	if k < 0 || slices.ContainsFunc(d.sought, func(x sought) bool { return x.path == c.Path }) {
		return
	}
	d.sought = append(d.sought, sought{c.Path,
		fmt.Sprintf("after the %s %s looks for %s, which is not there (at %s)", d.injections[k].Kind, d.node, clip(c.Path),
			Seconds(c.TimeNs))})
}

// continued is a successful call on a file on which an earlier one has failed.
func (d *disk) continued(f *followed, c *record.DiskChange) {
	if f.failed == nil || f.told {
		return
	}
	f.told = true
	d.system("%s continues to use %s at %s (%s), although %s%s", d.node, clip(c.Path), Seconds(c.TimeNs), callRange(c),
		howFailed(f.failed), d.acknowledged(f.failed))
}

// acknowledged names an operation that was under way as a call failed, and ended well.
func (d *disk) acknowledged(c *record.DiskChange) string {
	for _, list := range [][]history.Operation{d.operations, d.met} {
		for i := range list {
			if op := &list[i]; op.Type == history.Ok && op.Input != "" && during(op, c) {
				return fmt.Sprintf("; %s by %s, which was under way then, ended with %s", strings.TrimSpace(op.Op+" "+op.Key)+given(op), op.Client, outcome(op))
			}
		}
	}
	return ""
}

// howFailed says how a call failed.
func howFailed(c *record.DiskChange) string {
	if c.Short > 0 {
		return fmt.Sprintf("a write at %s had stopped after %d of %s, at byte %d", Seconds(c.TimeNs), c.To-c.From, plural.Count(c.Short, "byte"), c.To)
	}
	return fmt.Sprintf("%s of it had failed at %s (%s)", c.Call, Seconds(c.TimeNs), c.Errno)
}

// callRange is a call with what it wrote.
func callRange(c *record.DiskChange) string {
	if strings.Contains(c.Call, "write") {
		return fmt.Sprintf("%s from byte %d on", c.Call, c.From)
	}
	return c.Call
}

// leastAppends is how many calls in a row write behind each other where a file is a log.
const leastAppends = 3

// overwrote notices a write over what was appended before.
func (d *disk) overwrote(f *followed, c *record.DiskChange) {
	switch {
	case f.wrote == nil || c.From >= f.end:
		f.appends += max(c.Calls, 1)
		return
	case !f.mixed && f.appends >= leastAppends:
		d.system("%s wrote to %s from byte %d, at %s, over its own earlier data, which reached byte %d", d.node, clip(c.Path), c.From,
			Seconds(c.TimeNs), f.end)
	}
	f.mixed = true
}
