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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// start runs a real redis-server on a free port of loopback and returns its address.
func start(t *testing.T, config string, args ...string) string {
	t.Helper()
	program := needs.Program(t, "redis-server")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	dir := t.TempDir()
	file := filepath.Join(dir, "redis.conf")
	config = fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\n%s\n", port, dir, config)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(program, append([]string{file}, args...)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for range 200 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return addr
		}
		time.Sleep(20 * time.Millisecond) // a port has no event for its first listener
	}
	t.Fatalf("redis-server does not listen: %s", log.String())
	return ""
}

var redisMix = []world.Operation{
	{Kind: "SET", Weight: 4, KeyPattern: "k{random:0-2}", ValueSizeBytes: 100}, {Kind: "GET", Weight: 4, KeyPattern: "k{random:0-2}"},
	{Kind: "DEL", Weight: 1, KeyPattern: "k{random:0-2}"}, {Kind: "INCR", Weight: 2, KeyPattern: "n{random:0-1}"},
	{Kind: "GET", Weight: 2, KeyPattern: "n{random:0-1}"},
}

func TestRedisWorkload(t *testing.T) {
	addr := start(t, `save ""`)
	d := newDrives(t)
	events, out := d.run(world.Workload{Name: "load", Driver: "redis", Clients: 4, Operations: 400, Targets: []string{"redis://" + addr}, Mix: redisMix})
	if want := "load: 400 operations: 400 ok, 0 fail, 0 info; 0 not started\n"; out != want {
		t.Fatal(out)
	}
	if v := judge("redis", events, "SET", "GET", "INCR", "DEL"); v.Status != check.Holds {
		t.Fatalf("%s %s\n%s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"))
	}
	// The same history, as if the numbers that were counted up had got lost at the end: they are never deleted.
	lost := 0
	for i, e := range slices.Backward(events) {
		if e.Type == history.Ok && e.Op == "GET" && e.Found && strings.HasPrefix(e.Key, "n") {
			events[i].Output, events[i].Found = "", false
			lost++
			break
		}
	}
	if v := judge("redis", events); lost != 1 || v.Status != check.Violated {
		t.Fatalf("%s %s", v.Status, v.Reason)
	}

	// INCR of a text is refused by the server, which proves that nothing was done.
	d = newDrives(t)
	events, _ = d.run(world.Workload{Driver: "redis", Operations: 30, Targets: []string{"redis://" + addr + "/3"},
		Mix: []world.Operation{{Kind: "SET", Weight: 1, KeyPattern: "x"}, {Kind: "INCR", Weight: 1, KeyPattern: "x"}}})
	refused := 0
	for _, e := range events {
		if e.Op == "INCR" && e.Type == history.Fail && strings.HasPrefix(e.Error, "ERR value is not an integer") {
			refused++
		}
		if e.Client != "c0" {
			t.Fatalf("a client was retired: %+v", e)
		}
	}
	if refused < 5 {
		t.Errorf("%d refusals", refused)
	}
}

func TestRedisReadOnlyAndPassword(t *testing.T) {
	replica := start(t, "save \"\"\nreplicaof 127.0.0.1 1\nrequirepass s3cret\nreplica-serve-stale-data yes")
	set := []world.Operation{{Kind: "SET", Weight: 1}}
	for target, want := range map[string]string{
		"redis://" + replica:                "NOAUTH",
		"redis://:s3cret@" + replica:        "READONLY",
		"redis://:wrong@" + replica:         "not connected: AUTH: WRONGPASS",
		"redis://default:s3cret@" + replica: "READONLY",
	} {
		d := newDrives(t)
		events, _ := d.run(world.Workload{Driver: "redis", Operations: 2, Targets: []string{target}, Mix: set})
		checkTwo(t, events, "fail, fail")
		if !strings.HasPrefix(events[1].Error, want) {
			t.Errorf("%s: %q, want %q", target, events[1].Error, want)
		}
	}
}

