//go:build linux && amd64

package native

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/clone"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
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
subprocess.run(['sh', '-c', 'kill -SEGV $$'])
while True: time.sleep(1)
`
	node := func(name, ip, program string) world.Node {
		return world.Node{Name: name, Role: world.Server, Hostname: name, IPv4: ip, Root: "host", WorkingDir: "/tmp",
			Command: []string{"/usr/bin/env", "python3", "-c", program}, Env: []string{"PATH=/usr/bin:/bin"},
			Volumes: []world.Volume{{Kind: world.Named, Source: "v", Target: "/v", Shared: true}}}
	}
	spec := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 3e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		DefaultLink: world.Link{LatencyNs: 500e3, JitterNs: 100e3}, Sched: world.Sched{PreemptPPM: 300_000},
		Nodes:  []world.Node{node("n1", "10.77.0.10", server), node("n2", "10.77.0.11", client)},
		Faults: world.Faults{Enabled: true, StopNs: 2e9, SettleNs: 300e6},
		Properties: []world.Property{{Name: "answers", Kind: world.Safety,
			Check: world.Check{Type: world.Custom, Question: world.Question{Script: []string{"/bin/true"}}, IntervalNs: 200e6}}}}
	spec.Nodes = append(spec.Nodes, world.Node{Name: "checker", Role: world.Checker, Hostname: "checker", IPv4: "10.77.0.20",
		Root: "host", WorkingDir: "/tmp", Env: []string{"PATH=/usr/bin:/bin"}})
	for _, text := range []string{"pause on n2 rate 5% for 5ms..20ms", "drop on n1-n2 rate 5%", "partition on n1-n2 rate 2% for 10ms..20ms"} {
		r, err := fault.Parse(text)
		if err != nil {
			panic(err)
		}
		spec.Faults.Rules = append(spec.Faults.Rules, r)
	}
	return spec
}

// play runs a world to its end, and calls at whenever one of the events has happened.
func play(t *testing.T, spec *world.Spec, o engine.Options, stops []uint64, at func(*World)) *record.Outcome {
	t.Helper()
	b, err := New().Boot(spec, tape.Tape{Seed: 7}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, stop := range append(stops, 0) {
		reason, err := b.Advance(engine.Until{Position: record.PositionAt(stop)})
		if err != nil {
			t.Fatal(err)
		}
		if reason != record.ReachedUntil {
			break
		}
		at(b.(*World))
	}
	out := *b.Outcome()
	out.WallNs, out.MemoryBytes = 0, 0
	return &out
}

// The state of a whole world is plain data: at 100 stops a run continues with a copy of the state as if nothing had happened, whatever
// is recorded of the run; and what was copied stays as it was while the copy runs on.
//
//ci:series
func TestStateIsData(t *testing.T) {
	spec := busy()
	options := engine.Options{Behaviour: true, Draws: []string{"**"}, Dumps: t.TempDir(), Code: &code.Watch{Choice: code.Choice{"*"}}}
	want := play(t, spec, options, nil, nil)
	if want.Events < 2000 || len(want.Ledger.Injections) == 0 || len(want.Probes) == 0 || len(want.Crashes) == 0 ||
		len(want.Code) == 0 || len(want.Reached) == 0 {
		t.Fatalf("too little happened: %d events, %d injections, %d probes, %d crashes, code of %d programs, %d features; %s %v %v",
			want.Events, len(want.Ledger.Injections),
			len(want.Probes), len(want.Crashes), len(want.Code), len(want.Reached), want.Reason, want.Log, want.Refused)
	}
	var stops []uint64
	r := rand.New(rand.NewPCG(1, 2))
	for i := range uint64(100) {
		stops = append(stops, want.Events*i/100+1+r.Uint64N(want.Events/100))
	}
	type copied struct{ kept, twin *State }
	var copies []copied
	got := play(t, spec, options, stops, func(w *World) {
		broken := w.do(func() {
			c := copied{w.save(), w.save()}
			copies = append(copies, c)
			goOn := w.save()
			if shared := clone.Shared(goOn, c.kept); len(shared) > 0 {
				t.Fatalf("two copies share %v", shared)
			}
			w.kernel.State, w.director.State, w.recorded = &kernel.State{}, director.State{}, recorded{} // what load does not put back is missed
			w.tape.Restore(tape.State{})
			for _, v := range w.real.VDSOs {
				*v.Time = machine.TimePage{}
			}
			for _, c := range w.real.Watched {
				if c != nil {
					c.Resume(nil)
				}
			}
			w.load(goOn)
		})
		if broken != nil {
			t.Fatal(broken)
		}
	})
	if len(copies) < 95 {
		t.Errorf("the state was copied only %d times", len(copies))
	}
	for i, c := range copies {
		if !reflect.DeepEqual(c.kept, c.twin) {
			t.Fatalf("copy %d changed while another one ran on", i)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the run with copies gives\n%+v\nand without\n%+v", got, want)
	}
}

// A state has nothing that would not survive a copy, or would tie it to this machine.
func TestStateHoldsNoEffects(t *testing.T) {
	if flaws := clone.Flaws(reflect.TypeFor[State]()); len(flaws) > 0 {
		t.Error(strings.Join(flaws, "\n"))
	}
}

// A copy would lose a field that is neither in the state nor one of these. A developer who adds a field says here why no copy needs it.
func TestStateHasEveryField(t *testing.T) {
	for _, c := range []struct {
		typ     reflect.Type
		besides string
	}{
		{reflect.TypeFor[World](), "spec options shared memoryBytes stateBytes started tape kernel director recorded debugger " +
			"stackCode real failure broken halted closed"},
		{reflect.TypeFor[director.Director](), "State Setting tape act effects out moment err"},
		{reflect.TypeFor[kernel.Kernel](), "State M Tape Handles Cost Sched Limits Absent Observe Capture Code Executes Edges " +
			"Halts Ending Fatal Leaks Seen Moments Acted Overdue DiskFault Caller Watched Buf Small number system stop running " +
			"handling tree programs hash strict"},
	} {
		var names []string
		for i := range c.typ.NumField() {
			names = append(names, c.typ.Field(i).Name)
		}
		if got := strings.Join(names, " "); got != c.besides {
			t.Errorf("%s has the fields\n%s\nand is known to have\n%s", c.typ, got, c.besides)
		}
	}
}
