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
const Kinds = "a folder (PATH or dir:PATH), postgres://, redis://, rediss://, http://, https://, memory:, readonly:URL, or LOCAL,URL for a local database in front of a shared one"

var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)

// Open opens the database of a URL. A server is asked on first use, so that a worker whose shared database is away can begin. Errors and names
// of databases have no passwords.
func Open(text string) (store.Store, error) {
	if local, shared, ok := layers(text); ok {
		return layered(local, shared)
	}
	kind := ""
	if m := scheme.FindStringSubmatch(text); m != nil {
		kind = strings.ToLower(m[1])
	}
	switch kind {
	case "":
		return folder(text)
	case "dir":
		return folder(text[len("dir:"):])
	case "memory":
		if text != "memory:" {
			return nil, errors.New("store: write memory: alone; it has no name")
		}
		return store.NewMemory(), nil
	case "readonly":
		s, err := Open(text[len("readonly:"):])
		if err != nil {
			return nil, err
		}
		return store.ReadOnly{Store: s}, nil
	case "postgres", "postgresql":
		return opened(postgres.Open(text))
	case "redis", "rediss":
		return opened(redis.Open(text))
	case "http", "https":
		token, err := remote.Token()
		if err != nil {
			return nil, err
		}
		return opened(remote.Open(text, token))
	}
	return nil, fmt.Errorf("store: %q is no kind of database; it is %s. A folder whose name has a colon is dir:PATH", kind+":", Kinds)
}

// ForWorker opens the database of a URL for a process that must go on while it is away: one on a server gets a local one in front, in a folder.
func ForWorker(text, folder string) (store.Store, error) {
	if _, _, ok := layers(text); !ok {
		m := scheme.FindStringSubmatch(text)
		if m != nil && !slices.Contains([]string{"dir", "memory", "readonly"}, strings.ToLower(m[1])) {
			return layered(folder, text)
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

func folder(path string) (store.Store, error) {
	if path == "" {
		return nil, fmt.Errorf("store: the name of a database is empty; it is %s", Kinds)
	}
	return opened(store.OpenDir(path))
}

// layers divides LOCAL,URL. A URL of several hosts has commas, too.
func layers(text string) (local, shared string, ok bool) {
	local, shared, ok = strings.Cut(text, ",")
	return local, shared, ok && !strings.Contains(local, "://") && !strings.HasPrefix(local, "readonly:")
}

func layered(local, shared string) (store.Store, error) {
	l, err := Open(local)
	if err != nil {
		return nil, err
	}
	s, err := Open(shared)
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

// Existing opens a database as Open does, but makes no folder where there is none: a name that is mistyped is no empty database.
func Existing(text string) (store.Store, error) {
	for _, part := range strings.SplitN(text, ",", 2) {
		path := strings.TrimPrefix(strings.TrimPrefix(part, "readonly:"), "dir:")
		if scheme.MatchString(path) {
			continue
		}
		if _, err := os.Stat(filepath.Join(path, "log")); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("store: there is no database in %s", path)
		}
	}
	return Open(text)
}
