// Package httpcount counts, in a program in production, what HTTP services answer, and which answers breach their contracts. It passes every request and answer through and injects
// nothing. Package httpfault reads the counts and has a test play what they have. This package imports only the standard library, and not package testing.
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
	"sync/atomic"
)

// Operation is requests that are counted together, and what the service documents about their answers.
type Operation struct {
	// Name is that of the operation in the counts, such as "charge", and of the Operation of an httpfault.Route.
	Name string
	// Pattern is that of http.ServeMux, such as "POST /charges/{order}"; the most specific one counts.
	Pattern string
	// Statuses are all that the service documents, those of success included. Documented ones of 400 and above count as failures, and those that are not here as breaches.
	Statuses []int
	// JSON says that a documented answer of 200 to 299, but for 204 and 205, has a body that is one value of JSON. A body that is not counts as a breach.
	JSON bool
}

const (
	// statuses is the number of statuses: HTTP writes them with three digits (RFC 9110, section 15).
	statuses = 1000
	// maxKeptBytes is how much of a body is kept until its end to be parsed; of a longer one the beginning is judged.
	maxKeptBytes = 64 << 10
)

// Counter counts calls of operations. Its methods may be called at the same time. It serves the counts so far as JSON (http.Handler).
type Counter struct {
	mux        *http.ServeMux        // only finds patterns
	operations map[string]*operation // by pattern
}

type operation struct {
	Operation
	documented       [statuses]bool
	calls, lost, cut atomic.Uint64
	answers          [statuses]atomic.Uint64
	unparsable       [statuses]atomic.Uint64
}

// New makes a Counter. It panics at operations that cannot be.
func New(operations ...Operation) *Counter {
	c := &Counter{http.NewServeMux(), map[string]*operation{}}
	names := map[string]bool{}
	for _, o := range operations {
		switch {
		case o.Name == "":
			panic(fmt.Sprintf("httpcount: the operation of %q needs a name", o.Pattern))
		case names[o.Name]:
			panic(fmt.Sprintf("httpcount: two operations are named %s; each needs a name of its own", o.Name))
		case len(o.Statuses) == 0:
			panic(fmt.Sprintf("httpcount: %s has no documented status, so that every answer would be a breach: list its Statuses, those of success included", o.Name))
		}
		names[o.Name] = true
		at := &operation{Operation: o}
		for _, s := range o.Statuses {
			if s < 100 || s >= statuses {
				panic(fmt.Sprintf("httpcount: %d of %s is no status of HTTP", s, o.Name))
			}
			at.documented[s] = true
		}
		c.mux.HandleFunc(o.Pattern, func(http.ResponseWriter, *http.Request) {})
		c.operations[o.Pattern] = at
	}
	return c
}

// Transport makes requests by next (http.DefaultTransport if it is nil), and counts those of the operations. A call that the program itself cancels does not count; one whose deadline
// passes is lost.
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
	_, pattern := t.mux.Handler(r)
	at := t.operations[pattern]
	answer, err := t.next.RoundTrip(r)
	switch {
	case at == nil || errors.Is(r.Context().Err(), context.Canceled):
	case err != nil:
		at.calls.Add(1)
		at.lost.Add(1)
	default:
		at.calls.Add(1)
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
		o.answers[status].Add(1)
		return
	}
	if r.Method == http.MethodHead || status == http.StatusSwitchingProtocols {
		return // it has no body, or is a connection
	}
	parse := o.JSON && status >= 200 && status < 300 && status != http.StatusNoContent && status != http.StatusResetContent && answer.Header.Get("Content-Encoding") == ""
	if answer.Body == nil || answer.Body == http.NoBody {
		if parse {
			o.unparsable[status].Add(1)
		}
		return
	}
	answer.Body = &body{ReadCloser: answer.Body, at: o, status: status, ctx: r.Context(), parse: parse}
}

