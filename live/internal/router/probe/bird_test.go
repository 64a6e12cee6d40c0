//go:build linux && amd64

package probe

import (
	"bytes"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/leak"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
	"github.com/bloodhound-dst/bloodhound/live/internal/birdtest"
	"github.com/bloodhound-dst/bloodhound/live/internal/daemon"
	"github.com/bloodhound-dst/bloodhound/live/internal/router"
)

// network is a provider's BIRD between its customer and the Internet, whose table another session has loaded.
type network struct {
	*birdtest.BIRD
	made                         *table.Table
	scenario                     *policy.Scenario
	customer, provider, internet *birdtest.Neighbour
	pause                        time.Duration
}

// prefixes is the size of tables.
func prefixes() int {
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		return 319_355
	}
	return 3000
}

func generate(t *testing.T) (*table.Table, *policy.Scenario) {
	t.Helper()
	made, err := table.Generate(prefixes(), 1)
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := policy.NewScenario(made.Routes)
	if err != nil {
		t.Fatal(err)
	}
	return made, scenario
}

// start starts BIRD with an import policy for the customer.
func start(t *testing.T, made *table.Table, scenario *policy.Scenario, imports *policy.Policy) *network {
	t.Helper()
	var filter bytes.Buffer
	if err := imports.BIRD(&filter); err != nil {
		t.Fatal(err)
	}
	n := &network{made: made, scenario: scenario,
		customer: &birdtest.Neighbour{Address: "127.0.0.2", AS: scenario.Customer, Import: "filter " + imports.Name, Export: "none"},
		provider: &birdtest.Neighbour{Address: "127.0.0.3", AS: table.Feed.ASN, Import: "all", Export: "none"},
		internet: &birdtest.Neighbour{Address: "127.0.0.4", AS: 64511, Import: "none", Export: "all"},
	}
	n.BIRD = birdtest.Start(t, filter.String(), 0, n.customer, n.provider, n.internet)
	var load []byte
	for u := range made.Load() {
		var err error
		if load, err = bgp.AppendMessage(load, u, bgp.AS4); err != nil {
			t.Fatal(err)
		}
	}
	n.provider.Send(t, load)
	for _, r := range made.Routes {
		n.internet.Await(r.Prefix)
	}
	return n
}

// target makes a checkpoint.
func (n *network) target(t *testing.T) Target {
	t.Helper()
	d, err := daemon.Attach(n.PID)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	checkpoint, err := d.TakeCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	n.pause = time.Since(begin)
	t.Cleanup(func() { checkpoint.Close() })
	fresh := func() (*router.Router, error) {
		c, err := checkpoint.Copy()
		if err != nil {
			return nil, err
		}
		return router.New(c, daemon.Budget{Calls: 1 << 20, CPU: time.Minute})
	}
	return Target{Copy: fresh, Control: n.Control, From: n.customer.LocalAddr(), To: n.internet.LocalAddr()}
}

// The provider's filter is missing, wrong in three ways, and right: copies of its BIRD find exactly the prefixes that the
// oracle does, and BIRD itself goes on undisturbed.
func TestThreeRouters(t *testing.T) {
	made, scenario := generate(t)
	oracle := leak.Table(made.Routes)
	// One of the prefixes that a wrong filter lets in is that of an anycast service.
	let := oracle.Leaks(scenario.Import(policy.WrongASN), scenario.Announcement(), prefixset.Set{})
	anycast := prefixset.FromRanges(let.Ranges()[0])
	for _, f := range policy.Filters {
		t.Run(string(f), func(t *testing.T) {
			imports := scenario.Import(f)
			n := start(t, made, scenario, imports)
			before, received := n.Table(t), n.customer.Received()+n.internet.Received()
			want, first := oracle.Leaks(imports, scenario.Announcement(), anycast), time.Duration(0)
			begin := time.Now()
			target := n.target(t)
			got, err := target.Run(Search{
				Announced: []*bgp.Attributes{scenario.Announcement()}, Limits: Limits(imports), Excepted: anycast, Judge: imports.Accepts,
				Found: func(_ int, p netip.Prefix) {
					if first == 0 {
						first = time.Since(begin)
					}
					if !want.Contains(p) {
						t.Errorf("%v is found, and cannot be taken over", p)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			total := time.Since(begin)
			if got.Routes != len(made.Routes) {
				t.Errorf("%d routes of %d", got.Routes, len(made.Routes))
			}
			c := leak.Compare(got.Leaks[0], want)
			if c.Recall() != 1 || !c.FalseAlarms.Empty() || !got.Leaks[0].Equal(want) {
				t.Errorf("missed %.300v, false alarms %.300v", c.Missed, c.FalseAlarms)
			}
			if want.Empty() != (f == policy.Right) || (first == 0) != want.Empty() {
				t.Errorf("the first of %d was found after %v", want.Len(), first)
			}
			for _, d := range got.Disagreements {
				t.Errorf("%.500v", d)
			}
			if after := n.Table(t); after != before {
				t.Error("BIRD's table has changed")
			}
			if again := n.customer.Received() + n.internet.Received(); again != received {
				t.Errorf("BIRD's neighbours got %d messages", again-received)
			}
			t.Logf("%d probes, %d taken, %d prefixes in %d ranges; checkpoint %v, first finding after %v, all after %v: %.200v",
				got.Probes, got.Taken, got.Leaks[0].Len(), len(got.Leaks[0].Ranges()), n.pause, first, total, got.Leaks[0])
		})
	}
}

// BIRD has another filter than the policy that is meant: each route that they treat differently is found, with the message that shows it.
func TestTwoImplementationsThatDisagree(t *testing.T) {
	made, scenario := generate(t)
	meant, written := scenario.Import(policy.Hole), scenario.Import(policy.Right)
	n := start(t, made, scenario, written)
	target := n.target(t)
	origins, a := leak.Table(made.Routes), scenario.Announcement()
	got, err := target.Run(Search{Origins: origins, Announced: []*bgp.Attributes{a}, Limits: append(Limits(meant), Limits(written)...), Judge: meant.Accepts})
	if err != nil {
		t.Fatal(err)
	}
	differ := meant.Accepted(a).Minus(written.Accepted(a))
	if len(got.Disagreements) == 0 {
		t.Fatal("none is found")
	}
	for _, d := range got.Disagreements {
		if d.Taken || !differ.Contains(d.Route.Prefix) {
			t.Errorf("%v", d)
		}
		u, err := bgp.ParseMessage(d.Message, bgp.AS4)
		if err != nil || len(u.Announced) != 1 || u.Announced[0] != d.Route.Prefix ||
			!strings.Contains(d.String(), "the router rejects it, the policy accepts it; message ffff") {
			t.Errorf("%v (%v)", d, err)
		}
	}
	t.Logf("%d of %d probes, such as %v", len(got.Disagreements), got.Probes, got.Disagreements[0])
}
