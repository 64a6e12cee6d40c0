package net

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// shop is a world of three networks: a proxy between front and back, an internal one for what only the application sees.
//
//	client - front - proxy - back - web-1, web-2 - data (internal) - db      alone: no network
func shop() *scripted {
	w := newWorld(1)
	w.s.AddNetwork(NetworkConfig{Name: "front", FullName: "shop_front", IPv4: "10.1.0.0/24", Gateway4: "10.1.0.1", IPv6: "fd01::/64", Gateway6: "fd01::1"})
	w.s.AddNetwork(NetworkConfig{Name: "back", FullName: "shop_back", IPv4: "10.2.0.0/16", Gateway4: "10.2.0.1"})
	w.s.AddNetwork(NetworkConfig{Name: "data", FullName: "shop_data", IPv4: "10.3.0.0/28", Gateway4: "10.3.0.1", Internal: true})
	add := func(name string, nics ...NICConfig) {
		w.nodes[name] = w.s.AddNode(NodeConfig{Name: name, Hostnames: []string{name + "-host", "the-" + name}, NICs: nics})
	}
	add("client", NICConfig{Network: "front", Name: "eth0", IPv4: "10.1.0.2", IPv6: "fd01::2"})
	add("proxy", NICConfig{Network: "back", Name: "eth0", IPv4: "10.2.0.2", Aliases: []string{"gate"}},
		NICConfig{Network: "front", Name: "lan", IPv4: "10.1.0.3", IPv6: "fd01::3", MAC: "02:00:00:00:00:07", Aliases: []string{"web"}})
	add("web-1", NICConfig{Network: "data", Name: "eth0", IPv4: "10.3.0.2"},
		NICConfig{Network: "back", Name: "eth1", IPv4: "10.2.1.1", Aliases: []string{"web"}})
	add("web-2", NICConfig{Network: "back", Name: "eth0", IPv4: "10.2.1.2", Aliases: []string{"web"}},
		NICConfig{Network: "data", Name: "eth1", IPv4: "10.3.0.3", Aliases: []string{"web"}})
	add("db", NICConfig{Network: "data", Name: "eth0", IPv4: "10.3.0.4"})
	add("cache", NICConfig{Network: "data", Name: "eth0", IPv4: "10.3.0.5", Aliases: []string{"fast"}, Unnamed: true})
	add("alone")
	return w
}

func (w *scripted) do1(t *testing.T, want, line string) {
	t.Helper()
	if got := w.do(line); got != want {
		t.Errorf("%s: %s, want %s", line, got, want)
	}
}

func TestRoutes(t *testing.T) {
	w := shop()
	for _, c := range []struct {
		from, to string
		want     way
		node     string
		source   string
	}{
		{"client", "10.1.0.3", reached, "proxy", "10.1.0.2"},
		{"client", "fd01::3", reached, "proxy", "fd01::2"},
		{"client", "10.1.0.2", reached, "client", "10.1.0.2"},
		{"client", "127.9.9.9", reached, "client", "127.0.0.1"},
		{"client", "10.1.0.99", silent, "", "10.1.0.2"},
		{"client", "10.2.0.2", dropped, "", "10.1.0.2"}, // the proxy's other address
		{"client", "10.2.9.9", dropped, "", "10.1.0.2"},
		{"client", "10.3.0.4", dropped, "", "10.1.0.2"},
		{"client", "8.8.8.8", outside, "", "10.1.0.2"},
		{"client", "2001:db8::1", outside, "", "fd01::2"},
		{"proxy", "10.1.0.2", reached, "client", "10.1.0.3"},
		{"proxy", "10.2.1.2", reached, "web-2", "10.2.0.2"},
		{"proxy", "10.1.0.3", reached, "proxy", "10.1.0.3"},
		{"proxy", "8.8.8.8", outside, "", "10.2.0.2"}, // shop_back comes before shop_front
		{"web-1", "10.3.0.4", reached, "db", "10.3.0.2"},
		{"web-1", "8.8.8.8", outside, "", "10.2.1.1"}, // data is internal
		{"web-1", "fd01::2", unrouted, "", ""},
		{"db", "10.3.0.3", reached, "web-2", "10.3.0.4"},
		{"db", "10.2.1.2", unrouted, "", ""},
		{"db", "8.8.8.8", unrouted, "", ""},
		{"alone", "10.1.0.2", unrouted, "", ""},
		{"alone", "127.0.0.1", reached, "alone", "127.0.0.1"},
	} {
		ip, _ := parseIP(c.to)
		who, got := w.s.route(w.nodes[c.from], ip)
		if got != c.want || got == reached && who != w.nodes[c.node] {
			t.Errorf("%s to %s: %d, node %d, want %d %s", c.from, c.to, got, who, c.want, c.node)
		}
		if src := w.s.Nodes[w.nodes[c.from]].source(ip); c.source != "" && src.String() != c.source {
			t.Errorf("%s to %s: source %s, want %s", c.from, c.to, src, c.source)
		}
	}
}

