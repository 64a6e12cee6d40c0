package report

import (
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// browser shows pages.
func browser(t *testing.T) (visit func(page string, arguments ...string) (dom, console string)) {
	t.Helper()
	show := needs.Browser(t)
	file := filepath.Join(t.TempDir(), "page.html")
	return func(page string, arguments ...string) (string, string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
		return show("file://"+file, arguments...)
	}
}

// look is a script that says what is visible where, and tries the filters.
const look = `<script>
(function () {
  var seen = {};
  ["#sentence", "#story", "#promise", "#replay", "#explain", "#debug", "header [data-copy=issue-text]", "#overview", "#overview .op.conflict",
   "#overview .message", "#overview .chance", "#overview .no-return-label", "#cause p", "#close", "#close .arrow", "#close .note", "#moments tr.decisive",
   "#moments td button", "#evidence pre", "#operations tr.conflict", "#log > div:not([data-far]) .x", "#ledger table", "#untested summary", "#details summary"].forEach(function (s) {
    var e = document.querySelector(s), r = e ? e.getBoundingClientRect() : {};
    seen[s] = { X: Math.round(r.x || 0), Y: Math.round(r.y || 0), W: Math.ceil(r.width || 0), H: Math.ceil(r.height || 0) };
  });
  function shown() { return Array.prototype.filter.call(document.querySelectorAll("#log > div"), function (d) { return d.querySelector(".x").getClientRects().length > 0; }).length; }
  var all = shown(), box = document.querySelector("#nodes input");
  box.click();
  var without = shown();
  box.click();
  var find = document.getElementById("find");
  find.value = "lost contact";
  find.dispatchEvent(new Event("input"));
  var found = shown();
  find.value = "";
  find.dispatchEvent(new Event("input"));
  var again = shown(), order = [];
  ["#sentence", "#story", "#replay", "#timeline", "#near", "#moments", "#evidence", "#logs", "#ledger", "#details"].forEach(function (s) {
    order.push(document.querySelector(s).getBoundingClientRect().top);
  });
  var details = document.getElementById("details"), folded = !details.open;
  location.hash = "#tape";
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  document.body.dataset.look = JSON.stringify({ Seen: seen, All: all, Without: without, Found: found, Again: again, Wide: document.documentElement.scrollWidth,
    Ordered: order.every(function (y, i) { return i === 0 || y > order[i - 1]; }), Folded: folded, Unfolded: details.open });
})();
</script></body>`

type rectangle struct{ X, Y, W, H int }

// use is a script that zooms, follows links and unfolds.
const use = `<script>
(function () {
  function q(s) { return document.querySelector(s); }
  function shown(s) { return Array.prototype.filter.call(document.querySelectorAll(s), function (e) { return e.getClientRects().length > 0; }).length; }
  var sent = document.querySelectorAll("#overview line.message");
  function apart() { return sent[sent.length - 1].getAttribute("x1") - sent[0].getAttribute("x1"); }
  var wide = apart();
  var hidden = document.querySelectorAll("#log > div[data-far]").length;
  var got = { Before: hidden, Tools: shown("#zoom button"), Ticks: shown("#overview .ticks text"), Folded: shown("[data-group]:not([data-group=''])") };
  q('[data-zoom="in"]').click();
  got.Wider = apart() / wide;
  got.TicksThen = shown("#overview .ticks text");
  q('[data-zoom="all"]').click();
  got.Back = apart() / wide;
  q('[data-zoom="violation"]').click();
  got.Far = document.querySelectorAll("#log > div[data-far]").length;
  q("#zoomed").click();
  got.Near = document.querySelectorAll("#log > div[data-far]").length;
  q('[data-zoom="all"]').click();
  q("#overview a .conflict").parentNode.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  q("#operations tr.conflict a[data-show]").click();
  got.Cursor = q("#overview .cursor").getAttribute("visibility");
  got.Folds = shown("[data-unfold]");
  var unfold = q("[data-unfold]");
  if (unfold) unfold.click();
  got.FoldedThen = shown("[data-unfold]");
  var view = q("#close-view"), mark = q("#violation").getBoundingClientRect(), box = view.getBoundingClientRect();
  got.Violation = mark.top >= box.top && mark.top <= box.bottom;
  got.Scrolled = view.scrollHeight <= view.clientHeight || view.scrollTop > 0;
  document.body.dataset.look = JSON.stringify(got);
})();
</script></body>`

// A page can be zoomed, its rows are folded and unfolded, and its close view begins at the violation.
func TestPageIsUsed(t *testing.T) {
	visit := browser(t)
	p := violatedPage(t)
	for i := range 12 { // a heartbeat
		p.Outcome.Log = append(p.Outcome.Log,
			record.LogLine{Position: record.PositionAt(uint64(1000 + i)), TimeNs: p.Outcome.VirtualNs + int64(i), Node: "n1",
				Stream: "stdout", Text: fmt.Sprintf("beat %d", i)})
	}
	free := regexp.MustCompile(`<meta http-equiv[^>]*>`).ReplaceAllString(htmlOf(t, p), "")
	dom, console := visit(strings.Replace(free, "</body>", use, 1), "--dump-dom")
	m := regexp.MustCompile(`data-look="([^"]*)"`).FindStringSubmatch(dom)
	if m == nil || console != "" {
		t.Fatalf("the script did not run: %s", console)
	}
	var got struct {
		Tools, Ticks, TicksThen, Folded, Folds, FoldedThen int
		// Hidden lines of logs: at first, while the timeline shows a part, and without the filter.
		Before, Far, Near   int
		Wider, Back         float64
		Cursor              string
		Violation, Scrolled bool
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tools != 6 || got.Ticks < 2 || got.TicksThen < 2 || got.Folded != 0 || got.Folds < 1 || got.FoldedThen >= got.Folds ||
		got.Before == 0 || got.Far <= got.Before || got.Near != 0 || got.Wider < 1.9 || got.Wider > 2.1 || got.Back < 0.95 || got.Back > 1.05 ||
		got.Cursor != "visible" || !got.Violation || !got.Scrolled {
		t.Errorf("%+v", got)
	}
}

func TestPageInABrowser(t *testing.T) {
	visit := browser(t)
	text := htmlOf(t, explainedPage(t))
	// The page's policy would stop the script that looks at it.
	free := regexp.MustCompile(`<meta http-equiv[^>]*>`).ReplaceAllString(text, "")
	dom, console := visit(strings.Replace(free, "</body>", look, 1), "--dump-dom")
	if console != "" {
		t.Errorf("the console says\n%s", console)
	}
	m := regexp.MustCompile(`data-look="([^"]*)"`).FindStringSubmatch(dom)
	if m == nil {
		t.Fatalf("the page's script did not run; the document is\n%.2000s", dom)
	}
	var got struct {
		Seen                             map[string]rectangle
		All, Without, Found, Again, Wide int
		Ordered, Folded, Unfolded        bool
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &got); err != nil {
		t.Fatal(err)
	}
	for what, r := range got.Seen {
		if r.H < 1 || r.W < 1 {
			t.Errorf("%s is not visible: %+v", what, r)
		}
	}
	if !got.Ordered {
		t.Error("the parts of the page are not in their order")
	}
	if !got.Folded || !got.Unfolded {
		t.Error("the tape is not folded, or a link to it does not open it")
	}
	if got.Wide > 1280 {
		t.Errorf("the page is %d pixels wide and scrolls sideways", got.Wide)
	}
	if !(got.Found < got.Without && got.Without < got.All && got.Found > 0 && got.Again == got.All) {
		t.Errorf("of %d lines, %d are of other nodes, %d are found, %d are there again", got.All, got.Without, got.Found, got.Again)
	}

	for _, theme := range []string{"light", "dark"} {
		shot := screenshot(t, visit, strings.Replace(text, "<html ", `<html data-theme="`+theme+`" `, 1))
		// The paper around the text is the theme's.
		if r, _, _, _ := shot.At(3, 3).RGBA(); (r > 0x8000) != (theme == "light") {
			t.Errorf("%s: the paper has the colour %v", theme, shot.At(3, 3))
		}
		for _, part := range []string{"#sentence", "#overview", "#close"} {
			if n := colours(shot, got.Seen[part]); n < 12 {
				t.Errorf("%s: %s has %d colours: it is blank", theme, part, n)
			}
		}
	}
}

// phone shows a page in a frame of 400 pixels, and measures it there, with the page's script and without.
const phone = `<body style="margin:0"><iframe style="border:0;width:400px;height:5000px" srcdoc="%s"></iframe>`

const measure = `<script>
addEventListener("load", function () {
  var got = { Width: innerWidth };
  function measured() {
    Array.prototype.forEach.call(document.querySelectorAll("details"), function (d) { d.open = true; });
    var out = [];
    Array.prototype.forEach.call(document.querySelectorAll("body, body *"), function (e) {
      if (e.ownerSVGElement || e.tagName === "SCRIPT") return;
      var r = e.getBoundingClientRect(), name = e.tagName + "#" + e.id + "." + (e.getAttribute("class") || "");
      if (r.width > 0 && (r.right > 400.5 || r.left < -0.5)) out.push(name + " from " + r.left + " to " + r.right);
      if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline" && getComputedStyle(e).overflowX !== "visible") out.push(name + " is cut");
    });
    return { Out: out, Wide: document.documentElement.scrollWidth, Timeline: document.querySelector(".timeline.narrow").getClientRects().length,
      Command: document.querySelector("#look0").getClientRects().length };
  }
  got.Script = measured();
  document.documentElement.classList.remove("scripted");
  got.Plain = measured();
  parent.document.body.dataset.look = JSON.stringify(got);
});
</script></body>`

// On a narrow screen nothing is wider than the screen, and no table is cut.
func TestNarrowPageInABrowser(t *testing.T) {
	visit := browser(t)
	for name, p := range map[string]PageOf{"explained": explainedPage(t), "of transactions": skewPage(), "of a crash": crashPage()} {
		free := regexp.MustCompile(`<meta http-equiv[^>]*>`).ReplaceAllString(htmlOf(t, p), "")
		framed := html.EscapeString(strings.Replace(free, "</body>", measure, 1))
		dom, console := visit(fmt.Sprintf(phone, framed), "--dump-dom")
		m := regexp.MustCompile(`data-look="([^"]*)"`).FindStringSubmatch(dom)
		if m == nil || console != "" {
			t.Fatalf("%s: the script did not run: %s", name, console)
		}
		type look struct {
			Out                     []string
			Wide, Timeline, Command int
		}
		var got struct {
			Width         int
			Script, Plain look
		}
		if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &got); err != nil {
			t.Fatal(err)
		}
		if got.Width != 400 || len(got.Script.Out)+len(got.Plain.Out) > 0 || got.Script.Wide > 400 || got.Plain.Wide > 400 || got.Script.Timeline == 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Script.Command != 0 || got.Plain.Command == 0 {
			t.Errorf("%s: the commands of moments are for pages without a script: %+v", name, got)
		}
	}
}

// Hostile text neither runs, which would take the page's policy and the console would say, nor breaks the page's script.
func TestHostilePageInABrowser(t *testing.T) {
	visit := browser(t)
	dom, console := visit(htmlOf(t, hostilePage(t)), "--dump-dom")
	if console != "" {
		t.Errorf("the console says\n%s", console)
	}
	if n := strings.Count(dom, "<script"); n != 1 || strings.Contains(dom, "<img") {
		t.Errorf("the document has %d scripts", n)
	}
	_, console = visit(strings.Replace(htmlOf(t, violatedPage(t)), "</body>", "<script>alert(1)</script></body>", 1), "--dump-dom")
	if !strings.Contains(console, "Content Security Policy") {
		t.Errorf("a foreign script runs; the console says %q", console)
	}
}

func TestCampaignPageInABrowser(t *testing.T) {
	visit := browser(t)
	text := written(t, CampaignPage, mixed())
	shot := screenshot(t, visit, text)
	if n := colours(shot, rectangle{0, 0, 1280, 1000}); n < 40 {
		t.Errorf("the page has %d colours: it is blank", n)
	}
}

// narrow is a page that shows another one in a frame as wide as a telephone, unfolds all of it, and names what reaches beyond the frame.
const narrow = `<!doctype html><html><head><link rel="icon" href="data:,"></head><body>
<iframe id="frame" style="border:0;height:900px;width:%dpx" srcdoc="%s"></iframe><script>
window.addEventListener("load", function () {
  var d = document.getElementById("frame").contentDocument, width = d.documentElement.clientWidth;
  Array.prototype.forEach.call(d.querySelectorAll("details"), function (e) { e.open = true; });
  document.body.dataset.look = JSON.stringify(Array.prototype.filter.call(d.body.querySelectorAll("*"), function (e) {
    var r = e.getBoundingClientRect();
    return r.width > width + 0.5 || r.width > 0 && r.right > width + 0.5;
  }).map(function (e) { return e.outerHTML.slice(0, 200); }));
});
</script></body></html>`

// Wider lists the elements of a page that reach beyond a screen.
func Wider(t *testing.T, page string, width int) (elements []string) {
	t.Helper()
	dom, console := browser(t)(fmt.Sprintf(narrow, width, html.EscapeString(page)), "--dump-dom")
	m := regexp.MustCompile(`<body data-look="([^"]*)"`).FindStringSubmatch(dom)
	if m == nil || console != "" {
		t.Fatalf("the script did not run: %s\n%.1000s", console, dom)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &elements); err != nil {
		t.Fatal(err)
	}
	return elements
}

// Nothing on the page of a campaign is cut off on a narrow screen.
func TestCampaignPageIsNarrow(t *testing.T) {
	long := mixed()
	long.Arguments = " " + strings.Repeat("a/long/path/", 20)
	long.Totals.Failures[0].Headline = strings.Repeat("W", 300)
	long.Totals.Properties[0].Property = strings.Repeat("W", 200)
	long.Totals.Faults.Entries[0].Kind = world.FaultKind(strings.Repeat("w", 200))
	for name, c := range map[string]CampaignOf{"mixed": mixed(), "clean": clean(), "long": long} {
		for _, e := range Wider(t, written(t, CampaignPage, c), 400) {
			t.Errorf("%s: %s", name, e)
		}
	}
	if wide := Wider(t, `<!doctype html><body><p style="width:500px">x</p>`, 400); len(wide) != 1 {
		t.Errorf("a wide element among %q", wide)
	}
}

// The checks above can fail: an error of a script reaches the console, and an empty page has one colour.
func TestBrowserShowsErrors(t *testing.T) {
	visit := browser(t)
	page := `<!doctype html><html><head><link rel="icon" href="data:,"></head><body style="background:#fff">`
	if n := colours(screenshot(t, visit, page), rectangle{0, 0, 1280, 1000}); n != 1 {
		t.Errorf("an empty page has %d colours", n)
	}
	if _, console := visit(page+"<script>nobody()</script>", "--dump-dom"); !strings.Contains(console, "nobody is not defined") {
		t.Errorf("the console says %q", console)
	}
}

func screenshot(t *testing.T, visit func(string, ...string) (string, string), page string) image.Image {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shot.png")
	if _, console := visit(page, "--screenshot="+file); console != "" {
		t.Errorf("the console says\n%s", console)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shot, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if b := shot.Bounds(); b.Dx() != 1280 || b.Dy() != 1600 {
		t.Fatalf("the screenshot is %v", b)
	}
	return shot
}

// colours counts the colours in a part of a screenshot.
func colours(shot image.Image, r rectangle) int {
	in := image.Rect(r.X, r.Y, r.X+r.W, r.Y+r.H).Intersect(shot.Bounds())
	all := map[color.RGBA]bool{}
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			all[color.RGBAModel.Convert(shot.At(x, y)).(color.RGBA)] = true
		}
	}
	return len(all)
}
