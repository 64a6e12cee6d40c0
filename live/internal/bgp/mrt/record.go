// Package mrt reads and writes files of BGP routes and messages: MRT (RFC 6396) and the lines that `bgpdump -m` prints of it.
//
// Routes of IPv4 are understood, in TABLE_DUMP, TABLE_DUMP_V2, BGP4MP and BGP4MP_ET. Records of other kinds are kept as bytes.
package mrt

import (
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// Record is a record of a file.
type Record struct {
	TimeUs   int64 // since 1970
	Extended bool  // BGP4MP_ET: the file has the time in microseconds, not in seconds
	Body     Body
}

// Body is the content of a record: *PeerIndex, *RIB, *Dump, *Message, *StateChange or *Other.
type Body interface{ body() }

// Peer is an end of a session.
type Peer struct {
	ASN     uint32
	Address netip.Addr
	ID      netip.Addr // its BGP identifier, in a PeerIndex
}

// PeerIndex has the peers to which the entries of the RIBs after it refer.
type PeerIndex struct {
	Collector netip.Addr // its BGP identifier
	View      string
	Peers     []Peer
}

// RIB has the routes to a prefix of IPv4 (RIB_IPV4_UNICAST).
type RIB struct {
	Sequence uint32
	Prefix   netip.Prefix
	Entries  []Entry
}

// Entry is the route of one peer.
type Entry struct {
	Peer        uint16 // in the PeerIndex
	OriginatedS uint32
	*bgp.Attributes
}

// Dump is one route of a table in the older format (TABLE_DUMP), whose AS numbers have two bytes.
type Dump struct {
	View, Sequence uint16
	Status         uint8
	OriginatedS    uint32
	Peer           Peer
	Route          bgp.Route
}

// Session is a session, and how its messages have AS numbers.
type Session struct {
	Peer, Local Peer
	Interface   uint16
	AS4         bool
}

// Message is a message that a router has received, or has sent if Sent is set. Update is nil if it is no UPDATE; Raw are its bytes then.
type Message struct {
	Session
	Sent   bool
	Update *bgp.Update
	Raw    []byte
}

// StateChange is a change of the state machine of a session (RFC 4271, 8.2.2).
type StateChange struct {
	Session
	Old, New uint16
}

// Other is a record of another type.
type Other struct {
	Type, Subtype uint16
	Bytes         []byte
}

func (*PeerIndex) body()   {}
func (*RIB) body()         {}
func (*Dump) body()        {}
func (*Message) body()     {}
func (*StateChange) body() {}
func (*Other) body()       {}

// Types and subtypes of records.
const (
	typeDump    = 12
	typeDumpV2  = 13
	typeBGP4MP  = 16
	typeBGP4MPx = 17 // with microseconds

	dumpIPv4 = 1

	v2Index = 1
	v2IPv4  = 2

	mpState       = 0
	mpMessage     = 1
	mpMessage4    = 4
	mpState4      = 5
	mpMessageOut  = 6
	mpMessageOut4 = 7

	peerIPv6 = 1 // flags of a peer in an index
	peerAS4  = 2

	afiIPv4 = 1
	afiIPv6 = 2

	headerSize = 12
	second     = 1_000_000 // in microseconds
)

// RecordSize is the largest record that is read or written, in bytes. A RIB of a thousand peers is a tenth of it.
const RecordSize = 4 << 20
