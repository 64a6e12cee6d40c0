package policy

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
)

// draw returns numbers below n, the same each time.
func draw(seed uint64) func(n int) int {
	return func(n int) int {
		seed += splitmix.Gamma
		return int(splitmix.Mix(seed) % uint64(n))
	}
}

// random makes a policy over prefixes in 20.0.0.0/24, three origins and three communities.
func random(name string, below func(int) int) *Policy {
	p := &Policy{Name: name, Accept: below(3) == 0}
	for range 1 + below(4) {
		s := Statement{Accept: below(2) == 0}
		for range below(4) {
			prefix := randomPrefix(below)
			low := prefix.Bits() + below(33-prefix.Bits())
			s.Prefixes = append(s.Prefixes, prefixset.Range{Prefix: prefix, Min: low, Max: low + below(33-low)})
		}
		for range below(3) {
			s.Origins = append(s.Origins, uint32(64496+below(3)))
		}
		for range below(3) {
			s.Communities = append(s.Communities, bgp.Community(64496<<16|below(3)))
		}
		p.Statements = append(p.Statements, s)
	}
	return p
}

func randomPrefix(below func(int) int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{20, 0, 0, byte(below(256))}), 24+below(9)).Masked()
}

func randomAttributes(below func(int) int) *bgp.Attributes {
	a := &bgp.Attributes{Path: bgp.Sequence(64511, uint32(64496+below(4))), NextHop: table.Feed.Address}
	for range below(3) {
		a.Communities = append(a.Communities, bgp.Community(64496<<16|below(4)))
	}
	return a
}

func TestAcceptedIsWhatIsAccepted(t *testing.T) {
	below := draw(1)
	all := prefixset.FromRanges(prefixset.Range{Prefix: netip.MustParsePrefix("20.0.0.0/24"), Min: 24, Max: 32})
	accepted, rejected := 0, 0
	for range 200 {
		p, a := random("p", below), randomAttributes(below)
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		set := p.Accepted(a)
		for prefix := range all.Prefixes() {
			want := p.Accepts(bgp.Route{Prefix: prefix, Attributes: a})
			if set.Contains(prefix) != want {
				t.Fatalf("%+v for %v with %+v: %t", p, prefix, a, !want)
			}
			if want {
				accepted++
			} else {
				rejected++
			}
		}
	}
	if accepted < 10_000 || rejected < 10_000 {
		t.Errorf("%d accepted and %d rejected: the policies are no test", accepted, rejected)
	}
}

func TestConditions(t *testing.T) {
	route := func(prefix string, path bgp.Path, communities ...bgp.Community) bgp.Route {
		return bgp.Route{Prefix: netip.MustParsePrefix(prefix), Attributes: &bgp.Attributes{Path: path, Communities: communities}}
	}
	p := &Policy{Name: "in", Statements: []Statement{
		{Prefixes: []prefixset.Range{{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Min: 16, Max: 24}}, Origins: []uint32{1, 2},
			Communities: []bgp.Community{7, 8}, Accept: true},
		{Communities: []bgp.Community{9}, Accept: true},
	}}
	set := bgp.Path{{ASNs: []uint32{1}}, {Set: true, ASNs: []uint32{2}}}
	for _, c := range []struct {
		route bgp.Route
		want  bool
	}{
		{route("10.1.0.0/16", bgp.Sequence(3, 1), 8), true},
		{route("10.1.0.0/16", bgp.Sequence(1, 3), 8), false},
		{route("10.1.0.0/16", set, 8), false},
		{route("10.0.0.0/15", bgp.Sequence(3, 1), 8), false},
		{route("10.1.1.0/25", bgp.Sequence(3, 1), 8), false},
		{route("11.1.0.0/16", bgp.Sequence(3, 1), 8), false},
		{route("10.1.0.0/16", bgp.Sequence(3, 1)), false},
		{route("11.0.0.0/8", nil, 9), true},
	} {
		if got := p.Accepts(c.route); got != c.want {
			t.Errorf("%v %+v: %t", c.route.Prefix, c.route.Attributes, got)
		}
	}
}

func TestBadPoliciesAreRefused(t *testing.T) {
	r := func(text string, low, high int) []Statement {
		return []Statement{{Prefixes: []prefixset.Range{{Prefix: netip.MustParsePrefix(text), Min: low, Max: high}}}}
	}
	for _, p := range []*Policy{
		{}, {Name: "1x"}, {Name: "a b"}, {Name: "a", Statements: []Statement{{Prefixes: []prefixset.Range{}}}},
		{Name: "a", Statements: []Statement{{Origins: []uint32{}}}},
		{Name: "a", Statements: r("10.0.0.0/8", 9, 8)}, {Name: "a", Statements: r("10.0.0.0/8", 0, 7)}, {Name: "a", Statements: r("10.0.0.1/8", 8, 9)},
		{Name: "a", Statements: r("10.0.0.0/8", 8, 33)}, {Name: "a", Statements: r("2001:db8::/32", 32, 32)},
	} {
		var b bytes.Buffer
		if p.BIRD(&b) == nil || p.GoBGP(&b, netip.MustParseAddr("192.0.2.1")) == nil || b.Len() > 0 {
			t.Errorf("%+v was written", p)
		}
	}
}

