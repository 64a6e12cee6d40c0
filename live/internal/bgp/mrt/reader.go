package mrt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/cursor"
)

// Reader reads the records of a file one by one.
type Reader struct {
	r      io.Reader
	offset int64 // of the next record
	buffer bytes.Buffer
	index  *PeerIndex
	err    error
}

// NewReader reads MRT. It makes small reads, so r should have a buffer.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Index is the PeerIndex that was read last, or nil.
func (r *Reader) Index() *PeerIndex { return r.index }

// Next returns the next record, or io.EOF. An error of what a record contains is a *cursor.Error, and the next call goes on with the record after it. An
// error of the file itself, such as its early end, stays.
func (r *Reader) Next() (*Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	start := r.offset
	var header [headerSize]byte
	if n, err := io.ReadFull(r.r, header[:]); err != nil {
		r.err = err
		if errors.Is(err, io.ErrUnexpectedEOF) {
			r.err = &cursor.Error{Offset: start + int64(n), Reason: "the file ends within the header of a record"}
		}
		return nil, r.err
	}
	h := cursor.New(header[:], start)
	seconds, kind, subtype, size := h.Uint32("time"), h.Uint16("type"), h.Uint16("subtype"), h.Uint32("length")
	if size > RecordSize {
		r.err = &cursor.Error{Offset: start + 8, Reason: "a record is larger than 4 MiB: the file is not MRT, or " +
			"it is compressed"}
		return nil, r.err
	}
	// The buffer grows with what arrives and not with what the header promises.
	r.buffer.Reset()
	n, err := io.CopyN(&r.buffer, r.r, int64(size))
	r.offset = start + headerSize + n
	if errors.Is(err, io.EOF) {
		err = &cursor.Error{Offset: r.offset, Reason: "the file ends within a record"}
	}
	if err != nil {
		r.err = err
		return nil, err
	}
	c := cursor.New(r.buffer.Bytes(), start+headerSize)
	rec := &Record{TimeUs: int64(seconds) * second}
	if kind == typeBGP4MPx {
		rec.Extended = true
		at := c.Offset()
		us := c.Uint32("microseconds")
		if us >= second {
			c.Fail(at, "a time has %s", plural.Count(us, "microsecond"))
		}
		rec.TimeUs += int64(us)
	}
	rec.Body = r.body(c, kind, subtype)
	if c.Left() > 0 {
		c.Fail(c.Offset(), "a record is %s too long", plural.Count(c.Left(), "byte"))
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	if index, ok := rec.Body.(*PeerIndex); ok {
		r.index = index
	}
	return rec, nil
}

func (r *Reader) body(c *cursor.Cursor, kind, subtype uint16) Body {
	switch {
	case kind == typeDump && subtype == dumpIPv4:
		return readDump(c)
	case kind == typeDumpV2 && subtype == v2Index:
		return readIndex(c)
	case kind == typeDumpV2 && subtype == v2IPv4:
		return r.readRIB(c)
	case kind == typeBGP4MP || kind == typeBGP4MPx:
		switch subtype {
		case mpMessage, mpMessage4, mpMessageOut, mpMessageOut4:
			as4 := subtype == mpMessage4 || subtype == mpMessageOut4
			m := &Message{Session: readSession(c, as4), Sent: subtype >= mpMessageOut}
			m.Update, m.Raw = bgp.ReadMessage(c, asSize(as4))
			return m
		case mpState, mpState4:
			s := readSession(c, subtype == mpState4)
			return &StateChange{Session: s, Old: c.Uint16("the old state"), New: c.Uint16("the new state")}
		}
	}
	return &Other{Type: kind, Subtype: subtype, Bytes: append([]byte(nil), c.Bytes(c.Left(), "a record")...)}
}

func readDump(c *cursor.Cursor) *Dump {
	d := &Dump{View: c.Uint16("the view"), Sequence: c.Uint16("the sequence number")}
	address := readAddress(c, false)
	at := c.Offset()
	bits := int(c.Uint8("the length of a prefix"))
	if bits > 32 {
		c.Fail(at, "a prefix of IPv4 has a length of %d", bits)
		return d
	}
	d.Route.Prefix = netip.PrefixFrom(address, bits).Masked()
	d.Status, d.OriginatedS = c.Uint8("the status"), c.Uint32("the time of origination")
	d.Peer.Address, d.Peer.ASN = readAddress(c, false), uint32(c.Uint16("the AS number of a peer"))
	d.Route.Attributes = readAttributes(c, bgp.AS2)
	return d
}

func readIndex(c *cursor.Cursor) *PeerIndex {
	p := &PeerIndex{Collector: readAddress(c, false)}
	p.View = string(c.Bytes(int(c.Uint16("the length of the view's name")), "the view's name"))
	for n := c.Uint16("the number of peers"); n > 0 && c.Err() == nil; n-- {
		kind := c.Uint8("the type of a peer")
		peer := Peer{ID: readAddress(c, false)}
		peer.Address = readAddress(c, kind&peerIPv6 != 0)
		peer.ASN = readAS(c, kind&peerAS4 != 0)
		p.Peers = append(p.Peers, peer)
	}
	return p
}

func (r *Reader) readRIB(c *cursor.Cursor) *RIB {
	rib := &RIB{Sequence: c.Uint32("the sequence number"), Prefix: bgp.ReadPrefix(c)}
	for n := c.Uint16("the number of entries"); n > 0 && c.Err() == nil; n-- {
		at := c.Offset()
		e := Entry{Peer: c.Uint16("the index of a peer"), OriginatedS: c.Uint32("the time of origination")}
		if r.index == nil {
			c.Fail(at, "an entry comes before the index of peers")
		} else if int(e.Peer) >= len(r.index.Peers) {
			c.Fail(at, "an entry belongs to peer %d, but the index has %d", e.Peer, len(r.index.Peers))
		}
		e.Attributes = readAttributes(c, bgp.AS4)
		rib.Entries = append(rib.Entries, e)
	}
	return rib
}

func readSession(c *cursor.Cursor, as4 bool) Session {
	s := Session{AS4: as4}
	s.Peer.ASN, s.Local.ASN = readAS(c, as4), readAS(c, as4)
	s.Interface = c.Uint16("the index of an interface")
	at := c.Offset()
	family := c.Uint16("the address family")
	if family != afiIPv4 && family != afiIPv6 {
		c.Fail(at, "a session has the address family %d", family)
	}
	s.Peer.Address, s.Local.Address = readAddress(c, family == afiIPv6), readAddress(c, family == afiIPv6)
	return s
}

func readAttributes(c *cursor.Cursor, size bgp.ASSize) *bgp.Attributes {
	return bgp.ReadAttributes(c.Part(int(c.Uint16("the length of attributes")), "attributes"), size)
}

func asSize(as4 bool) bgp.ASSize {
	if as4 {
		return bgp.AS4
	}
	return bgp.AS2
}

func readAS(c *cursor.Cursor, as4 bool) uint32 {
	if as4 {
		return c.Uint32("an AS number")
	}
	return uint32(c.Uint16("an AS number"))
}

func readAddress(c *cursor.Cursor, ipv6 bool) netip.Addr {
	if ipv6 {
		if b := c.Bytes(16, "an address"); b != nil {
			return netip.AddrFrom16([16]byte(b))
		}
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, c.Uint32("an address"))))
}
