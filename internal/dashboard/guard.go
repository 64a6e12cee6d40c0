package dashboard

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// Guard decides who sees the dashboard.
type Guard struct {
	// Token is the secret that requests must carry, as a bearer token or in the cookie that the login form sets.
	// Without a Token and a Header, everyone has access.
	Token string
	// Header is the request header in which a reverse proxy puts the name of the user that it has authenticated. A
	// request with this header needs no token, so the proxy must remove it from requests of others.
	Header string
	// Hosts are names of this machine, besides localhost and addresses, that requests may use where everyone is let in.
	Hosts []string
	// Guesses slows down who guesses the token; nil does not.
	Guesses *Guesses

	patience patience
}

// MinToken is the length of the shortest token that is accepted.
const MinToken = 16

const cookieName = "bloodhound"

// policy lets pages run and load what the dashboard itself serves, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; frame-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// around checks what is the same for all requests.
func (g *Guard) around(inner http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.patience.hurry(w)
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if g.open() && !g.hostAllowed(r.Host) {
			http.Error(w, fmt.Sprintf("%q is not a host name of this dashboard; add it with --host", r.Host), http.StatusMisdirectedRequest)
			return
		}
		if err := origin.Check(r); err != nil {
			http.Error(w, "refused: the form came from another site", http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// open reports whether everyone is let in.
func (g *Guard) open() bool { return g.Token == "" && g.Header == "" }

// hostAllowed refuses names that a hostile site may have made point here (DNS rebinding). Addresses cannot be made to. Where a
// token is needed, such a site has no cookie.
func (g *Guard) hostAllowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return strings.EqualFold(name, "localhost") || slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// cookie returns the cookie for the browser of a user who knows the token.
func (g *Guard) cookie() string {
	m := hmac.New(sha256.New, []byte(g.Token))
	m.Write([]byte("bloodhound dashboard cookie"))
	return hex.EncodeToString(m.Sum(nil))
}

func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// allows reports whether a request may see more than the login form. If wait is not 0, its network has guessed the token too often, and may try again then.
func (g *Guard) allows(r *http.Request) (yes bool, wait time.Duration) {
	token, bears := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	right := false
	if bears && g.Token != "" { // also of who is let in by a header: what is mounted takes the token alone
		right = equal(token, g.Token)
		if wait := g.Guesses.Judge(r.RemoteAddr, right); wait > 0 {
			return false, wait
		}
	}
	switch {
	case g.open() || g.Header != "" && r.Header.Get(g.Header) != "":
		return true, 0
	case g.Token == "":
		return false, 0
	case bears:
		return right, 0
	}
	c, err := r.Cookie(cookieName)
	return err == nil && equal(c.Value, g.cookie()), 0
}

// user returns the name of the user according to the reverse proxy, or "".
func (g *Guard) user(r *http.Request) string {
	if g.Header == "" {
		return ""
	}
	return r.Header.Get(g.Header)
}

// known lets only those in whom the guard allows. People get the login form in place of a page.
func (d *Dashboard) known(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		allowed, wait := d.Guard.allows(r)
		switch {
		case allowed:
			d.Guard.patience.relax(w, r)
			serve(w, r)
		case wait > 0:
			w.Header().Set("Connection", "close")
			http.Error(w, tooManyGuesses(w, wait), http.StatusTooManyRequests)
		case r.Method == http.MethodGet && d.Guard.Token != "" && strings.Contains(r.Header.Get("Accept"), "text/html"):
			d.loginForm(w, r, http.StatusUnauthorized, "")
		default:
			w.Header().Set("Connection", "close") // a body that nobody reads ends with it
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a token is required", http.StatusUnauthorized)
		}
	}
}

// tooManyGuesses tells a client when it may try again (RFC 9110, 10.2.3), and returns the words for people.
func tooManyGuesses(w http.ResponseWriter, wait time.Duration) string {
	seconds := int((wait + time.Second - 1) / time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return fmt.Sprintf("Too many wrong tokens from your network. Try again in %d s.", seconds)
}

// loginForm shows nothing of the database.
func (d *Dashboard) loginForm(w http.ResponseWriter, r *http.Request, status int, problem string) {
	w.Header().Set("Connection", "close")
	d.write(w, status, &shell{Name: "login", Title: "Log in", Now: d.Now(), Live: true, Error: problem, query: r.URL.Query()})
}

func (d *Dashboard) loginPage(w http.ResponseWriter, r *http.Request) {
	if allowed, _ := d.Guard.allows(r); allowed {
		redirect(w, "./")
		return
	}
	d.loginForm(w, r, http.StatusUnauthorized, "")
}

func (d *Dashboard) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		w.Header().Set("Connection", "close")
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	right := d.Guard.Token != "" && equal(r.PostForm.Get("token"), d.Guard.Token)
	if wait := d.Guard.Guesses.Judge(r.RemoteAddr, right); wait > 0 {
		problem := tooManyGuesses(w, wait)
		d.loginForm(w, r, http.StatusTooManyRequests, problem)
		return
	}
	if !right {
		d.loginForm(w, r, http.StatusUnauthorized, "Wrong token.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: d.Guard.cookie(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"})
	redirect(w, "./")
}

// redirect leads to an address that is relative to that of the request, which may have another root behind a proxy.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// CheckListen reports why a dashboard must not listen on an address: everyone who reaches it could read it, and write into it.
func (g *Guard) CheckListen(ctx context.Context, address string, noToken bool) error {
	if g.Token != "" && len(g.Token) < MinToken {
		return fmt.Errorf("the token has %s; use %d or more", plural.Count(len(g.Token), "character"), MinToken)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %s: %w; give an address and a port, such as 127.0.0.1:8123", address, err)
	}
	if g.Token != "" || g.Header != "" || noToken {
		return nil
	}
	addresses := []netip.Addr{}
	if host != "" {
		if addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
			return fmt.Errorf("--listen %s: %w", address, err)
		}
	}
	if len(addresses) == 0 || slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !a.IsLoopback() }) {
		return fmt.Errorf("--listen %s is open to other machines, so the dashboard needs a token: set "+
			"--token-file or BLOODHOUND_DASHBOARD_TOKEN, set the user header of a reverse proxy with "+
			"--proxy-header, or let everyone in with --no-token", address)
	}
	return nil
}
