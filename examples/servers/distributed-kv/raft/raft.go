// Package raft is the consensus of the store: Raft (Ongaro and Ousterhout 2014) with snapshots and leases for reads (Ongaro's
// thesis, section 6.4.1), for a fixed set of nodes. It is a state machine: no clock, disk, network or goroutine inside. Whoever
// drives a Node gives it the time, messages and commands, takes its Effects, and performs them in their order.
package raft

import (
	"fmt"
	"math"
	"slices"
)

// Times of the protocol, in milliseconds.
const (
	HeartbeatMs   = 100
	ElectionMinMs = 250
	ElectionMaxMs = 500
	// LeaseMs is how long a leader may answer reads after it has sent heartbeats that a majority has answered: no server of that
	// majority votes for another one before ElectionMinMs are over. The rest is for clocks that run at different rates.
	LeaseMs = 200
)

// entriesPerMessage bounds an Append.
const entriesPerMessage = 64

// LeaseClock reports which clock a leader measures its lease by.
type LeaseClock string

const (
	// Monotonic never jumps.
	Monotonic LeaseClock = "monotonic"
	// Date is the time of the day. This is the bug of the example: when an operator or NTP sets it back, a lease that is over
	// becomes valid again.
	Date LeaseClock = "date"
)

// Time as a node reads it, in milliseconds. The monotonic one counts from the start of the process.
type Time struct{ MonotonicMs, DateMs int64 }

// Entry is one position of the replicated log.
type Entry struct {
	Index   uint64 `json:"i"` // counts from 1
	Term    uint64 `json:"t"`
	Command []byte `json:"c,omitempty"` // empty in the entry with which a leader opens its term
}

// Snapshot is the state of the store after the entry Index, which stands for that entry and all before it.
type Snapshot struct {
	Index uint64 `json:"i"`
	Term  uint64 `json:"t"`
	State []byte `json:"s"`
}

// Kind of a Message.
type Kind string

const (
	Vote          Kind = "vote" // RequestVote of the paper
	VoteReply     Kind = "voted"
	Append        Kind = "append"  // AppendEntries; without entries a heartbeat
	Install       Kind = "install" // InstallSnapshot, in one piece
	FollowerReply Kind = "follows" // the answer to both
	Stale         Kind = "stale"   // the answer to a leader of an earlier term; its term is all it says
)

// Message between two nodes. It may be lost, and come late or twice.
type Message struct {
	Kind     Kind      `json:"k"`
	From     string    `json:"f"`
	To       string    `json:"to"`
	Term     uint64    `json:"t"`
	Index    uint64    `json:"i,omitempty"`  // vote: last entry; append: entry before Entries; follows: last that agrees
	LogTerm  uint64    `json:"lt,omitempty"` // of the entry Index, in vote and append
	Entries  []Entry   `json:"e,omitempty"`
	Commit   uint64    `json:"c,omitempty"`
	Snapshot *Snapshot `json:"s,omitempty"`
	OK       bool      `json:"ok,omitempty"`   // granted, accepted
	SentMs   int64     `json:"sent,omitempty"` // by the leader's clock for leases; its followers send it back
}

// Saved is what a node has on its disk, or what is to be added to it.
type Saved struct {
	Term     uint64    `json:"term"`
	Vote     string    `json:"vote,omitempty"`
	Snapshot *Snapshot `json:"snapshot,omitempty"` // in place of all that was saved before
	Entries  []Entry   `json:"entries,omitempty"`  // each replaces the one of the same index and all after it
}

// Effects are what a node wants done, in this order.
type Effects struct {
	Save      *Saved    // on disk before anything else
	Restore   *Snapshot // the store's new state
	Committed []Entry   // to be applied to it
	Messages  []Message
	Log       []string
}

// Role of a node in its term.
type Role string

const (
	Follower  Role = "follower"
	Candidate Role = "candidate"
	Leader    Role = "leader"
)

// peer is what a leader knows of another node.
type peer struct {
	next  uint64 // index of the next entry to send
	match uint64 // last entry known to be on its disk
	// answeredMs is when the latest heartbeat was sent that it has answered. Answers may come out of order.
	answeredMs int64
}

// Config of a node.
type Config struct {
	ID         string
	Peers      []string // the others
	LeaseClock LeaseClock
	Draw       func(n int64) int64 // a number in [0, n)
}

