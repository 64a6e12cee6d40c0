package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Network finds a network by its name, or returns nil.
func (l *State) Network(name string) *Network {
	for _, d := range l.Networks {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// NetworkNames are the names of all networks.
func (l *State) NetworkNames() []string {
	var names []string
	for _, d := range l.Networks {
		names = append(names, d.Name)
	}
	return names
}

// SearchPath is PATH where a node names none.
const SearchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Docker's first delay before it starts a program again (it doubles there).
const RestartDelayNs = 100_000_000

// Active reports whether a node's profiles are asked for.
func (l *State) Active(d *Node) bool {
	profiles := d.Value.Get("profiles")
	if profiles == nil || len(profiles.Items) == 0 {
		return true
	}
	wanted, _ := d.Value.File.Lookup("COMPOSE_PROFILES")
	for _, w := range strings.Split(wanted, ",") {
		if w = strings.TrimSpace(w); w == "*" || slices.Contains(profiles.Words(), w) {
			return true
		}
	}
	return false
}

// Node finds a node by its name, or returns nil.
func (l *State) Node(name string) *Node {
	for _, d := range l.Nodes {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// NodeNames are the names of all nodes.
func (l *State) NodeNames() []string {
	var names []string
	for _, d := range l.Nodes {
		names = append(names, d.Name)
	}
	return names
}

// Known complains about a name that is no node's.
func (l *State) Known(at source.Position, key, name string) bool {
	if l.Node(name) != nil {
		return true
	}
	if replicas := l.ReplicasOf(name); len(replicas) > 0 {
		l.Fail(at, "use one of them, such as "+replicas[0].Name, "%s: %q stands for %d nodes", key, name, len(replicas))
		return false
	}
	for _, d := range l.LeftOut {
		if d.Name != name {
			continue
		}
		if l.Active(d) {
			l.Fail(at, "set `scale:` to at least 1", "%s: node %s does not exist, since its scale is 0", key, name)
		} else {
			l.Fail(at, "set COMPOSE_PROFILES="+strings.Join(d.Value.Get("profiles").Words(), ","),
				"%s: node %s does not exist, since none of its profiles is active", key, name)
		}
		return false
	}
	l.Fail(at, suggest.Remedy(name, l.NodeNames()), "%s: unknown node %q", key, name)
	return false
}

// PlaceOf is where a node has a key, or else its name.
func (l *State) PlaceOf(d *Node, key string) source.Position {
	if e := d.Value.Entry(key); e != nil {
		return e.Key.Position
	}
	return d.At
}

// DirOf is the folder in which the relative paths of a node's key start: that of the file that has it.
func (l *State) DirOf(d *Node, key string) string {
	f := d.At.File
	if e := d.Value.Entry(key); e != nil {
		f = e.Key.File
	}
	return f.Dir
}

// HostName reads the name of a machine; without one it is otherwise.
func (l *State) HostName(n *source.Node, key, otherwise string) string {
	name := source.ValueOr(n, otherwise)
	if n != nil && !keys.NodeName.MatchString(name) {
		l.Fail(n.Position, "use letters and digits, and - _ . after the first character", "%s: %q is not a valid host name", key, source.Shorten(name))
		return otherwise
	}
	return name
}

// Client adds a node for drivers or checks of our own. The name gets a number where it is taken.
func (l *State) Client(name string) *Node {
	unique := name
	taken := func(name string) bool {
		return slices.ContainsFunc(l.Nodes, func(d *Node) bool { return d.called(name) })
	}
	for i := 2; taken(unique); i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	d := &Node{Name: unique, At: source.Position{File: l.Files[0]},
		Value: &source.Node{Kind: source.Mapping, Position: source.Position{File: l.Files[0]}}, Everywhere: true, Ours: true}
	d.Spec = world.Node{Name: unique, Role: world.Client, Hostname: unique, Root: world.NoRoot, WorkingDir: "/",
		Env:         []string{"PATH=" + SearchPath, "HOME=/root", "HOSTNAME=" + unique},
		Restart:     world.Restart{Mode: world.RestartNo, DelayNs: RestartDelayNs},
		StopSignal:  "SIGTERM",
		StopGraceNs: 10e9}
	l.Nodes = append(l.Nodes, d)
	return d
}

// Checker is the node that probes run on. No fault touches it: what it sees is the servers' doing.
func (l *State) Checker() *Node {
	if i := slices.IndexFunc(l.Nodes, func(d *Node) bool { return d.Spec.Role == world.Checker }); i >= 0 {
		return l.Nodes[i]
	}
	d := l.Client("checker")
	d.Spec.Role = world.Checker
	return d
}

// ReplicasOf are the nodes that a service stands for, none if it is one itself.
func (l *State) ReplicasOf(name string) []*Node {
	var replicas []*Node
	for _, d := range l.Nodes {
		if d.Of == name && name != "" {
			replicas = append(replicas, d)
		}
	}
	return replicas
}

// ServiceOf is the name of the service that a node comes from: a replica shares it with others.
func (l *State) ServiceOf(d *Node) string {
	if _, counted := l.Groups[d.Name]; counted || d.Of == "" {
		return d.Name
	}
	return d.Of
}

// Members are the names of the nodes that a name stands for: of the replicas of a service, or itself.
func (l *State) Members(name string) []string {
	if l.Node(name) != nil {
		return []string{name}
	}
	var names []string
	for _, d := range l.ReplicasOf(name) {
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return []string{name}
	}
	return names
}
