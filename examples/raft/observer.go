package raft

import (
	"errors"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/bloodhound-dst/bloodhound/engine/inproc"
)

// observer knows what no node knows: who led when, and what was committed.
type observer struct {
	leaders   map[uint64]uint64 // by term
	committed []*pb.Entry       // from index begin+1 on
	election  error
	matching  error
	complete  error
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
