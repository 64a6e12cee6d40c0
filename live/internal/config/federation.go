package config

import (
	"crypto/ed25519"
	"encoding/base64"
	"net"
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// Federation is a federation.yaml: a domain that answers others for copies of its router.
type Federation struct {
	File     string
	Name     string
	ASN      uint32
	Key      string // absolute path of the private key
	Listen   string
	Log      string // absolute path
	Received string // absolute path
	PIDFile  string // of BIRD, absolute
	Control  string // of BIRD, absolute
	Socket   string // of a program in Go, absolute; then there is no BIRD
	Peers    []Peer
}

// Peer is another domain.
type Peer struct {
	Name             string
	Key              ed25519.PublicKey
	Address          string
	Session          netip.Addr // invalid: it is no neighbour
	Prefixes         []prefixset.Range
	Queries          int
	QueriesPerMinute int
}

// maxPeerNameBytes is the longest name of a domain.
const maxPeerNameBytes = 64

// LoadFederation reads a federation.yaml. Mistakes in the file are a source.Errors.
func LoadFederation(name string) (*Federation, []source.Note, error) {
	r := &Federation{File: name}
	notes, err := load(name, "docs/how-to/check-routers-of-several-domains.md", &keys.Federation, r.read)
	if err != nil {
		return nil, nil, err
	}
	return r, notes, nil
}

func (r *Federation) read(l *source.Reader, n *source.Node) {
	text := func(of *source.Node, key, remedy string) string {
		l.Missing(of, key, remedy, "there is no %s", key)
		v := of.Get(key)
		s := source.ValueOr(v, "")
		if v != nil && s == "" {
			l.Fail(v.Position, remedy, "%s is empty", key)
		}
		return s
	}
	file := func(of *source.Node, key, remedy string) string {
		if s := text(of, key, remedy); s != "" {
			return of.Get(key).File.Beside(s)
		}
		return ""
	}
	r.Name = text(n, "name", "add `name: NAME`, the name by which peers know this domain")
	r.Key = file(n, "key", "add `key: FILE`; `bloodhound live federate key FILE` makes one")
	r.Listen = text(n, "listen", "add `listen: HOST:PORT`")
	checkHost(l, n.Get("listen"))
	r.ASN = uint32(source.ValueOr(n.Get("asn"), int64(0)))
	l.Missing(n, "asn", "add `asn: NUMBER`", "there is no asn")
	r.Log = n.File.Beside(source.ValueOr(n.Get("log"), "verdicts.log"))
	r.Received = n.File.Beside(source.ValueOr(n.Get("received"), "received.log"))
	router := n.Get("router")
	if service := router.Get("service"); service != nil {
		r.Socket = file(service, "socket", "add `socket: PATH`, the path that the program has in BLOODHOUND_LIVE_SOCKET")
		if bird := router.Get("bird"); bird != nil {
			l.Fail(bird.Position, "remove one of them", "the router is a BIRD and a program in Go")
		}
	} else if bird := router.Get("bird"); bird != nil {
		r.PIDFile = file(bird, "pid_file", "start BIRD with `-P FILE`, and add `pid_file: FILE`")
		r.Control = file(bird, "control", "add `control: FILE`, the control socket of BIRD")
	} else {
		const remedy = "add `router: {bird: {pid_file: FILE, control: FILE}}`, or `router: {service: {socket: PATH}}`"
		l.Missing(n, "router", remedy, "there is no router")
		l.Missing(router, "bird", remedy, "the router has no kind")
	}
	l.Missing(n, "peers", "add `peers: {NAME: {key: KEY, address: HOST:PORT}}`", "there is no peer")
	for _, e := range n.Get("peers").EntriesOf() {
		if e.Value.Bad {
			continue
		}
		p := Peer{Name: e.Name, Queries: int(source.ValueOr(e.Value.Get("queries"), int64(10_000))),
			QueriesPerMinute: int(source.ValueOr(e.Value.Get("queries_per_minute"), int64(600)))}
		if len(p.Name) > maxPeerNameBytes || p.Name == r.Name {
			l.Fail(e.Key.Position, "use the name that the peer has in its own configuration",
				"a peer's name differs from this domain's, and has at most %d bytes", maxPeerNameBytes)
		}
		key := text(e.Value, "key", "add `key: KEY`; `bloodhound live federate key` prints it on the peer's side")
		if b, err := base64.StdEncoding.DecodeString(key); err == nil && len(b) == ed25519.PublicKeySize {
			p.Key = b
		} else if key != "" {
			l.Fail(e.Value.Get("key").Position, "copy what `bloodhound live federate key` prints on the peer's side",
				"%q is not a public key: give 32 bytes in base64", key)
		}
		p.Address = text(e.Value, "address", "add `address: HOST:PORT`")
		checkHost(l, e.Value.Get("address"))
		if s := e.Value.Get("session"); s != nil {
			var err error
			if p.Session, err = netip.ParseAddr(source.ValueOr(s, "")); err != nil {
				l.Fail(s.Position, "write an address such as 192.0.2.1", "%v", err)
			}
		}
		p.Prefixes = []prefixset.Range{{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Max: 24}}
		if list := e.Value.Get("prefixes"); list != nil {
			p.Prefixes = readRanges(l, list)
		}
		r.Peers = append(r.Peers, p)
	}
}

// checkHost checks that a text is a host and a port.
func checkHost(l *source.Reader, n *source.Node) {
	if n == nil {
		return
	}
	if _, _, err := net.SplitHostPort(source.ValueOr(n, "")); err != nil {
		l.Fail(n.Position, "write HOST:PORT", "%v", err)
	}
}
