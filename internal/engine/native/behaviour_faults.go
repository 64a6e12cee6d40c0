//go:build linux && amd64

package native

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// followNs is how soon a fault must begin after another one has ended to follow it.
const followNs = 3e9

// maxPaired bounds the strikes of one run of which it is asked how they meet.
const maxPaired = 32

func (f *features) faults(l *fault.Ledger, events []history.Event) {
	for i := range l.Entries {
		if e := &l.Entries[i]; e.Observed > 0 {
			f.times(coverage.Fault, string(e.Kind), uint32(min(e.Observed, maxTimes)))
		}
	}
	for s := range f.b.Suffered {
		f.add(coverage.Fault, string(s.Kind)+" of "+s.Target)
		if s.Said >= 0 {
			f.add(coverage.Fault, string(s.Kind)+" of "+s.Target+" after "+f.texts[s.Said])
		}
	}
	var seen []*fault.Strike
	for i := range l.Strikes {
		s := &l.Strikes[i]
		at, known := f.b.At[s.ID]
		if s.Observed == 0 || !known {
			continue
		}
		f.add(coverage.Fault, string(s.Kind)+" of "+at.Target)
		if at.Said >= 0 {
			f.add(coverage.Fault, string(s.Kind)+" of "+at.Target+" after "+f.texts[at.Said])
		}
		if at.Sent != "" {
			f.add(coverage.Fault, string(s.Kind)+" of "+at.Target+" after sending "+at.Sent)
		}
		for _, kind := range at.Lately {
			f.add(coverage.Fault, string(kind)+" then "+string(s.Kind)+" of "+at.Target)
		}
		if len(seen) < maxPaired {
			seen = append(seen, s)
		}
	}
	slices.SortStableFunc(seen, func(a, b *fault.Strike) int { return cmp.Compare(a.StartNs, b.StartNs) })
	f.during(seen, events)
	f.atOnce(seen)
	for i, a := range seen {
		for j := i + 1; j < len(seen); j++ {
			b := seen[j]
			how := meet(a, b)
			if how == "" {
				continue
			}
			same := ""
			if a.Target == b.Target {
				same = " of the same"
			}
			f.add(coverage.Fault, f.struckBy(a)+how+f.struckBy(b)+same)
			for _, c := range seen[j+1:] {
				if meet(b, c) != "" {
					three := []string{string(a.Kind), string(b.Kind), string(c.Kind)}
					slices.Sort(three)
					f.add(coverage.Fault, strings.Join(three, " + "))
				}
			}
		}
	}
}

// atOnce adds how many strikes lasted at one time.
func (f *features) atOnce(strikes []*fault.Strike) {
	most := 0
	for _, s := range strikes {
		n := 0
		for _, o := range strikes {
			if o.StartNs <= s.StartNs && s.StartNs < o.EndNs {
				n++
			}
		}
		most = max(most, n)
	}
	for n := 2; n <= most; n++ {
		f.add(coverage.Fault, strconv.Itoa(n)+" at once")
	}
}

// during adds how operations of clients went that were under way together with a strike.
func (f *features) during(strikes []*fault.Strike, events []history.Event) {
	ops, err := history.Pair(events)
	if err != nil {
		return // its verdict says why
	}
	type went struct {
		op     string
		result history.Type
		strike string
		asked  bool // the operation asked a node that the strike hit
	}
	all := map[went]bool{}
	for i := range ops {
		o := &ops[i]
		end := o.ReturnTimeNs
		if o.Return == history.Pending && end == 0 {
			end = math.MaxInt64
		}
		for _, s := range strikes {
			if o.CallTimeNs < s.EndNs && s.StartNs < end {
				host, _, _ := strings.Cut(o.Node, ":")
				asked := slices.ContainsFunc(f.b.At[s.ID].Nodes, func(id int) bool { return f.spec.Nodes[id].Name == host })
				all[went{o.Op, o.Type, f.struckBy(s), asked}] = true
			}
		}
	}
	for w := range all {
		text := w.op + " " + string(w.result) + " during " + w.strike
		if w.asked {
			text += ", of one of these"
		}
		f.add(coverage.Fault, text)
	}
}

func (f *features) struckBy(s *fault.Strike) string {
	return string(s.Kind) + " of " + f.b.At[s.ID].Target
}

// meet tells how a strike meets an earlier one, or nothing.
func meet(a, b *fault.Strike) string {
	switch {
	case b.StartNs < a.EndNs:
		return " with "
	case b.StartNs < a.EndNs+followNs:
		return " then "
	}
	return ""
}
