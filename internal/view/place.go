package view

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// PlaceKind says how a Place is named.
type PlaceKind uint8

const (
	AtEvent PlaceKind = iota
	AtTime
	AtViolation
	AtFault
)

// Place is a point of a run as a person names it. Event 0 is the boot of the world.
type Place struct {
	Kind   PlaceKind
	Event  uint64
	TimeNs int64
	Fault  int // from 1 on, in the order in which faults began
}

// PlaceForms lists what ParsePlace reads, for help texts and errors.
const PlaceForms = `an event number, a virtual time such as 1.25s, a fault such as "fault 2", or the word violation`

// ParsePlace reads a place: 812, 1.25s, violation, fault 2.
func ParsePlace(text string) (Place, error) {
	word := strings.Join(strings.Fields(text), " ")
	if word == "violation" {
		return Place{Kind: AtViolation}, nil
	}
	if number, ok := strings.CutPrefix(word, "fault"); ok {
		n, err := strconv.Atoi(strings.TrimPrefix(number, " "))
		if err != nil || n < 1 {
			return Place{}, fmt.Errorf(`%q: faults are numbered from 1 on, in the order in which they began: give one as "fault 1"`, text)
		}
		return Place{Kind: AtFault, Fault: n}, nil
	}
	if n, err := strconv.ParseUint(word, 10, 64); err == nil {
		return Place{Event: n}, nil
	}
	if d, err := time.ParseDuration(word); err == nil && d >= 0 {
		return Place{Kind: AtTime, TimeNs: d.Nanoseconds()}, nil
	}
	return Place{}, fmt.Errorf("%q names no point of a run: give %s", text, PlaceForms)
}

// String is the form that ParsePlace reads.
func (p Place) String() string {
	switch p.Kind {
	case AtTime:
		return time.Duration(p.TimeNs).String()
	case AtViolation:
		return "violation"
	case AtFault:
		return "fault " + strconv.Itoa(p.Fault)
	}
	return strconv.FormatUint(p.Event, 10)
}

// Until is where to stop a run for a place: until the event has happened, or the time has come. A zero Until, which does not stop, is the
// end of the run: a violation may show only there. v is the violation, or nil if there is none, and l lists the faults of the run; nil if
// it is not known yet: known is false where it is needed.
func (p Place) Until(v *check.Verdict, l *fault.Ledger) (until engine.Until, known bool, err error) {
	switch p.Kind {
	case AtTime:
		return engine.Until{TimeNs: p.TimeNs}, true, nil
	case AtViolation:
		switch {
		case v == nil:
			return until, true, fmt.Errorf("this run has no violation: give another point: an event, a virtual time or a fault")
		case v.Event > 0:
			return engine.Until{Position: v.Position()}, true, nil
		}
		return engine.Until{TimeNs: v.TimeNs}, true, nil
	case AtFault:
		switch {
		case l == nil:
			return until, false, nil
		case p.Fault <= len(l.Injections):
			return engine.Until{Position: record.PositionAt(l.Injections[p.Fault-1].Event)}, true, nil
		case len(l.Injections) == 0:
			return until, true, fmt.Errorf("there is no fault %d: this run has no fault with a beginning (those per packet or call are counted only)", p.Fault)
		}
		return until, true, fmt.Errorf("there is no fault %d: this run has %d of them", p.Fault, len(l.Injections))
	}
	return engine.Until{Position: record.PositionAt(p.Event)}, true, nil
}

// ErrBeyond is the error for a place that a run does not reach.
var ErrBeyond = errors.New("beyond the end of the run")

// Reach runs a world that has not come so far to a place whose Until is known; endNs is when the world is cut, or 0. A place beyond
// the end of the run is an error that says where the run ends.
func (p Place) Reach(w engine.World, until engine.Until, endNs int64) error {
	if p.Kind == AtEvent && p.Event == 0 || p.Kind == AtTime && p.TimeNs == 0 {
		return nil
	}
	if endNs > 0 && (until.TimeNs == 0 || until.TimeNs > endNs) {
		until.TimeNs = endNs
	}
	if _, err := w.Advance(until); err != nil {
		return err
	}
	event, now := w.Moment()
	if event < until.Event || p.Kind == AtTime && now < p.TimeNs {
		return fmt.Errorf("%s is %w, which has %d events and ends at %s of virtual time: give an earlier point", p, ErrBeyond, event, seconds(now))
	}
	return nil
}
