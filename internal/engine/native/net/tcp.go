package net

import (
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"slices"
	"sort"
)

// States of a TCP connection, with Linux' numbers (TCP_INFO shows them).
const (
	established = 1
	synSent     = 2
	synRecv     = 3
	finWait1    = 4
	finWait2    = 5
	timeWait    = 6
	closed      = 7
	closeWait   = 8
	lastAck     = 9
	listen      = 10
	closing     = 11
)

const (
	flagFIN = 1
	flagSYN = 2
	flagRST = 4
	flagACK = 16
)

// chunk is a run of bytes of a send queue.
type chunk struct {
	Seq  int64
	Data []byte
}

// tcb is one end of a TCP connection (RFC 9293's transmission control block). Sequence numbers are 64 bits wide and
// never wrap. SYN and FIN take one number each.
type tcb struct {
	State int

	// Sending: SndUna is the first number not acknowledged, SndNxt the next to send, SndMax the highest sent,
	// SndEnd the end of what the program has written, FIN included.
	SndISS, SndUna, SndNxt, SndMax, SndEnd int64
	SndQueue                               []chunk
	FinQueued                              bool
	RightEdge                              int64 // the peer accepts numbers below this
	Acked                                  int64 // bytes since the send buffer last grew

	// Receiving: RcvNxt is the next number expected, RcvEdge the highest right edge advertised.
	RcvISS, RcvNxt, RcvEdge int64
	RcvQueue                [][]byte
	RcvBytes                int64
	Early                   []chunk // segments beyond a gap, in order
	EarlyBytes              int64
	EarlyFin                int64 // number of a FIN beyond a gap, or 0
	Done                    bool  // the peer's FIN has been reached
	Read                    int64 // bytes since the receive buffer last grew
	Answered                int64 // what the program had taken as it sent the last answer: see State.Answered
	Bulk                    bool  // much is on its way: see State.Transfers
	Urgent                  uint8 // see urgent.go
	UrgentByte              byte
	UrgentSeq               int64
	SndUrgent               int64 // the number after the urgent byte that was sent last

	// Retransmission.
	RetransAt    int64 // 0: nothing is in flight
	Retries      int
	Recovery     bool  // one segment at a time until the next acknowledgement
	FirstSent    int64 // when the oldest unacknowledged number was first sent
	PersistAt    int64 // next probe of a closed window
	ProbeBackoff int
	KeepAt       int64 // next keepalive
	Probes       int   // keepalives and window probes without an answer
	LastHeard    int64
	EndAt        int64 // end of TIME_WAIT, of an orphan's FIN_WAIT2, or of TCP_DEFER_ACCEPT
	UnreachAt    int64 // when no node has answered for the peer's address
	Void         bool  // what is sent is dropped on the way: the peer is on another network
	FastAt       int64 // pending timer event of the fast deadlines, or 0
	SlowAt       int64 // and of the slow ones

	Stage      uint8 // what connect and listen may do: the state of struct socket
	Parent     SockID
	Peer       NodeID
	Stream     string // prefix of the connection's draws
	Server     bool   // which direction of Stream is ours
	LastArrive int64  // segments do not overtake each other
	Retrans    uint32 // for TCP_INFO
	Cause      FaultRef
	// Broken is the fault by which the peer's end of the connection is gone, if there is one.
	Broken FaultRef
	// TookData says that the call under way has got bytes that came before whatever has ended the connection.
	TookData bool
	// For Seen: what the program writes next is the rest of a message, and what its messages look like.
	Rest     bool
	Protocol coverage.Protocol
}

// Stages of a TCP socket in connect(2): Linux keeps them apart from the state of the protocol.
const (
	unconnected   = 0
	connecting    = 1 // connect has begun and not returned its result
	connected     = 2 // stays when the connection ends
	disconnecting = 3 // shut down after a connect that failed
)

func newTCB() *tcb { return &tcb{State: closed} }

func (t *tcb) timer(slow bool) *int64 {
	if slow {
		return &t.SlowAt
	}
	return &t.FastAt
}

