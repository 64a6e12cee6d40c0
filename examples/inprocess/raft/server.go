package raft

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// server is one of the cluster.
type server struct {
	id      uint64
	node    *raft.RawNode
	storage *disk
	seen    *observer
	told    *watched
	options *Options

	values  map[string]string
	latest  [maxClients]int // put of each client: the network may bring a put twice
	state   sum             // of all that was applied
	applied uint64
	members members
	conf    *pb.ConfState // the same

	term   uint64
	leads  bool
	since  uint64                 // the tick at which it has come to lead
	voted  uint64                 // the tick since which the same servers vote
	ticks  uint64                 // from 1 on
	heard  [maxServers + 1]uint64 // the tick at which a server has answered
	sent   [maxServers + 1]uint64 // the tick at which a snapshot went to a server, until that is reported
	writes writes

	puts    map[string]inproc.Message // that wait for their entries, by what these hold
	gets    map[string]inproc.Message // that wait for the index to read at, by its context
	reads   []read
	context reusable
}

// read is a get that waits until an index is applied.
type read struct {
	index uint64
	asked inproc.Message
}

func start(n *inproc.Node, id uint64, storage *disk, seen *observer, told *followed, o *Options) inproc.Machine {
	hard, conf, _ := storage.InitialState()
	if o.ForgetVote {
		hard = &pb.HardState{Commit: new(hard.GetCommit()), Term: new(hard.GetTerm()), Vote: new(uint64)}
		storage.SetHardState(hard)
	}
	dice.node = n
	defer func() { dice.node = nil }()
	s := &server{id: id, storage: storage, seen: seen, options: o, ticks: 1, term: hard.GetTerm(), values: map[string]string{},
		puts: map[string]inproc.Message{}, gets: map[string]inproc.Message{}, conf: conf, members: membersOf(conf)}
	first, _ := storage.FirstIndex()
	last, _ := storage.LastIndex()
	term, _ := storage.Term(first - 1)
	var entries []*pb.Entry
	if last >= first {
		entries, _ = storage.Entries(first, last+1, 1<<40)
	}
	seen.opens(id, first-1, term, entries)
	s.applied = storage.kept
	if storage.kept > begin {
		snapshot, _ := storage.Snapshot()
		s.restore(snapshot)
	}
	seen.applied[id] = s.applied
	node, err := raft.NewRawNode(&raft.Config{ID: id, ElectionTick: o.ElectionTicks, HeartbeatTick: 1, Storage: storage.MemoryStorage, Applied: s.applied,
		MaxSizePerMsg: o.MessageBytes, MaxCommittedSizePerReady: o.ReadyBytes, MaxUncommittedEntriesSize: o.UncommittedBytes,
		MaxInflightMsgs: o.Inflight, MaxInflightBytes: o.InflightBytes, CheckQuorum: !o.NoCheckQuorum, PreVote: !o.NoPreVote && !o.Specified,
		ReadOnlyOption: raft.ReadOnlySafe, AsyncStorageWrites: o.Async, StepDownOnRemoval: true, Logger: silent{}})
	if err != nil {
		panic(err)
	}
	s.node, s.told = node, told.watch(id, node, storage.MemoryStorage, s.applied, s.members.all())
	return s
}

func (s *server) Receive(n *inproc.Node, m inproc.Message) {
	dice.node = n
	defer func() { dice.node = nil }()
	switch p := m.Payload.(type) {
	case message:
		s.told.calls(received, p.Message)
		s.step(p.Message)
	case request:
		s.ask(n, m, p)
	case reconfigure:
		if c := p.proposal(s.members); c != nil && s.leads {
			s.told.calls(called, nil)
			s.node.ProposeConfChange(c) // what it refuses is asked for again some time
		}
	}
	s.ready(n)
}

// step gives the library a message. What it refuses is what a network may bring.
func (s *server) step(m *pb.Message) {
	switch m.GetType() {
	case pb.MsgProp, pb.MsgReadIndex:
		m = proto.Clone(m).(*pb.Message) // which the library changes as it forwards it
	case pb.MsgAppResp, pb.MsgHeartbeatResp:
		if m.GetTerm() == s.term {
			s.heard[m.GetFrom()] = s.ticks
		}
		s.node.Step(m)
		if m.GetReject() && s.leads {
			s.node.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
				if pr.Next <= pr.Match {
					s.seen.breaks(progress, "%s sends entries from %d on to %s, which it knows to have those up to %d", name(s.id), pr.Next, name(id), pr.Match)
				}
			})
		}
		return
	}
	s.node.Step(m)
}

func (s *server) Tick(n *inproc.Node) {
	dice.node = n
	defer func() { dice.node = nil }()
	s.ticks++
	s.told.calls(ticked, nil)
	s.node.Tick()
	if s.leads {
		s.report()
	}
	s.ready(n)
	if s.leads && !s.options.NoCheckQuorum {
		s.backed()
	}
}

// snapshotTicks is after how many ticks a snapshot is taken for lost. If it was not, another one does no harm.
const snapshotTicks = 20

