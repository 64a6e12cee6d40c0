package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"log"
	"net"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/distributed-kv/raft"
)

const (
	dialTimeout = 250 * time.Millisecond
	redialDelay = 100 * time.Millisecond
	// silence is how long a connection may bring nothing to the other side.
	silence = 400 * time.Millisecond
	// outboxMessages bounds what waits for a peer; more is lost, as Raft allows.
	outboxMessages = 256
	// maxMessageBytes bounds one message, such as a snapshot.
	maxMessageBytes = 64 << 20
)

// sendTo carries messages to a peer, over a connection that it makes when there is something to send. Messages that cannot be
// sent are lost.
func sendTo(address string, outbox <-chan raft.Message) {
	for first := range outbox {
		c, err := net.DialTimeout("tcp", address, dialTimeout)
		if err != nil {
			time.Sleep(redialDelay)
			for len(outbox) > 0 {
				<-outbox
			}
			continue
		}
		if err := giveUpAfter(c, silence); err != nil {
			log.Printf("connection to %s: %v", address, err)
		}
		// Nothing ever comes back but the end of the connection.
		gone := make(chan struct{})
		go func() {
			c.Read(make([]byte, 1))
			close(gone)
		}()
		carry(c, first, outbox, gone)
		c.Close()
	}
}

// carry sends messages until the connection ends, as many at a time as there are.
func carry(c net.Conn, m raft.Message, outbox <-chan raft.Message, gone <-chan struct{}) {
	out := bufio.NewWriter(c)
	encoder := json.NewEncoder(out)
	for {
		err := encoder.Encode(m)
		if err == nil && len(outbox) == 0 {
			err = out.Flush()
		}
		if err != nil {
			return
		}
		select {
		case m = <-outbox:
		case <-gone:
			return
		}
	}
}

// receive takes messages from peers.
func (s *server) receive(l net.Listener) {
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
			defer c.Close()
			lines := bufio.NewScanner(c)
			lines.Buffer(nil, maxMessageBytes)
			for lines.Scan() {
				var m raft.Message
				if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
					log.Printf("bad message from %s: %v", c.RemoteAddr(), err)
					return
				}
				s.events <- event{message: &m}
			}
		}()
	}
}
