package federation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// Check follows a message through the copies of all domains.
type Check struct {
	Self    *Identity // who checks; it counts bits that others disclose
	Domains []*Peer   // that take part, with the checker's own one
	Most    int       // deliveries
}

// Delivery is a message that has reached a copy.
type Delivery struct {
	Domain  string
	From    string // the neighbour that it came from
	Parent  int    // the delivery by which it was sent; -1 if there is none
	Verdict Verdict
	Bits    int // that the verdict discloses at most
}

// Kind classifies a finding.
type Kind string

// Kinds of findings.
const (
	Hijack      Kind = "hijack"      // a domain sends packets to another origin than the one in its own table
	ForwardLoop Kind = "loop"        // packets go in a circle, or a domain takes a route that it has sent
	Blackhole   Kind = "blackhole"   // a domain sends packets to a neighbour that has no route
	Oscillation Kind = "oscillation" // messages do not end, and routes of a domain return to what they were
	Crash       Kind = "crash"       // a copy ends, or does not wait again
	Reset       Kind = "reset"       // a copy closes a session
)

// Finding is a problem that a check found at a domain.
type Finding struct {
	Kind   Kind
	Domain string
	Way    []string // of the messages, or of the packets for a loop and a blackhole, from the first domain on
	Bits   int      // that other domains had disclosed by then
}

func (f Finding) String() string {
	return fmt.Sprintf("%s at %s by %s, for %s of other domains", f.Kind, f.Domain, strings.Join(f.Way, " > "), plural.Count(f.Bits, "bit"))
}

// Unfollowed is a message of which it is not known what came.
type Unfollowed struct {
	From, To string
	Err      error
}

func (u Unfollowed) String() string {
	switch {
	case u.From == "":
		return fmt.Sprintf("%s takes no part: %v", u.To, u.Err)
	case u.To == "":
		return fmt.Sprintf("where %s sends packets: %v", u.From, u.Err)
	}
	return fmt.Sprintf("%s > %s: %v", u.From, u.To, u.Err)
}

// Result is the result of a check.
type Result struct {
	Deliveries []Delivery
	Findings   []Finding
	Unfollowed []Unfollowed
	Bits       map[string]int // that each other domain has disclosed at most
	Received   []Statement    // of other domains
	Left       int            // messages that were not delivered, when the most was reached
}

// Complete reports whether all messages were followed: only then the check shows that there is nothing to find.
func (r *Result) Complete() bool { return len(r.Unfollowed) == 0 && r.Left == 0 }

// Total is how many bits other domains have disclosed at most.
func (r *Result) Total() (n int) {
	for _, bits := range r.Bits {
		n += bits
	}
	return n
}

// site is a domain in a check.
type site struct {
	*client
	checkpoint token
}

// walk is a check that runs.
type walk struct {
	*Check
	Result
	session token
	sites   map[string]*site
	queue   []pending
	tap     tap
}

// pending is a handle that has not been forwarded.
type pending struct {
	at     string
	handle handle
	parent int
}

// Run has a message of a neighbour delivered to the copy of a domain, and what the copies send to each other, until they are quiet. All copies are made first.
func (c *Check) Run(ctx context.Context, at, from string, message []byte) (*Result, error) {
	return c.run(ctx, at, from, message, nil)
}

func (c *Check) run(ctx context.Context, at, from string, message []byte, tap tap) (*Result, error) {
	w := &walk{Check: c, Result: Result{Bits: map[string]int{}}, session: newToken(), sites: map[string]*site{}, tap: tap}
	defer w.end()
	for _, p := range c.Domains {
		if err := w.beginSession(ctx, p); err != nil && p.Name == at {
			return nil, err
		} else if err != nil {
			w.Unfollowed = append(w.Unfollowed, Unfollowed{To: p.Name, Err: err})
		}
	}
	s := w.sites[at]
	if s == nil {
		return nil, fmt.Errorf("no domain %s takes part", at)
	}
	a, err := s.call(ctx, &request{Op: opDeliver, ID: s.checkpoint, Number: 1, From: from, Body: message})
	if err == nil {
		err = w.delivered(s, from, -1, a)
	}
	if err != nil {
		return nil, err
	}
	for len(w.queue) > 0 && len(w.Deliveries) < c.Most && ctx.Err() == nil {
		next := w.queue[0]
		w.queue = w.queue[1:]
		if err := w.forward(ctx, next); err != nil {
			w.Unfollowed = append(w.Unfollowed, Unfollowed{next.at, next.handle.To, err})
		}
	}
	if w.Left = len(w.queue); w.Left > 0 {
		w.oscillates()
	} else {
		w.follow(ctx)
	}
	return &w.Result, ctx.Err()
}

func (w *walk) beginSession(ctx context.Context, p *Peer) error {
	c, err := dial(ctx, w.Self, p, w.tap)
	if err != nil {
		return err
	}
	a, err := c.call(ctx, &request{Op: opBegin, ID: w.session})
	if err != nil {
		c.Close()
		return err
	}
	w.sites[p.Name] = &site{c, a.ID}
	return nil
}

