package net

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Message types, flags and attributes of netlink: see netlink(7) and rtnetlink(7).
const (
	nlmsgError = 2
	nlmsgDone  = 3

	nlmRequest = 0x1
	nlmMulti   = 0x2
	nlmAck     = 0x4
	nlmDump    = 0x300

	rtmNewLink  = 16
	rtmGetLink  = 18
	rtmNewAddr  = 20
	rtmGetAddr  = 22
	rtmNewRoute = 24
	rtmGetRoute = 26

	nlmsgHeader       = 16
	maxNetlinkReplies = 256
)

func (sk *sock) netlinkBind(s *State, a Addr) errno.Errno {
	if a.Family != AF_NETLINK {
		return errno.EINVAL
	}
	if sk.Bound && a.PortID != sk.PortID {
		return errno.EINVAL
	}
	sk.netlinkName(s, a.PortID)
	return errno.OK
}

// netlinkName gives a socket its port: the one asked for, or the next of the node's own.
func (sk *sock) netlinkName(s *State, port uint32) {
	if sk.Bound {
		return
	}
	if port == 0 {
		n := s.Nodes[sk.Node]
		n.NextPortID++
		port = n.NextPortID
	}
	sk.PortID, sk.Bound = port, true
}

// netlinkSend answers every request of a message at once.
func (sk *sock) netlinkSend(s *State, env Env, a SendArgs) (int, errno.Errno) {
	sk.netlinkName(s, 0)
	if sk.Protocol != NETLINK_ROUTE {
		return len(a.Data), errno.OK
	}
	for b := a.Data; len(b) >= nlmsgHeader; {
		size := int(binary.LittleEndian.Uint32(b))
		if size < nlmsgHeader || size > len(b) {
			break
		}
		sk.netlinkRequest(s, env, b[:size])
		b = b[min((size+3)&^3, len(b)):]
	}
	return len(a.Data), errno.OK
}

func (sk *sock) netlinkRequest(s *State, env Env, req []byte) {
	typ, flags := binary.LittleEndian.Uint16(req[4:]), binary.LittleEndian.Uint16(req[6:])
	seq := binary.LittleEndian.Uint32(req[8:])
	family := byte(0)
	if len(req) > nlmsgHeader {
		family = req[nlmsgHeader]
	}
	var replies []byte
	add := func(typ uint16, flags uint16, payload []byte) {
		head := binary.LittleEndian.AppendUint32(nil, uint32(nlmsgHeader+len(payload)))
		head = binary.LittleEndian.AppendUint16(head, typ)
		head = binary.LittleEndian.AppendUint16(head, flags)
		head = binary.LittleEndian.AppendUint32(head, seq)
		head = binary.LittleEndian.AppendUint32(head, sk.PortID)
		replies = pad(append(append(replies, head...), payload...))
	}
	send := func() {
		if len(sk.Queue) < maxNetlinkReplies {
			sk.enqueue(s, message{Data: replies, From: Addr{Family: AF_NETLINK}, TimeNs: env.Now(), Charge: chargeMessage(len(replies))})
			env.Wake(sk.ID, pollIn)
		}
		replies = nil
	}
	fail := func(e errno.Errno) {
		add(nlmsgError, 0, append(int32Bytes(-int(e)), req[:nlmsgHeader]...))
		send()
	}
	if flags&nlmRequest == 0 {
		return
	}
	dump := flags&nlmDump == nlmDump
	multi := uint16(0)
	if dump {
		multi = nlmMulti
	}
	found := false
	switch typ {
	case rtmGetLink:
		want := uint32(0)
		if !dump && len(req) >= nlmsgHeader+8 {
			want = binary.LittleEndian.Uint32(req[nlmsgHeader+4:])
		}
		for _, i := range s.Interfaces(sk.Node) {
			if dump || want == uint32(i.Index) || want == 0 && hasName(req, i.Name) {
				add(rtmNewLink, multi, linkMessage(i))
				found = true
			}
		}
	case rtmGetAddr:
		for _, m := range s.addrMessages(sk.Node, family) {
			add(rtmNewAddr, multi, m)
		}
		found = true
	case rtmGetRoute:
		for _, m := range s.routeMessages(sk.Node, family, dump) {
			add(rtmNewRoute, multi, m)
		}
		found = true
	default:
		if typ >= 16 && typ%4 != 2 { // RTM_NEW*, RTM_DEL*, RTM_SET*: no program may change the network from inside
			fail(errno.EPERM)
		} else {
			fail(errno.EOPNOTSUPP)
		}
		return
	}
	switch {
	case !found:
		fail(errno.ENODEV)
	case dump:
		send()
		add(nlmsgDone, nlmMulti, int32Bytes(0))
		send()
	default:
		send()
		if flags&nlmAck != 0 {
			fail(errno.OK)
		}
	}
}

// addrMessages are the addresses of a node's interfaces, of one family or of both.
func (s *State) addrMessages(n NodeID, family byte) (list [][]byte) {
	for _, i := range s.Interfaces(n) {
		if family != AF_INET6 && i.Has4 {
			list = append(list, addrMessage(i, AF_INET))
		}
		if family != AF_INET && i.Has6 {
			list = append(list, addrMessage(i, AF_INET6))
		}
	}
	return list
}

