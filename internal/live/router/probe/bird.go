package probe

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/live/bgp"
)

// Table asks copies of BIRD for its best routes: their prefixes and origins. What a copy may write has a limit, so it asks for halves of what is too much.
func (t Target) Table(control string) ([]bgp.Route, error) {
	const blockBits = 2
	routes, err := t.ask(control, fmt.Sprintf("where net.len < %d", blockBits))
	for i := uint32(0); i < 1<<blockBits && err == nil; i++ {
		var some []bgp.Route
		some, err = t.block(control, at(i<<(32-blockBits), blockBits))
		routes = append(routes, some...)
	}
	return routes, err
}

// block asks for what lies in a block.
func (t Target) block(control string, block netip.Prefix) ([]bgp.Route, error) {
	const smallest = 8 // has at most as many prefixes as a copy can list
	routes, err := t.ask(control, "in "+block.String())
	if err == nil || block.Bits() == smallest {
		return routes, err
	}
	// The halves do not have the block itself.
	routes, err = t.ask(control, "where net = "+block.String())
	if err != nil {
		return nil, err
	}
	a := block.Addr().As4()
	first, length := binary.BigEndian.Uint32(a[:]), block.Bits()+1
	for _, half := range []uint32{first, first | 1<<(32-length)} {
		some, err := t.block(control, at(half, length))
		if err != nil {
			return nil, err
		}
		routes = append(routes, some...)
	}
	return routes, nil
}

func (t Target) ask(control, which string) ([]bgp.Route, error) {
	r, err := t.Copy()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := r.Ask(control, "show route primary "+which)
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
