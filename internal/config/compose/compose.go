// Package compose reads Compose files into one tree of keys with the places where they were written.
package compose

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/consts"
	composego "github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// SecretValue is the key at which compose-go keeps the value of a secret's variable.
const SecretValue = types.SecretConfigXValue

// maxComposeFiles bounds the Compose files of one project.
const maxComposeFiles = 256

// composition is the Compose files of a project. compose-go makes one model of them (interpolation, include, extends,
// overrides: https://github.com/compose-spec/compose-spec); the files as they were written show where each part of the model
// comes from.
type composition struct {
	reader *source.Reader
	files  []*composeFileRead // the named ones in their order, then those that they include or extend
}

type composeFileRead struct {
	path string // absolute
	root *source.Node
	// base says that only those parts of the file are in the model that services of other files extend.
	base bool
}

// Name is a Compose file as it was named: on the command line, or in bloodhound.yaml at a place.
type Name struct {
	Path string
	At   *source.Node // nil on the command line
	// Content, if not nil, is what the Compose file says: it stands in the file of that path.
	Content *source.Node
}

// Read reads Compose files and makes one tree of them, with the keys of keys.Compose. It returns nil where there are none,
// or after a mistake. Files that the command line names and that cannot be read are its error.
func Read(l *source.Reader, names []Name) (*source.Node, error) {
	if len(names) == 0 {
		return nil, nil
	}
	mistakes := len(l.Errs)
	c := &composition{reader: l}
	dir, err := filepath.Abs(filepath.Dir(names[0].Path))
	if err != nil {
		return nil, err
	}
	env := l.ProjectEnv(l.Env, filepath.Join(dir, ".env"))
	var config types.ConfigDetails
	for _, name := range names {
		file := types.ConfigFile{}
		path, err := filepath.Abs(name.Path)
		switch {
		case err != nil:
		case name.Content != nil:
			file.Content, err = c.inside(name.Content, path, env)
		default:
			err = c.read(name.Path, path, env, false)
		}
		switch {
		case err != nil && name.At != nil:
			l.Fail(name.At.Position, "write the paths of Compose files, relative to this file", "compose: %v", err)
		case err != nil:
			return nil, source.Unread(err)
		}
		file.Filename = path
		config.ConfigFiles = append(config.ConfigFiles, file)
	}
	for i := 0; i < len(c.files); i++ { // it grows
		c.gather(c.files[i], env)
	}
	if len(l.Errs) > mistakes {
		return nil, nil
	}
	config.WorkingDir, config.Environment = dir, maps.Clone(env)
	logrus.SetOutput(io.Discard) // compose-go's warnings; those that matter are notes here
	model, err := composego.LoadModelWithContext(context.Background(), config, func(o *composego.Options) {
		o.SetProjectName(cmp.Or(composego.NormalizeProjectName(cmp.Or(env[consts.ComposeProjectName], filepath.Base(dir))),
			"project"), env[consts.ComposeProjectName] != "")
	})
	if err != nil {
		c.failed(err)
		return nil, nil
	}
	tree := c.tree(nil, model)
	schema.Check(l, tree, &keys.Compose, true)
	if len(l.Errs) > mistakes {
		return nil, nil
	}
	return tree, nil
}

// read reads one file, and compares it with the tables as it is written.
func (c *composition) read(name, path string, env map[string]string, base bool) error {
	if slices.ContainsFunc(c.files, func(f *composeFileRead) bool { return f.path == path }) {
		return nil
	}
	if len(c.files) == maxComposeFiles {
		return fmt.Errorf("%s: more than %d Compose files", name, maxComposeFiles)
	}
	l := c.reader
	l.Surveying = true
	defer func() { l.Surveying = false }()
	f, content, err := l.Open(name, env)
	if err != nil {
		return err
	}
	f.Compose = true
	n := l.Parse(f, content, true)
	if n == nil || n.Bad {
		return nil
	}
	if n.Kind != source.Mapping {
		l.Fail(n.Position, "see https://docs.docker.com/reference/compose-file/ for the format", "a Compose file cannot be %s", n.Kind)
		return nil
	}
	schema.Check(l, n, &keys.Compose, false)
	if e := n.Entry("version"); e != nil { // compose-go takes it away
		l.NoteIdle(e.Key.Position, "version", keys.NoVersion)
	}
	c.files = append(c.files, &composeFileRead{path: path, root: n, base: base})
	return nil
}

// inside reads a Compose file that stands in a bloodhound.yaml, at the key `compose`, and gives its text.
func (c *composition) inside(n *source.Node, path string, env map[string]string) ([]byte, error) {
	text, err := n.File.TextOf("compose")
	if err != nil {
		return nil, err
	}
	c.reader.Surveying = true
	defer func() { c.reader.Surveying = false }()
	root := n.In(n.File.AsCompose(env))
	schema.Check(c.reader, root, &keys.Compose, false)
	c.files = append(c.files, &composeFileRead{path: path, root: root})
	return text, nil
}

// gather reads what a file includes and what its services extend.
func (c *composition) gather(f *composeFileRead, env map[string]string) {
	l := c.reader
	elsewhere := func(at *source.Node, path string, env map[string]string, base bool) {
		if strings.Contains(path, "://") || strings.HasPrefix(path, "git@") || strings.Contains(path, ".git#") {
			l.Fail(at.Position, "download it, and write its local path", "%q is not a local file", source.Shorten(path))
			return
		}
		name, full := path, path
		if !filepath.IsAbs(path) {
			name, full = at.File.Beside(path), filepath.Join(at.File.Dir, path)
		}
		if err := c.read(name, full, env, base); err != nil {
			l.Fail(at.Position, "write the path of an existing Compose file", "%v", err)
		}
	}
	for _, item := range f.root.Get("include").List() {
		paths, with := item, env
		if item.Kind == source.Mapping {
			paths = item.Get("path")
			for _, file := range item.Get("env_file").Scalars() {
				with = l.ProjectEnv(with, l.Under(file.File.Dir, file.Text))
			}
			if project := item.Get("project_directory"); project != nil && !item.Has("env_file") {
				with = l.ProjectEnv(with, filepath.Join(l.Under(project.File.Dir, project.Text), ".env"))
			}
		}
		for _, p := range paths.Scalars() {
			if item.Kind != source.Mapping {
				with = l.ProjectEnv(env, filepath.Join(filepath.Dir(l.Under(p.File.Dir, p.Text)), ".env"))
			}
			elsewhere(p, p.Text, with, f.base)
		}
	}
	for _, e := range f.root.Get("services").EntriesOf() {
		if file := e.Value.Get("extends").Get("file"); file != nil {
			elsewhere(file, file.Text, env, true)
		}
	}
}
