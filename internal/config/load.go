// Package config reads bloodhound.yaml and Compose files into a world.Spec. It is strict: every key is known, every accepted
// key has an effect or a note with the reason why it has none, and mistakes are reported with file, line, caret and remedy, many at
// once.
//
// Its rooms, each of which imports only those before it:
//
//	suggest, shell                     the nearest word; variables and words of a command line, as a shell has them
//	scaffolding                        looks at a folder and writes a configuration to start from
//	source                             YAML files as trees whose values have their places; mistakes and notes
//	schema                             shapes of values, and the comparison of a file with a table of keys
//	keys                               the tables, which are the only list of keys
//	compose                            Compose files, merged into one tree
//	load                               the state of a load, and the questions that all readers ask
//	images, volumes, networks, nodes   the nodes of a world
//	workloads, checks, faults          programs that drive it, what must hold, what may go wrong
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/checks"
	"github.com/bloodhound-dst/bloodhound/internal/config/compose"
	"github.com/bloodhound-dst/bloodhound/internal/config/faults"
	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/networks"
	"github.com/bloodhound-dst/bloodhound/internal/config/nodes"
	"github.com/bloodhound-dst/bloodhound/internal/config/scaffolding"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/workloads"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Options says what to read.
type Options struct {
	// Path is a folder with a bloodhound.yaml, or a YAML file; empty is the current folder.
	Path string
	// ComposeFiles replace the key `compose:`. With them a folder needs no bloodhound.yaml.
	ComposeFiles []string
	// ConfigFile is read instead of the bloodhound.yaml in Path.
	ConfigFile string
	// Images finds the images of nodes. Without it, a node that needs one is an error.
	Images Images
	// Describe asks no Images: nodes have their image's name, and nothing of what an image says.
	Describe bool
	// Dockerfiles builds images of services that have a Dockerfile. Without it, these must be there already.
	Dockerfiles Dockerfiles
	// FaultMode replaces `faults.mode` of the configuration, and UsualFaultMode stands for the section `faults` where there is none. Both may be empty.
	FaultMode, UsualFaultMode string
	// Env has the variables for interpolation and for environments without values; nil is the process's own.
	Env map[string]string

	text []byte // of ConfigFile, in the place of what it has
}

// Result holds a configuration that was read: the world, its engine, and the settings of builds, searches and output.
type Result struct {
	// File is the configuration, or the first Compose file where there is none.
	File string
	Spec *world.Spec
	// Engine is the one that the configuration asks for, by the name that users write.
	Engine      string
	Builds      []Build
	Exploration Exploration
	Output      Output
	Coverage    Coverage
	Debug       Debug
	// UsualFaults says that Options.UsualFaultMode stands for the section `faults`, which the configuration does not have.
	UsualFaults bool `json:",omitempty"`
	// Notes report keys that have no effect, spellings and guesses. They are no mistakes.
	Notes []Note

	files   []*source.File
	places  map[load.Place]load.Location
	written written
}

// FaultModes are the presets of faults, the mildest first.
func FaultModes() []string { return faults.Modes }

// Files are the files that were read, as the user named them.
func (r *Result) Files() []string {
	var names []string
	for _, f := range r.files {
		names = append(names, f.Name)
	}
	return names
}

// Names of configurations, in the order in which a folder is searched.
var fileNames = []string{"bloodhound.yaml", "bloodhound.yml"}

// loader is one Load.
type loader struct {
	*load.State
	result  *Result
	counted []*source.Entry // see written
}

