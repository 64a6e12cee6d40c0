// Package kafka is the driver of Kafka's protocol, on franz-go. A key is a topic of one partition.
//
// A produce is one request with one record, and a poll one fetch request at the offset that the workload has reached. The library's producer
// is not used, because it sends a record again whose outcome is unknown, however its retries are set; nor is its consumer, which fetches ahead.
package kafka

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/bloodhound-dst/bloodhound/drivers/internal/wire"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	// emptyWaitMillis is how long a broker waits for a record before it answers that there is none.
	emptyWaitMillis = 100
	maxFetchBytes   = 1 << 20
	// maxRecords bounds the records of one poll.
	maxRecords = 100
	// allReplicas asks for an answer when all replicas in sync have the record.
	allReplicas = -1
)

type driver struct {
	acks     int16
	replicas int16
	mu       sync.Mutex
	offsets  map[string]int64 // by topic: the next record that the workload polls
}

// New makes the driver of a workload.
func New(w *world.Workload) (workload.Protocol, error) {
	replicas, err := wire.Number(w, "replicas", 1)
	d := &driver{acks: allReplicas, replicas: int16(replicas), offsets: map[string]int64{}}
	if w.Options["acks"] == "leader" {
		d.acks = 1
	}
	return d, err
}

type session struct {
	driver *driver
	client *kgo.Client
	topics map[string]int32 // with their leaders
}

func (d *driver) Connect(target, client string, deadline time.Time) (workload.Session, error) {
	server, err := wire.Parse(target, "9092")
	if err != nil {
		return nil, err
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(server.Host), kgo.ClientID(client), kgo.MaxVersions(kversion.V2_7_0()),
		kgo.RequestRetries(0), kgo.DisableClientMetrics(), kgo.MetadataMaxAge(time.Hour),
		kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			until, ok := ctx.Deadline()
			if !ok || until.After(deadline) {
				until = time.Now().Add(time.Second)
			}
			return wire.DialContext(ctx, network, address, until)
		}))
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	if err := c.Ping(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return &session{driver: d, client: c, topics: map[string]int32{}}, nil
}

func (s *session) Close() error {
	s.client.Close()
	return nil
}

func (s *session) Perform(o *workload.Request, deadline time.Time) workload.Result {
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	leader, err := s.leader(ctx, o.Key)
	if err != nil {
		return workload.Fail("the topic: %v", err) // no record was sent or asked for
	}
	switch o.Kind {
	case "produce":
		return s.produce(ctx, leader, o)
	case "poll":
		return s.poll(ctx, leader, o.Key)
	}
	return workload.Fail("unknown operation %s", o.Kind)
}

// leader finds the leader of a topic, and creates the topic unless it is there.
func (s *session) leader(ctx context.Context, topic string) (int32, error) {
	if leader, ok := s.topics[topic]; ok {
		return leader, nil
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, 1, s.driver.replicas
	create.Topics, create.TimeoutMillis = append(create.Topics, t), 1000
	made, err := create.RequestWith(ctx, s.client)
	if err != nil {
		return 0, err
	}
	for _, t := range made.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return 0, err
		}
	}
	ask := kmsg.NewPtrMetadataRequest()
	name := kmsg.NewMetadataRequestTopic()
	name.Topic = &topic
	ask.Topics = append(ask.Topics, name)
	meta, err := ask.RequestWith(ctx, s.client)
	if err != nil {
		return 0, err
	}
	for _, t := range meta.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return 0, err
		}
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return 0, err
			}
			s.topics[topic] = p.Leader
			return p.Leader, nil
		}
	}
	return 0, fmt.Errorf("%s has no partition", topic)
}

