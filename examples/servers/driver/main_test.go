package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/report"
	"github.com/bloodhound-dst/bloodhound/history"
)

// fakeStore answers every third write with 504 and every fifth with 503, and counts what it is asked.
type fakeStore struct {
	mu     sync.Mutex
	data   map[string]string
	writes int
	asked  map[string]int // by value written
	notify func(value string)
}

func (s *fakeStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.TrimPrefix(r.URL.Path, "/kv/")
	if r.Method == http.MethodGet {
		v, found := s.data[key]
		if !found {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, v)
		return
	}
	body, _ := io.ReadAll(r.Body)
	value := string(body)
	s.notify(value)
	s.writes++
	s.asked[value]++
	switch {
	case s.writes%5 == 0:
		w.Header().Set("X-Not-Done", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	case s.writes%3 == 0:
		w.WriteHeader(http.StatusGatewayTimeout)
	case r.Method == http.MethodDelete:
		delete(s.data, key)
	default:
		s.data[key] = value
	}
}

// stamps stamps every write of the driver, as an engine does.
type stamps struct {
	mu     sync.Mutex
	events []history.Event
}

func (r *stamps) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, history.Stamp(p, uint64(len(r.events)+1), 0)...)
	return len(p), nil
}

func (r *stamps) invoked(value string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.events, func(e history.Event) bool { return e.Type == history.Invoke && e.Input == value })
}

func drive(t *testing.T, mutation string) (*stamps, *fakeStore) {
	r := &stamps{}
	s := &fakeStore{data: map[string]string{}, asked: map[string]int{}}
	s.notify = func(value string) {
		if value != "" && !r.invoked(value) {
			t.Errorf("%s was sent before its invoke was reported", value)
		}
	}
	server := httptest.NewServer(s)
	defer server.Close()
	run(options{endpoints: []string{server.URL}, clients: 1, operations: 200, ratePerS: 1e6, keys: 4, timeout: 5 * time.Second,
		mutation: mutation}, func() store { return kv{} }, &report.Log{To: r})
	return r, s
}

