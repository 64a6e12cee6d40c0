// Package dashboard shows what a database holds: as pages for people, which work without script, as JSON, as metrics for Prometheus, and as files. It reads
// the database alone, so that it works when no worker runs; notes and requests are all that it writes.
//
// A page is a pure function of the database, the time and a query (page.go and the file of each page). Its data is rendered by html/*.html, or as JSON.
package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Dashboard serves a store.
type Dashboard struct {
	Store      store.Store
	Bloodhound string           // version of the program
	Now        func() time.Time // the clock
	Guard      Guard
	// Mounted is served below /store/v1/, if it is not nil: the store itself, for workers.
	Mounted http.Handler

	model *Model
}

// Bounds of requests.
const (
	firstRead    = 3 * time.Second // how long a page waits for the first reading of the store
	loadTime     = 10 * time.Second
	maxFormBytes = 64 << 10
)

// route is a path that is served.
type route struct {
	pattern string // as http.ServeMux has it
	serve   http.HandlerFunc
	open    bool // without a token
}

// routes are all paths.
func (d *Dashboard) routes() []route {
	list := []route{
		{"GET /style.css", static("text/css; charset=utf-8", report.Style+report.TableStyle+ownStyle), true},
		{"GET /page.js", static("text/javascript; charset=utf-8", script), false},
		{"GET /login", d.loginPage, true},
		{"POST /login", d.login, true},
		{"GET /events", d.events, false},
		{"GET /metrics", d.metrics, false},
		{"GET /file", d.file, false},
		{"POST /note", d.note, false},
		{"POST /request", d.request, false},
		{"POST /pause", d.pause, false},
		{"GET /api/v1/status", d.status, false},
		{"/", d.missing, false},
	}
	for i, p := range pages {
		path := "/" + p.name
		if i == 0 {
			path = "/{$}"
		}
		list = append(list, route{"GET " + path, d.page(p), false}, route{"GET /api/v1/" + p.name, d.api(p), false})
	}
	if d.Mounted != nil {
		list = append(list, route{"/store/v1/", d.Mounted.ServeHTTP, false})
	}
	return list
}

// Handler follows the store until ctx ends, and serves it.
func (d *Dashboard) Handler(ctx context.Context) http.Handler {
	d.model = Follow(ctx, d.Store, d.Now)
	mux := http.NewServeMux()
	for _, r := range d.routes() {
		serve := r.serve
		if !r.open {
			serve = d.known(serve)
		}
		mux.HandleFunc(r.pattern, serve)
	}
	return d.Guard.around(mux)
}

// static serves a text that is part of the program.
func static(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, text)
	}
}

// ready waits until the store has been read once, for a while.
func (d *Dashboard) ready(ctx context.Context) {
	select {
	case <-d.model.Caught():
	case <-ctx.Done():
	case <-time.After(firstRead):
	}
}

// make makes the data of a page for a request.
func (d *Dashboard) make(p *page, r *http.Request) (any, State, error) {
	ctx, stop := context.WithTimeout(r.Context(), loadTime)
	defer stop()
	d.ready(ctx)
	return p.make(ctx, d.model, r.URL.Query(), d.Now())
}

// shell returns the frame around each page.
func (d *Dashboard) shell(name string, r *http.Request) *shell {
	return &shell{Name: name, Menu: menu(), Now: d.Now(), Store: d.Store.String(), Bloodhound: d.Bloodhound,
		User: d.Guard.user(r), MayWrite: mayWrite(d.Store), Live: true, query: r.URL.Query()}
}

// page serves a page as HTML.
func (d *Dashboard) page(p *page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, state, err := d.make(p, r)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		s := d.shell(p.name, r)
		s.Title, s.Data, s.State = titleOf(p, data), data, state
		d.write(w, http.StatusOK, s)
	}
}

