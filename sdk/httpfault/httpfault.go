// Package httpfault makes HTTP requests fail: Transport at a client, Handler at a server; package sdk decides when.
// Requests and answers may be lost, and a service may give an answer from its catalogue, which it documents, or one
// that breaches its contract, which counts separately.
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

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/routes"
)

// Route selects requests that fail alike.
type Route struct {
	// Pattern is a pattern of http.ServeMux, such as "POST /charges/{order}". The most specific one applies.
	Pattern string
	// Operation names these requests in the ledger, such as "charge".
	Operation string
	sdk.Rates
	// CutBody is the probability that the body of an answer ends halfway with an error.
	CutBody float64
	Answers []Answer
}

// Answer is an answer that a service may give instead of success.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	// Before is the probability that the service answers so without handling the request, After that it handles the
	// request first.
	Before, After float64
	// Breach marks an answer that the service's contract excludes.
	Breach bool
}

// route is a Route that is ready.
type route struct {
	*sdk.Point
	cut     *sdk.Fault
	answers []Answer
}

// prepare makes the routes of a service.
func prepare(name string, source sdk.Source, list []Route) *routes.Table[route] {
	f := &routes.Table[route]{}
	for _, r := range list {
		if r.Operation == "" {
			panic(fmt.Sprintf("httpfault: the route %q of %s needs an operation, its name in the ledger", r.Pattern, name))
		}
		var answers []sdk.Answer
		for _, a := range r.Answers {
			if a.Status < 200 || a.Status > 999 {
				panic(fmt.Sprintf("httpfault: %d of %s %s is not the status of an answer", a.Status, name, r.Operation))
			}
			answers = append(answers, sdk.Answer{Name: strconv.Itoa(a.Status), Before: a.Before, After: a.After, Breach: a.Breach})
		}
		at := &route{sdk.NewPoint(source, name, r.Operation, r.Rates, answers...), sdk.NewFault(source, name+"_"+r.Operation+"_cut", r.CutBody), r.Answers}
		if err := f.Add(r.Pattern, at); err != nil {
			panic(fmt.Sprintf("httpfault: %s %s: %v", name, r.Operation, err))
		}
	}
	return f
}

// Transport makes requests by next (http.DefaultTransport if it is nil). They fail at the rates of the routes, as
// source decides. name names the service in the ledger. Transport panics if a route is invalid.
func Transport(next http.RoundTripper, name string, source sdk.Source, routes ...Route) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{next, prepare(name, source, routes)}
}

type transport struct {
	next http.RoundTripper
	*routes.Table[route]
}

// RoundTrip makes a request (http.RoundTripper).
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	at := t.Lookup(r)
	if at == nil {
		return t.next.RoundTrip(r)
	}
	call := at.Call()
	cuts := at.cut.Happens(call.Way != sdk.Fine)
	lost := func() (*http.Response, error) {
		if call.Answer >= 0 {
			return at.answers[call.Answer].response(r), nil
		}
		return nil, call.Error(nil)
	}
	switch call.Way {
	case sdk.Before:
		closeBody(r)
		return lost()
	case sdk.Late:
		later, err := copyOf(r)
		if err != nil {
			return nil, err
		}
		at.Later(func() {
			if answer, err := t.next.RoundTrip(later); err == nil {
				drain(answer)
			}
		})
		return lost()
	case sdk.Twice:
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
	case call.Way == sdk.After:
		drain(answer)
		return lost()
	case cuts:
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

func (a Answer) response(r *http.Request) *http.Response {
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

// Handler handles requests by next. They fail at the rates of the routes, as source decides: a lost request ends its
// connection without an answer. name names the service in the ledger. Handler panics at Late and Twice, which have no
// meaning for a server.
func Handler(next http.Handler, name string, source sdk.Source, routes ...Route) http.Handler {
	for _, r := range routes {
		if r.Late != 0 || r.Twice != 0 {
			panic(fmt.Sprintf("httpfault: requests of %s to a server cannot be late or twice; requests of its "+
				"clients can, with Transport", r.Operation))
		}
	}
	return &handler{next, prepare(name, source, routes)}
}

type handler struct {
	next http.Handler
	*routes.Table[route]
}

// ServeHTTP handles a request (http.Handler).
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := h.Lookup(r)
	if at == nil {
		h.next.ServeHTTP(w, r)
		return
	}
	call := at.Call()
	cuts := at.cut.Happens(call.Way != sdk.Fine)
	if call.Way == sdk.Before || call.Way == sdk.After {
		if call.Way == sdk.After {
			h.next.ServeHTTP(nowhere{http.Header{}}, r)
		}
		if call.Answer < 0 {
			panic(http.ErrAbortHandler)
		}
		at.answers[call.Answer].write(w)
		return
	}
	if cuts {
		whole := &kept{ResponseWriter: w, status: http.StatusOK}
		h.next.ServeHTTP(whole, r)
		w.Header().Set("Content-Length", strconv.Itoa(whole.body.Len()))
		w.WriteHeader(whole.status)
		w.Write(whole.body.Bytes()[:whole.body.Len()/2])
		panic(http.ErrAbortHandler)
	}
	h.next.ServeHTTP(w, r)
}

func (a Answer) write(w http.ResponseWriter) {
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
