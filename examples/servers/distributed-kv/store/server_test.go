package main

import (
	"net/http"
	"testing"

	"github.com/bloodhound-dst/bloodhound/examples/servers/distributed-kv/raft"
)

// TestWaitingClients: a client hears that its write is done only when the entry at its index is its own.
func TestWaitingClients(t *testing.T) {
	put := []byte(`{"op":"put","k":"a","v":"1"}`)
	for _, c := range []struct {
		name string
		do   func(*server)
		want int
	}{
		{"its own entry", func(s *server) { s.apply(raft.Entry{Index: 4, Term: 2, Command: put}) }, http.StatusNoContent},
		{"the entry of another leader", func(s *server) { s.apply(raft.Entry{Index: 4, Term: 3, Command: put}) }, http.StatusServiceUnavailable},
		{"a snapshot", func(s *server) { s.restore(&raft.Snapshot{Index: 9, Term: 3, State: []byte(`{"a":"1"}`)}) }, http.StatusGatewayTimeout},
		{"another index", func(s *server) { s.apply(raft.Entry{Index: 3, Term: 2, Command: put}) }, 0},
		{"an earlier snapshot", func(s *server) { s.restore(&raft.Snapshot{Index: 3, Term: 2, State: []byte(`{"a":"1"}`)}) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := make(chan reply, 1)
			s := &server{data: map[string]string{}, waiting: map[uint64]write{4: {term: 2, reply: answer}}}
			c.do(s)
			got := reply{}
			select {
			case got = <-answer:
			default:
			}
			if got.status != c.want || len(s.waiting) > 0 != (c.want == 0) {
				t.Errorf("answered %+v, %d wait; want %d", got, len(s.waiting), c.want)
			}
			if s.data["a"] != "1" {
				t.Errorf("the store holds %v", s.data)
			}
		})
	}
}

func TestParsePeers(t *testing.T) {
	for list, good := range map[string]bool{
		"a=a:1,b=b:1,c=c:1": true, "a=a:1,b=b:1": false, "a=a:1,a=b:1,c=c:1": false, "a,b,c": false, "": false,
	} {
		if peers, err := parsePeers(list); (err == nil) != good {
			t.Errorf("%q: %v, %v", list, peers, err)
		}
	}
}
