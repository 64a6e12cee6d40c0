package net

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

func (sk *sock) tcpListen(s *State, backlog int) errno.Errno {
	t := sk.TCP
	switch {
	case t.State == listen:
		sk.Accept.Backlog = backlog
		return errno.OK
	case t.State != closed || t.Stage != unconnected:
		return errno.EINVAL
	}
	if !sk.Named {
		sk.Local.IP = sk.wildcard()
		if !s.autobind(sk, nil) {
			return errno.EADDRINUSE
		}
		sk.Named = true
	} else if sk.inUseByListener(s) {
		return errno.EADDRINUSE
	}
	t.State = listen
	sk.Connected = false
	sk.Accept = &acceptQueue{Backlog: backlog}
	s.claim(sk)
	delete(s.Nodes[sk.Node].DeadPorts, sk.Local.Port)
	return errno.OK
}

// inUseByListener reports whether another socket that shares the port by SO_REUSEADDR listens already.
func (sk *sock) inUseByListener(s *State) bool {
	for _, id := range s.Nodes[sk.Node].Ports[portKey{IPPROTO_TCP, sk.Local.Port}] {
		if o := s.Socks[id]; o.TCP.State == listen && sk.conflicts(o) {
			return true
		}
	}
	return false
}

func (sk *sock) tcpConnect(s *State, env Env, a Addr) errno.Errno {
	t := sk.TCP
	if a.Family == AF_UNSPEC {
		sk.disconnect(s, env)
		return errno.OK
	}
	switch {
	case t.Stage == disconnecting:
		return errno.EINVAL
	case t.Stage == connected || t.State == listen:
		return errno.EISCONN
	case t.State == synSent || t.State == synRecv:
		return errno.EALREADY
	case t.Stage == connecting && t.State == closed:
		return sk.connectFailed(s)
	case t.Stage == connecting:
		t.Stage = connected
		return errno.OK
	}
	dst, who, to, e := s.reach(sk, a)
	switch {
	case e != errno.OK:
		return e
	case to == outside:
		return errno.ENETUNREACH
	}
	if dst.IP.isMulticast() {
		return errno.ENETUNREACH
	}
	local := sk.Local
	if !sk.Bound || local.IP.isAny() {
		sk.Local.IP = sk.sourceOf(s, dst.IP)
	}
	if !sk.Named && !s.autobind(sk, &dst) {
		sk.Local = local
		return errno.EADDRNOTAVAIL
	}
	n := s.Nodes[sk.Node]
	k := flowKey{sk.Local, dst}
	if other := s.Socks[n.Flows[k]]; other != nil {
		if other.TCP.State != timeWait || env.Now() < other.TCP.EndAt-timeWaitNs+timeWaitReuseNs {
			sk.Local = local
			return errno.EADDRNOTAVAIL
		}
		other.finish(s, env)
	}
	old := *t
	*t = tcb{State: synSent, Peer: who, FastAt: old.FastAt, SlowAt: old.SlowAt, Stage: connecting}
	sk.Remote, sk.Named = dst, true
	t.SndISS = s.iss()
	t.SndUna, t.SndNxt, t.SndMax, t.SndEnd = t.SndISS, t.SndISS+1, t.SndISS+1, t.SndISS+1
	n.Flows[k] = sk.ID
	if to == reached && !s.answered(who, sk.Local.IP) {
		to = dropped
	}
	switch to {
	case dropped:
		t.Peer, t.Void = sk.Node, true
		sk.sendSYN(s, env)
		return errno.EINPROGRESS
	case silent:
		t.Peer = sk.Node
		t.UnreachAt = env.Now() + neighbourFailNs
		sk.arm(s)
		return errno.EINPROGRESS
	}
	t.Stream = s.connectionStream(sk.Node, who, dst.Port)
	sk.sendSYN(s, env)
	return errno.EINPROGRESS
}

// answered reports whether what a node sends back to an address arrives: not where a socket is bound to an address of a network
// that the node is not on.
func (s *State) answered(from NodeID, ip IP) bool {
	if ip.isLoopback() {
		return true
	}
	_, to := s.route(from, ip)
	return to == reached
}

// disconnect is connect to AF_UNSPEC, or shutdown of a listening socket.
func (sk *sock) disconnect(s *State, env Env) {
	t := sk.TCP
	switch t.State {
	case listen:
		sk.stopListening(s, env, FaultRef{})
		t.State = closed
		if !sk.PortLocked {
			s.unbind(sk)
			sk.Named = false
		}
	case closed:
	case synSent:
		sk.finish(s, env)
	default:
		sk.reset(s, env)
	}
	sk.Shut, sk.Err, sk.Connected, t.Stage = 0, errno.OK, false, unconnected
	t.forgetReceived(s)
}

// stopListening resets the connections that were not accepted and frees the queue.
func (sk *sock) stopListening(s *State, env Env, cause FaultRef) {
	q := sk.Accept
	sk.Accept = nil
	for _, id := range slices.Concat(q.Ready, q.Pending) {
		child := s.Socks[id]
		child.TCP.Cause = cause
		child.TCP.Parent = 0
		if child.TCP.State == closed {
			child.forget(s, env)
		} else {
			child.reset(s, env)
		}
	}
	if cause.Kind != "" {
		s.Nodes[sk.Node].DeadPorts[sk.Local.Port] = cause
	}
}

