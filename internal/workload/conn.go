package workload

import (
	"bufio"
	"io"
	"net"
	"time"
)

// connections of one client, one for each target, made when needed and dropped after any doubt.
type connections struct {
	conns    []*conn
	sessions []io.Closer // connections that a library makes
	dialed   []string    // the address behind each connection
	client   string      // the name of the client
}

// conn is a connection with what was read ahead on it.
type conn struct {
	net.Conn
	in *bufio.Reader
}

func newConnections(targets int, client string) *connections {
	return &connections{conns: make([]*conn, targets), sessions: make([]io.Closer, targets), dialed: make([]string, targets), client: client}
}

func (c *connections) close() {
	for i := range c.conns {
		c.drop(i)
	}
}

func (c *connections) drop(target int) {
	if c.conns[target] != nil {
		c.conns[target].Close()
		c.conns[target] = nil
	}
	if c.sessions[target] != nil {
		c.sessions[target].Close()
		c.sessions[target] = nil
	}
}

// dial connects without the background work of Go's defaults: no keep-alive probes, no second address tried in
// parallel, no C resolver.
func dial(address string, deadline time.Time) (*conn, error) {
	d := net.Dialer{Deadline: deadline, FallbackDelay: -1, KeepAlive: -1, Resolver: &net.Resolver{PreferGo: true}}
	c, err := d.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReader(c)}, nil
}

// send hands a request to the kernel. When it fails and sent is false, not one byte of the request left.
func (c *conn) send(request []byte, deadline time.Time) (sent bool, err error) {
	if err := c.SetDeadline(deadline); err != nil {
		return false, err
	}
	n, err := c.Write(request)
	return n > 0, err
}
