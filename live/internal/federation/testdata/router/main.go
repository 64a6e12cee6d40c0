// Router is a small BGP router, for tests: `router ASN NEIGHBOUR...` takes all routes, keeps the last one of each neighbour, prefers the shortest path, and announces it to the other neighbours. It has no
// connections, but is a domain of a federation.
package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/bloodhound-dst/bloodhound/live"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

type router struct {
	lock       sync.Mutex
	asn        uint32
	neighbours []netip.Addr
	table      map[netip.Prefix][]held
}

type held struct {
	from netip.Addr
	path bgp.Path
}

func main() {
	asn, err := strconv.ParseUint(os.Args[1], 10, 32)
	if err != nil {
		panic(err)
	}
	r := &router{asn: uint32(asn), table: map[netip.Prefix][]held{netip.MustParsePrefix("192.0.2.0/24"): {{}}}}
	for _, a := range os.Args[2:] {
		r.neighbours = append(r.neighbours, netip.MustParseAddr(a))
	}
	err = live.Serve(live.Service{Hold: func() func() { r.lock.Lock(); return r.lock.Unlock }, Router: &live.Router{Deliver: r.deliver, Routes: r.routes, Origins: r.origins}})
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	select {}
}

func (r *router) deliver(from netip.Addr, message []byte, send func(to netip.Addr, message []byte)) (closed bool, err error) {
	if !slices.Contains(r.neighbours, from) {
		return false, fmt.Errorf("there is no session with %v", from)
	}
	u, err := bgp.ParseMessage(message, bgp.AS4)
	if err != nil {
		return true, nil
	}
	for _, p := range u.Announced {
		if p.Bits() == 32 {
			panic("a host route")
		}
		list := slices.DeleteFunc(slices.Clone(r.table[p]), func(h held) bool { return h.from == from })
		list = append(list, held{from, u.Attributes.Path})
		slices.SortStableFunc(list, func(a, b held) int { return cmp.Compare(a.path.Len(), b.path.Len()) })
		r.table[p] = list
		if list[0].from != from {
			continue
		}
		a := *u.Attributes
		a.Path = bgp.Sequence(append([]uint32{r.asn}, a.Path[0].ASNs...)...)
		for _, to := range r.neighbours {
			if to == from {
				continue
			}
			m, err := bgp.AppendMessage(nil, &bgp.Update{Attributes: &a, Announced: []netip.Prefix{p}}, bgp.AS4)
			if err != nil {
				return false, err
			}
			send(to, m)
		}
	}
	return false, nil
}

func (r *router) routes(p netip.Prefix, yield func(live.Route)) {
	for _, h := range r.table[p] {
		route := live.Route{From: h.from}
		if len(h.path) > 0 {
			route.Path = h.path[0].ASNs
		}
		yield(route)
	}
}

func (r *router) origins(yield func(p netip.Prefix, asn uint32)) {
	for p, list := range r.table {
		asn, _ := list[0].path.Origin()
		yield(p, asn)
	}
}
