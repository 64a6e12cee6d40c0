package bgp

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/cursor"
)

var be = binary.BigEndian

// ASSize is how many bytes an AS number has in AS_PATH and AGGREGATOR: what the two routers of a session have agreed on (RFC 6793).
type ASSize int

// Sizes of AS numbers.
const (
	AS2 ASSize = 2
	AS4 ASSize = 4
)

// Transition stands for an AS number that does not fit into two bytes.
const Transition = 23456

// Types of attributes.
const (
	typeOrigin      = 1
	typePath        = 2
	typeNextHop     = 3
	typeMED         = 4
	typeLocalPref   = 5
	typeAtomic      = 6
	typeAggregator  = 7
	typeCommunities = 8
	typePath4       = 17
	typeAggregator4 = 18
	flagOptional    = 0x80
	flagTransitive  = 0x40
	flagExtended    = 0x10
	flags           = flagOptional | flagTransitive | 0x20 // what a Raw keeps: how long its length is follows from its value
	segmentSet      = 1
	segmentSequence = 2
	largestSegment  = math.MaxUint8
)

// ReadAttributes reads the attributes that a cursor has. An attribute that is there twice, or whose length or flags are wrong, is an error.
func ReadAttributes(c *cursor.Cursor, size ASSize) *Attributes {
	a := &Attributes{}
	var seen [256]bool
	var path4 Path
	var aggregator4 *Aggregator
	for c.Left() > 0 {
		start := c.Offset()
		flag, kind := c.Uint8("flags of an attribute"), c.Uint8("type of an attribute")
		n := 0
		if flag&flagExtended != 0 {
			n = int(c.Uint16("length of an attribute"))
		} else {
			n = int(c.Uint8("length of an attribute"))
		}
		value := c.Part(n, "an attribute")
		if seen[kind] {
			c.Fail(start, "attribute %d is there twice", kind)
		}
		seen[kind] = true
		if want, known := flagsOf(kind); known && flag&(flagOptional|flagTransitive) != want {
			c.Fail(start, "attribute %d has flags %#x", kind, flag)
		}
		switch kind {
		case typeOrigin:
			if a.Origin = Origin(value.Uint8("ORIGIN")); a.Origin > Incomplete {
				value.Fail(start, "ORIGIN is %d", a.Origin)
			}
		case typePath:
			a.Path = readPath(value, size)
		case typePath4:
			path4 = readPath(value, AS4)
		case typeNextHop:
			a.NextHop = readAddr(value, "NEXT_HOP")
		case typeMED:
			a.MED = new(value.Uint32("MULTI_EXIT_DISC"))
		case typeLocalPref:
			a.LocalPref = new(value.Uint32("LOCAL_PREF"))
		case typeAtomic:
			a.Atomic = true
		case typeAggregator:
			a.Aggregator = &Aggregator{readAS(value, aggregatorSize(value.Left(), size)), readAddr(value, "AGGREGATOR")}
		case typeAggregator4:
			aggregator4 = &Aggregator{readAS(value, AS4), readAddr(value, "AS4_AGGREGATOR")}
		case typeCommunities:
			for value.Left() > 0 {
				a.Communities = append(a.Communities, Community(value.Uint32("a community")))
			}
		default:
			a.Others = append(a.Others, Raw{flag & flags, kind, append([]byte(nil), value.Bytes(value.Left(), "an attribute")...)})
		}
		if value.Left() > 0 {
			value.Fail(value.Offset(), "attribute %d is %s too long", kind, plural.Count(value.Left(), "byte"))
		}
	}
	slices.SortFunc(a.Others, func(x, y Raw) int { return cmp.Compare(x.Type, y.Type) })
	if size == AS2 {
		widen(a, path4, aggregator4)
	}
	return a
}

// flagsOf are the flags that RFC 4271, 1997 and 6793 ask of an attribute.
func flagsOf(kind uint8) (flag uint8, known bool) {
	switch kind {
	case typeOrigin, typePath, typeNextHop, typeLocalPref, typeAtomic:
		return flagTransitive, true
	case typeMED:
		return flagOptional, true
	case typeAggregator, typeCommunities, typePath4, typeAggregator4:
		return flagOptional | flagTransitive, true
	}
	return 0, false
}

// widen puts AS numbers of four bytes in the places where a session of two bytes had AS_TRANS (RFC 6793, 4.2.3).
func widen(a *Attributes, path4 Path, aggregator4 *Aggregator) {
	if a.Aggregator != nil && aggregator4 != nil {
		if a.Aggregator.ASN != Transition {
			return // a router that knows two bytes only has aggregated the route since
		}
		a.Aggregator = aggregator4
	}
	head := a.Path.Len() - path4.Len()
	if path4 == nil || head < 0 {
		return
	}
	var merged Path
	for _, s := range a.Path {
		if head == 0 {
			break
		}
		if s.Set {
			merged, head = append(merged, s), head-1
			continue
		}
		n := min(head, len(s.ASNs))
		merged, head = append(merged, Segment{ASNs: s.ASNs[:n]}), head-n
	}
	if n := len(merged); n > 0 && !merged[n-1].Set && !path4[0].Set && len(merged[n-1].ASNs)+len(path4[0].ASNs) <= largestSegment {
		merged[n-1].ASNs = slices.Concat(merged[n-1].ASNs, path4[0].ASNs)
		path4 = path4[1:]
	}
	a.Path = append(merged, path4...)
}