// Connections come about where nodes share the network of the address, and fail otherwise as they do in Docker.
func TestConnectAcrossNetworks(t *testing.T) {
	w := shop()
	for _, n := range []string{"client", "proxy", "web-2", "db"} {
		w.do("socket at-" + n + " " + n + " tcp")
		w.do1(t, "OK", "bind at-"+n+" 0.0.0.0:80")
		w.do1(t, "OK", "listen at-"+n+" 5")
	}
	try := func(from, bound, to, want string) {
		t.Helper()
		name := fmt.Sprint("try", len(w.socks))
		w.do("socket " + name + " " + from + " tcp")
		if bound != "" {
			w.do1(t, "OK", "bind "+name+" "+bound)
		}
		got := w.do("connect " + name + " " + to)
		if got == errno.EINPROGRESS.Error() {
			since := w.now
			result := errno.EINPROGRESS
			for result == errno.EINPROGRESS && w.now-since < 300*second {
				w.advance(second)
				result = w.s.ConnectResult(w.socks[name])
			}
			if got = "connected"; result != errno.OK {
				got = fmt.Sprintf("%v after %ds", result, (w.now-since)/second)
			}
		}
		if got != want {
			t.Errorf("%s to %s: %s, want %s", from, to, got, want)
		}
	}
	w.roundTrip()
	try("client", "", "10.1.0.3:80", "connected")
	try("proxy", "", "10.2.1.2:80", "connected")
	try("web-1", "", "10.3.0.4:80", "connected")
	try("proxy", "10.1.0.3:0", "10.1.0.2:80", "connected")
	try("client", "", "10.2.1.2:80", "ETIMEDOUT after 127s")
	try("client", "", "10.2.0.2:80", "ETIMEDOUT after 127s")
	try("proxy", "10.1.0.3:0", "10.2.1.2:80", "ETIMEDOUT after 127s") // no answer finds its way to that address
	try("client", "", "10.1.0.77:80", "EHOSTUNREACH after 3s")
	try("client", "", "8.8.8.8:80", "ENETUNREACH")
	try("db", "", "10.2.1.2:80", "ENETUNREACH")
	try("alone", "", "10.1.0.2:80", "ENETUNREACH")
	if err := w.s.Check(); err != nil {
		t.Error(err)
	}
}

