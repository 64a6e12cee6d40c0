package config

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// defaultNetwork is the one that nodes are on which name none (Compose).
const defaultNetwork = "default"

// bridgeNetwork is the one of `network_mode: bridge`.
const bridgeNetwork = "bridge"

// netDecl is a network as it was written.
type netDecl struct {
	name  string
	at    position
	value *node // nil: nobody wrote anything
	// implied tells that it is Compose's own default one.
	implied bool
	v4      family
	v6      family
	spec    world.Network
}

// family is what a network has of IPv4 or of IPv6.
type family struct {
	on     bool
	given  bool // by the file, so that nodes may ask for addresses
	at     position
	subnet netip.Prefix
	pool   netip.Prefix // what addresses are handed out from
	// taken says of addresses whose they are.
	taken map[netip.Addr]string
	next  netip.Addr
}

// want is a network that a node is to be on.
type want struct {
	network string
	at      position
	value   *node // its options, or nil
	aliases []string
	v4, v6  netip.Addr // that it asks for
}

// text is the value of an option, or nil.
func (w *want) text(key string) *node { return w.value.get(key) }

// networks gathers the networks of all files. A later file's keys replace those of an earlier one.
func (l *loader) networks(top *node) {
	for _, file := range []*node{l.composed, top} {
		for _, e := range file.get("networks").entriesOf() {
			d := l.network(e.name)
			if d == nil {
				d = &netDecl{name: e.name}
				l.nets = append(l.nets, d)
			}
			d.at, d.implied = e.key.position, e.implied
			if e.value.kind == mapping && !e.value.bad {
				if d.value != nil {
					d.value = mergeNodes(d.value, e.value)
				} else {
					d.value = e.value
				}
			}
		}
	}
	first := l.network(defaultNetwork)
	if first == nil {
		first = &netDecl{name: defaultNetwork, at: top.position}
	}
	l.nets = append([]*netDecl{first}, slices.DeleteFunc(l.nets, func(d *netDecl) bool { return d == first })...)
}

func (l *loader) network(name string) *netDecl {
	for _, d := range l.nets {
		if d.name == name {
			return d
		}
	}
	return nil
}

func (l *loader) networkNames() []string {
	var names []string
	for _, d := range l.nets {
		names = append(names, d.name)
	}
	return names
}

// wants reads which networks a node is on.
func (l *loader) wants(d *declared) {
	mode, networks := d.value.get("network_mode"), d.value.entry("networks")
	if networks != nil && networks.implied || networks.nothing() {
		networks = nil
	}
	if mode != nil && networks != nil {
		l.fail(networks.key.position, "keep one of the two", "%s has both network_mode and networks", d.key)
		return
	}
	if mode != nil {
		l.networkMode(d, mode)
		return
	}
	if networks == nil || networks.value.bad {
		d.everywhere = d.spec.Role != world.Server
		if !d.everywhere {
			d.nets = []want{{network: defaultNetwork, at: d.at}}
		}
		return
	}
	key := d.key + ".networks"
	add := func(name string, at position, value *node) {
		switch {
		case l.network(name) == nil:
			l.fail(at, l.declareIt(name), "%s: there is no network %q", key, shorten(name))
		case slices.ContainsFunc(d.nets, func(w want) bool { return w.network == name }):
			l.fail(at, "remove one of them", "%s: %q is there twice", key, name)
		default:
			w := want{network: name, at: at, value: value}
			for _, item := range value.get("aliases").list() {
				if alias := l.hostName(item, key+"."+name+".aliases", d.name); alias != d.name && !slices.Contains(w.aliases, alias) {
					w.aliases = append(w.aliases, alias)
				}
			}
			d.nets = append(d.nets, w)
		}
	}
	for _, item := range networks.value.list() {
		add(item.text, item.position, nil)
	}
	for _, e := range networks.value.entries {
		if !e.value.bad {
			add(e.name, e.key.position, e.value)
		}
	}
	// Compose connects a service to its networks in the order of their priority, then of their names.
	slices.SortStableFunc(d.nets, func(a, b want) int {
		return cmp.Or(cmp.Compare(valueOr(b.text("priority"), int64(0)), valueOr(a.text("priority"), int64(0))), cmp.Compare(a.network, b.network))
	})
}

// nothing tells whether a key has no value, or none with anything in it.
func (e *entry) nothing() bool {
	return e == nil || !e.value.bad && len(e.value.items)+len(e.value.entries) == 0
}

