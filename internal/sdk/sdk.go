// Package sdk reads what the Antithesis SDKs, of any language, write to a file where they find no fuzzer: a JSON object
// a line, with an assertion, guidance, the end of setup or an event in it.
//
// An SDK reports for each assertion its first pass and its first failure in a process, and many SDKs first a catalog of all
// that there are, whether they are reached or not. So lines of all processes of a run are merged by assertion.
package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
)

// Limits of what is kept of a run.
const (
	MaxAssertions   = 5_000
	maxGuidance     = 2_000
	maxValues       = 100 // of one guidance: the latest
	maxEvents       = 10_000
	maxDetailsBytes = 4 << 10
	maxUnreadBytes  = 200
)

// Record holds the assertions, guidance and events that the programs of a run have written.
type Record struct {
	Assertions []Assertion `json:"assertions,omitempty"` // in the order of their first line
	Guidance   []Guidance  `json:"guidance,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	// Setup is when a program first said that its setup is complete, if one did.
	Setup *Sighting `json:"setup,omitempty"`
	// Late says that the world did not wait for it, or no longer.
	Late  bool   `json:"late,omitempty"`
	Lines uint64 `json:"lines,omitempty"` // how many there were
	// Unread counts lines that are not the protocol's, and what did not fit into the limits; FirstUnread is the first.
	Unread      uint64 `json:"unread,omitempty"`
	FirstUnread string `json:"first_unread,omitempty"`
	// Truncated counts lines that ended in the middle of a JSON object, because their program or the run did.
	Truncated uint64 `json:"cut,omitempty"`
}

// Types of assertions, as the protocol calls them.
const (
	Always       = "always"
	Sometimes    = "sometimes"
	Reachability = "reachability"
)

// Assertion is one assertion of a program's source.
type Assertion struct {
	ID       string   `json:"id"`
	Message  string   `json:"message"`
	Type     string   `json:"type"`    // always, sometimes or reachability
	Display  string   `json:"display"` // what the program calls it: AlwaysOrUnreachable
	MustHit  bool     `json:"must_hit"`
	Location Location `json:"location"`
	// Hits counts the lines that reported an evaluation: at most two for each process.
	Hits uint64 `json:"hits"`
	// Passes counts those whose condition was true.
	Passes uint64 `json:"passes"`
	// Pass and Fail are the first evaluations in which its condition was true and false.
	Pass *Sighting `json:"pass,omitempty"`
	Fail *Sighting `json:"fail,omitempty"`
}

// Location is a place in a program's source.
type Location struct {
	Class    string `json:"class,omitempty"`
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"begin_line,omitempty"`
	Column   int    `json:"begin_column,omitempty"`
}

// Sighting is one line of a program.
type Sighting struct {
	Event   uint64 `json:"event"`
	TimeNs  int64  `json:"time_ns"`
	Node    string `json:"node"`
	Program string `json:"program"`
	PID     int    `json:"pid"`
	Details string `json:"details,omitempty"` // JSON, cut at maxDetailsBytes
}

// Passes counts the lines that reported an assertion of this message whose condition was true.
func (r *Record) Passes(message string) uint64 {
	var n uint64
	for i := range r.Assertions {
		if r.Assertions[i].Message == message {
			n += r.Assertions[i].Passes
		}
	}
	return n
}

// Guidance is one place at which a program reports how close it came to something.
type Guidance struct {
	ID       string   `json:"id"`
	Message  string   `json:"message"`
	Type     string   `json:"type"` // numeric, boolean or json
	Maximize bool     `json:"maximize"`
	Location Location `json:"location"`
	Count    uint64   `json:"count"`
	// Values are the latest, each with its data in Details. Of numbers, SDKs report only those that are better than all before.
	Values []Sighting `json:"values,omitempty"`
}

// Event is one that a program names itself.
type Event struct {
	Name string `json:"name"`
	Sighting
}

// Wants reports what an assertion asks for, in words: the property that it is.
func (a *Assertion) Wants() string {
	switch {
	case a.Type == Reachability && a.MustHit:
		return "Reachable"
	case a.Type == Reachability:
		return "Unreachable"
	case a.Type == Sometimes:
		return "Sometimes"
	case a.MustHit:
		return "Always"
	}
	return "AlwaysOrUnreachable"
}

// Violated is the evaluation that broke it, or nil.
func (a *Assertion) Violated() *Sighting {
	switch a.Wants() {
	case "Always", "AlwaysOrUnreachable":
		return a.Fail
	case "Unreachable":
		if a.Fail == nil || a.Pass != nil && a.Pass.Event < a.Fail.Event {
			return a.Pass
		}
		return a.Fail
	}
	return nil
}

// Pending reports what this run has not shown of an assertion and another one may, or nothing.
func (a *Assertion) Pending() string {
	switch want := a.Wants(); {
	case a.Violated() != nil || !a.MustHit:
		return ""
	case a.Hits == 0:
		return "never reached"
	case want == "Sometimes" && a.Pass == nil:
		return "reached and never true"
	}
	return ""
}

// String is the place as compilers write it.
func (l Location) String() string {
	text := l.File
	if l.Line > 0 {
		text += fmt.Sprintf(":%d", l.Line)
	}
	if l.Function != "" {
		text = strings.TrimSpace(text + " in " + l.Function)
	}
	return text
}

