package net

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ProcDev is /proc/net/dev. Nothing is counted.
func (s *State) ProcDev(id NodeID) string {
	var b strings.Builder
	b.WriteString("Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs " +
		"drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n")
	for _, i := range s.Interfaces(id) {
		fmt.Fprintf(&b, "%6s: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", i.Name)
	}
	return b.String()
}

// ProcInet6 is /proc/net/if_inet6: address, index, prefix, scope, flags and name. Without declared networks it has loopback alone.
func (s *State) ProcInet6(id NodeID) string {
	var b strings.Builder
	for _, i := range s.Interfaces(id) {
		scope := 0
		switch {
		case !i.Has6:
			continue
		case i.Flags&iffLoopback != 0:
			scope = 0x10
		case len(s.Networks) == 0:
			continue
		}
		fmt.Fprintf(&b, "%x %02x %02x %02x 80 %8s\n", i.IPv6[:], i.Index, i.Bits6, scope, i.Name)
	}
	return b.String()
}

// ProcRoute is /proc/net/route, whose numbers are in the order of x86's bytes. Without declared networks it is empty.
func (s *State) ProcRoute(id NodeID) string {
	const flagUp, flagGateway = 1, 2
	var b strings.Builder
	b.WriteString("Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n")
	if len(s.Networks) == 0 {
		return b.String()
	}
	number := func(ip []byte) uint32 { return binary.LittleEndian.Uint32(ip) }
	line := func(name string, to, gateway uint32, flags int, mask uint32) {
		fmt.Fprintf(&b, "%s\t%08X\t%08X\t%04X\t0\t0\t0\t%08X\t0\t0\t0\n", name, to, gateway, flags, mask)
	}
	all := s.Interfaces(id)[1:]
	for _, i := range all {
		if i.Gateway4 != (IP{}) {
			line(i.Name, 0, number(i.Gateway4[12:]), flagUp|flagGateway, 0)
		}
	}
	for _, i := range all {
		if i.Has4 {
			var bytes [4]byte
			binary.BigEndian.PutUint32(bytes[:], uint32(0xffffffff)<<(32-i.Bits4))
			mask := number(bytes[:])
			line(i.Name, number(i.IPv4[12:])&mask, 0, flagUp, mask)
		}
	}
	return b.String()
}

// ProcSockets is /proc/net/tcp, tcp6, udp and udp6: the node's sockets that have a port, listening ones first, as tcp_seq_show and
// udp4_seq_show of Linux write them. The creator's user is not known: it is 0. Addresses of kernel objects are hidden.
func (s *State) ProcSockets(id NodeID, name string) string {
	family, typ := AF_INET, SOCK_STREAM
	if strings.HasSuffix(name, "6") {
		family = AF_INET6
	}
	if strings.HasPrefix(name, "udp") {
		typ = SOCK_DGRAM
	}
	var listening, others []*sock
	for _, k := range slices.Sorted(maps.Keys(s.Socks)) {
		sk := s.Socks[k]
		switch {
		case sk.Node != id || sk.Family != family || sk.Type != typ || !sk.Named:
		case sk.TCP == nil:
			if typ == SOCK_DGRAM {
				others = append(others, sk)
			}
		case sk.TCP.State == listen:
			listening = append(listening, sk)
		case sk.TCP.State != closed:
			others = append(others, sk)
		}
	}
	var b strings.Builder
	head, format, tail, width := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
		"%4d", "1 0000000000000000 100 0 0 10 0", 149
	if family == AF_INET6 {
		head, width = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr "+
			"tm->when retrnsmt   uid  timeout inode", 0
	}
	if typ == SOCK_DGRAM {
		head, format, tail = head+" ref pointer drops", "%5d", "2 0000000000000000 0"
		if family == AF_INET {
			head, width = " "+head, 127
		}
	}
	fmt.Fprintf(&b, "%-*s\n", width, head)
	for i, sk := range append(listening, others...) {
		state, sent, received, inode := closed, int64(0), sk.Charge, int64(sk.ID)
		if t := sk.TCP; t != nil {
			state, sent, received = t.State, t.SndEnd-t.SndUna, t.RcvBytes
			if state == listen {
				sent, received = 0, int64(len(sk.Accept.Ready))
			}
		} else if sk.Connected {
			state = established
		}
		if !sk.Open {
			inode = 0
		}
		line := fmt.Sprintf(format+": %s %s %02X %08X:%08X 00:00000000 00000000 %5d %8d %d %s", i, procAddr(sk.Local, family),
			procAddr(sk.Remote, family), state,
			max(sent, 0), received, 0, 0, inode, tail)
		fmt.Fprintf(&b, "%-*s\n", width, line)
	}
	return b.String()
}

// procAddr is an address as /proc/net writes it: words in the order of x86's bytes.
func procAddr(a AddrPort, family int) string {
	words := a.IP[:]
	if family == AF_INET {
		words = a.IP[12:]
	} else if a.IP == any4 {
		words = make([]byte, 16)
	}
	var b strings.Builder
	for i := 0; i < len(words); i += 4 {
		fmt.Fprintf(&b, "%08X", binary.LittleEndian.Uint32(words[i:]))
	}
	return fmt.Sprintf("%s:%04X", b.String(), a.Port)
}

// ProcUnix is /proc/net/unix: the node's unix sockets.
func (s *State) ProcUnix(id NodeID) string {
	const accepting = 0x10000
	var b strings.Builder
	b.WriteString("Num       RefCount Protocol Flags    Type St Inode Path\n")
	for _, k := range slices.Sorted(maps.Keys(s.Socks)) {
		sk := s.Socks[k]
		if sk.Node != id || sk.Unix == nil || !sk.Open {
			continue
		}
		flags, state := 0, 1
		if sk.Unix.Listening {
			flags = accepting
		}
		if sk.Unix.Peer != 0 {
			state = 3
		}
		fmt.Fprintf(&b, "0000000000000000: %08X %08X %08X %04X %02X %5d", 2, 0, flags, sk.Type, state, sk.ID)
		if name := sk.unixName(s).Path; name != "" {
			b.WriteString(" " + strings.ReplaceAll(name, "\x00", "@"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// SysClass is a file of /sys/class/net/NAME, for a node on declared networks. Empty: there is none.
func (s *State) SysClass(id NodeID, name, file string) string {
	for _, i := range s.Interfaces(id) {
		if i.Name != name || len(s.Networks) == 0 {
			continue
		}
		state := "up"
		if i.Flags&iffLoopback != 0 {
			state = "unknown"
		}
		return map[string]string{"address": hardwareText(i.Hardware) + "\n", "ifindex": fmt.Sprintf("%d\n", i.Index), "mtu": fmt.Sprintf("%d\n", i.MTU),
			"operstate": state + "\n", "flags": fmt.Sprintf("%#x\n", i.Flags&0xffff), "type": fmt.Sprintf("%d\n", hardwareType(i)), "speed": "10000\n"}[file]
	}
	return ""
}

// SysClassFiles are the files that SysClass has.
var SysClassFiles = []string{"address", "flags", "ifindex", "mtu", "operstate", "speed", "type"}

func hardwareText(b [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5])
}
