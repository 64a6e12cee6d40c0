package net

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

func twoNodes() *scripted {
	w := newWorld(1)
	w.do("node n1 10.0.0.1 fd00::1")
	w.do("node n2 10.0.0.2")
	return w
}

// ask sends one DNS query from n1 and describes the answer.
func (w *scripted) ask(name string, typ uint16) string {
	if _, ok := w.socks["dns"]; !ok {
		w.do("socket dns n1 udp")
		w.do("connect dns 127.0.0.11:53")
	}
	q := []byte{0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	q = append(q, encodeName(name)...)
	q = binary.BigEndian.AppendUint16(q, typ)
	q = binary.BigEndian.AppendUint16(q, dnsClassIN)
	if n, e := w.s.Send(w, w.socks["dns"], SendArgs{Data: q}); e != errno.OK || n != len(q) {
		return e.Error()
	}
	if out := w.do("wait dns in 1s"); strings.HasPrefix(out, "timeout") {
		return out
	}
	r, e := w.s.Recv(w, w.socks["dns"], 512, 0)
	if e != errno.OK || len(r.Data) < len(q) || r.Data[0] != 0xab || r.Data[1] != 0xcd || r.Data[2]&0x80 == 0 {
		return fmt.Sprint("bad answer ", e, r.Data)
	}
	if got := r.From.String(); got != "127.0.0.11:53" {
		return "from " + got
	}
	code := r.Data[3] & 15
	count := binary.BigEndian.Uint16(r.Data[6:])
	rest := r.Data[len(q):]
	if code != 0 || count == 0 {
		return fmt.Sprintf("code %d, %d answers", code, count)
	}
	size := binary.BigEndian.Uint16(rest[10:])
	data := rest[12 : 12+size]
	switch binary.BigEndian.Uint16(rest[2:]) {
	case dnsA:
		return ipv4(data[0], data[1], data[2], data[3]).String()
	case dnsAAAA:
		return IP(data).String()
	}
	target, _, _ := dnsName(data, 0)
	return target
}

func TestResolver(t *testing.T) {
	w := twoNodes()
	w.s.Nodes[0].ExtraHosts = []string{"10.0.0.50 db"}
	for _, c := range []struct {
		name string
		typ  uint16
		want string
	}{
		{"n2", dnsA, "10.0.0.2"}, {"N2.test", dnsA, "10.0.0.2"}, {"n2", dnsAAAA, "code 0, 0 answers"}, {"n1", dnsAAAA, "fd00::1"},
		{"nobody", dnsA, "code 3, 0 answers"}, {"localhost", dnsA, "127.0.0.1"}, {"localhost", dnsAAAA, "::1"}, {"db", dnsA, "10.0.0.50"},
		{"2.0.0.10.in-addr.arpa", dnsPTR, "n2.test"}, {"9.0.0.10.in-addr.arpa", dnsPTR, "code 3, 0 answers"},
		{"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa", dnsPTR, "n1.test"},
		{"n2", 99, "code 0, 0 answers"},
	} {
		if got := w.ask(c.name, c.typ); got != c.want {
			t.Errorf("%s type %d: %s, want %s", c.name, c.typ, got, c.want)
		}
	}
	for _, c := range []struct {
		names Names
		want  string
		shown string
	}{
		{Names{FaultID: 5}, "code 2, 0 answers", "[dns_fail#5:in+out]"},
		{Names{FaultID: 6, Silent: true}, "timeout after 1s", "[dns_fail#6:in]"},
		{Names{}, "10.0.0.2", "[]"},
	} {
		w.s.SetNames(0, c.names)
		got := w.ask("n2", dnsA)
		if shown := w.do("overdue dns 1s"); got != c.want || shown != c.shown {
			t.Errorf("%+v: %s %s, want %s %s", c.names, got, shown, c.want, c.shown)
		}
	}
	if got := w.s.dnsAnswer(0, []byte{1, 2, 3}); got != nil {
		t.Errorf("answered garbage: %v", got)
	}
	if err := w.s.Check(); err != nil {
		t.Error(err)
	}
}

func TestNameFiles(t *testing.T) {
	w := twoNodes()
	w.s.Nodes[0].ExtraHosts = []string{"10.0.0.50 db"}
	want := "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n10.0.0.50\tdb\n10.0.0.1\tn1.test n1\nfd00::1\tn1.test n1\n10.0.0.2\tn2.test n2\n"
	if got := w.s.HostsFile(0); got != want {
		t.Errorf("hosts file:\n%s", got)
	}
	w.s.Nodes[0].ByDNS = true
	if got, want := w.s.HostsFile(0), strings.TrimSuffix(want, "10.0.0.2\tn2.test n2\n"); got != want {
		t.Errorf("hosts file of a node that asks for names:\n%s", got)
	}
	if !strings.Contains(w.s.ResolvConf(0), "nameserver 127.0.0.11\n") {
		t.Error("no name server")
	}
}

// TestNetlinkDump asks as getifaddrs(3) does and lists what comes back.
func TestNetlinkDump(t *testing.T) {
	w := twoNodes()
	id, e := w.s.Socket(0, Kind{AF_NETLINK, SOCK_RAW, NETLINK_ROUTE})
	if e != errno.OK {
		t.Fatal(e)
	}
	if e := w.s.Bind(w, id, Addr{Family: AF_NETLINK}, Cred{}); e != errno.OK {
		t.Fatal(e)
	}
	var got []string
	for _, typ := range []uint16{rtmGetLink, rtmGetAddr, rtmGetRoute, 16} {
		req := binary.LittleEndian.AppendUint32(nil, 17)
		req = binary.LittleEndian.AppendUint16(req, typ)
		req = binary.LittleEndian.AppendUint16(req, nlmRequest|nlmDump)
		req = binary.LittleEndian.AppendUint32(req, 7)
		req = append(req, 0, 0, 0, 0, AF_UNSPEC, 0, 0, 0)
		if _, e := w.s.Send(w, id, SendArgs{Data: req}); e != errno.OK {
			t.Fatal(e)
		}
		for {
			r, e := w.s.Recv(w, id, 8192, 0)
			if e == errno.EAGAIN {
				break
			}
			for b := r.Data; len(b) >= nlmsgHeader; b = b[(binary.LittleEndian.Uint32(b)+3)&^3:] {
				got = append(got, describeNetlink(b))
			}
		}
	}
	want := "link lo 1, link eth0 2, done, addr 127.0.0.1/8, addr ::1/128, addr 10.0.0.1/24, addr fd00::1/64, done, route " +
		"10.0.0.0/24, route fd00::/64, done, error -1"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if a, _ := w.s.Getsockname(id); a.PortID == 0 {
		t.Error("no port id")
	}
	if got := w.s.Poll(id); got != pollOut {
		t.Errorf("poll %x", got)
	}
}

func describeNetlink(b []byte) string {
	size := binary.LittleEndian.Uint32(b)
	body := b[nlmsgHeader:size]
	attr := func(from int, want uint16) []byte {
		for a := body[from:]; len(a) >= 4; a = a[min((int(binary.LittleEndian.Uint16(a))+3)&^3, len(a)):] {
			if binary.LittleEndian.Uint16(a[2:]) == want {
				return a[4:binary.LittleEndian.Uint16(a)]
			}
		}
		return nil
	}
	address := func(a []byte) string {
		if len(a) == 4 {
			return ipv4(a[0], a[1], a[2], a[3]).String()
		}
		return IP(a).String()
	}
	switch binary.LittleEndian.Uint16(b[4:]) {
	case rtmNewLink:
		return fmt.Sprintf("link %s %d", cString(attr(16, 3)), binary.LittleEndian.Uint32(body[4:]))
	case rtmNewAddr:
		return fmt.Sprintf("addr %s/%d", address(attr(8, 1)), body[1])
	case rtmNewRoute:
		return fmt.Sprintf("route %s/%d", address(attr(12, 1)), body[1])
	case nlmsgDone:
		return "done"
	case nlmsgError:
		return fmt.Sprintf("error %d", int32(binary.LittleEndian.Uint32(body)))
	}
	return "?"
}

func TestInterfaceRequests(t *testing.T) {
	w := twoNodes()
	ask := func(request uint32, name string) ([]byte, errno.Errno) {
		b := make([]byte, ifreqBytes)
		copy(b, name)
		e := w.s.InterfaceRequest(0, request, b)
		return b[ifnameSize:], e
	}
	if b, e := ask(SIOCGIFINDEX, "eth0"); e != errno.OK || b[0] != ethernetIndex {
		t.Error(b, e)
	}
	if b, e := ask(SIOCGIFADDR, "eth0"); e != errno.OK || !bytes.Equal(b[4:8], []byte{10, 0, 0, 1}) {
		t.Error(b, e)
	}
	if b, e := ask(SIOCGIFNETMASK, "lo"); e != errno.OK || !bytes.Equal(b[4:8], []byte{255, 0, 0, 0}) {
		t.Error(b, e)
	}
	if _, e := ask(SIOCGIFADDR, "wlan0"); e != errno.ENODEV {
		t.Error(e)
	}
	if _, e := ask(0x1234, "lo"); e != errno.ENOTTY {
		t.Error(e)
	}
	if n := len(w.s.InterfaceConf(0)); n != 2*ifreqBytes {
		t.Error(n)
	}
}

func TestSockaddr(t *testing.T) {
	for _, a := range []Addr{
		{Family: AF_INET, IP: ipv4(10, 0, 0, 1), Port: 80}, {Family: AF_INET, IP: any4}, {Family: AF_INET6, IP: IP{0: 0xfd, 15: 7}, Port: 65535},
		{Family: AF_UNIX, Path: "/run/x"}, {Family: AF_UNIX, Path: "\x00abstract\x00name"}, {Family: AF_UNIX}, {Family: AF_NETLINK, PortID: 9, Groups: 3},
	} {
		got, e := ParseSockaddr(AppendSockaddr(nil, a))
		if e != errno.OK || got != a {
			t.Errorf("%v became %v (%v)", a, got, e)
		}
	}
	for _, b := range [][]byte{{}, {2}, {2, 0, 0}, {10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}} {
		if _, e := ParseSockaddr(b); e != errno.EINVAL {
			t.Errorf("%v: %v", b, e)
		}
	}
	if _, e := ParseSockaddr([]byte{99, 0, 0, 0}); e != errno.EAFNOSUPPORT {
		t.Error(e)
	}
}

// TestEveryStoredOptionReadsBack sets and reads every option that is only stored.
func TestEveryStoredOptionReadsBack(t *testing.T) {
	w := twoNodes()
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6"} {
		w.do("socket " + kind + " n1 " + kind)
		id := w.socks[kind]
		for key, byDefault := range stored {
			sk := w.s.Socks[id]
			if !sk.applies(key[0]) || key == [2]int{SOL_IP, IP_MULTICAST_IF} {
				continue
			}
			if b, e := w.s.GetOption(id, key[0], key[1], 4); e != errno.OK || int32(binary.LittleEndian.Uint32(b)) != int32(byDefault) {
				t.Errorf("%s: option %v is %v (%v) at first", kind, key, b, e)
			}
			if e := w.s.SetOption(w, id, key[0], key[1], int32Bytes(100)); e != errno.OK {
				t.Errorf("%s: setting %v: %v", kind, key, e)
			}
			if b, e := w.s.GetOption(id, key[0], key[1], 4); e != errno.OK || b[0] != 100 {
				t.Errorf("%s: option %v reads back %v (%v)", kind, key, b, e)
			}
		}
	}
	if b, e := w.s.GetOption(w.socks["tcp"], SOL_TCP, TCP_INFO, 1000); e != errno.OK || len(b) != tcpInfoBytes || b[0] != closed {
		t.Errorf("TCP_INFO: %d bytes, %v", len(b), e)
	}
	if e := w.s.SetOption(w, w.socks["udp"], SOL_TCP, TCP_NODELAY, int32Bytes(1)); e != errno.ENOPROTOOPT {
		t.Error(e)
	}
	if e := w.s.SetOption(w, w.socks["tcp"], SOL_SOCKET, SO_RCVTIMEO, timeBytes(1_500_000_000)); e != errno.OK {
		t.Error(e)
	}
	if r, s := w.s.Timeouts(w.socks["tcp"]); r != 1_500_000_000 || s != 0 {
		t.Error(r, s)
	}
}

