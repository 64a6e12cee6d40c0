// Package pcapng writes packets of a virtual network as a capture that Wireshark, tshark and tcpdump open. Interfaces are nodes, times are
// virtual: seconds since the start of the run, in nanoseconds. Ethernet headers are made up; what follows them is as on a
// real network, with lengths and checksums.
//
// The format is that of draft-ietf-opsawg-pcapng.
package pcapng

import (
	"encoding/binary"
	"io"
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// Types of blocks and options.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockNames     = 4
	blockPacket    = 6

	optEnd         = 0
	optComment     = 1
	optApplication = 4 // of a section
	optName        = 2 // of an interface
	optIPv4        = 4
	optMAC         = 6
	optResolution  = 9
	optFlags       = 2 // of a packet

	nameIPv4 = 1
	nameIPv6 = 2

	linkEthernet = 1
	inbound      = 1
	outbound     = 2
)

var le, be = binary.LittleEndian, binary.BigEndian

// Writer writes a capture. The first error stays.
type Writer struct {
	w   io.Writer
	err error
	ids uint16 // of IPv4 packets
}

// Node is an interface of a capture.
type Node struct {
	Name      string
	Addresses []netip.Addr
}

// New begins a capture of some nodes, in the order in which packets number them.
func New(w io.Writer, application string, nodes []Node) *Writer {
	c := &Writer{w: w}
	c.block(blockSection, options(le.AppendUint64(le.AppendUint32(le.AppendUint32(nil, 0x1a2b3c4d), 1), 1<<64-1), option{optApplication, []byte(application)}))
	var names []byte
	for _, n := range nodes {
		list := []option{{optName, []byte(n.Name)}}
		for _, a := range n.Addresses {
			address, kind := a.AsSlice(), uint16(nameIPv6)
			if a.Is4() {
				kind = nameIPv4
				list = append(list, option{optIPv4, append(a.AsSlice(), 255, 255, 255, 0)})
			}
			mac := macOf(a)
			if len(list) <= 2 {
				list = append(list, option{optMAC, mac[:]})
			}
			names = appendRecord(names, kind, append(append(address, n.Name...), 0))
		}
		list = append(list, option{optResolution, []byte{9}})
		c.block(blockInterface, options(le.AppendUint32(le.AppendUint32(nil, linkEthernet), 0), list...))
	}
	c.block(blockNames, appendRecord(names, 0, nil))
	return c
}

type option struct {
	code  uint16
	value []byte
}

// options appends options and their end to the body of a block.
func options(body []byte, list ...option) []byte {
	for _, o := range list {
		body = appendRecord(body, o.code, o.value)
	}
	return appendRecord(body, optEnd, nil)
}

// appendRecord appends a value with its type and length, up to a multiple of four bytes.
func appendRecord(b []byte, kind uint16, value []byte) []byte {
	value = value[:min(len(value), 1<<16-1)]
	b = le.AppendUint16(le.AppendUint16(b, kind), uint16(len(value)))
	return pad(append(b, value...))
}

func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }

func (c *Writer) block(kind uint32, body []byte) {
	if c.err != nil {
		return
	}
	size := uint32(len(body) + 12)
	b := le.AppendUint32(le.AppendUint32(make([]byte, 0, size), kind), size)
	_, c.err = c.w.Write(le.AppendUint32(append(b, body...), size))
}

// Err is the first error of writing.
func (c *Writer) Err() error { return c.err }

// Packet writes a packet.
func (c *Writer) Packet(p *engine.Packet) {
	frame := c.frame(p)
	ns := uint64(max(p.TimeNs, 0))
	b := le.AppendUint32(nil, uint32(p.Node))
	b = le.AppendUint32(le.AppendUint32(b, uint32(ns>>32)), uint32(ns))
	b = le.AppendUint32(le.AppendUint32(b, uint32(len(frame))), uint32(len(frame)))
	b = pad(append(b, frame...))
	direction := uint32(inbound)
	if p.Sent {
		direction = outbound
	}
	list := []option{{optFlags, le.AppendUint32(nil, direction)}}
	for _, n := range p.Notes {
		list = append(list, option{optComment, []byte(n)})
	}
	c.block(blockPacket, options(b, list...))
}

// macOf makes up the address of an interface, as Docker does: locally administered, with the last bytes of the IP one.
func macOf(a netip.Addr) (mac [6]byte) {
	b := a.AsSlice()
	switch {
	case a.IsLoopback():
		return mac
	case a.Is4() && a.IsMulticast(): // RFC 1112
		return [6]byte{0x01, 0x00, 0x5e, b[1] & 0x7f, b[2], b[3]}
	case a.IsMulticast(): // RFC 2464
		return [6]byte{0x33, 0x33, b[12], b[13], b[14], b[15]}
	}
	tail := b[len(b)-4:]
	return [6]byte{0x02, 0x42, tail[0], tail[1], tail[2], tail[3]}
}

