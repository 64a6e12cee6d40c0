package dashboard

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

//go:embed html/*.html
var templateFiles embed.FS

//go:embed dashboard.css
var ownStyle string

//go:embed dashboard.js
var script string

// Bounds of texts, in characters.
const (
	lineRunes = 400
	wordRunes = 120
)

// shell is a page with what is around it.
type shell struct {
	Name       string
	Title      string
	Data       any
	Menu       []entry
	State      State
	Now        time.Time
	Store      string
	Bloodhound string
	User       string
	MayWrite   bool
	Live       bool // there is a server behind the page, which answers queries and reports changes
	Error      string
	query      url.Values
}

// entry is one of the menu.
type entry struct {
	Name, Title string
	Advanced    bool
}

// Advanced reports whether the page is one of those under "Advanced".
func (s *shell) Advanced() bool {
	return slices.ContainsFunc(s.Menu, func(e entry) bool { return e.Advanced && e.Name == s.Name })
}

// menu lists the pages that every page leads to.
func menu() (list []entry) {
	for _, p := range pages {
		if p.title != "" {
			list = append(list, entry{p.name, p.title, p.advanced})
		}
	}
	return list
}

// templates are parsed when they are needed, once for each page: the drivers of a world are this program, too, and need none.
var templates = sync.OnceValue(func() map[string]*template.Template {
	all := map[string]*template.Template{}
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(templateFiles, "html/layout.html"))
	for _, name := range append(names(), "login", "error") {
		all[name] = template.Must(template.Must(layout.Clone()).ParseFS(templateFiles, "html/"+name+".html"))
	}
	return all
})

func names() (list []string) {
	for _, p := range pages {
		list = append(list, p.name)
	}
	return list
}

var functions = template.FuncMap{
	"line":        func(s any) string { return report.Visible(fmt.Sprint(s), lineRunes) },
	"word":        func(s any) string { return report.Visible(fmt.Sprint(s), wordRunes) },
	"text":        report.Printable,
	"count":       plural.Count[int],
	"seconds":     report.Seconds,
	"explanation": report.ExplanationPlot,
	"cause":       report.ExplanationText,
	"n":           func(n any) string { return grouped(toUint(n)) },
	"ms":          duration,
	"bytes":       sized,
	"percent":     func(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) },
	"bound":       boundText,
	"meaning":     func(word string) string { return meanings[word] },
	"clock":       clock,
	"colour":      colourOf,
	"growthOver":  growthOver,
	"growthIn":    growthIn,
	"calibration": calibrationPlot,
	"sparkline":   sparkline,
	"bars":        barsOf,
	"list":        func(s ...string) []string { return s },
	"dict":        func(page *shell, data any) map[string]any { return map[string]any{"Page": page, "Data": data} },
	"short":       shortened,
}

// meanings explain findings and states of tests.
var meanings = map[string]string{
	string(records.NewFinding):      "in the latest build only",
	string(records.OngoingFinding):  "also in earlier builds",
	string(records.RareFinding):     "once in " + grouped(records.RareRuns) + " runs or more",
	string(records.UnclearFinding):  "later builds: no clear answer",
	string(records.ResolvedFinding): "clean replay on a later build",
	expected:                        "a canary must fail",

	unusable: "fails without any fault",
	violated: "has open failures",
	holds:    "no open failure",
	waiting:  "no runs yet",
	caught:   "a canary that fails, as it must",
	silent:   "a canary that must fail and does not",
}

// boundText writes a bound of a chance for people.
func boundText(bound float64) string {
	if bound > 0.1 {
		return "under " + fmt.Sprintf("%.0f %%", math.Ceil(100*bound))
	}
	return "under 1 in " + grouped(uint64(1/bound))
}

// shortened is the beginning of a digest or name.
func shortened(name string) string {
	return report.Visible(name[:min(len(name), shortCommit)], shortCommit)
}

func toUint(n any) uint64 {
	switch n := n.(type) {
	case int:
		return uint64(max(n, 0))
	case int64:
		return uint64(max(n, 0))
	case uint64:
		return n
	}
	return 0
}

// duration writes milliseconds for people.
func duration(ms int64) string {
	switch d := time.Duration(ms) * time.Millisecond; {
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 100*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	default:
		return fmt.Sprintf("%.0f d", d.Hours()/24)
	}
}

// sized writes a size for people.
func sized(size any) string {
	n := float64(toUint(size))
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 1024 {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") + " " + unit
		}
		n /= 1024
	}
	return fmt.Sprintf("%.1f GiB", n)
}

// Ago says how long before now a time is.
func (s *shell) Ago(ms int64) string {
	d := s.Now.Sub(time.UnixMilli(ms))
	switch {
	case ms == 0:
		return "never"
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d d ago", int(d.Hours()/24))
}

// Link is the address of a page, relative to any other: with a query where there is a server, as a file in an export. What is said
// by name and value, one after the other, is its query.
func (s *shell) Link(name string, pairs ...any) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := fmt.Sprint(pairs[i+1]); v != "" {
			q.Set(fmt.Sprint(pairs[i]), v)
		}
	}
	if !s.Live {
		return fileOf(name, q)
	}
	return addressOf(name, q)
}

// Download is the address of a failure's file, which a browser saves under a name.
func (s *shell) Download(d store.Digest, name string) string {
	return "file?" + url.Values{"digest": {string(d)}, "id": {name}}.Encode()
}

// File is the address of a blob with the page of a run.
func (s *shell) File(d store.Digest) string {
	if !s.Live {
		return runFile(d)
	}
	return "file?digest=" + url.QueryEscape(string(d))
}

// With is the address of the same page with another value in its query.
func (s *shell) With(pairs ...any) string {
	q := url.Values{}
	for k, v := range s.query {
		q[k] = v
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1]))
	}
	return addressOf(s.Name, q)
}

// Query is a value of the query.
func (s *shell) Query(key string) string { return s.query.Get(key) }

func addressOf(name string, q url.Values) string {
	if name == pages[0].name {
		name = "./"
	}
	if len(q) > 0 {
		return name + "?" + q.Encode()
	}
	return name
}

// fileOf is the name of a page's file in an export. IDs that are no names of files, which a hostile database may have, lead to no page.
func fileOf(name string, q url.Values) string {
	i := slices.IndexFunc(pages, func(p *page) bool { return p.name == name })
	if i == 0 {
		return "index.html"
	}
	for _, k := range pages[i].keys {
		id := q.Get(k)
		if strings.ContainsFunc(id, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyz", r) }) || len(id) > 64 {
			return "index.html"
		}
		if id != "" {
			name += "-" + id
		}
	}
	return name + ".html"
}

// make builds the data of a page, under the lock, and loads what else it needs.
func (p *page) make(ctx context.Context, m *Model, query url.Values, now time.Time) (data any, state State, err error) {
	state = m.Read(func(v *records.View) {
		data, err = p.build(&ask{view: v, now: now, query: query, store: m.store.String()})
	})
	if l, ok := data.(loader); ok && err == nil {
		err = l.load(ctx, m.store)
	}
	return data, state, err
}

// html writes a page.
func (s *shell) html(w io.Writer) error { return templates()[s.Name].Execute(w, s) }

// mayWrite reports whether notes and requests can be written into a store.
func mayWrite(s store.Store) bool {
	_, readOnly := s.(store.ReadOnly)
	return !readOnly
}
