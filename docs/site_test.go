package docs

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// buildSite builds the web site of the pages in a folder of the test. A link that leads nowhere fails it.
func buildSite(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "site")
	mkdocs := needs.Program(t, "mkdocs")
	out, err := exec.Command(mkdocs, "build", "--strict", "--quiet", "--config-file", "../site/mkdocs.yml", "--site-dir", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("mkdocs: %v\n%s", err, out)
	}
	return dir
}

// looker is a page that loads others in frames, several at once, and posts what they show to /seen. A page with a query in its address
// counts as loaded when the search has results.
const looker = `<!doctype html><html><head><link rel="icon" href="data:,"></head><body><img src="/done" alt=""><script>
(function () {
  var views = %s, seen = [], running = 0;
  function next() {
    var view = views.shift(), tries = 0;
    if (!view) { if (!running) fetch("/seen", { method: "POST", body: JSON.stringify(seen) }); return; }
    running++;
    var f = document.createElement("iframe");
    f.style.cssText = "border:0;height:900px;width:" + view.Width + "px";
    function look() {
      var d = f.contentDocument, found = d.querySelector(".md-search-result__list");
      var hits = found ? found.querySelectorAll("a").length : 0;
      if (view.Path.indexOf("?q=") >= 0 && !hits && tries++ < 300) { setTimeout(look, 100); return; }
      var tabs = Array.prototype.map.call(d.querySelectorAll(".md-tabs__link"), function (a) { return a.textContent.trim(); });
      seen.push({ Path: view.Path, Width: view.Width, Wide: d.documentElement.scrollWidth, Title: d.title, Tabs: tabs, Hits: hits,
        Found: hits ? found.textContent : "" });
      f.remove();
      running--;
      next();
    }
    f.onload = function () { setTimeout(look, 50); };
    f.src = view.Path;
    document.body.appendChild(f);
  }
  for (var i = 0; i < 4; i++) next();
})();
</script></body></html>`

type view struct {
	Path  string
	Width int
}

type seenPage struct {
	view
	Title, Found string
	Wide, Hits   int
	Tabs         []string
}

// ownHost has the browser refuse all requests to other hosts, and say so on the console.
const ownHost = "default-src 'self' 'unsafe-inline' data: blob:"

// visitAll shows pages of a folder in a browser, whose console must stay empty.
func visitAll(t *testing.T, dir string, views []view) (seen []seenPage) {
	t.Helper()
	visit := needs.Browser(t)
	list, err := json.Marshal(views)
	if err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(dir))
	came, done := make(chan []byte, 1), make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", ownHost)
		switch r.URL.Path {
		case "/looker":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, looker, list)
		case "/seen":
			b, _ := io.ReadAll(r.Body)
			came <- b
			close(done)
		case "/done": // the browser waits for this picture, and so for all pages
			select {
			case <-done:
			case <-r.Context().Done():
			}
			w.Header().Set("Content-Type", "image/gif")
			w.Write([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"))
		default:
			files.ServeHTTP(w, r)
		}
	}))
	defer s.Close()
	defer s.CloseClientConnections()
	_, console := visit(s.URL+"/looker", "--dump-dom")
	if console != "" {
		t.Errorf("the console says %s", console)
	}
	select {
	case b := <-came:
		if err := json.Unmarshal(b, &seen); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("the pages were not all seen: %s", console)
	}
	return seen
}

// The pages fit a narrow screen, the search finds words, and nothing comes from another host.
func TestSiteInABrowser(t *testing.T) {
	dir := buildSite(t)
	const home, search = "/index.html", "/index.html?q=linearizability"
	views := []view{{home, 1280}, {search, 1280}, {search, 400}}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".html" {
			rel, _ := filepath.Rel(dir, name)
			views = append(views, view{"/" + filepath.ToSlash(rel), 400})
		}
		return err
	})
	if err != nil || len(views) < 40 {
		t.Fatalf("%d views: %v", len(views), err)
	}
	seen := visitAll(t, dir, views)
	if len(seen) != len(views) {
		t.Errorf("%d of %d views", len(seen), len(views))
	}
	for _, p := range seen {
		if p.Wide > p.Width {
			t.Errorf("%s is %d pixels wide on a screen of %d", p.Path, p.Wide, p.Width)
		}
		if !strings.Contains(p.Title, "Bloodhound") {
			t.Errorf("%s has the title %q", p.Path, p.Title)
		}
		if p.Path == search && (p.Hits == 0 || !strings.Contains(strings.ToLower(p.Found), "linearizability")) {
			t.Errorf("the search for linearizability has %d results: %q", p.Hits, p.Found)
		}
		if kinds := strings.Join(p.Tabs, ", "); p.Path == home && kinds != "Start here, How-to guides, Reference, Explanation" {
			t.Errorf("the kinds of pages are %s", kinds)
		}
	}
}
