// Package kafka runs the suite of contract.Logs on consumer groups of kfake, an implementation of Kafka's protocol, by a client of Kafka. kfake is not Apache Kafka: the place is a fake.
package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/bloodhound-dst/bloodhound/sdk/contract"
)

// topic is a topic with one partition, and the groups that read it.
type topic struct {
	ctx     context.Context
	address string
	name    string
	admin   *kadm.Client
	eager   bool                // consumers acknowledge what they get at once
	members map[string]*member  // by group
	got     map[[2]string]int64 // behind the last entry that a consumer of a group has got
}

// member is the consumer that has the partition of a group.
type member struct {
	*kgo.Client
	consumer string
	next     int64 // offset
}

func (p *topic) Append(value string) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(p.address))
	if err != nil {
		return err
	}
	defer c.Close()
	return c.ProduceSync(p.ctx, &kgo.Record{Topic: p.name, Value: []byte(value)}).FirstErr()
}

// join has a consumer take the partition of a group; the one that had it leaves first.
func (p *topic) join(group, consumer string) (*member, error) {
	if m := p.members[group]; m != nil {
		m.Close()
	}
	committed, err := p.admin.FetchOffsets(p.ctx, p.name+group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // a group that never joined
		return nil, err
	}
	m := &member{consumer: consumer}
	if at, ok := committed.Lookup(p.name, 0); ok {
		m.next = at.At
	}
	m.Client, err = kgo.NewClient(kgo.SeedBrokers(p.address), kgo.ConsumerGroup(p.name+group), kgo.ConsumeTopics(p.name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	p.members[group] = m
	return m, err
}

// read gives up to n entries below an offset.
func (p *topic) read(group string, m *member, n int, end int64) (list []contract.Entry, err error) {
	for len(list) < n && m.next < end {
		fetches := m.PollRecords(p.ctx, int(min(int64(n-len(list)), end-m.next)))
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, r := range fetches.Records() {
			list = append(list, contract.Entry{ID: strconv.FormatInt(r.Offset, 10), Value: string(r.Value)})
			m.next = r.Offset + 1
		}
	}
	who := [2]string{group, m.consumer}
	p.got[who] = max(p.got[who], m.next)
	if p.eager {
		err = p.Acknowledge(group, list...)
	}
	return list, err
}

func (p *topic) Next(group, consumer string, n int) ([]contract.Entry, error) {
	ends, err := p.admin.ListEndOffsets(p.ctx, p.name)
	if err = cmp.Or(err, ends.Error()); err != nil {
		return nil, err
	}
	end, _ := ends.Lookup(p.name, 0)
	m := p.members[group]
	if m == nil || m.consumer != consumer {
		if m, err = p.join(group, consumer); err != nil {
			return nil, err
		}
	}
	return p.read(group, m, n, end.Offset)
}

func (p *topic) Again(group, consumer string, n int) ([]contract.Entry, error) {
	m, err := p.join(group, consumer)
	if err != nil {
		return nil, err
	}
	return p.read(group, m, n, p.got[[2]string{group, consumer}])
}

func (p *topic) Acknowledge(group string, entries ...contract.Entry) error {
	list := make([]*kgo.Record, len(entries))
	for i, e := range entries {
		offset, err := strconv.ParseInt(e.ID, 10, 64)
		if err != nil {
			return err
		}
		list[i] = &kgo.Record{Topic: p.name, Offset: offset, LeaderEpoch: -1}
	}
	return p.members[group].CommitRecords(p.ctx, list...) // behind the highest of them
}

func TestKafka(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	address := cluster.ListenAddrs()[0]
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	n := 0
	place := func(name string, eager bool) contract.Place[contract.Log] {
		return contract.Place[contract.Log]{Name: name, With: func(t testing.TB, play func(contract.Log)) {
			n++
			p := &topic{ctx, address, fmt.Sprint("log", n), admin, eager, map[string]*member{}, map[[2]string]int64{}}
			if _, err := admin.CreateTopic(ctx, 1, 1, nil, p.name); err != nil {
				t.Fatal(err)
			}
			defer func() {
				for _, m := range p.members {
					m.Close()
				}
			}()
			play(p)
		}}
	}
	contract.Test(t, contract.Logs(contract.AcksUpTo), place("kfake", false))

	r, err := contract.Compare(t, "fake", contract.Logs(contract.AcksUpTo), place("eager", true))
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(r.Broken, "\n"); !strings.Contains(text, `eager breaks "what is not acknowledged comes again"`) || !strings.Contains(text, `eager breaks "a consumer that takes over gets`) {
		t.Errorf("consumers that acknowledge what they get keep the clauses:\n%s", text)
	}
}