func readPath(c *cursor.Cursor, size ASSize) Path {
	var p Path
	for c.Left() > 0 {
		start := c.Offset()
		kind, n := c.Uint8("type of a segment"), int(c.Uint8("length of a segment"))
		if kind != segmentSet && kind != segmentSequence {
			c.Fail(start, "segment of an AS path has type %d", kind)
		}
		if n == 0 {
			c.Fail(start, "segment of an AS path is empty")
		}
		part := c.Part(n*int(size), "a segment of an AS path")
		s := Segment{Set: kind == segmentSet, ASNs: make([]uint32, 0, n)}
		for part.Left() > 0 {
			s.ASNs = append(s.ASNs, readAS(part, size))
		}
		p = append(p, s)
	}
	return p
}

func readAS(c *cursor.Cursor, size ASSize) uint32 {
	if size == AS4 {
		return c.Uint32("an AS number")
	}
	return uint32(c.Uint16("an AS number"))
}

// aggregatorSize is AS4 for an AGGREGATOR of eight bytes: OpenBGPD writes those even into tables (TABLE_DUMP) whose paths
// have AS numbers of two bytes.
func aggregatorSize(bytes int, size ASSize) ASSize {
	if bytes == 8 {
		return AS4
	}
	return size
}

func readAddr(c *cursor.Cursor, what string) netip.Addr {
	b := c.Bytes(4, what)
	if b == nil {
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte(b))
}

// AppendAttributes appends attributes in the order of their types. With AS numbers of two bytes, those that do not fit go into AS4_PATH and
// AS4_AGGREGATOR. A segment of more than 255 AS numbers becomes several.
func AppendAttributes(b []byte, a *Attributes, size ASSize) []byte {
	b = attribute(b, flagTransitive, typeOrigin, []byte{byte(a.Origin)})
	b = attribute(b, flagTransitive, typePath, appendPath(nil, a.Path, size))
	if a.NextHop.Is4() {
		b = attribute(b, flagTransitive, typeNextHop, a.NextHop.AsSlice())
	}
	if a.MED != nil {
		b = attribute(b, flagOptional, typeMED, be.AppendUint32(nil, *a.MED))
	}
	if a.LocalPref != nil {
		b = attribute(b, flagTransitive, typeLocalPref, be.AppendUint32(nil, *a.LocalPref))
	}
	if a.Atomic {
		b = attribute(b, flagTransitive, typeAtomic, nil)
	}
	if a.Aggregator != nil {
		b = attribute(b, flagOptional|flagTransitive, typeAggregator, appendAggregator(a.Aggregator, size))
	}
	if len(a.Communities) > 0 {
		var value []byte
		for _, c := range a.Communities {
			value = be.AppendUint32(value, uint32(c))
		}
		b = attribute(b, flagOptional|flagTransitive, typeCommunities, value)
	}
	others := a.Others
	if size == AS2 {
		others = slices.Clone(others)
		if slices.ContainsFunc(a.Path, func(s Segment) bool { return slices.ContainsFunc(s.ASNs, wide) }) {
			others = append(others, Raw{flagOptional | flagTransitive, typePath4, appendPath(nil, a.Path, AS4)})
		}
		if a.Aggregator != nil && wide(a.Aggregator.ASN) {
			others = append(others, Raw{flagOptional | flagTransitive, typeAggregator4, appendAggregator(a.Aggregator, AS4)})
		}
		slices.SortStableFunc(others, func(x, y Raw) int { return cmp.Compare(x.Type, y.Type) })
	}
	for _, o := range others {
		b = attribute(b, o.Flags&flags, o.Type, o.Value)
	}
	return b
}

func wide(asn uint32) bool { return asn > math.MaxUint16 }

func attribute(b []byte, flag, kind uint8, value []byte) []byte {
	if len(value) > math.MaxUint8 {
		b = be.AppendUint16(append(b, flag|flagExtended, kind), uint16(len(value)))
	} else {
		b = append(b, flag, kind, byte(len(value)))
	}
	return append(b, value...)
}

func appendPath(b []byte, p Path, size ASSize) []byte {
	for _, s := range p {
		kind := byte(segmentSequence)
		if s.Set {
			kind = segmentSet
		}
		for part := range slices.Chunk(s.ASNs, largestSegment) {
			b = append(b, kind, byte(len(part)))
			for _, asn := range part {
				b = appendAS(b, asn, size)
			}
		}
	}
	return b
}

func appendAggregator(a *Aggregator, size ASSize) []byte {
	address := a.Address.As4()
	return append(appendAS(nil, a.ASN, size), address[:]...)
}

func appendAS(b []byte, asn uint32, size ASSize) []byte {
	switch {
	case size == AS4:
		return be.AppendUint32(b, asn)
	case wide(asn):
		return be.AppendUint16(b, Transition)
	}
	return be.AppendUint16(b, uint16(asn))
}
