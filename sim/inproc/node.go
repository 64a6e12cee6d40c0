package inproc

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Machine is a node whose code is called for each message and each tick. Each call is one step, in which nothing else
// happens: the messages that the node sends leave at the end of the step, delayed by slow calls on its disk.
type Machine interface {
	// Receive handles a message.
	Receive(n *Node, m Message)
	// Tick is called once every Settings.Tick of the node's clock.
	Tick(n *Node)
}

// Message is a message between nodes. The payload is the sender's value itself: neither side may change it after it is sent.
type Message struct {
	From, To string
	Payload  any

	call   uint64 // the Call that waits for a reply
	reply  uint64 // the Call that this is the reply to
	digest uint64
	sent   uint64 // the event
	link   *link
	doubt  *ref // a fault that whoever receives it observes
}

// Node is a machine of the world, as its programs see it.
type Node struct {
	run    *run
	id     int32
	name   string
	hash   uint64
	part   *part
	server bool

	up      bool
	life    uint64 // counts its starts
	machine Machine
	threads []*Process
	inbox   inbox
	waiting []*Process // for a message, in order
	held    []pending  // while it is paused
	disk    Disk
	clock   clock
	clocks  uint64 // reads since the last event
	tickNs  int64
	tickAt  int64 // by its own clock

	pausedBy int // the faults that lie on it, by their IDs
	downBy   int
	tag      int64 // of the job that it runs
	slowBy   int
	slowNs   int64
	fullBy   int
	reborn   int   // the crash that it has not reported since it started again
	late     bool  // a step of a schedule has passed it over while it was paused
	dying    bool  // its programs end as soon as the running one has
	lagNs    int64 // what this step of a machine has taken
	dice     dice
	mishap   *ref // what the next message shows
}

// killed is the panic by which a program ends when its node has crashed.
type killed struct{}

// Name returns the node's name.
func (n *Node) Name() string { return n.name }

// enter begins a call of a program into the world, of this node's running program.
func (n *Node) enter(c call, files ...string) *Process {
	r := n.run
	if r.active != n || r.closed {
		panic(n.misuse(callNames[c]))
	}
	p := r.current
	if n.dying {
		panic(killed{})
	}
	if r.strict != nil {
		r.strict.enter(r, n, p, callNames[c])
	}
	if r.events >= r.maxEvents || r.limit != "" { // a program that never waits would not let the loop see it
		n.dying = true
		panic(killed{})
	}
	r.now += r.spec.Cost.CallNs
	if n.reborn != 0 {
		r.director.Plan.Ledger.Observed(n.reborn, r.events+1)
		n.reborn = 0
	}
	if p != nil && r.spec.Sched.PreemptPPM > 0 {
		if v := p.sched.Rare(preemptions, r.spec.Sched.PreemptPPM); v > 0 {
			p.suspend(preempted, r.now+preemptNs<<v)
		}
	}
	if r.lay.at && r.director.Plan.On && n.server {
		r.fail(r.director.Entering(n.name, callNames[c], files...))
		if n.dying {
			panic(killed{})
		}
	}
	return p
}

// misuse explains a call by a function other than the one that runs.
func (n *Node) misuse(what string) string {
	r := n.run
	switch {
	case r.closed:
		return fmt.Sprintf("inproc: %s on node %s after its run has ended; a goroutine of the program's own must not call into the world", what, n.name)
	case r.active == nil:
		return fmt.Sprintf("inproc: %s on node %s while no node runs; only a node's own functions call into the world, and no goroutine that they start",
			what, n.name)
	}
	return fmt.Sprintf("inproc: %s on node %s while %s runs; each node's functions use their own node, and no goroutine that they start calls into the world",
		what, n.name, r.active.name)
}

// Now returns the time by the node's clock, which may be wrong.
func (n *Node) Now() time.Time {
	n.enterQuiet("Now")
	n.clocks++
	n.run.now += clockReadNs
	if n.clock.faulty != 0 {
		n.run.director.Plan.Ledger.Observed(n.clock.faulty, n.run.events+1)
	}
	return time.Unix(0, n.clock.read(n.run.now)).UTC()
}

const clockReadNs = 50

// enterQuiet is enter for calls that are not events.
func (n *Node) enterQuiet(what string) {
	if n.run.active != n || n.run.closed {
		panic(n.misuse(what))
	}
	if n.dying {
		panic(killed{})
	}
	if n.run.strict != nil {
		n.run.strict.enter(n.run, n, n.run.current, what)
	}
}

// dice are the streams that a program draws from: those of the machine, or of each process for itself, so that draw i of a process is
// the same whatever others of its node do. They are others once the chance of nodes has changed.
type dice struct {
	random, choice tape.Stream
	open           bool
	chance         uint64 // that of the run when they were opened
}

func (n *Node) rolls() *dice {
	r, lay := n.run, &n.run.lay.nodes[n.id]
	d, random, choice := &n.dice, lay.random, lay.choice
	p := r.current
	if p != nil {
		d = &p.dice
	}
	if d.open && d.chance == r.chance {
		return d
	}
	if p != nil {
		random, choice = "random/"+p.thread, "choice/"+p.thread
	}
	if r.chance != 0 {
		later := fmt.Sprintf("@%d", r.chance)
		random, choice = random+later, choice+later
	}
	*d = dice{r.src.Stream(random), r.src.Stream(choice), true, r.chance}
	return d
}