// body is that of an answer, and is judged once: when it ends, breaks or is closed.
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
		b.at.cut.Add(1)
	case err == io.EOF && b.parse && !b.parses(len(b.kept) < maxKeptBytes):
		b.at.unparsable[b.status].Add(1)
	}
	return n, err
}

// Close closes the body (io.Closer). What was read of it may show that the rest cannot make it JSON.
func (b *body) Close() error {
	if b.taken.CompareAndSwap(false, true) && b.parse && !b.parses(false) {
		b.at.unparsable[b.status].Add(1)
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

// Counts are what was counted, by the names of operations.
type Counts struct {
	Operations map[string]Count `json:"operations"`
}

// Count is what became of the calls of an operation since the program's start. Calls that are in none of the rest succeeded.
type Count struct {
	Calls    uint64         `json:"calls"`
	Lost     uint64         `json:"lost"`     // without an answer, such as at a connection that ends
	Failures map[int]uint64 `json:"failures"` // documented ones, by status
	Breaches Breaches       `json:"breaches"`
}

// Breaches are answers that the contract of the service excludes.
type Breaches struct {
	Statuses   map[int]uint64 `json:"statuses"`   // undocumented ones
	Cut        uint64         `json:"cut"`        // bodies that ended with an error
	Unparsable map[int]uint64 `json:"unparsable"` // bodies that are not JSON, by status
}

// Counts returns the counts so far.
func (c *Counter) Counts() Counts {
	all := Counts{map[string]Count{}}
	for _, o := range c.operations {
		n := Count{Lost: o.lost.Load(), Failures: map[int]uint64{}, Breaches: Breaches{Statuses: map[int]uint64{}, Cut: o.cut.Load(), Unparsable: map[int]uint64{}}}
		for s := range statuses {
			if k := o.answers[s].Load(); k > 0 && o.documented[s] {
				n.Failures[s] = k
			} else if k > 0 {
				n.Breaches.Statuses[s] = k
			}
			if k := o.unparsable[s].Load(); k > 0 {
				n.Breaches.Unparsable[s] = k
			}
		}
		n.Calls = o.calls.Load() // last: a call is counted before what became of it
		all.Operations[o.Name] = n
	}
	return all
}

// ServeHTTP answers with the counts so far as JSON (http.Handler).
func (c *Counter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	text, err := json.MarshalIndent(c.Counts(), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(text, '\n'))
}

// Read reads what a Counter serves. Errors name the operation, and the remedy.
func Read(r io.Reader) (Counts, error) {
	var c Counts
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	err := d.Decode(&c)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows them")
		}
	}
	if err == nil && len(c.Operations) == 0 {
		err = errors.New("they have no operation")
	}
	if err != nil {
		return Counts{}, fmt.Errorf("httpcount: the counts cannot be read: %w; store the JSON that a Counter serves, unchanged", err)
	}
	for name, n := range c.Operations {
		if err := n.check(); err != nil {
			return Counts{}, fmt.Errorf("httpcount: the counts of %s cannot be: %w; store those of one Counter, unchanged", name, err)
		}
	}
	return c, nil
}

// check reports counts that no Counter makes.
func (n Count) check() error {
	rest := n.Calls
	take := func(k uint64) bool {
		fits := k <= rest
		rest -= min(k, rest)
		return fits
	}
	fits := take(n.Lost) && take(n.Breaches.Cut)
	var seen []int
	for _, class := range []map[int]uint64{n.Failures, n.Breaches.Statuses, n.Breaches.Unparsable} {
		for status, k := range class {
			switch {
			case status < 0 || status >= statuses:
				return fmt.Errorf("%d is no status of HTTP", status)
			case slices.Contains(seen, status):
				return fmt.Errorf("the status %d is in two classes", status)
			}
			seen = append(seen, status)
			fits = take(k) && fits
		}
	}
	if !fits {
		return fmt.Errorf("more went wrong than the %d calls", n.Calls)
	}
	return nil
}
