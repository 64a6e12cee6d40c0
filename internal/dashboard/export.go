package dashboard

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// exportMark is a file in the folder of an export, so that a later one may replace it.
const exportMark = ".bloodhound-export"

// MaxExport bounds the pages of an export.
const MaxExport = 20_000

// Export reads the store and writes all pages into a folder, as files that a browser opens from there. It returns how many it has written. Links lead from
// page to page; what a server alone can do, such as searching, is left out.
func (d *Dashboard) Export(ctx context.Context, folder string) (int, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m := Follow(ctx, d.Store, d.Now)
	for done := false; !done; {
		state, changed := m.State()
		if state.Problem != "" {
			return 0, fmt.Errorf("%s cannot be read: %s", d.Store, state.Problem)
		}
		select {
		case <-m.Caught():
			done = true
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return 0, err
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	if len(files) > 0 && !slices.ContainsFunc(files, func(f os.DirEntry) bool { return f.Name() == exportMark }) {
		return 0, fmt.Errorf("%s has other files, such as %s; choose an empty folder or the folder of an earlier "+
			"export", folder, files[0].Name())
	}
	if err := os.WriteFile(filepath.Join(folder, exportMark), nil, 0o666); err != nil {
		return 0, err
	}
	for name, text := range map[string]string{"style.css": report.Style + report.TableStyle + ownStyle, "page.js": script} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			return 0, err
		}
	}
	e := &export{d, m, folder, map[string]bool{}}
	for _, p := range pages {
		var list []url.Values
		if p.title != "" {
			list = append(list, url.Values{}) // the menu does not say which test a page is about
		}
		m.Read(func(v *records.View) { list = append(list, p.all(v)...) })
		for _, q := range list {
			if err := e.write(ctx, p, q); err != nil {
				return len(e.written), err
			}
		}
	}
	return len(e.written), nil
}

// export is one that is under way.
type export struct {
	of      *Dashboard
	model   *Model
	folder  string
	written map[string]bool
}

// write writes a page, if it was not written before.
func (e *export) write(ctx context.Context, p *page, q url.Values) error {
	file := fileOf(p.name, q)
	switch {
	case e.written[file]:
		return nil
	case len(e.written) == MaxExport:
		return fmt.Errorf("an export has at most %d pages, and this database has more: serve it, without --export", MaxExport)
	}
	data, state, err := p.make(ctx, e.model, q, e.of.Now())
	s := &shell{Name: p.name, Menu: menu(), Data: data, State: state, Now: e.of.Now(), Store: e.of.Store.String(), Bloodhound: e.of.Bloodhound}
	if err != nil { // such as the codes of a test that has none
		s.Name, s.Title, s.Error = "error", p.title, err.Error()
	} else {
		s.Title = titleOf(p, data)
	}
	var b strings.Builder
	if err := s.html(&b); err != nil {
		return err
	}
	e.written[file] = true
	if f, is := data.(*FailurePage); is && f.Run != nil {
		e.written[runFile(f.Run.File)] = true
		if err := os.WriteFile(filepath.Join(e.folder, runFile(f.Run.File)), append([]byte(runPolicy), f.page[len(doctype):]...), 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(e.folder, file), []byte(b.String()), 0o666)
}

// runFile is the name of the page of a run in an export.
func runFile(d store.Digest) string { return "run-" + string(d) + ".html" }

// runPolicy stands before the page of a run in an export, which no server keeps apart from the other pages: it runs no script but that of report pages, and
// loads and sends nothing.
var runPolicy = doctype + `<meta http-equiv="Content-Security-Policy" content="` + report.Policy() + `; form-action 'none'; base-uri 'none'">`
