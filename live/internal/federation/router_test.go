package federation

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
)

// model is a router of this test: import policies, a preference for each neighbour, the shortest path, and routes to all
// neighbours but the one that they came from.
type model struct {
	asn     uint32
	table   []held
	imports map[string]*policy.Policy  // of neighbours; another one's routes are rejected
	tags    map[string][]bgp.Community // attached to what is accepted from a neighbour
	prefer  map[string]int             // the larger is the better
	most    map[string]int             // how long a path of a neighbour may be; 0 is any
	strip   bool                       // sends paths of its own AS alone, and takes what it has sent
	crash   func(u *bgp.Update) bool
	stuck   bool
}

// held is a route that a router has.
type held struct {
	from string // empty: its own
	bgp.Route
}

func own(prefix string) held {
	return held{"", bgp.Route{Prefix: netip.MustParsePrefix(prefix), Attributes: &bgp.Attributes{}}}
}

func learnt(from, prefix string, path ...uint32) held {
	return held{from, bgp.Route{Prefix: netip.MustParsePrefix(prefix), Attributes: &bgp.Attributes{Path: bgp.Sequence(path...)}}}
}

func (m *model) Checkpoint(context.Context) (Copy, error) {
	return &modelCopy{model: m, table: slices.Clone(m.table)}, nil
}

func (m *model) Origins(context.Context) (iter.Seq[Origin], error) {
	return func(yield func(Origin) bool) {
		for _, r := range m.table {
			asn, ok := r.Attributes.Path.Origin()
			if !ok {
				asn = m.asn
			}
			if !yield(Origin{r.Prefix, asn}) {
				return
			}
		}
	}, nil
}

type modelCopy struct {
	*model
	table  []held
	closed bool
}

func (c *modelCopy) Close() error {
	c.closed = true
	return nil
}

// routesTo returns the routes of a table to a prefix, the best one first.
func (m *model) routesTo(table []held, p netip.Prefix) []held {
	list := slices.DeleteFunc(slices.Clone(table), func(r held) bool { return r.Prefix != p })
	slices.SortStableFunc(list, func(a, b held) int {
		return cmp.Or(cmp.Compare(m.prefer[b.from], m.prefer[a.from]),
			cmp.Compare(a.Attributes.Path.Len(), b.Attributes.Path.Len()), cmp.Compare(a.from, b.from))
	})
	return list
}

func (m *model) longest(table []held, p netip.Prefix) (list []Route) {
	for length := p.Bits(); length >= 0 && list == nil; length-- {
		outer, _ := p.Addr().Prefix(length)
		for _, r := range m.routesTo(table, outer) {
			list = append(list, Route{r.Prefix, r.from, r.Attributes.Path})
		}
	}
	return list
}

func (c *modelCopy) Routes(_ context.Context, p netip.Prefix) (initial, now []Route, err error) {
	return c.longest(c.model.table, p), c.longest(c.table, p), nil
}

func (c *modelCopy) Deliver(ctx context.Context, from string, message []byte) (e Effect, err error) {
	if c.closed {
		return e, fmt.Errorf("the copy is closed")
	}
	if c.stuck {
		<-ctx.Done()
		return e, ctx.Err()
	}
	u, err := bgp.ParseMessage(message, bgp.AS4)
	if err != nil {
		return e, err
	}
	if c.crash != nil && c.crash(u) {
		return Effect{Crashed: true}, nil
	}
	for _, p := range touched(u) {
		before := c.routesTo(c.table, p)
		c.table = slices.DeleteFunc(c.table, func(r held) bool { return r.from == from && r.Prefix == p })
		if slices.Contains(u.Announced, p) {
			a, imports := *u.Attributes, c.imports[from]
			if imports != nil && (c.strip || !passed(a.Path, c.asn)) && imports.Accepts(bgp.Route{Prefix: p, Attributes: &a}) &&
				(c.most[from] == 0 || a.Path.Len() <= c.most[from]) {
				a.Communities = slices.Concat(a.Communities, c.tags[from])
				c.table = append(c.table, held{from, bgp.Route{Prefix: p, Attributes: &a}})
			}
		}
		now := c.routesTo(c.table, p)
		for _, to := range slices.Sorted(maps.Keys(c.imports)) {
			was, is := c.export(before, to), c.export(now, to)
			switch {
			case string(was) == string(is):
			case is == nil:
				withdrawn, _ := bgp.AppendMessage(nil, &bgp.Update{Withdrawn: []netip.Prefix{p}}, bgp.AS4)
				e.Sent = append(e.Sent, Sent{to, withdrawn})
			default:
				e.Sent = append(e.Sent, Sent{to, is})
			}
		}
	}
	return e, nil
}

// export is the announcement of the best route to a neighbour.
func (m *model) export(list []held, to string) []byte {
	if len(list) == 0 || list[0].from == to {
		return nil
	}
	a := *list[0].Attributes
	path := []uint32{m.asn}
	if !m.strip && len(a.Path) > 0 {
		path = append(path, a.Path[0].ASNs...)
	}
	a.Path, a.NextHop = bgp.Sequence(path...), netip.MustParseAddr("198.18.0.1")
	return announcementOf(list[0].Prefix, &a)
}

func announcementOf(p netip.Prefix, a *bgp.Attributes) []byte {
	b, err := bgp.AppendMessage(nil, &bgp.Update{Attributes: a, Announced: []netip.Prefix{p}}, bgp.AS4)
	if err != nil {
		panic(err)
	}
	return b
}

// announcement is a neighbour's announcement of a prefix with a path.
func announcement(prefix string, path ...uint32) []byte {
	return announcementOf(netip.MustParsePrefix(prefix), &bgp.Attributes{Path: bgp.Sequence(path...), NextHop: netip.MustParseAddr("198.18.0.9")})
}

// nothing rejects all routes.
func nothing(neighbours ...string) map[string]*policy.Policy {
	m := map[string]*policy.Policy{}
	for _, n := range neighbours {
		m[n] = &policy.Policy{Name: "nothing"}
	}
	return m
}

// anything accepts all routes.
func anything(neighbours ...string) map[string]*policy.Policy {
	m := map[string]*policy.Policy{}
	for _, n := range neighbours {
		m[n] = &policy.Policy{Name: "anything", Accept: true}
	}
	return m
}
