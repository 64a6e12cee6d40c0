//go:build linux && amd64

package native_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// shop is a stack of a client, a proxy between two networks, two servers of one name behind it, and a store on an internal
// network. Each runs a program of Python's.
func shop(programs map[string]string) *world.Spec {
	on := func(network, iface, ip string, aliases ...string) world.Attachment {
		return world.Attachment{Network: network, Interface: iface, IPv4: ip, Aliases: aliases}
	}
	s := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 300e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		DefaultLink: world.Link{LatencyNs: 500e3},
		Networks: []world.Network{
			{Name: "front", FullName: "shop_front", IPv4: "10.1.0.0/24", Gateway4: "10.1.0.1", IPv6: "fd01::/64", Gateway6: "fd01::1"},
			{Name: "back", FullName: "shop_back", IPv4: "10.2.0.0/16", Gateway4: "10.2.0.1"},
			{Name: "data", FullName: "shop_data", IPv4: "10.3.0.0/24", Gateway4: "10.3.0.1", Internal: true}}}
	add := func(name string, all ...world.Attachment) {
		n := world.Node{Name: name, Role: world.Server, Hostname: name, Root: "host", WorkingDir: "/tmp", Attachments: all,
			Command: []string{"python3", "-c", "import socket, struct, sys, time, os, threading\n" + programs[name]},
			Env:     []string{"PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1"}}
		if len(all) > 0 {
			n.IPv4 = all[0].IPv4
		}
		s.Nodes = append(s.Nodes, n)
	}
	proxy := on("front", "eth1", "10.1.0.3", "shop")
	proxy.IPv6, proxy.MAC = "fd01::3", "02:00:00:00:00:07"
	client := on("front", "eth0", "10.1.0.2")
	client.IPv6 = "fd01::2"
	add("client", client)
	add("proxy", on("back", "eth0", "10.2.0.2"), proxy)
	add("web-1", on("back", "eth0", "10.2.0.11", "web"), on("data", "eth1", "10.3.0.11"))
	add("web-2", on("back", "eth0", "10.2.0.12", "web"), on("data", "eth1", "10.3.0.12"))
	add("db", on("data", "eth0", "10.3.0.4"))
	add("alone")
	return s
}

// printedBy are the lines of one node's standard output.
func printedBy(t *testing.T, s *world.Spec, node string) string {
	t.Helper()
	log, out := run(t, s, 1)
	if !out.Repeat.Reproducible {
		t.Errorf("not reproducible: %s", out.Repeat.Reason)
	}
	var lines []string
	for _, l := range log {
		switch {
		case l.Node == node && l.Stream == "stdout":
			lines = append(lines, l.Text)
		case l.Stream == "stderr":
			t.Errorf("%s: %s", l.Node, l.Text)
		}
	}
	return strings.Join(lines, "\n")
}

const (
	// relay answers with its own name, the address it was asked from, and what the store says.
	relay = `s = socket.create_server(('', 80))
while True:
    c, a = s.accept()
    d = socket.create_connection(('db', 80)); got = d.recv(100); d.close()
    c.sendall(b'%s asked by %s, %s' % (socket.gethostname().encode(), a[0].encode(), got)); c.close()
`
	store = `s = socket.create_server(('', 80))
while True:
    c, a = s.accept(); c.sendall(b'store asked by ' + a[0].encode()); c.close()
`
	// gate passes each connection on to the next of the servers that have the name, over either family.
	gate = `s = socket.create_server(('', 80), family=socket.AF_INET6, dualstack_ipv6=True)
time.sleep(0.5)
for turn in range(100):
    c, _ = s.accept()
    all = [x[4] for x in socket.getaddrinfo('web', 80, type=socket.SOCK_STREAM)]
    d = socket.create_connection(all[turn % len(all)])
    c.sendall(d.recv(200)); d.close(); c.close()
`
	asking = `time.sleep(1)
def fetch(*to):
    c = socket.create_connection(to); got = c.recv(200).decode(); c.close(); return got
for to in ('proxy', 'shop.front', '10.1.0.3', 'fd01::3'): print(to, '-', fetch(to, 80))
`
)

