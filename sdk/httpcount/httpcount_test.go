package httpcount_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/sdk/httpcount"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
)

// services answers by the path of a request.
func services(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/good", "/other":
		io.WriteString(w, `{"paid": true}`)
	case "/full":
		http.Error(w, "later", http.StatusServiceUnavailable)
	case "/teapot":
		w.WriteHeader(http.StatusTeapot)
	case "/created":
		w.WriteHeader(http.StatusCreated)
	case "/lost":
		panic(http.ErrAbortHandler)
	case "/cut":
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, `{"paid": `)
	case "/slow":
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case "/html":
		io.WriteString(w, "<html>"+strings.Repeat("x", 10_000))
	case "/half":
		io.WriteString(w, `{"paid": `)
	case "/two":
		io.WriteString(w, `{"paid": true} {"paid": false}`)
	case "/empty":
	case "/long":
		io.WriteString(w, `["`+strings.Repeat("x", 100<<10)+`"]`)
	case "/long-html":
		io.WriteString(w, "<html>"+strings.Repeat("x", 100<<10))
	}
}

// read returns the counts that a counter serves.
func read(t *testing.T, counter *httpcount.Counter) counts.Counts {
	t.Helper()
	w := httptest.NewRecorder()
	counter.ServeHTTP(w, nil)
	all, err := counts.Read(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each answer of a real server is counted as what it is, and passes as it came.
func TestCounts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(services))
	defer server.Close()
	all := func(b io.Reader) error {
		_, err := io.Copy(io.Discard, b)
		return err
	}
	value := func(b io.Reader) error {
		var v map[string]bool
		return json.NewDecoder(b).Decode(&v)
	}
	for _, c := range []struct {
		path string
		read func(io.Reader) error
		want string // of the counts, in one line
	}{
		{"/good", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"/good", value, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"/other", all, `{"calls":0,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"/full", all, `{"calls":1,"lost":0,"failures":{"503":1},"breaches":{"codes":{}}}`},
		{"/teapot", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{"418":1}}}`},
		{"/created", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{"201":1}}}`},
		{"/lost", all, `{"calls":1,"lost":1,"failures":{},"breaches":{"codes":{}}}`},
		{"/cut", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{},"cut":1}}`},
		{"/slow", func(io.Reader) error { return nil }, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"/html", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{},"unparsable":{"200":1}}}`},
		{"/html", value, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{},"unparsable":{"200":1}}}`},
		{"/half", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{},"unparsable":{"200":1}}}`},
		{"/two", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{},"unparsable":{"200":1}}}`},
		{"/empty", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{},"unparsable":{"200":1}}}`},
		{"/long", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{"/long-html", all, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{},"unparsable":{"200":1}}}`},
	} {
		var seen [2]struct {
			status int
			got    error
			failed bool
		}
		counter := httpcount.New(httpcount.Operation{Name: "charge", Pattern: "/", Statuses: []int{200, 503}, JSON: true},
			httpcount.Operation{Name: "other", Pattern: "/other", Statuses: []int{200}})
		for i, transport := range []http.RoundTripper{nil, counter.Transport(nil)} {
			answer, err := (&http.Client{Transport: transport}).Get(server.URL + c.path)
			if seen[i].failed = err != nil; err != nil {
				continue
			}
			seen[i].status, seen[i].got = answer.StatusCode, c.read(answer.Body)
			answer.Body.Close()
		}
		if plain, counted := seen[0], seen[1]; plain.status != counted.status || plain.failed != counted.failed || (plain.got == nil) != (counted.got == nil) {
			t.Errorf("%s: the program sees %v, not %v", c.path, counted, plain)
		}
		if text, err := json.Marshal(read(t, counter).Operations["charge"]); err != nil || string(text) != c.want {
			t.Errorf("%s is counted as %s, %v\nnot as %s", c.path, text, err, c.want)
		}
	}
}

