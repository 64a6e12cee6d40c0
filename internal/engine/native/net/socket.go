package net

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Bits of sock.Shut.
const (
	shutRD = 1
	shutWR = 2
)

// Kind holds the arguments of socket(2): address family, type without SOCK_NONBLOCK and SOCK_CLOEXEC, and protocol.
type Kind struct{ Family, Type, Protocol int }

// Internet reports whether messages of the socket cross the network, and not only programs of its node.
func (k Kind) Internet() bool { return k.Family == AF_INET || k.Family == AF_INET6 }

// Object names the kind for people: unix, tcp or udp; empty for others.
func (k Kind) Object() string {
	switch {
	case k.Family == AF_UNIX:
		return "unix"
	case k.Type == SOCK_STREAM:
		return "tcp"
	case k.Type == SOCK_DGRAM:
		return "udp"
	}
	return ""
}

type sock struct {
	ID   SockID
	Node NodeID
	Kind
	// Open is true while a file description of a program refers to the socket.
	Open bool
	Opt  options

	Local, Remote AddrPort
	Bound         bool // by bind(2)
	PortLocked    bool // bind named the port: it stays when a connection ends
	AddrLocked    bool // bind named the address
	Named         bool // has a port
	Connected     bool
	Err           errno.Errno // SO_ERROR
	Shut          uint8
	NoSpace       bool // someone saw a full send buffer
	Marks         marks
	Read          places // UDP: the latest of each flow that was read

	TCP    *tcb
	Accept *acceptQueue // listening TCP and unix sockets
	Unix   *unixSock
	PortID uint32 // netlink

	// Queue holds messages of all types but TCP; Charge is what they cost of the receive buffer.
	Queue  []message
	Charge int64
	// Groups are the multicast groups joined.
	Groups []IP
}

// acceptQueue holds connections that wait for accept.
type acceptQueue struct {
	Backlog int
	Ready   []SockID
	// Pending are TCP connections whose handshake is not complete.
	Pending []SockID
	// Waiting are unix sockets whose connect found the queue full.
	Waiting []SockID
}

func (q *acceptQueue) full() bool { return len(q.Ready) > q.Backlog }

// message is a datagram, or a piece of a unix stream.
type message struct {
	Data   []byte
	From   Addr
	To     IP // UDP: the address it was sent to
	Files  []int64
	Cred   Cred
	TimeNs int64
	Charge int64
	Sender SockID // unix: whose send buffer it occupies
	Fault  FaultRef
	// Flipped, FlipRule and Place are those of the packet.
	Flipped, FlipRule int
	Place             place
}

// sock returns an open socket, or nil.
func (s *State) sock(id SockID) *sock {
	if sk := s.Socks[id]; sk != nil && sk.Open {
		return sk
	}
	return nil
}

func (s *State) create(n NodeID, kind Kind) *sock {
	if len(s.Socks) >= s.Config.MaxSockets {
		s.exceed("sockets")
		return nil
	}
	s.NextSock++
	sk := &sock{ID: s.NextSock, Node: n, Kind: kind, Open: true}
	sk.Opt.SndBuf, sk.Opt.RcvBuf, sk.Opt.RcvLowat = bufDatagram, bufDatagram, 1
	s.Socks[sk.ID] = sk
	return sk
}

// How many families, types and protocols of sockets Linux knows (AF_MAX, SOCK_MAX, IPPROTO_MAX).
const (
	maxFamilies  = 46
	maxTypes     = 11
	maxProtocols = 263
)

