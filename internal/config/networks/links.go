package networks

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// unsharedLinks reports which links no packet can take.
func unsharedLinks(l *load.State, top *source.Node) {
	for i, n := range top.Get("links").List() {
		ends := n.Get("between").List()
		if len(ends) != 2 {
			continue
		}
		a, b := l.Node(ends[0].Text), l.Node(ends[1].Text)
		if a != nil && b != nil && addressFor(a, b) == "" {
			l.Idle(n.Get("between").Position, fmt.Sprintf("links[%d]", i), fmt.Sprintf("%s and %s share no network", a.Name, b.Name))
		}
	}
}

// Links reads the network's defaults and the links that differ from them.
func Links(l *load.State, top *source.Node) {
	l.Spec.DefaultLink = linkOf(top.Get("network"), world.Link{LatencyNs: 500_000, JitterNs: 100_000})
	for i, n := range top.Get("links").List() {
		key := fmt.Sprintf("links[%d]", i)
		k := linkOf(n, l.Spec.DefaultLink)
		k.OneWay = source.ValueOr(n.Get("one_way"), false)
		between := n.Get("between")
		ends := between.List()
		switch {
		case between == nil:
			l.Missing(n, "between", "add `between: [a, b]`", "%s does not list two nodes", key)
			continue
		case len(ends) < len(between.Items):
			continue
		case len(ends) != 2:
			l.Fail(n.Position, "write `between: [a, b]`", "%s does not list two nodes", key)
			continue
		case !l.Known(ends[0].Position, key+".between", ends[0].Text) || !l.Known(ends[1].Position, key+".between", ends[1].Text):
			continue
		case ends[0].Text == ends[1].Text:
			l.Fail(between.Position, "write two different nodes", "%s connects %s with itself", key, ends[0].Text)
			continue
		}
		k.From, k.To = ends[0].Text, ends[1].Text
		if slices.ContainsFunc(l.Spec.Links, func(o world.Link) bool { return overlap(o, k) }) {
			l.Fail(between.Position, "remove one of them", "%s: there are two links between %s and %s", key, k.From, k.To)
			continue
		}
		l.Spec.Links = append(l.Spec.Links, k)
	}
}

func overlap(a, b world.Link) bool {
	same := a.From == b.From && a.To == b.To
	crossed := a.From == b.To && a.To == b.From
	return same || crossed && !(a.OneWay && b.OneWay)
}

func linkOf(n *source.Node, otherwise world.Link) world.Link {
	return world.Link{LatencyNs: source.ValueOr(n.Get("latency"), otherwise.LatencyNs), JitterNs: source.ValueOr(n.Get("jitter"), otherwise.JitterNs),
		BandwidthBytes: source.ValueOr(n.Get("bandwidth_bytes"), otherwise.BandwidthBytes)}
}