// Uint64 returns a random number from the tape.
func (n *Node) Uint64() uint64 {
	n.enterQuiet("Uint64")
	return n.rolls().random.Uint64()
}

// Rand returns a source of random numbers from the tape.
func (n *Node) Rand() *rand.Rand { return rand.New(n) }

// Choose draws a number from 0 to k-1 that a search may vary. Shrinking prefers 0, so 0 should stand for the simplest
// choice.
func (n *Node) Choose(k int) int {
	n.enterQuiet("Choose")
	if k < 1 {
		panic(fmt.Sprintf("inproc: Choose(%d) on node %s; there must be something to choose from", k, n.name))
	}
	return int(n.rolls().choice.Choose(uint64(k)))
}

// Send sends a message to a node, which may be the sender. It never waits, and does not report whether the message arrives.
func (n *Node) Send(to string, payload any) {
	p := n.enter(callSend)
	n.run.send(n, p, Message{From: n.name, To: to, Payload: payload})
}

// Role sets the node's role, such as leader, until it crashes. "" means no role. Conditions of faults can test it.
func (n *Node) Role(role string) {
	n.enterQuiet("Role")
	d := n.run.director
	if role == "" {
		delete(d.Roles, n.name)
		return
	}
	if held := d.Roles[n.name]; len(held) != 1 || held[0] != role {
		d.SetRoles(n.name, []string{role})
	}
}

// Reach reports to the search that this run has reached something rare. Runs that reach something new are searched further.
func (n *Node) Reach(text string) {
	n.enterQuiet("Reach")
	n.run.reach(coverage.State, n.name+" "+text)
}

// Log writes a line to the node's log.
func (n *Node) Log(format string, args ...any) {
	n.enterQuiet("Log")
	r := n.run
	if r.engine.quiet && r.opts.Log == nil && len(r.spec.LogPatterns) == 0 && r.reached == nil {
		return
	}
	r.log(n, "stdout", fmt.Sprintf(format, args...))
}

// Assert promises that a condition is true whenever this call is reached.
func (n *Node) Assert(condition bool, message string) { n.assert(sdk.Always, true, condition, message) }

// Sometimes promises that a condition is true in at least one run of a campaign.
func (n *Node) Sometimes(condition bool, message string) {
	n.assert(sdk.Sometimes, true, condition, message)
}

// Unreachable promises that this call is never reached.
func (n *Node) Unreachable(message string) { n.assert(sdk.Reachability, false, true, message) }

// assert takes in an evaluation of an assertion.
func (n *Node) assert(kind string, must, condition bool, message string) {
	n.enterQuiet("an assertion")
	r := n.run
	rec := &r.out.SDK
	i := slices.IndexFunc(rec.Assertions, func(a sdk.Assertion) bool { return a.ID == message && a.Type == kind && a.MustHit == must })
	if i < 0 {
		if len(rec.Assertions) >= sdk.MaxAssertions {
			r.limit = fmt.Sprintf("the limit of %d assertions: the message of one must not vary", sdk.MaxAssertions)
			return
		}
		i = len(rec.Assertions)
		rec.Assertions = append(rec.Assertions, sdk.Assertion{ID: message, Message: message, Type: kind, MustHit: must})
		rec.Assertions[i].Display = rec.Assertions[i].Wants()
	}
	a := &rec.Assertions[i]
	if a.Hits++; a.Hits == 1 {
		a.Location = caller()
	}
	at := func() *sdk.Sighting {
		return &sdk.Sighting{Event: r.events, TimeNs: r.now, Node: n.name, Program: kindOf(n.part), PID: 1}
	}
	if condition {
		if a.Passes++; a.Pass == nil {
			a.Pass = at()
			if kind == sdk.Sometimes {
				r.reach(coverage.Assertion, message)
			}
		}
	} else if a.Fail == nil {
		a.Fail = at()
		if a.Violated() != nil {
			a.Location = caller()
		}
	}
}

// start begins a node's program.
func (r *run) start(n *Node) {
	n.up, n.dying = true, false
	n.life++
	event := callStart
	r.event(event, n, nil, int64(n.life), 0, 0, "")
	if n.part.machine == nil {
		r.spawn(n, r.lay.nodes[n.id].thread, n.part.process)
		r.stepped(Started, n, nil)
		return
	}
	n.tickAt = n.clock.read(r.now)
	r.step(n, func() { n.machine = n.part.machine(n) })
	if n.up && n.machine == nil && r.failure == nil {
		r.failure = fmt.Errorf("the function that starts node %s has given no machine", n.name)
		return
	}
	r.stepped(Started, n, nil)
	if r.schedule == nil {
		r.tickDue(n)
	}
}

