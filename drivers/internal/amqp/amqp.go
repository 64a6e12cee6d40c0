// Package amqp is the driver of AMQP 0-9-1, on amqp091-go. A key is a durable queue.
//
// The library's recovery of connections is off, which is its default. A send is one persistent message with a publisher confirm. A receive is a
// basic.get and an acknowledgement; the protocol has no answer to an acknowledgement, so histories have none either.
package amqp

import (
	"context"
	"net"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bloodhound-dst/bloodhound/drivers/internal/wire"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	// lease is how long a server may take to notice that the connection of a consumer is gone.
	lease = 5 * time.Second
	// heartbeat is long: the library's heartbeats would be traffic of its own.
	heartbeat = time.Hour
)

type driver struct{ quorum bool }

// New makes the driver of a workload.
func New(w *world.Workload) (workload.Protocol, error) {
	return &driver{quorum: w.Options["queue_type"] == "quorum"}, nil
}

// Lease bounds the time until messages of a lost connection come again.
func (d *driver) Lease() time.Duration { return lease }

type session struct {
	driver   *driver
	conn     *wire.Conn
	client   *amqp.Connection
	channel  *amqp.Channel
	returned chan amqp.Return
	declared map[string]bool
}

func (d *driver) Connect(target, _ string, deadline time.Time) (workload.Session, error) {
	server, err := wire.Parse(target, "5672")
	if err != nil {
		return nil, err
	}
	once, conn, err := wire.NewOnce(server.Host, deadline)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	s := &session{driver: d, conn: conn, declared: map[string]bool{}}
	s.client, err = amqp.DialConfig(target, amqp.Config{Heartbeat: heartbeat,
		Dial: func(string, string) (net.Conn, error) { return once.TakeConn() }})
	if err != nil {
		conn.Close()
		return nil, err
	}
	if s.channel, err = s.client.Channel(); err == nil {
		err = s.channel.Confirm(false)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	s.returned = s.channel.NotifyReturn(make(chan amqp.Return, 1))
	return s, conn.SetDeadline(time.Time{})
}

func (s *session) Close() error { return s.conn.Close() }

// declare makes the queue of a key, unless this connection has done so.
func (s *session) declare(key string, deadline time.Time) error {
	if s.declared[key] {
		return nil
	}
	var arguments amqp.Table
	if s.driver.quorum {
		arguments = amqp.Table{"x-queue-type": "quorum"}
	}
	_, err := wire.Within(s.conn, deadline, func() (amqp.Queue, error) { return s.channel.QueueDeclare(key, true, false, false, false, arguments) })
	s.declared[key] = err == nil
	return err
}

func (s *session) Perform(o *workload.Request, deadline time.Time) workload.Result {
	if err := s.declare(o.Key, deadline); err != nil {
		return workload.Fail("the queue: %v", err) // no message was sent or asked for
	}
	switch o.Kind {
	case "send":
		return s.send(o, deadline)
	case "receive":
		return s.receive(o.Key, deadline)
	}
	return workload.Fail("unknown operation %s", o.Kind)
}

func (s *session) send(o *workload.Request, deadline time.Time) workload.Result {
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	before := s.conn.Sent()
	confirm, err := s.channel.PublishWithDeferredConfirm("", o.Key, true, false,
		amqp.Publishing{DeliveryMode: amqp.Persistent, ContentType: "text/plain", Body: []byte(o.Value)})
	if err != nil {
		if s.conn.Sent() == before {
			return workload.Fail("not sent: %v", err)
		}
		return workload.Info("%v", err)
	}
	acked, err := confirm.WaitContext(ctx)
	if err != nil {
		return workload.Info("no confirm: %v", err)
	}
	select {
	case r := <-s.returned: // comes before the confirm of the same message
		return workload.Fail("returned: %s", r.ReplyText)
	default:
	}
	if !acked {
		// A nack says that the broker was unable to handle the message; it may have reached some replica.
		return workload.Info("the broker did not confirm it")
	}
	return workload.OK("", false)
}

func (s *session) receive(key string, deadline time.Time) workload.Result {
	type got struct {
		message amqp.Delivery
		some    bool
	}
	g, err := wire.Within(s.conn, deadline, func() (got, error) {
		m, some, err := s.channel.Get(key, false)
		return got{m, some}, err
	})
	if err != nil {
		return workload.Info("%v", err)
	}
	if !g.some {
		return workload.OK("", false)
	}
	if err := s.channel.Ack(g.message.DeliveryTag, false); err != nil {
		s.conn.Close() // the message was received, and comes again
	}
	return workload.OK(string(g.message.Body), true)
}
