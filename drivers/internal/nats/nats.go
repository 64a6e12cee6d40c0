// Package nats is the driver of NATS: JetStream, core and key-value buckets, on nats.go.
//
// Reconnecting is off (NoReconnect), and so are retries of publishes (RetryAttempts), connects and the library's own pings. Every request
// of JetStream is one message with one reply.
package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bloodhound-dst/bloodhound/drivers/internal/wire"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Names of what the driver creates on the server.
const (
	stream = "bloodhound"
	bucket = "bloodhound"
	// prefix begins the subjects of the stream. Core subjects are keys as they are.
	prefix = "bloodhound."
)

const (
	defaultAckWait = 2 * time.Second
	// emptyWait is how long a receive waits for a message.
	emptyWait = 100 * time.Millisecond
	// maxWaiting bounds the messages of a subscription that no consume has taken yet.
	maxWaiting = 100_000
)

// driver is the protocol of one workload.
type driver struct {
	ackWait  time.Duration
	replicas int
	consumer string // the durable consumer, which the workload's clients share
	streams  bool   // some operation is of JetStream
	buckets  bool
	made     atomic.Bool
}

// New makes the driver of a workload.
func New(w *world.Workload) (workload.Protocol, error) {
	d := &driver{consumer: strings.Map(plain, workload.Group(w))}
	var err error
	if d.ackWait, err = wire.Duration(w, "ack_wait", defaultAckWait); err != nil {
		return nil, err
	}
	replicas, err := wire.Number(w, "replicas", 1)
	d.replicas = int(replicas)
	for _, o := range w.Mix {
		switch o.Kind {
		case "send", "receive":
			d.streams = true
		case "put", "get", "delete", "cas":
			d.buckets = true
		}
	}
	return d, err
}

// plain makes a name of a workload one of a consumer.
func plain(r rune) rune {
	if strings.ContainsRune(".*>/\\ \t", r) {
		return '_'
	}
	return r
}

// Lease bounds the time that an unacknowledged message stays with its consumer.
func (d *driver) Lease() time.Duration { return d.ackWait + time.Second }

// session is a connection of a client.
type session struct {
	driver *driver
	conn   *nats.Conn
	js     jetstream.JetStream
	sent   func() int64
	pull   jetstream.Consumer
	kv     jetstream.KeyValue
	last   jetstream.Msg // the message that was received last
	subs   map[string]*nats.Subscription
}

// dialer hands the library one connection and keeps it, to count what is sent.
type dialer struct {
	deadline time.Time
	conn     *wire.Conn
}

func (d *dialer) Dial(network, address string) (net.Conn, error) {
	var err error
	d.conn, err = wire.Dial(network, address, d.deadline)
	if err != nil {
		return nil, err
	}
	return d.conn, nil
}

func (d *driver) Connect(target, client string, deadline time.Time) (workload.Session, error) {
	to := &dialer{deadline: deadline}
	conn, err := nats.Connect(target, nats.Name(client), nats.NoReconnect(), nats.RetryOnFailedConnect(false), nats.DontRandomize(),
		nats.Timeout(time.Until(deadline)), nats.PingInterval(time.Hour), nats.SetCustomDialer(to),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return nil, err
	}
	s := &session{driver: d, conn: conn, sent: to.conn.Sent, subs: map[string]*nats.Subscription{}}
	if err := s.prepare(deadline); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// prepare creates the stream, its consumer and the bucket, unless they are there.
func (s *session) prepare(deadline time.Time) error {
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	d := s.driver
	var err error
	if s.js, err = jetstream.New(s.conn); err != nil {
		return err
	}
	if d.streams {
		if !d.made.Load() {
			config := jetstream.StreamConfig{Name: stream, Subjects: []string{prefix + ">"}, Replicas: d.replicas, Storage: jetstream.FileStorage}
			if _, err := s.js.CreateStream(ctx, config); err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				return fmt.Errorf("the stream %s: %w", stream, err)
			}
		}
	}
	if d.buckets {
		s.kv, err = s.js.KeyValue(ctx, bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			s.kv, err = s.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket, Replicas: d.replicas, Storage: jetstream.FileStorage})
		}
		if err != nil {
			return fmt.Errorf("the bucket %s: %w", bucket, err)
		}
	}
	d.made.Store(true)
	return nil
}

// pullFrom returns the consumer of a key, which is created unless it is there.
func (s *session) pullFrom(ctx context.Context, key string) (jetstream.Consumer, error) {
	return s.js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{Durable: s.driver.consumer + "-" + strings.Map(plain, key),
		FilterSubject: prefix + key, AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.driver.ackWait, MaxAckPending: -1})
}

