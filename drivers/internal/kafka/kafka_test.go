package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A record whose outcome the broker does not know is sent once: the library's own producer would send it again.
func TestProducesOnce(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	const timedOut = 7
	asked := 0
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		asked++
		answer := r.ResponseKind().(*kmsg.ProduceResponse)
		topic, part := kmsg.NewProduceResponseTopic(), kmsg.NewProduceResponseTopicPartition()
		topic.Topic, part.ErrorCode = "t", timedOut
		topic.Partitions = append(topic.Partitions, part)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	s := connect(t, cluster)
	defer s.Close()
	r := s.Perform(&workload.Request{Kind: "produce", Key: "t", Value: "v"}, time.Now().Add(5*time.Second))
	if !r.Unknown() || asked != 1 {
		t.Errorf("%+v after %d requests", r, asked)
	}
}

// Records are read back in their order, once.
func TestPollsInOrder(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	s := connect(t, cluster)
	defer s.Close()
	do := func(kind, value, want string) {
		t.Helper()
		r := s.Perform(&workload.Request{Kind: kind, Key: "t", Value: value}, time.Now().Add(5*time.Second))
		if output, ok := r.Output(); !ok || output != want {
			t.Errorf("%s: %+v, want %q", kind, r, want)
		}
	}
	do("poll", "", "")
	do("produce", "a", "")
	do("produce", "b", "")
	do("poll", "", `["a","b"]`)
	do("produce", "c", "")
	do("poll", "", `["c"]`)
	do("poll", "", "")
}

func connect(t *testing.T, cluster *kfake.Cluster) workload.Session {
	t.Helper()
	d, err := New(&world.Workload{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Connect("kafka://"+cluster.ListenAddrs()[0], "c0", time.Now().Add(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
