package bgp

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/netip"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/cursor"
)

// Sizes of messages, in bytes (RFC 4271, 4.1).
const (
	HeaderSize  = 19
	MessageSize = 4096 // the largest
)

// TypeUpdate is the type of an UPDATE in a header.
const TypeUpdate = 2

var marker = bytes.Repeat([]byte{0xff}, 16)

// Update is an UPDATE. Attributes is nil if it announces nothing and carries none.
type Update struct {
	Withdrawn  []netip.Prefix
	Attributes *Attributes
	Announced  []netip.Prefix
}

// ErrOther is the error of a message that is no UPDATE.
var ErrOther = errors.New("the message is not an UPDATE")

// ReadMessage reads a message with its header: an UPDATE, or the bytes of another message.
func ReadMessage(c *cursor.Cursor, size ASSize) (u *Update, other []byte) {
	start, whole := c.Offset(), *c
	if m := c.Bytes(len(marker), "the marker of a message"); m != nil && !bytes.Equal(m, marker) {
		c.Fail(start, "the marker of a message is not all ones")
	}
	at := c.Offset()
	n := int(c.Uint16("the length of a message"))
	if n < HeaderSize || n > MessageSize {
		c.Fail(at, "a message has a length of %d, not %d to %d", n, HeaderSize, MessageSize)
	}
	kind := c.Uint8("the type of a message")
	body := c.Part(max(n-HeaderSize, 0), "a message")
	if kind != TypeUpdate {
		return nil, append([]byte(nil), whole.Bytes(n, "a message")...)
	}
	return readUpdate(body, size), nil
}

func readUpdate(c *cursor.Cursor, size ASSize) *Update {
	u := &Update{}
	withdrawn := c.Part(int(c.Uint16("the length of withdrawn routes")), "withdrawn routes")
	for withdrawn.Left() > 0 {
		u.Withdrawn = append(u.Withdrawn, ReadPrefix(withdrawn))
	}
	n := int(c.Uint16("the length of path attributes"))
	at := c.Offset()
	if attributes := c.Part(n, "path attributes"); n > 0 {
		u.Attributes = ReadAttributes(attributes, size)
	}
	for c.Left() > 0 {
		u.Announced = append(u.Announced, ReadPrefix(c))
	}
	if len(u.Announced) > 0 && u.Attributes == nil {
		c.Fail(at, "prefixes are announced without path attributes")
	}
	return u
}

// ReadPrefix reads a prefix of IPv4: a length in bits, and as many bytes as it needs. Bits beyond the length are dropped.
func ReadPrefix(c *cursor.Cursor) netip.Prefix {
	at := c.Offset()
	bits := int(c.Uint8("the length of a prefix"))
	if bits > 32 {
		c.Fail(at, "a prefix of IPv4 has a length of %d", bits)
		return netip.Prefix{}
	}
	var address [4]byte
	copy(address[:], c.Bytes((bits+7)/8, "a prefix"))
	return netip.PrefixFrom(netip.AddrFrom4(address), bits).Masked()
}

// AppendPrefix appends a prefix of IPv4.
func AppendPrefix(b []byte, p netip.Prefix) []byte {
	address := p.Masked().Addr().As4()
	return append(append(b, byte(p.Bits())), address[:(p.Bits()+7)/8]...)
}

// AppendMessage appends an UPDATE with its header. One that does not fit into a message is an error: split it first.
func AppendMessage(b []byte, u *Update, size ASSize) ([]byte, error) {
	start := len(b)
	b = append(append(b, marker...), 0, 0, TypeUpdate, 0, 0)
	at := len(b)
	for _, p := range u.Withdrawn {
		b = AppendPrefix(b, p)
	}
	be.PutUint16(b[at-2:], uint16(min(len(b)-at, MessageSize)))
	b = append(b, 0, 0)
	at = len(b)
	if u.Attributes != nil {
		b = AppendAttributes(b, u.Attributes, size)
	}
	be.PutUint16(b[at-2:], uint16(min(len(b)-at, MessageSize)))
	for _, p := range u.Announced {
		b = AppendPrefix(b, p)
	}
	if n := len(b) - start; n > MessageSize {
		return b[:start], fmt.Errorf("an UPDATE of %s does not fit into a message of %d; split it", plural.Count(n, "byte"), MessageSize)
	}
	be.PutUint16(b[start+len(marker):], uint16(len(b)-start))
	return b, nil
}

// Pack spreads prefixes over as few UPDATEs as hold them. They are withdrawn if there are no attributes.
func Pack(a *Attributes, prefixes []netip.Prefix) iter.Seq[*Update] {
	return func(yield func(*Update) bool) {
		most := MessageSize - HeaderSize - 4
		if a != nil {
			most -= len(AppendAttributes(nil, a, AS4))
		}
		for len(prefixes) > 0 {
			n, size := 0, 0
			for n < len(prefixes) {
				if size += 1 + (prefixes[n].Bits()+7)/8; size > most {
					break
				}
				n++
			}
			u := &Update{Attributes: a, Announced: prefixes[:n]}
			if a == nil {
				u = &Update{Withdrawn: prefixes[:n]}
			}
			if !yield(u) {
				return
			}
			prefixes = prefixes[n:]
		}
	}
}

// ParseMessage reads the one message that is in b. A message of another type is ErrOther.
func ParseMessage(b []byte, size ASSize) (*Update, error) {
	c := cursor.New(b, 0)
	u, _ := ReadMessage(c, size)
	if c.Left() > 0 {
		c.Fail(c.Offset(), "%s follow the message", plural.Count(c.Left(), "byte"))
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	if u == nil {
		return nil, ErrOther
	}
	return u, nil
}
