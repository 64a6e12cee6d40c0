package inproc

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// ref names the fault that something is due to: an injection by its ID, or a kind and rule that affect messages.
type ref struct {
	id   int
	kind world.FaultKind
	rule int
	own  bool // a mishap of a node, which clients observe, too
}

// observed records in the ledger that a program under test has seen what a fault does.
func (r *run) observed(f ref) {
	l := &r.director.Plan.Ledger
	if f.id != 0 {
		l.Observed(f.id, r.events+1)
	} else if f.kind != "" {
		l.ObservedPacket(f.kind, f.rule, r.events+1)
	}
}

// link is one direction between two nodes.
type link struct {
	lay       *linkLayout
	from, to  *Node
	lastNs    int64 // when the last message arrives: without a fault, none overtakes another
	jitter    tape.Stream
	rates     fault.Rates
	blockedBy int
	clogBy    int
	slow      fault.Action // of a slow link, ID 0 is none
	freeNs    int64        // when its bandwidth is free again
	clogged   []pending

	channel  channel // of a schedule
	drawn    bool
	streams  linkStreams
	rated    bool // rates are not all 0
	features map[reflect.Type]bool
}

// linkStreams are drawn from where a rate is above 0.
type linkStreams struct{ drop, delay, duplicate, reorder, corrupt tape.Stream }

// loopbackNs is how long a message of a node to itself takes.
const loopbackNs = 10_000

func (r *run) link(from, to *Node) *link {
	k := int(from.id)*len(r.nodes) + int(to.id)
	l := &r.links[k]
	if l.lay == nil {
		l.lay, l.from, l.to = &r.lay.links[k], from, to
		l.jitter = r.src.Stream(l.lay.jitter)
		r.rate(l)
	}
	return l
}

// node gives a node by its name, or nil.
func (r *run) node(name string) *Node {
	if i, ok := r.lay.index[name]; ok {
		return r.nodes[i]
	}
	return nil
}

// rate finds which faults messages of a link suffer now.
func (r *run) rate(l *link) {
	l.rates = r.director.Packet(l.from.name, l.to.name)
	l.rated = l.rates != fault.Rates{}
	if l.rated && !l.drawn {
		l.drawn = true
		l.streams = linkStreams{r.src.Stream(l.lay.drop), r.src.Stream(l.lay.delay), r.src.Stream(l.lay.duplicate),
			r.src.Stream(l.lay.reorder), r.src.Stream(l.lay.corrupt)}
	}
}

// send puts a message on its way.
func (r *run) send(n *Node, p *Process, m Message) {
	to := r.node(m.To)
	if to == nil {
		panic(fmt.Sprintf("inproc: node %s sends to %q, and no node has that name; the world's nodes are %v", n.name, m.To, r.names()))
	}
	m.digest = digestOf(m.Payload)
	m.doubt, n.mishap = n.mishap, nil
	m.sent = r.event(callSend, n, p, int64(to.id)+1, int64(m.call|m.reply), m.digest, m.To)
	l := r.link(n, to)
	m.link = l
	if r.reached != nil && n.server {
		r.metMessage(l, m.Payload)
	}
	if r.schedule != nil && n != to {
		r.schedule.offer(l, m)
		return
	}
	if n == to {
		r.push(r.now+n.lagNs+loopbackNs, pending{kind: arrive, node: to, msg: m})
		return
	}
	at := r.now + n.lagNs + l.lay.latencyNs
	if l.lay.jitterNs > 0 {
		at += l.lay.jitterNs * int64(l.jitter.Choose(jitterSteps)) / (jitterSteps - 1)
	}
	usual := at
	var late *ref
	if l.slow.ID != 0 {
		at += l.slow.Slow.LatencyNs
		if b := l.slow.Slow.Bandwidth; b > 0 {
			l.freeNs = max(l.freeNs, r.now) + messageBytes*billion/b
			at = max(at, l.freeNs)
		}
		late = &ref{id: l.slow.ID}
	}
	if l.rated {
		if r.harmed(l, &m, &at, &late) {
			r.push(usual, pending{kind: ghost, node: to, msg: m, ref: late})
			r.stepped(Lost, to, &m)
			return
		}
	}
	if late == nil || late.kind != fault.Reorder {
		at = max(at, l.lastNs)
		l.lastNs = at
	}
	if at > usual && late != nil {
		r.push(usual, pending{kind: ghost, node: to, msg: m, ref: late})
	}
	r.push(at, pending{kind: arrive, node: to, msg: m})
}

// jitterSteps is the number of latencies that a message chooses from. messageBytes is the size of a message on a slow
// link.
const (
	jitterSteps  = 16
	messageBytes = 512
)

