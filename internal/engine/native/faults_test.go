//go:build linux && amd64

package native_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const echoServer = `import socket
s = socket.create_server(('', 7000))
while True:
    c, _ = s.accept()
    b = c.recv(1)
    if b: c.sendall(b)
    c.close()
`

// tcpClient asks the server again and again and says what it got and how long it took.
const tcpClient = `import socket, time
time.sleep(0.1)
for i in range(60):
    t = time.monotonic()
    try:
        c = socket.create_connection(('n1', 7000), timeout=0.15); c.sendall(b'x'); got = 'ok' if c.recv(1) else 'eof'; c.close()
    except OSError as e: got = type(e).__name__
    print(got, 'slow' if time.monotonic() - t > 0.01 else 'fast', flush=True)
    time.sleep(0.05)
`

const udpServer = `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 7000))
while True:
    b, a = s.recvfrom(100); s.sendto(b, a)
`

// udpClient sends bursts of numbered datagrams and says what comes back, in order.
const udpClient = `import socket, time
time.sleep(0.1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.05); s.connect(('n1', 7000))
for i in range(40):
    for j in range(4): s.send(b'%d' % (i * 4 + j)); time.sleep(0.001)
    got = []
    try:
        while True: got.append(int(s.recv(100)))
    except OSError: pass
    want = list(range(i * 4, i * 4 + 4))
    print('same' if got == want else 'lost' if len(set(got)) < 4 else 'twice' if len(got) > 4 else 'order', flush=True)
`

// deafServer never looks at what comes, and talker never waits for an answer: neither can detect that a link is cut.
const (
	deafServer = `import socket, time
c, _ = socket.create_server(('', 7000)).accept()
time.sleep(1000)
`
	talker = `import socket, time
time.sleep(0.1)
c = socket.create_connection(('n1', 7000))
for i in range(60): c.send(b'x'); print('sent', flush=True); time.sleep(0.05)
time.sleep(1000)
`
)

// counter keeps a number in a file that it never synchronises, and reader says whether it continues to grow.
const (
	counter = `import os, socket
n = int(open('/count').read() or 0) if os.path.exists('/count') else 0
s = socket.create_server(('', 7000))
while True:
    c, _ = s.accept()
    n += 1
    with open('/count', 'w') as f: f.write(str(n))
    c.sendall(b'%d' % n)
    c.close()
`
	reader = `import socket, time
time.sleep(0.1)
last = 0
for i in range(60):
    try:
        c = socket.create_connection(('n1', 7000), timeout=0.15); n = int(c.recv(9)); c.close()
        print('more' if n > last else 'less', flush=True)
        last = n
    except (OSError, ValueError): pass
    time.sleep(0.05)
`
)

// bystander is the program of n3. It has a connection to a keepServer, which it never looks at.
const bystander = `import socket, time
time.sleep(0.05)
s = socket.socket()
s.connect_ex(('10.77.0.10', 7001))
time.sleep(1000)
`

// pairUnder is a world of a server n1, a client n2 that talks to it, and n3, to which no node talks, under one rule.
func pairUnder(server, client string, rule *world.FaultRule) *world.Spec {
	node := func(name, ip, program string) world.Node {
		return world.Node{Name: name, Role: world.Server, Hostname: name, IPv4: ip, Root: "host", WorkingDir: "/tmp",
			Command: []string{"python3", "-c", program}, Env: []string{"PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1", "RES_OPTIONS=timeout:1 attempts:1"}}
	}
	s := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 20e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		DefaultLink: world.Link{LatencyNs: 500e3},
		Nodes:       []world.Node{node("n1", "10.77.0.10", server), node("n2", "10.77.0.11", client), node("n3", "10.77.0.12", bystander)}}
	if rule != nil {
		s.Faults = world.Faults{Enabled: true, StopNs: 6e9, Rules: []world.FaultRule{*rule}}
	}
	return s
}

