package federation

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// pair are domains a and b, whose routers are neighbours, and a stranger that is no neighbour of theirs.
func pair(t testing.TB) *internet {
	return models(t, map[string]*model{
		"a":        {asn: asA, imports: anything("b")},
		"b":        {asn: asB, imports: anything("a"), table: []held{own("10.0.0.0/8")}},
		"stranger": {asn: asC},
	})
}

// as connects with a domain.
func (n *internet) as(name, to string) *client {
	n.t.Helper()
	id := identity(name)
	c, err := dial(n.t.Context(), &id, n.peers[to], nil)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { c.Close() })
	return c
}

// ask has a status, 0 if there is an answer.
func ask(t testing.TB, c *client, r request) (*answer, status) {
	t.Helper()
	a, err := c.call(t.Context(), &r)
	var s status
	if err != nil && !errors.As(err, &s) {
		t.Fatal(err)
	}
	return a, s
}

func expectStatus(t testing.TB, what string, got, want status) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, and not %q", what, got.Error(), want.Error())
	}
}

// Whoever sends garbage is cut off, before and behind TLS, and others are answered.
func TestGarbage(t *testing.T) {
	n := pair(t)
	plain, err := net.Dial("tcp", n.peers["b"].Address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	plain.Write(bytes.Repeat([]byte("garbage"), 1000))
	if _, err := io.ReadAll(plain); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	for _, garbage := range [][]byte{
		{0xff, 0xff, 0xff, 0xff}, // a frame of 4 GB
		{0, 0, 0, 0},             // an empty one
		append([]byte{0, 0, 0, 40}, make([]byte, 40)...),                   // op 0
		append([]byte{0, 0, 0, 40, 99}, make([]byte, 39)...),               // op 99
		append([]byte{0, 0, 0, 40, 1}, bytes.Repeat([]byte{255}, 39)...),   // a name that goes beyond its end
		append([]byte{0, 0, 0, 138, 1}, bytes.Repeat([]byte{100}, 137)...), // and a long one
	} {
		c := n.as("a", "b")
		c.conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := c.conn.Write(garbage); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(c.conn); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("% x: an answer of % x, %v", garbage[:4], b, err)
		}
	}
	c := n.as("a", "b")
	a, s := ask(t, c, request{Op: opBegin, ID: token{1}})
	expectStatus(t, "a session", s, statusOK)
	for _, body := range [][]byte{nil, {1, 2, 3}, bytes.Repeat([]byte{0xff}, 19), announcement("10.1.0.0/16", asA)[:30],
		bytes.Repeat(announcement("10.1.0.0/16", asA), maxPrefixes+1)} {
		_, s = ask(t, c, request{Op: opDeliver, ID: a.ID, Number: 1, From: "a", Body: body})
		expectStatus(t, "no UPDATE", s, statusBad)
	}
	_, s = ask(t, c, request{Op: opDeliver, ID: a.ID, Number: 1, From: "a", Body: announcement("10.1.0.0/16", asA)})
	expectStatus(t, "an UPDATE", s, statusOK)
}

// A key that nobody knows, and a known name with another key, get no connection.
func TestOtherKeys(t *testing.T) {
	n := pair(t)
	for name, key := range map[string]Identity{"mallory": identity("mallory"), "a": {"a", identity("mallory").Key}} {
		c, err := dial(t.Context(), &key, n.peers["b"], nil)
		if err == nil { // by TLS 1.3 a client learns with its first read that it is refused
			_, err = c.call(t.Context(), &request{Op: opBegin})
		}
		if err == nil {
			t.Errorf("%s is answered", name)
		}
	}
	// A domain that is not the one that the configuration means is not asked either.
	id := identity("a")
	p := *n.peers["b"]
	p.Key = identity("mallory").Public()
	if _, err := dial(t.Context(), &id, &p, nil); !errors.Is(err, errStranger) {
		t.Error(err)
	}
	// And TLS 1.2 is not spoken.
	config, err := id.connection(nil)
	if err != nil {
		t.Fatal(err)
	}
	config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if _, err := tls.Dial("tcp", n.peers["b"].Address, config); err == nil {
		t.Error("TLS 1.2")
	}
}

