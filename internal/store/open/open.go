// Package open opens a database of internal/store by its URL.
package open

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/postgres"
	"github.com/bloodhound-dst/bloodhound/internal/store/redis"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
)

// Default is the database that is used where none is named: a folder beside the configuration.
const Default = "dir:.bloodhound/store"

// Kinds lists the kinds of databases, for people.
const Kinds = "a folder (PATH or dir:PATH), postgres://, redis://, rediss://, http://, https://, memory:, readonly:URL, or " +
	"LOCAL,URL for a local database in front of a shared one"

var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)

// Open opens the database of a URL. A server is asked on first use, so that a worker whose shared database is away can begin. Errors and names
// of databases have no passwords.
func Open(text string) (store.Store, error) { return opening{make: true, tables: true}.open(text) }

// Existing opens a database as Open does, but makes no folder where there is none: a name that is mistyped is no empty database.
func Existing(text string) (store.Store, error) { return opening{}.open(text) }

// Served opens a database for a dashboard: as Existing does, but one on a server is made, since workers may come by the dashboard alone.
func Served(text string) (store.Store, error) { return opening{tables: true}.open(text) }

// opening says which missing things are created.
type opening struct{ make, tables bool } // folders; what a database has on a server

func (o opening) open(text string) (store.Store, error) {
	text = strings.TrimSpace(text)
	if local, shared, ok := layers(text); ok {
		return o.layered(local, shared)
	}
	kind, rest := divide(text)
	switch kind {
	case "":
		return o.folder(text)
	case "dir":
		return o.folder(rest)
	case "memory":
		if rest != "" {
			return nil, errors.New("store: write memory: alone, without a name")
		}
		return store.NewMemory(), nil
	case "readonly":
		s, err := opening{}.open(rest)
		if err != nil {
			return nil, err
		}
		return store.ReadOnly{Store: s}, nil
	}
	if !slices.Contains(servers, kind) {
		return nil, fmt.Errorf("store: %q is not a kind of store; use %s. For a folder with a colon in its name, write dir:PATH", kind+":", Kinds)
	}
	if err := checkURL(kind, rest); err != nil {
		return nil, err
	}
	text = kind + ":" + rest
	switch kind {
	case "postgres", "postgresql":
		p, err := postgres.Open(text)
		if err == nil {
			p.Existing = !o.tables
		}
		return opened(p, err)
	case "redis", "rediss":
		r, err := redis.Open(text)
		if err == nil {
			r.Existing = !o.tables
		}
		return opened(r, err)
	default:
		token, err := remote.Token()
		if err != nil {
			return nil, err
		}
		return opened(remote.Open(text, token))
	}
}

// servers are the schemes of databases on servers.
var servers = []string{"postgres", "postgresql", "redis", "rediss", "http", "https"}

// divide divides a name into its scheme, in lower case, and what stands behind the colon. A folder has none.
func divide(text string) (kind, rest string) {
	m := scheme.FindStringSubmatch(text)
	if m == nil {
		return "", text
	}
	return strings.ToLower(m[1]), text[len(m[0]):]
}

// checkURL refuses what stands behind the scheme of a server if a part of a password could be taken for the host or what follows it, and be shown.
func checkURL(kind, rest string) error {
	where, ok := strings.CutPrefix(rest, "//")
	switch {
	case !ok:
		return fmt.Errorf("store: %s: must be followed by //; write %s://HOST:PORT", kind, kind)
	case strings.Contains(where, "://"):
		return fmt.Errorf("store: the URL of a %s store contains another URL; for a local store in front of it, write LOCAL,URL, where LOCAL is a folder", kind)
	}
	if at := strings.IndexByte(where, '@'); strings.Count(where, "@") > 1 || strings.IndexAny(where, "/?#") < at && strings.ContainsAny(where, "/?#") {
		return fmt.Errorf("store: the %s URL cannot be read: an @ is allowed only between password and host; write special characters "+
			"as %%XX: @ is %%40, / is %%2F, ? is %%3F, # is %%23", kind)
	}
	return nil
}

// ForWorker opens the database of a URL for a process that must go on while it is away: one on a server gets a local one in front, in a folder.
func ForWorker(text, folder string) (store.Store, error) {
	text = strings.TrimSpace(text)
	if _, _, ok := layers(text); !ok {
		if kind, _ := divide(text); slices.Contains(servers, kind) {
			return opening{make: true, tables: true}.layered(folder, text)
		}
	}
	return Open(text)
}

// opened keeps a nil of a type from being a store.
func opened[S store.Store](s S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// urlLike matches a mistyped URL. It is not accepted as the name of a folder: it may contain a password, which names of
// folders show.
var urlLike = regexp.MustCompile(`(?i)://|//.*@|:.*@|^[^/]*@|^(postgres|postgresql|redis|rediss|http|https)(:|//)`)

func (o opening) folder(path string) (store.Store, error) {
	path = strings.TrimSpace(path)
	switch {
	case path == "":
		return nil, fmt.Errorf("store: the name of the store is empty; use %s", Kinds)
	case urlLike.MatchString(path):
		return nil, fmt.Errorf("store: this looks like a URL, but does not begin with a kind of store, a colon and two "+
			"slashes. Use %s. For a folder with an @ in its name, write ./NAME", Kinds)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return nil, fmt.Errorf("store: %s is a file, but a store is a folder; to read a file from db export, use bloodhound db import", path)
	}
	if _, err := os.Stat(filepath.Join(path, "log")); !o.make && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("store: there is no database in %s", path)
	}
	return opened(store.OpenDir(path))
}

// layers divides LOCAL,URL. A URL of several hosts has commas, too.
func layers(text string) (local, shared string, ok bool) {
	local, shared, ok = strings.Cut(text, ",")
	return local, shared, ok && !strings.Contains(local, "://") && !strings.HasPrefix(local, "readonly:")
}

func (o opening) layered(local, shared string) (store.Store, error) {
	l, err := o.open(local)
	if err != nil {
		return nil, err
	}
	s, err := o.open(shared)
	if err != nil {
		l.Close()
		return nil, err
	}
	mark := ""
	if d, ok := l.(*store.Dir); ok {
		mark = filepath.Join(d.Path(), "pushed-"+string(store.DigestOf([]byte(place(shared))))[:16])
	}
	return store.NewLayered(l, s, mark), nil
}

// place is a URL without its password, so that the same database has the same place when that changes; that of a folder is where it lies.
func place(text string) string {
	text = strings.TrimSpace(text)
	if path := strings.TrimPrefix(text, "dir:"); !scheme.MatchString(path) {
		if whole, err := filepath.Abs(path); err == nil {
			return whole
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	query.Del("password")
	u.RawQuery = query.Encode()
	return u.String()
}