// Load reads a configuration. Mistakes in files are an Errors; all errors are the user's.
func Load(opts Options) (*Result, error) {
	l := &loader{State: &load.State{Reader: source.NewReader(opts.Env),
		Spec: &world.Spec{RulesVersion: world.RulesNow}, Places: map[load.Place]load.Location{}, Groups: map[string]load.Group{},
		Images: opts.Images, Dockerfiles: opts.Dockerfiles, Describe: opts.Describe, Mode: opts.FaultMode, UsualMode: opts.UsualFaultMode}, result: &Result{}}
	name, err := configFile(opts)
	if err != nil {
		return nil, err
	}
	if opts.text != nil {
		l.Texts = map[string][]byte{name: opts.text}
	}
	var named []compose.Name
	var top *source.Node
	if name != "" {
		isCompose := false
		if top, isCompose, err = l.read(name); err != nil {
			return nil, source.Unread(err)
		}
		if isCompose { // a Compose file in the place of a configuration
			named, l.Files, l.Errs, l.Notes = append(named, compose.Name{Path: name}), nil, nil, nil
		}
	}
	for _, name := range opts.ComposeFiles {
		named = append(named, compose.Name{Path: name})
	}
	if e := top.Entry("compose"); e != nil && len(opts.ComposeFiles) > 0 {
		l.Idle(e.Key.Position, "compose", "the flag --compose replaces it")
	} else if e != nil {
		named = append(named, composeOf(name, top.Get("compose"))...)
	}
	l.place(opts.Path, name, opts.ComposeFiles)
	mistakes := len(l.Errs)
	if l.Composed, err = compose.Read(l.Reader, named); err != nil {
		return nil, err
	}
	if len(l.Errs) > mistakes { // what the nodes are is not known
		return nil, source.Sort(l.Errs, l.Files)
	}
	if top == nil {
		at := source.Position{File: &source.File{Name: l.result.File}}
		if len(l.Files) > 0 {
			at.File = l.Files[0]
		}
		top = &source.Node{Position: at, Kind: source.Mapping}
	}
	l.build(top)
	if len(l.Errs) > 0 {
		return nil, source.Sort(l.Errs, l.Files)
	}
	l.sortNotes()
	r := l.result
	r.Spec, r.Builds, r.Notes, r.files, r.places = l.Spec, l.Builds, l.Notes, l.Files, l.Places
	r.written = written{top: top, composed: l.Composed, counted: l.counted, groupOf: map[string]string{}}
	for _, d := range l.Nodes {
		r.written.groupOf[d.Name] = d.Of
	}
	for _, n := range named {
		if abs, err := filepath.Abs(n.Path); err == nil {
			r.written.compose = append(r.written.compose, abs)
		}
	}
	return r, nil
}

// composeOf reads the key `compose`: names of files, or the content of one.
func composeOf(file string, n *source.Node) (named []compose.Name) {
	if n != nil && n.Kind == source.Mapping {
		return []compose.Name{{Path: file, At: n, Content: n}}
	}
	for _, v := range n.Scalars() {
		named = append(named, compose.Name{Path: v.File.Beside(v.Text), At: v})
	}
	return named
}

// sortNotes puts notes in the order of files and lines.
func (l *loader) sortNotes() {
	order := map[string]int{}
	for i, f := range l.Files {
		order[f.Name] = i
	}
	slices.SortStableFunc(l.Notes, func(a, b source.Note) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line))
	})
	seen := map[source.Note]bool{}
	l.Notes = slices.DeleteFunc(l.Notes, func(n source.Note) bool { // replicas have the same
		again := seen[n]
		seen[n] = true
		return again
	})
}

