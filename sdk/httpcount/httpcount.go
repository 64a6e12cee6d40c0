// Package httpcount counts what HTTP services answer to a program in production, and which answers breach their
// contracts. It passes every request and answer through and injects nothing. Package httpfault reads the counts, so
// that a test injects the same failures. This package imports only the standard library and this module, and does not
// import package testing.
package httpcount

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/routes"
)

// Operation selects the requests that are counted together, and states what the service documents about their answers.
type Operation struct {
	// Name identifies the operation in the counts, such as "charge". It matches the Operation of an httpfault.Route.
	Name string
	// Pattern is a pattern of http.ServeMux, such as "POST /charges/{order}". The most specific one applies.
	Pattern string
	// Statuses lists every status that the service documents, including success. Documented ones from 400 on count as
	// failures, and undocumented ones as breaches.
	Statuses []int
	// JSON says that documented answers from 200 to 299, except 204 and 205, have a body that is one JSON value. Any
	// other body counts as a breach.
	JSON bool
}

const (
	// statuses is the number of statuses: HTTP writes them with three digits (RFC 9110, section 15).
	statuses = 1000
	// maxKeptBytes is how much of a body is kept until its end to be parsed; of a longer one the beginning is judged.
	maxKeptBytes = 64 << 10
)

// Counter counts calls of operations and serves the counts as JSON (http.Handler). It is safe for concurrent use.
type Counter struct {
	all        counts.Counter
	operations routes.Table[operation]
}

type operation struct {
	*counts.Operation
	documented [statuses]bool
	json       bool
}

// New makes a Counter. It panics if an operation is invalid.
func New(operations ...Operation) *Counter {
	c := &Counter{all: counts.Counter{By: "httpcount"}}
	for _, o := range operations {
		if !slices.ContainsFunc(o.Statuses, func(s int) bool { return s < 400 }) {
			panic(fmt.Sprintf("httpcount: %s has no documented success status, so every success would count as a "+
				"breach: list all of its Statuses, such as 200", o.Name))
		}
		at := &operation{json: o.JSON}
		var documented []string
		for _, s := range o.Statuses {
			if s < 100 || s >= statuses {
				panic(fmt.Sprintf("httpcount: %d of %s is not an HTTP status; statuses have three digits, from "+
					"100 on", s, o.Name))
			}
			at.documented[s] = true
			documented = append(documented, strconv.Itoa(s))
		}
		at.Operation = c.all.Add(o.Name, documented...)
		if err := c.operations.Add(o.Pattern, at); err != nil {
			panic(fmt.Sprintf("httpcount: %s: %v", o.Name, err))
		}
	}
	return c
}

// Transport makes requests by next (http.DefaultTransport if it is nil) and counts the ones that belong to an
// operation. A call that the program itself cancels does not count; one whose deadline passes counts as lost.
func (c *Counter) Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{next, c}
}

type transport struct {
	next http.RoundTripper
	*Counter
}

// RoundTrip makes a request (http.RoundTripper).
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	at := t.operations.Lookup(r)
	answer, err := t.next.RoundTrip(r)
	switch {
	case at == nil || errors.Is(r.Context().Err(), context.Canceled):
	case err != nil:
		at.Call()
		at.Lost()
	default:
		at.Call()
		at.answered(r, answer)
	}
	return answer, err
}

// answered counts an answer, and wraps the body of a success, which is judged while the program reads it.
func (o *operation) answered(r *http.Request, answer *http.Response) {
	status := answer.StatusCode
	if status < 0 || status >= statuses {
		status = 0 // a transport of the program's own makes it: HTTP cannot write it
	}
	if !o.documented[status] || status >= 400 {
		o.Answer(strconv.Itoa(status))
		return
	}
	if r.Method == http.MethodHead || status == http.StatusSwitchingProtocols {
		return // it has no body, or is a connection
	}
	parse := o.json && status >= 200 && status < 300 && status != http.StatusNoContent && status != http.StatusResetContent &&
		answer.Header.Get("Content-Encoding") == ""
	if answer.Body == nil || answer.Body == http.NoBody {
		if parse {
			o.Unparsable(strconv.Itoa(status))
		}
		return
	}
	answer.Body = &body{ReadCloser: answer.Body, at: o, status: status, ctx: r.Context(), parse: parse}
}

// body is the body of an answer. It is judged once: when it ends, breaks or is closed.
type body struct {
	io.ReadCloser
	at     *operation
	status int
	ctx    context.Context // of the request
	parse  bool
	kept   []byte
	// taken is true while kept is in use, and after the judgement. Programs close a body while another goroutine reads it: who comes second leaves it alone.
	taken atomic.Bool
}

// Read reads from the body (io.Reader).
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.taken.CompareAndSwap(false, true) {
		return n, err
	}
	if b.parse {
		b.kept = append(b.kept, p[:min(n, maxKeptBytes-len(b.kept))]...)
	}
	switch {
	case err == nil:
		b.taken.Store(false)
	case err != io.EOF && b.ctx.Err() == nil:
		b.at.Cut()
	case err == io.EOF && b.parse && !b.parses(len(b.kept) < maxKeptBytes):
		b.at.Unparsable(strconv.Itoa(b.status))
	}
	return n, err
}

// Close closes the body (io.Closer). What was read of it may show that the rest cannot make it JSON.
func (b *body) Close() error {
	if b.taken.CompareAndSwap(false, true) && b.parse && !b.parses(false) {
		b.at.Unparsable(strconv.Itoa(b.status))
	}
	return b.ReadCloser.Close()
}

// parses reports whether what was read is JSON, or, where it is not the whole body, may be the beginning of it.
func (b *body) parses(whole bool) bool {
	if whole {
		return json.Valid(b.kept)
	}
	var value json.RawMessage
	_, wrong := errors.AsType[*json.SyntaxError](json.NewDecoder(bytes.NewReader(b.kept)).Decode(&value))
	return !wrong
}

// ServeHTTP answers with the counts so far, as JSON (http.Handler).
func (c *Counter) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.all.ServeHTTP(w, r) }

// MarshalJSON returns the counts so far (json.Marshaler).
func (c *Counter) MarshalJSON() ([]byte, error) { return c.all.MarshalJSON() }
