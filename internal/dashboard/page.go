package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// page is one kind of page. Its data does not depend on how it is shown: as HTML, as JSON, or as a file of an export.
type page struct {
	name     string   // of its template and of its path; the overview is at the root
	title    string   // in the menu; empty if it is not there
	advanced bool     // the menu has it under "Advanced"
	keys     []string // of the query, that say what it is about
	// build makes the data under the lock of the view.
	build func(a *ask) (any, error)
	// all lists the queries of the pages of the kind that an export has.
	all func(v *records.View) []url.Values
}

// ask is the input of a page.
type ask struct {
	view  *records.View
	now   time.Time
	query url.Values
	store string // its name
}

// loader is data of a page that needs more of the store than the view.
type loader interface {
	load(ctx context.Context, s store.Store) error
}

// pages are all kinds, in the order of the menu.
var pages = []*page{
	{name: "overview", title: "Overview", build: buildOverview, all: once},
	{name: "test", keys: []string{"id"}, build: buildTest, all: eachTest("id")},
	{name: "failure", keys: []string{"test", "id"}, build: buildFailure, all: eachFailure},
	{name: "workers", title: "Workers", build: buildWorkers, all: once},
	{name: "compare", title: "Compare", keys: []string{"test"}, build: buildCompare, all: eachTest("test")},
	{name: "corpus", title: "Corpus", advanced: true, keys: []string{"test"}, build: buildCorpus, all: eachTest("test")},
	{name: "database", title: "Database", advanced: true, build: buildDatabase, all: once},
}

func once(*records.View) []url.Values { return []url.Values{{}} }

func eachTest(key string) func(*records.View) []url.Values {
	return func(v *records.View) (list []url.Values) {
		for _, t := range testsOf(v) {
			list = append(list, url.Values{key: {string(t.ID)}})
		}
		return list
	}
}

func eachFailure(v *records.View) (list []url.Values) {
	for _, t := range testsOf(v) {
		for id := range t.Failures {
			list = append(list, url.Values{"test": {string(t.ID)}, "id": {string(id)}})
		}
	}
	return list
}

// errNotThere is the answer for a test or failure that the database does not have.
var errNotThere = errors.New("not in the database")

// errNoPage is the answer for a path that leads nowhere.
var errNoPage = errors.New("no page of the dashboard")

// testsOf lists the tests by name.
func testsOf(v *records.View) (list []*records.TestView) {
	for _, t := range v.Tests {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *records.TestView) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// test is the test that a query names by a key; without one it is the first.
func (a *ask) test(key string) (*records.TestView, error) {
	id := records.ID(a.query.Get(key))
	if id == "" {
		if list := testsOf(a.view); len(list) > 0 {
			return list[0], nil
		}
		return nil, fmt.Errorf("no tests yet, so this page is %w; start a worker", errNotThere)
	}
	t := a.view.Tests[id]
	if t == nil {
		return nil, fmt.Errorf("test %q is %w", id, errNotThere)
	}
	return t, nil
}

// code is the code of a test that a query names by a key; without one it is the nth newest.
func (a *ask) code(key string, codes []records.ID, nth int) records.ID {
	if id := records.ID(a.query.Get(key)); slices.Contains(codes, id) {
		return id
	}
	if nth < len(codes) {
		return codes[nth]
	}
	return ""
}

// number is a whole number of a query, 0 without one.
func (a *ask) number(key string) int {
	n, err := strconv.Atoi(a.query.Get(key))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// testRef names a test.
type testRef struct {
	ID   records.ID `json:"id"`
	Name string     `json:"name"`
}

func refOf(t *records.TestView) testRef { return testRef{t.ID, cmp.Or(t.Name, string(t.ID))} }

func refsOf(v *records.View) (list []testRef) {
	for _, t := range testsOf(v) {
		list = append(list, refOf(t))
	}
	return list
}

// codeRef names a code.
type codeRef struct {
	ID      records.ID `json:"id"`
	Name    string     `json:"name"` // commit, or what else says what it is
	Line    string     `json:"line,omitempty"`
	Branch  string     `json:"branch,omitempty"`
	Subject string     `json:"subject,omitempty"`
	AtMs    int64      `json:"at_ms,omitempty"`
}

// shortCommit is how many digits name a commit to people.
const shortCommit = 10

func codeOf(v *records.View, id records.ID) codeRef {
	c := v.Codes[id]
	if c == nil {
		return codeRef{ID: id, Name: cmp.Or(string(id), "none")}
	}
	name := c.Commit
	if len(name) > shortCommit {
		name = name[:shortCommit]
	}
	if name == "" {
		name = "build " + string(id)
	}
	if c.Dirty != "" {
		name += " with changes"
	}
	return codeRef{id, name, c.Line, c.Branch, c.Subject, cmp.Or(c.CommitMs, c.AtMs)}
}

func codesOf(v *records.View, ids []records.ID) (list []codeRef) {
	for _, id := range ids {
		list = append(list, codeOf(v, id))
	}
	return list
}

// envRef names an environment.
type envRef struct {
	ID       records.ID `json:"id"`
	Name     string     `json:"name"`
	Features []string   `json:"features,omitempty"`
}

func envOf(v *records.View, id records.ID) envRef {
	e := v.Envs[id]
	if e == nil {
		return envRef{ID: id, Name: cmp.Or(string(id), "none")}
	}
	parts := slices.DeleteFunc([]string{e.Engine, e.System, e.Machine, e.Bloodhound}, func(part string) bool { return part == "" })
	return envRef{id, strings.Join(parts, ", "), e.Features}
}

// workerRef names a worker.
type workerRef struct {
	ID   records.ID `json:"id"`
	Name string     `json:"name"`
}

func workerOf(v *records.View, id records.ID) workerRef {
	w := v.Workers[id]
	if w == nil || w.Host == "" {
		return workerRef{id, cmp.Or(string(id), "nobody")}
	}
	return workerRef{id, fmt.Sprintf("%s/%d", w.Host, w.PID)}
}
