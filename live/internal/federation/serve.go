package federation

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// Bounds of connections.
const (
	maxConnections        = 256
	maxConnectionsPerPeer = 16
)

// Serve answers peers at a listener until the context ends.
func (d *Domain) Serve(ctx context.Context, l net.Listener) error {
	config, err := d.connection(func(key ed25519.PublicKey) bool { return d.peer(key) != nil })
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var served sync.WaitGroup
	defer served.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	c := &connections{of: map[*Peer]int{}}
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // out of descriptors, or the other side has gone
			time.Sleep(10 * time.Millisecond)
			continue
		case !c.add(nil, maxConnections):
			conn.Close()
			continue
		}
		served.Go(func() {
			defer c.remove(nil)
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			d.converse(ctx, tls.Server(conn, config), c)
		})
	}
}

// connections counts those of each peer, and of all by nil.
type connections struct {
	mu sync.Mutex
	of map[*Peer]int
}

func (c *connections) add(p *Peer, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[p] >= most {
		return false
	}
	c.of[p]++
	return true
}

func (c *connections) remove(p *Peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[p]--
}

// converse answers one request after the other. A peer that sends what is no request, or waits too long, is cut off.
func (d *Domain) converse(ctx context.Context, conn *tls.Conn, c *connections) {
	conn.SetDeadline(time.Now().Add(d.times.handshake))
	if conn.HandshakeContext(ctx) != nil {
		return
	}
	p := d.peer(shown(conn.ConnectionState()))
	if p == nil || !c.add(p, maxConnectionsPerPeer) {
		return
	}
	defer c.remove(p)
	for {
		conn.SetDeadline(time.Now().Add(d.times.idle))
		frame, err := readFrame(conn)
		if err != nil {
			return
		}
		r, err := parseRequest(frame)
		if err != nil {
			return
		}
		out := appendAnswer(nil, d.handle(ctx, p, r))
		if d.tap != nil {
			d.tap(d.Name, p.Name, false, out)
		}
		conn.SetDeadline(time.Now().Add(d.times.idle))
		if writeFrame(conn, out) != nil {
			return
		}
	}
}
