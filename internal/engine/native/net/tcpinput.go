package net

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// tcpInput handles a segment that arrives at a node (RFC 9293, section 3.10.7).
func (p *packet) tcpInput(s *State, env Env) {
	sk := s.flow(p.To, p.Dst, p.Src)
	if sk != nil && sk.TCP.State == timeWait {
		if !p.timeWaitInput(s, env, sk) {
			return
		}
		sk = nil
	}
	if sk == nil {
		if p.Flags&(flagSYN|flagACK|flagRST) == flagSYN {
			if l := s.listener(p.To, p.Dst, p.Src); l != nil {
				p.passiveOpen(s, env, l)
				return
			}
			if l := s.onLoopback(p.To, p.Dst.Port); l != nil && p.From != p.To {
				env.Unreached(p.To, l.Local)
			}
		}
		if s.Seen != nil && p.Flags&(flagSYN|flagRST) == 0 && p.From != p.To {
			s.Seen.add(ConnectionKind{Node: p.To, Peer: p.From, Port: min(p.Src.Port, p.Dst.Port), Served: p.Dst.Port < p.Src.Port, What: HalfOpen})
		}
		p.answer(s, env)
		return
	}
	t := sk.TCP
	t.LastHeard, t.Probes = env.Now(), 0
	if t.KeepAt != 0 {
		t.KeepAt = env.Now() + sk.Opt.keepIdle(sk.tuned(s))
	}
	switch t.State {
	case synSent:
		p.synSentInput(s, env, sk)
		return
	case synRecv:
		if !p.synRecvInput(s, env, sk) {
			return
		}
	}
	if p.Flags&flagRST != 0 {
		p.resetInput(s, env, sk)
		return
	}
	end := p.end()
	window := t.RcvEdge - t.RcvNxt
	if end < t.RcvNxt || p.Seq > t.RcvNxt+window || p.Flags&flagSYN != 0 || end == p.Seq && p.Seq < t.RcvNxt {
		sk.ack(s, env) // an old or a probing segment
		if p.Ack <= t.SndUna || p.Ack > t.SndMax || p.Flags&flagSYN != 0 {
			return
		}
	}
	if p.Ack > t.SndMax {
		sk.ack(s, env)
		return
	}
	p.ackInput(s, env, sk)
	if t.State == closed {
		return
	}
	if !p.dataInput(s, env, sk) {
		return
	}
	if len(sk.Marks) > 0 {
		sk.Marks.arrived(env.Now(), func(m *mark) bool { return !m.Own && m.Key <= t.RcvNxt })
	}
	sk.output(s, env)
}

// timeWaitInput handles a segment for a connection in TIME_WAIT; true says that it opens a new connection and the
// old one is gone.
func (p *packet) timeWaitInput(s *State, env Env, sk *sock) bool {
	switch {
	case p.Flags&flagRST != 0:
		sk.finish(s, env)
	case p.Flags&(flagSYN|flagACK) == flagSYN && p.Seq > sk.TCP.RcvNxt:
		sk.finish(s, env)
		return true
	case p.end() > p.Seq || p.Seq < sk.TCP.RcvNxt:
		sk.ack(s, env)
	}
	return false
}

// passiveOpen handles a SYN to a listening socket.
func (p *packet) passiveOpen(s *State, env Env, l *sock) {
	if l.Accept.full() || len(l.Accept.Pending) > l.tuned(s).Backlog {
		if s.Seen != nil && p.From != p.To {
			s.Seen.add(ConnectionKind{Node: p.To, Peer: p.From, Port: p.Dst.Port, Served: true, What: QueueFull})
		}
		return // the client tries again
	}
	sk := s.create(l.Node, l.Kind)
	if sk == nil {
		return
	}
	sk.Open, sk.Opt, sk.Shut = false, l.Opt, l.Shut
	sk.Local, sk.Remote, sk.Named, sk.Connected = p.Dst, p.Src, true, true
	t := newTCB()
	sk.TCP = t
	t.State, t.Parent, t.Peer, t.Stream, t.Server = synRecv, l.ID, p.From, p.Stream, true
	t.RcvISS, t.RcvNxt, t.RcvEdge = p.Seq, p.Seq+1, p.Seq+1
	t.SndISS = s.iss()
	t.SndUna, t.SndNxt, t.SndMax, t.SndEnd = t.SndISS, t.SndISS+1, t.SndISS+1, t.SndISS+1
	t.RightEdge = t.SndNxt + p.Window
	s.Nodes[l.Node].Flows[flowKey{sk.Local, sk.Remote}] = sk.ID
	l.Accept.Pending = append(l.Accept.Pending, sk.ID)
	sk.sendSYN(s, env)
}

