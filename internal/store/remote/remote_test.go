package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

const token = "t0ken-of-a-test"

func dir(t *testing.T, path string) *store.Dir {
	t.Helper()
	d, err := store.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func open(t *testing.T, url, token string) *remote.Client {
	t.Helper()
	c, err := remote.Open(url, token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRemote(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		url := serve(t, remote.Handler(dir(t, t.TempDir()), token))
		return func() store.Store { return open(t, url, token) }
	})
}

// use calls all methods of a store, and returns their errors.
func use(ctx context.Context, s store.Store) map[string]error {
	d := store.DigestOf([]byte("blob"))
	errs := map[string]error{}
	errs["Add"] = s.Add(ctx, store.Entry{Key: "k", Value: []byte("v")})
	_, errs["Read"] = s.Read(ctx, "", "", func(store.Entry) error { return nil })
	errs["Wait"] = s.Wait(ctx, "", "")
	_, errs["Drop"] = s.Drop(ctx, "", func(store.Entry) bool { return true })
	_, errs["Compact"] = s.Compact(ctx)
	_, errs["PutBlob"] = s.PutBlob(ctx, []byte("blob"))
	_, errs["Blob"] = s.Blob(ctx, d)
	errs["Blobs"] = s.Blobs(ctx, func(store.BlobInfo) error { return nil })
	errs["DropBlob"] = s.DropBlob(ctx, d)
	_, errs["Lease"] = s.Lease(ctx, "l", "me", time.Minute)
	errs["Release"] = s.Release(ctx, "l", "me")
	errs["Check"] = store.Check(ctx, s, func(string, string) {})
	return errs
}

// Without the token nothing is served, and no error shows it.
func TestToken(t *testing.T) {
	if err := open(t, serve(t, remote.Handler(store.NewMemory(), token)), "wr0ng").Release(t.Context(), "l", "me"); !errors.Is(err, store.ErrRefused) {
		t.Error(err)
	}
	behind := store.NewMemory()
	url := serve(t, remote.Handler(behind, token))
	for given, want := range map[string]string{"": remote.TokenVariable, "wr0ng": "rejected the token",
		token + "x": "rejected the token", token[1:]: "rejected the token"} {
		for method, err := range use(t.Context(), open(t, url, given)) {
			if err == nil || !strings.Contains(err.Error(), want) || given != "" && strings.Contains(err.Error(), given) {
				t.Errorf("%s with the token %q: %v", method, given, err)
			}
		}
	}
	if got := storetest.All(t, behind, ""); len(got) > 0 {
		t.Errorf("%q", got)
	}
	for method, err := range use(t.Context(), open(t, url, token)) {
		if err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := remote.Open("http://user:"+token+"@host", ""); err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("a password in the URL: %v", err)
	}
	if _, err := remote.Open(url, "a\nb"); err == nil {
		t.Error("a token of two lines was taken")
	}
}

func TestTokenOfTheEnvironment(t *testing.T) {
	t.Setenv(remote.TokenVariable, "")
	t.Setenv(remote.TokenFileVariable, "")
	if got, err := remote.Token(); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	file := filepath.Join(t.TempDir(), "token")
	t.Setenv(remote.TokenFileVariable, file)
	if _, err := remote.Token(); err == nil {
		t.Error("a file that is missing was taken")
	}
	for text, want := range map[string]string{"abc\n": "abc", " \n": ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := remote.Token(); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	t.Setenv(remote.TokenVariable, "first")
	if got, err := remote.Token(); got != "first" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// Errors keep their meaning on the way.
func TestErrors(t *testing.T) {
	memory := store.NewMemory()
	c := open(t, serve(t, remote.Handler(memory, "")), "")
	if _, err := c.Lease(t.Context(), "work", "other", time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Lease(t.Context(), "work", "me", time.Hour); !errors.Is(err, store.ErrHeld) ||
		!strings.Contains(err.Error(), "other") || strings.Count(err.Error(), store.ErrHeld.Error()) != 1 {
		t.Errorf("held: %v", err)
	}
	if _, err := c.Blob(t.Context(), store.DigestOf(nil)); !errors.Is(err, store.ErrNoBlob) {
		t.Errorf("no blob: %v", err)
	}
	c = open(t, serve(t, remote.Handler(store.ReadOnly{Store: memory}, "")), "")
	for _, method := range []string{"Add", "Drop", "PutBlob", "DropBlob", "Lease", "Release", "Compact"} {
		if err := use(t.Context(), c)[method]; method != "Drop" && !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s of a read-only store: %v", method, err)
		}
	}
	path := t.TempDir()
	d := dir(t, path)
	blob, err := d.PutBlob(t.Context(), []byte("blob"))
	if err == nil {
		err = os.WriteFile(filepath.Join(path, "blob", string(blob[:2]), string(blob)+".zst"), []byte("other"), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	c = open(t, serve(t, remote.Handler(d, "")), "")
	if _, err := c.Blob(t.Context(), blob); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("damaged: %v", err)
	}
	var damages []string
	if err := store.Check(t.Context(), c, func(what, damage string) { damages = append(damages, what) }); err != nil ||
		len(damages) != 1 || !strings.Contains(damages[0], string(blob)) {
		t.Errorf("%q, %v", damages, err)
	}
}

// What is no store, and a store that ends in the middle of an answer, are errors and never an empty or a shorter list.
func TestAnswersCutShort(t *testing.T) {
	memory := store.NewMemory()
	for i := range 50 {
		if err := memory.Add(t.Context(), store.Entry{Key: "k", Value: fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := memory.PutBlob(t.Context(), []byte("blob")); err != nil {
		t.Fatal(err)
	}
	h := remote.Handler(memory, "")
	var most atomic.Int64
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := httptest.NewRecorder()
		h.ServeHTTP(record, r)
		body := record.Body.Bytes()
		w.Write(body[:min(int(most.Load()), len(body))])
	}))
	c := open(t, url, "")
	whole := 0
	for n := range int64(1500) {
		most.Store(n)
		if _, err := c.Read(t.Context(), "", "", func(store.Entry) error { return nil }); err == nil {
			whole++
			if _, err := c.Read(t.Context(), "", "", func(store.Entry) error { return nil }); err != nil || n < 500 {
				t.Fatalf("%d bytes are a whole list: %v", n, err)
			}
			break
		}
	}
	if whole == 0 {
		t.Fatal("no list is whole")
	}
	most.Store(20)
	if err := c.Blobs(t.Context(), func(store.BlobInfo) error { return nil }); err == nil {
		t.Error("half a list of blobs was taken")
	}
	for _, page := range []string{"<html>", "", "{}", `{"message": 3}`} {
		c := open(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			io.WriteString(w, page)
		})), "")
		for method, err := range use(t.Context(), c) {
			if err == nil || !strings.Contains(err.Error(), "502") {
				t.Errorf("%s of a server that answers %q: %v", method, page, err)
			}
		}
	}
	c = open(t, serve(t, http.RedirectHandler("https://elsewhere.example/x", http.StatusFound)), token)
	for method, err := range use(t.Context(), c) {
		if err == nil || !strings.Contains(err.Error(), "elsewhere.example") || strings.Contains(err.Error(), token) {
			t.Errorf("%s of a server that redirects: %v", method, err)
		}
	}
}

// The handler takes no request that is no client's.
func TestBadRequests(t *testing.T) {
	h := remote.Handler(store.NewMemory(), "")
	frame := string(store.AppendFrame(nil, &store.Entry{Key: "k", Value: []byte("v")}))
	bad := string(store.AppendFrame(nil, &store.Entry{Key: "a\nb"}))
	for _, test := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "", "", 404}, {"GET", "entries/x", "", 404}, {"PATCH", "entries", "", 404}, {"POST", "entries", frame, 200},
		{"POST", "entries", frame[:9], 400}, {"POST", "entries", frame + "x", 400},
		{"POST", "entries", bad, 400}, {"POST", "entries", strings.Repeat(frame, 2<<20), 413}, {"POST", "drop", "x", 400},
		{"POST", "drop", strings.Repeat("x", 17<<20), 413},
		{"PUT", "blobs/" + string(store.DigestOf(nil)), "x", 400}, {"PUT", "blobs/x", "x", 400},
		{"GET", "blobs/..%2f..%2fx", "", 404}, {"POST", "lease?ttl_ms=0", "", 400}, {"POST", "lease?ttl_ms=999999999999", "", 400},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(test.method, remote.Prefix+test.path, strings.NewReader(test.body)))
		if w.Code != test.want {
			t.Errorf("%s %s with %d bytes: %d, want %d: %s", test.method, test.path, len(test.body), w.Code, test.want, w.Body)
		}
	}
}