// queued is the number of payload bytes that are not acknowledged.
func (t *tcb) queued() int64 {
	if len(t.SndQueue) == 0 {
		return 0
	}
	last := &t.SndQueue[len(t.SndQueue)-1]
	return last.Seq + int64(len(last.Data)) - t.SndQueue[0].Seq
}

func (p *packet) end() int64 {
	n := p.Seq + int64(len(p.Data))
	if p.Flags&flagSYN != 0 {
		n++
	}
	if p.Flags&flagFIN != 0 {
		n++
	}
	return n
}

func earliest(at ...int64) int64 {
	var first int64
	for _, a := range at {
		if a != 0 && (first == 0 || a < first) {
			first = a
		}
	}
	return first
}

// arm makes sure that a timer event comes no later than the next deadline.
func (sk *sock) arm(s *State) {
	t := sk.TCP
	sk.armOne(s, false, earliest(t.RetransAt, t.PersistAt))
	sk.armOne(s, true, earliest(t.KeepAt, t.EndAt, t.UnreachAt))
}

func (sk *sock) armOne(s *State, slow bool, at int64) {
	slot := sk.TCP.timer(slow)
	if at == 0 || *slot != 0 && *slot <= at {
		return
	}
	if *slot != 0 {
		s.Stale++
	}
	*slot = at
	s.push(event{At: at, Kind: evTimer, Sock: sk.ID, Slow: slow})
}

func (s *State) iss() int64 {
	s.NextISS += issStep
	return s.NextISS
}

// patience is how long to wait for an acknowledgement. As an estimate of the round trip does, it grows where a link is slow.
func (sk *sock) patience(s *State, env Env) int64 {
	wait := sk.rto(s)
	if peer := sk.TCP.Peer; peer != sk.Node {
		wait += s.link(sk.Node, peer).lag(env.Now()) + s.link(peer, sk.Node).lag(env.Now())
	}
	return wait
}

// rto is the retransmission timeout after the given number of retries.
func (sk *sock) rto(s *State) int64 {
	t := sk.TCP
	base := rtoMinNs + s.roundTrip(sk.Node, t.Peer)
	if t.State == synSent || t.State == synRecv {
		base = rtoSynNs
	}
	for i := 0; i < t.Retries && base < rtoMaxNs; i++ {
		base *= 2
	}
	return min(base, rtoMaxNs)
}

// window is how many more bytes the receive buffer takes. An advertised edge is never taken back.
func (t *tcb) window(sk *sock) int64 {
	t.RcvEdge = max(t.RcvEdge, t.RcvNxt+max(sk.Opt.RcvBuf/2-t.RcvBytes-t.EarlyBytes, 0))
	return t.RcvEdge - t.RcvNxt
}

func (t *tcb) stream() string {
	if t.Server {
		return t.Stream + "/s2c"
	}
	return t.Stream + "/c2s"
}

// emit sends one segment of a connection.
func (sk *sock) emit(s *State, env Env, flags uint8, seq int64, data []byte) {
	t := sk.TCP
	if t.Void {
		return
	}
	p := &packet{From: sk.Node, To: t.Peer, Proto: IPPROTO_TCP, Src: sk.Local, Dst: sk.Remote, Flags: flags, Seq: seq, Data: data}
	if flags&flagACK != 0 {
		p.Ack = t.RcvNxt
		p.Window = t.window(sk)
	} else {
		p.Window = sk.Opt.RcvBuf / 2
	}
	if flags&flagSYN != 0 {
		p.Stream = t.Stream
	}
	if t.SndUrgent > seq {
		p.Urgent = t.SndUrgent
	}
	if flags&(flagFIN|flagRST) != 0 {
		p.Cause = t.Cause
	}
	if p.From == p.To {
		p.looped(env)
		s.Soft = append(s.Soft, p)
		return
	}
	f := s.pass(env, p.From, p.To, t.stream(), len(data), p.end() > seq, false)
	p.sent(env, f)
	for _, ref := range f.causes() {
		p.withholdTCP(s, f.Due, ref)
	}
	if f.Lost {
		return
	}
	t.LastArrive = max(t.LastArrive, f.At)
	f.At = t.LastArrive
	p.put(s, f)
}

