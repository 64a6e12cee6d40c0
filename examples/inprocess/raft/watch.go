package raft

import (
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// watched is a server that reports its calls of the library. What a call has done is seen from outside: of the status before and after it, and of what is ready then.
type watched struct {
	*followed
	id      uint64
	node    *raft.RawNode
	what    cause // of the call that is not reported yet
	message *pb.Message
	known   bool          // the sender of an answer is a member, as far as the server knew
	before  shown         // the call
	now     shown         // after what was reported last
	own     []value.Value // messages to itself, which the library keeps
	storage *raft.MemoryStorage
	config  config // that it has applied
	members set    // that the library knows of
	changed bool   // the configuration has, since the last advance
	last    uint64 // index of the last entry
	term    uint64 // of the last entry
	seen    status // what Shown was compared with the last time
	tuple   value.Value
}

// status is all that a server is compared by.
type status struct {
	shown
	last, lastTerm uint64
}

// cause is a kind of call.
type cause uint8

const (
	nothing cause = iota
	called        // one that needs no word of its own
	received
	ticked
	advanced
)

// shown is what a server shows of itself.
type shown struct {
	term, vote, commit uint64
	state              raft.StateType
}

func (w *watched) look() shown {
	s := w.node.BasicStatus()
	return shown{s.HardState.GetTerm(), s.HardState.GetVote(), s.HardState.GetCommit(), s.RaftState}
}

// watch begins with a server that has started.
func (f *followed) watch(id uint64, node *raft.RawNode, storage *raft.MemoryStorage, applied uint64, members set) *watched {
	if f == nil {
		return nil
	}
	w := &watched{followed: f, id: id, node: node, storage: storage, config: f.configAt(applied), members: members}
	w.last, _ = storage.LastIndex()
	w.term, _ = storage.Term(w.last)
	w.now = w.look()
	if f.began.has(id) {
		w.Step("Restart", id)
		w.shows(w.now)
	}
	f.began |= 1 << id
	return w
}

// calls says that the library is called now.
func (w *watched) calls(what cause, m *pb.Message) {
	if w != nil {
		w.what, w.message, w.before = what, m, w.now
		if what == received && !expects(m) {
			w.known = false
			w.node.WithProgress(func(id uint64, _ raft.ProgressType, _ tracker.Progress) { w.known = w.known || id == m.GetFrom() })
		}
	}
}

// ready reports what a call has led to, with what is ready after it.
func (w *watched) ready(rd *raft.Ready) {
	if w != nil {
		w.tell(rd)
		w.Step("Ready", w.id)
		for _, m := range rd.Messages {
			if w.mail[m].record != nil {
				w.sent++
			}
		}
	}
}

// advance is the library's Advance, in which it deals with its messages to itself.
func (w *watched) advance(node *raft.RawNode, rd raft.Ready) {
	w.calls(advanced, nil)
	node.Advance(rd)
}

// done reports a call after which nothing is ready.
func (w *watched) done() {
	if w != nil {
		w.tell(&raft.Ready{})
	}
}

// configures reports that a change of the configuration has taken effect, by an entry that the server has applied.
func (w *watched) configures(e *pb.Entry, members members) {
	if w == nil {
		return
	}
	now := w.look()
	w.now = now
	comes := set(0)
	if now.state == raft.StateLeader {
		comes = members.all() &^ w.members
	}
	w.Step("ApplyChange", w.id, comes.value())
	w.config, w.changed = w.configs[position{e.GetIndex(), e.GetTerm()}], true
	w.members = members.all()
	w.becomes(w.before, now)
	w.commits(w.before, now)
}

func (w *watched) tell(rd *raft.Ready) {
	if w.what == nothing {
		return
	}
	now, before := w.look(), w.before
	w.now = now
	entries, send := rd.Entries, rd.Messages
	var reply *pb.Message
	switch w.what {
	case received:
		reply = w.receives(before, now, rd)
	case ticked:
		if now.state == raft.StateCandidate && now.term > before.term {
			w.Step("Timeout", w.id)
			self := w.voted(w.id, w.id, now.term, true)
			w.own = append(w.own, self)
			w.Step("SendVote", self)
		}
	case advanced:
		if w.changed { // what was sent since has what was committed before the library dealt with its own messages
			for len(send) > 0 && send[0].GetType() == pb.MsgApp && send[0].GetCommit() <= before.commit {
				w.sends(send[0])
				send = send[1:]
			}
			w.changed = false
		}
		for _, m := range w.own {
			w.Repeat("Consider", m)
			w.Step("Handle", m)
		}
		w.own = w.own[:0]
	}
	w.what = nothing
	if n := len(entries); n > 0 {
		w.last, w.term = entries[n-1].GetIndex(), entries[n-1].GetTerm()
	}
	if reply == nil || now.state != raft.StateFollower {
		w.becomes(before, now)
	}
	if now.state == raft.StateLeader && len(entries) > 0 {
		for _, e := range entries {
			w.proposes(e)
		}
		self := w.appended(w.id, w.id, now.term, w.last, subApp, true)
		w.own = append(w.own, self)
		w.Step("Acknowledge", self)
	}
	w.commits(before, now)
	for _, m := range send {
		if m != reply {
			w.sends(m)
		}
	}
	w.shows(now)
}

// becomes reports that the server leads now, or does no longer.
func (w *watched) becomes(before, now shown) {
	switch {
	case now.state == raft.StateLeader && (before.state != raft.StateLeader || before.term != now.term):
		w.Step("BecomeLeader", w.id)
	case now.state == raft.StateFollower && before.state != raft.StateFollower && now.term == before.term:
		w.Step("StepDownToFollower", w.id)
	}
}

// commits reports that a leader has.
func (w *watched) commits(before, now shown) {
	if now.state != raft.StateLeader || now.commit == before.commit {
		return
	}
	w.Step("Commit", w.id, now.commit)
	for index := uint64(len(w.chosen)) + 1; index <= now.commit; index++ {
		list, err := w.storage.Entries(index, index+1, 1<<40)
		if err != nil {
			break // a leader that has not stored what it commits is refused when it sends it to others
		}
		w.chosen = append(w.chosen, w.entry(list[0]))
		if p := (position{index, list[0].GetTerm()}); list[0].GetType() != pb.EntryNormal {
			w.changes = append(w.changes, p)
		}
	}
}

// proposes reports an entry that a leader has appended.
func (w *watched) proposes(e *pb.Entry) {
	change := changeOf(e)
	if change == nil {
		w.Step("Propose", w.id, w.number(e))
		return
	}
	if len(change.GetChanges()) != 1 {
		w.Unmodelled("joint change of the configuration")
		w.Abandon("the specification has no joint changes of the configuration")
		return
	}
	one, c := change.GetChanges()[0], w.config
	id, bit := one.GetNodeId(), set(1)<<one.GetNodeId()
	action := "Change"
	switch one.GetType() {
	case pb.ConfChangeAddNode:
		if !c.voters.has(id) {
			action = "AddNewServer"
		}
		c.voters |= bit
	case pb.ConfChangeAddLearnerNode:
		if !(c.voters | c.learners).has(id) {
			action = "AddLearner"
		}
		c.voters &^= bit
		c.learners |= bit
	case pb.ConfChangeRemoveNode:
		if (c.voters | c.learners).has(id) {
			action = "DeleteServer"
		}
		c.voters &^= bit
		c.learners &^= bit
	}
	w.configs[position{e.GetIndex(), e.GetTerm()}] = c
	if action == "Change" {
		w.Step(action, w.id, c.value())
	} else {
		w.Step(action, w.id, id)
	}
}

// shows compares the server with what it is in the specification.
func (w *watched) shows(now shown) {
	if w.network {
		w.Saw(w.sent, "UnderWay")
	}
	if s := (status{now, w.last, w.term}); s != w.seen || w.tuple == nil {
		state := isFollower
		switch now.state {
		case raft.StateLeader:
			state = isLeader
		case raft.StateCandidate:
			state = isCandidate
		}
		w.seen = s
		w.tuple = value.NewTuple([]value.Value{value.Int(now.term), state, value.Int(now.vote), value.Int(w.last), value.Int(w.term), value.Int(now.commit)})
	}
	w.Saw(w.tuple, "Shown", w.id)
}

// receives reports a message that the server was given, and the answer among what it sends.
func (w *watched) receives(before, now shown, rd *raft.Ready) (reply *pb.Message) {
	m := w.message
	record := w.mail[m].record
	if record == nil { // which its sending reported
		if now.term > before.term {
			w.Step("LearnTerm", w.id, now.term)
		}
		return nil
	}
	for _, o := range rd.Messages {
		if o.GetTo() == m.GetFrom() && answers(o.GetType(), m.GetType()) {
			reply = o
			break
		}
	}
	request := expects(m)
	if request && reply == nil || !request && !w.known {
		// A message that has no effect is as good as lost: one of an old term, a request for a vote while there is a leader, an answer of one who is no member.
		w.lose(m)
		return nil
	}
	w.arrives(m, record)
	changes := now != before || len(rd.Entries) > 0 // before it is answered, a message changes what a server shows, or nothing
	if !request {
		if changes {
			w.Repeat("Consider", record)
		}
		w.Step("Handle", record)
		return nil
	}
	answer := w.answer(m, reply)
	if m.GetType() == pb.MsgVote && reply.GetReject() && before.term == m.GetTerm() && before.vote == 0 && w.node.BasicStatus().Lead != 0 {
		w.Step("Refuse", record, answer)
		return reply
	}
	if changes {
		w.Repeat("Consider", record)
	}
	switch {
	case m.GetType() != pb.MsgSnap || before.commit == now.commit:
		w.Step("Answer", record, answer)
		return reply
	case raft.IsEmptySnap(rd.Snapshot):
		w.Step("FastForward", record, answer)
		return reply
	case before.commit == 0:
		w.Step("Answer", record, answer)
	default:
		w.Step("Restore", record, answer)
	}
	meta := m.GetSnapshot().GetMetadata()
	w.last, w.term = meta.GetIndex(), meta.GetTerm()
	w.Step("ApplyChange", w.id, value.EmptySet)
	w.config = w.configAt(meta.GetIndex())
	w.members = membersOf(meta.GetConfState()).all()
	return reply
}

// expects reports whether a message is answered, of those that the specification has.
func expects(m *pb.Message) bool {
	switch m.GetType() {
	case pb.MsgApp, pb.MsgHeartbeat, pb.MsgSnap, pb.MsgVote:
		return true
	}
	return false
}

func answers(reply, request pb.MessageType) bool {
	switch reply {
	case pb.MsgAppResp:
		return request == pb.MsgApp || request == pb.MsgSnap || request == pb.MsgHeartbeat
	case pb.MsgHeartbeatResp:
		return request == pb.MsgHeartbeat
	case pb.MsgVoteResp:
		return request == pb.MsgVote
	}
	return false
}

// answer is the record of an answer.
func (w *watched) answer(request, m *pb.Message) (record value.Value) {
	defer func() { w.mail[m] = mail{record: record} }()
	if m.GetType() == pb.MsgVoteResp {
		return w.voted(m.GetTo(), m.GetFrom(), m.GetTerm(), !m.GetReject())
	}
	index, sub := m.GetIndex(), subApp
	ok := !m.GetReject()
	switch {
	case m.GetTerm() > request.GetTerm(): // which shows a leader of an old term that its term is old
		ok = false
	case request.GetType() == pb.MsgHeartbeat:
		sub = subHeartbeat
	case request.GetType() == pb.MsgSnap:
		sub = subSnap
	}
	if !ok {
		index = 0
	}
	return w.appended(m.GetTo(), m.GetFrom(), m.GetTerm(), index, sub, ok)
}

// voted is the record of an answer to a request for a vote, and appended that of one to a request to append.
func (w *watched) voted(to, from, term uint64, ok bool) value.Value {
	return w.made.of(form{names: &votedFields[0], to: to, from: from, term: term, ok: ok}, func() value.Value {
		return value.NewRecord(votedFields, []value.Value{value.Int(to), value.Int(from), value.Int(term), voteResponse, value.Bool(ok)})
	})
}

func (w *watched) appended(to, from, term, index uint64, sub *value.String, ok bool) value.Value {
	return w.made.of(form{names: &appendedFields[0], kind: sub, to: to, from: from, term: term, index: index, ok: ok}, func() value.Value {
		return value.NewRecord(appendedFields, []value.Value{value.Int(to), value.Int(index), value.Int(from), sub, value.Bool(ok), value.Int(term), appendResponse})
	})
}

// asks is the record of a request to append.
func (w *watched) asks(m *pb.Message, sub *value.String, commit, index, log uint64, entries *value.Tuple) value.Value {
	to, from, term := m.GetTo(), m.GetFrom(), m.GetTerm()
	record := func() value.Value {
		return value.NewRecord(appendFields, []value.Value{value.Int(commit), value.Int(to), entries, value.Int(index), value.Int(log), value.Int(from), sub, value.Int(term), appendRequest})
	}
	if len(entries.Items) > 0 {
		return record()
	}
	return w.made.of(form{names: &appendFields[0], kind: sub, to: to, from: from, term: term, commit: commit, index: index, log: log}, record)
}

// sends reports a message that answers none.
func (w *watched) sends(m *pb.Message) {
	step := func(action string, record value.Value) {
		w.mail[m] = mail{record: record}
		w.Step(action, record)
	}
	switch m.GetType() {
	case pb.MsgVote:
		to, from, term, index, log := m.GetTo(), m.GetFrom(), m.GetTerm(), m.GetIndex(), m.GetLogTerm()
		step("SendVote", w.made.of(form{names: &voteFields[0], to: to, from: from, term: term, index: index, log: log}, func() value.Value {
			return value.NewRecord(voteFields, []value.Value{value.Int(to), value.Int(index), value.Int(log), value.Int(from), value.Int(term), voteRequest})
		}))
	case pb.MsgApp:
		entries := value.EmptyTuple
		if n := len(m.GetEntries()); n > 0 {
			list := make([]value.Value, n)
			for i, e := range m.GetEntries() {
				list[i] = w.entry(e)
			}
			entries = value.NewTuple(list)
		}
		// A receiver goes no further than the last entry of the message.
		commit := min(m.GetCommit(), m.GetIndex()+uint64(len(entries.Items)))
		step("SendAppend", w.asks(m, subApp, commit, m.GetIndex(), m.GetLogTerm(), entries))
	case pb.MsgHeartbeat:
		step("SendHeartbeat", w.asks(m, subHeartbeat, m.GetCommit(), 0, 0, value.EmptyTuple))
	case pb.MsgSnap:
		index := m.GetSnapshot().GetMetadata().GetIndex()
		entries := value.NewTuple(slices.Clone(w.chosen[:min(index, uint64(len(w.chosen)))]))
		step("SendSnap", w.asks(m, subSnap, index, 0, 0, entries))
	case pb.MsgReadIndex, pb.MsgReadIndexResp:
		w.Ignore("reads are not in the specification")
	case pb.MsgProp:
		w.Ignore("a proposal is a step once a leader takes it")
	default:
		w.Unmodelled(m.GetType().String())
	}
}

// entry is one of a log.
func (w *watched) entry(e *pb.Entry) value.Value {
	if e.GetType() == pb.EntryNormal {
		n, term := w.number(e), e.GetTerm()
		return w.made.of(form{names: &entryFields[0], term: term, index: uint64(n)}, func() value.Value {
			return entryOf(term, valueEntry, value.NewRecord(valueFields, []value.Value{n}))
		})
	}
	return entryOf(e.GetTerm(), configEntry, w.configs[position{e.GetIndex(), e.GetTerm()}].value())
}
