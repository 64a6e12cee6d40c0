package main

import "fmt"

// Times of the protocol, in milliseconds.
const (
	heartbeatMs   = 50
	electionMinMs = 150
	electionMaxMs = 300
	// quorumMs is how long a leader serves without having heard from a majority.
	quorumMs = electionMaxMs
	// lateMs is by how much a due timer may be missed before a node concludes that it was stopped. With it, a
	// leader that was stopped for so long that the others could elect a new one knows it before it does anything.
	lateMs = heartbeatMs
	// requestMs is how long a client waits before the server answers that the outcome is unknown.
	requestMs = 1500
	// entriesPerMessage bounds an append message.
	entriesPerMessage = 64
)

// AckBy says which committed entry proves to a waiting client that its write took effect.
type AckBy string

const (
	// AckByEntry acknowledges a write when its own entry (index and term) is committed.
	AckByEntry AckBy = "entry"
	// AckByIndex acknowledges a write when any entry at its index is committed. This is the bug of the example:
	// while a leader is cut off, the others may commit something else at that index.
	AckByIndex AckBy = "index"
)

// Entry is one position of the replicated log.
type Entry struct {
	Index uint64 `json:"i"` // counts from 1
	Term  uint64 `json:"t"`
	Op    string `json:"op"` // put, delete, or noop, with which a leader opens its term
	Key   string `json:"k,omitempty"`
	Value string `json:"v,omitempty"`
}

// Record is what a node must have on disk before any message of the same Effects leaves it: a new term and
// vote, or an entry, which replaces the entry of the same index and all after it.
type Record struct {
	Term  uint64 `json:"term,omitempty"`
	Vote  string `json:"vote,omitempty"`
	Entry *Entry `json:"e,omitempty"`
}

// Request of a client. ID is unique over all nodes and restarts.
type Request struct {
	ID    string `json:"id"`
	Op    string `json:"op"` // put, get, delete
	Key   string `json:"k"`
	Value string `json:"v,omitempty"`
}

// Status of a Reply, as an HTTP status.
type Status int

const (
	Done    Status = 200 // it took effect
	NotDone Status = 503 // proof that it did not and never will
	Unknown Status = 504 // it may take effect now, later or never
)

// Reply ends a Request. Every request given to a node gets exactly one within requestMs, if the node lives on.
type Reply struct {
	ID     string `json:"id"`
	Status Status `json:"s"`
	Value  string `json:"v,omitempty"`
	Found  bool   `json:"f,omitempty"` // get: distinguishes an empty value from a missing key
	Why    string `json:"why,omitempty"`
}

// MessageType reports what a Message asks or answers.
type MessageType string

const (
	Vote        MessageType = "vote" // RequestVote of the Raft paper
	VoteReply   MessageType = "voted"
	Append      MessageType = "append" // AppendEntries; without entries a heartbeat
	AppendReply MessageType = "appended"
	Forward     MessageType = "forward" // a client's request, from a follower to its leader
	Forwarded   MessageType = "forwarded"
)

// Message between two nodes.
type Message struct {
	Type    MessageType `json:"type"`
	From    string      `json:"from"`
	To      string      `json:"to"`
	Term    uint64      `json:"term"`
	Index   uint64      `json:"index,omitempty"` // vote: last entry; append: entry before Entries; appended: last that agrees, or where to retry
	LogTerm uint64      `json:"log_term,omitempty"`
	Entries []Entry     `json:"entries,omitempty"`
	Commit  uint64      `json:"commit,omitempty"`
	Round   uint64      `json:"round,omitempty"` // of the leader's reads; a follower sends it back
	OK      bool        `json:"ok,omitempty"`    // granted, accepted
	Request *Request    `json:"request,omitempty"`
	Reply   *Reply      `json:"reply,omitempty"`
}

// Input is what happens to a node: exactly one field is set, or none when only time has passed.
type Input struct {
	Message  *Message
	Request  *Request
	PeerUp   string // a connection to this node exists from now on
	PeerDown string // it was closed or reset; a partition does not do that
}