func TestSentinels(t *testing.T) {
	master := start(t, `save ""`)
	host, port, _ := net.SplitHostPort(master)
	sentinel := start(t, fmt.Sprintf("sentinel monitor mymaster %s %s 1", host, port), "--sentinel")
	silent := newOdd(t, readRESPRequest, func(net.Conn, int) bool { return true })
	d := newDrives(t)
	w := world.Workload{Driver: "redis", Operations: 20, TimeoutNs: 3e9, Options: map[string]string{
		"sentinels": refusing(t)[7:] + ", " + silent.Addr().String() + ", " + sentinel, "master_name": "mymaster"}}
	events, out := d.run(w)
	if !strings.Contains(out, "20 ok") {
		t.Fatalf("%s%s", out, short(events))
	}
	if events[1].Node != master {
		t.Errorf("the reply came from %q, not from the master %q", events[1].Node, master)
	}
	if requests, _ := silent.counts(); requests != 1 {
		t.Errorf("the first sentinel was asked %d times for one connection", requests)
	}
	w.Options["master_name"], w.Operations = "other", 2
	d = newDrives(t)
	events, _ = d.run(w)
	checkTwo(t, events, "fail, fail")
}

func readRESPRequest(in *bufio.Reader) error {
	_, err := readRESP(in, 0)
	return err
}

func TestRedisReplies(t *testing.T) {
	cases := []struct {
		name, op, reply string
		stay            bool
		want            string
		conns           int
	}{
		{"stored", "SET", "+OK\r\n", true, "ok, ok", 1},
		{"a value", "GET", "$3\r\nabc\r\n", true, "ok >abc, ok", 1},
		{"an empty value", "GET", "$0\r\n\r\n", true, "ok >, ok", 1},
		{"a value of two lines", "GET", "$4\r\na\r\nb\r\n", true, "ok >a\r\nb, ok", 1},
		{"nothing", "GET", "$-1\r\n", true, "ok, ok", 1},
		{"counted", "INCR", ":7\r\n", true, "ok >7, ok", 1},
		{"deleted", "DEL", ":1\r\n", true, "ok >1, ok", 1},
		{"read only", "SET", "-READONLY You can't write against a read only replica.\r\n", true, "fail, fail", 2},
		{"moved", "SET", "-MOVED 3999 127.0.0.1:6381\r\n", true, "fail, fail", 2},
		{"loading", "GET", "-LOADING Redis is loading the dataset in memory\r\n", true, "fail, fail", 2},
		{"an error of a proxy", "SET", "-ERR upstream failure\r\n", true, "info, info", 2},
		{"an error that looks like a refusal", "SET", "-READONLYX what\r\n", true, "info, info", 2},
		{"no reply", "SET", "", false, "info, info", 2},
		{"silence", "SET", "", true, "info, info", 2},
		{"half a line", "SET", "+O", false, "info, info", 2},
		{"half a value", "GET", "$30\r\nabc", false, "info, info", 2},
		{"a value that does not end", "GET", "$3\r\nabcde\r\n", true, "info, info", 2},
		{"a bad length", "GET", "$x\r\n", true, "info, info", 2},
		{"a huge length", "GET", "$999999999\r\n", true, "info, info", 2},
		{"a negative length", "GET", "$-2\r\n", true, "info, info", 2},
		{"no number", "INCR", ":x\r\n", true, "info, info", 2},
		{"another type of reply", "GET", ":3\r\n", true, "info, info", 2},
		{"no RESP", "GET", "hello\r\n", true, "info, info", 2},
		{"lines without CR", "SET", "+OK\n", true, "info, info", 2},
		{"an endless line", "SET", "+" + strings.Repeat("x", maxLineBytes+1), true, "info, info", 2},
		{"more than asked for", "SET", "+OK\r\n+OK\r\n", true, "ok, ok", 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := newOdd(t, readRESPRequest, func(conn net.Conn, n int) bool {
				io.WriteString(conn, c.reply)
				return c.stay
			})
			d := newDrives(t)
			events, _ := d.run(world.Workload{Driver: "redis", Operations: 2, TimeoutNs: oddTimeout(c.want),
				Targets: []string{"redis://" + server.Addr().String()},
				Mix:     []world.Operation{{Kind: c.op, Weight: 1, KeyPattern: "k"}}})
			checkTwo(t, events, c.want)
			if requests, conns := server.counts(); requests != 2 || conns != c.conns {
				t.Errorf("%d requests on %d connections, want 2 on %d", requests, conns, c.conns)
			}
		})
	}
}

