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

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Model is the specification with what a follower needs to know about it.
type Model struct {
	spec    *inproc.Specification
	network bool
}

// Specification is etcd's own one of its library, which comes with it, and Followed.tla beside this file, for the servers that there are with some options. view names
// the part of a state that guides a search; empty is the whole state.
// Unless network is set, what is under way is no part of the states, and the world is trusted to deliver what was sent.
func Specification(o Options, network bool, view string) (*Model, error) {
	o.complete()
	_, here, _, _ := runtime.Caller(0)
	here = filepath.Dir(here)
	library, _ := runtime.FuncForPC(reflect.ValueOf(raft.NewRawNode).Pointer()).FileLine(0)
	config, mo := "Trusted.cfg", inproc.SpecificationOptions{View: view, Scratch: []string{"messages", "pendingMessages"}, Forget: o.Untold, Lenient: o.Guide}
	if network {
		config, mo.Scratch = "Followed.cfg", nil
	}
	text, err := os.ReadFile(filepath.Join(here, config))
	if err != nil {
		return nil, err
	}
	servers := (set(1)<<o.servers() - 1) << 1
	c, err := tla.ParseConfig(config, strings.NewReplacer("<SERVERS>", servers.value().String(),
		"<VOTERS>", setOf(o.founders().GetVoters()).value().String(), "<LEARNERS>", setOf(o.founders().GetLearners()).value().String()).Replace(string(text)))
	if err != nil {
		return nil, err
	}
	spec, err := tla.Load(filepath.Join(here, "Followed.tla"), c, filepath.Join(filepath.Dir(library), "tla"))
	if err != nil {
		return nil, err
	}
	m, err := inproc.NewSpecification(spec, mo)
	return &Model{m, network}, err
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
	isFollower, isCandidate       = value.Text("Follower"), value.Text("Candidate")
	isLeader                      = value.Text("Leader")
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

// followed reports to the specification what all servers do.
type followed struct {
	*inproc.Follower
	network bool // what is under way is in the states
	sent    int  // messages that are under way
	began   set
	mail    map[*pb.Message]mail
	configs map[position]config // of entries that change who the members are
	made    made
	data    map[string]value.Int // what entries hold, numbered as it comes up: so runs are more alike, and more of their steps are remembered
	chosen  []value.Value        // entries that are committed, from index 1 on
	changes []position           // of those that change who the members are
}

// mail is what a message is in the specification.
type mail struct {
	record value.Value
	came   bool // it has arrived, or is lost
}

// form is what a record is made of, but for entries.
type form struct {
	names        **value.String // the first of its fields
	kind         *value.String
	to, from     uint64
	term, commit uint64
	index, log   uint64
	ok           bool
}

// made are records that were made in earlier runs, or in this one.
type made map[form]value.Value

// mostMade bounds them.
const mostMade = 1 << 14

// of is the record of a form.
func (m made) of(f form, record func() value.Value) value.Value {
	v := m[f]
	if v == nil {
		if len(m) >= mostMade {
			clear(m)
		}
		v = record()
		m[f] = v
	}
	return v
}

// position is that of an entry.
type position struct{ index, term uint64 }

// config is a configuration as the specification has it. It has no joint ones, and who is promoted stays among those who learn.
type config struct{ voters, learners set }

const conforms = "conforms to etcdraft.tla"

func follow(w *inproc.World, o *Options) *followed {
	if o.Model == nil {
		return nil
	}
	follower := (*inproc.Follower)(nil)
	if o.Guide {
		follower = w.Guide(o.Model.spec)
	} else {
		follower = w.Model(conforms, o.Model.spec)
	}
	if follower == nil { // no search asks what runs reach
		return nil
	}
	f, ok := follower.Kept.(*followed) // of a run that is over
	if !ok {
		f = &followed{made: made{}, mail: map[*pb.Message]mail{}, configs: map[position]config{}, data: map[string]value.Int{}}
		follower.Kept = f
	}
	clear(f.mail)
	clear(f.configs)
	clear(f.data)
	*f = followed{Follower: follower, network: o.Model.network, made: f.made, mail: f.mail, configs: f.configs, data: f.data, chosen: f.chosen[:0], changes: f.changes[:0]}
	members := config{setOf(o.founders().GetVoters()), setOf(o.founders().GetLearners())}
	f.configs[position{begin, begin}] = members
	f.changes = append(f.changes, position{begin, begin})
	f.chosen = append(f.chosen, entryOf(begin, configEntry, members.value()))
	w.After(func(s *inproc.Step) {
		if m, ok := s.Message.Payload.(message); ok && s.Kind == inproc.Lost {
			f.lose(m.Message)
		}
	})
	return f
}

// lose reports a message that no server receives.
func (f *followed) lose(m *pb.Message) {
	if record := f.mail[m].record; record != nil {
		f.arrives(m, record)
		f.Step("Lose", record)
	}
}

// arrives takes a message from the network, which may bring it more than once. That it does shows when it comes again.
func (f *followed) arrives(m *pb.Message, record value.Value) {
	if f.mail[m].came {
		f.Step("Duplicate", record)
		return
	}
	f.mail[m] = mail{record, true}
	f.sent--
}

// configAt is the configuration that holds once the entries up to an index are applied.
func (f *followed) configAt(index uint64) (c config) {
	for _, p := range f.changes {
		if p.index > index {
			break
		}
		c = f.configs[p]
	}
	return c
}

// number stands for what an entry holds, of which the specification knows only whether it is the same.
func (f *followed) number(e *pb.Entry) value.Int {
	n, ok := f.data[string(e.GetData())]
	if !ok {
		n = value.Int(len(f.data) + 1)
		f.data[string(e.GetData())] = n
	}
	return n
}

func entryOf(term uint64, kind, v value.Value) value.Value {
	return value.NewRecord(entryFields, []value.Value{value.Int(term), kind, v})
}

func (c config) value() value.Value {
	return value.NewRecord(confFields, []value.Value{c.learners.value(), c.voters.value()})
}

func (s set) value() value.Value {
	var list []value.Value
	for id := range uint64(maxServers + 1) {
		if s.has(id) {
			list = append(list, value.Int(id))
		}
	}
	return value.NewSet(list)
}
