//go:build linux && amd64

package native_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// keeper stores numbers in a file, synchronises every second one and answers each.
const keeper = `import os, socket
f = os.open('/log', os.O_CREAT | os.O_RDWR | os.O_APPEND)
print('has', os.pread(f, 100, 0).decode(), flush=True)
s = socket.create_server(('', 7000))
while True:
    c, _ = s.accept()
    b = c.recv(1)
    os.write(f, b)
    if int(b) % 2 == 0: os.fsync(f)
    c.sendall(b'ok')
    c.close()
`

// asks sends numbers and prints which of them are acknowledged.
const asks = `import socket, time
time.sleep(0.2)
for i in range(1, 5):
    try:
        with socket.create_connection(('n1', 7000), 0.3) as c: c.send(b'%d' % i); c.settimeout(0.3); print(i, c.recv(9).decode(), flush=True)
    except OSError as e: print(i, type(e).__name__, flush=True)
    time.sleep(1)
`

// kept is a world of a server n1 that keeps what a client n2 sends, under rules.
func kept(t *testing.T, rules ...string) *world.Spec {
	t.Helper()
	s := ruled(t, keeper, asks, rules...)
	s.Cost.SyncNs = 1e6
	s.Nodes[1].Role = world.Client
	return s
}

// A power loss right after a reply loses what was acknowledged and not synchronised, and nothing that was synchronised.
//
//ci:underway
func TestFaultsAfterReplies(t *testing.T) {
	for _, c := range []struct{ rule, asks, keeps string }{
		{"power_loss on n1 after reply for 500ms max 1", "1 ok\n2 ok\n3 ok\n4 ok\n", "has \nhas \n"},
		{"power_loss on n1 after reply nth 2 for 500ms", "1 ok\n2 ok\n3 ok\n4 ok\n", "has \nhas 12\n"},
		{"crash on n1 after reply for 500ms max 1", "1 ok\n2 ok\n3 ok\n4 ok\n", "has \nhas 1\n"},
		{"crash on n1 at sendto for 500ms max 1", "1 \n2 ok\n3 ok\n4 ok\n", "has \nhas 1\n"},
	} {
		lost := false
		for seed := uint64(1); seed < 9 && !lost; seed++ {
			logs, _, out := playSeed(t, kept(t, c.rule), seed)
			if logs["n2"] != c.asks || !out.Repeat.Reproducible || out.Ledger.Entries[0].Delivered != 1 {
				t.Fatalf("%s: n2 printed\n%s%+v", c.rule, logs["n2"], out.Ledger)
			}
			lost = logs["n1"] == c.keeps
			if !strings.HasPrefix(c.rule, "power_loss") || strings.Contains(c.rule, "nth 2") {
				if !lost {
					t.Errorf("%s: n1 printed\n%swant\n%s", c.rule, logs["n1"], c.keeps)
				}
				break
			}
		}
		if !lost {
			t.Errorf("%s: no seed of eight gave\n%s", c.rule, c.keeps)
		}
	}
}