// end ends the session at all domains, also when the check was interrupted.
func (w *walk) end() {
	for _, s := range w.sites {
		s.call(context.Background(), &request{Op: opEnd, ID: s.checkpoint}) // a domain that does not answer ends it by itself
		s.Close()
	}
}

// forward has a domain deliver what a handle stands for, and asks the neighbour for the verdict.
func (w *walk) forward(ctx context.Context, p pending) error {
	to := w.sites[p.handle.To]
	if to == nil {
		return errors.New("the domain takes no part")
	}
	a, err := w.sites[p.at].call(ctx, &request{Op: opForward, ID: w.sites[p.at].checkpoint, Handle: p.handle.ID})
	if err != nil {
		return err
	}
	a, err = to.call(ctx, &request{Op: opVerdict, ID: to.checkpoint, Handle: a.ID})
	if err != nil {
		return err
	}
	return w.delivered(to, p.at, p.parent, a)
}

// delivered enters the verdict about a message.
func (w *walk) delivered(s *site, from string, parent int, a *answer) error {
	said, err := s.said(a.Body, w.session)
	if err != nil {
		return err
	}
	w.disclosed(said)
	name := s.peer.Name
	at := len(w.Deliveries)
	w.Deliveries = append(w.Deliveries, Delivery{name, from, parent, a.Verdict, int(said.Entry.Bits)})
	for _, h := range a.Handles {
		w.queue = append(w.queue, pending{name, h, at})
	}
	has := func(bits Verdict) bool { return a.Verdict&bits == bits }
	for _, f := range []struct {
		kind  Kind
		holds bool
	}{{Hijack, has(Accepted | Changed | Conflict)}, {ForwardLoop, has(Accepted | Changed | Loop)}, {Crash, has(Crashed)}, {Reset, has(Closed)}} {
		if f.holds {
			w.found(f.kind, name, w.way(at))
		}
	}
	return nil
}

func (w *walk) disclosed(s *Statement) {
	if s.Entry.Domain != w.Self.Name {
		w.Bits[s.Entry.Domain] += int(s.Entry.Bits)
		w.Received = append(w.Received, *s)
	}
}

// found enters a finding, the first of its kind at a domain.
func (w *walk) found(kind Kind, domain string, way []string) {
	if !slices.ContainsFunc(w.Findings, func(f Finding) bool { return f.Kind == kind && f.Domain == domain }) {
		w.Findings = append(w.Findings, Finding{kind, domain, way, w.Total()})
	}
}

// way are the domains by which a delivery has come.
func (w *walk) way(at int) (list []string) {
	for i := at; i >= 0; i = w.Deliveries[i].Parent {
		list = append(list, w.Deliveries[i].Domain)
		if w.Deliveries[i].Parent < 0 {
			list = append(list, w.Deliveries[i].From)
		}
	}
	slices.Reverse(list)
	return list
}

// returns is how often the routes of a domain were what they had been before, when messages do not end.
const returns = 3

// oscillates looks for domains whose routes return while messages do not end.
func (w *walk) oscillates() {
	times := map[string]int{}
	for i, d := range w.Deliveries {
		if d.Verdict&Repeated != 0 {
			if times[d.Domain]++; times[d.Domain] == returns {
				w.found(Oscillation, d.Domain, w.way(i))
			}
		}
	}
}

// Hops that are no domain.
const (
	elsewhere = "elsewhere"
	nowhere   = "nowhere"
)

// follow follows packets to the prefix of the check from each domain whose routes have changed, when all copies are quiet.
func (w *walk) follow(ctx context.Context) {
	hops := map[string]string{}
	for _, d := range w.Deliveries {
		if d.Verdict&Changed == 0 {
			continue
		}
		for way := []string{d.Domain}; ; {
			at := way[len(way)-1]
			if _, known := hops[at]; !known {
				hop, err := w.hop(ctx, at)
				if err != nil {
					w.Unfollowed = append(w.Unfollowed, Unfollowed{at, "", err})
					hop = elsewhere
				}
				hops[at] = hop
			}
			next := hops[at]
			if next == nowhere && len(way) > 1 {
				w.found(Blackhole, at, way)
			}
			if i := slices.Index(way, next); i >= 0 {
				w.found(ForwardLoop, slices.Min(way[i:]), append(way[i:], next))
			}
			if next == nowhere || next == elsewhere || slices.Contains(way, next) {
				break
			}
			way = append(way, next)
		}
	}
}

// hop asks a domain where it sends packets to the prefix. A domain that no message has reached knows of no prefix.
func (w *walk) hop(ctx context.Context, name string) (string, error) {
	s := w.sites[name]
	if s == nil || !slices.ContainsFunc(w.Deliveries, func(d Delivery) bool { return d.Domain == name }) {
		return elsewhere, nil
	}
	a, err := s.call(ctx, &request{Op: opHop, ID: s.checkpoint})
	if err != nil {
		return "", err
	}
	said, err := s.said(a.Body, w.session)
	if err != nil {
		return "", err
	}
	w.disclosed(said)
	switch {
	case len(a.Handles) == 0:
		return nowhere, nil
	case a.Handles[0].To == "":
		return elsewhere, nil
	}
	return a.Handles[0].To, nil
}
