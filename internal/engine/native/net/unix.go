package net

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// unixSock is what only unix sockets have: see unix(7).
type unixSock struct {
	Abstract  string // bound name, with its leading zero byte
	Path      string // bound pathname, as the program gave it
	Inode     int64
	Listening bool
	Peer      SockID
	PeerName  Addr   // the peer's name at connect, for when it is gone
	Parent    SockID // listener, until accepted
	PeerGone  bool
	Cred      Cred // of the process that made the socket pair, listened or connected
	PeerCred  Cred
	Sent      int64 // what of the send buffer lies in other sockets' queues
	// Blocked are senders that found this socket's queue full.
	Blocked []SockID
}

// unixPiece is the largest piece into which a write to a stream is cut: a linear part and 32 KiB of pages.
const unixPiece = skbMaxHead + 32768

func (sk *sock) unixName(s *State) Addr {
	a := Addr{Family: AF_UNIX}
	if sk != nil {
		a.Path, a.Inode = sk.Unix.Abstract, sk.Unix.Inode
		if sk.Unix.Inode != 0 {
			a.Path = sk.Unix.Path
		}
	}
	return a
}

// unixSender is the address that a message carries: none if the sender has no name.
func (sk *sock) unixSender(s *State) Addr {
	if !sk.Bound {
		return Addr{}
	}
	return sk.unixName(s)
}

func (sk *sock) unixBind(s *State, a Addr) errno.Errno {
	u := sk.Unix
	n := s.Nodes[sk.Node]
	has := sk.Bound || sk.unixName(s).Path != "" // an accepted socket has its listener's name
	switch {
	case a.Family != AF_UNIX:
		return errno.EINVAL
	case a.Path == "" && has:
		return errno.OK
	case a.Path == "":
		return sk.unixAutobind(s)
	case has:
		return errno.EINVAL
	case a.Path[0] == 0:
		k := abstractKey{sk.Type, a.Path}
		if _, taken := n.Abstract[k]; taken {
			return errno.EADDRINUSE
		}
		u.Abstract = a.Path
		n.Abstract[k] = sk.ID
	default:
		if a.Inode == 0 {
			panic("net: bind of a unix pathname without its inode")
		}
		u.Path, u.Inode = a.Path, a.Inode
		n.Paths[a.Inode] = sk.ID
	}
	sk.Bound = true
	return errno.OK
}

// unixAutobind picks a name of five hexadecimal digits in the abstract namespace.
func (sk *sock) unixAutobind(s *State) errno.Errno {
	n := s.Nodes[sk.Node]
	for range 1 << 20 {
		name := fmt.Sprintf("\x00%05x", n.NextAutobind&0xfffff)
		n.NextAutobind++
		if _, taken := n.Abstract[abstractKey{sk.Type, name}]; !taken {
			sk.Unix.Abstract, sk.Bound = name, true
			n.Abstract[abstractKey{sk.Type, name}] = sk.ID
			return errno.OK
		}
	}
	return errno.EADDRINUSE
}

// unixFind finds the socket that a name refers to.
func (sk *sock) unixFind(s *State, a Addr) *sock {
	n := s.Nodes[sk.Node]
	if a.Path != "" && a.Path[0] == 0 {
		return s.Socks[n.Abstract[abstractKey{sk.Type, a.Path}]]
	}
	return s.Socks[n.Paths[a.Inode]]
}

func (sk *sock) unixListen(s *State, env Env, backlog int, cred Cred) errno.Errno {
	u := sk.Unix
	switch {
	case sk.Type == SOCK_DGRAM:
		return errno.EOPNOTSUPP
	case !sk.Bound || u.Peer != 0 || u.PeerGone:
		return errno.EINVAL
	}
	u.Listening, u.Cred = true, cred
	if sk.Accept == nil {
		sk.Accept = &acceptQueue{}
	}
	sk.Accept.Backlog = backlog
	sk.wakeWaiting(s, env)
	return errno.OK
}

