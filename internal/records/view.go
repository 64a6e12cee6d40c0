package records

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// View is what a database says, read from its entries.
type View struct {
	Tests    map[ID]*TestView
	Codes    map[ID]*Code
	Envs     map[ID]*Env
	Workers  map[ID]*Worker
	Requests map[ID]*RequestView
	Commits  map[string][]string // with their parents
	// Strange counts entries that this version cannot read, by the first part of their key.
	Strange map[string]int
}

// Place is where runs were made.
type Place struct{ Code, Env ID }

// TestView is what is known of a test.
type TestView struct {
	ID          ID
	Name        string
	Definitions map[string]*Test // by digest
	Efforts     map[Place]*Effort
	Failures    map[ID]*FailureView
	Corpus      map[string]*Kept // by name
}

// Effort is what was done with a code in an environment.
type Effort struct {
	Phases   map[string]*Sum
	Features map[uint64]Discovery
	// Spans are all of them, in no order.
	Spans []WorkerSpan

	taken map[ID]*numbers // by worker
	found map[ID]*numbers
}

// Sum adds up spans.
type Sum struct {
	Spans, Runs, Violated, Events, Lost, Varying uint64
	Ms                                           int64
}

// Discovery says who reached a feature first.
type Discovery struct {
	AtMs   int64
	Worker ID
}

// WorkerSpan is a span of a worker.
type WorkerSpan struct {
	Worker ID
	Span
}

// FailureView is what is known of a kind of failure.
type FailureView struct {
	ID        ID
	Signature string
	Property  string
	// Files are the records of it, in no order: found by several workers, and shrunk.
	Files   []*Failure
	Replays []*Replay
	Notes   []*Note

	raw map[string]bool // records that were taken
}

// RequestView is a request with its answers.
type RequestView struct {
	ID ID
	Request
	Answers []*Done
}

// NewView makes the view of an empty database.
func NewView() *View {
	return &View{Tests: map[ID]*TestView{}, Codes: map[ID]*Code{}, Envs: map[ID]*Env{}, Workers: map[ID]*Worker{}, Requests: map[ID]*RequestView{}, Commits: map[string][]string{}, Strange: map[string]int{}}
}

// Take takes in an entry of the database. It may come in any order and more than once.
func (v *View) Take(e store.Entry) {
	kind, rest, _ := strings.Cut(e.Key, "/")
	if !v.take(kind, rest, e.Value) {
		v.Strange[kind]++
	}
}

// ids splits the rest of a key into n IDs.
func ids(rest string, n int) ([4]ID, bool) {
	var list [4]ID
	for i := range n {
		part, after, more := strings.Cut(rest, "/")
		if part == "" || more != (i < n-1) {
			return list, false
		}
		list[i], rest = ID(part), after
	}
	return list, true
}

// parts is how many IDs keys of a kind have.
var parts = map[string]int{kindTest: 1, kindCode: 1, kindCommit: 0, kindEnv: 1, kindWorker: 1, kindSpan: 4, kindFound: 3, kindCorpus: 1, kindFailure: 2, kindReplay: 2, kindNote: 2, kindRequest: 1, kindDone: 1}

func (v *View) take(kind, rest string, value []byte) bool {
	n, known := parts[kind]
	if !known {
		return false
	}
	id, ok := ids(rest, n)
	if !ok {
		return false
	}
	switch kind {
	case kindTest:
		return read(value, func(t *Test) {
			of := v.Test(id[0])
			of.Name = t.Name
			of.Definitions[t.Definition] = earlier(of.Definitions[t.Definition], t, t.AtMs)
		})
	case kindCode:
		return read(value, func(c *Code) { v.Codes[id[0]] = earlier(v.Codes[id[0]], c, c.AtMs) })
	case kindCommit:
		return read(value, func(c *Commit) { v.Commits[c.ID] = c.Parents })
	case kindEnv:
		return read(value, func(e *Env) { v.Envs[id[0]] = e })
	case kindWorker:
		return read(value, func(w *Worker) {
			if had := v.Workers[id[0]]; had != nil && had.EndedMs > w.EndedMs {
				return
			}
			v.Workers[id[0]] = w
		})
	case kindSpan:
		return v.span(id, value)
	case kindFound:
		return read(value, func(f *Found) { v.effort(id).find(f) })
	case kindCorpus:
		return read(value, func(k *Kept) {
			of := v.Test(id[0])
			of.Corpus[k.Name] = earlier(of.Corpus[k.Name], k, k.AtMs)
		})
	case kindFailure:
		return read(value, func(f *Failure) {
			of := v.failure(id)
			of.Signature, of.Property = f.Signature, f.Property
			of.once(kind, value, func() { of.Files = append(of.Files, f) })
		})
	case kindReplay:
		return read(value, func(r *Replay) {
			of := v.failure(id)
			of.once(kind, value, func() { of.Replays = append(of.Replays, r) })
		})
	case kindNote:
		return read(value, func(n *Note) {
			of := v.failure(id)
			of.once(kind, value, func() { of.Notes = append(of.Notes, n) })
		})
	case kindRequest:
		return read(value, func(r *Request) { v.request(id[0]).Request = *r })
	}
	return read(value, func(d *Done) {
		of := v.request(id[0])
		if !slices.ContainsFunc(of.Answers, func(o *Done) bool { return *o == *d }) {
			of.Answers = append(of.Answers, d)
		}
	})
}

