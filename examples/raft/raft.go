// Package raft runs etcd's Raft library, go.etcd.io/raft/v3 as it is, in a world of package inproc: servers that keep keys and values by
// it, and a client that puts and gets.
package raft

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/bloodhound-dst/bloodhound/engine/inproc"
)

// Options are what worlds differ in.
type Options struct {
	Servers int // 3
	Steps   int // 100
	// Plain has requests and no client: nobody judges what the answers are, nor that servers recover.
	Plain bool
	// Model is the specification that the servers are followed in, as Specification gives it; nil: in none. It has no votes before votes, and so there are none.
	Model   *Model
	without string // an action that is not told to the model
	// Flaws are mistakes on purpose.
	ForgetVote  bool // a restart forgets whom the server has voted for
	ReadLocally bool // gets are answered without asking the others
}

// begin is the index, and the term, of what all servers have at first: who they are.
const begin = 1

// World describes a cluster and a client. Each step delivers messages of one channel and ticks all servers.
func World(o Options) func(*inproc.World) {
	if o.Servers == 0 {
		o.Servers = 3
	}
	return func(w *inproc.World) {
		w.Set(inproc.Settings{Schedule: &inproc.Schedule{Steps: o.Steps, Messages: 5}, Settle: -1})
		seen := &observer{leaders: map[uint64]uint64{}}
		told := follow(w, &o)
		var voters []uint64
		for id := range uint64(o.Servers) {
			voters = append(voters, id+1)
		}
		for _, id := range voters {
			// The storage of the library is what a crash leaves: a step of a machine is whole, so what it sends was stored before.
			storage := raft.NewMemoryStorage()
			storage.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{ConfState: &pb.ConfState{Voters: voters}, Index: new(uint64(begin)), Term: new(uint64(begin))}})
			w.Machine(name(id), func(n *inproc.Node) inproc.Machine { return start(n, id, storage, seen, told, &o) })
		}
		if o.Plain {
			w.Process("load", func(p *inproc.Process) { load(p, &o) })
		} else {
			w.Client("client", func(p *inproc.Process) { client(p, &o) })
			w.Linearizable("key-value")
		}
		w.Invariant("election safety: a term has one leader", func() error { return seen.election })
		w.Invariant("state-machine safety: all servers apply the same entries", func() error { return seen.matching })
		w.Invariant("leader completeness: a leader has all committed entries", func() error { return seen.complete })
		for id := range voters {
			w.Faults("crash on " + name(uint64(id)+1) + " rate 1% for 50ms..300ms")
		}
	}
}

var names = [...]string{"", "n1", "n2", "n3", "n4", "n5", "n6", "n7"}

func name(id uint64) string { return names[id] }