// wakeWaiting lets connects that found the queue full try again.
func (sk *sock) wakeWaiting(s *State, env Env) {
	waiting := sk.Accept.Waiting
	sk.Accept.Waiting = nil
	for _, id := range waiting {
		if s.Socks[id] != nil {
			env.Wake(id, pollOut)
		}
	}
}

func (sk *sock) unixConnect(s *State, env Env, a Addr, cred Cred) errno.Errno {
	u := sk.Unix
	if sk.Type == SOCK_DGRAM && a.Family == AF_UNSPEC {
		sk.unixDisconnect(s, env, 0)
		return errno.OK
	}
	if a.Family != AF_UNIX || a.Path == "" {
		return errno.EINVAL
	}
	other := sk.unixFind(s, a)
	switch {
	case other == nil || !other.Open:
		return errno.ECONNREFUSED
	case other.Type != sk.Type:
		return errno.EPROTOTYPE
	}
	if sk.Type == SOCK_DGRAM {
		if p := other.Unix.Peer; p != 0 && p != sk.ID {
			return errno.EPERM
		}
		sk.unixDisconnect(s, env, other.ID)
		u.PeerName = other.unixName(s)
		return errno.OK
	}
	switch {
	case !other.Unix.Listening || other.Shut&shutRD != 0:
		return errno.ECONNREFUSED
	case other.Accept.full():
		if !slices.Contains(other.Accept.Waiting, sk.ID) {
			other.Accept.Waiting = append(other.Accept.Waiting, sk.ID)
		}
		return errno.EAGAIN
	case u.Listening:
		return errno.EINVAL
	case u.Peer != 0 || u.PeerGone:
		return errno.EISCONN
	}
	child := s.create(sk.Node, Kind{AF_UNIX, sk.Type, 0})
	if child == nil {
		return errno.ENOMEM
	}
	child.Open, child.Opt = false, other.Opt
	child.Opt.SndBuf, child.Opt.RcvBuf, child.Opt.RcvLowat = bufDatagram, bufDatagram, 1
	// The child shows the listener's name without owning it.
	child.Unix = &unixSock{Peer: sk.ID, Parent: other.ID, Cred: other.Unix.Cred, PeerCred: cred}
	child.Unix.Abstract, child.Unix.Path, child.Unix.Inode = other.Unix.Abstract, other.Unix.Path, other.Unix.Inode
	child.Unix.PeerName = sk.unixName(s)
	u.Peer, u.PeerName, u.Cred, u.PeerCred = child.ID, other.unixName(s), cred, other.Unix.Cred
	sk.Connected, child.Connected = true, true
	other.Accept.Ready = append(other.Accept.Ready, child.ID)
	env.Wake(other.ID, pollIn)
	return errno.OK
}

// unixDisconnect gives a datagram socket another peer. Data that it had received is lost if it had one before, and
// then a peer that was connected to it gets an error (unix_dgram_disconnected of Linux).
func (sk *sock) unixDisconnect(s *State, env Env, peer SockID) {
	u := sk.Unix
	old := u.Peer
	u.Peer = peer
	if old == 0 || old == peer || len(sk.Queue) == 0 {
		return
	}
	for len(sk.Queue) > 0 {
		if files := sk.Queue[0].Files; len(files) > 0 {
			env.DropFiles(files)
		}
		sk.unixConsume(s, env)
	}
	sk.wakeBlocked(s, env)
	if other := s.Socks[old]; other != nil && other.Unix.Peer == sk.ID {
		other.Err = errno.ECONNRESET
		env.Wake(other.ID, pollIn|pollOut|POLLERR)
	}
}

// Socketpair makes two connected sockets: see socketpair(2).
func (s *State) Socketpair(n NodeID, kind Kind, cred Cred) (SockID, SockID, errno.Errno) {
	if kind.Family != AF_UNIX {
		if kind.Internet() {
			return 0, 0, errno.EOPNOTSUPP
		}
		return 0, 0, errno.EAFNOSUPPORT
	}
	a, e := s.Socket(n, kind)
	if e != errno.OK {
		return 0, 0, e
	}
	b, e := s.Socket(n, kind)
	if e != errno.OK {
		delete(s.Socks, a)
		return 0, 0, e
	}
	for _, pair := range [][2]SockID{{a, b}, {b, a}} {
		sk := s.Socks[pair[0]]
		sk.Connected = true
		sk.Unix.Peer, sk.Unix.Cred, sk.Unix.PeerCred = pair[1], cred, cred
		sk.Unix.PeerName = Addr{Family: AF_UNIX}
	}
	return a, b, errno.OK
}

