// Package cursor reads big-endian fields of binary formats. The first field that is not there, or that its reader refuses, is an error with
// its offset; what is read after it is zero.
package cursor

import (
	"encoding/binary"
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// Error is a mistake in an input, with its place.
type Error struct {
	Offset int64 // from the start of the input, in bytes
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Reason) }

// Cursor is a position in a part of an input.
type Cursor struct {
	rest []byte
	at   int64 // of rest in the input
	err  **Error
}

// New reads bytes that begin at an offset of their input.
func New(b []byte, offset int64) *Cursor {
	return &Cursor{rest: b, at: offset, err: new(*Error)}
}

// Left is how many bytes have not been read: none once there is an error.
func (c *Cursor) Left() int {
	if *c.err != nil {
		return 0
	}
	return len(c.rest)
}

// Offset returns the offset of the next byte.
func (c *Cursor) Offset() int64 { return c.at }

// Err is the first error of this cursor and of its parts.
func (c *Cursor) Err() error {
	if *c.err == nil {
		return nil
	}
	return *c.err
}

// Fail records an error at an offset, unless there is one.
func (c *Cursor) Fail(offset int64, format string, args ...any) {
	if *c.err == nil {
		*c.err = &Error{Offset: offset, Reason: fmt.Sprintf(format, args...)}
	}
}

// Bytes returns the next n bytes, which it does not copy, or nil.
func (c *Cursor) Bytes(n int, what string) []byte {
	if *c.err != nil {
		return nil
	}
	if n > len(c.rest) {
		c.Fail(c.at, "%s needs %s, and %d are left", what, plural.Count(n, "byte"), len(c.rest))
		return nil
	}
	b := c.rest[:n:n]
	c.rest, c.at = c.rest[n:], c.at+int64(n)
	return b
}

// Part is a cursor over the next n bytes, which this one skips.
func (c *Cursor) Part(n int, what string) *Cursor {
	at := c.at
	return &Cursor{rest: c.Bytes(n, what), at: at, err: c.err}
}

// Uint8 reads a byte.
func (c *Cursor) Uint8(what string) uint8 {
	if b := c.Bytes(1, what); b != nil {
		return b[0]
	}
	return 0
}

// Uint16 reads two bytes.
func (c *Cursor) Uint16(what string) uint16 {
	if b := c.Bytes(2, what); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

// Uint32 reads four bytes.
func (c *Cursor) Uint32(what string) uint32 {
	if b := c.Bytes(4, what); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}
