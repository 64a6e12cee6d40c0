//go:build linux && amd64

package native

import (
	"bytes"
	"encoding/gob"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// busy is a world in which much is open at any moment: processes, pipes, sockets between nodes, timers, signals.
func busy() *world.Spec {
	const server = `import socket,threading,os,signal,time
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
s = socket.create_server(('', 7000))
def serve(c):
    while True:
        b = c.recv(100)
        if not b: break
        with open('/v/log', 'ab') as f: f.write(b)
        r, w = os.pipe(); os.write(w, b); c.sendall(os.read(r, 100)); os.close(r); os.close(w)
while True:
    try: c, _ = s.accept()
    except InterruptedError: continue
    threading.Thread(target=serve, args=(c,), daemon=True).start()
`
	const client = `import socket,time,subprocess,select
time.sleep(0.2)
for i in range(8):
    c = socket.create_connection(('n1', 7000)); c.sendall(b'hello %d' % i)
    select.select([c], [], [], 1); print(c.recv(100)); c.close()
    print(open('/v/log').read())
    print(subprocess.run(['sh', '-c', 'echo $$ | cat'], capture_output=True).stdout)
`
	node := func(name, ip, program string) world.Node {
		return world.Node{Name: name, Role: world.Server, Hostname: name, IPv4: ip, Root: "host", WorkingDir: "/tmp", Command: []string{"/usr/bin/env", "python3", "-c", program}, Env: []string{"PATH=/usr/bin:/bin"},
			Volumes: []world.Volume{{Kind: world.Named, Source: "v", Target: "/v", Shared: true}}}
	}
	return &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 3e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		DefaultLink: world.Link{LatencyNs: 500e3, JitterNs: 100e3}, Sched: world.Sched{PreemptPPM: 300_000},
		Nodes: []world.Node{node("n1", "10.77.0.10", server), node("n2", "10.77.0.11", client)}}
}

func play(t *testing.T, spec *world.Spec, stops []uint64, at func(*World)) *engine.Outcome {
	t.Helper()
	b, err := New().Boot(spec, tape.Tape{Seed: 7}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, stop := range stops {
		reason, err := b.Advance(engine.Until{Position: engine.At(stop)})
		if err != nil {
			t.Fatal(err)
		}
		if reason != engine.ReachedUntil {
			break
		}
		at(b.(*World))
	}
	if _, err := b.Advance(engine.Until{}); err != nil {
		t.Fatal(err)
	}
	return b.Outcome()
}

// The kernel's state is plain data: written out, read back and put in place at 100 stops, a run goes on as if nothing
// had happened.
func TestStateIsData(t *testing.T) {
	spec := busy()
	want := play(t, spec, nil, nil)
	if want.Events < 2000 {
		t.Fatalf("the world did only %d events: %s %v %v", want.Events, want.Reason, want.Log, want.Refused)
	}
	var stops []uint64
	r := rand.New(rand.NewPCG(1, 2))
	for i := range uint64(100) {
		stops = append(stops, want.Events*i/100+1+r.Uint64N(want.Events/100))
	}
	copies := 0
	got := play(t, spec, stops, func(w *World) {
		w.do(func() {
			var b bytes.Buffer
			if err := gob.NewEncoder(&b).Encode(w.kernel.Save()); err != nil {
				t.Fatal(err)
			}
			s := &kernel.State{}
			if err := gob.NewDecoder(&b).Decode(s); err != nil {
				t.Fatal(err)
			}
			w.kernel.Load(s)
			copies++
		})
	})
	if copies < 95 {
		t.Errorf("the state was copied only %d times", copies)
	}
	if got.Hash != want.Hash || got.StrictHash != want.StrictHash {
		t.Errorf("trace hash %s after copies, %s without", got.Hash, want.Hash)
	}
}

// What would not survive a copy, or would tie a state to this machine.
func TestStateHoldsNoEffects(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Interface, reflect.Uintptr:
			t.Errorf("%s is a %s", path, typ)
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(path, typ.Elem())
		case reflect.Map:
			walk(path+"[key]", typ.Key())
			walk(path+"[]", typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				f := typ.Field(i)
				if f.Type == reflect.TypeFor[*fs.Shared]() && !f.IsExported() { // State.Shared has it, and Load ties it to the nodes again
					continue
				}
				if f.Type == reflect.TypeFor[[]*fs.State]() && !f.IsExported() { // the other way round
					continue
				}
				if !f.IsExported() {
					t.Errorf("%s.%s is not exported: a copy would lose it", path, f.Name)
				}
				walk(path+"."+f.Name, f.Type)
			}
		}
	}
	walk("State", reflect.TypeFor[kernel.State]())
	if !seen[reflect.TypeFor[kernel.Thread]()] || !strings.Contains(reflect.TypeFor[kernel.State]().String(), "State") {
		t.Error("the walk missed the threads")
	}
}
