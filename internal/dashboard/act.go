package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Bounds of what people write, in bytes.
const (
	maxNameBytes = 80
	maxTextBytes = 4000
	maxURLBytes  = 500
)

var errLongText = fmt.Errorf("a text has at most %d bytes", maxTextBytes)

// note writes a note on a failure.
func (d *Dashboard) note(w http.ResponseWriter, r *http.Request) {
	d.aboutFailure(w, r, func(t, f records.ID, by string) (store.Entry, error) {
		n := records.Note{By: by, Text: strings.TrimSpace(r.PostFormValue("text")), State: r.PostFormValue("state"),
			URL: strings.TrimSpace(r.PostFormValue("url")), AtMs: d.Now().UnixMilli()}
		u, err := url.Parse(n.URL)
		switch {
		case len(n.Text) > maxTextBytes || !utf8.ValidString(n.Text):
			return store.Entry{}, errLongText
		case n.State != "" && !slices.Contains([]string{records.Open, records.Acknowledged, records.Ignored}, n.State):
			return store.Entry{}, fmt.Errorf("%q is not a failure state", n.State)
		case n.URL != "" && (err != nil || len(n.URL) > maxURLBytes || u.Scheme != "https" && u.Scheme != "http"):
			return store.Entry{}, errors.New("a link must begin with https:// or http://")
		case n.Text == "" && n.State == "" && n.URL == "":
			return store.Entry{}, errors.New("write a text, choose a state or give a link")
		}
		return n.Entry(t, f), nil
	})
}

// request asks workers for work on a failure.
func (d *Dashboard) request(w http.ResponseWriter, r *http.Request) {
	d.aboutFailure(w, r, func(t, f records.ID, by string) (store.Entry, error) {
		q := records.Request{Kind: r.PostFormValue("kind"), Test: t, Failure: f, By: by, AtMs: d.Now().UnixMilli()}
		if q.Kind == records.BisectRequest {
			q.Good, q.Bad = strings.TrimSpace(r.PostFormValue("good")), strings.TrimSpace(r.PostFormValue("bad"))
		}
		if err := q.Check(); err != nil {
			return store.Entry{}, err
		}
		return q.Entry(), nil
	})
}

// pause asks all workers to rest, or to go on.
func (d *Dashboard) pause(w http.ResponseWriter, r *http.Request) {
	d.enter(w, r, func(a *ask, by string) (store.Entry, string, error) {
		what, text := r.PostFormValue("workers"), strings.TrimSpace(r.PostFormValue("text"))
		switch {
		case what != "pause" && what != "continue":
			return store.Entry{}, "", fmt.Errorf("unknown action %.20q: use pause or continue", what)
		case len(text) > maxTextBytes || !utf8.ValidString(text):
			return store.Entry{}, "", errLongText
		}
		p := a.view.NextPause(what == "pause", by, text, a.now.UnixMilli())
		return p.Entry(), addressOf("workers", nil), nil
	})
}

// aboutFailure writes an entry about the failure that a form is about, and shows the failure again.
func (d *Dashboard) aboutFailure(w http.ResponseWriter, r *http.Request, make func(test, failure records.ID, by string) (store.Entry, error)) {
	d.enter(w, r, func(a *ask, by string) (store.Entry, string, error) {
		t, f, err := a.failure()
		if err != nil {
			return store.Entry{}, "", err
		}
		e, err := make(t.ID, f.Key(), by)
		return e, addressOf("failure", url.Values{"test": {string(t.ID)}, "id": {string(f.ID)}}), err
	})
}

// enter writes the entry that a form stands for, and leads to the page that shows it.
func (d *Dashboard) enter(w http.ResponseWriter, r *http.Request, make func(a *ask, by string) (e store.Entry, page string, err error)) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), loadTime)
	defer stop()
	d.ready(ctx)
	by := d.Guard.user(r)
	if by == "" {
		by = strings.TrimSpace(r.PostFormValue("by"))
	}
	if by == "" || len(by) > maxNameBytes || !utf8.ValidString(by) {
		http.Error(w, fmt.Sprintf("give your name, in at most %d bytes", maxNameBytes), http.StatusBadRequest)
		return
	}
	var e store.Entry
	var page string
	var err error
	d.model.Read(func(v *records.View) { e, page, err = make(&ask{view: v, query: r.URL.Query(), now: d.Now()}, by) })
	switch {
	case errors.Is(err, errNotThere):
		d.fail(w, r, err)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := d.Store.Add(ctx, e); err != nil {
		code := http.StatusServiceUnavailable
		if errors.Is(err, store.ErrReadOnly) {
			code = http.StatusForbidden
		}
		http.Error(w, "not saved: "+err.Error(), code)
		return
	}
	d.model.take(e)
	redirect(w, page)
}