// read reads a record that is written as JSON.
func read[R any](value []byte, take func(*R)) bool {
	r := new(R)
	if json.Unmarshal(value, r) != nil {
		return false
	}
	take(r)
	return true
}

// timed are records of which the earliest stands for all.
type timed interface{ at() int64 }

func (t *Test) at() int64 { return t.AtMs }
func (c *Code) at() int64 { return c.AtMs }
func (k *Kept) at() int64 { return k.AtMs }

// earlier gives the earlier one of two records, whatever the order in which they come.
func earlier[R interface {
	comparable
	timed
}](had, r R, at int64) R {
	var none R
	if had == none || cmp.Or(cmp.Compare(at, had.at()), compareJSON(r, had)) < 0 {
		return r
	}
	return had
}

func compareJSON(a, b any) int {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Compare(x, y)
}

// Test gives the view of a test, of which nothing else may be known yet.
func (v *View) Test(id ID) *TestView {
	t := v.Tests[id]
	if t == nil {
		t = &TestView{ID: id, Definitions: map[string]*Test{}, Efforts: map[Place]*Effort{}, Failures: map[ID]*FailureView{}, Corpus: map[string]*Kept{}}
		v.Tests[id] = t
	}
	return t
}

func (v *View) effort(id [4]ID) *Effort {
	t, p := v.Test(id[0]), Place{id[1], id[2]}
	e := t.Efforts[p]
	if e == nil {
		e = &Effort{Phases: map[string]*Sum{}, Features: map[uint64]Discovery{}, taken: map[ID]*numbers{}, found: map[ID]*numbers{}}
		t.Efforts[p] = e
	}
	return e
}

func (v *View) failure(id [4]ID) *FailureView {
	t := v.Test(id[0])
	f := t.Failures[id[1]]
	if f == nil {
		f = &FailureView{ID: id[1], raw: map[string]bool{}}
		t.Failures[id[1]] = f
	}
	return f
}

func (f *FailureView) once(kind string, value []byte, take func()) {
	if text := kind + string(value); !f.raw[text] {
		f.raw[text] = true
		take()
	}
}

func (v *View) request(id ID) *RequestView {
	r := v.Requests[id]
	if r == nil {
		r = &RequestView{ID: id}
		v.Requests[id] = r
	}
	return r
}

func (v *View) span(id [4]ID, value []byte) bool {
	e := v.effort(id)
	s := WorkerSpan{Worker: id[3]}
	if s.parse(string(value)) != nil {
		return false
	}
	taken := e.taken[s.Worker]
	if taken == nil {
		taken = &numbers{}
		e.taken[s.Worker] = taken
	}
	if !taken.add(s.Seq) {
		return true
	}
	if len(e.Spans) == cap(e.Spans) {
		e.Spans = slices.Grow(e.Spans, max(len(e.Spans), 16)) // append alone copies a long list more often
	}
	e.Spans = append(e.Spans, s)
	sum := e.Phases[s.Phase]
	if sum == nil {
		sum = &Sum{}
		e.Phases[s.Phase] = sum
	}
	sum.Spans++
	sum.Runs += s.Runs
	sum.Violated += s.Violated
	sum.Events += s.Events
	sum.Lost += s.Lost
	sum.Varying += s.Varying
	sum.Ms += s.Ms
	return true
}

func (e *Effort) find(f *Found) {
	taken := e.found[f.Worker]
	if taken == nil {
		taken = &numbers{}
		e.found[f.Worker] = taken
	}
	if !taken.add(f.Seq) {
		return
	}
	for _, id := range f.IDs() {
		had, known := e.Features[id]
		if !known || cmp.Or(cmp.Compare(f.AtMs, had.AtMs), cmp.Compare(f.Worker, had.Worker)) < 0 {
			e.Features[id] = Discovery{f.AtMs, f.Worker}
		}
	}
}

// State is that of all that was found.
func (e *Effort) State() (s State) {
	for id := range e.Features {
		s = s.With(id)
	}
	return s
}

// Runs are those of all phases.
func (e *Effort) Runs() (n uint64) {
	for _, s := range e.Phases {
		n += s.Runs
	}
	return n
}

// numbers is a set of numbers that are most often dense from 0 on.
type numbers struct {
	low  []uint64 // bits
	high map[uint64]bool
}

const lowNumbers = 1 << 22

// add adds a number and reports whether it was missing.
func (n *numbers) add(k uint64) bool {
	if k >= lowNumbers {
		if n.high[k] {
			return false
		}
		if n.high == nil {
			n.high = map[uint64]bool{}
		}
		n.high[k] = true
		return true
	}
	for uint64(len(n.low)) <= k/64 {
		n.low = append(n.low, 0)
	}
	if n.low[k/64]&(1<<(k%64)) != 0 {
		return false
	}
	n.low[k/64] |= 1 << (k % 64)
	return true
}
