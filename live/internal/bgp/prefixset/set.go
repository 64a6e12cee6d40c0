// Package prefixset has sets of prefixes of IPv4, exactly: of all 2^33-1 that there are, with union, intersection and difference.
package prefixset

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Lengths is how many lengths a prefix of IPv4 can have: 0 to 32.
const Lengths = 33

// Range is a prefix and what lies in it, with a length from Min to Max: the ge and le of a prefix list. A Min below the prefix's own length is
// that length.
type Range struct {
	Prefix   netip.Prefix
	Min, Max int
}

// Exactly is the range of one prefix.
func Exactly(p netip.Prefix) Range { return Range{p, p.Bits(), p.Bits()} }

// Contains reports whether a prefix is in the range.
func (r Range) Contains(p netip.Prefix) bool {
	return p.Bits() >= max(r.Min, r.Prefix.Bits()) && p.Bits() <= r.Max && r.Prefix.Contains(p.Addr())
}

// String is the range as prefix lists have it, such as 10.0.0.0/8 ge 16 le 24.
func (r Range) String() string {
	switch {
	case r.Min == r.Prefix.Bits() && r.Max == r.Min:
		return r.Prefix.String()
	case r.Min == r.Prefix.Bits():
		return fmt.Sprintf("%v le %d", r.Prefix, r.Max)
	case r.Max == Lengths-1:
		return fmt.Sprintf("%v ge %d", r.Prefix, r.Min)
	}
	return fmt.Sprintf("%v ge %d le %d", r.Prefix, r.Min, r.Max)
}

// ParseRange reads a range as String writes it.
func ParseRange(text string) (r Range, err error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return r, errors.New("there is no prefix")
	}
	p, err := netip.ParsePrefix(words[0])
	switch {
	case err != nil:
		return r, err
	case !p.Addr().Is4() || p != p.Masked():
		return r, fmt.Errorf("%s is not an IPv4 prefix, or has bits beyond its length", words[0])
	}
	r = Exactly(p)
	rest := words[1:]
	if len(rest) >= 2 && rest[0] == "ge" {
		r.Min, r.Max = length(rest[1]), Lengths-1
		rest = rest[2:]
	}
	if len(rest) >= 2 && rest[0] == "le" {
		r.Max = length(rest[1])
		rest = rest[2:]
	}
	if len(rest) > 0 || r.Min < p.Bits() || r.Max < r.Min || r.Max >= Lengths {
		return Range{}, fmt.Errorf("%q is not a range of prefixes such as 10.0.0.0/8 ge 16 le 24", text)
	}
	return r, nil
}

// length reads a length; -1 is none.
func length(text string) int {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return -1
	}
	return int(n)
}

// span is a run of prefixes of one length, each by the number that its bits are.
type span struct{ first, last uint32 }

// Set is a set of prefixes. The zero Set is empty. Its methods return new sets.
//
// For each length it has the runs of prefixes, in order, apart from each other and not adjacent: two sets are equal if their runs are.
type Set struct {
	runs [Lengths][]span
}

// number is a prefix as the number that its bits are.
func number(p netip.Prefix) uint32 {
	address := p.Addr().As4()
	return uint32(uint64(binary.BigEndian.Uint32(address[:])) >> (32 - p.Bits()))
}

// prefix is the prefix of a length that a number is.
func prefix(n uint32, length int) netip.Prefix {
	var address [4]byte
	binary.BigEndian.PutUint32(address[:], uint32(uint64(n)<<(32-length)))
	return netip.PrefixFrom(netip.AddrFrom4(address), length)
}

// within are the prefixes of a length that lie in p, which is no longer.
func within(p netip.Prefix, length int) span {
	down := length - p.Bits()
	first := uint64(number(p)) << down
	return span{uint32(first), uint32(first + 1<<down - 1)}
}

// FromRanges returns the set of all prefixes in some ranges.
func FromRanges(ranges ...Range) Set {
	var s Set
	for _, r := range ranges {
		for length := max(r.Min, r.Prefix.Bits()); length <= min(r.Max, Lengths-1); length++ {
			s.runs[length] = append(s.runs[length], within(r.Prefix, length))
		}
	}
	for length := range s.runs {
		slices.SortFunc(s.runs[length], func(a, b span) int { return cmp.Compare(a.first, b.first) })
		s.runs[length] = join(s.runs[length])
	}
	return s
}

// All is the set of all prefixes.
func All() Set {
	return FromRanges(Range{netip.PrefixFrom(netip.IPv4Unspecified(), 0), 0, Lengths - 1})
}

