package workload

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// queues is a Protocol whose server is this process: a queue for each key. Each Perform takes what does says, if it says anything.
type queues struct {
	waiting map[string][]string
	does    []Result
	opened  int
	closed  int
}

func (q *queues) Connect(string, string, time.Time) (Session, error) {
	q.opened++
	return q, nil
}

func (q *queues) Close() error {
	q.closed++
	return nil
}

func (q *queues) Perform(o *Request, _ time.Time) Result {
	if len(q.does) > 0 {
		r := q.does[0]
		q.does = q.does[1:]
		return r
	}
	switch o.Kind {
	case "send", "publish":
		q.waiting[o.Key] = append(q.waiting[o.Key], o.Value)
	case "receive", "consume":
		if len(q.waiting[o.Key]) == 0 {
			return OK("", false)
		}
		m := q.waiting[o.Key][0]
		q.waiting[o.Key] = q.waiting[o.Key][1:]
		return OK(m, true)
	}
	return OK("", false)
}

// runQueues runs a workload of one client against q, and returns the lines of its history.
func runQueues(t *testing.T, q *queues, w world.Workload) []string {
	t.Helper()
	w.Name, w.Driver, w.Clients, w.Targets = "load", "nats", 1, []string{"nats://n1"}
	s, err := newSettings(&w, Protocols{"nats": func(*world.Workload) (Protocol, error) { return q, nil }})
	if err != nil {
		t.Fatal(err)
	}
	d := newDrives(t)
	report, err := openReport(d.path)
	if err != nil {
		t.Fatal(err)
	}
	defer report.close()
	if _, err := s.run(1, report, bufio.NewReader(strings.NewReader(world.CheckLine+"\n"))); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range d.events() {
		if e.Type != history.Invoke {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("%s %s %s %s %s%s %s", e.Client, e.Type, e.Op, e.Key, e.Input, e.Output, e.Group), " "))
		}
	}
	return lines
}

func one(kind string) []world.Operation {
	return []world.Operation{{Kind: kind, Weight: 1, KeyPattern: "q"}}
}

// Each received message is acknowledged under a name of its own, and at the end the workload receives until nothing comes.
func TestMessagesAreAcknowledgedAndDrained(t *testing.T) {
	q := &queues{waiting: map[string][]string{"q": {"a", "b", "c"}}}
	got := strings.Join(runQueues(t, q, world.Workload{Operations: 1, Announces: true, Mix: one("receive")}), "\n")
	want := `load/c0 ok receive q a load
load/c0/ack ok ack q a load
load/c0/drain ok receive q b load
load/c0/ack ok ack q b load
load/c0/drain ok receive q c load
load/c0/ack ok ack q c load
load/c0/drain ok receive q  load`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if q.closed == 0 {
		t.Error("no connection was closed")
	}
}

// A client subscribes before it first receives, once, and is a group of its own. An operation of unknown outcome gets a new name and a new
// connection, and the subscription stays.
func TestSubscribers(t *testing.T) {
	q := &queues{waiting: map[string][]string{}}
	q.does = []Result{OK("", false), OK("m", true), Info("lost"), OK("n", true)}
	got := strings.Join(runQueues(t, q, world.Workload{Operations: 3, Mix: one("consume")}), "\n")
	want := `load/c0/subscribe ok subscribe q  load/c0
load/c0 ok consume q m load/c0
load/c0 info consume q  load/c0
load/c0.1 ok consume q n load/c0`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if q.opened != 2 {
		t.Errorf("%d connections, want 2", q.opened)
	}
}

// What a driver receives that tries everything again after the last heal counts for the workload's own group.
func TestRecoveryIsOfTheSameGroup(t *testing.T) {
	for name, want := range map[string]string{"load": "load", "load/recovery": "load"} {
		if got := Group(&world.Workload{Name: name}); got != want {
			t.Errorf("%s is of group %s, want %s", name, got, want)
		}
	}
}

// unreachable is a Protocol without a server.
type unreachable struct{}

func (unreachable) Connect(string, string, time.Time) (Session, error) {
	return nil, errors.New("refused")
}

// Without a connection nothing was done, and a driver program that does not know a protocol says which one does.
func TestProtocolsThatDoNotWork(t *testing.T) {
	w := world.Workload{Name: "load", Driver: "mqtt", Clients: 1, Operations: 1, Targets: []string{"mqtt://n1"}, Mix: one("publish")}
	s, err := newSettings(&w, Protocols{"mqtt": func(*world.Workload) (Protocol, error) { return unreachable{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if r := s.dialect.perform(newConnections(1, "c0"), 0, &operation{entry: &s.mix[0]}, deadlineIn(t)); r.typ != history.Fail {
		t.Errorf("%+v", r)
	}
	if _, err := newSettings(&w, Protocols{}); err == nil || !strings.Contains(err.Error(), "bloodhound-drivers") {
		t.Errorf("%v", err)
	}
	if err := Validate(&w); err != nil {
		t.Errorf("the configuration alone: %v", err)
	}
	w.Driver, w.Mix = "zookeeper", append(one("cas"), one("delete")...)
	if err := Validate(&w); err == nil || !strings.Contains(err.Error(), "either cas or delete") {
		t.Errorf("%v", err)
	}
}