// A server that asks for time is not asked before that is over.
func TestRetryAfter(t *testing.T) {
	h := remote.Handler(store.NewMemory(), "")
	for _, test := range []struct {
		status int
		after  string
		asked  int64 // of two requests
	}{
		{http.StatusTooManyRequests, "60", 1}, {http.StatusServiceUnavailable, "86400", 1},
		{http.StatusServiceUnavailable, time.Now().Add(time.Minute).UTC().Format(http.TimeFormat), 1},
		{http.StatusTooManyRequests, "0", 2}, {http.StatusTooManyRequests, "", 2}, {http.StatusServiceUnavailable, "soon", 2}, {http.StatusBadGateway, "60", 2},
	} {
		var asked atomic.Int64
		c := open(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Retry-After", test.after)
			w.WriteHeader(test.status)
		})), "")
		for range 2 {
			err := c.Add(t.Context(), store.Entry{Key: "k"})
			if err == nil || test.asked == 1 && !strings.Contains(err.Error(), "no requests for the next ") {
				t.Errorf("%d, Retry-After: %s: %v", test.status, test.after, err)
			}
		}
		if asked.Load() != test.asked {
			t.Errorf("%d, Retry-After: %s: it was asked %d times", test.status, test.after, asked.Load())
		}
	}
	busy := true
	c := open(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy {
			busy = false
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, r)
	})), "")
	if err := c.Add(t.Context(), store.Entry{Key: "k"}); err == nil {
		t.Fatal("a busy server has taken an entry")
	}
	for end := time.Now().Add(time.Minute); c.Add(t.Context(), store.Entry{Key: "k"}) != nil; {
		if time.Now().After(end) {
			t.Fatal("the server is not asked again")
		}
		time.Sleep(50 * time.Millisecond) // nothing says that the time is over for which the server asked
	}
}

