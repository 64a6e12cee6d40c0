//go:build linux && amd64

package pcapng_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/pcapng"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var le, be = binary.LittleEndian, binary.BigEndian

// captured is a packet of a capture, its headers taken apart.
type captured struct {
	node     string
	ns       uint64
	inbound  bool
	comments []string
	proto    uint8
	src, dst netip.AddrPort
	seq, ack uint32
	flags    uint8
	payload  []byte
}

// read is a strict reader: it ends the test where a length, a padding, a type or a checksum is not as the formats have it.
func read(t *testing.T, b []byte) (nodes []string, names map[netip.Addr]string, list []captured) {
	t.Helper()
	names = map[netip.Addr]string{}
	take := func(b *[]byte, n int) []byte {
		if len(*b) < n {
			t.Fatalf("%d bytes are left where %d belong", len(*b), n)
		}
		p := (*b)[:n]
		*b = (*b)[n:]
		return p
	}
	records := func(b []byte, each func(kind uint16, value []byte)) {
		for {
			head := take(&b, 4)
			kind, n := le.Uint16(head), int(le.Uint16(head[2:]))
			if kind == 0 {
				if n != 0 || len(b) != 0 {
					t.Fatalf("an end of %d bytes, and %d behind it", n, len(b))
				}
				return
			}
			v := take(&b, (n+3)&^3)
			if len(bytes.Trim(v[n:], "\x00")) > 0 {
				t.Fatalf("padding % x", v[n:])
			}
			each(kind, v[:n])
		}
	}
	for first := true; len(b) > 0; first = false {
		head := take(&b, 8)
		kind, size := le.Uint32(head), int(le.Uint32(head[4:]))
		if size%4 != 0 || size < 12 || first != (kind == 0x0a0d0d0a) {
			t.Fatalf("block %#x of %d bytes", kind, size)
		}
		body := take(&b, size-12)
		if int(le.Uint32(take(&b, 4))) != size {
			t.Fatal("the sizes of a block differ")
		}
		switch kind {
		case 0x0a0d0d0a:
			if fixed := take(&body, 16); le.Uint32(fixed) != 0x1a2b3c4d || le.Uint16(fixed[4:]) != 1 ||
				le.Uint16(fixed[6:]) != 0 || le.Uint64(fixed[8:]) != 1<<64-1 {
				t.Fatalf("section % x", fixed)
			}
			records(body, func(uint16, []byte) {})
		case 1:
			if fixed := take(&body, 8); le.Uint16(fixed) != 1 || le.Uint16(fixed[2:]) != 0 {
				t.Fatalf("interface % x", fixed)
			}
			name, nano := "", false
			records(body, func(kind uint16, v []byte) {
				switch kind {
				case 2:
					name = string(v)
				case 9:
					nano = bytes.Equal(v, []byte{9})
				case 4:
					nano = nano && len(v) == 8
				}
			})
			if !nano || name == "" {
				t.Fatalf("interface %q, nanoseconds %v", name, nano)
			}
			nodes = append(nodes, name)
		case 4:
			records(body, func(kind uint16, v []byte) {
				n := map[uint16]int{1: 4, 2: 16}[kind]
				a, ok := netip.AddrFromSlice(v[:n])
				if !ok || v[len(v)-1] != 0 {
					t.Fatalf("name % x", v)
				}
				names[a] = string(v[n : len(v)-1])
			})
		case 6:
			fixed := take(&body, 20)
			p := captured{node: nodes[le.Uint32(fixed)], ns: uint64(le.Uint32(fixed[4:]))<<32 | uint64(le.Uint32(fixed[8:]))}
			n := int(le.Uint32(fixed[12:]))
			if n != int(le.Uint32(fixed[16:])) {
				t.Fatal("a packet was cut")
			}
			frame := take(&body, (n+3)&^3)[:n]
			records(body, func(kind uint16, v []byte) {
				switch {
				case kind == 1:
					p.comments = append(p.comments, string(v))
				case kind == 2 && len(v) == 4 && (v[0] == 1 || v[0] == 2):
					p.inbound = v[0] == 1
				default:
					t.Fatalf("option %d of a packet: % x", kind, v)
				}
			})
			if err := p.dissect(frame); err != nil {
				t.Fatalf("packet %d at %d ns: %v\n% x", len(list)+1, p.ns, err, frame)
			}
			if len(list) > 0 && p.ns < list[len(list)-1].ns {
				t.Fatal("time goes back")
			}
			list = append(list, p)
		default:
			t.Fatalf("block %#x", kind)
		}
	}
	return nodes, names, list
}

