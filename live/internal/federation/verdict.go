package federation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// Verdict is all that a domain says about a message: a set of bits.
type Verdict uint8

// Bits of a verdict.
const (
	Accepted Verdict = 1 << iota // a route of the message is in the table of the copy
	Changed                      // the best route to a prefix of the message is another one than before
	Conflict                     // an accepted route has another origin than the routes to its prefix in the domain's own table
	Loop                         // an accepted route has been in this domain before: its path has the domain's AS
	Repeated                     // the routes have changed, and are what they were earlier in this session
	Crashed                      // the copy ended, or used up its budget
	Closed                       // the copy closed a session with a neighbour
)

// VerdictBits is how many bits a verdict discloses at most.
const VerdictBits = 7

var verdictNames = [VerdictBits]string{"accepted", "best-changed", "origin-conflict", "loop", "repeated", "crashed", "session-closed"}

func (v Verdict) String() string {
	var list []string
	for i, name := range verdictNames {
		if v&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	if list == nil {
		return "no effect"
	}
	return strings.Join(list, "+")
}

// judge delivers a message to a copy, and evaluates what came of it by the domain's own table. States are those of the session's copy so far.
func judge(ctx context.Context, c Copy, asn uint32, from string, message []byte, u *bgp.Update, states map[state]bool) (Verdict, Effect, error) {
	prefixes := touched(u)
	before, err := lookUp(ctx, c, prefixes)
	if err != nil {
		return 0, Effect{}, err
	}
	earlier := stateOf(prefixes, before)
	states[earlier] = true
	effect, err := c.Deliver(ctx, from, message)
	if err != nil {
		return 0, Effect{}, err
	}
	if effect.Crashed {
		return Crashed, effect, nil
	}
	after, err := lookUp(ctx, c, prefixes)
	if err != nil {
		return 0, Effect{}, err
	}
	var v Verdict
	if effect.Closed {
		v |= Closed
	}
	for i, p := range prefixes {
		now := after[i].now
		if !sameRoute(best(before[i].now), best(now)) {
			v |= Changed
		}
		accepted := func(r Route) bool { return r.From == from && r.Prefix == p }
		if !slices.Contains(u.Announced, p) || !slices.ContainsFunc(now, accepted) {
			continue
		}
		v |= Accepted
		if conflicts(after[i].initial, u.Attributes.Path, asn) {
			v |= Conflict
		}
		if passed(u.Attributes.Path, asn) {
			v |= Loop
		}
	}
	if s := stateOf(prefixes, after); s != earlier {
		if states[s] {
			v |= Repeated
		}
		states[s] = true
	}
	return v, effect, nil
}

// touched are the prefixes of a message, each once.
func touched(u *bgp.Update) (list []netip.Prefix) {
	for _, p := range slices.Concat(u.Announced, u.Withdrawn) {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// routes are those to a prefix of a message.
type routes struct{ initial, now []Route }

func lookUp(ctx context.Context, c Copy, prefixes []netip.Prefix) ([]routes, error) {
	list := make([]routes, len(prefixes))
	for i, p := range prefixes {
		var err error
		if list[i].initial, list[i].now, err = c.Routes(ctx, p); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// conflicts reports whether a path has another origin than all routes of a domain. A default route is nobody's claim to what it reaches.
func conflicts(initial []Route, path bgp.Path, own uint32) bool {
	if len(initial) == 0 || initial[0].Prefix.Bits() == 0 {
		return false
	}
	asn, ok := path.Origin()
	return !ok || !slices.ContainsFunc(initial, func(r Route) bool {
		if len(r.Path) == 0 {
			return asn == own
		}
		other, known := r.Path.Origin()
		return known && other == asn
	})
}

// passed reports whether an AS is in a path.
func passed(path bgp.Path, asn uint32) bool {
	return slices.ContainsFunc(path, func(s bgp.Segment) bool { return slices.Contains(s.ASNs, asn) })
}

func best(list []Route) *Route {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

func sameRoute(a, b *Route) bool {
	if a == nil || b == nil {
		return a == b
	}
	return fmt.Sprint(*a) == fmt.Sprint(*b)
}

// state stands for the routes of a copy to some prefixes. It does not leave the domain.
type state [sha256.Size]byte

func stateOf(prefixes []netip.Prefix, list []routes) state {
	h := sha256.New()
	for i, p := range prefixes {
		fmt.Fprintln(h, p, list[i].now)
	}
	return state(h.Sum(nil))
}
