// Package bgp has routes, and the UPDATE messages of BGP-4 that carry them (RFC 4271), with four-byte AS numbers (RFC 6793) and communities
// (RFC 1997). Reachability is that of IPv4; attributes of other families are kept as bytes.
//
// Packages below it have files of routes (mrt), tables like those of the Internet (table), import policies (policy), sets of prefixes
// (prefixset), and what a policy lets a neighbour take over (leak).
package bgp

import (
	"net/netip"
	"slices"
)

// Route is a way to a prefix. Routes may share attributes, so nobody changes them.
type Route struct {
	Prefix     netip.Prefix // of IPv4, without bits beyond its length
	Attributes *Attributes
}

// Origin is where a route entered BGP.
type Origin uint8

// Values of ORIGIN.
const (
	IGP Origin = iota
	EGP
	Incomplete
)

var origins = [...]string{"IGP", "EGP", "INCOMPLETE"}

func (o Origin) String() string {
	if int(o) < len(origins) {
		return origins[o]
	}
	return "invalid"
}

// Community is a community: an AS number in its upper half, a value in its lower one.
type Community uint32

// Segment is a part of an AS path: a sequence, or a set without order.
type Segment struct {
	Set  bool
	ASNs []uint32
}

// Path is an AS path. The neighbour that sent it comes first.
type Path []Segment

// Sequence is the path of one sequence.
func Sequence(asns ...uint32) Path {
	if len(asns) == 0 {
		return nil
	}
	return Path{{ASNs: asns}}
}

// Origin is the AS that originated a route of this path. There is none if the path is empty or ends with a set, whose members the route was
// aggregated from.
func (p Path) Origin() (asn uint32, ok bool) {
	if len(p) == 0 {
		return 0, false
	}
	last := p[len(p)-1]
	if last.Set || len(last.ASNs) == 0 {
		return 0, false
	}
	return last.ASNs[len(last.ASNs)-1], true
}

// Len is the length that best path selection compares: a set counts as one (RFC 4271, 9.1.2.2).
func (p Path) Len() int {
	n := 0
	for _, s := range p {
		if s.Set {
			n++
		} else {
			n += len(s.ASNs)
		}
	}
	return n
}

// Aggregator is the router that aggregated a route.
type Aggregator struct {
	ASN     uint32
	Address netip.Addr
}

// Raw is an attribute that this package does not know.
type Raw struct {
	Flags uint8
	Type  uint8
	Value []byte
}

// Attributes are the path attributes of routes. Those of pointers are optional.
type Attributes struct {
	Origin      Origin
	Path        Path
	NextHop     netip.Addr
	MED         *uint32
	LocalPref   *uint32
	Atomic      bool
	Aggregator  *Aggregator
	Communities []Community
	Others      []Raw // in the order of their types
}

// Has reports whether a community is attached.
func (a *Attributes) Has(c Community) bool { return slices.Contains(a.Communities, c) }