// Node is one of the nodes that keep the log.
type Node struct {
	Config

	// On disk.
	term     uint64
	vote     string
	snapshot Snapshot
	log      []Entry // log[i] has index snapshot.Index+1+i

	role    Role
	leader  string // of this term, if known
	votes   map[string]bool
	peer    map[string]*peer
	commit  uint64
	now     Time
	heardMs int64 // of the leader; when the node starts, it may just have heard of one
	// deadlineMs is when a follower or candidate stands for election, and when a leader sends heartbeats.
	deadlineMs int64
	dirty      bool // term or vote are not saved
	unsaved    []Entry
	effects    Effects
}

// New gives a node that continues with what it has saved, in the order in which it was saved.
func New(c Config, now Time, disk []Saved) *Node {
	n := &Node{Config: c, role: Follower, now: now, heardMs: now.MonotonicMs, peer: map[string]*peer{}}
	for _, id := range c.Peers {
		n.peer[id] = &peer{}
	}
	for _, s := range disk {
		n.term, n.vote = s.Term, s.Vote
		if s.Snapshot != nil {
			n.snapshot, n.log = *s.Snapshot, nil
		}
		for _, e := range s.Entries {
			n.log = append(n.log[:e.Index-n.snapshot.Index-1], e)
		}
	}
	if n.snapshot.Index > 0 {
		n.commit, n.effects.Restore = n.snapshot.Index, &n.snapshot
	}
	n.resetElection()
	return n
}

// Status of a node, for people and probes.
type Status struct {
	Node   string `json:"node"`
	Role   Role   `json:"role"`
	Term   uint64 `json:"term"`
	Leader string `json:"leader"` // empty if this node knows none
	Commit uint64 `json:"commit"`
}

func (n *Node) Status() Status {
	return Status{Node: n.ID, Role: n.role, Term: n.term, Leader: n.leader, Commit: n.commit}
}

// DeadlineMs is the monotonic time at which Tick must be called at the latest.
func (n *Node) DeadlineMs() int64 { return n.deadlineMs }

// Tick lets time pass.
func (n *Node) Tick(now Time) {
	n.now = now
	if now.MonotonicMs < n.deadlineMs {
		return
	}
	if n.role == Leader {
		n.broadcast()
	} else {
		n.campaign()
	}
}

// Propose appends a command, if this node leads. The command has taken effect when an entry of this index and term is
// committed. When one of another term is, it has not, and never will.
func (n *Node) Propose(now Time, command []byte) (index, term uint64, ok bool) {
	n.now = now
	if n.role != Leader {
		return 0, 0, false
	}
	n.append(command)
	n.broadcast()
	return n.last(), n.term, true
}

// MayRead reports whether the state of this node, with all that is committed, is the latest there is: it leads, has committed an
// entry of its own term, and its lease is valid.
func (n *Node) MayRead(now Time) bool {
	n.now = now
	return n.role == Leader && n.termAt(n.commit) == n.term && n.leaseMs()-n.answeredMs() < LeaseMs
}

// leaseMs is the time of the clock that leases are measured by.
func (n *Node) leaseMs() int64 {
	if n.LeaseClock == Date {
		return n.now.DateMs
	}
	return n.now.MonotonicMs
}

// answeredMs is when the latest heartbeat was sent that a majority has answered, this node itself among it.
func (n *Node) answeredMs() int64 {
	var at []int64
	for _, p := range n.peer {
		at = append(at, p.answeredMs)
	}
	slices.Sort(at)
	return at[len(at)-(n.majority()-1)]
}

// Compact puts a snapshot of the store in place of the entries up to the last committed one. All of them must be applied.
func (n *Node) Compact(state []byte) {
	s := Snapshot{Index: n.commit, Term: n.termAt(n.commit), State: state}
	n.log = slices.Clone(n.log[s.Index-n.snapshot.Index:])
	n.snapshot = s
	n.saveAll()
}

// Compactable is how many entries a snapshot would replace.
func (n *Node) Compactable() int { return int(n.commit - n.snapshot.Index) }

// Take gives what is to be done.
func (n *Node) Take() Effects {
	e := n.effects
	n.effects = Effects{}
	if e.Save == nil && (n.dirty || len(n.unsaved) > 0) {
		e.Save = &Saved{Term: n.term, Vote: n.vote, Entries: n.unsaved}
	}
	n.dirty, n.unsaved = false, nil
	return e
}

