package raft

import (
	"fmt"
	"strings"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/bloodhound-dst/bloodhound/engine/inproc"
)

// server is one of the cluster.
type server struct {
	id      uint64
	node    *raft.RawNode
	storage *raft.MemoryStorage
	seen    *observer
	told    *watched
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

func start(n *inproc.Node, id uint64, storage *raft.MemoryStorage, seen *observer, told *followed, o *Options) inproc.Machine {
	if o.ForgetVote {
		hard, _, _ := storage.InitialState()
		storage.SetHardState(&pb.HardState{Commit: new(hard.GetCommit()), Term: new(hard.GetTerm()), Vote: new(uint64)})
	}
	dice.node = n
	defer func() { dice.node = nil }()
	node, err := raft.NewRawNode(&raft.Config{ID: id, ElectionTick: 10, HeartbeatTick: 1, Storage: storage, MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256,
		CheckQuorum: true, PreVote: o.Model == nil, ReadOnlyOption: raft.ReadOnlySafe, Logger: silent{}})
	if err != nil {
		panic(err)
	}
	return &server{id: id, node: node, storage: storage, seen: seen, told: told.watch(id, node, storage), options: o, values: map[string]string{}, puts: map[string]inproc.Message{}, gets: map[string]inproc.Message{}}
}

func (s *server) Receive(n *inproc.Node, m inproc.Message) {
	dice.node = n
	defer func() { dice.node = nil }()
	switch p := m.Payload.(type) {
	case message:
		s.told.calls(received, p.Message)
		s.node.Step(p.Message) // what it refuses is what a network may bring
	case request:
		s.ask(n, m, p)
	}
	s.ready(n)
}

func (s *server) Tick(n *inproc.Node) {
	dice.node = n
	defer func() { dice.node = nil }()
	s.told.calls(ticked, nil)
	s.node.Tick()
	s.ready(n)
}

// ask begins what a client asks for.
func (s *server) ask(n *inproc.Node, m inproc.Message, r request) {
	switch {
	case r.Value != "":
		s.told.calls(called, nil)
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
		s.told.calls(called, nil)
		s.node.ReadIndex([]byte(context))
	}
}

// ready does what the library asks for: store, send, apply.
func (s *server) ready(n *inproc.Node) {
	for s.node.HasReady() {
		rd := s.node.Ready()
		s.told.ready(&rd)
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
		s.told.advance(s.node, rd)
		s.answer(n)
	}
	s.told.done()
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
