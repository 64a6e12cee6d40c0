// Package remote is a database of internal/store behind HTTP: a Handler serves one, and a Client uses it. Clients need no password of the database,
// only a token.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Prefix is the path below which a Handler is served.
const Prefix = "/store/v1/"

// Variables of the environment that have the token, or name a file that has it.
const (
	TokenVariable     = "BLOODHOUND_STORE_TOKEN"
	TokenFileVariable = "BLOODHOUND_STORE_TOKEN_FILE"
)

// Token is the one of the environment, "" if there is none.
func Token() (string, error) {
	if token := os.Getenv(TokenVariable); token != "" {
		return token, nil
	}
	file := os.Getenv(TokenFileVariable)
	if file == "" {
		return "", nil
	}
	token, err := ReadToken(file)
	if err != nil {
		return "", fmt.Errorf("store: the file of %s: %w", TokenFileVariable, err)
	}
	return token, nil
}

// maxTokenBytes bounds the file of a token.
const maxTokenBytes = 4096

// ReadToken reads a token from a file that has nothing else.
func ReadToken(file string) (string, error) {
	b, err := regular.Read(file, maxTokenBytes)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", fmt.Errorf("%s: the file is empty; write the token into it", file)
	}
	return token, nil
}

// silence is how long the server may take for an answer, or for the next part of a long one. It is longer than a store waits in Wait.
const silence = 30 * time.Second

// slowBytes is how many bytes a second a line must carry at least.
const slowBytes = 64 << 10

// Client is a database that a Handler serves.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client

	mu   sync.Mutex
	busy time.Time // until then the server wants no requests

	damages []store.Damage // of the server's store
}

// Open reads the URL of a database: http:// or https://, with the path of the dashboard that serves it.
func Open(text, token string) (*Client, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, errors.New("store: the URL cannot be read; write https://HOST:PORT")
	}
	if u.User != nil {
		return nil, fmt.Errorf("store: a URL of %s must not contain a user or a password; set the token in %s, or the path of a file with it in %s",
			u.Host, TokenVariable, TokenFileVariable)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("store: the URL of %s has a query or fragment after its path; write https://HOST:PORT/PATH", u.Host)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("store: the token has characters that a header cannot contain; use letters and digits")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = silence
	c := &Client{base: &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/") + Prefix}, token: token}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		return fmt.Errorf("it redirects to %s; use that URL", r.URL.Host)
	}}
	return c, nil
}

func (c *Client) String() string {
	return strings.TrimSuffix(c.base.String(), Prefix)
}

// failure is the answer of a server that could not do a request.
type failure struct {
	Kind    string `json:"kind"` // of the errors below, or ""
	Message string `json:"message"`
}

// kinds are the errors that callers handle.
var kinds = map[string]error{"held": store.ErrHeld, "no blob": store.ErrNoBlob, "damaged": store.ErrDamaged, "read-only": store.ErrReadOnly}

// err is the error of an answer.
func (f *failure) err() error {
	if kind := kinds[f.Kind]; kind != nil {
		return fmt.Errorf("%w: %s", kind, strings.TrimPrefix(f.Message, kind.Error()+": "))
	}
	return errors.New(f.Message)
}

// maxAnswer bounds answers that are no lists and no blobs.
const maxAnswer = 1 << 20

// do asks the server. The answer's body must be closed.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	if err := c.busyNow(); err != nil {
		return nil, fmt.Errorf("store: %s: %w", c, err)
	}
	u := c.base.JoinPath(path)
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", c, err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	// All requests may be made twice, so the client may send one again whose connection has ended.
	r.Header["Idempotency-Key"] = nil
	answer, err := c.http.Do(r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, fmt.Errorf("store: %s: %w", c, cause)
		}
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err // without the URL, which is long
		}
		return nil, fmt.Errorf("store: %s: %w", c, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	if c.backOff(answer); c.busyNow() != nil {
		return nil, fmt.Errorf("store: %s: it answered %s: %w", c, answer.Status, c.busyNow())
	}
	return nil, fmt.Errorf("store: %s: %w", c, c.refused(answer))
}

// maxBusy bounds how long a server may be left alone because it asked for that.
const maxBusy = 10 * time.Minute

// backOff takes in that a server, or a proxy in front of it, wants no requests for a time (RFC 9110, 10.2.3).
func (c *Client) backOff(answer *http.Response) {
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
		return
	}
	text := answer.Header.Get("Retry-After")
	seconds, err := strconv.ParseUint(text, 10, 32)
	wait := time.Duration(seconds) * time.Second
	if err != nil {
		at, err := http.ParseTime(text)
		if err != nil {
			return
		}
		wait = time.Until(at)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = time.Now().Add(min(wait, maxBusy))
}

// busyNow is the error of a request while the server wants none: it is not asked.
func (c *Client) busyNow() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := time.Until(c.busy); left > 0 {
		return fmt.Errorf("it accepts no requests for the next %s", max(left.Round(time.Second), time.Second))
	}
	return nil
}

