package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/dashboardtest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// looker is a page that looks at others in frames: as they are and without their scripts, wide and as narrow as a telephone. It
// sends what it has seen to /seen, and is loaded when that has come, since the server answers for its picture only then.
const looker = `<!doctype html><html><head><link rel="icon" href="data:,"></head><body><img src="/done" alt=""><script>
(function () {
  var paths = %s, seen = [], jobs = [];
  paths.forEach(function (p) {
    [1280, 400, 360].forEach(function (w) { [true, false].forEach(function (script) { jobs.push({ path: p, width: w, script: script }); }); });
  });
  function next() {
    var job = jobs.shift();
    if (!job) { fetch("/seen", { method: "POST", body: JSON.stringify(seen) }); return; }
    var f = document.createElement("iframe");
    f.style.cssText = "border:0;height:900px;width:" + job.width + "px";
    if (!job.script) f.sandbox = "allow-same-origin";
    f.onload = function () {
      setTimeout(function () {
        var d = f.contentDocument, root = d.documentElement, rows = d.querySelectorAll(".rows tbody tr");
        var got = { path: job.path, width: job.width, script: job.script, wide: root.scrollWidth, title: d.title, text: d.getElementById("content").textContent.length,
          styled: f.contentWindow.getComputedStyle(d.querySelector("nav.top")).display, rows: rows.length, live: !!d.getElementById("live") && !d.getElementById("live").hidden,
          keys: !d.querySelector(".keys").hidden, plots: Array.prototype.every.call(d.querySelectorAll("svg"), function (s) { return s.getBoundingClientRect().height > 20; }) };
        Array.prototype.forEach.call(d.querySelectorAll("details"), function (e) { e.open = true; });
        got.over = Array.prototype.filter.call(d.body.querySelectorAll("*"), function (e) {
          var r = e.getBoundingClientRect();
          return r.width > job.width + 0.5 || r.width > 0 && r.right > job.width + 0.5;
        }).slice(0, 3).map(function (e) { return e.outerHTML.slice(0, 200); });
        if (job.script && rows.length) {
          d.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
          got.lit = d.querySelectorAll("tr.lit").length;
          got.focused = d.activeElement.tagName;
          got.outline = f.contentWindow.getComputedStyle(d.activeElement).outlineStyle;
        }
        seen.push(got);
        f.remove();
        next();
      }, 0);
    };
    f.src = job.path;
    document.body.appendChild(f);
  }
  next();
})();
</script></body></html>`

// seenPage is the output of looker for a page.
type seenPage struct {
	Path, Title, Styled, Focused, Outline string
	Width, Wide, Text, Rows, Lit          int
	Script, Live, Keys, Plots             bool
	Over                                  []string // the first elements that reach beyond the viewport
}

// unframed takes the headers away that forbid frames.
type unframed struct{ http.ResponseWriter }

func (u unframed) Unwrap() http.ResponseWriter { return u.ResponseWriter }
func (u unframed) WriteHeader(code int) {
	h := u.Header()
	h.Del("X-Frame-Options")
	h.Set("Content-Security-Policy", strings.Replace(h.Get("Content-Security-Policy"), "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
	u.ResponseWriter.WriteHeader(code)
}

func visitAll(t *testing.T, inner http.Handler, paths []string) []seenPage {
	t.Helper()
	visit := needs.Browser(t)
	list, _ := json.Marshal(paths)
	came := make(chan []byte, 1)
	done := make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/looker":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, looker, list)
		case "/seen":
			b, _ := io.ReadAll(r.Body)
			came <- b
			close(done)
		case "/done":
			select {
			case <-done:
			case <-r.Context().Done():
			}
			w.Header().Set("Content-Type", "image/gif")
			w.Write([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"))
		default:
			inner.ServeHTTP(unframed{w}, r)
		}
	}))
	defer s.Close()
	defer s.CloseClientConnections()
	_, console := visit(s.URL+"/looker", "--dump-dom")
	for line := range strings.Lines(console) { // a frame without script says that it has none
		if !strings.Contains(line, "the document's frame is sandboxed") {
			t.Errorf("the console says %s", line)
		}
	}
	var seen []seenPage
	select {
	case b := <-came:
		if err := json.Unmarshal(b, &seen); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("the pages were not all seen: %s", console)
	}
	if len(seen) != 6*len(paths) {
		t.Errorf("%d views of %d pages", len(seen), len(paths))
	}
	return seen
}

