package probe

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// Constants lists the constants with which the filters of a BIRD 2 configuration compare routes. They are found in the
// text, wherever they are. A filter that computes the values that it compares with uses others.
type Constants struct {
	Limits      []prefixset.Range // prefixes, but for those of static routes
	Communities []bgp.Community
	ASNs        []uint32 // in conditions on paths
}

// Both adds the constants of another configuration.
func (c Constants) Both(d Constants) Constants {
	return Constants{distinct(append(c.Limits, d.Limits...), compareRanges),
		distinct(append(c.Communities, d.Communities...), cmp.Compare), distinct(append(c.ASNs, d.ASNs...), cmp.Compare)}
}

var (
	aside      = regexp.MustCompile(`(?s)"[^"\n]*"|#[^\n]*|/\*.*?\*/`)
	definition = regexp.MustCompile(`\bdefine\s+(\w+)\s*=([^;]*);`)
	pattern    = regexp.MustCompile(`(\broute\s+)?(\d+\.\d+\.\d+\.\d+)/(\d+)(?:([+-])|\{\s*(\d+)\s*,\s*(\d+)\s*\})?`)
	pair       = regexp.MustCompile(`\(\s*(\w+)\s*,\s*(\w+|\*)(?:\s*\.\.\s*\w+)?\s*\)`)
	onPath     = regexp.MustCompile(`\bbgp_path\b([^;{}]*)`)
	word       = regexp.MustCompile(`[\w.]+`)
)

// ParseConstants finds the constants in the text of a configuration.
func ParseConstants(text string) (c Constants) {
	text = aside.ReplaceAllString(text, " ")
	defined := map[string]string{}
	for _, m := range definition.FindAllStringSubmatch(text, -1) {
		defined[m[1]] = m[2]
	}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			c.Limits = append(c.Limits, ranges(m[2:])...)
		}
	}
	const half = 1<<16 - 1
	for _, m := range pair.FindAllStringSubmatch(text, -1) {
		high, low := numbers(m[1], defined, 1), numbers(m[2], defined, 1)
		if m[2] == "*" {
			low = []uint32{0}
		}
		if len(high) == 1 && len(low) == 1 && high[0] <= half && low[0] <= half {
			c.Communities = append(c.Communities, bgp.Community(high[0]<<16|low[0]))
		}
	}
	for _, m := range onPath.FindAllStringSubmatch(text, -1) {
		condition, _, _ := strings.Cut(m[1], " then")
		if !strings.HasPrefix(condition, ".len") {
			c.ASNs = append(c.ASNs, numbers(pair.ReplaceAllString(pattern.ReplaceAllString(condition, " "), " "), defined, 3)...)
		}
	}
	return Constants{}.Both(c)
}

// ranges returns the prefixes that a pattern distinguishes: a prefix, and the lengths of others.
func ranges(m []string) (list []prefixset.Range) {
	p, err := netip.ParsePrefix(m[0] + "/" + m[1])
	if err != nil {
		return nil
	}
	p = p.Masked()
	r := prefixset.Exactly(p)
	switch {
	case m[2] == "+":
		r.Max = prefixset.Lengths - 1
	case m[2] == "-":
		r.Min = 0
	case m[3] != "":
		r.Min, _ = strconv.Atoi(m[3])
		r.Max, _ = strconv.Atoi(m[4])
	}
	for length := max(r.Min, 0); length < p.Bits(); length++ { // shorter ones that it lies in
		outer, _ := p.Addr().Prefix(length)
		list = append(list, prefixset.Exactly(outer))
	}
	r.Min, r.Max = max(r.Min, p.Bits()), min(r.Max, prefixset.Lengths-1)
	if r.Max < r.Min { // the prefix itself tells others apart
		r.Max = r.Min
	}
	return append(list, r)
}

// numbers are the numbers in a text, and in what its words are defined as.
func numbers(text string, defined map[string]string, depth int) (list []uint32) {
	for _, w := range word.FindAllString(text, -1) {
		for w := range strings.SplitSeq(w, "..") { // ends of a range
			if n, err := strconv.ParseUint(w, 10, 32); err == nil {
				list = append(list, uint32(n))
			} else if value, ok := defined[w]; ok && depth > 0 {
				list = append(list, numbers(pattern.ReplaceAllString(value, " "), defined, depth-1)...)
			}
		}
	}
	return list
}

func compareRanges(a, b prefixset.Range) int {
	return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()), cmp.Compare(a.Min, b.Min), cmp.Compare(a.Max, b.Max))
}

func distinct[T comparable](list []T, order func(a, b T) int) []T {
	list = slices.Clone(list)
	slices.SortFunc(list, order)
	return slices.Compact(list)
}

// Bounds of what is announced.
const (
	mostCommunities = 16
	mostASNs        = 8
)

// Announcements lists attributes with which a neighbour may announce prefixes, chosen so that the filters decide
// differently: with the neighbour as the origin, without communities and with each one that the filters know; and with
// each other AS that they know as the origin, without communities and with all of them. left describes the constants
// that are left out, and is empty if there are none.
func (c Constants) Announcements(neighbour, own uint32, nextHop netip.Addr) (list []*bgp.Attributes, left string) {
	communities, asns := c.Communities, slices.DeleteFunc(slices.Clone(c.ASNs), func(n uint32) bool { return n == 0 || n == neighbour || n == own })
	if len(communities) > mostCommunities || len(asns) > mostASNs {
		left = "the configuration has more communities, or numbers of ASes, than are tried"
	}
	communities, asns = communities[:min(len(communities), mostCommunities)], asns[:min(len(asns), mostASNs)]
	add := func(path bgp.Path, communities ...bgp.Community) {
		list = append(list, &bgp.Attributes{Path: path, NextHop: nextHop, Communities: communities})
	}
	add(bgp.Sequence(neighbour))
	for _, tag := range communities {
		add(bgp.Sequence(neighbour), tag)
	}
	for _, asn := range asns {
		add(bgp.Sequence(neighbour, asn))
		if len(communities) > 0 {
			add(bgp.Sequence(neighbour, asn), communities...)
		}
	}
	return list, left
}
