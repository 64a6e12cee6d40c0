package open_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(remote.TokenVariable, "t0ken")
	if s, err := open.Open("a"); err != nil || s.Close() != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"a": "a", "dir:b": "b", "./c:d": "./c:d", "dir:e:f": "e:f", "memory:": "memory:", "readonly:a": "readonly:a", "readonly:memory:": "readonly:memory:",
		"postgres://u:secret@host/db":                            "postgres://host/db",
		"postgresql://u:secret@host:5433,other:5434/db?schema=s": "postgres://host:5433,other:5434/db?schema=s",
		"redis://:secret@host:6380/2?prefix=p":                   "redis://host:6380/2?prefix=p", "rediss://host": "rediss://host",
		"http://host:1/x/": "http://host:1/x", "https://host": "https://host",
		"a,redis://:secret@host": "redis://host through a", "memory:,dir:b": "b through memory:",
		"readonly:postgres://u:secret@a,b/db": "readonly:postgres://a,b/db",
		" postgres://u:secret@host/db\n":      "postgres://host/db", "a, redis://:secret@host": "redis://host through a",
		"Postgres://u:secret@host/db": "postgres://host/db", "./me@home": "./me@home",
	} {
		s, err := open.Open(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := s.String(); got != want || strings.Contains(got, "secret") {
			t.Errorf("%s is %s, want %s", url, got, want)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", url, err)
		}
	}
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(".")
	for url, want := range map[string]string{
		"": "is empty", "dir:": "is empty", "memory:x": "alone",
		"mysql://u:secret@host": `"mysql:" is not a kind of store; use a folder`, "readonly:etcd:secret": "not a kind", "a,": "is empty", ",a": "is empty",
		"http://u:secret@host": "BLOODHOUND_STORE_TOKEN", "https:///x": "cannot be read",
		"postgres://u:sec/ret@host": "cannot be read", "a,foo:secret": "not a kind",
		"postgres://u:s3@secret@host/db": "%40", "redis://u:12/secret@host": "%2F", "postgres://u:12?secret@host": "%3F", "https://u:1#secret@host": "%23",
		"postgres://u:secret@host/db,redis://:secret@host": "LOCAL,URL", "postgres//u:secret@host": "looks like a URL",
		"://u:secret@host": "looks like a URL", "dir: postgres://u:secret@host": "looks like a URL",
		"postgre//u:secret@host": "looks like a URL", "secret@host/db": "looks like a URL", "x/u:secret@host": "looks like a URL",
		"redis:/secret": "write redis://HOST", "postgres:secret": "write postgres://HOST", "redis:": "write redis://",
		"file": "db import",
	} {
		s, err := open.Open(url)
		if err == nil {
			s.Close()
			t.Errorf("%s was taken for %s", url, s)
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
		if s, err := open.Existing(url); err == nil {
			s.Close()
			t.Errorf("%s was taken for %s, which exists", url, s)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if after, _ := os.ReadDir("."); len(after) != len(before) {
		t.Errorf("it has made one of %s", after)
	}
}

func TestExisting(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, url := range []string{"none", "dir:none", "readonly:none", "none,memory:", "memory:,none", "readonly:none"} {
		if s, err := open.Existing(url); err == nil {
			t.Errorf("%s is %s", url, s)
		}
	}
	if list, _ := os.ReadDir("."); len(list) > 0 {
		t.Errorf("it has made %s", list)
	}
	for _, url := range []string{"some", "dir:some", "readonly:some", "some,memory:", "memory:"} {
		if s, err := open.Open("some"); err != nil || s.Close() != nil {
			t.Fatal(err)
		}
		s, err := open.Existing(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		s.Close()
	}
}

// A local database in front of a shared one remembers by the URL how far it came, whatever the password.
func TestMarks(t *testing.T) {
	local, behind := t.TempDir(), t.TempDir()
	marks := func() []string {
		list, err := filepath.Glob(filepath.Join(local, "pushed-*"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	use := func(url string) {
		s, err := open.Open(url)
		if err != nil {
			t.Fatal(err)
		}
		l := s.(*store.Layered)
		defer l.Close()
		if err := l.Add(t.Context(), store.Entry{Key: "k", Value: []byte(url)}); err != nil {
			t.Fatal(err)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	use(local + "," + behind)
	use("dir:" + local + ",dir:" + behind)
	t.Chdir(filepath.Dir(behind))
	use("dir:" + local + "," + filepath.Base(behind))
	if n := len(marks()); n != 1 {
		t.Errorf("%d marks for one database", n)
	}
	d, err := store.OpenDir(behind)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	server := httptest.NewServer(remote.Handler(d, ""))
	defer server.Close()
	use(local + "," + server.URL)
	if n := len(marks()); n != 2 {
		t.Errorf("%d marks for two", n)
	}
	if got := storetest.All(t, d, ""); len(got) != 4 || !slices.IsSorted(got) {
		t.Errorf("%q", got)
	}
}
