package raft

import (
	"bytes"
	"errors"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"
)

// The promises that hold at each step.
const (
	election = iota
	matching
	conflict
	complete
	machine
	configuration
	quorum
	progress
	pages
	promised
)

var promises = [promised]string{
	election:      "election safety: a term has one leader",
	matching:      "log matching: entries with the same index and term are the same, and so are those before them",
	conflict:      "log matching: a log loses only what conflicts with what is appended",
	complete:      "leader completeness: a leader has all committed entries",
	machine:       "state-machine safety: all servers apply the same entries",
	configuration: "configuration safety: all servers have the same configuration at the same index",
	quorum:        "check quorum: a leader that no quorum answers steps down",
	progress:      "flow control: what a leader sends next lies above what it knows to match",
	pages:         "flow control: what is being applied stays within its bound",
}

// observer knows what no node knows: which server led when, what was appended, and what was committed.
type observer struct {
	broken   [promised]error
	stuck    error // what clients wait for without success when faults have ended
	behind   error // who has not caught up
	caughtUp bool

	leader    uint64   // who led last
	leaders   []uint64 // by term
	logs      [maxServers + 1]journal
	heads     []int32 // by index: the last of the records of that index, from 1 on
	records   []appended
	committed []applied // from index begin+1 on
	applied   [maxServers + 1]uint64
	members   []membersAt // in order of the index
}

// applied is an entry that a server has applied, the first of all that did.
type applied struct {
	*pb.Entry
	by    uint64 // its term: the entry was committed in that one at the latest
	state sum    // what the server has come to
}

// journal is the log of a server, with what is only about to be stored.
type journal struct {
	base, term uint64 // of the entry before the first
	entries    []*pb.Entry
}

func (j *journal) last() uint64 { return j.base + uint64(len(j.entries)) }

// at gives the term of an entry, which is 0 if it is not known.
func (j *journal) at(index uint64) uint64 {
	switch {
	case index == j.base:
		return j.term
	case index < j.base || index > j.last():
		return 0
	}
	return j.entries[index-j.base-1].GetTerm()
}

// appended is an entry as some server has first appended it, and the term of the one before it.
type appended struct {
	before uint64
	entry  *pb.Entry
	next   int32
}

// membersAt is the configuration from an index on.
type membersAt struct {
	index uint64
	members
}

// usual is how many terms and entries there is room for at first.
const usual = 32

func newObserver(first *pb.ConfState) *observer {
	return &observer{members: []membersAt{{begin, membersOf(first)}}, leaders: make([]uint64, 0, usual), heads: make([]int32, 0, usual), records: make([]appended, 0, usual),
		committed: make([]applied, 0, usual)}
}

// breaks notes that a promise is broken; the first time counts.
func (o *observer) breaks(promise int, format string, args ...any) {
	if o.broken[promise] == nil {
		o.broken[promise] = fmt.Errorf(format, args...)
	}
}

// opens takes in the log that a server starts with, or has got by a snapshot.
func (o *observer) opens(id, base, term uint64, entries []*pb.Entry) {
	o.logs[id] = journal{base, term, entries}
}

// appends takes in entries that a server is about to store.
func (o *observer) appends(id uint64, entries []*pb.Entry) {
	j := &o.logs[id]
	first := entries[0].GetIndex()
	if first <= j.base || first > j.last()+1 {
		o.breaks(matching, "%s appends entries from %d on to a log that has those from %d to %d", name(id), first, j.base+1, j.last())
		return
	}
	before := j.at(first - 1)
	if first <= j.last() {
		if t := j.at(first); t == entries[0].GetTerm() && entries[len(entries)-1].GetIndex() < j.last() {
			o.breaks(conflict, "%s appends entry %d of term %d, which it has, and loses those from %d to %d", name(id), first, t, entries[len(entries)-1].GetIndex()+1, j.last())
		}
		j.entries = j.entries[: first-j.base-1 : first-j.base-1]
	}
	j.entries = append(j.entries, entries...)
	for _, e := range entries {
		o.met(id, e, before)
		before = e.GetTerm()
	}
}

// met compares an entry with the first one of its index and term.
func (o *observer) met(id uint64, e *pb.Entry, before uint64) {
	at := int(e.GetIndex() - begin)
	for len(o.heads) <= at {
		o.heads = append(o.heads, 0)
	}
	for k := o.heads[at]; k != 0; k = o.records[k-1].next {
		r := &o.records[k-1]
		if r.entry == e && r.before == before {
			return
		}
		if r.entry.GetTerm() != e.GetTerm() {
			continue
		}
		if r.before != before {
			o.breaks(matching, "entry %d of term %d follows one of term %d in the log of %s, and one of term %d in another", e.GetIndex(), e.GetTerm(), before, name(id), r.before)
		} else if r.entry.GetType() != e.GetType() || !bytes.Equal(r.entry.GetData(), e.GetData()) {
			o.breaks(matching, "entry %d of term %d is %q in the log of %s, and %q in another", e.GetIndex(), e.GetTerm(), e.GetData(), name(id), r.entry.GetData())
		}
		return
	}
	o.records = append(o.records, appended{before, e, o.heads[at]})
	o.heads[at] = int32(len(o.records))
}