// sendSYN sends or repeats a SYN or SYN-ACK.
func (sk *sock) sendSYN(s *State, env Env) {
	t := sk.TCP
	flags := uint8(flagSYN)
	if t.State == synRecv {
		flags |= flagACK
	}
	sk.emit(s, env, flags, t.SndISS, nil)
	t.RetransAt = env.Now() + sk.patience(s, env)
	if t.Retries == 0 {
		t.FirstSent = env.Now()
	}
	sk.arm(s)
}

func (p *packet) synSentInput(s *State, env Env, sk *sock) {
	t := sk.TCP
	if p.Flags&flagACK != 0 && p.Ack != t.SndNxt {
		p.answer(s, env)
		return
	}
	if p.Flags&flagRST != 0 {
		if p.Flags&flagACK != 0 {
			sk.Marks.settleOwn(env.Now(), p.Ack)
			sk.Marks.bring(env.Now(), p.Cause)
			sk.saw(s, Refused)
			sk.tcpFail(s, env, errno.ECONNREFUSED)
		}
		return
	}
	if p.Flags&flagSYN == 0 {
		return
	}
	t.RcvISS, t.RcvNxt = p.Seq, p.Seq+1
	t.RcvEdge = t.RcvNxt
	if p.Flags&flagACK == 0 { // both sides connect to each other
		t.State, t.Retries = synRecv, 0
		t.RightEdge = t.SndNxt + p.Window
		sk.sendSYN(s, env)
		return
	}
	t.RightEdge = p.Ack + p.Window
	sk.establish(s, env, p.Ack)
	sk.ack(s, env)
	env.Wake(sk.ID, pollOut)
	sk.output(s, env)
}

// establish begins the time of data.
func (sk *sock) establish(s *State, env Env, ack int64) {
	t := sk.TCP
	t.State = established
	sk.Connected = true
	if !t.Server {
		sk.saw(s, Connected)
	}
	t.SndUna, t.Retries, t.RetransAt, t.UnreachAt = ack, 0, 0, 0
	sk.Marks.settleOwn(env.Now(), ack)
	if !sk.Opt.SndBufSet {
		sk.Opt.SndBuf = sndBufTCPLink
		if t.Peer == sk.Node {
			sk.Opt.SndBuf = sndBufTCPLoopback
		}
		sk.Opt.SndBuf = min(sk.Opt.SndBuf, sk.tuned(s).SndBufMax)
	}
	sk.armKeepalive(s, env)
}

func (sk *sock) armKeepalive(s *State, env Env) {
	t := sk.TCP
	if t == nil {
		return
	}
	t.KeepAt = 0
	if sk.Opt.KeepAlive && (t.State == established || t.State == closeWait) {
		t.KeepAt = env.Now() + sk.Opt.keepIdle(sk.tuned(s))
		sk.arm(s)
	}
}

// synRecvInput completes a handshake; true says that the segment is then handled as one of the connection.
func (p *packet) synRecvInput(s *State, env Env, sk *sock) bool {
	t := sk.TCP
	l := s.Socks[t.Parent]
	switch {
	case p.Flags&flagRST != 0:
		if l == nil { // a simultaneous open
			sk.tcpFail(s, env, errno.ECONNREFUSED)
		} else {
			sk.finish(s, env)
		}
		return false
	case p.Flags&flagACK == 0:
		if p.Flags&flagSYN != 0 && p.Seq == t.RcvISS {
			sk.emit(s, env, flagSYN|flagACK, t.SndISS, nil)
		}
		return false
	case p.Ack != t.SndNxt:
		p.answer(s, env)
		return false
	}
	if l == nil {
		t.RightEdge = p.Ack + p.Window
		sk.establish(s, env, p.Ack)
		env.Wake(sk.ID, pollOut)
		return p.Flags&flagSYN == 0
	}
	if l.Accept.full() {
		return false // the SYN-ACK is repeated later
	}
	if l.Opt.DeferAcceptS > 0 && p.end() == p.Seq && (t.EndAt == 0 || env.Now() < t.EndAt) {
		if t.EndAt == 0 {
			t.EndAt, t.RetransAt = env.Now()+int64(l.Opt.DeferAcceptS)*second, 0
			sk.arm(s)
		}
		return false
	}
	t.RightEdge = p.Ack + p.Window
	l.takeIn(s, env, sk)
	return true
}

