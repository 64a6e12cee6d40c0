package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/dashboardtest"
)

// of makes a dashboard of a store whose clock stands still.
func of(s store.Store) *Dashboard {
	return &Dashboard{Store: s, Bloodhound: "v1", Now: func() time.Time { return dashboardtest.Now }}
}

// filled is a store with the entries of dashboardtest.
func filled(t testing.TB) store.Store {
	s := store.NewMemory()
	dashboardtest.Fill(t, s)
	return s
}

// serve serves a dashboard until the test ends.
func serve(t testing.TB, d *Dashboard) *httptest.Server {
	ctx, stop := context.WithCancel(context.Background())
	s := httptest.NewServer(d.Handler(ctx))
	t.Cleanup(func() { stop(); s.CloseClientConnections(); s.Close() })
	return s
}

func get(t testing.TB, s *httptest.Server, path string) (string, *http.Response) {
	t.Helper()
	r, err := s.Client().Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), r
}

var (
	testID   = records.TestID(dashboardtest.Store)
	lost     = dashboardtest.FailureOf("linearizable", "a write that was acknowledged is lost")
	lostName = lost.Name()
	lostID   = records.ID(lost.ID)
)

// addresses are the pages of the database of dashboardtest.
func addresses() map[string]string {
	return map[string]string{
		"overview": "/", "one finding": "/?finding=rare&sort=runs", "test": "/test?id=" + string(testID),
		"logarithmic": "/test?id=" + string(testID) + "&scale=log", "without runs": "/test?id=" + string(records.TestID(dashboardtest.Waiting)),
		"without a bound": "/test?id=" + string(records.TestID(dashboardtest.Queue)),
		"behind":          "/test?id=" + string(records.TestID(dashboardtest.Late)),
		"failure":         "/failure?test=" + string(testID) + "&id=" + string(lostID), "workers": "/workers",
		"corpus": "/corpus", "a corpus": "/corpus?test=" + string(testID) + "&from=100",
		"compare":            "/compare?test=" + string(testID),
		"nothing to compare": "/compare?test=" + string(records.TestID(dashboardtest.Waiting)), "database": "/database",
	}
}