// Socket makes a socket of socket(2).
func (s *State) Socket(n NodeID, kind Kind) (SockID, errno.Errno) {
	switch {
	case kind.Family < 0 || kind.Family >= maxFamilies:
		return 0, errno.EAFNOSUPPORT
	case kind.Type < 0 || kind.Type >= maxTypes:
		return 0, errno.EINVAL
	}
	switch kind.Family {
	case AF_INET, AF_INET6:
		if kind.Protocol < 0 || kind.Protocol >= maxProtocols {
			return 0, errno.EINVAL
		}
		switch kind.Type {
		case SOCK_STREAM:
			if kind.Protocol != 0 && kind.Protocol != IPPROTO_TCP {
				return 0, errno.EPROTONOSUPPORT
			}
			kind.Protocol = IPPROTO_TCP
		case SOCK_DGRAM:
			if kind.Protocol != 0 && kind.Protocol != IPPROTO_UDP {
				return 0, errno.EPROTONOSUPPORT
			}
			kind.Protocol = IPPROTO_UDP
		case SOCK_RAW:
			return 0, errno.EPERM
		default:
			return 0, errno.ESOCKTNOSUPPORT
		}
	case AF_UNIX:
		if kind.Protocol != 0 && kind.Protocol != AF_UNIX {
			return 0, errno.EPROTONOSUPPORT
		}
		if kind.Type == SOCK_RAW {
			kind.Type = SOCK_DGRAM
		}
		if kind.Type != SOCK_STREAM && kind.Type != SOCK_DGRAM && kind.Type != SOCK_SEQPACKET {
			return 0, errno.ESOCKTNOSUPPORT
		}
		kind.Protocol = 0
	case AF_NETLINK:
		if kind.Type != SOCK_RAW && kind.Type != SOCK_DGRAM {
			return 0, errno.ESOCKTNOSUPPORT
		}
		if kind.Protocol != NETLINK_ROUTE && kind.Protocol != NETLINK_KOBJECT_UEVENT {
			return 0, errno.EPROTONOSUPPORT
		}
	default:
		return 0, errno.EAFNOSUPPORT
	}
	sk := s.create(n, kind)
	if sk == nil {
		return 0, errno.ENFILE
	}
	switch {
	case sk.Protocol == IPPROTO_TCP && kind.Family != AF_NETLINK:
		sk.TCP = newTCB()
		sk.Opt.SndBuf, sk.Opt.RcvBuf = sk.tuned(s).SndBuf, sk.tuned(s).RcvBuf
	case kind.Family == AF_UNIX:
		sk.Unix = &unixSock{}
	}
	sk.Opt.V6Only = kind.Family == AF_INET6 && sk.tuned(s).V6Only
	if kind.Family == AF_INET {
		sk.Local.IP, sk.Remote.IP = any4, any4
	}
	return sk.ID, errno.OK
}

// Kind returns the kind of a socket, or the zero Kind if there is no such socket.
func (s *State) Kind(id SockID) Kind {
	if sk := s.Socks[id]; sk != nil {
		return sk.Kind
	}
	return Kind{}
}

// Has reports whether there is such a socket.
func (s *State) Has(id SockID) bool { return s.Socks[id] != nil }

// describe formats local and remote address for people and traces, such as "10.0.0.1:80<10.0.0.2:32768".
func (s *State) describe(id SockID) string {
	sk := s.Socks[id]
	if sk == nil {
		return "closed"
	}
	d := sk.localAddr(s).String()
	if peer, e := s.Getpeername(id); e == errno.OK {
		d += "<" + peer.String()
	}
	return d
}

func (sk *sock) isUDP() bool { return sk.Family != AF_NETLINK && sk.Protocol == IPPROTO_UDP }

// Bind gives a socket a local address: see bind(2). For a unix pathname the kernel makes the file first and puts
// its number in a.Inode. cred is the caller.
func (s *State) Bind(env Env, id SockID, a Addr, cred Cred) errno.Errno {
	sk := s.sock(id)
	switch {
	case sk == nil:
		return errno.EBADF
	case sk.Family == AF_UNIX:
		return sk.unixBind(s, a)
	case sk.Family == AF_NETLINK:
		return sk.netlinkBind(s, a)
	}
	return s.inetBind(sk, a, cred)
}

// Listen makes a socket accept connections: see listen(2). cred is what SO_PEERCRED of clients shows.
func (s *State) Listen(env Env, id SockID, backlog int, cred Cred) errno.Errno {
	sk := s.sock(id)
	if sk == nil {
		return errno.EBADF
	}
	if most := sk.tuned(s).Backlog; backlog < 0 || backlog > most {
		backlog = most
	}
	switch {
	case sk.Unix != nil:
		return sk.unixListen(s, env, backlog, cred)
	case sk.TCP != nil:
		return sk.tcpListen(s, backlog)
	}
	return errno.EOPNOTSUPP
}