// Effects are what a node wants done, in this order: Records on disk, then Messages, then Replies.
type Effects struct {
	Records  []Record
	Messages []Message
	Replies  []Reply
	Log      []string
}

// Role of a node in its term.
type Role string

const (
	Follower  Role = "follower"
	Candidate Role = "candidate"
	Leader    Role = "leader"
)

// peer is what a node knows of another one.
type peer struct {
	connected bool
	// While leading:
	next    uint64 // index of the next entry to send
	match   uint64 // last entry known to be on its disk
	heardMs int64
	round   uint64 // last round it confirmed
}

// pending is a request that waits for its reply.
type pending struct {
	request    Request
	origin     string // the node whose client asked
	leader     string // where it was forwarded to
	index      uint64 // of its entry, for a write that this node appended
	term       uint64
	round      uint64 // that must be confirmed, for a read
	deadlineMs int64
}

// Core is one node of the store as a state machine: no clock, disk, network or goroutine inside. It is Raft
// (Ongaro and Ousterhout 2014) without snapshots and membership changes; reads are confirmed by a round of
// messages (Ongaro's thesis, section 6.4), and a leader without contact to a majority steps down (6.2).
type Core struct {
	id    string
	peers []string // the others, in a fixed order
	ackBy AckBy
	draw  func(n int64) int64 // a number in [0, n)

	// On disk.
	term uint64
	vote string
	log  []Entry // log[i] has index i+1

	role        Role
	leader      string // of this term, if known and in contact
	votes       map[string]bool
	commit      uint64
	applied     uint64
	data        map[string]string
	peer        map[string]*peer
	round       uint64
	pending     []pending
	nowMs       int64
	patienceMs  int64 // without a leader; drawn anew for each election
	electionMs  int64 // when to stand for election
	heartbeatMs int64 // when to send the next heartbeats, while leading
	out         Effects
}

// NewCore restores a node from the records on its disk.
func NewCore(id string, peers []string, ackBy AckBy, nowMs int64, draw func(n int64) int64, disk []Record) *Core {
	c := &Core{
		id: id, peers: peers, ackBy: ackBy, draw: draw, role: Follower, nowMs: nowMs,
		data: map[string]string{}, peer: map[string]*peer{},
	}
	for _, p := range peers {
		c.peer[p] = &peer{}
	}
	for _, r := range disk {
		if r.Entry != nil {
			c.log = append(c.log[:r.Entry.Index-1], *r.Entry)
		} else {
			c.term, c.vote = r.Term, r.Vote
		}
	}
	c.drawPatience()
	c.resetElection()
	return c
}

// DeadlineMs is when Step must be called at the latest.
func (c *Core) DeadlineMs() int64 {
	d := c.electionMs
	if c.role == Leader {
		d = c.heartbeatMs
	}
	for _, p := range c.pending {
		d = min(d, p.deadlineMs)
	}
	return d
}

// Serves reports whether this node is or knows a live leader.
func (c *Core) Serves() bool { return c.leader != "" }

// Step takes one input at a time that never goes back, and says what is to be done.
func (c *Core) Step(nowMs int64, in Input) Effects {
	late := nowMs - c.DeadlineMs()
	c.nowMs = nowMs
	if late >= lateMs {
		c.wasStopped(late)
	}
	c.expire()
	switch {
	case in.Message != nil:
		c.receive(in.Message)
	case in.Request != nil:
		c.request(*in.Request, c.id)
	case in.PeerUp != "":
		c.peerUp(in.PeerUp)
	case in.PeerDown != "":
		c.peerDown(in.PeerDown)
	}
	if c.role == Leader && nowMs >= c.heartbeatMs {
		c.heartbeat()
	} else if c.role != Leader && nowMs >= c.electionMs {
		c.campaign()
	}
	out := c.out
	c.out = Effects{}
	return out
}

// wasStopped is called when the machine did not run this node in time: what it believes of the others is old.
func (c *Core) wasStopped(lateMs int64) {
	if c.role == Leader {
		c.stepDown(fmt.Sprintf("was stopped for %d ms", lateMs))
		c.giveUpWrites("the leader was stopped")
	}
	c.resetElection()
}

