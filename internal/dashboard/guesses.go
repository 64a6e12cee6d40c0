package dashboard

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// Wrong tokens of a network: how many in a row are answered at once, and how often another one is after them. A network that has
// shown the token may be wrong more often: its workers and those who guess may share the address of a proxy.
var (
	strangerPace = pace{burst: 10, every: time.Second}
	friendPace   = pace{burst: 100, every: 50 * time.Millisecond}
)

// guessBuckets bounds the wrong tokens of all networks together, at one strangerPace each, and the memory for them. Networks
// share a bucket by a secret hash, so that nobody can choose to share one with somebody else.
const guessBuckets = 1024

// maxFriends bounds the networks that are known to have shown the token.
const maxFriends = 256

// Guesses slows down who guesses the token. While a network guesses too fast, no token of it is compared, be it right. Cookies
// are not counted: they have 256 bits that nobody chose. It is safe for concurrent use.
type Guesses struct {
	now  func() time.Time
	seed maphash.Seed

	mu        sync.Mutex
	strangers [guessBuckets]allowance
	friends   map[netip.Prefix]*friend
}

// friend is a network that has shown the token.
type friend struct {
	allowance
	right time.Time // when it did so last
}

// NewGuesses has seen no guess.
func NewGuesses(now func() time.Time) *Guesses {
	return &Guesses{now: now, seed: maphash.MakeSeed(), friends: map[netip.Prefix]*friend{}}
}

// pace is a rate with a burst.
type pace struct {
	burst int
	every time.Duration
}

// allowance is a bucket that refills at a pace. It holds the time when it will be full again.
type allowance struct{ full time.Time }

// wait reports how long to wait for the next guess; 0 if it may be made.
func (a *allowance) wait(now time.Time, p pace) time.Duration {
	next := a.full.Add(-time.Duration(p.burst-1) * p.every)
	return max(0, next.Sub(now))
}

func (a *allowance) spend(now time.Time, p pace) {
	if a.full.Before(now) {
		a.full = now
	}
	a.full = a.full.Add(p.every)
}

// network is the part of an address that its owner does not choose: those of IPv6 are given away by /48.
func network(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address, bits := at.Addr().Unmap().WithZone(""), 32
	if address.Is6() {
		bits = 48
	}
	p, _ := address.Prefix(bits)
	return p
}

// Judge takes a token of a client whose address is remote, which is right or not. If it returns a time, the answer must not depend on that, and the client may
// try again after it.
func (g *Guesses) Judge(remote string, right bool) time.Duration {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	from, now := network(remote), g.now()
	left, p := &g.strangers[maphash.Comparable(g.seed, from)%guessBuckets], strangerPace
	known := g.friends[from]
	if known != nil {
		left, p = &known.allowance, friendPace
	}
	if wait := left.wait(now, p); wait > 0 {
		return wait
	}
	switch {
	case !right:
		left.spend(now, p)
	case known != nil:
		known.right = now
	default:
		g.befriend(from, now)
	}
	return 0
}

// befriend remembers a network, in place of the one that was right the longest time ago if there are too many.
func (g *Guesses) befriend(from netip.Prefix, now time.Time) {
	if len(g.friends) == maxFriends {
		var oldest netip.Prefix
		var at time.Time
		for p, f := range g.friends {
			if at.IsZero() || f.right.Before(at) {
				oldest, at = p, f.right
			}
		}
		delete(g.friends, oldest)
	}
	g.friends[from] = &friend{right: now}
}
