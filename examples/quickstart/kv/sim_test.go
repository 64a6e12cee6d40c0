package main

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// This file runs three cores, their disks, their network and five clients in virtual time, with the fault plans
// that bloodhound.yaml and fixed.yaml use. It says how rare the bug is and which faults can reach it, without
// the engine.

const (
	simOperations = 100
	simClients    = 5
	simRatePerS   = 25
	simKeys       = 8
	simPuts       = 8
	simGets       = 11
	simDeletes    = 1
	simSettleNs   = 3e9
	ms            = int64(1e6)
)

// The faults of bloodhound.yaml and fixed.yaml.
const (
	simStepNs       = 10 * ms
	partitionPPM    = 1000
	partitionMinNs  = 300 * ms
	partitionMaxNs  = 800 * ms
	crashPPM        = 1000
	pausePPM        = 1000
	crashMinNs      = 200 * ms
	crashMaxNs      = 1500 * ms
	pauseMinNs      = 50 * ms
	pauseMaxNs      = 1000 * ms
	clientTimeoutNs = 2500 * ms
	retransmitNs    = 200 * ms
)

var (
	partitions = world.FaultRule{Kind: "partition", RatePPM: partitionPPM, MinNs: partitionMinNs, MaxNs: partitionMaxNs}
	oneWay     = world.FaultRule{Kind: "partition", RatePPM: partitionPPM, MinNs: partitionMinNs, MaxNs: partitionMaxNs,
		LinkEffect: world.LinkEffect{OneWay: true}}
	crashes = world.FaultRule{Kind: "crash", RatePPM: crashPPM, MinNs: crashMinNs, MaxNs: crashMaxNs}
	pauses  = world.FaultRule{Kind: "pause", RatePPM: pausePPM, MinNs: pauseMinNs, MaxNs: pauseMaxNs}
)

type simEvent struct {
	atNs int64
	seq  int
	do   func()
}

type simQueue []simEvent

func (q simQueue) Len() int { return len(q) }
func (q simQueue) Less(i, j int) bool {
	return q[i].atNs < q[j].atNs || q[i].atNs == q[j].atNs && q[i].seq < q[j].seq
}
func (q simQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *simQueue) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *simQueue) Pop() any {
	e := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return e
}

// simNode is a machine: it steps its core on one input at a time, and is busy while it syncs.
type simNode struct {
	id      string
	core    *Core
	disk    []Record
	inbox   []Input
	up      bool
	paused  bool
	busy    bool
	flush   func() // what follows the sync, while the sync is paused in the middle
	timerNs int64
	life    int // counts starts
	sees    map[string]bool
	bootNs  int64
}

// simLink is one direction of a TCP connection.
type simLink struct {
	from, to string
	lastNs   int64
	lost     []func() // in order; what follows a loss waits for it
	retries  int
}

type simOp struct {
	client, seq   int
	kind, key     string
	node          string
	connection    string
	value, output string
	found         bool
	status        Status // 0 while it runs
	call, ret     int64
}

type sim struct {
	t       *testing.T
	rnd     *rand.Rand
	nowNs   int64
	seq     int
	queue   simQueue
	ids     []string
	nodes   map[string]*simNode
	links   map[[3]string]*simLink // from, to, connection
	epoch   map[[2]string]int      // of the connection of a pair
	plan    *fault.Plan
	source  *tape.Source
	ops     []*simOp
	opsByID map[string]*simOp
	busy    [simClients]bool
	waiting [simClients]int // operations that are due, behind the one in flight
	count   [simClients]int
	retired [simClients]int // a client whose operation has an unknown end continues over new connections
	ackBy   AckBy
	trace   []string
	verbose bool
	order   int64
}