// commits compares an entry that a server applies with what others have applied there, and with what the command returned.
func (o *observer) commits(id uint64, term uint64, e *pb.Entry, state sum) {
	o.applied[id] = e.GetIndex()
	switch at := e.GetIndex() - begin - 1; {
	case at == uint64(len(o.committed)):
		o.committed = append(o.committed, applied{e, term, state})
	case at > uint64(len(o.committed)):
		o.breaks(machine, "%s applies entry %d, and nobody has applied the one before it", name(id), e.GetIndex())
	default:
		if c := &o.committed[at]; c.Entry != e && (c.GetTerm() != e.GetTerm() || !bytes.Equal(c.GetData(), e.GetData())) {
			o.breaks(machine, "%s applies entry %d of term %d, %q; another server has applied one of term %d, %q", name(id), e.GetIndex(),
				e.GetTerm(), e.GetData(), c.GetTerm(), c.GetData())
		} else if c.state != state {
			o.breaks(machine, "%s has applied entry %d like another server, but not all that was before it", name(id), e.GetIndex())
		}
	}
}

// restores compares a snapshot that a server begins with, or has got, with what servers had applied there.
func (o *observer) restores(id uint64, s *pb.Snapshot, state sum) {
	index, term := s.GetMetadata().GetIndex(), s.GetMetadata().GetTerm()
	o.applied[id] = index
	at := index - begin - 1
	switch {
	case at >= uint64(len(o.committed)):
		o.breaks(machine, "%s has a snapshot of entry %d, which nobody has applied", name(id), index)
	case o.committed[at].GetTerm() != term:
		o.breaks(machine, "%s has a snapshot of entry %d of term %d; another server has applied one of term %d", name(id), index, term, o.committed[at].GetTerm())
	case o.committed[at].state != state:
		o.breaks(machine, "%s has a snapshot of entry %d that is not what other servers have come to there", name(id), index)
	}
	o.configures(id, index, membersOf(s.GetMetadata().GetConfState()), false)
}

// configures compares the configuration that a server has at an index with that of others. It may be a new one.
func (o *observer) configures(id, index uint64, m members, changes bool) {
	last := len(o.members) - 1
	if changes && index > o.members[last].index {
		o.members = append(o.members, membersAt{index, m})
		return
	}
	for o.members[last].index > index {
		if last--; last < 0 {
			return
		}
	}
	if o.members[last].members != m {
		o.breaks(configuration, "at entry %d %s has %v, and another server %v", index, name(id), m, o.members[last].members)
	}
}

// leads looks at a new leader.
func (o *observer) leads(id, term uint64) {
	for uint64(len(o.leaders)) <= term {
		o.leaders = append(o.leaders, 0)
	}
	if other := o.leaders[term]; other != 0 && other != id {
		o.breaks(election, "%s and %s lead term %d", name(other), name(id), term)
	}
	o.leader, o.leaders[term] = id, id
	j := &o.logs[id]
	for i := range o.committed {
		c := &o.committed[i]
		if c.by >= term || c.GetIndex() < j.base {
			continue
		}
		if c.GetIndex() > j.last() {
			o.breaks(complete, "%s leads term %d without entry %d, which was committed in term %d", name(id), term, c.GetIndex(), c.by)
			return
		}
		if t := j.at(c.GetIndex()); t != c.GetTerm() {
			o.breaks(complete, "%s leads term %d with entry %d of term %d, where one of term %d was committed", name(id), term, c.GetIndex(), t, c.GetTerm())
			return
		}
	}
}

// catchUp looks whether all members have applied all that is committed. Once they have, it stays so.
func (o *observer) catchUp() {
	if o.caughtUp {
		return
	}
	last := uint64(begin + len(o.committed))
	all := o.members[len(o.members)-1].all()
	o.behind = nil
	for id := uint64(1); id <= maxServers; id++ {
		if all.has(id) && o.applied[id] < last {
			o.behind = errors.Join(o.behind, fmt.Errorf("%s has applied %d entries of %d", name(id), o.applied[id]-min(begin, o.applied[id]), len(o.committed)))
		}
	}
	o.caughtUp = o.behind == nil
}
