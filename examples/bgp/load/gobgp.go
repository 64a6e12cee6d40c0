package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/config"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"
)

// loopback is where routers and their neighbour are.
var loopback = netip.MustParseAddr("127.0.0.1")

// neighbour is whom a router has a session with.
type neighbour struct {
	address netip.Addr
	asn     uint32
}

// other is a neighbour that announces nothing.
var other = neighbour{netip.MustParseAddr("127.0.0.2"), table.Feed.ASN + 2}

// gobgp is a GoBGP server in this process.
type gobgp struct{ server *server.BgpServer }

// startGoBGP starts GoBGP on the loopback interface with neighbours, and an import policy for the first one if there is one.
func startGoBGP(port int, neighbours []neighbour, in *policy.Policy) (*gobgp, error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "[global.config]\n  as = %d\n  router-id = %q\n  port = %d\n  local-address-list = [%q]\n", table.Local.ASN, table.Local.ID, port, loopback)
	if in != nil {
		fmt.Fprintf(&text, "[global.apply-policy.config]\n  import-policy-list = [%q]\n  default-import-policy = \"accept-route\"\n", in.Name)
	}
	for _, n := range neighbours {
		fmt.Fprintf(&text, "[[neighbors]]\n  [neighbors.config]\n    neighbor-address = %q\n    peer-as = %d\n  [neighbors.transport.config]\n    passive-mode = true\n", n.address, n.asn)
	}
	if in != nil {
		if err := in.GoBGP(&text, neighbours[0].address); err != nil {
			return nil, err
		}
	}
	file, err := os.CreateTemp("", "gobgp-*.toml")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(text.Bytes()); err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	read, err := config.ReadConfigFile(file.Name(), "toml")
	if err != nil {
		return nil, err
	}
	level := &slog.LevelVar{}
	level.Set(slog.LevelError)
	g := &gobgp{server.NewBgpServer(server.LoggerOption(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), level))}
	go g.server.Serve()
	if _, err := config.InitialConfig(context.Background(), g.server, read, false); err != nil {
		return nil, err
	}
	return g, nil
}

// count is how many prefixes the table has.
func (g *gobgp) count() (int, error) {
	r, err := g.server.GetTable(context.Background(), &api.GetTableRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}})
	if err != nil {
		return 0, err
	}
	return int(r.NumDestination), nil
}

// updates is how many UPDATEs it has received.
func (g *gobgp) updates() (n int, err error) {
	err = g.server.ListPeer(context.Background(), &api.ListPeerRequest{}, func(p *api.Peer) { n += int(p.State.Messages.Received.Update) })
	return n, err
}

// prefixes are those of the table.
func (g *gobgp) prefixes() (map[netip.Prefix]bool, error) {
	all := map[netip.Prefix]bool{}
	err := g.server.ListPath(apiutil.ListPathRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: bgp.RF_IPv4_UC}, func(nlri bgp.NLRI, _ []*apiutil.Path) {
		all[netip.MustParsePrefix(nlri.String())] = true
	})
	return all, err
}