// answer sends a segment that belongs to no connection: a RST.
func (to *packet) answer(s *State, env Env) {
	if to.Flags&flagRST != 0 {
		return
	}
	p := &packet{From: to.To, To: to.From, Proto: IPPROTO_TCP, Src: to.Dst, Dst: to.Src, Flags: flagRST}
	if to.Flags&flagACK != 0 {
		p.Seq = to.Ack
	} else {
		p.Flags |= flagACK
		p.Ack = to.end()
	}
	n := s.Nodes[p.From]
	if p.Cause = n.DeadPorts[to.Dst.Port]; p.Cause.Kind == "" {
		p.Cause = n.Down
	}
	if p.From == p.To {
		p.looped(env)
		s.Soft = append(s.Soft, p)
		return
	}
	f := s.pass(env, p.From, p.To, "", 0, false, false)
	p.sent(env, f)
	if !f.Lost {
		p.put(s, f)
	}
}

func (sk *sock) ack(s *State, env Env) { sk.emit(s, env, flagACK, sk.TCP.SndMax, nil) }

// output sends what the window allows, and keeps the timers of sending.
func (sk *sock) output(s *State, env Env) {
	t := sk.TCP
	now := env.Now()
	limit := int64(maxSegmentLink)
	if t.Peer == sk.Node {
		limit = maxSegmentLoopback
	}
	dataEnd := t.SndEnd
	if t.FinQueued {
		dataEnd--
	}
	for t.SndNxt < t.SndEnd {
		if t.Recovery && t.SndNxt > t.SndUna {
			break
		}
		if t.SndNxt == dataEnd { // only the FIN is left
			sk.emit(s, env, flagFIN|flagACK, t.SndNxt, nil)
			t.SndNxt++
			break
		}
		room := min(limit, t.RightEdge-t.SndNxt)
		if room <= 0 {
			break
		}
		data := t.piece(t.SndNxt, room)
		flags := uint8(flagACK)
		next := t.SndNxt + int64(len(data))
		if t.FinQueued && next == dataEnd {
			flags |= flagFIN
			next++
		}
		sk.emit(s, env, flags, t.SndNxt, data)
		t.SndNxt = next
	}
	t.SndMax = max(t.SndMax, t.SndNxt)
	switch {
	case t.SndUna < t.SndMax:
		t.PersistAt = 0
		if t.RetransAt == 0 {
			t.RetransAt, t.FirstSent = now+sk.patience(s, env), now
		}
	case t.SndUna < t.SndEnd: // the window is closed and nothing is in flight
		t.RetransAt = 0
		if t.PersistAt == 0 {
			sk.saw(s, WindowClosed)
			t.PersistAt, t.FirstSent, t.ProbeBackoff = now+sk.patience(s, env), now, 0
		}
	default:
		t.RetransAt, t.PersistAt = 0, 0
	}
	sk.arm(s)
}

// piece returns at most limit bytes of the send queue from seq on.
func (t *tcb) piece(seq, limit int64) []byte {
	q := t.SndQueue
	i := sort.Search(len(q), func(i int) bool { return q[i].Seq > seq }) - 1
	data := q[i].Data[seq-q[i].Seq:]
	n := min(int64(len(data)), limit)
	return data[:n:n]
}

// write appends to the send queue. Bytes that were sent already never change, so segments may refer to them.
func (t *tcb) write(data []byte) {
	if k := len(t.SndQueue) - 1; k >= 0 && t.SndQueue[k].Seq >= t.SndMax && len(t.SndQueue[k].Data) < chunkBytes {
		n := min(len(data), chunkBytes-len(t.SndQueue[k].Data))
		t.SndQueue[k].Data = append(t.SndQueue[k].Data, data[:n]...)
		t.SndEnd += int64(n)
		data = data[n:]
	}
	if len(data) > 0 {
		t.SndQueue = append(t.SndQueue, chunk{t.SndEnd, slices.Clone(data)})
		t.SndEnd += int64(len(data))
	}
}

