package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"log"
	"net"
	"strings"
	"time"
)

const (
	dialTimeout = time.Second
	redialDelay = 100 * time.Millisecond
	// outboxMessages bounds what waits for a slow peer; a full outbox closes the connection.
	outboxMessages = 1024
	// maxMessageBytes bounds one message: a full append of the largest values, and some.
	maxMessageBytes = entriesPerMessage*(maxKeyBytes+maxValueBytes)*6 + 1<<16
)

// conn is a connection to a peer; both sides send on it. The node with the smaller name dials.
type conn struct {
	peer   string
	net    net.Conn
	outbox chan Message
}

// connEvent is news of a connection for the loop: it is up, it carried a message, or it is down.
type connEvent struct {
	conn    *conn
	message *Message
	down    bool
}

// listenPeers accepts the peers with smaller names.
func (s *server) listenPeers(l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.Printf("accept: %v", err)
			time.Sleep(redialDelay)
			continue
		}
		go func() {
			in := bufio.NewReader(c)
			c.SetReadDeadline(time.Now().Add(dialTimeout))
			name, err := in.ReadString('\n')
			name = strings.TrimSuffix(name, "\n")
			if _, known := s.peers[name]; err != nil || !known || name > s.id {
				c.Close()
				return
			}
			c.SetReadDeadline(time.Time{})
			s.serve(name, c, in)
		}()
	}
}

// dialPeer keeps a connection to a peer with a larger name.
func (s *server) dialPeer(name, address string) {
	for {
		if c, err := net.DialTimeout("tcp", address, dialTimeout); err == nil {
			if _, err := c.Write([]byte(s.id + "\n")); err == nil {
				s.serve(name, c, bufio.NewReader(c))
			}
			c.Close()
		}
		time.Sleep(redialDelay)
	}
}

// serve carries messages until the connection ends.
func (s *server) serve(name string, nc net.Conn, in *bufio.Reader) {
	c := &conn{peer: name, net: nc, outbox: make(chan Message, outboxMessages)}
	s.events <- event{conn: &connEvent{conn: c}}
	done := make(chan struct{})
	go c.write(done)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxMessageBytes)
	for lines.Scan() {
		m := new(Message)
		if err := json.Unmarshal(lines.Bytes(), m); err != nil {
			log.Printf("bad message from %s: %v", name, err)
			break
		}
		s.events <- event{conn: &connEvent{conn: c, message: m}}
	}
	nc.Close()
	close(done)
	s.events <- event{conn: &connEvent{conn: c, down: true}}
}

// write sends what the loop puts into the outbox, as much at a time as there is.
func (c *conn) write(done <-chan struct{}) {
	out := bufio.NewWriter(c.net)
	encoder := json.NewEncoder(out)
	for {
		select {
		case <-done:
			return
		case m := <-c.outbox:
			err := encoder.Encode(m)
			if err == nil && len(c.outbox) == 0 {
				err = out.Flush()
			}
			if err != nil {
				c.net.Close()
				return
			}
		}
	}
}
