package attach

import "net/netip"

// Question asks a copy of a router, which has received messages, for the effect of the last one and for the content of
// its table. It crosses the pipe as JSON.
type Question struct {
	Messages []Delivered    `json:"messages,omitempty"` // in order
	Prefixes []netip.Prefix `json:"prefixes,omitempty"` // whose routes are asked for
	Origins  bool           `json:"origins,omitempty"`  // of the whole table
}

// Delivered is a message that a router gets from a neighbour, or sends to one, with its header.
type Delivered struct {
	Neighbour netip.Addr `json:"neighbour"`
	Message   []byte     `json:"message"`
}

// Reply is the answer to a Question.
type Reply struct {
	Error   string      `json:"error,omitempty"`
	Sent    []Delivered `json:"sent,omitempty"`   // because of the last message
	Closed  bool        `json:"closed,omitempty"` // a session, because of the last message
	Routes  [][]Route   `json:"routes,omitempty"` // by the numbers of Prefixes: those to the longest prefix around, the best one first
	Origins []Origin    `json:"origins,omitempty"`
}

// Route is a route of a router's table.
type Route struct {
	Prefix     netip.Prefix `json:"prefix"`
	From       netip.Addr   `json:"from"` // not valid if it is the router's own
	Path       []uint32     `json:"path,omitempty"`
	Aggregated bool         `json:"aggregated,omitempty"` // Path ends with a set
}

// Origin is a prefix of a table, and an AS that originates it; 0 is the router's own.
type Origin struct {
	Prefix netip.Prefix `json:"prefix"`
	ASN    uint32       `json:"asn"`
}
