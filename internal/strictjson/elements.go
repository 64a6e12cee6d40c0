package strictjson

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Elements reads the elements of an array of JSON, or values that follow one another, each of so many bytes at most. Errors name the element.
func Elements(r io.Reader, maxBytes int, do func(raw json.RawMessage) error) error {
	b := bufio.NewReader(r)
	list := false
	for {
		c, err := b.ReadByte()
		if err != nil {
			return errors.New("the file is empty")
		}
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			continue
		}
		b.UnreadByte() // the byte was just read
		list = c == '['
		break
	}
	d := json.NewDecoder(b)
	if list {
		if _, err := d.Token(); err != nil {
			return err
		}
	}
	for n := 1; ; n++ {
		if list && !d.More() {
			break
		}
		var raw json.RawMessage
		err := d.Decode(&raw)
		if err == io.EOF && !list {
			return nil
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the file ends in the middle of the history")
		}
		if err == nil && len(raw) > maxBytes {
			err = fmt.Errorf("more than %d bytes", maxBytes)
		}
		if err == nil {
			err = Unique(raw)
		}
		if err == nil {
			err = do(raw)
		}
		if err != nil {
			return fmt.Errorf("event %d of the file: %w", n, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return errors.New("the array of events does not end")
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the array of events")
	}
	return nil
}
