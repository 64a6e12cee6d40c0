// Package targets reads the file of contest guides: strategies to compare, and the programs to compare them with.
package targets

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// File is a file of contest guides: which strategies are compared, and with what.
type File struct {
	File       string
	Trials     uint64
	Runs       uint64
	Seed       uint64
	TimeoutNs  int64
	Strategies []string
	Targets    []Target
}

// Target is a program that makes campaigns over one world.
type Target struct {
	Name string
	// Package is what `go build` knows the program by, in the folder Dir: an import path, or a folder that begins with a dot.
	Package, Dir string
	// Project is the folder or file of a project in the place of a package, absolute, and Blocks has blocks of its programs counted.
	Project     string
	Blocks      bool
	Args        []string
	Build       []string // further arguments of go build
	Prepare     []string // a command that prints more of them
	Cover       []string // packages whose blocks are counted
	Correct     bool
	Of, Variant string
	Mapper      []Mapped
	Strategies  []string // nil: those of the file
}

// Mapped is a file that reports to the model what runs do: all of its lines, or those that match.
type Mapped struct {
	File  string // absolute
	Lines *regexp.Regexp
}

// Defaults of a file of contest guides.
const (
	GuideTrials = 20
	DefaultRuns = 10_000
)

// Load reads a file of contest guides. known says what is wrong with the name of a strategy; first is the one that all others are compared with.
func Load(name, first string, known func(strategy string) error) (*File, error) {
	l := source.NewReader(nil)
	f, text, err := l.Open(name, l.Env)
	if err != nil {
		return nil, source.Unread(err)
	}
	n := l.Parse(f, text, true)
	g := &File{File: name}
	switch {
	case n == nil || n.Bad:
	case n.Kind != source.Mapping:
		l.Fail(n.Position, "see bench/CONTEST.md for an example", "a file of contest guides cannot be %s", n.Kind)
	default:
		schema.Check(l, n, &file, false)
		g.build(l, n, f.Dir, first, known)
	}
	if len(l.Errs) > 0 {
		return nil, source.Sort(l.Errs, l.Files)
	}
	return g, nil
}

