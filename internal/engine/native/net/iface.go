package net

import (
	"encoding/binary"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

const (
	loopbackMTU = 65536
	ethernetMTU = 1500

	loopbackIndex = 1
	ethernetIndex = 2 // of the first one; others follow

	iffUp        = 0x1
	iffBroadcast = 0x2
	iffLoopback  = 0x8
	iffRunning   = 0x40
	iffMulticast = 0x1000
	iffLowerUp   = 0x10000
)

// Interface is a network interface of a node.
type Interface struct {
	Index     int
	Name      string
	Flags     uint32 // IFF_*
	MTU       int
	Hardware  [6]byte
	IPv4      IP
	Bits4     int
	Has4      bool
	Broadcast IP
	IPv6      IP
	Bits6     int
	Has6      bool
	// Gateway4 and Gateway6 are where the default route of the node leads that goes through this interface; zero is nowhere.
	Gateway4, Gateway6 IP
}

// Interfaces lists a node's interfaces.
func (s *State) Interfaces(id NodeID) []Interface {
	n := s.Nodes[id]
	all := []Interface{{Index: loopbackIndex, Name: "lo", Flags: iffUp | iffLoopback | iffRunning | iffLowerUp, MTU: loopbackMTU,
		IPv4: loopback4, Bits4: 8, Has4: true, IPv6: loopback6, Bits6: 128, Has6: !n.Tuning.NoIPv6}}
	exit4, exit6 := n.exit(any4), n.exit(IP{})
	for at := range n.NICs {
		c := &n.NICs[at]
		i := Interface{Index: ethernetIndex + at, Name: c.Name, Flags: iffUp | iffBroadcast | iffRunning | iffMulticast | iffLowerUp, MTU: ethernetMTU,
			Hardware: c.Hardware, IPv4: c.IP4, Bits4: c.Bits4, Has4: c.Has4, IPv6: c.IP6, Bits6: c.Bits6, Has6: c.Has6}
		if c.Has4 {
			i.Broadcast = c.broadcast()
		}
		if c == exit4 {
			i.Gateway4 = c.Gateway4
		}
		if c == exit6 {
			i.Gateway6 = c.Gateway6
		}
		all = append(all, i)
	}
	return all
}

// InterfaceOf is the index of the interface that has an address of a node.
func (s *State) InterfaceOf(id NodeID, ip IP) int {
	for at, c := range s.Nodes[id].NICs {
		if c.owns(ip) {
			return ethernetIndex + at
		}
	}
	if ip.isLoopback() {
		return loopbackIndex
	}
	return ethernetIndex
}

// Requests of ioctl(2) about interfaces: see netdevice(7).
const (
	SIOCGIFNAME    = 0x8910
	SIOCGIFCONF    = 0x8912
	SIOCGIFFLAGS   = 0x8913
	SIOCGIFADDR    = 0x8915
	SIOCGIFDSTADDR = 0x8917
	SIOCGIFBRDADDR = 0x8919
	SIOCGIFNETMASK = 0x891b
	SIOCGIFMETRIC  = 0x891d
	SIOCGIFMTU     = 0x8921
	SIOCGIFHWADDR  = 0x8927
	SIOCGIFINDEX   = 0x8933
	SIOCGIFTXQLEN  = 0x8942

	ifreqBytes = 40
	ifnameSize = 16
)

// InterfaceConf is the array of struct ifreq that SIOCGIFCONF writes.
func (s *State) InterfaceConf(id NodeID) []byte {
	var b []byte
	for _, i := range s.Interfaces(id) {
		if !i.Has4 {
			continue
		}
		r := make([]byte, ifreqBytes)
		copy(r, i.Name)
		copy(r[ifnameSize:], AppendSockaddr(nil, Addr{Family: AF_INET, IP: i.IPv4}))
		b = append(b, r...)
	}
	return b
}

// InterfaceQuestion is what a request asks by a struct ifreq: the index of an interface, or its name. The rest is unset.
func InterfaceQuestion(request uint32, ifreq []byte) []byte {
	if request == SIOCGIFNAME {
		return ifreq[ifnameSize : ifnameSize+4]
	}
	return []byte(cString(ifreq[:ifnameSize]))
}

// InterfaceAnswer is what InterfaceRequest has answered in a struct ifreq.
func InterfaceAnswer(request uint32, ifreq []byte) []byte {
	if request == SIOCGIFNAME {
		return ifreq[:ifnameSize]
	}
	return ifreq[ifnameSize:ifreqBytes]
}

// InterfaceRequest answers an ioctl that takes a struct ifreq, in place. ENOTTY: it is none of these.
func (s *State) InterfaceRequest(id NodeID, request uint32, ifreq []byte) errno.Errno {
	if len(ifreq) < ifreqBytes {
		return errno.EINVAL
	}
	switch request {
	case SIOCGIFNAME, SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFDSTADDR, SIOCGIFBRDADDR, SIOCGIFNETMASK, SIOCGIFMETRIC, SIOCGIFMTU,
		SIOCGIFHWADDR, SIOCGIFINDEX, SIOCGIFTXQLEN:
	default:
		return errno.ENOTTY
	}
	all := s.Interfaces(id)
	value := ifreq[ifnameSize:ifreqBytes]
	at := slices.IndexFunc(all, func(i Interface) bool {
		if request == SIOCGIFNAME {
			return uint32(i.Index) == binary.LittleEndian.Uint32(value)
		}
		return i.Name == cString(ifreq[:ifnameSize])
	})
	if at < 0 {
		return errno.ENODEV
	}
	i := all[at]
	if request == SIOCGIFNAME {
		clear(ifreq[:ifnameSize])
		copy(ifreq, i.Name)
		return errno.OK
	}
	if !i.Has4 && slices.Contains([]uint32{SIOCGIFADDR, SIOCGIFDSTADDR, SIOCGIFBRDADDR, SIOCGIFNETMASK}, request) {
		return errno.EADDRNOTAVAIL
	}
	clear(value)
	inet := func(ip IP) { copy(value, AppendSockaddr(nil, Addr{Family: AF_INET, IP: ip})) }
	switch request {
	case SIOCGIFFLAGS:
		binary.LittleEndian.PutUint16(value, uint16(i.Flags))
	case SIOCGIFADDR, SIOCGIFDSTADDR:
		inet(i.IPv4)
	case SIOCGIFBRDADDR:
		if i.Broadcast == (IP{}) {
			i.Broadcast = any4
		}
		inet(i.Broadcast)
	case SIOCGIFNETMASK:
		mask := uint32(0xffffffff) << (32 - i.Bits4)
		inet(ipv4(byte(mask>>24), byte(mask>>16), byte(mask>>8), byte(mask)))
	case SIOCGIFMTU:
		binary.LittleEndian.PutUint32(value, uint32(i.MTU))
	case SIOCGIFHWADDR:
		binary.LittleEndian.PutUint16(value, hardwareType(i))
		copy(value[2:], i.Hardware[:])
	case SIOCGIFINDEX:
		binary.LittleEndian.PutUint32(value, uint32(i.Index))
	case SIOCGIFTXQLEN:
		binary.LittleEndian.PutUint32(value, 1000)
	}
	return errno.OK
}

// hardwareType is ARPHRD_LOOPBACK or ARPHRD_ETHER.
func hardwareType(i Interface) uint16 {
	if i.Flags&iffLoopback != 0 {
		return 772
	}
	return 1
}
