package records

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// View is the content of a database, read from its entries.
type View struct {
	Tests    map[ID]*TestView
	Codes    map[ID]*Code
	Envs     map[ID]*Env
	Workers  map[ID]*Worker
	Requests map[ID]*RequestView
	Commits  map[string][]string // with their parents
	Pause    *Pause              // the latest; nil if nobody asked
	Sweeps   int                 // how often entries were dropped
	// Strange counts entries that this version cannot read, by the first part of their key.
	Strange map[string]int
	// Held counts the entries that it can read, in the same way.
	Held map[string]Held

	had map[identity]bool // entries, without spans, which are numbered
}

// Held counts entries.
type Held struct {
	Entries uint64 `json:"entries"`
	Bytes   uint64 `json:"bytes"` // of keys and values
}

// identity is the first half of that of an entry.
type identity [16]byte

// Place is where runs were made.
type Place struct{ Code, Env ID }

// TestView collects the records of a test.
type TestView struct {
	ID          ID
	Name        string
	Definitions map[string]*Test // by digest
	Efforts     map[Place]*Effort
	Failures    map[ID]*FailureView
	Corpus      map[string]*Kept  // by name
	former      map[ID]*formerKey // by the ids that failures had before
	Distilled   map[ID]*Distilled // by code: that of the most entries, the latest of these
}

// Effort collects the work on a code in an environment.
type Effort struct {
	Phases   map[string]*Sum
	Features map[uint64]Discovery
	Shares   map[ID]*Share   // by worker
	Counted  map[ID]*Counted // by worker

	spans [][]WorkerSpan // in blocks, since a list of a million is dear to copy when it grows
	found map[ID]*numbers
}

// Share is the part of an effort that a worker has made.
type Share struct {
	Runs            uint64
	FirstMs, LastMs int64 // from when to when

	taken, single numbers // spans, and those that came in entries of their own
}

// blockSpans is how many spans the blocks of an effort have, from the second one on; the first ones are smaller, since most efforts have few.
const blockSpans = 4096

// Spans gives all spans, in no order.
func (e *Effort) Spans(yield func(*WorkerSpan) bool) {
	for _, block := range e.spans {
		for i := range block {
			if !yield(&block[i]) {
				return
			}
		}
	}
}

// Sum adds up spans.
type Sum struct {
	Spans    uint64 `json:"spans"`
	Runs     uint64 `json:"runs"`
	Violated uint64 `json:"violated"`
	Events   uint64 `json:"events"`
	Lost     uint64 `json:"lost"`
	Varying  uint64 `json:"varying"`
	Ms       int64  `json:"ms"`
}

