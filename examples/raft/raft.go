// Package raft runs etcd's Raft library, go.etcd.io/raft/v3 as it is, in a world of package inproc: servers that keep keys and values by
// it, and a client that puts and gets.
package raft

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

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
	// Flaws are mistakes on purpose.
	ForgetVote  bool // a restart forgets whom the server has voted for
	ReadLocally bool // gets are answered without asking the others
}

// begin is the index, and the term, of what all servers have at first: who they are.
const begin = 1

// chance is the source of random numbers of the library, which reads the global crypto/rand.Reader: the numbers of the node that
// runs. So only one world at a time runs in a process.
type chance struct {
	node *inproc.Node
	real io.Reader
}

var dice = &chance{real: rand.Reader}

func init() { rand.Reader = dice }

func (c *chance) Read(p []byte) (int, error) {
	if c.node == nil {
		return c.real.Read(p)
	}
	for i := 0; i < len(p); i += 8 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], c.node.Uint64())
		copy(p[i:], b[:])
	}
	return len(p), nil
}

// message is one of the library's on its way.
type message struct{ *pb.Message }

// Digest tells messages apart.
func (m message) Digest() uint64 {
	h := uint64(14695981039346656037)
	add := func(x uint64) { h = (h ^ x) * 1099511628211; h ^= h >> 29 }
	add(uint64(m.GetType()))
	add(m.GetTerm())
	add(m.GetLogTerm())
	add(m.GetIndex())
	add(m.GetCommit())
	add(m.GetRejectHint())
	if m.GetReject() {
		add(1)
	}
	for _, c := range m.GetContext() {
		add(uint64(c))
	}
	for _, e := range m.GetEntries() {
		add(e.GetTerm())
		add(e.GetIndex())
		for _, c := range e.GetData() {
			add(uint64(c))
		}
	}
	return h
}

// request is what a client asks: a put, or a get if it has no value.
type request struct{ Key, Value string }

// observer knows what no node knows: who led when, and what was committed.
type observer struct {
	leaders   map[uint64]uint64 // by term
	committed []*pb.Entry       // from index begin+1 on
	election  error
	matching  error
	complete  error
}

