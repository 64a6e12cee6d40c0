package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// call writes an event as a short line: thread call(fd) = result, with a digest for what moves bytes.
type call struct {
	thread, name string
	fd, result   int64
	detail       string
	digest       uint64
	object       string
}

func diagramOf(t *testing.T, calls []call) (messages []string, untracked uint64) {
	t.Helper()
	spec := &world.Spec{Nodes: []world.Node{{Name: "a", IPv4: "10.0.0.1", IPv6: "fd77::1"}, {Name: "b", IPv4: "10.0.0.2",
		Attachments: []world.Attachment{{IPv4: "10.0.0.2"}, {IPv4: "10.9.0.2"}}}}}
	var b bytes.Buffer
	sink := NewDiagramSink(&b, spec)
	for i, c := range calls {
		node, _, _ := strings.Cut(c.thread, "/")
		sink.Event(&record.Event{Number: uint64(i + 1), TimeNs: int64(i+1) * 1000, Node: node, Thread: c.thread, Call: c.name,
			Args: []int64{c.fd}, Result: c.result, Detail: c.detail, Bytes: c.digest, Object: c.object})
	}
	if err := sink.Finish(nil); err != nil {
		t.Fatal(err)
	}
	d, err := ReadDiagram(&b, func(int64) int64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range d.Messages {
		messages = append(messages, fmt.Sprintf("%s>%s %s %d: %d-%d", m.From, m.To, m.Via, m.Bytes, m.SentEvent, m.ReadEvent))
	}
	return messages, d.Untracked
}

func TestMessagesOfATrace(t *testing.T) {
	connect := []call{ // events 1 to 3
		{"b/0", "bind", 3, 0, "0.0.0.0:80", 0, "tcp"},
		{"a/0", "connect", 7, -115, "10.0.0.2:80", 1, "tcp"},
		{"b/0", "accept4", 3, 9, "10.0.0.1:32768", 2, "tcp"},
	}
	cases := []struct {
		name      string
		calls     []call
		want      []string
		untracked uint64
	}{
		{"request and answer", append(connect[:3:3],
			call{"a/0", "write", 7, 10, "", 11, "tcp"}, call{"b/0", "read", 9, 10, "", 11, "tcp"},
			call{"b/0", "write", 9, 20, "", 12, "tcp"}, call{"a/0", "read", 7, 20, "", 12, "tcp"}),
			[]string{"a>b tcp 10: 4-5", "b>a tcp 20: 6-7"}, 0},
		{"over the second network of a node", []call{{"b/0", "bind", 3, 0, "0.0.0.0:80", 0, "tcp"}, {"a/0", "connect", 7, -115, "10.9.0.2:80", 1, "tcp"},
			{"b/0", "accept4", 3, 9, "10.0.0.1:32768", 2, "tcp"}, {"a/0", "write", 7, 10, "", 11, "tcp"}, {"b/0", "read", 9, 10, "", 11, "tcp"}},
			[]string{"a>b tcp 10: 4-5"}, 0},
		{"reads that split and join writes", append(connect[:3:3],
			call{"a/0", "write", 7, 10, "", 11, "tcp"}, call{"a/0", "writev", 7, 5, "", 12, "tcp"},
			call{"b/0", "read", 9, 4, "", 13, "tcp"}, call{"b/0", "read", 9, 11, "", 14, "tcp"}),
			[]string{"a>b tcp 10: 4-7", "a>b tcp 5: 5-7"}, 0},
		{"nothing that came back empty", append(connect[:3:3],
			call{"a/0", "write", 7, -11, "", 0, "tcp"}, call{"b/0", "read", 9, -11, "", 0, "tcp"}, call{"b/0", "read", 9, 0, "", 0, "tcp"}),
			nil, 0},
		{"an end that goes away before it has read", append(connect[:3:3],
			call{"a/0", "write", 7, 10, "", 11, "tcp"}, call{"b/0", "close", 9, 0, "", 0, "tcp"}),
			[]string{"a>b tcp 10: 4-0"}, 0},
		{"two connections are told apart by their bytes", append(connect[:2:2],
			call{"a/0", "connect", 8, -115, "10.0.0.2:80", 1, "tcp"},
			call{"b/0", "accept4", 3, 9, "10.0.0.1:32769", 2, "tcp"}, call{"b/0", "accept4", 3, 10, "10.0.0.1:32768", 2, "tcp"},
			call{"a/0", "write", 7, 4, "", 21, "tcp"}, call{"a/0", "write", 8, 4, "", 22, "tcp"},
			call{"b/0", "read", 9, 4, "", 22, "tcp"}, call{"b/0", "read", 10, 4, "", 21, "tcp"},
			call{"a/0", "write", 7, 4, "", 23, "tcp"}, call{"b/0", "read", 9, 2, "", 24, "tcp"}, call{"b/0", "read", 10, 4, "", 23, "tcp"}),
			[]string{"a>b tcp 4: 6-9", "a>b tcp 4: 7-8", "a>b tcp 4: 10-12"}, 0},
		{"no guess where two connections cannot be told apart", append(connect[:2:2],
			call{"a/0", "connect", 8, -115, "10.0.0.2:80", 1, "tcp"}, call{"b/0", "accept4", 3, 9, "10.0.0.1:32769", 2, "tcp"},
			call{"a/0", "write", 7, 4, "", 21, "tcp"}, call{"b/0", "read", 9, 2, "", 22, "tcp"}),
			nil, 1},
		{"a descriptor that a fork took along", append(connect[:3:3],
			call{"b/0", "fork", 0, 77, "", 0, ""}, call{"b/0", "close", 9, 0, "", 0, "tcp"},
			call{"a/0", "write", 7, 10, "", 11, "tcp"}, call{"b/0.0", "read", 9, 10, "", 11, "tcp"}),
			[]string{"a>b tcp 10: 6-7"}, 0},
		{"a thread's descriptors are its process's", append(connect[:3:3],
			call{"a/0", "clone3", 0, 77, "", 0, ""}, call{"a/0.0", "write", 7, 10, "", 11, "tcp"}, call{"b/0", "read", 9, 10, "", 11, "tcp"}),
			[]string{"a>b tcp 10: 5-6"}, 0},
		{"a descriptor's number is used again", append(connect[:3:3],
			call{"a/0", "close", 7, 0, "", 0, "tcp"}, call{"a/0", "connect", 7, 0, "10.0.0.2:81", 1, "tcp"},
			call{"a/0", "write", 7, 10, "", 11, "tcp"}, call{"b/0", "read", 9, 10, "", 11, "tcp"}),
			nil, 1},
		{"datagrams, one of them lost", []call{
			{"a/0", "sendto", 4, 10, "10.0.0.2:53", 31, "udp"}, {"a/0", "sendto", 4, 10, "10.0.0.2:53", 32, "udp"},
			{"b/0", "recvfrom", 5, 10, "[fd77::1]:4000", 32, "udp"}},
			[]string{"a>b udp 10: 1-0", "a>b udp 10: 2-3"}, 0},
		{"neither a node's own nor the machine's", []call{
			{"a/0", "sendto", 4, 10, "10.0.0.1:53", 31, "udp"}, {"a/0", "sendto", 4, 10, "127.0.0.11:53", 32, "udp"}}, nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, untracked := diagramOf(t, c.calls)
			if !reflect.DeepEqual(got, c.want) || untracked != c.untracked {
				t.Errorf("got  %q, %d untracked\nwant %q, %d", got, untracked, c.want, c.untracked)
			}
		})
	}
}

