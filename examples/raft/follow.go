package raft

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/bloodhound-dst/bloodhound/engine/inproc"
	"github.com/bloodhound-dst/bloodhound/model"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Model is the specification with what a follower needs to know of it.
type Model struct {
	*model.Model
	network bool
}

// Specification is etcd's own one of its library, which comes with it, and Followed.tla beside this file. voters of the servers are members at first. view names what
// of a state guides a search; empty is all of it.
// Unless network is set, what is under way is no part of the states, and the world is trusted to deliver what was sent.
func Specification(servers, voters int, network bool, view string) (*Model, error) {
	_, here, _, _ := runtime.Caller(0)
	here = filepath.Dir(here)
	library, _ := runtime.FuncForPC(reflect.ValueOf(raft.NewRawNode).Pointer()).FileLine(0)
	config, o := "Trusted.cfg", model.Options{View: view, Scratch: []string{"messages", "pendingMessages"}}
	if network {
		config, o.Scratch = "Followed.cfg", nil
	}
	text, err := os.ReadFile(filepath.Join(here, config))
	if err != nil {
		return nil, err
	}
	set := func(n int) string { return value.NewSet(ints(1, uint64(n))).String() }
	c, err := tla.ParseConfig(config, strings.NewReplacer("<SERVERS>", set(servers), "<VOTERS>", set(voters)).Replace(string(text)))
	if err != nil {
		return nil, err
	}
	spec, err := tla.Load(filepath.Join(here, "Followed.tla"), c, filepath.Join(filepath.Dir(library), "tla"))
	if err != nil {
		return nil, err
	}
	m, err := model.New(spec, o)
	return &Model{m, network}, err
}

func ints(first, last uint64) (list []value.Value) {
	for i := first; i <= last; i++ {
		list = append(list, value.Int(i))
	}
	return list
}

// Records of the specification. Their fields are sorted.
var (
	voteFields     = fields("mdest", "mlastLogIndex", "mlastLogTerm", "msource", "mterm", "mtype")
	votedFields    = fields("mdest", "msource", "mterm", "mtype", "mvoteGranted")
	appendFields   = fields("mcommitIndex", "mdest", "mentries", "mprevLogIndex", "mprevLogTerm", "msource", "msubtype", "mterm", "mtype")
	appendedFields = fields("mdest", "mmatchIndex", "msource", "msubtype", "msuccess", "mterm", "mtype")
	entryFields    = fields("term", "type", "value")
	valueFields    = fields("val")
	confFields     = fields("learners", "newconf")

	voteRequest, voteResponse     = value.Text("RequestVoteRequest"), value.Text("RequestVoteResponse")
	appendRequest, appendResponse = value.Text("AppendEntriesRequest"), value.Text("AppendEntriesResponse")
	subApp, subHeartbeat, subSnap = value.Text("app"), value.Text("heartbeat"), value.Text("snapshot")
	valueEntry, configEntry       = value.Text("ValueEntry"), value.Text("ConfigEntry")
)

func fields(names ...string) []*value.String {
	list := make([]*value.String, len(names))
	for i, n := range names {
		list[i] = value.Text(n)
	}
	if !slices.IsSortedFunc(list, func(a, b *value.String) int { return cmp.Compare(a.Text, b.Text) }) {
		panic("fields of a record are sorted")
	}
	return list
}

// followed tells the specification what all servers do.
type followed struct {
	*model.Follower
	network bool                        // what is under way is in the states
	without string                      // an action that is not told, for a test
	sent    int                         // messages that are under way
	began   map[uint64]bool             // which servers
	records map[*pb.Message]value.Value // what messages are in the specification
	configs map[[2]uint64]value.Value   // of entries that change who the members are, by index and term
}

const conforms = "conforms to etcdraft.tla"

func follow(w *inproc.World, o *Options) *followed {
	if o.Model == nil {
		return nil
	}
	f := &followed{Follower: w.Model(conforms, o.Model.Model), network: o.Model.network, without: o.without, began: map[uint64]bool{}, records: map[*pb.Message]value.Value{}, configs: map[[2]uint64]value.Value{}}
	w.After(func(s *inproc.Step) {
		if m, ok := s.Message.Payload.(message); ok && s.Kind == inproc.Lost {
			f.lose(m.Message)
		}
	})
	return f
}