// Pages are whole in a browser, with and without script, and do not scroll sideways on a narrow screen.
func TestPagesInABrowser(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	paths := slices.Sorted(maps.Values(addresses()))
	text := map[string]int{}
	for _, p := range visitAll(t, of(filled(t)).Handler(ctx), paths) {
		name := fmt.Sprintf("%s, %d pixels, script %v", p.Path, p.Width, p.Script)
		switch {
		case p.Wide > p.Width:
			t.Errorf("%s: it is %d pixels wide", name, p.Wide)
		case len(p.Over) > 0:
			t.Errorf("%s: elements are wider: %q", name, p.Over)
		case p.Styled != "flex" || !p.Plots || p.Text < 60 || !strings.HasSuffix(p.Title, "bloodhound"):
			t.Errorf("%s: %+v", name, p)
		case p.Keys != p.Script || p.Script && p.Rows > 0 && (p.Lit != 1 || p.Focused == "BODY" || p.Outline != "solid"):
			t.Errorf("%s: keys do not work: %+v", name, p)
		}
		if had, seen := text[p.Path]; seen && had != p.Text && !strings.HasPrefix(p.Path, "/failure") { // whose button needs the script
			t.Errorf("%s: %d characters, and %d in another view", name, p.Text, had)
		}
		text[p.Path] = p.Text
	}
}

// Whatever programs and people write, pages show it as text, of bounded length, and it neither runs nor breaks them.
func TestHostileTexts(t *testing.T) {
	db := store.NewMemory()
	const evil = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\x1b]0;title\x07\u202e{{.}} ${1} \xff'\" javascript:alert(3)"
	wide := strings.Repeat("W", 10<<20)
	text := evil + strings.Repeat("W", 60_000)
	file, err := db.PutBlob(t.Context(), dashboardtest.Failure(evil, evil+wide))
	if err != nil {
		t.Fatal(err)
	}
	test, code, env := records.TestID(evil),
		records.Code{Commit: text, Subject: text, Branch: text, Line: text, Images: []string{text}},
		records.Env{Engine: text, Machine: text, Features: []string{text, evil}}
	worker := records.Worker{Host: text, Bloodhound: text, Labels: map[string]string{evil: text}, StartedMs: 1, EndedMs: 2, Reason: text}
	found := records.Failure{Failure: failure.Failure{Signature: evil, Property: text, Headline: text, RunID: text}, Reason: text,
		Level: text, Tape: text, Origin: text, File: file,
		Worker: "<w>", Code: code.ID(), Env: env.ID(), Imported: text}
	id := records.FailureID(test, evil)
	definition := records.Test{Name: evil, Definition: text, Config: text, Strategy: text, Properties: []records.Property{{Name: text, Kind: text}}}
	span := records.Span{Phase: "<script>alert(4)</script>", AtMs: 5, Ms: 5, Runs: 3}
	holdout := records.Span{Seq: 1, Phase: records.Holdout, AtMs: 9, Ms: 5, Runs: 300,
		Classes: []records.Class{{Name: records.PropertyClass(evil), After: 300}}}
	counted := records.Counted{Runs: 3, Faults: []records.FaultCount{{Kind: text}}, Properties: []records.PropertyCount{{Name: text, Kind: text}}}
	replay := records.Replay{Code: code.ID(), Env: env.ID(), Worker: "<w>", Result: evil, Reason: text}
	note := records.Note{By: text, Text: text, State: evil, URL: "javascript:alert(5)"}
	request := records.Request{Kind: evil, Test: test, Failure: id, By: text, AtMs: 1}
	answer := records.Done{Worker: "<w>", Text: text, File: store.Digest(evil)}
	shown := records.Page{Of: file, File: file, Worker: "<w>", Code: code.ID()}
	odd := records.Page{Of: "<script>", File: "../../x"}
	point := `{"at_ns":1,"failed":1,"runs":2,"low":0.1,"high":0.9}`
	explained := records.Explained{Worker: "<w>",
		Explanation: json.RawMessage(`{"points":[` + point + `],"ended":"<script>alert(8)</script>","jump":{"before":` + point +
			`,"after":` + point + `},"decided":[{"stream":"<script>alert(9)</script>\u001b[2J"}],"pair":{"hash":"<img src=x>","fails":"\u001b[2J<script>alert(10)</script>"}}`)}
	commit := records.Named{ID: text, Subject: text}
	bisected := records.Bisected{What: text, Commits: []records.Named{commit, commit},
		Tried: []records.AtCommit{{Named: commit, Result: evil, Reason: text}}, Good: evil, Bad: text}
	distilled := records.Distilled{Worker: "<w>", Code: code.ID(), Of: []string{evil}}
	wrong := records.Explained{AtMs: 9, Hash: "x", Explanation: json.RawMessage(`{"points":[{"failed":-5,"low":-3,"high":7}]}`)}
	kept := records.Kept{Worker: "<w>", Code: code.ID(), Name: evil,
		Search: json.RawMessage(`{"why":"<script>alert(6)</script>","origin":{"parent":"<script>","mutation":"<b>","strategy":"<i>"}}`)}
	for _, e := range []store.Entry{definition.Entry(), code.Entry(), env.Entry(), worker.Entry("<w>"), found.Entry(test),
		span.Entry(test, code.ID(), env.ID(), "<w>"), holdout.Entry(test, code.ID(), env.ID(), "<w>"),
		replay.Entry(test, id), note.Entry(test, id), request.Entry(), answer.Entry(request.ID()), kept.Entry(test),
		shown.Entry(test, id), odd.Entry(test, id), explained.Entry(test, id), bisected.Entry(test, id), distilled.Entry(test),
		counted.Entry(test, code.ID(), env.ID(), "<w>"), {Key: "<script>alert(7)</script>", Value: []byte("x")},
		{Key: "test/<script>", Value: []byte(`{"name":"<script>"}`)}} {
		if err := db.Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d := of(db)
	h := d.Handler(ctx)
	at := fmt.Sprintf("test=%s&id=%s", test, id)
	paths := []string{"/", "/test?id=" + string(test), "/failure?" + at, "/workers", "/corpus?test=" + string(test),
		"/compare?test=" + string(test), "/database", "/nothing?q=" + url.QueryEscape(evil), "/?sort=%3Cscript%3E&finding=%22%3E&q=%3Cscript%3E"}
	for _, path := range append(paths, "/metrics") {
		w := httptest.NewRecorder()
		q := httptest.NewRequest("GET", path, nil)
		q.Host = "localhost"
		h.ServeHTTP(w, q)
		body := w.Body.String()
		for _, bad := range []string{"<script>alert", "<img", "\x1b", "\x07", "\u202e", `href="javascript:`, "onerror=alert(2)>"} {
			if strings.Contains(body, bad) && path != "/metrics" {
				t.Errorf("%s has %q", path, bad)
			}
		}
		if len(body) > 1<<20 || w.Code >= 500 {
			t.Errorf("%s: %d, %d bytes", path, w.Code, len(body))
		}
	}
	if w := show(h, "/failure?"+at); !strings.Contains(w, "how likely the failure was") || !strings.Contains(w, "its page is not from a worker") {
		t.Errorf("the failure:\n%.3000s", w)
	}
	if err := db.Add(t.Context(), wrong.Entry(test, id)); err != nil {
		t.Fatal(err)
	}
	if n, err := d.Export(ctx, t.TempDir()); err != nil || n < 8 {
		t.Errorf("an export of %d pages: %v", n, err)
	}
	for _, p := range visitAll(t, h, paths) {
		if p.Wide > p.Width || len(p.Over) > 0 {
			t.Errorf("%s is %d pixels wide on %d: %q", p.Path, p.Wide, p.Width, p.Over)
		}
	}
}

