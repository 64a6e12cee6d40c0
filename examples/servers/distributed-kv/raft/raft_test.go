package raft

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// cluster runs nodes with what goes wrong in life: messages that are lost, late, doubled and out of order, nodes that are cut
// off, lose what they have not saved, stand still, and dates that are set.
type cluster struct {
	t      *testing.T
	rnd    *rand.Rand
	ids    []string
	nodes  map[string]*member
	clock  LeaseClock
	nowMs  int64
	queue  eventQueue
	serial int
	// chosen is what was committed, by index; acknowledged is the newest write that a client knows to have taken effect.
	chosen       map[uint64]Entry
	acknowledged uint64
	stale        string // the first read that missed an acknowledged write
	reads        int
	commits      int
	leaders      map[uint64]string
}

type member struct {
	*Node
	disk    []Saved
	bootMs  int64
	dateMs  int64 // how far its date is off
	up      bool
	paused  bool
	cut     bool
	inbox   []func()
	applied []uint64 // indexes, as the store's state
}

type event struct {
	atMs int64
	seq  int
	do   func()
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].atMs < q[j].atMs || q[i].atMs == q[j].atMs && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

func newCluster(t *testing.T, seed uint64, size int, clock LeaseClock) *cluster {
	c := &cluster{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), nodes: map[string]*member{}, clock: clock,
		chosen: map[uint64]Entry{}, leaders: map[uint64]string{},
	}
	for i := range size {
		id := fmt.Sprint("n", i+1)
		c.ids = append(c.ids, id)
		c.nodes[id] = &member{}
	}
	for _, id := range c.ids {
		c.start(id)
	}
	return c
}

func (c *cluster) after(delayMs int64, do func()) {
	c.serial++
	heap.Push(&c.queue, event{c.nowMs + delayMs, c.serial, do})
}

func (c *cluster) time(m *member) Time {
	return Time{MonotonicMs: c.nowMs - m.bootMs, DateMs: 1_000_000 + c.nowMs + m.dateMs}
}

func (c *cluster) start(id string) {
	m := c.nodes[id]
	others := slices.DeleteFunc(slices.Clone(c.ids), func(o string) bool { return o == id })
	m.up, m.bootMs, m.applied, m.inbox = true, c.nowMs, nil, nil
	m.Node = New(Config{ID: id, Peers: others, LeaseClock: c.clock, Draw: c.rnd.Int64N}, c.time(m), m.disk)
	c.perform(id)
}