// Many connections whose ends are unknown must not fill the memory.
func TestUnplacedMessagesAreBounded(t *testing.T) {
	spec := &world.Spec{Nodes: []world.Node{{Name: "a", IPv4: "10.0.0.1"}, {Name: "b", IPv4: "10.0.0.2"}}}
	var b bytes.Buffer
	sink := NewDiagramSink(&b, spec).(*diagramSink)
	n := uint64(0)
	for range 3 * maxLoose {
		for _, e := range []record.Event{{Call: "connect", Args: []int64{7}, Detail: "10.0.0.2:80", Object: "tcp"},
			{Call: "write", Args: []int64{7}, Result: 100, Bytes: n, Object: "tcp"}, {Call: "close", Args: []int64{7}, Object: "tcp"}} {
			n++
			e.Number, e.Node, e.Thread = n, "a", "a/0"
			sink.Event(&e)
		}
	}
	if got := len(sink.loose[[2]string{"a", "b"}]); got > maxLoose || sink.unread > maxLoose {
		t.Errorf("%d ends and %d messages are kept, the limit is %d", got, sink.unread, maxLoose)
	}
	if sink.lost != 2*maxLoose {
		t.Errorf("%d messages are untracked, want %d", sink.lost, 2*maxLoose)
	}
}

func TestReadDiagram(t *testing.T) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	const all = 3 * DiagramMessages
	for i := range all {
		enc.Encode(diagramLine{Message: &Message{From: "a", To: "b", SentNs: int64(i), SentEvent: uint64(i + 1)}})
	}
	for i := range DiagramMarks + 7 {
		enc.Encode(diagramLine{Mark: &Mark{TimeNs: int64(i), Event: uint64(i + 1)}})
	}
	untracked := uint64(5)
	enc.Encode(diagramLine{Untracked: &untracked})
	whole := b.String()
	const at = 2 * DiagramMessages
	d, err := ReadDiagram(&b, func(ns int64) int64 { return abs(ns - at) })
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Messages) != DiagramMessages || d.MessagesLeft != all-DiagramMessages || len(d.Marks) != DiagramMarks || d.MarksLeft != 7 || d.Untracked != 5 {
		t.Errorf("%d messages, %d left; %d marks, %d left; %d untracked", len(d.Messages), d.MessagesLeft, len(d.Marks), d.MarksLeft, d.Untracked)
	}
	if first, last := d.Messages[0].SentNs, d.Messages[len(d.Messages)-1].SentNs; first != at-DiagramMessages/2 || last != at+DiagramMessages/2-1 {
		t.Errorf("messages from %d to %d are kept", first, last)
	}
	cut := whole[:strings.LastIndex(strings.TrimSpace(whole), "\n")]
	if _, err := ReadDiagram(strings.NewReader(cut), func(int64) int64 { return 0 }); err == nil || !strings.Contains(err.Error(), "cut") {
		t.Errorf("a cut diagram gives %v", err)
	}
	if _, err := ReadDiagram(strings.NewReader("{\n"), func(int64) int64 { return 0 }); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a broken diagram gives %v", err)
	}
}

// drawn makes a run with a partition at step 1, and its diagram.
func drawn(t *testing.T, seed uint64) (*check.Judged, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	sink := NewDiagramSink(&b, spec())
	tp := tape.Tape{Seed: seed, Edits: []tape.Edit{{Op: tape.Set, Stream: "fault/partition/n1-n2", From: 1, Value: 1}}}
	o, err := engine.Run(fakeEngine, spec(), tp, engine.Options{Observe: sink.Event, Log: sink.Log})
	if err != nil {
		t.Fatal(err)
	}
	j := &check.Judged{Outcome: *o}
	if err := sink.Finish(j); err != nil {
		t.Fatal(err)
	}
	return j, &b
}