func TestDatagramsAcrossNetworks(t *testing.T) {
	w := shop()
	all := []string{"client", "proxy", "web-1", "web-2", "db"}
	for _, n := range all {
		w.do("socket " + n + "-u " + n + " udp")
		w.do1(t, "OK", "bind "+n+"-u 0.0.0.0:53")
		w.do("set " + n + "-u broadcast 1")
	}
	send := func(from, to string, want ...string) {
		t.Helper()
		a := w.address(from+"-u", to)
		if _, e := w.s.Send(w, w.socks[from+"-u"], SendArgs{Data: []byte("x"), To: &a}); e != errno.OK {
			want = append(want, "error "+e.Error())
		}
		w.advance(second)
		var got []string
		for _, n := range all {
			r, e := w.s.Recv(w, w.socks[n+"-u"], 10, 0)
			if e == errno.OK {
				got = append(got, n+" from "+r.From.IP.String())
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s to %s: %q, want %q", from, to, got, want)
		}
	}
	send("client", "10.1.0.3:53", "proxy from 10.1.0.2")
	send("client", "10.2.1.1:53")
	send("client", "8.8.8.8:53")
	send("proxy", "10.1.0.255:53", "client from 10.1.0.3", "proxy from 10.1.0.3")
	send("proxy", "10.2.255.255:53", "proxy from 10.2.0.2", "web-1 from 10.2.0.2", "web-2 from 10.2.0.2")
	send("web-1", "255.255.255.255:53", "proxy from 10.2.1.1", "web-1 from 10.2.1.1", "web-2 from 10.2.1.1")
	send("db", "255.255.255.255:53", "web-1 from 10.3.0.4", "web-2 from 10.3.0.4", "db from 10.3.0.4")
	// A multicast leaves by the default route, or by the interface that the socket has chosen.
	for _, n := range all {
		w.do1(t, "OK", "set "+n+"-u group 224.1.1.1")
	}
	send("proxy", "224.1.1.1:53", "proxy from 10.2.0.2", "web-1 from 10.2.0.2", "web-2 from 10.2.0.2")
	front := ipv4(10, 1, 0, 3)
	choose := func(value []byte) {
		if e := w.s.SetOption(w, w.socks["proxy-u"], SOL_IP, IP_MULTICAST_IF, value); e != errno.OK {
			t.Error(e)
		}
	}
	choose(front[12:])
	send("proxy", "224.1.1.1:53", "client from 10.1.0.3", "proxy from 10.1.0.3")
	choose(append(make([]byte, 8), 2, 0, 0, 0))
	send("proxy", "224.1.1.1:53", "proxy from 10.2.0.2", "web-1 from 10.2.0.2", "web-2 from 10.2.0.2")
	choose(append(make([]byte, 4), front[12:]...))
	send("proxy", "224.1.1.1:53", "client from 10.1.0.3", "proxy from 10.1.0.3")
	// The datagram that connects to nowhere reports which address is its own: a usual way to find that out.
	w.do("socket probe client udp")
	w.do1(t, "OK", "connect probe 8.8.8.8:53")
	if a, _ := w.s.Getsockname(w.socks["probe"]); a.IP.String() != "10.1.0.2" {
		t.Errorf("the client's own address is %s", a.IP)
	}
}

func TestNamesOfNetworks(t *testing.T) {
	w := shop()
	ask := func(from, name string, typ uint16) string {
		q := []byte{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
		q = append(q, encodeName(name)...)
		q = binary.BigEndian.AppendUint16(q, typ)
		q = binary.BigEndian.AppendUint16(q, dnsClassIN)
		r := w.s.dnsAnswer(w.nodes[from], q)
		if code := r[3] & 15; code != 0 {
			return fmt.Sprint("code ", code)
		}
		var out []string
		for rest := r[len(q):]; len(rest) > 0; {
			size := 12 + int(binary.BigEndian.Uint16(rest[10:]))
			data := rest[12:size]
			switch typ {
			case dnsA:
				out = append(out, ipv4(data[0], data[1], data[2], data[3]).String())
			case dnsAAAA:
				out = append(out, IP(data).String())
			default:
				target, _, _ := dnsName(data, 0)
				out = append(out, target)
			}
			rest = rest[size:]
		}
		if int(binary.BigEndian.Uint16(r[6:])) != len(out) {
			return "wrong count"
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		from, name string
		typ        uint16
		want       string
	}{
		{"proxy", "web", dnsA, "10.2.1.1 10.2.1.2"}, // all replicas, in the order of the nodes
		{"proxy", "WEB.Back", dnsA, "10.2.1.1 10.2.1.2"},
		{"proxy", "web.shop_front", dnsA, "10.1.0.3"}, // the proxy's own alias there
		{"proxy", "web.data", dnsA, "code 3"},
		{"client", "web", dnsA, "10.1.0.3"},
		{"client", "gate", dnsA, "code 3"}, // an alias on the other network
		{"client", "web-1", dnsA, "code 3"},
		{"client", "proxy", dnsAAAA, "fd01::3"},
		{"client", "proxy-host", dnsA, "10.1.0.3"},
		{"client", "the-PROXY", dnsA, "10.1.0.3"},
		{"web-1", "proxy", dnsA, "10.2.0.2"},
		{"web-1", "proxy", dnsAAAA, ""},
		{"web-1", "web-2", dnsA, "10.2.1.2"}, // back is asked before data, which is internal
		{"web-1", "web-2.data", dnsA, "10.3.0.3"},
		{"db", "web", dnsA, "10.3.0.3"},
		{"db", "web-2.back", dnsA, "code 3"},
		{"db", "fast", dnsA, "10.3.0.5"},
		{"db", "cache", dnsA, "code 3"}, // which does not use its own name there
		{"db", "localhost", dnsA, "127.0.0.1"},
		{"client", "3.0.1.10.in-addr.arpa", dnsPTR, "proxy.shop_front"},
		{"client", "2.0.2.10.in-addr.arpa", dnsPTR, "code 3"},
		{"client", "3.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.d.f.ip6.arpa", dnsPTR, "proxy.shop_front"},
	} {
		if got := ask(c.from, c.name, c.typ); got != c.want {
			t.Errorf("%s asks for %s, type %d: %q, want %q", c.from, c.name, c.typ, got, c.want)
		}
	}
	for i := range 40 {
		w.s.AddNode(NodeConfig{Name: fmt.Sprint("many-", i),
			NICs: []NICConfig{{Network: "back", IPv4: fmt.Sprintf("10.2.3.%d", i+1), Aliases: []string{"many"}}}})
	}
	if n := len(strings.Fields(ask("proxy", "many", dnsA))); n != 30 {
		t.Errorf("an answer of 512 bytes has %d addresses, want 30", n)
	}
}

func TestFilesOfNetworks(t *testing.T) {
	w := shop()
	proxy, alone := w.nodes["proxy"], w.nodes["alone"]
	w.s.Nodes[proxy].Domain, w.s.Nodes[proxy].Search = "shop.example", []string{"a.example", "b.example"}
	const local = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
	for _, c := range []struct{ what, got, want string }{
		{"hosts", w.s.HostsFile(proxy), local +
			"10.2.0.2\tproxy-host.shop.example proxy-host\n10.1.0.3\tproxy-host.shop.example proxy-host\nfd01::3\tproxy-host.shop.example proxy-host\n"},
		{"hosts, alone", w.s.HostsFile(alone), local},
		{"resolv.conf", w.s.ResolvConf(proxy), "search a.example b.example\nnameserver 127.0.0.11\noptions ndots:0\n"},
		{"resolv.conf, alone", w.s.ResolvConf(alone), ""},
		{"route", w.s.ProcRoute(proxy), "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
			"eth0\t00000000\t0100020A\t0003\t0\t0\t0\t00000000\t0\t0\t0\neth0\t0000020A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n" +
			"lan\t0000010A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"},
		{"if_inet6", w.s.ProcInet6(proxy), "00000000000000000000000000000001 01 80 10 80       lo\nfd010000000000000000000000000003 03 40 00 80      lan\n"},
		{"address", w.s.SysClass(proxy, "lan", "address"), "02:00:00:00:00:07\n"},
		{"address", w.s.SysClass(proxy, "eth0", "address"), "02:42:0a:02:00:02\n"},
		{"address of none", w.s.SysClass(proxy, "eth1", "address"), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, c.got, c.want)
		}
	}
	var all []string
	for _, i := range w.s.Interfaces(proxy) {
		all = append(all, fmt.Sprint(i.Index, i.Name, i.Has4, i.Has6, i.Broadcast))
	}
	if got, want := fmt.Sprint(all), "[1lotrue true :: 2eth0true false 10.2.255.255 3lantrue true 10.1.0.255]"; got != want {
		t.Errorf("interfaces %s, want %s", got, want)
	}
}

// Several nodes of one name are distinguished by the resolver alone, where all nodes share one network too.
func TestReplicasOnOneNetwork(t *testing.T) {
	w := newWorld(1)
	for i := range 2 {
		name := fmt.Sprint("kv-", i+1)
		w.s.AddNode(NodeConfig{Name: name, IPv4: fmt.Sprintf("10.77.0.%d", 10+i), Hostnames: []string{name, name, "kv"}})
	}
	const want = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n10.77.0.10\tkv-1\n10.77.0.11\tkv-2\n"
	if got := w.s.HostsFile(0); got != want {
		t.Errorf("hosts file:\n%s", got)
	}
	var got []string
	for _, i := range w.s.lookup(1, "KV") {
		got = append(got, i.IP4.String())
	}
	if !slices.Equal(got, []string{"10.77.0.10", "10.77.0.11"}) {
		t.Errorf("kv is %v", got)
	}
}
