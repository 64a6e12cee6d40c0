package net

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// Link is one direction between two nodes.
type Link struct {
	LatencyNs int64
	// JitterNs is the largest latency added by a draw.
	JitterNs int64
	// Bandwidth in bytes a second; 0 is unlimited.
	Bandwidth int64
}

// Rates are the faults of one direction of a link that are drawn for each packet, in parts per million.
type Rates struct {
	// DropPPM loses TCP segments (until they are retransmitted) and datagrams.
	DropPPM uint64
	// CorruptPPM gives a packet a wrong bit. TCP's checksum finds it, so the segment is lost; a datagram arrives with it.
	CorruptPPM uint64
	// DelayPPM lets a packet take between DelayMinNs and DelayMaxNs longer.
	DelayPPM               uint64
	DelayMinNs, DelayMaxNs int64
	// DuplicatePPM lets a datagram arrive twice, ReorderPPM lets it be overtaken by the next ones.
	DuplicatePPM, ReorderPPM uint64
	// ReorderMinNs and ReorderMaxNs bound how long an overtaken datagram is held back; both 0 is the link's latency
	// and 1 ms.
	ReorderMinNs, ReorderMaxNs int64
	// The rules behind them, for the ledger.
	DropRule, CorruptRule, DelayRule, DuplicateRule, ReorderRule int
}

// Slow is the effect of a fault that slows down one direction of a link for a while.
type Slow struct {
	LatencyNs int64
	JitterNs  int64 // at most
	Bandwidth int64 // bytes a second; 0 is unlimited
	FaultID   int   // 0: the link is as it was
	// SinceNs is when it began: draws are of this fault, so that they stay the same when an earlier one is taken away.
	SinceNs int64
}

type linkKey struct{ From, To NodeID }

type link struct {
	Link  Link
	Rates Rates
	// Blocked is true while a partition holds the link; BlockedBy is its number.
	Blocked   bool
	BlockedBy int
	// Clog is the number of the clog that lies on the link, 0 for none, and Held what waits for its end.
	Clog int
	Held []held
	Slow Slow
	// SlowUntil is when the last packet has got through what Slow leaves of the bandwidth.
	SlowUntil int64
	// BusyUntil is when the last packet has left the sender.
	BusyUntil int64
}

// Steps into which the span of a jitter or a delay is divided, so that a smaller draw is a milder one.
const (
	jitterSteps = 64
	// jitterPPM is the share of packets that jitter touches at all: most stay at the base latency, so that the decisions
	// of a run are few enough to read.
	jitterPPM  = 100_000
	delaySteps = 64
	// flips are the places of a datagram at which corruption may turn a bit.
	flips = 8 * 64
)

// SetDefaultLink sets the link and the rates of all directions that were not set by themselves. Call it before
// traffic begins.
func (s *State) SetDefaultLink(l Link, r Rates) { s.DefaultLink, s.DefaultRates = l, r }

// SetLink sets the one-way link from one node to another.
func (s *State) SetLink(from, to NodeID, l Link) { s.link(from, to).Link = l }

// SetRates sets the faults of the one-way link from one node to another.
func (s *State) SetRates(from, to NodeID, r Rates) { s.link(from, to).Rates = r }

// SetBlocked says whether a one-way partition holds the link from now on, and the number of that fault. A packet that
// is sent meanwhile is lost: TCP sends it again, with the timing of its retransmissions.
func (s *State) SetBlocked(from, to NodeID, on bool, faultID int) {
	l := s.link(from, to)
	l.Blocked, l.BlockedBy = on, faultID
}

// held is a packet that a clog keeps from arriving at At.
type held struct {
	At     int64
	Packet *packet
}

// SetClog says which clog lies on a one-way link from now on; 0 is none. A packet that is sent meanwhile waits, and continues in its
// order when no clog is left: TCP repeats what is not acknowledged in time, and these repetitions wait, too.
func (s *State) SetClog(env Env, from, to NodeID, faultID int) {
	l := s.link(from, to)
	l.Clog = faultID
	if faultID != 0 || len(l.Held) == 0 {
		return
	}
	waiting := l.Held
	l.Held = nil
	for _, h := range waiting {
		f := fate{Due: env.Now() + l.Link.LatencyNs, At: max(h.At, env.Now()+l.Link.LatencyNs)}
		if f.block(l); !f.Lost {
			s.push(event{At: f.At, Kind: evPacket, Packet: h.Packet})
			continue
		}
		if h.Packet.Proto == IPPROTO_TCP {
			h.Packet.withholdTCP(s, f.Due, f.Cause)
		}
		h.Packet.drop(s)
	}
}

// SetSlow says what slows down a one-way link from now on. When nothing does any more, what still waits on the link goes
// on at its usual pace: the end of a fault is the end of its queue.
func (s *State) SetSlow(env Env, from, to NodeID, slow Slow) {
	l := s.link(from, to)
	l.Slow = slow
	if slow.FaultID != 0 {
		return
	}
	l.SlowUntil = 0
	for i := range l.Held {
		if p := l.Held[i].Packet; p.Unslowed != 0 {
			l.Held[i].At, p.Unslowed = p.Unslowed, 0
		}
	}
	s.hasten(env, from, to, env.Now()+l.Link.LatencyNs)
}