// join makes runs in order of their first prefix disjoint and apart, in their own memory.
func join(runs []span) []span {
	out := runs[:0]
	for _, r := range runs {
		if n := len(out); n > 0 && uint64(r.first) <= uint64(out[n-1].last)+1 {
			out[n-1].last = max(out[n-1].last, r.last)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// Builder makes a set of runs of prefixes that come in order.
type Builder struct{ set Set }

// Add adds the prefixes of a length whose first and last addresses lie in the block from the first address to the last one. For one
// length, blocks come in order and do not overlap.
func (b *Builder) Add(length int, first, last uint32) {
	shift := 32 - length
	runs := b.set.runs[length]
	r := span{uint32(uint64(first) >> shift), uint32(uint64(last) >> shift)}
	if n := len(runs); n > 0 && uint64(r.first) <= uint64(runs[n-1].last)+1 {
		runs[n-1].last = max(runs[n-1].last, r.last)
		return
	}
	b.set.runs[length] = append(runs, r)
}

// Set is the set of what was added.
func (b *Builder) Set() Set { return b.set }

// Union has what is in either.
func (s Set) Union(t Set) (u Set) {
	for length := range u.runs {
		runs := slices.Concat(s.runs[length], t.runs[length])
		slices.SortFunc(runs, func(a, b span) int { return cmp.Compare(a.first, b.first) })
		u.runs[length] = join(runs)
	}
	return u
}

// Intersect has what is in both.
func (s Set) Intersect(t Set) (u Set) {
	for length := range u.runs {
		a, b := s.runs[length], t.runs[length]
		for len(a) > 0 && len(b) > 0 {
			if r := (span{max(a[0].first, b[0].first), min(a[0].last, b[0].last)}); r.first <= r.last {
				u.runs[length] = append(u.runs[length], r)
			}
			if a[0].last < b[0].last {
				a = a[1:]
			} else {
				b = b[1:]
			}
		}
	}
	return u
}

// Minus has what is in s and not in t.
func (s Set) Minus(t Set) (u Set) {
	for length := range u.runs {
		b := t.runs[length]
		for _, r := range s.runs[length] {
			for len(b) > 0 && b[0].last < r.first {
				b = b[1:]
			}
			next, done := uint64(r.first), false
			for i := 0; i < len(b) && b[i].first <= r.last; i++ {
				if uint64(b[i].first) > next {
					u.runs[length] = append(u.runs[length], span{uint32(next), b[i].first - 1})
				}
				if next = uint64(b[i].last) + 1; next > uint64(r.last) {
					done = true
					break
				}
			}
			if !done {
				u.runs[length] = append(u.runs[length], span{uint32(next), r.last})
			}
		}
	}
	return u
}

// Len is how many prefixes are in the set.
func (s Set) Len() uint64 {
	n := uint64(0)
	for _, runs := range s.runs {
		for _, r := range runs {
			n += uint64(r.last) - uint64(r.first) + 1
		}
	}
	return n
}

// Empty reports whether there is none.
func (s Set) Empty() bool { return s.Len() == 0 }

// Equal reports whether two sets have the same prefixes.
func (s Set) Equal(t Set) bool {
	for length := range s.runs {
		if !slices.Equal(s.runs[length], t.runs[length]) {
			return false
		}
	}
	return true
}

// Contains reports whether a prefix is in the set.
func (s Set) Contains(p netip.Prefix) bool {
	runs, n := s.runs[p.Bits()], number(p)
	i, _ := slices.BinarySearchFunc(runs, n, func(r span, n uint32) int { return cmp.Compare(r.last, n) })
	return i < len(runs) && runs[i].first <= n
}

// Prefixes are all prefixes of the set, shorter ones first. There may be billions.
func (s Set) Prefixes() iter.Seq[netip.Prefix] {
	return func(yield func(netip.Prefix) bool) {
		for length, runs := range s.runs {
			for _, r := range runs {
				for n := uint64(r.first); n <= uint64(r.last); n++ {
					if !yield(prefix(uint32(n), length)) {
						return
					}
				}
			}
		}
	}
}

// Ranges are the set as disjoint ranges, in order of address and length. Equal sets have equal ranges: each run of a length is cut into the
// largest prefixes that it consists of, and equal ones of adjacent lengths are one range.
func (s Set) Ranges() []Range {
	var list []Range
	for length, runs := range s.runs {
		for _, r := range runs {
			for next := uint64(r.first); next <= uint64(r.last); {
				// The largest block that begins here is bounded by how even its number is, and by the end of the run.
				up := min(bits.TrailingZeros64(next|1<<length), bits.Len64(uint64(r.last)-next+1)-1)
				list = append(list, Range{prefix(uint32(next>>up), length-up), length, length})
				next += 1 << up
			}
		}
	}
	slices.SortFunc(list, func(a, b Range) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()), cmp.Compare(a.Min, b.Min))
	})
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].Prefix == r.Prefix && out[n-1].Max+1 == r.Min {
			out[n-1].Max = r.Max
		} else {
			out = append(out, r)
		}
	}
	return out
}

// String is the ranges, with commas.
func (s Set) String() string {
	var words []string
	for _, r := range s.Ranges() {
		words = append(words, r.String())
	}
	return strings.Join(words, ", ")
}
