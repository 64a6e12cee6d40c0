package raft

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// writes are what the library has asked for and what is not done: by the thread that stores, and by the one that applies. Each does one after
// the other, and they do not wait for each other.
type writes struct {
	appends, applies []write
	bytes            uint64 // of entries that are being applied
	snapshot         uint64 // index of the last one to be stored: the library has taken over its configuration, so that changes before it may not be applied any more
}

// write is a MsgStorageAppend or a MsgStorageApply that is done at a tick.
type write struct {
	*pb.Message
	tick uint64
}

// accept takes a write. When it is done is the tape's choice.
func (s *server) accept(n *inproc.Node, m *pb.Message) {
	queue := &s.writes.appends
	if m.GetTo() == raft.LocalApplyThread {
		queue = &s.writes.applies
		s.paged(m.GetEntries())
	} else {
		if snapshot := m.GetSnapshot(); snapshot != nil {
			s.writes.snapshot = snapshot.GetMetadata().GetIndex()
		}
		if s.options.AckEarly {
			m = s.acknowledge(n, m)
		}
	}
	tick := s.ticks + uint64(n.Choose(s.options.Slow+1))
	if k := len(*queue); k > 0 {
		tick = max(tick, (*queue)[k-1].tick)
	}
	*queue = append(*queue, write{m, tick})
}

// paged looks whether what is applied at the same time keeps to its bound. A single entry may be larger than that.
func (s *server) paged(entries []*pb.Entry) {
	limit := s.options.ReadyBytes
	if limit == 0 {
		limit = s.options.MessageBytes
	}
	size := encoded(entries)
	if w := &s.writes; w.bytes >= limit || w.bytes > 0 && w.bytes+size > limit && len(entries) > 1 {
		s.seen.breaks(pages, "%s is to apply %d bytes of entries while it applies %d; no more than %d should be applied at the same time", name(s.id), size, w.bytes, limit)
	}
	s.writes.bytes += size
}

func encoded(entries []*pb.Entry) (bytes uint64) {
	for _, e := range entries {
		bytes += uint64(proto.Size(e))
	}
	return bytes
}

// acknowledge sends at once what may only be sent when a write is done: a mistake on purpose. That the entries are stored is reported when they are.
func (s *server) acknowledge(n *inproc.Node, m *pb.Message) *pb.Message {
	late := proto.Clone(m).(*pb.Message)
	late.Responses = nil
	for _, r := range m.GetResponses() {
		if r.GetType() == pb.MsgStorageAppendResp {
			late.Responses = append(late.Responses, r)
		} else {
			s.respond(n, r)
		}
	}
	return late
}

func (s *server) respond(n *inproc.Node, m *pb.Message) {
	if m.GetTo() == s.id {
		s.node.Step(m)
	} else {
		n.Send(name(m.GetTo()), message{m})
	}
}

// write does what is due of one of the threads, and reports whether there was anything.
func (s *server) write(n *inproc.Node) bool {
	w := &s.writes
	switch {
	case len(w.appends) > 0 && w.appends[0].tick <= s.ticks:
		m := w.appends[0]
		w.appends = w.appends[1:]
		var hard *pb.HardState
		if m.Term != nil {
			before, _, _ := s.storage.InitialState()
			hard = &pb.HardState{Term: new(m.GetTerm()), Vote: new(m.GetVote()), Commit: new(max(m.GetCommit(), before.GetCommit()))}
		}
		s.store(hard, m.GetSnapshot(), m.GetEntries())
		for _, r := range m.GetResponses() {
			s.respond(n, r)
		}
	case len(w.applies) > 0 && w.applies[0].tick <= s.ticks:
		m := w.applies[0]
		w.applies = w.applies[1:]
		w.bytes -= encoded(m.GetEntries())
		for _, e := range m.GetEntries() {
			if e.GetIndex() > w.snapshot {
				s.apply(n, e)
			}
		}
		for _, r := range m.GetResponses() {
			s.respond(n, r)
		}
		s.compact()
	default:
		return false
	}
	s.answer(n)
	return true
}
