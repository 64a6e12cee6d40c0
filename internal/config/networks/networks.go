// Package networks reads networks and links, and gives nodes their addresses.
package networks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// defaultNetwork is the one that nodes are on which name none (Compose).
const defaultNetwork = "default"

// bridgeNetwork is the one of `network_mode: bridge`.
const bridgeNetwork = "bridge"

// Declare gathers the networks of all files. A later file's keys replace those of an earlier one.
func Declare(l *load.State, top *source.Node) {
	for _, file := range []*source.Node{l.Composed, top} {
		for _, e := range file.Get("networks").EntriesOf() {
			d := l.Network(e.Name)
			if d == nil {
				d = &load.Network{Name: e.Name}
				l.Networks = append(l.Networks, d)
			}
			d.At, d.Implied = e.Key.Position, e.Implied
			if e.Value.Kind == source.Mapping && !e.Value.Bad {
				if d.Value != nil {
					d.Value = source.Merge(d.Value, e.Value)
				} else {
					d.Value = e.Value
				}
			}
		}
	}
	first := l.Network(defaultNetwork)
	if first == nil {
		first = &load.Network{Name: defaultNetwork, At: top.Position}
	}
	l.Networks = append([]*load.Network{first}, slices.DeleteFunc(l.Networks, func(d *load.Network) bool { return d == first })...)
}

// ReadNetworks reads which networks a node is on.
func ReadNetworks(l *load.State, d *load.Node) {
	mode, networks := d.Value.Get("network_mode"), d.Value.Entry("networks")
	if networks != nil && networks.Implied || networks.IsEmpty() {
		networks = nil
	}
	if mode != nil && networks != nil {
		l.Fail(networks.Key.Position, "remove one of the two", "%s has both network_mode and networks", d.Key)
		return
	}
	if mode != nil {
		networkMode(l, d, mode)
		return
	}
	if networks == nil || networks.Value.Bad {
		d.Everywhere = d.Spec.Role != world.Server
		if !d.Everywhere {
			d.Nets = []load.Want{{Network: defaultNetwork}}
		}
		return
	}
	key := d.Key + ".networks"
	add := func(name string, at source.Position, value *source.Node) {
		switch {
		case l.Network(name) == nil:
			l.Fail(at, declareIt(l, name), "%s: unknown network %q", key, source.Shorten(name))
		case slices.ContainsFunc(d.Nets, func(w load.Want) bool { return w.Network == name }):
			l.Fail(at, "remove one of them", "%s: %q is listed twice", key, name)
		default:
			w := load.Want{Network: name, Value: value}
			for _, item := range value.Get("aliases").List() {
				if alias := l.HostName(item, key+"."+name+".aliases", d.Name); alias != d.Name && !slices.Contains(w.Aliases, alias) {
					w.Aliases = append(w.Aliases, alias)
				}
			}
			d.Nets = append(d.Nets, w)
		}
	}
	for _, item := range networks.Value.List() {
		add(item.Text, item.Position, nil)
	}
	for _, e := range networks.Value.Entries {
		if !e.Value.Bad {
			add(e.Name, e.Key.Position, e.Value)
		}
	}
	// Compose connects a service to its networks in the order of their priority, then of their names.
	slices.SortStableFunc(d.Nets, func(a, b load.Want) int {
		return cmp.Or(cmp.Compare(source.ValueOr(b.Text("priority"), int64(0)), source.ValueOr(a.Text("priority"), int64(0))),
			cmp.Compare(a.Network, b.Network))
	})
}

func declareIt(l *load.State, name string) string {
	if near := suggest.Nearest(name, l.NetworkNames()); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "define it: `networks: {" + name + ": {}}` at the top level of the file"
}

func networkMode(l *load.State, d *load.Node, mode *source.Node) {
	key := d.Key + ".network_mode"
	kind, of, _ := strings.Cut(mode.Text, ":")
	switch kind {
	case "none":
		d.Offline = true
	case "bridge", "default":
		if l.Network(bridgeNetwork) == nil {
			l.Networks = append(l.Networks, &load.Network{Name: bridgeNetwork, At: mode.Position})
		}
		d.Nets = []load.Want{{Network: bridgeNetwork}}
		if !l.Bridged {
			l.Note(mode.Position, key, "nodes with this mode share a network; unlike in Docker, names resolve on it")
		}
		l.Bridged = true
	case "host":
		l.Idle(mode.Position, key, "a world has no host network: the node joins every network with its own addresses, and localhost is the node itself")
		d.Everywhere = true
	case "service":
		d.Offline = true // it has nothing of its own
		switch {
		case of == d.Name:
			l.Fail(mode.Position, "use another node", "%s: a node cannot use its own network", key)
		case l.Known(mode.Position, key, of):
			d.Spec.NetworkOf = of
		}
		for _, k := range []string{"hostname", "extra_hosts", "links", "mac_address"} {
			if d.Value.Has(k) {
				l.Fail(l.PlaceOf(d, k), "set it on the node that owns the network, or remove it",
					"%s.%s cannot be set, since the node uses the network of another node", d.Key, k)
			}
		}
	case "container":
		l.Fail(mode.Position, "make it a service, and write `network_mode: service:NAME`",
			"%s: %q is a Docker container, which a world cannot use", key, source.Shorten(of))
	default:
		remedy := suggest.Remedy(mode.Text, []string{"none", "host", "bridge"})
		if l.Network(mode.Text) != nil {
			remedy = "write `networks: [" + mode.Text + "]`"
		}
		l.Fail(mode.Position, remedy, "%s: unknown value %q", key, source.Shorten(mode.Text))
	}
}
