package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
)

// Limits.
const (
	// MaxRecordBytes bounds one record, and one write of records.
	MaxRecordBytes = 1 << 20
	// MaxEvents bounds a history.
	MaxEvents = 4 << 20
)

// ErrBuffered: several records came with one write, so that the time of each is unknown.
var ErrBuffered = errors.New("buffered history")

// ErrBroken: records contradict each other or cannot be read.
var ErrBroken = errors.New("broken history")

// text is a string of a record. Numbers and booleans become strings, so that shell scripts need no quotes for them.
type text struct {
	value string
	given bool // present and not null
	null  bool
}

func (t *text) UnmarshalJSON(p []byte) error {
	switch {
	case bytes.Equal(p, []byte("null")):
		t.null = true
		return nil
	case p[0] == '"':
		t.given = true
		return json.Unmarshal(p, &t.value)
	case p[0] == '{' || p[0] == '[':
		return errors.New("an object or array instead of a string; write it as a JSON string")
	}
	t.given, t.value = true, string(p)
	return nil
}

// record is an Event as clients write it.
type record struct {
	Number *uint64 `json:"number"`
	TimeNs *int64  `json:"time_ns"`
	Client text    `json:"client"`
	Type   Type    `json:"type"`
	Op     string  `json:"op"`
	Key    text    `json:"key"`
	Input  text    `json:"input"`
	Expect text    `json:"expect"`
	Output text    `json:"output"`
	Found  *bool   `json:"found"`
	Group  string  `json:"group"`
	Error  string  `json:"error"`
	Node   string  `json:"node"`
	// Write spells a null input or expect so.
	NoInput  bool `json:"no_input"`
	NoExpect bool `json:"no_expect"`
}

// IsRead reports whether operations of a kind read one value and change nothing: get and read.
func IsRead(op string) bool {
	switch strings.ToLower(op) {
	case "get", "read":
		return true
	}
	return false
}

func (r *record) event() (Event, error) {
	e := Event{Client: r.Client.value, Type: r.Type, Op: r.Op, Key: r.Key.value, Input: r.Input.value,
		Expect: r.Expect.value, Output: r.Output.value, Group: r.Group, Error: r.Error, Node: r.Node}
	if r.Number != nil {
		e.Number = *r.Number
	}
	if r.TimeNs != nil {
		e.TimeNs = *r.TimeNs
	}
	if r.Found != nil {
		e.Found = *r.Found
	}
	if e.Type == Invoke && !IsRead(e.Op) {
		e.NoInput, e.NoExpect = r.NoInput || r.Input.null, r.NoExpect || r.Expect.null
	}
	return e, e.complete(r.Output.given, r.Found != nil)
}

const types = "invoke, ok, fail, info, ready, done, check"

// complete validates an event, and sets Found where the record does not: output and found report whether the record has these fields.
func (e *Event) complete(output, found bool) error {
	switch e.Type {
	case Invoke, Ok, Fail, Info:
	case Broken:
		return nil
	case Ready, Done, Check:
		if *e != (Event{Number: e.Number, TimeNs: e.TimeNs, Client: e.Client, Type: e.Type}) || output || found {
			return fmt.Errorf("a record of type %q does not belong to an operation; leave out all other fields", e.Type)
		}
		return nil
	case "":
		return errors.New(`no "type"; set it to one of ` + types)
	default:
		return fmt.Errorf("type %q is not one of %s", e.Type, types)
	}
	if e.Client == "" {
		return errors.New(`no "client"; set it to the name of the client`)
	}
	if e.Op == "" && e.Type == Invoke {
		return errors.New(`an invoke without "op"; set it to the kind of operation, such as put or get`)
	}
	if e.NoInput && e.Input != "" || e.NoExpect && e.Expect != "" {
		return errors.New(`a record with "no_input" cannot have input, nor one with "no_expect" an expect`)
	}
	// A completion may leave out its op: then only its invoke says whether it is a read.
	mayRead := e.Type == Ok && (IsRead(e.Op) || e.Op == "")
	if found && !e.Found && mayRead && e.Output != "" {
		return fmt.Errorf(`output %q with "found": false`, e.Output)
	}
	if !found {
		e.Found = mayRead && output
	}
	return nil
}

// parseRecord reads a record by encoding/json. It reports whether the record has a number.
func parseRecord(line []byte) (e Event, numbered bool, err error) {
	if len(line) > MaxRecordBytes {
		return Event{}, false, fmt.Errorf("the record has %d bytes; the limit is %d", len(line), MaxRecordBytes)
	}
	if !utf8.Valid(line) {
		return Event{}, false, errors.New("not UTF-8; encode binary values, for example as base64")
	}
	var r record
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return Event{}, false, errors.New("the record is truncated: write each record with a single write(2)")
		}
		return Event{}, false, strictjson.Plain(err)
	}
	if d.More() {
		return Event{}, false, errors.New("there are two records on one line; end each with a newline")
	}
	if err := sound(line); err != nil {
		return Event{}, false, err
	}
	e, err = r.event()
	return e, r.Number != nil, err
}

// parseRecords reads the records of one write(2): one JSON object a line. It drops their numbers and times. If an ok read leaves out
// "found", it found a value if it has an output. Events before the first unreadable record are returned with the error.
func parseRecords(p []byte) ([]Event, error) {
	if len(p) > MaxRecordBytes {
		return nil, fmt.Errorf("%w: a write has %d bytes; the limit is %d", ErrBroken, len(p), MaxRecordBytes)
	}
	var events []Event
	var d decoder
	for line := range bytes.Lines(p) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		e, _, err := d.parse(line)
		if err != nil {
			return events, fmt.Errorf("%w: %w in %s", ErrBroken, err, excerpt(line))
		}
		if e.Type == Broken {
			return events, fmt.Errorf("%w: the type broken is reserved for the engine, in %s", ErrBroken, excerpt(line))
		}
		e.Number, e.TimeNs = 0, 0
		events = append(events, e)
	}
	return events, nil
}

// Stamp reads the records that a client wrote with one write(2) to the file named by $BLOODHOUND_REPORT, and gives them the number and the
// virtual time of that call, as a run of Bloodhound does. An unreadable record becomes a Broken event. The events may be marks, which are no part of
// a history.
func Stamp(p []byte, number uint64, timeNs int64) []Event {
	events, err := parseRecords(p)
	if err != nil {
		events = append(events, Event{Type: Broken, Error: err.Error()})
	}
	for i := range events {
		events[i].Number, events[i].TimeNs = number, timeNs
	}
	return events
}

const excerptBytes = 120

func excerpt(line []byte) string {
	if len(line) > excerptBytes {
		return fmt.Sprintf("%q...", line[:excerptBytes])
	}
	return fmt.Sprintf("%q", line)
}