// hasten lets the packets that a slow link has kept arrive when they would have come without it, but not before soonest,
// and in the order of each connection.
func (s *State) hasten(env Env, from, to NodeID, soonest int64) {
	var late []*event
	for i := range s.Events {
		if e := &s.Events[i]; e.Kind == evPacket && e.Packet.From == from && e.Packet.To == to && e.Packet.Unslowed != 0 {
			late = append(late, e)
		}
	}
	slices.SortFunc(late, func(a, b *event) int { return cmp.Compare(a.Seq, b.Seq) })
	last := map[flowKey]int64{}
	lastDatagram := soonest
	for _, e := range late {
		p := e.Packet
		k := flowKey{p.Src, p.Dst}
		e.At = min(e.At, max(p.Unslowed, soonest, last[k]))
		p.Unslowed = 0
		if p.Fault.Kind == fault.Reorder {
			continue
		}
		last[k] = e.At
		if p.Proto == IPPROTO_UDP {
			lastDatagram = max(lastDatagram, e.At)
		}
	}
	for i := len(s.Events)/2 - 1; i >= 0; i-- {
		s.sift(i)
	}
	for k, f := range s.Nodes[from].Datagrams {
		if k.To == to {
			f.Last = min(f.Last, lastDatagram)
		}
	}
	for _, id := range s.sorted() {
		sk := s.Socks[id]
		if sk.TCP == nil {
			continue
		}
		t := sk.TCP
		if sk.Node == from && t.Peer == to {
			t.LastArrive = min(t.LastArrive, max(soonest, last[flowKey{sk.Local, sk.Remote}]))
		}
		if (sk.Node == from && t.Peer == to || sk.Node == to && t.Peer == from) && t.RetransAt != 0 {
			t.RetransAt = min(t.RetransAt, env.Now()+sk.rto(s))
			sk.arm(s)
		}
	}
}

// lag returns the delay, in ns, that a slow link adds to a packet sent now.
func (l *link) lag(now int64) int64 {
	return l.Slow.LatencyNs + l.Slow.JitterNs + max(l.SlowUntil-now, 0)
}

// slow lets a packet of n bytes take longer.
func (f *fate) slow(env Env, l *link, stream string, n int, payload bool) {
	late := l.Slow.LatencyNs
	if l.Slow.Bandwidth > 0 {
		l.SlowUntil = max(env.Now(), l.SlowUntil) + int64(n)*second/l.Slow.Bandwidth
		late += l.SlowUntil - env.Now()
	}
	if payload && l.Slow.JitterNs > 0 {
		v := env.Rare(stream+"/slow@"+strconv.FormatInt(l.Slow.SinceNs, 10), jitterSteps, jitterPPM)
		late += l.Slow.JitterNs * int64(v) / (jitterSteps - 1)
	}
	f.At += late
	f.Late = late
	if f.Cause.Kind == "" && late > 0 {
		f.Cause = FaultRef{Kind: fault.SlowLink, ID: l.Slow.FaultID}
	}
}

// put sends a packet on its way.
func (p *packet) put(s *State, f fate) {
	if f.Late > 0 {
		p.Unslowed = max(f.At-f.Late, 1)
	}
	if !f.Held {
		s.push(event{At: f.At, Kind: evPacket, Packet: p})
		return
	}
	l := s.link(p.From, p.To)
	if len(l.Held) >= maxHeld {
		s.exceed("packets held by a clog")
		p.drop(s)
		return
	}
	l.Held = append(l.Held, held{f.At, p})
}

// stopped is the fault that keeps packets from coming through, if there is one.
func (l *link) stopped() FaultRef {
	switch {
	case l.Blocked:
		return FaultRef{Kind: fault.Partition, ID: l.BlockedBy}
	case l.Clog != 0:
		return FaultRef{Kind: fault.Clog, ID: l.Clog}
	}
	return FaultRef{}
}

func (s *State) link(from, to NodeID) *link {
	k := linkKey{from, to}
	l := s.Links[k]
	if l == nil {
		l = &link{Link: s.DefaultLink, Rates: s.DefaultRates}
		s.Links[k] = l
	}
	return l
}

// roundTrip is the base latency from one node to another and back.
func (s *State) roundTrip(a, b NodeID) int64 {
	if a == b {
		return 0
	}
	return s.link(a, b).Link.LatencyNs + s.link(b, a).Link.LatencyNs
}

// depart returns when a packet of n bytes that is ready now has left the sender.
func (l *link) depart(now int64, n int) int64 {
	if l.Link.Bandwidth <= 0 {
		return now
	}
	l.BusyUntil = max(now, l.BusyUntil) + int64(n)*second/l.Link.Bandwidth
	return l.BusyUntil
}

