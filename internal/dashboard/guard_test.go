package dashboard

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
)

const token = "a-token-of-the-test"

// Whatever is served needs the token, but the login form and the style sheet.
func TestEveryRouteNeedsTheToken(t *testing.T) {
	d := of(filled(t))
	d.Guard.Token = token
	d.Mounted = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "acknowledged") })
	s := serve(t, d)
	ask := func(method, path string, header ...string) (int, string) {
		t.Helper()
		q, err := http.NewRequest(method, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(header); i += 2 {
			q.Header.Set(header[i], header[i+1])
		}
		r, err := s.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b := make([]byte, 1<<20)
		n, _ := r.Body.Read(b)
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'",
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"} {
			if !strings.Contains(r.Header.Get(name), want) {
				t.Errorf("%s %s: %s is %q", method, path, name, r.Header.Get(name))
			}
		}
		return r.StatusCode, string(b[:n])
	}
	var open []string
	routes := d.routes()
	for _, r := range routes {
		method, path, ok := strings.Cut(r.pattern, " ")
		if !ok {
			method, path = "GET", r.pattern
		}
		path = strings.TrimSuffix(path, "{$}")
		if r.open {
			open = append(open, r.pattern)
			continue
		}
		for _, header := range [][]string{nil, {"Accept", "text/html"}, {"Authorization", "Bearer another-token-that-is-wrong"},
			{"Cookie", "bloodhound=" + token}, {"X-Forwarded-User", "eve"}} {
			if code, body := ask(method, path, header...); code != 401 || strings.Contains(body, "acknowledged") || strings.Contains(body, "store") {
				t.Errorf("%s with %v: %d\n%s", r.pattern, header, code, body)
			}
		}
		if r.pattern == "GET /events" {
			continue
		}
		if code, _ := ask(method, path, "Authorization", "Bearer "+token); code == 401 {
			t.Errorf("%s: the token does not open it", r.pattern)
		}
	}
	if fmt.Sprint(open) != "[GET /style.css GET /login POST /login]" {
		t.Errorf("open without a token: %v", open)
	}
	if code, body := ask("GET", "/login"); code != 401 || !strings.Contains(body, `name="token"`) || strings.Contains(body, "memory:") {
		t.Errorf("login: %d %s", code, body)
	}
	if code, body := ask("GET", "/", "Authorization", "Bearer "+token); code != 200 || !strings.Contains(body, "acknowledged") {
		t.Errorf("%d", code)
	}
}

// The login form gives a cookie that is not the token, and that scripts cannot read.
func TestLogin(t *testing.T) {
	d := of(filled(t))
	d.Guard.Token = token
	s := serve(t, d)
	jar, _ := cookiejar.New(nil)
	s.Client().Jar = jar
	for _, wrong := range []string{"", "x", token + "x"} {
		r, err := s.Client().PostForm(s.URL+"/login", url.Values{"token": {wrong}})
		if err != nil || r.StatusCode != 401 || len(r.Cookies()) > 0 {
			t.Fatalf("%q: %v %v", wrong, r.Status, err)
		}
		r.Body.Close()
	}
	if _, r := get(t, s, "/"); r.StatusCode != 401 {
		t.Fatal(r.Status)
	}
	s.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := s.Client().PostForm(s.URL+"/login", url.Values{"token": {token}})
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	c := r.Cookies()
	if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || strings.Contains(c[0].Value, token) || r.Header.Get("Location") != "./" {
		t.Fatalf("%v, to %q", c, r.Header.Get("Location"))
	}
	if body, r := get(t, s, "/"); r.StatusCode != 200 || !strings.Contains(body, "acknowledged") {
		t.Fatal(r.Status)
	}
}