// heartbeat keeps the followers following, or ends the leadership of a leader that hears too few of them.
func (c *Core) heartbeat() {
	heard := 1
	for _, id := range c.peers {
		if c.nowMs-c.peer[id].heardMs < quorumMs {
			heard++
		}
	}
	if heard < c.majority() {
		// Its writes are on their way and may still be committed, by this node or by the next leader: their
		// clients keep waiting.
		c.stepDown("no contact to a majority")
		c.resetElection()
		return
	}
	c.broadcast()
}

func (c *Core) campaign() {
	c.role, c.leader = Candidate, ""
	c.setTerm(c.term+1, c.id)
	c.votes = map[string]bool{c.id: true}
	c.drawPatience()
	c.resetElection()
	c.logf("candidate term=%d", c.term)
	for _, id := range c.peers {
		c.sendVote(id)
	}
}

func (c *Core) lead() {
	c.role, c.leader, c.round = Leader, c.id, 0
	for _, id := range c.peers {
		p := c.peer[id]
		p.next, p.match, p.round, p.heardMs = c.lastIndex()+1, 0, 0, c.nowMs
	}
	c.logf("became leader term=%d index=%d", c.term, c.lastIndex())
	// Entries of earlier terms count as committed only together with one of this term (figure 8 of the paper).
	c.append(Entry{Op: "noop"})
	c.broadcast()
}

func (c *Core) stepDown(why string) {
	c.role, c.leader = Follower, ""
	c.logf("stepped down term=%d: %s", c.term, why)
	for i := 0; i < len(c.pending); {
		if c.pending[i].round != 0 {
			c.finish(i, Reply{Status: NotDone, Why: why})
		} else {
			i++
		}
	}
}

// giveUpWrites answers the clients of all appended writes that the outcome is unknown.
func (c *Core) giveUpWrites(why string) {
	for i := 0; i < len(c.pending); {
		if c.pending[i].index != 0 {
			c.finish(i, Reply{Status: Unknown, Why: why})
		} else {
			i++
		}
	}
}

func (c *Core) peerUp(id string) {
	c.peer[id].connected = true
	switch c.role {
	case Leader:
		c.peer[id].next = c.peer[id].match + 1
		c.sendAppend(id)
	case Candidate:
		c.sendVote(id)
	}
}

func (c *Core) peerDown(id string) {
	c.peer[id].connected = false
	for i := 0; i < len(c.pending); {
		if c.pending[i].leader == id {
			c.finish(i, Reply{Status: Unknown, Why: "the connection to the leader was lost"})
		} else {
			i++
		}
	}
	if id == c.leader {
		c.leader = ""
	}
	connected := 1
	for _, id := range c.peers {
		if c.peer[id].connected {
			connected++
		}
	}
	if c.role == Leader && connected < c.majority() {
		c.stepDown("too few connections")
		c.giveUpWrites("the leader lost its followers")
		c.resetElection()
	}
}

// request serves a client's request here, or forwards it once.
func (c *Core) request(r Request, origin string) {
	p := pending{request: r, origin: origin, deadlineMs: c.nowMs + requestMs}
	switch {
	case c.role != Leader && (origin != c.id || c.leader == "" || !c.peer[c.leader].connected):
		c.reply(origin, Reply{ID: r.ID, Status: NotDone, Why: "no leader"})
		return
	case c.role != Leader:
		p.leader = c.leader
		c.send(Message{Type: Forward, To: c.leader, Request: &r})
	case r.Op == "get":
		c.round++
		p.round = c.round
		c.broadcast()
	default:
		e := c.append(Entry{Op: r.Op, Key: r.Key, Value: r.Value})
		p.index, p.term = e.Index, e.Term
		c.broadcast()
	}
	c.pending = append(c.pending, p)
}

