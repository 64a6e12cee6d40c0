package federation

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// Bounds of what peers have a domain keep.
const (
	maxSessions        = 16
	maxSessionsPerPeer = 4
	maxDeliveries      = 1024 // in a session
	maxPrefixes        = 16   // in what is delivered at once
)

// Domain answers its peers for copies of its router.
type Domain struct {
	Identity
	ASN    uint32
	Router Router
	Peers  []*Peer
	Log    *Log
	Note   func(error) // of what went wrong here, of which peers learn only that it did; nil is nobody

	times     times
	self      *Peer
	neighbors int

	mu       sync.Mutex
	sessions map[token]*session // by the name that all domains of a check know
	accounts map[string]*account
	origins  originTable

	tap tap
}

// times bound what a peer or the router can make a domain wait for.
type times struct {
	handshake, idle, router, session, epoch time.Duration
	now                                     func() time.Time
}

// NewDomain makes a domain. The domain itself is among those that may ask it, without a budget and for any neighbour: that is how its operator starts a check.
func NewDomain(id Identity, asn uint32, router Router, peers []*Peer, log *Log) (*Domain, error) {
	d := &Domain{Identity: id, ASN: asn, Router: router, Peers: peers, Log: log, sessions: map[token]*session{}, accounts: map[string]*account{}}
	d.times = times{handshake: 5 * time.Second, idle: 10 * time.Minute, router: 10 * time.Second, session: 10 * time.Minute, epoch: time.Hour, now: time.Now}
	d.self = &Peer{Name: id.Name, Key: id.Public()}
	for i, p := range peers {
		if p.Name == id.Name || p.Name == "" || len(p.Name) > maxNameBytes ||
			slices.ContainsFunc(peers[:i], func(q *Peer) bool { return q.Name == p.Name || q.Key.Equal(p.Key) }) {
			return nil, fmt.Errorf("peer %q: names have 1 to %d bytes, and each name and key is there once", p.Name, maxNameBytes)
		}
		if p.Neighbour {
			d.neighbors++
		}
	}
	if d.neighbors > maxHandles {
		return nil, fmt.Errorf("%s; %d are the most", plural.Count(d.neighbors, "neighbour"), maxHandles)
	}
	return d, nil
}

// peer returns the peer that has a key, or nil.
func (d *Domain) peer(key ed25519.PublicKey) *Peer {
	if d.self.Key.Equal(key) {
		return d.self
	}
	i := slices.IndexFunc(d.Peers, func(p *Peer) bool { return p.Key.Equal(key) })
	if i < 0 {
		return nil
	}
	return d.Peers[i]
}

// neighbour is the neighbour of a name.
func (d *Domain) neighbour(name string) *Peer {
	for _, p := range d.Peers {
		if p.Name == name && p.Neighbour {
			return p
		}
	}
	return nil
}

// session is a copy of the router, in which a peer has messages delivered.
type session struct {
	id, checkpoint token
	asker          *Peer
	end            *time.Timer

	mu         sync.Mutex // held while the copy is used
	copy       Copy       // nil when the session has ended
	states     map[state]bool
	prefix     *netip.Prefix // of the first message
	delivered  uint32        // by the asker
	deliveries int           // by all
	crashed    bool
	outgoing   map[token]parcel
	receipts   map[token]*answer
}

// parcel holds the messages behind a handle.
type parcel struct {
	to       string
	messages []byte
}

func newToken() (t token) {
	rand.Read(t[:])
	return t
}

// handle answers a request of a peer.
func (d *Domain) handle(ctx context.Context, p *Peer, r *request) *answer {
	a, err := d.answer(ctx, p, r)
	if err == nil {
		return a
	}
	var s status
	if !errors.As(err, &s) {
		s = statusFailed
		if d.Note != nil {
			d.mu.Lock() // it is called by one goroutine at a time
			d.Note(fmt.Errorf("for %s: %w", p.Name, err))
			d.mu.Unlock()
		}
	}
	return &answer{Status: s}
}

func (d *Domain) answer(ctx context.Context, p *Peer, r *request) (*answer, error) {
	switch r.Op {
	case opBegin:
		return d.beginSession(ctx, p, r.ID)
	case opCarry:
		return d.carry(ctx, p, r)
	case opOriginTable, opOriginChunk, opOriginEvaluate:
		return d.originAnswer(ctx, p, r)
	}
	s := d.find(func(s *session) bool { return s.checkpoint == r.ID && s.asker == p })
	if s == nil {
		return nil, statusUnknown
	}
	if r.Op == opForward {
		return d.forward(ctx, s, r.Handle)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copy == nil {
		return nil, statusUnknown
	}
	switch r.Op {
	case opDeliver:
		return d.deliver(ctx, p, s, r)
	case opVerdict:
		a := s.receipts[r.Handle]
		delete(s.receipts, r.Handle)
		if a == nil {
			return nil, statusUnknown
		}
		return a, nil
	case opHop:
		return d.hop(ctx, p, s)
	}
	d.drop(s)
	return &answer{}, nil
}

func (d *Domain) find(is func(*session) bool) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		if is(s) {
			return s
		}
	}
	return nil
}

