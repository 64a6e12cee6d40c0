package net

// What an event does.
const (
	evPacket = 1 // Packet arrives
	evTimer  = 2 // a deadline of Sock may be due
)

type event struct {
	At     int64
	Seq    uint64 // breaks ties: first in, first out
	Kind   uint8
	Sock   SockID
	Slow   bool // which of the two timers of Sock
	Packet *packet
}

// packet is one TCP segment, datagram or ICMP message on its way.
type packet struct {
	From, To NodeID
	Proto    uint8
	Src, Dst AddrPort
	Flags    uint8
	Seq, Ack int64
	Window   int64 // bytes beyond Ack that the sender of this segment accepts
	Data     []byte
	Urgent   int64 // TCP: the number after the urgent byte, 0 none
	// Stream names the connection's draws; only in a SYN.
	Stream string
	// Cause is the fault because of which the sender closed.
	Cause FaultRef
	// Fault marks a datagram that is a duplicate or was overtaken; Arrived is its due time where it was withheld.
	Fault FaultRef
	// Place is the position of a datagram in its flow.
	Place place
	// Flipped is the place, from 1 on, of the byte that corruption has changed in a datagram; 0 is none.
	Flipped int
	// FlipRule is the rule behind Flipped.
	FlipRule int
	Key      int64 // of a withheld datagram's mark
	Group    bool  // sent to a multicast or broadcast address
	Network  int   // that network, where Group is set
	// Unslowed is when it would arrive if its link was not slow; 0 if no fault slows it down.
	Unslowed int64
}

func (e *event) before(o *event) bool { return e.At < o.At || e.At == o.At && e.Seq < o.Seq }

func (s *State) push(e event) {
	s.EventSeq++
	e.Seq = s.EventSeq
	h := append(s.Events, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	s.Events = h
}

func (s *State) pop() event {
	h := s.Events
	top := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h[last] = event{}
	s.Events = h[:last]
	s.sift(0)
	return top
}

func (s *State) sift(i int) {
	h := s.Events
	for {
		small := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h[c].before(&h[small]) {
				small = c
			}
		}
		if small == i {
			return
		}
		h[i], h[small] = h[small], h[i]
		i = small
	}
}

// stale reports whether an event has nothing left to do.
func (s *State) stale(e *event) bool {
	if e.Kind == evPacket {
		return false
	}
	sk := s.Socks[e.Sock]
	return sk == nil || sk.TCP == nil || *sk.TCP.timer(e.Slow) != e.At
}

// compact drops stale timers when they are most of the heap, so that many short connections with long keepalive
// times do not fill it.
func (s *State) compact() {
	if s.Stale < 1024 || s.Stale < len(s.Events)/2 {
		return
	}
	kept := s.Events[:0]
	for i := range s.Events {
		if !s.stale(&s.Events[i]) {
			kept = append(kept, s.Events[i])
		}
	}
	clear(s.Events[len(kept):])
	s.Events, s.Stale = kept, 0
	for i := len(kept)/2 - 1; i >= 0; i-- {
		s.sift(i)
	}
}

// NextDue reports when the network next has something to do by itself; ok is false if it has nothing.
func (s *State) NextDue() (atNs int64, ok bool) {
	for len(s.Events) > 0 {
		if !s.stale(&s.Events[0]) {
			return s.Events[0].At, true
		}
		s.pop()
		s.Stale = max(s.Stale-1, 0)
	}
	return 0, false
}

// Advance does everything that is due at env.Now.
func (s *State) Advance(env Env) {
	for {
		at, ok := s.NextDue()
		if !ok || at > env.Now() {
			return
		}
		e := s.pop()
		switch e.Kind {
		case evPacket:
			e.Packet.arrive(s, env)
		case evTimer:
			s.Socks[e.Sock].tcpTimer(s, env, e.Slow)
		}
		s.settle(env)
	}
}

// settle delivers the loopback packets that the current call has sent, and those that these cause.
func (s *State) settle(env Env) {
	for i := 0; i < len(s.Soft); i++ {
		p := s.Soft[i]
		s.Soft[i] = nil
		p.arrive(s, env)
	}
	s.Soft = s.Soft[:0]
	s.compact()
}

func (p *packet) arrive(s *State, env Env) {
	n := s.Nodes[p.To]
	if !n.Up {
		p.came(env, n.Down, true)
		if p.Proto == IPPROTO_TCP && n.Down.Kind != "" {
			p.withholdTCP(s, env.Now(), n.Down)
		}
		p.drop(s)
		return
	}
	p.came(env, FaultRef{}, false)
	switch p.Proto {
	case IPPROTO_TCP:
		p.tcpInput(s, env)
	case IPPROTO_UDP:
		p.udpInput(s, env)
	case IPPROTO_ICMP:
		p.icmpInput(s, env)
	}
}

// drop takes a datagram that reaches no socket out of the account of bytes.
func (p *packet) drop(s *State) {
	if p.Proto == IPPROTO_UDP {
		s.Bytes -= int64(len(p.Data))
	}
}
