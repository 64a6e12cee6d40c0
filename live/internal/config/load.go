// Package config reads the configurations of live testing: live.yaml, and federation.yaml of a domain. Their keys are in the tables of
// internal/config/keys.
package config

import (
	"bytes"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// load reads a configuration, with which no other file is merged. The page has an example of it. Mistakes in the file are a source.Errors.
func load(name, page string, shape *schema.Shape, read func(*source.Reader, *source.Node)) ([]source.Note, error) {
	l := source.NewReader(nil)
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
		schema.Check(l, n, shape, false)
		read(l, n)
	}
	if len(l.Errs) > 0 {
		return nil, source.Sort(l.Errs, l.Files)
	}
	return l.Notes, nil
}