func (sk *sock) unixSend(s *State, env Env, a SendArgs) (int, errno.Errno) {
	if sk.Type == SOCK_STREAM {
		return sk.unixSendStream(s, env, a)
	}
	return sk.unixSendMessage(s, env, a)
}

func (sk *sock) unixSendStream(s *State, env Env, a SendArgs) (int, errno.Errno) {
	u := sk.Unix
	if a.To != nil {
		if u.Peer != 0 || u.PeerGone {
			return 0, errno.EISCONN
		}
		return 0, errno.EOPNOTSUPP
	}
	peer := s.Socks[u.Peer]
	switch {
	case peer == nil && !u.PeerGone:
		return 0, errno.ENOTCONN
	case sk.Shut&shutWR != 0 || peer == nil || peer.Shut&shutRD != 0:
		return 0, errno.EPIPE
	}
	sent := 0
	for sent < len(a.Data) {
		if u.Sent >= sk.Opt.SndBuf {
			break
		}
		n := min(len(a.Data)-sent, int(max(sk.Opt.SndBuf/2-64, 1)), unixPiece)
		m := message{Data: slices.Clone(a.Data[sent : sent+n]), Cred: a.Cred, Charge: chargeStream(n), Sender: sk.ID}
		if sent == 0 {
			m.Files = slices.Clone(a.Files)
		}
		u.Sent += m.Charge
		peer.enqueue(s, m)
		env.Wake(peer.ID, pollIn)
		sent += n
	}
	if sent < len(a.Data) {
		sk.NoSpace = true
	}
	if sent == 0 && len(a.Data) > 0 {
		return 0, errno.EAGAIN
	}
	return sent, errno.OK
}

func (sk *sock) unixSendMessage(s *State, env Env, a SendArgs) (int, errno.Errno) {
	u := sk.Unix
	named := a.To != nil && sk.Type == SOCK_DGRAM // a seqpacket socket ignores an address
	// The order of the checks is that of unix_dgram_sendmsg.
	switch {
	case named && a.To.Family != AF_UNIX:
		return 0, errno.EINVAL
	case sk.Type == SOCK_SEQPACKET && u.Peer == 0 && !u.PeerGone:
		return 0, errno.ENOTCONN
	case int64(len(a.Data)) > sk.Opt.SndBuf-32:
		return 0, errno.EMSGSIZE
	case sk.Err != errno.OK:
		return 0, sk.takeError()
	case sk.Shut&shutWR != 0:
		return 0, errno.EPIPE
	case u.Sent >= sk.Opt.SndBuf:
		sk.NoSpace = true
		return 0, errno.EAGAIN
	case !named && u.Peer == 0 && !u.PeerGone:
		return 0, errno.ENOTCONN
	}
	peer := s.Socks[u.Peer]
	if named {
		peer = sk.unixFind(s, *a.To)
		switch {
		case peer == nil || !peer.Open:
			return 0, errno.ECONNREFUSED
		case peer.Type != SOCK_DGRAM:
			return 0, errno.EPROTOTYPE
		}
	}
	if peer == nil {
		if sk.Type == SOCK_SEQPACKET {
			return 0, errno.EPIPE
		}
		sk.unixDisconnect(s, env, 0)
		return 0, errno.ECONNREFUSED
	}
	if p := peer.Unix.Peer; sk.Type == SOCK_DGRAM && p != 0 && p != sk.ID {
		return 0, errno.EPERM
	}
	if peer.Shut&shutRD != 0 {
		return 0, errno.EPIPE
	}
	if sk.unixQueueFull(s, peer) {
		sk.NoSpace = true
		if !slices.Contains(peer.Unix.Blocked, sk.ID) {
			peer.Unix.Blocked = append(peer.Unix.Blocked, sk.ID)
		}
		return 0, errno.EAGAIN
	}
	m := message{Data: slices.Clone(a.Data), From: sk.unixSender(s), Files: slices.Clone(a.Files), Cred: a.Cred,
		Charge: chargeMessage(len(a.Data)), Sender: sk.ID}
	u.Sent += m.Charge
	peer.enqueue(s, m)
	env.Wake(peer.ID, pollIn)
	return len(a.Data), errno.OK
}