// harmed draws the faults of a message, and reports whether it is lost.
func (r *run) harmed(l *link, m *Message, at *int64, late **ref) (lost bool) {
	f, s, led := &l.rates, &l.streams, &r.director.Plan.Ledger
	if c := &f[fault.CorruptRate]; c.PPM > 0 {
		if bits := bitsOf(m.Payload); bits > 0 {
			if v := s.corrupt.Rare(1+min(bits, corruptBits), c.PPM); v > 0 {
				led.DeliveredPacket(fault.Corrupt, c.Rule)
				m.Payload = flip(m.Payload, v-1)
				m.digest = digestOf(m.Payload)
				m.doubt = &ref{kind: fault.Corrupt, rule: c.Rule}
			}
		}
	}
	if c := &f[fault.DelayRate]; c.PPM > 0 {
		if v := s.delay.Rare(1+fault.DurationSteps, c.PPM); v > 0 {
			led.DeliveredPacket(fault.Delay, c.Rule)
			*at += c.MinNs + (c.MaxNs-c.MinNs)/(fault.DurationSteps-1)*int64(v-1)
			*late = &ref{kind: fault.Delay, rule: c.Rule}
		}
	}
	if c := &f[fault.ReorderRate]; c.PPM > 0 {
		if v := s.reorder.Rare(1+fault.DurationSteps, c.PPM); v > 0 {
			led.DeliveredPacket(fault.Reorder, c.Rule)
			*at += c.MinNs + (c.MaxNs-c.MinNs)/fault.DurationSteps*int64(v)
			*late = &ref{kind: fault.Reorder, rule: c.Rule}
		}
	}
	if c := &f[fault.DuplicateRate]; c.PPM > 0 && s.duplicate.Rare(2, c.PPM) > 0 {
		led.DeliveredPacket(fault.Duplicate, c.Rule)
		twin := *m
		twin.doubt = &ref{kind: fault.Duplicate, rule: c.Rule}
		if r.schedule != nil {
			r.schedule.queue(l, &twin)
		} else {
			r.push(max(*at, l.lastNs)+l.lay.latencyNs, pending{kind: arrive, node: l.to, msg: twin})
		}
	}
	if c := &f[fault.DropRate]; c.PPM > 0 && s.drop.Rare(2, c.PPM) > 0 {
		led.DeliveredPacket(fault.Drop, c.Rule)
		*late = &ref{kind: fault.Drop, rule: c.Rule}
		return true
	}
	return false
}

// corruptBits bounds the bits of a message of which one may be wrong.
const corruptBits = 1 << 20

// bitsOf is how many bits of a payload can be wrong: texts and bytes are what they are on a wire, other values are not.
func bitsOf(payload any) uint64 {
	switch v := payload.(type) {
	case []byte:
		return uint64(len(v)) * 8
	case string:
		return uint64(len(v)) * 8
	}
	return 0
}

func flip(payload any, bit uint64) any {
	switch v := payload.(type) {
	case []byte:
		v = slices.Clone(v)
		v[bit/8] ^= 1 << (bit % 8)
		return v
	case string:
		p := []byte(v)
		p[bit/8] ^= 1 << (bit % 8)
		return string(p)
	}
	return payload
}

func (r *run) names() []string {
	var list []string
	for _, n := range r.nodes {
		list = append(list, n.name)
	}
	return list
}

// arrived is the moment at which a message is at its node.
func (r *run) arrived(n *Node, m *Message) {
	l := m.link
	if l.from != l.to {
		switch {
		case l.blockedBy != 0:
			r.missed(n, &ref{id: l.blockedBy})
			r.stepped(Lost, n, m)
			return
		case l.clogBy != 0:
			r.missed(n, &ref{id: l.clogBy})
			if len(l.clogged) < maxInbox {
				l.clogged = append(l.clogged, pending{kind: arrive, node: n, msg: *m})
			} else {
				r.limit = fmt.Sprintf("the limit of %d messages that wait on %s, which is clogged", maxInbox, l.lay.jitter)
			}
			return
		}
	}
	if !n.up {
		if n.downBy != 0 && l.from.server && l.from != n {
			r.observed(ref{id: n.downBy})
		}
		r.stepped(Lost, n, m)
		return
	}
	if n.pausedBy != 0 {
		r.hold(n, pending{kind: arrive, node: n, msg: *m})
		return
	}
	r.deliver(n, m)
}

// deliver hands a message to the node's program.
func (r *run) deliver(n *Node, m *Message) {
	if n.machine != nil {
		r.now += r.spec.Cost.CallNs
		r.sees(n, nil, m)
		r.stepMessage(n, m)
		r.stepped(Delivered, n, m)
		r.invariants()
		return
	}
	if m.reply != 0 {
		for _, p := range n.threads {
			if p.wait == replied && p.call == m.reply {
				p.got, p.has = *m, true
				r.rouse(p)
				return
			}
		}
		return // too late
	}
	if len(n.waiting) > 0 {
		p := n.waiting[0]
		p.got, p.has = *m, true
		r.rouse(p)
		return
	}
	if n.inbox.len() >= maxInbox {
		r.limit = fmt.Sprintf("the limit of %d messages that %s has not received", maxInbox, n.name)
		return
	}
	n.inbox.push(r.scratch, m)
}

// sees is the moment at which a program sees a message.
func (r *run) sees(n *Node, p *Process, m *Message) {
	if m.doubt != nil && (n.server || m.doubt.own) {
		r.observed(*m.doubt)
	}
	if r.strict != nil {
		r.strict.received(r, n, m)
	}
	r.event(callReceive, n, p, int64(m.link.from.id)+1, int64(m.call|m.reply), m.digest, m.From)
	if p != nil {
		r.stepped(Delivered, n, m)
	}
}

// missed is the moment at which a node would have got a message, but for a fault. A process that waits for a message observes that.
func (r *run) missed(n *Node, f *ref) {
	if !n.server || !n.up || n.pausedBy != 0 || f == nil {
		return
	}
	if n.machine != nil || len(n.waiting) > 0 && n.inbox.len() == 0 {
		r.observed(*f)
		return
	}
	for _, p := range n.threads {
		if p.wait == replied {
			r.observed(*f)
			return
		}
	}
}

// metMessage notes the kinds of messages between servers.
func (r *run) metMessage(l *link, payload any) {
	t := reflect.TypeOf(payload)
	if l.features[t] {
		return
	}
	if l.features == nil {
		l.features = map[reflect.Type]bool{}
	}
	l.features[t] = true
	r.reach(coverage.Message, fmt.Sprintf("%s->%s %v", l.from.name, l.to.name, t))
}