// takeIn moves a connection whose handshake is complete into the queue of accept.
func (l *sock) takeIn(s *State, env Env, sk *sock) {
	t := sk.TCP
	t.EndAt = 0
	sk.establish(s, env, t.SndNxt)
	sk.saw(s, Accepted)
	if i := slices.Index(l.Accept.Pending, sk.ID); i >= 0 {
		l.Accept.Pending = slices.Delete(l.Accept.Pending, i, i+1)
	}
	l.Accept.Ready = append(l.Accept.Ready, sk.ID)
	if len(l.Marks) > 0 {
		l.Marks.arrived(env.Now(), func(m *mark) bool { return !m.Own && m.Key == t.RcvISS })
	}
	env.Wake(l.ID, pollIn)
	if sk.Shut&shutWR != 0 { // its listener had been shut down before it listened
		sk.sendFIN(s, env)
	}
}

// resetInput handles a RST for a synchronised connection: RFC 5961 wants the exact number.
func (p *packet) resetInput(s *State, env Env, sk *sock) {
	t := sk.TCP
	if p.Seq != t.RcvNxt {
		if p.Seq > t.RcvNxt && p.Seq <= t.RcvEdge {
			sk.ack(s, env)
		}
		return
	}
	cause := p.Cause
	if cause.Kind == "" {
		cause = t.Broken
	}
	sk.resetBy(s, env, cause)
}

// ackInput handles the acknowledgement and the window of a segment.
func (p *packet) ackInput(s *State, env Env, sk *sock) {
	t := sk.TCP
	if p.Flags&flagACK == 0 {
		return
	}
	t.RightEdge = max(t.RightEdge, p.Ack+p.Window)
	if t.PersistAt != 0 {
		t.Retries = 0 // the peer answers probes, which continue at a growing distance
		t.FirstSent = env.Now()
	}
	if p.Ack <= t.SndUna {
		return
	}
	sk.acknowledge(s, env, p.Ack)
	sk.Marks.settleOwn(env.Now(), p.Ack)
	if !t.FinQueued || p.Ack < t.SndEnd {
		return
	}
	switch t.State { // the peer has our FIN
	case finWait1:
		t.State = finWait2
		if !sk.Open {
			t.EndAt = env.Now() + sk.tuned(s).finTimeoutNs()
			sk.arm(s)
		}
		env.Wake(sk.ID, pollOut)
	case closing:
		sk.enterTimeWait(s, env, false)
	case lastAck:
		sk.finish(s, env)
	}
}

// dataInput handles the bytes and the FIN of a segment; false says that the connection is gone.
func (p *packet) dataInput(s *State, env Env, sk *sock) bool {
	t := sk.TCP
	if p.end() == p.Seq {
		return true
	}
	data, seq := p.Data, p.Seq
	finSeq := int64(0)
	if p.Flags&flagFIN != 0 {
		finSeq = p.Seq + int64(len(p.Data))
	}
	if (t.State == finWait1 || t.State == finWait2) && sk.Shut&shutRD != 0 && seq+int64(len(data)) > t.RcvNxt {
		sk.Err = errno.ECONNRESET // no program will ever read it (RFC 1122, 4.2.2.13)
		sk.reset(s, env)
		return false
	}
	if t.Done {
		sk.ack(s, env)
		return true
	}
	if skip := t.RcvNxt - seq; skip > 0 {
		data, seq = data[min(skip, int64(len(data))):], t.RcvNxt
	}
	if room := t.RcvEdge - seq; int64(len(data)) > room {
		data, finSeq = data[:max(room, 0)], 0
	}
	before := t.RcvNxt
	if seq > t.RcvNxt {
		if len(data) > 0 {
			t.keepEarly(s, seq, data)
		}
		if finSeq != 0 {
			t.EarlyFin = finSeq
		}
		sk.ack(s, env)
		return true
	}
	t.urgentInput(p)
	t.accept(s, data)
	t.fill(s)
	sk.urgentReached(s, env)
	if finSeq == 0 {
		finSeq = t.EarlyFin
	}
	fin := finSeq != 0 && finSeq == t.RcvNxt
	if fin {
		p.finInput(s, env, sk)
	}
	if t.State == closed {
		return false
	}
	sk.ack(s, env)
	if t.RcvNxt > before && !fin {
		env.Wake(sk.ID, pollIn)
	}
	return true
}

