// Package table makes tables of routes that look like the full table of an Internet router, and streams of updates to them, from a seed.
// No file of real routes is needed, and equal seeds give equal tables.
package table

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sort"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/mrt"
)

// Feed is the neighbour that sends the table: the first AS of all paths.
var Feed = mrt.Peer{ASN: 64500, Address: netip.MustParseAddr("198.18.0.1"), ID: netip.MustParseAddr("198.18.0.1")}

// MaxPrefixes is the largest table: more do not fit into the addresses of IPv4 with lengths such as these.
const MaxPrefixes = 1_200_000

// Table is a table with one route to each prefix.
type Table struct {
	Routes []bgp.Route // in order of address and length; routes of one path share their attributes

	seed    uint64
	origins []uint32 // AS numbers, the one with most prefixes first
	paths   map[pathKey]*bgp.Attributes
	keys    map[*bgp.Attributes]pathKey
}

// pathKey is the n-th path to an origin, by its rank.
type pathKey struct{ origin, n int }

// draws is a stream of random numbers.
type draws struct{ state uint64 }

func (d *draws) next() uint64 {
	d.state += splitmix.Gamma
	return splitmix.Mix(d.state)
}

func (d *draws) below(n int) int       { return int(d.next() % uint64(n)) }
func (d *draws) unit() float64         { return float64(d.next()>>11) / (1 << 53) }
func (d *draws) chance(p float64) bool { return d.unit() < p }

// pick draws an index with the weights of a list.
func (d *draws) pick(weights []float64) int {
	x := d.unit()
	for i, w := range weights {
		if x -= w; x < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// block is a prefix while the table is made.
type block struct {
	address uint32
	length  int
	parent  int // among the blocks, or -1
	origin  int
}

func (b block) prefix() netip.Prefix {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], b.address)
	return netip.PrefixFrom(netip.AddrFrom4(a), b.length)
}

// Generate makes a table.
func Generate(prefixes int, seed uint64) (*Table, error) {
	if prefixes < 1 || prefixes > MaxPrefixes {
		return nil, fmt.Errorf("a table has 1 to %d prefixes, not %d", MaxPrefixes, prefixes)
	}
	d := &draws{splitmix.Mix(seed + splitmix.Gamma)}
	blocks := place(d, prefixes)
	t := &Table{seed: seed, paths: map[pathKey]*bgp.Attributes{}, keys: map[*bgp.Attributes]pathKey{}}
	t.origins = asns(d, max(1, int(math.Round(float64(prefixes)/shape.perOrigin))))
	originate(d, blocks, len(t.origins))
	slices.SortFunc(blocks, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.length, b.length))
	})
	for _, b := range blocks {
		alternatives := 1 + t.draws(b.origin, -1).pick(shape.alternate)
		t.Routes = append(t.Routes, bgp.Route{Prefix: b.prefix(), Attributes: t.path(pathKey{b.origin, d.below(alternatives)})})
	}
	return t, nil
}

// shortest is the shortest length of a prefix.
const shortest = 8

// counts is how many prefixes of each length a table has, and how many of these lie in another one.
func counts(prefixes int) (all, inside [33]int) {
	type rest struct {
		length int
		part   float64
	}
	var rests []rest
	left := prefixes
	sum := 0.0
	for _, share := range shape.lengths {
		sum += share
	}
	for length, share := range shape.lengths {
		exact := share / sum * float64(prefixes)
		all[length] = int(exact)
		left -= all[length]
		rests = append(rests, rest{length, exact - math.Floor(exact)})
	}
	slices.SortStableFunc(rests, func(a, b rest) int { return cmp.Compare(b.part, a.part) })
	for i := 0; i < left; i++ {
		all[rests[i%len(rests)].length]++
	}
	// The shortest prefixes lie in no other one, and more of them than in the table of the shape would leave no room.
	if most := int(math.Round(shape.lengths[shortest] * float64(shape.prefixes))); all[shortest] > most {
		all[24] += all[shortest] - most
		all[shortest] = most
	}
	for length, share := range shape.perLength {
		inside[length] = int(math.Round(share * float64(all[length])))
		// In a table that is larger than that of the shape, short prefixes that lie in no other one would fill all addresses.
		if roots := int(shape.lengths[length] * float64(shape.prefixes) * (1 - share)); length <= 16 && all[length]-inside[length] > roots {
			inside[length] = all[length] - roots
		}
	}
	return all, inside
}

// reserved are blocks in which no prefix of the Internet lies (RFC 6890).
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("224.0.0.0/3"),
}

// slots has a bit for each /24.
type slots [1 << 24 / 64]uint64

func (s *slots) free(address uint32, length int) bool {
	for slot, end := address>>8, address>>8+slotsOf(length); slot < end; {
		if slot%64 == 0 && end-slot >= 64 {
			if s[slot/64] != 0 {
				return false
			}
			slot += 64
			continue
		}
		if s[slot/64]>>(slot%64)&1 != 0 {
			return false
		}
		slot++
	}
	return true
}

func (s *slots) markPrefix(address uint32, length int) {
	for slot, end := address>>8, address>>8+slotsOf(length); slot < end; slot++ {
		s[slot/64] |= 1 << (slot % 64)
	}
}

func slotsOf(length int) uint32 { return 1 << max(24-length, 0) }

