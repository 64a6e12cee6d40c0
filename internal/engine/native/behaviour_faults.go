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

// maxPaired bounds the injections of one run that are compared in pairs.
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
	var seen []*fault.Injection
	for i := range l.Injections {
		s := &l.Injections[i]
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
	slices.SortStableFunc(seen, func(a, b *fault.Injection) int { return cmp.Compare(a.StartNs, b.StartNs) })
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
			f.add(coverage.Fault, f.injectedBy(a)+how+f.injectedBy(b)+same)
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

// atOnce adds how many injections lasted at one time.
func (f *features) atOnce(injections []*fault.Injection) {
	most := 0
	for _, s := range injections {
		n := 0
		for _, o := range injections {
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

// during adds how operations of clients went that were under way together with an injection.
func (f *features) during(injections []*fault.Injection, events []history.Event) {
	ops, err := history.Pair(events)
	if err != nil {
		return // its verdict says why
	}
	type went struct {
		op        string
		result    history.Type
		injection string
		asked     bool // the operation asked a node that the injection affected
	}
	all := map[went]bool{}
	for i := range ops {
		o := &ops[i]
		end := o.ReturnTimeNs
		if o.Return == history.Pending && end == 0 {
			end = math.MaxInt64
		}
		for _, s := range injections {
			if o.CallTimeNs < s.EndNs && s.StartNs < end {
				host, _, _ := strings.Cut(o.Node, ":")
				asked := slices.ContainsFunc(f.b.At[s.ID].Nodes, func(id int) bool { return f.spec.Nodes[id].Name == host })
				all[went{o.Op, o.Type, f.injectedBy(s), asked}] = true
			}
		}
	}
	for w := range all {
		text := w.op + " " + string(w.result) + " during " + w.injection
		if w.asked {
			text += ", of one of these"
		}
		f.add(coverage.Fault, text)
	}
}

func (f *features) injectedBy(s *fault.Injection) string {
	return string(s.Kind) + " of " + f.b.At[s.ID].Target
}

// meet says how an injection meets an earlier one, or returns nothing.
func meet(a, b *fault.Injection) string {
	switch {
	case b.StartNs < a.EndNs:
		return " with "
	case b.StartNs < a.EndNs+followNs:
		return " then "
	}
	return ""
}
