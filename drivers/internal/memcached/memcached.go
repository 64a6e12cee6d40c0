// Package memcached is the driver of memcached, on gomemcache.
//
// gomemcache repeats nothing. A client has one connection, which the driver opens, and the library cannot open another.
package memcached

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/bloodhound-dst/bloodhound/drivers/internal/wire"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

type driver struct{}

// New makes the driver of a workload.
func New(*world.Workload) (workload.Protocol, error) { return driver{}, nil }

type session struct {
	client *memcache.Client
	conn   *wire.Conn
	once   *wire.Once
}

func (driver) Connect(target, _ string, deadline time.Time) (workload.Session, error) {
	server, err := wire.Parse(target, "11211")
	if err != nil {
		return nil, err
	}
	once, conn, err := wire.NewOnce(server.Host, deadline)
	if err != nil {
		return nil, err
	}
	client := memcache.NewFromSelector(selector{conn.RemoteAddr()})
	client.DialContext = func(context.Context, string, string) (net.Conn, error) { return once.TakeConn() }
	client.MaxIdleConns = 1
	return &session{client, conn, once}, nil
}

// selector knows one server by its address: the library's own would resolve its name again.
type selector struct{ addr net.Addr }

func (s selector) PickServer(string) (net.Addr, error)   { return s.addr, nil }
func (s selector) Each(visit func(net.Addr) error) error { return visit(s.addr) }

func (s *session) Close() error {
	s.once.Close()
	return s.client.Close()
}

func (s *session) Perform(o *workload.Request, deadline time.Time) workload.Result {
	s.client.Timeout = max(time.Until(deadline), time.Millisecond)
	before := s.conn.Sent()
	r, err := s.perform(o)
	switch {
	case err == nil:
		return r
	case s.conn.Sent() == before:
		return workload.Fail("not sent: %v", err)
	}
	return workload.Info("%v", err)
}

func (s *session) perform(o *workload.Request) (workload.Result, error) {
	item := &memcache.Item{Key: o.Key, Value: []byte(o.Value)}
	done := workload.OK("", false)
	switch o.Kind {
	case "put":
		return done, s.client.Set(item)
	case "get":
		got, err := s.client.Get(o.Key)
		if errors.Is(err, memcache.ErrCacheMiss) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		return workload.OK(string(got.Value), true), nil
	case "delete":
		err := s.client.Delete(o.Key)
		if errors.Is(err, memcache.ErrCacheMiss) {
			return workload.OK("0", false), nil
		}
		return workload.OK("1", false), err
	case "cas":
		return s.compare(o)
	}
	return workload.Fail("unknown operation %s", o.Kind), nil
}

// compare replaces a value by its token: memcached compares tokens, and no two writes write the same value.
func (s *session) compare(o *workload.Request) (workload.Result, error) {
	got, err := s.client.Get(o.Key)
	switch {
	case errors.Is(err, memcache.ErrCacheMiss):
		return workload.OK("false", false), nil
	case err != nil:
		return workload.Fail("the read before it: %v", err), nil
	case string(got.Value) != o.Expect:
		return workload.OK("false", false), nil
	}
	got.Value = []byte(o.Value)
	err = s.client.CompareAndSwap(got)
	if errors.Is(err, memcache.ErrCASConflict) || errors.Is(err, memcache.ErrNotStored) || errors.Is(err, memcache.ErrCacheMiss) {
		return workload.OK("false", false), nil
	}
	return workload.OK(strconv.FormatBool(err == nil), false), err
}