func (sk *sock) tcpSend(s *State, env Env, a SendArgs) (int, errno.Errno) {
	t := sk.TCP
	if t.State != established && t.State != closeWait {
		switch {
		case sk.Err != errno.OK:
			return 0, sk.takeError()
		case t.State == synSent || t.State == synRecv:
			return 0, errno.EAGAIN
		}
		return 0, errno.EPIPE
	}
	if sk.Err != errno.OK {
		return 0, sk.takeError()
	}
	if sk.Shut&shutWR != 0 {
		return 0, errno.EPIPE
	}
	if len(a.Data) == 0 {
		return 0, errno.OK
	}
	room := sk.Opt.SndBuf - t.queued()
	if room <= 0 {
		sk.wantRoom()
		return 0, errno.EAGAIN
	}
	data := a.Data[:min(int64(len(a.Data)), room)]
	if len(data) < len(a.Data) {
		sk.wantRoom()
	}
	s.Bytes += int64(len(data))
	if s.Seen != nil {
		sk.sent(s, a.Data)
		t.Rest = len(data) < len(a.Data)
	}
	t.write(data)
	if a.Flags&MSG_OOB != 0 {
		t.SndUrgent = t.SndEnd
	}
	sk.output(s, env)
	return len(data), errno.OK
}

// Answered reports whether the n bytes that a program has just sent begin an answer: it has taken bytes of its peer since it sent
// the answer before, and some of the n bytes have left the node. to is the peer's node.
func (s *State) Answered(id SockID, n int) (to NodeID, ok bool) {
	sk := s.sock(id)
	if sk == nil || sk.TCP == nil {
		return 0, false
	}
	t := sk.TCP
	taken := t.RcvNxt - t.RcvBytes
	if taken <= max(t.Answered, t.RcvISS+1) || t.SndNxt <= t.SndEnd-int64(n) {
		return 0, false
	}
	t.Answered = taken
	return t.Peer, true
}

// Serves gives the port of a TCP socket that listens, if other nodes can reach it; 0 if not.
func (s *State) Serves(id SockID) (port int) {
	sk := s.sock(id)
	if sk == nil || sk.TCP == nil || sk.TCP.State != listen || sk.Local.IP.isLoopback() {
		return 0
	}
	return int(sk.Local.Port)
}

// Service is the port by which the service of a connection is known: the lower one of its two.
func (s *State) Service(id SockID) int {
	sk := s.sock(id)
	if sk == nil {
		return 0
	}
	return int(min(sk.Local.Port, sk.Remote.Port))
}

// bulkBytes are so many that a program which has written them, and of which the peer has none yet, is sending something large.
const bulkBytes = 64 << 10

// Transfers reports whether much is on its way on a connection for the first time since less than half of that was. to is the peer's node.
func (s *State) Transfers(id SockID) (to NodeID, ok bool) {
	sk := s.sock(id)
	if sk == nil || sk.TCP == nil {
		return 0, false
	}
	t := sk.TCP
	switch waits := t.SndEnd - t.SndUna; {
	case waits < bulkBytes/2:
		t.Bulk = false
	case waits >= bulkBytes && !t.Bulk:
		t.Bulk = true
		return t.Peer, true
	}
	return 0, false
}

func (sk *sock) tcpRecv(s *State, env Env, limit, flags int) (Received, errno.Errno) {
	t := sk.TCP
	t.TookData = false
	most, skip := sk.TCP.beforeUrgent(limit, sk.Opt.inline())
	switch {
	case t.State == listen:
		return Received{}, errno.ENOTCONN
	case flags&MSG_OOB != 0:
		return sk.recvUrgent(limit, flags)
	case t.RcvBytes > int64(skip) && limit > 0:
		t.TookData = true
		data := t.takeBytes(most+skip, flags&MSG_PEEK != 0)
		if flags&MSG_PEEK == 0 {
			s.Bytes -= int64(len(data))
			t.passUrgent()
			sk.readSome(s, env, int64(len(data)))
		}
		data = data[skip:]
		return Received{Data: data, Full: len(data)}, errno.OK
	case t.Done:
		return Received{}, errno.OK
	case sk.Err != errno.OK:
		return Received{}, sk.takeError()
	case sk.Shut&shutRD != 0:
		return Received{}, errno.OK
	case t.State == closed:
		return Received{}, errno.ENOTCONN
	case limit == 0 && t.RcvBytes > 0:
		return Received{}, errno.OK
	}
	return Received{}, errno.EAGAIN
}

