package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Catalogue describes a service: its operations, and how each may fail.
type Catalogue struct {
	Operations []Operation
	// Violations is the probability that an answer breaks the catalogue: it has an undocumented status, or its body is
	// cut short. The ledger calls it http_violates.
	Violations float64
}

// check notes what no service can promise.
func (c Catalogue) check(w *inproc.World, name string) {
	if !isChance(c.Violations) {
		w.Mistake("the Violations of %s are %v; it must be a probability, from 0 to 1", name, c.Violations)
	}
	known := map[string]bool{}
	for _, o := range c.Operations {
		is := fmt.Sprintf("%s %s of %s", o.Method, o.Path, name)
		switch {
		case o.Method == "" || o.Method != strings.ToUpper(o.Method):
			w.Mistake("the operation %s has the Method %q; give one such as %q", is, o.Method, http.MethodGet)
		case known[is]:
			w.Mistake("the operation %s is defined twice; the second one would never be called", is)
		case o.Do == nil:
			w.Mistake("the operation %s has no Do; set it", is)
		case o.Latency < 0 || o.Jitter < 0:
			w.Mistake("the operation %s has the Latency %v and the Jitter %v; neither must be "+
				"negative", is, o.Latency, o.Jitter)
		}
		known[is] = true
		for _, p := range o.Problems {
			switch {
			case p.Status < 100 || p.Status > 599:
				w.Mistake("a problem of %s has the Status %d; give an HTTP status, from 100 to 599", is, p.Status)
			case p.Status == undocumented:
				w.Mistake("a problem of %s has the Status %d, which is reserved for Violations; give another "+
					"one", is, p.Status)
			case !isChance(p.Rate):
				w.Mistake("the problem %d of %s has the Rate %v; it must be a probability, from 0 to "+
					"1", p.Status, is, p.Rate)
			}
		}
	}
}

// Operation is an operation of a catalogue.
type Operation struct {
	Method string
	Path   string // such as /charges/{id}
	// Do handles a request. No other request changes the service's state meanwhile, and all its changes are durable
	// before the answer is sent.
	Do func(c *Call) Response
	// Problems are the documented failures of the operation. The ledger calls them http_STATUS_before and http_STATUS_after.
	Problems []Problem
	// Latency is the time that the operation takes, plus up to Jitter.
	Latency, Jitter time.Duration
}

// Problem is a documented failure.
type Problem struct {
	Status int
	Body   string
	Rate   float64 // the probability that a call ends this way
	After  bool    // the operation takes effect all the same
}

// Response is the answer of an operation.
type Response struct {
	Status int
	Body   string
}

// Call is a request to an operation.
type Call struct {
	*inproc.Process
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         string
	Vars         map[string]string // of the path

	state   map[string]string
	changes map[string]*string
}

// Get returns the value that the service has stored under a key.
func (c *Call) Get(key string) (value string, ok bool) {
	if v, changed := c.changes[key]; changed {
		if v == nil {
			return "", false
		}
		return *v, true
	}
	value, ok = c.state[key]
	return value, ok
}

// Put stores a value under a key.
func (c *Call) Put(key, value string) { c.changes[key] = &value }

// Delete removes the value under a key.
func (c *Call) Delete(key string) { c.changes[key] = nil }

