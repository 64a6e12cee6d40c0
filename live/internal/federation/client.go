package federation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// callTime bounds one call, in which the peer may call another one.
const callTime = time.Minute

// tap sees what goes over a connection before it is encrypted: requests and answers. It is nil but in tests.
type tap func(from, to string, asks bool, frame []byte)

// client is a connection with a domain.
type client struct {
	self *Identity
	peer *Peer
	tap  tap
	mu   sync.Mutex
	conn net.Conn
}

func dial(ctx context.Context, self *Identity, p *Peer, tap tap) (*client, error) {
	conn, err := self.dial(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("domain %s at %s: %w", p.Name, p.Address, err)
	}
	return &client{self: self, peer: p, tap: tap, conn: conn}, nil
}

func (c *client) Close() error { return c.conn.Close() }

// call sends a request and waits for its answer. After an error of the connection there is no further call.
func (c *client) call(ctx context.Context, r *request) (*answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { c.conn.Close() })()
	frame := appendRequest(nil, r)
	if c.tap != nil {
		c.tap(c.self.Name, c.peer.Name, true, frame)
	}
	var a *answer
	err := writeFrame(c.conn, frame)
	if err == nil {
		frame, err = readFrame(c.conn)
	}
	if err == nil {
		a, err = parseAnswer(frame)
	}
	if err != nil {
		c.conn.Close()
		return nil, fmt.Errorf("domain %s: %w", c.peer.Name, errors.Join(err, ctx.Err()))
	}
	if a.Status != statusOK {
		return nil, fmt.Errorf("domain %s: %w", c.peer.Name, a.Status)
	}
	return a, nil
}

// said verifies what a domain has signed with an answer, in a session or about an epoch of origins.
func (c *client) said(statement []byte, session token) (*Statement, error) {
	s, err := parseStatement(statement, c.peer.Key)
	if err == nil && (s.Entry.Domain != c.peer.Name || s.Entry.Peer != c.self.Name || string(s.Entry.Session) != string(session[:])) {
		err = errors.New("it has signed something else than it says")
	}
	if err != nil {
		return nil, fmt.Errorf("domain %s: %w", c.peer.Name, err)
	}
	return s, nil
}