func (g *File) build(l *source.Reader, n *source.Node, dir, first string, known func(string) error) {
	g.Trials = uint64(source.ValueOr(n.Get("trials"), int64(GuideTrials)))
	g.Runs = uint64(source.ValueOr(n.Get("runs"), int64(DefaultRuns)))
	g.Seed = source.ValueOr(n.Get("seed"), uint64(1))
	g.TimeoutNs = source.ValueOr(n.Get("timeout"), int64(0))
	l.Missing(n, "strategies", "list strategies, such as [random, coverage-guided:state]", "there are no strategies to compare")
	l.Missing(n, "targets", "see bench/CONTEST.md for an example", "there are no targets")
	g.Strategies = g.strategies(l, n.Get("strategies"), first, known)
	at := map[string]source.Position{}
	for _, t := range n.Get("targets").List() {
		l.Missing(t, "name", "write name: WORD", "a target has no name")
		project := textOf(t, "project")
		switch {
		case project == "":
			l.Missing(t, "package", "write package: ./FOLDER, an import path, or project: FILE", "a target has no package")
			if e := t.Get("blocks"); e != nil {
				l.Fail(e.Position, "name packages by `cover:`", "blocks applies to projects only")
			}
		default:
			for _, key := range []string{"package", "args", "build", "prepare", "cover"} {
				if e := t.Get(key); e != nil {
					l.Fail(e.Position, "remove it, or `project:`", "%s applies to packages only, and this target is a project", key)
				}
			}
			if !filepath.IsAbs(project) {
				project = filepath.Join(dir, project)
			}
		}
		one := Target{Project: project, Blocks: source.ValueOr(t.Get("blocks"), false), Name: textOf(t, "name"),
			Package: textOf(t, "package"), Dir: dir, Args: textsOf(t, "args"), Build: textsOf(t, "build"),
			Prepare: textsOf(t, "prepare"), Cover: textsOf(t, "cover"),
			Correct: source.ValueOr(t.Get("correct"), false), Of: textOf(t, "of"), Variant: textOf(t, "variant")}
		if t.Has("strategies") {
			one.Strategies = g.strategies(l, t.Get("strategies"), first, known)
		}
		for _, m := range t.Get("mapper").List() {
			file, lines := m, (*regexp.Regexp)(nil)
			if m.Kind == source.Mapping {
				l.Missing(m, "file", "write file: NAME", "an item of mapper has no file")
				if file = m.Get("file"); file == nil {
					continue
				}
				lines = source.ValueOr(m.Get("lines"), lines)
			}
			path := filepath.Join(dir, file.Text)
			if filepath.IsAbs(file.Text) {
				path = file.Text
			}
			if _, err := os.Stat(path); err != nil {
				l.Fail(file.Position, "write paths relative to this file", "%v", err)
			}
			one.Mapper = append(one.Mapper, Mapped{path, lines})
		}
		if one.Of != "" {
			l.Missing(t, "variant", "describe it in a few words: variant: a coarser view", "this target has `of`, and no variant")
		}
		if e := t.Get("variant"); e != nil && one.Of == "" {
			l.Fail(e.Position, "add `of:`", "this target has `variant`, and no of")
		}
		if e := t.Get("each"); e != nil && len(e.List()) == 0 {
			l.Fail(e.Position, "list words, or remove it", "each is empty, so there is no target")
		}
		for _, made := range one.each(textsOf(t, "each")) {
			if _, twice := at[made.Name]; twice && made.Name != "" {
				l.Fail(t.Position, "use unique names; with each, put {} into the name", "there are two targets %q", made.Name)
			}
			at[made.Name] = t.Position
			g.Targets = append(g.Targets, made)
		}
	}
	for i := range g.Targets {
		t := &g.Targets[i]
		k := slices.IndexFunc(g.Targets, func(o Target) bool { return o.Name == t.Of })
		switch {
		case t.Of == "":
		case k < 0:
			l.Fail(at[t.Name], "use the name of a target of this file", "unknown target %q, of which %q is a variant", t.Of, t.Name)
		case g.Targets[k].Of != "":
			l.Fail(at[t.Name], "use the name of the original target", "%q is a variant of %q, which is a variant itself", t.Name, t.Of)
		case g.Targets[k].Correct != t.Correct:
			l.Fail(at[t.Name], "set `correct` to the same value for both", "%q and %q cannot be compared: only one of them has a bug", t.Name, t.Of)
		}
	}
	if len(g.Targets) == 0 && len(l.Errs) == 0 {
		l.Fail(n.Position, "see bench/CONTEST.md for an example", "there are no targets")
	}
}

// strategies are those of a list, behind the one that all are compared with.
func (g *File) strategies(l *source.Reader, n *source.Node, first string, known func(string) error) []string {
	list := []string{first}
	for _, s := range n.List() {
		if err := known(s.Text); err != nil {
			l.Fail(s.Position, "see docs/reference/guides.md for the strategies", "%v", err)
		} else if !slices.Contains(list, s.Text) {
			list = append(list, s.Text)
		}
	}
	return list
}

// each makes a target of each word, or only itself if there is none.
func (t Target) each(words []string) []Target {
	if words == nil {
		return []Target{t}
	}
	var list []Target
	for _, w := range words {
		fill := func(text string) string { return strings.ReplaceAll(text, "{}", w) }
		all := func(texts []string) (filled []string) {
			for _, text := range texts {
				filled = append(filled, fill(text))
			}
			return filled
		}
		one := t
		one.Name, one.Of, one.Project = fill(t.Name), fill(t.Of), fill(t.Project)
		one.Args, one.Build, one.Prepare = all(t.Args), all(t.Build), all(t.Prepare)
		list = append(list, one)
	}
	return list
}

func textOf(n *source.Node, key string) string { return source.ValueOr(n.Get(key), "") }

func textsOf(n *source.Node, key string) []string {
	var list []string
	for _, i := range n.Get(key).List() {
		list = append(list, source.ValueOr(i, i.Text))
	}
	return list
}