// TestCredentials: SCM_CREDENTIALS travel with each message, and a stream read stops where the sender changes if the
// reader asked for them.
func TestCredentials(t *testing.T) {
	w := twoNodes()
	w.do("pair a b n1 stream")
	w.do("set b passcred 1")
	for _, pid := range []int32{1, 1, 2} {
		w.s.Send(w, w.socks["a"], SendArgs{Data: []byte("x"), Cred: Cred{PID: pid}})
	}
	for _, want := range []struct {
		n   int
		pid int32
	}{{2, 1}, {1, 2}} {
		r, e := w.s.Recv(w, w.socks["b"], 10, 0)
		if e != errno.OK || len(r.Data) != want.n || r.Cred.PID != want.pid {
			t.Errorf("got %q from %v (%v)", r.Data, r.Cred, e)
		}
	}
}

// TestStreamNames: draws are named after the connection, so that what one connection draws does not move another's.
func TestStreamNames(t *testing.T) {
	w := twoNodes()
	w.s.SetDefaultLink(Link{LatencyNs: 1e6, JitterNs: 1e6}, Rates{DropPPM: 1, DuplicatePPM: 1})
	for _, c := range []string{"socket l n2 tcp", "bind l 0.0.0.0:80", "listen l 5", "socket c n1 tcp", "connect c 10.0.0.2:80", "advance 1s",
		"socket d n1 tcp", "connect d 10.0.0.2:80", "advance 1s", "socket u n1 udp", "send u x 10.0.0.2:53", "socket v n2 udp", "bind v 0.0.0.0:53",
		"send v x 10.0.0.1:40000"} {
		w.do(c)
	}
	next := w.src.State().Next
	for _, name := range []string{"net/n1>n2:80/0/c2s/jitter", "net/n1>n2:80/0/s2c/jitter", "net/n1>n2:80/1/c2s/drop",
		"net/n1>n2:53/udp/duplicate", "net/n2:53>n1/udp/drop"} {
		if next[name] == 0 {
			t.Errorf("nothing drawn from %s: %v", name, next)
		}
	}
}

// TestMarksAreBounded: a long partition does not pile up what it withholds.
func TestMarksAreBounded(t *testing.T) {
	w := twoNodes()
	for _, c := range []string{"socket b n2 udp", "bind b 0.0.0.0:53", "socket a n1 udp", "block n1 n2 1", "repeat 1000 send a x 10.0.0.2:53"} {
		w.do(c)
	}
	if n := len(w.s.Socks[w.socks["b"]].Marks); n != maxMarks {
		t.Errorf("%d marks", n)
	}
	w.advance(1e9)
	if refs := w.s.Overdue(w, w.socks["b"], 0); len(refs) != maxMarks || refs[0].Kind != fault.Partition {
		t.Errorf("%v", refs)
	}
}
