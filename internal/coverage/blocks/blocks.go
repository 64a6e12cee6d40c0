// Package blocks describes executed code as runs report it: sets of places of a binary, by number.
package blocks

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math/bits"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
)

// Bits is a set of places, by their number in Binary.Places.
type Bits []uint64

// NewBits makes an empty set for so many places.
func NewBits(places int) Bits { return make(Bits, (places+63)/64) }

// Has reports whether a place is in the set.
func (b Bits) Has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// Set puts a place into the set.
func (b Bits) Set(i int) { b[i/64] |= 1 << (i % 64) }

// Clear takes a place out of the set.
func (b Bits) Clear(i int) { b[i/64] &^= 1 << (i % 64) }

// Without are the places of the set that are not in another one, which may be nil.
func (b Bits) Without(other Bits) List {
	var list List
	for i, w := range b {
		if other != nil {
			w &^= other[i]
		}
		for ; w != 0; w &= w - 1 {
			list = append(list, uint32(64*i+bits.TrailingZeros64(w)))
		}
	}
	return list
}

// Count is how many places are in the set.
func (b Bits) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// MarshalText writes the set in base64.
func (b Bits) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 8*len(b))
	for _, w := range b {
		raw = binary.LittleEndian.AppendUint64(raw, w)
	}
	return base64.RawStdEncoding.AppendEncode(nil, raw), nil
}

var errBits = errors.New("a set of places must be base64 of whole 8-byte words")

// UnmarshalText reads what MarshalText has written.
func (b *Bits) UnmarshalText(text []byte) error {
	raw, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%8 != 0 {
		return errBits
	}
	*b = make(Bits, len(raw)/8)
	for i := range *b {
		(*b)[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return nil
}

// List holds the numbers of places, ascending.
type List []uint32

// MarshalText writes the distances between the numbers, as varints, in base64.
func (b List) MarshalText() ([]byte, error) {
	var raw []byte
	last := uint32(0)
	for _, n := range b {
		raw = binary.AppendUvarint(raw, uint64(n-last))
		last = n
	}
	return base64.RawStdEncoding.AppendEncode(nil, raw), nil
}

var errBlocks = errors.New("a list of blocks must be base64 of varints")

// UnmarshalText reads what MarshalText has written.
func (b *List) UnmarshalText(text []byte) error {
	raw, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil {
		return errBlocks
	}
	*b = nil
	for last := uint64(0); len(raw) > 0; {
		v, n := binary.Uvarint(raw)
		if n <= 0 || last+v > 1<<32-1 {
			return errBlocks
		}
		last += v
		*b = append(*b, uint32(last))
		raw = raw[n:]
	}
	return nil
}

// Source says who reports which blocks of a binary run.
type Source string

// The sources.
const (
	Breakpoints Source = ""         // the engine, by breakpoints in its machine code
	GoCover     Source = "go-cover" // the program, by the counters of go build -cover
	Edges       Source = "edges"    // the program, by the instrumentation library
)

// Blocks names the blocks that a source reports, for people.
func (s Source) Blocks() string {
	switch s {
	case GoCover:
		return "blocks of Go source"
	case Edges:
		return "edges"
	}
	return "blocks"
}

// Hits are the blocks of one binary that a run has executed, and that the State it began with does not have.
type Hits struct {
	Digest string  `json:"digest"`
	Path   string  `json:"path"` // in the world
	File   string  `json:"file"` // on this machine
	Source Source  `json:"source,omitempty"`
	Total  int     `json:"total"`            // places of the binary
	Module *Module `json:"module,omitempty"` // for Edges
	Blocks List    `json:"blocks,omitempty"`
	// Off says why nothing of the binary is watched, or empty.
	Off string `json:"off,omitempty"`
}

// Features are the blocks as features: a block of a binary has one name in all runs.
func (h *Hits) Features() []coverage.Feature {
	var list []coverage.Feature
	for _, n := range h.Blocks {
		list = append(list, coverage.New(coverage.Code, h.Digest[:12]+":"+strconv.FormatUint(uint64(n), 10)))
	}
	return list
}

// Module is a part of a program whose edges the program itself reports, through the instrumentation library.
type Module struct {
	// Symbols is the name of the file that says what edges stand for; empty for guards.
	Symbols string `json:"symbols,omitempty"`
	// Guards is the address of the first guard of clang's trace-pc-guard, from where the module's file is mapped on.
	Guards uint64 `json:"guards,omitempty"`
}