// Nobody speaks for another one, or uses what belongs to another session.
func TestOthersNames(t *testing.T) {
	n := models(t, map[string]*model{
		"a":        {asn: asA, imports: anything("b")},
		"b":        {asn: asB, imports: anything("a", "c")},
		"c":        {asn: asC, imports: anything("b")},
		"stranger": {asn: asD},
	})
	a, c, stranger := n.as("a", "b"), n.as("c", "b"), n.as("stranger", "b")
	first, _ := ask(t, a, request{Op: opBegin, ID: token{1}})
	second, _ := ask(t, a, request{Op: opBegin, ID: token{2}})
	foreign, _ := ask(t, stranger, request{Op: opBegin, ID: token{3}})
	update := announcement("10.1.0.0/16", asA)
	for what, r := range map[string]struct {
		by      *client
		request request
		want    status
	}{
		"a message of another neighbour": {a, request{Op: opDeliver, ID: first.ID, Number: 1, From: "c", Body: update}, statusNotPermitted},
		"a message of nobody":            {a, request{Op: opDeliver, ID: first.ID, Number: 1, Body: update}, statusNotPermitted},
		"a message of a stranger": {stranger,
			request{Op: opDeliver, ID: foreign.ID, Number: 1, From: "stranger", Body: update}, statusNotPermitted},
		"a stranger that carries":               {stranger, request{Op: opCarry, ID: token{1}, Body: update}, statusNotPermitted},
		"another one's checkpoint":              {c, request{Op: opDeliver, ID: first.ID, Number: 1, From: "c", Body: update}, statusUnknown},
		"the end of another one's checkpoint":   {c, request{Op: opEnd, ID: first.ID}, statusUnknown},
		"a session's name in place of its copy": {a, request{Op: opDeliver, ID: token{1}, Number: 1, From: "a", Body: update}, statusUnknown},
		"a session that is not there":           {c, request{Op: opCarry, ID: token{9}, Body: update}, statusUnknown},
		"another one's session":                 {c, request{Op: opBegin, ID: token{1}}, statusNotPermitted},
	} {
		_, s := ask(t, r.by, r.request)
		expectStatus(t, what, s, r.want)
	}
	x, s := ask(t, a, request{Op: opDeliver, ID: first.ID, Number: 1, From: "a", Body: update})
	if s != statusOK || len(x.Handles) != 1 {
		t.Fatalf("%v, %+v", s, x)
	}
	_, s = ask(t, a, request{Op: opForward, ID: second.ID, Handle: x.Handles[0].ID})
	expectStatus(t, "a handle of another session", s, statusUnknown)
	_, s = ask(t, c, request{Op: opForward, ID: first.ID, Handle: x.Handles[0].ID})
	expectStatus(t, "another one's handle", s, statusUnknown)
	_, s = ask(t, a, request{Op: opForward, ID: first.ID, Handle: token{7}})
	expectStatus(t, "a handle that was made up", s, statusUnknown)

	// The domain to which it goes has no such session.
	_, s = ask(t, a, request{Op: opForward, ID: first.ID, Handle: x.Handles[0].ID})
	expectStatus(t, "a neighbour that does not know the session", s, statusUnknown)

	// What a neighbour carries is for whoever has begun the session, and not for itself.
	r, s := ask(t, c, request{Op: opCarry, ID: token{1}, Body: announcement("10.2.0.0/16", asC)})
	expectStatus(t, "a neighbour that carries", s, statusOK)
	if r.Verdict != 0 || len(r.Handles) > 0 || len(r.Body) > 0 {
		t.Errorf("it gets %+v", r)
	}
	_, s = ask(t, c, request{Op: opVerdict, ID: first.ID, Handle: r.ID})
	expectStatus(t, "another one's verdict", s, statusUnknown)
	v, s := ask(t, a, request{Op: opVerdict, ID: first.ID, Handle: r.ID})
	if s != statusOK || v.Verdict != Accepted|Changed {
		t.Errorf("%v, %+v", s, v)
	}
}

