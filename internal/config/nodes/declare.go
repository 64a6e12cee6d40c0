package nodes

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// Declare gathers the nodes: services of Compose files, and what the configuration says of them and of others.
func Declare(l *load.State, top *source.Node) {
	groups := []struct {
		key   string
		value *source.Node
	}{{"services", l.Composed.Get("services")}, {"nodes", top.Get("nodes")}}
	for _, g := range groups {
		for _, e := range g.value.EntriesOf() {
			if e.Value.Bad {
				continue
			}
			same := slices.IndexFunc(l.Nodes, func(d *load.Node) bool { return strings.EqualFold(d.Name, e.Name) })
			switch {
			case same < 0:
				l.Nodes = append(l.Nodes, &load.Node{Name: e.Name, Of: l.Groups[e.Name].Name, Key: g.key + "." + e.Name, At: e.Key.Position, Value: e.Value})
			case l.Nodes[same].Name != e.Name:
				l.Fail(e.Key.Position, "rename one of the two",
					"node %q differs from %q only in letter case, which host names ignore", e.Name, l.Nodes[same].Name)
			default:
				l.Nodes[same].Of = l.Groups[e.Name].Name
				l.Nodes[same].Value = source.Merge(withoutBuild(l.Nodes[same].Value, e.Value), e.Value)
			}
		}
	}
	for _, d := range l.Nodes {
		if same := slices.IndexFunc(l.Nodes, func(o *load.Node) bool { return o.Of == d.Name }); same >= 0 {
			l.Fail(l.Groups[l.Nodes[same].Name].At, "rename one of them, or write `scale:` for the service",
				"nodes.%s has a count, but %s is also a separate node", d.Name, d.Key)
		}
	}
	l.Nodes = slices.DeleteFunc(l.Nodes, func(d *load.Node) bool {
		if l.Active(d) {
			return false
		}
		l.LeftOut = append(l.LeftOut, d)
		l.Note(d.At, d.Key+".profiles", "the node does not exist, since COMPOSE_PROFILES lists none of its profiles")
		return true
	})
	deployed(l)
	replicate(l)
	switch {
	case len(l.Nodes) == 0 && len(l.LeftOut) > 0 && len(l.Errs) == 0:
		d := l.LeftOut[0]
		remedy := "set the `scale:` of a node to at least 1"
		if !l.Active(d) {
			remedy = "set COMPOSE_PROFILES=" + strings.Join(d.Value.Get("profiles").Words(), ",")
		}
		l.Fail(d.At, remedy, "there are no nodes: profiles or a scale of 0 exclude %s and all others", d.Name)
	case len(l.Nodes) == 0 && len(l.Errs) == 0:
		at := top.Position
		l.Fail(at, "write `nodes:` with at least one node and its `command:`, or use a Compose file: `compose: compose.yaml`", "there are no nodes")
	case len(l.Nodes) > keys.MaxNodes-2:
		l.Fail(l.Nodes[keys.MaxNodes-2].At, "use fewer nodes", "there are more than %d nodes", keys.MaxNodes-2)
		l.Nodes = l.Nodes[:keys.MaxNodes-2]
	}
}

// withoutBuild takes away the Dockerfile of a service where the configuration says what the node runs instead: a command
// that builds it here, or an image.
func withoutBuild(base, over *source.Node) *source.Node {
	if !over.Has("build") && !over.Has("image") {
		return base
	}
	n := *base
	n.Entries = slices.DeleteFunc(slices.Clone(base.Entries), func(e *source.Entry) bool { return e.Name == "build" })
	return &n
}