// A request goes through the proxy to each of the servers in turn, and from there to the store: three networks, each hop with
// the addresses of its own.
func TestProxyBetweenNetworks(t *testing.T) {
	s := shop(map[string]string{"client": asking, "proxy": gate, "web-1": relay, "web-2": relay, "db": store, "alone": ""})
	const want = `proxy - web-1 asked by 10.2.0.2, store asked by 10.3.0.11
shop.front - web-2 asked by 10.2.0.2, store asked by 10.3.0.12
10.1.0.3 - web-1 asked by 10.2.0.2, store asked by 10.3.0.11
fd01::3 - web-2 asked by 10.2.0.2, store asked by 10.3.0.12`
	if got := printedBy(t, s, "client"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What a node cannot reach fails as it does in Docker, and takes as long.
func TestNetworksAreApart(t *testing.T) {
	const reach = `time.sleep(1)
def tcp(to):
    t = time.monotonic(); s = socket.socket()
    try: s.connect((to, 80)); got = 'connected'
    except OSError as e: got = type(e).__name__ + ' ' + os.strerror(e.errno)
    print(to, got, 'after', round(time.monotonic() - t), 's')
def name(n):
    try: got = sorted(set(a[4][0] for a in socket.getaddrinfo(n, 80)))
    except socket.gaierror as e: got = 'unknown' if e.errno == socket.EAI_NONAME else 'no resolver' if e.errno == socket.EAI_AGAIN else e
    print(n, got)
`
	sleep := "time.sleep(1000)"
	for _, c := range []struct{ node, program, want string }{
		{"client", reach + "tcp('10.2.0.11'); tcp('10.3.0.4'); tcp('10.1.0.99'); tcp('1.1.1.1'); name('web'); name('db'); name('PROXY'); name('proxy.back')",
			`10.2.0.11 TimeoutError Connection timed out after 127 s
10.3.0.4 TimeoutError Connection timed out after 127 s
10.1.0.99 OSError No route to host after 3 s
1.1.1.1 OSError Network is unreachable after 0 s
web unknown
db unknown
PROXY ['10.1.0.3', 'fd01::3']
proxy.back unknown`},
		{"db", reach + "tcp('10.2.0.11'); tcp('10.3.0.11'); name('web'); name('web-2'); name('proxy')",
			`10.2.0.11 OSError Network is unreachable after 0 s
10.3.0.11 connected after 0 s
web unknown
web-2 ['10.3.0.12']
proxy unknown`},
		{"alone", reach + "tcp('10.1.0.3'); tcp('127.0.0.1'); name('proxy'); print(socket.if_nameindex())",
			`10.1.0.3 OSError Network is unreachable after 0 s
127.0.0.1 ConnectionRefusedError Connection refused after 0 s
proxy no resolver
[(1, 'lo')]`},
		{"proxy", reach + "name('web'); name('shop'); name('web.shop_back')\nfor i in range(3): print([a[4][0] for a in " +
			"socket.getaddrinfo('web', 80, type=socket.SOCK_STREAM)])\nprint(socket.gethostbyaddr('10.2.0.12')[0])",
			`web ['10.2.0.11', '10.2.0.12']
shop ['10.1.0.3', 'fd01::3']
web.shop_back ['10.2.0.11', '10.2.0.12']
['10.2.0.11', '10.2.0.12']
['10.2.0.11', '10.2.0.12']
['10.2.0.11', '10.2.0.12']
web-2.shop_back`},
	} {
		programs := map[string]string{"client": sleep, "proxy": gate, "web-1": store, "web-2": store, "db": store, "alone": sleep}
		programs[c.node] = c.program
		if got := printedBy(t, shop(programs), c.node); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.node, got, c.want)
		}
	}
}