func TestTexts(t *testing.T) {
	p := &Policy{Name: "customer_in", Statements: []Statement{
		{Prefixes: []prefixset.Range{{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Min: 0, Max: 24},
			prefixset.Exactly(netip.MustParsePrefix("192.0.2.0/24"))}, Origins: []uint32{1, 196608}, Accept: true},
		{Communities: []bgp.Community{64500<<16 | 666}},
	}, Accept: true}
	var b bytes.Buffer
	if err := p.BIRD(&b); err != nil {
		t.Fatal(err)
	}
	if want := `filter customer_in {
	if net ~ [ 10.0.0.0/8{8,24}, 192.0.2.0/24{24,24} ] && bgp_path.last ~ [ 1, 196608 ] then accept;
	if bgp_community ~ [ (64500,666) ] then reject;
	accept;
}
`; b.String() != want {
		t.Errorf("BIRD:\n%s", &b)
	}
	b.Reset()
	if err := p.GoBGP(&b, netip.MustParseAddr("192.0.2.1")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ip-prefix = \"10.0.0.0/8\"\n    masklength-range = \"8..24\"",
		`as-path-list = ["_1$", "_196608$"]`, `community-list = ["64500:666"]`,
		"name = \"customer_in-3\"\n  [policy-definitions.statements.conditions.match-neighbor-set]\n    neighbor-set = " +
			"\"customer_in\"\n  [policy-definitions.statements.actions]\n    route-disposition = \"accept-route\""} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("GoBGP lacks %s:\n%s", want, &b)
		}
	}
}

// BIRD itself imports static routes by the filters, each into a table of its own.
func TestBIRDAcceptsTheSame(t *testing.T) {
	bird, birdc := needs.Program(t, "bird"), needs.Program(t, "birdc")
	below := draw(2)
	const policies = 40
	var config bytes.Buffer
	config.WriteString("router id 198.18.0.2;\nprotocol device {}\n")
	want := make([]map[string]bool, policies)
	for i := range policies {
		p := random(fmt.Sprintf("p%d", i), below)
		if err := p.BIRD(&config); err != nil {
			t.Fatal(err)
		}
		want[i] = map[string]bool{}
		fmt.Fprintf(&config, "ipv4 table t%d;\nprotocol static s%d {\n\tipv4 { table t%d; import filter p%d; };\n", i, i, i, i)
		seen := map[netip.Prefix]bool{}
		for range 60 {
			prefix, a := randomPrefix(below), randomAttributes(below)
			if seen[prefix] {
				continue
			}
			seen[prefix] = true
			asn, _ := a.Path.Origin()
			fmt.Fprintf(&config, "\troute %v blackhole { bgp_path.prepend(%d); bgp_path.prepend(%d);", prefix, asn, a.Path[0].ASNs[0])
			for _, c := range a.Communities {
				fmt.Fprintf(&config, " bgp_community.add((%d,%d));", c>>16, c&0xffff)
			}
			config.WriteString(" };\n")
			if p.Accepts(bgp.Route{Prefix: prefix, Attributes: a}) {
				want[i][prefix.String()] = true
			}
		}
		config.WriteString("}\n")
	}
	// A socket's path may have 107 bytes.
	folder, err := os.MkdirTemp("", "bird")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	name, socket := filepath.Join(folder, "bird.conf"), filepath.Join(folder, "ctl")
	if err := os.WriteFile(name, config.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	cmd := exec.Command(bird, "-f", "-c", name, "-s", socket, "-P", filepath.Join(folder, "pid"))
	cmd.Stderr = &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(time.Minute); ; {
		if out, err := exec.Command(birdc, "-s", socket, "show", "protocols").CombinedOutput(); err == nil &&
			strings.Count(string(out), "Static") == policies && !strings.Contains(string(out), "down") {
			break
		}
		select {
		case <-ended:
			t.Fatalf("BIRD has ended: %s", &output)
		case <-time.After(20 * time.Millisecond): // BIRD reports nothing when it is up
		}
		if time.Now().After(deadline) {
			t.Fatalf("BIRD is not up after a minute: %s", &output)
		}
	}
	for i := range policies {
		out, err := exec.Command(birdc, "-s", socket, "show", "route", "table", fmt.Sprintf("t%d", i)).CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			if prefix, _, _ := strings.Cut(line, " "); strings.HasPrefix(prefix, "20.") {
				got[prefix] = true
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want[i]) {
			t.Errorf("policy %d: BIRD accepts %v, not %v", i, got, want[i])
		}
	}
}

func TestScenario(t *testing.T) {
	made, err := table.Generate(3000, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewScenario(made.Routes)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Filters {
		p := s.Import(f)
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		a := s.Announcement()
		if p.Accepts(bgp.Route{Prefix: s.Block, Attributes: a}) != (f != WrongASN) {
			t.Errorf("%s: the customer's block is treated wrongly", f)
		}
		a.Communities = nil
		if p.Accepts(bgp.Route{Prefix: s.Block, Attributes: a}) {
			t.Errorf("%s accepts a route without the tag", f)
		}
	}
	if _, err := NewScenario(made.Routes[:1]); err == nil {
		t.Error("a scenario of one route")
	}
}
