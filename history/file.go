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
func Read(r io.Reader) ([]Event, error) { return all(func(do Each) error { return ReadEach(r, do) }) }

// Each takes the events of a history, one after the other. It may keep what is pointed to until it returns. An error ends the reading.
type Each func(*Event) error

// all are the events that a reader gives.
func all(read func(Each) error) ([]Event, error) {
	var events []Event
	err := read(func(e *Event) error {
		events = append(events, *e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// ReadEach reads what Read reads without keeping it.
func ReadEach(r io.Reader, do Each) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), MaxRecordBytes+1)
	records := reading{decoder: decoder{many: true}, do: do}
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
		return fmt.Errorf("line %d: a record of more than %d bytes", line+1, MaxRecordBytes)
	}
	return s.Err()
}

// reading is what the records of a file have in common.
type reading struct {
	decoder  decoder
	do       Each
	count    int
	numbered bool
	e        Event // the last one; here, so that none needs memory of its own
}

// add takes in a record and where it stands.
func (r *reading) add(record []byte, place int) (err error) {
	var numbered bool
	if r.e, numbered, err = r.decoder.parse(record); err != nil {
		return err
	}
	if r.count == 0 {
		r.numbered = numbered
	}
	if r.numbered != numbered {
		return errors.New("some records have a number and others have none")
	}
	if r.count++; r.count > MaxEvents {
		return fmt.Errorf("more than %d events, the limit of a history", MaxEvents)
	}
	if !numbered {
		r.e.Number = uint64(place)
	}
	return r.do(&r.e)
}
