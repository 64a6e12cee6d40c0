package net

import (
	"github.com/bloodhound-dst/bloodhound/fault"
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
	// DelayPPM lets a packet take between DelayMinNs and DelayMaxNs longer.
	DelayPPM               uint64
	DelayMinNs, DelayMaxNs int64
	// DuplicatePPM lets a datagram arrive twice, ReorderPPM lets it be overtaken by the next ones.
	DuplicatePPM, ReorderPPM uint64
	// ReorderMinNs and ReorderMaxNs bound how long an overtaken datagram is held back; both 0 is the link's latency
	// and 1 ms.
	ReorderMinNs, ReorderMaxNs int64
}

type linkKey struct{ From, To NodeID }

type link struct {
	Link  Link
	Rates Rates
	// Blocked is true while a partition holds the link; BlockedBy is its number.
	Blocked   bool
	BlockedBy int
	// BusyUntil is when the last packet has left the sender.
	BusyUntil int64
}

// Steps into which the span of a jitter or a delay is divided, so that a smaller draw is a calmer one.
const (
	jitterSteps = 64
	// jitterPPM is the share of packets that jitter touches at all: most stay at the base latency, so that the decisions
	// of a run are few enough to read.
	jitterPPM  = 100_000
	delaySteps = 64
)

// SetDefaultLink sets the link and the rates of all directions that were not set by themselves. Call it before
// traffic begins.
func (s *State) SetDefaultLink(l Link, r Rates) { s.DefaultLink, s.DefaultRates = l, r }

// SetLink sets the one-way link from one node to another.
func (s *State) SetLink(from, to NodeID, l Link) { s.link(from, to).Link = l }

// SetRates sets the faults of the one-way link from one node to another.
func (s *State) SetRates(from, to NodeID, r Rates) { s.link(from, to).Rates = r }

// SetBlocked says whether a one-way partition holds the link from now on, and the number of that fault. What is
// sent meanwhile is lost: TCP sends it again, with the timing of its retransmissions.
func (s *State) SetBlocked(from, to NodeID, on bool, faultID int) {
	l := s.link(from, to)
	l.Blocked, l.BlockedBy = on, faultID
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

// fate is what a link does to one packet.
type fate struct {
	Due    int64 // when it arrives without a fault
	At     int64 // when it arrives; meaningless if Lost
	Lost   bool
	Fault  FaultRef // the fault behind a loss or a delay
	Twice  bool
	Behind bool
}

// headerBytes is what Ethernet, IP and TCP add to a packet.
const headerBytes = 66

// harm numbers a packet that a fault per packet has struck.
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
	if !payload {
		f.block(l)
		return f
	}
	if r := l.Rates.DropPPM; r > 0 && env.Rare(stream+"/drop", 2, r) == 1 {
		f.Lost, f.Fault = true, FaultRef{Kind: fault.Drop, Packet: s.harm()}
	}
	if r := l.Rates.DelayPPM; r > 0 {
		if v := env.Rare(stream+"/delay", 1+delaySteps, r); v > 0 {
			extra := l.Rates.DelayMinNs + (l.Rates.DelayMaxNs-l.Rates.DelayMinNs)*int64(v-1)/(delaySteps-1)
			if !f.Lost && extra > 0 {
				f.At += extra
				f.Fault = FaultRef{Kind: fault.Delay, Packet: s.harm()}
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
	if f.block(l); f.Fault.Kind == fault.Partition {
		return f
	}
	if f.Fault.Kind != "" {
		env.Delivered(f.Fault.Kind)
	}
	if f.Twice {
		env.Delivered(fault.Duplicate)
	}
	if f.Behind {
		env.Delivered(fault.Reorder)
		if hold <= 0 {
			hold = l.Link.LatencyNs + milli
		}
		f.At += hold
	}
	return f
}

// block loses the packet if a partition holds the link.
func (f *fate) block(l *link) {
	if l.Blocked {
		f.Lost, f.Twice, f.Behind = true, false, false
		f.Fault = FaultRef{Kind: fault.Partition, ID: l.BlockedBy}
	}
}
