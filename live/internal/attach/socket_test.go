//go:build linux

package attach

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/checkpoint"
)

func listen(t *testing.T, take func(Request) (*checkpoint.Checkpoint, error)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	snapshot := func() ([]byte, time.Duration, error) { return []byte("the state"), time.Second, nil }
	go Serve(l, &Offer{About: Answer{Handlers: []string{"a", "b"}, Program: "/p"}, Take: take, Snapshot: snapshot})
	return path
}

// Whatever comes in at the socket is answered, and takes no checkpoint.
func TestStrangeRequests(t *testing.T) {
	path := listen(t, func(Request) (*checkpoint.Checkpoint, error) { return nil, errors.New("no memory") })
	for _, c := range []struct{ text, want string }{
		{"\n", "cannot read the request"},
		{"GET / HTTP/1.1\n", "cannot read the request"},
		{"[]\n", "cannot read the request"},
		{"{}\n", ""},
		{`{"handler": "a"}` + "\n", "no memory"},
	} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(conn).ReadBytes('\n')
		conn.Close()
		var a Answer
		if err != nil || json.Unmarshal(line, &a) != nil || !strings.Contains(a.Error, c.want) || (a.Error == "") != (c.want == "") || len(a.Handlers) != 2 {
			t.Errorf("%q is answered with %s, %v", c.text, line, err)
		}
	}
	for range 2 * checkpointsMax { // who leaves without a word keeps no place
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if _, err := Ask(path, Request{Handler: "a"}); err == nil || err.Error() != "no memory" {
		t.Error(err)
	}
	if a, err := Ask(path, Request{}); err != nil || a.Program != "/p" {
		t.Error(a, err)
	}
	if state, about, err := Snapshot(path); err != nil || string(state) != "the state" || about.Paused != time.Second {
		t.Error(state, about, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestListen(t *testing.T) {
	path := listen(t, nil)
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(file); err == nil {
		t.Error("a file was taken for a socket")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "x" {
		t.Error(text, err)
	}
	old := filepath.Join(t.TempDir(), "old")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: old, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	again, err := Listen(old)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if _, err := Ask(old, Request{}); err == nil {
		t.Error("nobody listens, and somebody has answered")
	}
}
