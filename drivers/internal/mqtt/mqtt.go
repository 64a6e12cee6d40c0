// Package mqtt is the driver of MQTT 5, on paho.golang, and of MQTT 3.1.1, on paho.mqtt.golang.
//
// Each client has one session on the server, which outlives its connections. Messages are acknowledged when they arrive, and wait in the driver
// until an operation takes them, also across connections. Neither library reconnects: autopaho is not used, AutoReconnect and ConnectRetry are
// off. A new connection begins without the library's record of earlier messages, so that no publish is sent twice.
package mqtt

import (
	"fmt"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/drivers/internal/wire"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	// emptyWait is how long a receive waits for a message.
	emptyWait = 200 * time.Millisecond
	// lease is how long messages are waited for that a server sends again after a connection was lost.
	lease = 3 * time.Second
	// keepAliveSeconds is long: the pings of a library would be traffic of its own.
	keepAliveSeconds = 3600
	// sessionSeconds is how long a server keeps the session of a client without a connection.
	sessionSeconds = 24 * 3600
)

type driver struct {
	qos     byte
	version string
	mu      sync.Mutex
	inboxes map[string]*inbox // by client
}

// New makes the driver of a workload.
func New(w *world.Workload) (workload.Protocol, error) {
	qos, err := wire.Number(w, "qos", 1)
	if err != nil {
		return nil, err
	}
	return &driver{qos: byte(qos), version: w.Options["version"], inboxes: map[string]*inbox{}}, nil
}

// Lease bounds the time until messages of a lost connection come again.
func (d *driver) Lease() time.Duration { return lease }

// inbox has the messages of a client that no operation has taken yet, by topic.
type inbox struct {
	mu     sync.Mutex
	topics []string // to which the client has subscribed
	queues map[string][]string
	came   chan struct{} // a message came
}

func (d *driver) inbox(client string) *inbox {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.inboxes[client]
	if b == nil {
		b = &inbox{queues: map[string][]string{}, came: make(chan struct{}, 1)}
		d.inboxes[client] = b
	}
	return b
}

func (b *inbox) put(topic, message string) {
	b.mu.Lock()
	b.queues[topic] = append(b.queues[topic], message)
	b.mu.Unlock()
	select {
	case b.came <- struct{}{}:
	default:
	}
}

func (b *inbox) takeMessage(topic string, until time.Time) (string, bool) {
	for {
		b.mu.Lock()
		queue := b.queues[topic]
		if len(queue) > 0 {
			b.queues[topic] = queue[1:]
			b.mu.Unlock()
			return queue[0], true
		}
		b.mu.Unlock()
		wait := time.Until(until)
		if wait <= 0 {
			return "", false
		}
		timer := time.NewTimer(wait)
		select {
		case <-b.came:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// library is one connection of one of the two libraries.
type library interface {
	publish(topic, message string, qos byte, deadline time.Time) (refused bool, err error)
	subscribe(topic string, qos byte, deadline time.Time) error
	// present reports whether the server had a session of the client.
	present() bool
	// lost says why the connection ended; nil while it lasts.
	lost() error
	close()
}

type session struct {
	driver *driver
	box    *inbox
	conn   *wire.Conn
	lib    library
}

func (d *driver) Connect(target, client string, deadline time.Time) (workload.Session, error) {
	server, err := wire.Parse(target, "1883")
	if err != nil {
		return nil, err
	}
	once, conn, err := wire.NewOnce(server.Host, deadline)
	if err != nil {
		return nil, err
	}
	s := &session{driver: d, box: d.inbox(client), conn: conn}
	if d.version == "3.1.1" {
		s.lib, err = connect3(once, server, client, s.box, deadline)
	} else {
		s.lib, err = connect5(once, server, client, s.box, deadline)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	// A server that says that it has no session of the client has no subscriptions either.
	for _, topic := range s.box.topics {
		if s.lib.present() {
			break
		}
		if err := s.lib.subscribe(topic, d.qos, deadline); err != nil {
			conn.Close()
			return nil, fmt.Errorf("subscribing again to %s: %w", topic, err)
		}
	}
	return s, nil
}

func (s *session) Close() error {
	s.lib.close()
	return s.conn.Close()
}

func (s *session) Perform(o *workload.Request, deadline time.Time) workload.Result {
	before := s.conn.Sent()
	switch o.Kind {
	case "publish":
		refused, err := s.lib.publish(o.Key, o.Value, s.driver.qos, deadline)
		switch {
		case err == nil:
			return workload.OK("", false)
		case refused || s.conn.Sent() == before:
			return workload.Fail("%v", err)
		}
		return workload.Info("%v", err)
	case "subscribe":
		if err := s.lib.subscribe(o.Key, s.driver.qos, deadline); err != nil {
			return workload.Info("%v", err)
		}
		s.box.topics = append(s.box.topics, o.Key) // by the client's own goroutine alone
		return workload.OK("", false)
	case "receive":
		until := time.Now().Add(emptyWait)
		if until.After(deadline) {
			until = deadline
		}
		message, some := s.box.takeMessage(o.Key, until)
		if !some && s.lib.lost() != nil {
			return workload.Fail("the connection was lost: %v", s.lib.lost()) // so that nothing came does not mean that there is nothing
		}
		return workload.OK(message, some)
	}
	return workload.Fail("unknown operation %s", o.Kind)
}

// loss remembers why a connection ended.
type loss struct {
	mu  sync.Mutex
	err error
}

func (l *loss) set(err error) {
	if err == nil {
		err = fmt.Errorf("closed")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

func (l *loss) lost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
