package net

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// IP is an address of 16 bytes; IPv4 ones are v4-mapped (::ffff:a.b.c.d). The zero IP is "any" of both families.
type IP [16]byte

var (
	loopback4  = ipv4(127, 0, 0, 1)
	loopback6  = IP{15: 1}
	any4       = ipv4(0, 0, 0, 0)
	resolverIP = ipv4(127, 0, 0, 11)
)

// ipv4 makes an IP from four bytes.
func ipv4(a, b, c, d byte) IP { return IP{10: 0xff, 11: 0xff, 12: a, 13: b, 14: c, 15: d} }

// parseIP reads a textual address; ok is false if it is none.
func parseIP(text string) (ip IP, ok bool) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return IP{}, false
	}
	return a.As16(), true
}

// Is4 reports whether ip is an IPv4 address.
func (ip IP) Is4() bool { return netip.AddrFrom16(ip).Is4In6() }

// isAny reports whether ip is the wildcard of either family.
func (ip IP) isAny() bool { return ip == IP{} || ip == any4 }

// isLoopback reports whether ip is in 127/8 or ::1.
func (ip IP) isLoopback() bool { return ip == loopback6 || ip.Is4() && ip[12] == 127 }

// isMulticast reports whether ip is in 224/4 or ff00::/8.
func (ip IP) isMulticast() bool { return ip.Is4() && ip[12]>>4 == 14 || ip[0] == 0xff }

func (ip IP) String() string { return netip.AddrFrom16(ip).Unmap().String() }

// AddrPort is an address with a port.
type AddrPort struct {
	IP   IP
	Port uint16
}

func (a AddrPort) String() string {
	return netip.AddrPortFrom(netip.AddrFrom16(a.IP).Unmap(), a.Port).String()
}

// Addr is a socket address of any family.
type Addr struct {
	Family int
	IP     IP     // AF_INET, AF_INET6
	Port   uint16 // AF_INET, AF_INET6
	// Path of AF_UNIX as the program gave it; an abstract name begins with a zero byte; empty is unnamed.
	Path string
	// Inode is the number of the file that a pathname refers to. The kernel resolves it.
	Inode  int64
	PortID uint32 // AF_NETLINK
	Groups uint32 // AF_NETLINK
}

// addrPort is the part of a that IP uses.
func (a Addr) addrPort() AddrPort { return AddrPort{a.IP, a.Port} }

func (a Addr) String() string {
	switch a.Family {
	case AF_INET, AF_INET6:
		return a.addrPort().String()
	case AF_UNIX:
		if strings.HasPrefix(a.Path, "\x00") {
			return "unix:@" + a.Path[1:]
		}
		return "unix:" + a.Path
	case AF_NETLINK:
		return "netlink:" + strconv.FormatUint(uint64(a.PortID), 10)
	}
	return "unspec"
}

// ParseSockaddr decodes a struct sockaddr of any family: see ip(7), ipv6(7), unix(7), netlink(7). Its errors are
// EINVAL (too short) and EAFNOSUPPORT.
func ParseSockaddr(b []byte) (Addr, errno.Errno) {
	if len(b) < 2 {
		return Addr{}, errno.EINVAL
	}
	a := Addr{Family: int(binary.LittleEndian.Uint16(b))}
	switch a.Family {
	case AF_UNSPEC:
		return a, errno.OK
	case AF_INET:
		if len(b) < 16 {
			return Addr{}, errno.EINVAL
		}
		a.Port = binary.BigEndian.Uint16(b[2:])
		a.IP = ipv4(b[4], b[5], b[6], b[7])
		return a, errno.OK
	case AF_INET6:
		if len(b) < 24 {
			return Addr{}, errno.EINVAL
		}
		a.Port = binary.BigEndian.Uint16(b[2:])
		copy(a.IP[:], b[8:24])
		return a, errno.OK
	case AF_UNIX:
		if len(b) > 110 {
			return Addr{}, errno.EINVAL
		}
		name := b[2:]
		if len(name) > 0 && name[0] != 0 {
			for i, c := range name {
				if c == 0 {
					name = name[:i]
					break
				}
			}
		}
		a.Path = string(name)
		return a, errno.OK
	case AF_NETLINK:
		if len(b) < 12 {
			return Addr{}, errno.EINVAL
		}
		a.PortID = binary.LittleEndian.Uint32(b[4:])
		a.Groups = binary.LittleEndian.Uint32(b[8:])
		return a, errno.OK
	}
	return a, errno.EAFNOSUPPORT
}

// AppendSockaddr encodes a as a struct sockaddr in the way Linux hands it out.
func AppendSockaddr(b []byte, a Addr) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(a.Family))
	switch a.Family {
	case AF_INET:
		b = binary.BigEndian.AppendUint16(b, a.Port)
		if a.IP.isAny() {
			b = append(b, 0, 0, 0, 0)
		} else {
			b = append(b, a.IP[12:]...)
		}
		b = append(b, make([]byte, 8)...)
	case AF_INET6:
		b = binary.BigEndian.AppendUint16(b, a.Port)
		b = append(b, 0, 0, 0, 0)
		b = append(b, a.IP[:]...)
		b = append(b, 0, 0, 0, 0)
	case AF_UNIX:
		b = append(b, a.Path...)
		if a.Path != "" && a.Path[0] != 0 {
			b = append(b, 0)
		}
	case AF_NETLINK:
		b = append(b, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, a.PortID)
		b = binary.LittleEndian.AppendUint32(b, a.Groups)
	}
	return b
}
