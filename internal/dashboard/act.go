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

// note writes a note on a failure.
func (d *Dashboard) note(w http.ResponseWriter, r *http.Request) {
	d.act(w, r, func(t, f records.ID, by string) (store.Entry, error) {
		n := records.Note{By: by, Text: strings.TrimSpace(r.PostFormValue("text")), State: r.PostFormValue("state"), URL: strings.TrimSpace(r.PostFormValue("url")), AtMs: d.Now().UnixMilli()}
		u, err := url.Parse(n.URL)
		switch {
		case len(n.Text) > maxTextBytes || !utf8.ValidString(n.Text):
			return store.Entry{}, fmt.Errorf("a text has at most %d bytes", maxTextBytes)
		case n.State != "" && !slices.Contains([]string{records.Open, records.Acknowledged, records.Ignored}, n.State):
			return store.Entry{}, fmt.Errorf("%q is no state of a failure", n.State)
		case n.URL != "" && (err != nil || len(n.URL) > maxURLBytes || u.Scheme != "https" && u.Scheme != "http"):
			return store.Entry{}, errors.New("a link begins with https:// or http://")
		case n.Text == "" && n.State == "" && n.URL == "":
			return store.Entry{}, errors.New("write a text, choose a state or give a link")
		}
		return n.Entry(t, f), nil
	})
}

// request asks workers for work on a failure.
func (d *Dashboard) request(w http.ResponseWriter, r *http.Request) {
	d.act(w, r, func(t, f records.ID, by string) (store.Entry, error) {
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

// act writes an entry about the failure that a form is about, and shows the failure again.
func (d *Dashboard) act(w http.ResponseWriter, r *http.Request, make func(test, failure records.ID, by string) (store.Entry, error)) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), loadTime)
	defer stop()
	d.ready(ctx)
	var test, failure records.ID
	var err error
	d.model.Read(func(v *records.View) {
		var t *records.TestView
		var f *records.FailureView
		if t, f, err = (&ask{view: v, query: r.URL.Query()}).failure(); err == nil {
			test, failure = t.ID, f.ID
		}
	})
	if err != nil {
		d.fail(w, r, err)
		return
	}
	by := d.Guard.user(r)
	if by == "" {
		by = strings.TrimSpace(r.PostFormValue("by"))
	}
	if by == "" || len(by) > maxNameBytes || !utf8.ValidString(by) {
		http.Error(w, fmt.Sprintf("give your name, in %d bytes at most", maxNameBytes), http.StatusBadRequest)
		return
	}
	e, err := make(test, failure, by)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := d.Store.Add(ctx, e); err != nil {
		code := http.StatusServiceUnavailable
		if errors.Is(err, store.ErrReadOnly) {
			code = http.StatusForbidden
		}
		http.Error(w, "it could not be written: "+err.Error(), code)
		return
	}
	d.model.take(e)
	redirect(w, addressOf("failure", url.Values{"test": {string(test)}, "id": {string(failure)}}))
}
