package networks

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// separate reports whether the world needs networks: without them, all nodes share one.
func separate(l *load.State) bool {
	if d := l.Network(defaultNetwork); d.Value != nil {
		if slices.ContainsFunc([]string{"internal", "enable_ipv4", "enable_ipv6", "external"}, d.Value.Has) {
			return true
		}
		if name := source.ValueOr(d.Value.Get("name"), ""); name != "" && !strings.HasSuffix(name, "_"+defaultNetwork) ||
			len(d.Value.Get("ipam").Get("config").List()) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(l.Nodes, func(d *load.Node) bool {
		return d.Offline || d.Value.Has("mac_address") || slices.ContainsFunc(d.Nets, func(w load.Want) bool {
			return w.Network != defaultNetwork ||
				slices.ContainsFunc([]string{"ipv4_address", "ipv6_address", "mac_address", "interface_name", "gw_priority",
					"use_service_name_alias"}, w.Value.Has)
		})
	})
}

// attach makes the networks and gives nodes their interfaces.
func attach(l *load.State) {
	var used []*load.Network
	for _, n := range l.Networks {
		on := slices.ContainsFunc(l.Nodes, func(d *load.Node) bool {
			return slices.ContainsFunc(d.Nets, func(w load.Want) bool { return w.Network == n.Name })
		})
		if !on && n.Value != nil && !n.Implied {
			l.Idle(n.At, "networks."+n.Name, "no node uses it")
		}
		if on {
			used = append(used, n)
		}
	}
	if len(used) == 0 { // all nodes are alone, but for those of our own
		used = []*load.Network{l.Network(defaultNetwork)}
	}
	chooseSubnets(l, used)
	for _, d := range l.Nodes {
		if d.Everywhere {
			for _, n := range used {
				d.Nets = append(d.Nets, load.Want{Network: n.Name})
			}
		}
	}
	for _, d := range l.Nodes {
		for i := range d.Nets {
			fixedAddress(l, d, &d.Nets[i], "ipv4_address")
			fixedAddress(l, d, &d.Nets[i], "ipv6_address")
		}
	}
	for _, d := range l.Nodes {
		for i := range d.Nets {
			d.Spec.Attachments = append(d.Spec.Attachments, attachment(l, d, &d.Nets[i]))
		}
		interfaceNames(l, d)
		hardware(l, d)
		for _, a := range d.Spec.Attachments {
			d.Spec.IPv4, d.Spec.IPv6 = cmp.Or(d.Spec.IPv4, a.IPv4), cmp.Or(d.Spec.IPv6, a.IPv6)
		}
	}
	for _, n := range used {
		l.Spec.Networks = append(l.Spec.Networks, n.Spec)
	}
}

// fixedAddress reads an address that a node asks for.
func fixedAddress(l *load.State, d *load.Node, w *load.Want, key string) {
	t := w.Text(key)
	if t == nil || t.Kind != source.Scalar || t.Text == "" {
		return
	}
	n := l.Network(w.Network)
	f, such, version := &n.V4, "172.28.0.5", "IPv4"
	if key == "ipv6_address" {
		f, such, version = &n.V6, "fd28::5", "IPv6"
	}
	place := d.Key + ".networks." + w.Network + "." + key
	a, err := netip.ParseAddr(strings.TrimSpace(t.Text))
	switch {
	case err != nil || a.Is4() != (f == &n.V4) || a.Is4In6() || a.Zone() != "":
		l.Fail(t.Position, "write an address such as "+such, "%s: %q is not an %s address", place, source.Shorten(t.Text), version)
	case !f.On:
		l.Fail(t.Position, fmt.Sprintf("add `enable_%s: true` to the network", strings.ToLower(version)),
			"%s: the network %s has no %s", place, n.Name, version)
	case !f.Given:
		l.Fail(t.Position, fmt.Sprintf("set one: `networks: {%s: {ipam: {config: [{subnet: %s}]}}}`", n.Name, around(a)),
			"%s: a fixed address needs a network with a `subnet`, and %s has none", place, n.Name)
	case !f.Subnet.Contains(a):
		l.Fail(t.Position, "use an address of "+f.Subnet.String(), "%s: %s is not in the subnet %s of %s", place, a, f.Subnet, n.Name)
	case f.Taken[a] != "":
		l.Fail(t.Position, "choose another", "%s: %s is %s", place, a, f.Taken[a])
	default:
		f.Taken[a] = "the address of node " + d.Name
		if a.Is4() {
			w.V4 = a
		} else {
			w.V6 = a
		}
	}
}

// around is a subnet that an address could be of.
func around(a netip.Addr) string {
	bits := 16
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return a.String()
	}
	return p.String()
}

// attachment gives a node its addresses on a network.
func attachment(l *load.State, d *load.Node, w *load.Want) world.Attachment {
	n := l.Network(w.Network)
	a := world.Attachment{Network: n.Name, Aliases: w.Aliases, GatewayPriority: source.ValueOr(w.Text("gw_priority"), int64(0))}
	if a.Unnamed = !source.ValueOr(w.Text("use_service_name_alias"), true); a.Unnamed {
		a.Aliases = append(slices.Clone(a.Aliases), d.Value.Get("container_name").Words()...)
	}
	pick := func(f *load.Family, fixed netip.Addr) string {
		switch {
		case fixed.IsValid():
			return fixed.String()
		case !f.On || !f.Subnet.IsValid():
			return ""
		}
		if !f.Next.IsValid() {
			f.Next = f.Pool.Addr()
		}
		for ; f.Pool.Contains(f.Next); f.Next = f.Next.Next() {
			if f.Taken[f.Next] == "" {
				f.Taken[f.Next] = "the address of node " + d.Name
				return f.Next.String()
			}
		}
		l.Fail(f.At, "use a larger subnet or ip_range; drivers and checks add nodes to every network",
			"networks.%s: %s has no free address for node %s", n.Name, f.Pool, d.Name)
		return ""
	}
	a.IPv4, a.IPv6 = pick(&n.V4, w.V4), pick(&n.V6, w.V6)
	return a
}