func (l *loader) declareIt(name string) string {
	if near := nearest(name, l.networkNames()); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "declare it: `networks: {" + name + ": {}}` at the top of the file"
}

func (l *loader) networkMode(d *declared, mode *node) {
	key := d.key + ".network_mode"
	kind, of, _ := strings.Cut(mode.text, ":")
	switch kind {
	case "none":
		d.offline = true
	case "bridge", "default":
		if l.network(bridgeNetwork) == nil {
			l.nets = append(l.nets, &netDecl{name: bridgeNetwork, at: mode.position})
		}
		d.nets = []want{{network: bridgeNetwork, at: mode.position}}
		if !l.bridged {
			l.note(mode.position, key, "nodes of this mode share a network of their own; unlike on Docker's, names resolve there")
		}
		l.bridged = true
	case "host":
		l.idle(mode.position, key, "a world has no host whose network it could be: the node is on every network, with addresses of its own, and localhost is itself alone")
		d.everywhere = true
	case "service":
		d.offline = true // it has nothing of its own
		switch {
		case of == d.name:
			l.fail(mode.position, "name another one", "%s: it cannot have its own", key)
		case l.known(mode.position, key, of):
			d.spec.NetworkOf = of
		}
		for _, k := range []string{"hostname", "extra_hosts", "links", "mac_address"} {
			if d.value.has(k) {
				l.fail(l.placeOf(d, k), "write it at the node whose network it is, or remove it", "%s.%s has no place, since network_mode gives the node another's network", d.key, k)
			}
		}
	case "container":
		l.fail(mode.position, "make it a service, and write `network_mode: service:NAME`", "%s: %q is a container of Docker's, which no world reaches", key, shorten(of))
	default:
		remedy := suggest(mode.text, []string{"none", "host", "bridge"})
		if l.network(mode.text) != nil {
			remedy = "write `networks: [" + mode.text + "]`"
		}
		l.fail(mode.position, remedy, "%s: %q is not known here", key, shorten(mode.text))
	}
}