// finInput handles the peer's FIN, which is next in order.
func (p *packet) finInput(s *State, env Env, sk *sock) {
	t := sk.TCP
	t.RcvNxt++
	t.RcvEdge = max(t.RcvEdge, t.RcvNxt)
	t.Done = true
	sk.Shut |= shutRD
	sk.Marks.bring(env.Now(), p.Cause)
	if t.State == established && t.queued() > 0 {
		sk.saw(s, ClosedUnsent)
	} else if t.State == established {
		sk.saw(s, ClosedByPeer)
	}
	switch t.State {
	case established:
		t.State = closeWait
	case finWait1:
		t.State = closing
	case finWait2:
		sk.enterTimeWait(s, env, true)
		return
	}
	sk.wakeAtEnd(env)
}

// enterTimeWait ends a connection in order. As in Linux a small socket of its own waits for late segments, and what
// the program holds is closed.
func (sk *sock) enterTimeWait(s *State, env Env, ackFIN bool) {
	t := sk.TCP
	tw := s.create(sk.Node, sk.Kind)
	if tw != nil {
		tw.Open, tw.Opt = false, sk.Opt
		tw.Local, tw.Remote, tw.Named, tw.Connected = sk.Local, sk.Remote, true, true
		tw.TCP = &tcb{State: timeWait, SndUna: t.SndMax, SndNxt: t.SndMax, SndMax: t.SndMax, SndEnd: t.SndMax, RcvNxt: t.RcvNxt,
			RcvEdge: t.RcvNxt, Peer: t.Peer, Stream: t.Stream, Server: t.Server, LastArrive: t.LastArrive, EndAt: env.Now() + timeWaitNs}
	}
	sk.finish(s, env)
	if tw == nil {
		return
	}
	s.Nodes[tw.Node].Flows[flowKey{tw.Local, tw.Remote}] = tw.ID
	tw.arm(s)
	if ackFIN {
		tw.ack(s, env)
	}
}

// tcpTimer does what is due on a connection.
func (sk *sock) tcpTimer(s *State, env Env, slow bool) {
	t := sk.TCP
	now := env.Now()
	*t.timer(slow) = 0
	due := func(at int64) bool { return at != 0 && at <= now }
	switch {
	case due(t.UnreachAt):
		sk.saw(s, Unreachable)
		sk.tcpFail(s, env, errno.EHOSTUNREACH)
		return
	case due(t.EndAt):
		t.EndAt = 0
		if l := s.Socks[t.Parent]; t.State == synRecv && l != nil {
			if l.Accept.full() {
				t.EndAt = now + second
			} else {
				l.takeIn(s, env, sk)
			}
			break
		}
		sk.finish(s, env)
		return
	case due(t.RetransAt):
		if sk.retransmit(s, env) {
			return
		}
	case due(t.PersistAt):
		if sk.expired(s, env, sk.tuned(s).DataRetries) {
			return
		}
		t.Retries++
		t.ProbeBackoff++
		t.PersistAt = now + min(sk.rto(s)<<min(t.ProbeBackoff, 16), rtoMaxNs)
		sk.emit(s, env, flagACK, t.SndUna-1, nil)
	case due(t.KeepAt):
		if sk.keepalive(s, env) {
			return
		}
	}
	sk.arm(s)
}

