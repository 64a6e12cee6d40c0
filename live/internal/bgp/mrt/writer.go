package mrt

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

var be = binary.BigEndian

// Write writes a record in one call. A record that its format cannot have is an error, and nothing of it is written.
func Write(w io.Writer, rec *Record) error {
	if rec.TimeUs < 0 || rec.TimeUs/second > math.MaxUint32 || !rec.Extended && rec.TimeUs%second != 0 {
		return fmt.Errorf("MRT cannot store the time %d us; set Extended for microseconds, and count from 1970", rec.TimeUs)
	}
	b := make([]byte, headerSize, 256)
	be.PutUint32(b, uint32(rec.TimeUs/second))
	if rec.Extended {
		b = be.AppendUint32(b, uint32(rec.TimeUs%second))
	}
	kind, subtype, b, err := appendBody(b, rec)
	if err != nil {
		return err
	}
	if rec.Extended != (kind == typeBGP4MPx) {
		return fmt.Errorf("a record of type %d cannot store microseconds", kind)
	}
	if len(b)-headerSize > RecordSize {
		return fmt.Errorf("a record of %s is larger than %d", plural.Count(len(b)-headerSize, "byte"), RecordSize)
	}
	be.PutUint16(b[4:], kind)
	be.PutUint16(b[6:], subtype)
	be.PutUint32(b[8:], uint32(len(b)-headerSize))
	_, err = w.Write(b)
	return err
}

func appendBody(b []byte, rec *Record) (kind, subtype uint16, _ []byte, err error) {
	mp := uint16(typeBGP4MP)
	if rec.Extended {
		mp = typeBGP4MPx
	}
	switch x := rec.Body.(type) {
	case *Dump:
		b, err = appendDump(b, x)
		return typeDump, dumpIPv4, b, err
	case *PeerIndex:
		b, err = appendIndex(b, x)
		return typeDumpV2, v2Index, b, err
	case *RIB:
		b, err = appendRIB(b, x)
		return typeDumpV2, v2IPv4, b, err
	case *StateChange:
		subtype = mpState
		if x.AS4 {
			subtype = mpState4
		}
		if b, err = appendSession(b, &x.Session); err != nil {
			return mp, subtype, nil, err
		}
		return mp, subtype, be.AppendUint16(be.AppendUint16(b, x.Old), x.New), nil
	case *Message:
		subtype = map[[2]bool]uint16{{false, false}: mpMessage, {true, false}: mpMessage4, {false, true}: mpMessageOut,
			{true, true}: mpMessageOut4}[[2]bool{x.AS4, x.Sent}]
		if b, err = appendSession(b, &x.Session); err != nil {
			return mp, subtype, nil, err
		}
		if x.Update == nil {
			return mp, subtype, append(b, x.Raw...), nil
		}
		b, err = bgp.AppendMessage(b, x.Update, asSize(x.AS4))
		return mp, subtype, b, err
	case *Other:
		return x.Type, x.Subtype, append(b, x.Bytes...), nil
	}
	return 0, 0, nil, fmt.Errorf("a record has the body %T", rec.Body)
}

func appendDump(b []byte, d *Dump) ([]byte, error) {
	if err := ipv4("a TABLE_DUMP", d.Route.Prefix.Addr(), d.Peer.Address); err != nil {
		return nil, err
	}
	b = be.AppendUint16(be.AppendUint16(b, d.View), d.Sequence)
	b = append(append(b, d.Route.Prefix.Addr().AsSlice()...), byte(d.Route.Prefix.Bits()), d.Status)
	b = append(be.AppendUint32(b, d.OriginatedS), d.Peer.Address.AsSlice()...)
	b, err := appendAS(b, d.Peer.ASN, false)
	if err != nil {
		return nil, err
	}
	return appendAttributes(b, d.Route.Attributes, bgp.AS2)
}

func appendIndex(b []byte, p *PeerIndex) ([]byte, error) {
	if len(p.Peers) > math.MaxUint16 || len(p.View) > math.MaxUint16 {
		return nil, fmt.Errorf("an index of peers has %s and a name of %s; the limit is 65535 of each",
			plural.Count(len(p.Peers), "peer"), plural.Count(len(p.View), "byte"))
	}
	if err := ipv4("an index of peers", p.Collector); err != nil {
		return nil, err
	}
	b = be.AppendUint16(append(b, p.Collector.AsSlice()...), uint16(len(p.View)))
	b = be.AppendUint16(append(b, p.View...), uint16(len(p.Peers)))
	for _, peer := range p.Peers {
		if err := ipv4("the identifier of a peer", peer.ID); err != nil {
			return nil, err
		}
		kind := byte(peerAS4)
		if peer.Address.Is6() {
			kind |= peerIPv6
		}
		b = append(append(append(b, kind), peer.ID.AsSlice()...), peer.Address.AsSlice()...)
		b = be.AppendUint32(b, peer.ASN)
	}
	return b, nil
}

func appendRIB(b []byte, r *RIB) ([]byte, error) {
	if err := ipv4("a RIB", r.Prefix.Addr()); err != nil {
		return nil, err
	}
	if len(r.Entries) > math.MaxUint16 {
		return nil, fmt.Errorf("a RIB has %s; the limit is 65535", plural.Count(len(r.Entries), "entry"))
	}
	b = be.AppendUint16(bgp.AppendPrefix(be.AppendUint32(b, r.Sequence), r.Prefix), uint16(len(r.Entries)))
	for _, e := range r.Entries {
		b = be.AppendUint32(be.AppendUint16(b, e.Peer), e.OriginatedS)
		var err error
		if b, err = appendAttributes(b, e.Attributes, bgp.AS4); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func appendSession(b []byte, s *Session) ([]byte, error) {
	for _, p := range []*Peer{&s.Peer, &s.Local} {
		var err error
		if b, err = appendAS(b, p.ASN, s.AS4); err != nil {
			return nil, err
		}
	}
	family := uint16(afiIPv4)
	if s.Peer.Address.Is6() {
		family = afiIPv6
	}
	if s.Peer.Address.BitLen() != s.Local.Address.BitLen() || !s.Peer.Address.IsValid() {
		return nil, fmt.Errorf("a session needs two addresses of one family, but has %v and "+
			"%v", s.Peer.Address, s.Local.Address)
	}
	b = be.AppendUint16(be.AppendUint16(b, s.Interface), family)
	return append(append(b, s.Peer.Address.AsSlice()...), s.Local.Address.AsSlice()...), nil
}

func appendAttributes(b []byte, a *bgp.Attributes, size bgp.ASSize) ([]byte, error) {
	at := len(b)
	b = bgp.AppendAttributes(append(b, 0, 0), a, size)
	n := len(b) - at - 2
	if n > math.MaxUint16 {
		return nil, fmt.Errorf("attributes of %s are larger than 65535", plural.Count(n, "byte"))
	}
	be.PutUint16(b[at:], uint16(n))
	return b, nil
}

func appendAS(b []byte, asn uint32, as4 bool) ([]byte, error) {
	if as4 {
		return be.AppendUint32(b, asn), nil
	}
	if asn > math.MaxUint16 {
		return nil, fmt.Errorf("AS%d does not fit into two bytes; use a record with four", asn)
	}
	return be.AppendUint16(b, uint16(asn)), nil
}

func ipv4(what string, list ...netip.Addr) error {
	for _, a := range list {
		if !a.Is4() {
			return fmt.Errorf("%s has the address %v, which is not an IPv4 address", what, a)
		}
	}
	return nil
}
