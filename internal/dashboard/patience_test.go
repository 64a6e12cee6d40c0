package dashboard

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
)

// atOnce and never are bounds that are over before, and long after, whatever a test does.
const (
	atOnce = time.Millisecond
	never  = time.Hour
)

// stuck is when a test gives a server up that does not end a connection.
const stuck = 30 * time.Second

// guarded serves a dashboard and its store, with the token.
func guarded(t *testing.T, p patience) (d *Dashboard, address string) {
	t.Helper()
	d = of(filled(t))
	d.Guard.Token, d.Guard.patience = token, p
	d.Mounted = remote.Handler(d.Store, token)
	return d, serve(t, d).Listener.Addr().String()
}

// dial opens a connection and writes the beginning of a request.
func dial(t *testing.T, address, beginning string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(stuck))
	if _, err := io.WriteString(c, beginning); err != nil {
		t.Fatal(err)
	}
	return c
}

// Whoever has no token cannot hold a connection by a body that does not come, wherever it goes, or by an answer that is not fetched.
func TestStrangersCannotStall(t *testing.T) {
	_, address := guarded(t, patience{stranger: atOnce, silent: never})
	blob := string(store.DigestOf([]byte("x")))
	for _, head := range []string{
		"POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ntoken=",
		"POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ntoken=\r\n",
		"POST /note HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nby=",
		"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"GET /style.css HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx",
		"PUT /store/v1/blobs/" + blob + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx",
		"PUT /store/v1/blobs/" + blob + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: 100000\r\n\r\nx",
		"POST /store/v1/entries HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
		"POST /store/v1/entries HTTP/1.1\r\nHost: x\r\nCookie: bloodhound=" + token + "\r\nContent-Length: 100000\r\n\r\nx",
	} {
		c := dial(t, address, head)
		_, err := io.Copy(io.Discard, c)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the connection is held by %.70q", head)
		}
		c.Close()
	}
}

