// Package explore explores what GoBGP takes from a neighbour: its import path, from the bytes of an UPDATE to the table, with prefixes, lengths, AS numbers and communities that are solved for.
package explore

import (
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// origins are the prefixes of a table as a binary trie: each bit of an address is a branch, which a search can negate.
type origins struct{ nodes []node }

type node struct {
	child  [2]int32 // 0 is none
	known  bool     // the table has this prefix
	origin uint32   // 0 if its path has none
}

// nodesOfPrefix is about how many nodes a prefix of a full table has for itself. Room for them that is not used costs no memory.
const nodesOfPrefix = 8

// newOrigins has room for about so many prefixes.
func newOrigins(prefixes int) *origins {
	return &origins{nodes: make([]node, 1, 64+nodesOfPrefix*prefixes)}
}

func trie(routes []bgp.Route) *origins {
	o := newOrigins(len(routes))
	for _, r := range routes {
		origin, _ := r.Attributes.Path.Origin()
		o.add(r.Prefix, origin)
	}
	return o
}

// add gives a prefix an origin; 0 is none.
func (o *origins) add(p netip.Prefix, origin uint32) {
	at := int32(0)
	address := number(p.Addr())
	for bit := range p.Bits() {
		side := address >> (31 - bit) & 1
		if o.nodes[at].child[side] == 0 {
			o.nodes[at].child[side] = int32(len(o.nodes))
			o.nodes = append(o.nodes, node{})
		}
		at = o.nodes[at].child[side]
	}
	o.nodes[at].known, o.nodes[at].origin = true, origin
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// changes reports whether a route changes the origin of the longest prefix of the table that contains its own.
func (o *origins) changes(address uint32, length uint8, origin uint32) bool {
	at, best := &o.nodes[0], -1
	for bit := uint8(0); ; bit++ {
		if at.known {
			best = int(at.origin)
		}
		if bit == length {
			break
		}
		next := at.child[0]
		if address&(1<<31>>bit) != 0 {
			next = at.child[1]
		}
		if next == 0 {
			break
		}
		at = &o.nodes[next]
	}
	return best >= 0 && uint32(best) != origin
}