// Accept takes the next connection: see accept(2). EAGAIN: none is waiting. MSG_DONTWAIT in flags says that the call
// would not block, which matters only to a unix socket that was shut down.
func (s *State) Accept(env Env, id SockID, flags int) (SockID, Addr, errno.Errno) {
	sk := s.sock(id)
	switch {
	case sk == nil:
		return 0, Addr{}, errno.EBADF
	case sk.Unix != nil && sk.Type == SOCK_DGRAM || sk.Unix == nil && sk.TCP == nil:
		return 0, Addr{}, errno.EOPNOTSUPP
	case sk.Accept == nil:
		return 0, Addr{}, errno.EINVAL
	case len(sk.Accept.Ready) == 0:
		if sk.Shut&shutRD != 0 && flags&MSG_DONTWAIT == 0 {
			return 0, Addr{}, errno.EINVAL
		}
		return 0, Addr{}, errno.EAGAIN
	}
	child := s.Socks[sk.Accept.Ready[0]]
	sk.Accept.Ready = slices.Delete(sk.Accept.Ready, 0, 1)
	child.Open = true
	if child.TCP != nil {
		child.TCP.Parent, child.TCP.Stage = 0, connected
		return child.ID, sk.addr(child.Remote), errno.OK
	}
	child.Unix.Parent = 0
	sk.wakeWaiting(s, env)
	return child.ID, s.Socks[child.Unix.Peer].unixName(s), errno.OK
}

// Connect begins to connect: see connect(2). It never waits: EINPROGRESS (TCP) says to wait for POLLOUT and to ask
// ConnectResult; EAGAIN (unix) says that the listener's queue is full, and Wake names this socket when it has room.
func (s *State) Connect(env Env, id SockID, a Addr, cred Cred) errno.Errno {
	sk := s.sock(id)
	if sk == nil {
		return errno.EBADF
	}
	var e errno.Errno
	switch {
	case sk.Unix != nil:
		e = sk.unixConnect(s, env, a, cred)
	case sk.TCP != nil:
		e = sk.tcpConnect(s, env, a)
	case sk.isUDP():
		e = sk.udpConnect(s, a)
	default:
		sk.Remote.Port, sk.Connected = uint16(a.PortID), true
	}
	s.settle(env)
	return e
}

// ConnectResult reports how a Connect that answered EINPROGRESS went: EINPROGRESS while it is under way, OK once the
// socket is connected, else the error, which is then cleared.
func (s *State) ConnectResult(id SockID) errno.Errno {
	sk := s.sock(id)
	switch {
	case sk == nil:
		return errno.EBADF
	case sk.TCP == nil:
		return errno.OK
	case sk.TCP.State == synSent || sk.TCP.State == synRecv:
		return errno.EINPROGRESS
	case sk.Err != errno.OK || sk.TCP.State == closed:
		return sk.connectFailed(s)
	}
	sk.TCP.Stage = connected
	return errno.OK
}

// connectFailed gives the error of a connect that came to nothing; the socket is then as good as new.
func (sk *sock) connectFailed(s *State) errno.Errno {
	e := sk.takeError()
	if e == errno.OK {
		e = errno.ECONNABORTED // someone took the error already
	}
	sk.TCP.Stage, sk.Shut, sk.Connected = unconnected, 0, false
	sk.TCP.forgetReceived(s)
	return e
}

// forgetReceived empties the receive queue.
func (t *tcb) forgetReceived(s *State) {
	s.Bytes -= t.RcvBytes
	t.RcvQueue, t.RcvBytes, t.Done = nil, 0, false
}

func (sk *sock) takeError() errno.Errno {
	e := sk.Err
	sk.Err = errno.OK
	return e
}

// SendArgs are the parameters of Send.
type SendArgs struct {
	Data []byte // the network copies what it keeps
	// Flags of send(2). MSG_DONTWAIT and MSG_NOSIGNAL are the kernel's to act on.
	Flags int
	// To is the destination, if the call named one.
	To *Addr
	// Files are references that SCM_RIGHTS passes, with numbers that mean something to the kernel.
	Files []int64
	// Cred is the caller, or what it passed by SCM_CREDENTIALS.
	Cred Cred
}

