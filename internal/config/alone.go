package config

import (
	"bytes"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// loadAlone reads a configuration that is no bloodhound.yaml, and that no other file is merged with. The page has an example of
// it. Mistakes in the file are an Errors.
func loadAlone(name, page string, shape *schema.Shape, read func(*load.State, *source.Node)) ([]Note, error) {
	l := &load.State{Reader: source.NewReader(nil)}
	f, content, err := l.Open(name, l.ProjectEnv(l.Env, filepath.Join(filepath.Dir(name), ".env")))
	if err != nil {
		return nil, source.Unread(err)
	}
	if len(bytes.TrimSpace(content)) == 0 {
		content = []byte("{}")
	}
	n := l.Parse(f, content, false)
	if n != nil && !n.Bad && n.Kind != source.Mapping {
		l.Fail(n.Position, "write `key: value` lines; "+page+" has an example", "a configuration cannot be %s", n.Kind)
	}
	if n != nil && len(l.Errs) == 0 {
		schema.Check(l.Reader, n, shape, false)
		read(l, n)
	}
	if len(l.Errs) > 0 {
		return nil, source.Sort(l.Errs, l.Files)
	}
	return l.Notes, nil
}
