package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cluster is three real processes on loopback.
type cluster struct {
	t       *testing.T
	program string
	peers   string
	dir     string
	urls    []string
	procs   []*exec.Cmd
	client  http.Client
}

func startCluster(t *testing.T) *cluster {
	c := &cluster{t: t, dir: t.TempDir(), procs: make([]*exec.Cmd, 3), client: http.Client{Timeout: 3 * time.Second}}
	c.program = filepath.Join(c.dir, "kv")
	if out, err := exec.Command("go", "build", "-o", c.program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var peers []string
	for i := range 3 {
		peers = append(peers, fmt.Sprintf("n%d=%s", i+1, freeAddress(t)))
		c.urls = append(c.urls, "http://"+freeAddress(t))
	}
	c.peers = strings.Join(peers, ",")
	for i := range 3 {
		c.start(i)
	}
	return c
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (c *cluster) start(i int) {
	cmd := exec.Command(c.program, "serve", "-id", fmt.Sprint("n", i+1), "-listen", strings.TrimPrefix(c.urls[i], "http://"),
		"-peers", c.peers, "-data", filepath.Join(c.dir, fmt.Sprint("log", i)))
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.procs[i] = cmd
	c.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if c.t.Failed() {
			c.t.Logf("log of n%d:\n%s", i+1, log.String())
		}
	})
}

func (c *cluster) leader(urls ...string) int {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { // a server answers questions, and reports no events
		out, err := exec.Command(c.program, append([]string{"leader"}, urls...)...).Output()
		if err == nil {
			return int(out[1] - '1')
		}
	}
	c.t.Fatal("no leader within 20 s")
	return 0
}

// do repeats a request while the answer promises that nothing was done, and returns status and body.
func (c *cluster) do(node int, method, key, value string) (int, string) {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) { // a server answers questions, and reports no events
		req, _ := http.NewRequest(method, c.urls[node]+"/kv/"+key, strings.NewReader(value))
		resp, err := c.client.Do(req)
		if err != nil {
			c.t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.Header.Get("X-Not-Done") == "" || resp.StatusCode != http.StatusServiceUnavailable || time.Now().After(deadline) {
			return resp.StatusCode, string(body)
		}
	}
}

func (c *cluster) want(node int, method, key, value string, status int, body string) {
	c.t.Helper()
	if s, b := c.do(node, method, key, value); s != status || status == 200 && b != body {
		c.t.Fatalf("%s %s at n%d: %d %q, want %d %q", method, key, node+1, s, b, status, body)
	}
}

func TestClusterOnLoopback(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	c := startCluster(t)
	first := c.leader(c.urls...)
	for node := range 3 {
		key := fmt.Sprint("k", node)
		c.want(node, "GET", key, "", 404, "")
		c.want(node, "PUT", key, "v", 204, "")
		c.want((node+1)%3, "GET", key, "", 200, "v")
	}
	c.want(0, "PUT", "empty", "", 204, "")
	c.want(1, "GET", "empty", "", 200, "")
	c.want(2, "DELETE", "k0", "", 204, "")
	c.want(0, "GET", "k0", "", 404, "")
	c.want(0, "PUT", "large", strings.Repeat("x", maxValueBytes), 204, "")
	if s, _ := c.do(0, "PUT", "large", strings.Repeat("x", maxValueBytes+1)); s != 413 {
		t.Fatalf("a value that is too large: %d, want 413", s)
	}

	// kill -9 of the leader loses nothing, nor does kill -9 of everybody.
	c.procs[first].Process.Kill()
	c.procs[first].Wait()
	rest := []int{(first + 1) % 3, (first + 2) % 3}
	second := c.leader(c.urls...)
	if second == first {
		t.Fatalf("n%d leads, and it is dead", first+1)
	}
	c.want(rest[0], "GET", "k1", "", 200, "v")
	c.want(rest[1], "PUT", "k2", "w", 204, "")
	for _, i := range rest {
		c.procs[i].Process.Kill()
		c.procs[i].Wait()
	}
	for i := range 3 {
		c.start(i)
	}
	c.leader(c.urls...)
	for i := range 3 {
		c.want(i, "GET", "k1", "", 200, "v")
		c.want(i, "GET", "k2", "", 200, "w")
		c.want(i, "GET", "k0", "", 404, "")
		c.want(i, "GET", "large", "", 200, strings.Repeat("x", maxValueBytes))
	}

	// One node alone serves no client, and answers that nothing was done.
	for _, i := range []int{0, 1} {
		c.procs[i].Process.Kill()
		c.procs[i].Wait()
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) { // a server answers questions, and reports no events
		resp, err := c.client.Get(c.urls[2] + "/health")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == 503 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("health of a node that is alone: %d, want 503", resp.StatusCode)
		}
	}
	if out, err := exec.Command(c.program, append([]string{"leader"}, c.urls...)...).CombinedOutput(); err == nil {
		t.Fatalf("kv leader found %s among one node of three", out)
	}
}

func TestDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	d, records, err := openDisk(path)
	if err != nil || len(records) != 0 {
		t.Fatal(records, err)
	}
	first := []Record{{Term: 3, Vote: "n2"}, {Entry: &Entry{Index: 1, Term: 3, Op: "put", Key: "a\n", Value: "\x00 é"}}}
	if err := d.save(first); err != nil {
		t.Fatal(err)
	}
	if err := d.save([]Record{{Entry: &Entry{Index: 2, Term: 3, Op: "noop"}}}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lastLine := len(whole) - len(lines[2])
	for cut := lastLine; cut <= len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		_, records, err := openDisk(path)
		want := 2
		if cut == len(whole) {
			want = 3
		}
		if err != nil || len(records) != want {
			t.Fatalf("cut at %d of %d: %d records, %v; want %d", cut, len(whole), len(records), err, want)
		}
		if e := records[1].Entry; e == nil || *e != *first[1].Entry {
			t.Fatalf("read back %+v", records[1])
		}
	}
	damaged := append([]byte(nil), whole...)
	damaged[20] ^= 1
	if err := os.WriteFile(path, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openDisk(path); err == nil {
		t.Fatal("a damaged record in the middle was not noticed")
	}
}
