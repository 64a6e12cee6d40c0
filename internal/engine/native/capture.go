//go:build linux && amd64

package native

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// capture hands out a packet as a node has sent or got it.
func (w *World) capture(s *net.Sighting) {
	port := func(a net.AddrPort) netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom16(a.IP).Unmap(), a.Port) }
	p := engine.Packet{TimeNs: w.kernel.Now, Event: w.kernel.Events, Node: int(s.At), Sent: s.Sent, Protocol: s.Proto, Src: port(s.Src), Dst: port(s.Dst),
		Flags: s.Flags, Seq: uint32(s.Seq), Ack: uint32(s.Ack), Window: s.Window, Data: s.Data}
	if s.Urgent > s.Seq {
		p.Urgent = uint16(min(s.Urgent-s.Seq, 1<<16-1))
	}
	what := "injected by"
	switch {
	case s.Lost:
		what = "lost:"
	case s.Held:
		what = "held:"
	case s.LateNs > 0:
		what = fmt.Sprintf("%s late:", time.Duration(s.LateNs))
	case s.Proto != net.IPPROTO_TCP || s.Sent:
		what = "fault:"
	}
	for _, ref := range s.Faults {
		p.Notes = append(p.Notes, what+" "+w.faultName(ref))
	}
	if s.Lost && len(s.Faults) == 0 {
		p.Notes = append(p.Notes, "lost: the node is down")
	}
	if s.Flipped > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%s: byte %d of the payload was changed", fault.Corrupt, s.Flipped))
	}
	w.options.Capture(&p)
}

// faultName names a fault by its kind, and one with a beginning by its number among them.
func (w *World) faultName(ref net.FaultRef) string {
	i := slices.IndexFunc(w.director.Plan.Ledger.Injections, func(f fault.Injection) bool { return f.ID == ref.ID })
	if ref.ID == 0 || i < 0 {
		return string(ref.Kind)
	}
	return fmt.Sprintf("%s, fault %d", ref.Kind, i+1)
}
