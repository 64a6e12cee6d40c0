package faults

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// hidden refuses a rule of a kind that TCP hides where nothing but TCP is spoken, as far as that can be known: drivers of
// ours speak it on links of their clients.
func hidden(l *load.State, at source.Position, r *world.FaultRule, key string) {
	if !fault.RowOf(r.Kind).Datagrams || r.RatePPM == 0 {
		return
	}
	links := 0
	for i, a := range l.Nodes {
		for _, b := range l.Nodes[:i] {
			if a.Spec.Role == world.Checker || b.Spec.Role == world.Checker || a.Spec.Role == world.Client && b.Spec.Role == world.Client {
				continue
			}
			if len(r.Targets) > 0 && !slices.ContainsFunc(r.Targets, func(t string) bool { return concerns(t, a.Spec.Name, b.Spec.Name) }) {
				continue
			}
			if links++; !onlyTCP(l, &a.Spec) && !onlyTCP(l, &b.Spec) {
				return
			}
		}
	}
	if links > 0 {
		l.Fail(at, "remove it, or use drop, delay or corrupt, which delay TCP",
			"%s: %s applies to datagrams (UDP) only, but these links carry only the drivers' TCP", key, r.Kind)
	}
}

// concerns reports whether a target, a node or a link, is about the link of two nodes.
func concerns(target, a, b string) bool {
	switch target {
	case a, b, a + "-" + b, b + "-" + a, a + "->" + b, b + "->" + a:
		return true
	}
	return false
}

// onlyTCP reports whether a node is a client on which nothing runs but drivers that speak TCP.
func onlyTCP(l *load.State, n *world.Node) bool {
	if n.Role != world.Client || len(n.Command) > 0 || n.Health != nil {
		return false
	}
	return !slices.ContainsFunc(l.Spec.Workloads, func(w world.Workload) bool {
		return w.Node == n.Name && (w.Driver == "command" || w.Driver == "composer")
	})
}

// partShape checks the shape of a fault.
func partShape(l *load.State, at source.Position, r *world.FaultRule, key string) {
	var servers []string
	for _, d := range l.Nodes {
		if d.Spec.Role == world.Server {
			servers = append(servers, d.Spec.Name)
		}
	}
	if err := fault.CheckShape(r, servers); err != nil {
		l.Fail(at, "see `bloodhound docs faults` for the shapes", "%s: %v", key, err)
	}
}

// faultTarget checks the name of a node or a link, a-b or a->b.
func faultTarget(l *load.State, at source.Position, name string, kind world.FaultKind, key string) bool {
	var link bool
	switch a, b, arrow := strings.Cut(name, "->"); {
	case l.Node(name) != nil:
		if fault.RowOf(kind).HasNode() && l.Node(name).Spec.Role == world.Client {
			l.Fail(at, "use a server, or set `role: server` for the node", "%s: %s is a client, and %s applies to servers only", key, name, kind)
			return false
		}
		return true
	case arrow:
		link = l.Known(at, key, a) && l.Known(at, key, b)
		if link && a == b {
			l.Fail(at, "write two different nodes", "%s: %q connects a node with itself", key, name)
		}
		if !link || a == b {
			return false
		}
	default:
		for i, c := range name {
			link = link || c == '-' && l.Node(name[:i]) != nil && l.Node(name[i+1:]) != nil && name[:i] != name[i+1:]
		}
	}
	switch {
	case !link:
		l.Fail(at, "write a link as a-b or a->b; "+suggest.Remedy(name, l.NodeNames()), "%s: unknown node or link %q", key, source.Shorten(name))
	case fault.RowOf(kind).HasNode():
		l.Fail(at, "use a server", "%s: %q is a link, and %s applies to nodes", key, name, kind)
		return false
	}
	return link
}

// expand lists the nodes or links that the target of a fault stands for.
func expand(l *load.State, target string) []string {
	there := func(name string) bool { return l.Node(name) != nil || len(l.ReplicasOf(name)) > 0 }
	between := func(a, sign, b string) []string {
		var links []string
		for _, from := range l.Members(a) {
			for _, to := range l.Members(b) {
				if from != to {
					links = append(links, from+sign+to)
				}
			}
		}
		return links
	}
	if there(target) {
		return l.Members(target)
	}
	if a, b, ok := strings.Cut(target, "->"); ok && there(a) && there(b) && a != b {
		return between(a, "->", b)
	}
	for i, c := range target {
		if c == '-' && there(target[:i]) && there(target[i+1:]) && target[:i] != target[i+1:] {
			return between(target[:i], "-", target[i+1:])
		}
	}
	return []string{target}
}
