package httpfault_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/httpfault"
)

// counter is a service that counts how often each request took effect.
type counter struct {
	mu      sync.Mutex
	effects map[string]int
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.effects[string(body)]++
	io.WriteString(w, "done "+string(body))
}

// direct calls a handler without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

var teapot = httpfault.Answer{Status: 418, Body: "short and stout", Before: 0.02, After: 0.02, Breach: true}

// Each request that fails has had the effect that its fault says.
func TestEffectsAreThoseOfTheFaults(t *testing.T) {
	calls := 5_000
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		calls = 1_000_000
	}
	const delay = time.Millisecond
	sdk.Campaign{Runs: 2}.Test(t, func(r *sdk.Run) {
		c := &counter{effects: map[string]int{}}
		client := &http.Client{Transport: httpfault.Transport(direct{c}, "pay", r, httpfault.Route{
			Pattern: "POST /charges", Operation: "charge", CutBody: 0.05, Answers: []httpfault.Answer{{Status: 503, Before: 0.05}, teapot},
			Rates: sdk.Rates{Before: 0.05, After: 0.05, Late: 0.02, Twice: 0.05, Slow: 0.01, Delay: delay},
		})}
		type effect struct{ least, most int }
		want := map[string]effect{}
		for i := range calls {
			id := "request " + string(rune('a'+i%26)) + strings.Repeat("x", i/26%50) + time.Duration(i).String()
			answer, err := client.Post("http://pay/charges", "text/plain", strings.NewReader(id))
			e := effect{1, 2} // a request that was made twice, and succeeded, has no error
			switch {
			case err != nil && strings.HasSuffix(sdk.Kind(err), "_before"):
				e = effect{}
			case err != nil && sdk.Kind(err) != "":
				e.most = 1
			case err != nil:
				r.Fatalf("an error that no fault made: %v", err)
			default:
				body, cut := io.ReadAll(answer.Body)
				answer.Body.Close()
				switch {
				case answer.StatusCode == 503:
					e = effect{}
				case answer.StatusCode == 418:
					e = effect{0, 1}
				case cut != nil && !errors.Is(cut, io.ErrUnexpectedEOF), cut == nil && string(body) != "done "+id, cut != nil && len(body) != (len(id)+5)/2:
					r.Errorf("the answer to %s is %q, %v", id, body, cut)
				}
			}
			want[id] = e
		}
		r.Quiet()
		for id, e := range want {
			if n := c.effects[id]; n < e.least || n > e.most {
				r.Errorf("%s took effect %d times, not %d to %d", id, n, e.least, e.most)
			}
		}
	})
}

// A server that fails ends connections, and real clients see that.
func TestHandler(t *testing.T) {
	sdk.Campaign{Runs: 20}.Test(t, func(r *sdk.Run) {
		c := &counter{effects: map[string]int{}}
		answer := teapot
		answer.Breach = false
		server := httptest.NewServer(httpfault.Handler(c, "pay", r, httpfault.Route{
			Pattern: "POST /charges", Operation: "charge", Rates: sdk.Rates{Before: 0.1, After: 0.1}, CutBody: 0.1, Answers: []httpfault.Answer{answer}}))
		defer server.Close()
		client := server.Client()
		for i := range 20 {
			id := "request " + string(rune('a'+i))
			var body []byte
			answer, err := client.Post(server.URL+"/charges", "text/plain", strings.NewReader(id))
			if err == nil {
				body, err = io.ReadAll(answer.Body)
				answer.Body.Close()
			}
			c.mu.Lock()
			done := c.effects[id]
			c.mu.Unlock()
			switch {
			case err == nil && answer.StatusCode == 200 && (done != 1 || string(body) != "done "+id):
				r.Errorf("%s is answered %q, and took effect %d times", id, body, done)
			case err == nil && answer.StatusCode == 418 && string(body) != teapot.Body:
				r.Errorf("the answer 418 is %q", body)
			case err == nil && answer.StatusCode != 200 && answer.StatusCode != 418:
				r.Errorf("%s is answered %d", id, answer.StatusCode)
			case err != nil && done > 1:
				r.Errorf("%s took effect %d times", id, done)
			}
		}
		r.Quiet()
		if answer, err := client.Post(server.URL+"/other", "text/plain", strings.NewReader("x")); err != nil || answer.StatusCode != 200 {
			r.Errorf("a request of no route: %v", err)
		}
	})
}

// Routes that cannot be are refused.
func TestRefused(t *testing.T) {
	for what, make := range map[string]func(){
		"no operation": func() { httpfault.Transport(nil, "pay", nil, httpfault.Route{Pattern: "/"}) },
		"no status": func() {
			httpfault.Transport(nil, "pay", nil, httpfault.Route{Pattern: "/", Operation: "a", Answers: []httpfault.Answer{{Status: 1}}})
		},
		"a rate": func() {
			httpfault.Transport(nil, "pay", nil, httpfault.Route{Pattern: "/", Operation: "a", CutBody: -1})
		},
		"no pattern": func() { httpfault.Transport(nil, "pay", nil, httpfault.Route{Pattern: "POST charges", Operation: "a"}) },
		"a late server": func() {
			httpfault.Handler(nil, "pay", nil, httpfault.Route{Pattern: "/", Operation: "a", Rates: sdk.Rates{Late: 1}})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", what)
				}
			}()
			make()
		}()
	}
}

// nothing answers all requests alike.
type nothing struct{ answer http.Response }

func (n *nothing) RoundTrip(*http.Request) (*http.Response, error) { return &n.answer, nil }

func BenchmarkOff(b *testing.B) {
	plain := &nothing{http.Response{StatusCode: 200, Body: http.NoBody}}
	for name, transport := range map[string]http.RoundTripper{"plain": plain,
		"wrapped": httpfault.Transport(plain, "pay", nil, httpfault.Route{Pattern: "GET /", Operation: "get"})} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "http://pay/", nil)
			for b.Loop() {
				answer, err := transport.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				answer.Body.Close()
			}
		})
	}
}