// lines runs a world and gives what n2 printed, and its ledger's entry for a kind.
func lines(t *testing.T, spec *world.Spec, kind world.FaultKind) (string, fault.Entry) {
	t.Helper()
	var b strings.Builder
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 5}, engine.Options{Log: func(l record.LogLine) {
		if l.Node == "n2" {
			b.WriteString(l.Text + "\n")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !out.Repeat.Reproducible {
		t.Errorf("not reproducible: %s", out.Repeat.Reason)
	}
	for _, e := range out.Ledger.Entries {
		if e.Kind == kind {
			return b.String(), e
		}
	}
	return b.String(), fault.Entry{}
}

// Each kind of fault is seen by a real program, and the ledger knows. Where the fault affects a node that no node talks
// to, no program sees anything, and the ledger knows that, too.
//
//ci:later
func TestFaultsAreSeen(t *testing.T) {
	for _, c := range []struct {
		kind           world.FaultKind
		server, client string
		rule           world.FaultRule
		calm           string // all that the client prints without the fault
		seen           string // what it also prints with it
		elsewhere      string // a target that affects no program, where the kind has one
	}{
		{fault.Partition, echoServer, tcpClient,
			world.FaultRule{RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6, Targets: []string{"n1-n2"}}, "ok fast", "TimeoutError slow", "n1-n3"},
		{fault.Clog, echoServer, tcpClient,
			world.FaultRule{RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6, Targets: []string{"n1-n2"}}, "ok fast", "TimeoutError slow", "n1-n3"},
		{fault.Clog, udpServer, udpClient, world.FaultRule{RatePPM: 20_000, MinNs: 100e6, MaxNs: 200e6, Targets: []string{"n1-n2"}}, "same", "lost", "n1-n3"},
		{fault.SlowLink, echoServer, tcpClient,
			world.FaultRule{RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6,
				LinkEffect: world.LinkEffect{LatencyNs: 20e6}, Targets: []string{"n1-n2"}}, "ok fast", "ok slow", "n1-n3"},
		{fault.SlowLink, sink, source, world.FaultRule{RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6,
			LinkEffect: world.LinkEffect{BandwidthBytes: 1_000_000},
			Targets:    []string{"n1-n2"}}, "fast", "slow", "n1-n3"},
		{fault.Corrupt, echoServer, tcpClient, world.FaultRule{RatePPM: 100_000, Targets: []string{"n1-n2"}}, "ok fast", "TimeoutError slow", "n1-n3"},
		{fault.Corrupt, udpServer, comparer, world.FaultRule{RatePPM: 100_000, Targets: []string{"n1-n2"}}, "same", "one bit", "n1-n3"},
		{fault.Reset, keepServer, keepClient, world.FaultRule{RatePPM: 20_000, Targets: []string{"n1-n2"}}, "ok", "ConnectionResetError", "n1->n3"},
		{fault.DNSFail, echoServer, asker, world.FaultRule{RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6, Targets: []string{"n2"}},
			"ok fast", "EAI_AGAIN fast", "n3"},
		{fault.DNSFail, echoServer, asker, world.FaultRule{RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6, Targets: []string{"n2"}},
			"ok fast", "EAI_AGAIN slow", "n3"},
		{fault.Drop, echoServer, tcpClient, world.FaultRule{RatePPM: 100_000, Targets: []string{"n1-n2"}}, "ok fast", "TimeoutError slow", "n1-n3"},
		{fault.Delay, echoServer, tcpClient,
			world.FaultRule{RatePPM: 200_000, MinNs: 20e6, MaxNs: 40e6, Targets: []string{"n1-n2"}}, "ok fast", "ok slow", "n1-n3"},
		{fault.Crash, echoServer, tcpClient,
			world.FaultRule{RatePPM: 10_000, MinNs: 200e6, MaxNs: 400e6, Targets: []string{"n1"}}, "ok fast", "ConnectionRefusedError fast", "n3"},
		{fault.PowerLoss, echoServer, tcpClient,
			world.FaultRule{RatePPM: 10_000, MinNs: 200e6, MaxNs: 400e6, Targets: []string{"n1"}}, "ok fast", "TimeoutError slow", "n3"},
		{fault.PowerLoss, counter, reader, world.FaultRule{RatePPM: 20_000, MinNs: 50e6, MaxNs: 100e6, Targets: []string{"n1"}}, "more", "less", "n3"},
		{fault.Pause, echoServer, tcpClient,
			world.FaultRule{RatePPM: 10_000, MinNs: 200e6, MaxNs: 400e6, Targets: []string{"n1"}}, "ok fast", "TimeoutError slow", "n3"},
		{fault.Drop, udpServer, udpClient, world.FaultRule{RatePPM: 100_000, Targets: []string{"n1-n2"}}, "same", "lost", "n1-n3"},
		{fault.Duplicate, udpServer, udpClient, world.FaultRule{RatePPM: 100_000, Targets: []string{"n1-n2"}}, "same", "twice", "n1-n3"},
		{fault.Reorder, udpServer, udpClient, world.FaultRule{RatePPM: 200_000, MinNs: 2e6, MaxNs: 5e6, Targets: []string{"n1-n2"}}, "same", "order", "n1-n3"},
	} {
		name := string(c.kind) + map[string]string{tcpClient: "-tcp", source: "-bulk", udpClient: "-udp", comparer: "-bits", reader: "-disk"}[c.client]
		t.Run(name, func(t *testing.T) {
			c.rule.Kind = c.kind
			text, _ := lines(t, pairUnder(c.server, c.client, nil), c.kind)
			for line := range strings.Lines(text) {
				if strings.TrimSpace(line) != c.calm {
					t.Fatalf("without a fault the client prints %q, want %q only", line, c.calm)
				}
			}
			if strings.Count(text, "\n") < 40 {
				t.Fatalf("the client printed too little: %q", text)
			}
			text, e := lines(t, pairUnder(c.server, c.client, &c.rule), c.kind)
			if !strings.Contains(text, c.seen+"\n") {
				t.Errorf("the client never printed %q:\n%s", c.seen, text)
			}
			if e.Delivered == 0 || e.Observed == 0 || e.FirstObserved == 0 || e.Observed > e.Delivered {
				t.Errorf("the ledger says %+v", e)
			}
			c.rule.Targets = []string{c.elsewhere}
			_, e = lines(t, pairUnder(c.server, c.client, &c.rule), c.kind)
			if e.Observed != 0 {
				t.Errorf("no program can have seen it, but the ledger says %+v", e)
			}
			if fault.RowOf(c.kind).Place != fault.OnPacket && e.Delivered == 0 {
				t.Errorf("it was never delivered: %+v", e)
			}
		})
	}
}

// A datagram that comes late and is overtaken by none has not been reordered.
func TestLateIsNotReordered(t *testing.T) {
	const pinger = `import socket, time
time.sleep(0.1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('n1', 7000))
for i in range(60): s.send(b'x'); s.recv(9); print('same', flush=True); time.sleep(0.02)
`
	text, e := lines(t, pairUnder(udpServer, pinger,
		&world.FaultRule{Kind: fault.Reorder, RatePPM: 300_000, MinNs: 2e6, MaxNs: 5e6, Targets: []string{"n1-n2"}}), fault.Reorder)
	if strings.Count(text, "same\n") < 60 || e.Delivered < 10 || e.Observed != 0 {
		t.Errorf("%d answers; nothing overtook anything, but the ledger says %+v", strings.Count(text, "same\n"), e)
	}
}

// A program that sends into a link that is cut and gets no other answer than it would have got has seen nothing.
func TestSendingIsNotSeeing(t *testing.T) {
	spec := pairUnder(deafServer, talker,
		&world.FaultRule{Kind: fault.Partition, RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6, Targets: []string{"n1-n2"}})
	spec.Faults.StartNs, spec.Faults.StopNs = 200e6, 3e9
	spec.MaxTimeNs = 5e9
	text, e := lines(t, spec, fault.Partition)
	if strings.Count(text, "sent\n") < 40 || e.Delivered == 0 {
		t.Fatalf("the client did not talk while the link was cut: %q, %+v", text, e)
	}
	if e.Observed != 0 {
		t.Errorf("no program can have seen it, but the ledger says %+v", e)
	}
}

// Clients are no programs under test, but what makes their operations fail and has a server start again counts.
func TestClientsFeelWhatTakesServersDown(t *testing.T) {
	driver := func(report string) string {
		return fmt.Sprintf(`import json, os, socket, time
report = open(os.environ['BLOODHOUND_REPORT'], 'ab', buffering=0)
def tell(**x): report.write(json.dumps(dict(client='c0', op='get', key='k', **x)).encode() + b'\n')
for i in range(100):
    tell(type='invoke')
    try:
        with socket.create_connection(('n1', 7000), 0.1) as s:
            s.settimeout(0.1); s.send(b'x'); end = 'ok' if s.recv(1) == b'x' else 'info'
    except OSError: end = 'fail'
    %s
    time.sleep(0.05)
`, report)
	}
	for _, c := range []struct {
		kind   world.FaultKind
		driver string
		seen   bool
	}{
		{fault.Crash, driver("tell(type=end)"), true},
		{fault.PowerLoss, driver("tell(type=end)"), true},
		{fault.Restart, driver("tell(type=end)"), true},
		{fault.Crash, driver("tell(type='ok')"), false},                                 // nothing failed
		{fault.Crash, driver("tell(type=end); time.sleep(10 if i == 0 else 0)"), false}, // no request was sent meanwhile
		{fault.Pause, driver("tell(type=end)"), true},                                   // the server itself runs on late
	} {
		spec := pairUnder(echoServer, "", &world.FaultRule{Kind: c.kind, RatePPM: 10_000, MinNs: 300e6, MaxNs: 400e6, Targets: []string{"n1"}})
		spec.Nodes[1].Command, spec.Nodes[1].Role = nil, world.Client
		spec.Workloads = []world.Workload{{Name: "load", Driver: "command", Node: "n2", Command: []string{"python3", "-c", c.driver}}}
		_, e := lines(t, spec, c.kind)
		if e.Delivered == 0 || e.Observed > e.Delivered || c.seen != (e.Observed > 0) {
			t.Errorf("%s: %+v", c.kind, e)
		}
	}
}
