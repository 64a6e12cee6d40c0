package raft

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/sim"
)

// The library, as it is, keeps what Raft promises, and clients get what is linearizable.
func TestRaft(t *testing.T) { sim.Test(t, World(Options{})) }

func TestFiveServers(t *testing.T) {
	sim.Campaign{Runs: 200}.Test(t, World(Options{Servers: 5, Steps: 200}))
}

// everything is a world with all that Options have, but for mistakes.
var everything = Options{Servers: 3, Learners: 1, Spares: 1, Steps: 200, Messages: 8, Clients: 2, Load: 3, Compact: 6, Keep: 1, Reconfigure: true, Async: true,
	ReuseContexts: true, Silence: 8, CatchUp: true, Inflight: 3, InflightBytes: 128, MessageBytes: 64, ReadyBytes: 96, UncommittedBytes: 200,
	Faults: []string{"crash on n1, n2, n3, n4, n5 rate 0.5% for 50ms..300ms", "drop rate 1%", "duplicate rate 1%", "reorder rate 2% for 10ms..100ms",
		"partition on n1, n2, n3 rate 0.5% for 50ms..300ms", "pause on n1, n2, n3 rate 0.2% for 50ms..200ms"}}

// worlds are some of what Options can ask for.
var worlds = []struct {
	name  string
	seeds uint64
	Options
}{
	{"usual", 300, Options{}},
	{"everything", 300, everything},
	{"snapshots", 30, Options{Load: 2, Compact: 3, CatchUp: true}},
	{"membership", 30, Options{Learners: 1, Spares: 1, Steps: 200, Reconfigure: true, CatchUp: true}},
	{"async", 30, Options{Load: 2, Async: true, Slow: 10}},
	{"small messages", 30, Options{Load: 4, Inflight: 2, InflightBytes: 40, MessageBytes: 20, UncommittedBytes: 100, CatchUp: true}},
	{"a rough network", 30, Options{NoPreVote: true, NoCheckQuorum: true, ElectionTicks: 5, Silence: 5, Faults: []string{"drop rate 5%", "duplicate rate 5%",
		"reorder rate 5% for 10ms..200ms", "partition on n1, n2 rate 1% for 100ms..500ms"}}},
}

// The library keeps what Raft promises in all of these worlds.
func TestWorlds(t *testing.T) {
	for _, w := range worlds[1:] {
		t.Run(w.name, func(t *testing.T) { sim.Campaign{Runs: 200}.Test(t, World(w.Options)) })
	}
}

// Every tape makes the same run each time, also that of its decisions alone.
func TestTapesRepeat(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) { repeats(t, w.Options, w.seeds) })
	}
}

func repeats(t *testing.T, o Options, seeds uint64) {
	e, err := inprocess.New("raft", World(o))
	if err != nil {
		t.Fatal(err)
	}
	spec := e.Spec()
	hashes := map[string]bool{}
	operations, ok := 0, 0
	for seed := range seeds {
		var outs [3]*record.Outcome
		for i := range outs {
			tp := tape.Tape{Seed: seed}
			if i == 2 {
				tp = tape.Replay(seed, outs[0].Decisions)
			}
			if outs[i], err = engine.Run(e, spec, tp, engine.Options{}); err != nil {
				t.Fatal(err)
			}
			if outs[i].Hash != outs[0].Hash {
				d, _ := e.Diverge(spec, tp, 10, engine.Options{})
				t.Fatalf("seed %d, run %d is another one: %v", seed, i, d)
			}
		}
		hashes[outs[0].Hash] = true
		for _, h := range outs[0].History {
			switch h.Type {
			case "invoke":
				operations++
			case "ok":
				ok++
			}
		}
	}
	if len(hashes) != int(seeds) || ok < operations/8 {
		t.Errorf("%d of %d runs are different ones; %d of %d operations succeeded", len(hashes), seeds, ok, operations)
	}
}

// What is broken on purpose is found, by the promise that it breaks.
func TestFlawsAreFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		flaw   Options
		breaks string
	}{
		{"a restart forgets its vote", Options{ForgetVote: true}, "election safety"},
		{"gets are answered without asking the others", Options{ReadLocally: true}, "linearizable"},
	} {
		r, err := sim.Campaign{Runs: 20_000, Dir: t.TempDir()}.Run(t.Context(), c.name, World(c.flaw))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != sim.Violated || !strings.Contains(r.Failures[0].Property, c.breaks) {
			t.Errorf("%s: %s\n%s", c.name, r.Status, r.Text())
			continue
		}
		t.Log(r.Text())
		if !strings.Contains(r.Text(), "Deliver(n") {
			t.Errorf("%s: the steps are not reported:\n%s", c.name, r.Text())
		}
	}
}

// BenchmarkWorld is a run of the world, with its faults, its client, its checks at each step and its trace.
func BenchmarkWorld(b *testing.B) { benchmark(b, Options{}) }

// BenchmarkPlain is the same with requests instead of a client, whose last operations take further steps: what BenchmarkBare does.
func BenchmarkPlain(b *testing.B) { benchmark(b, Options{Plain: true}) }

