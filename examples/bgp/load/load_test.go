package main

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
)

// GoBGP, over a session, accepts what the policies of a scenario accept.
func TestGoBGPAcceptsTheSame(t *testing.T) {
	made, err := table.Generate(3000, 1)
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := policy.NewScenario(made.Routes)
	if err != nil {
		t.Fatal(err)
	}
	marker := netip.MustParsePrefix("192.0.2.0/24")
	for _, f := range policy.Filters {
		t.Run(string(f), func(t *testing.T) {
			in := scenario.Import(f)
			in.Statements = append([]policy.Statement{{Prefixes: []prefixset.Range{prefixset.Exactly(marker)}, Accept: true}}, in.Statements...)
			port, err := freePort()
			if err != nil {
				t.Fatal(err)
			}
			g, err := startGoBGP(port, []neighbour{{loopback, scenario.Customer}}, in)
			if err != nil {
				t.Fatal(err)
			}
			defer g.server.Stop()
			s, err := dial(net.JoinHostPort(loopback.String(), strconv.Itoa(port)), scenario.Customer, table.Feed.ID, loopback)
			if err != nil {
				t.Fatal(err)
			}
			defer s.conn.Close()
			want := map[netip.Prefix]bool{marker: true}
			sent := 0
			send := func(p netip.Prefix, a *bgp.Attributes) {
				if err := s.update(&bgp.Update{Attributes: a, Announced: []netip.Prefix{p}}); err != nil {
					t.Fatal(err)
				}
				if in.Accepts(bgp.Route{Prefix: p, Attributes: a}) {
					want[p] = true
				}
				sent++
			}
			for _, p := range candidates(scenario, in, made.Routes) {
				a := *scenario.Announcement()
				switch sent % 7 { // some that are accepted for no prefix
				case 0:
					a.Communities = []bgp.Community{scenario.Tag + 1}
				case 1:
					a.Path = bgp.Sequence(scenario.Customer, scenario.Customer+1)
				}
				send(p, &a)
			}
			// Routes of a neighbour are handled in their order, so all have been when the last one is there.
			send(marker, scenario.Announcement())
			if err := s.flush(); err != nil {
				t.Fatal(err)
			}
			var got map[netip.Prefix]bool
			for deadline := time.Now().Add(patience); !got[marker]; {
				if got, err = g.prefixes(); err != nil {
					t.Fatal(err)
				}
				select {
				case err := <-s.done:
					t.Fatal(err)
				case <-time.After(20 * time.Millisecond): // GoBGP does not report that it has caught up
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d of %d prefixes after %v", len(got), len(want), patience)
				}
			}
			for p := range want {
				if !got[p] {
					t.Errorf("GoBGP rejects %v", p)
				}
			}
			for p := range got {
				if !want[p] {
					t.Errorf("GoBGP accepts %v", p)
				}
			}
			t.Logf("%d of %d routes are accepted", len(want), sent)
		})
	}
}

// candidates are prefixes of the table, and those near the limits of a policy.
func candidates(s *policy.Scenario, in *policy.Policy, routes []bgp.Route) []netip.Prefix {
	all := map[netip.Prefix]bool{}
	for _, r := range routes[:300] {
		all[r.Prefix] = true
	}
	near := []prefixset.Range{{Prefix: s.Block, Min: s.Block.Bits(), Max: 26}}
	for _, statement := range in.Statements[2:] {
		near = append(near, statement.Prefixes...)
	}
	for _, r := range near {
		for _, length := range []int{r.Prefix.Bits() - 1, r.Prefix.Bits(), r.Min - 1, r.Min, r.Max, r.Max + 1, 24, 25} {
			if length >= 1 && length <= 32 {
				p, _ := r.Prefix.Addr().Prefix(length)
				all[p] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(all), netip.Prefix.Compare)
}

// BIRD takes all prefixes of a table.
func TestBIRDTakesATable(t *testing.T) {
	needs.Program(t, "bird")
	needs.Program(t, "birdc")
	if err := measure(bird, 2000, 1, &options{compare: "true", pairs: 1, phase: 100 * time.Millisecond}); err != nil {
		t.Error(err)
	}
}

// Of 16 values, the fourth smallest is above the median in 1 % of cases, and the fifth smallest in 4 %.
func TestTheIntervalOfAMedian(t *testing.T) {
	var list []float64
	for i := range 16 {
		list = append(list, float64((i*5)%16+1)/100)
	}
	if got, want := change(list), "+8.5 % (+4.0 to +13.0)"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if got, want := change([]float64{0.01}), "+1.0 % (+1.0 to +1.0)"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