// Send sends: see send(2). It takes as much of a stream as there is room for; EAGAIN says that there is none, and
// EPIPE calls for SIGPIPE.
func (s *State) Send(env Env, id SockID, a SendArgs) (int, errno.Errno) {
	sk := s.sock(id)
	if sk == nil {
		return 0, errno.EBADF
	}
	if a.Flags&MSG_OOB != 0 && sk.TCP == nil {
		return 0, errno.EOPNOTSUPP
	}
	if len(a.Files) > maxRightsInFlight {
		return 0, errno.EINVAL
	}
	if s.Bytes+int64(len(a.Data)) > s.Config.MaxBytes {
		s.exceed("bytes in sockets")
		return 0, errno.ENOBUFS
	}
	var n int
	var e errno.Errno
	switch {
	case sk.Unix != nil:
		n, e = sk.unixSend(s, env, a)
	case sk.TCP != nil:
		n, e = sk.tcpSend(s, env, a)
	case sk.isUDP():
		n, e = sk.udpSend(s, env, a)
	default:
		n, e = sk.netlinkSend(s, env, a)
	}
	s.settle(env)
	return n, e
}

// Received is the result of Recv.
type Received struct {
	// Data is what was read; it may alias the network's own bytes, so the caller must not change it.
	Data []byte
	// Full is the length of the whole datagram, which MSG_TRUNC makes the result.
	Full int
	// From is the sender, if the type of socket reports it.
	From Addr
	// Flags has MSG_TRUNC where a datagram was cut.
	Flags int
	// Files are the references of SCM_RIGHTS. With MSG_PEEK the kernel makes copies of them.
	Files []int64
	// Cred is the sender, for SO_PASSCRED.
	Cred Cred
	// To is the address that a UDP datagram was sent to, for IP_PKTINFO.
	To IP
	// TimeNs is when a datagram arrived, for SO_TIMESTAMP.
	TimeNs int64
}

// received is what a reader with room for limit bytes gets of a datagram.
func (m *message) received(limit int) Received {
	r := Received{Data: m.Data, Full: len(m.Data), From: m.From, Files: m.Files, Cred: m.Cred, To: m.To, TimeNs: m.TimeNs}
	if len(m.Data) > limit {
		r.Data = m.Data[:limit]
		r.Flags |= MSG_TRUNC
	}
	return r
}

// Recv reads at most limit bytes: see recv(2). EAGAIN says that there is nothing yet; no data without an error is
// the end of a stream (or an empty datagram). MSG_WAITALL and SO_RCVLOWAT are the kernel's to act on. MSG_DONTWAIT,
// which the kernel also sets for O_NONBLOCK, matters only to a datagram socket that was shut down.
func (s *State) Recv(env Env, id SockID, limit, flags int) (Received, errno.Errno) {
	sk := s.sock(id)
	switch {
	case sk == nil:
		return Received{}, errno.EBADF
	case flags&MSG_OOB != 0 && sk.TCP == nil:
		return Received{}, errno.EINVAL
	case flags&MSG_ERRQUEUE != 0:
		return Received{}, errno.EAGAIN
	}
	var r Received
	var e errno.Errno
	switch {
	case sk.Unix != nil:
		r, e = sk.unixRecv(s, env, limit, flags)
	case sk.TCP != nil:
		r, e = sk.tcpRecv(s, env, limit, flags)
	default:
		r, e = sk.datagramRecv(s, env, limit, flags)
	}
	s.settle(env)
	return r, e
}

// datagramRecv reads one message of a UDP or netlink socket.
func (sk *sock) datagramRecv(s *State, env Env, limit, flags int) (Received, errno.Errno) {
	if sk.Err != errno.OK {
		return Received{}, sk.takeError()
	}
	if len(sk.Queue) == 0 {
		if sk.Shut&shutRD != 0 && flags&MSG_DONTWAIT == 0 {
			return Received{}, errno.OK
		}
		return Received{}, errno.EAGAIN
	}
	m := &sk.Queue[0]
	r := m.received(limit)
	if flags&MSG_PEEK == 0 {
		sk.received(env, m, limit)
		sk.dequeue(s)
	}
	return r, errno.OK
}

// enqueue puts a message at the end of a socket's queue. Its bytes must not be in the account yet.
func (sk *sock) enqueue(s *State, m message) {
	s.Bytes += int64(len(m.Data))
	sk.Charge += m.Charge
	sk.Queue = append(sk.Queue, m)
}

// dequeue drops the first message of a queue.
func (sk *sock) dequeue(s *State) {
	m := &sk.Queue[0]
	s.Bytes -= int64(len(m.Data))
	sk.Charge -= m.Charge
	*m = message{}
	if sk.Queue = sk.Queue[1:]; len(sk.Queue) == 0 {
		sk.Queue = nil
	}
}

