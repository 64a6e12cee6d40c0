package dashboard

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Overview is the first page: the latest results of each test, and all failures.
type Overview struct {
	Findings []tally      `json:"findings"`
	Tests    []testRow    `json:"tests"`
	Failures []failureRow `json:"failures"`
	Left     int          `json:"failures_left_out,omitempty"`
	Alive    int          `json:"workers_alive"`
	Paused   bool         `json:"paused"` // they rest, as people ask for
	Runs     uint64       `json:"runs"`
	Only     string       `json:"only,omitempty"` // the finding that is shown
	Search   string       `json:"search,omitempty"`
	Sort     string       `json:"sort"`
}

// tally counts the failures of a finding that nobody ignores.
type tally struct {
	Finding records.Finding `json:"finding"`
	N       int             `json:"failures"`
}

// States of a test.
const (
	unusable = "broken"   // a failure shows in the newest code, without any fault
	violated = "violated" // one shows
	holds    = "holds"    // no failure is known in the newest code
	waiting  = "waiting"  // no run was made yet
	caught   = "caught"   // a canary that fails, as it must
	silent   = "silent"   // a canary that does not fail
)

// testRow is a line about a test.
type testRow struct {
	testRef
	State      string   `json:"state"`
	Canary     bool     `json:"canary,omitempty"`
	Code       codeRef  `json:"code"`                 // the latest build with results
	Behind     *codeRef `json:"not_run_on,omitempty"` // the newest code that follows it on its line of development, and on which nothing was done
	Runs       uint64   `json:"runs"`                 // of the newest code
	Features   int      `json:"features"`
	Ms         int64    `json:"effort_ms"`
	FirstMs    int64    `json:"first_ms,omitempty"` // of any build
	LastMs     int64    `json:"last_ms,omitempty"`
	Trend      *trend   `json:"trend,omitempty"` // of all builds
	Open       int      `json:"open_failures"`
	Properties int      `json:"properties"`
	Risk       *riskRow `json:"risk,omitempty"` // that the next run shows anything new
}

// failureRow is a line about a failure.
type failureRow struct {
	failure.Failure
	Test      testRef         `json:"test"`
	Finding   records.Finding `json:"finding"`
	State     string          `json:"state"` // what people say of it
	Canary    bool            `json:"canary,omitempty"`
	Reason    string          `json:"reason"`
	Level     string          `json:"level,omitempty"`
	Decisions int             `json:"decisions"`
	Found     int             `json:"found"` // times
	FirstMs   int64           `json:"first_ms,omitempty"`
	LastMs    int64           `json:"last_ms,omitempty"`
	Code      codeRef         `json:"code"`             // in which it was found first
	Replay    string          `json:"replay,omitempty"` // the command; empty for a failure in a live process
	Once      bool            `json:"-"`                // it was found once, and no replay showed it since
	File      store.Digest    `json:"file,omitempty"`   // that the command reads
}

// HasCanary reports whether the page shows a canary.
func (o *Overview) HasCanary() bool {
	return slices.ContainsFunc(o.Tests, func(t testRow) bool { return t.Canary })
}

// maxRows bounds the lines of a table.
const maxRows = 500

func buildOverview(a *ask) (any, error) {
	o := &Overview{Only: a.query.Get("finding"), Search: a.query.Get("q"), Sort: a.query.Get("sort")}
	if !slices.Contains(records.Findings, records.Finding(o.Only)) {
		o.Only = ""
	}
	count := map[records.Finding]int{}
	for _, t := range testsOf(a.view) {
		row, failures := rowOf(a.view, t)
		for _, e := range t.Efforts {
			o.Runs += e.Runs()
		}
		for _, f := range failures {
			counts := f.State != records.Ignored && !row.Canary
			if counts {
				count[f.Finding]++
			}
			if (o.Only == "" || counts && o.Only == string(f.Finding)) && matches(o.Search, row.Name, f.Property, f.Signature, f.Reason, f.ID) {
				o.Failures = append(o.Failures, f)
			}
		}
		if matches(o.Search, append(words(failures), row.Name)...) {
			o.Tests = append(o.Tests, row)
		}
	}
	o.Alive, o.Paused = a.working(), a.view.Paused()
	for _, f := range records.Findings {
		o.Findings = append(o.Findings, tally{f, count[f]})
	}
	sortFailures(o.Failures)
	if n := len(o.Failures); n > maxRows {
		o.Failures, o.Left = o.Failures[:maxRows], n-maxRows
	}
	o.Sort = sortTests(o.Tests, o.Sort)
	return o, nil
}

func words(list []failureRow) (all []string) {
	for i := range list {
		all = append(all, list[i].Property, list[i].Signature, list[i].Reason)
	}
	return all
}

// matches reports whether one of the texts has what is searched for.
func matches(search string, texts ...string) bool {
	search = strings.ToLower(search)
	return search == "" || slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), search) })
}

