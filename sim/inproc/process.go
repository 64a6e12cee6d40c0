package inproc

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/stray"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// ErrTimeout is the error of a Call that received no reply in time. It is unknown whether the other node acted.
var ErrTimeout = errors.New("no reply in time")

// Process is a sequential program of a node. Only the program itself may call its methods, and goroutines that it
// starts in code built with switches (Settings.Switch).
type Process struct {
	*Node
	thread    string
	hash      uint64
	next      func() (struct{}, bool)
	stop      func()
	yield     func(struct{}) bool
	wait      waiting
	gen       uint64 // of the wait
	call      uint64 // whose reply it waits for
	got       Message
	has       bool // got was given
	dead      bool
	children  int
	turns     int    // operations so far, also those left out
	operating string // the kind of the operation that is under way
	retired   int    // how often it went on under another name
	sched     tape.Stream
	points    tape.Stream
	spins     int   // points since the last wait
	locks     int   // of the stand-ins for sync, that it holds
	parkedNs  int64 // when it began to wait for one
	dice      dice
	goid      uint64 // where runs are compared
}

// waiting is the reason for which a process waits.
type waiting uint8

const (
	nothing waiting = iota
	preempted
	sleeping
	receiving
	replied
	synced
	turned
	switched // at a point
	parked   // for a lock or another thread
)

// A preemption lets others run for preemptNs times a power of two.
const (
	preemptions = 15
	preemptNs   = 1_000
)

// spawn makes a process, which runs when it is its turn.
func (r *run) spawn(n *Node, thread string, main func(*Process)) *Process {
	p := &Process{Node: n, thread: thread, hash: hashText(thread)}
	p.sched = r.src.Stream("sched/" + thread)
	if points.Linked {
		p.points = r.src.Stream(switchStream(thread))
	}
	stray.Coroutine()
	p.next, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		if points.Linked {
			points.Enter((*strand)(p))
			defer points.Leave()
		}
		if r.strict != nil {
			p.goid = stray.Goroutine()
			r.strict.own[p.goid] = true
		}
		clean := false
		defer func() {
			var e any
			if !clean {
				e = recover()
			}
			r.over(p, e, clean)
		}()
		if p.dead { // before its first step
			panic(killed{})
		}
		if r.watched {
			stray.Watching(func() { main(p) })
		} else {
			main(p)
		}
		clean = true
	})
	n.threads = append(n.threads, p)
	if r.threads++; r.threads > maxThreads {
		r.limit = fmt.Sprintf("the limit of %d processes at once", maxThreads)
	}
	r.ready.push(p)
	return p
}

// over takes note that a process has ended, and how.
func (r *run) over(p *Process, panicked any, clean bool) {
	if p.dead {
		return // its node buries it
	}
	n := p.Node
	if _, gone := panicked.(killed); !clean && !gone {
		if panicked == nil {
			panicked = "runtime.Goexit: a process must not end its goroutine, as t.Fatal does; use Assert, or panic"
		}
		r.panicked(n, p, panicked)
		return
	}
	if clean {
		r.event(callExit, n, p, 0, 0, 0, "")
	}
}

// resume lets a process run until it waits or ends.
func (r *run) resume(p *Process) {
	n := p.Node
	r.active, r.current = n, p
	_, alive := p.next()
	r.active, r.current = nil, nil
	if !alive {
		for i, o := range n.threads {
			if o == p {
				n.threads = append(n.threads[:i], n.threads[i+1:]...)
				r.threads--
				break
			}
		}
		p.dead = true
		if !n.server && !n.dying && len(n.threads) == 0 {
			r.clientEnded(n, 0, "")
		}
	}
	if n.dying {
		r.bury(n)
	}
}

// suspend has the process wait, until something rouses it or, if untilNs is not negative, that moment.
func (p *Process) suspend(w waiting, untilNs int64) {
	r := p.run
	p.wait = w
	p.gen++
	if untilNs >= 0 {
		r.push(untilNs, pending{kind: wake, node: p.Node, proc: p, gen: p.gen})
	}
	if !p.yield(struct{}{}) {
		panic(killed{})
	}
}

// rouse ends the wait of a process.
func (r *run) rouse(p *Process) {
	if p.wait == receiving {
		for i, o := range p.waiting {
			if o == p {
				p.Node.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
				break
			}
		}
	}
	p.wait = nothing
	r.ready.push(p)
}

// Sleep waits for d by the node's clock.
func (p *Process) Sleep(d time.Duration) {
	p = p.own(callSleep)
	r := p.run
	r.event(callSleep, p.Node, p, int64(d), 0, 0, "")
	p.suspend(sleeping, r.now+p.clock.span(int64(d)))
}