func (c *Core) receive(m *Message) {
	switch m.Type {
	case Forward:
		c.request(*m.Request, m.From)
		return
	case Forwarded:
		for i, p := range c.pending {
			if p.request.ID == m.Reply.ID && p.leader == m.From {
				c.finish(i, *m.Reply)
				return
			}
		}
		return
	}
	if m.Term > c.term {
		if c.role == Leader {
			c.stepDown(fmt.Sprintf("%s is in term %d", m.From, m.Term))
			c.giveUpWrites("the leader was deposed")
			c.resetElection()
		}
		c.role, c.leader = Follower, ""
		c.setTerm(m.Term, "")
	}
	switch m.Type {
	case Vote:
		c.receiveVote(m)
	case VoteReply:
		if c.role == Candidate && m.Term == c.term && m.OK {
			c.votes[m.From] = true
			if len(c.votes) >= c.majority() {
				c.lead()
			}
		}
	case Append:
		c.receiveAppend(m)
	case AppendReply:
		if c.role == Leader && m.Term == c.term {
			c.receiveAppendReply(m)
		}
	}
}

func (c *Core) receiveVote(m *Message) {
	last := c.lastIndex()
	current := m.LogTerm > c.termAt(last) || m.LogTerm == c.termAt(last) && m.Index >= last
	grant := m.Term == c.term && (c.vote == "" || c.vote == m.From) && current
	if grant {
		if c.vote == "" {
			c.setTerm(c.term, m.From)
		}
		c.resetElection()
	}
	c.send(Message{Type: VoteReply, To: m.From, OK: grant})
}

func (c *Core) receiveAppend(m *Message) {
	if m.Term < c.term {
		c.send(Message{Type: AppendReply, To: m.From})
		return
	}
	if c.leader != m.From {
		c.logf("follows %s term=%d", m.From, m.Term)
	}
	c.role, c.leader = Follower, m.From
	c.resetElection()
	if m.Index > c.lastIndex() || c.termAt(m.Index) != m.LogTerm {
		c.send(Message{Type: AppendReply, To: m.From, Index: min(c.lastIndex(), m.Index-1), Round: m.Round})
		return
	}
	for _, e := range m.Entries {
		if e.Index <= c.lastIndex() && c.termAt(e.Index) == e.Term {
			continue
		}
		if e.Index <= c.lastIndex() {
			c.logf("drops entries %d..%d, which %s does not have", e.Index, c.lastIndex(), m.From)
		}
		c.write(e)
	}
	agreed := m.Index + uint64(len(m.Entries))
	c.commitTo(min(m.Commit, agreed))
	c.send(Message{Type: AppendReply, To: m.From, Index: agreed, Round: m.Round, OK: true})
}

func (c *Core) receiveAppendReply(m *Message) {
	p := c.peer[m.From]
	p.heardMs = c.nowMs
	p.round = max(p.round, m.Round)
	if m.OK {
		p.match = max(p.match, m.Index)
		p.next = max(p.next, p.match+1)
		c.commitByMajority()
	} else {
		p.next = max(p.match, m.Index) + 1
	}
	if p.next <= c.lastIndex() {
		c.sendAppend(m.From)
	}
	c.finishReads()
}

func (c *Core) commitByMajority() {
	for n := c.lastIndex(); n > c.commit && c.termAt(n) == c.term; n-- {
		have := 1
		for _, id := range c.peers {
			if c.peer[id].match >= n {
				have++
			}
		}
		if have >= c.majority() {
			c.commitTo(n)
			return
		}
	}
}

func (c *Core) commitTo(index uint64) {
	c.commit = max(c.commit, index)
	for c.applied < c.commit {
		c.applied++
		e := c.log[c.applied-1]
		switch e.Op {
		case "put":
			c.data[e.Key] = e.Value
		case "delete":
			delete(c.data, e.Key)
		}
		c.finishWrites(e)
	}
}

// finishWrites answers the clients that wait for the entry at this index: a node that led twice may have had two.
func (c *Core) finishWrites(e Entry) {
	for i := 0; i < len(c.pending); {
		p := c.pending[i]
		switch {
		case p.index != e.Index:
			i++
		case p.term == e.Term || c.ackBy == AckByIndex:
			c.finish(i, Reply{Status: Done})
		default:
			// Another entry is committed at this index, so the client's own can never be.
			c.finish(i, Reply{Status: NotDone, Why: "the next leader dropped it"})
		}
	}
}