func newSim(t *testing.T, seed uint64, ackBy AckBy, rules ...world.FaultRule) *sim {
	ids := []string{"n1", "n2", "n3"}
	spec := &world.Spec{Faults: world.Faults{Enabled: true, Rules: rules}}
	for _, id := range ids {
		spec.Nodes = append(spec.Nodes, world.Node{Name: id, Role: world.Server})
	}
	spec.Nodes = append(spec.Nodes, world.Node{Name: "client", Role: world.Client})
	plan, err := fault.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := &sim{
		t: t, rnd: rand.New(rand.NewPCG(seed, 1)), ids: ids, nodes: map[string]*simNode{}, links: map[[3]string]*simLink{},
		epoch: map[[2]string]int{}, plan: plan, source: tape.NewSource(tape.Tape{Seed: seed}), opsByID: map[string]*simOp{}, ackBy: ackBy,
	}
	for _, id := range ids {
		s.nodes[id] = &simNode{id: id}
		s.start(s.nodes[id])
	}
	for i, a := range ids {
		for _, b := range ids[i+1:] {
			s.connect(a, b)
		}
	}
	return s
}

func (s *sim) after(delayNs int64, do func()) {
	s.seq++
	heap.Push(&s.queue, simEvent{s.nowNs + delayNs, s.seq, do})
}

func (s *sim) logf(format string, args ...any) {
	if s.verbose {
		s.trace = append(s.trace, fmt.Sprintf("%9.3f ", float64(s.nowNs)/1e6)+fmt.Sprintf(format, args...))
	}
}

func (s *sim) start(n *simNode) {
	var others []string
	for _, id := range s.ids {
		if id != n.id {
			others = append(others, id)
		}
	}
	n.up, n.busy, n.inbox, n.flush = true, false, nil, nil
	n.life++
	n.bootNs, n.timerNs = s.nowNs, math.MaxInt64
	n.sees = map[string]bool{}
	n.core = NewCore(n.id, others, s.ackBy, 0, s.rnd.Int64N, n.disk)
	s.arm(n)
}

// arm makes sure that the node steps at its deadline.
func (s *sim) arm(n *simNode) {
	at := n.bootNs + n.core.DeadlineMs()*ms
	if at >= n.timerNs && n.timerNs > s.nowNs {
		return
	}
	n.timerNs = at
	life := n.life
	s.after(max(0, at-s.nowNs), func() {
		if n.life == life && n.timerNs == at {
			n.timerNs = math.MaxInt64
			s.run(n)
		}
	})
}

func (s *sim) input(n *simNode, in Input) {
	if n.up {
		n.inbox = append(n.inbox, in)
		s.run(n)
	}
}

// run steps a node until it has nothing to do or waits for its disk.
func (s *sim) run(n *simNode) {
	for n.up && !n.paused && !n.busy {
		nowMs := (s.nowNs - n.bootNs) / ms
		var in Input
		if len(n.inbox) > 0 {
			in, n.inbox = n.inbox[0], n.inbox[1:]
		} else if nowMs < n.core.DeadlineMs() {
			break
		}
		out := n.core.Step(nowMs, in)
		for _, l := range out.Log {
			s.logf("%s %s", n.id, l)
		}
		if len(out.Records) == 0 {
			s.emit(n, out)
			continue
		}
		n.busy = true
		life := n.life
		s.after(100_000+s.rnd.Int64N(ms), func() {
			if n.life != life || !n.up {
				return
			}
			n.flush = func() {
				n.disk = append(n.disk, out.Records...)
				n.busy = false
				s.emit(n, out)
			}
			s.flushed(n)
		})
	}
	if n.up && !n.paused && !n.busy {
		s.arm(n)
	}
}

func (s *sim) flushed(n *simNode) {
	if n.flush == nil || n.paused {
		return
	}
	flush := n.flush
	n.flush = nil
	flush()
	s.run(n)
}

func (s *sim) emit(n *simNode, out Effects) {
	for _, m := range out.Messages {
		if !n.sees[m.To] {
			continue
		}
		to, pair := s.nodes[m.To], pairOf(m.From, m.To)
		epoch := s.epoch[pair]
		s.send(m.From, m.To, fmt.Sprint(epoch), func() {
			if s.epoch[pair] == epoch && to.sees[m.From] {
				s.input(to, Input{Message: &m})
			}
		})
	}
	for _, r := range out.Replies {
		op := s.opsByID[r.ID]
		s.send(n.id, "client", op.connection, func() { s.complete(op, r) })
	}
}

