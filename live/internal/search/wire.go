package search

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// A run crosses a pipe as numbers (varints of encoding/binary) and texts with their lengths: its inputs, its failures, the sides
// of branches, what it lost, the counts, its branches, and their conditions in the form of package bv.

// AppendValues appends the values of inputs to dst, in the form that ParseValues reads.
func AppendValues(dst []byte, values []uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	for _, v := range values {
		dst = binary.AppendUvarint(dst, v)
	}
	return dst
}

// ParseValues reads what AppendValues wrote.
func ParseValues(b []byte) (values []uint64, err error) {
	r := reader{rest: b}
	for range r.count() {
		values = append(values, r.number())
	}
	return values, r.err
}

// AppendRun appends a run to dst, in the form that ParseRun reads.
func AppendRun(dst []byte, run *Run) []byte {
	p := &run.Path
	text := func(s string) {
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	number := func(n uint64) { dst = binary.AppendUvarint(dst, n) }
	number(uint64(len(p.Inputs)))
	for _, in := range p.Inputs {
		text(in.Name)
		number(uint64(in.Width))
		number(in.Value)
	}
	number(uint64(len(run.Failures)))
	for _, f := range run.Failures {
		text(f.What)
		text(f.Where)
	}
	text(string(p.Sides))
	number(uint64(len(p.Lost)))
	for _, site := range slices.Sorted(maps.Keys(p.Lost)) {
		number(uint64(site))
		number(uint64(p.Lost[site]))
	}
	number(uint64(p.Stale))
	number(uint64(p.Dropped))
	number(uint64(len(p.Branches)))
	roots := make([]*bv.Expr, len(p.Branches))
	for i, b := range p.Branches {
		number(uint64(b.Site))
		taken := uint64(0)
		if b.Taken {
			taken = 1
		}
		number(uint64(b.Kind)<<1 | taken)
		roots[i] = b.Cond
	}
	return bv.Append(dst, roots...)
}

// ParseRun reads what AppendRun wrote. The expressions are made by a builder.
func ParseRun(builder *bv.Builder, b []byte) (*Run, error) {
	r := reader{rest: b}
	run := &Run{}
	p := &run.Path
	for range r.count() {
		p.Inputs = append(p.Inputs, shadow.Input{Name: r.text(), Width: uint8(r.number()), Value: r.number()})
	}
	for range r.count() {
		run.Failures = append(run.Failures, Failure{What: r.text(), Where: r.text()})
	}
	p.Sides = []uint8(r.text())
	p.Lost = map[uint32]int{}
	for range r.count() {
		site := uint32(r.number())
		p.Lost[site] = int(r.number())
	}
	p.Stale, p.Dropped = int(r.number()), int(r.number())
	for range r.count() {
		b := shadow.Branch{Site: uint32(r.number())}
		n := r.number()
		b.Kind, b.Taken = shadow.Kind(n>>1), n&1 != 0
		p.Branches = append(p.Branches, b)
	}
	if r.err != nil {
		return nil, r.err
	}
	roots, _, err := bv.Parse(builder, r.rest)
	if err != nil {
		return nil, err
	}
	if len(roots) != len(p.Branches) {
		return nil, errDamaged
	}
	for i, e := range roots {
		if e.Width != 1 {
			return nil, errDamaged
		}
		p.Branches[i].Cond = e
	}
	return run, nil
}

var errDamaged = errors.New("the text of a run is damaged")

// reader reads numbers and texts, until the first that is damaged.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.rest, r.err = nil, errDamaged
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count is the number of things that follow, each of which has a byte at least.
func (r *reader) count() uint64 {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.rest, r.err = nil, errDamaged
		return 0
	}
	return n
}

func (r *reader) text() string {
	n := r.count()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