func TestRESPDepth(t *testing.T) {
	if r, err := readRESP(bufio.NewReader(strings.NewReader("*2\r\n*1\r\n:1\r\n$-1\r\n")), 0); err != nil || r.String() != "1 (nil)" {
		t.Errorf("%v %v", r, err)
	}
	for _, bad := range []string{strings.Repeat("*1\r\n", maxDepth+2), "*1025\r\n", "*-3\r\n", "\r\n", ""} {
		if r, err := readRESP(bufio.NewReader(strings.NewReader(bad)), 0); err == nil {
			t.Errorf("%q gave %v", bad, r)
		}
	}
}

// A server that says that it cannot work just now has broken no promise, whatever the check expects.
func TestProbeOfABusyServer(t *testing.T) {
	for reply, want := range map[string]int{
		"-LOADING Redis is loading the dataset in memory\r\n": world.ProbeNoAnswer,
		"-MASTERDOWN Link with MASTER is down\r\n":            world.ProbeNoAnswer,
		"-BUSY Redis is busy running a script\r\n":            world.ProbeNoAnswer,
		"-TRYAGAIN Multiple keys request\r\n":                 world.ProbeNoAnswer,
		"-CLUSTERDOWN The cluster is down\r\n":                world.ProbeNoAnswer,
		"-BUSYKEY Target key name already exists.\r\n":        world.ProbeViolated,
		"-READONLY You can't write\r\n":                       world.ProbeViolated,
		"+LOADING\r\n":                                        world.ProbeViolated,
	} {
		server := newOdd(t, readRESPRequest, func(conn net.Conn, n int) bool {
			io.WriteString(conn, reply)
			return true
		})
		c := world.Check{Type: "redis",
			Question: world.Question{Endpoint: "redis://" + server.Addr().String(), Command: []string{"GET", "x"}, Expect: "1"}}
		if code, line := probeRedis(&c, time.Now().Add(5*time.Second)); code != want {
			t.Errorf("%q: exit code %d, %s; want %d", reply, code, line, want)
		}
	}
}

func FuzzRESP(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nabc\r\n:1\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) { readRESP(bufio.NewReader(bytes.NewReader(p)), 0) })
}