// send delivers in order over one connection.
func (s *sim) send(from, to, connection string, do func()) {
	key := [3]string{from, to, connection}
	l := s.links[key]
	if l == nil {
		l = &simLink{from: from, to: to}
		s.links[key] = l
	}
	l.lastNs = max(l.lastNs, s.nowNs+200_000+s.rnd.Int64N(ms))
	s.after(l.lastNs-s.nowNs, func() {
		if s.plan.Blocked(from, to) == 0 && len(l.lost) == 0 {
			do()
			return
		}
		l.lost = append(l.lost, do)
		if len(l.lost) == 1 {
			s.after(retransmitNs, func() { s.retransmit(l) })
		}
	})
}

// retransmit sends again what a partition has swallowed, after pauses that double, as TCP does: the end of a partition
// is not felt at once.
func (s *sim) retransmit(l *simLink) {
	if s.plan.Blocked(l.from, l.to) != 0 {
		l.retries++
		s.after(retransmitNs<<l.retries, func() { s.retransmit(l) })
		return
	}
	lost := l.lost
	l.lost, l.retries = nil, 0
	for _, do := range lost {
		do()
	}
}

func pairOf(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// connect dials until a pair is connected.
func (s *sim) connect(a, b string) {
	na, nb := s.nodes[a], s.nodes[b]
	if na.up && nb.up && na.sees[b] && nb.sees[a] {
		return
	}
	if !na.up || !nb.up || na.paused || nb.paused || s.plan.Blocked(a, b) != 0 || s.plan.Blocked(b, a) != 0 {
		s.after(100*ms, func() { s.connect(a, b) })
		return
	}
	s.epoch[pairOf(a, b)]++
	for _, side := range [][2]*simNode{{na, nb}, {nb, na}} {
		self, other := side[0], side[1].id
		if self.sees[other] {
			s.input(self, Input{PeerDown: other})
		}
		self.sees[other] = true
		s.input(self, Input{PeerUp: other})
	}
}

func (s *sim) kill(n *simNode) {
	n.up = false
	n.life++
	s.logf("%s killed", n.id)
	for _, id := range s.ids {
		if id == n.id {
			continue
		}
		peer, pair := s.nodes[id], pairOf(id, n.id)
		if !peer.up {
			continue
		}
		s.epoch[pair]++
		epoch := s.epoch[pair]
		s.send(n.id, id, fmt.Sprint(epoch), func() {
			if s.epoch[pair] == epoch && peer.sees[n.id] {
				peer.sees[n.id] = false
				s.input(peer, Input{PeerDown: n.id})
			}
		})
	}
	for _, op := range s.ops {
		if op.status == 0 && op.node == n.id {
			s.send(n.id, "client", op.connection, func() { s.complete(op, Reply{Status: Unknown}) })
		}
	}
}

func (s *sim) restart(n *simNode) {
	s.logf("%s restarted", n.id)
	s.start(n)
	for _, id := range s.ids {
		if id != n.id {
			a, b := pairOf(id, n.id)[0], pairOf(id, n.id)[1]
			s.connect(a, b)
		}
	}
}

func (s *sim) faults() {
	for _, a := range s.plan.Step(s.source, &fault.Moment{NowNs: s.nowNs}) {
		s.logf("%s %s for %d ms (shape %d)", a.Kind, a.Target, a.DurationNs/ms, len(a.Directions))
		switch a.Kind {
		case fault.Crash:
			s.kill(s.nodes[a.Node])
		case fault.Pause:
			s.nodes[a.Node].paused = true
		}
		s.after(a.DurationNs, func() { s.undo(s.plan.Ended(s.nowNs)) })
	}
	if s.plan.On {
		s.after(simStepNs, s.faults)
	}
}

func (s *sim) undo(ended []fault.Action) {
	for _, a := range ended {
		s.logf("%s %s ended", a.Kind, a.Target)
		switch a.Kind {
		case fault.Crash:
			s.restart(s.nodes[a.Node])
		case fault.Pause:
			n := s.nodes[a.Node]
			n.paused = false
			s.flushed(n)
			s.run(n)
		}
	}
}

func opID(op *simOp) string { return fmt.Sprintf("c%d-%d", op.client, op.seq) }

func (s *sim) invoke(client int) {
	if s.busy[client] {
		s.waiting[client]++
		return
	}
	s.busy[client] = true
	s.order++
	op := &simOp{client: client, seq: len(s.ops), key: fmt.Sprint("k", s.rnd.IntN(simKeys)), call: s.order, ret: math.MaxInt64}
	// Mix and spread as the http driver does them.
	switch n := s.rnd.IntN(simPuts + simGets + simDeletes); {
	case n < simPuts:
		op.kind, op.value = "put", opID(op)
	case n < simPuts+simGets:
		op.kind = "get"
	default:
		op.kind = "delete"
	}
	node := s.nodes[s.ids[(client+s.count[client])%len(s.ids)]]
	s.count[client]++
	op.node = node.id
	s.ops = append(s.ops, op)
	s.opsByID[opID(op)] = op
	r := Request{ID: opID(op), Op: op.kind, Key: op.key, Value: op.value}
	s.logf("client %s %s %s to %s", r.ID, op.kind, op.key, node.id)
	op.connection = fmt.Sprint(client, ".", s.retired[client])
	s.send("client", node.id, op.connection, func() {
		if !node.up {
			s.send(node.id, "client", op.connection, func() { s.complete(op, Reply{Status: NotDone}) })
			return
		}
		s.input(node, Input{Request: &r})
	})
	s.after(clientTimeoutNs, func() { s.complete(op, Reply{Status: Unknown}) })
}

func (s *sim) complete(op *simOp, r Reply) {
	if op.status != 0 {
		return
	}
	s.order++
	op.status, op.output, op.found, op.ret = r.Status, r.Value, r.Found, s.order
	s.logf("client %s %s %s -> %d %q %s", opID(op), op.kind, op.key, r.Status, r.Value, r.Why)
	if r.Status == Unknown {
		s.retired[op.client]++
	}
	s.busy[op.client] = false
	if s.waiting[op.client] > 0 {
		s.waiting[op.client]--
		s.invoke(op.client)
	}
}

// play runs the whole world: start, chaos while the workload runs, heal, settle.
func (s *sim) play() {
	gapNs := int64(1e9 / simRatePerS)
	loadNs := simOperations * gapNs
	s.after(500*ms, func() { s.plan.BeginChaos(s.source, s.nowNs); s.faults() })
	for i := range simOperations {
		s.after(500*ms+int64(i)*gapNs, func() { s.invoke(i % simClients) })
	}
	s.after(500*ms+loadNs, func() {
		for _, a := range s.plan.Heal(s.nowNs) {
			s.undo([]fault.Action{a})
		}
		s.logf("healed")
	})
	endNs := 500*ms + loadNs + simSettleNs + clientTimeoutNs
	for len(s.queue) > 0 && s.queue[0].atNs <= endNs {
		e := heap.Pop(&s.queue).(simEvent)
		s.nowNs = e.atNs
		e.do()
	}
}

// judge names what is wrong with a finished run, or returns "".
func (s *sim) judge() string {
	var leader *simNode
	for _, id := range s.ids {
		n := s.nodes[id]
		if n.core.role == Leader && (leader == nil || n.core.term > leader.core.term) {
			leader = n
		}
		if !n.core.Serves() {
			return id + " does not know a leader at the end"
		}
	}
	if leader == nil {
		return "no leader at the end"
	}
	kept := map[string]bool{}
	for _, e := range leader.core.log[:leader.core.commit] {
		if e.Op == "put" {
			kept[e.Value] = true
		}
	}
	for _, op := range s.ops {
		if op.kind == "put" && op.status == Done && !kept[op.value] {
			return "acknowledged write lost: " + op.value
		}
		if op.kind == "put" && op.status == NotDone && kept[op.value] {
			return "write was done, and its client was told that it was not: " + op.value
		}
	}
	if !linearizable(s.ops) {
		return "not linearizable"
	}
	return ""
}

func linearizable(ops []*simOp) bool {
	byKey := map[string][]porcupine.Operation{}
	for _, op := range ops {
		if op.status == NotDone || op.kind == "get" && op.status != Done {
			continue
		}
		ret := op.ret
		if op.status != Done {
			ret = math.MaxInt64
		}
		byKey[op.key] = append(byKey[op.key], porcupine.Operation{ClientId: op.client, Input: op, Call: op.call, Output: op, Return: ret})
	}
	model := porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, _ any) (bool, any) {
			switch op := input.(*simOp); op.kind {
			case "put":
				return true, op.value
			case "delete":
				return true, ""
			default:
				return op.output == state.(string), state
			}
		},
		Equal: func(a, b any) bool { return a == b },
	}
	for _, ops := range byKey {
		if !porcupine.CheckOperations(model, ops) {
			return false
		}
	}
	return true
}

