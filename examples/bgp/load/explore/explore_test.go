package explore

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/config"
	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/bloodhound-dst/bloodhound/live"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/leak"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
)

var (
	prefixes = flag.Int("prefixes", 3000, "how many prefixes the table has")
	seed     = flag.Uint64("seed", 1, "of the table")
	paths    = flag.Int("paths", 5000, "how many paths a search takes at most")
	limit    = flag.Duration("limit", 10*time.Minute, "the longest that a search takes")
	tries    = flag.Int("tries", 100_000, "how many random routes are tried beside a search")
)

// start starts GoBGP without a socket, with an import policy for a neighbour.
func start(t *testing.T, asn uint32, in *policy.Policy, neighbour netip.Addr) sessions {
	t.Helper()
	var text bytes.Buffer
	fmt.Fprintf(&text, "[global.config]\n  as = %d\n  router-id = %q\n  port = -1\n[global.apply-policy.config]\n  import-policy-list = [%q]\n  default-import-policy = \"accept-route\"\n", asn, table.Local.ID, in.Name)
	if err := in.GoBGP(&text, neighbour); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "gobgp.toml")
	if err := os.WriteFile(name, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := config.ReadConfigFile(name, "toml")
	if err != nil {
		t.Fatal(err)
	}
	s := server.NewBgpServer(server.LoggerOption(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1})), &slog.LevelVar{}))
	go s.Serve()
	t.Cleanup(s.Stop)
	if _, err := config.InitialConfig(context.Background(), s, read, false); err != nil {
		t.Fatal(err)
	}
	explorable, ok := any(s).(sessions)
	if !ok {
		t.Skip("GoBGP has no session without a connection; the command in README.md adds it")
	}
	return explorable
}

func connect(t *testing.T, s sessions, asn uint32, address netip.Addr) *neighbour {
	t.Helper()
	receive, has, err := s.Session(address, asn, address)
	if err != nil {
		t.Fatal(err)
	}
	return &neighbour{asn: asn, address: address, receive: receive, has: has}
}

var customer = netip.MustParseAddr("198.18.0.3")

// withdraw takes the last route back.
func (n *neighbour) withdraw(t *testing.T) {
	if !n.sent {
		return
	}
	p := n.of(n.announce).Prefix
	message, err := bgp.AppendMessage(nil, &bgp.Update{Withdrawn: []netip.Prefix{p}}, bgp.AS4)
	if err == nil {
		err = n.receive(message)
	}
	if err != nil || n.has(p) {
		t.Fatalf("%v is not withdrawn: %v", p, err)
	}
}

// TestImport explores what the provider takes from its customer with each of the filters. The check is that no accepted route changes the origin of a prefix in the table.
func TestImport(t *testing.T) {
	made, err := table.Generate(*prefixes, *seed)
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := policy.NewScenario(made.Routes)
	if err != nil {
		t.Fatal(err)
	}
	origins, oracle := trie(made.Routes), leak.Table(made.Routes)
	for _, f := range policy.Filters {
		t.Run(string(f), func(t *testing.T) {
			in := scenario.Import(f)
			s := start(t, scenario.Provider, in, customer)
			feed := connect(t, s, table.Feed.ASN, table.Feed.Address)
			for u := range made.Load() {
				message, err := bgp.AppendMessage(nil, u, bgp.AS4)
				if err == nil {
					err = feed.receive(message)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			n := connect(t, s, scenario.Customer, customer)
			var leaks bool
			var found []prefixset.Range
			var first time.Duration
			count, begun := 0, time.Now()
			live.Explore(t, live.Handler{
				Paths: *paths, Time: *limit,
				Run: func() {
					r := example
					symbolic(&r)
					n.send(r)
					leaks = n.accepted && origins.changes(r.prefix, r.length, r.origin)
					live.Check("the customer takes nothing over", !leaks)
				},
				Undo: func() {
					count++
					r := n.announce
					if n.sent {
						// The policy as data judges the same route. GoBGP refuses paths with its own AS before it asks the policy.
						a := n.of(r)
						if want := in.Accepts(a) && r.origin != scenario.Provider; n.accepted != want || leaks != (want && oracle.Changes(a.Prefix, a.Attributes.Path)) {
							t.Errorf("the oracle disagrees on %+v: accepted %t, not %t; leaks %t", r, n.accepted, want, leaks)
						}
						if leaks && len(found) == 0 {
							first = time.Since(begun)
						}
						if leaks {
							found = append(found, prefixset.Exactly(a.Prefix))
						}
					}
					n.withdraw(t)
				},
			})
			all, hit := oracle.Leaks(in, scenario.Announcement(), prefixset.Set{}), 0
			ranges := all.Ranges()
			for _, x := range ranges {
				if !prefixset.FromRanges(x).Intersect(prefixset.FromRanges(found...)).Empty() {
					hit++
				}
			}
			compared := leak.Compare(prefixset.FromRanges(found...), all)
			t.Logf("%s: %d paths in %v, %d of %d ranges were met, %d of %d prefixes, %d false alarms, the first leak after %v", f, count, time.Since(begun).Round(time.Millisecond), hit, len(ranges),
				compared.Found, compared.Leaks, compared.FalseAlarms.Len(), first.Round(time.Millisecond))
		})
	}
}

// TestNeedle looks for the only route that a policy accepts, by a search and at random.
func TestNeedle(t *testing.T) {
	in := &policy.Policy{Name: "needle", Statements: []policy.Statement{{Prefixes: []prefixset.Range{prefixset.Exactly(netip.MustParsePrefix("203.0.113.0/24"))}, Communities: []bgp.Community{64499<<16 | 31337}, Accept: true}}}
	n := connect(t, start(t, 64499, in, customer), 64500, customer)
	begun, count := time.Now(), 0
	live.Explore(t, live.Handler{
		Paths: *paths, Time: *limit,
		Run: func() {
			r := example
			symbolic(&r)
			n.send(r)
			live.Check("nothing is accepted", !n.accepted)
		},
		Undo: func() {
			if count++; n.accepted {
				t.Logf("needle: accepted by path %d, after %v: %+v", count, time.Since(begun).Round(time.Millisecond), n.announce)
			}
			n.withdraw(t)
		},
	})
	begun = time.Now()
	draws, hits := rand.New(rand.NewPCG(1, 2)), 0
	for range *tries {
		n.send(route{prefix: draws.Uint32(), length: uint8(draws.IntN(33)), origin: draws.Uint32(), community: draws.Uint32(), med: draws.Uint32()})
		if n.accepted {
			hits++
		}
		n.withdraw(t)
	}
	t.Logf("needle: %d of %d random routes are accepted, in %v", hits, *tries, time.Since(begun).Round(time.Millisecond))
}
