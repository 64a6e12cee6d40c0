//go:build linux && amd64

package native

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// chatty is a world of two replicas that a client asks, in which calls and connections fail and one replica is cut off and killed.
func chatty() *world.Spec {
	const server = `import socket,os,time,threading
print('started with 3 peers', flush=True)
try: open('/no/such/file')
except OSError: pass
def beat():
    other = 'r2' if os.uname().nodename == 'r1' else 'r1'
    n = 0
    while True:
        n += 1
        try:
            with socket.create_connection((other, 9), 0.2) as c: c.sendall(b'BEAT %d\n' % n); c.recv(100)
        except OSError as e: print('peer %s: beat %d failed' % (other, n), flush=True)
        time.sleep(0.1)
threading.Thread(target=beat, daemon=True).start()
s = socket.create_server(('', 9))
while True:
    c, _ = s.accept()
    with c:
        b = c.recv(1000)
        if b: c.sendall(b'+OK\r\n')
`
	const client = `import socket,time
for i in range(20):
    try:
        with socket.create_connection(('r1', 9), 0.3) as c: c.sendall(b'*2\r\n$3\r\nGET\r\n$2\r\nk1\r\n'); c.recv(100)
    except OSError: pass
    try: socket.create_connection(('r2', 10), 0.3)
    except OSError: pass
    try: socket.getaddrinfo('nobody', 1)
    except OSError: pass
    time.sleep(0.1)
`
	node := func(name, ip string, role world.Role, program string) world.Node {
		return world.Node{Name: name, Role: role, Hostname: name, IPv4: ip, Root: "host", WorkingDir: "/tmp",
			Command: []string{"/usr/bin/env", "python3", "-uc", program}, Env: []string{"PATH=/usr/bin:/bin"}}
	}
	return &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 4e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		DefaultLink: world.Link{LatencyNs: 500e3, JitterNs: 100e3}, Sched: world.Sched{PreemptPPM: 300_000},
		Nodes: []world.Node{node("r1", "10.77.0.10", world.Server, server), node("r2", "10.77.0.11", world.Server, server),
			node("load", "10.77.0.12", world.Client, client)},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{
			{Kind: "partition", RatePPM: 30_000, Targets: []string{"r1-r2"}, MinNs: 200e6, MaxNs: 400e6},
			{Kind: "crash", RatePPM: 20_000, Targets: []string{"r2"}, MinNs: 100e6, MaxNs: 300e6}}}}
}

