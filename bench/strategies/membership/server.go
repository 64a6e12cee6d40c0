package membership

import (
	"encoding/json"
	"math/bits"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Measures, in ticks.
const (
	patience = 20 // without a leader, at least; as much again at most
	beat     = 5  // between messages of a leader that has nothing new
	whims    = 12 // in one of so many ticks the members are to change
)

// set is one of servers, a bit for each.
type set uint8

func (s set) has(i int) bool { return s>>i&1 == 1 }

func (s set) size() int { return bits.OnesCount8(uint8(s)) }

// most reports whether so many of s are in q that any two such sets meet.
func (s set) most(q set) bool { return 2*(s&q).size() > s.size() }

// members is the set as the model has it.
func (s set) members() value.Value {
	var list []value.Value
	for i, name := range names {
		if s.has(i) {
			list = append(list, value.ModelValue(name))
		}
	}
	return value.NewSet(list)
}

// entry is one of a log. Members are those of the cluster from it on.
type entry struct {
	Term    int
	Members set
}

// Messages.
type (
	bid struct { // for votes
		Term, Length, Last int
	}
	ballot struct {
		Term int
		Yes  bool
	}
	piece struct { // of a leader's log, that follows upon the entry at an index with a term
		Term, At, Last int
		Entries        []entry
		Commit         int
	}
	receipt struct {
		Term, Stored int
		Fits         bool
	}
)

// kept is what a server has on its disk.
type kept struct {
	Term int
	Vote int // 0: no server, i+1: server i
	Log  []entry
}

// server is one of Raft (Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014), without clients: what it agrees on is
// who its members are.
type server struct {
	kept
	cluster *cluster
	node    *inproc.Node
	me      int
	leads   bool
	bids    bool
	votes   set
	commit  int
	stored  []int // by server, what a leader knows
	ticks   int   // until it acts by itself
}

func (c *cluster) start(n *inproc.Node) inproc.Machine {
	s := &server{cluster: c, node: n, me: index(n.Name())}
	if data, err := n.Disk().Read("state"); err == nil {
		must(json.Unmarshal(data, &s.kept))
		c.told.Step("Restart", value.ModelValue(n.Name()))
		s.show()
	}
	s.wait()
	return s
}

// keep makes durable what must outlive a crash.
func (s *server) keep() {
	data, err := json.Marshal(&s.kept)
	must(err)
	must(s.node.Disk().WriteFile("state", data))
	must(s.node.Disk().Sync("state"))
}

func (s *server) wait() { s.ticks = patience + int(s.node.Uint64()%patience) }

func (s *server) last() int {
	if len(s.Log) == 0 {
		return 0
	}
	return s.Log[len(s.Log)-1].Term
}

func (s *server) termAt(i int) int {
	if i == 0 {
		return 0
	}
	return s.Log[i-1].Term
}

func (s *server) members() set {
	if len(s.Log) == 0 {
		return everybody
	}
	return s.Log[len(s.Log)-1].Members
}

// step reports to the model what the server has done, and what others can see of its state.
func (s *server) step(action string, args ...any) {
	s.cluster.told.Step(action, append([]any{value.ModelValue(s.node.Name())}, args...)...)
	s.show()
}

func (s *server) show() {
	s.cluster.told.Saw([]any{s.Term, len(s.Log), s.last(), s.leads}, "Shown", value.ModelValue(s.node.Name()))
}

// enter goes to a term, as a follower if it is a new one.
func (s *server) enter(term int) {
	if term > s.Term {
		s.Term, s.Vote = term, 0
		s.leads, s.bids = false, false
		s.node.Role("")
		s.wait()
	}
}

func (s *server) Tick(n *inproc.Node) {
	s.ticks--
	switch {
	case s.leads:
		if n.Choose(whims) == whims-1 {
			s.change(everybody & (1 << n.Choose(len(names))))
		}
		if s.ticks <= 0 {
			s.offer()
		}
	case s.ticks <= 0 && s.members().has(s.me):
		s.enter(s.Term + 1)
		s.Vote, s.bids, s.votes = s.me+1, true, 1<<s.me
		s.keep()
		s.step("Timeout")
		for i, name := range names {
			if i != s.me && s.members().has(i) {
				n.Send(name, bid{s.Term, len(s.Log), s.last()})
			}
		}
	}
}

// change takes a server out of the cluster, or back into it. The leader itself stays.
func (s *server) change(who set) {
	if who.has(s.me) {
		return
	}
	for i := s.commit; i < len(s.Log); i++ {
		if i > 0 && s.Log[i].Members != s.Log[i-1].Members || i == 0 && s.Log[0].Members != everybody {
			return // one change at a time
		}
	}
	if !s.cluster.hasty && s.termAt(s.commit) != s.Term {
		return // another leader's change may be under way
	}
	members := s.members() ^ who
	s.add(members, "Change", members.members())
	s.node.Log("members are to be %s", members)
	s.offer()
	s.agree()
}

// add appends an entry to a leader's log.
func (s *server) add(members set, action string, args ...any) {
	s.Log = append(s.Log, entry{s.Term, members})
	s.stored[s.me] = len(s.Log)
	s.keep()
	s.step(action, args...)
}

// lead begins a term.
func (s *server) lead() {
	s.leads, s.bids = true, false
	s.stored = make([]int, len(names))
	s.stored[s.me] = len(s.Log)
	s.step("Lead")
	s.node.Role("leader")
	s.node.Log("leads in term %d", s.Term)
	s.cluster.leads(s)
	if !s.cluster.hasty {
		s.add(s.members(), "Begin")
	}
	s.offer()
}

// offer sends each member what it may lack.
func (s *server) offer() {
	s.ticks = beat
	for i, name := range names {
		if i != s.me && s.members().has(i) {
			s.send(i, name, min(s.stored[i], len(s.Log)))
		}
	}
}

func (s *server) send(i int, name string, at int) {
	s.node.Send(name, piece{s.Term, at, s.termAt(at), append([]entry(nil), s.Log[at:]...), s.commit})
}

// agree commits what a majority of the members has stored, if it is of the leader's own term.
func (s *server) agree() {
	for n := len(s.Log); n > s.commit && s.termAt(n) == s.Term; n-- {
		var q set
		for i, stored := range s.stored {
			if stored >= n {
				q |= 1 << i
			}
		}
		if s.members().most(q) {
			s.committed(n)
			s.step("Commit", n)
			return
		}
	}
}

func (s *server) committed(n int) {
	if n > s.commit {
		s.commit = n
		s.cluster.committed(s)
	}
}

func (s *server) Receive(n *inproc.Node, m inproc.Message) {
	switch v := m.Payload.(type) {
	case bid:
		s.vote(m.From, v)
	case ballot:
		if s.news(v.Term); v.Term == s.Term && v.Yes && s.bids {
			if s.votes |= 1 << index(m.From); s.members().most(s.votes) {
				s.lead()
			}
		}
	case piece:
		s.accept(m.From, v)
	case receipt:
		if s.news(v.Term); v.Term != s.Term || !s.leads {
			return
		}
		i := index(m.From)
		if !v.Fits {
			s.send(i, m.From, min(v.Stored, len(s.Log)))
			return
		}
		if v.Stored > s.stored[i] {
			s.stored[i] = v.Stored
			s.agree()
		}
	}
}

// news goes to a term of which nothing more is known.
func (s *server) news(term int) {
	if term > s.Term {
		s.enter(term)
		s.keep()
		s.step("See", term)
	}
}

func (s *server) vote(from string, v bid) {
	fresh := v.Last > s.last() || v.Last == s.last() && v.Length >= len(s.Log)
	who := index(from) + 1
	if yes := fresh && (v.Term > s.Term || v.Term == s.Term && (s.Vote == 0 || s.Vote == who)); yes {
		s.enter(v.Term)
		s.Vote = who
		s.wait()
		s.keep()
		s.step("Vote", value.ModelValue(from), v.Term)
	}
	s.news(v.Term)
	s.node.Send(from, ballot{s.Term, s.Term == v.Term && s.Vote == who})
}

func (s *server) accept(from string, v piece) {
	if v.Term < s.Term {
		s.node.Send(from, receipt{Term: s.Term})
		return
	}
	if v.At > len(s.Log) || s.termAt(v.At) != v.Last {
		s.news(v.Term)
		s.wait()
		s.node.Send(from, receipt{Term: s.Term, Stored: s.before(v)})
		return
	}
	s.enter(v.Term)
	s.bids = false
	s.wait()
	upto := v.At + len(v.Entries)
	for i, e := range v.Entries {
		if at := v.At + i; at >= len(s.Log) || s.Log[at].Term != e.Term {
			s.Log = append(s.Log[:at:at], v.Entries[i:]...)
			break
		}
	}
	s.keep()
	s.step("Accept", v.Term, v.At, len(v.Entries))
	s.node.Send(from, receipt{s.Term, upto, true})
	s.committed(min(v.Commit, upto))
}

// before is an index at which the logs may agree.
func (s *server) before(v piece) int {
	return max(0, min(len(s.Log), v.At-1))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
