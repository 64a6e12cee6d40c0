package net

import (
	"cmp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// families reports which IP families a socket's local address takes.
func (sk *sock) families() (v4, v6 bool) {
	switch {
	case sk.Family == AF_INET || sk.Local.IP.Is4():
		return true, false
	case sk.Opt.V6Only || !sk.Local.IP.isAny():
		return false, true
	}
	return true, true
}

// overlaps reports whether some packet could be meant for both sockets, ports aside.
func (sk *sock) overlaps(o *sock) bool {
	a4, a6 := sk.families()
	b4, b6 := o.families()
	if !(a4 && b4 || a6 && b6) {
		return false
	}
	return sk.Local.IP.isAny() || o.Local.IP.isAny() || sk.Local.IP == o.Local.IP
}

// conflicts reports whether o forbids sk to bind its address, which o has: see SO_REUSEADDR and SO_REUSEPORT in
// socket(7) and inet_csk_bind_conflict of Linux.
func (sk *sock) conflicts(o *sock) bool {
	if o.ID == sk.ID || !sk.overlaps(o) {
		return false
	}
	if sk.Opt.Device != o.Opt.Device && sk.Opt.Device != "" && o.Opt.Device != "" {
		return false
	}
	if sk.Opt.ReusePort && o.Opt.ReusePort {
		return false
	}
	if sk.Opt.ReuseAddr && o.Opt.ReuseAddr {
		return sk.TCP != nil && o.TCP.State == listen
	}
	return true
}

// inUse reports whether a socket of the node forbids sk its local address.
func (s *State) inUse(sk *sock) bool {
	n := s.Nodes[sk.Node]
	for _, id := range n.Ports[portKey{uint8(sk.Protocol), sk.Local.Port}] {
		if sk.conflicts(s.Socks[id]) {
			return true
		}
	}
	if sk.TCP != nil {
		// Only whether there is any conflict matters: the order of the map does not.
		for k, id := range n.Flows {
			if k.Local.Port == sk.Local.Port && sk.conflicts(s.Socks[id]) {
				return true
			}
		}
	}
	return false
}

// inetBind binds an IPv4 or IPv6 socket (ip(7): EACCES).
func (s *State) inetBind(sk *sock, a Addr, cred Cred) errno.Errno {
	n := s.Nodes[sk.Node]
	switch {
	case sk.Family == AF_INET && a.Family == AF_UNSPEC:
		a = Addr{Family: AF_INET, IP: any4, Port: a.Port}
	case a.Family != sk.Family:
		if sk.Family == AF_INET6 && a.Family == AF_INET {
			return errno.EINVAL
		}
		return errno.EAFNOSUPPORT
	}
	if sk.Named || sk.TCP != nil && sk.TCP.State != closed {
		return errno.EINVAL
	}
	if sk.Family == AF_INET6 && sk.Opt.V6Only && a.IP.Is4() {
		return errno.EINVAL
	}
	group := sk.isUDP() && a.IP.isMulticast()
	if !a.IP.isAny() && !n.local(a.IP) && !group && !sk.Opt.FreeBind {
		return errno.EADDRNOTAVAIL
	}
	if a.Port != 0 && int(a.Port) < n.Tuning.Unprivileged && cred.UID != 0 {
		return errno.EACCES
	}
	sk.Local = AddrPort{a.IP, a.Port}
	if a.Port == 0 {
		if !s.autobind(sk, nil) {
			sk.Local = AddrPort{IP: sk.wildcard()}
			return errno.EADDRINUSE
		}
	} else if s.inUse(sk) {
		sk.Local = AddrPort{IP: sk.wildcard()}
		return errno.EADDRINUSE
	}
	sk.Bound, sk.Named, sk.PortLocked, sk.AddrLocked = true, true, a.Port != 0, !a.IP.isAny()
	s.claim(sk)
	return errno.OK
}

func (sk *sock) wildcard() IP {
	if sk.Family == AF_INET {
		return any4
	}
	return IP{}
}

// claim enters a socket into the table of its port.
func (s *State) claim(sk *sock) {
	k := portKey{uint8(sk.Protocol), sk.Local.Port}
	n := s.Nodes[sk.Node]
	if !slices.Contains(n.Ports[k], sk.ID) {
		n.Ports[k] = append(n.Ports[k], sk.ID)
	}
}

// unbind takes a socket out of the table of its port.
func (s *State) unbind(sk *sock) {
	n := s.Nodes[sk.Node]
	k := portKey{uint8(sk.Protocol), sk.Local.Port}
	if i := slices.Index(n.Ports[k], sk.ID); i >= 0 {
		if n.Ports[k] = slices.Delete(n.Ports[k], i, i+1); len(n.Ports[k]) == 0 {
			delete(n.Ports, k)
		}
	}
}

// autobind picks an ephemeral port: each node and protocol counts upwards and skips what is in use. For a TCP
// connection only the whole flow has to be free.
func (s *State) autobind(sk *sock, remote *AddrPort) bool {
	n := s.Nodes[sk.Node]
	proto := uint8(sk.Protocol)
	first, last := n.Tuning.FirstPort, n.Tuning.LastPort
	ports := int(last-first) + 1
	for range ports {
		port := n.NextPort[proto]
		if port < first || port > last {
			port = first
			if proto == IPPROTO_UDP && n.NextPort[proto] == 0 {
				port += uint16(udpPortSkip % ports)
			}
		}
		if n.NextPort[proto] = port + 1; port == last {
			n.NextPort[proto] = first
		}
		sk.Local.Port = port
		if remote == nil {
			// An automatic port is shared with no other socket, whatever the options say.
			if !s.inUse(&sock{ID: sk.ID, Node: sk.Node, Kind: sk.Kind, Local: sk.Local, TCP: sk.TCP,
				Opt: options{V6Only: sk.Opt.V6Only, Device: sk.Opt.Device}}) {
				return true
			}
			continue
		}
		if len(n.Ports[portKey{proto, port}]) > 0 {
			continue
		}
		if _, taken := n.Flows[flowKey{sk.Local, *remote}]; !taken {
			return true
		}
	}
	sk.Local.Port = 0
	return false
}

// flow finds the TCP endpoint of a node for a connection, or nil.
func (s *State) flow(n NodeID, local, remote AddrPort) *sock {
	if n < 0 {
		return nil
	}
	sk := s.Socks[s.Nodes[n].Flows[flowKey{local, remote}]]
	if sk != nil && !sk.hears(s, local.IP) {
		return nil
	}
	return sk
}

// listener finds the TCP socket that takes a connection to local, or nil.
func (s *State) listener(n NodeID, local, remote AddrPort) *sock {
	return s.pick(n, IPPROTO_TCP, local, remote, func(sk *sock) bool { return sk.TCP.State == listen })
}

// Listening are the TCP ports on which programs of a node listen that other nodes can reach, in order.
func (s *State) Listening(n NodeID) (ports []int) {
	for key, sockets := range s.Nodes[n].Ports {
		reached := func(id SockID) bool { sk := s.Socks[id]; return sk.TCP.State == listen && !sk.Local.IP.isLoopback() }
		if key.Proto == IPPROTO_TCP && slices.ContainsFunc(sockets, reached) {
			ports = append(ports, int(key.Port))
		}
	}
	slices.Sort(ports)
	return ports
}

// OnLoopback reports whether programs of a node listen on a TCP port at loopback addresses alone.
func (s *State) OnLoopback(n NodeID, port int) bool { return s.onLoopback(n, uint16(port)) != nil }

// onLoopback is a listening TCP socket of a port at which a node listens on loopback addresses alone, or nil.
func (s *State) onLoopback(n NodeID, port uint16) (found *sock) {
	for _, id := range s.Nodes[n].Ports[portKey{IPPROTO_TCP, port}] {
		switch sk := s.Socks[id]; {
		case sk.TCP.State != listen:
		case !sk.Local.IP.isLoopback():
			return nil
		default:
			found = cmp.Or(found, sk)
		}
	}
	return found
}

// pick finds the bound socket of a port that matches best: a specific address before the wildcard, IPv4 before dual-stack, a
// connected datagram socket before others, one that is bound to the interface before all; several equal ones (SO_REUSEPORT) share
// by a hash of the sender's address.
func (s *State) pick(n NodeID, proto uint8, local, remote AddrPort, fits func(*sock) bool) *sock {
	best, bestScore := []*sock(nil), -1
	for _, id := range s.Nodes[n].Ports[portKey{proto, local.Port}] {
		sk := s.Socks[id]
		if !fits(sk) || !sk.hears(s, local.IP) {
			continue
		}
		v4, v6 := sk.families()
		if local.IP.Is4() && !v4 || !local.IP.Is4() && !v6 {
			continue
		}
		score := 0
		if !sk.Local.IP.isAny() {
			if sk.Local.IP != local.IP {
				continue
			}
			score += 2
		}
		if sk.Family == AF_INET {
			score++
		}
		if sk.Opt.Device != "" {
			score += 8
		}
		if sk.Connected && proto == IPPROTO_UDP {
			if sk.Remote != remote {
				continue
			}
			score += 4
		}
		switch {
		case score > bestScore:
			best, bestScore = append(best[:0], sk), score
		case score == bestScore:
			best = append(best, sk)
		}
	}
	switch {
	case len(best) == 0:
		return nil
	case len(best) == 1:
		return best[0]
	case !best[0].Opt.ReusePort:
		return best[len(best)-1]
	}
	return best[spread(remote)%uint32(len(best))]
}

// spread hashes an address (FNV-1a).
func spread(a AddrPort) uint32 {
	h := uint32(2166136261)
	for _, b := range a.IP {
		h = (h ^ uint32(b)) * 16777619
	}
	h = (h ^ uint32(a.Port&0xff)) * 16777619
	h = (h ^ uint32(a.Port>>8)) * 16777619
	return h ^ h>>15
}

// reach turns the destination that a program named into an address and a node, which has a meaning where it is reached.
// code is ENETUNREACH where there is no route.
func (s *State) reach(sk *sock, a Addr) (dst AddrPort, who NodeID, to way, code errno.Errno) {
	if a.Family == AF_INET && sk.Family == AF_INET6 && sk.isUDP() {
		a.Family = AF_INET6 // a datagram may name an IPv4 address without mapping it
	}
	if a.Family != sk.Family {
		return dst, 0, unrouted, errno.EAFNOSUPPORT
	}
	dst = AddrPort{a.IP, a.Port}
	if dst.IP.isAny() {
		if a.Family == AF_INET || dst.IP == any4 {
			dst.IP = loopback4
		} else {
			dst.IP = loopback6
		}
	}
	if sk.Family == AF_INET6 && dst.IP.Is4() {
		if sk.Opt.V6Only || sk.Bound && !sk.Local.IP.isAny() && !sk.Local.IP.Is4() {
			return dst, 0, unrouted, errno.ENETUNREACH
		}
	} else if sk.Family == AF_INET6 && sk.Bound && !sk.Local.IP.isAny() && sk.Local.IP.Is4() {
		return dst, 0, unrouted, errno.ENETUNREACH
	}
	who, to = sk.routeOf(s, dst.IP)
	if to == unrouted {
		code = errno.ENETUNREACH
	}
	return dst, who, to, code
}

// StartPorts sets the first ephemeral port of a node, for tests of what depends on it.
func (s *State) StartPorts(id NodeID, port uint16) {
	for _, proto := range []uint8{IPPROTO_TCP, IPPROTO_UDP} {
		s.Nodes[id].NextPort[proto] = port
	}
}
