package net

import "github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"

// Urgent data of TCP, as Linux keeps it (tcp_check_urg and tcp_recv_urg): one byte at most is urgent, a later one
// takes its place, and the stream stops before it.

// What became of the urgent byte that the peer has announced.
const (
	urgentNone    = 0
	urgentOnWay   = 1
	urgentArrived = 2
	urgentRead    = 3 // by MSG_OOB; the stream has not reached it yet
)

// copied is the number of the next byte that the program reads.
func (t *tcb) copied() int64 {
	n := t.RcvNxt - t.RcvBytes
	if t.Done {
		n-- // the FIN
	}
	return n
}

// inline reports whether urgent data stays in the stream (SO_OOBINLINE).
func (l *options) inline() bool {
	for _, o := range l.Others {
		if o.Level == SOL_SOCKET && o.Name == SO_OOBINLINE {
			return o.Value != 0
		}
	}
	return false
}

// urgentInput takes in the urgent pointer of a segment, before its data.
func (t *tcb) urgentInput(p *packet) {
	at := p.Urgent - 1
	if p.Urgent == 0 || at < t.RcvNxt || t.Urgent != urgentNone && at <= t.UrgentSeq {
		return
	}
	t.Urgent, t.UrgentSeq = urgentOnWay, at
}

// urgentReached looks for the urgent byte in what has just arrived.
func (sk *sock) urgentReached(s *State, env Env) {
	t := sk.TCP
	if t.Urgent != urgentOnWay || t.UrgentSeq >= t.copied()+t.RcvBytes {
		return
	}
	t.Urgent = urgentArrived
	skip := t.UrgentSeq - t.copied()
	for _, c := range t.RcvQueue {
		if skip < int64(len(c)) {
			t.UrgentByte = c[skip]
			break
		}
		skip -= int64(len(c))
	}
	env.Wake(sk.ID, pollIn|POLLPRI)
}

// recvUrgent is recv with MSG_OOB.
func (sk *sock) recvUrgent(limit, flags int) (Received, errno.Errno) {
	t := sk.TCP
	switch {
	case sk.Opt.inline() || t.Urgent == urgentNone || t.Urgent == urgentRead:
		return Received{}, errno.EINVAL
	case t.State == closed && !t.Done:
		return Received{}, errno.ENOTCONN
	case t.Urgent == urgentArrived:
		if flags&MSG_PEEK == 0 {
			t.Urgent = urgentRead
		}
		if limit == 0 {
			return Received{Flags: MSG_OOB | MSG_TRUNC}, errno.OK
		}
		return Received{Data: []byte{t.UrgentByte}, Full: 1, Flags: MSG_OOB}, errno.OK
	case t.State == closed || sk.Shut&shutRD != 0:
		return Received{}, errno.OK
	}
	return Received{}, errno.EAGAIN
}

// beforeUrgent shortens a read of the stream so that it ends before the urgent byte. A read that begins at it passes
// it by, unless it stays in the stream: skip is then 1.
func (t *tcb) beforeUrgent(limit int, inline bool) (most, skip int) {
	if t.Urgent == urgentNone {
		return limit, 0
	}
	switch away := t.UrgentSeq - t.copied(); {
	case away > 0:
		return int(min(int64(limit), away)), 0
	case away == 0 && !inline && t.RcvBytes > 0:
		return limit, 1
	}
	return limit, 0
}

// passUrgent forgets the urgent byte when the stream has gone past it.
func (t *tcb) passUrgent() {
	if t.copied() > t.UrgentSeq {
		t.Urgent = urgentNone
	}
}

// AtMark reports whether the next byte of a stream is the urgent one (SIOCATMARK).
func (s *State) AtMark(id SockID) bool {
	sk := s.sock(id)
	return sk != nil && sk.TCP != nil && sk.TCP.Urgent != urgentNone && sk.TCP.UrgentSeq == sk.TCP.copied()
}
