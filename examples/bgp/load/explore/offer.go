package explore

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/bloodhound-dst/bloodhound/live"
)

// Offer lets a running GoBGP be explored: which routes of a neighbour would it take now that change the origin of a prefix in its table? Without BLOODHOUND_LIVE_SOCKET it does nothing.
func Offer(s *server.BgpServer, asn uint32, address netip.Addr) error {
	explorable, err := explorable(s)
	if explorable == nil {
		return err
	}
	var known *origins
	var n *neighbour
	return live.Serve(live.Service{
		Hold: explorable.Hold,
		Prepare: func() {
			count, all := explorable.Origins()
			known = newOrigins(count)
			for p, origin := range all {
				known.add(p, origin)
			}
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

// Answer lets a running GoBGP answer other domains (`bloodhound live federate`). Without BLOODHOUND_LIVE_SOCKET it does nothing.
func Answer(s *server.BgpServer) error {
	explorable, err := explorable(s)
	if explorable == nil {
		return err
	}
	return live.Serve(live.Service{Hold: explorable.Hold, Router: &live.Router{
		Deliver: explorable.Deliver,
		Routes: func(p netip.Prefix, yield func(live.Route)) {
			explorable.Routes(p, func(from netip.Addr, path []uint32, aggregated bool) {
				yield(live.Route{From: from, Path: path, Aggregated: aggregated})
			})
		},
		Origins: func(yield func(p netip.Prefix, asn uint32)) {
			_, all := explorable.Origins()
			for p, asn := range all {
				yield(p, asn)
			}
		},
	}})
}

// explorable is a GoBGP to which testdata/server was added; nil without an error if nobody asks for it.
func explorable(s *server.BgpServer) (sessions, error) {
	if os.Getenv("BLOODHOUND_LIVE_SOCKET") == "" {
		return nil, nil
	}
	e, ok := any(s).(sessions)
	if !ok {
		return nil, fmt.Errorf("GoBGP has no session without a connection; README.md has the command that adds it")
	}
	return e, nil
}