// A server may be restarted under way.
func TestRestart(t *testing.T) {
	path := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	run := func(l net.Listener) (*http.Server, *store.Dir) {
		d := dir(t, path)
		s := &http.Server{Handler: remote.Handler(d, token)}
		go s.Serve(l)
		return s, d
	}
	server, _ := run(l)
	c := open(t, "http://"+address, token)
	defer c.Close()
	add := func(value string) error { return c.Add(t.Context(), store.Entry{Key: "k", Value: []byte(value)}) }
	if err := add("before"); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if err := add("while it is away"); err == nil {
		t.Fatal("a server that is away has taken an entry")
	}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server, _ = run(l)
	defer server.Close()
	if err := add("after"); err != nil {
		t.Fatal(err)
	}
	if got := storetest.All(t, c, ""); len(got) != 2 {
		t.Fatalf("%q", got)
	}
}

// A client learns what the server's store could not read.
func TestDamages(t *testing.T) {
	d := dir(t, t.TempDir())
	c := open(t, serve(t, remote.Handler(d, token)), token)
	if err := c.Add(t.Context(), store.Entry{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	if storetest.All(t, c, ""); len(store.Damages(c)) != 0 {
		t.Error(store.Damages(c))
	}
	storetest.Damage(t, d.Path())
	if storetest.All(t, c, ""); len(store.Damages(c)) != 1 {
		t.Error(store.Damages(c))
	}
}
