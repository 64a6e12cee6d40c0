package probe

import (
	"encoding/binary"
	"fmt"
	"iter"
	"net/netip"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/leak"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/router"
)

// region is a block of addresses, with who originates what in the table there.
type region struct {
	block             netip.Prefix
	shortest, longest int           // lengths of the prefixes that it has
	origins           *leak.Origins // of the prefixes of the block, and of those that it lies in
}

func whole(o *leak.Origins) region {
	return region{netip.PrefixFrom(netip.IPv4Unspecified(), 0), 0, prefixset.Lengths - 1, o}
}

// Lengths of the blocks of which copies of BIRD are asked. What a copy may write has a limit, so it is asked for halves of what is too much; a smallest block
// has at most as many prefixes as a copy can list.
const blockBits, smallestBits = 2, 8

// regions asks copies of BIRD for its best routes, and yields a region when its routes are known.
func (t Target) regions(s *Search) iter.Seq2[region, error] {
	return func(yield func(region, error) bool) {
		around, err := t.ask(fmt.Sprintf("show route primary where net.len < %d", smallestBits))
		if err != nil {
			yield(region{}, err)
			return
		}
		outer := whole(leak.Table(around))
		outer.longest = blockBits - 1
		if !yield(outer, nil) {
			return
		}
		for i := uint32(0); i < 1<<blockBits; i++ {
			if !t.block(s, prefixAt(i<<(32-blockBits), blockBits), around, yield) {
				return
			}
		}
	}
}

// block yields what lies in a block.
func (t Target) block(s *Search, block netip.Prefix, around []bgp.Route, yield func(region, error) bool) bool {
	if err := s.stop(); err != nil {
		return yield(region{}, err)
	}
	routes, err := t.ask("show route primary in " + block.String())
	if err == nil || block.Bits() == smallestBits {
		return yield(region{block, block.Bits(), prefixset.Lengths - 1, leak.Table(append(routes, covering(around, block)...))}, err)
	}
	// The halves do not have the block itself.
	if !yield(region{block, block.Bits(), block.Bits(), leak.Table(covering(around, block))}, nil) {
		return false
	}
	a := block.Addr().As4()
	first, length := binary.BigEndian.Uint32(a[:]), block.Bits()+1
	for _, half := range []uint32{first, first | 1<<(32-length)} {
		if !t.block(s, prefixAt(half, length), around, yield) {
			return false
		}
	}
	return true
}

// covering are the routes to prefixes that a block lies in.
func covering(routes []bgp.Route, block netip.Prefix) (list []bgp.Route) {
	for _, r := range routes {
		if r.Prefix.Bits() <= block.Bits() && r.Prefix.Contains(block.Addr()) {
			list = append(list, r)
		}
	}
	return list
}

func (t Target) ask(question string) ([]bgp.Route, error) {
	r, err := t.Copy()
	if err != nil {
		return nil, err
	}
	defer t.end(r)
	return askCopy(r, t.Control, question)
}

func askCopy(r *router.Router, control, question string) ([]bgp.Route, error) {
	text, err := r.Ask(control, question)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// parse reads an answer to show route, whose lines are such as 192.0.2.0/24 unicast [feed 10:00:00.000 from 198.51.100.1] * (100) [AS64500i]. The AS is the
// origin; routes that are not of BGP have none.
func parse(text string) (routes []bgp.Route, err error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		prefix, err := netip.ParsePrefix(strings.TrimPrefix(words[0], "1007-"))
		if err != nil { // a greeting, the name of the table, a next hop
			continue
		}
		r := bgp.Route{Prefix: prefix, Attributes: &bgp.Attributes{}}
		if word, ok := strings.CutPrefix(words[len(words)-1], "[AS"); ok {
			asn, err := strconv.ParseUint(strings.TrimRight(word, "ie?]"), 10, 32)
			if err != nil {
				return nil, fmt.Errorf("BIRD lists the route %q, whose origin cannot be read", strings.TrimSpace(line))
			}
			r.Attributes.Path = bgp.Sequence(uint32(asn))
		}
		routes = append(routes, r)
	}
	return routes, nil
}