// What was there once is refused, and does nothing.
func TestReplay(t *testing.T) {
	n := pair(t)
	for _, d := range []string{"a", "b"} {
		_, s := ask(t, n.as("a", d), request{Op: opBegin, ID: token{1}})
		expectStatus(t, "a session", s, statusOK)
	}
	b := n.as("a", "b")
	_, s := ask(t, b, request{Op: opBegin, ID: token{1}})
	expectStatus(t, "the same session", s, statusNotPermitted)
	begun, _ := ask(t, b, request{Op: opBegin, ID: token{2}})
	deliver := request{Op: opDeliver, ID: begun.ID, Number: 1, From: "a", Body: announcement("10.1.0.0/16", asA)}
	_, s = ask(t, b, deliver)
	expectStatus(t, "a message", s, statusOK)
	given := n.domains["b"].Log.Given("a")
	_, s = ask(t, b, deliver)
	expectStatus(t, "the same message", s, statusBad)
	if again := n.domains["b"].Log.Given("a"); again.Bits != given.Bits {
		t.Error("a replay gets bits")
	}
	r, s := ask(t, b, request{Op: opCarry, ID: token{2}, Body: announcement("10.1.0.0/16", asA)})
	expectStatus(t, "a carried message", s, statusOK)
	for i, want := range []status{statusOK, statusUnknown} {
		_, s = ask(t, b, request{Op: opVerdict, ID: begun.ID, Handle: r.ID})
		expectStatus(t, "verdict "+string(rune('1'+i)), s, want)
	}
	_, s = ask(t, b, request{Op: opEnd, ID: begun.ID})
	expectStatus(t, "the end", s, statusOK)
	deliver.Number = 2
	_, s = ask(t, b, deliver)
	expectStatus(t, "a message after the end", s, statusUnknown)
}

// A peer that has used up its budget gets nothing more: in a minute, and in all, also from a domain that was started anew.
func TestBudget(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	now := time.Unix(1_000_000, 0)
	domain := func() (*Domain, *Log, *Peer) {
		l, err := OpenLog(log, identity("b"))
		if err != nil {
			t.Fatal(err)
		}
		p := &Peer{Name: "a", Key: identity("a").Public(), Neighbour: true, Prefixes: prefixset.FromRanges(ranges("10.0.0.0/8", 24)),
			Budget: Budget{Total: 6, PerMinute: 4}}
		d, err := NewDomain(identity("b"), asB, &model{asn: asB, imports: anything("a")}, []*Peer{p}, l)
		if err != nil {
			t.Fatal(err)
		}
		d.times.now = func() time.Time { return now }
		return d, l, p
	}
	d, l, p := domain()
	begun := d.handle(t.Context(), p, &request{Op: opBegin, ID: token{1}})
	deliver := func(prefix string, number uint32) status {
		return d.handle(t.Context(), p, &request{Op: opDeliver, ID: begun.ID, Number: number, From: "a", Body: announcement(prefix, asA)}).Status
	}
	for _, prefix := range []string{"11.0.0.0/16", "10.0.0.0/25", "0.0.0.0/0"} {
		expectStatus(t, "a prefix that it may not announce", deliver(prefix, 1), statusNotPermitted)
	}
	for i := uint32(1); i <= 3; i++ {
		expectStatus(t, "within the rate", deliver("10.0.0.0/16", i), statusOK)
	}
	expectStatus(t, "beyond the rate", deliver("10.0.0.0/16", 4), statusBudget)
	now = now.Add(30 * time.Second)
	for i := uint32(5); i <= 6; i++ {
		expectStatus(t, "half a minute later", deliver("10.0.0.0/16", i), statusOK)
	}
	expectStatus(t, "and then", deliver("10.0.0.0/16", 7), statusBudget)
	now = now.Add(time.Hour)
	expectStatus(t, "the last one", deliver("10.0.0.0/16", 8), statusOK)
	expectStatus(t, "beyond the total", deliver("10.0.0.0/16", 9), statusBudget)
	if g := l.Given("a"); g.Entries != 6 || g.Bits != 6*(VerdictBits+1) {
		t.Errorf("%+v", g)
	}
	d.Close()
	l.Close()
	d, _, p = domain()
	begun = d.handle(t.Context(), p, &request{Op: opBegin, ID: token{2}})
	expectStatus(t, "after a new start", deliver("10.0.0.0/16", 1), statusBudget)
}

