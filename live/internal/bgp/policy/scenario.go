package policy

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// Filter is how the provider filters what its customer announces.
type Filter string

// The filters of a scenario: none, three that are partly wrong, and the right one.
const (
	Missing     Filter = "missing"
	Hole        Filter = "hole"         // le 24 lets more specific prefixes in, which the customer has given to others
	WrongLength Filter = "wrong-length" // the customer's block has been entered with a shorter length
	WrongASN    Filter = "wrong-asn"    // the list has been made of the prefixes of another AS
	Right       Filter = "right"
)

// Filters are all of them.
var Filters = []Filter{Missing, Hole, WrongLength, WrongASN, Right}

// Scenario is three routers in a row: a customer, its provider, and the Internet, whose table the provider has. The provider's import policy for
// the customer is what may be wrong: the mistake by which Pakistan Telecom took over YouTube in 2008.
type Scenario struct {
	Customer uint32
	Provider uint32
	Block    netip.Prefix  // of the customer, with more specific prefixes of other ASes in it
	Tag      bgp.Community // which the customer attaches to what the provider shall take
	own      []netip.Prefix
	others   []netip.Prefix // of the AS whose number was taken by mistake
}

// provider is the AS number of the provider, of those for documentation (RFC 5398).
const provider = 64499

// NewScenario chooses the customer from a table: the first origin with a block in which others have prefixes.
func NewScenario(routes []bgp.Route) (*Scenario, error) {
	of := map[uint32][]netip.Prefix{}
	origin := map[netip.Prefix]uint32{}
	for _, r := range routes {
		if asn, ok := r.Attributes.Path.Origin(); ok {
			of[asn] = append(of[asn], r.Prefix)
			origin[r.Prefix] = asn
		}
	}
	// The block of each prefix is the next shorter one of the table that it lies in.
	for _, inner := range routes {
		for length := inner.Prefix.Bits() - 1; inner.Prefix.Bits() <= 24 && length >= 12; length-- {
			block, _ := inner.Prefix.Addr().Prefix(length)
			customer, ok := origin[block]
			if !ok {
				continue
			}
			if asn, ok := origin[inner.Prefix]; ok && customer != asn && len(of[customer]) <= largest && length <= 22 && crowded(block, customer, origin) {
				return &Scenario{Customer: customer, Provider: provider, Block: block, Tag: provider<<16 | 100, own: of[customer], others: of[asn]}, nil
			}
			break
		}
	}
	return nil, fmt.Errorf("of %s none is to a block in which and near which other ASes have prefixes; use a larger table", plural.Count(len(routes), "route"))
}

// largest is how many prefixes the customer has at most, so that its filter is one that people write.
const largest = 50

// wider is the block as it is entered with a wrong length.
func wider(block netip.Prefix) netip.Prefix {
	outer, _ := block.Addr().Prefix(max(block.Bits()-4, 8))
	return outer
}

// crowded reports whether another AS has a prefix beside the block, which the wrong length lets in.
func crowded(block netip.Prefix, customer uint32, origin map[netip.Prefix]uint32) bool {
	for p := range prefixset.FromRanges(prefixset.Range{Prefix: wider(block), Max: block.Bits()}).Prefixes() {
		if asn, ok := origin[p]; ok && asn != customer {
			return true
		}
	}
	return false
}

// Import is the provider's policy for routes of the customer, with one of the filters. Only routes with the tag are taken.
func (s *Scenario) Import(f Filter) *Policy {
	p := &Policy{Name: "customer_in"}
	// Nobody takes a default route, or a prefix longer than /24.
	p.Statements = []Statement{{Prefixes: []prefixset.Range{{Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Min: 0,
		Max: 7}, {Prefix: netip.PrefixFrom(netip.IPv4Unspecified(), 0), Min: 25, Max: 32}}}}
	take := Statement{Origins: []uint32{s.Customer}, Communities: []bgp.Community{s.Tag}, Accept: true}
	switch f {
	case Missing:
		take.Origins = nil
	case Hole:
		take.Prefixes = exact(s.own)
		i := slices.Index(s.own, s.Block)
		take.Prefixes[i].Max = 24
	case WrongLength:
		take.Prefixes = append(exact(s.own), prefixset.Range{Prefix: wider(s.Block), Max: s.Block.Bits()})
	case WrongASN:
		take.Prefixes = exact(s.others)
	case Right:
		take.Prefixes = exact(s.own)
	}
	p.Statements = append(p.Statements, take)
	return p
}

func exact(prefixes []netip.Prefix) (list []prefixset.Range) {
	for _, p := range prefixes {
		list = append(list, prefixset.Exactly(p))
	}
	return list
}

// Announcement are the attributes of what the customer announces by mistake: as if it originated it.
func (s *Scenario) Announcement() *bgp.Attributes {
	return &bgp.Attributes{Path: bgp.Sequence(s.Customer), NextHop: netip.MustParseAddr("198.18.0.3"), Communities: []bgp.Community{s.Tag}}
}
