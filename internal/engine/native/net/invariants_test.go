package net

import "fmt"

// Check verifies the invariants of a State between two calls and names the first that is broken; it is for tests
// and costs a walk over everything.
func (s *State) Check() error {
	if len(s.Soft) != 0 {
		return fmt.Errorf("%d loopback packets left behind", len(s.Soft))
	}
	var bytes int64
	for i := range s.Events {
		e := &s.Events[i]
		if up := (i - 1) / 2; i > 0 && e.before(&s.Events[up]) {
			return fmt.Errorf("event heap out of order at %d", i)
		}
		if e.Packet != nil && e.Packet.Proto == IPPROTO_UDP {
			bytes += int64(len(e.Packet.Data))
		}
	}
	for k, l := range s.Links {
		if len(l.Held) > 0 && l.Clog == 0 {
			return fmt.Errorf("link %v holds %d packets and has no clog", k, len(l.Held))
		}
		for _, h := range l.Held {
			if h.Packet.Proto == IPPROTO_UDP {
				bytes += int64(len(h.Packet.Data))
			}
		}
	}
	sent := map[SockID]int64{}
	for _, id := range s.sorted() {
		sk := s.Socks[id]
		var charge int64
		for i := range sk.Queue {
			bytes += int64(len(sk.Queue[i].Data))
			charge += sk.Queue[i].Charge
			sent[sk.Queue[i].Sender] += sk.Queue[i].Charge
		}
		if charge != sk.Charge {
			return fmt.Errorf("socket %d: charge %d, counted %d", id, sk.Charge, charge)
		}
		if !s.Nodes[sk.Node].Up {
			return fmt.Errorf("socket %d on node %s, which is down", id, s.Nodes[sk.Node].Name)
		}
		if sk.TCP != nil {
			n, err := sk.checkTCP(s)
			if err != nil {
				return fmt.Errorf("socket %d (%s): %w", id, s.describe(id), err)
			}
			bytes += n
		} else if !sk.Open && (sk.Unix == nil || sk.Unix.Parent == 0) {
			return fmt.Errorf("socket %d is closed and not forgotten", id)
		}
		if len(sk.Marks) > maxMarks {
			return fmt.Errorf("socket %d has %d marks", id, len(sk.Marks))
		}
	}
	for _, id := range s.sorted() {
		if sk := s.Socks[id]; sk.Unix != nil && sk.Unix.Sent != sent[id] {
			return fmt.Errorf("socket %d: %d of its send buffer in use, counted %d", id, sk.Unix.Sent, sent[id])
		}
	}
	if bytes != s.Bytes {
		return fmt.Errorf("%d bytes accounted for, counted %d", s.Bytes, bytes)
	}
	return s.checkTables()
}

func (sk *sock) checkTCP(s *State) (bytes int64, err error) {
	t := sk.TCP
	var n int64
	for i, c := range t.SndQueue {
		n += int64(len(c.Data))
		if i > 0 && c.Seq != t.SndQueue[i-1].Seq+int64(len(t.SndQueue[i-1].Data)) {
			return 0, fmt.Errorf("gap in the send queue")
		}
	}
	if n != t.queued() {
		return 0, fmt.Errorf("send queue of %d bytes, counted %d", t.queued(), n)
	}
	bytes = n
	n = 0
	for _, c := range t.RcvQueue {
		n += int64(len(c))
	}
	if n != t.RcvBytes {
		return 0, fmt.Errorf("receive queue of %d bytes, counted %d", t.RcvBytes, n)
	}
	bytes += n
	n = 0
	for _, c := range t.Early {
		n += int64(len(c.Data))
	}
	if n != t.EarlyBytes {
		return 0, fmt.Errorf("early segments of %d bytes, counted %d", t.EarlyBytes, n)
	}
	bytes += n
	if !(t.SndUna <= t.SndNxt && t.SndNxt <= t.SndMax && t.SndMax <= t.SndEnd) {
		return 0, fmt.Errorf("numbers out of order: una %d nxt %d max %d end %d", t.SndUna, t.SndNxt, t.SndMax, t.SndEnd)
	}
	pending := t.SndUna < t.SndEnd && t.State != closed && t.State != timeWait
	if pending && t.RetransAt == 0 && t.PersistAt == 0 && t.UnreachAt == 0 && t.EndAt == 0 {
		return 0, fmt.Errorf("unsent or unacknowledged bytes and no timer (state %d)", t.State)
	}
	if at := earliest(t.RetransAt, t.PersistAt); at != 0 && (t.FastAt == 0 || t.FastAt > at) {
		return 0, fmt.Errorf("fast deadline %d not armed (%d)", at, t.FastAt)
	}
	if at := earliest(t.KeepAt, t.EndAt, t.UnreachAt); at != 0 && (t.SlowAt == 0 || t.SlowAt > at) {
		return 0, fmt.Errorf("slow deadline %d not armed (%d)", at, t.SlowAt)
	}
	if !sk.Open && t.State == closed && !sk.waitsForAccept(s) {
		return 0, fmt.Errorf("closed and not forgotten")
	}
	return bytes, nil
}

func (s *State) checkTables() error {
	for i, n := range s.Nodes {
		for k, id := range n.Flows {
			sk := s.Socks[id]
			if sk == nil || sk.Node != NodeID(i) || sk.Local != k.Local || sk.Remote != k.Remote || sk.TCP.State == closed {
				return fmt.Errorf("node %s: flow %v leads to a wrong socket %d", n.Name, k, id)
			}
		}
		for k, ids := range n.Ports {
			for _, id := range ids {
				sk := s.Socks[id]
				if sk == nil || sk.Node != NodeID(i) || sk.Local.Port != k.Port || sk.Protocol != int(k.Proto) {
					return fmt.Errorf("node %s: port %v leads to a wrong socket %d", n.Name, k, id)
				}
			}
		}
	}
	for _, id := range s.sorted() {
		sk := s.Socks[id]
		if sk.TCP != nil && sk.TCP.State != closed && sk.TCP.State != listen {
			if s.Nodes[sk.Node].Flows[flowKey{sk.Local, sk.Remote}] != id {
				return fmt.Errorf("socket %d is connected and not in the table of flows", id)
			}
		}
	}
	return nil
}