func checksum(parts ...[]byte) uint16 {
	s := 0
	for _, b := range parts {
		for i := range b {
			s += int(b[i]) << (8 * ((i + 1) % 2))
		}
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

func (p *captured) dissect(b []byte) error {
	if len(b) < 34 {
		return fmt.Errorf("%d bytes", len(b))
	}
	ethernet, b := be.Uint16(b[12:]), b[14:]
	var src, dst netip.Addr
	var pseudo []byte
	switch ethernet {
	case 0x0800:
		if b[0] != 0x45 || int(be.Uint16(b[2:])) != len(b) || checksum(b[:20]) != 0xffff {
			return fmt.Errorf("IPv4 header")
		}
		src, dst, p.proto = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])), b[9]
		pseudo, b = append(slices.Clone(b[12:20]), 0, p.proto), b[20:]
	case 0x86dd:
		if b[0]>>4 != 6 || int(be.Uint16(b[4:])) != len(b)-40 {
			return fmt.Errorf("IPv6 header")
		}
		src, dst, p.proto = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40])), b[6]
		pseudo, b = append(slices.Clone(b[8:40]), 0, p.proto), b[40:]
	default:
		return fmt.Errorf("type %#x", ethernet)
	}
	pseudo = be.AppendUint16(pseudo, uint16(len(b)))
	if p.proto == 1 {
		pseudo = nil
	}
	if checksum(pseudo, b) != 0xffff {
		return fmt.Errorf("checksum of protocol %d", p.proto)
	}
	switch p.proto {
	case 6:
		p.seq, p.ack, p.flags = be.Uint32(b[4:]), be.Uint32(b[8:]), b[13]
		p.payload = b[b[12]>>4*4:]
	case 17:
		if int(be.Uint16(b[4:])) != len(b) {
			return fmt.Errorf("UDP length")
		}
		p.payload = b[8:]
	default:
		p.payload = b
		p.src, p.dst = netip.AddrPortFrom(src, 0), netip.AddrPortFrom(dst, 0)
		return nil
	}
	p.src, p.dst = netip.AddrPortFrom(src, be.Uint16(b)), netip.AddrPortFrom(dst, be.Uint16(b[2:]))
	return nil
}

// talkative is a world of TCP and UDP over both families, with faults of all kinds that a packet can meet.
func talkative(t *testing.T) *world.Spec {
	python := needs.Program(t, "python3")
	const server = `import socket,threading
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('', 53000))
def datagrams():
    while True:
        b, a = u.recvfrom(2000); u.sendto(b.upper(), a)
threading.Thread(target=datagrams, daemon=True).start()
s = socket.create_server(('', 7000), family=socket.AF_INET6, dualstack_ipv6=True)
def serve(c):
    while True:
        b = c.recv(70000)
        if not b: break
        c.sendall(b)
    c.close()
while True:
    c, _ = s.accept(); threading.Thread(target=serve, args=(c,), daemon=True).start()
`
	const client = `import socket,time
time.sleep(0.1)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(0.02)
w = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); w.connect(('n1', 9)); w.settimeout(0.05)
try: w.send(b'x'); w.recv(10)
except OSError as e: print(e)
for i in range(40):
    c = socket.create_connection(('n1', 7000)); m = b'message %d ' % i + b'.' * (3000 * (i % 7)); c.sendall(m); got = b''
    while len(got) < len(m): got += c.recv(70000)
    c.close()
    u.sendto(b'datagram %d' % i, ('n1', 53000))
    try: u.recv(2000)
    except OSError: pass
while True: time.sleep(1)
`
	node := func(name, ip, ip6, program string) world.Node {
		return world.Node{Name: name, Role: world.Server, Hostname: name, IPv4: ip, IPv6: ip6, Root: "host", WorkingDir: "/tmp",
			Command: []string{python, "-c", program}}
	}
	spec := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 20e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		DefaultLink: world.Link{LatencyNs: 500e3, JitterNs: 100e3},
		Nodes:       []world.Node{node("n1", "10.77.0.10", "fd77::a", server), node("n2", "10.77.0.11", "fd77::b", client)},
		Faults:      world.Faults{Enabled: true, StopNs: 15e9, SettleNs: 300e6}}
	for _, text := range []string{"drop on n1-n2 rate 3%", "delay on n1-n2 rate 5% for 5ms..20ms", "duplicate on n1-n2 rate 10%",
		"corrupt on n1-n2 rate 3%", "reorder on n1-n2 rate 10%",
		"partition on n1-n2 rate 5% for 10ms..40ms", "reset on n1-n2 rate 1%"} {
		r, err := fault.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Faults.Rules = append(spec.Faults.Rules, r)
	}
	return spec
}

// capture makes a run and its capture.
func capture(t *testing.T, spec *world.Spec) (packets []byte, out *record.Outcome) {
	t.Helper()
	var b bytes.Buffer
	var nodes []pcapng.Node
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		nodes = append(nodes, pcapng.Node{Name: n.Name, Addresses: []netip.Addr{netip.MustParseAddr(n.IPv4), netip.MustParseAddr(n.IPv6)}})
	}
	w := pcapng.New(&b, "a test", nodes)
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 7}, engine.Options{Capture: w.Packet})
	if err != nil || w.Err() != nil {
		t.Fatal(err, w.Err())
	}
	return b.Bytes(), out
}