func behave(t *testing.T, seed uint64, on bool) *record.Outcome {
	t.Helper()
	needs.Program(t, "python3")
	out, err := engine.Run(New(), chatty(), tape.Tape{Seed: seed}, engine.Options{Behaviour: on})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func texts(list []coverage.Feature) []string {
	var all []string
	for _, f := range list {
		all = append(all, string(f.Domain)+" "+f.Text)
	}
	slices.Sort(all)
	return all
}

//ci:series
func TestBehaviourIsAFunctionOfTheRun(t *testing.T) {
	a, b, off := behave(t, 1, true), behave(t, 1, true), behave(t, 1, false)
	if !slices.Equal(a.Reached, b.Reached) {
		t.Error("two runs of one tape have reached different things")
	}
	if !slices.IsSortedFunc(a.Reached, func(x, y coverage.Feature) int {
		if x.ID < y.ID {
			return -1
		}
		return 1
	}) {
		t.Error("the features are not in the order of their IDs")
	}
	if a.Hash != off.Hash || a.StrictHash != off.StrictHash {
		t.Errorf("trace hash %s with behaviour, %s without", a.Hash, off.Hash)
	}
	if off.Reached != nil {
		t.Error("behaviour was collected though the caller did not ask for it")
	}
}

//ci:series
func TestBehaviour(t *testing.T) {
	all := map[string]bool{}
	for seed := range uint64(5) {
		for _, text := range texts(behave(t, seed, true).Reached) {
			all[text] = true
		}
	}
	for _, want := range []string{
		"message client -> r :9 *GET <64",
		"message r -> client :9 answer +OK <16",
		"message r -> r :9 BEAT <16",
		"connection client to r :9 connected",
		"connection r from client :9 accepted",
		"connection client to r :10 refused x4",
		"connection r to r :9 refused",
		"connection client to resolver :53 name unknown",
		"log r: started with # peers",
		"log r: peer r#: beat # failed x8",
		"log r: started with # peers | peer r#: beat # failed",
		"fault partition of r-r",
		"fault crash of r after peer r#: beat # failed",
		"fault crash of r with partition of r-r",
		"fault crash of r after sending :9 BEAT",
	} {
		if !all[want] {
			t.Errorf("nothing has reached %q", want)
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(text string) bool {
		return strings.HasPrefix(text, "errno python") && strings.HasSuffix(text, " openat ENOENT")
	}) {
		t.Error("no call has failed")
	}
	if t.Failed() {
		for _, text := range slices.Sorted(maps.Keys(all)) {
			t.Log(text)
		}
	}
	for text := range all {
		if strings.Contains(text, "r1") || strings.Contains(text, "r2") {
			t.Errorf("%q names one replica", text)
		}
	}
}

// Faults per call are not listed as injections, and still meet injections.
//
//ci:underway
func TestFaultsPerCallMeetInjections(t *testing.T) {
	needs.Program(t, "python3")
	spec := chatty()
	spec.Nodes = spec.Nodes[:1]
	spec.Nodes[0].Command = []string{"/usr/bin/env", "python3", "-uc", `import os,time
print('begins', flush=True)
f = open('/data/f', 'ab')
while True:
    f.write(b'x'); f.flush()
    try: os.fsync(f.fileno())
    except OSError: print('sync failed', flush=True)
    time.sleep(0.05)
`}
	spec.Nodes[0].Volumes = []world.Volume{{Kind: world.Named, Source: "data", Target: "/data"}}
	spec.Faults.Rules = []world.FaultRule{{Kind: "fsync_fail", RatePPM: 300_000}, {Kind: "power_loss", RatePPM: 20_000, MinNs: 100e6, MaxNs: 300e6}}
	out, err := engine.Run(New(), spec, tape.Tape{Seed: 1}, engine.Options{Behaviour: true})
	if err != nil {
		t.Fatal(err)
	}
	got := texts(out.Reached)
	for _, want := range []string{"fault fsync_fail", "fault fsync_fail of r1", "fault fsync_fail of r1 after begins",
		"fault fsync_fail of r1 after sync failed",
		"fault fsync_fail then power_loss of r1", "log r1: sync failed"} {
		if !slices.Contains(got, want) {
			t.Errorf("nothing has reached %q", want)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(got, "\n"))
	}
}

func TestGroups(t *testing.T) {
	spec := &world.Spec{Nodes: []world.Node{
		{Name: "redis-1", Role: world.Server, Command: []string{"/usr/bin/redis-server", "/etc/redis-1.conf"}},
		{Name: "redis-2", Role: world.Server, Command: []string{"redis-server", "/etc/redis-2.conf"}},
		{Name: "redis-sentinel", Role: world.Server, Command: []string{"sh", "-c", "exec redis-sentinel /etc/s.conf"}},
		{Name: "alice", Role: world.Server, Command: []string{"python3", "app.py"}},
		{Name: "bob", Role: world.Server, Command: []string{"python3", "app.py"}},
		{Name: "db1", Role: world.Server, Command: []string{"/bin/app", "store", "-v"}},
		{Name: "db2", Role: world.Server, Command: []string{"/bin/app", "store"}},
		{Name: "web", Role: world.Server, Command: []string{"/bin/app", "front"}},
		{Name: "c1", Role: world.Client},
		{Name: "c2", Role: world.Client},
	}}
	want := []string{"redis", "redis", "redis-sentinel", "python# app.py", "python# app.py", "db", "db", "web", "client", "client"}
	if got := groups(spec); !slices.Equal(got, want) {
		t.Errorf("groups are %q, want %q", got, want)
	}
}

func TestTargetsNameGroups(t *testing.T) {
	spec := &world.Spec{Nodes: []world.Node{{Name: "n1"}, {Name: "n2"}, {Name: "n12"}, {Name: "redis-1"}, {Name: "redis-2"}, {Name: "redis"}}}
	groups := []string{"n", "n(leader)", "n", "r", "r", "R"}
	for target, want := range map[string]string{"n1": "n", "n12": "n", "n1-n2": "n-n(leader)", "n2->n12": "n(leader)->n",
		"redis-1-redis-2": "r-r", "redis-redis-1": "R-r",
		"redis-2->redis": "r->R", "n1,n2 | n12": "n,n(leader) | n", "n2,n1 / n12 over redis-1": "n,n(leader) / n over r",
		"ring n12,n1,n2": "ring n,n,n(leader)", "n3": "n3", "": ""} {
		if got, _ := inTarget(spec, target, func(id int) string { return groups[id] }); got != want {
			t.Errorf("%q is %q, want %q", target, got, want)
		}
	}
}

// Names that no mask knows make few features: many in one place of otherwise equal lines, or behind equal beginnings of messages.
func TestNamesMadeByChance(t *testing.T) {
	var list []template
	for i := range 40 {
		list = append(list, template{Group: "n", Text: "stored " + strings.Repeat(string(rune('a'+i%26)), 3+i/26) + " well"})
	}
	list = append(list, template{Group: "n", Text: "ready to go"}, template{Group: "m", Text: "stored nothing well"})
	if got := general(list); got[0] != "stored * well" || got[39] != "stored * well" || got[40] != "ready to go" || got[41] != "stored nothing well" {
		t.Errorf("%q", got)
	}
	seen := &net.Seen{Messages: map[net.MessageKind]uint32{}}
	for i := range 40 {
		name := strings.Repeat(string(rune('a'+i%26)), 3+i/26)
		seen.Messages[net.MessageKind{To: 1, Port: 80, SizeLog: 3, Head: coverage.HeadOf([]byte("GET /files/" + name + " HTTP/1.1\r\n"))}] = 1
	}
	seen.Messages[net.MessageKind{To: 1, Port: 80, SizeLog: 3, Head: coverage.HeadOf([]byte("GET /health HTTP/1.1\r\n"))}] = 1
	spec := &world.Spec{Nodes: []world.Node{{Name: "a"}, {Name: "b"}}}
	f := &features{b: &behaviour{Groups: []string{"a", "b"}, RoleNames: []string{""}}, spec: spec}
	f.messages(seen)
	if got, want := slices.Compact(texts(f.list)),
		[]string{"message a -> b :80 GET /files/* <64", "message a -> b :80 GET /health <64"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