// report reports to the library what a transport would: of servers that are silent, and snapshots that do not arrive.
func (s *server) report() {
	for id := uint64(1); id <= uint64(s.options.servers()); id++ {
		if at := s.sent[id]; at > 0 && s.ticks-at > snapshotTicks {
			s.sent[id] = 0
			s.node.ReportSnapshot(id, raft.SnapshotFailure)
		}
		if k := s.options.Silence; k > 0 && id != s.id && s.ticks-max(s.heard[id], s.since) == uint64(k) {
			s.node.ReportUnreachable(id)
		}
	}
}

// backed looks whether a quorum answers the leader. The library looks for one once in an election timeout, so two of them pass at most.
func (s *server) backed() {
	timeout := uint64(s.options.ElectionTicks)
	long := 2 * timeout
	if led := s.ticks - max(s.since, s.voted); led <= long || led%timeout != 1 {
		return
	}
	answer := set(1 << s.id)
	for id := range s.heard {
		if s.heard[id] > 0 && s.ticks-s.heard[id] <= long {
			answer |= 1 << id
		}
	}
	if !s.members.quorum(answer) {
		s.seen.breaks(quorum, "%s leads %v, and only%s have answered it in the last %d ticks", name(s.id), s.members, answer, long)
	}
}

// ask begins what a client asks for.
func (s *server) ask(n *inproc.Node, m inproc.Message, r request) {
	switch {
	case r.Value != "":
		s.told.calls(called, nil)
		data := r.Key + "=" + r.Value
		if err := s.node.Propose([]byte(data)); err != nil {
			n.Reply(m, err) // which does not prove that nothing happens: the network may bring the request again
			return
		}
		s.puts[data] = m
	case s.options.ReadLocally:
		n.Reply(m, s.values[r.Key])
	default:
		context := s.newContext(n)
		s.gets[context] = m
		s.told.calls(called, nil)
		s.node.ReadIndex([]byte(context))
	}
}

// reusable is a context that one get after the other goes by. One whose get is never answered is not used again.
type reusable struct {
	text  string
	waits bool
}

// newContext gives the context of a get, which no other get has that waits.
func (s *server) newContext(n *inproc.Node) string {
	c := &s.context
	// An answer that comes by the network may come twice, so only a leader's own contexts are known to be free.
	reuses := s.options.ReuseContexts && s.leads
	if reuses && c.text != "" && !c.waits {
		c.waits = true
		return c.text
	}
	text := fmt.Sprintf("%d %d", s.id, n.Uint64())
	if reuses {
		*c = reusable{text, true}
	}
	return text
}

// ready does what the library asks for: store, send, apply.
func (s *server) ready(n *inproc.Node) {
	for {
		for s.node.HasReady() {
			s.handle(n, s.node.Ready())
		}
		if !s.options.Async || !s.write(n) {
			s.told.done()
			return
		}
	}
}

func (s *server) handle(n *inproc.Node, rd raft.Ready) {
	s.told.ready(&rd)
	if rd.HardState != nil {
		s.term = rd.HardState.GetTerm()
	}
	if rd.SoftState != nil {
		s.leading(n, rd.SoftState.RaftState == raft.StateLeader)
	}
	if !raft.IsEmptySnap(rd.Snapshot) {
		s.seen.opens(s.id, rd.Snapshot.GetMetadata().GetIndex(), rd.Snapshot.GetMetadata().GetTerm(), nil)
	}
	if len(rd.Entries) > 0 {
		s.seen.appends(s.id, rd.Entries)
	}
	if !s.options.Async {
		s.store(rd.HardState, rd.Snapshot, rd.Entries)
	}
	s.send(n, rd.Messages)
	if !s.options.Async {
		for _, e := range rd.CommittedEntries {
			s.apply(n, e)
		}
		s.compact()
	}
	for _, state := range rd.ReadStates {
		context := string(state.RequestCtx)
		if context == s.context.text {
			s.context.waits = false
		}
		if m, ok := s.gets[context]; ok {
			delete(s.gets, context)
			s.reads = append(s.reads, read{state.Index, m})
		}
	}
	if !s.options.Async {
		s.told.advance(s.node, rd)
	}
	s.answer(n)
}

// leading notes whether the server leads now.
func (s *server) leading(n *inproc.Node, leads bool) {
	switch {
	case leads && !s.leads:
		s.since, s.heard, s.sent = s.ticks, [maxServers + 1]uint64{}, [maxServers + 1]uint64{}
		n.Role("leader")
		s.seen.leads(s.id, s.term)
	case s.leads && !leads:
		n.Role("")
	}
	s.leads = leads
}

// store makes durable what the library asks for.
func (s *server) store(hard *pb.HardState, snapshot *pb.Snapshot, entries []*pb.Entry) {
	if !raft.IsEmptySnap(snapshot) {
		s.storage.ApplySnapshot(snapshot)
		s.restore(snapshot)
	}
	if len(entries) > 0 {
		s.storage.Append(entries)
		if s.options.ApplyEarly {
			for _, e := range entries {
				if c := changeOf(e); c != nil {
					s.configure(c)
				}
			}
		}
	}
	if hard != nil && !raft.IsEmptyHardState(hard) {
		s.storage.SetHardState(hard)
	}
}