// routeMessages are a node's routes, of one family or of both; those of IPv6 only where all are asked for.
func (s *State) routeMessages(n NodeID, family byte, dump bool) (list [][]byte) {
	for _, i := range s.Interfaces(n)[1:] {
		if family != AF_INET6 && i.Has4 {
			if i.Gateway4 != (IP{}) {
				list = append(list, gatewayMessage(i, AF_INET))
			}
			list = append(list, routeMessage(i, AF_INET))
		}
		if family != AF_INET && i.Has6 && dump {
			list = append(list, routeMessage(i, AF_INET6))
			if i.Gateway6 != (IP{}) {
				list = append(list, gatewayMessage(i, AF_INET6))
			}
		}
	}
	return list
}

// hasName reports whether an RTM_GETLINK request names an interface (IFLA_IFNAME).
func hasName(req []byte, name string) bool {
	for b := req[min(nlmsgHeader+16, len(req)):]; len(b) >= 4; {
		n := int(binary.LittleEndian.Uint16(b))
		if n < 4 || n > len(b) {
			return false
		}
		if binary.LittleEndian.Uint16(b[2:]) == 3 && cString(b[4:n]) == name {
			return true
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return false
}

func pad(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func attribute(b []byte, typ uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(4+len(value)))
	b = binary.LittleEndian.AppendUint16(b, typ)
	return pad(append(b, value...))
}

// linkMessage is a struct ifinfomsg with its attributes.
func linkMessage(i Interface) []byte {
	b := []byte{AF_UNSPEC, 0}
	b = binary.LittleEndian.AppendUint16(b, hardwareType(i))
	b = append(b, int32Bytes(i.Index, int(i.Flags), 0)...)
	b = attribute(b, 3, append([]byte(i.Name), 0)) // IFLA_IFNAME
	b = attribute(b, 13, int32Bytes(1000))         // IFLA_TXQLEN
	b = attribute(b, 16, []byte{6})                // IFLA_OPERSTATE: up
	b = attribute(b, 4, int32Bytes(i.MTU))         // IFLA_MTU
	b = attribute(b, 1, i.Hardware[:])             // IFLA_ADDRESS
	if i.Flags&iffBroadcast != 0 {
		return attribute(b, 2, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) // IFLA_BROADCAST
	}
	return attribute(b, 2, make([]byte, 6))
}

// addrMessage is a struct ifaddrmsg with its attributes.
func addrMessage(i Interface, family byte) []byte {
	ip, bits := i.IPv4[12:], i.Bits4
	if family == AF_INET6 {
		ip, bits = i.IPv6[:], i.Bits6
	}
	scope := byte(0)
	if i.Flags&iffLoopback != 0 {
		scope = 254 // RT_SCOPE_HOST
	}
	b := []byte{family, byte(bits), 0x80, scope} // IFA_F_PERMANENT
	b = append(b, int32Bytes(i.Index)...)
	b = attribute(b, 1, ip) // IFA_ADDRESS
	if family == AF_INET {
		b = attribute(b, 2, ip) // IFA_LOCAL
		if i.Broadcast != (IP{}) {
			b = attribute(b, 4, i.Broadcast[12:]) // IFA_BROADCAST
		}
		b = attribute(b, 3, append([]byte(i.Name), 0)) // IFA_LABEL
	}
	b = attribute(b, 8, int32Bytes(0x80)) // IFA_FLAGS
	return attribute(b, 6, int32Bytes(-1, -1, 0, 0))
}

// routeMessage is the route to an interface's own subnet, a struct rtmsg with its attributes.
func routeMessage(i Interface, family byte) []byte {
	ip, bits, preferred := i.IPv4[12:], i.Bits4, i.IPv4[12:]
	if family == AF_INET6 {
		ip, bits, preferred = i.IPv6[:], i.Bits6, nil
	}
	subnet := make([]byte, len(ip))
	for bit := 0; bit < bits; bit++ {
		subnet[bit/8] |= ip[bit/8] & (0x80 >> (bit % 8))
	}
	b := []byte{family, byte(bits), 0, 0, 254, 2, 253, 1} // table main, by the kernel, scope link, unicast
	b = append(b, int32Bytes(0)...)
	b = attribute(b, 15, int32Bytes(254)) // RTA_TABLE
	b = attribute(b, 1, subnet)           // RTA_DST
	if preferred != nil {
		b = attribute(b, 7, preferred) // RTA_PREFSRC
	}
	return attribute(b, 4, int32Bytes(i.Index)) // RTA_OIF
}

// gatewayMessage is the default route, through an interface's gateway.
func gatewayMessage(i Interface, family byte) []byte {
	gateway := i.Gateway4[12:]
	if family == AF_INET6 {
		gateway = i.Gateway6[:]
	}
	b := []byte{family, 0, 0, 0, 254, 3, 0, 1} // table main, made at boot, scope universe, unicast
	b = append(b, int32Bytes(0)...)
	b = attribute(b, 15, int32Bytes(254))       // RTA_TABLE
	b = attribute(b, 5, gateway)                // RTA_GATEWAY
	return attribute(b, 4, int32Bytes(i.Index)) // RTA_OIF
}