// refused is the error of an answer that is none.
func (c *Client) refused(answer *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	var f failure
	known := err == nil && json.Unmarshal(b, &f) == nil && f.Message != ""
	switch {
	case f.Kind != "": // such as that of a store that is read-only
		return f.err()
	case answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden:
		if !known {
			return fmt.Errorf("it answered %s, which a store never does; is this the URL of a dashboard?", answer.Status)
		}
		return f.err()
	case c.token == "":
		return fmt.Errorf("%w: it requires a token; set it in %s, or the path of a file with it in %s", store.ErrRefused, TokenVariable, TokenFileVariable)
	}
	return fmt.Errorf("%w: it rejected the token in %s or %s", store.ErrRefused, TokenVariable, TokenFileVariable)
}

// call asks for an answer in JSON, within a time.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body []byte, answer any) error {
	limit := silence + time.Duration(len(body))*time.Second/slowBytes
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	r, err := c.do(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if err := json.NewDecoder(io.LimitReader(r.Body, maxAnswer)).Decode(answer); err != nil {
		return fmt.Errorf("store: %s: its answer cannot be read: %w", c, err)
	}
	return nil
}

// listen calls f with the body of a long answer. It ends when no part comes for a while.
func (c *Client) listen(ctx context.Context, method, path string, query url.Values, body []byte, f func(body io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answer, err := c.do(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	late := time.AfterFunc(silence, func() { cancel(fmt.Errorf("no data for %s", silence)) })
	defer late.Stop()
	err = f(&watched{answer.Body, late})
	var own *ownError
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own.error
	case cause != nil:
		err = cause
	}
	return fmt.Errorf("store: %s: %w", c, err)
}

// ownError is one of the caller, which the server has not caused.
type ownError struct{ error }

// watched is a body whose reads must not take long.
type watched struct {
	io.Reader
	late *time.Timer
}

func (w *watched) Read(b []byte) (int, error) {
	w.late.Reset(silence)
	defer w.late.Stop()
	return w.Reader.Read(b)
}

// Add implements store.Store.
func (c *Client) Add(ctx context.Context, entries ...store.Entry) error {
	if err := cmp.Or(ctx.Err(), store.CheckEntries(entries)); err != nil {
		return err
	}
	for part := range store.Bundles(entries) {
		var body []byte
		for i := range part {
			body = store.AppendFrame(body, &part[i])
		}
		if err := c.call(ctx, http.MethodPost, "entries", nil, body, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

// A list of entries is their frames, and behind them, as a frame of no bytes, the end: an object of JSON.
type end struct {
	Cursor store.Cursor `json:"cursor"`
	Error  *failure     `json:"error,omitempty"`
	// Damages lists the damages that the server's store has found.
	Damages []store.Damage `json:"damages,omitempty"`
}

// readFrames gives the entries of a list, and returns its end.
func readFrames(body io.Reader, each func(store.Entry) error) (end, error) {
	var e end
	cut := func(err error) (end, error) {
		return e, fmt.Errorf("the list of entries is truncated: %w", err)
	}
	var head [store.FrameHeadBytes]byte
	for {
		if _, err := io.ReadFull(body, head[:]); err != nil {
			return cut(err)
		}
		size := binary.LittleEndian.Uint32(head[:])
		if size == 0 {
			break
		}
		if size > store.MaxFrameBytes {
			return cut(fmt.Errorf("a frame of %d bytes", size))
		}
		frame := make([]byte, len(head)+int(size))
		copy(frame, head[:])
		if _, err := io.ReadFull(body, frame[len(head):]); err != nil {
			return cut(err)
		}
		if _, damage, err := store.Frames(frame, each); damage != nil || err != nil {
			return e, cmp.Or(err, damage)
		}
	}
	if err := json.NewDecoder(io.LimitReader(body, maxAnswer)).Decode(&e); err != nil {
		return cut(err)
	}
	if e.Error != nil {
		return e, e.Error.err()
	}
	return e, nil
}

func cursorQuery(prefix string, from store.Cursor) url.Values {
	return url.Values{"prefix": {prefix}, "from": {string(from)}}
}

// Read implements store.Store.
func (c *Client) Read(ctx context.Context, prefix string, at store.Cursor, each func(store.Entry) error) (store.Cursor, error) {
	next := at
	err := c.listen(ctx, http.MethodGet, "entries", cursorQuery(prefix, at), nil, func(body io.Reader) error {
		e, err := readFrames(body, func(e store.Entry) error {
			if err := each(e); err != nil {
				return &ownError{err}
			}
			return nil
		})
		if err == nil {
			next = e.Cursor
			c.mu.Lock()
			c.damages = e.Damages
			c.mu.Unlock()
		}
		return err
	})
	return next, err
}

// Damages lists what the server's store could not read when it was read last.
func (c *Client) Damages() []store.Damage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.damages
}

// Wait implements store.Store.
func (c *Client) Wait(ctx context.Context, prefix string, at store.Cursor) error {
	return c.call(ctx, http.MethodGet, "wait", cursorQuery(prefix, at), nil, &struct{}{})
}

// Drop implements store.Store. It reads what there is, and names what the server shall remove.
func (c *Client) Drop(ctx context.Context, prefix string, drop func(store.Entry) bool) (int, error) {
	var list []store.Entry
	if _, err := c.Read(ctx, prefix, "", func(e store.Entry) error {
		if drop(e) {
			list = append(list, e)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	n := 0
	for part := range store.Bundles(list) {
		var ids []byte
		for i := range part {
			id := part[i].Identity()
			ids = append(ids, id[:]...)
		}
		if err := c.lines(ctx, http.MethodPost, "drop", url.Values{"prefix": {prefix}}, ids, func(l line) error { n += l.Count; return nil }); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Compact implements store.Store.
func (c *Client) Compact(ctx context.Context) (n int, err error) {
	err = c.lines(ctx, http.MethodPost, "compact", nil, nil, func(l line) error { n += l.Count; return nil })
	return n, err
}

// PutBlob implements store.Store.
func (c *Client) PutBlob(ctx context.Context, b []byte) (store.Digest, error) {
	if err := store.CheckBlob(b); err != nil {
		return "", err
	}
	d := store.DigestOf(b)
	return d, c.call(ctx, http.MethodPut, "blobs/"+string(d), nil, b, &struct{}{})
}

// Blob implements store.Store.
func (c *Client) Blob(ctx context.Context, d store.Digest) (b []byte, err error) {
	if !d.Valid() {
		return nil, fmt.Errorf("%w: %q is not a digest", store.ErrNoBlob, d)
	}
	err = c.listen(ctx, http.MethodGet, "blobs/"+string(d), nil, nil, func(body io.Reader) (err error) {
		b, err = io.ReadAll(io.LimitReader(body, store.MaxBlobBytes+1))
		return err
	})
	if err == nil && store.DigestOf(b) != d {
		err = fmt.Errorf("store: %s: %w: the bytes of %s have a different digest", c, store.ErrDamaged, d)
	}
	return b, err
}

// line is one of an answer that is not of entries. One that is empty says that the server is at work. The last one has the end, or an error.
type line struct {
	Count  int             `json:"count,omitempty"`
	Blob   *store.BlobInfo `json:"blob,omitempty"`
	What   string          `json:"what,omitempty"`
	Damage string          `json:"damage,omitempty"`
	End    bool            `json:"end,omitempty"`
	Error  *failure        `json:"error,omitempty"`
}

func (c *Client) lines(ctx context.Context, method, path string, query url.Values, body []byte, each func(line) error) error {
	return c.listen(ctx, method, path, query, body, func(body io.Reader) error {
		lines := json.NewDecoder(body)
		for {
			var l line
			if err := lines.Decode(&l); err != nil {
				return fmt.Errorf("the list is truncated: %w", err)
			}
			switch {
			case l.Error != nil:
				return l.Error.err()
			case l.End:
				return nil
			}
			if err := each(l); err != nil {
				return &ownError{err}
			}
		}
	})
}

// Blobs implements store.Store.
func (c *Client) Blobs(ctx context.Context, each func(store.BlobInfo) error) error {
	return c.lines(ctx, http.MethodGet, "blobs", nil, nil, func(l line) error {
		if l.Blob == nil {
			return nil
		}
		return each(*l.Blob)
	})
}

// Check checks the database where it is.
func (c *Client) Check(ctx context.Context, report func(what, damage string)) error {
	return c.lines(ctx, http.MethodPost, "check", nil, nil, func(l line) error {
		if l.What != "" {
			report(l.What, l.Damage)
		}
		return nil
	})
}

// DropBlob implements store.Store.
func (c *Client) DropBlob(ctx context.Context, d store.Digest) error {
	if !d.Valid() {
		return nil
	}
	return c.call(ctx, http.MethodDelete, "blobs/"+string(d), nil, nil, &struct{}{})
}

// Lease implements store.Store.
func (c *Client) Lease(ctx context.Context, name, holder string, ttl time.Duration) (l store.Lease, err error) {
	query := url.Values{"name": {name}, "holder": {holder}, "ttl_ms": {strconv.FormatInt(ttl.Milliseconds(), 10)}}
	err = c.call(ctx, http.MethodPost, "lease", query, nil, &l)
	return l, err
}

// Release implements store.Store.
func (c *Client) Release(ctx context.Context, name, holder string) error {
	return c.call(ctx, http.MethodPost, "release", url.Values{"name": {name}, "holder": {holder}}, nil, &struct{}{})
}

// Close implements store.Store.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}
