package networks

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// describe reads what was written about a network.
func describe(l *load.State, n *load.Network) {
	key := "networks." + n.Name
	n.Spec = world.Network{Name: n.Name, FullName: strings.ToLower(l.Spec.Name) + "_" + n.Name, Internal: source.ValueOr(n.Value.Get("internal"), false)}
	if n.Name == bridgeNetwork && n.Value == nil {
		n.Spec.FullName = bridgeNetwork
	}
	if x := n.Value.Get("external"); x != nil && (x.Kind == source.Mapping || source.ValueOr(x, false)) {
		l.Idle(n.Value.Entry("external").Key.Position, key+".external",
			"a world cannot join outside networks: it creates a network of that name for its own nodes")
		n.Spec.FullName = source.ValueOr(x.Get("name"), n.Name)
	}
	n.Spec.FullName = source.ValueOr(n.Value.Get("name"), n.Spec.FullName)
	n.V4 = load.Family{On: source.ValueOr(n.Value.Get("enable_ipv4"), true), At: n.At, Taken: map[netip.Addr]string{}}
	n.V6 = load.Family{On: source.ValueOr(n.Value.Get("enable_ipv6"), false), At: n.At, Taken: map[netip.Addr]string{}}
	if !n.V4.On && !n.V6.On {
		l.Fail(n.At, "set enable_ipv4 or enable_ipv6 to true", "%s has neither IPv4 nor IPv6", key)
	}
	for i, c := range n.Value.Get("ipam").Get("config").List() {
		subnet(l, n, c, fmt.Sprintf("%s.ipam.config[%d]", key, i))
	}
}

// subnet reads one entry of ipam.config.
func subnet(l *load.State, n *load.Network, c *source.Node, key string) {
	text := c.Get("subnet")
	if text == nil {
		if len(c.Entries) > 0 {
			l.Missing(c, "subnet", "add `subnet:`, such as 172.28.0.0/16", "%s has no subnet", key)
		}
		return
	}
	p, ok := prefix(l, text, key+".subnet")
	if !ok {
		return
	}
	f, version := &n.V4, "enable_ipv4"
	if p.Addr().Is6() {
		f, version = &n.V6, "enable_ipv6"
	}
	switch {
	case p.Masked() != p:
		l.Fail(text.Position, "write "+p.Masked().String(), "%s: %s is an address in the subnet %s, not a subnet", key, p, p.Masked())
		return
	case p.Addr().BitLen()-p.Bits() < 2:
		l.Fail(text.Position, "use a larger subnet, such as "+netip.PrefixFrom(p.Addr(), p.Addr().BitLen()-8).Masked().String(),
			"%s: %s has no addresses for nodes", key, p)
		return
	case p.Addr().IsLoopback() || p.Addr().IsMulticast() || p.Bits() == 0:
		l.Fail(text.Position, "use a subnet such as 172.28.0.0/16", "%s: nodes cannot have addresses in %s", key, p)
		return
	case f.Given:
		l.Fail(text.Position, "remove one; a network has at most one IPv4 and one IPv6 subnet", "%s: the network already has the subnet %s", key, f.Subnet)
		return
	case !f.On:
		l.Idle(text.Position, key+".subnet", "the network does not have `"+version+": true`")
		return
	}
	f.Given, f.At, f.Subnet, f.Pool = true, text.Position, p, p
	f.Reserve()
	inside := func(n *source.Node, key string) (netip.Addr, bool) {
		a, err := netip.ParseAddr(strings.TrimSpace(n.Text))
		if err != nil {
			l.Fail(n.Position, "write an address such as "+p.Addr().Next().String(), "%s: %q is not an IP address", key, source.Shorten(n.Text))
			return a, false
		}
		if !p.Contains(a) {
			l.Fail(n.Position, "use an address of "+p.String(), "%s: %s is not in the subnet %s", key, a, p)
			return a, false
		}
		if whose := f.Taken[a]; whose != "" {
			l.Fail(n.Position, "choose another", "%s: %s is %s", key, a, whose)
			return a, false
		}
		return a, true
	}
	gateway := p.Addr().Next()
	if g := c.Get("gateway"); g != nil {
		if a, ok := inside(g, key+".gateway"); ok {
			gateway = a
		}
	}
	f.Taken[gateway] = "the gateway"
	for _, e := range c.Get("aux_addresses").EntriesOf() {
		if e.Value.Bad {
			continue
		}
		if a, ok := inside(e.Value, key+".aux_addresses."+e.Name); ok {
			f.Taken[a] = "reserved for " + e.Name + " by aux_addresses"
		}
	}
	if r := c.Get("ip_range"); r != nil {
		switch pool, ok := prefix(l, r, key+".ip_range"); {
		case !ok:
		case !p.Contains(pool.Addr()) || pool.Bits() < p.Bits():
			l.Fail(r.Position, "write a range in "+p.String(), "%s.ip_range: %s is not in the subnet %s", key, pool, p)
		default:
			f.Pool = pool.Masked()
		}
	}
	f.Gateway(n, gateway)
}

func prefix(l *load.State, n *source.Node, key string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(strings.TrimSpace(n.Text))
	if err != nil || p.Addr().Is4In6() {
		l.Fail(n.Position, "write a subnet such as 172.28.0.0/16", "%s: %q is not a subnet", key, source.Shorten(n.Text))
		return p, false
	}
	return p, true
}

// chooseSubnets complains about subnets that overlap, and gives one to each network that asks for none.
func chooseSubnets(l *load.State, used []*load.Network) {
	type owned struct {
		subnet netip.Prefix
		name   string
	}
	var all []owned
	other := func(p netip.Prefix) string {
		for _, o := range all {
			if o.subnet.Overlaps(p) {
				return o.name + ", " + o.subnet.String()
			}
		}
		return ""
	}
	for _, n := range used {
		for _, f := range []*load.Family{&n.V4, &n.V6} {
			if !f.Given {
				continue
			}
			if o := other(f.Subnet); o != "" {
				l.Fail(f.At, "use a different subnet for each network", "networks.%s: the subnet %s overlaps the subnet of %s", n.Name, f.Subnet, o)
			}
			all = append(all, owned{f.Subnet, n.Name})
		}
	}
	free := freeSubnets()
	for _, n := range used {
		for _, f := range []*load.Family{&n.V4, &n.V6} {
			if !f.On || f.Given {
				continue
			}
			at := slices.IndexFunc(free, func(p netip.Prefix) bool { return p.Addr().Is4() == (f == &n.V4) && other(p) == "" })
			if at < 0 {
				l.Fail(n.At, "set its `subnet:`, or use smaller subnets for other networks", "networks.%s: no subnet is free", n.Name)
				continue
			}
			p := free[at]
			f.Subnet, f.Pool = p, p
			all = append(all, owned{p, n.Name})
			f.Reserve()
			f.Gateway(n, p.Addr().Next())
		}
	}
}

// freeSubnets are those that networks get which ask for none, the first ones first.
func freeSubnets() []netip.Prefix {
	var all []netip.Prefix
	add := func(a, from, to byte) {
		for b := int(from); b <= int(to); b++ {
			for c := range 256 {
				all = append(all, netip.PrefixFrom(netip.AddrFrom4([4]byte{a, byte(b), byte(c), 0}), 24))
			}
		}
	}
	add(10, 77, 80)
	add(172, 16, 31)
	add(192, 168, 168)
	for a := byte(0x77); a < 0x7a; a++ {
		for i := range 256 {
			all = append(all, netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: a, 7: byte(i)}), 64))
		}
	}
	return all
}
