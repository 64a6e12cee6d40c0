// Package wire has what all drivers of this module share: connections that do nothing in the background, and options.
package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Conn counts the bytes that it sends: none of an operation was sent if the count is the same before and after it.
type Conn struct {
	net.Conn
	sent atomic.Int64
}

// Sent is the number of bytes so far.
func (c *Conn) Sent() int64 { return c.sent.Load() }

// Write counts bytes before they are sent, since another goroutine may look meanwhile, and takes back those that were not.
func (c *Conn) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n - len(p)))
	return n, err
}

// Dial connects without the background work of Go's defaults: no keep-alive probes, no second address tried in parallel, no C resolver.
func Dial(network, address string, deadline time.Time) (*Conn, error) {
	return DialContext(context.Background(), network, address, deadline)
}

// DialContext is Dial for libraries that pass a context.
func DialContext(ctx context.Context, network, address string, deadline time.Time) (*Conn, error) {
	d := net.Dialer{Deadline: deadline, FallbackDelay: -1, KeepAlive: -1, Resolver: &net.Resolver{PreferGo: true}}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c}, nil
}

// errLate is the error of a call that was not over at its deadline.
var errLate = errors.New("no answer in time")

// Within waits for a call of a library that knows no deadlines. It closes the connection at the deadline, which ends a late call.
func Within[T any](c *Conn, deadline time.Time, call func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := call()
		done <- answer{v, err}
	}()
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	select {
	case a := <-done:
		return a.value, a.err
	case <-late.C:
		c.Close()
		var none T
		return none, errLate
	}
}

// Once hands a connection that is open already to a library that dials by itself. The library gets no second one, so that it cannot reconnect.
type Once struct{ conn atomic.Pointer[Conn] }

// NewOnce opens the connection.
func NewOnce(address string, deadline time.Time) (*Once, *Conn, error) {
	c, err := Dial("tcp", address, deadline)
	if err != nil {
		return nil, nil, err
	}
	o := &Once{}
	o.conn.Store(c)
	return o, c, nil
}

// TakeConn gives the connection, the first time.
func (o *Once) TakeConn() (net.Conn, error) {
	if c := o.conn.Swap(nil); c != nil {
		return c, nil
	}
	return nil, errors.New("the connection is gone")
}

// Close closes the connection if the library has not taken it.
func (o *Once) Close() {
	if c := o.conn.Swap(nil); c != nil {
		c.Close()
	}
}

// Server is the target of a workload, taken apart.
type Server struct {
	Host           string // with a port
	User, Password string
	Path           string
}

// Parse takes a target apart. port is the protocol's default.
func Parse(target, port string) (Server, error) {
	u, err := url.Parse(target)
	if err != nil {
		return Server{}, err
	}
	s := Server{Host: u.Host, User: u.User.Username(), Path: u.Path}
	s.Password, _ = u.User.Password()
	if u.Port() == "" {
		s.Host = net.JoinHostPort(u.Hostname(), port)
	}
	return s, nil
}

// Duration is an option of a workload, in nanoseconds.
func Duration(w *world.Workload, name string, otherwise time.Duration) (time.Duration, error) {
	n, err := Number(w, name, int64(otherwise))
	return time.Duration(n), err
}

// Number is an option of a workload.
func Number(w *world.Workload, name string, otherwise int64) (int64, error) {
	text := w.Options[name]
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %q; give a number from 0", name, text)
	}
	return n, nil
}
