package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// Types of messages (RFC 4271, 4.1).
const (
	typeOpen         = 1
	typeUpdate       = 2
	typeNotification = 3
	typeKeepalive    = 4
)

// patience bounds how long a router may take to answer.
const patience = time.Minute

// speaker is the neighbour's end of a session.
type speaker struct {
	conn     net.Conn
	w        *bufio.Writer
	done     chan error                        // what ended the session
	received atomic.Pointer[func(*bgp.Update)] // what is done with UPDATEs that the router sends; nil is nothing
}

// dial opens a session to a router, from an address. One that is still starting refuses the connection, or resets it since it does not know its neighbour yet.
func dial(router string, asn uint32, id, from netip.Addr) (*speaker, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		s, err := connect(router, asn, id, from)
		if err == nil {
			go s.receive()
			return s, nil
		}
		if errors.As(err, new(refusal)) || time.Now().After(deadline) {
			return nil, err
		}
	}
}

// refusal is what a router said against a session.
type refusal string

func (r refusal) Error() string { return string(r) }

func connect(router string, asn uint32, id, from netip.Addr) (*speaker, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	conn, err := d.Dial("tcp4", router)
	if err != nil {
		return nil, err
	}
	s := &speaker{conn: conn, w: bufio.NewWriterSize(conn, 1<<16), done: make(chan error, 1)}
	conn.SetReadDeadline(time.Now().Add(patience))
	if err := s.open(asn, id); err != nil {
		conn.Close()
		return nil, err
	}
	conn.SetReadDeadline(time.Time{})
	return s, nil
}

// open exchanges OPEN and KEEPALIVE. The hold time is 0, so no KEEPALIVE follows (RFC 4271, 4.2).
func (s *speaker) open(asn uint32, id netip.Addr) error {
	two := uint16(bgp.Transition)
	if asn < 1<<16 {
		two = uint16(asn)
	}
	capabilities := []byte{1, 4, 0, 1, 0, 1} // routes of IPv4 unicast
	capabilities = binary.BigEndian.AppendUint32(append(capabilities, 65, 4), asn)
	body := binary.BigEndian.AppendUint16([]byte{4}, two)
	body = append(append(body, 0, 0), id.AsSlice()...)
	body = append(body, byte(len(capabilities)+2), 2, byte(len(capabilities)))
	if err := s.send(typeOpen, append(body, capabilities...)); err != nil {
		return err
	}
	for _, want := range []byte{typeOpen, typeKeepalive} {
		kind, body, err := s.read()
		if err != nil {
			return fmt.Errorf("the router did not open the session: %w", err)
		}
		if kind != want {
			return refusal(fmt.Sprintf("the router sent a message of type %d, not %d: %x", kind, want, body))
		}
		if kind == typeOpen {
			if err := s.send(typeKeepalive, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *speaker) send(kind byte, body []byte) error {
	s.w.Write(message(kind, body))
	return s.w.Flush()
}

// message is a body with its header.
func message(kind byte, body []byte) []byte {
	b := binary.BigEndian.AppendUint16(bytes.Repeat([]byte{0xff}, 16), uint16(bgp.HeaderSize+len(body)))
	return append(append(b, kind), body...)
}

func (s *speaker) read() (kind byte, body []byte, err error) {
	var header [bgp.HeaderSize]byte
	if _, err := io.ReadFull(s.conn, header[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint16(header[16:]))
	if n < bgp.HeaderSize || n > bgp.MessageSize {
		return 0, nil, fmt.Errorf("the router sent a message of %d bytes", n)
	}
	body = make([]byte, n-bgp.HeaderSize)
	_, err = io.ReadFull(s.conn, body)
	return header[18], body, err
}

// receive reads what the router sends, so that it never waits.
func (s *speaker) receive() {
	for {
		kind, body, err := s.read()
		if kind == typeNotification {
			err = fmt.Errorf("the router ended the session with code %x", body)
		}
		if f := s.received.Load(); err == nil && kind == typeUpdate && f != nil {
			var u *bgp.Update
			if u, err = bgp.ParseMessage(message(kind, body), bgp.AS4); err == nil {
				(*f)(u)
			}
		}
		if err != nil {
			s.done <- err
			return
		}
	}
}

// update sends an UPDATE. Flush sends what is buffered.
func (s *speaker) update(u *bgp.Update) error {
	b, err := bgp.AppendMessage(nil, u, bgp.AS4)
	if err != nil {
		return err
	}
	return s.write(b)
}

// write sends the bytes of a message.
func (s *speaker) write(b []byte) error {
	if _, err := s.w.Write(b); err != nil {
		select {
		case why := <-s.done:
			return why
		case <-time.After(time.Second): // the router may have said why
			return err
		}
	}
	return nil
}

func (s *speaker) flush() error { return s.w.Flush() }
