// Package verdict holds the verdict on a property, with its reason and evidence.
package verdict

import (
	"fmt"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Status of a Verdict.
type Status string

const (
	Holds    Status = "holds"
	Violated Status = "violated"
	Unknown  Status = "unknown"
	// NotYet means that something which must happen in some run did not happen in this one. A campaign
	// in which it never happened is unknown.
	NotYet Status = "not yet"
)

// Verdict is the judgement of one property over one run.
type Verdict struct {
	Property string `json:"property"`
	Kind     string `json:"kind"`
	Status   Status `json:"status"`
	Reason   string `json:"reason,omitempty"`
	// Cause explains a violation to programs, which recognise failures by it. Records of earlier versions lack it.
	Cause *failure.Cause `json:"cause,omitempty"`
	// LeftOut names what was not judged of what the property speaks of, in words; the verdict is about the rest.
	LeftOut []string `json:"left_out,omitempty"`
	// Idle means unknown because the run did too little: no result in it could have been wrong.
	Idle bool `json:"idle,omitempty"`
	// Short means unknown because the run has less than its full length: a campaign judges by its other runs.
	Short bool `json:"short,omitempty"`
	// Refusal is the refused call that made the verdict unknown, if one did: another engine may give a verdict.
	Refusal *record.Refusal `json:"refusal,omitempty"`
	// Event, Within and TimeNs are where the violation showed, for the story around it.
	Event  uint64 `json:"event,omitempty"`
	Within uint64 `json:"within,omitempty"`
	TimeNs int64  `json:"time_ns,omitempty"`
	// Evidence are the operations, lines or values that prove it, in words.
	Evidence []string `json:"evidence,omitempty"`
	// Proposal is set where a program ended by itself while it lacked something: how a configuration says that it does so by design.
	Proposal *Proposal `json:"proposal,omitempty"`
	// Probes counts how often a probing check ran.
	Probes int `json:"probes,omitempty"`
	// Withstood counts what showed that a property holds although faults last: times of its timeout, operations and jobs that
	// met faults which are no excuse.
	Withstood uint64 `json:"withstood,omitempty"`
	// Tally counts what became of the run's events, of a property that follows it in a model.
	Tally *coverage.Tally `json:"tally,omitempty"`
}

// Violate makes the verdict a violation, as a claim says, at an event.
func (v *Verdict) Violate(event uint64, timeNs int64, c failure.Claim) {
	v.Status, v.Event, v.TimeNs = Violated, event, timeNs
	v.Cause, v.Reason = &c.Cause, c.Words
}

// Signature names the kind of failure that a violation is. One without a Cause is of an earlier version, and known by its words.
func (v *Verdict) Signature() string {
	if v.Cause != nil {
		return failure.Signature(v.Property, *v.Cause)
	}
	text := v.Reason
	if text == "" && len(v.Evidence) > 0 {
		text = v.Evidence[0]
	}
	return failure.Former(v.Property, text, "")
}

// Position is the point of the run at which the violation showed.
func (v *Verdict) Position() record.Position {
	return record.Position{Event: v.Event, Within: v.Within}
}

// Proposal is a line of configuration by which the end of a program would be no violation.
type Proposal struct {
	Node  string            `json:"node"`
	Kinds []world.FaultKind `json:"kinds"` // of faults, during which it ended
	Line  string            `json:"line"`
}

// AtEnd adapts the verdict of a check that judges the end of a run. If the run was cut off, a violation is only unknown: it might
// have been repaired by the end.
func AtEnd(p *world.Property, v Verdict, cut string) Verdict {
	if v.Status != Violated || cut == "" {
		return v
	}
	u := Undecided(p, "%s. Until then: %s", cut, v.Reason)
	u.Probes = v.Probes
	return u
}

// New returns a verdict that is still unknown.
func New(p *world.Property) Verdict {
	return Verdict{Property: p.Name, Kind: string(p.Kind), Status: Unknown}
}

// Undecided returns an unknown verdict with the reason.
func Undecided(p *world.Property, format string, args ...any) Verdict {
	v := New(p)
	v.Reason = fmt.Sprintf(format, args...)
	return v
}

// Idle returns a verdict that is unknown because the run did too little.
func Idle(p *world.Property, format string, args ...any) Verdict {
	v := Undecided(p, format, args...)
	v.Idle = true
	return v
}

// MaxEvidence bounds the operations, crashes or probes that a verdict shows.
const MaxEvidence = 20

// maxValueShown bounds the characters of a value that evidence shows; values are padded to the workload's value size.
const maxValueShown = 40

// Shorten quotes a value. A long one loses its middle.
func Shorten(value string) string {
	r := []rune(value)
	if len(r) <= maxValueShown {
		return strconv.Quote(value)
	}
	const head = maxValueShown * 2 / 3
	return fmt.Sprintf("%s (%d bytes)", strconv.Quote(string(r[:head])+"…"+string(r[len(r)-(maxValueShown-head):])), len(value))
}

// Seconds formats a time in nanoseconds.
func Seconds(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 6, 64) + " s" }