// perform does what a node wants done, as the store does it.
func (c *cluster) perform(id string) {
	m := c.nodes[id]
	e := m.Take()
	if e.Save != nil {
		var copied Saved
		text, _ := json.Marshal(e.Save)
		json.Unmarshal(text, &copied)
		if copied.Snapshot != nil {
			m.disk = nil
		}
		m.disk = append(m.disk, copied)
	}
	if e.Restore != nil {
		m.applied = nil
		if err := json.Unmarshal(e.Restore.State, &m.applied); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, entry := range e.Committed {
		if before, ok := c.chosen[entry.Index]; ok && (before.Term != entry.Term || string(before.Command) != string(entry.Command)) {
			c.t.Fatalf("%s commits %v, and another node has committed %v", id, entry, before)
		}
		c.chosen[entry.Index] = entry
		if n := uint64(len(m.applied)); entry.Index != n+1 {
			c.t.Fatalf("%s applies entry %d after entry %d", id, entry.Index, n)
		}
		m.applied = append(m.applied, entry.Index)
		if m.role == Leader && entry.Term == m.term {
			c.acknowledged = max(c.acknowledged, entry.Index)
			c.commits++
		}
	}
	if m.role == Leader {
		if other := c.leaders[m.term]; other != "" && other != id {
			c.t.Fatalf("%s and %s both lead term %d", id, other, m.term)
		}
		c.leaders[m.term] = id
	}
	for _, message := range e.Messages {
		for range 1 + c.rnd.IntN(20)/19 {
			if c.rnd.IntN(50) == 0 || m.cut || c.nodes[message.To].cut {
				continue
			}
			var copied Message
			text, _ := json.Marshal(message)
			json.Unmarshal(text, &copied)
			delay := 1 + c.rnd.Int64N(4)
			if c.rnd.IntN(30) == 0 {
				delay = c.rnd.Int64N(400)
			}
			c.after(delay, func() { c.give(message.To, func(m *member) { m.Receive(c.time(m), copied) }) })
		}
	}
	deadline := m.DeadlineMs()
	c.after(max(0, m.bootMs+deadline-c.nowMs), func() {
		if m.DeadlineMs() == deadline {
			c.give(id, func(m *member) { m.Tick(c.time(m)) })
		}
	})
	if m.Compactable() > 20 && uint64(len(m.applied)) == m.commit {
		state, _ := json.Marshal(m.applied)
		m.Compact(state)
		c.perform(id)
	}
}

// give hands something to a node; a node that is paused takes it later.
func (c *cluster) give(id string, do func(*member)) {
	m := c.nodes[id]
	switch {
	case !m.up:
	case m.paused:
		m.inbox = append(m.inbox, func() { c.give(id, do) })
	default:
		do(m)
		c.perform(id)
	}
}

func (c *cluster) trouble() {
	m := c.nodes[c.ids[c.rnd.IntN(len(c.ids))]]
	forMs := 50 + c.rnd.Int64N(1000)
	switch c.rnd.IntN(4) {
	case 0:
		m.cut = true
		c.after(forMs, func() { m.cut = false })
	case 1:
		if m.up && !m.paused {
			m.up = false
			c.after(forMs, func() { c.start(m.ID) })
		}
	case 2:
		if m.up && !m.paused {
			m.paused = true
			c.after(forMs, func() {
				m.paused = false
				waited := m.inbox
				m.inbox = nil
				for _, do := range waited {
					do()
				}
			})
		}
	case 3:
		m.dateMs += c.rnd.Int64N(4001) - 2000
	}
	c.after(c.rnd.Int64N(600), c.trouble)
}

func (c *cluster) clients() {
	for _, id := range c.ids {
		c.give(id, func(m *member) {
			// What is acknowledged before the read began must be seen by it.
			if m.MayRead(c.time(m)) {
				c.reads++
				if c.stale == "" && uint64(len(m.applied)) < c.acknowledged {
					c.stale = fmt.Sprintf("at %d ms %s answers a read as of entry %d, and %d is acknowledged", c.nowMs, id, len(m.applied), c.acknowledged)
				}
			}
			if c.rnd.IntN(3) == 0 {
				m.Propose(c.time(m), []byte(fmt.Sprint(c.nowMs, id)))
			}
		})
	}
	c.after(5+c.rnd.Int64N(30), c.clients)
}

func (c *cluster) run(ms int64) {
	c.after(300, c.trouble)
	c.after(300, c.clients)
	for len(c.queue) > 0 && c.queue[0].atMs < ms {
		e := heap.Pop(&c.queue).(event)
		c.nowMs = e.atMs
		e.do()
	}
}

// TestClusters holds the promises of Raft, and no stale reads, over many lives of a cluster.
func TestClusters(t *testing.T) {
	seeds := 60
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		seeds = 3000
	}
	commits, reads := 0, 0
	for seed := range uint64(seeds) {
		c := newCluster(t, seed, 3+2*int(seed%2), Monotonic)
		c.run(20_000)
		if c.stale != "" {
			t.Errorf("seed %d: %s", seed, c.stale)
		}
		commits += c.commits
		reads += c.reads
	}
	if commits < 50*seeds || reads < 50*seeds {
		t.Errorf("only %d commits and %d reads over %d lives", commits, reads, seeds)
	}
	t.Logf("%d commits, %d reads", commits, reads)
}

// TestDateLease: a lease by the date gives stale reads, and nothing else goes wrong.
func TestDateLease(t *testing.T) {
	stale := 0
	for seed := range uint64(40) {
		c := newCluster(t, seed, 3, Date)
		c.run(20_000)
		if c.stale != "" {
			stale++
		}
	}
	t.Logf("%d of 40 lives", stale)
	if stale == 0 {
		t.Error("no read is stale with leases by the date")
	}
}

// leader is one of three nodes; its followers are played by hand.
func leader(t *testing.T, clock LeaseClock) *Node {
	t.Helper()
	n := New(Config{ID: "a", Peers: []string{"b", "c"}, LeaseClock: clock, Draw: func(int64) int64 { return 0 }}, Time{0, 1000}, nil)
	n.Tick(Time{ElectionMinMs, 1000 + ElectionMinMs})
	n.Receive(Time{ElectionMinMs + 1, 1000 + ElectionMinMs + 1}, Message{Kind: VoteReply, From: "b", To: "a", Term: 1, OK: true})
	if n.Status().Role != Leader {
		t.Fatal("elected, and not a leader")
	}
	return n
}

