// Package raft runs etcd's Raft library, go.etcd.io/raft/v3 as it is, in a world of package inproc: servers that keep keys and values by
// it, clients that put and get, and who else Options ask for: an operator that changes who the servers are, and a load of further entries.
package raft

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Options are what worlds differ in. The zero value is three servers and one client, and crashes.
type Options struct {
	Servers  int // that vote at first: 3
	Learners int // that only learn at first
	Spares   int // that are no members at first
	Steps    int // 100
	Messages int // of one channel that a step delivers, at most: 5
	Clients  int // 1
	// Plain has requests and no client: no check judges the answers, or whether servers recover.
	Plain bool
	// Model is the specification that the servers are followed in, as Specification gives it; nil: in none.
	Model *Model
	// Specified leaves out what the specification has no word for: votes before votes, and joint changes of the configuration. It is set with Model.
	Specified bool
	// Guide follows servers for what they reach in the model, and promises nothing of them: Specification passes over what the model refuses then.
	Guide bool
	// Untold names an action that is not reported to Specification's model.
	Untold string
	// Requests bounds what Plain asks for: 0 is at each turn.
	Requests int
	// Ticks is how often a server ticks in a step: 1.
	Ticks int
	// Load is how many entries a process proposes at each of its turns, waiting for none: it does not exist if it is 0.
	Load int
	// Compact is the number of entries after which a server takes a snapshot and compacts its log up to what it has applied, but for Keep
	// entries. 0 is never.
	Compact, Keep int
	// Reconfigure has an operator add, remove, demote and promote servers, one at a time or two by joint consensus.
	Reconfigure bool
	// Async has the library continue while a server stores and applies (AsyncStorageWrites): each write takes up to Slow ticks (3), and a
	// crash loses those that are not done.
	Async bool
	Slow  int
	// ReuseContexts has a leader ask for the index of a read with a context that it has used before, once it has got the answer to that.
	ReuseContexts bool
	// Silence is the number of ticks without a message from a server after which a leader takes that server for unreachable. 0 is never.
	Silence int
	// CatchUp promises that all members come to have applied all that is committed, when faults have ended.
	CatchUp bool

	// Of the library. Zero is 10 ticks, 256 messages, no bound, 1 MiB, as MessageBytes, no bound.
	ElectionTicks            int
	Inflight                 int
	InflightBytes            uint64
	MessageBytes, ReadyBytes uint64
	UncommittedBytes         uint64
	NoPreVote, NoCheckQuorum bool

	// Faults go before the usual ones, which are that each server crashes in 1 % of the steps, for 5 to 30 of them.
	Faults []string

	// Flaws are mistakes on purpose.
	ForgetVote    bool // a restart forgets whom the server has voted for
	ReadLocally   bool // gets are answered without asking the others
	AckEarly      bool // with Async: votes and entries are acknowledged before they are stored
	ApplyEarly    bool // changes of the configuration take effect when they are appended, and are not taken back
	ForgetMembers bool // snapshots have the configuration of the beginning
}

// begin is the index, and the term, of what the first members have at first: who they are.
const begin = 1

// maxServers bounds the servers of all kinds, and maxClients the clients, of which 0 is the load.
const (
	maxServers = 9
	maxClients = 9
)

func (o *Options) servers() int { return o.Servers + o.Learners + o.Spares }

// complete puts in what is not given.
func (o *Options) complete() {
	set := func(to *int, usual int) {
		if *to == 0 {
			*to = usual
		}
	}
	set(&o.Servers, 3)
	set(&o.Messages, 5)
	set(&o.Clients, 1)
	set(&o.Slow, 3)
	set(&o.ElectionTicks, 10)
	set(&o.Inflight, 256)
	if o.MessageBytes == 0 {
		o.MessageBytes = 1 << 20
	}
	if o.Faults == nil {
		for id := range o.servers() {
			o.Faults = append(o.Faults, "crash on "+name(uint64(id)+1)+" rate 1% for 50ms..300ms")
		}
	}
	o.Specified = o.Specified || o.Model != nil
	if o.Async && o.Model != nil {
		panic("raft: etcdraft.tla has no writes that take time, so worlds with Async cannot be followed in it")
	}
	if o.servers() > maxServers || o.Clients >= maxClients {
		panic(fmt.Sprintf("raft: %d servers and %d clients; at most %d and %d can be had", o.servers(), o.Clients, maxServers, maxClients-1))
	}
}

// World describes a cluster and its clients. Each step delivers messages of one channel and ticks all servers.
func World(o Options) func(*inproc.World) {
	o.complete()
	first := o.founders()
	return func(w *inproc.World) {
		w.Set(inproc.Settings{Schedule: &inproc.Schedule{Steps: o.Steps, Messages: o.Messages, Ticks: o.Ticks}, Settle: -1})
		seen := newObserver(first)
		told := follow(w, &o)
		for id := uint64(1); id <= uint64(o.servers()); id++ {
			storage := newDisk(id, first)
			w.Machine(name(id), func(n *inproc.Node) inproc.Machine { return start(n, id, storage, seen, told, &o) })
		}
		if o.Plain {
			w.Process("load", func(p *inproc.Process) { requests(p, &o) })
		} else {
			for i := range o.Clients {
				w.Client(clientName(i+1), func(p *inproc.Process) { client(p, i+1, seen, &o) })
			}
			w.Linearizable("key-value")
			w.Final("progress: a put and a get succeed when faults have ended", func() error { return seen.stuck })
		}
		if o.Load > 0 {
			w.Process("load", func(p *inproc.Process) { load(p, &o) })
		}
		if o.Reconfigure {
			w.Process("operator", func(p *inproc.Process) { operator(p, seen, &o) })
		}
		for i := range promised {
			if o.promises(i) {
				w.Invariant(promises[i], func() error { return seen.broken[i] })
			}
		}
		if o.CatchUp {
			w.Final("catching up: members apply all that is committed when faults have ended", func() error { return seen.behind })
		}
		w.Faults(o.Faults...)
	}
}

// promises reports whether a promise is one of this world: each is asked at each step.
func (o *Options) promises(i int) bool {
	switch i {
	case configuration:
		return o.Reconfigure || o.Compact > 0
	case quorum:
		return !o.NoCheckQuorum
	case pages:
		return o.Async
	}
	return true
}

var names = [maxServers + 1]string{"", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"}

func name(id uint64) string { return names[id] }

func clientName(number int) string {
	if number == 1 {
		return "client"
	}
	return fmt.Sprint("client", number)
}
