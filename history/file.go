package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Write stores events as JSON, one a line.
func Write(w io.Writer, events []Event) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for i := range events {
		if err := enc.Encode(&events[i]); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Read reads what Write stored, or records without number and time that something else wrote in the order in which
// they happened: these are numbered by their lines. A file has either all numbers or none. Errors name the line.
func Read(r io.Reader) ([]Event, error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), MaxRecordBytes+1)
	var events []Event
	numbered := false
	line := 0
	for s.Scan() {
		line++
		if len(s.Bytes()) == 0 {
			continue
		}
		e, rec, err := parseRecord(s.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if len(events) == 0 {
			numbered = rec.Number != nil
		}
		if numbered != (rec.Number != nil) {
			return nil, fmt.Errorf("line %d: some records have a number and others have none", line)
		}
		if len(events) == MaxEvents {
			return nil, fmt.Errorf("line %d: more than %d events, the limit of a history", line, MaxEvents)
		}
		e.Number = uint64(line)
		if numbered {
			e.Number = *rec.Number
		}
		if rec.TimeNs != nil {
			e.TimeNs = *rec.TimeNs
		}
		events = append(events, e)
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: a record of more than %d bytes", line+1, MaxRecordBytes)
	}
	return events, s.Err()
}