// Datagrams reach the nodes that share the network of the address; those for all nodes stay on one network.
func TestDatagramsOfNetworks(t *testing.T) {
	const hear = `s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 53))
for i in range(9):
    b, a = s.recvfrom(100); s.sendto(socket.gethostname().encode() + b' got ' + b, a)
`
	const call = `time.sleep(1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); s.settimeout(1)
for to in ('10.1.0.2', '10.2.0.12', '10.3.0.4', '10.2.255.255', '10.1.0.255'):
    s.sendto(to.encode(), (to, 53)); got = []
    try:
        while True: b, a = s.recvfrom(100); got.append(b.decode() + ' from ' + a[0])
    except TimeoutError: print(to, sorted(got))
p = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); p.connect(('192.0.2.1', 9)); print('seen from outside:', p.getsockname()[0])
`
	s := shop(map[string]string{"client": hear, "proxy": call, "web-1": hear, "web-2": hear, "db": hear, "alone": ""})
	const want = `10.1.0.2 ['client got 10.1.0.2 from 10.1.0.2']
10.2.0.12 ['web-2 got 10.2.0.12 from 10.2.0.12']
10.3.0.4 []
10.2.255.255 ['web-1 got 10.2.255.255 from 10.2.0.11', 'web-2 got 10.2.255.255 from 10.2.0.12']
10.1.0.255 ['client got 10.1.0.255 from 10.1.0.2']
seen from outside: 10.2.0.2`
	if got := printedBy(t, s, "proxy"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A node's interfaces are the same by whatever way a program asks for them.
func TestInterfacesOfNetworks(t *testing.T) {
	needCompiler(t)
	program := compile(t, "testdata/networks/interfaces.c")
	s := shop(map[string]string{"client": "", "web-1": "", "web-2": "", "db": "", "alone": ""})
	i := slices.IndexFunc(s.Nodes, func(n world.Node) bool { return n.Name == "proxy" })
	s.Nodes[i].Command = []string{"sh", "-c",
		program + "; cat /etc/hosts /etc/resolv.conf /proc/net/dev; ls /sys/class/net; cat /sys/class/net/eth1/address; uname -n"}
	s.Nodes[i].Volumes = []world.Volume{{Kind: world.Bind, Source: filepath.Dir(program), Target: filepath.Dir(program)}}
	const want = `lo 00:00:00:00:00:00
eth0 02:42:0a:02:00:02
eth1 02:00:00:00:00:07
lo 127.0.0.1 255.0.0.0
lo ::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
eth0 10.2.0.2 255.255.0.0 10.2.255.255
eth1 10.1.0.3 255.255.255.0 10.1.0.255
eth1 fd01::3 ffff:ffff:ffff:ffff::
1=lo 2=eth0 3=eth1 
lo 127.0.0.1 00 255.0.0.0
eth0 10.2.0.2 02 255.255.0.0
eth1 10.1.0.3 07 255.255.255.0
127.0.0.1	localhost
::1	localhost ip6-localhost ip6-loopback
10.2.0.2	proxy
10.1.0.3	proxy
fd01::3	proxy
nameserver 127.0.0.11
options ndots:0
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
  eth0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
  eth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
eth0
eth1
lo
02:00:00:00:00:07
proxy`
	if got := printedBy(t, s, "proxy"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A socket that is bound to an interface takes what comes in by it, and sends by it alone.
func TestBindToDevice(t *testing.T) {
	const helpers = `import errno
def attempt(f):
    try: return f() or 'ok'
    except OSError as e: return errno.errorcode[e.errno] if e.errno else type(e).__name__
def device(name, kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_INET, kind); s.settimeout(0.5)
    if name: s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode())
    return s
def ask(to, port, via=''):
    c = device(via); c.connect((to, port)); got = c.recv(100).decode(); c.close(); return got
`
	// Two listeners have one port, each on an interface; port 81 is open on one alone. Datagrams go to both networks in turn.
	const proxy = helpers + `
def serve(name, port, greeting):
    l = device(name); l.settimeout(None); l.bind(('', port)); l.listen()
    def loop():
        while True:
            c, a = l.accept(); c.sendall(greeting); c.close()
    threading.Thread(target=loop, daemon=True).start()
serve('eth0', 80, b'back'); serve('eth1', 80, b'front'); serve('eth0', 81, b'back alone')
print('unknown', attempt(lambda: device('eth9')), 'lo and own', attempt(lambda: device('lo').connect(('10.2.0.2', 80))))
print('own', ask('10.2.0.2', 80), ask('10.1.0.3', 80), attempt(lambda: ask('10.1.0.3', 81)), attempt(lambda: ask('127.0.0.1', 80)))
time.sleep(0.5)
print('over', attempt(lambda: ask('10.1.0.2', 82, 'eth1')), attempt(lambda: ask('10.1.0.2', 82, 'eth0')), attempt(lambda: ask('10.1.0.2', 82, 'lo')))
u = device('eth1', socket.SOCK_DGRAM); u.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for to in ('239.1.1.1', '255.255.255.255'): u.sendto(to.encode(), (to, 90))
heard = device('eth0', socket.SOCK_DGRAM); heard.bind(('', 91)); heard.settimeout(5)
print('heard', [heard.recv(100) for i in range(2)], attempt(lambda: heard.recv(100)))
`
	const hearing = `
import struct
g = device('eth0', socket.SOCK_DGRAM); g.bind(('', 90))
g.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton('239.1.1.1') + struct.pack('=I', 0))
def hear():
    try:
        while True: print(*g.recvfrom(100))
    except TimeoutError: print('no more')
`
	const client = helpers + hearing + `
l = device('eth0'); l.bind(('', 82)); l.listen(); l.settimeout(None)
threading.Thread(target=lambda: [l.accept()[0].sendall(b'client') for i in range(1)], daemon=True).start()
time.sleep(0.1)
print(ask('10.1.0.3', 80), attempt(lambda: ask('10.1.0.3', 81)))
g.settimeout(4); hear(); d = device('', socket.SOCK_DGRAM); d.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); d.sendto(b'from front', ('10.1.0.255', 91)); d.sendto(b'to front', ('10.1.0.3', 91))
`
	const web = helpers + `
time.sleep(0.2)
print(ask('10.2.0.2', 80), ask('10.2.0.2', 81))
time.sleep(5); d = device('', socket.SOCK_DGRAM); d.bind(('10.2.0.11', 92)); d.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); d.sendto(b'from back', ('10.2.255.255', 91)); d.sendto(b'to back', ('10.2.0.2', 91))
`
	programs := map[string]string{"client": client, "proxy": proxy, "web-1": web,
		"web-2": helpers + hearing + "g.settimeout(4)\nhear()\n", "db": "", "alone": ""}
	log, out := run(t, shop(programs), 1)
	if !out.Repeat.Reproducible {
		t.Errorf("not reproducible: %s", out.Repeat.Reason)
	}
	printed := map[string]string{}
	for _, l := range log {
		printed[l.Node] += l.Text + "\n"
	}
	for node, want := range map[string]string{
		"client": `front ECONNREFUSED
b'239.1.1.1' ('10.1.0.3', 42768)
b'255.255.255.255' ('10.1.0.3', 42768)
no more
`,
		"proxy": `unknown ENODEV lo and own TimeoutError
own back front ECONNREFUSED ECONNREFUSED
over client TimeoutError TimeoutError
heard [b'from back', b'to back'] TimeoutError
`,
		"web-1": "back back alone\n",
		"web-2": "no more\n",
	} {
		if printed[node] != want {
			t.Errorf("%s printed\n%s\nwant\n%s", node, printed[node], want)
		}
	}
}
