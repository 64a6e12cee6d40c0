package table

import (
	"crypto/sha256"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

func generate(t testing.TB, prefixes int, seed uint64) *Table {
	t.Helper()
	made, err := Generate(prefixes, seed)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %.4f, not %.4f to within %.4f", what, got, want, tolerance)
	}
}

// The figures of a full table of July 2010.
func TestTablesLookLikeThatOfTheInternet(t *testing.T) {
	for _, n := range []int{319_355, 1_000_000} {
		if n > 500_000 && testing.Short() {
			continue
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := Measure(generate(t, n, 1).Routes)
			if s.Prefixes != n {
				t.Errorf("%d prefixes", s.Prefixes)
			}
			for length, want := range map[int]float64{16: .035, 17: .017, 18: .028, 19: .057, 20: .070, 21: .071, 22: .092, 23: .091, 24: .521, 26: .004} {
				near(t, fmt.Sprintf("the share of /%d", length), s.Lengths[length], want, .001)
			}
			near(t, "the share of more specific prefixes", s.Specifics, .510, .005)
			near(t, "prefixes of an origin", float64(n)/float64(s.Origins), 323485/34593., .05)
			near(t, "the share of the ten largest origins", s.TopTen, .058, .006)
			near(t, "the mean length of a path", s.PathLen, 4.65, .05)
			t.Logf("%+v", s)
		})
	}
}

func TestPrefixesAreDistinctAndPublic(t *testing.T) {
	for _, n := range []int{1, 2, 30, 20_000} {
		routes := generate(t, n, 3).Routes
		if len(routes) != n {
			t.Errorf("%d prefixes, not %d", len(routes), n)
		}
		for i, r := range routes {
			if i > 0 && routes[i-1].Prefix.Compare(r.Prefix) >= 0 {
				t.Fatalf("%v comes before %v", routes[i-1].Prefix, r.Prefix)
			}
			if slices.ContainsFunc(reserved, r.Prefix.Overlaps) || r.Prefix != r.Prefix.Masked() {
				t.Errorf("%v", r.Prefix)
			}
			path := r.Attributes.Path[0].ASNs
			if path[0] != Feed.ASN || len(slices.Compact(slices.Clone(path))) != len(distinct(path)) {
				t.Errorf("%v has the path %v", r.Prefix, path)
			}
		}
	}
}

func distinct(path []uint32) map[uint32]bool {
	set := map[uint32]bool{}
	for _, asn := range path {
		set[asn] = true
	}
	return set
}

func digest(routes []bgp.Route) [32]byte {
	h := sha256.New()
	for _, r := range routes {
		fmt.Fprintf(h, "%v %+v\n", r.Prefix, *r.Attributes)
	}
	return [32]byte(h.Sum(nil))
}

func TestASeedIsATable(t *testing.T) {
	a, b, c := digest(generate(t, 5000, 1).Routes), digest(generate(t, 5000, 1).Routes), digest(generate(t, 5000, 2).Routes)
	if a != b || a == c {
		t.Errorf("%x, %x and %x", a, b, c)
	}
}

func TestSizesAreBounded(t *testing.T) {
	for _, n := range []int{0, -1, MaxPrefixes + 1} {
		if _, err := Generate(n, 1); err == nil {
			t.Errorf("a table of %d prefixes", n)
		}
	}
}

// A slow twin of the bits of /24s.
func TestFreeSlots(t *testing.T) {
	var s slots
	s.markPrefix(0x01020300, 24)
	s.markPrefix(0x02000000, 9)
	for _, c := range []struct {
		prefix string
		free   bool
	}{{"1.2.3.0/24", false}, {"1.2.2.0/24", true}, {"1.2.2.0/23", false}, {"1.0.0.0/8", false}, {"1.3.0.0/16", true},
		{"2.128.0.0/9", true}, {"2.127.255.0/24", false}, {"0.0.0.0/0", false}} {
		p := netip.MustParsePrefix(c.prefix)
		a := p.Addr().As4()
		if got := s.free(uint32(a[0])<<24|uint32(a[1])<<16|uint32(a[2])<<8, p.Bits()); got != c.free {
			t.Errorf("%s: %t", c.prefix, got)
		}
	}
}