// interfaceName matches the names of interfaces that both Linux and Docker accept.
var interfaceName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,14}$`)

// interfaceNames calls a node's interfaces eth0, eth1 and so on where the file does not name them.
func interfaceNames(l *load.State, d *load.Node) {
	taken := []string{"lo"}
	for i := range d.Nets {
		t := d.Nets[i].Text("interface_name")
		if t == nil || t.Text == "" {
			continue
		}
		key := d.Key + ".networks." + d.Nets[i].Network + ".interface_name"
		switch {
		case !interfaceName.MatchString(t.Text):
			l.Fail(t.Position, "use at most 15 letters and digits, and - _ . after the first character",
				"%s: %q is not a valid interface name", key, source.Shorten(t.Text))
		case slices.Contains(taken, t.Text):
			l.Fail(t.Position, "choose another", "%s: the node already has an interface %s", key, t.Text)
		}
		taken = append(taken, t.Text)
		d.Spec.Attachments[i].Interface = t.Text
	}
	number := 0
	for i := range d.Spec.Attachments {
		for a := &d.Spec.Attachments[i]; a.Interface == ""; number++ {
			if name := fmt.Sprintf("eth%d", number); !slices.Contains(taken, name) {
				a.Interface = name
			}
		}
	}
}

// macAddress is an Ethernet address as Compose files have it.
var macAddress = regexp.MustCompile(`^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$`)

// hardware reads the MAC addresses that a node asks for. That of the node itself is its first interface's.
func hardware(l *load.State, d *load.Node) {
	read := func(t *source.Node, key string, at int) {
		if t == nil || t.Kind != source.Scalar || t.Text == "" {
			return
		}
		if !macAddress.MatchString(t.Text) {
			l.Fail(t.Position, "write an address such as 02:42:ac:1c:00:05", "%s: %q is not a MAC address", key, source.Shorten(t.Text))
			return
		}
		mac := strings.ToLower(strings.ReplaceAll(t.Text, "-", ":"))
		on := d.Nets[at].Network
		for _, o := range l.Nodes {
			for _, a := range o.Spec.Attachments {
				if o != d && a.Network == on && a.MAC == mac {
					l.Fail(t.Position, "choose another", "%s: node %s has the same address %s on network %s", key, o.Name, mac, on)
				}
			}
		}
		d.Spec.Attachments[at].MAC = mac
	}
	if own := d.Value.Get("mac_address"); own != nil && len(d.Nets) > 0 {
		read(own, d.Key+".mac_address", 0)
	} else if own != nil {
		l.Idle(own.Position, d.Key+".mac_address", "the node has no network")
	}
	for i := range d.Nets {
		read(d.Nets[i].Text("mac_address"), d.Key+".networks."+d.Nets[i].Network+".mac_address", i)
	}
}

// addressFor is the address by which a node reaches another one: on the first network that they share.
func addressFor(d, other *load.Node) string {
	if len(d.Spec.Attachments)+len(other.Spec.Attachments) == 0 {
		return other.Spec.IPv4
	}
	for _, a := range d.Spec.Attachments {
		for _, b := range other.Spec.Attachments {
			if a.Network == b.Network {
				return cmp.Or(b.IPv4, b.IPv6)
			}
		}
	}
	return ""
}

// Assign numbers the nodes in their order, or gives them networks, and completes what needs addresses.
func Assign(l *load.State, top *source.Node) {
	for _, n := range l.Networks { // also those that no node is on: their mistakes are mistakes all the same
		describe(l, n)
	}
	if separate(l) {
		attach(l)
		unsharedLinks(l, top)
	} else {
		for i, d := range l.Nodes {
			d.Spec.IPv4 = fmt.Sprintf("10.77.0.%d", 10+i)
			d.Spec.IPv6 = fmt.Sprintf("fd77::%x", 10+i)
			for _, w := range d.Nets {
				for _, alias := range w.Aliases {
					if alias != d.Spec.Hostname && !slices.Contains(d.Spec.Aliases, alias) {
						d.Spec.Aliases = append(d.Spec.Aliases, alias)
					}
				}
			}
		}
	}
	for _, d := range l.Nodes {
		for _, item := range d.Value.Get("links").List() {
			name, alias, ok := strings.Cut(item.Text, ":")
			if !ok || alias == name {
				continue
			}
			for _, member := range l.Members(name) {
				on := l.Node(member)
				if on == nil {
					continue // dependencies has reported that
				}
				if ip := addressFor(d, on); ip != "" {
					d.Spec.ExtraHosts = append(d.Spec.ExtraHosts, world.Host{Name: alias, IP: ip})
				} else {
					l.Idle(item.Position, d.Key+".links", fmt.Sprintf("%s and %s share no network", d.Name, member))
				}
			}
		}
		l.Spec.Nodes = append(l.Spec.Nodes, d.Spec)
	}
}
