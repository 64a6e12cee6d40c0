// Package zookeeper is the driver of ZooKeeper, on go-zookeeper. A key is a znode below /bloodhound.
//
// The library reconnects by itself. The driver gives it one connection and no second one, and closes the client after any error. The library
// never repeats a request.
package zookeeper

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/bloodhound-dst/bloodhound/drivers/internal/wire"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	root           = "/bloodhound"
	sessionTimeout = 4 * time.Second
)

type driver struct{ local bool }

// New makes the driver of a workload.
func New(w *world.Workload) (workload.Protocol, error) {
	return &driver{local: w.Options["local_reads"] == "true"}, nil
}

type session struct {
	client *zk.Conn
	conn   *wire.Conn
	once   *wire.Once
	local  bool
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (d *driver) Connect(target, _ string, deadline time.Time) (workload.Session, error) {
	server, err := wire.Parse(target, "2181")
	if err != nil {
		return nil, err
	}
	once, conn, err := wire.NewOnce(server.Host, deadline)
	if err != nil {
		return nil, err
	}
	client, events, err := zk.Connect([]string{conn.RemoteAddr().String()}, sessionTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return once.TakeConn() }))
	if err != nil {
		once.Close()
		return nil, err
	}
	s := &session{client, conn, once, d.local}
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	for {
		select {
		case e := <-events:
			switch {
			case e.State == zk.StateHasSession:
				return s, s.prepare(deadline)
			case e.State == zk.StateDisconnected || e.State == zk.StateAuthFailed:
				s.Close()
				return nil, errors.New("the server closed the connection")
			}
		case <-late.C:
			s.Close()
			return nil, errors.New("no session in time")
		}
	}
}

// prepare creates the parent of all keys.
func (s *session) prepare(deadline time.Time) error {
	_, err := wire.Within(s.conn, deadline, func() (string, error) { return s.client.Create(root, nil, 0, zk.WorldACL(zk.PermAll)) })
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		s.Close()
		return fmt.Errorf("%s: %w", root, err)
	}
	return nil
}

func (s *session) Close() error {
	s.once.Close()
	s.conn.Close() // without a farewell, which the library would wait for
	go s.client.Close()
	return nil
}

func (s *session) Perform(o *workload.Request, deadline time.Time) workload.Result {
	before := s.conn.Sent()
	r, err := s.perform(o, deadline)
	switch {
	case err == nil:
		return r
	case s.conn.Sent() == before && s.client.State() != zk.StateHasSession:
		return workload.Fail("not sent: %v", err)
	case refused(err):
		return workload.Fail("%v", err)
	}
	return workload.Info("%v", err)
}

func (s *session) perform(o *workload.Request, deadline time.Time) (workload.Result, error) {
	path := root + "/" + o.Key
	done := workload.OK("", false)
	switch o.Kind {
	case "put":
		_, err := wire.Within(s.conn, deadline, func() (*zk.Stat, error) { return s.client.Set(path, []byte(o.Value), -1) })
		if errors.Is(err, zk.ErrNoNode) { // nothing was done, so this is the first request that can take effect
			_, err = wire.Within(s.conn, deadline, func() (string, error) { return s.client.Create(path, []byte(o.Value), 0, zk.WorldACL(zk.PermAll)) })
		}
		return done, err
	case "get":
		if err := s.catchUp(path, deadline); err != nil {
			return done, err
		}
		value, _, err := s.read(path, deadline)
		if errors.Is(err, zk.ErrNoNode) {
			return done, nil
		}
		return workload.OK(string(value), true), err
	case "delete":
		_, err := wire.Within(s.conn, deadline, func() (bool, error) { return true, s.client.Delete(path, -1) })
		if errors.Is(err, zk.ErrNoNode) {
			return workload.OK("0", false), nil
		}
		return workload.OK("1", false), err
	case "cas":
		return s.compare(path, o, deadline)
	}
	return workload.Fail("unknown operation %s", o.Kind), nil
}

// catchUp has the server apply all that the leader has committed before: reads are local otherwise.
func (s *session) catchUp(path string, deadline time.Time) error {
	if s.local {
		return nil
	}
	_, err := wire.Within(s.conn, deadline, func() (string, error) { return s.client.Sync(path) })
	return err
}

func (s *session) read(path string, deadline time.Time) ([]byte, int32, error) {
	type node struct {
		value   []byte
		version int32
	}
	n, err := wire.Within(s.conn, deadline, func() (node, error) {
		value, stat, err := s.client.Get(path)
		if err != nil {
			return node{}, err
		}
		return node{value, stat.Version}, nil
	})
	return n.value, n.version, err
}

// compare replaces a value by its version: ZooKeeper compares versions, and no two writes write the same value. A node that was deleted and
// created again has the versions of another one, so workloads with both delete and cas compare versions of different nodes.
func (s *session) compare(path string, o *workload.Request, deadline time.Time) (workload.Result, error) {
	if err := s.catchUp(path, deadline); err != nil {
		return workload.Fail("the sync before it: %v", err), nil
	}
	value, version, err := s.read(path, deadline)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return workload.OK("false", false), nil
	case err != nil:
		return workload.Fail("the read before it: %v", err), nil
	case string(value) != o.Expect:
		return workload.OK("false", false), nil
	}
	_, err = wire.Within(s.conn, deadline, func() (*zk.Stat, error) { return s.client.Set(path, []byte(o.Value), version) })
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return workload.OK("false", false), nil
	}
	return workload.OK(strconv.FormatBool(err == nil), false), err
}

// refused reports whether an error is the server's answer that it did nothing.
func refused(err error) bool {
	for _, e := range []error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNoAuth, zk.ErrBadArguments, zk.ErrInvalidACL, zk.ErrNotEmpty,
		zk.ErrSessionMoved} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