// finishReads answers the reads whose round a majority has confirmed: this node led when they arrived. What is
// committed contains every acknowledged write once an entry of the leader's own term is committed.
func (c *Core) finishReads() {
	if c.termAt(c.commit) != c.term {
		return
	}
	for i := 0; i < len(c.pending); {
		p := c.pending[i]
		confirmed := 1
		for _, id := range c.peers {
			if c.peer[id].round >= p.round {
				confirmed++
			}
		}
		if p.round == 0 || confirmed < c.majority() {
			i++
			continue
		}
		value, found := c.data[p.request.Key]
		c.finish(i, Reply{Status: Done, Value: value, Found: found})
	}
}

// expire answers the clients that have waited for too long.
func (c *Core) expire() {
	for i := 0; i < len(c.pending); {
		if c.nowMs >= c.pending[i].deadlineMs {
			c.finish(i, Reply{Status: Unknown, Why: "no answer in time"})
		} else {
			i++
		}
	}
}

func (c *Core) finish(i int, r Reply) {
	p := c.pending[i]
	c.pending = append(c.pending[:i], c.pending[i+1:]...)
	r.ID = p.request.ID
	c.reply(p.origin, r)
}

func (c *Core) reply(origin string, r Reply) {
	if origin == c.id {
		c.out.Replies = append(c.out.Replies, r)
	} else {
		c.send(Message{Type: Forwarded, To: origin, Reply: &r})
	}
}

func (c *Core) broadcast() {
	c.heartbeatMs = c.nowMs + heartbeatMs
	for _, id := range c.peers {
		c.sendAppend(id)
	}
}

// sendAppend sends what comes next and counts it as sent; a gap shows by the follower's refusal.
func (c *Core) sendAppend(to string) {
	p := c.peer[to]
	if !p.connected {
		return
	}
	last := min(c.lastIndex(), p.next-1+entriesPerMessage)
	c.send(Message{
		Type: Append, To: to, Index: p.next - 1, LogTerm: c.termAt(p.next - 1),
		Entries: append([]Entry(nil), c.log[p.next-1:last]...), Commit: c.commit, Round: c.round,
	})
	p.next = last + 1
}

func (c *Core) sendVote(to string) {
	c.send(Message{Type: Vote, To: to, Index: c.lastIndex(), LogTerm: c.termAt(c.lastIndex())})
}

func (c *Core) send(m Message) {
	m.From, m.Term = c.id, c.term
	c.out.Messages = append(c.out.Messages, m)
}

func (c *Core) append(e Entry) Entry {
	e.Index, e.Term = c.lastIndex()+1, c.term
	c.write(e)
	return e
}

func (c *Core) write(e Entry) {
	if e.Index <= c.commit {
		panic(fmt.Sprintf("%s: entry %d is committed and cannot change", c.id, e.Index))
	}
	c.log = append(c.log[:e.Index-1], e)
	c.out.Records = append(c.out.Records, Record{Entry: &e})
}

func (c *Core) setTerm(term uint64, vote string) {
	c.term, c.vote = term, vote
	c.out.Records = append(c.out.Records, Record{Term: term, Vote: vote})
}

func (c *Core) drawPatience() {
	c.patienceMs = electionMinMs + c.draw(electionMaxMs-electionMinMs)
}

func (c *Core) resetElection() { c.electionMs = c.nowMs + c.patienceMs }

func (c *Core) lastIndex() uint64 { return uint64(len(c.log)) }

func (c *Core) termAt(index uint64) uint64 {
	if index == 0 {
		return 0
	}
	return c.log[index-1].Term
}

func (c *Core) majority() int { return (len(c.peers)+1)/2 + 1 }

func (c *Core) logf(format string, args ...any) {
	c.out.Log = append(c.out.Log, fmt.Sprintf(format, args...))
}
