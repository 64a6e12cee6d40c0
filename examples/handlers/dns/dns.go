// Package dns answers queries of the domain name system for one zone, by the wire format of RFC 1035 with the extensions of RFC 6891 (EDNS) and RFC 7871 (client subnet). It has a bug.
package dns

import (
	"encoding/binary"
	"errors"
	"strings"
)

// Record types and response codes.
const (
	typeA   = 1
	typeOPT = 41
	classIN = 1

	noError  = 0
	formErr  = 1
	nxDomain = 3
	notImp   = 4
	refused  = 5
	badVers  = 16

	optionSubnet = 8
)

// zone has the addresses of names. A name under one that begins with "*." is any label there.
var zone = map[string][4]byte{
	"example":     {192, 0, 2, 1},
	"www.example": {192, 0, 2, 2},
	"*.example":   {192, 0, 2, 9},
}

var errFormat = errors.New("malformed")

// query is a parsed message.
type query struct {
	id, flags uint16
	name      string
	typ       uint16
	class     uint16
	end       int // of the question
	edns      bool
	version   uint8
	subnet    subnet
}

// subnet is the address of a client, cut to its first bits.
type subnet struct {
	family uint16
	source uint8
	addr   [16]byte
}

// Answer gives the response to a message, or nil if it deserves none.
func Answer(msg []byte) []byte {
	if len(msg) < 12 {
		return nil
	}
	q := &query{id: binary.BigEndian.Uint16(msg), flags: binary.BigEndian.Uint16(msg[2:])}
	switch {
	case q.flags&0x8000 != 0: // a response
		return nil
	case q.flags>>11&15 != 0:
		return q.respond(msg, notImp, nil)
	}
	if err := q.parse(msg); err != nil {
		return q.respond(msg, formErr, nil)
	}
	switch {
	case q.edns && q.version != 0:
		return q.respond(msg, badVers, nil)
	case q.class != classIN || q.name != "example" && !strings.HasSuffix(q.name, ".example"):
		return q.respond(msg, refused, nil)
	}
	addr, ok := lookup(q.name)
	switch {
	case !ok:
		return q.respond(msg, nxDomain, nil)
	case q.typ != typeA:
		return q.respond(msg, noError, nil)
	}
	return q.respond(msg, noError, addr[:])
}

func (q *query) parse(msg []byte) error {
	counts := msg[4:12]
	if binary.BigEndian.Uint16(counts) != 1 || binary.BigEndian.Uint32(counts[2:]) != 0 || binary.BigEndian.Uint16(counts[6:]) > 1 {
		return errFormat
	}
	name, at, err := readName(msg, 12)
	if err != nil || at+4 > len(msg) {
		return errFormat
	}
	q.name, q.typ, q.class, q.end = name, binary.BigEndian.Uint16(msg[at:]), binary.BigEndian.Uint16(msg[at+2:]), at+4
	if binary.BigEndian.Uint16(counts[6:]) == 0 {
		return nil
	}
	name, at, err = readName(msg, q.end)
	if err != nil || at+10 > len(msg) || binary.BigEndian.Uint16(msg[at:]) != typeOPT {
		return errFormat
	}
	if name != "" { // the name of an OPT record is the root
		return errFormat
	}
	q.edns, q.version = true, msg[at+5]
	length := int(binary.BigEndian.Uint16(msg[at+8:]))
	at += 10
	if at+length > len(msg) {
		return errFormat
	}
	return q.options(msg[at : at+length])
}

func (q *query) options(b []byte) error {
	for len(b) > 0 {
		if len(b) < 4 {
			return errFormat
		}
		code, length := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if 4+length > len(b) {
			return errFormat
		}
		if code == optionSubnet {
			if err := q.subnet.parse(b[4 : 4+length]); err != nil {
				return err
			}
		}
		b = b[4+length:]
	}
	return nil
}

// parse reads the option: family, bits of the source, bits of the scope, and as many bytes of the address as the source has bits.
func (s *subnet) parse(b []byte) error {
	if len(b) < 4 || b[3] != 0 {
		return errFormat
	}
	s.family, s.source = binary.BigEndian.Uint16(b), b[2]
	n := (int(s.source) + 7) / 8
	if n != len(b)-4 {
		return errFormat
	}
	switch s.family {
	case 1:
		if s.source > 32 {
			return errFormat
		}
	case 2: // here is the bug: more than 128 bits do not fit
	default:
		return errFormat
	}
	copy(s.addr[:], b[4:])
	if s.source%8 != 0 && s.addr[n-1]&(0xff>>(s.source%8)) != 0 {
		return errFormat
	}
	return nil
}

// readName reads a name in lower case, and gives where it ends. Compression pointers lead backward only.
func readName(msg []byte, at int) (string, int, error) {
	var name []byte
	end := -1
	limit := at
	for {
		if at >= len(msg) {
			return "", 0, errFormat
		}
		n := int(msg[at])
		switch {
		case n == 0:
			if end < 0 {
				end = at + 1
			}
			return string(name), end, nil
		case n&0xc0 == 0xc0:
			if at+1 >= len(msg) {
				return "", 0, errFormat
			}
			to := n&0x3f<<8 | int(msg[at+1])
			if end < 0 {
				end = at + 2
			}
			if to >= limit || to < 12 {
				return "", 0, errFormat
			}
			at, limit = to, to
			continue
		case n > 63 || at+1+n > len(msg) || len(name)+n > 253:
			return "", 0, errFormat
		}
		if len(name) > 0 {
			name = append(name, '.')
		}
		for _, c := range msg[at+1 : at+1+n] {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			name = append(name, c)
		}
		at += 1 + n
	}
}

func lookup(name string) ([4]byte, bool) {
	if a, ok := zone[name]; ok {
		return a, true
	}
	_, rest, _ := strings.Cut(name, ".")
	a, ok := zone["*."+rest]
	return a, ok
}

// respond writes a response with the question, if it was understood, and an address, if there is one.
func (q *query) respond(msg []byte, code uint16, addr []byte) []byte {
	r := make([]byte, 12, 64)
	binary.BigEndian.PutUint16(r, q.id)
	binary.BigEndian.PutUint16(r[2:], 0x8400|q.flags&0x0100|code&15)
	if q.end > 0 {
		r[5] = 1
		r = append(r, msg[12:q.end]...)
	}
	if addr != nil {
		r[7] = 1
		r = append(r, 0xc0, 12, 0, typeA, 0, classIN, 0, 0, 1, 44, 0, 4)
		r = append(r, addr...)
	}
	if q.edns {
		r[11] = 1
		r = append(r, 0, 0, typeOPT, 4, 208, byte(code>>4), 0, 0, 0, 0, 0)
	}
	return r
}