// What Linux 6 charges a socket for a buffer of n bytes: its struct, and the data with its own trailer rounded up
// to a slab or to pages (alloc_skb, alloc_skb_with_frags).
const (
	skbStruct    = 256
	skbTrailer   = 320
	skbHeaders   = 64                // room for the headers of a datagram
	skbSmallHead = 576               // slab of small heads
	skbMaxHead   = 4096 - skbTrailer // a stream's linear part
	skbMaxLinear = 4 * 4096          // a message's linear part, trailer included
)

func slab(n int64) int64 {
	size := int64(512)
	for size < n {
		size *= 2
	}
	return size
}

func pages(n int64) int64 { return (n + 4095) &^ 4095 }

// linear charges a buffer of which at most head bytes are linear and the rest is in pages.
func linear(n, head int64) int64 {
	if n <= head {
		return skbStruct + slab(n+skbTrailer)
	}
	paged := pages(n - head)
	return skbStruct + slab(max(n-paged, 0)+skbTrailer) + paged
}

func chargeStream(n int) int64  { return linear(int64(n), skbMaxHead) }
func chargeMessage(n int) int64 { return linear(int64(n), skbMaxLinear-skbTrailer) }

func chargeUDP(n int) int64 {
	if int64(n)+skbHeaders+skbTrailer <= skbSmallHead {
		return skbStruct + skbSmallHead
	}
	return skbStruct + slab(int64(n)+skbHeaders+skbTrailer)
}

// wakeAtEnd reports that the peer sends no more, or that both directions are over.
func (sk *sock) wakeAtEnd(env Env) {
	events := uint32(pollIn | POLLRDHUP)
	if sk.Shut == shutRD|shutWR {
		events |= POLLHUP | pollOut
	}
	env.Wake(sk.ID, events)
}

// Shutdown closes one or both directions: see shutdown(2).
func (s *State) Shutdown(env Env, id SockID, how int) errno.Errno {
	sk := s.sock(id)
	if sk == nil {
		return errno.EBADF
	}
	if how < SHUT_RD || how > SHUT_RDWR {
		return errno.EINVAL
	}
	bits := uint8(how + 1) // SHUT_RD 0 -> 1, SHUT_WR 1 -> 2, SHUT_RDWR 2 -> 3
	var e errno.Errno
	switch {
	case sk.Unix != nil:
		sk.unixShutdown(s, env, bits)
	case sk.TCP != nil:
		e = sk.tcpShutdown(s, env, bits)
	case sk.isUDP():
		sk.Shut |= bits
		if !sk.Connected {
			e = errno.ENOTCONN
		}
		env.Wake(sk.ID, pollIn|pollOut|POLLRDHUP|POLLHUP)
	default:
		e = errno.EOPNOTSUPP
	}
	s.settle(env)
	return e
}

// Close drops the last reference of programs to a socket: see close(2). The rest of a TCP connection continues by
// itself.
func (s *State) Close(env Env, id SockID) { s.CloseFor(env, id, FaultRef{}) }

// CloseFor is Close because of a fault that ended the process: peers that see the connection end, or are refused by
// the port later, have observed it.
func (s *State) CloseFor(env Env, id SockID, cause FaultRef) {
	sk := s.sock(id)
	if sk == nil {
		panic("net: Close of a socket that is not open")
	}
	sk.Open = false
	switch {
	case sk.Unix != nil:
		sk.unixClose(s, env, cause)
	case sk.TCP != nil:
		sk.tcpClose(s, env, cause)
	default:
		sk.forget(s, env)
	}
	s.settle(env)
}

// Lingering reports for how many nanoseconds close(2) waits, because of SO_LINGER, for a socket that Close has closed;
// 0 once the peer has acknowledged everything, the FIN included, or the connection is gone. Close itself never waits.
func (s *State) Lingering(id SockID) int64 {
	sk := s.Socks[id]
	if sk == nil || sk.TCP == nil || sk.Open || !sk.Opt.Linger {
		return 0
	}
	switch sk.TCP.State {
	case finWait1, closing, lastAck:
		return int64(sk.Opt.LingerS) * second
	}
	return 0
}