// Who has the token may take longer than strangers, for a body as for an answer, and loses the connection when the body stops.
func TestPatienceWithFriends(t *testing.T) {
	stranger := 20 * time.Millisecond
	d, address := guarded(t, patience{stranger: stranger, silent: never})
	body := strings.Repeat("x", 3000)
	blob := store.DigestOf([]byte(body))
	c := dial(t, address, "PUT /store/v1/blobs/"+string(blob)+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\nContent-Length: 3000\r\n\r\n")
	for part := range 3 {
		time.Sleep(2 * stranger) // the bound of strangers is over
		if _, err := io.WriteString(c, body[part*1000:(part+1)*1000]); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || r.StatusCode != 200 {
		t.Fatalf("a slow upload: %v, %v", r, err)
	}
	if b, err := d.Store.Blob(t.Context(), blob); err != nil || string(b) != body {
		t.Errorf("the blob is not stored: %v", err)
	}

	// An answer that waits for news goes on.
	c = dial(t, address, "GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	events := bufio.NewReader(c)
	next := func() string {
		for {
			line, err := events.ReadString('\n')
			if err != nil {
				t.Fatalf("events end: %v", err)
			}
			if strings.HasPrefix(line, "data: ") {
				return line
			}
		}
	}
	next()
	time.Sleep(2 * stranger) // the bound of strangers is over
	for i := range 2 {
		more := records.Test{Name: fmt.Sprint("test ", i), Definition: "d", AtMs: 1}
		if err := d.Store.Add(t.Context(), more.Entry()); err != nil {
			t.Fatal(err)
		}
		next()
	}

	_, address = guarded(t, patience{stranger: never, silent: atOnce})
	c = dial(t, address, "PUT /store/v1/blobs/"+string(blob)+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\nContent-Length: 3000\r\n\r\nx")
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a body that has stopped holds the connection of a friend forever")
	}
}

// guessesApart are Guesses in which none of some networks shares its bucket with another one, as two of a thousand may.
func guessesApart(now func() time.Time, remotes ...string) *Guesses {
	for {
		g, taken := NewGuesses(now), map[uint64]bool{}
		for _, remote := range remotes {
			taken[maphash.Comparable(g.seed, network(remote))%guessBuckets] = true
		}
		if len(taken) == len(remotes) {
			return g
		}
	}
}

// A network that guesses is slowed down, others are not, and who has come in stays in.
func TestGuesses(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	g := guessesApart(func() time.Time { return now }, "192.0.2.1:1", "198.51.100.1:1", "[2001:db8:1:2::3]:1")
	tries := func(remote string, right bool, n int) (admitted int) {
		for range n {
			if g.Judge(remote, right) == 0 {
				admitted++
			}
		}
		return admitted
	}
	if n := tries("192.0.2.1:1", false, 1000); n != strangerPace.burst {
		t.Errorf("%d wrong tokens are compared at once", n)
	}
	// A right token is not told from a wrong one meanwhile, whatever the port.
	if wait := g.Judge("192.0.2.1:2", true); wait != strangerPace.every {
		t.Errorf("the right token waits for %s", wait)
	}
	if tries("198.51.100.1:1", true, 1000) != 1000 {
		t.Error("another network waits")
	}
	now = now.Add(60 * strangerPace.every)
	if n := tries("192.0.2.1:1", false, 1000); n != strangerPace.burst {
		t.Errorf("%d wrong tokens are compared at once after a pause", n)
	}
	now = now.Add(strangerPace.every)
	if n := tries("192.0.2.1:1", false, 1000); n != 1 {
		t.Errorf("%d wrong tokens are compared each %s", n, strangerPace.every)
	}
	now = now.Add(strangerPace.every)
	if n := tries("[2001:db8:1:2::3]:1", false, 1000) + tries("[2001:db8:1:9::3]:1", false, 1000); n != strangerPace.burst {
		t.Errorf("%d wrong tokens of one network of IPv6", n)
	}
	if n := tries("[::ffff:198.51.100.1]:5", false, 1000); n != friendPace.burst {
		t.Errorf("%d wrong tokens beside workers", n)
	}
}

// However many networks guess, the number of guesses and the memory for them are bounded, and a friend is not locked out.
func TestGuessesOfManyNetworks(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	g := NewGuesses(func() time.Time { return now })
	if g.Judge("198.51.100.1:1", true) != 0 {
		t.Fatal("the first token waits")
	}
	compared := 0
	for i := range 100_000 {
		if g.Judge(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), false) == 0 {
			compared++
		}
	}
	if most := guessBuckets * strangerPace.burst; compared > most || compared < most/2 {
		t.Errorf("%d guesses are compared at once, by design at most %d", compared, most)
	}
	if g.Judge("198.51.100.1:1", true) != 0 {
		t.Error("a friend is locked out")
	}
	for i := range 10 * maxFriends {
		now = now.Add(strangerPace.every)
		g.Judge(fmt.Sprintf("172.16.%d.%d:1", i>>8, i&255), true)
		g.Judge("198.51.100.1:1", true)
	}
	if len(g.friends) > maxFriends || g.friends[network("198.51.100.1:1")] == nil {
		t.Errorf("%d networks are remembered", len(g.friends))
	}
}

// All ways to show a token are slowed down together. A cookie and a proxy's user are let in meanwhile.
func TestGuessesAreRefused(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	d := of(filled(t))
	d.Guard.Token, d.Guard.Header, d.Guard.Guesses = token, "X-User", NewGuesses(func() time.Time { return now })
	d.Mounted = remote.Handler(d.Store, token)
	s := serve(t, d)
	ask := func(method, path, body string, header ...string) *http.Response {
		t.Helper()
		q, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(header); i += 2 {
			q.Header.Set(header[i], header[i+1])
		}
		r, err := s.Client().Transport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for i := range strangerPace.burst {
		switch i % 4 {
		case 0:
			ask("POST", "/login", "token=wrong", form...)
		case 1:
			ask("GET", "/", "", "Authorization", "Bearer wrong")
		case 2:
			ask("GET", remote.Prefix+"entries", "", "Authorization", "Bearer wrong")
		case 3:
			ask("GET", remote.Prefix+"entries", "", "Authorization", "Bearer wrong", "X-User", "ana")
		}
	}
	for _, c := range []struct {
		what string
		r    *http.Response
		want int
	}{
		{"a wrong form", ask("POST", "/login", "token=wrong", form...), 429},
		{"the right form", ask("POST", "/login", "token="+token, form...), 429},
		{"the right token for pages", ask("GET", "/", "", "Authorization", "Bearer "+token), 429},
		{"the right token for the store", ask("GET", remote.Prefix+"entries", "", "Authorization", "Bearer "+token), 429},
		{"a wrong token of a proxy's user", ask("GET", remote.Prefix+"entries", "", "Authorization", "Bearer wrong", "X-User", "ana"), 429},
		{"a proxy's user", ask("GET", "/", "", "X-User", "ana"), 200},
		{"a cookie", ask("GET", "/", "", "Cookie", cookieName+"="+d.Guard.cookie()), 200},
		{"no token", ask("GET", "/", ""), 401},
	} {
		if c.r.StatusCode != c.want || c.want == 429 && c.r.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: %s, Retry-After %q", c.what, c.r.Status, c.r.Header.Get("Retry-After"))
		}
	}
	now = now.Add(strangerPace.every)
	if r := ask("POST", "/login", "token="+token, form...); r.StatusCode != http.StatusSeeOther {
		t.Errorf("the token after the pause: %s", r.Status)
	}
}
