package federation

import (
	"context"
	"io"
	"iter"
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// Router is a domain's own router, of whatever make. It goes on undisturbed while copies of it are used.
type Router interface {
	// Checkpoint makes a copy of the router as it is now.
	Checkpoint(ctx context.Context) (Copy, error)
	// Origins are the prefixes of the router's table, each with the ASes that originate it.
	Origins(ctx context.Context) (iter.Seq[Origin], error)
}

// Copy is a copy of a router, whose messages reach nobody. It is used by one goroutine at a time.
type Copy interface {
	// Deliver gives the copy a message of a neighbour, after those that it had before, and returns what the copy sends until it waits.
	Deliver(ctx context.Context, from string, message []byte) (Effect, error)
	// Routes are the routes to the longest prefix of the table that contains p, the best one first: before the first message, and now.
	Routes(ctx context.Context, p netip.Prefix) (initial, now []Route, err error)
	io.Closer
}

// Effect is the effect of a message.
type Effect struct {
	Sent    []Sent // in the order in which the copy sent them
	Crashed bool   // the copy ended, or used up its budget
	Closed  bool   // the copy closed a session
}

// Sent is a message that a copy sends to a neighbour, with its header.
type Sent struct {
	To      string
	Message []byte
}

// Route is a route in a router's table.
type Route struct {
	Prefix netip.Prefix
	From   string // the neighbour that announced it; empty if it is the router's own
	Path   bgp.Path
}

// Origin is a prefix and an AS that originates it.
type Origin struct {
	Prefix netip.Prefix
	ASN    uint32
}
