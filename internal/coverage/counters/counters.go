// Package counters reads which blocks of this program's own code were executed, where the compiler has put counters into it: go build -cover
// -coverpkg=PACKAGES, where the main package must be among them. A test program's counters cannot be read before it ends.
//
// The counters are read and cleared where they lie, and not by [runtime/coverage], which wants them to be counted atomically: worlds run one at a time,
// and atomic counters take several times as long as the code that they count.
package counters

import (
	"errors"
	"io"
	"runtime/coverage"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// Reader reads the counters. It is not for several goroutines at once.
type Reader struct{ section, snapshot []uint32 }

// Where the linker puts the counters of all functions.
var sectionBegin, sectionEnd uintptr

var (
	// errNone reports a program without readable counters.
	errNone = errors.New("this program has no readable coverage counters; build it with `go build -cover " +
		"-coverpkg=PACKAGES`, with the main package among them (the counters of a test program cannot be read while it runs)")
	// errStrange reports counters that are not where they are expected.
	errStrange = errors.New("coverage counters are not where Bloodhound expects them; it does not support this version of Go")
)

// New finds out whether there are counters.
func New() (*Reader, error) {
	if coverage.WriteMeta(io.Discard) != nil || sectionEnd <= sectionBegin {
		return nil, errNone
	}
	begin := *(*unsafe.Pointer)(unsafe.Pointer(&sectionBegin)) // outside of the heap: nothing moves or frees it
	r := &Reader{section: unsafe.Slice((*uint32)(begin), (sectionEnd-sectionBegin)/unsafe.Sizeof(uint32(0)))}
	return r, r.Clear()
}

// Clear forgets what was executed so far.
func (r *Reader) Clear() error {
	return walk(r.section, func(_, _ uint32, blocks []uint32) { clear(blocks) })
}

// Executed reports each block that was executed since Clear, by a number that is its own in this program.
func (r *Reader) Executed(tell func(block uint64)) error {
	r.snapshot = append(r.snapshot[:0], r.section...) // the callback's own blocks may be counted
	return walk(r.snapshot, func(pkg, function uint32, blocks []uint32) {
		name := splitmix.Mix(splitmix.Mix(uint64(pkg)+splitmix.Gamma) ^ uint64(function))
		for k, times := range blocks {
			if times > 0 {
				tell(splitmix.Mix(name + uint64(k+1)*splitmix.Gamma))
			}
		}
	})
}

// The words before the counters of a function, which it writes whenever it is entered (Go's internal/coverage, defs.go). They are zero before.
const (
	blocksAt = iota
	pkgAt
	functionAt
	headerWords
)

// walk visits the counters of each function that was ever entered.
func walk(section []uint32, visit func(pkg, function uint32, blocks []uint32)) error {
	for len(section) > 0 {
		n := int(section[blocksAt])
		if n == 0 { // not entered, or space between functions
			section = section[1:]
			continue
		}
		if n > len(section)-headerWords {
			return errStrange
		}
		visit(section[pkgAt], section[functionAt], section[headerWords:headerWords+n])
		section = section[headerWords+n:]
	}
	return nil
}
