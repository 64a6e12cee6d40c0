// Package router makes copies of running BGP daemons nodes of live testing: messages are delivered to a copy as if they were from one of its
// neighbours, and what the copy sends to each of its neighbours shows what became of them. It knows nothing of a daemon's insides.
package router

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/daemon"
)

// Copy is a copy of a daemon: a *daemon.Copy.
type Copy interface {
	Deliver([]daemon.Input, daemon.Budget) (*daemon.Outcome, error)
	Files() []daemon.File
	Close() error
}

// Router is a copy of a BGP daemon.
type Router struct {
	Pending *Reaction     // what the daemon was about to do at the checkpoint
	CPU     time.Duration // of the copy, in all deliveries

	copy    Copy
	budget  daemon.Budget // of a delivery
	streams map[netip.AddrPort]*stream
}

// Message is a message that a router sends.
type Message struct {
	To     netip.AddrPort // a neighbour
	Type   byte
	Bytes  []byte      // with the header
	Update *bgp.Update // of an UPDATE with AS numbers of four bytes that can be read, or nil
}

// Reaction is the reaction of a router to a message.
type Reaction struct {
	Status       daemon.Status
	Signal, Code int                        // see daemon.Outcome
	Sent         []Message                  // in order
	Changes      map[netip.AddrPort]Changes // what the UPDATEs in Sent amount to
	Closed       []netip.AddrPort           // neighbours whose connections it closed
	Stray        map[netip.AddrPort][]byte  // bytes to neighbours that are no message
	Log          string
	Refused      map[string]int // calls that the copy may not make
	Unread       int            // bytes that it has not read
	CPU          time.Duration
}

// Changes are the routes that a neighbour gets: nil for a prefix that is withdrawn.
type Changes map[netip.Prefix]*bgp.Attributes

// New takes a copy that has not run yet, and lets it do what the daemon was about to do. The budget is that of each delivery.
func New(c Copy, budget daemon.Budget) (*Router, error) {
	r := &Router{copy: c, budget: budget, streams: map[netip.AddrPort]*stream{}}
	var err error
	r.Pending, err = r.deliver(nil)
	return r, err
}