// unixQueueFull reports whether a datagram queue takes no more. Two sockets connected to each other are bound by
// their send buffers alone.
func (sk *sock) unixQueueFull(s *State, peer *sock) bool {
	return peer.Unix.Peer != sk.ID && len(peer.Queue) > peer.tuned(s).DgramQueue
}

func (sk *sock) unixRecv(s *State, env Env, limit, flags int) (Received, errno.Errno) {
	u := sk.Unix
	if sk.Type != SOCK_DGRAM && u.Peer == 0 && !u.PeerGone {
		if sk.Type == SOCK_SEQPACKET {
			return Received{}, errno.ENOTCONN
		}
		return Received{}, errno.EINVAL
	}
	if sk.Type != SOCK_STREAM && sk.Err != errno.OK {
		return Received{}, sk.takeError()
	}
	if len(sk.Queue) == 0 {
		switch {
		case sk.Err != errno.OK:
			return Received{}, sk.takeError()
		case sk.Shut&shutRD != 0 && (sk.Type != SOCK_DGRAM || flags&MSG_DONTWAIT == 0):
			return Received{}, errno.OK
		}
		return Received{}, errno.EAGAIN
	}
	if sk.Type == SOCK_STREAM {
		return sk.unixRecvStream(s, env, limit, flags), errno.OK
	}
	m := &sk.Queue[0]
	r := m.received(limit)
	if flags&MSG_PEEK == 0 {
		sk.unixConsume(s, env)
		sk.wakeBlocked(s, env)
	}
	return r, errno.OK
}

// unixRecvStream reads over the borders of writes, but not past a message that carries files, nor, where the reader
// wants credentials, past a change of the sender.
func (sk *sock) unixRecvStream(s *State, env Env, limit, flags int) Received {
	first := &sk.Queue[0]
	r := Received{Cred: first.Cred}
	peek := flags&MSG_PEEK != 0
	for i := 0; len(r.Data) < limit || limit == 0; {
		if i >= len(sk.Queue) {
			break
		}
		m := &sk.Queue[i]
		if sk.Opt.PassCred && m.Cred != r.Cred {
			break
		}
		if len(m.Files) > 0 {
			r.Files = m.Files
			if !peek {
				m.Files = nil
			}
		}
		n := min(limit-len(r.Data), len(m.Data))
		if len(r.Data) == 0 {
			r.Data = m.Data[:n:n]
		} else {
			r.Data = append(r.Data, m.Data[:n]...)
		}
		switch {
		case peek:
			i++
		case n == len(m.Data):
			sk.unixConsume(s, env)
		default:
			m.Data = m.Data[n:]
			s.Bytes -= int64(n)
		}
		if len(r.Files) > 0 || limit == 0 {
			break
		}
	}
	r.Full = len(r.Data)
	return r
}

// unixConsume drops the first message and gives its room back to the sender.
func (sk *sock) unixConsume(s *State, env Env) {
	m := &sk.Queue[0]
	from, charge := s.Socks[m.Sender], m.Charge
	sk.dequeue(s)
	if from == nil || from.Unix == nil {
		return
	}
	from.Unix.Sent -= charge
	if from.NoSpace && from.unixWritable() {
		from.NoSpace = false
		env.Wake(from.ID, pollOut)
	}
}

func (sk *sock) wakeBlocked(s *State, env Env) {
	if len(sk.Queue) > sk.tuned(s).DgramQueue {
		return
	}
	blocked := sk.Unix.Blocked
	sk.Unix.Blocked = nil
	for _, id := range blocked {
		if s.Socks[id] != nil {
			env.Wake(id, pollOut)
		}
	}
}

