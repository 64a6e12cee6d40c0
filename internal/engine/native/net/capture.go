package net

import "github.com/bloodhound-dst/bloodhound/internal/fault"

// Sighting is a packet at an interface of a node, for a capture: at its sender's, and where that does not say all, at its receiver's. It is
// valid during the call that gets it.
type Sighting struct {
	At       NodeID
	Sent     bool // by that node; else it has come there
	Proto    uint8
	Src, Dst AddrPort
	// TCP: the numbers are those of RFC 9293 with as many high bits as the connection needs. Window and Urgent are in bytes.
	Flags            uint8
	Seq, Ack, Window int64
	Urgent           int64 // the number after the urgent byte; 0 is none
	Data             []byte
	// Lost says that no node gets it, and LateNs is how much later than usual it comes; Faults are why.
	Lost   bool
	Held   bool // until a clog is over
	LateNs int64
	Faults []FaultRef
	// Flipped is the place, from 1 on, of a byte that corruption has changed; 0 is none.
	Flipped int
}

func (p *packet) sighting(at NodeID, sent bool) *Sighting {
	return &Sighting{At: at, Sent: sent, Proto: p.Proto, Src: p.Src, Dst: p.Dst, Flags: p.Flags, Seq: p.Seq, Ack: p.Ack,
		Window: p.Window, Urgent: p.Urgent, Data: p.Data}
}

// sent shows a capture a packet that leaves its sender, and what becomes of it.
func (p *packet) sent(env Env, f fate) {
	see := env.Capture()
	if see == nil {
		return
	}
	v := p.sighting(p.From, true)
	v.Lost, v.Held, v.Faults = f.Lost, f.Held, f.causes()
	if !f.Lost {
		v.LateNs = f.At - f.Due
	}
	if f.Twice {
		v.Faults = append(v.Faults, FaultRef{Kind: fault.Duplicate})
	}
	if f.Behind {
		v.Faults = append(v.Faults, FaultRef{Kind: fault.Reorder})
	}
	see(v)
}

// looped shows a packet of a node to itself.
func (p *packet) looped(env Env) {
	if see := env.Capture(); see != nil {
		see(p.sighting(p.From, true))
	}
}

// came shows a packet where it comes to, if that is not what its sender's capture says: it comes from the resolver, it was changed on the
// way, it is a copy or was overtaken, or the node is down and does not take it. Others are shown once.
func (p *packet) came(env Env, down FaultRef, lost bool) {
	see := env.Capture()
	if see == nil || p.From != resolverNode && !lost && p.Flipped == 0 && p.Fault.Kind == "" {
		return
	}
	v := p.sighting(p.To, false)
	v.Lost, v.Flipped = lost, p.Flipped
	for _, ref := range []FaultRef{p.Fault, down} {
		if ref.Kind != "" {
			v.Faults = append(v.Faults, ref)
		}
	}
	see(v)
}

// cut shows the RST by which a fault ends a connection at one of its ends.
func (sk *sock) cut(env Env, ref FaultRef) {
	if see := env.Capture(); see != nil {
		see(&Sighting{At: sk.Node, Proto: IPPROTO_TCP, Src: sk.Remote, Dst: sk.Local, Flags: flagRST, Seq: sk.TCP.RcvNxt, Faults: []FaultRef{ref}})
	}
}