// Neighbours are the other ends of the router's connections.
func (r *Router) Neighbours() (list []netip.AddrPort) {
	for _, f := range r.copy.Files() {
		if a, err := netip.ParseAddrPort(f.Peer); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// Neighbour is the only connection with an address.
func (r *Router) Neighbour(address netip.Addr) (netip.AddrPort, error) {
	all := r.Neighbours()
	those := slices.DeleteFunc(slices.Clone(all), func(a netip.AddrPort) bool { return a.Addr() != address })
	if len(those) != 1 {
		return netip.AddrPort{}, fmt.Errorf("the router has %s with %s, not one: it has %v", plural.Count(len(those), "connection"), address, all)
	}
	return those[0], nil
}

// Deliver has the router receive a message from a neighbour, and returns when the router waits for the next. After a reaction whose status is not Done,
// there is no other.
func (r *Router) Deliver(from netip.AddrPort, message []byte) (*Reaction, error) {
	fd, err := daemon.FD(r.copy.Files(), from.String())
	if err != nil {
		return nil, err
	}
	return r.deliver([]daemon.Input{{FD: fd, Data: message}})
}

// Between reports whether the router has received whole messages only from a neighbour, so that another one can follow: at the checkpoint, the rest of a
// message may have been on its way. The copy is of no use afterwards.
func (r *Router) Between(from netip.AddrPort) (bool, error) {
	const longest = 1 << 16 // of a message (RFC 8654)
	keepalive := binary.BigEndian.AppendUint16(bytes.Clone(marker), bgp.HeaderSize)
	keepalive = append(keepalive, typeKeepalive)
	got, err := r.Deliver(from, bytes.Repeat(keepalive, longest/len(keepalive)+1))
	if err != nil {
		return false, err
	}
	for _, m := range got.Sent {
		if m.Type != typeKeepalive {
			return false, nil
		}
	}
	return got.Status == daemon.Done && len(got.Closed) == 0, nil
}

// typeKeepalive is the type of a KEEPALIVE (RFC 4271, 4.1).
const typeKeepalive = 4

func (r *Router) deliver(inputs []daemon.Input) (*Reaction, error) {
	before := r.Neighbours()
	o, err := r.copy.Deliver(inputs, r.budget)
	if err != nil {
		return nil, err
	}
	r.CPU += o.CPU
	n := &Reaction{Status: o.Status, Signal: o.Signal, Code: o.Code, Refused: o.Refused, Unread: o.Unread, CPU: o.CPU,
		Changes: map[netip.AddrPort]Changes{}, Stray: map[netip.AddrPort][]byte{}}
	for _, m := range o.Logs {
		n.Log += string(m.Data)
	}
	for _, m := range o.Outputs {
		to, err := netip.ParseAddrPort(m.To)
		if err != nil { // no neighbour: a client of the control socket, say
			continue
		}
		if r.streams[to] == nil {
			r.streams[to] = &stream{}
		}
		messages, stray := r.streams[to].readMessages(m.Data)
		for _, m := range messages {
			m.To = to
			n.Sent = append(n.Sent, m)
			n.change(m)
		}
		if len(stray) > 0 {
			n.Stray[to] = append(n.Stray[to], stray...)
		}
	}
	after := r.Neighbours()
	for _, a := range before {
		if !slices.Contains(after, a) {
			n.Closed = append(n.Closed, a)
			delete(r.streams, a)
		}
	}
	return n, nil
}

// change enters what a message changes.
func (n *Reaction) change(m Message) {
	if m.Update == nil {
		return
	}
	if n.Changes[m.To] == nil {
		n.Changes[m.To] = Changes{}
	}
	for _, p := range m.Update.Withdrawn {
		n.Changes[m.To][p] = nil
	}
	for _, p := range m.Update.Announced {
		n.Changes[m.To][p] = m.Update.Attributes
	}
}

// Heard are the neighbours that get a change of a prefix, in order.
func (n *Reaction) Heard(p netip.Prefix) (list []netip.AddrPort) {
	for _, to := range slices.SortedFunc(maps.Keys(n.Changes), netip.AddrPort.Compare) {
		if _, ok := n.Changes[to][p]; ok {
			list = append(list, to)
		}
	}
	return list
}

// Ask has a client connect to a UNIX socket of the router, such as BIRD's control socket, and send a line. It returns what the client gets.
func (r *Router) Ask(socket, line string) (string, error) {
	for _, f := range r.copy.Files() {
		if f.Listen && f.Name == "unix:"+socket {
			o, err := r.copy.Deliver([]daemon.Input{{FD: f.FD, Accept: true, Data: []byte(line + "\n")}}, r.budget)
			if err != nil {
				return "", err
			}
			r.CPU += o.CPU
			var answer strings.Builder
			for _, m := range o.Outputs {
				if strings.HasPrefix(m.To, "client of ") {
					answer.Write(m.Data)
				}
			}
			if o.Status != daemon.Done {
				return answer.String(), fmt.Errorf("the router ended when it was asked %q: status %d, signal %d", line, o.Status, o.Signal)
			}
			return answer.String(), nil
		}
	}
	return "", fmt.Errorf("the router does not listen on the socket %s", socket)
}

// Close ends the copy.
func (r *Router) Close() error { return r.copy.Close() }

// stream holds the beginning of an incomplete message to a neighbour.
type stream struct{ rest []byte }

var marker = bytes.Repeat([]byte{0xff}, 16)

// readMessages reads the messages that are complete. Bytes before a header are none: the daemon had sent the beginning of their message before the checkpoint.
func (s *stream) readMessages(data []byte) (messages []Message, stray []byte) {
	s.rest = append(s.rest, data...)
	for len(s.rest) >= bgp.HeaderSize {
		length := int(binary.BigEndian.Uint16(s.rest[len(marker):]))
		if !bytes.HasPrefix(s.rest, marker) || length < bgp.HeaderSize {
			skip := bytes.Index(s.rest[1:], marker) + 1
			if skip == 0 {
				skip = len(s.rest)
			}
			stray, s.rest = append(stray, s.rest[:skip]...), s.rest[skip:]
			continue
		}
		if len(s.rest) < length {
			break
		}
		m := Message{Type: s.rest[bgp.HeaderSize-1], Bytes: bytes.Clone(s.rest[:length])}
		if u, err := bgp.ParseMessage(m.Bytes, bgp.AS4); err == nil {
			m.Update = u
		}
		messages, s.rest = append(messages, m), s.rest[length:]
	}
	return messages, stray
}