// World describes a cluster and a client. Each step delivers messages of one channel and ticks all servers.
func World(o Options) func(*inproc.World) {
	if o.Servers == 0 {
		o.Servers = 3
	}
	return func(w *inproc.World) {
		w.Set(inproc.Settings{Schedule: &inproc.Schedule{Steps: o.Steps, Messages: 5}, Settle: -1})
		seen := &observer{leaders: map[uint64]uint64{}}
		var voters []uint64
		for id := range uint64(o.Servers) {
			voters = append(voters, id+1)
		}
		for _, id := range voters {
			// The storage of the library is what a crash leaves: a step of a machine is whole, so what it sends was stored before.
			storage := raft.NewMemoryStorage()
			storage.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{ConfState: &pb.ConfState{Voters: voters}, Index: new(uint64(begin)), Term: new(uint64(begin))}})
			w.Machine(name(id), func(n *inproc.Node) inproc.Machine { return start(n, id, storage, seen, &o) })
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

// client puts and gets, when the schedule gives it a turn. When the chaos is over, what is left must work: one put and one get, by
// whichever server can do them.
func client(p *inproc.Process, o *Options) {
	i := 1
	for ; p.Turn(); i++ {
		operate(p, 1+uint64(p.Choose(o.Servers)), i, p.Choose(2) == 0)
	}
	for _, put := range []bool{true, false} {
		for operate(p, 1+uint64(i%o.Servers), i, put) != nil {
			i++
			p.Sleep(50 * time.Millisecond)
		}
		i++
	}
}

// operate does one operation of a client.
func operate(p *inproc.Process, server uint64, i int, put bool) error {
	r := request{Key: "k"}
	op := inproc.Op{Kind: "get", Key: r.Key, Node: name(server)}
	if put {
		r.Value = fmt.Sprint("v", i)
		op.Kind, op.Input = "put", r.Value
	}
	_, err := p.Operation(op, func() (string, error) {
		answer, err := p.Call(name(server), r, 300*time.Millisecond)
		if err != nil {
			return "", err
		}
		if failed, ok := answer.(error); ok {
			return "", failed
		}
		if answer == "" && !put {
			return "", inproc.ErrNotFound
		}
		return answer.(string), nil
	})
	return err
}

// load asks servers for the same, and does not wait for what comes of it.
func load(p *inproc.Process, o *Options) {
	for i := 1; p.Turn(); i++ {
		r := request{Key: "k"}
		if p.Choose(2) == 0 {
			r.Value = fmt.Sprint("v", i)
		}
		p.Send(name(1+uint64(p.Choose(o.Servers))), r)
	}
}

// server is one of the cluster.
type server struct {
	id      uint64
	node    *raft.RawNode
	storage *raft.MemoryStorage
	seen    *observer
	options *Options
	values  map[string]string
	applied uint64
	asked   uint64
	puts    map[string]inproc.Message // that wait for their entries, by what these hold
	gets    map[string]inproc.Message // that wait for the index to read at, by its context
	reads   []read
}

// read is a get that waits until an index is applied.
type read struct {
	index uint64
	asked inproc.Message
}

func start(n *inproc.Node, id uint64, storage *raft.MemoryStorage, seen *observer, o *Options) inproc.Machine {
	if o.ForgetVote {
		hard, _, _ := storage.InitialState()
		storage.SetHardState(&pb.HardState{Commit: new(hard.GetCommit()), Term: new(hard.GetTerm()), Vote: new(uint64)})
	}
	dice.node = n
	defer func() { dice.node = nil }()
	node, err := raft.NewRawNode(&raft.Config{ID: id, ElectionTick: 10, HeartbeatTick: 1, Storage: storage, MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256,
		CheckQuorum: true, PreVote: true, ReadOnlyOption: raft.ReadOnlySafe, Logger: silent{}})
	if err != nil {
		panic(err)
	}
	return &server{id: id, node: node, storage: storage, seen: seen, options: o, values: map[string]string{}, puts: map[string]inproc.Message{}, gets: map[string]inproc.Message{}}
}

func (s *server) Receive(n *inproc.Node, m inproc.Message) {
	dice.node = n
	defer func() { dice.node = nil }()
	switch p := m.Payload.(type) {
	case message:
		s.node.Step(p.Message) // what it refuses is what a network may bring
	case request:
		s.ask(n, m, p)
	}
	s.ready(n)
}

func (s *server) Tick(n *inproc.Node) {
	dice.node = n
	defer func() { dice.node = nil }()
	s.node.Tick()
	s.ready(n)
}

// ask begins what a client asks for.
func (s *server) ask(n *inproc.Node, m inproc.Message, r request) {
	switch {
	case r.Value != "":
		data := r.Key + "=" + r.Value
		if err := s.node.Propose([]byte(data)); err != nil {
			n.Reply(m, fmt.Errorf("%w: %v", inproc.ErrFailed, err))
			return
		}
		s.puts[data] = m
	case s.options.ReadLocally:
		n.Reply(m, s.values[r.Key])
	default:
		s.asked++
		context := fmt.Sprintf("%d %d", s.id, n.Uint64())
		s.gets[context] = m
		s.node.ReadIndex([]byte(context))
	}
}

// ready does what the library asks for: store, send, apply.
func (s *server) ready(n *inproc.Node) {
	for s.node.HasReady() {
		rd := s.node.Ready()
		if rd.SoftState != nil && rd.SoftState.RaftState == raft.StateLeader {
			s.leads(n)
		}
		if rd.HardState != nil && !raft.IsEmptyHardState(rd.HardState) {
			s.storage.SetHardState(rd.HardState)
		}
		if len(rd.Entries) > 0 {
			s.storage.Append(rd.Entries)
		}
		for _, m := range rd.Messages {
			n.Send(name(m.GetTo()), message{m})
		}
		for _, e := range rd.CommittedEntries {
			s.apply(n, e)
		}
		for _, state := range rd.ReadStates {
			if m, ok := s.gets[string(state.RequestCtx)]; ok {
				delete(s.gets, string(state.RequestCtx))
				s.reads = append(s.reads, read{state.Index, m})
			}
		}
		s.node.Advance(rd)
		s.answer(n)
	}
}

// answer gives clients what they may read now.
func (s *server) answer(n *inproc.Node) {
	kept := s.reads[:0]
	for _, r := range s.reads {
		if r.index > s.applied {
			kept = append(kept, r)
			continue
		}
		n.Reply(r.asked, s.values[r.asked.Payload.(request).Key])
	}
	s.reads = kept
}

func (s *server) apply(n *inproc.Node, e *pb.Entry) {
	s.applied = e.GetIndex()
	s.seen.commits(s.id, e)
	key, value, ok := strings.Cut(string(e.GetData()), "=")
	if !ok {
		return
	}
	s.values[key] = value
	if m, ok := s.puts[string(e.GetData())]; ok {
		delete(s.puts, string(e.GetData()))
		n.Reply(m, "")
	}
}

// commits compares an entry that a server applies with what others have applied there.
func (o *observer) commits(id uint64, e *pb.Entry) {
	switch at := e.GetIndex() - begin - 1; {
	case at == uint64(len(o.committed)):
		o.committed = append(o.committed, e)
	case at > uint64(len(o.committed)):
		o.matching = errors.Join(o.matching, fmt.Errorf("%s applies entry %d, and nobody has applied the one before it", name(id), e.GetIndex()))
	default:
		if c := o.committed[at]; c.GetTerm() != e.GetTerm() || string(c.GetData()) != string(e.GetData()) {
			o.matching = errors.Join(o.matching, fmt.Errorf("%s applies entry %d of term %d, %q; another server has applied one of term %d, %q", name(id), e.GetIndex(),
				e.GetTerm(), e.GetData(), c.GetTerm(), c.GetData()))
		}
	}
}

// leads looks at a new leader.
func (s *server) leads(n *inproc.Node) {
	term := s.node.BasicStatus().HardState.GetTerm()
	n.Role("leader")
	if other, ok := s.seen.leaders[term]; ok && other != s.id {
		s.seen.election = fmt.Errorf("%s and %s lead term %d", name(other), name(s.id), term)
	}
	s.seen.leaders[term] = s.id
	last, _ := s.storage.LastIndex()
	for _, c := range s.seen.committed {
		if c.GetTerm() >= term {
			continue
		}
		if c.GetIndex() > last {
			s.seen.complete = fmt.Errorf("%s leads term %d without entry %d, which was committed in term %d", name(s.id), term, c.GetIndex(), c.GetTerm())
			return
		}
		if t, err := s.storage.Term(c.GetIndex()); err == nil && t != c.GetTerm() {
			s.seen.complete = fmt.Errorf("%s leads term %d with entry %d of term %d, where one of term %d was committed", name(s.id), term, c.GetIndex(), t, c.GetTerm())
			return
		}
	}
}

// silent is a logger that says nothing. What the library takes for a broken promise of its own is a panic all the same.
type silent struct{}

func (silent) Debug(...any)            {}
func (silent) Debugf(string, ...any)   {}
func (silent) Error(...any)            {}
func (silent) Errorf(string, ...any)   {}
func (silent) Info(...any)             {}
func (silent) Infof(string, ...any)    {}
func (silent) Warning(...any)          {}
func (silent) Warningf(string, ...any) {}
func (silent) Fatal(v ...any)          { panic(fmt.Sprint(v...)) }
func (silent) Fatalf(f string, v ...any) {
	panic(fmt.Sprintf(f, v...))
}
func (silent) Panic(v ...any) { panic(fmt.Sprint(v...)) }
func (silent) Panicf(f string, v ...any) {
	panic(fmt.Sprintf(f, v...))
}