// A reverse proxy lets people in by a header, and names them.
func TestProxyHeader(t *testing.T) {
	d := of(filled(t))
	d.Guard.Header = "X-Forwarded-User"
	s := serve(t, d)
	if _, r := get(t, s, "/"); r.StatusCode != 401 {
		t.Errorf("without the header: %s", r.Status)
	}
	q, _ := http.NewRequest("GET", s.URL+"/", nil)
	q.Header.Set("X-Forwarded-User", "ana <b>")
	r, err := s.Client().Do(q)
	if err != nil || r.StatusCode != 200 {
		t.Fatal(r.Status, err)
	}
	r.Body.Close()
}

// The cookie of a browser does not open the store itself.
func TestStoreIsNotForBrowsers(t *testing.T) {
	d := of(filled(t))
	d.Guard.Token = token
	d.Mounted = remote.Handler(d.Store, token)
	s := serve(t, d)
	q, _ := http.NewRequest("GET", s.URL+remote.Prefix+"entries", nil)
	q.AddCookie(&http.Cookie{Name: cookieName, Value: d.Guard.cookie()})
	r, err := s.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != 401 {
		t.Errorf("with a cookie: %s", r.Status)
	}
}

// A name that a hostile site has made point here is refused.
func TestHosts(t *testing.T) {
	d := of(store.NewMemory())
	d.Guard.Hosts = []string{"hounds.example.org"}
	s := serve(t, d)
	for host, want := range map[string]int{"localhost:8123": 200, "127.0.0.1": 200, "[::1]:8123": 200, "192.0.2.7:8123": 200,
		"Hounds.example.org": 200, "evil.example": 421, "127.0.0.1.evil.example:8123": 421, "localhost.evil.example": 421} {
		q, _ := http.NewRequest("GET", s.URL+"/", nil)
		q.Host = host
		r, err := s.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %s", host, r.Status)
		}
	}
	d = of(store.NewMemory())
	d.Guard.Token = token
	q, _ := http.NewRequest("GET", serve(t, d).URL+"/", nil)
	q.Host = "evil.example"
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != 401 {
		t.Errorf("with a token, another name is answered %s", r.Status)
	}
}

func TestCheckListen(t *testing.T) {
	for _, test := range []struct {
		address string
		guard   Guard
		noToken bool
		problem string
	}{
		{"127.0.0.1:8123", Guard{}, false, ""},
		{"[::1]:0", Guard{}, false, ""},
		{"localhost:8123", Guard{}, false, ""},
		{"0.0.0.0:8123", Guard{}, false, "--token-file"},
		{":8123", Guard{}, false, "--token-file"},
		{"192.0.2.1:8123", Guard{}, false, "--token-file"},
		{"0.0.0.0:8123", Guard{Token: token}, false, ""},
		{"0.0.0.0:8123", Guard{Header: "X-User"}, false, ""},
		{"0.0.0.0:8123", Guard{}, true, ""},
		{"127.0.0.1:8123", Guard{Token: "short"}, false, "16 or more"},
		{"8123", Guard{}, false, "a port"},
	} {
		err := test.guard.CheckListen(t.Context(), test.address, test.noToken)
		if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s %+v: %v", test.address, test.guard, err)
		}
	}
}

// Files that a record names are served so that nothing in them can act for the dashboard, and no other blob is served.
func TestFiles(t *testing.T) {
	db := filled(t)
	page, err := db.PutBlob(t.Context(), []byte("<!doctype html><script>alert(1)</script>"))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, of(db))
	body, _ := get(t, s, "/failure?test="+string(testID)+"&id="+string(lostID))
	m := regexp.MustCompile(`href="(file\?digest=[0-9a-f]{64})&amp;id=[^"]*" download`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("the page names no file")
	}
	if body, r := get(t, s, "/"+m[1]); r.Header.Get("Content-Type") != "application/json" ||
		!strings.Contains(r.Header.Get("Content-Security-Policy"), "sandbox") || !strings.Contains(body, `"failure_version"`) {
		t.Errorf("%v\n%.300s", r.Header, body)
	}
	if _, r := get(t, s, "/file?digest="+string(page)); r.StatusCode != 404 {
		t.Errorf("a blob that no record names: %s", r.Status)
	}
}
