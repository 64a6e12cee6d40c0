package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// FailurePage shows a failure.
type FailurePage struct {
	Failure failureRow       `json:"failure"`
	Best    *records.Failure `json:"best,omitempty"` // the record that Story is of
	Code    codeRef          `json:"code"`           // of it
	Env     envRef           `json:"env"`
	Worker  workerRef        `json:"worker"`
	Newest  codeRef          `json:"newest"` // code of the test
	Tried   bool             `json:"tried"`  // anything is known of the newest code
	Story   *story           `json:"story,omitempty"`
	NoStory string           `json:"no_story,omitempty"` // why there is none
	// Inputs is set for a failure in a live process, which has no story.
	Inputs   *records.LiveFailure `json:"inputs,omitempty"`
	Run      *runRow              `json:"run,omitempty"`    // the page of a run
	NoRun    string               `json:"no_run,omitempty"` // why none is shown
	Cause    *causeRow            `json:"cause,omitempty"`
	Bisects  []bisectRow          `json:"bisects,omitempty"` // the latest first
	Envs     []envRef             `json:"environments"`
	Matrix   []matrixRow          `json:"matrix"`
	Records  []recordRow          `json:"records"`
	Replays  []replayRow          `json:"replays"`
	Notes    []*records.Note      `json:"notes"`
	Requests []requestRow         `json:"requests"`

	of      records.FailureView
	page    []byte                // of Run
	workers map[records.ID]string // names of those who have explained the failure
}

// runRow is a run of the failure as a page, with its story, space-time diagram and logs.
type runRow struct {
	*records.Page
	CodeName   string `json:"code_name"`
	WorkerName string `json:"worker_name"`
	Best       bool   `json:"best"` // it is the run that the rest of the page is about
}

// Which says which run of the failure it is.
func (r *runRow) Which(level string) string {
	switch {
	case !r.Best:
		return "another run of the failure, not the one of the tape below"
	case level == records.Shrunk:
		return "the smallest run known, which is the one of the tape below"
	}
	return "the run of the tape below"
}

// bisectRow names the commit that introduced the failure, or fixed it.
type bisectRow struct {
	*records.Bisected
	WorkerName string `json:"worker_name"`
	Left       int    `json:"tried_left_out,omitempty"`
}

// causeRow is from which moment on a run was likely to fail.
type causeRow struct {
	*report.Explanation
	AtMs       int64  `json:"at_ms,omitempty"` // 0 if the failure's file has it
	WorkerName string `json:"worker_name,omitempty"`
	Best       bool   `json:"best"` // it is of the run that the rest of the page is about
}

// story is the content of a failure's file.
type story struct {
	failure.Failure
	Expected  string          `json:"expected"`
	Happened  string          `json:"happened"`
	Kind      string          `json:"kind"`
	AtNs      int64           `json:"at_ns"`
	Event     uint64          `json:"event"`
	Events    uint64          `json:"events"`
	VirtualNs int64           `json:"virtual_ns"`
	Evidence  []string        `json:"evidence"`
	Left      int             `json:"evidence_left_out,omitempty"`
	Faults    []tape.Decision `json:"faults"`
	Tape      []string        `json:"tape"`
	TapeLeft  int             `json:"tape_left_out,omitempty"`
	Hash      string          `json:"hash"`
	Commit    string          `json:"commit,omitempty"`
	Replay    string          `json:"replay"` // the command

	file *report.Failure
}

// Shrunk says what shrinking came to.
func (s *story) Shrunk() string {
	if s.file.Smallest == nil {
		return ""
	}
	return report.ShrunkPlain(&s.file.Smallest.Shrunk)
}

// Sizes are those before and after shrinking.
func (s *story) Sizes() []report.ShrunkSize {
	if s.file.Smallest == nil {
		return nil
	}
	return report.ShrunkSizes(&s.file.Smallest.Shrunk)
}

// matrixRow is a code with a cell for each environment.
type matrixRow struct {
	Code  codeRef `json:"code"`
	Cells []cell  `json:"cells"`
}

