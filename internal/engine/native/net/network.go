package net

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Sizes of the subnets where no network is declared.
const (
	flatBits4 = 24
	flatBits6 = 64
)

// NetworkConfig describes a network to which nodes are attached.
type NetworkConfig struct {
	Name, FullName string
	// IPv4 and IPv6 are textual subnets; an empty one: the network lacks the family.
	IPv4, IPv6 string
	// Gateway4 and Gateway6 are shown in routes.
	Gateway4, Gateway6 string
	Internal           bool
}

// NICConfig describes an interface of a node.
type NICConfig struct {
	Network string
	Name    string // such as eth0
	// IPv4 and IPv6 are textual addresses; an empty one: the interface lacks the family.
	IPv4, IPv6 string
	MAC        string // empty: made of the address
	Aliases    []string
	// Unnamed: the node's other names do not hold on this network.
	Unnamed  bool
	Priority int64
}

type network struct {
	Name, FullName     string
	Subnet4, Subnet6   IP
	Bits4, Bits6       int
	Has4, Has6         bool
	Gateway4, Gateway6 IP
	Internal           bool
}

// nic is a network interface of a node.
type nic struct {
	Network            int // its place in State.Networks
	Name               string
	Hardware           [6]byte
	IP4, IP6           IP
	Has4, Has6         bool
	Bits4, Bits6       int
	Gateway4, Gateway6 IP // zero: no route leads out of the network
	Aliases            []string
	Unnamed            bool
}

// AddNetwork adds a network, before the nodes that are on it. An address that does not parse is a mistake of the caller and panics.
func (s *State) AddNetwork(c NetworkConfig) {
	n := &network{Name: c.Name, FullName: c.FullName, Internal: c.Internal}
	n.Subnet4, n.Bits4, n.Has4 = parseSubnet(c.Name, c.IPv4)
	n.Subnet6, n.Bits6, n.Has6 = parseSubnet(c.Name, c.IPv6)
	n.Gateway4, _ = parseIP(c.Gateway4)
	n.Gateway6, _ = parseIP(c.Gateway6)
	s.Networks = append(s.Networks, n)
}

func parseSubnet(name, text string) (IP, int, bool) {
	if text == "" {
		return IP{}, 0, false
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		panic(fmt.Sprintf("net: network %s has no valid subnet: %v", name, err))
	}
	return p.Addr().As16(), p.Bits(), true
}

// attach gives a node its interfaces.
func (s *State) attach(n *node, c *NodeConfig) {
	if len(s.Networks) == 0 { // all nodes are on one network
		n.NICs = []nic{s.flatNIC(c)}
	}
	for _, a := range c.NICs {
		at := slices.IndexFunc(s.Networks, func(o *network) bool { return o.Name == a.Network })
		if at < 0 {
			panic(fmt.Sprintf("net: node %s is on %q, which is not a network", c.Name, a.Network))
		}
		on := s.Networks[at]
		i := nic{Network: at, Name: a.Name, Bits4: on.Bits4, Bits6: on.Bits6, Aliases: slices.Clone(a.Aliases), Unnamed: a.Unnamed}
		i.IP4, i.Has4 = parseAddress(c.Name, a.IPv4, true)
		i.IP6, i.Has6 = parseAddress(c.Name, a.IPv6, false)
		if !on.Internal {
			i.Gateway4, i.Gateway6 = on.Gateway4, on.Gateway6
		}
		i.Hardware = hardwareOf(&i)
		if mac, err := hex.DecodeString(strings.ReplaceAll(a.MAC, ":", "")); err == nil && len(mac) == len(i.Hardware) {
			copy(i.Hardware[:], mac)
		}
		n.NICs = append(n.NICs, i)
	}
	for i := range n.NICs {
		n.Order = append(n.Order, i)
	}
	if len(s.Networks) == 0 {
		return
	}
	slices.SortStableFunc(n.Order, func(a, b int) int {
		x, y := s.Networks[n.NICs[a].Network], s.Networks[n.NICs[b].Network]
		internal := 0
		if x.Internal != y.Internal {
			internal = 1
			if y.Internal {
				internal = -1
			}
		}
		return cmp.Or(cmp.Compare(c.NICs[b].Priority, c.NICs[a].Priority), internal, cmp.Compare(x.FullName, y.FullName))
	})
}

func (s *State) flatNIC(c *NodeConfig) nic {
	i := nic{Name: "eth0", Bits4: flatBits4, Bits6: flatBits6}
	i.IP4, i.Has4 = parseAddress(c.Name, c.IPv4, true)
	if !i.Has4 {
		panic(fmt.Sprintf("net: node %s has no IPv4 address", c.Name))
	}
	i.IP6, i.Has6 = parseAddress(c.Name, c.IPv6, false)
	i.Hardware = hardwareOf(&i)
	return i
}

func parseAddress(name, text string, is4 bool) (IP, bool) {
	if text == "" {
		return IP{}, false
	}
	ip, ok := parseIP(text)
	if !ok || ip.Is4() != is4 {
		panic(fmt.Sprintf("net: node %s has no valid address: %q", name, text))
	}
	return ip, true
}

// hardwareOf follows Docker's scheme: a locally administered address made of the last bytes of the IP one.
func hardwareOf(i *nic) [6]byte {
	ip := i.IP4
	if !i.Has4 {
		ip = i.IP6
	}
	return [6]byte{0x02, 0x42, ip[12], ip[13], ip[14], ip[15]}
}