func TestProbe(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.String() {
		case "/health?full=1":
			io.WriteString(w, "fine\n")
		case "/created":
			w.WriteHeader(201)
		case "/echo":
			body, _ := io.ReadAll(r.Body)
			io.WriteString(w, r.Method+" "+string(body))
		default:
			w.WriteHeader(503)
		}
	}))
	defer web.Close()
	redis := start(t, `save ""`)
	cut := newOdd(t, readHTTP, func(net.Conn, int) bool { return false })
	for _, c := range []struct {
		check world.Check
		code  int
		line  string
	}{
		{world.Check{Type: "http", Question: world.Question{Endpoint: web.URL + "/health?full=1"}}, world.ProbeHolds, "status 200"},
		{world.Check{Type: "http",
			Question: world.Question{Endpoint: web.URL + "/health?full=1", ExpectBody: "fine"}}, world.ProbeHolds, "status 200"},
		{world.Check{Type: "http",
			Question: world.Question{Endpoint: web.URL + "/health?full=1", ExpectBody: "bad"}}, world.ProbeViolated, `body "fine" instead of "bad"`},
		{world.Check{Type: "http", Question: world.Question{Endpoint: web.URL + "/created", ExpectStatus: 201}}, world.ProbeHolds, "status 201"},
		{world.Check{Type: "http", Question: world.Question{Endpoint: web.URL + "/created"}}, world.ProbeViolated, "status 201 instead of 200"},
		{world.Check{Type: "http",
			Question: world.Question{Endpoint: web.URL + "/echo", Body: "ping", ExpectBody: "POST ping"}}, world.ProbeHolds, ""},
		{world.Check{Type: "sql",
			Question: world.Question{Endpoint: "postgres://u@" + strings.TrimPrefix(refusing(t), "http://") + "/x",
				Query: "SELECT 1"}}, world.ProbeNoAnswer, "refused"},
		{world.Check{Type: "sql",
			Question: world.Question{Endpoint: "mysql://u@" + strings.TrimPrefix(refusing(t), "http://") + "/x", Query: "SELECT 1"}},
			world.ProbeNoAnswer, "refused"},
		{world.Check{Type: "sql", Question: world.Question{Endpoint: "oracle://u@n1/x", Query: "SELECT 1"}}, world.ProbeFailed, "must be a URL"},
		{world.Check{Type: "http", Question: world.Question{Endpoint: web.URL}}, world.ProbeViolated, "status 503 instead of 200"},
		{world.Check{Type: "http", Question: world.Question{Endpoint: refusing(t)}}, world.ProbeNoAnswer, "refused"},
		{world.Check{Type: "http", Question: world.Question{Endpoint: "http://" + cut.Addr().String()}}, world.ProbeNoAnswer, "EOF"},
		{world.Check{Type: "http", Question: world.Question{Endpoint: "ftp://n1"}}, world.ProbeFailed, "must be a URL"},
		{world.Check{Type: "redis",
			Question: world.Question{Endpoint: "redis://" + redis, Command: []string{"PING"}, Expect: "PONG"}}, world.ProbeHolds, `PING says "PONG"`},
		{world.Check{Type: "redis", Question: world.Question{Endpoint: "redis://" + redis, Command: []string{"PING"}}}, world.ProbeHolds, ""},
		{world.Check{Type: "redis",
			Question: world.Question{Endpoint: "redis://" + redis, Command: []string{"GET", "x"}, Expect: "(nil)"}}, world.ProbeHolds, ""},
		{world.Check{Type: "redis",
			Question: world.Question{Endpoint: "redis://" + redis, Command: []string{"PING"}, Expect: "PANG"}}, world.ProbeViolated, `"PONG" instead of "PANG"`},
		{world.Check{Type: "redis",
			Question: world.Question{Endpoint: "redis://" + redis, Command: []string{"NOPE"}}}, world.ProbeViolated, "ERR unknown command"},
		{world.Check{Type: "redis",
			Question: world.Question{Endpoint: strings.Replace(refusing(t), "http", "redis", 1), Command: []string{"PING"}}}, world.ProbeNoAnswer, "refused"},
		{world.Check{Type: "redis", Question: world.Question{Endpoint: "redis://" + redis}}, world.ProbeFailed, "no command"},
		{world.Check{Type: "redis", Question: world.Question{Endpoint: "n1:6379", Command: []string{"PING"}}}, world.ProbeFailed, ""},
		{world.Check{Type: "custom"}, world.ProbeFailed, "cannot be probed"},
	} {
		text, _ := json.Marshal(c.check)
		var out bytes.Buffer
		code := Main("probe", nil, func(string) string { return string(text) }, &out)
		if code != c.code || !strings.Contains(out.String(), c.line) || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q; want %d, %q", text, code, out.String(), c.code, c.line)
		}
	}
	var out bytes.Buffer
	if code := Main("probe", nil, func(string) string { return "x" }, &out); code != world.ProbeFailed {
		t.Errorf("no check: exit code %d", code)
	}
}

// The prober performs checks side by side: a check that waits for a silent server delays no other, and nothing is left of a probe that is over.
func TestProber(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	var open atomic.Int32
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }))
	web.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	web.Start()
	defer web.Close()
	orders, order := io.Pipe()
	answer, answers := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- prober(orders, answers) }()
	in := json.NewDecoder(answer)
	ask := func(id int64, endpoint, body string) {
		text, _ := json.Marshal(world.ProbeOrder{ID: id, Check: world.Check{Type: world.HTTPCheck,
			Question: world.Question{Endpoint: endpoint, ExpectBody: body}}})
		order.Write(text)
	}
	expect := func(want world.ProbeAnswer) {
		t.Helper()
		var got world.ProbeAnswer
		if err := in.Decode(&got); err != nil || got.ID != want.ID || got.Code != want.Code || !strings.Contains(got.Text, want.Text) {
			t.Errorf("%v, %+v; want %+v", err, got, want)
		}
	}
	ask(1, "http://"+silent.Addr().String(), "")
	for id := int64(2); id < 6; id++ {
		ask(id, web.URL+"/a", "/a")
		expect(world.ProbeAnswer{ID: id, Code: world.ProbeHolds, Text: "status 200"})
		ask(id, web.URL+"/a", "/b")
		expect(world.ProbeAnswer{ID: id, Code: world.ProbeViolated, Text: `body "/a" instead of "/b"`})
	}
	expect(world.ProbeAnswer{ID: 1, Code: world.ProbeNoAnswer, Text: "timeout"})
	for deadline := time.Now().Add(time.Minute); open.Load() != 0; time.Sleep(time.Millisecond) { // the last of several that close
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are left", open.Load())
		}
	}
	order.Close()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if err := prober(strings.NewReader(`{"id": "x"}`), io.Discard); err == nil {
		t.Error("an order that is none is taken")
	}
}