// rowOf makes the lines of a test and of its failures.
func rowOf(v *records.View, t *records.TestView) (testRow, []failureRow) {
	codes := v.CodesOf(t)
	row := testRow{testRef: refOf(t), State: waiting}
	newest := records.ID("")
	if len(codes) > 0 {
		newest = codes[0]
		row.Code = codeOf(v, newest)
		if last := v.LastBehind(newest); last != "" {
			c := codeOf(v, last)
			row.Behind = &c
		}
	}
	if d := t.Definition(); d != nil {
		row.Canary, row.Properties = d.Canary, len(d.Properties)
	}
	row.Features = len(featuresOf(t, newest))
	row.Trend = trendOf(t)
	if row.Trend != nil {
		row.FirstMs = row.Trend.FromMs
	}
	for p, e := range t.Efforts {
		if p.Code != newest {
			continue
		}
		row.Runs += e.Runs()
		for _, s := range e.Phases {
			row.Ms += s.Ms
		}
		for _, s := range e.Shares {
			row.LastMs = max(row.LastMs, s.LastMs)
		}
	}
	row.Risk = riskOfAny(t, newest)
	var failures []failureRow
	faultless := false
	for _, f := range t.Failures {
		x := failureOf(v, t, f, newest)
		x.Canary = row.Canary
		failures = append(failures, x)
		if x.open() {
			row.Open++
			faultless = faultless || f.FaultlessOn(newest)
		}
	}
	switch {
	case row.Canary && row.Open > 0:
		row.State = caught
	case faultless:
		row.State = unusable
	case row.Open > 0:
		row.State = violated
	case row.Runs > 0 && row.Canary:
		row.State = silent
	case row.Runs > 0:
		row.State = holds
	}
	sortFailures(failures)
	return row, failures
}

// featuresOf returns the features of a code in all environments.
func featuresOf(t *records.TestView, code records.ID) map[uint64]records.Discovery {
	var all map[uint64]records.Discovery
	own := false
	for p, e := range t.Efforts {
		switch {
		case p.Code != code:
		case all == nil:
			all = e.Features
		default:
			if !own {
				all, own = maps.Clone(all), true
			}
			maps.Copy(all, e.Features)
		}
	}
	return all
}

func failureOf(v *records.View, t *records.TestView, f *records.FailureView, newest records.ID) failureRow {
	x := failureRow{Failure: f.Failure, Test: refOf(t), Finding: v.Finding(t, f, newest), State: f.State()}
	if b := f.Best(); b != nil {
		x.Failure, x.Reason, x.Level, x.Decisions = b.Failure, b.Reason, b.Level, b.Decisions
		if e := v.Envs[b.Env]; b.File != "" && (e == nil || e.Engine != records.LiveEngine) {
			x.Replay, x.File = replayCommand(b.Failure.Name()), b.File
		}
	}
	if b := f.First(); b != nil {
		x.FirstMs, x.Code = b.AtMs, codeOf(v, b.Code)
	}
	for _, b := range f.Files {
		x.LastMs = max(x.LastMs, b.AtMs)
		if b.Level == records.Raw {
			x.Found++
		}
	}
	x.Once = x.Found <= 1
	for _, r := range f.Replays {
		if r.Result == records.Reproduced {
			x.LastMs, x.Once = max(x.LastMs, r.AtMs), false
		}
	}
	return x
}

// open reports whether the failure counts as one of the open failures of its test.
func (f *failureRow) open() bool {
	return f.State != records.Ignored && f.Finding != records.ResolvedFinding && f.Finding != records.UnclearFinding
}

// replayCommand is the command that replays a run of a failure from the file of this name.
func replayCommand(name string) string { return "bloodhound replay " + name + ".json" }

// sortFailures puts first what people should see first.
func sortFailures(list []failureRow) {
	slices.SortFunc(list, func(a, b failureRow) int { return a.compare(&b) })
}

func (f *failureRow) compare(g *failureRow) int {
	return cmp.Or(cmp.Compare(f.order(), g.order()), cmp.Compare(g.LastMs, f.LastMs), cmp.Compare(f.Test.Name, g.Test.Name), cmp.Compare(f.ID, g.ID))
}

func (f *failureRow) order() int {
	n := slices.Index(records.Findings, f.Finding)
	if f.State == records.Ignored {
		n += len(records.Findings)
	}
	if f.Canary {
		n += 2 * len(records.Findings)
	}
	return n
}

// expected is the word for a failure that a canary shows, as it must.
const expected = "expected"

// Word is the finding as pages show it.
func (f *failureRow) Word() string {
	if f.Canary && f.Finding != records.ResolvedFinding && f.Finding != records.UnclearFinding {
		return expected
	}
	return string(f.Finding)
}

// testOrders are the orders of the table of tests.
var testOrders = map[string]func(a, b testRow) int{
	"state": func(a, b testRow) int {
		order := []string{unusable, violated, silent, waiting, holds, caught}
		return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State))
	},
	"name":     func(a, b testRow) int { return cmp.Compare(a.Name, b.Name) },
	"runs":     func(a, b testRow) int { return cmp.Compare(b.Runs, a.Runs) },
	"features": func(a, b testRow) int { return cmp.Compare(b.Features, a.Features) },
	"last":     func(a, b testRow) int { return cmp.Compare(b.LastMs, a.LastMs) },
}

// sortTests sorts by an order, and returns its name.
func sortTests(list []testRow, by string) string {
	if testOrders[by] == nil {
		by = "state"
	}
	slices.SortStableFunc(list, func(a, b testRow) int {
		return cmp.Or(testOrders[by](a, b), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return by
}
