package net

import (
	"maps"
	"slices"
	"strings"
)

// Socket is a socket of a node, as engine.Inspection reports it.
type Socket struct {
	Object        string // as Kind.Object names it
	Local, Remote string
	State         string // of a TCP connection, as ss(8) writes it
	SentBytes     int64  // not acknowledged yet
	ReceivedBytes int64  // not read yet
}

// stateNames holds the names of states in ss(8), by number.
var stateNames = [...]string{established: "ESTAB", synSent: "SYN-SENT", synRecv: "SYN-RECV", finWait1: "FIN-WAIT-1",
	finWait2: "FIN-WAIT-2", timeWait: "TIME-WAIT",
	closed: "UNCONN", closeWait: "CLOSE-WAIT", lastAck: "LAST-ACK", listen: "LISTEN", closing: "CLOSING"}

// Sockets lists the sockets of a node that have a name or a peer, in the order in which they were made.
func (s *State) Sockets(id NodeID) (list []Socket) {
	for _, k := range slices.Sorted(maps.Keys(s.Socks)) {
		sk := s.Socks[k]
		if sk.Node != id || sk.Object() == "" {
			continue
		}
		out := Socket{Object: sk.Object(), ReceivedBytes: sk.Charge}
		switch {
		case sk.Unix != nil:
			out.Local = strings.ReplaceAll(sk.unixName(s).Path, "\x00", "@")
			out.Remote = strings.ReplaceAll(s.Socks[sk.Unix.Peer].unixName(s).Path, "\x00", "@")
		case !sk.Named:
			continue
		default:
			out.Local = sk.Local.String()
			if sk.Connected || sk.Remote.Port != 0 {
				out.Remote = sk.Remote.String()
			}
		}
		if t := sk.TCP; t != nil {
			out.State, out.SentBytes, out.ReceivedBytes = stateNames[t.State], max(t.SndEnd-t.SndUna, 0), t.RcvBytes
			if t.State == listen {
				out.SentBytes, out.ReceivedBytes = 0, 0
			}
		}
		list = append(list, out)
	}
	return list
}

// Addresses lists those of a node's interfaces, IPv4 first.
func (s *State) Addresses(id NodeID) (list []string) {
	for i := range s.Nodes[id].NICs {
		if n := &s.Nodes[id].NICs[i]; n.Has4 {
			list = append(list, n.IP4.String())
		}
	}
	for i := range s.Nodes[id].NICs {
		if n := &s.Nodes[id].NICs[i]; n.Has6 {
			list = append(list, n.IP6.String())
		}
	}
	return list
}