// saveAll replaces what is on disk.
func (n *Node) saveAll() {
	s := n.snapshot
	n.effects.Save = &Saved{Term: n.term, Vote: n.vote, Snapshot: &s, Entries: slices.Clone(n.log)}
}

// save adds to what is on disk.
func (n *Node) save(entries ...Entry) {
	n.dirty = true
	n.unsaved = append(n.unsaved, entries...)
	if n.effects.Save != nil {
		n.saveAll()
	}
}

func (n *Node) campaign() {
	n.role, n.leader = Candidate, ""
	n.term++
	n.vote = n.ID
	n.save()
	n.votes = map[string]bool{n.ID: true}
	n.resetElection()
	n.logf("stands for election term=%d", n.term)
	for _, id := range n.Peers {
		n.send(Message{Kind: Vote, To: id, Index: n.last(), LogTerm: n.termAt(n.last())})
	}
}

func (n *Node) lead() {
	n.role, n.leader = Leader, n.ID
	for _, p := range n.peer {
		// Far enough in the past, and no overflow in a difference.
		*p = peer{next: n.last() + 1, answeredMs: math.MinInt64 / 2}
	}
	n.logf("became leader term=%d index=%d", n.term, n.last())
	// Entries of earlier terms are committed only together with one of this term (figure 8 of the paper).
	n.append(nil)
	n.broadcast()
}

// follow makes the node a follower in a term that is not older than its own.
func (n *Node) follow(term uint64, leader string) {
	if n.role == Leader {
		n.logf("steps down term=%d: there is term %d", n.term, term)
	}
	if term > n.term {
		n.term, n.vote = term, ""
		n.save()
	}
	if n.role != Follower {
		n.role = Follower
		n.resetElection()
	}
	if leader != "" && n.leader != leader {
		n.logf("follows %s term=%d", leader, term)
	}
	n.leader = leader
}

// Receive takes a message.
func (n *Node) Receive(now Time, m Message) {
	n.now = now
	if m.Kind == Vote && n.role == Follower && now.MonotonicMs-n.heardMs < ElectionMinMs {
		// There may be a leader that lives, and its lease holds only if no server votes for another one.
		return
	}
	if m.Term > n.term {
		n.follow(m.Term, "")
	}
	switch m.Kind {
	case Vote:
		n.receiveVote(m)
	case VoteReply:
		if n.role == Candidate && m.Term == n.term && m.OK {
			n.votes[m.From] = true
			if len(n.votes) >= n.majority() {
				n.lead()
			}
		}
	case Append, Install:
		n.receiveAppend(m)
	case FollowerReply:
		if n.role == Leader && m.Term == n.term {
			n.receiveReply(m)
		}
	}
}

func (n *Node) receiveVote(m Message) {
	last := n.last()
	current := m.LogTerm > n.termAt(last) || m.LogTerm == n.termAt(last) && m.Index >= last
	grant := m.Term == n.term && (n.vote == "" || n.vote == m.From) && current
	if grant {
		n.vote = m.From
		n.save()
		n.resetElection()
	}
	n.send(Message{Kind: VoteReply, To: m.From, OK: grant})
}

func (n *Node) receiveAppend(m Message) {
	if m.Term < n.term {
		n.send(Message{Kind: Stale, To: m.From})
		return
	}
	n.follow(m.Term, m.From)
	n.heardMs = n.now.MonotonicMs
	n.resetElection()
	agrees := m.Index
	switch {
	case m.Kind == Install:
		n.install(*m.Snapshot)
		agrees = max(n.commit, m.Snapshot.Index)
	case m.Index > n.last() || m.Index >= n.snapshot.Index && n.termAt(m.Index) != m.LogTerm:
		// What is committed agrees with every leader to come.
		n.send(Message{Kind: FollowerReply, To: m.From, Index: n.commit, SentMs: m.SentMs})
		return
	default:
		for _, e := range m.Entries {
			agrees = e.Index
			if e.Index <= n.snapshot.Index || e.Index <= n.last() && n.termAt(e.Index) == e.Term {
				continue
			}
			if e.Index <= n.last() {
				n.logf("drops entries from=%d to=%d", e.Index, n.last())
			}
			n.log = append(n.log[:e.Index-n.snapshot.Index-1], e)
			n.save(e)
		}
		// Entries behind those that agree are not known to be the leader's.
		n.commitTo(min(m.Commit, agrees))
	}
	n.send(Message{Kind: FollowerReply, To: m.From, Index: agrees, OK: true, SentMs: m.SentMs})
}