func benchmark(b *testing.B, o Options) {
	e, err := inprocess.New("raft", World(o))
	if err != nil {
		b.Fatal(err)
	}
	quiet, spec := e.Quiet(), e.Spec()
	for i := range b.N {
		if _, err := engine.Run(quiet, spec, tape.Tape{Seed: uint64(i)}, engine.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkModel is a run of the world that is followed in etcd's specification, with a trusted network, under the guidance of its states.
func BenchmarkModel(b *testing.B) {
	m, err := Specification(Options{}, false, "Coarse")
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, Options{Model: m})
}

// BenchmarkRatio makes runs of the world and of the bare loop in turns, and gives the speed of the first as a part of that of the second,
// in CPU time, which other programs on the machine do not change much.
func BenchmarkRatio(b *testing.B) {
	e, err := inprocess.New("raft", World(Options{Plain: true}))
	if err != nil {
		b.Fatal(err)
	}
	quiet, spec := e.Quiet(), e.Spec()
	const batch = 20
	var world, loop time.Duration
	for i := range b.N {
		began := cpu(b)
		for k := range batch {
			if _, err := engine.Run(quiet, spec, tape.Tape{Seed: uint64(i*batch + k)}, engine.Options{}); err != nil {
				b.Fatal(err)
			}
		}
		middle := cpu(b)
		for k := range batch {
			bare(rand.New(rand.NewPCG(1, uint64(i*batch+k))))
		}
		world, loop = world+middle-began, loop+cpu(b)-middle
	}
	b.ReportMetric(float64(loop)/float64(world), "of-bare")
	b.ReportMetric(float64(b.N*batch)/world.Seconds(), "runs/CPU-s")
	b.ReportMetric(float64(b.N*batch)/loop.Seconds(), "bare/CPU-s")
}

// cpu is the CPU time of this process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkBare is the least that a loop over the library does for the same: three nodes, 100 steps, each of which delivers up to five
// messages of one channel that is not empty and ticks all nodes; crashes and requests at the same rates; no check and no trace.
func BenchmarkBare(b *testing.B) {
	for i := range b.N {
		bare(rand.New(rand.NewPCG(1, uint64(i))))
	}
}

func bare(r *rand.Rand) {
	const servers, steps = 3, 100
	voters := []uint64{1, 2, 3}
	var storages [servers + 1]*raft.MemoryStorage
	var nodes [servers + 1]*raft.RawNode
	var down [servers + 1]int
	channels := map[[2]uint64][]*pb.Message{}
	var order [][2]uint64
	boot := func(id uint64) {
		node, err := raft.NewRawNode(&raft.Config{ID: id, ElectionTick: 10, HeartbeatTick: 1, Storage: storages[id], MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256,
			CheckQuorum: true, PreVote: true, Logger: silent{}})
		if err != nil {
			panic(err)
		}
		nodes[id] = node
	}
	for _, id := range voters {
		storages[id] = raft.NewMemoryStorage()
		storages[id].ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{ConfState: &pb.ConfState{Voters: voters}, Index: new(uint64(begin)), Term: new(uint64(begin))}})
		boot(id)
	}
	ready := func(id uint64) {
		n := nodes[id]
		for n.HasReady() {
			rd := n.Ready()
			if rd.HardState != nil && !raft.IsEmptyHardState(rd.HardState) {
				storages[id].SetHardState(rd.HardState)
			}
			if len(rd.Entries) > 0 {
				storages[id].Append(rd.Entries)
			}
			for _, m := range rd.Messages {
				k := [2]uint64{id, m.GetTo()}
				if _, ok := channels[k]; !ok {
					order = append(order, k)
				}
				channels[k] = append(channels[k], m)
			}
			n.Advance(rd)
		}
	}
	for range steps {
		for _, id := range voters {
			if down[id]--; down[id] == 0 {
				boot(id)
			}
			if down[id] < 0 && r.IntN(100) == 0 {
				nodes[id], down[id] = nil, 5+r.IntN(25)
			}
		}
		if r.IntN(10) == 0 {
			if id := 1 + r.Uint64N(servers); nodes[id] != nil {
				if r.IntN(2) == 0 {
					nodes[id].Propose([]byte("k=v"))
				} else {
					nodes[id].ReadIndex([]byte("context"))
				}
				ready(id)
			}
		}
		var open [][2]uint64
		for _, k := range order {
			if len(channels[k]) > 0 {
				open = append(open, k)
			}
		}
		if len(open) > 0 {
			k := open[r.IntN(len(open))]
			for count := 1 + r.IntN(5); count > 0 && len(channels[k]) > 0; count-- {
				m := channels[k][0]
				channels[k] = channels[k][1:]
				if n := nodes[k[1]]; n != nil {
					n.Step(m)
					ready(k[1])
				}
			}
		}
		for _, id := range voters {
			if n := nodes[id]; n != nil {
				n.Tick()
				ready(id)
			}
		}
	}
}