type cell struct {
	Result string `json:"result,omitempty"` // empty: not tried
	Times  int    `json:"times,omitempty"`
	AtMs   int64  `json:"at_ms,omitempty"`
}

type recordRow struct {
	*records.Failure
	CodeName   string `json:"code_name"`
	WorkerName string `json:"worker_name"`
}

type replayRow struct {
	*records.Replay
	CodeName   string `json:"code_name"`
	EnvName    string `json:"env_name"`
	WorkerName string `json:"worker_name"`
}

// requestRow is a request with its answers.
type requestRow struct {
	ID records.ID `json:"id"`
	records.Request
	Answers []answerRow `json:"answers"`
}

type answerRow struct {
	*records.Done
	WorkerName string `json:"worker_name"`
}

// Bounds of the texts of a failure's page.
const (
	maxEvidence  = 200
	maxTapeLines = 200
	maxFaults    = 100
	maxLists     = 200 // records, replays, notes
	maxBisects   = 10
	maxFileBytes = 32 << 20
)

// failure is the failure that a query names.
func (a *ask) failure() (*records.TestView, *records.FailureView, error) {
	t, err := a.test("test")
	if err != nil {
		return nil, nil, err
	}
	id := a.query.Get("id")
	switch list := t.Named(id); len(list) {
	case 0:
		return nil, nil, fmt.Errorf("failure %q of %s is %w", id, refOf(t).Name, errNotThere)
	case 1:
		return t, list[0], nil
	}
	return nil, nil, fmt.Errorf("several failures of %s begin with %q: a failure with exactly this id is "+
		"%w", refOf(t).Name, id, errNotThere)
}

func buildFailure(a *ask) (any, error) {
	t, f, err := a.failure()
	if err != nil {
		return nil, err
	}
	v := a.view
	codes := v.CodesOf(t)
	p := &FailurePage{}
	if len(codes) > 0 {
		p.Newest = codeOf(v, codes[0])
	}
	p.Failure = failureOf(v, t, f, p.Newest.ID)
	if d := t.Definition(); d != nil {
		p.Failure.Canary = d.Canary
	}
	if b := f.Best(); b != nil {
		p.Best, p.Code, p.Env, p.Worker = b, codeOf(v, b.Code), envOf(v, b.Env), workerOf(v, b.Worker)
	}
	p.of, p.workers = *f, map[records.ID]string{}
	for _, x := range f.Explained {
		if x.Worker != "" { // else somebody has, by hand
			p.workers[x.Worker] = workerOf(v, x.Worker).Name
		}
	}
	p.run(v, f)
	p.bisects(v, f)
	p.matrix(v, f, codes)
	for _, x := range f.Files {
		p.Records = append(p.Records, recordRow{x, codeOf(v, x.Code).Name, workerOf(v, x.Worker).Name})
	}
	slices.SortFunc(p.Records, func(x, y recordRow) int {
		return cmp.Or(cmp.Compare(x.AtMs, y.AtMs), cmp.Compare(x.File, y.File), cmp.Compare(x.Worker, y.Worker))
	})
	p.Records = latest(p.Records)
	for _, x := range f.Replays {
		p.Replays = append(p.Replays, replayRow{x, codeOf(v, x.Code).Name, envOf(v, x.Env).Name, workerOf(v, x.Worker).Name})
	}
	slices.SortFunc(p.Replays, func(x, y replayRow) int {
		return cmp.Or(cmp.Compare(x.AtMs, y.AtMs), cmp.Compare(x.Worker, y.Worker), cmp.Compare(x.Code, y.Code))
	})
	p.Replays = latest(p.Replays)
	p.Notes = slices.SortedFunc(slices.Values(f.Notes), func(x, y *records.Note) int {
		return cmp.Or(cmp.Compare(x.AtMs, y.AtMs), cmp.Compare(x.By, y.By), cmp.Compare(x.Text, y.Text))
	})
	p.Notes = latest(p.Notes)
	p.Requests = requestsOf(v, func(r *records.RequestView) bool { return r.Test == t.ID && t.Known(r.Failure) == f.Key() })
	return p, nil
}