// simSeeds is how many seeds each campaign plays: KV_SEEDS, 20 times as many in the soak, or a slice that takes a few
// seconds.
func simSeeds(t *testing.T, base int) int {
	if v := os.Getenv("KV_SEEDS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal("KV_SEEDS:", err)
		}
		return n
	}
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		return 20 * base
	}
	return base
}

// tally of a campaign. Only the visible ones of its violations show in what the clients saw; a lost write that was
// overwritten by another, or is never read again, does not.
type tally struct{ seeds, violations, visible, done, notDone, unknown int }

func campaign(t *testing.T, seeds int, ackBy AckBy, rules ...world.FaultRule) (tally, string) {
	var sum tally
	first := ""
	for seed := range uint64(seeds) {
		s := newSim(t, seed, ackBy, rules...)
		s.play()
		sum.seeds++
		if wrong := s.judge(); wrong != "" {
			sum.violations++
			if first == "" {
				first = fmt.Sprintf("seed %d: %s", seed, wrong)
			}
		}
		if !linearizable(s.ops) {
			sum.visible++
		}
		for _, op := range s.ops {
			switch op.status {
			case Done:
				sum.done++
			case NotDone:
				sum.notDone++
			default:
				sum.unknown++
			}
		}
	}
	return sum, first
}

