package explore

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	gobgp "github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/bloodhound-dst/bloodhound/internal/live/bgp"
	"github.com/bloodhound-dst/bloodhound/live"
)

// Offer lets a running GoBGP be explored: which routes of a neighbour would it take now that change the origin of a prefix in its table? Without BLOODHOUND_LIVE_SOCKET it does nothing.
func Offer(s *server.BgpServer, asn uint32, address netip.Addr) error {
	explorable, ok := any(s).(sessions)
	if !ok {
		if os.Getenv("BLOODHOUND_LIVE_SOCKET") != "" {
			return fmt.Errorf("GoBGP has no session without a connection; README.md has the command that adds it")
		}
		return nil
	}
	var known *origins
	var n *neighbour
	return live.Serve(live.Service{
		Hold: explorable.Hold,
		Prepare: func() {
			routes, err := routesOf(s)
			if err != nil {
				panic(err)
			}
			known = trie(routes)
			receive, has, err := explorable.Session(address, asn, address)
			if err != nil {
				panic(err)
			}
			n = &neighbour{asn: asn, address: address, receive: receive, has: has}
		},
		Handlers: map[string]func(){"update": func() {
			r := example
			symbolic(&r)
			n.send(r)
			live.Check("the neighbour takes nothing over", !n.accepted || !known.changes(r.prefix, r.length, r.origin))
		}},
	})
}

// routesOf are the best routes of a table, as far as their origins go.
func routesOf(s *server.BgpServer) (list []bgp.Route, err error) {
	failed := s.ListPath(apiutil.ListPathRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: gobgp.RF_IPv4_UC}, func(nlri gobgp.NLRI, paths []*apiutil.Path) {
		p, ok := nlri.(*gobgp.IPAddrPrefix)
		if !ok || len(paths) == 0 {
			return
		}
		list = append(list, bgp.Route{Prefix: p.Prefix, Attributes: &bgp.Attributes{Path: pathOf(paths[0].Attrs)}})
	})
	return list, failed
}

// pathOf is the AS path of attributes.
func pathOf(attributes []gobgp.PathAttributeInterface) (path bgp.Path) {
	for _, a := range attributes {
		if as, ok := a.(*gobgp.PathAttributeAsPath); ok {
			for _, segment := range as.Value {
				path = bgp.Sequence(segment.GetAS()...)
			}
		}
	}
	return path
}