// A fault after a call finds its effect done and the program not yet on its way; one between two calls finds the first done and the
// second not; one during an fsync finds some of its bytes on the disk.
//
//ci:underway
func TestFaultsAfterDuringAndBetweenCalls(t *testing.T) {
	const replacer = `import os, time
print('begin', sorted(n for n in os.listdir('/data')), flush=True)
f = os.open('/data/new', os.O_CREAT | os.O_RDWR)
os.write(f, b'x' * 8192)
os.fsync(f)
print('synced', flush=True)
for i in range(4): os.stat('/data')
os.rename('/data/new', '/data/snap')
print('renamed', flush=True)
time.sleep(1000)
`
	for _, c := range []struct {
		rule string
		want []string // what n1 prints in the runs of some seeds
	}{
		{"crash on n1 after fsync of new for 500ms max 1", []string{"begin []\nbegin ['new']\nsynced\nrenamed\n"}},
		{"power_loss on n1 after fsync of new for 500ms max 1", []string{"begin []\nbegin ['new']\nsynced\nrenamed\n"}},
		{"crash on n1 after rename of snap for 500ms max 1", []string{"begin []\nsynced\nbegin ['snap']\nsynced\nrenamed\n"}},
		{"power_loss on n1 during fsync of new for 500ms max 1",
			[]string{"begin []\nbegin []\nsynced\nrenamed\n", "begin []\nbegin ['new']\nsynced\nrenamed\n"}},
		{"power_loss on n1 between fsync of new and rename of snap for 500ms max 1",
			[]string{"begin []\nbegin ['new']\nsynced\nrenamed\n", "begin []\nsynced\nbegin ['new']\nsynced\nrenamed\n"}},
		{"pause on n1 after fsync for 500ms max 1", []string{"begin []\nsynced\nrenamed\n"}},
		{"pause on n1 during fsync for 500ms max 1", []string{"begin []\nsynced\nrenamed\n"}},
		{"crash on n1 after fsync nth 2 for 500ms", []string{"begin []\nsynced\nrenamed\n"}},
	} {
		seen := map[string]bool{}
		for seed := uint64(1); seed <= 12 && len(seen) < len(c.want); seed++ {
			spec := ruled(t, replacer, idle, c.rule)
			spec.Nodes[0].Volumes = []world.Volume{{Kind: world.Named, Source: "data", Target: "/data"}}
			spec.Cost.SyncNs = 1e6
			logs, _, out := playSeed(t, spec, seed)
			if !slices.Contains(c.want, logs["n1"]) || !out.Repeat.Reproducible {
				t.Errorf("%s, seed %d: n1 printed\n%s%+v", c.rule, seed, logs["n1"], out.Ledger)
			}
			seen[logs["n1"]] = true
		}
		for _, want := range c.want {
			if !seen[want] {
				t.Errorf("%s: no seed of twelve gave\n%s", c.rule, want)
			}
		}
	}
}

// An msync makes the pages durable that it names, and no others.
//
//ci:underway
func TestPowerLossAfterMsync(t *testing.T) {
	const mapper = `import mmap, os, time
page = 4096
if os.path.exists('/data/a'):
    print('has', ''.join(open('/data/a').read()[::page]), ''.join(open('/data/b').read()[::page]), flush=True)
    time.sleep(1000)
maps = []
for name in 'ab':
    f = os.open('/data/' + name, os.O_CREAT | os.O_RDWR)
    os.write(f, b'x' * 3 * page)
    os.fsync(f)
    maps.append(mmap.mmap(f, 3 * page))
for m in maps:
    for i in range(3): m[i * page] = ord('y')
maps[0].flush(page, page)
print('synced', flush=True)
time.sleep(1000)
`
	seen := map[string]bool{}
	for seed := uint64(1); seed <= 12; seed++ {
		spec := ruled(t, mapper, idle, "power_loss on n1 after msync for 500ms max 1")
		spec.Nodes[0].Volumes = []world.Volume{{Kind: world.Named, Source: "data", Target: "/data"}}
		logs, _, out := playSeed(t, spec, seed)
		has := strings.TrimPrefix(logs["n1"], "has ")
		if len(has) != len("xyx xxx\n") || has[1] != 'y' || !out.Repeat.Reproducible {
			t.Fatalf("seed %d: n1 printed\n%s%+v", seed, logs["n1"], out.Ledger)
		}
		for i, c := range has {
			seen[fmt.Sprint(i, string(c))] = true
		}
	}
	for i := range "xyx xxx" {
		if i != 1 && i != 3 && (!seen[fmt.Sprint(i, "x")] || !seen[fmt.Sprint(i, "y")]) {
			t.Errorf("character %d was the same after each power loss", i)
		}
	}
}

