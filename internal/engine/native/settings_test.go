//go:build linux && amd64

package native_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// withSettings runs a script of Python on a node with sysctls, and gives what it prints.
func withSettings(t *testing.T, settings []world.Sysctl, script string) string {
	t.Helper()
	spec := bounded(t, 0, script)
	spec.Nodes[0].Sysctls = settings
	log, out := run(t, spec, 1)
	if !out.Repeat.Reproducible {
		t.Errorf("not reproducible: %s", out.Repeat.Reason)
	}
	return strings.Join(texts(log, ""), "\n") + "\n"
}

const pythonPrelude = `import ctypes, errno, os, select, socket, time
def attempt(f):
    try: f(); return "ok"
    except OSError as e: return errno.errorcode[e.errno]
def read(name): return open("/proc/sys/" + name).read().split()
def tcp(family=socket.AF_INET): return socket.socket(family, socket.SOCK_STREAM)
`

// Settings of a node's network show below /proc/sys, and sockets of that node follow them.
func TestNetworkSettings(t *testing.T) {
	const script = pythonPrelude + `
print(read("net/core/somaxconn"), read("net/ipv4/ip_local_port_range"), read("net/ipv4/tcp_syncookies"), read("net/ipv4/conf/all/rp_filter"), read("net/ipv4/ip_forward"))
print([n for n in os.listdir("/proc/sys/net/ipv4") if n in ("conf", "tcp_rmem", "tcp_syncookies", "ip_forward")], os.listdir("/proc/sys/net/ipv4/conf/all"))

port = tcp(); port.bind(("", 0)); first = port.getsockname()[1]
port2 = tcp(); port2.bind(("", 0))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("", 0))
full = tcp(); third = tcp(); third.bind(("", 0))
print(first, port2.getsockname()[1], third.getsockname()[1], attempt(lambda: full.bind(("", 0))), 20000 <= u.getsockname()[1] <= 20002)
for s in (port, port2, third): s.close()

l = tcp(); l.bind(("127.0.0.1", 80)); l.listen(100)
clients = []
for i in range(3):
    c = tcp(); c.setblocking(False); c.connect_ex(("127.0.0.1", 80)); clients.append(c)
time.sleep(0.5)
print("connected", len(select.select([], clients, [], 0)[1]))
began = time.monotonic(); late = clients[2]; select.select([], [late], [])
print(errno.errorcode[late.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)], round(time.monotonic() - began + 0.5))

peer, name = l.accept(); clients[0].close(); time.sleep(1)
before = attempt(lambda: tcp().bind(name)); time.sleep(2)
print("closing", before, attempt(lambda: tcp().bind(name)))

s = tcp()
print([s.getsockopt(socket.IPPROTO_TCP, o) for o in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_SYNCNT, socket.TCP_LINGER2)],
    s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF), s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))
a = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); a.bind("\0queue")
b = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); b.setblocking(False); b.connect("\0queue")
sent = 0
while attempt(lambda: b.send(b"x")) == "ok": sent += 1
print("queued", sent)
six = tcp(socket.AF_INET6)
print("v6only", six.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY), attempt(lambda: six.bind(("::1", 0))), open("/proc/net/if_inet6").read() == "", attempt(lambda: six.connect(("fd77::11", 1))))

os.setuid(65534)
print([attempt(lambda: tcp().bind(("", p))) for p in (81, 1022, 1023, 8080)])
`
	printed(t, withSettings(t, []world.Sysctl{
		{Name: "net.core.somaxconn", Value: "1"}, {Name: "net.ipv4.conf.all.rp_filter", Value: "2"},
		{Name: "net.ipv4.ip_local_port_range", Value: "20000\t20002"},
		{Name: "net.ipv4.ip_unprivileged_port_start", Value: "1023"}, {Name: "net.ipv4.tcp_fin_timeout", Value: "2"},
		{Name: "net.ipv4.tcp_keepalive_intvl", Value: "7"},
		{Name: "net.ipv4.tcp_keepalive_probes", Value: "5"}, {Name: "net.ipv4.tcp_keepalive_time", Value: "60"},
		{Name: "net.ipv4.tcp_rmem", Value: "4096\t65536\t100000"},
		{Name: "net.ipv4.tcp_syn_retries", Value: "1"}, {Name: "net.ipv4.tcp_syncookies", Value: "0"}, {Name: "net.ipv4.tcp_wmem", Value: "4096\t32768\t65536"},
		{Name: "net.ipv6.bindv6only", Value: "1"}, {Name: "net.ipv6.conf.all.disable_ipv6", Value: "1"}, {Name: "net.unix.max_dgram_qlen", Value: "2"},
	}, script), `['1'] ['20000', '20002'] ['0'] ['2'] ['0']
['conf', 'ip_forward', 'tcp_rmem', 'tcp_syncookies'] ['rp_filter']
20000 20001 20002 EADDRINUSE True
connected 2
ETIMEDOUT 3
closing EADDRINUSE ok
[60, 7, 5, 1, 2] 65536 32768
queued 3
v6only 1 EADDRNOTAVAIL True ENETUNREACH
['EACCES', 'EACCES', 'ok', 'ok']
`)
}