func (s *session) Close() error {
	s.conn.Close()
	return nil
}

func (s *session) Perform(o *workload.Request, deadline time.Time) workload.Result {
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	before := s.sent()
	r, err := s.perform(ctx, o)
	switch {
	case err == nil:
		return r
	case s.sent() == before && !s.conn.IsConnected():
		return workload.Fail("not sent: %v", err)
	case refused(err):
		return workload.Fail("%v", err)
	}
	return workload.Info("%v", err)
}

func (s *session) perform(ctx context.Context, o *workload.Request) (workload.Result, error) {
	none := workload.OK("", false)
	switch o.Kind {
	case "send":
		_, err := s.js.Publish(ctx, prefix+o.Key, []byte(o.Value), jetstream.WithRetryAttempts(0))
		return none, err
	case "receive":
		return s.receive(ctx, o.Key)
	case "ack":
		if s.last == nil || string(s.last.Data()) != o.Value {
			return workload.Fail("the connection on which the message came is gone"), nil
		}
		return none, s.last.DoubleAck(ctx)
	case "publish":
		if err := s.conn.Publish(o.Key, []byte(o.Value)); err != nil {
			return none, err
		}
		return none, s.conn.FlushWithContext(ctx) // the server's PONG: it has read the message
	case "subscribe":
		return none, s.subscribe(ctx, o.Key)
	case "consume":
		return s.consume(ctx, o.Key)
	case "put":
		_, err := s.kv.Put(ctx, o.Key, []byte(o.Value))
		return none, err
	case "get":
		e, err := s.kv.Get(ctx, o.Key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return none, nil
		}
		if err != nil {
			return none, err
		}
		return workload.OK(string(e.Value()), true), nil
	case "delete":
		return none, s.kv.Delete(ctx, o.Key)
	case "cas":
		return s.compare(ctx, o)
	}
	return workload.Fail("unknown operation %s", o.Kind), nil
}

// receive pulls one message of a key.
func (s *session) receive(ctx context.Context, key string) (workload.Result, error) {
	pull, err := s.pullFrom(ctx, key)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return workload.OK("", false), nil // the driver has made the stream, and the server no longer has it, nor any message
	}
	if err != nil {
		return workload.Fail("the consumer: %v", err), nil // no message was asked for
	}
	batch, err := pull.Fetch(1, jetstream.FetchMaxWait(emptyWait))
	if err != nil {
		return workload.Result{}, err
	}
	select {
	case m, some := <-batch.Messages():
		if some {
			s.last = m
			return workload.OK(string(m.Data()), true), nil
		}
	case <-ctx.Done():
		return workload.Result{}, ctx.Err()
	}
	return workload.OK("", false), batch.Error()
}

func (s *session) subscribe(ctx context.Context, key string) error {
	sub, err := s.conn.SubscribeSync(key)
	if err != nil {
		return err
	}
	if err := sub.SetPendingLimits(maxWaiting, -1); err != nil {
		return err
	}
	s.subs[key] = sub
	return s.conn.FlushWithContext(ctx)
}

// consume waits for a message of a subscription. A new connection subscribes again.
func (s *session) consume(ctx context.Context, key string) (workload.Result, error) {
	if s.subs[key] == nil {
		if err := s.subscribe(ctx, key); err != nil {
			return workload.Fail("not subscribed: %v", err), nil
		}
	}
	m, err := s.subs[key].NextMsg(emptyWait)
	switch {
	case errors.Is(err, nats.ErrTimeout):
		return workload.OK("", false), nil
	case err != nil:
		return workload.Result{}, err
	}
	return workload.OK(string(m.Data), true), nil
}

// compare replaces a value by its revision: a bucket compares revisions, and no two writes write the same value.
func (s *session) compare(ctx context.Context, o *workload.Request) (workload.Result, error) {
	e, err := s.kv.Get(ctx, o.Key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return workload.OK("false", false), nil
	case err != nil:
		return workload.Fail("the read before it: %v", err), nil
	case string(e.Value()) != o.Expect:
		return workload.OK("false", false), nil
	}
	_, err = s.kv.Update(ctx, o.Key, []byte(o.Value), e.Revision())
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return workload.OK("false", false), nil
	}
	return workload.OK(strconv.FormatBool(err == nil), false), err
}

// refused reports whether an error is an answer of JetStream by which nothing was done: a status of the class 4xx, and no responders, which
// means that no server took the request.
func refused(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code >= 400 && api.Code < 500 && api.Code != 408
	}
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
