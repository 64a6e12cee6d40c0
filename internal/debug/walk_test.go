//go:build linux && amd64

package debug

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// digest is of the registers of all threads and of all memory that programs write to.
func digest(t *testing.T, w World) string {
	t.Helper()
	h := sha256.New()
	threads, err := w.Threads()
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	for _, th := range threads {
		cpu, err := w.CPU(th.Node, th.TID)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d %x %x\n", th.Node, th.TID, cpu.General, cpu.Extended)
		if key := fmt.Sprint(th.Node, th.PID); !done[key] {
			done[key] = true
			text, err := w.Maps(th.Node, th.PID)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(text) {
				var from, to uint64
				var rights string
				if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); n != 3 || to-from > 1<<20 && rights[1] != 'w' {
					continue
				}
				if to-from > 4<<20 {
					to = from + 4<<20
				}
				b, err := w.Memory(th.Node, th.PID, from, int(to-from))
				if err != nil {
					t.Fatal(err)
				}
				binary.Write(h, binary.LittleEndian, from)
				h.Write(b)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// symbol is the address of a name in the program of the bank.
func symbol(t *testing.T, spec *world.Spec, name string) uint64 {
	t.Helper()
	return pie + symbolOf(t, spec.Dir+"/bank", name)
}

// symbolOf is the value of a name in a program's file.
func symbolOf(t *testing.T, file, name string) uint64 {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, _ := f.Symbols()
	more, _ := f.DynamicSymbols()
	for _, s := range append(symbols, more...) {
		if s.Name == name && s.Value != 0 {
			return s.Value
		}
	}
	t.Fatalf("%s has no symbol %s", file, name)
	return 0
}

// walked is a world with the places at which a walk stops.
type walked struct {
	name        string
	walks       [2]uint64 // in a short test and in a long one
	again       []uint64  // walks of the long one that found something
	steps       int       // of one walk
	spec        func(t *testing.T) *world.Spec
	breakpoints []walkedPlace
	watchpoints []walkedPlace
}

// walkedPlace is a name of a program of a node. bias is where the file lies.
type walkedPlace struct {
	node, file, name string
	bias             uint64
	bytes            int
}

// pie is where Linux puts programs that are position-independent, without address randomisation.
const pie = 0x555555554000

func (p *walkedPlace) address(t *testing.T, spec *world.Spec) uint64 {
	return symbolOf(t, strings.ReplaceAll(p.file, "DIR", spec.Dir), p.name) + p.bias
}

var walkedWorlds = []walked{
	{name: "two threads in C and their client", walks: [2]uint64{1, 550}, steps: 60, spec: bank,
		breakpoints: []walkedPlace{{"bank", "DIR/bank", "book", pie, 0}, {"bank", "DIR/bank", "transfer", pie, 0}},
		watchpoints: []walkedPlace{{"bank", "DIR/bank", "accounts", pie, 4}, {"client", "DIR/bank", "latest_answer", pie, 4},
			{"client", "DIR/bank", "reply", pie, 8}}},
	{name: "redis and its client", walks: [2]uint64{1, 300}, steps: 30, spec: redis,
		breakpoints: []walkedPlace{{"redis", "/usr/bin/redis-server", "incrDecrCommand", pie, 0},
			{"redis", "/usr/bin/redis-server", "call", pie, 0}, {"redis", "/usr/bin/redis-server", "_writeToClient", pie, 0}},
		watchpoints: []walkedPlace{{"redis", "/usr/bin/redis-server", "server", pie + walkedRedis, 8}}},
	{name: "three nodes in Go and a client in Python", walks: [2]uint64{0, 150}, again: []uint64{118}, steps: 20, spec: cluster,
		breakpoints: []walkedPlace{{"n1", "DIR/kv", "main.(*Core).commitTo", 0, 0}, {"n2", "DIR/kv", "main.(*Core).Step", 0, 0},
			{"n3", "DIR/kv", "main.(*Core).commitTo", 0, 0}},
		watchpoints: []walkedPlace{{"n1", "DIR/kv", "runtime.sched", 0, 8}, {"n3", "DIR/kv", "runtime.sched", 0, 8}}},
}

// walkedRedis is a place in redis' struct server that each turn of its loop changes.
const walkedRedis = 0x40

// Whatever sequence of steps, breakpoints, watchpoints and jumps leads to a position, forward or backward, the state there is the same, and the run
// ends as the original one.
func TestRandomWalks(t *testing.T) {
	for i := range walkedWorlds {
		t.Run(walkedWorlds[i].name, func(t *testing.T) {
			w := &walkedWorlds[i]
			spec := w.spec(t)
			want := run(t, spec)
			all := &Stops{}
			for _, p := range w.breakpoints {
				all.Breakpoints = append(all.Breakpoints, engine.Breakpoint{Node: p.node, PID: mainPID, Address: p.address(t, spec)})
			}
			for _, p := range w.watchpoints {
				all.Watchpoints = append(all.Watchpoints, engine.Watchpoint{Node: p.node, PID: mainPID, Address: p.address(t, spec), Bytes: p.bytes})
			}
			walks := w.walks[0]
			if os.Getenv("BLOODHOUND_SOAK") != "" {
				walks = w.walks[1]
			}
			kinds, acts := map[StopKind]int{}, [5]int{}
			seeds := w.again
			for seed := range walks {
				seeds = append(seeds, seed)
			}
			for _, seed := range seeds {
				t.Run(fmt.Sprint("walk ", seed), func(t *testing.T) { walk(t, spec, want, all, seed, w.steps, kinds, &acts) })
			}
			t.Logf("%d walks along %d events; continue %d, back %d, step %d, step back %d, jump %d; stops %v", len(seeds), want.Events,
				acts[0], acts[1], acts[2], acts[3], acts[4], kinds)
			for _, kind := range []StopKind{ByBreakpoint, ByWatchpoint, ByStep} {
				if kinds[kind] == 0 {
					t.Errorf("no walk stopped for reason %d: %v", kind, kinds)
				}
			}
		})
	}
}

// mainPID is the number of the first process of a node.
const mainPID = 10

func walk(t *testing.T, spec *world.Spec, want *record.Outcome, all *Stops, seed uint64, steps int, kinds map[StopKind]int, acts *[5]int) {
	timeline := timelineOf(t, spec)
	defer timeline.Close()
	r := rand.New(rand.NewPCG(seed, 2))
	type place struct {
		at     Position
		digest string
	}
	var places []place
	remember := func() {
		d := digest(t, timeline.World())
		for i := range places {
			if fmt.Sprint(places[i].at) == fmt.Sprint(timeline.Position()) && equalPaths(places[i].at, timeline.Position()) && places[i].digest != d {
				t.Fatalf("%s: the state was %s and is %s", places[i].at, places[i].digest, d)
			}
		}
		places = append(places, place{timeline.Position(), d})
	}
	for range steps {
		var stop Stop
		var err error
		before := timeline.Position()
		s := &Stops{}
		if r.IntN(2) == 0 {
			s.Breakpoints = all.Breakpoints[r.IntN(2):]
		}
		if r.IntN(2) == 0 {
			s.Watchpoints = all.Watchpoints
		}
		kind := r.IntN(5)
		acts[kind]++
		switch kind {
		case 0:
			stop, err = timeline.Continue(s)
		case 1:
			stop, err = timeline.Back(s)
		case 2:
			threads, _ := timeline.World().Threads()
			th := threads[r.IntN(len(threads))]
			if held, ok := timeline.World().Held(); ok {
				th = held
			}
			for range 1 + r.IntN(30) {
				if stop, err = timeline.Step(th, s); err != nil || stop.Kind != ByStep {
					break
				}
			}
			if err == nil && stop.Kind == ByStep && !timeline.Position().End { // there and back again
				at, d := timeline.Position(), digest(t, timeline.World())
				if stop, err = timeline.StepBack(th); err == nil && stop.Kind == ByStep {
					if stop, err = timeline.Step(th, &Stops{}); err == nil {
						if now := digest(t, timeline.World()); now != d {
							t.Fatalf("%s: a step backward and one forward lead to another state: %s", at, timeline.Position())
						}
					}
				}
			}
		case 3:
			threads, _ := timeline.World().Threads()
			if len(threads) > 0 {
				stop, err = timeline.StepBack(threads[r.IntN(len(threads))])
			}
		case 4:
			if len(places) > 0 && r.IntN(2) == 0 {
				p := places[r.IntN(len(places))]
				if err = timeline.Goto(p.at); err == nil {
					if d := digest(t, timeline.World()); d != p.digest {
						t.Fatalf("%s: the state was %s and is %s", p.at, p.digest, d)
					}
				}
			} else {
				_, err = timeline.GotoUntil(engine.Until{Position: record.PositionAt(1 + r.Uint64N(want.Events-1))})
			}
		}
		if err != nil {
			t.Fatalf("from %s by %d: %v", before, kind, err)
		}
		kinds[stop.Kind]++
		remember()
	}
	for _, i := range r.Perm(len(places))[:min(len(places), 20)] {
		if err := timeline.Goto(places[i].at); err != nil {
			t.Fatal(err)
		}
		if d := digest(t, timeline.World()); d != places[i].digest {
			t.Errorf("%s: the state was %s and is %s", places[i].at, places[i].digest, d)
		}
	}
	endOf(t, timeline, want)
}

// A system call that writes to a watched place stops the world behind the call, and backward at the call.
func TestACallWritesToAWatchedPlace(t *testing.T) {
	spec := bank(t)
	want := original(t, spec)
	timeline := timelineOf(t, spec)
	place := symbol(t, spec, "reply")
	s := &Stops{Watchpoints: []engine.Watchpoint{{Node: "client", PID: 10, Address: place, Bytes: 8}}}
	text := func() string {
		b, err := timeline.World().Memory("client", 10, place, 8)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimRight(string(b), "\x00")
	}
	byCall := func() bool { return timeline.Position().Between || len(timeline.Position().Path) == 0 }
	var forward []string
	for {
		stop, err := timeline.Continue(s)
		if err != nil {
			t.Fatal(err)
		}
		if stop.Kind != ByWatchpoint {
			break
		}
		if byCall() {
			forward = append(forward, text())
		}
	}
	if len(forward) != 20 {
		t.Fatalf("the client has got %d answers: %q", len(forward), forward)
	}
	var backward []string
	for {
		stop, err := timeline.Back(s)
		if err != nil {
			t.Fatal(err)
		}
		if stop.Kind == AtBegin {
			break
		}
		if stop.Kind != ByWatchpoint || stop.Thread.Node != "client" {
			t.Fatalf("%+v", stop)
		}
		before := text()
		at := timeline.Position()
		if stop, err = timeline.Continue(s); err != nil || stop.Kind != ByWatchpoint {
			t.Fatalf("from %s (%+v, %q): %+v %v", at, at, before, stop, err)
		}
		if byCall() {
			if backward = append(backward, text()); before == text() {
				t.Errorf("%s: %q is written over %q", timeline.Position(), text(), before)
			}
		}
		if err := timeline.Goto(at); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(backward)
	if !slices.Equal(forward, backward) {
		t.Errorf("forward the answers are %q, backward %q", forward, backward)
	}
	endOf(t, timeline, want)
}

func equalPaths(a, b Position) bool {
	if len(a.Path) != len(b.Path) {
		return false
	}
	for i := range a.Path {
		if x, y := a.Path[i], b.Path[i]; x.Steps != y.Steps || x.Hits != y.Hits || !x.Stops.equal(y.Stops) {
			return false
		}
	}
	return true
}
