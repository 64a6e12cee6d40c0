package federation

import (
	"bytes"
	"crypto/rand"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudflare/circl/oprf"
)

func origin(prefix string, asn uint32) Origin { return Origin{netip.MustParsePrefix(prefix), asn} }

// An asker learns whether an origin is in a table, one bit for each that it asks for.
func TestOrigins(t *testing.T) {
	n := models(t, map[string]*model{
		"a": {asn: asA},
		"b": {asn: asB, table: []held{own("10.0.0.0/8"), learnt("c", "192.0.2.0/24", asC, asD),
			learnt("c", "198.51.100.0/24", asC), learnt("d", "198.51.100.0/24", asC)}},
	})
	id := identity("a")
	o, err := AskOrigins(t.Context(), &id, n.peers["b"])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if o.Size() != 3 {
		t.Errorf("%d origins", o.Size())
	}
	asked := []struct {
		origin Origin
		has    bool
	}{{origin("10.0.0.0/8", asB), true}, {origin("10.0.0.0/8", asA), false}, {origin("10.0.0.0/9", asB), false}, {origin("192.0.2.0/24", asD), true},
		{origin("192.0.2.0/24", asC), false}, {origin("198.51.100.0/24", asC), true}, {origin("0.0.0.0/0", 0), false}}
	for _, x := range asked {
		has, err := o.Has(t.Context(), x.origin)
		if err != nil || has != x.has {
			t.Errorf("%v: %v, %v", x.origin, has, err)
		}
	}
	if len(o.Received) != len(asked) {
		t.Errorf("%+v", o.Received)
	}
	if g := n.domains["b"].Log.Given("a"); g.Bits != len(asked) || g.Entries != len(asked) {
		t.Errorf("%+v", g)
	}
	// Equal questions look different, and none has the bytes of a prefix.
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.frames {
		if bytes.Contains(f.bytes, []byte{192, 0, 2}) || strings.Contains(string(f.bytes), "192.0.2.0") {
			t.Errorf("% x", f.bytes)
		}
	}
}

// Another table has other numbers for the same origins.
func TestNewEpoch(t *testing.T) {
	d := &Domain{Router: &model{asn: asB, table: []held{own("10.0.0.0/8"), own("192.0.2.0/24")}}}
	d.times.now = time.Now
	first, err := d.publish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.publish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first.values, second.values) || len(first.values) != 2*valueBytes || first.id == second.id {
		t.Errorf("% x and % x", first.values, second.values)
	}
}

// An answer that was made with another key than that of the table is refused: it would say that nothing is in the table.
func TestAnswerWithAnotherKey(t *testing.T) {
	n := models(t, map[string]*model{"a": {asn: asA}, "b": {asn: asB, table: []held{own("10.0.0.0/8")}}})
	id := identity("a")
	o, err := AskOrigins(t.Context(), &id, n.peers["b"])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	d := n.domains["b"]
	key, err := oprf.GenerateKey(suite, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	d.origins.mu.Lock()
	d.origins.made.server = oprf.NewVerifiableServer(suite, key)
	d.origins.mu.Unlock()
	if has, err := o.Has(t.Context(), origin("10.0.0.0/8", asB)); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("%v, %v", has, err)
	}
	// Neither a point that is none, nor the neutral one, is evaluated.
	c := n.as("a", "b")
	for _, body := range [][]byte{nil, make([]byte, elementBytes), bytes.Repeat([]byte{255}, elementBytes), make([]byte, elementBytes+1)} {
		_, s := ask(t, c, request{Op: opOriginEvaluate, ID: o.epoch, Body: body})
		expectStatus(t, "no point", s, statusBad)
	}
	_, s := ask(t, c, request{Op: opOriginChunk, ID: o.epoch, Number: 1 << 31})
	expectStatus(t, "no chunk", s, statusBad)
	_, s = ask(t, c, request{Op: opOriginChunk})
	expectStatus(t, "no epoch", s, statusUnknown)
}

// A table of several chunks.
func TestManyOrigins(t *testing.T) {
	m := &model{asn: asB}
	for i := range chunkOrigins + 10 {
		m.table = append(m.table, held{"c", learnt("c", "10.0.0.0/24", uint32(i)).Route})
	}
	n := models(t, map[string]*model{"a": {asn: asA}, "b": m})
	id := identity("a")
	o, err := AskOrigins(t.Context(), &id, n.peers["b"])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var list [][]byte
	for i := range o.Size() {
		list = append(list, o.value(i))
	}
	if o.Size() != len(m.table) || !slices.IsSortedFunc(list, bytes.Compare) {
		t.Errorf("%d origins", o.Size())
	}
	for asn, want := range map[uint32]bool{1: true, chunkOrigins + 9: true, chunkOrigins + 10: false} {
		if has, err := o.Has(t.Context(), origin("10.0.0.0/24", asn)); err != nil || has != want {
			t.Errorf("%d: %v, %v", asn, has, err)
		}
	}
}

func BenchmarkOrigin(b *testing.B) {
	d := &Domain{Router: &model{asn: asB, table: slices.Repeat([]held{own("10.0.0.0/8")}, 1000)}}
	d.times.now = time.Now
	for b.Loop() {
		if _, err := d.publish(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "us/origin")
}
