// Package httpfault has requests over HTTP fail as package sdk decides: a client's by Transport, a server's by Handler. Besides lost requests and answers, a service may give the
// answers of its catalogue, which it documents, and answers that breach its contract, which are a class of their own.
package httpfault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/sdk"
)

// Route is requests that fail alike.
type Route struct {
	// Pattern is that of http.ServeMux, such as "POST /charges/{order}"; the most specific one counts.
	Pattern string
	// Operation is its name in the ledger, such as "charge".
	Operation string
	sdk.Rates
	// CutBody is the probability that the body of an answer ends in its middle with an error.
	CutBody float64
	Answers []Answer
}

// Answer is what a service may answer in place of success.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	// Before and After are the probabilities that it is given before the request is handled, which then does not happen, and after.
	Before, After float64
	// Breach says that the service's contract has no such answer.
	Breach bool
}

// route is a Route that is ready.
type route struct {
	*sdk.Point
	operation string
	cut       string
	cutRate   float64
	answers   []answer
}

type answer struct {
	Answer
	before, after string
}

// faults are those of a service.
type faults struct {
	source sdk.Source
	mux    *http.ServeMux
	routes map[string]*route
}

func prepare(name string, source sdk.Source, list []Route) *faults {
	f := &faults{source, http.NewServeMux(), map[string]*route{}}
	for _, r := range list {
		if r.Operation == "" || strings.ContainsAny(r.Operation, "/ *") {
			panic(fmt.Sprintf("httpfault: the route %q of %s needs an operation, a word without slashes", r.Pattern, name))
		}
		ready := &route{Point: sdk.NewPoint(name, r.Operation, r.Rates), operation: r.Operation, cut: name + "_" + r.Operation + "_cut", cutRate: rate(r.CutBody)}
		for _, a := range r.Answers {
			if a.Status < 200 || a.Status > 999 {
				panic(fmt.Sprintf("httpfault: %d of %s %s is no status of an answer", a.Status, name, r.Operation))
			}
			kind := name + "_" + r.Operation + "_" + strconv.Itoa(a.Status)
			if a.Breach {
				kind = name + "_" + r.Operation + "_breach_" + strconv.Itoa(a.Status)
			}
			rate(a.Before)
			rate(a.After)
			ready.answers = append(ready.answers, answer{a, kind + "_before", kind + "_after"})
		}
		f.mux.HandleFunc(r.Pattern, func(http.ResponseWriter, *http.Request) {})
		f.routes[r.Pattern] = ready
	}
	return f
}

func rate(p float64) float64 {
	if !(p >= 0 && p <= 1) {
		panic(fmt.Sprintf("httpfault: the rate %v is not between 0 and 1", p))
	}
	return p
}

// of finds the route of a request, or nil.
func (f *faults) of(r *http.Request) *route {
	_, pattern := f.mux.Handler(r)
	return f.routes[pattern]
}

// given decides which answer the service gives in place of its own, and whether it handles the request before. There is none if something else has happened (taken).
func (r *route) given(s sdk.Source, taken bool) (a *answer, after bool) {
	for i := range r.answers {
		x := &r.answers[i]
		for _, late := range []bool{false, true} {
			kind, rate := x.before, x.Before
			if late {
				kind, rate = x.after, x.After
			}
			switch {
			case rate == 0:
			case taken || a != nil:
				s.Mishap(kind, 0) // see Point.Way
			case s.Mishap(kind, rate):
				a, after = x, late
			}
		}
	}
	return a, after
}

// Transport makes requests by next (http.DefaultTransport if it is nil) that fail by the routes, as source decides. name is that of the service in the ledger. It
// panics at routes that cannot be.
func Transport(next http.RoundTripper, name string, source sdk.Source, routes ...Route) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{next, prepare(name, source, routes)}
}

type transport struct {
	next http.RoundTripper
	*faults
}

