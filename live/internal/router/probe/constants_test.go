package probe

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
)

func TestConstants(t *testing.T) {
	c := ParseConstants(`
# 10.9.0.0/16 is no constant
define OWN = 65001; define CUSTOMERS = [ 65010, 65020..65029 ];
protocol static { route 192.0.2.0/24 blackhole; /* 10.8.0.0/16
*/ }
function tagged() { return (OWN,100) ~ bgp_community || bgp_community ~ [ (65001, 200..299), (65002,*) ]; }
filter f {
	if net ~ [ 203.0.113.0/24{24,28}, 198.51.100.7/22+, 10.0.0.0/8-, 0.0.0.0/0{25,32} ] then reject "not 10.7.0.0/16";
	if bgp_path.len > 20 then reject;
	if bgp_path.last ~ CUSTOMERS && net ~ [ 172.16.0.0/12 ] then { bgp_local_pref = 200; accept; }
	if bgp_path ~ [= * 4200000000 =] then accept;
}
`)
	got := fmt.Sprint(c.Limits[:3], c.Limits[len(c.Limits)-5:], c.Communities, c.ASNs)
	const want = "[0.0.0.0/0 0.0.0.0/0 ge 25 0.0.0.0/1] [10.0.0.0/7 10.0.0.0/8 172.16.0.0/12 198.51.100.0/22 le 32 203.0.113.0/24 " +
		"le 28] [4259905636 4259905736 4259971072] [65010 65020 65029 4200000000]"
	if got != want {
		t.Errorf("%s\ninstead of\n%s", got, want)
	}
	list, left := c.Announcements(65010, 65001, netip.MustParseAddr("192.0.2.1"))
	if len(list) != 1+3+3*2 || left != "" {
		t.Errorf("%d announcements, %q", len(list), left)
	}
}

// The constants of a policy that is written for BIRD are those that it has.
func TestConstantsOfPolicies(t *testing.T) {
	made, err := table.Generate(3000, 1)
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := policy.NewScenario(made.Routes)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range policy.Filters {
		var b bytes.Buffer
		p := scenario.Import(f)
		if err := p.BIRD(&b); err != nil {
			t.Fatal(err)
		}
		c := ParseConstants(b.String())
		if got, want := prefixset.FromRanges(c.Limits...), prefixset.FromRanges(Limits(p)...); !want.Minus(got).Empty() || !got.Minus(want).Empty() {
			t.Errorf("%s: %v instead of %v", f, got, want)
		}
		if len(c.Communities) != 1 || c.Communities[0] != scenario.Tag || f != policy.Missing && (len(c.ASNs) != 1 || c.ASNs[0] != scenario.Customer) {
			t.Errorf("%s: %v %v", f, c.Communities, c.ASNs)
		}
	}
}