// forget takes a socket out of all tables without a word to anyone.
func (sk *sock) forget(s *State, env Env) {
	n := s.Nodes[sk.Node]
	if sk.TCP != nil {
		sk.dropTCP(s)
	}
	s.unbind(sk)
	if u := sk.Unix; u != nil {
		if k := (abstractKey{sk.Type, u.Abstract}); u.Abstract != "" && n.Abstract[k] == sk.ID {
			delete(n.Abstract, k)
		}
		if u.Inode != 0 && n.Paths[u.Inode] == sk.ID {
			delete(n.Paths, u.Inode)
		}
	}
	for len(sk.Queue) > 0 {
		m := &sk.Queue[0]
		if len(m.Files) > 0 {
			env.DropFiles(m.Files)
		}
		if from := s.Socks[m.Sender]; from != nil && from.Unix != nil {
			from.Unix.Sent -= m.Charge
		}
		sk.dequeue(s)
	}
	delete(s.Socks, sk.ID)
}

// Poll reports the events of poll(2) that hold now.
func (s *State) Poll(id SockID) uint32 {
	sk := s.sock(id)
	switch {
	case sk == nil:
		return POLLNVAL
	case sk.Unix != nil:
		return sk.unixPoll(s)
	case sk.TCP != nil:
		return sk.tcpPoll()
	}
	mask := uint32(pollOut)
	if sk.isUDP() {
		mask |= POLLWRBAND
	}
	if sk.Err != errno.OK {
		mask |= POLLERR
	}
	if sk.Shut&shutRD != 0 {
		mask |= POLLRDHUP | pollIn
	}
	if sk.Shut == shutRD|shutWR {
		mask |= POLLHUP
	}
	if len(sk.Queue) > 0 {
		mask |= pollIn
	}
	return mask
}

func (sk *sock) addr(a AddrPort) Addr { return Addr{Family: sk.Family, IP: a.IP, Port: a.Port} }

func (sk *sock) localAddr(s *State) Addr {
	switch {
	case sk.Unix != nil:
		return sk.unixName(s)
	case sk.Family == AF_NETLINK:
		return Addr{Family: AF_NETLINK, PortID: sk.PortID}
	}
	return sk.addr(sk.Local)
}

// Getsockname reports the local address.
func (s *State) Getsockname(id SockID) (Addr, errno.Errno) {
	sk := s.sock(id)
	if sk == nil {
		return Addr{}, errno.EBADF
	}
	return sk.localAddr(s), errno.OK
}

// Getpeername reports the address of the peer; ENOTCONN if there is none.
func (s *State) Getpeername(id SockID) (Addr, errno.Errno) {
	sk := s.Socks[id]
	switch {
	case sk == nil:
		return Addr{}, errno.EBADF
	case sk.Unix != nil:
		if sk.Unix.Peer == 0 && !sk.Unix.PeerGone {
			return Addr{}, errno.ENOTCONN
		}
		return sk.Unix.PeerName, errno.OK
	case sk.Family == AF_NETLINK:
		return Addr{Family: AF_NETLINK}, errno.OK
	case sk.TCP != nil && (sk.TCP.State == closed || sk.TCP.State == synSent || !sk.Connected) || !sk.Connected:
		return Addr{}, errno.ENOTCONN
	}
	return sk.addr(sk.Remote), errno.OK
}

// Readable is the number of bytes that FIONREAD (SIOCINQ) shows: all of a stream, the first datagram otherwise.
func (s *State) Readable(id SockID) int {
	sk := s.sock(id)
	switch {
	case sk == nil:
		return 0
	case sk.TCP != nil:
		most, _ := sk.TCP.beforeUrgent(int(sk.TCP.RcvBytes), sk.Opt.inline())
		return most
	case sk.Type == SOCK_STREAM:
		n := 0
		for i := range sk.Queue {
			n += len(sk.Queue[i].Data)
		}
		return n
	case len(sk.Queue) > 0:
		return len(sk.Queue[0].Data)
	}
	return 0
}

// Unsent is what SIOCOUTQ (TIOCOUTQ) shows: bytes that the peer has not acknowledged (TCP) or read (unix).
func (s *State) Unsent(id SockID) int {
	sk := s.sock(id)
	switch {
	case sk == nil:
		return 0
	case sk.TCP != nil:
		return int(sk.TCP.queued())
	case sk.Unix != nil:
		return int(sk.Unix.Sent)
	}
	return 0
}