// RoundTrip makes a request (http.RoundTripper).
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	at := t.of(r)
	if at == nil {
		return t.next.RoundTrip(r)
	}
	way := at.Way(t.source)
	given, after := at.given(t.source, way != sdk.Fine)
	switch {
	case way == sdk.Before:
		closeBody(r)
		return nil, at.Lost(t.source, way, nil)
	case way == sdk.Late:
		later, err := copyOf(r)
		if err != nil {
			return nil, err
		}
		go func() {
			time.Sleep(at.Delay)
			if answer, err := t.next.RoundTrip(later); err == nil {
				drain(answer)
			}
		}()
		return nil, at.Lost(t.source, way, nil)
	case given != nil && !after:
		closeBody(r)
		return given.response(r), nil
	case way == sdk.Twice:
		first, err := copyOf(r)
		if err != nil {
			return nil, err
		}
		if answer, err := t.next.RoundTrip(first); err == nil {
			drain(answer)
		}
	}
	answer, err := t.next.RoundTrip(r)
	switch {
	case err != nil:
		return nil, err
	case way == sdk.After:
		drain(answer)
		return nil, at.Lost(t.source, way, nil)
	case given != nil:
		drain(answer)
		return given.response(r), nil
	case at.cutRate > 0 && t.source.Mishap(at.cut, at.cutRate):
		return cut(answer)
	}
	return answer, nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// drain reads an answer to its end: whoever handles the request has then done so.
func drain(answer *http.Response) {
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

// copyOf is a request that can be made beside r. It reads the body of r, which gets a new one.
func copyOf(r *http.Request) (*http.Request, error) {
	twin := r.Clone(context.WithoutCancel(r.Context()))
	if r.Body == nil {
		return twin, nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	r.Body, twin.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	return twin, nil
}

func (a *answer) response(r *http.Request) *http.Response {
	header := http.Header{}
	maps.Copy(header, a.Header.Clone())
	return &http.Response{
		Status: strconv.Itoa(a.Status) + " " + http.StatusText(a.Status), StatusCode: a.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(a.Body)), ContentLength: int64(len(a.Body)), Request: r,
	}
}

// cut ends the body of an answer in its middle.
func cut(answer *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), broken{}))
	return answer, nil
}

// broken is a connection that has ended.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Handler handles requests by next. Requests fail by the routes, as source decides: a lost one ends its connection without an answer. name is that of the service in the ledger. Late and
// Twice have no meaning for a server, which panics at them.
func Handler(next http.Handler, name string, source sdk.Source, routes ...Route) http.Handler {
	for _, r := range routes {
		if r.Late != 0 || r.Twice != 0 {
			panic(fmt.Sprintf("httpfault: requests of %s to a server cannot be late or twice; its clients' can, by Transport", r.Operation))
		}
	}
	return &handler{next, prepare(name, source, routes)}
}

type handler struct {
	next http.Handler
	*faults
}

// ServeHTTP handles a request (http.Handler).
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := h.of(r)
	if at == nil {
		h.next.ServeHTTP(w, r)
		return
	}
	way := at.Way(h.source)
	given, after := at.given(h.source, way != sdk.Fine)
	if way == sdk.Before {
		panic(http.ErrAbortHandler)
	}
	if given != nil && !after {
		given.write(w)
		return
	}
	if way == sdk.After || given != nil {
		h.next.ServeHTTP(nowhere{http.Header{}}, r)
		if way == sdk.After {
			panic(http.ErrAbortHandler)
		}
		given.write(w)
		return
	}
	if at.cutRate > 0 && h.source.Mishap(at.cut, at.cutRate) {
		whole := &kept{ResponseWriter: w, status: http.StatusOK}
		h.next.ServeHTTP(whole, r)
		w.Header().Set("Content-Length", strconv.Itoa(whole.body.Len()))
		w.WriteHeader(whole.status)
		w.Write(whole.body.Bytes()[:whole.body.Len()/2])
		panic(http.ErrAbortHandler)
	}
	h.next.ServeHTTP(w, r)
}

func (a *answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header.Clone())
	w.WriteHeader(a.Status)
	io.WriteString(w, a.Body)
}

// nowhere takes an answer that is lost.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// kept keeps an answer.
type kept struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (k *kept) Write(p []byte) (int, error) { return k.body.Write(p) }
func (k *kept) WriteHeader(status int)      { k.status = status }
