package net

import (
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// datagramKey names a one-way flow of datagrams. Named is the port that gives the flow its name, which is the
// sender's when Reply is set: a client's ephemeral port says nothing about a flow.
type datagramKey struct {
	To    NodeID
	Named uint16
	Reply bool
}

type datagramFlow struct {
	Stream string
	Last   int64 // arrival of the last datagram that was not overtaken: a link keeps order
	Sent   int64 // datagrams since the first that may be overtaken, that one included
}

func (s *State) datagramFlow(from, to NodeID, src, dst uint16) *datagramFlow {
	k := datagramKey{To: to, Named: dst}
	named := dst < s.Nodes[to].Tuning.FirstPort
	if !named && src < s.Nodes[from].Tuning.FirstPort {
		k.Named, k.Reply = src, true
	} else if !named {
		k.Named = 0
	}
	n := s.Nodes[from]
	f := n.Datagrams[k]
	if f == nil {
		port := ":" + strconv.Itoa(int(k.Named))
		f = &datagramFlow{Stream: "net/" + n.Name + ">" + s.Nodes[to].Name + port + "/udp"}
		if k.Reply {
			f.Stream = "net/" + n.Name + port + ">" + s.Nodes[to].Name + "/udp"
		}
		n.Datagrams[k] = f
	}
	return f
}

func (sk *sock) udpConnect(s *State, a Addr) errno.Errno {
	if a.Family == AF_UNSPEC {
		sk.Connected, sk.Remote = false, AddrPort{IP: sk.wildcard()}
		if !sk.PortLocked {
			s.unbind(sk)
			sk.Local.Port, sk.Named = 0, false
		}
		if !sk.AddrLocked {
			sk.Local.IP = sk.wildcard()
		}
		sk.Bound = sk.PortLocked || sk.AddrLocked
		return errno.OK
	}
	if e := sk.udpName(s); e != errno.OK {
		return e
	}
	dst := a.addrPort()
	if s.isBroadcast(sk.Node, dst.IP) {
		if !sk.Opt.Broadcast {
			return errno.EACCES
		}
	} else {
		var e errno.Errno
		if dst, _, _, e = s.reach(sk, a); e != errno.OK {
			return e
		}
	}
	if sk.Local.IP.isAny() || !sk.Bound {
		sk.Local.IP = sk.sourceOf(s, dst.IP)
	}
	sk.Remote, sk.Connected = dst, true
	return errno.OK
}

// udpName gives an unbound socket an ephemeral port.
func (sk *sock) udpName(s *State) errno.Errno {
	if sk.Named {
		return errno.OK
	}
	if !s.autobind(sk, nil) {
		return errno.EAGAIN
	}
	sk.Named = true
	s.claim(sk)
	return errno.OK
}

func (s *State) isBroadcast(from NodeID, ip IP) bool {
	return ip == ipv4(255, 255, 255, 255) ||
		slices.ContainsFunc(s.Nodes[from].NICs, func(i nic) bool { return i.Has4 && ip == i.broadcast() })
}

func (sk *sock) udpSend(s *State, env Env, a SendArgs) (int, errno.Errno) {
	if e := sk.udpName(s); e != errno.OK {
		return 0, e
	}
	if len(a.Data) > maxUDPPayloadBytes {
		return 0, errno.EMSGSIZE
	}
	var dst AddrPort
	var who NodeID
	to := reached
	if a.To != nil && a.To.Family != AF_UNSPEC {
		if a.To.Port == 0 {
			return 0, errno.EINVAL
		}
		if !a.To.IP.isMulticast() && !s.isBroadcast(sk.Node, a.To.IP) {
			var e errno.Errno
			if dst, who, to, e = s.reach(sk, *a.To); e != errno.OK {
				return 0, e
			}
		} else {
			dst = a.To.addrPort()
		}
	} else {
		if !sk.Connected {
			return 0, errno.EDESTADDRREQ
		}
		dst = sk.Remote
		if !dst.IP.isMulticast() && !s.isBroadcast(sk.Node, dst.IP) {
			if who, to = sk.routeOf(s, dst.IP); to == unrouted {
				return 0, errno.ENETUNREACH
			}
		}
	}
	if sk.Err != errno.OK {
		return 0, sk.takeError()
	}
	if sk.Shut&shutWR != 0 {
		return 0, errno.EPIPE
	}
	src := sk.Local
	chosen := sk.groupNIC(s, dst.IP)
	switch {
	case src.IP.isAny() && chosen != nil:
		src.IP = chosen.address(dst.IP)
	case src.IP.isAny():
		src.IP = sk.sourceOf(s, dst.IP)
	}
	data := slices.Clone(a.Data)
	switch broadcast := s.isBroadcast(sk.Node, dst.IP); {
	case broadcast && !sk.Opt.Broadcast:
		return 0, errno.EACCES
	case broadcast || dst.IP.isMulticast():
		network, ok := s.Nodes[sk.Node].groupNetwork(src.IP, dst.IP)
		switch {
		case chosen != nil:
			network = chosen.Network
		case sk.device(s) != nil:
			return 0, errno.ENETUNREACH
		case sk.Opt.Device != "":
			s.udpTo(env, sk.Node, sk.Node, src, dst, data, true, loopbackNetwork)
			return len(data), errno.OK
		case !ok:
			return 0, errno.ENETUNREACH
		}
		sk.udpToAll(s, env, network, src, dst, data)
	case dst == AddrPort{resolverIP, 53} && len(s.Nodes[sk.Node].NICs) > 0:
		sk.resolve(s, env, src, data)
	case to == reached:
		s.udpTo(env, sk.Node, who, src, dst, data, false, 0)
	}
	return len(data), errno.OK
}

// groupNIC is the interface that a socket is bound to or, for multicasts to ip, has chosen; or nil.
func (sk *sock) groupNIC(s *State, ip IP) *nic {
	if sk.Opt.Device != "" {
		if d := sk.device(s); d != nil && d.has(ip) {
			return d
		}
		return nil
	}
	n, at := s.Nodes[sk.Node], sk.Opt.GroupIndex-ethernetIndex
	if !ip.isMulticast() || at < 0 || at >= len(n.NICs) || !n.NICs[at].has(ip) {
		return nil
	}
	return &n.NICs[at]
}

// udpToAll sends to every node of a network, the sender's own included unless it does not want its multicasts back.
func (sk *sock) udpToAll(s *State, env Env, network int, src, dst AddrPort, data []byte) {
	for i, n := range s.Nodes {
		if n.nicOn(network) == nil {
			continue
		}
		if to := NodeID(i); to != sk.Node || !sk.Opt.NoMulticastLoop {
			s.udpTo(env, sk.Node, to, src, dst, data, true, network)
		}
	}
}

func (s *State) udpTo(env Env, from, to NodeID, src, dst AddrPort, data []byte, group bool, network int) {
	p := &packet{From: from, To: to, Proto: IPPROTO_UDP, Src: src, Dst: dst, Data: data, Group: group, Network: network}
	if from == to {
		s.Bytes += int64(len(data))
		p.looped(env)
		s.Soft = append(s.Soft, p)
		return
	}
	flow := s.datagramFlow(from, to, src.Port, dst.Port)
	if s.Seen != nil {
		s.sentDatagram(from, to, src.Port, dst.Port, data)
	}
	f := s.pass(env, from, to, flow.Stream, len(data), true, true)
	p.sent(env, f)
	if causes := f.causes(); causes != nil {
		s.EventSeq++
		p.Key = int64(s.EventSeq)
		for _, sk := range p.udpReceivers(s) {
			for _, ref := range causes {
				sk.Marks.withhold(ref, f.Due, POLLIN, p.Key, false)
			}
		}
	}
	if f.Lost {
		return
	}
	if f.Behind || flow.Sent > 0 {
		flow.Sent++
		p.Place = place{flow.Stream, flow.Sent}
	}
	if f.Behind {
		p.Fault = FaultRef{Kind: fault.Reorder, Rule: s.link(from, to).Rates.ReorderRule}
	} else {
		flow.Last = max(flow.Last, f.At)
		f.At = flow.Last
	}
	if p.Data, p.Flipped = flip(data, f.Flip); p.Flipped > 0 {
		p.FlipRule = s.link(from, to).Rates.CorruptRule
		env.Delivered(FaultRef{Kind: fault.Corrupt, Rule: p.FlipRule})
	}
	s.Bytes += int64(len(data))
	p.put(s, f)
	if f.Twice {
		again := *p
		again.Fault, again.Key, again.Flipped = FaultRef{Kind: fault.Duplicate, Rule: s.link(from, to).Rates.DuplicateRule}, 0, 0
		s.Bytes += int64(len(data))
		(&again).put(s, f)
	}
}

// udpReceivers lists the sockets that a datagram is for.
func (p *packet) udpReceivers(s *State) []*sock {
	if !p.Group {
		if sk := s.pick(p.To, IPPROTO_UDP, p.Dst, p.Src, func(*sock) bool { return true }); sk != nil {
			return []*sock{sk}
		}
		return nil
	}
	var all []*sock
	for _, id := range s.Nodes[p.To].Ports[portKey{IPPROTO_UDP, p.Dst.Port}] {
		sk := s.Socks[id]
		v4, v6 := sk.families()
		if p.Dst.IP.Is4() && !v4 || !p.Dst.IP.Is4() && !v6 {
			continue
		}
		if !sk.Local.IP.isAny() && sk.Local.IP != p.Dst.IP || sk.Connected && sk.Remote != p.Src {
			continue
		}
		if !sk.hearsNetwork(s, p.Network) {
			continue
		}
		if p.Dst.IP.isMulticast() && !slices.Contains(sk.Groups, p.Dst.IP) {
			continue
		}
		all = append(all, sk)
	}
	return all
}

// udpInput delivers a datagram. A full receive buffer loses it; a closed port is answered by ICMP.
func (p *packet) udpInput(s *State, env Env) {
	p.drop(s) // enqueue accounts for it again
	to := p.udpReceivers(s)
	if len(to) == 0 {
		if !p.Group && p.From != resolverNode {
			p.unreachable(s, env)
		}
		return
	}
	for _, sk := range to {
		charge := chargeUDP(len(p.Data))
		if len(sk.Queue) > 0 && sk.Charge+charge > sk.Opt.RcvBuf {
			continue // lost
		}
		sk.enqueue(s, message{Data: p.Data, From: sk.addr(p.Src), To: p.Dst.IP, TimeNs: env.Now(), Charge: charge, Fault: p.Fault,
			Flipped: p.Flipped, FlipRule: p.FlipRule, Place: p.Place})
		if p.Key != 0 && len(sk.Marks) > 0 {
			sk.Marks.arrived(env.Now(), func(m *mark) bool { return m.Key == p.Key })
		}
		env.Wake(sk.ID, pollIn)
	}
}

// unreachable sends "port unreachable" back to the sender of p (RFC 792).
func (p *packet) unreachable(s *State, env Env) {
	back := &packet{From: p.To, To: p.From, Proto: IPPROTO_ICMP, Src: p.Dst, Dst: p.Src}
	if p.From == p.To {
		back.looped(env)
		s.Soft = append(s.Soft, back)
		return
	}
	f := s.pass(env, p.To, p.From, "", 0, false, false)
	back.sent(env, f)
	if !f.Lost {
		back.put(s, f)
	}
}

// icmpInput gives the error to the connected socket that it is about.
func (p *packet) icmpInput(s *State, env Env) {
	sk := s.pick(p.To, IPPROTO_UDP, p.Dst, p.Src, func(sk *sock) bool { return sk.Connected && sk.Remote == p.Src })
	if sk == nil {
		return
	}
	sk.Err = errno.ECONNREFUSED
	env.Wake(sk.ID, pollIn|pollOut|POLLERR)
}