// Step is model.Follower's.
func (f *followed) Step(action string, args ...any) {
	if action != f.without {
		f.Follower.Step(action, args...)
	}
}

// Repeat is model.Follower's.
func (f *followed) Repeat(action string, args ...any) {
	if action != f.without {
		f.Follower.Repeat(action, args...)
	}
}

// lose tells of a message that nobody receives.
func (f *followed) lose(m *pb.Message) {
	if record := f.records[m]; record != nil {
		f.sent--
		f.Step("Lose", record)
	}
}

// watched is a server whose calls of the library are told. What a call has done is seen from outside: of the status before and after it, and of what is ready then.
type watched struct {
	*followed
	id      uint64
	node    *raft.RawNode
	what    cause // of the call that is not told yet
	message *pb.Message
	before  shown
	own     []value.Value // messages to itself, which the library keeps
	last    uint64        // index of the last entry
	term    uint64        // of the last entry
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
func (f *followed) watch(id uint64, node *raft.RawNode, storage *raft.MemoryStorage) *watched {
	if f == nil {
		return nil
	}
	w := &watched{followed: f, id: id, node: node}
	w.last, _ = storage.LastIndex()
	w.term, _ = storage.Term(w.last)
	if f.began[id] {
		w.Step("Restart", id)
		w.shows(w.look())
	}
	f.began[id] = true
	return w
}

// calls says that the library is called now.
func (w *watched) calls(what cause, m *pb.Message) {
	if w != nil {
		w.what, w.message, w.before = what, m, w.look()
	}
}

// ready tells what a call has led to, with what is ready after it.
func (w *watched) ready(rd *raft.Ready) {
	if w != nil {
		w.tell(rd.Entries, rd.Messages)
		w.Step("Ready", w.id)
		for _, m := range rd.Messages {
			if w.records[m] != nil {
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

// done tells of a call after which nothing is ready.
func (w *watched) done() {
	if w != nil {
		w.tell(nil, nil)
	}
}

func (w *watched) tell(entries []*pb.Entry, send []*pb.Message) {
	if w.what == nothing {
		return
	}
	now, before := w.look(), w.before
	var reply *pb.Message
	switch w.what {
	case received:
		reply = w.receives(before, now, send)
	case ticked:
		if now.state == raft.StateCandidate && now.term > before.term {
			w.Step("Timeout", w.id)
			self := value.NewRecord(votedFields, []value.Value{value.Int(w.id), value.Int(w.id), value.Int(now.term), voteResponse, value.Bool(true)})
			w.own = append(w.own, self)
			w.Step("SendVote", self)
		}
	case advanced:
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
	switch {
	case now.state == raft.StateLeader && (before.state != raft.StateLeader || before.term != now.term):
		w.Step("BecomeLeader", w.id)
	case now.state == raft.StateFollower && before.state != raft.StateFollower && now.term == before.term && reply == nil:
		w.Step("StepDownToFollower", w.id)
	}
	if now.state == raft.StateLeader && len(entries) > 0 {
		for _, e := range entries {
			w.Step("Propose", w.id, string(e.GetData()))
		}
		self := value.NewRecord(appendedFields, []value.Value{value.Int(w.id), value.Int(w.last), value.Int(w.id), subApp, value.Bool(true), value.Int(now.term), appendResponse})
		w.own = append(w.own, self)
		w.Step("Acknowledge", self)
	}
	if now.state == raft.StateLeader && now.commit != before.commit {
		w.Step("Commit", w.id, now.commit)
	}
	for _, m := range send {
		if m != reply {
			w.sends(m)
		}
	}
	w.shows(now)
}

// shows compares the server with what it is in the specification.
func (w *watched) shows(now shown) {
	state := "Follower"
	switch now.state {
	case raft.StateLeader:
		state = "Leader"
	case raft.StateCandidate:
		state = "Candidate"
	}
	if w.network {
		w.Saw(w.sent, "UnderWay")
	}
	w.Saw([]any{now.term, state, now.vote, w.last, w.term, now.commit}, "Shown", w.id)
}

// receives tells of a message that the server was given, and of the answer among what it sends.
func (w *watched) receives(before, now shown, send []*pb.Message) (reply *pb.Message) {
	m := w.message
	record := w.records[m]
	if record == nil {
		return nil // which its sending told of
	}
	for _, o := range send {
		if o.GetTo() == m.GetFrom() && answers(o.GetType(), m.GetType()) {
			reply = o
			break
		}
	}
	request := m.GetType() == pb.MsgApp || m.GetType() == pb.MsgHeartbeat || m.GetType() == pb.MsgSnap || m.GetType() == pb.MsgVote
	if request && reply == nil {
		// A message that has no effect is as good as lost: one of an old term, and a request for a vote while there is a leader.
		w.lose(m)
		return nil
	}
	w.sent--
	switch {
	case !request:
		w.Repeat("Consider", record)
		w.Step("Handle", record)
	default:
		answer := w.answer(m, reply)
		w.Repeat("Consider", record)
		if m.GetType() == pb.MsgSnap && now.commit > before.commit {
			w.last, w.term = m.GetSnapshot().GetMetadata().GetIndex(), m.GetSnapshot().GetMetadata().GetTerm()
			w.Step("Restore", record, answer)
		} else {
			w.Step("Answer", record, answer)
		}
	}
	return reply
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
	to, from, term := value.Int(m.GetTo()), value.Int(m.GetFrom()), value.Int(m.GetTerm())
	defer func() { w.records[m] = record }()
	if m.GetType() == pb.MsgVoteResp {
		return value.NewRecord(votedFields, []value.Value{to, from, term, voteResponse, value.Bool(!m.GetReject())})
	}
	index, sub := value.Int(m.GetIndex()), subApp
	ok := !m.GetReject()
	switch {
	case m.GetTerm() > request.GetTerm(): // which tells a leader of an old term that it is one
		ok = false
	case request.GetType() == pb.MsgHeartbeat:
		sub = subHeartbeat
	case request.GetType() == pb.MsgSnap:
		sub = subSnap
	}
	if !ok {
		index = 0
	}
	return value.NewRecord(appendedFields, []value.Value{to, index, from, sub, value.Bool(ok), term, appendResponse})
}

// sends tells of a message that answers none.
func (w *watched) sends(m *pb.Message) {
	to, from, term := value.Int(m.GetTo()), value.Int(m.GetFrom()), value.Int(m.GetTerm())
	step := func(action string, names []*value.String, values ...value.Value) {
		record := value.NewRecord(names, values)
		w.records[m] = record
		w.Step(action, record)
	}
	switch m.GetType() {
	case pb.MsgVote:
		step("SendVote", voteFields, to, value.Int(m.GetIndex()), value.Int(m.GetLogTerm()), from, term, voteRequest)
	case pb.MsgApp:
		entries := make([]value.Value, len(m.GetEntries()))
		for i, e := range m.GetEntries() {
			entries[i] = w.entry(e)
		}
		// A receiver goes no further than the last entry of the message.
		commit := min(m.GetCommit(), m.GetIndex()+uint64(len(entries)))
		step("SendAppend", appendFields, value.Int(commit), to, value.NewTuple(entries), value.Int(m.GetIndex()), value.Int(m.GetLogTerm()), from, subApp, term, appendRequest)
	case pb.MsgHeartbeat:
		step("SendHeartbeat", appendFields, value.Int(m.GetCommit()), to, value.EmptyTuple, value.Int(0), value.Int(0), from, subHeartbeat, term, appendRequest)
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
		return value.NewRecord(entryFields, []value.Value{value.Int(e.GetTerm()), valueEntry, value.NewRecord(valueFields, []value.Value{value.Text(string(e.GetData()))})})
	}
	return value.NewRecord(entryFields, []value.Value{value.Int(e.GetTerm()), configEntry, w.configs[[2]uint64{e.GetIndex(), e.GetTerm()}]})
}
