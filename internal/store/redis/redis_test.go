package redis_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	client "github.com/gomodule/redigo/redis"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/redis"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

var prefixes atomic.Int64

// fresh is the URL of an empty database.
func fresh(s *storetest.Server) string {
	return fmt.Sprintf("%s?prefix=test.%d", s.URL, prefixes.Add(1))
}

func open(t *testing.T, url string) *redis.Redis {
	t.Helper()
	r, err := redis.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRedis(t *testing.T) {
	server := storetest.Redis(t)
	storetest.Run(t, func(t *testing.T) func() store.Store {
		url := fresh(server)
		return func() store.Store { return open(t, url) }
	})
	for _, test := range []struct {
		name string
		run  func(*testing.T, *storetest.Server)
	}{
		{"Restart", testRestart}, {"Existing", testExisting}, {"OtherVersion", testOtherVersion}, {"Full", testFull}, {"Secrets", testSecrets},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, server) })
	}
}

// A client goes on after the server was killed and started again, and a cursor from before leaves no gap.
func testRestart(t *testing.T, server *storetest.Server) {
	s := open(t, fresh(server))
	defer s.Close()
	storetest.Put(t, s, "before")
	from, err := s.Read(t.Context(), "", "", func(store.Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := s.Add(t.Context(), store.Entry{Key: "k", Value: []byte("x")}); err == nil {
		t.Fatal("a server that is away has taken an entry")
	}
	server.Start()
	storetest.Put(t, s, "after")
	if got := storetest.All(t, s, ""); !slices.Equal(got, []string{"k = after", "k = before"}) {
		t.Fatalf("%q", got)
	}
	later := ""
	if _, err := s.Read(t.Context(), "", from,
		func(e store.Entry) error { later += string(e.Value) + " "; return nil }); err != nil || !strings.Contains(later, "after") {
		t.Fatalf("behind the cursor: %q, %v", later, err)
	}
}

// A reader makes no keys.
func testExisting(t *testing.T, server *storetest.Server) {
	url := fresh(server)
	s := open(t, url)
	defer s.Close()
	s.Existing = true
	_, prefix, _ := strings.Cut(url, "prefix=")
	if _, err := s.Read(t.Context(), "", "", nil); err == nil || !strings.Contains(err.Error(), "there is no database") {
		t.Error(err)
	}
	if n, err := client.Int(admin(t, server).Do("EXISTS", "{"+prefix+"}:version")); err != nil || n != 0 {
		t.Error(n, err)
	}
	other := open(t, url)
	defer other.Close()
	storetest.Put(t, other, "v")
	if got := storetest.All(t, s, ""); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// admin is a connection of another program.
func admin(t *testing.T, server *storetest.Server) client.Conn {
	t.Helper()
	c, err := client.DialURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func testOtherVersion(t *testing.T, server *storetest.Server) {
	url := fresh(server)
	_, prefix, _ := strings.Cut(url, "prefix=")
	if _, err := admin(t, server).Do("SET", "{"+prefix+"}:version", "99"); err != nil {
		t.Fatal(err)
	}
	s := open(t, url)
	defer s.Close()
	if err := s.Add(t.Context(), store.Entry{Key: "k"}); err == nil || !strings.Contains(err.Error(), `"99"`) {
		t.Fatalf("%v", err)
	}
}

// A server whose memory is full takes nothing, and what it could not take can be added later.
func testFull(t *testing.T, server *storetest.Server) {
	s, c := open(t, fresh(server)), admin(t, server)
	defer s.Close()
	storetest.Put(t, s, "before")
	if _, err := c.Do("CONFIG", "SET", "maxmemory", "1mb"); err != nil {
		t.Fatal(err)
	}
	big := store.Entry{Key: "k", Value: make([]byte, store.MaxValueBytes)}
	full := false
	for i := range 20 {
		big.Value[0] = byte(i)
		full = full || s.Add(t.Context(), big, store.Entry{Key: "n", Value: []byte{byte(i)}}) != nil
	}
	if !full {
		t.Error("a full server has taken all")
	}
	if _, err := c.Do("CONFIG", "SET", "maxmemory", "0"); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		big.Value[0] = byte(i)
		if err := s.Add(t.Context(), big, store.Entry{Key: "n", Value: []byte{byte(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(storetest.All(t, s, "")); n != 41 {
		t.Errorf("%d entries", n)
	}
}

// No password is shown, however the URL is wrong.
func testSecrets(t *testing.T, server *storetest.Server) {
	const word = "pa55w0rd"
	_, address, _ := strings.Cut(server.URL, "@")
	for _, url := range []string{"redis://:" + word + "@" + address, "redis://u:" + word + "@127.0.0.1:1/x",
		"redis://:" + word + "@127.0.0.1:1", "redis://u:" + word + "/x@" + address,
		"redis://u:%" + word + "@" + address, "redis://u:" + word + "@" + address + "?wrong=1", "redis://u:" + word + "@" + address + "?prefix=a%20b"} {
		text := ""
		s, err := redis.Open(url)
		if err == nil {
			text = s.String()
			if err = s.Add(t.Context(), store.Entry{Key: "k"}); err == nil {
				t.Errorf("%s was taken", url)
			}
			s.Close()
		}
		if text += fmt.Sprintf(" %v %+v", err, err); strings.Contains(text, word) || strings.Contains(text, word[:6]) {
			t.Errorf("shown: %s", text)
		}
	}
	wrong := open(t, "redis://:"+word+"@"+address)
	defer wrong.Close()
	if err := wrong.Release(t.Context(), "l", "me"); !errors.Is(err, store.ErrRefused) {
		t.Errorf("a wrong password: %v", err)
	}
	if s := open(t, server.URL); strings.Contains(s.String(), storetest.Password) {
		t.Errorf("shown: %s", s)
	}
}

// A port that answers nothing to TLS is asked twice, and the error says what may be wrong.
func TestPortWithoutTLS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var came atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			defer c.Close()
		}
	}()
	defer l.Close()
	s := open(t, "rediss://"+l.Addr().String()+"?dial_timeout=50ms")
	defer s.Close()
	if err := s.Release(t.Context(), "l", "me"); err == nil || !strings.Contains(err.Error(), "perhaps the port does not speak TLS") {
		t.Error(err)
	}
	if n := came.Load(); n > 2 {
		t.Errorf("%d connections", n)
	}
}

// The options of a URL, and what is wrong with others.
func TestOptions(t *testing.T) {
	for url, want := range map[string]string{
		"redis://h/2?dial_timeout=1s&read_timeout=3&write_timeout=500ms": "",
		"rediss://h?db=3&skip_verify=true":                               "",
		"redis://h/x":                                                    "is not a database number",
		"redis://h/-1":                                                   "is not a database number",
		"redis://h?pool_size=3":                                          `unknown option "pool_size"`,
		"redis://h?read_timeout=soon":                                    `"soon" is not a duration`,
		"redis://h?read_timeout=0":                                       `"0s" is not a duration`,
		"redis://h?skip_verify=perhaps":                                  "skip_verify: ",
	} {
		s, err := redis.Open(url)
		if err == nil {
			s.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