// A value that root writes to a setting shows there, and has the effect that the engine gives it, from then on. A value that Linux would
// not take is refused, and so is every write by others than root. A warning reports a setting that has no effect here.
func TestSettingsWrittenAtRunTime(t *testing.T) {
	const script = pythonPrelude + `
def write(name, text):
    with open("/proc/sys/" + name, "w") as f: f.write(text)
def put(name, text): return attempt(lambda: write(name, text)), " ".join(read(name))
print(put("net/core/somaxconn", "1"), put("net/core/somaxconn", "many"), put("net/core/somaxconn", "-1"))
print(put("net/ipv4/ip_local_port_range", "20000 20001\n"), put("net/ipv4/ip_local_port_range", "20002"), put("net/ipv4/ip_local_port_range", "20000"), put("net/ipv4/ip_local_port_range", "40000 30000"))
print(put("net/ipv4/tcp_syn_retries", "1"), put("net/ipv4/tcp_fin_timeout", "2"), put("net/ipv4/tcp_keepalive_time", "60"), put("net/ipv4/tcp_rmem", "4096 65536 100000"))
print(put("kernel/hostname", "other"), put("kernel/domainname", "inside"), put("kernel/pid_max", "301"), put("kernel/pid_max", "300"), put("kernel/shmmax", "4096"))
print(put("vm/overcommit_memory", "0"), put("vm/overcommit_memory", "2"), put("vm/swappiness", "10"), put("kernel/osrelease", "9"))
print(put("net/ipv4/ip_unprivileged_port_start", "1024"), put("net/ipv6/conf/all/disable_ipv6", "1"))
print(os.system("echo 3 > /proc/sys/net/ipv4/tcp_retries2"), read("net/ipv4/tcp_retries2"), flush=True)

a, b = tcp(), tcp(); a.bind(("", 0)); b.bind(("", 0)); print(a.getsockname()[1], b.getsockname()[1])
l = tcp(); l.bind(("127.0.0.1", 80)); l.listen(100)
clients = []
for i in range(3):
    c = tcp(); c.setblocking(False); c.bind(("127.0.0.1", 5000 + i)); c.connect_ex(("127.0.0.1", 80)); clients.append(c)
time.sleep(0.5); print("connected", len(select.select([], clients, [], 0)[1]))
began = time.monotonic(); select.select([], [clients[2]], []); print(errno.errorcode[clients[2].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)], round(time.monotonic() - began + 0.5))
s = tcp(); print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE), s.getsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2), s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
print(os.uname().nodename, socket.gethostname(), attempt(lambda: tcp(socket.AF_INET6).connect(("fd77::11", 1))))
pids = []
for i in range(310):
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0); pids.append(pid)
print("pids", max(pids), os.getpid() in pids)
os.setuid(65534)
print(put("kernel/hostname", "nobody"), attempt(lambda: tcp().bind(("", 1023))))
`
	log, out := run(t, bounded(t, 0, script), 1)
	printed(t, strings.Join(texts(log, ""), "\n")+"\n", `('ok', '1') ('EINVAL', '1') ('EINVAL', '1')
('ok', '20000 20001') ('EINVAL', '20000 20001') ('ok', '20000 20001') ('EINVAL', '20000 20001')
('ok', '1') ('ok', '2') ('ok', '60') ('ok', '4096 65536 100000')
('ok', 'other') ('ok', 'inside') ('ok', '301') ('EINVAL', '301') ('ok', '4096')
('ok', '0') ('EINVAL', '0') ('ok', '10') ('EACCES', '6.1.0-bloodhound')
('ok', '1024') ('ok', '1')
0 ['3']
20000 20001
connected 2
ETIMEDOUT 3
60 2 65536
other other ENETUNREACH
pids 300 False
('EACCES', 'other') EACCES
`)
	want := " on node n1 wrote to /proc/sys/vm/swappiness, which shows the value but has no other effect"
	if told := slices.DeleteFunc(out.Warnings,
		func(w string) bool { return !strings.Contains(w, "/proc/sys/") }); len(told) != 1 || !strings.HasSuffix(told[0], want) {
		t.Errorf("warnings %q, want one that ends with %q", told, want)
	}
}