// latest bounds a list that is in the order of time.
func latest[T any](list []T) []T { return list[max(len(list)-maxLists, 0):] }

// matrix has a row for each code, the newest first, and a column for each environment.
func (p *FailurePage) matrix(v *records.View, f *records.FailureView, codes []records.ID) {
	m := f.Matrix()
	envs := map[records.ID]bool{}
	for place := range m {
		envs[place.Env] = true
	}
	for id := range envs {
		p.Envs = append(p.Envs, envOf(v, id))
	}
	slices.SortFunc(p.Envs, func(x, y envRef) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID)) })
	rows := codes
	for place := range m { // of codes that are not known
		if !slices.Contains(rows, place.Code) {
			rows = append(slices.Clone(rows), place.Code)
		}
	}
	for _, id := range rows {
		r := matrixRow{Code: codeOf(v, id)}
		any := false
		for _, env := range p.Envs {
			c, is := m[records.Place{Code: id, Env: env.ID}]
			r.Cells = append(r.Cells, cell{c.Result, c.Times, c.AtMs})
			any = any || is
		}
		p.Tried = p.Tried || any && id == p.Newest.ID
		if any || id == p.Newest.ID {
			p.Matrix = append(p.Matrix, r)
		}
	}
}

// run chooses the page of the best record's run, or else the latest one.
func (p *FailurePage) run(v *records.View, f *records.FailureView) {
	var page *records.Page
	if p.Best != nil {
		page = f.Page(p.Best.File)
	}
	best := page != nil
	for _, x := range f.Pages {
		if y := f.Page(x.Of); !best && (page == nil || cmp.Or(cmp.Compare(y.AtMs, page.AtMs), cmp.Compare(y.File, page.File)) > 0) {
			page = y
		}
	}
	if page != nil {
		p.Run = &runRow{page, codeOf(v, page.Code).Name, workerOf(v, page.Worker).Name, best}
	}
}

func (p *FailurePage) bisects(v *records.View, f *records.FailureView) {
	for _, x := range f.Bisects {
		b := *x
		b.Tried = b.Tried[:min(len(b.Tried), maxLists)]
		b.Commits = b.Commits[:min(len(b.Commits), maxLists)]
		p.Bisects = append(p.Bisects, bisectRow{&b, workerOf(v, x.Worker).Name, len(x.Tried) - len(b.Tried)})
	}
	slices.SortFunc(p.Bisects, func(x, y bisectRow) int {
		return cmp.Or(cmp.Compare(y.AtMs, x.AtMs), cmp.Compare(x.Worker, y.Worker), cmp.Compare(x.String(), y.String()))
	})
	p.Bisects = p.Bisects[:min(len(p.Bisects), maxBisects)]
}

// requestsOf lists requests, the latest first.
func requestsOf(v *records.View, which func(*records.RequestView) bool) (list []requestRow) {
	for _, r := range v.Requests {
		if r.AtMs == 0 || !which(r) { // an answer may be there before its request
			continue
		}
		row := requestRow{ID: r.ID, Request: r.Request}
		for _, d := range r.Answers {
			row.Answers = append(row.Answers, answerRow{d, workerOf(v, d.Worker).Name})
		}
		slices.SortFunc(row.Answers, func(x, y answerRow) int {
			return cmp.Or(cmp.Compare(x.AtMs, y.AtMs), cmp.Compare(x.Worker, y.Worker), cmp.Compare(x.Text, y.Text))
		})
		list = append(list, row)
	}
	slices.SortFunc(list, func(x, y requestRow) int { return cmp.Or(cmp.Compare(y.AtMs, x.AtMs), cmp.Compare(x.ID, y.ID)) })
	return list[:min(len(list), maxLists)]
}

// load reads the failure's file, the page of its run, and what explains it.
func (p *FailurePage) load(ctx context.Context, s store.Store) error {
	p.loadStory(ctx, s)
	p.loadRun(ctx, s)
	p.explain()
	return nil
}