// A domain keeps few sessions for a peer, ends those that are forgotten, and closes their copies.
func TestForgottenSessions(t *testing.T) {
	n := pair(t)
	d := n.domains["b"]
	c := n.as("a", "b")
	for i := range byte(maxSessionsPerPeer) {
		_, s := ask(t, c, request{Op: opBegin, ID: token{1, i}})
		expectStatus(t, "a session", s, statusOK)
	}
	_, s := ask(t, c, request{Op: opBegin, ID: token{2}})
	expectStatus(t, "one more", s, statusBusy)
	_, s = ask(t, n.as("stranger", "b"), request{Op: opBegin, ID: token{3}})
	expectStatus(t, "another one's", s, statusOK)
	for _, id := range []token{{1, 0}, {1, 1}} {
		s := d.find(func(s *session) bool { return s.id == id })
		s.mu.Lock()
		taken := s.copy.(*modelCopy)
		s.end.Reset(0)
		s.mu.Unlock()
		for d.find(func(s *session) bool { return s.id == id }) != nil {
			time.Sleep(time.Millisecond) // the end of a session is no event
		}
		s.mu.Lock()
		if !taken.closed || s.copy != nil {
			t.Error("the copy is not closed")
		}
		s.mu.Unlock()
	}
	_, s = ask(t, c, request{Op: opBegin, ID: token{2}})
	expectStatus(t, "one more then", s, statusOK)
}

// A router or a domain that does not answer costs a check what is behind it, and nothing more.
func TestStuck(t *testing.T) {
	// Domain d takes connections, and says nothing.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	n := models(t, map[string]*model{
		"a":        {asn: asA, imports: anything("customer", "b", "c", "d")},
		"b":        {asn: asB, imports: anything("a"), stuck: true},
		"c":        {asn: asC, imports: anything("a"), table: []held{own("10.0.0.0/8")}},
		"d":        {asn: asD, imports: anything("a")},
		"customer": {asn: asCustomer, imports: anything("a")},
	}, func(d *Domain) {
		switch d.Name {
		case "a":
			d.times.router, d.times.handshake = time.Second, time.Second
			d.Peers[slices.IndexFunc(d.Peers, func(p *Peer) bool { return p.Name == "d" })].Address = silent.Addr().String()
		case "b":
			d.times.router = 50 * time.Millisecond
		}
	})
	r := n.check("a", "customer", announcement("10.1.0.0/16", asCustomer))
	if len(r.Findings) != 1 || r.Findings[0].Domain != "c" || len(r.Unfollowed) != 2 || r.Unfollowed[0].To != "b" || r.Unfollowed[1].To != "d" || r.Complete() {
		t.Error(story(r))
	}
}

// A peer that waits behind its connections keeps nobody else from being answered, and is cut off.
func TestIdle(t *testing.T) {
	n := models(t, map[string]*model{"a": {asn: asA}, "b": {asn: asB}, "c": {asn: asC}}, func(d *Domain) {
		if d.Name == "b" {
			d.times.idle = 50 * time.Millisecond
		}
	})
	for range maxConnectionsPerPeer {
		_, s := ask(t, n.as("a", "c"), request{Op: opEnd}) // so that it is counted
		expectStatus(t, "no session", s, statusUnknown)
	}
	id := identity("a")
	c, err := dial(t.Context(), &id, n.peers["c"], nil)
	if err == nil {
		_, err = c.call(t.Context(), &request{Op: opBegin, ID: token{1}})
	}
	if err == nil {
		t.Error("a connection too many is answered")
	}
	_, s := ask(t, n.as("b", "c"), request{Op: opBegin, ID: token{2}})
	expectStatus(t, "another peer", s, statusOK)
	silent := n.as("a", "b")
	silent.conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadAll(silent.conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a peer that says nothing is not cut off")
	}
}
