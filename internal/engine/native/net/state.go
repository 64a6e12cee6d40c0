package net

import (
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// SockID names a socket for as long as a State lives; numbers are never used twice. 0 is no socket.
type SockID int64

// NodeID names a node, counted from 0 in the order of AddNode.
type NodeID int

// resolverNode is the sender of the resolver's answers.
const resolverNode NodeID = -1

// FaultRef is a fault that something happened, or did not happen, because of.
type FaultRef struct {
	Kind world.FaultKind
	ID   int // number of the injected fault; 0 for kinds that are drawn per packet
	Rule int // the rule of a fault per packet
	// Packet numbers what a fault per packet has harmed: both ends of a connection may notice the same packet.
	Packet int64
	// Events are the readiness bits (POLLIN, POLLOUT) that the fault withheld or caused.
	Events uint32
}

// Env gives the network its access to the world during a call.
type Env interface {
	// Now is the world's time in nanoseconds.
	Now() int64
	// Rare draws from a stream of the tape a value in [0, n) that is 0, the one without a fault, except at ratePPM parts per
	// million.
	Rare(stream string, n, ratePPM uint64) uint64
	// Wake says that something happened to a socket that Linux would wake its waiters for: events has the
	// readiness bits concerned. It must not call back into the State.
	Wake(sock SockID, events uint32)
	// Delivered and Observed keep the ledger of the kinds of faults that are drawn per packet.
	Delivered(ref FaultRef)
	Observed(ref FaultRef)
	// Unreached says that another node was refused where a node listens on a loopback address alone.
	Unreached(n NodeID, listens AddrPort)
	// Capture gets every packet as nodes see it; nil asks for none.
	Capture() func(*Sighting)
	// DropFiles gets references passed by SCM_RIGHTS that no program will ever receive.
	DropFiles(refs []int64)
}

// Cred is the identity of a calling process, as the node's own programs see it.
type Cred struct{ PID, UID, GID int32 }

// Config holds what does not change in a run.
type Config struct {
	// MaxSockets bounds the sockets of all nodes together; 0 is the default.
	MaxSockets int
	// MaxBytes bounds the payload in all queues and on all links together; 0 is the default.
	MaxBytes int64
}

// NodeConfig describes one machine.
type NodeConfig struct {
	Name string
	// IPv4 and IPv6 are textual addresses on the one network; IPv6 may be empty.
	IPv4, IPv6 string
	// NICs are the node's interfaces, where the State has networks; without any it has loopback alone.
	NICs []NICConfig
	// Hostnames are all further names of the node; the first one is what it calls itself.
	Hostnames []string
	// ExtraHosts are further lines of its hosts file, as "address name".
	ExtraHosts []string
	// ByDNS leaves the other nodes out of its hosts file: it asks the resolver for them, which a fault may fail.
	ByDNS bool
	// Domain is behind the node's own name in its hosts file, and Search is tried behind names that do not resolve.
	Domain string
	Search []string
	// Tuning is nil for the default one.
	Tuning *Tuning
}

// Names is the effect of a fault on the names that a node looks up.
type Names struct {
	FaultID int  // 0: nothing
	Silent  bool // no answer comes; else it is SERVFAIL
}

type node struct {
	Name       string
	Hostnames  []string
	ExtraHosts []string
	NICs       []nic
	Order      []int // places in NICs: whose network is asked first for a name, and has the default route
	ByDNS      bool
	Domain     string
	Search     []string
	Tuning     Tuning
	Names      Names
	Up         bool
	// Down is the fault that took the machine down last.
	Down FaultRef
	// Ports lists what was bound explicitly, in order.
	Ports map[portKey][]SockID
	// Flows finds the TCP endpoint of a connection, TIME_WAIT and closed-by-program ones included.
	Flows map[flowKey]SockID
	// Ordinals counts connections by (server, port).
	Ordinals map[destKey]uint64
	// Datagrams are the one-way datagram flows by (receiver, named port).
	Datagrams map[datagramKey]*datagramFlow
	// NextPort is the next ephemeral port to try, by protocol.
	NextPort map[uint8]uint16
	// Abstract and Paths find unix sockets by name and by the file's inode number.
	Abstract     map[abstractKey]SockID
	Paths        map[int64]SockID
	NextAutobind uint32
	NextPortID   uint32
	// DeadPorts are the listening ports that a fault closed.
	DeadPorts map[uint16]FaultRef
}

// abstractKey: each type of socket has abstract names of its own.
type abstractKey struct {
	Type int
	Name string
}

type portKey struct {
	Proto uint8
	Port  uint16
}

type flowKey struct{ Local, Remote AddrPort }

type destKey struct {
	To   NodeID
	Port uint16
}

// State is the network of a world. Its fields are exported for encoding/gob alone.
type State struct {
	Config   Config
	Networks []*network // none: all nodes share one network
	Nodes    []*node
	Socks    map[SockID]*sock
	NextSock SockID
	NextISS  int64

	Links        map[linkKey]*link
	DefaultLink  Link
	DefaultRates Rates

	Events   []event // a heap ordered by (At, Seq)
	EventSeq uint64
	Stale    int       // timers in Events whose socket is gone
	Soft     []*packet // loopback packets of the current call; empty between calls

	Harmed int64   // packets that a fault per packet has harmed
	Shown  []int64 // those of the last ones that a program has noticed

	// Bytes is the payload in all queues; CheckBytes recounts it.
	Bytes int64
	// Exceeded names the first limit that was reached, or is empty.
	Exceeded string

	Seen *Seen // nil: not recorded
}

// New makes a network without nodes.
func New(c Config) *State {
	if c.MaxSockets == 0 {
		c.MaxSockets = maxSocketsDefault
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = maxBytesDefault
	}
	return &State{Config: c, Socks: map[SockID]*sock{}, Links: map[linkKey]*link{}}
}

// AddNode adds a machine that is up. An address that does not parse is a mistake of the caller and panics.
func (s *State) AddNode(c NodeConfig) NodeID {
	n := &node{Name: c.Name, Hostnames: slices.Clone(c.Hostnames), ExtraHosts: slices.Clone(c.ExtraHosts), ByDNS: c.ByDNS,
		Domain: c.Domain, Search: slices.Clone(c.Search), Up: true}
	n.Tuning = DefaultTuning()
	if c.Tuning != nil {
		n.Tuning = *c.Tuning
	}
	s.attach(n, &c)
	for i := range n.NICs {
		n.NICs[i].Has6 = n.NICs[i].Has6 && !n.Tuning.NoIPv6
	}
	n.reset()
	n.Ordinals, n.Datagrams = map[destKey]uint64{}, map[datagramKey]*datagramFlow{}
	n.NextPort = map[uint8]uint16{}
	s.Nodes = append(s.Nodes, n)
	return NodeID(len(s.Nodes) - 1)
}

// reset forgets what a machine loses with its power.
func (n *node) reset() {
	n.Ports, n.Flows = map[portKey][]SockID{}, map[flowKey]SockID{}
	n.Abstract, n.Paths = map[abstractKey]SockID{}, map[int64]SockID{}
	n.DeadPorts = map[uint16]FaultRef{}
	n.NextAutobind, n.NextPortID = 0, 0
}

// NodeDown takes a machine off the network: all its sockets vanish without a word, and nothing reaches it until
// NodeUp. The kernel must forget its sockets. cause is the fault behind it, if any.
func (s *State) NodeDown(env Env, id NodeID, cause FaultRef) {
	n := s.Nodes[id]
	n.Up, n.Down = false, cause
	for _, sid := range s.sorted() {
		if sk := s.Socks[sid]; sk.Node == id {
			sk.forget(s, env)
		}
	}
	n.reset()
}

// NodeUp connects a machine again, with no socket. Segments of connections from before are answered with RST.
func (s *State) NodeUp(id NodeID) { s.Nodes[id].Up = true }

// sorted lists all sockets in order of their number.
func (s *State) sorted() []SockID {
	return slices.Sorted(maps.Keys(s.Socks))
}

func (s *State) exceed(limit string) {
	if s.Exceeded == "" {
		s.Exceeded = limit
	}
}
