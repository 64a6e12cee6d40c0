package inproc

import (
	"cmp"
	"fmt"
	"reflect"
	"runtime"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
)

// fact is an observation about a property that is not recorded as an event.
type fact struct {
	event uint64
	text  string
}

// facts returns the facts of a run, by subject: which assertions were true and which were false somewhere, and when
// properties did not hold. It leaves out facts that no verdict depends on: the order of facts between two events, the
// number of evaluations of an assertion, and whether an assertion that must be true sometimes was ever false.
func (r *run) facts() map[string]fact {
	list := map[string]fact{}
	for i := range r.out.SDK.Assertions {
		a := &r.out.SDK.Assertions[i]
		name := fmt.Sprintf("the assertion %q (%s)", a.Message, a.Display)
		at := ""
		if a.Location.File != "" {
			at = fmt.Sprintf(", called at %s:%d in %s", a.Location.File, a.Location.Line, a.Location.Function)
		}
		if s := a.Fail; s != nil && a.Type != sdk.Sometimes {
			list[name+" is false"] = fact{s.Event, fmt.Sprintf("%s: %s is false, at %d ns%s", s.Node, name, s.TimeNs, at)}
		}
		switch s := a.Pass; {
		case s != nil && a.Type == sdk.Sometimes:
			list[name+" is true"] = fact{s.Event, fmt.Sprintf("%s: %s is true, at %d ns%s", s.Node, name, s.TimeNs, at)}
		case s != nil && a.Fail == nil:
			list[name+" is reached"] = fact{s.Event, fmt.Sprintf("%s: %s is reached, at %d ns%s", s.Node, name, s.TimeNs, at)}
		case a.Fail != nil && a.Type != sdk.Sometimes:
			list[name+" is reached"] = list[name+" is false"]
		}
	}
	for i := range r.out.Probes {
		if p := &r.out.Probes[i]; p.ExitCode != 0 {
			list[fmt.Sprintf("the property %q at event %d", p.Property, p.Event)] = fact{p.Event,
				fmt.Sprintf("the property %q does not hold, at %d ns%s: %s", p.Property, p.StartNs, r.asked(p), p.Output)}
		}
	}
	return list
}

// asked is the place of the function that a probe has asked.
func (r *run) asked(p *record.Probe) string {
	for i := range r.def.checks {
		if c := &r.def.checks[i]; c.name == p.Property && c.follower == nil {
			f := runtime.FuncForPC(reflect.ValueOf(c.holds).Pointer())
			file, line := f.FileLine(f.Entry())
			return fmt.Sprintf(", asked by the function at %s:%d", file, line)
		}
	}
	return ""
}

// parts is the first fact of one of two runs that the other one does not have, and whether the first run has it. It is nil if there is none.
func parts(a, b map[string]fact) (part *fact, first bool) {
	for i, own := range []map[string]fact{a, b} {
		other := []map[string]fact{b, a}[i]
		for name, f := range own {
			if _, both := other[name]; !both && (part == nil || cmp.Or(cmp.Compare(f.event, part.event), cmp.Compare(f.text, part.text)) < 0) {
				part, first = &f, i == 0
			}
		}
	}
	return part, first
}
