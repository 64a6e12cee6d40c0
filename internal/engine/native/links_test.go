//go:build linux && amd64

package native_test

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	// source sends 30,000 bytes at a time over one connection, and sink answers when it has them all.
	sink = `import socket
c, _ = socket.create_server(('', 7000)).accept()
while True:
    n = 30000
    while n > 0:
        b = c.recv(n); n -= len(b)
        if not b: raise SystemExit
    c.sendall(b'k')
`
	source = `import socket, time
time.sleep(0.1)
c = socket.create_connection(('n1', 7000))
for i in range(60):
    t = time.monotonic(); c.sendall(b'x' * 30000); c.recv(1)
    print('fast' if time.monotonic() - t < 0.02 else 'slow', flush=True)
    time.sleep(0.05)
`
	// keepServer answers over connections that stay. On port 7001 the bystander has one.
	keepServer = `import socket, threading
def serve(c):
    try:
        while True:
            b = c.recv(1)
            if not b: return
            c.sendall(b)
    except OSError: pass
def listen(port):
    s = socket.create_server(('', port))
    while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
threading.Thread(target=listen, args=(7001,), daemon=True).start()
listen(7000)
`
	keepClient = `import socket, time
time.sleep(0.1)
c = None
for i in range(60):
    try:
        c = c or socket.create_connection(('n1', 7000), timeout=1); c.sendall(b'x'); got = 'ok' if c.recv(1) else 'eof'
    except OSError as e: got = type(e).__name__; c = None
    print(got, flush=True)
    time.sleep(0.05)
`
	// asker asks for a name again and again.
	asker = `import socket, time
time.sleep(0.1)
for i in range(60):
    t = time.monotonic()
    try: socket.getaddrinfo('n1', 7000); got = 'ok'
    except socket.gaierror as e: got = {socket.EAI_AGAIN: 'EAI_AGAIN', socket.EAI_NONAME: 'EAI_NONAME'}.get(e.errno, str(e))
    print(got, 'slow' if time.monotonic() - t > 0.01 else 'fast', flush=True)
    time.sleep(0.05)
`
	// comparer counts the bits in which an answer differs from what was sent.
	comparer = `import socket, time
time.sleep(0.1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.05); s.connect(('n1', 7000))
for i in range(60):
    sent = bytes(range(i, i + 90)); s.send(sent); got = s.recv(100)
    n = sum(bin(a ^ b).count('1') for a, b in zip(sent, got, strict=True))
    print('same' if n == 0 else 'one bit' if n == 1 else 'bits', flush=True)
    time.sleep(0.01)
`
	// counting sends numbered datagrams, and tally says of each that comes whether it is the next one and whether it is late.
	counting = `import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(100): s.sendto(b'%d' % i, ('n2', 7000)); time.sleep(0.02)
time.sleep(1000)
`
	tally = `import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 7000))
last, t = -1, time.monotonic()
for i in range(100):
    n = int(s.recv(100)); now = time.monotonic()
    print('next' if n == last + 1 else 'gap' if n > last else 'back', 'late' if now - t > 0.1 else 'prompt', flush=True)
    last, t = n, now
`
)

// A rule with at resets connections as a program is about to send: it gets the errno from that very call.
func TestResetAtACall(t *testing.T) {
	spec := pairUnder(keepServer, keepClient, nil)
	rule, err := fault.Parse("reset on n1->n2 at sendto rate 0.2")
	if err != nil {
		t.Fatal(err)
	}
	spec.Faults = world.Faults{Enabled: true, StopNs: 6e9, Rules: []world.FaultRule{rule}}
	text, e := lines(t, spec, fault.Reset)
	if !strings.Contains(text, "ConnectionResetError\n") || e.Delivered == 0 || e.Observed != e.Delivered {
		t.Errorf("the sender sees each reset, but the ledger says %+v:\n%s", e, text)
	}
}

// pinger connects to n1 and n3 by turns, and prints which of them answer.
const pinger = `import socket, time
time.sleep(0.1)
def ask(ip):
    try:
        c = socket.create_connection((ip, 7000), timeout=0.1); c.sendall(b'x'); c.recv(1); c.close(); return 'yes'
    except OSError: return 'no'
for i in range(80):
    print(ask('10.77.0.10'), ask('10.77.0.12'), flush=True)
    time.sleep(0.05)
`

// A bridge parts two servers of which both reach the third one.
func TestBridgeIsNotTransitive(t *testing.T) {
	spec := pairUnder(echoServer, pinger, &world.FaultRule{Kind: fault.Partition, RatePPM: 100_000, MinNs: 200e6, MaxNs: 300e6,
		LinkEffect: world.LinkEffect{Shape: fault.Bridge}})
	spec.Nodes[2].Command = spec.Nodes[0].Command
	text, e := lines(t, spec, fault.Partition)
	for _, want := range []string{"yes yes", "yes no", "no yes"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("n2 never says %q:\n%s", want, text)
		}
	}
	if e.Observed == 0 {
		t.Errorf("the ledger says %+v", e)
	}
	spec.Faults.Rules[0].Targets, spec.Faults.Rules[0].Shape = []string{"n1", "n3"}, fault.Halves
	if text, e = lines(t, spec, fault.Partition); strings.Contains(text, "no") || e.Delivered == 0 || e.Observed != 0 {
		t.Errorf("n2 is in no half, and n1 never talks to n3, but it says %+v\n%s", e, text)
	}
}

// A clog holds what a partition loses: after it all datagrams arrive, in order.
func TestClogLosesNothing(t *testing.T) {
	for _, c := range []struct {
		kind      world.FaultKind
		late, gap bool
	}{{fault.Clog, true, false}, {fault.Partition, true, true}} {
		spec := pairUnder(counting, tally, &world.FaultRule{Kind: c.kind, RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6, Targets: []string{"n1-n2"}})
		spec.Faults.StartNs = 200e6
		text, e := lines(t, spec, c.kind)
		if strings.Contains(text, "late\n") != c.late || strings.Contains(text, "gap ") != c.gap || strings.Contains(text, "back ") {
			t.Errorf("%s: the receiver says\n%s", c.kind, text)
		}
		if !c.gap && strings.Count(text, "next ") != 100 {
			t.Errorf("%s: not all datagrams came:\n%s", c.kind, text)
		}
		if e.Observed == 0 {
			t.Errorf("the ledger says %+v", e)
		}
	}
}
