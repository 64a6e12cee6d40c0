//go:build linux && amd64

package router

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/birdtest"
	"github.com/bloodhound-dst/bloodhound/live/internal/daemon"
)

const filters = `
filter customer { if net ~ [ 203.0.113.0/24, 198.51.100.0/22+ ] then accept; reject; }
filter upstream { if source != RTS_BGP then reject; if net = 198.51.100.0/22 then reject; bgp_path.prepend(65001); accept; }
`

// network is BIRD with three neighbours: a customer, whose routes are filtered, a peer, and an upstream, which does not get all.
type network struct {
	*birdtest.BIRD
	customer, peer, upstream *birdtest.Neighbour
	checkpoint               *daemon.Checkpoint
}

func start(t *testing.T) *network {
	t.Helper()
	n := &network{
		customer: &birdtest.Neighbour{Address: "127.0.0.2", AS: 65002, Import: "filter customer", Export: "none"},
		peer:     &birdtest.Neighbour{Address: "127.0.0.3", AS: 65003, Import: "all", Export: "where source = RTS_BGP"},
		upstream: &birdtest.Neighbour{Address: "127.0.0.4", AS: 65004, Import: "none", Export: "filter upstream"},
	}
	n.BIRD = birdtest.Start(t, filters, 100, n.customer, n.peer, n.upstream)
	known := prefixes("198.51.100.0/24")
	n.customer.Send(t, n.customer.Update(t, nil, known))
	n.peer.Await(known[0])
	n.upstream.Await(known[0])
	n.check(t)
	return n
}

// check makes a checkpoint.
func (n *network) check(t *testing.T) {
	t.Helper()
	d, err := daemon.Attach(n.PID)
	if err != nil {
		t.Fatal(err)
	}
	if n.checkpoint, err = d.TakeCheckpoint(); err != nil {
		t.Fatal(err)
	}
	c := n.checkpoint
	t.Cleanup(func() { c.Close() })
}

