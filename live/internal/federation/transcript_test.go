package federation

import (
	"bytes"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// saidOnly is all that an entry may say.
var saidOnly = regexp.MustCompile(`^(hop|((no effect|accepted|best-changed|origin-conflict|loop|repeated|crashed|session-closed)\+?)+)( to)?( a| b| c| customer| other| elsewhere| nowhere| to)*$`)

// Of all bytes that go between domains in a check, before they are encrypted, each is accounted for: the messages under test,
// between neighbours alone; handles; bits; and what is signed about them. No other prefix, and nothing of a policy, is among
// them.
func TestTranscript(t *testing.T) {
	routers := hijackable(24)
	n := models(t, routers)
	n.check("a", "customer", announcement(part, asCustomer))
	n.mu.Lock()
	defer n.mu.Unlock()
	tested := []netip.Prefix{netip.MustParsePrefix(part)}
	carried := map[string]int{}
	bits, sizes := 0, 0
	for _, f := range n.frames {
		sizes += len(f.bytes)
		if f.asks {
			r, err := parseRequest(f.bytes)
			if err != nil || !bytes.Equal(appendRequest(nil, r), f.bytes) {
				t.Fatalf("%s asks %s for % x, %v", f.from, f.to, f.bytes, err)
			}
			messages := r.Op == opDeliver || r.Op == opCarry
			if !messages && len(r.Body) > 0 || r.From != "" && r.Op != opDeliver || r.Op != opDeliver && r.Number != 0 {
				t.Errorf("%s asks %s for %+v", f.from, f.to, r)
			}
			if !messages {
				continue
			}
			carried[f.from+" > "+f.to]++
			for _, b := range split(r.Body) {
				u, err := bgp.ParseMessage(b, bgp.AS4)
				if err != nil || !slices.Equal(touched(u), tested) {
					t.Errorf("%s sends %s %+v, %v", f.from, f.to, u, err)
				}
			}
			continue
		}
		a, err := parseAnswer(f.bytes)
		if err != nil || a.Status != statusOK || !bytes.Equal(appendAnswer(nil, a), f.bytes) {
			t.Fatalf("%s answers %s % x, %v", f.from, f.to, f.bytes, err)
		}
		for _, h := range a.Handles {
			if routers[h.To] == nil && h.To != "" {
				t.Errorf("a handle to %q", h.To)
			}
		}
		if len(a.Body) == 0 {
			continue
		}
		s, err := parseStatement(a.Body, n.peers[f.from].Key)
		if err != nil {
			t.Fatal(err)
		}
		if e := s.Entry; e.Domain != f.from || e.Peer != f.to || len(e.Commitment) != 32 || len(e.Session) != 16 ||
			len(e.Previous)%32 != 0 || !saidOnly.MatchString(e.Said) {
			t.Errorf("%s has signed for %s %+v", f.from, f.to, e)
		}
		if f.from != "a" {
			bits += int(s.Entry.Bits)
		}
	}
	// A message goes from the domain that sends it to the one that gets it. The domain that checks sees those of its own router alone.
	if got := strings.Join(sortedKeys(carried), ", "); got != "a > a, a > b, b > c, c > b, c > other" {
		t.Errorf("messages go %s", got)
	}
	if bits != 39 {
		t.Errorf("%d bits", bits)
	}
	t.Logf("%d frames, %d bytes, %d bits", len(n.frames), sizes, bits)

	// And as a plain search: no text of a policy, and no other prefix of a table.
	for _, f := range n.frames {
		for _, m := range routers {
			for _, r := range m.table {
				if text := r.Prefix.String(); strings.Contains(string(f.bytes), text) ||
					r.Prefix != tested[0] && bytes.Contains(f.bytes, bgp.AppendPrefix(nil, r.Prefix)) && r.Prefix.Bits() >= 22 {
					t.Errorf("%s > %s has %s", f.from, f.to, text)
				}
			}
			for _, p := range m.imports {
				if strings.Contains(string(f.bytes), p.Name) {
					t.Errorf("%s > %s has the name of policy %s", f.from, f.to, p.Name)
				}
			}
		}
	}
}