func TestCampaigns(t *testing.T) {
	type share struct{ min, max float64 } // of seeds
	never, rare := share{0, 0}, share{0.02, 0.07}
	for _, c := range []struct {
		name    string
		ackBy   AckBy
		seeds   int
		rules   []world.FaultRule
		visible share
	}{
		{"bug, faults off", AckByIndex, 500, nil, never},
		{"bug, kills", AckByIndex, 500, []world.FaultRule{crashes}, never},
		{"bug, pauses", AckByIndex, 500, []world.FaultRule{pauses}, never},
		{"bug, kills and pauses", AckByIndex, 500, []world.FaultRule{crashes, pauses}, never},
		{"bug, partitions", AckByIndex, 1000, []world.FaultRule{partitions}, rare},
		{"fixed, partitions", AckByEntry, 500, []world.FaultRule{partitions}, never},
		{"fixed, all", AckByEntry, 1000, []world.FaultRule{partitions, oneWay, crashes, pauses}, never},
	} {
		t.Run(c.name, func(t *testing.T) {
			sum, first := campaign(t, simSeeds(t, c.seeds), c.ackBy, c.rules...)
			t.Logf("%+v; %s", sum, first)
			if got := float64(sum.visible) / float64(sum.seeds); got < c.visible.min || got > c.visible.max {
				t.Errorf("%d of %d seeds are visible violations, want %.0f %% to %.0f %%; %s", sum.visible, sum.seeds,
					100*c.visible.min, 100*c.visible.max, first)
			}
			if c.visible == never && sum.violations > 0 {
				t.Errorf("%d of %d seeds are violations, want none; %s", sum.violations, sum.seeds, first)
			}
		})
	}
}

// TestSeed plays one seed aloud: KV_SEED=17 go test -run TestSeed -v
func TestSeed(t *testing.T) {
	v := os.Getenv("KV_SEED")
	if v == "" {
		t.Skip("KV_SEED is not set")
	}
	seed, _ := strconv.ParseUint(v, 10, 64)
	s := newSim(t, seed, AckByIndex, partitions)
	s.verbose = true
	s.play()
	for _, l := range s.trace {
		t.Log(l)
	}
	t.Log(s.judge())
}
