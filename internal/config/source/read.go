package source

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// ProjectEnv adds the variables of a .env file to others, which win.
func (r *Reader) ProjectEnv(env map[string]string, file string) map[string]string {
	all := maps.Clone(r.dotEnv(file))
	maps.Copy(all, env)
	return all
}

// Unread adds the remedy to the error of a file that was named outside of files.
func Unread(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w; give the path of an existing file", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w; make the file readable", err)
	}
	return err
}

// Beside is a path that a file names, as the user would name it.
func (f *File) Beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.Name), path)
}

// Under makes a path of a file's absolute.
func (r *Reader) Under(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, ok := r.Env["HOME"]; ok {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// File is a file that was read, with what its values are filled in from.
type File struct {
	Name   string // as the user named it
	Dir    string // absolute: relative paths in the file start here
	lines  []string
	Lookup func(name string) (string, bool) // variables: the environment, then .env
	// Compose distinguishes a Compose file from a bloodhound.yaml.
	Compose bool
	// Unset are the variables that have no value and count as empty in the value at a place, by that place and by the place of its key.
	Unset map[spot][]string
}

// AsCompose is the file as one with a Compose file in it, which is filled in from env.
func (f *File) AsCompose(env map[string]string) *File {
	return &File{Name: f.Name, Dir: f.Dir, lines: f.lines, Lookup: shell.LookupIn(env), Compose: true}
}

// TextOf is the YAML of the mapping at a key of the file.
func (f *File) TextOf(key string) ([]byte, error) {
	var all map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(strings.Join(f.lines, "\n")), &all); err != nil {
		return nil, err
	}
	part := all[key]
	var values map[string]any // with all aliases resolved: their anchors may be elsewhere in the file
	if err := part.Decode(&values); err != nil {
		return nil, err
	}
	return yaml.Marshal(values)
}

// spot is a place within a file.
type spot struct{ line, column int }

// Spot is the position without its file.
func (at Position) Spot() spot { return spot{at.Line, at.Column} }

// SetRemedy says what to do about variables that are not set.
func SetRemedy(names []string) string {
	return fmt.Sprintf("set %s in the environment or in .env, or write ${%s:-DEFAULT}", strings.Join(names, " and "), names[0])
}

// LeaveUnset keeps that variables have no value at a place.
func (at Position) LeaveUnset(names []string) {
	if len(names) == 0 {
		return
	}
	if at.File.Unset == nil {
		at.File.Unset = map[spot][]string{}
	}
	at.File.Unset[at.Spot()] = names
}

// Position is a place in a file.
type Position struct {
	File   *File
	Line   int
	Column int
}

// Open reads a file, whose values are filled in from env. An error here is that the file cannot be read at all.
func (r *Reader) Open(name string, env map[string]string) (*File, []byte, error) {
	f := &File{Name: name, Lookup: shell.LookupIn(env)}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, err
	}
	f.Dir = filepath.Dir(abs)
	text, given := r.Texts[name]
	if !given {
		text, err = ReadBounded(name)
	}
	if err != nil {
		return nil, nil, err
	}
	f.lines = strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	r.Files = append(r.Files, f)
	return f, text, nil
}

// ReadBounded reads a regular file of at most MaxFileBytes.
func ReadBounded(name string) ([]byte, error) { return regular.Read(name, MaxFileBytes) }

// dotEnv reads the variables of a .env file, if there is one.
func (r *Reader) dotEnv(name string) map[string]string {
	if done, ok := r.dotEnvs[name]; ok {
		return done
	}
	values := map[string]string{}
	r.dotEnvs[name] = values
	text, err := ReadBounded(name)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			r.Fail(Position{File: &File{Name: name}}, "make the file readable, or remove it", "%v", err)
		}
		return values
	}
	for _, v := range r.EnvFile(name, text, shell.LookupIn(r.Env)) {
		if v.Set {
			values[v.Name] = v.Text
		}
	}
	return values
}