// takeBytes copies up to limit bytes out of the receive queue, and removes them unless peek is set.
func (t *tcb) takeBytes(limit int, peek bool) []byte {
	first := t.RcvQueue[0]
	var data []byte
	if len(first) >= limit || len(t.RcvQueue) == 1 {
		n := min(limit, len(first))
		data = first[:n:n]
	} else {
		data = make([]byte, 0, min(int64(limit), t.RcvBytes))
		for _, c := range t.RcvQueue {
			n := min(len(c), limit-len(data))
			data = append(data, c[:n]...)
			if len(data) == limit {
				break
			}
		}
	}
	if peek {
		return data
	}
	t.RcvBytes -= int64(len(data))
	for left := len(data); left > 0; {
		if n := len(t.RcvQueue[0]); n > left {
			t.RcvQueue[0] = t.RcvQueue[0][left:]
			break
		} else {
			left -= n
			t.RcvQueue[0] = nil
			t.RcvQueue = t.RcvQueue[1:]
		}
	}
	if len(t.RcvQueue) == 0 {
		t.RcvQueue = nil
	}
	return data
}

// readSome lets the receive buffer grow with a reader that keeps up, and notifies the sender of a window that opens.
func (sk *sock) readSome(s *State, env Env, n int64) {
	t := sk.TCP
	t.Read += n
	if !sk.Opt.RcvBufSet && t.Read >= sk.Opt.RcvBuf && sk.Opt.RcvBuf < sk.tuned(s).RcvBufMax {
		sk.Opt.RcvBuf = min(2*sk.Opt.RcvBuf, sk.tuned(s).RcvBufMax)
		t.Read = 0
	}
	switch t.State {
	case established, finWait1, finWait2:
	default:
		return
	}
	// Avoiding silly windows (RFC 9293, 3.8.6.2.2): announce a half buffer or a segment, and only when the sender may
	// be waiting for it.
	half := sk.Opt.RcvBuf / 4
	left := t.RcvEdge - t.RcvNxt
	gain := t.RcvNxt + sk.Opt.RcvBuf/2 - t.RcvBytes - t.EarlyBytes - t.RcvEdge
	if left < half && gain >= min(half, maxSegmentLink) {
		sk.ack(s, env)
	}
}

func (sk *sock) tcpShutdown(s *State, env Env, bits uint8) errno.Errno {
	t := sk.TCP
	switch t.State {
	case closed:
		if t.Stage == connecting {
			t.Stage = disconnecting
		}
		sk.Shut |= bits
		env.Wake(sk.ID, pollIn|pollOut|POLLHUP|POLLRDHUP)
		return errno.ENOTCONN
	case listen:
		if bits&shutRD == 0 {
			return errno.OK
		}
		sk.disconnect(s, env)
		env.Wake(sk.ID, pollIn|pollOut|POLLHUP)
		return errno.OK
	case synSent:
		sk.disconnect(s, env)
		env.Wake(sk.ID, pollIn|pollOut|POLLHUP)
		return errno.OK
	}
	sk.Shut |= bits
	t.Stage = connected
	if bits&shutWR != 0 {
		sk.sendFIN(s, env)
	}
	if sk.TCP.State != closed {
		env.Wake(sk.ID, pollIn|pollOut|POLLRDHUP|POLLHUP)
	}
	return errno.OK
}

// sendFIN closes our direction.
func (sk *sock) sendFIN(s *State, env Env) {
	t := sk.TCP
	switch t.State {
	case established, synRecv:
		t.State = finWait1
	case closeWait:
		t.State = lastAck
	default:
		return
	}
	t.FinQueued = true
	t.SndEnd++
	sk.output(s, env)
}

func (sk *sock) tcpClose(s *State, env Env, cause FaultRef) {
	t := sk.TCP
	t.Cause = cause
	t.KeepAt = 0
	switch t.State {
	case closed:
		sk.forget(s, env)
		return
	case listen:
		sk.stopListening(s, env, cause)
		sk.forget(s, env)
		return
	case synSent:
		sk.finish(s, env)
		return
	}
	if t.RcvBytes > 0 || sk.Opt.Linger && sk.Opt.LingerS == 0 {
		sk.reset(s, env)
		return
	}
	sk.Shut = shutRD | shutWR
	s.unbind(sk)
	sk.sendFIN(s, env)
	if t.State == finWait2 {
		t.EndAt = env.Now() + sk.tuned(s).finTimeoutNs()
		sk.arm(s)
	}
}

func (sk *sock) tcpPoll() uint32 {
	t := sk.TCP
	if t.State == listen {
		if len(sk.Accept.Ready) > 0 {
			return pollIn
		}
		return 0
	}
	var mask uint32
	if sk.Shut == shutRD|shutWR || t.State == closed {
		mask |= POLLHUP
	}
	if sk.Shut&shutRD != 0 {
		mask |= pollIn | POLLRDHUP
	}
	if t.State != synSent && t.State != synRecv {
		_, skip := sk.TCP.beforeUrgent(0, sk.Opt.inline())
		if t.RcvBytes >= int64(max(sk.Opt.RcvLowat, 1)+skip) {
			mask |= pollIn
		}
		if t.Urgent == urgentArrived {
			mask |= POLLPRI
		}
		switch {
		case sk.Shut&shutWR != 0 || sk.tcpWritable():
			mask |= pollOut
		default:
			sk.wantRoom()
		}
	}
	if sk.Err != errno.OK {
		mask |= POLLERR
	}
	return mask
}