// cgoNote is the message of an assertion that fails in every program that was built without cgo: the Go SDK's fuzzer
// then gets no coverage. It says nothing about the program.
const cgoNote = "Go application under test compiled with CGO enabled"

type assertLine struct {
	Location  Location        `json:"location"`
	Details   json.RawMessage `json:"details"`
	Type      string          `json:"assert_type"`
	Display   string          `json:"display_type"`
	Message   string          `json:"message"`
	ID        string          `json:"id"`
	Hit       *bool           `json:"hit"`
	MustHit   *bool           `json:"must_hit"`
	Condition *bool           `json:"condition"`
}

type guidanceLine struct {
	Data     json.RawMessage `json:"guidance_data"`
	Location Location        `json:"location"`
	Type     string          `json:"guidance_type"`
	Message  string          `json:"message"`
	ID       string          `json:"id"`
	Maximize bool            `json:"maximize"`
	Hit      *bool           `json:"hit"`
}

// MergeLine merges a line that a program wrote at a point of the run.
func (r *Record) MergeLine(line []byte, at Sighting) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	r.Lines++
	if err := r.parseLine(line, at); err != nil {
		if r.Unread++; r.Unread == 1 {
			r.FirstUnread = fmt.Sprintf("%s on %s at event %d: %v: %.*q", at.Program, at.Node, at.Event, err, maxUnreadBytes, line)
		}
	}
}

func (r *Record) parseLine(line []byte, at Sighting) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return errors.New("no JSON object")
	}
	if err := strictjson.Unique(line); err != nil {
		return err
	}
	for name, text := range fields {
		switch name {
		case "antithesis_sdk":
			return nil
		case "antithesis_assert":
			return r.assertion(text, at)
		case "antithesis_guidance":
			return r.guidance(text, at)
		case "antithesis_setup":
			var s struct {
				Status  string          `json:"status"`
				Details json.RawMessage `json:"details"`
			}
			if err := json.Unmarshal(text, &s); err != nil || s.Status != "complete" {
				return errors.New("a setup that is not complete")
			}
			if r.Setup == nil {
				r.Setup = at.with(s.Details)
			}
			return nil
		}
	}
	if len(fields) != 1 {
		return errors.New("an event has one name")
	}
	for name, text := range fields {
		if len(r.Events) >= maxEvents {
			return fmt.Errorf("more than %d events", maxEvents)
		}
		r.Events = append(r.Events, Event{name, *at.with(text)})
	}
	return nil
}

func (r *Record) assertion(text []byte, at Sighting) error {
	var l assertLine
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	switch {
	case l.Hit == nil || l.MustHit == nil || l.Condition == nil:
		return errors.New("an assertion without hit, must_hit or condition")
	case l.ID == "" && l.Message == "":
		return errors.New("an assertion without a name")
	case l.Type != Always && l.Type != Sometimes && l.Type != Reachability:
		return fmt.Errorf("no assertion has the type %q", l.Type)
	case l.ID == cgoNote && l.Location.File == "":
		return nil
	}
	if l.ID == "" {
		l.ID = l.Message
	}
	if l.Message == "" {
		l.Message = l.ID
	}
	i := slices.IndexFunc(r.Assertions, func(a Assertion) bool { return a.ID == l.ID && a.Type == l.Type && a.MustHit == *l.MustHit })
	if i < 0 {
		if len(r.Assertions) >= MaxAssertions {
			return fmt.Errorf("more than %d assertions", MaxAssertions)
		}
		i = len(r.Assertions)
		r.Assertions = append(r.Assertions,
			Assertion{ID: l.ID, Message: l.Message, Type: l.Type, Display: l.Display, MustHit: *l.MustHit, Location: l.Location})
	}
	a := &r.Assertions[i]
	if !*l.Hit {
		return nil
	}
	if a.Hits++; a.Hits == 1 {
		a.Location = l.Location // one message may stand at several places: this one was reached
	}
	if *l.Condition {
		a.Passes++
	}
	switch {
	case *l.Condition && a.Pass == nil:
		a.Pass = at.with(l.Details)
	case !*l.Condition && a.Fail == nil:
		a.Fail = at.with(l.Details)
		if a.Violated() != nil {
			a.Location = l.Location
		}
	}
	return nil
}

func (r *Record) guidance(text []byte, at Sighting) error {
	var l guidanceLine
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	i := slices.IndexFunc(r.Guidance, func(g Guidance) bool { return g.ID == l.ID && g.Type == l.Type && g.Maximize == l.Maximize })
	if i < 0 {
		if len(r.Guidance) >= maxGuidance {
			return fmt.Errorf("more than %d places of guidance", maxGuidance)
		}
		i = len(r.Guidance)
		r.Guidance = append(r.Guidance, Guidance{ID: l.ID, Message: l.Message, Type: l.Type, Maximize: l.Maximize, Location: l.Location})
	}
	g := &r.Guidance[i]
	if l.Hit != nil && !*l.Hit {
		return nil
	}
	g.Count++
	g.Values = append(g.Values, *at.with(l.Data))
	g.Values = g.Values[max(0, len(g.Values)-maxValues):]
	return nil
}

func (s Sighting) with(details json.RawMessage) *Sighting {
	if text := string(details); text != "null" {
		s.Details = text
	}
	if len(s.Details) > maxDetailsBytes {
		s.Details = strings.ToValidUTF8(s.Details[:maxDetailsBytes], "") + "..."
	}
	return &s
}