// own is enter for calls of a process, which must be the one that runs. It returns that one: in a goroutine of a program that was built with the stand-ins
// for sync, which has no Process of its own, calls by any Process of the node are its.
func (p *Process) own(c call) *Process {
	if r := p.run; r.active == p.Node && r.current != p && !r.closed && !p.dying {
		if !points.Linked || r.current == nil {
			panic(fmt.Sprintf("inproc: %s by process %s while another process of node %s runs; use the Process that the function was given",
				callNames[c], p.thread, p.name))
		}
		p = r.current
	}
	p.enter(c)
	return p
}

// Yield lets other runnable programs run.
func (p *Process) Yield() { p.Sleep(0) }

// Receive waits for a message.
func (p *Process) Receive() Message {
	m, _ := p.receive(-1)
	return m
}

// ReceiveWithin waits for a message for up to d by the node's clock, and reports whether one came. It does not wait if
// d is 0 or negative.
func (p *Process) ReceiveWithin(d time.Duration) (Message, bool) { return p.receive(max(d, 0)) }

func (p *Process) receive(d time.Duration) (Message, bool) {
	p = p.own(callReceive)
	r := p.run
	if p.inbox.len() > 0 {
		m := p.Node.inbox.pop()
		return p.received(m), true
	}
	until := int64(-1)
	if d >= 0 {
		until = r.now + p.clock.span(int64(d))
	}
	p.has = false
	p.Node.waiting = append(p.Node.waiting, p)
	p.suspend(receiving, until)
	if !p.has {
		r.event(callReceive, p.Node, p, 0, -1, 0, "nothing in time")
		return Message{}, false
	}
	m := p.got
	p.got = Message{}
	return p.received(m), true
}

// received is the moment at which a program sees a message.
func (p *Process) received(m Message) Message {
	p.run.sees(p.Node, p, &m)
	return m
}

// Call sends a request to a node and waits for the reply for up to within, by the node's clock. Then it returns
// [ErrTimeout].
func (p *Process) Call(to string, request any, within time.Duration) (any, error) {
	p = p.own(callSend)
	r := p.run
	r.nextID++
	p.call = r.nextID
	r.send(p.Node, p, Message{From: p.name, To: to, Payload: request, call: p.call})
	p.has = false
	p.suspend(replied, r.now+p.clock.span(int64(within)))
	p.call = 0
	if !p.has {
		r.event(callReceive, p.Node, p, 0, -1, 0, "no reply in time")
		return nil, ErrTimeout
	}
	m := p.got
	p.got = Message{}
	return p.received(m).Payload, nil
}

// Reply answers a message. The reply to a message that came by Send arrives as an ordinary message.
func (n *Node) Reply(m Message, payload any) {
	p := n.enter(callSend)
	n.run.send(n, p, Message{From: n.name, To: m.From, Payload: payload, reply: m.call})
}

// Spawn starts another process on the same node. It ends with its node, not with the process that started it.
func (p *Process) Spawn(main func(*Process)) {
	p = p.own(callSpawn)
	p.child(main)
}

// child starts a process of the same node.
func (p *Process) child(main func(*Process)) {
	thread := p.thread + "." + strconv.Itoa(p.children)
	p.children++
	p.run.event(callSpawn, p.Node, p, 0, 0, 0, thread)
	p.run.spawn(p.Node, thread, main)
}

// Turn waits until the schedule gives this process a turn, or without a schedule for a random time of up to one tick.
// It returns false when the chaos phase is over, and the client should then end.
func (p *Process) Turn() bool {
	p = p.own(callTurn)
	r := p.run
	r.event(callTurn, p.Node, p, 0, 0, 0, "")
	switch {
	case r.faultsOver():
		return false
	case r.schedule != nil:
		p.suspend(turned, -1)
	default:
		p.suspend(sleeping, r.now+p.tickNs*int64(p.rolls().choice.Choose(turnParts))/turnParts)
	}
	return !r.faultsOver()
}

const turnParts = 16

// line is a queue of processes that can run.
type line struct {
	list []*Process
	head int
}

func (l *line) empty() bool { return l.head == len(l.list) }

func (l *line) push(p *Process) { l.list = append(l.list, p) }

func (l *line) pop() *Process {
	p := l.list[l.head]
	l.list[l.head] = nil
	if l.head++; l.head == len(l.list) {
		l.list, l.head = l.list[:0], 0
	}
	return p
}

// remove takes out the processes of a node.
func (l *line) remove(n *Node) {
	kept := l.list[:l.head]
	for _, p := range l.list[l.head:] {
		if p.Node != n {
			kept = append(kept, p)
		}
	}
	l.list = kept
}