// place draws the prefixes, shorter ones first: so aligned blocks leave no gaps that nothing fits into.
func place(d *draws, prefixes int) []block {
	all, inside := counts(prefixes)
	var used slots
	for _, p := range reserved {
		a := p.Addr().As4()
		used.markPrefix(binary.BigEndian.Uint32(a[:]), p.Bits())
	}
	var blocks []block
	taken := map[uint64]bool{} // address and length
	nested := 0
	for length := range all {
		shorter := len(blocks)
		if length == 24 { // it makes up for what other lengths lack, also because there was no room
			inside[24] = int(math.Round(shape.specifics*float64(prefixes))) - nested
			for _, n := range inside[25:] {
				inside[24] -= n
			}
		}
		for i := range all[length] {
			b, ok := block{}, false
			if i < inside[length] && shorter > 0 {
				b, ok = nest(d, blocks[:shorter], length, taken)
			}
			if !ok {
				b, ok = root(d, length, &used)
			}
			if !ok {
				b, ok = nest(d, blocks[:shorter], length, taken)
			}
			if !ok {
				panic(fmt.Sprintf("no room for prefix %d of length %d", i, length))
			}
			taken[uint64(b.address)<<8|uint64(length)] = true
			if b.parent >= 0 {
				nested++
			}
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// tries bounds how often a place is drawn.
const tries = 1000

// nest draws a prefix within another one.
func nest(d *draws, shorter []block, length int, taken map[uint64]bool) (block, bool) {
	if len(shorter) == 0 {
		return block{}, false
	}
	for range tries {
		parent := d.below(len(shorter))
		p := shorter[parent]
		b := block{p.address | uint32(d.next()&(1<<(length-p.length)-1))<<(32-length), length, parent, 0}
		if !taken[uint64(b.address)<<8|uint64(length)] {
			return b, true
		}
	}
	return block{}, false
}

// root draws a prefix that lies in no other one.
func root(d *draws, length int, used *slots) (block, bool) {
	for range tries {
		b := block{uint32(uint64(d.next()) >> (64 - length) << (32 - length)), length, -1, 0}
		if used.free(b.address&^255, min(length, 24)) {
			used.markPrefix(b.address&^255, min(length, 24))
			return b, true
		}
	}
	return block{}, false
}

// asns are AS numbers of origins: most of two bytes as long as there are some.
func asns(d *draws, n int) []uint32 {
	const public = 64495 // the last AS number of two bytes that is assigned
	list := make([]uint32, 0, n)
	next := d.below(public)
	two := 0
	for len(list) < n {
		if two == public-1 || d.chance(shape.fourBytes) {
			list = append(list, 196608+uint32(len(list)))
			continue
		}
		next = (next + 40503) % public // without a common divisor, so each comes once
		two++
		if asn := uint32(next + 1); asn != bgp.Transition {
			list = append(list, asn)
		}
	}
	return list
}

// originate gives each prefix an origin, and each origin a prefix.
func originate(d *draws, blocks []block, n int) {
	sums := weights(n)
	weighted := func() int { return min(sort.SearchFloat64s(sums, d.unit()*sums[n-1]), n-1) }
	var roots []int
	for i, b := range blocks {
		if b.parent < 0 {
			roots = append(roots, i)
		}
	}
	for i := range roots {
		j := i + d.below(len(roots)-i)
		roots[i], roots[j] = roots[j], roots[i]
		if blocks[roots[i]].origin = i; i >= n {
			blocks[roots[i]].origin = weighted()
		}
	}
	for i, b := range blocks { // what lies in another one comes behind it
		switch {
		case b.parent < 0:
		case d.chance(shape.inherited):
			blocks[i].origin = blocks[b.parent].origin
		default:
			blocks[i].origin = weighted()
		}
	}
}

// weights are sums of the weights of n origins, 1/(rank+offset) with the offset that gives the ten largest their share.
func weights(n int) []float64 {
	sums := make([]float64, n)
	low, high := 1.0, 1000.0
	for range 30 {
		offset, total := (low+high)/2, 0.0
		for i := range sums {
			total += 1 / (float64(i) + offset)
			sums[i] = total
		}
		if sums[min(10, n)-1] > shape.topTen*total {
			low = offset
		} else {
			high = offset
		}
	}
	return sums
}

// draws is the stream of one path of an origin.
func (t *Table) draws(origin, n int) *draws {
	return &draws{splitmix.Mix(splitmix.Mix(t.seed+splitmix.Gamma) ^ uint64(origin+1)*splitmix.Gamma ^ uint64(n+2)<<40)}
}

// Transit ASes are the origins with most prefixes: a few that all others reach, and those below them.
const (
	topTier   = 12
	otherTier = 300
)

// path is a path to an origin.
func (t *Table) path(k pathKey) *bgp.Attributes {
	if a := t.paths[k]; a != nil {
		return a
	}
	d := t.draws(k.origin, k.n)
	origin := t.origins[k.origin]
	length := 1 + d.pick(shape.paths)
	repeats := max(length-6, 0)
	if repeats == 0 && length > 2 && d.chance(shape.prepended) {
		repeats = 1 + d.below(length-2)
	}
	path := []uint32{Feed.ASN}
	for len(path) < length-1-repeats {
		tier := min(otherTier, len(t.origins))
		if len(path) == 1 {
			tier = min(topTier, tier)
		}
		transit := t.origins[d.below(tier)]
		if slices.Contains(path, transit) || transit == origin {
			if tier <= topTier { // a table with so few origins has no other ones
				repeats++
			}
			continue
		}
		path = append(path, transit)
	}
	for range repeats + 1 {
		path = append(path, origin)
	}
	a := &bgp.Attributes{Path: bgp.Sequence(path...), NextHop: Feed.Address}
	switch x := d.unit(); {
	case x < shape.incomplete:
		a.Origin = bgp.Incomplete
	case x < shape.incomplete+shape.egp:
		a.Origin = bgp.EGP
	}
	if d.chance(.4) {
		for i := range 1 + d.below(3) {
			a.Communities = append(a.Communities, bgp.Community(Feed.ASN<<16|uint32(100*i+d.below(100))))
		}
	}
	t.paths[k], t.keys[a] = a, k
	return a
}