// install takes over a leader's snapshot, if it goes beyond what this node knows to be committed.
func (n *Node) install(s Snapshot) {
	if s.Index <= n.commit {
		return
	}
	if s.Index <= n.last() && n.termAt(s.Index) == s.Term {
		n.log = slices.Clone(n.log[s.Index-n.snapshot.Index:])
	} else {
		n.log = nil
	}
	n.snapshot, n.commit = s, s.Index
	n.logf("installed a snapshot index=%d", s.Index)
	n.effects.Restore, n.effects.Committed = &s, nil
	n.saveAll()
}

func (n *Node) receiveReply(m Message) {
	p := n.peer[m.From]
	p.answeredMs = max(p.answeredMs, m.SentMs)
	if !m.OK {
		p.next = max(p.match, m.Index) + 1 // the next heartbeat brings it
		return
	}
	p.match = max(p.match, m.Index)
	p.next = max(p.next, p.match+1)
	var on []uint64
	for _, p := range n.peer {
		on = append(on, p.match)
	}
	slices.Sort(on)
	if index := on[len(on)-(n.majority()-1)]; n.termAt(index) == n.term && index > n.commit {
		n.commitTo(index) // the followers learn the index with the next message
	}
	if p.next <= n.last() {
		n.sendAppend(m.From)
	}
}

func (n *Node) commitTo(index uint64) {
	for n.commit < index {
		n.commit++
		n.effects.Committed = append(n.effects.Committed, n.log[n.commit-n.snapshot.Index-1])
	}
}

// append adds an entry to a leader's log. It is on the leader's disk before any message leaves, so the leader counts for the
// majority as soon as a follower answers.
func (n *Node) append(command []byte) {
	e := Entry{Index: n.last() + 1, Term: n.term, Command: command}
	n.log = append(n.log, e)
	n.save(e)
}

// broadcast sends all followers what they lack, and a heartbeat to those that lack nothing.
func (n *Node) broadcast() {
	for _, id := range n.Peers {
		n.sendAppend(id)
	}
	n.deadlineMs = n.now.MonotonicMs + HeartbeatMs
}

func (n *Node) sendAppend(id string) {
	p := n.peer[id]
	m := Message{Kind: Append, To: id, Commit: n.commit, SentMs: n.leaseMs()}
	if p.next <= n.snapshot.Index {
		s := n.snapshot
		m.Kind, m.Snapshot = Install, &s
		p.next = s.Index + 1
	} else {
		m.Index = p.next - 1
		m.LogTerm = n.termAt(m.Index)
		from := p.next - n.snapshot.Index - 1
		to := min(from+entriesPerMessage, uint64(len(n.log)))
		m.Entries = slices.Clone(n.log[from:to])
		// If they get lost, the follower will not agree with what comes next.
		p.next += uint64(len(m.Entries))
	}
	n.send(m)
}

func (n *Node) resetElection() {
	n.deadlineMs = n.now.MonotonicMs + ElectionMinMs + n.Draw(ElectionMaxMs-ElectionMinMs)
}

func (n *Node) send(m Message) {
	m.From, m.Term = n.ID, n.term
	n.effects.Messages = append(n.effects.Messages, m)
}

func (n *Node) logf(format string, args ...any) {
	n.effects.Log = append(n.effects.Log, fmt.Sprintf(format, args...))
}

func (n *Node) majority() int { return (len(n.Peers)+1)/2 + 1 }

func (n *Node) last() uint64 { return n.snapshot.Index + uint64(len(n.log)) }

// termAt gives the term of an entry that is not before the snapshot's last one; 0 of entry 0 and of those before it.
func (n *Node) termAt(index uint64) uint64 {
	switch {
	case index == n.snapshot.Index:
		return n.snapshot.Term
	case index < n.snapshot.Index || index > n.last():
		return 0
	}
	return n.log[index-n.snapshot.Index-1].Term
}