// separate tells whether the world needs networks: without them, all nodes share one.
func (l *loader) separate() bool {
	if d := l.network(defaultNetwork); d.value != nil {
		for _, key := range []string{"internal", "enable_ipv4", "enable_ipv6", "external"} {
			if d.value.has(key) {
				return true
			}
		}
		if name := valueOr(d.value.get("name"), ""); name != "" && !strings.HasSuffix(name, "_"+defaultNetwork) || len(d.value.get("ipam").get("config").list()) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(l.nodes, func(d *declared) bool {
		return d.offline || d.value.has("mac_address") || slices.ContainsFunc(d.nets, func(w want) bool {
			return w.network != defaultNetwork || slices.ContainsFunc([]string{"ipv4_address", "ipv6_address", "mac_address", "interface_name", "gw_priority", "use_service_name_alias"}, w.value.has)
		})
	})
}

// attach makes the networks and gives nodes their interfaces.
func (l *loader) attach() {
	var used []*netDecl
	for _, n := range l.nets {
		on := slices.ContainsFunc(l.nodes, func(d *declared) bool {
			return slices.ContainsFunc(d.nets, func(w want) bool { return w.network == n.name })
		})
		if !on && n.value != nil && !n.implied {
			l.idle(n.at, "networks."+n.name, "no node is on it")
		}
		if on {
			used = append(used, n)
		}
	}
	if len(used) == 0 { // all nodes are alone, but for those of our own
		used = []*netDecl{l.network(defaultNetwork)}
	}
	l.chooseSubnets(used)
	for _, d := range l.nodes {
		if d.everywhere {
			for _, n := range used {
				d.nets = append(d.nets, want{network: n.name, at: d.at})
			}
		}
	}
	for _, d := range l.nodes {
		for i := range d.nets {
			l.fixedAddress(d, &d.nets[i], "ipv4_address")
			l.fixedAddress(d, &d.nets[i], "ipv6_address")
		}
	}
	for _, d := range l.nodes {
		for i := range d.nets {
			d.spec.Attachments = append(d.spec.Attachments, l.attachment(d, &d.nets[i]))
		}
		l.interfaceNames(d)
		l.hardware(d)
		for _, a := range d.spec.Attachments {
			d.spec.IPv4, d.spec.IPv6 = cmp.Or(d.spec.IPv4, a.IPv4), cmp.Or(d.spec.IPv6, a.IPv6)
		}
	}
	for _, n := range used {
		l.spec.Networks = append(l.spec.Networks, n.spec)
	}
}

// describe reads what was written about a network.
func (l *loader) describe(n *netDecl) {
	key := "networks." + n.name
	n.spec = world.Network{Name: n.name, FullName: strings.ToLower(l.spec.Name) + "_" + n.name, Internal: valueOr(n.value.get("internal"), false)}
	if n.name == bridgeNetwork && n.value == nil {
		n.spec.FullName = bridgeNetwork
	}
	if x := n.value.get("external"); x != nil && (x.kind == mapping || valueOr(x, false)) {
		l.idle(n.value.entry("external").key.position, key+".external", "nothing exists outside of a world: it gets a network of that name, on which its own nodes are alone")
		n.spec.FullName = valueOr(x.get("name"), n.name)
	}
	n.spec.FullName = valueOr(n.value.get("name"), n.spec.FullName)
	n.v4 = family{on: valueOr(n.value.get("enable_ipv4"), true), at: n.at, taken: map[netip.Addr]string{}}
	n.v6 = family{on: valueOr(n.value.get("enable_ipv6"), false), at: n.at, taken: map[netip.Addr]string{}}
	if !n.v4.on && !n.v6.on {
		l.fail(n.at, "set enable_ipv4 or enable_ipv6 to true", "%s has neither IPv4 nor IPv6", key)
	}
	for i, c := range n.value.get("ipam").get("config").list() {
		l.subnet(n, c, fmt.Sprintf("%s.ipam.config[%d]", key, i))
	}
}

// subnet reads one entry of ipam.config.
func (l *loader) subnet(n *netDecl, c *node, key string) {
	text := c.get("subnet")
	if text == nil {
		if len(c.entries) > 0 {
			l.missing(c, "subnet", "add `subnet:`, such as 172.28.0.0/16", "%s has no subnet", key)
		}
		return
	}
	p, ok := l.prefix(text, key+".subnet")
	if !ok {
		return
	}
	f, version := &n.v4, "enable_ipv4"
	if p.Addr().Is6() {
		f, version = &n.v6, "enable_ipv6"
	}
	switch {
	case p.Masked() != p:
		l.fail(text.position, "write "+p.Masked().String(), "%s: %s is an address inside of the subnet %s", key, p, p.Masked())
		return
	case p.Addr().BitLen()-p.Bits() < 2:
		l.fail(text.position, "use a larger one, such as "+netip.PrefixFrom(p.Addr(), p.Addr().BitLen()-8).Masked().String(), "%s: %s has no room for nodes", key, p)
		return
	case p.Addr().IsLoopback() || p.Addr().IsMulticast() || p.Bits() == 0:
		l.fail(text.position, "use one such as 172.28.0.0/16", "%s: nodes cannot have addresses of %s", key, p)
		return
	case f.given:
		l.fail(text.position, "keep one; a network has one subnet of IPv4 and one of IPv6", "%s: the network has the subnet %s already", key, f.subnet)
		return
	case !f.on:
		l.idle(text.position, key+".subnet", "the network does not have `"+version+": true`")
		return
	}
	f.given, f.at, f.subnet, f.pool = true, text.position, p, p
	f.reserve()
	inside := func(n *node, key string) (netip.Addr, bool) {
		a, err := netip.ParseAddr(strings.TrimSpace(n.text))
		if err != nil {
			l.fail(n.position, "write an address such as "+p.Addr().Next().String(), "%s: %q is no address", key, shorten(n.text))
			return a, false
		}
		if !p.Contains(a) {
			l.fail(n.position, "write an address of "+p.String(), "%s: %s is not in the subnet %s", key, a, p)
			return a, false
		}
		if whose := f.taken[a]; whose != "" {
			l.fail(n.position, "choose another one", "%s: %s is %s", key, a, whose)
			return a, false
		}
		return a, true
	}
	gateway := p.Addr().Next()
	if g := c.get("gateway"); g != nil {
		if a, ok := inside(g, key+".gateway"); ok {
			gateway = a
		}
	}
	f.taken[gateway] = "the gateway"
	for _, e := range c.get("aux_addresses").entriesOf() {
		if e.value.bad {
			continue
		}
		if a, ok := inside(e.value, key+".aux_addresses."+e.name); ok {
			f.taken[a] = "kept free for " + e.name + " by aux_addresses"
		}
	}
	if r := c.get("ip_range"); r != nil {
		switch pool, ok := l.prefix(r, key+".ip_range"); {
		case !ok:
		case !p.Contains(pool.Addr()) || pool.Bits() < p.Bits():
			l.fail(r.position, "write a part of "+p.String(), "%s.ip_range: %s is not in the subnet %s", key, pool, p)
		default:
			f.pool = pool.Masked()
		}
	}
	f.gateway(n, gateway)
}

func (l *loader) prefix(n *node, key string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(strings.TrimSpace(n.text))
	if err != nil || p.Addr().Is4In6() {
		l.fail(n.position, "write one such as 172.28.0.0/16", "%s: %q is no subnet", key, shorten(n.text))
		return p, false
	}
	return p, true
}

// reserve keeps nodes from the addresses that mean the subnet itself and all of it.
func (f *family) reserve() {
	f.taken[f.subnet.Addr()] = "the subnet itself"
	if f.subnet.Addr().Is4() {
		f.taken[last(f.subnet)] = "the subnet's broadcast address"
	}
}

// last is the highest address of an IPv4 subnet.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|uint32(1<<(32-p.Bits())-1))
	return netip.AddrFrom4(b)
}

