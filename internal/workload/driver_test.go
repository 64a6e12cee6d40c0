package workload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// drives runs a driver in this process, as the engine would in a world, and returns its history and output.
type drives struct {
	t    *testing.T
	path string // of the report
}

func newDrives(t *testing.T) *drives {
	d := &drives{t, filepath.Join(t.TempDir(), "report")}
	if err := os.WriteFile(d.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *drives) run(w world.Workload) ([]history.Event, string) {
	d.t.Helper()
	text, err := json.Marshal(w)
	if err != nil {
		d.t.Fatal(err)
	}
	var out bytes.Buffer
	env := map[string]string{envDriver: string(text), envReport: d.path}
	if code := Main(w.Driver, nil, func(name string) string { return env[name] }, &out); code != 0 {
		d.t.Fatalf("exit code %d: %s", code, out.String())
	}
	return d.events(), out.String()
}

// events reads the report so far; each line was one write.
func (d *drives) events() []history.Event {
	d.t.Helper()
	p, err := os.ReadFile(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	events, err := history.Read(bytes.NewReader(p))
	if err != nil {
		d.t.Fatalf("%v in\n%s", err, p)
	}
	return events
}

// short writes a history in short: "c0 put k ok".
func short(events []history.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s %s %s", e.Client, e.Type, e.Op, e.Key)
		if e.Input != "" {
			fmt.Fprintf(&b, " <%s", e.Input)
		}
		if e.Found || e.Output != "" {
			fmt.Fprintf(&b, " >%s", e.Output)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// kv is a small key-value store over HTTP. With stale set it answers reads with the value before the last one.
type kv struct {
	mu     sync.Mutex
	values map[string][]string
	stale  bool
	before func(*http.Request)
}

func (s *kv) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.before != nil {
		s.before(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.URL.Path
	had := s.values[key]
	switch r.Method {
	case http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		s.values[key] = append(had, string(body))
		w.WriteHeader(http.StatusNoContent)
	case http.MethodDelete:
		delete(s.values, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		if len(had) == 0 {
			http.NotFound(w, r)
			return
		}
		i := len(had) - 1
		if s.stale && i > 0 {
			i--
		}
		io.WriteString(w, had[i])
	}
}

func judge(driver string, events []history.Event, operations ...string) check.Verdict {
	spec := &world.Spec{Workloads: []world.Workload{{Name: "load", Driver: driver}},
		Properties: []world.Property{{Name: "p", Kind: world.Safety, Check: world.Check{Type: world.Linearizability,
			Subject: world.Subject{Operations: operations}}}}}
	return check.Judge(spec, &record.Outcome{Reason: record.Finished, History: events, Drivers: []record.DriverEnd{{Workload: "load"}}})[0]
}

func TestHTTPWorkload(t *testing.T) {
	d := newDrives(t)
	store := &kv{values: map[string][]string{}}
	store.before = func(r *http.Request) {
		// The invoke of this request is written already, and it is the last word of its client.
		key := strings.TrimPrefix(r.URL.Path, "/base/kv/")
		last := map[string]history.Event{}
		for _, e := range d.events() {
			last[e.Client] = e
		}
		for _, e := range last {
			if e.Type == history.Invoke && e.Key == key {
				return
			}
		}
		t.Errorf("%s %s came before its invoke", r.Method, r.URL.Path)
	}
	server := httptest.NewServer(store)
	defer server.Close()
	w := world.Workload{Name: "load", Driver: "http", Clients: 3, Operations: 60, Targets: []string{server.URL + "/base/"}, Mix: []world.Operation{
		{Kind: "put", Weight: 3, KeyPattern: "k {random:0-2}"}, {Kind: "get", Weight: 3, KeyPattern: "k {random:0-2}"},
		{Kind: "delete", Weight: 1, KeyPattern: "k {random:0-2}"}}}
	events, out := d.run(w)
	if want := "load: 60 operations: 60 ok, 0 fail, 0 info; 0 not started\n"; out != want || len(events) != 120 {
		t.Fatalf("%d events; says %q", len(events), out)
	}
	if v := judge("http", events, "put", "get"); v.Status != check.Holds {
		t.Fatalf("%s %s", v.Status, v.Reason)
	}
	if events[0].Node != strings.TrimPrefix(server.URL, "http://") {
		t.Errorf("node %q", events[0].Node)
	}

	d = newDrives(t)
	store.before, store.stale, store.values = nil, true, map[string][]string{}
	w.Operations = 600 // outside a world choices are the machine's: a few operations may miss each other
	events, _ = d.run(w)
	if v := judge("http", events, "put", "get"); v.Status != check.Violated {
		t.Fatalf("stale reads: %s %s", v.Status, v.Reason)
	}
}

// A server of documents gets each value in its field, whatever is in the value.
func TestValuesInDocuments(t *testing.T) {
	values := map[string]string{}
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet {
			value, found := values[r.URL.Path]
			if !found {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			json.NewEncoder(w).Encode(map[string]any{"text": value, "by": "nobody"})
			return
		}
		var document struct{ Text *string }
		if err := json.NewDecoder(r.Body).Decode(&document); err != nil || document.Text == nil || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		values[r.URL.Path] = *document.Text
	}))
	defer server.Close()
	events, out := newDrives(t).run(world.Workload{Name: "load", Driver: "http", Clients: 3, Operations: 60, Targets: []string{server.URL},
		Options: map[string]string{"json_field": "text", "put_method": "POST"}, Mix: []world.Operation{
			{Kind: "put", Weight: 1, KeyPattern: "k{random:0-2}"}, {Kind: "get", Weight: 1, KeyPattern: "k{random:0-2}"}}})
	if want := "load: 60 operations: 60 ok, 0 fail, 0 info; 0 not started\n"; out != want {
		t.Fatalf("says %q", out)
	}
	if v := judge("http", events, "put", "get"); v.Status != check.Holds {
		t.Fatalf("%s %s", v.Status, v.Reason)
	}
}

func TestRates(t *testing.T) {
	server := httptest.NewServer(&kv{values: map[string][]string{}})
	defer server.Close()
	d := newDrives(t)
	start := time.Now()
	events, _ := d.run(world.Workload{Driver: "http", Clients: 2, RatePerS: 100, DurationNs: 3e8, Targets: []string{server.URL}})
	if took := time.Since(start); len(events) != 2*30 || took < 250*time.Millisecond {
		t.Errorf("%d operations in %s", len(events)/2, took)
	}

	// A server that takes long: the queue fills, and what has waited longest is dropped and counted.
	// A slow server is one that takes real time.
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(60 * time.Millisecond) }))
	defer slow.Close()
	d = newDrives(t)
	events, out := d.run(world.Workload{Driver: "http", RatePerS: 10_000, DurationNs: 2e8, Targets: []string{slow.URL}})
	var n, ok, fail, info, skipped int
	if _, err := fmt.Sscanf(out, "http: %d operations: %d ok, %d fail, %d info; %d not started", &n, &ok, &fail, &info, &skipped); err != nil {
		t.Fatal(err, out)
	}
	if n+skipped != 2000 || n < 2 || n > 5 || len(events) != 2*n {
		t.Errorf("%d events; says %q", len(events), out)
	}

	// Closed-loop, a server that is down does not fill the history.
	d = newDrives(t)
	events, _ = d.run(world.Workload{Driver: "http", DurationNs: 1e8, Targets: []string{refusing(t)}})
	if len(events) < 2 || len(events) > 2*6 {
		t.Errorf("%d events", len(events))
	}
}

// refusing is a URL at which no server listens.
func refusing(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// odd is a server that does one thing for each request and counts requests.
type odd struct {
	net.Listener
	mu       sync.Mutex
	requests int
	conns    int
	held     []net.Conn
}

// oddTimeout is the timeout of operations on an odd server: long where none should end by it, however slow the machine is.
func oddTimeout(want string) int64 {
	if strings.Contains(want, "info") {
		return 1e9
	}
	return 30e9
}

// newOdd starts a server that reads a request with read and then does react, which reports whether to continue.
func newOdd(t *testing.T, read func(*bufio.Reader) error, react func(c net.Conn, n int) bool) *odd {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &odd{Listener: l}
	t.Cleanup(func() {
		l.Close()
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, c := range o.held {
			c.Close()
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			o.mu.Lock()
			o.conns++
			o.held = append(o.held, c)
			o.mu.Unlock()
			go func() {
				in := bufio.NewReader(c)
				for read(in) == nil {
					o.mu.Lock()
					o.requests++
					n := o.requests
					o.mu.Unlock()
					if !react(c, n) {
						c.Close()
						return
					}
				}
			}()
		}
	}()
	return o
}

func (o *odd) counts() (requests, conns int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requests, o.conns
}

func readHTTP(in *bufio.Reader) error {
	r, err := http.ReadRequest(in)
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	return err
}

// TestHTTPReplies is the table of what a reply proves. Each case does two operations; a server that gets more than
// two requests saw a retry.
func TestHTTPReplies(t *testing.T) {
	const body = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
	document := func(text string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	}
	cases := []struct {
		name, op, reply string
		stay            bool // the server keeps the connection open
		options         map[string]string
		want            string // types, and the output of the first operation
		conns           int
	}{
		{"a value", "get", body, true, nil, "ok >abc, ok", 1},
		{"a value, and the server closes", "get", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", false, nil, "ok >abc, ok", 2},
		{"an empty value", "get", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true, nil, "ok >, ok", 1},
		{"a value in chunks", "get", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", true, nil, "ok >abc, ok", 1},
		{"a value in cut chunks", "get", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false, nil, "info, info", 2},
		{"a field of a document", "get", document(`{"n": 1, "text": "abc"}`), true, map[string]string{"json_field": "text"}, "ok >abc, ok", 1},
		{"a number in a document", "get", document(`{"n": 7}`), true, map[string]string{"json_field": "n"}, "ok >7, ok", 1},
		{"a document without the field", "get", document(`{"n": 7}`), true, map[string]string{"json_field": "text"}, "info, info", 2},
		{"no document", "get", body, true, map[string]string{"json_field": "text"}, "info, info", 2},
		{"a value with spaces", "get", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc\n", true, map[string]string{"trim_space": "true"}, "ok >abc, ok", 1},
		{"an interim reply first", "get", "HTTP/1.1 100 Continue\r\n\r\n" + body, true, nil, "ok >abc, ok", 1},
		{"interim replies only", "get", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxInterim), true, nil, "info, info", 2},
		{"not found", "get", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", true, nil, "ok, ok", 1},
		{"a cut value", "get", "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nabc", false, nil, "info, info", 2},
		{"a value without an end", "get", "HTTP/1.1 200 OK\r\n\r\nabc", false, nil, "info, info", 2},
		{"a huge value", "get", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", maxValueBytes+1,
			strings.Repeat("x", maxValueBytes+1)), true, nil, "info, info", 2},
		{"no reply", "get", "", false, nil, "info, info", 2},
		{"half a status line", "put", "HTTP/1.1 2", false, nil, "info, info", 2},
		{"no HTTP", "put", "hello\r\n", true, nil, "info, info", 2},
		{"silence", "put", "", true, nil, "info, info", 2},
		{"stored", "put", "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", true, nil, "ok, ok", 1},
		{"stored, with a cut body", "put", "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nabc", false, nil, "ok, ok", 2},
		{"posted", "put", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true, map[string]string{"put_method": "POST"}, "ok, ok", 1},
		{"more than asked for", "put", body + body, true, nil, "ok, ok", 2},
		{"a put that is not found", "put", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", true, nil, "info, info", 2},
		{"a bad request", "put", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", true, nil, "info, info", 2},
		{"a redirect", "put", "HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", true, nil, "info, info", 2},
		{"an error", "put", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", true, nil, "info, info", 2},
		{"an error declared a failure", "put", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", true,
			map[string]string{"fail_status": "409, 500-503"}, "fail, fail", 1},
		{"an error beside those declared", "put", "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n", true,
			map[string]string{"fail_status": "409, 500-503"}, "info, info", 2},
		{"deleted", "delete", "HTTP/1.1 204 No Content\r\n\r\n", true, nil, "ok, ok", 1},
		{"nothing to delete", "delete", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", true, nil, "ok, ok", 1},
		{"a delete that failed", "delete", "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", true, nil, "info, info", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := newOdd(t, readHTTP, func(conn net.Conn, n int) bool {
				io.WriteString(conn, c.reply)
				return c.stay
			})
			d := newDrives(t)
			events, _ := d.run(world.Workload{Driver: "http", Operations: 2, TimeoutNs: oddTimeout(c.want), Options: c.options,
				Targets: []string{"http://" + server.Addr().String()},
				Mix:     []world.Operation{{Kind: c.op, Weight: 1, KeyPattern: "k"}}})
			checkTwo(t, events, c.want)
			if requests, conns := server.counts(); requests != 2 || conns != c.conns {
				t.Errorf("%d requests on %d connections, want 2 on %d", requests, conns, c.conns)
			}
		})
	}
}

// checkTwo compares the two operations of a history with "ok >output, info", and the names of the client.
func checkTwo(t *testing.T, events []history.Event, want string) {
	t.Helper()
	if len(events) != 4 {
		t.Fatalf("history\n%s", short(events))
	}
	first := string(events[1].Type)
	if events[1].Found || events[1].Output != "" {
		first += " >" + events[1].Output
	}
	if got := first + ", " + string(events[3].Type); got != want {
		t.Errorf("%s, want %s\n%s %s", got, want, short(events), events[1].Error)
	}
	next := "c0"
	if events[1].Type == history.Info {
		next = "c0.1"
	}
	if events[0].Client != "c0" || events[1].Client != "c0" || events[2].Client != next || events[3].Client != next {
		t.Errorf("names\n%s", short(events))
	}
	if events[1].Type != history.Ok && events[1].Error == "" {
		t.Error("no reason")
	}
	if _, err := history.Pair(events); err != nil {
		t.Error(err)
	}
}

func TestRefusedIsFail(t *testing.T) {
	d := newDrives(t)
	events, _ := d.run(world.Workload{Driver: "http", Operations: 2, Targets: []string{refusing(t)}, Mix: []world.Operation{{Kind: "put", Weight: 1}}})
	checkTwo(t, events, "fail, fail")
	d = newDrives(t)
	events, _ = d.run(world.Workload{Driver: "redis", Operations: 2, Targets: []string{strings.Replace(refusing(t), "http", "redis", 1)},
		Mix: []world.Operation{{Kind: "SET", Weight: 1}}})
	checkTwo(t, events, "fail, fail")
}

func TestSpread(t *testing.T) {
	good := httptest.NewServer(&kv{values: map[string][]string{}})
	defer good.Close()
	other := httptest.NewServer(&kv{values: map[string][]string{}})
	defer other.Close()
	bad := refusing(t)
	name := map[string]string{good.URL[7:]: "g", other.URL[7:]: "o", bad[7:]: "b"}
	for spread, want := range map[string]string{
		"first":       "g g g g ", // each client's nodes: here client 0 of 2
		"round-robin": "g o b g ",
		"client":      "g g g g ",
		"failover":    "g g g g ",
	} {
		d := newDrives(t)
		events, _ := d.run(world.Workload{Driver: "http", Clients: 2, Operations: 8, Targets: []string{good.URL, other.URL, bad},
			Options: map[string]string{"spread": spread}})
		got := ""
		for _, e := range events {
			if e.Type == history.Invoke && e.Client == "c0" {
				got += name[e.Node] + " "
			}
		}
		if got != want {
			t.Errorf("%s went to %s, want %s", spread, got, want)
		}
	}
	d := newDrives(t)
	events, _ := d.run(world.Workload{Driver: "http", Operations: 4, Targets: []string{bad, good.URL}, Options: map[string]string{"spread": "failover"}})
	if got := short(events); !strings.Contains(got, "fail") || strings.Count(got, " ok ") != 3 {
		t.Errorf("failover\n%s", got)
	}
	d = newDrives(t)
	events, _ = d.run(world.Workload{Driver: "http", Operations: 40, Targets: []string{good.URL, other.URL}, Options: map[string]string{"spread": "hash"}})
	nodes := map[string]string{}
	used := map[string]bool{}
	for _, e := range events {
		if before, seen := nodes[e.Key]; seen && before != e.Node {
			t.Fatalf("key %s went to %s and %s", e.Key, before, e.Node)
		}
		nodes[e.Key], used[e.Node] = e.Node, true
	}
	if len(used) != 2 {
		t.Errorf("hash used %v", used)
	}
}

func TestBadSurroundings(t *testing.T) {
	work := `{"name":"load","operations":1,"targets":["http://127.0.0.1:1"]}`
	for want, env := range map[string]map[string]string{
		"BLOODHOUND_DRIVER is not a workload": {},
		"never end":                           {envDriver: `{}`},
		"which BLOODHOUND_REPORT names":       {envDriver: work, envReport: filepath.Join(t.TempDir(), "none")},
	} {
		var out bytes.Buffer
		if code := Main("http", nil, func(n string) string { return env[n] }, &out); code != exitFailed || !strings.Contains(out.String(), want) {
			t.Errorf("exit code %d, %q; want %q", code, out.String(), want)
		}
	}
	var out bytes.Buffer
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	env := map[string]string{envDriver: work, envReport: "/dev/full"}
	if code := Main("http", nil, func(n string) string { return env[n] }, &out); code != exitFailed || !strings.Contains(out.String(), "cannot report") {
		t.Errorf("a full report: exit code %d, %q", code, out.String())
	}
	if code := Main("sql", nil, func(n string) string { return env[n] }, &out); code != exitFailed {
		t.Errorf("a strange driver: exit code %d", code)
	}
}