// configFile finds the configuration; empty where Compose files are all there is.
func configFile(opts Options) (string, error) {
	if opts.ConfigFile != "" {
		return opts.ConfigFile, nil
	}
	path := opts.Path
	if path == "" {
		path = "."
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("there is no folder or file %s", path)
	}
	if err != nil {
		return "", fmt.Errorf("%w; give a folder with a bloodhound.yaml, or a YAML file", err)
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, name := range fileNames {
		name = filepath.Join(path, name)
		if _, err := os.Stat(name); err == nil {
			return name, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	if len(opts.ComposeFiles) > 0 {
		return "", nil
	}
	if name := scaffolding.ComposeIn(path); name != "" {
		return "", fmt.Errorf("no bloodhound.yaml in %s; `--compose %s` uses the Compose file in this folder, `bloodhound init` creates a bloodhound.yaml",
			path, filepath.Join(path, name))
	}
	if near := configuredFolders(path); len(near) > 0 {
		return "", fmt.Errorf("no bloodhound.yaml in %s, but one in %s: give that folder, or create one here with `bloodhound init`",
			path, strings.Join(near, ", "))
	}
	return "", fmt.Errorf("no bloodhound.yaml in %s; `bloodhound init` creates one", path)
}

// Bounds of configuredFolders.
const (
	maxFoldersSearched = 1000
	maxFoldersNamed    = 3
)

// configuredFolders are the folders around a folder that have a configuration: those in it, or else the nearest one that it lies in.
func configuredFolders(dir string) (near []string) {
	configured := func(dir string) bool {
		return slices.ContainsFunc(fileNames, func(name string) bool {
			info, err := os.Stat(filepath.Join(dir, name))
			return err == nil && info.Mode().IsRegular()
		})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries[:min(len(entries), maxFoldersSearched)] {
		if inside := filepath.Join(dir, e.Name()); e.IsDir() && len(near) < maxFoldersNamed && configured(inside) {
			near = append(near, inside)
		}
	}
	if len(near) > 0 {
		return near
	}
	const levels = 8
	for range levels {
		if dir = filepath.Join(dir, ".."); configured(dir) {
			return []string{dir}
		}
	}
	return nil
}

// notYAML says of a file that is no configuration, and whose name is that of another kind of file, what to give instead.
func notYAML(name string, n *source.Node) error {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json", "":
		return nil
	}
	if n != nil && !n.Bad && n.Kind == source.Mapping {
		return nil
	}
	return fmt.Errorf("%s is not a configuration; give a folder with a bloodhound.yaml, or a YAML file; `bloodhound init %s` "+
		"writes one for the programs in that folder",
		name, filepath.Dir(name))
}

// read parses a bloodhound.yaml and compares it with its table. It returns nil after a mistake that leaves nothing to build on, and
// for a Compose file, which it only recognizes.
func (l *loader) read(name string) (top *source.Node, isCompose bool, err error) {
	f, content, err := l.Open(name, l.ProjectEnv(l.Env, filepath.Join(filepath.Dir(name), ".env")))
	if err != nil {
		return nil, false, err
	}
	n := l.Parse(f, content, false)
	if err := notYAML(name, n); err != nil {
		return nil, false, err
	}
	switch {
	case n == nil || n.Bad:
		return nil, false, nil
	case n.Has("services") || n.Has("include"):
		return nil, true, nil
	case n.Kind != source.Mapping:
		l.Fail(n.Position, "write `key: value` lines; `bloodhound init` creates an example", "a configuration cannot be %s", n.Kind)
		return nil, false, nil
	}
	l.counted = slices.Clone(n.Get("nodes").EntriesOf())
	nodes.Count(l.State, n.Get("nodes"))
	schema.Check(l.Reader, n, &keys.Bloodhound, false)
	return n, false, nil
}

// place sets the project's folder: that of the configuration, or else that of the path or of the first Compose file.
func (l *loader) place(dir, name string, compose []string) {
	switch {
	case name != "":
		dir = filepath.Dir(name)
	case dir == "" && len(compose) > 0:
		dir = filepath.Dir(compose[0])
	}
	if name == "" && len(compose) > 0 {
		name = compose[0]
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	l.result.File, l.Spec.Dir = name, abs
}

// build makes the Result of the checked files.
func (l *loader) build(top *source.Node) {
	l.Spec.Name = source.ValueOr(top.Get("name"), "")
	if e := l.Composed.Entry("name"); e != nil && !e.Implied {
		if l.Spec.Name != "" {
			l.Idle(e.Key.Position, "name", "the world is already called "+l.Spec.Name)
		} else {
			l.Spec.Name = source.ValueOr(e.Value, "")
		}
	}
	if l.Spec.Name == "" {
		l.Spec.Name = filepath.Base(l.Spec.Dir)
	}
	l.result.Engine = source.ValueOr(top.Get("engine"), "native")
	l.simulation(top.Get("simulation"))
	l.settings(top)
	networks.Declare(l.State, top)
	nodes.Declare(l.State, top)
	nodes.Build(l.State)
	networks.Links(l.State, top)
	workloads.Read(l.State, top)
	checks.Read(l.State, top)
	l.Spec.Guide = checks.Guide(l.State, top.Get("exploration").Get("guide"), "exploration.guide")
	l.patterns(top.Get("log_patterns"))
	faults.Read(l.State, top.Get("faults"))
	l.result.UsualFaults = top.Get("faults") == nil && l.Mode == "" && l.UsualMode != ""
	if ns := top.Get("simulation").Get("cost").Get("sync_ns"); ns != nil {
		l.Spec.Cost.SyncNs = ns.Value.(int64)
	}
	nodes.Furnish(l.State)
	networks.Assign(l.State, top)
	l.timesFit(top)
}

// What this package's users need of its rooms.
type (
	// Images finds the image that a node names.
	Images = load.Images
	// Dockerfiles builds an image, or finds the one that was built before of the same parts.
	Dockerfiles = load.Dockerfiles
	// Build is a command that builds programs of the project before the first world boots.
	Build = load.Build
	// Note is a remark about one key.
	Note = source.Note
	// Error is one mistake in a configuration.
	Error = source.Error
	// Errors are all mistakes that were found.
	Errors = source.Errors
)
