// Command kv is a small replicated key-value store, made to be run in a world: three nodes keep the same log by
// Raft and answer PUT, GET and DELETE /kv/{key} over HTTP. With -ack-by=index it has a bug.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"
)

const usage = `kv is a replicated key-value store.

  kv serve -id n1 -listen :8080 -peers n1=n1:9090,n2=n2:9090,n3=n3:9090 -data FILE [-ack-by entry|index]
      runs one node. -ack-by=index has a bug: it acknowledges a write when anything is committed at its index.

  kv leader URL...
      asks every node's /health, and prints the leader that a majority follows. Exit code 1 if there is none.
`

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	switch os.Args[1] {
	case "serve":
		serve(os.Args[2:])
	case "leader":
		if len(os.Args) == 2 {
			fmt.Fprint(os.Stderr, "kv leader: name the nodes, as in: kv leader http://n1:8080 http://n2:8080\n")
			os.Exit(2)
		}
		leader, err := findLeader(os.Args[2:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(leader)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
}

func serve(args []string) {
	flags := flag.NewFlagSet("kv serve", flag.ExitOnError)
	id := flags.String("id", "", "this node's name")
	listen := flags.String("listen", ":8080", "address for clients")
	peerList := flags.String("peers", "", "all nodes, as name=host:port,...")
	data := flags.String("data", "", "the log file")
	ackBy := flags.String("ack-by", string(AckByEntry), "what acknowledges a write: entry, or index (the bug)")
	flags.Parse(args)

	peers, err := parsePeers(*peerList)
	switch {
	case err != nil:
		log.Fatal(err)
	case peers[*id] == "":
		log.Fatalf("-id %q is not in -peers %q", *id, *peerList)
	case *data == "":
		log.Fatal("-data is missing: name the log file")
	case *ackBy != string(AckByEntry) && *ackBy != string(AckByIndex):
		log.Fatalf("-ack-by is %q; it is entry or index", *ackBy)
	}
	address := peers[*id]
	delete(peers, *id)
	var order []string
	for name := range peers {
		order = append(order, name)
	}
	sort.Strings(order)

	s, err := newServer(*id, peers, order, AckBy(*ackBy), *data)
	if err != nil {
		log.Fatal(err)
	}
	// Peers and clients reach a node by any of its addresses: only the port of its own entry counts here.
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		log.Fatalf("-peers: %v", err)
	}
	peerListener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		log.Fatal(err)
	}
	clientListener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("%s serves clients on %s, peers on %s; %d entries, term=%d", *id, *listen, ":"+port, len(s.core.log), s.core.term)
	go s.listenPeers(peerListener)
	for _, name := range order {
		if name > *id {
			go s.dialPeer(name, peers[name])
		}
	}
	go func() { log.Fatal(s.serveHTTP(clientListener)) }()
	log.Fatal(s.loop())
}

func parsePeers(list string) (map[string]string, error) {
	peers := map[string]string{}
	for _, p := range strings.Split(list, ",") {
		name, address, ok := strings.Cut(p, "=")
		if !ok || name == "" || address == "" {
			return nil, fmt.Errorf("-peers: %q is not of the form name=host:port", p)
		}
		if peers[name] != "" {
			return nil, fmt.Errorf("-peers: %s is named twice", name)
		}
		peers[name] = address
	}
	return peers, nil
}

// findLeader returns the node that a majority of all nodes follow in the same term, itself among them.
func findLeader(urls []string) (string, error) {
	client := http.Client{Timeout: time.Second}
	type claim struct {
		leader string
		term   uint64
	}
	followers, leads := map[claim]int{}, map[claim]bool{}
	var claims []claim
	var problems []string
	for _, url := range urls {
		h, err := getHealth(&client, url)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		c := claim{h.Leader, h.Term}
		followers[c]++
		leads[c] = leads[c] || h.Node == h.Leader
		claims = append(claims, c)
	}
	for _, c := range claims {
		if c.leader != "" && leads[c] && followers[c] > len(urls)/2 {
			return c.leader, nil
		}
	}
	return "", fmt.Errorf("no leader that a majority follows: %v; %s", claims, strings.Join(problems, "; "))
}

func getHealth(client *http.Client, url string) (health, error) {
	var h health
	resp, err := client.Get(strings.TrimSuffix(url, "/") + "/health")
	if err != nil {
		return h, err
	}
	defer resp.Body.Close()
	return h, json.NewDecoder(resp.Body).Decode(&h)
}