// unixWritable is unix_writable of Linux: a quarter of the send buffer is in use at most.
func (sk *sock) unixWritable() bool { return sk.Unix.Sent*4 <= sk.Opt.SndBuf }

func (sk *sock) unixShutdown(s *State, env Env, bits uint8) {
	sk.Shut |= bits
	env.Wake(sk.ID, pollIn|pollOut|POLLRDHUP|POLLHUP)
	if sk.Accept != nil && bits&shutRD != 0 {
		sk.wakeWaiting(s, env)
	}
	peer := s.Socks[sk.Unix.Peer]
	if peer == nil || sk.Type == SOCK_DGRAM {
		return
	}
	if bits&shutRD != 0 {
		peer.Shut |= shutWR
	}
	if bits&shutWR != 0 {
		peer.Shut |= shutRD
	}
	peer.wakeAtEnd(env)
}

func (sk *sock) unixClose(s *State, env Env, cause FaultRef) {
	u := sk.Unix
	if sk.Accept != nil {
		for _, id := range sk.Accept.Ready {
			child := s.Socks[id]
			child.unixHangUp(s, env, cause, true)
			child.forgetUnix(s, env)
		}
		sk.wakeWaiting(s, env)
	}
	if sk.Type != SOCK_DGRAM {
		sk.unixHangUp(s, env, cause, len(sk.Queue) > 0)
	}
	blocked := u.Blocked
	u.Blocked = nil
	sk.forgetUnix(s, env)
	for _, id := range blocked {
		if s.Socks[id] != nil {
			env.Wake(id, pollOut)
		}
	}
}

// forgetUnix takes a socket out, and gives the room of what it did not read back to the senders.
func (sk *sock) forgetUnix(s *State, env Env) {
	for len(sk.Queue) > 0 {
		if files := sk.Queue[0].Files; len(files) > 0 {
			env.DropFiles(files)
		}
		sk.unixConsume(s, env)
	}
	sk.forget(s, env)
}

// unixHangUp notifies the peer of a connection that the socket is gone; unread data is a reset.
func (sk *sock) unixHangUp(s *State, env Env, cause FaultRef, unread bool) {
	peer := s.Socks[sk.Unix.Peer]
	if peer == nil {
		return
	}
	peer.Shut = shutRD | shutWR
	peer.Unix.Peer, peer.Unix.PeerGone = 0, true
	if unread {
		peer.Err = errno.ECONNRESET
	}
	peer.Marks.bring(env.Now(), cause)
	env.Wake(peer.ID, pollIn|pollOut|POLLRDHUP|POLLHUP)
}

func (sk *sock) unixPoll(s *State) uint32 {
	u := sk.Unix
	var mask uint32
	if sk.Err != errno.OK {
		mask |= POLLERR
	}
	if sk.Shut == shutRD|shutWR {
		mask |= POLLHUP
	}
	if sk.Shut&shutRD != 0 {
		mask |= pollIn | POLLRDHUP
	}
	if len(sk.Queue) > 0 || sk.Accept != nil && len(sk.Accept.Ready) > 0 {
		mask |= pollIn
	}
	if sk.Type != SOCK_DGRAM && u.Peer == 0 && !u.Listening {
		mask |= POLLHUP
	}
	writable := !u.Listening && sk.unixWritable()
	if peer := s.Socks[u.Peer]; writable && peer != nil && sk.Type != SOCK_STREAM && sk.unixQueueFull(s, peer) {
		writable = false
		if !slices.Contains(peer.Unix.Blocked, sk.ID) {
			peer.Unix.Blocked = append(peer.Unix.Blocked, sk.ID)
		}
	}
	if writable {
		mask |= pollOut | POLLWRBAND
	} else {
		sk.NoSpace = true
	}
	return mask
}

// Forgotten notifies the network that the file of a bound unix socket is gone: no program can connect by it any more.
func (s *State) Forgotten(n NodeID, inode int64) { delete(s.Nodes[n].Paths, inode) }
