// Command kv is a replicated key-value store: its nodes keep the same log by Raft and answer PUT, GET and DELETE /kv/{key} over
// HTTP. With KV_LEASE_CLOCK=date it has a bug, and with KV_SYNC=never another one.
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"sort"
	"strings"

	"github.com/bloodhound-dst/bloodhound/examples/servers/distributed-kv/raft"
	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/mains"
)

const usage = `kv is a replicated key-value store.

  kv serve        runs one node. The environment says how:
    KV_ID           its name; the host's name without it
    KV_PEERS        all nodes, as name=host:port,...
    KV_DATA         its folder, /var/lib/kv
    KV_LISTEN       its address for clients, :8080
    KV_LEASE_CLOCK  what a leader measures its lease by: monotonic, or date, with which it answers reads that are stale
                    when the date is set back
    KV_SYNC         always, or never: then acknowledged writes do not survive a loss of power
  kv health URL   exit code 0 if that node leads or follows a leader
`

func main() { mains.Run(usage, serve) }

func serve() {
	host, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	id := mains.Setting("KV_ID", host)
	lease := raft.LeaseClock(mains.Setting("KV_LEASE_CLOCK", string(raft.Monotonic), string(raft.Monotonic), string(raft.Date)))
	sync := mains.Setting("KV_SYNC", "always", "always", "never") == "always"
	peers, err := parsePeers(os.Getenv("KV_PEERS"))
	if err != nil {
		log.Fatalf("KV_PEERS: %v", err)
	}
	_, port, err := net.SplitHostPort(peers[id])
	if err != nil {
		log.Fatalf("KV_PEERS: %s: %v", id, err)
	}
	delete(peers, id)
	var order []string
	for name := range peers {
		order = append(order, name)
	}
	sort.Strings(order)
	fromPeers, err := net.Listen("tcp", ":"+port)
	if err != nil {
		log.Fatal(err)
	}
	fromClients, err := net.Listen("tcp", mains.Setting("KV_LISTEN", ":8080"))
	if err != nil {
		log.Fatal(err)
	}
	s, err := newServer(id, peers, order, lease, mains.Setting("KV_DATA", "/var/lib/kv")+"/log", sync)
	if err != nil {
		log.Fatal(err)
	}
	status := s.node.Status()
	log.Printf("%s serves, leases by the %s clock; term=%d index=%d", id, lease, status.Term, status.Commit)
	go s.receive(fromPeers)
	go func() { log.Fatal(s.serve(fromClients)) }()
	log.Fatal(s.loop())
}

func parsePeers(list string) (map[string]string, error) {
	peers := map[string]string{}
	for _, p := range strings.Split(list, ",") {
		name, address, ok := strings.Cut(p, "=")
		if !ok || name == "" || address == "" {
			return nil, fmt.Errorf("%q is not of the form name=host:port", p)
		}
		if peers[name] != "" {
			return nil, fmt.Errorf("%s is named twice", name)
		}
		peers[name] = address
	}
	if len(peers) < 3 {
		return nil, fmt.Errorf("%d nodes; there must be three at least", len(peers))
	}
	return peers, nil
}