// A fault in recovery strikes a node that has just started again; a majority goes down at one moment; what is large is found on its way.
//
//ci:underway
func TestFaultsInRecoveryAndTransfer(t *testing.T) {
	const starter = `import time
print('begin', flush=True)
for i in range(9): open('/x%d' % i, 'w').close()
print('up', flush=True)
time.sleep(1000)
`
	struck := 0
	for seed := uint64(1); seed <= 12; seed++ {
		logs, _, out := playSeed(t, ruled(t, starter, idle, "pause on n1 in recovery", "restart on n1 after 2s for 500ms max 1",
			"crash on n1 in recovery for 200ms max 1"), seed)
		begins, ups := strings.Count(logs["n1"], "begin\n"), strings.Count(logs["n1"], "up\n")
		if begins < 2 || begins > 3 || ups < 2 || !out.Repeat.Reproducible {
			t.Fatalf("seed %d: n1 printed\n%s%+v", seed, logs["n1"], out.Ledger)
		}
		if begins == 3 && ups == 2 || begins == 2 && len(out.Ledger.Injections) > 2 {
			struck++
		}
	}
	if struck < 4 {
		t.Errorf("%d of twelve restarts were struck in their recovery", struck)
	}

	spec := ruled(t, starter, starter, "power_loss shape majority for 500ms after 2s max 1")
	spec.Nodes = append(spec.Nodes, spec.Nodes[0])
	spec.Nodes[3].Name, spec.Nodes[3].Hostname, spec.Nodes[3].IPv4 = "n3", "n3", "10.77.0.12"
	logs, _, out := playSeed(t, spec, 1)
	down := 0
	for _, i := range out.Ledger.Injections {
		if i.StartNs == out.Ledger.Injections[0].StartNs && strings.Count(logs[i.Target], "begin\n") == 2 {
			down++
		}
	}
	if down < 2 || down != len(out.Ledger.Injections) {
		t.Errorf("%d servers went down together: %+v\n%v", down, out.Ledger.Injections, logs)
	}

	const (
		large = `import socket, time
s = socket.create_server(('', 7000))
while True:
    c, _ = s.accept()
    n = int(c.recv(9))
    c.sendall(b'x' * n)
    c.close()
`
		fetch = `import socket, time
time.sleep(0.2)
for n in (1000, 30000, 400000):
    got = 0
    with socket.create_connection(('n1', 7000)) as c:
        c.settimeout(3)
        c.send(b'%d' % n)
        try:
            while b := c.recv(1 << 16): got += len(b)
        except OSError as e: pass
    print(n, 'whole' if got == n else 'part', flush=True)
`
	)
	logs, _, out = playSeed(t, ruled(t, large, fetch, "partition on n1-n2 in transfer for 9s max 1"), 1)
	if logs["n2"] != "1000 whole\n30000 whole\n400000 part\n" || out.Ledger.Entries[0].Observed != 1 {
		t.Errorf("n2 printed\n%s%+v", logs["n2"], out.Ledger)
	}
}

// A disk with a speed takes its time for each fsync, and now and then for a read or a write, from the chaos phase on; one without takes what an
// fsync costs and no more, and so does that of a tape without draws.
func TestDisksTakeTheirTime(t *testing.T) {
	const worker = `import os, time
time.sleep(0.1)
f = os.open('/x', os.O_CREAT | os.O_RDWR)
took = {'write': [], 'fsync': [], 'read': []}
for i in range(300):
    for what in took:
        t = time.monotonic()
        if what == 'write': os.pwrite(f, b'y' * 10, 0)
        elif what == 'fsync': os.fsync(f)
        else: os.pread(f, 10, 0)
        took[what].append(time.monotonic() - t)
for what, list in took.items(): print(what, '%.1f %.1f' % (min(list) * 1e3, max(list) * 1e3), sum(t > 1e-4 for t in list), flush=True)
time.sleep(1000)
`
	for _, c := range []struct {
		speed             string
		least, most, slow float64 // ms of an fsync, and reads and writes that wait
	}{{"hdd", 4, 200, 3}, {"nvme", 0, 3, 1}, {"", 1, 1, 0}} {
		spec := ruled(t, worker, idle, "crash on n2 rate 0.000001")
		spec.Cost.SyncNs, spec.MaxTimeNs, spec.Faults.StopNs, spec.Faults.DiskSpeed = 1e6, 60e9, 40e9, c.speed
		logs, _, out := playSeed(t, spec, 3)
		var what string
		var lines int
		for line := range strings.Lines(logs["n1"]) {
			var least, most, waits float64
			if _, err := fmt.Sscanf(line, "%s %f %f %f", &what, &least, &most, &waits); err != nil {
				t.Fatalf("%s: %q: %v", c.speed, line, err)
			}
			lines++
			switch what {
			case "fsync":
				if least < c.least || least > c.least+0.5 || most < c.most-0.1 || most > c.most+1 {
					t.Errorf("%s: an fsync takes from %v ms to %v ms, want %v to %v", c.speed, least, most, c.least, c.most)
				}
			default:
				if waits < c.slow || waits > 40 {
					t.Errorf("%s: %v of 300 calls wait: %s", c.speed, waits, line)
				}
			}
		}
		if lines != 3 || !out.Repeat.Reproducible {
			t.Errorf("%s: %q", c.speed, logs["n1"])
		}
	}
}