// acknowledge drops what the peer has up to ack.
func (sk *sock) acknowledge(s *State, env Env, ack int64) {
	t := sk.TCP
	t.SndUna = ack
	i := 0
	for i < len(t.SndQueue) && t.SndQueue[i].Seq+int64(len(t.SndQueue[i].Data)) <= ack {
		n := int64(len(t.SndQueue[i].Data))
		s.Bytes -= n
		t.Acked += n
		t.SndQueue[i].Data = nil
		i++
	}
	if t.SndQueue = t.SndQueue[i:]; len(t.SndQueue) == 0 {
		t.SndQueue = nil
	} else if c := &t.SndQueue[0]; c.Seq < ack {
		n := ack - c.Seq
		s.Bytes -= n
		t.Acked += n
		c.Data, c.Seq = c.Data[n:], ack
	}
	t.SndNxt = max(t.SndNxt, ack)
	t.Retries, t.Recovery, t.RetransAt, t.FirstSent = 0, false, 0, env.Now()
	if !sk.Opt.SndBufSet && t.Acked >= sk.Opt.SndBuf && sk.Opt.SndBuf < sk.tuned(s).SndBufMax {
		sk.Opt.SndBuf = min(2*sk.Opt.SndBuf, sk.tuned(s).SndBufMax)
		t.Acked = 0
	}
	sk.offerSpace(s, env)
}

// offerSpace wakes writers once a third of the buffer is free, as sk_stream_write_space does.
func (sk *sock) offerSpace(s *State, env Env) {
	if sk.NoSpace && sk.tcpWritable() {
		sk.NoSpace = false
		env.Wake(sk.ID, pollOut)
	}
}

func (sk *sock) tcpWritable() bool {
	q := sk.TCP.queued()
	return sk.Opt.SndBuf-q >= q/2
}

// accept puts bytes that are next in order into the receive queue.
func (t *tcb) accept(s *State, data []byte) {
	if len(data) == 0 {
		return
	}
	n := len(data)
	s.Bytes += int64(n)
	t.RcvBytes += int64(n)
	t.RcvNxt += int64(n)
	// Small pieces are gathered, so that a queue of single bytes does not cost a slice for each.
	if k := len(t.RcvQueue) - 1; k >= 0 && n < 1024 && len(t.RcvQueue[k]) < 4096 {
		t.RcvQueue[k] = append(t.RcvQueue[k], data...)
		return
	}
	t.RcvQueue = append(t.RcvQueue, data[:n:n])
}

// keepEarly stores a segment beyond a gap.
func (t *tcb) keepEarly(s *State, seq int64, data []byte) {
	i := sort.Search(len(t.Early), func(i int) bool { return t.Early[i].Seq >= seq })
	if i < len(t.Early) && t.Early[i].Seq == seq {
		if len(t.Early[i].Data) >= len(data) {
			return
		}
		t.countEarly(s, -len(t.Early[i].Data))
		t.Early[i].Data = data
	} else {
		t.Early = slices.Insert(t.Early, i, chunk{seq, data})
	}
	t.countEarly(s, len(data))
}

func (t *tcb) countEarly(s *State, n int) {
	t.EarlyBytes += int64(n)
	s.Bytes += int64(n)
}

// fill moves early segments that are next in order into the receive queue.
func (t *tcb) fill(s *State) {
	for len(t.Early) > 0 && t.Early[0].Seq <= t.RcvNxt {
		c := t.Early[0]
		t.Early[0] = chunk{}
		t.Early = t.Early[1:]
		t.countEarly(s, -len(c.Data))
		if skip := t.RcvNxt - c.Seq; skip < int64(len(c.Data)) {
			t.accept(s, c.Data[skip:])
		}
	}
	if len(t.Early) == 0 {
		t.Early = nil
	}
}

// dropTCP frees what a connection holds and takes it out of the table of flows.
func (sk *sock) dropTCP(s *State) {
	t := sk.TCP
	s.Bytes -= t.queued() + t.RcvBytes + t.EarlyBytes
	t.SndQueue, t.RcvQueue, t.Early = nil, nil, nil
	t.RcvBytes, t.EarlyBytes = 0, 0
	sk.leaveFlows(s)
	sk.TCP.disarm(s)
}