// A call or a body that the program itself cancels is no breach; a call whose deadline passes is lost.
func TestCancelledCallsAreNotTheServices(t *testing.T) {
	arrived := make(chan bool, 3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.(http.Flusher).Flush()
		}
		arrived <- true
		<-r.Context().Done()
	}))
	defer server.Close()
	counter := httpcount.New(httpcount.Operation{Name: "get", Pattern: "/", Statuses: []int{200}, JSON: true})
	client := &http.Client{Transport: counter.Transport(nil)}
	get := func(ctx context.Context, path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return client.Do(r)
	}

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := get(ctx, "/"); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	answer, err := get(ctx, "/body")
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-arrived; cancel() }()
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Fatal("the body has an end")
	}
	answer.Body.Close()
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := get(ctx, "/"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the error is %v", err)
	}
	if n := read(t, counter).Operations["get"]; n.Calls != 2 || n.Lost != 1 || n.Breaches.Cut != 0 || len(n.Breaches.Unparsable) != 0 {
		t.Errorf("the counts are %+v", n)
	}
}

// fixed answers all requests alike, without a network.
type fixed struct {
	status int
	body   string
}

func (f fixed) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f.status, Body: io.NopCloser(strings.NewReader(f.body))}, nil
}

// Calls at the same time all count, counts that are read meanwhile can be, and a body may be closed while it is read.
func TestManyAtOnce(t *testing.T) {
	counter := httpcount.New(httpcount.Operation{Name: "get", Pattern: "/", Statuses: []int{200, 503}, JSON: true})
	const each = 1000
	var calls sync.WaitGroup
	for _, f := range []fixed{{200, "{}"}, {200, "<html>"}, {503, ""}, {418, ""}} {
		client := &http.Client{Transport: counter.Transport(f)}
		calls.Go(func() {
			for range each {
				answer, err := client.Get("http://pay/")
				if err != nil {
					t.Error(err)
					return
				}
				var closed sync.WaitGroup
				if f.body == "{}" {
					closed.Go(func() { answer.Body.Close() })
				}
				io.ReadAll(answer.Body)
				closed.Wait()
				answer.Body.Close()
			}
		})
	}
	done := make(chan bool)
	go func() { calls.Wait(); close(done) }()
	for end := false; !end; {
		select {
		case <-done:
			end = true
		default:
		}
		read(t, counter)
	}
	n := read(t, counter).Operations["get"]
	if n.Calls != 4*each || n.Failures["503"] != each || n.Breaches.Codes["418"] != each || n.Breaches.Unparsable["200"] != each {
		t.Errorf("the counts are %+v", n)
	}
}

// Operations that cannot be are refused, in one line with the package, the operation and the remedy.
func TestRefused(t *testing.T) {
	good := httpcount.Operation{Name: "a", Pattern: "/", Statuses: []int{200}}
	for want, list := range map[string][]httpcount.Operation{
		"httpcount: an operation has no name; name each":                                {{Pattern: "/", Statuses: []int{200}}},
		"httpcount: two operations are named a; each needs":                             {good, {Name: "a", Pattern: "/b", Statuses: []int{200}}},
		"httpcount: a has no documented success status":                                 {{Name: "a", Pattern: "/"}},
		"httpcount: c has no documented success status, so every":                       {{Name: "c", Pattern: "/", Statuses: []int{503}}},
		"httpcount: 2000 of a is not an HTTP status; statuses have":                     {{Name: "a", Pattern: "/", Statuses: []int{200, 2000}}},
		`httpcount: b: the pattern "/" is there twice: remove one`:                      {good, {Name: "b", Pattern: "/", Statuses: []int{200}}},
		`httpcount: a: the pattern "POST charges" is not valid for http.ServeMux (pars`: {{Name: "a", Pattern: "POST charges", Statuses: []int{200}}},
		"httpcount: a: the Pattern is missing: write one":                               {{Name: "a", Statuses: []int{200}}},
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, want) || strings.Contains(text, "\n") {
					t.Errorf("%s, not %s", text, want)
				}
			}()
			httpcount.New(list...)
		}()
	}
}

// nothing answers all requests with the same answer.
type nothing struct{ answer http.Response }

func (n *nothing) RoundTrip(*http.Request) (*http.Response, error) {
	answer := n.answer
	return &answer, nil
}

func BenchmarkOff(b *testing.B) {
	plain := &nothing{http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(""))}}
	counter := httpcount.New(httpcount.Operation{Name: "get", Pattern: "GET /", Statuses: []int{200}})
	for name, transport := range map[string]http.RoundTripper{"plain": plain, "wrapped": counter.Transport(plain)} {
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				r := httptest.NewRequest("GET", "http://pay/", nil)
				for p.Next() {
					answer, err := transport.RoundTrip(r)
					if err != nil {
						b.Fatal(err)
					}
					answer.Body.Close()
				}
			})
		})
	}
}
