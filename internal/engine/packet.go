package engine

import "net/netip"

// Packet is a packet at an interface of a node.
type Packet struct {
	TimeNs int64
	Event  uint64 // events that had happened
	Node   int    // whose interface, by its place in the Spec
	Sent   bool   // by that node; else it has come there
	// Protocol is its number in IP: 6 TCP, 17 UDP, 1 ICMP, that the port of the datagram before cannot be reached.
	Protocol uint8
	Src, Dst netip.AddrPort
	// TCP: header fields as RFC 9293 has them, Window in bytes. Of a SYN, Window is as it was offered.
	Flags    uint8
	Seq, Ack uint32
	Window   int64
	Urgent   uint16 // offset behind Seq; 0 is none
	Data     []byte
	// Notes say what faults have done to it, for people.
	Notes []string
}
