package live

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/live/internal/attach"
)

// Router lets copies of a BGP router receive messages as if from its neighbours, so that `bloodhound live federate` can
// answer other domains. Its functions are only called in copies, one after the other.
type Router struct {
	// Deliver processes a message of a neighbour, with its header, as if it came over the session with that address. It
	// calls send for each message that the router then sends to a neighbour, in order, and reports whether the router
	// closes a session. It returns an error if there is no session with the neighbour.
	Deliver func(from netip.Addr, message []byte, send func(to netip.Addr, message []byte)) (closed bool, err error)
	// Routes calls yield for each route in the table for exactly this prefix, the best one first.
	Routes func(p netip.Prefix, yield func(Route))
	// Origins calls yield for each prefix in the table and each AS that originates it; 0 stands for the router itself.
	Origins func(yield func(p netip.Prefix, asn uint32))
}

// Route is a route of a router's table.
type Route struct {
	From       netip.Addr // the neighbour that announced it; invalid for the router's own routes
	Path       []uint32   // the neighbour's AS comes first
	Aggregated bool       // the path ends with a set of ASes
}

// answer handles an input of a router's explorer: it delivers all messages of the question and reports the effect of
// the last one.
func (r *Router) answer(input []byte) []byte {
	var q attach.Question
	var a attach.Reply
	err := json.Unmarshal(input, &q)
	for i := 0; i < len(q.Messages) && err == nil; i++ {
		a.Sent = nil
		a.Closed, err = r.Deliver(q.Messages[i].Neighbour, q.Messages[i].Message, func(to netip.Addr, message []byte) {
			a.Sent = append(a.Sent, attach.Delivered{Neighbour: to, Message: message})
		})
	}
	if err == nil {
		for _, p := range q.Prefixes {
			a.Routes = append(a.Routes, r.longest(p))
		}
		if q.Origins {
			r.Origins(func(p netip.Prefix, asn uint32) { a.Origins = append(a.Origins, attach.Origin{Prefix: p, ASN: asn}) })
		}
	} else {
		a = attach.Reply{Error: err.Error()}
	}
	out, err := json.Marshal(&a)
	if err != nil {
		panic(fmt.Sprintf("live: a reply of a router has no text: %v", err))
	}
	return out
}

// longest are the routes to the longest prefix of the table that p lies in.
func (r *Router) longest(p netip.Prefix) (list []attach.Route) {
	for length := p.Bits(); length >= 0 && list == nil; length-- {
		outer, err := p.Addr().Prefix(length)
		if err != nil {
			return nil
		}
		r.Routes(outer, func(route Route) {
			list = append(list, attach.Route{Prefix: outer, From: route.From, Path: route.Path, Aggregated: route.Aggregated})
		})
	}
	return list
}