func (d *Domain) beginSession(ctx context.Context, p *Peer, id token) (*answer, error) {
	s := &session{id: id, checkpoint: newToken(), asker: p, states: map[state]bool{}, outgoing: map[token]parcel{}, receipts: map[token]*answer{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := d.admit(s); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.times.router)
	defer cancel()
	c, err := d.Router.Checkpoint(ctx)
	if err != nil {
		d.drop(s)
		return nil, err
	}
	s.copy = c
	s.end = time.AfterFunc(d.times.session, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		d.drop(s)
	})
	return &answer{ID: s.checkpoint}, nil
}

// admit enters a session, if its name is new and there is room.
func (d *Domain) admit(s *session) error {
	if err := d.charge(s.asker, false); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sessions[s.id] != nil {
		return statusNotPermitted
	}
	own := 0
	for _, other := range d.sessions {
		if other.asker == s.asker {
			own++
		}
	}
	if own >= maxSessionsPerPeer || len(d.sessions) >= maxSessions {
		return statusBusy
	}
	d.sessions[s.id] = s
	return nil
}

// drop ends a session, whose lock is held.
func (d *Domain) drop(s *session) {
	d.mu.Lock()
	if d.sessions[s.id] == s {
		delete(d.sessions, s.id)
	}
	d.mu.Unlock()
	if s.copy != nil {
		s.end.Stop()
		s.copy.Close()
		s.copy = nil
	}
}

// Close ends all sessions.
func (d *Domain) Close() error {
	for {
		s := d.find(func(*session) bool { return true })
		if s == nil {
			return nil
		}
		s.mu.Lock()
		d.drop(s)
		s.mu.Unlock()
	}
}

// deliver gives the copy what the asker would send as a neighbour. A number that is not the next one is that of a request that was there before.
func (d *Domain) deliver(ctx context.Context, p *Peer, s *session, r *request) (*answer, error) {
	if r.Number != s.delivered+1 {
		return nil, statusBad
	}
	from := d.neighbour(r.From)
	if from == nil || p != d.self && p != from {
		return nil, statusNotPermitted
	}
	list, err := d.messages(from, r.Body, p == d.self)
	if err != nil {
		return nil, err
	}
	s.delivered++
	return d.judge(ctx, s, from, list)
}

