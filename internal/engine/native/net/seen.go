package net

import "github.com/bloodhound-dst/bloodhound/internal/coverage"

// Seen has what happened between nodes, as sets that grow with the kinds of things and not with their number. It is nil in a
// State for which no caller asks for it.
type Seen struct {
	Roles       []uint8 // of each node: a number that encodes the roles it has now, 0 for none
	Messages    map[MessageKind]uint32
	Connections map[ConnectionKind]uint32
	Last        []MessageKind // of each node: what it sent last, if its Head is not zero
}

// MessageKind is one kind of message between two nodes.
type MessageKind struct {
	From, To         NodeID
	FromRole, ToRole uint8
	Port             uint16 // of the service; 0 where neither end has a port of one
	Answer           bool   // it comes from the service
	Datagram         bool
	SizeLog          uint8 // its length in bytes is less than 4 to the power of SizeLog
	Head             coverage.Head
}

// Happening is an event of a connection, or the outcome of a question for a name.
type Happening uint8

// What happens to connections, as Node sees it.
const (
	Connected Happening = iota + 1
	Accepted
	Refused
	Unreachable
	ConnectTimedOut
	TimedOut
	ResetReceived
	ResetUnsent // with data that the peer had not acknowledged
	ResetSent
	ClosedByPeer
	ClosedUnsent // by the peer, with data that it had not acknowledged
	HalfOpen     // the peer sends on a connection of which this node knows nothing
	Retried
	RetriedOften
	WindowClosed
	QueueFull
	NameUnknown
	NameFailed
	NameSilent
)

func (h Happening) String() string {
	return [...]string{"", "connected", "accepted", "refused", "unreachable", "timed out while connecting", "timed out", "reset by peer",
		"reset by peer with data under way", "reset by itself", "closed by peer", "closed by peer with data under way", "half-open", "retransmits",
		"retransmits 4 times", "peer's window closed", "queue of accept full", "name unknown", "name failed", "name not answered"}[h]
}

// ConnectionKind is one thing that happened to connections between two nodes.
type ConnectionKind struct {
	Node, Peer         NodeID
	NodeRole, PeerRole uint8
	Port               uint16 // of the service
	Served             bool   // Node is the one that serves
	What               Happening
}

// maxKinds bounds the kinds of messages, and of what happens to connections, that are kept of a run.
const maxKinds = 4096

// Watch makes the State keep what is seen from now on.
func (s *State) Watch() {
	s.Seen = &Seen{Roles: make([]uint8, len(s.Nodes)), Last: make([]MessageKind, len(s.Nodes)),
		Messages: map[MessageKind]uint32{}, Connections: map[ConnectionKind]uint32{}}
}

// saw keeps what happened to a connection between two nodes; within a node it says nothing of a network.
func (sk *sock) saw(s *State, what Happening) {
	if s.Seen == nil || sk.TCP.Peer == sk.Node {
		return
	}
	s.Seen.add(ConnectionKind{Node: sk.Node, Peer: sk.TCP.Peer, Port: sk.service(), Served: sk.TCP.Server, What: what})
}

func (v *Seen) add(k ConnectionKind) {
	k.NodeRole = v.Roles[k.Node]
	if k.Peer >= 0 {
		k.PeerRole = v.Roles[k.Peer]
	}
	if _, ok := v.Connections[k]; ok || len(v.Connections) < maxKinds {
		v.Connections[k]++
	}
}

// service is the port of the end that serves.
func (sk *sock) service() uint16 {
	if sk.TCP.Server {
		return sk.Local.Port
	}
	return sk.Remote.Port
}

// sent keeps what a program has written to a connection, but not the rest of what had no room.
func (sk *sock) sent(s *State, data []byte) {
	if t := sk.TCP; t.Peer != sk.Node && !t.Rest {
		s.Seen.message(MessageKind{From: sk.Node, To: t.Peer, Port: sk.service(), Answer: t.Server}, &t.Protocol, data)
	}
}

// sentDatagram keeps a datagram that leaves its node.
func (s *State) sentDatagram(from, to NodeID, src, dst uint16, data []byte) {
	k := MessageKind{From: from, To: to, Datagram: true}
	switch {
	case dst < s.Nodes[to].Tuning.FirstPort:
		k.Port = dst
	case src < s.Nodes[from].Tuning.FirstPort:
		k.Port, k.Answer = src, true
	}
	s.Seen.message(k, new(coverage.Protocol), data)
}

func (v *Seen) message(k MessageKind, protocol *coverage.Protocol, data []byte) {
	k.FromRole, k.ToRole = v.Roles[k.From], v.Roles[k.To]
	k.Head = protocol.Head(data)
	v.Last[k.From] = k
	for n := len(data); n > 0; n >>= 2 {
		k.SizeLog++
	}
	if _, ok := v.Messages[k]; ok || len(v.Messages) < maxKinds {
		v.Messages[k]++
	}
}

// retried keeps that a connection repeats what was not acknowledged.
func (sk *sock) retried(s *State) {
	switch sk.TCP.Retries {
	case 1:
		sk.saw(s, Retried)
	case 4:
		sk.saw(s, RetriedOften)
	}
}