// The page of a run is shown beside what is known of its failure, and can do nothing to it, whoever has written it into the database.
func TestRunInABrowser(t *testing.T) {
	visit := needs.Browser(t)
	const evil = `<!doctype html><title>x</title><script>
console.log("it runs");
try { parent.document.body.innerHTML = "taken"; } catch (e) { console.log("kept out: " + e.name); }
try { top.location = "https://example.org/"; } catch (e) { console.log("kept here: " + e.name); }
fetch("/api/v1/overview").catch(function () { console.log("cut off"); });
</script>`
	for _, written := range []string{evil, string(dashboardtest.Page("linearizable", "a write that was acknowledged is lost"))} {
		db := filled(t)
		file, err := db.PutBlob(t.Context(), []byte(written))
		if err != nil {
			t.Fatal(err)
		}
		p := records.Page{Of: store.DigestOf(dashboardtest.Failure("linearizable", "a write that was acknowledged is lost")),
			File: file, Worker: "w", AtMs: dashboardtest.Now.UnixMilli()}
		if err := db.Add(t.Context(), p.Entry(testID, lostID)); err != nil {
			t.Fatal(err)
		}
		d := of(db)
		d.Now = func() time.Time { return dashboardtest.Now }
		dom, console := visit(serve(t, d).URL+addresses()["failure"], "--dump-dom")
		if !strings.Contains(dom, `src="file?digest=`+string(file)) || strings.Contains(dom, "taken") {
			t.Errorf("the page of the failure:\n%.2000s", dom)
		}
		switch {
		case written == evil:
			for _, want := range []string{"it runs", "kept out: SecurityError", "kept here: SecurityError", "cut off"} {
				if !strings.Contains(console, want) {
					t.Errorf("the console does not say %q:\n%s", want, console)
				}
			}
		case console != "":
			t.Errorf("the console says %s", console)
		}
		folder := t.TempDir()
		if _, err := d.Export(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
		_, console = visit("file://"+filepath.Join(folder, runFile(file)), "--dump-dom")
		if ran := strings.Contains(console, "it runs"); ran || (console == "") != (written != evil) {
			t.Errorf("in an export, the console says %q", console)
		}
	}
}

// Files of an export are whole in a browser that opens them from a folder.
func TestExportInABrowser(t *testing.T) {
	visit := needs.Browser(t)
	folder := t.TempDir()
	if _, err := of(filled(t)).Export(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	dom, console := visit("file://"+filepath.Join(folder, "test-"+string(testID)+".html"), "--dump-dom")
	if console != "" {
		t.Errorf("the console says %s", console)
	}
	if !strings.Contains(dom, `<span class="keys">`) || !strings.Contains(dom, "95 % sure") {
		t.Errorf("its script has not run:\n%.2000s", dom)
	}
	if _, err := os.Stat(filepath.Join(folder, "style.css")); err != nil {
		t.Error(err)
	}
}
