package probe

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/live/bgp"
)

// blockBits is the length of the blocks of addresses in which a table is asked for: what a copy may write has a limit.
const blockBits = 6

// Table asks copies of BIRD for its best routes: their prefixes and origins.
func (t Target) Table(control string) (routes []bgp.Route, err error) {
	ask := func(which string) error {
		r, err := t.Copy()
		if err != nil {
			return err
		}
		defer r.Close()
		text, err := r.Ask(control, "show route primary "+which)
		if err != nil {
			return err
		}
		some, err := parse(text)
		routes = append(routes, some...)
		return err
	}
	if err := ask(fmt.Sprintf("where net.len < %d", blockBits)); err != nil {
		return nil, err
	}
	for i := range 1 << blockBits {
		if err := ask("in " + at(uint32(i)<<(32-blockBits), blockBits).String()); err != nil {
			return nil, err
		}
	}
	return routes, nil
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
