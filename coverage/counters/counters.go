// Package counters reads which blocks of this program's own code were executed, where the compiler has put counters into it: go build -cover
// -covermode=atomic -coverpkg=PACKAGES, where
// the main package must be among them. A test program's counters cannot be read before it ends.
package counters

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/coverage"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// Reader reads the counters. It is not for several goroutines at once.
type Reader struct{ data bytes.Buffer }

// errNone is what there is to say where no counters can be read.
var errNone = errors.New("this program has no counters of executed code that could be read; build it by `go build -cover -covermode=atomic -coverpkg=PACKAGES`, with the main package among them (the counters of a test program cannot be read while it runs)")

// New finds out whether there are counters.
func New() (*Reader, error) {
	r := &Reader{}
	if coverage.ClearCounters() != nil || coverage.WriteCounters(&r.data) != nil {
		return nil, errNone
	}
	if err := Parse(r.data.Bytes(), func(uint64) {}); err != nil {
		return nil, err
	}
	return r, nil
}

// Clear forgets what was executed so far.
func (r *Reader) Clear() error { return coverage.ClearCounters() }

// Executed tells of each block that was executed since Clear, by a number that is its own in this program.
func (r *Reader) Executed(tell func(block uint64)) error {
	r.data.Reset()
	if err := coverage.WriteCounters(&r.data); err != nil {
		return err
	}
	return Parse(r.data.Bytes(), tell)
}

// The form of what the runtime writes (Go's internal/coverage, defs.go, version 1).
const (
	magic         = "\x00cwm"
	formVersion   = 1
	headerBytes   = 32
	segmentBytes  = 16
	flavorAt      = 24
	variableSized = 2 // numbers as ULEB128
)

// Parse tells of the blocks in a file of counters that are not zero.
func Parse(data []byte, tell func(block uint64)) error {
	strange := func(what string) error {
		return fmt.Errorf("counters of executed code: %s; Bloodhound does not know the form of this version of Go", what)
	}
	if len(data) < headerBytes+segmentBytes || string(data[:4]) != magic || binary.LittleEndian.Uint32(data[4:]) != formVersion || data[flavorAt] != variableSized {
		return strange("their header is another one")
	}
	segment := data[headerBytes:]
	functions := binary.LittleEndian.Uint64(segment)
	skip := uint64(binary.LittleEndian.Uint32(segment[8:])) + uint64(binary.LittleEndian.Uint32(segment[12:]))
	if skip > uint64(len(segment)-segmentBytes) {
		return strange("they end early")
	}
	rest := segment[segmentBytes+skip:]
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return 0, false
		}
		rest = rest[n:]
		return v, true
	}
	for range functions {
		blocks, ok := next()
		pkg, ok2 := next()
		function, ok3 := next()
		if !ok || !ok2 || !ok3 {
			return strange("they end early")
		}
		name := splitmix.Mix(splitmix.Mix(pkg+splitmix.Gamma) ^ function)
		for k := range blocks {
			times, ok := next()
			if !ok {
				return strange("they end early")
			}
			if times > 0 {
				tell(splitmix.Mix(name + (k+1)*splitmix.Gamma))
			}
		}
	}
	return nil
}
