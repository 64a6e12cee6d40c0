// Package probe finds out, from copies of a BGP router that runs, which routes it would take from a neighbour, and which prefixes that neighbour could
// thereby take over. The router itself decides: its copies get the routes as UPDATEs, and what they announce to another neighbour shows which they took.
package probe

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/live/bgp"
	"github.com/bloodhound-dst/bloodhound/internal/live/bgp/leak"
	"github.com/bloodhound-dst/bloodhound/internal/live/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/internal/live/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/internal/live/daemon"
	"github.com/bloodhound-dst/bloodhound/internal/live/router"
)

// Target is a router that runs, and two of its neighbours. A route that it takes and does not prefer, or that its export policy keeps from the second
// neighbour, counts as one that it does not take.
type Target struct {
	Copy func() (*router.Router, error) // a copy that has received nothing since the checkpoint
	From netip.AddrPort                 // the neighbour as which routes are announced
	To   netip.AddrPort                 // the neighbour that gets what the router takes
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
	defer r.Close()
	// What the neighbour has announced already would not be announced to the other again.
	if _, err := t.deliver(r, withdrawals); err != nil {
		return nil, err
	}
	reaction, err := t.deliver(r, announcements)
	if err != nil {
		return nil, err
	}
	changes := reaction.Changes[t.To]
	for _, p := range prefixes {
		taken = append(taken, changes[p] != nil)
	}
	return taken, nil
}

func (t Target) deliver(r *router.Router, messages []byte) (*router.Reaction, error) {
	reaction, err := r.Deliver(t.From, messages)
	switch {
	case err != nil:
		return nil, err
	case reaction.Status != daemon.Done:
		return nil, fmt.Errorf("a copy of the router does not wait for more after %d bytes of UPDATEs (status %d, signal %d): raise its budget, or try fewer at once", len(messages), reaction.Status, reaction.Signal)
	case len(reaction.Closed) > 0:
		return nil, fmt.Errorf("a copy of the router closes its sessions with %v after UPDATEs of %v: %s", reaction.Closed, t.From, reaction.Log)
	}
	return reaction, nil
}

// Search is what is looked for.
type Search struct {
	Origins    *leak.Origins
	Attributes *bgp.Attributes      // of what the neighbour announces
	Limits     []prefixset.Range    // of the router's policy: prefixes of one length that no limit and no prefix of the table tells apart share a verdict
	Excepted   prefixset.Set        // may have several origins, such as the prefixes of anycast services
	Found      func(netip.Prefix)   // is called for each probe that could be taken over, as it is found
	Judge      func(bgp.Route) bool // another implementation of the policy, or nil
}

// Result is what was found.
type Result struct {
	Probes        int
	Taken         int
	Leaks         prefixset.Set // what the neighbour could take over
	Disagreements []Disagreement
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

// Run announces one prefix of each class, those within limits of the policy first, and collects the classes that can be taken over.
func (t Target) Run(s Search) (*Result, error) {
	classes := cut(s.Origins.Prefixes(), s.Limits)
	first := near(s.Limits)
	n := &Result{}
	taken := map[netip.Prefix]bool{}
	for list := range classes.within(first).probes() {
		if err := t.try(s, list, n, taken); err != nil {
			return nil, err
		}
	}
	for list := range classes.probes() {
		if err := t.try(s, slices.DeleteFunc(list, first.Contains), n, taken); err != nil {
			return nil, err
		}
	}
	n.Taken = len(taken)
	n.Leaks = classes.set(func(p netip.Prefix) bool { return taken[p] && s.leak(p) }).Minus(s.Excepted)
	return n, nil
}

// try announces a list of prefixes, and adds what comes of them.
func (t Target) try(s Search, list []netip.Prefix, n *Result, taken map[netip.Prefix]bool) error {
	for some := range slices.Chunk(list, batch) {
		verdicts, err := t.Takes(s.Attributes, some)
		if err != nil {
			return err
		}
		for i, p := range some {
			if verdicts[i] {
				taken[p] = true
				if s.Found != nil && s.leak(p) && !s.Excepted.Contains(p) {
					s.Found(p)
				}
			}
			if s.Judge == nil || s.Judge(bgp.Route{Prefix: p, Attributes: s.Attributes}) == verdicts[i] {
				continue
			}
			d, err := t.disagreement(p, s.Attributes, verdicts[i])
			if err != nil {
				return err
			}
			n.Disagreements = append(n.Disagreements, d)
		}
		n.Probes += len(some)
	}
	return nil
}

// leak reports whether a prefix changes its origin when it is taken.
func (s Search) leak(p netip.Prefix) bool {
	return s.Origins.Changes(p, s.Attributes.Path)
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
