package net

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// mark is something that a fault withheld from a socket, or brought to it.
type mark struct {
	Due int64 // when it would have been there
	// Arrived is when it was there after all; 0 is not yet.
	Arrived int64
	Ref     FaultRef
	// Key reports what was withheld: a sequence number (of the peer's bytes, or of our own that are to be
	// acknowledged if Own), or a datagram's number.
	Key  int64
	Own  bool
	Seen bool // Overdue has reported it
	// Ack says that only an acknowledgement was withheld. Only a program that waits for room in the send buffer sees that;
	// Full says that a program did.
	Ack, Full bool
}

// marks holds the marks of one socket.
type marks []mark

// withhold remembers that ref keeps something from the socket that was due at due. It gives nil where a mark says that already.
func (l *marks) withhold(ref FaultRef, due int64, events uint32, key int64, own bool) *mark {
	for i := range *l {
		if m := &(*l)[i]; m.Key == key && m.Own == own && m.Arrived == 0 && m.Ref.Kind == ref.Kind {
			return nil // lost or held once more
		}
	}
	if len(*l) >= maxMarks {
		i := slices.IndexFunc(*l, func(m mark) bool { return m.Seen || m.Arrived != 0 })
		*l = slices.Delete(*l, max(i, 0), max(i, 0)+1)
	}
	ref.Events = events
	*l = append(*l, mark{Due: due, Ref: ref, Key: key, Own: own})
	return &(*l)[len(*l)-1]
}

// wantRoom remembers that a program found the send buffer full.
func (sk *sock) wantRoom() {
	sk.NoSpace = true
	for i := range sk.Marks {
		if m := &sk.Marks[i]; m.Ack && m.Arrived == 0 {
			m.Full = true
		}
	}
}

// bring remembers that ref has made something happen on the socket.
func (l *marks) bring(now int64, ref FaultRef) {
	if ref.Kind == "" {
		return
	}
	if len(*l) >= maxMarks {
		*l = slices.Delete(*l, 0, 1)
	}
	ref.Events = POLLIN | POLLOUT
	*l = append(*l, mark{Due: now, Ref: ref, Key: -1})
}

func (l *marks) settleOwn(now, ack int64) {
	l.arrived(now, func(m *mark) bool { return m.Own && m.Key <= ack })
}

// arrived ends the marks for which done is true.
func (l *marks) arrived(now int64, done func(*mark) bool) {
	for i := range *l {
		if m := &(*l)[i]; m.Arrived == 0 && m.Key >= 0 && done(m) {
			m.Arrived = max(now, 1)
		}
	}
	*l = slices.DeleteFunc(*l, func(m mark) bool { return m.Arrived != 0 && (m.Seen || m.Ack && !m.Full) })
}

// Marked reports whether Overdue may have something to do for a socket.
func (s *State) Marked(id SockID) bool {
	sk := s.Socks[id]
	return sk != nil && (len(sk.Marks) > 0 || sk.TCP != nil && sk.TCP.TookData)
}

// Overdue lists the faults because of which something was due on a socket at some time in [sinceNs, now] and was
// not there, or because of which something came that would not have come. The kernel asks when a thread that has
// waited for the socket since sinceNs gets its result, and reports all of them as observed, whichever events the
// thread waited for: a program that waits for a reply sees that its own request was lost. Each is listed once.
func (s *State) Overdue(env Env, id SockID, sinceNs int64) []FaultRef {
	sk := s.Socks[id]
	if sk == nil {
		return nil
	}
	asBefore := sk.TCP != nil && sk.TCP.TookData
	if asBefore {
		sk.TCP.TookData = false
	}
	if len(sk.Marks) == 0 {
		return nil
	}
	var refs []FaultRef
	now := env.Now()
	for i := range sk.Marks {
		m := &sk.Marks[i]
		if m.Key < 0 && asBefore || m.Ack && !m.Full {
			continue
		}
		if !m.Seen && m.Due <= now && (m.Arrived == 0 || m.Arrived >= sinceNs) {
			m.Seen = true
			if p := m.Ref.Packet; p != 0 {
				if slices.Contains(s.Shown, p) {
					continue
				}
				s.Shown = append(s.Shown, p)
				s.Shown = s.Shown[max(0, len(s.Shown)-maxMarks):]
			}
			refs = append(refs, m.Ref)
		}
	}
	sk.Marks = slices.DeleteFunc(sk.Marks, func(m mark) bool { return m.Seen && (m.Arrived != 0 || m.Key < 0) })
	return refs
}

// withholdTCP marks both ends of a segment that ref loses or delays.
func (p *packet) withholdTCP(s *State, due int64, ref FaultRef) {
	end := p.end()
	if to := s.flow(p.To, p.Dst, p.Src); to != nil && to.TCP != nil {
		t := to.TCP
		if end > p.Seq && end > t.RcvNxt {
			to.Marks.withhold(ref, due, POLLIN, end, false)
		}
		if p.Flags&flagACK != 0 && p.Ack > t.SndUna {
			events := uint32(POLLOUT)
			if t.State == synSent {
				events = POLLIN | POLLOUT
			}
			m := to.Marks.withhold(ref, due, events, p.Ack, true)
			if m != nil && t.State != synSent && end == p.Seq {
				m.Ack, m.Full = true, to.NoSpace
			}
		}
	} else if p.Flags&flagSYN != 0 && p.Flags&flagACK == 0 {
		if l := s.listener(p.To, p.Dst, p.Src); l != nil {
			l.Marks.withhold(ref, due+s.roundTrip(p.From, p.To), POLLIN, p.Seq, false)
		}
	}
	if from := s.flow(p.From, p.Src, p.Dst); from != nil && from.TCP != nil && end > p.Seq {
		events := uint32(POLLOUT)
		if p.Flags&flagSYN != 0 {
			events = POLLIN | POLLOUT
		}
		from.Marks.withhold(ref, due+s.link(p.To, p.From).Link.LatencyNs, events, end, true)
	}
}

// received reports the faults that a datagram shows to the program that reads limit bytes of the datagram.
func (sk *sock) received(env Env, m *message, limit int) {
	if m.Fault.ID != 0 {
		sk.Marks.bring(env.Now(), m.Fault)
	}
	if m.Flipped > 0 && m.Flipped <= limit {
		env.Observed(FaultRef{Kind: fault.Corrupt, Rule: m.FlipRule})
	}
	overtaken := sk.Read.readAt(m.Place)
	if k := m.Fault.Kind; k == fault.Duplicate || k == fault.Reorder && overtaken {
		env.Observed(m.Fault)
	}
}

// place is the position of a datagram in the order in which its flow was sent; the zero value is before all that may be
// overtaken.
type place struct {
	Flow string
	Nth  int64
}

// places are where the datagrams that were read last stood, one of each flow.
type places []place

// readAt takes in that a datagram is read, and reports whether a later one of its flow was read before it.
func (l *places) readAt(p place) bool {
	if p.Nth == 0 {
		return false
	}
	i := slices.IndexFunc(*l, func(r place) bool { return r.Flow == p.Flow })
	if i < 0 {
		if len(*l) >= maxMarks {
			*l = slices.Delete(*l, 0, 1)
		}
		*l = append(*l, p)
		return false
	}
	if (*l)[i].Nth > p.Nth {
		return true
	}
	(*l)[i] = p
	return false
}