// expired ends a connection whose peer has been silent for too long.
func (sk *sock) expired(s *State, env Env, retries int) bool {
	t := sk.TCP
	if !sk.Open && t.Parent == 0 {
		retries = min(retries, sk.tuned(s).OrphanRetries)
	}
	user := int64(sk.Opt.UserTimeoutMs) * milli
	timedOut := t.Retries >= retries
	if user > 0 && t.Retries > 0 && t.State != synRecv {
		timedOut = timedOut || env.Now()-t.FirstSent >= user
	}
	if !timedOut {
		return false
	}
	if t.State == synRecv && t.Parent != 0 {
		sk.finish(s, env)
		return true
	}
	if n := s.Nodes[t.Peer]; !n.Up {
		sk.Marks.bring(env.Now(), n.Down)
	}
	sk.Marks.bring(env.Now(), s.link(sk.Node, t.Peer).stopped())
	if t.State == synSent {
		sk.saw(s, ConnectTimedOut)
	} else {
		sk.saw(s, TimedOut)
	}
	sk.tcpFail(s, env, errno.ETIMEDOUT)
	return true
}

// retransmit repeats the oldest segment that was not acknowledged; true says that the connection was given up.
func (sk *sock) retransmit(s *State, env Env) bool {
	t := sk.TCP
	now := env.Now()
	switch t.State {
	case synSent, synRecv:
		limit := sk.tuned(s).SynAckRetries
		if t.State == synSent {
			limit = sk.tuned(s).SynRetries
			if sk.Opt.SynCount > 0 {
				limit = sk.Opt.SynCount
			}
		}
		if sk.expired(s, env, limit) {
			return true
		}
		t.Retries++
		t.Retrans++
		sk.retried(s)
		sk.sendSYN(s, env)
		return false
	}
	if sk.expired(s, env, sk.tuned(s).DataRetries) {
		return true
	}
	t.Retries++
	t.Retrans++
	sk.retried(s)
	t.SndNxt, t.Recovery = t.SndUna, true
	t.RetransAt = now + sk.patience(s, env)
	if user := int64(sk.Opt.UserTimeoutMs) * milli; user > 0 {
		t.RetransAt = max(min(t.RetransAt, t.FirstSent+user), now+1)
	}
	sk.output(s, env)
	return false
}

// keepalive probes an idle peer; true says that the connection was given up.
func (sk *sock) keepalive(s *State, env Env) bool {
	t := sk.TCP
	now := env.Now()
	t.KeepAt = 0
	if t.State != established && t.State != closeWait && t.State != finWait2 {
		return false
	}
	if t.SndUna < t.SndMax || t.SndUna < t.SndEnd { // retransmissions do the probing
		t.KeepAt = now + sk.Opt.keepIdle(sk.tuned(s))
		return false
	}
	user := int64(sk.Opt.UserTimeoutMs) * milli
	if t.Probes >= cmp.Or(sk.Opt.KeepCount, sk.tuned(s).KeepCount) && user == 0 || user > 0 && t.Probes > 0 && now-t.LastHeard >= user {
		if n := s.Nodes[t.Peer]; !n.Up {
			sk.Marks.bring(now, n.Down)
		} else if ref := s.link(sk.Node, t.Peer).stopped(); ref.Kind != "" {
			sk.Marks.bring(now, ref)
		} else {
			sk.Marks.bring(now, s.link(t.Peer, sk.Node).stopped())
		}
		sk.emit(s, env, flagRST|flagACK, t.SndMax, nil)
		sk.saw(s, TimedOut)
		sk.tcpFail(s, env, errno.ETIMEDOUT)
		return true
	}
	t.Probes++
	t.KeepAt = now + sk.Opt.keepInterval(sk.tuned(s))
	sk.emit(s, env, flagACK, t.SndUna-1, nil)
	return false
}

// connectionStream names the draws of a new connection after its ordinal among those of its kind.
func (s *State) connectionStream(from, to NodeID, port uint16) string {
	n := s.Nodes[from]
	k := destKey{to, port}
	i := n.Ordinals[k]
	n.Ordinals[k] = i + 1
	return "net/" + n.Name + ">" + s.Nodes[to].Name + ":" + strconv.Itoa(int(port)) + "/" + strconv.FormatUint(i, 10)
}
