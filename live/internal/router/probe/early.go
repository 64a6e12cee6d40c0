package probe

import (
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/leak"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// Bounds of what is tried before the table is read.
const (
	earlyRange    = 1 << 12 // prefixes of a limit; a limit with more is left out
	earlyMost     = batch   // prefixes of limits
	earlySamples  = 64      // addresses, at equal distances, whose prefixes in the table are tried
	earlyQuestion = 256     // prefixes that are taken, and of which a copy is asked
)

// early tries the prefixes of limits, and some of the table. What decides about one is the longest prefix of the table that contains it.
func (t Target) early(s *Search, n *Result) error {
	if err := s.stop(); err != nil {
		return err
	}
	r, err := t.Copy()
	if err != nil {
		return err
	}
	defer t.end(r)
	var ask error
	changes := func(p netip.Prefix, path bgp.Path) bool {
		var routes []bgp.Route
		if routes, ask = askCopy(r, t.Control, "show route for "+p.String()+" primary"); ask != nil {
			return false
		}
		return leak.Table(routes).Changes(p, path)
	}
	list := limited(s.Limits)
	for i := range uint32(earlySamples) {
		const distance, middle = 1 << 26, 1 << 25
		routes, err := askCopy(r, t.Control, "show route for "+prefixAt(i*distance+middle, 32).Addr().String()+" primary")
		if err != nil {
			return err
		}
		for _, r := range routes {
			if r.Prefix.Bits() > 0 {
				list = append(list, r.Prefix)
			}
		}
	}
	for i, a := range s.Announced {
		asked := 0
		err := t.try(s, i, list, n, func(p netip.Prefix) {
			if asked++; asked <= earlyQuestion && ask == nil && changes(p, a.Path) {
				s.found(i, p)
			}
		})
		if err == nil {
			err = ask
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// limited are the prefixes of limits with few, each once.
func limited(limits []prefixset.Range) (list []netip.Prefix) {
	known := map[netip.Prefix]bool{}
	for _, r := range limits {
		set := prefixset.FromRanges(r)
		if set.Len() > earlyRange {
			continue
		}
		for p := range set.Prefixes() {
			if len(list) == earlyMost {
				return list
			}
			if !known[p] {
				known[p] = true
				list = append(list, p)
			}
		}
	}
	return list
}