func (t *tcb) disarm(s *State) {
	t.RetransAt, t.PersistAt, t.KeepAt, t.EndAt, t.UnreachAt = 0, 0, 0, 0, 0
	for _, slot := range []*int64{&t.FastAt, &t.SlowAt} {
		if *slot != 0 {
			*slot = 0
			s.Stale++
		}
	}
}

func (sk *sock) leaveFlows(s *State) {
	n := s.Nodes[sk.Node]
	if k := (flowKey{sk.Local, sk.Remote}); n.Flows[k] == sk.ID {
		delete(n.Flows, k)
	}
	if p := s.Socks[sk.TCP.Parent]; p != nil && p.Accept != nil {
		if i := slices.Index(p.Accept.Pending, sk.ID); i >= 0 {
			p.Accept.Pending = slices.Delete(p.Accept.Pending, i, i+1)
		}
	}
}

// finish ends a connection: data that was not sent is dropped, data that was received stays readable.
func (sk *sock) finish(s *State, env Env) {
	t := sk.TCP
	s.Bytes -= t.queued() + t.EarlyBytes
	t.SndQueue, t.Early, t.EarlyBytes = nil, nil, 0
	t.SndUna, t.SndEnd = t.SndNxt, t.SndNxt
	t.SndMax = t.SndNxt
	sk.leaveFlows(s)
	sk.TCP.disarm(s)
	t.State = closed
	sk.Shut = shutRD | shutWR
	if !sk.Open && !sk.waitsForAccept(s) {
		if sk.Opt.Linger && sk.Opt.LingerS > 0 {
			env.Wake(sk.ID, pollOut) // whoever waits in close(2)
		}
		sk.forget(s, env)
		return
	}
	if !sk.PortLocked {
		s.unbind(sk)
		sk.Named = false
	}
	env.Wake(sk.ID, pollIn|pollOut|POLLRDHUP|POLLHUP|POLLERR)
}

// waitsForAccept reports whether an accept call may still hand out the connection.
func (sk *sock) waitsForAccept(s *State) bool {
	p := s.Socks[sk.TCP.Parent]
	return p != nil && p.Accept != nil && slices.Contains(p.Accept.Ready, sk.ID)
}

// tcpFail ends a connection with an error.
func (sk *sock) tcpFail(s *State, env Env, e errno.Errno) {
	sk.Err = e
	sk.finish(s, env)
}

// Reset ends every connection between two nodes at one of them, as a middlebox does that forgets them and answers by RST:
// who holds that end sees it at once, and the other end when it next sends. It reports how many there were.
func (s *State) Reset(env Env, from, to NodeID, ref FaultRef) int {
	n := 0
	for _, id := range s.sorted() {
		sk := s.Socks[id]
		if sk == nil || sk.TCP == nil || sk.Node != to || sk.TCP.Peer != from || !sk.TCP.synchronised() {
			continue
		}
		n++
		if peer := s.flow(from, sk.Remote, sk.Local); peer != nil {
			peer.TCP.Broken = ref
		}
		sk.cut(env, ref)
		sk.resetBy(s, env, ref)
	}
	s.settle(env)
	return n
}

// synchronised reports whether both ends of a connection know that it is established.
func (t *tcb) synchronised() bool {
	switch t.State {
	case established, finWait1, finWait2, closeWait, closing, lastAck:
		return true
	}
	return false
}

// resetBy ends a connection that a RST has reached, because of a fault if there is one.
func (sk *sock) resetBy(s *State, env Env, ref FaultRef) {
	if sk.TCP.queued() > 0 {
		sk.saw(s, ResetUnsent)
	} else {
		sk.saw(s, ResetReceived)
	}
	sk.Marks.bring(env.Now(), ref)
	if sk.TCP.State == closeWait {
		sk.tcpFail(s, env, errno.EPIPE)
	} else {
		sk.tcpFail(s, env, errno.ECONNRESET)
	}
}

// reset ends a connection and notifies the peer by RST.
func (sk *sock) reset(s *State, env Env) {
	sk.saw(s, ResetSent)
	sk.emit(s, env, flagRST|flagACK, sk.TCP.SndMax, nil)
	sk.finish(s, env)
}