func (f *family) gateway(n *netDecl, a netip.Addr) {
	f.taken[a] = "the gateway"
	if a.Is4() {
		n.spec.IPv4, n.spec.Gateway4 = f.subnet.String(), a.String()
	} else {
		n.spec.IPv6, n.spec.Gateway6 = f.subnet.String(), a.String()
	}
}

// chooseSubnets complains about subnets that overlap, and gives one to each network that asks for none.
func (l *loader) chooseSubnets(used []*netDecl) {
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
		for _, f := range []*family{&n.v4, &n.v6} {
			if !f.given {
				continue
			}
			if o := other(f.subnet); o != "" {
				l.fail(f.at, "give each network a subnet of its own", "networks.%s: the subnet %s overlaps that of %s", n.name, f.subnet, o)
			}
			all = append(all, owned{f.subnet, n.name})
		}
	}
	free := freeSubnets()
	for _, n := range used {
		for _, f := range []*family{&n.v4, &n.v6} {
			if !f.on || f.given {
				continue
			}
			at := slices.IndexFunc(free, func(p netip.Prefix) bool { return p.Addr().Is4() == (f == &n.v4) && other(p) == "" })
			if at < 0 {
				l.fail(n.at, "give it one, or make those of others smaller", "networks.%s: other networks leave no subnet for it", n.name)
				continue
			}
			p := free[at]
			f.subnet, f.pool = p, p
			all = append(all, owned{p, n.name})
			f.reserve()
			f.gateway(n, p.Addr().Next())
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

// fixedAddress reads an address that a node asks for.
func (l *loader) fixedAddress(d *declared, w *want, key string) {
	t := w.text(key)
	if t == nil || t.kind != scalar || t.text == "" {
		return
	}
	n := l.network(w.network)
	f, such, version := &n.v4, "172.28.0.5", "IPv4"
	if key == "ipv6_address" {
		f, such, version = &n.v6, "fd28::5", "IPv6"
	}
	place := d.key + ".networks." + w.network + "." + key
	a, err := netip.ParseAddr(strings.TrimSpace(t.text))
	switch {
	case err != nil || a.Is4() != (f == &n.v4) || a.Is4In6() || a.Zone() != "":
		l.fail(t.position, "write one such as "+such, "%s: %q is no address of %s", place, shorten(t.text), version)
	case !f.on:
		l.fail(t.position, fmt.Sprintf("add `enable_%s: true` to the network", strings.ToLower(version)), "%s: the network %s has no %s", place, n.name, version)
	case !f.given:
		l.fail(t.position, fmt.Sprintf("give it one: `networks: {%s: {ipam: {config: [{subnet: %s}]}}}`", n.name, around(a)),
			"%s: a fixed address needs a network with a subnet of the file's own, and %s has none", place, n.name)
	case !f.subnet.Contains(a):
		l.fail(t.position, "write an address of "+f.subnet.String(), "%s: %s is not in the subnet %s of %s", place, a, f.subnet, n.name)
	case f.taken[a] != "":
		l.fail(t.position, "choose another one", "%s: %s is %s", place, a, f.taken[a])
	default:
		f.taken[a] = "the address of node " + d.name
		if a.Is4() {
			w.v4 = a
		} else {
			w.v6 = a
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
func (l *loader) attachment(d *declared, w *want) world.Attachment {
	n := l.network(w.network)
	a := world.Attachment{Network: n.name, Aliases: w.aliases, GatewayPriority: valueOr(w.text("gw_priority"), int64(0))}
	if a.Unnamed = !valueOr(w.text("use_service_name_alias"), true); a.Unnamed {
		a.Aliases = append(slices.Clone(a.Aliases), d.value.get("container_name").words()...)
	}
	pick := func(f *family, fixed netip.Addr) string {
		switch {
		case fixed.IsValid():
			return fixed.String()
		case !f.on || !f.subnet.IsValid():
			return ""
		}
		if !f.next.IsValid() {
			f.next = f.pool.Addr()
		}
		for ; f.pool.Contains(f.next); f.next = f.next.Next() {
			if f.taken[f.next] == "" {
				f.taken[f.next] = "the address of node " + d.name
				return f.next.String()
			}
		}
		l.fail(f.at, "use a larger subnet or ip_range; drivers and checks have nodes of their own, which are on every network", "networks.%s: no address of %s is left for node %s", n.name, f.pool, d.name)
		return ""
	}
	a.IPv4, a.IPv6 = pick(&n.v4, w.v4), pick(&n.v6, w.v6)
	return a
}

// interfaceName is what Linux lets interfaces be called, of which Docker takes these.
var interfaceName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,14}$`)

// interfaceNames calls a node's interfaces eth0, eth1 and so on where the file does not name them.
func (l *loader) interfaceNames(d *declared) {
	taken := []string{"lo"}
	for i := range d.nets {
		t := d.nets[i].text("interface_name")
		if t == nil || t.text == "" {
			continue
		}
		key := d.key + ".networks." + d.nets[i].network + ".interface_name"
		switch {
		case !interfaceName.MatchString(t.text):
			l.fail(t.position, "use up to 15 letters, digits, and - _ . inside", "%s: %q is no name for an interface", key, shorten(t.text))
		case slices.Contains(taken, t.text):
			l.fail(t.position, "choose another one", "%s: the node has an interface %s already", key, t.text)
		}
		taken = append(taken, t.text)
		d.spec.Attachments[i].Interface = t.text
	}
	number := 0
	for i := range d.spec.Attachments {
		for a := &d.spec.Attachments[i]; a.Interface == ""; number++ {
			if name := fmt.Sprintf("eth%d", number); !slices.Contains(taken, name) {
				a.Interface = name
			}
		}
	}
}

// macAddress is an Ethernet address as Compose files have it.
var macAddress = regexp.MustCompile(`^[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}$`)

// hardware reads the MAC addresses that a node asks for. That of the node itself is its first interface's.
func (l *loader) hardware(d *declared) {
	read := func(t *node, key string, at int) {
		if t == nil || t.kind != scalar || t.text == "" {
			return
		}
		if !macAddress.MatchString(t.text) {
			l.fail(t.position, "write one such as 02:42:ac:1c:00:05", "%s: %q is no MAC address", key, shorten(t.text))
			return
		}
		mac := strings.ToLower(strings.ReplaceAll(t.text, "-", ":"))
		on := d.nets[at].network
		for _, o := range l.nodes {
			for _, a := range o.spec.Attachments {
				if o != d && a.Network == on && a.MAC == mac {
					l.fail(t.position, "choose another one", "%s: node %s has %s on network %s already", key, o.name, mac, on)
				}
			}
		}
		d.spec.Attachments[at].MAC = mac
	}
	if own := d.value.get("mac_address"); own != nil && len(d.nets) > 0 {
		read(own, d.key+".mac_address", 0)
	} else if own != nil {
		l.idle(own.position, d.key+".mac_address", "the node is on no network")
	}
	for i := range d.nets {
		read(d.nets[i].text("mac_address"), d.key+".networks."+d.nets[i].network+".mac_address", i)
	}
}

// addressFor is the address by which a node reaches another one: on the first network that they share.
func addressFor(d, other *declared) string {
	if len(d.spec.Attachments)+len(other.spec.Attachments) == 0 {
		return other.spec.IPv4
	}
	for _, a := range d.spec.Attachments {
		for _, b := range other.spec.Attachments {
			if a.Network == b.Network {
				return cmp.Or(b.IPv4, b.IPv6)
			}
		}
	}
	return ""
}

// unsharedLinks tells which links no packet can take.
func (l *loader) unsharedLinks(top *node) {
	for i, n := range top.get("links").list() {
		ends := n.get("between").list()
		if len(ends) != 2 {
			continue
		}
		a, b := l.node(ends[0].text), l.node(ends[1].text)
		if a != nil && b != nil && addressFor(a, b) == "" {
			l.idle(n.get("between").position, fmt.Sprintf("links[%d]", i), fmt.Sprintf("%s and %s share no network", a.name, b.name))
		}
	}
}