func (s *server) send(n *inproc.Node, list []*pb.Message) {
	for _, m := range list {
		switch {
		case m.GetTo() == raft.LocalAppendThread, m.GetTo() == raft.LocalApplyThread:
			s.accept(n, m)
			continue
		case m.GetType() == pb.MsgSnap:
			s.sent[m.GetTo()] = s.ticks
		}
		n.Send(name(m.GetTo()), message{m})
	}
}

// answer gives clients what they may read now.
func (s *server) answer(n *inproc.Node) {
	if len(s.reads) == 0 {
		return
	}
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
	if e.GetIndex() <= s.applied {
		return // a snapshot has it
	}
	s.applied = e.GetIndex()
	s.state.add(e.GetIndex())
	s.state.add(e.GetTerm())
	s.state.bytes(e.GetData())
	s.seen.commits(s.id, s.term, e, s.state)
	if c := changeOf(e); c != nil {
		if !s.options.ApplyEarly {
			s.told.calls(called, nil)
			s.configure(c)
			s.told.configures(e, s.members)
		}
		s.seen.configures(s.id, s.applied, s.members, true)
		s.snapshot() // a new server needs one that it is in
		return
	}
	data := string(e.GetData())
	key, value, ok := strings.Cut(data, "=")
	if !ok {
		return
	}
	from, number, _ := strings.Cut(value, ".")
	client, _ := strconv.Atoi(from)
	i, _ := strconv.Atoi(number)
	if i > s.latest[client] {
		s.latest[client] = i
		s.values[key] = value
	}
	if m, ok := s.puts[data]; ok {
		delete(s.puts, data)
		n.Reply(m, "")
	}
}

// changeOf gives the change of the configuration that an entry holds, or nil.
func changeOf(e *pb.Entry) *pb.ConfChangeV2 {
	if e.GetType() != pb.EntryConfChangeV2 {
		return nil
	}
	c := &pb.ConfChangeV2{}
	if err := proto.Unmarshal(e.GetData(), c); err != nil {
		panic(err)
	}
	return c
}

// configure has a change take effect. The library takes a server that comes in for one that has just answered.
func (s *server) configure(c *pb.ConfChangeV2) {
	before := s.members.all()
	s.conf = s.node.ApplyConfChange(c)
	s.members = membersOf(s.conf)
	s.voted = s.ticks
	for id := range s.heard {
		if (s.members.all() &^ before).has(uint64(id)) {
			s.heard[id] = s.ticks
		}
	}
}

// compact takes a snapshot once there are enough entries, and drops those that it has.
func (s *server) compact() {
	o := s.options
	if o.Compact == 0 || s.applied-s.storage.kept < uint64(o.Compact) {
		return
	}
	s.snapshot()
	if first, _ := s.storage.FirstIndex(); s.applied >= first+uint64(o.Keep) {
		s.storage.Compact(s.applied - uint64(o.Keep))
	}
}

// snapshot stores the state as it is. Whoever starts from it must know that its entries are committed.
func (s *server) snapshot() {
	conf := s.conf
	if s.options.ForgetMembers {
		conf = s.options.founders()
	}
	if _, err := s.storage.CreateSnapshot(s.applied, conf, s.encode()); err != nil {
		panic(err)
	}
	s.storage.kept = s.applied
	if hard, _, _ := s.storage.InitialState(); hard.GetCommit() < s.applied {
		s.storage.SetHardState(&pb.HardState{Term: new(hard.GetTerm()), Vote: new(hard.GetVote()), Commit: new(s.applied)})
	}
}

// encode writes the state: its sum, the last put of each client, and the values, each in a line.
func (s *server) encode() []byte {
	b := fmt.Appendln(nil, uint64(s.state))
	for _, i := range s.latest {
		b = fmt.Appendln(b, i)
	}
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		b = fmt.Appendln(b, key+"="+s.values[key])
	}
	return b
}

// restore takes over the state of a snapshot.
func (s *server) restore(snapshot *pb.Snapshot) {
	s.applied = snapshot.GetMetadata().GetIndex()
	s.storage.kept = s.applied
	s.conf = snapshot.GetMetadata().GetConfState()
	s.members = membersOf(s.conf)
	clear(s.values)
	s.state, s.latest = 0, [maxClients]int{}
	for i, line := range bytes.Split(bytes.TrimSuffix(snapshot.GetData(), []byte("\n")), []byte("\n")) {
		switch key, value, _ := strings.Cut(string(line), "="); {
		case len(line) == 0:
		case i == 0:
			state, _ := strconv.ParseUint(key, 10, 64)
			s.state = sum(state)
		case i <= maxClients:
			s.latest[i-1], _ = strconv.Atoi(key)
		default:
			s.values[key] = value
		}
	}
	s.seen.restores(s.id, snapshot, s.state)
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