// Keys returns all keys that begin with a prefix, sorted.
func (c *Call) Keys(prefix string) []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(c.state)) {
		if _, changed := c.changes[key]; !changed && strings.HasPrefix(key, prefix) {
			list = append(list, key)
		}
	}
	for key, v := range c.changes {
		if v != nil && strings.HasPrefix(key, prefix) {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

// Service adds a node that speaks HTTP; reach it by a process's Transport. It answers an unknown path with 404 and an
// unknown method with 405.
func Service(w *inproc.World, name string, c Catalogue) {
	c.check(w, name)
	w.Process(name, func(p *inproc.Process) {
		s := &service{Process: p, c: c, journal: journal{p: p, file: "journal"}, state: map[string]string{}}
		s.journal.open(func(text []byte) {
			var changes map[string]*string
			if err := json.Unmarshal(text, &changes); err != nil {
				panic(err)
			}
			s.apply(changes)
		})
		for {
			m := p.Receive()
			if r, ok := m.Payload.(request); ok {
				p.Reply(m, s.answer(r))
			} else if forFake(m.Payload) {
				p.Reply(m, serviceIs)
			}
		}
	})
}

type request struct {
	Method, Path, Query, Body string
	Header                    http.Header
}

// service is the server.
type service struct {
	*inproc.Process
	c       Catalogue
	journal journal
	state   map[string]string
}

func (s *service) apply(changes map[string]*string) {
	for key, v := range changes {
		if v == nil {
			delete(s.state, key)
		} else {
			s.state[key] = *v
		}
	}
}

// undocumented is a status that no catalogue has.
const undocumented = http.StatusTeapot

// latencies is how many values a latency with jitter has.
const latencies = 16

func (s *service) answer(r request) Response {
	op, vars, status := s.find(r)
	if op == nil {
		return Response{Status: status}
	}
	if took := op.Latency + op.Jitter*time.Duration(s.Choose(latencies))/(latencies-1); took > 0 {
		s.Sleep(took)
	}
	for _, p := range op.Problems {
		if !p.After && s.Mishap(fmt.Sprintf("http_%d_before", p.Status), p.Rate) {
			return Response{p.Status, p.Body}
		}
	}
	query, _ := url.ParseQuery(r.Query)
	call := &Call{Process: s.Process, Method: r.Method, Path: r.Path, Query: query, Header: r.Header, Body: r.Body, Vars: vars,
		state: s.state, changes: map[string]*string{}}
	answer := op.Do(call)
	if len(call.changes) > 0 {
		s.journal.add(call.changes)
		s.apply(call.changes)
	}
	for _, p := range op.Problems {
		if p.After && s.Mishap(fmt.Sprintf("http_%d_after", p.Status), p.Rate) {
			return Response{p.Status, p.Body}
		}
	}
	if s.Mishap("http_violates", s.c.Violations) {
		if s.Choose(2) == 1 || answer.Body == "" {
			return Response{undocumented, answer.Body}
		}
		answer.Body = answer.Body[:len(answer.Body)/2]
	}
	return answer
}

// find gives the operation that a request asks for.
func (s *service) find(r request) (op *Operation, vars map[string]string, status int) {
	status = http.StatusNotFound
	for i := range s.c.Operations {
		o := &s.c.Operations[i]
		vars, ok := match(o.Path, r.Path)
		switch {
		case ok && o.Method == r.Method:
			return o, vars, http.StatusOK
		case ok:
			status = http.StatusMethodNotAllowed
		}
	}
	return nil, nil, status
}

// match compares a path with the path of an operation.
func match(pattern, path string) (vars map[string]string, ok bool) {
	want, have := strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(strings.Trim(path, "/"), "/")
	if len(want) != len(have) {
		return nil, false
	}
	vars = map[string]string{}
	for i, part := range want {
		if name, isVar := strings.CutPrefix(part, "{"); isVar {
			vars[strings.TrimSuffix(name, "}")] = have[i]
		} else if part != have[i] {
			return nil, false
		}
	}
	return vars, true
}

// Transport sends HTTP requests of one process to the nodes that their URLs name. It is the Transport of an
// http.Client. A Timeout of the client or a deadline of the request's context is an error, since both measure real
// time.
type Transport struct {
	Process *inproc.Process
	// Within is how long a request waits for its answer, in virtual time: a second.
	Within time.Duration
}

// Client returns an http.Client whose requests go to nodes of the world.
func Client(p *inproc.Process) *http.Client { return &http.Client{Transport: &Transport{Process: p}} }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := r.Context().Deadline(); ok {
		return nil, errors.New("fake: a Timeout of the http.Client, or a deadline of the request's context, counts real time; set Transport.Within instead")
	}
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	patience := t.Within
	if patience == 0 {
		patience = within
	}
	answer, err := t.Process.Call(r.URL.Hostname(), request{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.Header.Clone()}, patience)
	if err != nil {
		return nil, ErrLost
	}
	a, ok := answer.(Response)
	if !ok {
		return nil, errors.New(misled("fake.Client", r.URL.Hostname(), serviceIs.Is, answer))
	}
	return &http.Response{Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a.Body)),
		ContentLength: int64(len(a.Body)), Request: r}, nil
}