// fate decides whether a link delivers, delays, loses or duplicates one packet.
type fate struct {
	Due    int64 // when it arrives without a fault
	At     int64 // when it arrives; meaningless if Lost
	Late   int64 // how much of that is a slow link's
	Lost   bool
	Held   bool     // until a clog is over
	Fault  FaultRef // the fault per packet behind a loss or a delay
	Cause  FaultRef // what lies on the link and loses or holds the packet
	Twice  bool
	Behind bool
	Flip   uint64 // which bit of a datagram turns, 0 none: see flip
}

// headerBytes is the size of the headers of Ethernet, IP and TCP on a packet.
const headerBytes = 66

// harm numbers a packet that a fault per packet has harmed.
func (s *State) harm() int64 {
	s.Harmed++
	return s.Harmed
}

// pass draws the fate of a packet of n payload bytes on stream. Control packets (payload false) have the base
// latency and are lost to partitions only. Datagrams may also be duplicated and reordered.
func (s *State) pass(env Env, from, to NodeID, stream string, n int, payload, datagram bool) fate {
	l := s.link(from, to)
	f := fate{Due: l.depart(env.Now(), n+headerBytes) + l.Link.LatencyNs}
	if payload && l.Link.JitterNs > 0 {
		f.Due += l.Link.JitterNs * int64(env.Rare(stream+"/jitter", jitterSteps, jitterPPM)) / (jitterSteps - 1)
	}
	f.At = f.Due
	f.block(l)
	if l.Slow.FaultID != 0 {
		f.slow(env, l, stream, n+headerBytes, payload)
	}
	if !payload {
		return f
	}
	if r := l.Rates.DropPPM; r > 0 && env.Rare(stream+"/drop", 2, r) == 1 {
		f.Lost, f.Fault = true, FaultRef{Kind: fault.Drop, Rule: l.Rates.DropRule, Packet: s.harm()}
	}
	if r := l.Rates.CorruptPPM; r > 0 && !datagram {
		if env.Rare(stream+"/corrupt", 2, r) == 1 && !f.Lost {
			f.Lost, f.Fault = true, FaultRef{Kind: fault.Corrupt, Rule: l.Rates.CorruptRule, Packet: s.harm()}
		}
	} else if r > 0 {
		f.Flip = env.Rare(stream+"/corrupt", 1+flips, r)
	}
	if r := l.Rates.DelayPPM; r > 0 {
		if v := env.Rare(stream+"/delay", 1+delaySteps, r); v > 0 {
			extra := l.Rates.DelayMinNs + (l.Rates.DelayMaxNs-l.Rates.DelayMinNs)*int64(v-1)/(delaySteps-1)
			if !f.Lost && extra > 0 {
				f.At += extra
				f.Fault = FaultRef{Kind: fault.Delay, Rule: l.Rates.DelayRule, Packet: s.harm()}
			}
		}
	}
	if r := l.Rates.DuplicatePPM; datagram && r > 0 && env.Rare(stream+"/duplicate", 2, r) == 1 {
		f.Twice = !f.Lost
	}
	hold := int64(0)
	if r := l.Rates.ReorderPPM; datagram && r > 0 {
		if v := env.Rare(stream+"/reorder", 1+delaySteps, r); v > 0 {
			f.Behind = !f.Lost
			hold = l.Rates.ReorderMinNs + (l.Rates.ReorderMaxNs-l.Rates.ReorderMinNs)*int64(v-1)/(delaySteps-1)
		}
	}
	switch {
	case f.Cause.Kind == fault.Partition:
		f.Lost, f.Twice, f.Behind, f.Fault = true, false, false, FaultRef{}
		return f
	case f.Lost: // nothing can hold it
		f.Cause, f.Flip = FaultRef{}, 0
	}
	if f.Fault.Kind != "" {
		env.Delivered(f.Fault)
	}
	if f.Twice {
		env.Delivered(FaultRef{Kind: fault.Duplicate, Rule: l.Rates.DuplicateRule})
	}
	if f.Behind {
		env.Delivered(FaultRef{Kind: fault.Reorder, Rule: l.Rates.ReorderRule})
		if hold <= 0 {
			hold = l.Link.LatencyNs + milli
		}
		f.At += hold
	}
	return f
}

// block loses the packet if a partition holds the link, and holds it where a clog does.
func (f *fate) block(l *link) {
	if f.Cause = l.stopped(); f.Cause.Kind != "" {
		f.Lost, f.Held = l.Blocked, !l.Blocked
	}
}

// flip turns bit v of flips, from 1 on, in a copy of data, and reports the place of the byte, from 1 on. Where there is no
// byte there is nothing to turn.
func flip(data []byte, v uint64) ([]byte, int) {
	if v == 0 || len(data) == 0 {
		return data, 0
	}
	place := int(v-1) / 8 * len(data) / (flips / 8)
	data = slices.Clone(data)
	data[place] ^= 1 << ((v - 1) % 8)
	return data, place + 1
}

// causes are the faults that keep a packet from arriving in time.
func (f *fate) causes() []FaultRef {
	if f.Fault.Kind == "" && f.Cause.Kind == "" {
		return nil
	}
	return slices.DeleteFunc([]FaultRef{f.Fault, f.Cause}, func(r FaultRef) bool { return r.Kind == "" })
}
