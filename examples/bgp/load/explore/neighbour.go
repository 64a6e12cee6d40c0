package explore

import (
	"encoding/binary"
	"iter"
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/live"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// sessions is what testdata/server adds to GoBGP.
type sessions interface {
	Session(address netip.Addr, asn uint32, id netip.Addr) (receive func(message []byte) error, has func(prefix netip.Prefix) bool, err error)
	Deliver(from netip.Addr, message []byte, send func(to netip.Addr, message []byte)) (closed bool, err error)
	Routes(p netip.Prefix, yield func(from netip.Addr, path []uint32, aggregated bool))
	Hold() (release func())
	Origins() (count int, all iter.Seq2[netip.Prefix, uint32])
}

// neighbour is the customer's end of its session with the provider.
type neighbour struct {
	asn      uint32
	address  netip.Addr
	receive  func(message []byte) error
	has      func(prefix netip.Prefix) bool
	announce route // the last one
	sent     bool
	accepted bool
}

// route is what the customer announces.
type route struct {
	prefix, origin, community, med uint32
	length                         uint8
}

// example is a route from which a search begins.
var example = route{prefix: 0xc0000200, length: 24, origin: 64511, community: 1, med: 1}

// of is the route as the neighbour announces it: it comes first in its path.
func (n *neighbour) of(r route) bgp.Route {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], r.prefix)
	return bgp.Route{Prefix: netip.PrefixFrom(netip.AddrFrom4(b), int(r.length)).Masked(),
		Attributes: &bgp.Attributes{Path: bgp.Sequence(n.asn, r.origin), NextHop: n.address, MED: &r.med, Communities: []bgp.Community{bgp.Community(r.community)}}}
}

// send announces a route to GoBGP, and looks whether it takes it. A length that no prefix has is none.
func (n *neighbour) send(r route) {
	n.announce, n.sent, n.accepted = r, false, false
	if r.length > 32 {
		return
	}
	a := n.of(r)
	message, err := bgp.AppendMessage(nil, &bgp.Update{Attributes: a.Attributes, Announced: []netip.Prefix{a.Prefix}}, bgp.AS4)
	if err != nil {
		panic(err)
	}
	if n.receive(message) == nil {
		n.sent, n.accepted = true, n.has(a.Prefix)
	}
}

// symbolic makes a route an input of a search.
func symbolic(r *route) {
	live.Symbolic("prefix", &r.prefix)
	live.Symbolic("length", &r.length)
	live.Symbolic("origin", &r.origin)
	live.Symbolic("community", &r.community)
	live.Symbolic("MED", &r.med)
}