// has reports whether the interface has an address of the family of ip.
func (i *nic) has(ip IP) bool {
	if ip.Is4() {
		return i.Has4
	}
	return i.Has6
}

// owns reports whether ip is the interface's own address.
func (i *nic) owns(ip IP) bool { return i.Has4 && ip == i.IP4 || i.Has6 && ip == i.IP6 }

// address is the interface's own one of the family of ip.
func (i *nic) address(ip IP) IP {
	if ip.Is4() {
		return i.IP4
	}
	return i.IP6
}

// onLink reports whether ip is in the interface's subnet.
func (i *nic) onLink(ip IP) bool {
	if ip.Is4() {
		return i.Has4 && samePrefix(ip, i.IP4, 96+i.Bits4)
	}
	return i.Has6 && samePrefix(ip, i.IP6, i.Bits6)
}

// broadcast is the IPv4 address of all nodes in the subnet.
func (i *nic) broadcast() IP {
	ip := i.IP4
	for bit := 96 + i.Bits4; bit < 128; bit++ {
		ip[bit/8] |= 0x80 >> (bit % 8)
	}
	return ip
}

// gateway is where packets to elsewhere go; zero is nowhere.
func (i *nic) gateway(ip IP) IP {
	if ip.Is4() {
		return i.Gateway4
	}
	return i.Gateway6
}

func samePrefix(a, b IP, bits int) bool {
	for i := range a {
		take := min(max(bits-8*i, 0), 8)
		mask := byte(0xff << (8 - take))
		if (a[i]^b[i])&mask != 0 {
			return false
		}
	}
	return true
}

// local reports whether ip is an address of node n itself.
func (n *node) local(ip IP) bool {
	return ip.isLoopback() && !(ip == loopback6 && n.Tuning.NoIPv6) || slices.ContainsFunc(n.NICs, func(i nic) bool { return i.owns(ip) })
}

// nicOn finds the interface that a node has on a network, or nil.
func (n *node) nicOn(network int) *nic {
	for i := range n.NICs {
		if n.NICs[i].Network == network {
			return &n.NICs[i]
		}
	}
	return nil
}

// exit is the interface of the default route for the family of ip, or nil.
func (n *node) exit(ip IP) *nic {
	for _, at := range n.Order {
		if i := &n.NICs[at]; i.has(ip) && i.gateway(ip) != (IP{}) {
			return i
		}
	}
	return nil
}

// owner finds the node that has an address on a network.
func (s *State) owner(network int, ip IP) (NodeID, bool) {
	for id, n := range s.Nodes {
		if i := n.nicOn(network); i != nil && i.owns(ip) {
			return NodeID(id), true
		}
	}
	return 0, false
}

// way says where a packet ends up.
type way uint8

const (
	reached  way = iota // a node gets it
	silent              // no node in the subnet has that address, which the sender learns after neighbourFailNs
	dropped             // the gateway drops it: the address is on another network
	outside             // the gateway knows no way to it
	unrouted            // there is no route: ENETUNREACH
)

// route finds the node that gets a packet of node from to ip. Only nodes that share the network of that address reach it, as Docker keeps
// networks apart.
func (s *State) route(from NodeID, ip IP) (NodeID, way) {
	n := s.Nodes[from]
	if n.local(ip) {
		return from, reached
	}
	for i := range n.NICs {
		if !n.NICs[i].has(ip) {
			continue
		}
		if id, ok := s.owner(n.NICs[i].Network, ip); ok {
			return id, reached
		}
	}
	if slices.ContainsFunc(n.NICs, func(i nic) bool { return i.onLink(ip) }) {
		return 0, silent
	}
	if n.exit(ip) == nil {
		return 0, unrouted
	}
	return 0, s.beyond(ip)
}

// beyond says where a packet that reaches a gateway ends up.
func (s *State) beyond(ip IP) way {
	for _, o := range s.Networks {
		if o.Has4 && ip.Is4() && samePrefix(ip, o.Subnet4, 96+o.Bits4) || o.Has6 && !ip.Is4() && samePrefix(ip, o.Subnet6, o.Bits6) {
			return dropped
		}
	}
	return outside
}

// source picks the address that a packet of n to ip carries.
func (n *node) source(ip IP) IP {
	switch {
	case ip.Is4() && ip.isLoopback():
		return loopback4
	case ip == loopback6:
		return loopback6
	}
	for i := range n.NICs {
		if n.NICs[i].owns(ip) {
			return ip
		}
	}
	for i := range n.NICs {
		if n.NICs[i].onLink(ip) {
			return n.NICs[i].address(ip)
		}
	}
	if i := n.exit(ip); i != nil {
		return i.address(ip)
	}
	for i := range n.NICs {
		if n.NICs[i].has(ip) {
			return n.NICs[i].address(ip)
		}
	}
	return IP{}
}

// groupNetwork is the network to which a node sends a datagram for many: that of a subnet's broadcast, or else that of the
// address it comes from, or of the default route. ok is false where there is none.
func (n *node) groupNetwork(src, dst IP) (network int, ok bool) {
	for i := range n.NICs {
		if c := &n.NICs[i]; dst.Is4() && c.Has4 && dst == c.broadcast() {
			return c.Network, true
		}
	}
	for i := range n.NICs {
		if n.NICs[i].owns(src) {
			return n.NICs[i].Network, true
		}
	}
	if i := n.exit(dst); i != nil {
		return i.Network, true
	}
	if len(n.NICs) > 0 {
		return n.NICs[0].Network, true
	}
	return 0, false
}
