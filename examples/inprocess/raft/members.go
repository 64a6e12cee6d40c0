package raft

import (
	"fmt"
	"math/bits"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// set is a set of servers.
type set uint16

func (s set) has(id uint64) bool { return s&(1<<id) != 0 }
func (s set) len() int           { return bits.OnesCount16(uint16(s)) }

func setOf(ids []uint64) (s set) {
	for _, id := range ids {
		s |= 1 << id
	}
	return s
}

// members are a configuration: those who vote, who voted before and still do until a joint one is left, who learn, and who will.
type members struct {
	voters, outgoing, learners, next set
	leaves                           bool
}

func membersOf(c *pb.ConfState) members {
	return members{setOf(c.GetVoters()), setOf(c.GetVotersOutgoing()), setOf(c.GetLearners()), setOf(c.GetLearnersNext()), c.GetAutoLeave()}
}

func (m members) all() set { return m.voters | m.outgoing | m.learners | m.next }

// quorum reports whether a set has a majority of those who vote, in both halves of a joint configuration.
func (m members) quorum(of set) bool {
	return 2*(of&m.voters).len() > m.voters.len() && (m.outgoing == 0 || 2*(of&m.outgoing).len() > m.outgoing.len())
}

func (s set) String() string {
	text := ""
	for id := range uint64(maxServers) {
		if s.has(id + 1) {
			text += " " + name(id+1)
		}
	}
	return text
}

func (m members) String() string {
	text := "voters" + m.voters.String()
	for _, part := range []struct {
		name string
		set  set
	}{{"outgoing", m.outgoing}, {"learners", m.learners}, {"learners to be", m.next}} {
		if part.set != 0 {
			text += fmt.Sprintf(", %s%s", part.name, part.set)
		}
	}
	return text
}

// founders is the first configuration.
func (o *Options) founders() *pb.ConfState {
	c := &pb.ConfState{}
	for id := uint64(1); id <= uint64(o.Servers+o.Learners); id++ {
		if id <= uint64(o.Servers) {
			c.Voters = append(c.Voters, id)
		} else {
			c.Learners = append(c.Learners, id)
		}
	}
	return c
}

// disk is the storage of the library, and what a crash leaves: a step of a machine is whole, so what it sends was stored before, unless
// Options.Async has it otherwise.
type disk struct {
	*raft.MemoryStorage
	kept uint64 // the index of its snapshot
}

// newDisk is what a server has before its first start: that of a member has who the members are.
func newDisk(id uint64, first *pb.ConfState) *disk {
	s := raft.NewMemoryStorage()
	if membersOf(first).all().has(id) {
		s.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{ConfState: first, Index: new(uint64(begin)), Term: new(uint64(begin))}})
		return &disk{s, begin}
	}
	return &disk{s, 0}
}

// reconfigure is what an operator asks a leader for.
type reconfigure struct {
	kind       int
	who, other uint64
}

// The kinds of changes.
const (
	add = iota
	learn
	remove
	swap
	exchange
	changes
)

// fewest is how many voters the library's README highly recommends to keep: changes take effect when they are applied, and who removes one of two may never learn that it
// has, when the other, who has a longer log and need not answer any more, is asked for its vote.
const fewest = 3

// proposal is the change that is asked for, or nil if it would leave too few voters, or change nothing. One that is joint must be left first.
func (r reconfigure) proposal(m members) *pb.ConfChangeV2 {
	one := func(t pb.ConfChangeType, id uint64) *pb.ConfChangeSingle {
		return &pb.ConfChangeSingle{Type: t.Enum(), NodeId: new(id)}
	}
	after := m.voters &^ (1 << r.who)
	c := &pb.ConfChangeV2{}
	switch {
	case m.outgoing != 0:
		if m.leaves {
			return nil // which the library does
		}
		return c
	case r.kind == add:
		after |= 1 << r.who
		c.Changes = append(c.Changes, one(pb.ConfChangeAddNode, r.who))
	case r.kind == learn:
		c.Changes = append(c.Changes, one(pb.ConfChangeAddLearnerNode, r.who))
	case r.kind == remove:
		c.Changes = append(c.Changes, one(pb.ConfChangeRemoveNode, r.who))
	case r.who == r.other:
		return nil
	default:
		after = m.voters&^(1<<r.other) | 1<<r.who
		c.Changes = append(c.Changes, one(pb.ConfChangeAddNode, r.who), one(pb.ConfChangeRemoveNode, r.other))
		if r.kind == exchange {
			c.Transition = pb.ConfChangeTransitionJointExplicit.Enum()
		}
	}
	if after.len() < fewest {
		return nil
	}
	return c
}
