package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
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

// Read reads what Write stored: records of JSON, one a line, or one array of them. Records that something else wrote, in the order in which they
// happened, may lack number and time; their lines number them. Marks are left out. Either all records of a file have numbers or none has. Errors name the line.
func Read(r io.Reader) ([]Event, error) {
	var events []Event
	err := ReadEach(r, func(e *Event) error {
		events = append(events, *e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// ReadEach reads what Read reads, and calls a function for each event instead of keeping them. The function may use the event until it
// returns. Its error ends the reading.
func ReadEach(r io.Reader, do func(*Event) error) error {
	records := reading{decoder: decoder{many: true}, do: do}
	b := bufio.NewReaderSize(r, 64<<10)
	if isArray(b) {
		n := 0
		return strictjson.Elements(b, MaxRecordBytes, func(raw json.RawMessage) error {
			n++
			return records.add(raw, n)
		})
	}
	s := bufio.NewScanner(b)
	s.Buffer(make([]byte, 0, 64<<10), MaxRecordBytes+1)
	line := 0
	for s.Scan() {
		line++
		if len(s.Bytes()) == 0 {
			continue
		}
		if err := records.add(s.Bytes(), line); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d: a record has more than %d bytes", line+1, MaxRecordBytes)
	}
	return s.Err()
}

// isArray reports whether a file begins with an array.
func isArray(b *bufio.Reader) bool {
	for n := 1; ; n++ {
		start, err := b.Peek(n)
		if err != nil {
			return false
		}
		switch start[n-1] {
		case ' ', '\t', '\r', '\n':
		default:
			return start[n-1] == '['
		}
	}
}

// reading is what the records of a file have in common.
type reading struct {
	decoder  decoder
	do       func(*Event) error
	count    int
	numbered bool
	e        Event // the last one; here, so that none needs memory of its own
}

// add takes in a record and where it is.
func (r *reading) add(record []byte, place int) (err error) {
	var numbered bool
	if r.e, numbered, err = r.decoder.parse(record); err != nil {
		return err
	}
	if r.count == 0 {
		r.numbered = numbered
	}
	if r.numbered != numbered {
		return errors.New("some records have a number and others do not")
	}
	if r.count++; r.count > MaxEvents {
		return fmt.Errorf("the history has more than %d events, the limit", MaxEvents)
	}
	if !numbered {
		r.e.Number = uint64(place)
	}
	if r.e.Type.IsMark() {
		return nil
	}
	return r.do(&r.e)
}
