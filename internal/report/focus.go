package report

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// focus is the centre of a page about a violation: the operations that its evidence names, and its time.
type focus struct {
	atNs       int64
	operations []history.Operation // of the whole run
	conflict   map[uint64]bool     // events of an invoke or a completion that the evidence names
	key        string              // of the operations in conflict, if they have one in common
	fromNs     int64               // from the first of them on
	toNs       int64               // to the violation, or the last of them if that is later
	spans      [][2]int64          // what matters most: around each invoke, completion and the violation
	broken     error               // why the history makes no operations
}

const (
	focusBeforeNs   = 2_000_000_000 // what is shown before a violation without operations
	focusEdgeNs     = 20_000_000    // what matters after an invoke and before a completion
	focusMarginNs   = 1_000_000     // what matters before an invoke and after a completion
	focusInjections = 12            // up to which all faults are shown, wherever they lie
)

// eventNumber finds the events that evidence names. Quoted texts are values of the world and may say anything.
var (
	eventNumber = regexp.MustCompile(`\(event (\d+)\)`)
	quotedText  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

func namedEvents(evidence []string) map[uint64]bool {
	named := map[uint64]bool{}
	for _, line := range evidence {
		for _, m := range eventNumber.FindAllStringSubmatch(quotedText.ReplaceAllString(line, ""), -1) {
			if n, err := strconv.ParseUint(m[1], 10, 64); err == nil {
				named[n] = true
			}
		}
	}
	return named
}

func newFocus(o *check.Judged, v check.Verdict) *focus {
	f := &focus{atNs: v.TimeNs, conflict: map[uint64]bool{}}
	if f.atNs == 0 {
		f.atNs = o.VirtualNs
	}
	f.operations, f.broken = history.Pair(o.History)
	f.fromNs, f.toNs = f.atNs, f.atNs
	named := namedEvents(v.Evidence)
	f.spans = append(f.spans, [2]int64{f.atNs - focusEdgeNs, f.atNs + focusMarginNs})
	keys := map[string]bool{}
	for i := range f.operations {
		op := &f.operations[i]
		if !named[op.Call] && !named[op.Return] {
			continue
		}
		f.conflict[op.Call] = true
		keys[op.Key] = true
		f.fromNs = min(f.fromNs, op.CallTimeNs)
		end := endOf(op, o)
		f.spans = append(f.spans, [2]int64{op.CallTimeNs - focusMarginNs, min(op.CallTimeNs+focusEdgeNs, end)})
		if op.Return != history.Pending {
			f.toNs = max(f.toNs, end)
			f.spans = append(f.spans, [2]int64{max(op.CallTimeNs, end-focusEdgeNs), end + focusMarginNs})
		}
	}
	if len(keys) == 1 {
		for k := range keys {
			f.key = k
		}
	}
	if len(f.conflict) == 0 {
		f.fromNs = max(0, f.atNs-focusBeforeNs)
	}
	// Where few faults were injected, each may be the cause, however long ago it was.
	if injections, left := causes(o, f.atNs, focusInjections); left == 0 {
		for _, s := range injections {
			f.fromNs = min(f.fromNs, s.StartNs)
			f.spans = append(f.spans, [2]int64{s.StartNs - focusMarginNs, min(s.StartNs+focusEdgeNs, s.EndNs)},
				[2]int64{s.EndNs - focusMarginNs, s.EndNs + focusEdgeNs})
		}
	}
	margin := max((f.toNs-f.fromNs)/12, 5*focusMarginNs)
	f.fromNs, f.toNs = max(0, f.fromNs-margin), min(f.toNs+margin, max(o.VirtualNs, f.atNs))
	return f
}

// endOf is when an operation returned, or the end of the run if it may still be in flight then.
func endOf(op *history.Operation, o *check.Judged) int64 {
	if op.Return == history.Pending {
		return o.VirtualNs
	}
	return op.ReturnTimeNs
}

// distance is how far a time is from what matters most, in nanoseconds.
func (f *focus) distance(ns int64) int64 {
	best := int64(1) << 62
	for _, s := range f.spans {
		switch {
		case ns < s[0]:
			best = min(best, s[0]-ns)
		case ns > s[1]:
			best = min(best, ns-s[1])
		default:
			return 0
		}
	}
	return best
}

// Nearness says how far events are from what matters in a violation, for ReadDiagram.
func Nearness(o *check.Judged, v check.Verdict) func(ns int64) int64 {
	return newFocus(o, v).distance
}

// shownOperations returns the operations in the window, the nearest ones if there are more than a page shows. Those in
// conflict are always shown.
func (f *focus) shownOperations(o *check.Judged, limit int) (shown []history.Operation, left int) {
	keep := nearest[history.Operation]{limit: limit}
	outside := 0
	for _, op := range f.operations {
		end := endOf(&op, o)
		switch {
		case f.conflict[op.Call]:
			keep.add(op, op.Call, -1)
		case end < f.fromNs || op.CallTimeNs > f.toNs:
			outside++
		case f.key != "" && op.Key == f.key:
			keep.add(op, op.Call, 0)
		default:
			keep.add(op, op.Call, 1+min(f.distance(op.CallTimeNs), f.distance(end)))
		}
	}
	shown, left = keep.list()
	return shown, left + outside
}

// shownLogs are the lines nearest to the violation.
func (f *focus) shownLogs(lines []record.LogLine, limit int) (shown []record.LogLine, left int) {
	keep := nearest[record.LogLine]{limit: limit}
	for i, l := range lines {
		keep.add(l, uint64(i), abs(l.TimeNs-f.atNs))
	}
	return keep.list()
}

func abs(n int64) int64 { return max(n, -n) }

// clients returns the clients of some operations, sorted by name.
func clients(ops []history.Operation) []string {
	var names []string
	for _, op := range ops {
		names = append(names, op.Client)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
