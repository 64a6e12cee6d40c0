package net

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// ProcDev is /proc/net/dev. Nothing is counted.
func (s *State) ProcDev(id NodeID) string {
	var b strings.Builder
	b.WriteString("Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n")
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
