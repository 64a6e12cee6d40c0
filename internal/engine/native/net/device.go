package net

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// loopbackNetwork denotes the loopback interface where a datagram for many has a network.
const loopbackNetwork = -1

// bindToDevice restricts a socket to an interface (SO_BINDTODEVICE, socket(7)). An empty name lifts that.
func (sk *sock) bindToDevice(s *State, name string) errno.Errno {
	if len(name) >= ifnameSize {
		name = name[:ifnameSize-1]
	}
	if name != "" && !slices.ContainsFunc(s.Interfaces(sk.Node), func(i Interface) bool { return i.Name == name }) {
		return errno.ENODEV
	}
	sk.Opt.Device = name
	return errno.OK
}

// bindToIndex is bindToDevice by number (SO_BINDTOIFINDEX).
func (sk *sock) bindToIndex(s *State, index int) errno.Errno {
	if index == 0 {
		return sk.bindToDevice(s, "")
	}
	if index < 0 {
		return errno.EINVAL
	}
	for _, i := range s.Interfaces(sk.Node) {
		if i.Index == index {
			return sk.bindToDevice(s, i.Name)
		}
	}
	return errno.ENODEV
}

// deviceIndex is the number of the interface that a socket is bound to, 0 for none.
func (sk *sock) deviceIndex(s *State) int {
	for _, i := range s.Interfaces(sk.Node) {
		if i.Name == sk.Opt.Device {
			return i.Index
		}
	}
	return 0
}

// device is the interface to a network that a socket is bound to; nil: none, or loopback.
func (sk *sock) device(s *State) *nic {
	if sk.Opt.Device == "" { // nearly always
		return nil
	}
	n := s.Nodes[sk.Node]
	if i := slices.IndexFunc(n.NICs, func(i nic) bool { return i.Name == sk.Opt.Device }); i >= 0 {
		return &n.NICs[i]
	}
	return nil
}

// hears reports whether a socket gets what is sent to an address of its node: Linux counts it as come in by the interface that
// has the address, even from the node itself.
func (sk *sock) hears(s *State, ip IP) bool {
	if sk.Opt.Device == "" {
		return true
	}
	if d := sk.device(s); d != nil {
		return d.owns(ip)
	}
	return ip.isLoopback()
}

// hearsNetwork reports whether a socket gets datagrams for many from a network.
func (sk *sock) hearsNetwork(s *State, network int) bool {
	if sk.Opt.Device == "" {
		return true
	}
	if d := sk.device(s); d != nil {
		return d.Network == network
	}
	return network == loopbackNetwork
}

// routeOf is route for what a socket sends, by its interface alone if it is bound to one.
func (sk *sock) routeOf(s *State, ip IP) (NodeID, way) {
	d := sk.device(s)
	switch {
	case sk.Opt.Device == "":
		return s.route(sk.Node, ip)
	case sk.hears(s, ip) && s.Nodes[sk.Node].local(ip):
		return sk.Node, reached
	case d == nil || s.Nodes[sk.Node].local(ip):
		return 0, dropped
	case !d.has(ip):
		return 0, unrouted
	}
	if id, ok := s.owner(d.Network, ip); ok {
		return id, reached
	}
	switch {
	case d.onLink(ip):
		return 0, silent
	case d.gateway(ip) != (IP{}):
		return 0, s.beyond(ip)
	case ip.Is4():
		return 0, silent // Linux takes it for a neighbour
	}
	return 0, unrouted
}

// sourceOf is the address of what a socket without one sends to ip.
func (sk *sock) sourceOf(s *State, ip IP) IP {
	if d := sk.device(s); d != nil && d.has(ip) {
		return d.address(ip)
	}
	return s.Nodes[sk.Node].source(ip)
}