func (n *network) router(t *testing.T) *Router {
	t.Helper()
	c, err := n.checkpoint.Copy()
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(c, daemon.Budget{Calls: 10000, CPU: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if r.Pending.Status != daemon.Done {
		t.Fatalf("%+v", r.Pending)
	}
	return r
}

func deliver(t *testing.T, r *Router, from *birdtest.Neighbour, message []byte) *Reaction {
	t.Helper()
	got, err := r.Deliver(from.LocalAddr(), message)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, s := range texts {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

// heard describes which neighbours get a change of a prefix: by which path, or that it is withdrawn.
func (n *network) heard(r *Reaction, prefix string) string {
	var all []string
	p := netip.MustParsePrefix(prefix)
	for _, w := range []struct {
		name string
		*birdtest.Neighbour
	}{{"customer", n.customer}, {"peer", n.peer}, {"upstream", n.upstream}} {
		attributes, ok := r.Changes[w.LocalAddr()][p]
		switch {
		case !ok:
		case attributes == nil:
			all = append(all, w.name+" withdrawn")
		default:
			all = append(all, w.name+" "+strings.Trim(fmt.Sprint(attributes.Path[0].ASNs), "[]"))
		}
	}
	return strings.Join(all, ", ")
}

// What a copy's table did with a list of messages shows in what it sends to the other neighbours, and in its answer to show route.
func TestReactionsOfBIRD(t *testing.T) {
	n := start(t)
	before, received := n.Table(t), n.peer.Received()+n.upstream.Received()
	for range 2 { // each copy begins at the checkpoint
		r := n.router(t)
		for _, step := range []struct {
			what    string
			from    *birdtest.Neighbour
			message []byte
			prefix  string
			heard   string
			shown   string // behind the prefix in the table
		}{
			{"a prefix that the filter accepts", n.customer, n.customer.Update(t, nil, prefixes("203.0.113.0/24")),
				"203.0.113.0/24", "peer 65001 65002, upstream 65001 65001 65002", "from 127.0.0.2"},
			{"one that it rejects", n.customer, n.customer.Update(t, nil, prefixes("203.0.113.0/25")), "203.0.113.0/25", "", "Network not found"},
			{"one that the upstream does not get", n.customer, n.customer.Update(t, nil, prefixes("198.51.100.0/22")),
				"198.51.100.0/22", "peer 65001 65002", "from 127.0.0.2"},
			{"a longer path to the first", n.peer, n.peer.Update(t, nil, prefixes("203.0.113.0/24"), 65010, 65011), "203.0.113.0/24", "", "from 127.0.0.2"},
			{"the shorter one is withdrawn", n.customer, n.customer.Update(t, prefixes("203.0.113.0/24"), nil), "203.0.113.0/24",
				"peer withdrawn, upstream 65001 65001 65003 65010 65011", "from 127.0.0.3"},
			{"the other is withdrawn", n.peer, n.peer.Update(t, prefixes("203.0.113.0/24"), nil), "203.0.113.0/24", "upstream withdrawn", "Network not found"},
			{"its own AS in a path", n.peer, n.peer.Update(t, nil, prefixes("192.0.2.0/24"), birdtest.AS), "192.0.2.0/24", "", "Network not found"},
		} {
			got := deliver(t, r, step.from, step.message)
			if got.Status != daemon.Done || len(got.Closed) != 0 || len(got.Stray) != 0 || len(got.Refused) != 0 {
				t.Errorf("%s: %+v", step.what, got)
			}
			if heard := n.heard(got, step.prefix); heard != step.heard {
				t.Errorf("%s: heard %q instead of %q", step.what, heard, step.heard)
			}
			shown, err := r.Ask(n.Control, "show route "+step.prefix)
			if err != nil || !strings.Contains(shown, step.shown) {
				t.Errorf("%s: %q (%v)", step.what, shown, err)
			}
		}
	}
	if after := n.Table(t); after != before {
		t.Error("BIRD's table has changed")
	}
	if got := n.peer.Received() + n.upstream.Received(); got != received {
		t.Errorf("BIRD's neighbours got %d messages", got-received)
	}
}

// A session that a message ends is closed with a NOTIFICATION, and its routes are withdrawn from the others. The log says why.
func TestAMessageThatEndsTheSession(t *testing.T) {
	n := start(t)
	r := n.router(t)
	message := n.customer.Update(t, nil, prefixes("203.0.113.0/24"))
	message[len(message)-4] = 77 // bits of a prefix
	got := deliver(t, r, n.customer, message)
	if sent := slices.DeleteFunc(slices.Clone(got.Sent), func(m Message) bool { return m.To != n.customer.LocalAddr() }); len(sent) != 1 || sent[0].Type != 3 {
		t.Errorf("to the customer: %+v", sent)
	}
	if !slices.Equal(got.Closed, []netip.AddrPort{n.customer.LocalAddr()}) {
		t.Errorf("closed: %v", got.Closed)
	}
	if !slices.Equal(got.Heard(netip.MustParsePrefix("198.51.100.0/24")), []netip.AddrPort{n.peer.LocalAddr(), n.upstream.LocalAddr()}) ||
		!strings.Contains(n.heard(got, "198.51.100.0/24"), "peer withdrawn") {
		t.Errorf("heard: %s", n.heard(got, "198.51.100.0/24"))
	}
	if !strings.Contains(got.Log, "session0: Error: ") {
		t.Errorf("log: %q", got.Log)
	}
	missing := "no connection with " + n.customer.LocalAddr().String()
	if _, err := r.Deliver(n.customer.LocalAddr(), message); err == nil || !strings.Contains(err.Error(), missing) {
		t.Error(err)
	}
	if protocols := n.Ask(t, "show protocols"); strings.Count(protocols, "Established") != 3 {
		t.Error(protocols)
	}
}

// Neighbours are found by their address.
func TestNeighbours(t *testing.T) {
	n := start(t)
	r := n.router(t)
	if a, err := r.Neighbour(netip.MustParseAddr("127.0.0.3")); err != nil || a != n.peer.LocalAddr() {
		t.Error(a, err)
	}
	if _, err := r.Neighbour(netip.MustParseAddr("127.0.0.9")); err == nil || !strings.Contains(err.Error(), "0 connections with 127.0.0.9") {
		t.Error(err)
	}
	if _, err := r.Ask("/none", "show route"); err == nil || !strings.Contains(err.Error(), "does not listen on the socket /none") {
		t.Error(err)
	}
	if len(r.Neighbours()) != 3 {
		t.Error(r.Neighbours())
	}
}

// A copy of a router that has received a part of a message cannot be given another one. The rest of it goes on to BIRD itself.
func TestMessagesThatHaveArrivedInPart(t *testing.T) {
	n := start(t)
	whole := n.customer.Update(t, nil, prefixes("203.0.113.0/24"))
	sent := 0
	for _, part := range []int{0, 1, 16, 18, 19, 23, 24, 30, len(whole) - 1, len(whole)} {
		n.customer.Send(t, whole[sent:part])
		sent = part
		n.check(t)
		r := n.router(t)
		if between, err := r.Between(n.customer.LocalAddr()); err != nil || between != (part == 0 || part == len(whole)) {
			t.Errorf("%d bytes of %d: between messages is %v (%v)", part, len(whole), between, err)
		}
		r = n.router(t)
		if between, err := r.Between(n.peer.LocalAddr()); err != nil || !between {
			t.Errorf("%d bytes of %d from the customer: between messages of the peer is %v (%v)", part, len(whole), between, err)
		}
	}
	n.peer.Await(netip.MustParsePrefix("203.0.113.0/24"))
}

// A copy that has taken another configuration filters by that; BIRD itself and other copies do not.
func TestAChangedConfiguration(t *testing.T) {
	n := start(t)
	text, err := os.ReadFile(n.Config)
	if err != nil {
		t.Fatal(err)
	}
	update := n.customer.Update(t, nil, prefixes("203.0.113.0/25"))
	for _, c := range []struct{ old, new, says, heard string }{
		{"203.0.113.0/24", "203.0.113.0/24+", "Reconfigured", "peer 65001 65002, upstream 65001 65001 65002"},
		{"203.0.113.0/24", "203.0.113.0/33", "Invalid prefix", ""},
		{"reject; }", "reject", "syntax error", ""},
	} {
		given, err := n.checkpoint.Copy()
		if err != nil {
			t.Fatal(err)
		}
		given.GiveFile("/the change", bytes.Replace(text, []byte(c.old), []byte(c.new), 1))
		r, err := New(given, daemon.Budget{Calls: 10000, CPU: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if said, err := r.Ask(n.Control, `configure "/the change"`); err != nil || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q (%v)", c.new, said, err)
		}
		got := deliver(t, r, n.customer, update)
		if heard := n.heard(got, "203.0.113.0/25"); heard != c.heard || got.Unread > 0 {
			t.Errorf("%s: heard %q: %+v", c.new, heard, got)
		}
	}
	if heard := n.heard(deliver(t, n.router(t), n.customer, update), "203.0.113.0/25"); heard != "" {
		t.Errorf("a copy without the change: %s", heard)
	}
}
