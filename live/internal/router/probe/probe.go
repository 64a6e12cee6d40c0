// Package probe finds out, from copies of a BGP router that runs, which routes it would take from a neighbour, and which prefixes that neighbour could
// thereby take over. The router itself decides: its copies get the routes as UPDATEs, and what they announce to another neighbour shows which they took.
package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/leak"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/daemon"
	"github.com/bloodhound-dst/bloodhound/live/internal/router"
)

// Target is a router that runs, and two of its neighbours. A route that it takes and does not prefer, or that its export policy keeps from the neighbours that
// are watched, counts as one that it does not take.
type Target struct {
	Copy    func() (*router.Router, error) // a copy that has received nothing since the checkpoint
	Spent   func(time.Duration)            // is called with the CPU time of each copy at its end; nil is not
	Control string                         // the name of BIRD's control socket, at which copies are asked for routes
	From    netip.AddrPort                 // the neighbour as which routes are announced
	To      netip.AddrPort                 // the neighbour that gets what the router takes; if it is not valid, any other than From
}

// end closes a copy.
func (t Target) end(r *router.Router) {
	r.Close()
	if t.Spent != nil {
		t.Spent(r.CPU)
	}
}

// Messages are the UPDATEs that announce prefixes.
func Messages(a *bgp.Attributes, prefixes []netip.Prefix) (list []byte, err error) {
	for u := range bgp.Pack(a, prefixes) {
		if list, err = bgp.AppendMessage(list, u, bgp.AS4); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Takes announces prefixes to one copy, and reports which of them it takes.
func (t Target) Takes(a *bgp.Attributes, prefixes []netip.Prefix) (taken []bool, err error) {
	withdrawals, err := Messages(nil, prefixes)
	if err != nil {
		return nil, err
	}
	announcements, err := Messages(a, prefixes)
	if err != nil {
		return nil, err
	}
	r, err := t.Copy()
	if err != nil {
		return nil, err
	}
	defer t.end(r)
	// What the neighbour has announced already would not be announced to the other again.
	if _, err := t.deliver(r, withdrawals); err != nil {
		return nil, err
	}
	reaction, err := t.deliver(r, announcements)
	if err != nil {
		return nil, err
	}
	for _, p := range prefixes {
		taken = append(taken, slices.ContainsFunc(t.watched(reaction), func(c router.Changes) bool { return c[p] != nil }))
	}
	return taken, nil
}

// watched are the changes for the neighbours that are watched.
func (t Target) watched(reaction *router.Reaction) (list []router.Changes) {
	for to, changes := range reaction.Changes {
		if to == t.To || !t.To.IsValid() && to != t.From {
			list = append(list, changes)
		}
	}
	return list
}

func (t Target) deliver(r *router.Router, messages []byte) (*router.Reaction, error) {
	reaction, err := r.Deliver(t.From, messages)
	switch {
	case err != nil:
		return nil, err
	case reaction.Status == daemon.Crashed:
		return nil, &Crashed{reaction.Signal, reaction.Code, len(messages)}
	case reaction.Status != daemon.Done:
		return nil, fmt.Errorf("a copy of the router does not wait for more after %s of UPDATEs (status %d, signal %d): raise its budget, or try fewer at once",
			plural.Count(len(messages), "byte"), reaction.Status, reaction.Signal)
	case reaction.Unread > 0:
		return nil, fmt.Errorf("a copy of the router does not read %s of UPDATEs of %v: it waits for something "+
			"that a copy never receives",
			plural.Count(reaction.Unread, "byte"), t.From)
	case len(reaction.Closed) > 0:
		return nil, fmt.Errorf("a copy of the router closes its sessions with %v after UPDATEs of %v: %s", reaction.Closed, t.From, reaction.Log)
	}
	return reaction, nil
}

// Search describes a search.
type Search struct {
	Origins   *leak.Origins               // of the table; nil asks copies for them
	Announced []*bgp.Attributes           // what the neighbour announces prefixes with, one after the other
	Limits    []prefixset.Range           // of the router's policy: prefixes of one length that no limit and no prefix of the table tells apart share a verdict
	Excepted  prefixset.Set               // may have several origins, such as the prefixes of anycast services
	Found     func(a int, p netip.Prefix) // is called for probes that could be taken over, as they are found, with the number of the attributes
	Judge     func(bgp.Route) bool        // another implementation of the policy, or nil
	Stop      func() bool                 // is asked before each copy; nil never stops
}

// Result is the result of a search.
type Result struct {
	Routes        int // prefixes of the table that were read
	Probes        int
	Taken         int
	Leaks         []prefixset.Set // what the neighbour could take over, by the number of the attributes
	Disagreements []Disagreement
	Stopped       bool // prefixes may be left
}

// Disagreement is a route that the router and the other implementation of its policy treat differently.
type Disagreement struct {
	Route   bgp.Route
	Taken   bool   // by the router
	Message []byte // that announces this route alone
}

func (d Disagreement) String() string {
	verdicts := "the router rejects it, the policy accepts it"
	if d.Taken {
		verdicts = "the router accepts it, the policy rejects it"
	}
	var with []string
	for _, segment := range d.Route.Attributes.Path {
		for _, asn := range segment.ASNs {
			with = append(with, fmt.Sprintf("AS%d", asn))
		}
	}
	path := strings.Join(with, " ")
	with = nil
	for _, c := range d.Route.Attributes.Communities {
		with = append(with, fmt.Sprintf("%d:%d", c>>16, c&0xffff))
	}
	return fmt.Sprintf("%v with path %s and communities %s: %s; message %x", d.Route.Prefix, path, strings.Join(with, ", "), verdicts, d.Message)
}

// batch is how many prefixes a copy gets.
const batch = 1 << 15

// errStopped ends a search whose Stop says so.
var errStopped = errors.New("stopped")

// Run announces one prefix of each class and collects the classes that can be taken over. It begins with some prefixes of which a copy is asked what contains
// them, before the table is read.
func (t Target) Run(s Search) (*Result, error) {
	n := &Result{Leaks: make([]prefixset.Set, len(s.Announced))}
	err := t.run(&s, n)
	if err == errStopped {
		n.Stopped, err = true, nil
	}
	for i, leaks := range n.Leaks {
		n.Leaks[i] = leaks.Minus(s.Excepted)
	}
	return n, err
}

func (t Target) run(s *Search, n *Result) error {
	if s.Origins != nil {
		return t.region(s, whole(s.Origins), n)
	}
	if err := t.early(s, n); err != nil {
		return err
	}
	for r, err := range t.regions(s) {
		if err != nil {
			return err
		}
		if err := t.region(s, r, n); err != nil {
			return err
		}
	}
	return nil
}

// region announces the prefixes of a region.
func (t Target) region(s *Search, r region, n *Result) error {
	classes := cut(r.block, r.origins.Prefixes(), s.Limits)
	for _, p := range r.origins.Prefixes() {
		if p.Bits() >= r.shortest && p.Bits() <= r.longest {
			n.Routes++
		}
	}
	var probes []netip.Prefix
	for length := r.shortest; length <= r.longest; length++ {
		probes = append(probes, classes.probes(length)...)
	}
	for i, a := range s.Announced {
		leaks := map[netip.Prefix]bool{}
		err := t.try(s, i, probes, n, func(p netip.Prefix) {
			if r.origins.Changes(p, a.Path) {
				leaks[p] = true
				s.found(i, p)
			}
		})
		if err != nil {
			return err
		}
		n.Leaks[i] = n.Leaks[i].Union(classes.set(r.shortest, r.longest, func(p netip.Prefix) bool { return leaks[p] }))
	}
	return nil
}

func (s *Search) found(i int, p netip.Prefix) {
	if s.Found != nil && !s.Excepted.Contains(p) {
		s.Found(i, p)
	}
}

func (s *Search) stop() error {
	if s.Stop != nil && s.Stop() {
		return errStopped
	}
	return nil
}

// try announces a list of prefixes, and adds what comes of them. take is called for those that are taken.
func (t Target) try(s *Search, i int, list []netip.Prefix, n *Result, take func(netip.Prefix)) error {
	a := s.Announced[i]
	for some := range slices.Chunk(list, batch) {
		if err := s.stop(); err != nil {
			return err
		}
		verdicts, err := t.Takes(a, some)
		if err != nil {
			return err
		}
		for i, p := range some {
			if verdicts[i] {
				n.Taken++
				take(p)
			}
			if s.Judge == nil || s.Judge(bgp.Route{Prefix: p, Attributes: a}) == verdicts[i] {
				continue
			}
			d, err := t.disagreement(p, a, verdicts[i])
			if err != nil {
				return err
			}
			n.Disagreements = append(n.Disagreements, d)
		}
		n.Probes += len(some)
	}
	return nil
}

// disagreement delivers the route alone to another copy, which gives the same verdict.
func (t Target) disagreement(p netip.Prefix, a *bgp.Attributes, taken bool) (Disagreement, error) {
	d := Disagreement{Route: bgp.Route{Prefix: p, Attributes: a}, Taken: taken}
	var err error
	if d.Message, err = Messages(a, []netip.Prefix{p}); err != nil {
		return d, err
	}
	again, err := t.Takes(a, []netip.Prefix{p})
	if err == nil && again[0] != taken {
		err = fmt.Errorf("the router takes %v alone: %v, among others: %v", p, again[0], taken)
	}
	return d, err
}

// Limits are the prefix lists of a policy.
func Limits(p *policy.Policy) (list []prefixset.Range) {
	for _, s := range p.Statements {
		list = append(list, s.Prefixes...)
	}
	return list
}

// Crashed is the error of a copy that ended by a signal or an exit.
type Crashed struct {
	Signal, Code int // of an exit if Signal is 0
	Bytes        int // of the UPDATEs that it had got
}

func (c *Crashed) Error() string {
	how := fmt.Sprintf("by signal %d", c.Signal)
	if c.Signal == 0 {
		how = fmt.Sprintf("with exit code %d", c.Code)
	}
	return fmt.Sprintf("the router ends %s after %s of UPDATEs", how, plural.Count(c.Bytes, "byte"))
}