// titleOf names a page in the browser.
func titleOf(p *page, data any) string {
	switch x := data.(type) {
	case *TestPage:
		return x.Test.Name
	case *FailurePage:
		return x.Failure.Property + ", " + x.Failure.Test.Name
	case *CorpusPage:
		return "corpus of " + x.Test.Name
	case *ComparePage:
		return "builds of " + x.Test.Name
	}
	return p.title
}

func (d *Dashboard) write(w http.ResponseWriter, code int, s *shell) {
	var b strings.Builder
	if err := s.html(&b); err != nil {
		http.Error(w, "the page failed: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprint(w, b.String())
}

// fail answers a request for a page that cannot be made.
func (d *Dashboard) fail(w http.ResponseWriter, r *http.Request, err error) {
	s := d.shell("error", r)
	s.Title, s.Error = "This page failed", err.Error()
	code := http.StatusInternalServerError
	if errors.Is(err, errNotThere) || errors.Is(err, errNoPage) {
		s.Title, code = "Page not found", http.StatusNotFound
	}
	s.State, _ = d.model.State()
	d.write(w, code, s)
}

func (d *Dashboard) missing(w http.ResponseWriter, r *http.Request) {
	err := fmt.Errorf("%s is %w", r.URL.Path, errNoPage)
	if strings.HasPrefix(r.URL.Path, "/api/") {
		answer(w, http.StatusNotFound, map[string]string{"error": err.Error()})
		return
	}
	d.fail(w, r, err)
}

// api serves the data of a page as JSON.
func (d *Dashboard) api(p *page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, state, err := d.make(p, r)
		switch {
		case errors.Is(err, errNotThere):
			answer(w, http.StatusNotFound, map[string]string{"error": err.Error()})
		case err != nil:
			answer(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		default:
			answer(w, http.StatusOK, map[string]any{"state": state, p.name: data})
		}
	}
}

func answer(w http.ResponseWriter, code int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.Encode(document)
}

// status serves how far the store was read, at once.
func (d *Dashboard) status(w http.ResponseWriter, _ *http.Request) {
	state, _ := d.model.State()
	answer(w, http.StatusOK, map[string]any{"bloodhound": d.Bloodhound, "store": d.Store.String(), "state": state})
}

// file serves a blob that a record names: the file of a failure, or what a worker made for a request. Whatever is in it, it cannot act as a page of the
// dashboard.
func (d *Dashboard) file(w http.ResponseWriter, r *http.Request) {
	digest := store.Digest(r.URL.Query().Get("digest"))
	named := false
	d.ready(r.Context())
	d.model.Read(func(v *records.View) { named = v.Names(digest) })
	if !named || !digest.Valid() {
		d.fail(w, r, fmt.Errorf("a file %q is %w", digest, errNotThere))
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), loadTime)
	defer stop()
	b, err := d.Store.Blob(ctx, digest)
	if err != nil {
		if errors.Is(err, store.ErrNoBlob) {
			err = fmt.Errorf("the file is %w: merge the database of the worker that wrote this file into this one", errNotThere)
		}
		d.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline'; "+
		"script-src 'unsafe-inline'; frame-ancestors 'self'")
	if isPage(b) {
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("X-Frame-Options", "SAMEORIGIN")
	} else {
		h.Set("Content-Type", "application/json")
		name := string(digest[:16])
		if id := r.URL.Query().Get("id"); failureName.MatchString(id) {
			name = id // the replay command names it so
		}
		h.Set("Content-Disposition", `attachment; filename="`+name+`.json"`)
	}
	w.Write(b)
}

// failureName is an id that is a part of a file's name.
var failureName = regexp.MustCompile(`^[0-9a-f]{1,64}(-[0-9a-f]{1,64})?$`)

// doctype is the beginning of the pages of runs.
const doctype = "<!doctype html>"

func isPage(b []byte) bool { return strings.HasPrefix(string(b[:min(len(b), len(doctype))]), doctype) }