// Numbers of protocols.
const (
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58

	flagSYN = 0x02

	hops = 64
	// windowShift scales windows (RFC 7323): with it they reach 16 MiB.
	windowShift = 8
	maxSegment  = 1460
)

func (c *Writer) frame(p *engine.Packet) []byte {
	src, dst := p.Src.Addr(), p.Dst.Addr()
	to, from := macOf(dst), macOf(src)
	b := append(append([]byte(nil), to[:]...), from[:]...)
	b = be.AppendUint16(b, map[bool]uint16{true: 0x0800, false: 0x86dd}[dst.Is4()])
	proto := p.Protocol
	var segment []byte
	switch proto {
	case protoTCP:
		segment = tcp(p)
	case protoUDP:
		segment = udp(p.Src.Port(), p.Dst.Port(), p.Data)
	case protoICMP: // port unreachable (RFC 792, RFC 4443), with the head of the datagram that it answers
		head := udp(p.Dst.Port(), p.Src.Port(), nil)
		if dst.Is4() {
			segment = append([]byte{3, 3, 0, 0, 0, 0, 0, 0}, append(c.ip(dst, src, protoUDP, len(head)), head...)...)
			be.PutUint16(segment[2:], fold(sum(0, segment)))
		} else {
			proto = protoICMPv6
			segment = append([]byte{1, 4, 0, 0, 0, 0, 0, 0}, append(c.ip(dst, src, protoUDP, len(head)), head...)...)
		}
	}
	if at := map[uint8]int{protoTCP: 16, protoUDP: 6, protoICMPv6: 2}[proto]; at > 0 {
		check := fold(sum(pseudo(src, dst, proto, len(segment)), segment))
		if check == 0 && proto == protoUDP { // which would mean that there is none
			check = 0xffff
		}
		be.PutUint16(segment[at:], check)
	}
	return append(append(b, c.ip(src, dst, proto, len(segment))...), segment...)
}

// ip is the header of a packet with so many bytes behind it (RFC 791, RFC 8200).
func (c *Writer) ip(src, dst netip.Addr, proto uint8, size int) []byte {
	if !dst.Is4() {
		b := be.AppendUint16([]byte{0x60, 0, 0, 0}, uint16(size))
		b = append(b, proto, hops)
		a, z := src.As16(), dst.As16()
		return append(append(b, a[:]...), z[:]...)
	}
	const bytes, dontFragment = 20, 0x4000
	c.ids++
	b := be.AppendUint16([]byte{0x45, 0}, uint16(bytes+size))
	b = be.AppendUint16(be.AppendUint16(b, c.ids), dontFragment)
	b = append(b, hops, proto, 0, 0)
	b = append(append(b, src.Unmap().AsSlice()...), dst.AsSlice()...)
	be.PutUint16(b[10:], fold(sum(0, b)))
	return b
}

// tcp is a segment without its checksum.
func tcp(p *engine.Packet) []byte {
	var opts []byte
	window := p.Window >> windowShift
	if p.Flags&flagSYN != 0 {
		opts = be.AppendUint16([]byte{2, 4}, maxSegment)
		opts = append(opts, 1, 3, 3, windowShift)
		window = p.Window
	}
	b := be.AppendUint16(be.AppendUint16(nil, p.Src.Port()), p.Dst.Port())
	b = be.AppendUint32(be.AppendUint32(b, p.Seq), p.Ack)
	flags := p.Flags
	if p.Urgent > 0 {
		flags |= 0x20
	}
	if p.Flags&flagSYN == 0 && len(p.Data) > 0 {
		flags |= 0x08
	}
	b = append(b, byte(5+len(opts)/4)<<4, flags)
	b = be.AppendUint16(b, uint16(max(min(window, 1<<16-1), 0)))
	b = be.AppendUint16(be.AppendUint16(b, 0), p.Urgent)
	return append(append(b, opts...), p.Data...)
}

// udp is a datagram without its checksum.
func udp(src, dst uint16, data []byte) []byte {
	b := be.AppendUint16(be.AppendUint16(nil, src), dst)
	b = be.AppendUint16(be.AppendUint16(b, uint16(8+len(data))), 0)
	return append(b, data...)
}

// pseudo is the sum over the header that checksums cover besides (RFC 9293, RFC 8200).
func pseudo(src, dst netip.Addr, proto uint8, size int) uint32 {
	return sum(sum(uint32(proto)+uint32(size>>16)+uint32(size&0xffff), src.AsSlice()), dst.AsSlice())
}

func sum(s uint32, b []byte) uint32 {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(be.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

// fold is the Internet checksum of a sum (RFC 1071).
func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
}