// A capture of a world with faults is as a real network's: whole headers, streams whose bytes follow their numbers from SYN to FIN
// or RST, and a comment on what a fault has done. The run is as without a capture.
func TestCaptureOfAWorldWithFaults(t *testing.T) {
	spec := talkative(t)
	packets, out := capture(t, spec)
	plain, err := engine.Run(native.New(), spec, tape.Tape{Seed: 7}, engine.Options{})
	if err != nil || plain.Hash != out.Hash || plain.StrictHash != out.StrictHash {
		t.Fatalf("%v: trace hash %s with a capture, %s without", err, out.Hash, plain.Hash)
	}
	nodes, names, list := read(t, packets)
	if !slices.Equal(nodes, []string{"n1", "n2"}) || names[netip.MustParseAddr("10.77.0.10")] != "n1" || names[netip.MustParseAddr("fd77::b")] != "n2" {
		t.Errorf("nodes %v, names %v", nodes, names)
	}
	type flow struct{ src, dst netip.AddrPort }
	type stream struct {
		first, next uint32
		open, over  bool
	}
	streams := map[flow]*stream{}
	seen := map[string]int{}
	for i := range list {
		p := &list[i]
		seen[fmt.Sprintf("protocol %d over IPv%d", p.proto, map[bool]int{true: 4, false: 6}[p.dst.Addr().Is4()])]++
		for _, c := range p.comments {
			for _, word := range strings.FieldsFunc(c, func(r rune) bool { return r == ' ' || r == ':' || r == ',' }) {
				seen[word]++
			}
		}
		if p.proto != 6 {
			continue
		}
		k := flow{p.src, p.dst}
		s := streams[k]
		const fin, syn, rst = 1, 2, 4
		if p.flags&syn != 0 && (s == nil || s.over || p.seq != s.first) {
			s = &stream{first: p.seq, next: p.seq + 1, open: true}
			streams[k] = s
			seen["SYN"]++
		}
		switch {
		case p.flags&rst != 0:
			seen["RST"]++
			if s != nil {
				s.over = true
			}
			if s := streams[flow{p.dst, p.src}]; s != nil {
				s.over = true
			}
			continue
		case s == nil:
			t.Errorf("packet %d: %v sends before a SYN", i+1, k)
			continue
		}
		end := p.seq + uint32(len(p.payload))
		if p.flags&fin != 0 {
			end++
			seen["FIN"]++
		}
		if !p.inbound && int32(p.seq-s.next) > 0 {
			t.Errorf("packet %d: %v leaves out %d bytes", i+1, k, p.seq-s.next)
		}
		if int32(end-s.next) > 0 {
			s.next = end
		}
		if back := streams[flow{p.dst, p.src}]; back != nil && p.flags&16 != 0 && int32(p.ack-back.next) > 0 {
			t.Errorf("packet %d: %v acknowledges %d bytes that were never sent", i+1, k, p.ack-back.next)
		}
		if bytes.HasPrefix(p.payload, []byte("message 6 ")) {
			seen["a message's bytes"]++
		}
	}
	for _, what := range []string{"protocol 6 over IPv6", "protocol 17 over IPv4", "protocol 1 over IPv4", "SYN", "FIN", "RST",
		"a message's bytes", "lost", "late", "drop", "delay", "duplicate", "corrupt", "reorder", "partition", "reset", "fault"} {
		if seen[what] == 0 {
			t.Errorf("never seen: %s; seen were %v", what, seen)
		}
	}
}

// tcpdump finds no wrong checksum, no packet that is cut, and the payload of HTTP.
func TestTcpdumpReadsACapture(t *testing.T) {
	tcpdump := needs.Program(t, "tcpdump")
	packets, _ := capture(t, talkative(t))
	file := filepath.Join(t.TempDir(), "capture.pcapng")
	if err := os.WriteFile(file, packets, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(tcpdump, "-nn", "-vv", "-r", file)
	var problems bytes.Buffer
	c.Stderr = &problems
	text, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, problems.String())
	}
	_, _, list := read(t, packets)
	for _, bad := range []string{"incorrect", "bad ", "truncated", "[|", "invalid", "wrong"} {
		if i := bytes.Index(text, []byte(bad)); i >= 0 {
			t.Errorf("tcpdump says %q: ...%s", bad, text[max(0, i-300):min(len(text), i+100)])
		}
	}
	if n := bytes.Count(text, []byte("(correct)")) + bytes.Count(text, []byte("udp sum ok")); n < len(list)/2 {
		t.Errorf("tcpdump found %d checksums right, of %d packets", n, len(list))
	}
}

// failing is a disk that is full after some bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestCaptureOnAFullDisk(t *testing.T) {
	w := pcapng.New(&failing{400}, "a test", []pcapng.Node{{Name: "n1", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}})
	if w.Err() != nil {
		t.Fatal(w.Err())
	}
	for range 20 {
		w.Packet(&engine.Packet{Protocol: 17, Src: netip.MustParseAddrPort("10.0.0.1:1"), Dst: netip.MustParseAddrPort("10.0.0.2:2"), Data: []byte("x")})
	}
	if w.Err() != io.ErrShortWrite {
		t.Errorf("the error is %v", w.Err())
	}
}