// produce sends one record.
func (s *session) produce(ctx context.Context, leader int32, o *workload.Request) workload.Result {
	until, _ := ctx.Deadline()
	send := kmsg.NewPtrProduceRequest()
	send.Acks, send.TimeoutMillis = s.driver.acks, int32(max(time.Until(until).Milliseconds(), 1))
	t, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	p.Records = batchOf([]byte(o.Value))
	t.Topic, t.Partitions = o.Key, append(t.Partitions, p)
	send.Topics = append(send.Topics, t)
	answer, err := s.client.Broker(int(leader)).Request(ctx, send)
	if err != nil {
		return workload.Info("%v", err)
	}
	for _, t := range answer.(*kmsg.ProduceResponse).Topics {
		for _, p := range t.Partitions {
			err := kerr.ErrorForCode(p.ErrorCode)
			switch {
			case err == nil:
				return workload.OK("", false)
			case refused(err):
				return workload.Fail("%v", err)
			}
			return workload.Info("%v", err)
		}
	}
	return workload.Info("an answer without a partition")
}

// Fields of a batch of records (kafka.apache.org, section Record Batch).
const (
	batchMagic      = 2
	batchLengthFrom = 12 // its length counts what follows the field itself
	batchCRCAt      = 17
	batchCRCFrom    = 21 // the checksum covers what follows it
)

// batchOf is a batch of one record, without a producer.
func batchOf(value []byte) []byte {
	r := kmsg.Record{Value: value}
	r.Length = int32(len(r.AppendTo(nil)) - 1) // without the length itself, which is one byte while it is 0
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: batchMagic, FirstTimestamp: now, MaxTimestamp: now, ProducerID: -1, ProducerEpoch: -1,
		FirstSequence: -1, NumRecords: 1, Records: r.AppendTo(nil)}
	b.Length = int32(len(b.AppendTo(nil)) - batchLengthFrom)
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[batchCRCAt:], crc32.Checksum(raw[batchCRCFrom:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

// poll fetches the records from the workload's offset on. The clients of a workload share the offset; two that poll at once get the same
// records.
func (s *session) poll(ctx context.Context, leader int32, topic string) workload.Result {
	s.driver.mu.Lock()
	from := s.driver.offsets[topic]
	s.driver.mu.Unlock()
	fetch := kmsg.NewPtrFetchRequest()
	fetch.ReplicaID, fetch.MaxWaitMillis, fetch.MinBytes, fetch.MaxBytes = -1, emptyWaitMillis, 1, maxFetchBytes
	t, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = from, maxFetchBytes
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	fetch.Topics = append(fetch.Topics, t)
	answer, err := s.client.Broker(int(leader)).Request(ctx, fetch)
	if err != nil {
		return workload.Info("%v", err)
	}
	got := answer.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return workload.Fail("%v", err)
	}
	values, next := []string{}, from
	for i := range got.Topics {
		for k := range got.Topics[i].Partitions {
			part := &got.Topics[i].Partitions[k]
			if err := kerr.ErrorForCode(part.ErrorCode); err != nil {
				if errors.Is(err, kerr.OffsetOutOfRange) { // the log ends before what was polled, so the workload reads it again
					s.rewind(topic)
				}
				return workload.Fail("%v", err)
			}
			parsed, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: from, Topic: topic}, part, kgo.DefaultDecompressor(), nil)
			if parsed.Err != nil {
				return workload.Info("%v", parsed.Err)
			}
			for _, r := range parsed.Records[:min(len(parsed.Records), maxRecords)] {
				values, next = append(values, string(r.Value)), r.Offset+1
			}
		}
	}
	s.driver.mu.Lock()
	if s.driver.offsets[topic] < next {
		s.driver.offsets[topic] = next
	}
	s.driver.mu.Unlock()
	if len(values) == 0 {
		return workload.OK("", false)
	}
	text, err := json.Marshal(values)
	if err != nil {
		return workload.Info("%v", err)
	}
	return workload.OK(string(text), true)
}

func (s *session) rewind(topic string) {
	s.driver.mu.Lock()
	defer s.driver.mu.Unlock()
	s.driver.offsets[topic] = 0
}

// refused reports whether a broker answered that it did not append the record. NOT_ENOUGH_REPLICAS_AFTER_APPEND and REQUEST_TIMED_OUT come after
// it did.
func refused(err error) bool {
	for _, e := range []error{kerr.UnknownTopicOrPartition, kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.MessageTooLarge,
		kerr.InvalidRecord, kerr.CorruptMessage, kerr.TopicAuthorizationFailed, kerr.InvalidRequiredAcks} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
