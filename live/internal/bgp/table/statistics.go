package table

import (
	"net/netip"
	"slices"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// Statistics holds the figures by which tables are compared. Shares are of all prefixes.
type Statistics struct {
	Prefixes  int
	Lengths   [33]float64 // the share of each length
	Specifics float64     // the share that lies in another prefix
	Origins   int
	TopTen    float64 // the share of the ten origins with most prefixes
	PathLen   float64 // the mean length of a path
	Paths     int     // different attributes
}

// Measure computes the statistics of routes, one for each prefix.
func Measure(routes []bgp.Route) Statistics {
	s := Statistics{Prefixes: len(routes)}
	all := make(map[netip.Prefix]bool, len(routes))
	for _, r := range routes {
		all[r.Prefix] = true
	}
	origins := map[uint32]int{}
	paths := map[*bgp.Attributes]bool{}
	one := 1 / float64(len(routes))
	for _, r := range routes {
		s.Lengths[r.Prefix.Bits()] += one
		for length := r.Prefix.Bits() - 1; length >= 0; length-- {
			if outer, _ := r.Prefix.Addr().Prefix(length); all[outer] {
				s.Specifics += one
				break
			}
		}
		if asn, ok := r.Attributes.Path.Origin(); ok {
			origins[asn]++
		}
		s.PathLen += one * float64(r.Attributes.Path.Len())
		paths[r.Attributes] = true
	}
	var sizes []int
	for _, n := range origins {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	for _, n := range sizes[:min(10, len(sizes))] {
		s.TopTen += one * float64(n)
	}
	s.Origins, s.Paths = len(origins), len(paths)
	return s
}