// tickDue puts the next tick of a machine into the queue.
func (r *run) tickDue(n *Node) {
	n.tickAt += n.tickNs
	at := n.clock.when(r.now, n.tickAt)
	if at <= r.now { // its clock has jumped
		at = r.now + n.tickNs
		n.tickAt = n.clock.read(at)
	}
	r.push(at, pending{kind: tick, node: n, gen: n.life})
}

// step runs a piece of a machine's code.
func (r *run) step(n *Node, code func()) {
	r.active, n.lagNs = n, 0
	defer func() {
		e := recover()
		r.active = nil
		r.settle(n, nil, e, e != nil)
	}()
	code()
}

// stepDone ends a step of a machine; it is deferred, and recovers.
func (r *run) stepDone(n *Node, clean *bool) {
	var e any
	if !*clean {
		e = recover()
	}
	r.active = nil
	r.settle(n, nil, e, !*clean)
}

// stepMessage gives a machine a message.
func (r *run) stepMessage(n *Node, m *Message) {
	r.active, n.lagNs = n, 0
	clean := false
	defer r.stepDone(n, &clean)
	n.machine.Receive(n, *m)
	clean = true
}

// stepTick gives a machine a tick.
func (r *run) stepTick(n *Node) {
	r.now += r.spec.Cost.CallNs
	r.event(callTick, n, nil, 0, 0, 0, "")
	r.active, n.lagNs = n, 0
	clean := false
	defer r.stepDone(n, &clean)
	n.machine.Tick(n)
	clean = true
}

// settle looks at how a piece of a node's code has ended.
func (r *run) settle(n *Node, p *Process, panicked any, unclean bool) {
	if _, gone := panicked.(killed); unclean && !gone && panicked != nil {
		r.panicked(n, p, panicked)
	}
	if n.dying {
		r.bury(n)
	}
}

// panicked records that a program of a node has panicked. The node stays down.
func (r *run) panicked(n *Node, p *Process, value any) {
	text := fmt.Sprint(value)
	number := r.event(callPanic, n, p, 0, 0, 0, "")
	if len(r.out.Crashes) < maxCrashes {
		// Signatures of failures take the end; the lines are for people, without addresses, which vary.
		r.out.Crashes = append(r.out.Crashes,
			record.Crash{Position: record.PositionAt(number), TimeNs: r.now, Node: n.name, Program: kindOf(n.part), PID: 1, Signal: "panic: " + text,
				ExitCode: 2, Kind: "panic", Lines: append([]string{"panic: " + text}, panicLines(string(debug.Stack()))...)})
	}
	r.log(n, "stderr", "panic: "+text)
	if n.part.process != nil && !n.server {
		r.clientEnded(n, 2, "panic: "+text)
	}
	n.dying = true
}

// panicLines are the frames of a stack that are the program's own, as far as they are the same in each run.
func panicLines(stack string) []string {
	var lines []string
	all := strings.Split(stack, "\n")
	from := 0
	for i, line := range all {
		if strings.HasPrefix(line, "panic(") {
			from = i + 2
		}
	}
	for i := max(from, 1); i+1 < len(all) && len(lines) < 20; i += 2 {
		function, _, _ := strings.Cut(all[i], "(0x")
		where, _, _ := strings.Cut(strings.TrimSpace(all[i+1]), " +0x")
		file, _, _ := strings.Cut(where, ".go:")
		switch {
		case strings.HasPrefix(function, "iter.Pull"), strings.HasPrefix(function, ownPackage+"(*run).step"), strings.HasPrefix(function, "created by "):
			return lines
		case own(function, file+".go"):
			continue
		}
		lines = append(lines, strings.TrimSuffix(function, "(...)")+" at "+where)
	}
	return lines
}

// bury ends the programs of a node. Its memory is gone with them.
func (r *run) bury(n *Node) {
	n.up, n.dying = false, true // whoever unwinds must not call into the world
	for _, p := range n.threads {
		p.wait = nothing
		p.dead = true
	}
	for _, p := range n.threads {
		r.active, r.current = n, p
		p.stop()
	}
	r.active, r.current = nil, nil
	if len(n.threads) > 0 {
		r.ready.remove(n)
		r.threads -= len(n.threads)
	}
	n.threads, n.waiting, n.machine, n.mishap = nil, nil, nil, nil
	r.scratch.recycleInbox(&n.inbox)
	n.held = nil
	n.dying = false
	delete(r.director.Roles, n.name)
}

// inbox is a queue of messages that a node has not received.
type inbox struct {
	list []Message
	head int
}

func (b *inbox) len() int { return len(b.list) - b.head }

func (b *inbox) push(s *scratch, m *Message) {
	if b.list == nil {
		b.list = s.box()
	}
	if b.head > 32 && b.head > len(b.list)/2 { // the front is empty
		n := copy(b.list, b.list[b.head:])
		clear(b.list[n:])
		b.list, b.head = b.list[:n], 0
	}
	b.list = append(b.list, *m)
}

func (b *inbox) pop() Message {
	m := b.list[b.head]
	b.list[b.head] = Message{}
	if b.head++; b.head == len(b.list) {
		b.list, b.head = b.list[:0], 0
	}
	return m
}