func TestPages(t *testing.T) {
	s := serve(t, of(filled(t)))
	for name, wants := range map[string][]string{
		"overview": {"5 tests", ">new<", "<b>1</b><span>resolved</span>", "<b>2</b><span>rare</span>", "not run on c0ffee12ab",
			"a write that was acknowledged is lost", "acknowledged</span>", `class="state caught"`, `class="state waiting"`,
			`class="state holds"`, "c0ffee12ab", "2 workers at work", "<small>in the latest build only</small>", "the most recent build with results",
			`<svg class="spark"`, `data-label="first run" title="2026-03-11 12:00:10 UTC">2 d ago`, "not enough runs yet", "under 1 in ",
			`data-label="first seen" title="2026-03-13 16:00:00 UTC">20 h ago`, `data-label="last seen" title="2026-03-14 08:00:00 UTC">4 h ago`,
			` UTC">seen `, `<span class="finding expected"`,
			`>bloodhound replay ` + lostName + `.json</code>`, `<span class="mono">` + string(lostID) + `</span> · shrunk to 1 choice`,
			`<details><summary>Advanced</summary> <a href="corpus">Corpus</a> <a href="database">Database</a> </details>`},
		"one finding": {"n2 ended with SIGSEGV", "all failures"},
		"test": {"3 open; 1 resolved, 1 unclear. To replay", "95 % sure: fewer than 1 in", "They say nothing about faults, workloads", `<path class="curve c0"`,
			`<path class="curve old"`, "linearizable", "liveness", "holdout", "native, linux 6.1, example, v1.0.0", `class="dot`,
			`<td class="wide">disk-full <span class="finding rare">never observed</span></td><td class="n" data-label="planned">80</td>`,
			`<td class="wide">partition</td><td class="n" data-label="planned">18,000</td><td class="n" data-label="delivered">17,800</td>` +
				`<td class="n" data-label="observed">16,001</td>`, "from 8,000 counted runs of this build",
			`<td class="n" data-label="checked">7,994</td><td class="n" data-label="held">7,980</td><td class="n" data-label="failed">8</td>` +
				`<td class="n" data-label="unknown">6</td>`,
			`a leader is replaced <span class="finding rare">never reached`},
		"without a bound": {"Unknown: ", "holdout runs did not repeat"},
		"behind":          {"has not run on the newest commit", "c0ffee12ab"},
		"logarithmic":     {"on a linear scale"},
		"without runs":    {"Not enough runs yet: this build has no holdout runs", "This build has no runs yet", "no runs yet"},
		"failure": {`<th title="linux 6.1 avx2 ">`, `<h1 id="sentence">a write that was acknowledged is lost`,
			"the operations put, get behave as if", "bloodhound replay " + lostName + ".json", "put k7 = 3 by client 1 was acknowledged",
			"removing any one decision makes the failure disappear",
			"set fault/partition/n1-n2 4 = 1", "fault/partition/n1-n2", "Under review.", `href="https://example.org/issues/7"`,
			"reproduced: a write that was", "none yet", `class="result reproduced"`, "8d4e6b2a0c", "replay now",
			`<iframe class="run" sandbox="allow-scripts" src="file?digest=`, `>explain<`, "Moment of no return: ", "Random from here on, ", "This shows the smallest run known",
			"Explained 2 h ago by runner-1/4000", `<dt>commit</dt><dd><a href="#commits">introduced by 8d4e6b2a0c9f Answer reads from followers`,
			"3 commits tried between 1f3a9c0e5b and c0ffee12ab", "find the commit", `<svg class="diagram plot"`},
		"workers":            {"runner-1/4000", "pod=hound-2", "drained", `<rect class="work c`, "at work"},
		"a corpus":           {"130 entries", "40 of 130 entries together reach all 431 behaviours", `<tr class="other" title="other entries reach the same`, "move a fault", "seed "},
		"nothing to compare": {"no builds with results yet"},
		"compare":            {"in both builds", "8d4e6b2a0c", "c0ffee12ab", `class="result reproduced"`, `class="result clean"`},
		"database":           {"memory:", "span", "numbers of runs, by worker and time", "<details open><summary>Advanced", "files", "KiB"},
	} {
		body, r := get(t, s, addresses()[name])
		if r.StatusCode != 200 {
			t.Errorf("%s: %s\n%s", name, r.Status, body)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("the page %s has no %s", name, want)
			}
		}
		if strings.Contains(body, "ZgotmplZ") || strings.Contains(body, "%!") {
			t.Errorf("%s: a value has no place in the page", name)
		}
	}
	for _, path := range []string{"/nothing", "/test?id=x", "/failure?test=" + string(testID) + "&id=x", "/file?digest=x",
		"/api/v1/test?id=x", "/api/v1/nothing"} {
		if _, r := get(t, s, path); r.StatusCode != 404 {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
}

// A database without anything has pages, too.
func TestEmptyDatabase(t *testing.T) {
	s := serve(t, of(store.NewMemory()))
	for _, path := range []string{"/", "/workers", "/database", "/metrics", "/api/v1/overview"} {
		if body, r := get(t, s, path); r.StatusCode != 200 {
			t.Errorf("%s: %s\n%s", path, r.Status, body)
		}
	}
	if body, _ := get(t, s, "/"); !strings.Contains(body, "Start a worker") {
		t.Error("an empty overview does not say what to do")
	}
	for _, path := range []string{"/corpus", "/compare", "/test"} {
		if body, r := get(t, s, path); r.StatusCode != 404 || !strings.Contains(body, "start a worker") {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
}

// The pages of two databases are the same after a merge in either order, and on a machine to which the folder was copied.
func TestPagesDoNotDependOnTheOrderOfAMerge(t *testing.T) {
	list, files := dashboardtest.Entries()
	r := rand.New(rand.NewPCG(5, 6))
	halves := [2]*store.Memory{store.NewMemory(), store.NewMemory()}
	r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	for i, e := range list {
		if err := halves[i%2].Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 { // some are in both
			halves[1-i%2].Add(t.Context(), e)
		}
	}
	for _, f := range files {
		halves[0].PutBlob(t.Context(), f)
	}
	folders := [2]string{t.TempDir(), t.TempDir()}
	for i, folder := range folders {
		d, err := store.OpenDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []store.Store{halves[i], halves[1-i], halves[i]} {
			if _, err := store.Merge(t.Context(), d, from); err != nil {
				t.Fatal(err)
			}
		}
		d.Close()
	}
	elsewhere := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(elsewhere, os.DirFS(folders[0])); err != nil {
		t.Fatal(err)
	}
	x := exportedFolder(t, folders[0])
	for name, y := range map[string]map[string]string{"the other order": exportedFolder(t, folders[1]), "a copied folder": exportedFolder(t, elsewhere)} {
		if len(x) != len(y) || len(x) < 20 {
			t.Fatalf("%s: %d and %d files", name, len(x), len(y))
		}
		for file := range x {
			if x[file] != y[file] {
				t.Errorf("%s: %s differs", name, file)
			}
		}
	}
}

// exportedFolder are the files of an export of a folder.
func exportedFolder(t *testing.T, db string) map[string]string {
	t.Helper()
	d, err := store.OpenDir(db)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	return exported(t, d)
}

// exported are the files of an export.
func exported(t *testing.T, d store.Store) map[string]string {
	t.Helper()
	folder := t.TempDir()
	if _, err := of(named{d}).Export(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(f)] = string(b)
	}
	return pages
}

// named gives a store a name that is always the same.
type named struct{ store.Store }

func (named) String() string { return "a database" }

var link = regexp.MustCompile(`(?:href|src)="([^"#]*)`)

// Links of an export lead to files in it, and what a server alone can do is not there.
func TestExport(t *testing.T) {
	folder := t.TempDir()
	n, err := of(filled(t)).Export(t.Context(), folder)
	if err != nil || n < 20 {
		t.Fatal(n, err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.html"))
	if err != nil || len(files) != n {
		t.Fatalf("%d files, %d pages, %v", len(files), n, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(b, -1) {
			to := string(m[1])
			if to == "" || strings.HasPrefix(to, "data:") || strings.HasPrefix(to, "https://example.org/") ||
				to == "https://ui.perfetto.dev" { // which a reader opens a trace with
				continue
			}
			if _, err := os.Stat(filepath.Join(folder, to)); err != nil {
				t.Errorf("%s leads to %q, which is not there", filepath.Base(f), to)
			}
		}
		if strings.HasPrefix(filepath.Base(f), "run-") {
			if !bytes.HasPrefix(b, []byte(runPolicy)) || !bytes.Contains(b, []byte(`id="overview"`)) {
				t.Errorf("%s is not the page of a run", filepath.Base(f))
			}
			continue
		}
		if bytes.Contains(b, []byte("<form")) {
			t.Errorf("%s has a form", filepath.Base(f))
		}
	}
}

// An export replaces an earlier one, and no files of others.
func TestExportSparesFiles(t *testing.T) {
	folder := t.TempDir()
	for range 2 {
		if _, err := of(filled(t)).Export(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "index.html"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := of(filled(t)).Export(t.Context(), other); err == nil || !strings.Contains(err.Error(), "index.html") {
		t.Fatalf("the folder of another: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(other, "index.html")); err != nil || string(b) != "mine" {
		t.Fatalf("%q, %v", b, err)
	}
}

// The JSON of each page has what its HTML shows.
func TestAPI(t *testing.T) {
	s := serve(t, of(filled(t)))
	get(t, s, "/")
	for path, want := range map[string]string{
		"overview": `"finding": "resolved"`, "test?id=" + string(testID): `"bound": `,
		"failure?test=" + string(testID) + "&id=" + string(lostID): `"replay": "bloodhound replay ` + lostName + `.json"`,
		"workers": `"reason": "drained"`, "corpus?test=" + string(testID): `"mutation": "move a fault"`, "compare": `"spans": `,
		"no-such-page": `no page of the dashboard`, "database": `"kind": "span"`, "status": `"reading": false`,
	} {
		body, r := get(t, s, "/api/v1/"+path)
		if !json.Valid([]byte(body)) || r.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, want) {
			t.Errorf("%s: no %s in\n%.3000s", path, want, body)
		}
	}
	if body, _ := get(t, s, "/api/v1/overview"); strings.Contains(body, `"ID"`) || strings.Contains(body, `"Name"`) {
		t.Error("a field has no name of JSON")
	}
}

// Forms write into the store, and the page shows it at once.
func TestForms(t *testing.T) {
	db := filled(t)
	s := serve(t, of(db))
	at := fmt.Sprintf("?test=%s&id=%s", testID, lostID)
	post := func(path string, form url.Values, header ...string) *http.Response {
		t.Helper()
		q, _ := http.NewRequest("POST", s.URL+path, strings.NewReader(form.Encode()))
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i+1 < len(header); i += 2 {
			q.Header.Set(header[i], header[i+1])
		}
		r, err := s.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r
	}
	if r := post("/note"+at, url.Values{"by": {"eve"}, "state": {"ignored"}, "text": {"not ours"}}); r.StatusCode != 200 {
		t.Fatal(r.Status)
	}
	if body, _ := get(t, s, "/failure"+at); !strings.Contains(body, "not ours") || !strings.Contains(body, `<span class="soft">ignored</span>`) {
		t.Error("the page does not show the note")
	}
	if r := post("/request"+at, url.Values{"by": {"eve"}, "kind": {"replay"}}); r.StatusCode != 200 {
		t.Fatal(r.Status)
	}
	if r := post("/request"+at, url.Values{"by": {"eve"}, "kind": {"bisect"}, "good": {"v1.2"}}); r.StatusCode != 200 {
		t.Fatal(r.Status)
	}
	v := records.NewView()
	if _, err := db.Read(t.Context(), "", "", func(e store.Entry) error { v.AddEntry(e); return nil }); err != nil {
		t.Fatal(err)
	}
	if f := v.Tests[testID].Failures[lostID]; f.State() != records.Ignored || len(v.Requests) != 4 {
		t.Errorf("%s, %d requests", f.State(), len(v.Requests))
	}
	for _, what := range []string{"pause", "continue", "pause"} {
		if r := post("/pause", url.Values{"by": {"eve"}, "workers": {what},
			"text": {"a <b>load test</b>"}}); r.StatusCode != 200 || r.Request.URL.Path != "/workers" {
			t.Fatal(r.Status, r.Request.URL)
		}
		v := records.NewView()
		if _, err := db.Read(t.Context(), records.PausePrefix, "", func(e store.Entry) error { v.AddEntry(e); return nil }); err != nil {
			t.Fatal(err)
		}
		body, _ := get(t, s, "/workers")
		if paused := what == "pause"; v.Paused() != paused || v.Pause.By != "eve" ||
			strings.Contains(body, "a &lt;b&gt;load test&lt;/b&gt;") != paused || strings.Contains(body, `value="continue"`) != paused {
			t.Errorf("after %s: %+v\n%s", what, v.Pause, body)
		}
	}
	for name, code := range map[string]int{
		"to stop":                 post("/pause", url.Values{"by": {"x"}, "workers": {"stop"}}).StatusCode,
		"a pause by nobody":       post("/pause", url.Values{"workers": {"pause"}}).StatusCode,
		"a pause of another site": post("/pause", url.Values{"by": {"x"}, "workers": {"pause"}}, "Origin", "https://evil.example").StatusCode,
		"a pause with much text":  post("/pause", url.Values{"by": {"x"}, "workers": {"pause"}, "text": {strings.Repeat("x", maxTextBytes+1)}}).StatusCode,
		"no name":                 post("/note"+at, url.Values{"text": {"x"}}).StatusCode,
		"no text":                 post("/note"+at, url.Values{"by": {"x"}}).StatusCode,
		"a link to script":        post("/note"+at, url.Values{"by": {"x"}, "url": {"javascript:alert(1)"}}).StatusCode,
		"another state":           post("/note"+at, url.Values{"by": {"x"}, "state": {"gone"}}).StatusCode,
		"a long text":             post("/note"+at, url.Values{"by": {"x"}, "text": {strings.Repeat("x", maxTextBytes+1)}}).StatusCode,
		"a huge form":             post("/note"+at, url.Values{"by": {"x"}, "text": {strings.Repeat("x", maxFormBytes)}}).StatusCode,
		"no revision":             post("/request"+at, url.Values{"by": {"x"}, "kind": {"bisect"}}).StatusCode,
		"an odd revision":         post("/request"+at, url.Values{"by": {"x"}, "kind": {"bisect"}, "good": {"--upload-pack=x"}}).StatusCode,
		"another request":         post("/request"+at, url.Values{"by": {"x"}, "kind": {"rm"}}).StatusCode,
		"no failure":              post("/note?test="+string(testID)+"&id=x", url.Values{"by": {"x"}, "text": {"x"}}).StatusCode,
		"another site":            post("/note"+at, url.Values{"by": {"x"}, "text": {"x"}}, "Origin", "https://evil.example").StatusCode,
		"a frame elsewhere":       post("/note"+at, url.Values{"by": {"x"}, "text": {"x"}}, "Sec-Fetch-Site", "cross-site").StatusCode,
	} {
		if code < 400 || code >= 500 {
			t.Errorf("%s: %d", name, code)
		}
	}

	readOnly := serve(t, of(store.ReadOnly{Store: db}))
	if body, _ := get(t, readOnly, "/failure"+at); strings.Contains(body, `method="post"`) {
		t.Error("the page of a read-only store has forms")
	}
	s = readOnly
	if body, _ := get(t, s, "/workers"); strings.Contains(body, `method="post"`) {
		t.Error("the workers of a read-only store can be paused")
	}
	if r := post("/pause", url.Values{"by": {"x"}, "workers": {"continue"}}); r.StatusCode != 403 {
		t.Errorf("a pause in a read-only store: %s", r.Status)
	}
	if r := post("/note"+at, url.Values{"by": {"x"}, "text": {"x"}}); r.StatusCode != 403 {
		t.Errorf("a note in a read-only store: %s", r.Status)
	}
}

// A page hears of what others write, and shows it.
func TestChanges(t *testing.T) {
	db := filled(t)
	s := serve(t, of(db))
	get(t, s, "/")
	r, err := s.Client().Get(s.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	event := func() (version int) {
		if _, err := fmt.Fscanf(r.Body, "data: %d\n\n", &version); err != nil {
			t.Fatal(err)
		}
		return version
	}
	first := event()
	more := records.Test{Name: "another test", Definition: "d", AtMs: 1}
	if err := db.Add(t.Context(), more.Entry()); err != nil {
		t.Fatal(err)
	}
	if second := event(); second <= first {
		t.Errorf("version %d, then %d", first, second)
	}
	if body, _ := get(t, s, "/"); !strings.Contains(body, "another test") {
		t.Error("the overview does not show it")
	}
}

// broken is a store that fails when it is told to.
type broken struct {
	store.Store
	fails chan bool
}

func (b broken) Wait(ctx context.Context, prefix string, from store.Cursor) error {
	select {
	case <-b.fails:
		return fmt.Errorf("connection refused")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A store that is away leaves the page as it was, with a word on it.
func TestStoreThatIsAway(t *testing.T) {
	b := broken{filled(t), make(chan bool)}
	d := of(b)
	s := serve(t, d)
	get(t, s, "/")
	_, changed := d.model.State()
	b.fails <- true
	<-changed
	body, _ := get(t, s, "/")
	if !strings.Contains(body, "connection refused") || !strings.Contains(body, "a write that was acknowledged is lost") {
		t.Errorf("%.2000s", body)
	}
	if body, _ := get(t, s, "/metrics"); !strings.Contains(body, "bloodhound_database_up 0\n") {
		t.Error("metrics do not say that the database is away")
	}
}