func TestLeaseEnds(t *testing.T) {
	for _, clock := range []LeaseClock{Monotonic, Date} {
		n := leader(t, clock)
		at := func(ms int64) Time { return Time{ElectionMinMs + ms, 1000 + ElectionMinMs + ms} } // the heartbeats went out at 1
		if n.MayRead(at(2)) {
			t.Error(clock, "reads before anyone has answered")
		}
		sent := n.leaseMs() - 1
		n.Receive(at(2), Message{Kind: FollowerReply, From: "c", To: "a", Term: 1, Index: 1, OK: true, SentMs: sent})
		if !n.MayRead(at(3)) {
			t.Error(clock, "does not read with a majority behind it")
		}
		over := at(1 + LeaseMs)
		if n.MayRead(over) {
			t.Error(clock, "reads when the lease is over")
		}
		// An operator sets the date back by half a second.
		over.DateMs -= 500
		if got, bug := n.MayRead(over), clock == Date; got != bug {
			t.Errorf("%s: reads %v after the date was set back", clock, got)
		}
	}
}

// TestEarlierTerms: what an earlier leader has left on a majority is not committed by counting, but with an entry of the
// present term (figure 8 of the paper).
func TestEarlierTerms(t *testing.T) {
	disk := []Saved{{Term: 4, Entries: []Entry{{Index: 1, Term: 1, Command: []byte("x")}, {Index: 2, Term: 2, Command: []byte("y")}}}}
	n := New(Config{ID: "a", Peers: []string{"b", "c"}, LeaseClock: Monotonic, Draw: func(int64) int64 { return 0 }}, Time{}, disk)
	n.Tick(Time{MonotonicMs: ElectionMinMs})
	n.Receive(Time{MonotonicMs: ElectionMinMs + 1}, Message{Kind: VoteReply, From: "b", To: "a", Term: 5, OK: true})
	n.Receive(Time{MonotonicMs: ElectionMinMs + 2}, Message{Kind: FollowerReply, From: "b", To: "a", Term: 5, Index: 2, OK: true})
	if c := n.Status().Commit; c != 0 {
		t.Errorf("entry %d of an earlier term is committed by counting", c)
	}
	n.Receive(Time{MonotonicMs: ElectionMinMs + 3}, Message{Kind: FollowerReply, From: "b", To: "a", Term: 5, Index: 3, OK: true})
	if c := n.Status().Commit; c != 3 {
		t.Errorf("commit is %d, want 3", c)
	}
}

// TestVotesAreSaved: a vote leaves the node only together with its record.
func TestVotesAreSaved(t *testing.T) {
	n := New(Config{ID: "a", Peers: []string{"b", "c"}, LeaseClock: Monotonic, Draw: func(int64) int64 { return 99 }}, Time{}, nil)
	n.Receive(Time{MonotonicMs: ElectionMinMs}, Message{Kind: Vote, From: "b", To: "a", Term: 3})
	e := n.Take()
	if e.Save == nil || e.Save.Term != 3 || e.Save.Vote != "b" || len(e.Messages) != 1 || !e.Messages[0].OK {
		t.Fatalf("%+v", e)
	}
	again := New(n.Config, Time{}, []Saved{*e.Save})
	again.Receive(Time{MonotonicMs: ElectionMinMs}, Message{Kind: Vote, From: "c", To: "a", Term: 3, Index: 9, LogTerm: 2})
	if e := again.Take(); len(e.Messages) != 1 || e.Messages[0].OK {
		t.Errorf("a second vote in a term: %+v", e.Messages)
	}
}

// TestNobodyVotesBesideALeader: a server that has just heard a leader, or has just started, does not vote.
func TestNobodyVotesBesideALeader(t *testing.T) {
	n := New(Config{ID: "a", Peers: []string{"b", "c"}, LeaseClock: Monotonic, Draw: func(int64) int64 { return 99 }}, Time{}, nil)
	vote := Message{Kind: Vote, From: "c", To: "a", Term: 9, Index: 9, LogTerm: 8}
	n.Receive(Time{MonotonicMs: ElectionMinMs - 1}, vote)
	n.Receive(Time{MonotonicMs: 300}, Message{Kind: Append, From: "b", To: "a", Term: 2})
	n.Take()
	n.Receive(Time{MonotonicMs: 300 + ElectionMinMs - 1}, vote)
	if e := n.Take(); len(e.Messages) > 0 || n.Status().Term != 2 {
		t.Fatalf("%+v in term %d", e.Messages, n.Status().Term)
	}
	n.Receive(Time{MonotonicMs: 300 + ElectionMinMs}, vote)
	if e := n.Take(); len(e.Messages) != 1 || !e.Messages[0].OK {
		t.Errorf("no vote when the leader was silent for long: %+v", e.Messages)
	}
}
