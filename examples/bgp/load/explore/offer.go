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
