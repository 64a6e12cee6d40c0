package probe

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// classes are the prefixes that lie in some cuts, divided so that no cut tells two of a class apart: those of a class have one length, and the longest cut
// that each lies in is the same. A class is stood for by its first prefix.
type classes []netip.Prefix // the cuts, in order of address and length

// cut makes a block, the prefixes of a table in it, and those in it by which limits tell prefixes apart the cuts.
func cut(block netip.Prefix, table []netip.Prefix, limits []prefixset.Range) classes {
	cuts := classes{block}
	add := func(p netip.Prefix) {
		if p.Bits() >= block.Bits() && block.Contains(p.Addr()) {
			cuts = append(cuts, p)
		}
	}
	for _, p := range table {
		add(p)
	}
	for _, r := range limits {
		add(r.Prefix)
	}
	slices.SortFunc(cuts, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	return slices.Compact(cuts)
}

// probes are the prefixes of a length that stand for its classes.
func (c classes) probes(length int) (list []netip.Prefix) {
	c.sweep(length, func(probe netip.Prefix, first, _ uint32) {
		if prefixAt(first, length) == probe {
			list = append(list, probe)
		}
	})
	return list
}

// set has all prefixes of the classes of some lengths for whose probes a condition holds.
func (c classes) set(shortest, longest int, holds func(probe netip.Prefix) bool) prefixset.Set {
	var b prefixset.Builder
	for length := shortest; length <= longest; length++ {
		verdicts := map[netip.Prefix]bool{}
		c.sweep(length, func(probe netip.Prefix, first, last uint32) {
			verdict, known := verdicts[probe]
			if !known {
				verdict = holds(probe)
				verdicts[probe] = verdict
			}
			if verdict {
				b.Add(length, first, last)
			}
		})
	}
	return b.Set()
}

// open is a cut that a sweep is in.
type open struct {
	last  uint32       // its last address
	probe netip.Prefix // of the class with the sweep's length; not valid before the first block of the class
}

// sweep goes through the addresses once, and yields the blocks of the classes of one length, each with the probe of its class.
func (c classes) sweep(length int, yield func(probe netip.Prefix, first, last uint32)) {
	var stack []open
	next := uint64(0)
	// to yields the block from next up to an address, which is of the innermost open cut.
	to := func(end uint64) {
		if n := len(stack); n > 0 && next < end {
			inner := &stack[n-1]
			if !inner.probe.IsValid() {
				inner.probe = prefixAt(uint32(next), length)
			}
			yield(inner.probe, uint32(next), uint32(end-1))
		}
		next = max(next, end)
	}
	leave := func() {
		to(uint64(stack[len(stack)-1].last) + 1)
		stack = stack[:len(stack)-1]
	}
	for _, p := range c {
		if p.Bits() > length {
			continue
		}
		a := p.Addr().As4()
		first := binary.BigEndian.Uint32(a[:])
		for len(stack) > 0 && stack[len(stack)-1].last < first {
			leave()
		}
		to(uint64(first))
		next = uint64(first)
		stack = append(stack, open{last: first | uint32(1<<(32-p.Bits())-1)})
	}
	for len(stack) > 0 {
		leave()
	}
}

// prefixAt returns the prefix of a length that begins at an address.
func prefixAt(address uint32, length int) netip.Prefix {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], address)
	return netip.PrefixFrom(netip.AddrFrom4(a), length)
}