// Add adds other spans.
func (s *Sum) Add(o *Sum) {
	s.Spans += o.Spans
	s.Runs += o.Runs
	s.Violated += o.Violated
	s.Events += o.Events
	s.Lost += o.Lost
	s.Varying += o.Varying
	s.Ms += o.Ms
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

// FailureView collects the records of a kind of failure.
type FailureView struct {
	failure.Failure
	// Files are the records of it, in no order: found by several workers, and shrunk.
	Files   []*Failure
	Replays []*Replay
	Notes   []*Note
	Bisects []*Bisected
	// Pages show runs of it, and Explained say when they were likely to fail.
	Pages     []*Page
	Explained []*Explained
}

// RequestView is a request with its answers.
type RequestView struct {
	ID ID
	Request
	Answers []*Done
}

// NewView makes the view of an empty database.
func NewView() *View {
	return &View{Tests: map[ID]*TestView{}, Codes: map[ID]*Code{}, Envs: map[ID]*Env{}, Workers: map[ID]*Worker{},
		Requests: map[ID]*RequestView{}, Commits: map[string][]string{}, Strange: map[string]int{}, Held: map[string]Held{}, had: map[identity]bool{}}
}

// AddEntry adds an entry of the database, and reports whether it says something new. It may come in any order and more than once.
func (v *View) AddEntry(e store.Entry) bool {
	kind, rest, _ := strings.Cut(e.Key, "/")
	single := kind == kindSpan && !isPack(e.Value)
	if !single && !v.first(e) {
		return false
	}
	t, ok := v.takeRecord(kind, rest, e.Value)
	switch {
	case ok && t.held:
		h := v.Held[kind]
		h.Entries++
		h.Bytes += uint64(len(e.Key) + len(e.Value))
		v.Held[kind] = h
	case !ok && (!single || v.first(e)):
		v.Strange[kind]++
	}
	return t.news
}

// first reports whether an entry comes for the first time.
func (v *View) first(e store.Entry) bool {
	whole := e.Identity()
	id := identity(whole[:len(identity{})])
	had := v.had[id]
	v.had[id] = true
	return !had
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
var parts = map[string]int{kindTest: 1, kindCode: 1, kindCommit: 0, kindEnv: 1, kindWorker: 1, kindSpan: 4, kindFound: 3,
	kindCorpus: 1, kindFailure: 2, kindReplay: 2, kindNote: 2, kindPage: 2, kindExplained: 2, kindCounted: 4, kindSwept: 0,
	kindRequest: 1, kindDone: 1, kindPause: 0, kindDistil: 1, kindBisect: 2}

// taken is the effect of a record on a view: whether it adds something new, and whether its entry came for the first
// time.
type taken struct{ news, held bool }

// all is the effect of most records, which come for the first time and add something new.
var all = taken{true, true}

// takeRecord adds a record to the view. ok says whether it could be read.
func (v *View) takeRecord(kind, rest string, value []byte) (t taken, ok bool) {
	n, known := parts[kind]
	if !known {
		return t, false
	}
	id, ok := ids(rest, n)
	if !ok {
		return t, false
	}
	if kind == kindSpan {
		return v.spans(id, value)
	}
	return all, v.record(kind, id, value)
}

// record takes in a record that is written as JSON.
func (v *View) record(kind string, id [4]ID, value []byte) bool {
	switch kind {
	case kindTest:
		return read(value, func(t *Test) {
			of := v.Test(id[0])
			of.Name = t.Name
			of.Definitions[t.Definition] = earlier(of.Definitions[t.Definition], t)
		})
	case kindCode:
		return read(value, func(c *Code) { v.Codes[id[0]] = earlier(v.Codes[id[0]], c) })
	case kindCommit:
		return read(value, func(c *Commit) { v.Commits[c.ID] = c.Parents })
	case kindEnv:
		return read(value, func(e *Env) { v.Envs[id[0]] = e })
	case kindWorker:
		return read(value, func(w *Worker) { v.Workers[id[0]] = laterWorker(v.Workers[id[0]], w) })
	case kindFound:
		return read(value, func(f *Found) { v.effort(id).find(f) })
	case kindCounted:
		return read(value, func(c *Counted) {
			of := v.effort(id)
			of.Counted[id[3]] = later(of.Counted[id[3]], c)
		})
	case kindCorpus:
		return read(value, func(k *Kept) {
			of := v.Test(id[0])
			of.Corpus[k.Name] = earlier(of.Corpus[k.Name], k)
		})
	case kindDistil:
		return read(value, func(d *Distilled) {
			of := v.Test(id[0])
			if had := of.Distilled[d.Code]; had == nil || cmp.Or(cmp.Compare(len(d.Of), len(had.Of)), cmp.Compare(d.AtMs, had.AtMs), compareJSON(d, had)) > 0 {
				of.Distilled[d.Code] = d
			}
		})
	case kindFailure:
		return read(value, func(f *Failure) { v.Test(id[0]).file(id[1], f) })
	case kindReplay:
		return read(value, func(r *Replay) { v.about(id, func(of *FailureView) { of.Replays = append(of.Replays, r) }) })
	case kindBisect:
		return read(value, func(b *Bisected) { v.about(id, func(of *FailureView) { of.Bisects = append(of.Bisects, b) }) })
	case kindNote:
		return read(value, func(n *Note) { v.about(id, func(of *FailureView) { of.Notes = append(of.Notes, n) }) })
	case kindPause:
		return read(value, func(p *Pause) {
			if had := v.Pause; had == nil || cmp.Or(cmp.Compare(p.AtMs, had.AtMs), compareJSON(p, had)) > 0 {
				v.Pause = p
			}
		})
	case kindSwept:
		return read(value, func(*Swept) { v.Sweeps++ })
	case kindPage:
		var p Page
		if json.Unmarshal(value, &p) != nil || !p.File.Valid() {
			return false
		}
		v.about(id, func(of *FailureView) { of.Pages = append(of.Pages, &p) })
		return true
	case kindExplained:
		return read(value, func(e *Explained) { v.about(id, func(of *FailureView) { of.Explained = append(of.Explained, e) }) })
	case kindRequest:
		return read(value, func(r *Request) { v.request(id[0]).Request = *r })
	}
	return read(value, func(d *Done) {
		of := v.request(id[0])
		of.Answers = append(of.Answers, d)
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
type timed interface{ atMs() int64 }

func (t *Test) atMs() int64 { return t.AtMs }
func (c *Code) atMs() int64 { return c.AtMs }
func (k *Kept) atMs() int64 { return k.AtMs }

// earlier gives the earlier one of two records, whatever the order in which they come.
func earlier[R interface {
	comparable
	timed
}](had, r R) R {
	var none R
	if had == none || cmp.Or(cmp.Compare(r.atMs(), had.atMs()), compareJSON(r, had)) < 0 {
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
		t = &TestView{ID: id, Definitions: map[string]*Test{}, Efforts: map[Place]*Effort{}, Failures: map[ID]*FailureView{},
			Corpus: map[string]*Kept{}, Distilled: map[ID]*Distilled{}, former: map[ID]*formerKey{}}
		v.Tests[id] = t
	}
	return t
}

// Definition is the latest one; nil if none is known.
func (t *TestView) Definition() (d *Test) {
	for _, x := range t.Definitions {
		if d == nil || x.AtMs > d.AtMs || x.AtMs == d.AtMs && x.Definition > d.Definition {
			d = x
		}
	}
	return d
}

// Canary reports whether the test must fail.
func (t *TestView) Canary() bool {
	d := t.Definition()
	return d != nil && d.Canary
}

// DistilledFor returns the distilled corpus for a code, or else for the code on which it was distilled last, or nil if
// it never was.
func (t *TestView) DistilledFor(code ID) *Distilled {
	best := t.Distilled[code]
	if best != nil {
		return best
	}
	for _, d := range t.Distilled {
		if best == nil || cmp.Or(cmp.Compare(d.AtMs, best.AtMs), cmp.Compare(d.Code, best.Code)) > 0 {
			best = d
		}
	}
	return best
}

// Names reports whether a failure, a page or an answer names a blob as its file.
func (v *View) Names(d store.Digest) bool {
	for _, t := range v.Tests {
		for _, f := range t.Failures {
			if slices.ContainsFunc(f.Files, func(x *Failure) bool { return x.File == d }) ||
				slices.ContainsFunc(f.Pages, func(p *Page) bool { return p.File == d }) {
				return true
			}
		}
	}
	for _, r := range v.Requests {
		for _, x := range r.Answers {
			if x.File == d {
				return true
			}
		}
	}
	return false
}

// Paused reports whether workers rest.
func (v *View) Paused() bool { return v.Pause != nil && v.Pause.On }

// NextPause makes the record that decides from now on, also where the clock of who asks is behind that of who asked before.
func (v *View) NextPause(on bool, by, text string, atMs int64) Pause {
	if v.Pause != nil {
		atMs = max(atMs, v.Pause.AtMs+1)
	}
	return Pause{on, by, text, atMs}
}

func (v *View) effort(id [4]ID) *Effort {
	t, p := v.Test(id[0]), Place{id[1], id[2]}
	e := t.Efforts[p]
	if e == nil {
		e = &Effort{Phases: map[string]*Sum{}, Features: map[uint64]Discovery{}, Shares: map[ID]*Share{}, Counted: map[ID]*Counted{}, found: map[ID]*numbers{}}
		t.Efforts[p] = e
	}
	return e
}

func (v *View) request(id ID) *RequestView {
	r := v.Requests[id]
	if r == nil {
		r = &RequestView{ID: id}
		v.Requests[id] = r
	}
	return r
}

// spans takes in a span, or a pack of them.
func (v *View) spans(id [4]ID, value []byte) (t taken, ok bool) {
	if isPack(value) {
		err := unpack(value, func(s *Span) { t.news = v.effort(id).add(WorkerSpan{id[3], *s}) || t.news })
		t.held = true
		return t, err == nil
	}
	s := WorkerSpan{Worker: id[3]}
	if s.parse(string(value)) != nil {
		return t, false
	}
	e := v.effort(id)
	t.news = e.add(s)
	t.held = e.Shares[s.Worker].single.add(s.Seq)
	return t, true
}

// add takes in a span, and reports whether it was not there.
func (e *Effort) add(s WorkerSpan) bool {
	share := e.Shares[s.Worker]
	if share == nil {
		share = &Share{FirstMs: s.AtMs - s.Ms}
		e.Shares[s.Worker] = share
	}
	if !share.taken.add(s.Seq) {
		return false
	}
	share.Runs += s.Runs
	share.FirstMs, share.LastMs = min(share.FirstMs, s.AtMs-s.Ms), max(share.LastMs, s.AtMs)
	e.hold(s)
	sum := e.Phases[s.Phase]
	if sum == nil {
		sum = &Sum{}
		e.Phases[s.Phase] = sum
	}
	sum.Add(&Sum{1, s.Runs, s.Violated, s.Events, s.Lost, s.Varying, s.Ms})
	return true
}

// hold keeps a span.
func (e *Effort) hold(s WorkerSpan) {
	last := len(e.spans) - 1
	if last < 0 || len(e.spans[last]) == cap(e.spans[last]) {
		size := 16
		if last >= 0 {
			size = min(4*cap(e.spans[last]), blockSpans)
		}
		e.spans = append(e.spans, make([]WorkerSpan, 0, size))
		last++
	}
	e.spans[last] = append(e.spans[last], s)
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

// State returns the state of all features that were found.
func (e *Effort) State() (s State) {
	for id := range e.Features {
		s = s.With(id)
	}
	return s
}

// Runs counts the runs of all phases.
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