// carry gives the copy of a session what the copy of a neighbour sends. The asker of the session gets the verdict, for the receipt.
func (d *Domain) carry(ctx context.Context, p *Peer, r *request) (*answer, error) {
	if !p.Neighbour {
		return nil, statusNotPermitted
	}
	if err := d.charge(p, false); err != nil {
		return nil, err
	}
	list, err := d.messages(p, r.Body, false)
	if err != nil {
		return nil, err
	}
	s := d.find(func(s *session) bool { return s.id == r.ID })
	if s == nil {
		return nil, statusUnknown
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := d.judge(ctx, s, p, list)
	if err != nil {
		return nil, err
	}
	receipt := newToken()
	s.receipts[receipt] = a
	return &answer{ID: receipt}, nil
}

// message is a message to a copy, as bytes and as what they mean.
type message struct {
	bytes  []byte
	update *bgp.Update
}

// messages returns the messages of a request, if the neighbour may send them. The domain itself may also try messages
// that are not UPDATEs.
func (d *Domain) messages(from *Peer, body []byte, self bool) ([]message, error) {
	var list []message
	prefixes := 0
	for _, b := range split(body) {
		u, err := bgp.ParseMessage(b, bgp.AS4)
		if err != nil && !self {
			return nil, statusBad
		}
		if err != nil {
			u = &bgp.Update{}
		}
		for _, p := range touched(u) {
			if prefixes++; !self && !from.Prefixes.Contains(p) {
				return nil, statusNotPermitted
			}
		}
		list = append(list, message{b, u})
	}
	if len(list) == 0 || prefixes > maxPrefixes {
		return nil, statusBad
	}
	return list, nil
}

// split cuts messages apart by the lengths in their headers. What follows a header that makes no sense is one message.
func split(b []byte) (list [][]byte) {
	for len(b) > 0 {
		n := len(b)
		if n >= bgp.HeaderSize {
			if length := int(be.Uint16(b[16:])); length >= bgp.HeaderSize {
				n = min(n, length)
			}
		}
		list, b = append(list, b[:n:n]), b[n:]
	}
	return list
}

// judge delivers messages to the copy of a session, whose lock is held, and makes the answer: a verdict, and a handle for each
// neighbour that the copy would send something to.
func (d *Domain) judge(ctx context.Context, s *session, from *Peer, list []message) (*answer, error) {
	switch {
	case s.copy == nil:
		return nil, statusUnknown
	case s.crashed || s.deliveries >= maxDeliveries:
		return nil, statusBusy
	}
	if err := d.charge(s.asker, true); err != nil {
		return nil, err
	}
	s.deliveries++
	ctx, cancel := context.WithTimeout(ctx, d.times.router)
	defer cancel()
	a := &answer{}
	out := map[string][]byte{}
	var all []byte
	for _, m := range list {
		all = append(all, m.bytes...)
		if prefixes := touched(m.update); s.prefix == nil && len(prefixes) > 0 {
			s.prefix = &prefixes[0]
		}
		v, effect, err := judge(ctx, s.copy, d.ASN, from.Name, m.bytes, m.update, s.states)
		if err != nil { // what the copy has taken is not known
			d.drop(s)
			return nil, err
		}
		a.Verdict |= v
		for _, sent := range effect.Sent {
			if _, err := bgp.ParseMessage(sent.Message, bgp.AS4); !errors.Is(err, bgp.ErrOther) {
				out[sent.To] = append(out[sent.To], sent.Message...)
			}
		}
		if s.crashed = effect.Crashed; s.crashed {
			break
		}
	}
	said := []string{a.Verdict.String()}
	for _, p := range d.Peers {
		if messages := out[p.Name]; p.Neighbour && len(messages) > 0 {
			h := handle{newToken(), p.Name}
			s.outgoing[h.ID] = parcel{p.Name, messages}
			a.Handles = append(a.Handles, h)
			said = append(said, p.Name)
		}
	}
	return d.sign(a, s, strings.Join(said, " to "), VerdictBits+d.neighbors, from.Name, all)
}

// sign records an answer that discloses bits, and adds the signed entry.
func (d *Domain) sign(a *answer, s *session, said string, bits int, from string, about []byte) (*answer, error) {
	var err error
	a.Body, err = d.Log.record(d.times.now(), s.asker.Name, s.id, said, bits, from, about)
	return a, err
}

// forward delivers what a handle stands for to the neighbour's domain. A handle is good once.
func (d *Domain) forward(ctx context.Context, s *session, id token) (*answer, error) {
	s.mu.Lock()
	x, ok := s.outgoing[id]
	delete(s.outgoing, id)
	s.mu.Unlock()
	if !ok {
		return nil, statusUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, d.times.router+d.times.handshake)
	defer cancel()
	c, err := dial(ctx, &d.Identity, d.neighbour(x.to), d.tap)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	a, err := c.call(ctx, &request{Op: opCarry, ID: s.id, Body: x.messages})
	if err != nil {
		return nil, err
	}
	return &answer{ID: a.ID}, nil
}

// hop says where the copy sends packets to the prefix of the session's first message: to a neighbour, whose name a handle has, elsewhere, or nowhere.
func (d *Domain) hop(ctx context.Context, p *Peer, s *session) (*answer, error) {
	if s.prefix == nil || s.crashed {
		return nil, statusUnknown
	}
	if err := d.charge(p, true); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.times.router)
	defer cancel()
	_, now, err := s.copy.Routes(ctx, *s.prefix)
	if err != nil {
		return nil, err
	}
	a, said := &answer{}, "hop nowhere"
	if len(now) > 0 {
		said = "hop elsewhere"
		a.Handles = []handle{{}}
		if n := d.neighbour(now[0].From); n != nil {
			a.Handles[0].To = n.Name
			said = "hop " + n.Name
		}
	}
	return d.sign(a, s, said, bits.Len(uint(d.neighbors+1)), "", []byte(s.prefix.String()))
}

// account is the budget of a peer: the queries that it has left now, and the total that it has used.
type account struct {
	left float64
	at   time.Time
	used int
}

// charge takes a query from the budget of a peer: from its rate, and from its total if the answer discloses bits.
func (d *Domain) charge(p *Peer, discloses bool) error {
	if p == d.self {
		return nil
	}
	now := d.times.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.accounts[p.Name]
	if a == nil {
		a = &account{float64(p.Budget.PerMinute), now, d.Log.Given(p.Name).Entries}
		d.accounts[p.Name] = a
	}
	a.left = min(float64(p.Budget.PerMinute), a.left+now.Sub(a.at).Minutes()*float64(p.Budget.PerMinute))
	a.at = now
	if a.left < 1 || discloses && a.used >= p.Budget.Total {
		return statusBudget
	}
	a.left--
	if discloses {
		a.used++
	}
	return nil
}