// Settings of System V's objects bound them.
func TestIPCSettings(t *testing.T) {
	const script = pythonPrelude + `
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    r = getattr(libc, name)(*args)
    return "ok" if r >= 0 else errno.errorcode[ctypes.get_errno()]
size = ctypes.c_size_t
print(read("kernel/sem"), read("kernel/shmmax"), os.uname()[:2], open("/proc/sys/kernel/domainname").read().strip())
print("shm", [call("shmget", 0, size(n), 0o1600) for n in (100001, 4096, 8192, 4096, 1)])
print("sem", [call("semget", 0, n, 0o1600) for n in (5, 4, 3, 2, 1)])
queue = libc.msgget(0, 0o1600)
message = (ctypes.c_long * 10)(1)
print("msg", [call("msgsnd", queue, message, size(n), 0o4000) for n in (33, 32, 32)], call("msgget", 0, 0o1600))
`
	printed(t, withSettings(t, []world.Sysctl{
		{Name: "kernel.domainname", Value: "inside"}, {Name: "kernel.msgmax", Value: "32"}, {Name: "kernel.msgmnb", Value: "48"},
		{Name: "kernel.msgmni", Value: "1"},
		{Name: "kernel.sem", Value: "4\t8\t10\t3"}, {Name: "kernel.shmall", Value: "4"}, {Name: "kernel.shmmax", Value: "100000"},
		{Name: "kernel.shmmni", Value: "3"},
	}, script), `['4', '8', '10', '3'] ['100000'] ('Linux', 'n1') inside
shm ['EINVAL', 'ok', 'ok', 'ok', 'ENOSPC']
sem ['EINVAL', 'ok', 'ok', 'ENOSPC', 'ok']
msg ['EINVAL', 'ok', 'EAGAIN'] ENOSPC
`)
}

// Programs that look for a port in /proc/net find it, as health checks of images do.
func TestSocketTables(t *testing.T) {
	const script = pythonPrelude + `
l = socket.socket(); l.bind(("127.0.0.1", 8080)); l.listen()
c = socket.create_connection(("127.0.0.1", 8080)); d, name = l.accept(); d.send(b"abc")
six = socket.socket(socket.AF_INET6); six.bind(("::1", 8081)); six.listen()
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 5353))
x = socket.socket(socket.AF_UNIX); x.bind("/tmp/x"); x.listen()
unbound = socket.socket()
def table(name):
    lines = open("/proc/net/" + name).read().splitlines()
    return [l.split()[1:5] + [l.split()[9]] for l in lines[1:]], set(map(len, lines))
inode = lambda s: os.readlink("/proc/self/fd/%d" % s.fileno())[8:-1]
mark = lambda s: [s == i for i in map(inode, (l, c, d, six, u))].index(True)
port = "%04X" % c.getsockname()[1]
for n in ("tcp", "tcp6", "udp"):
    rows, widths = table(n)
    print(n, [[a.replace(port, "PORT"), b.replace(port, "PORT"), st, q, mark(i)] for a, b, st, q, i in rows], widths if n != "tcp6" else "")
print([l.split()[3:] for l in open("/proc/net/unix").read().splitlines()[1:]] == [["00010000", "0001", "01", inode(x), "/tmp/x"]])
`
	printed(t, withSettings(t, nil, script), `tcp [['0100007F:1F90', '00000000:0000', '0A', '00000000:00000000', 0], ['0100007F:PORT', '0100007F:1F90', '01', '00000000:00000003', 1], ['0100007F:1F90', '0100007F:PORT', '01', '00000000:00000000', 2]] {149}
tcp6 [['00000000000000000000000001000000:1F91', '00000000000000000000000000000000:0000', '0A', '00000000:00000000', 3]] 
udp [['0100007F:14E9', '00000000:0000', '07', '00000000:00000000', 4]] {127}
True
`)
}