func (p *FailurePage) loadRun(ctx context.Context, s store.Store) {
	if p.Run == nil {
		p.NoRun = "no worker has stored a page of it yet"
		return
	}
	b, lacks := blobOf(ctx, s, p.Run.File, "page", "made")
	switch {
	case lacks != "":
		p.NoRun = lacks
	case len(b) > records.MaxPageBytes || !isPage(b):
		p.NoRun = fmt.Sprintf("its page is not from a worker, or is larger than %d MiB", records.MaxPageBytes>>20)
	default:
		p.page = b
		return
	}
	p.Run = nil
}

// blobOf is a blob of a failure, which its worker has made or found, or why it cannot be shown.
func blobOf(ctx context.Context, s store.Store, d store.Digest, what, did string) (b []byte, lacks string) {
	b, err := s.Blob(ctx, d)
	switch {
	case errors.Is(err, store.ErrNoBlob):
		return nil, fmt.Sprintf("the database has no %s of it: merge the database of the worker that %s it", what, did)
	case err != nil:
		return nil, fmt.Sprintf("its %s cannot be read: %v", what, err)
	}
	return b, ""
}

// explain chooses an explanation of the run of the story, or else of another one.
func (p *FailurePage) explain() {
	hash := ""
	if p.Story != nil {
		hash = p.Story.Hash
		if e := p.Story.file.Explanation; e != nil && e.Hash == hash && e.Check() == nil {
			p.Cause = &causeRow{Explanation: e, Best: true}
		}
	}
	x := p.of.Explanation(hash)
	if x == nil || p.Cause != nil && x.Hash != hash {
		return
	}
	var e report.Explanation
	if json.Unmarshal(x.Explanation, &e) == nil && e.Check() == nil {
		p.Cause = &causeRow{&e, x.AtMs, p.workers[x.Worker], x.Hash == hash}
	}
}

func (p *FailurePage) loadStory(ctx context.Context, s store.Store) {
	if p.Best == nil {
		p.NoStory = "the database has no record of its run"
		return
	}
	b, lacks := blobOf(ctx, s, p.Best.File, "file", "found")
	switch {
	case lacks != "":
		p.NoStory = lacks
		return
	case len(b) > maxFileBytes:
		p.NoStory = fmt.Sprintf("its file of %d MiB is too large for a page", len(b)>>20)
		return
	}
	if live, err := records.ParseLiveFailure(b); err == nil {
		p.Inputs = live
		return
	}
	f, err := report.Parse(string(p.Best.File), b)
	if err != nil || f.Spec == nil {
		p.NoStory = "this version cannot read its file"
		return
	}
	p.Story = storyOf(f)
}

func storyOf(full *report.Failure) *story {
	f := full.Small()
	v := f.Verdict
	s := &story{Failure: full.Failure, Expected: report.Expected(f.Spec, v), Happened: failure.Headline(v.Reason), Kind: v.Kind,
		AtNs: v.TimeNs, Event: v.Event, Events: f.Events,
		VirtualNs: f.VirtualNs, Hash: f.Hash, Commit: f.Commit, file: full}
	s.Evidence = v.Evidence[:min(len(v.Evidence), maxEvidence)]
	s.Left = len(v.Evidence) - len(s.Evidence)
	for _, e := range f.Tape.Edits {
		if e.Op == tape.Set && strings.HasPrefix(e.Stream, "fault/") && len(s.Faults) < maxFaults {
			s.Faults = append(s.Faults, tape.Decision{Stream: e.Stream, Index: e.From, Value: e.Value})
		}
	}
	for _, d := range f.Decisions {
		if strings.HasPrefix(d.Stream, "fault/") && len(s.Faults) < maxFaults {
			s.Faults = append(s.Faults, d)
		}
	}
	lines := strings.Split(strings.TrimSpace(tape.Format(f.Tape)), "\n")
	s.Tape = lines[:min(len(lines), maxTapeLines)]
	s.TapeLeft = len(lines) - len(s.Tape)
	s.Replay = replayCommand(full.Name())
	return s
}
