package stored

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
)

// knownIn is a failure of a store.
type knownIn struct {
	url           string
	test, failure records.ID
}

// FetchFailure fetches a failure from the named store into the state folder, and returns the arguments of the verb with the path of that
// file instead of the id.
func FetchFailure(ctx context.Context, a *console.App, f *flags.Set, url string, args []string) ([]string, error) {
	name := args[0]
	if url == "" || report.IsFailurePath(name) || !failure.Form.MatchString(name) {
		return args, nil
	}
	p, err := project.Load(ctx, a, f, args[1:])
	if err != nil {
		return nil, err
	}
	if _, err := report.Load(p.State, name); err == nil {
		return args, nil
	}
	path := ""
	err = database.WithStore(ctx, a, url, open.Existing, func(s store.Store) (err error) {
		path, err = fetchFile(ctx, s, p, name)
		return err
	})
	return append([]string{path}, args[1:]...), err
}

// inStore is a failure that no file of the state folder has, but the store of the project. If that has none of the name, it is unknown.
func inStore(ctx context.Context, a *console.App, p *project.Project, name string, unknown error) (x *report.Failure, err error) {
	place := database.StoreURL("", filepath.Join(p.State, "store"))
	if _, err := os.Stat(filepath.Join(place, "log")); err != nil && database.StoreURL("", "") == "" || !failure.Form.MatchString(name) {
		return nil, unknown
	}
	err = database.WithStore(ctx, a, place, open.Existing, func(s store.Store) error {
		path, err := fetchFile(ctx, s, p, name)
		if err == nil {
			x, err = report.Load(p.State, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w; and %w", unknown, err)
	}
	return x, nil
}

// fetchFile stores the file of a failure of a store in the state folder, and returns its path.
func fetchFile(ctx context.Context, s store.Store, p *project.Project, name string) (path string, err error) {
	v, err := database.ViewOf(ctx, s, records.FailuresOf(p.TestID()))
	if err != nil {
		return "", err
	}
	_, known, err := FailureIn(v, name)
	if err != nil {
		return "", database.AsMistake(err)
	}
	b, err := s.Blob(ctx, known.Best().File)
	if err != nil {
		return "", err
	}
	x, err := report.Parse("the file of failure "+name, b)
	if err != nil {
		return "", err
	}
	x.Belongs(p.TestName())
	path = report.FailurePath(p.State, filepath.Base(x.Name()))
	if had, err := report.Load("", path); err == nil && had.Hash == x.Hash && (had.Smallest != nil || x.Smallest == nil) {
		return path, nil // it may know more
	}
	return path, report.Write(path, x)
}

// WhereKnown finds a failure in the named store, or else in the store of the project; nil if neither has it.
func WhereKnown(ctx context.Context, a *console.App, url string, p *project.Project, f *report.Failure) (*knownIn, error) {
	asked := database.StoreURL(url, "") != ""
	switch {
	case p.Spec == nil && url != "":
		return nil, fmt.Errorf("add the project's folder as an argument after the failure's id or file; a store groups failures by project and test")
	case p.Spec == nil:
		return nil, nil
	}
	k := &knownIn{database.StoreURL(url, filepath.Join(p.State, "store")), p.TestID(), records.FailureID(p.TestID(), f.Signature)}
	if _, err := os.Stat(filepath.Join(k.url, "log")); err != nil && !asked {
		return nil, nil
	}
	there, name := false, ""
	err := database.WithStore(ctx, a, k.url, open.Existing, func(s store.Store) error {
		name = s.String() // the URL may have a password
		_, err := s.Read(ctx, records.FailuresOf(k.test)+string(k.failure), "", func(store.Entry) error { there = true; return nil })
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !there && url != "":
		return nil, fmt.Errorf("%s has no failure %s of %s; a worker of the project adds it", name, f.ID, p.TestName())
	case !there:
		return nil, nil
	}
	return k, nil
}

// RecordExplained records an explanation of a failure of a store.
func RecordExplained(ctx context.Context, a *console.App, k *knownIn, e *report.Explanation) error {
	x, err := ExplanationOf(e)
	if err != nil {
		return err
	}
	r := records.Explained{Hash: x.Hash, AtMs: time.Now().UnixMilli(), Explanation: x.JSON}
	return database.WithStore(ctx, a, k.url, open.Existing, func(s store.Store) error { return s.Add(ctx, r.Entry(k.test, k.failure)) })
}

// FailureIn finds a failure of a store by its id there.
func FailureIn(v *records.View, id string) (*records.TestView, *records.FailureView, error) {
	var test *records.TestView
	var found *records.FailureView
	for _, t := range v.Tests {
		for _, f := range t.Named(id) {
			switch {
			case found != nil:
				return nil, nil, fmt.Errorf("both %s and %s have a failure %s; use the failure's page on the dashboard", t.Name, test.Name, id)
			default:
				test, found = t, f
			}
		}
	}
	if found == nil {
		return nil, nil, fmt.Errorf("the store has no failure %s; the failure's page on the dashboard shows its id", id)
	}
	return test, found, nil
}