func TestDriver(t *testing.T) {
	for _, mutation := range []string{none, retry, claimFail, claimOk, onlyReads, idle, sameClient} {
		t.Run(mutation, func(t *testing.T) {
			r, s := drive(t, mutation)
			ops, err := history.Pair(r.events)
			if broken := errors.Is(err, history.ErrBroken); broken != (mutation == sameClient) {
				t.Fatalf("the history is %v", err)
			}
			count := map[history.Type]int{}
			twice := false
			for _, o := range ops {
				count[o.Type]++
				twice = twice || o.Op == "put" && s.asked[o.Input] > 1
			}
			got := fmt.Sprintf("info %t, fail %t, sent twice %t, writes %t", count[history.Info] > 0, count[history.Fail] > 0, twice, s.writes > 0)
			want := map[string]string{
				none:       "info true, fail true, sent twice false, writes true",
				retry:      "info false, fail false, sent twice true, writes true",
				claimFail:  "info false, fail true, sent twice false, writes true",
				claimOk:    "info false, fail true, sent twice false, writes true",
				onlyReads:  "info false, fail false, sent twice false, writes false",
				idle:       "info false, fail false, sent twice false, writes false",
				sameClient: "info false, fail false, sent twice false, writes true", // Pair gives up
			}[mutation]
			if got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

// The requests that etcd's JSON gateway gets, and what its answers mean.
func TestEtcd(t *testing.T) {
	var asked []string
	answers := []string{
		`200 {"header":{"revision":"2"}}`,
		`200 {"header":{"revision":"2"},"kvs":[{"key":"aw==","value":"djE="}],"count":"1"}`,
		`200 {"header":{"revision":"2"}}`,
		`503 {"error":"etcdserver: request timed out","code":14}`,
		`200 {"header":{"revision":"9"},"responses":[{"response_put":{}},{"response_range":{}}]}`,
		`400 {"error":"etcdserver: mvcc: required revision has been compacted","code":11}`,
		`200 {"header":{"revision":"9"}}`,
		`200 {"header":{"revision":"10"},"succeeded":true,"responses":[{"response_delete_range":{"deleted":"1"}}]}`,
		`200 {"header":{}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body))
		var status int
		fmt.Sscan(answers[0], &status)
		w.WriteHeader(status)
		io.WriteString(w, answers[0][4:])
		answers = answers[1:]
	}))
	defer server.Close()
	var got bytes.Buffer
	e := &etcd{}
	for _, op := range []string{"put k v1", "get k", "get k", "put k v2", "txn k v3", "txn k v4", "compact - 8", "toggle k v5", "defragment -"} {
		words := append(strings.Fields(op), "")
		a := e.do(t.Context(), server.URL, words[0], words[1], words[2])
		fmt.Fprintf(&got, "%s: %q found %t, %v, not done %t\n", op, a.value, a.found, a.err, a.notDone)
	}
	for _, a := range asked {
		fmt.Fprintln(&got, a)
	}
	server.Close()
	a := e.do(t.Context(), server.URL, "put", "k", "v3")
	fmt.Fprintf(&got, "nobody listens: not done %t\n", a.err != nil && a.notDone)
	const want = `put k v1: "" found false, <nil>, not done false
get k: "v1" found true, <nil>, not done false
get k: "" found false, <nil>, not done false
put k v2: "" found false, status 503: {"error":"etcdserver: request timed out","code":14}, not done false
txn k v3: "" found false, <nil>, not done false
txn k v4: "" found false, status 400: {"error":"etcdserver: mvcc: required revision has been compacted","code":11}, not done true
compact - 8: "" found false, <nil>, not done false
toggle k v5: "" found false, <nil>, not done false
defragment -: "" found false, <nil>, not done false
POST /v3/kv/put {"key":"aw==","value":"djE="}
POST /v3/kv/range {"key":"aw=="}
POST /v3/kv/range {"key":"aw=="}
POST /v3/kv/put {"key":"aw==","value":"djI="}
POST /v3/kv/txn {"success":[{"requestPut":{"key":"aw==","value":"djM="}},{"requestRange":{"key":"aw==","revision":"2"}}]}
POST /v3/kv/txn {"success":[{"requestPut":{"key":"aw==","value":"djQ="}},{"requestRange":{"key":"aw==","revision":"9"}}]}
POST /v3/kv/compaction {"revision":"8"}
POST /v3/kv/txn {"compare":[{"key":"aw==","target":"VERSION","result":"GREATER","version":"0"}],"failure":[{"requestPut":{"key":"aw==","value":"djU="}}],"success":[{"requestDeleteRange":{"key":"aw=="}}]}
POST /v3/maintenance/defragment {}
nobody listens: not done true
`
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

// answers is an etcd whose every write is the next revision.
type answers struct{ revision int }

func (s *answers) do(_ context.Context, _, op, _, _ string) answer {
	if op == "toggle" {
		s.revision++
	}
	return answer{revision: strconv.Itoa(s.revision), found: true, value: "v"}
}

// With -revisions the history is about one number: each write adds one to it, and each answer has it.
func TestRevisions(t *testing.T) {
	r := &stamps{}
	s := &answers{revision: 1}
	o := options{store: "etcd", endpoints: []string{"http://n1"}, clients: 1, operations: 50, ratePerS: 1e6, keys: 4, timeout: time.Second,
		mutation: none, revisions: true}
	run(o, func() store { return s }, &report.Log{To: r})
	ops, err := history.Pair(r.events)
	if err != nil {
		t.Fatal(err)
	}
	writes, reads := 0, 0
	for i, op := range ops {
		switch op.Op {
		case "incr":
			writes++
		case "get":
			reads++
		}
		if op.Key != "revision" || op.Input != "" || op.Type != history.Ok || op.Output != strconv.Itoa(writes) {
			t.Errorf("operation %d after %d writes is %+v", i, writes, op)
		}
	}
	if writes == 0 || reads == 0 {
		t.Errorf("%d writes, %d reads", writes, reads)
	}
}
