package prefixset

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

func r(text string, least, most int) Range { return Range{netip.MustParsePrefix(text), least, most} }

func TestRangesAreFewAndCanonical(t *testing.T) {
	for _, c := range []struct {
		set  Set
		want string
	}{
		{Set{}, ""},
		{All(), "0.0.0.0/0 le 32"},
		{FromRanges(r("10.0.0.0/8", 0, 24)), "10.0.0.0/8 le 24"},
		{FromRanges(r("10.0.0.0/8", 24, 24)), "10.0.0.0/8 ge 24 le 24"},
		{FromRanges(r("10.0.0.0/9", 10, 24), r("10.128.0.0/9", 10, 24)), "10.0.0.0/8 ge 10 le 24"},
		{FromRanges(r("10.0.0.0/8", 8, 9)).Minus(FromRanges(r("10.0.0.0/9", 9, 9))), "10.0.0.0/8, 10.128.0.0/9"},
		{FromRanges(r("255.255.255.255/32", 0, 32), r("255.255.255.254/32", 32, 32)), "255.255.255.254/31 ge 32"},
		{All().Minus(All()), ""},
	} {
		if got := c.set.String(); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}

// The sets of all prefixes in a /26, as sets of Go, are the slow twin.
func TestSetsAreThoseOfGo(t *testing.T) {
	state := uint64(1)
	draw := func(n int) int {
		state += splitmix.Gamma
		return int(splitmix.Mix(state) % uint64(n))
	}
	for round := range 300 {
		var sets [2]Set
		var twins [2]map[netip.Prefix]bool
		for i := range sets {
			var ranges []Range
			twins[i] = map[netip.Prefix]bool{}
			for range draw(6) {
				bits := 26 + draw(7)
				p := netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, byte(192 + draw(64))}), bits).Masked()
				x := Range{p, 24 + draw(9), 24 + draw(9)}
				ranges = append(ranges, x)
				for p := range FromRanges(r("255.255.255.192/26", 26, 32)).Prefixes() {
					if x.Contains(p) {
						twins[i][p] = true
					}
				}
			}
			sets[i] = FromRanges(ranges...)
		}
		a, b := sets[0], sets[1]
		for name, c := range map[string]struct {
			set Set
			has func(a, b bool) bool
		}{
			"a":         {a, func(a, _ bool) bool { return a }},
			"union":     {a.Union(b), func(a, b bool) bool { return a || b }},
			"intersect": {a.Intersect(b), func(a, b bool) bool { return a && b }},
			"minus":     {a.Minus(b), func(a, b bool) bool { return a && !b }},
			"by ranges": {FromRanges(a.Ranges()...), func(a, _ bool) bool { return a }},
		} {
			n := uint64(0)
			for p := range FromRanges(r("255.255.255.192/26", 26, 32)).Prefixes() {
				want := c.has(twins[0][p], twins[1][p])
				if want {
					n++
				}
				if c.set.Contains(p) != want {
					t.Fatalf("round %d: %s of %v and %v has %v: %t", round, name, a, b, p, !want)
				}
			}
			if c.set.Len() != n || c.set.Empty() != (n == 0) {
				t.Fatalf("round %d: %s of %v and %v has %d prefixes, not %d", round, name, a, b, c.set.Len(), n)
			}
			if !c.set.Equal(FromRanges(c.set.Ranges()...)) || !slices.Equal(c.set.Ranges(), FromRanges(c.set.Ranges()...).Ranges()) {
				t.Fatalf("round %d: the ranges of %s are not canonical: %v", round, name, c.set)
			}
		}
	}
}

func TestSizeOfAll(t *testing.T) {
	if n := All().Len(); n != 1<<33-1 {
		t.Errorf("%d prefixes", n)
	}
	if text := fmt.Sprint(Exactly(netip.MustParsePrefix("10.0.0.0/8"))); text != "10.0.0.0/8" {
		t.Error(text)
	}
}

func TestParseRange(t *testing.T) {
	for _, want := range []Range{r("0.0.0.0/0", 0, 32), r("10.0.0.0/8", 8, 8), r("10.0.0.0/8", 8, 24), r("10.0.0.0/8", 16, 32),
		r("10.0.0.0/8", 16, 24), r("10.0.0.1/32", 32, 32)} {
		if got, err := ParseRange(want.String()); err != nil || got != want {
			t.Errorf("%v: %v, %v", want, got, err)
		}
	}
	for _, bad := range []string{"", "x", "10.0.0.0", "10.0.0.1/8", "::/0", "10.0.0.0/8 le", "10.0.0.0/8 le 7",
		"10.0.0.0/8 le 33", "10.0.0.0/8 ge 7", "10.0.0.0/8 ge 24 le 23", "10.0.0.0/8 ge x",
		"10.0.0.0/8 le 24 ge 16", "10.0.0.0/8 le -1", "10.0.0.0/8 le 24 x", "10.0.0.0/8 le 256"} {
		if got, err := ParseRange(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}
