package federation

import (
	"context"
	"io"
	"iter"
	"net"
	"net/netip"
	"slices"
)

// BIRD is a running BIRD 2, which is not changed. Copies of it answer commands as it would.
type BIRD struct {
	ASN        uint32
	PIDFile    string
	Control    string                // the name of its control socket
	Neighbours map[string]netip.Addr // domains, and the addresses of their ends of the sessions
}

// Origins asks BIRD itself, as birdc(8) does: a table is longer than what a copy may print. BIRD goes on with its work meanwhile.
func (b *BIRD) Origins(ctx context.Context) (iter.Seq[Origin], error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", b.Control)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, "show route\n"); err != nil {
		return nil, err
	}
	var list []Origin
	err = readBIRD(conn, func(r birdRoute) bool {
		switch {
		case !r.bgp:
			list = append(list, Origin{r.prefix, b.ASN})
		case r.origin != 0: // there is none where an aggregate's path ends with a set
			list = append(list, Origin{r.prefix, r.origin})
		}
		return len(list) <= maxOrigins
	})
	return slices.Values(list), err
}
