package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Guides is a file of bench guides: which strategies are compared, and with what.
type Guides struct {
	File       string
	Trials     uint64
	Runs       uint64
	Seed       uint64
	TimeoutNs  int64
	Strategies []string
	Targets    []GuideTarget
}

// GuideTarget is a program that makes campaigns over one world.
type GuideTarget struct {
	Name string
	// Package is what `go build` knows the program by, in the folder Dir: an import path, or a folder that begins with a dot.
	Package, Dir string
	Args         []string
	Build        []string // further arguments of go build
	Prepare      []string // a command that prints more of them
	Cover        []string // packages whose blocks are counted
	Correct      bool
	Of, Variant  string
	Mapper       []Mapped
	Strategies   []string // nil: those of the file
}

// Mapped is a file that tells the model what runs do: all of its lines, or those that match.
type Mapped struct {
	File  string // absolute
	Lines *regexp.Regexp
}

// Defaults of a file of bench guides.
const (
	GuideTrials = 20
	GuideRuns   = 10_000
)

var guideTarget = of(
	field{name: "name", shape: aText, says: "The target's name in tables."},
	field{name: "package", shape: aText, says: "The program, a main package that makes one campaign by sim.Campaign.Run: an import path, or a folder beside the file that begins with a dot."},
	field{name: "args", shape: texts, verbatim: true, says: "Its arguments."},
	field{name: "each", shape: texts, verbatim: true, says: "Makes a target of each of these: {} stands for it in name, args, build, prepare and of."},
	field{name: "build", shape: texts, verbatim: true, says: "Further arguments of go build."},
	field{name: "prepare", shape: texts, verbatim: true, says: "A command, run in the package's folder before it is built: lines of its output that begin with a dash are arguments of go build, too. {dir} is a folder for its files."},
	field{name: "cover", shape: texts, says: "Packages whose blocks of code are counted. Without it lines guide nothing and are not measured."},
	field{name: "correct", shape: aFlag, says: "There is no bug to find: what trials reach is measured.", def: "false"},
	field{name: "of", shape: aText, verbatim: true, says: "The target that this one is a variant of."},
	field{name: "variant", shape: aText, verbatim: true, says: "How it differs."},
	field{name: "mapper", shape: listOf(anyOf(aText, of(
		field{name: "file", shape: aText, says: "The file."},
		field{name: "lines", shape: aPattern, verbatim: true, says: "Which lines of it count.", def: "all"},
	))), says: "Files that tell the model what runs do. Their lines are counted, but for empty ones and comments."},
	field{name: "strategies", shape: texts, says: "Those tried with this target."},
)

// guidesFile is the file of bench guides.
var guidesFile = shape{kind: section, open: true, fields: []field{
	{name: "trials", shape: shape{kind: whole, min: 1, max: 10_000}, says: "Campaigns of each strategy with each target.", def: "20"},
	{name: "runs", shape: shape{kind: whole, min: 1}, says: "Runs of a campaign, at most.", def: "10000"},
	{name: "seed", shape: shape{kind: unsigned}, says: "Campaign seed of the first trial; the next trial has the next one.", def: "1"},
	{name: "timeout", shape: aPositive, says: "Cuts each trial off after this time: what it would have found is unknown then.", def: "none"},
	{name: "strategies", shape: texts, says: "What is compared. Random is always among them."},
	{name: "targets", shape: listOf(guideTarget), says: "Programs with a bug each, or correct ones."},
}}

// LoadGuides reads a file of bench guides. known tells what is wrong with the name of a strategy; first is the one that all others are compared with.
func LoadGuides(name, first string, known func(strategy string) error) (*Guides, error) {
	l := &loader{dotEnvs: map[string]map[string]string{}, opts: Options{Env: map[string]string{}}}
	for _, v := range os.Environ() {
		k, value, _ := strings.Cut(v, "=")
		l.opts.Env[k] = value
	}
	l.result = &Result{places: map[place]location{}}
	f, text, err := l.open(name, l.opts.Env)
	if err != nil {
		return nil, unread(err)
	}
	l.root = &guidesFile
	n := l.parse(f, text, true)
	g := &Guides{File: name}
	switch {
	case n == nil || n.bad:
	case n.kind != mapping:
		l.fail(n.position, "docs/reference/guides.md has an example", "a file of bench guides cannot be %s", n.kind)
	default:
		l.check(n, l.root, "", false)
		g.build(l, n, f.dir, first, known)
	}
	if len(l.errs) > 0 {
		return nil, sortErrors(l.errs, l.files)
	}
	return g, nil
}

func (g *Guides) build(l *loader, n *node, dir, first string, known func(string) error) {
	g.Trials = uint64(valueOr(n.get("trials"), int64(GuideTrials)))
	g.Runs = uint64(valueOr(n.get("runs"), int64(GuideRuns)))
	g.Seed = valueOr(n.get("seed"), uint64(1))
	g.TimeoutNs = valueOr(n.get("timeout"), int64(0))
	l.missing(n, "strategies", "list some, such as [random, coverage-guided:state]", "no strategies to compare")
	l.missing(n, "targets", "docs/reference/guides.md has an example", "no targets")
	g.Strategies = g.strategies(l, n.get("strategies"), first, known)
	at := map[string]position{}
	for _, t := range n.get("targets").list() {
		l.missing(t, "name", "write name: WORD", "a target has no name")
		l.missing(t, "package", "write package: ./FOLDER, or an import path", "a target has no package")
		one := GuideTarget{Name: textOf(t, "name"), Package: textOf(t, "package"), Dir: dir, Args: textsOf(t, "args"), Build: textsOf(t, "build"), Prepare: textsOf(t, "prepare"), Cover: textsOf(t, "cover"),
			Correct: valueOr(t.get("correct"), false), Of: textOf(t, "of"), Variant: textOf(t, "variant")}
		if t.has("strategies") {
			one.Strategies = g.strategies(l, t.get("strategies"), first, known)
		}
		for _, m := range t.get("mapper").list() {
			file, lines := m, (*regexp.Regexp)(nil)
			if m.kind == mapping {
				l.missing(m, "file", "write file: NAME", "a part of the mapper has no file")
				if file = m.get("file"); file == nil {
					continue
				}
				lines = valueOr(m.get("lines"), lines)
			}
			path := filepath.Join(dir, file.text)
			if filepath.IsAbs(file.text) {
				path = file.text
			}
			if _, err := os.Stat(path); err != nil {
				l.fail(file.position, "name files beside this one", "%v", err)
			}
			one.Mapper = append(one.Mapper, Mapped{path, lines})
		}
		if one.Of != "" {
			l.missing(t, "variant", "say it in a few words: variant: a coarser view", "this target is a variant of another, and does not say how it differs")
		}
		if e := t.get("variant"); e != nil && one.Of == "" {
			l.fail(e.position, "name it by of", "this target does not say what it is a variant of")
		}
		if e := t.get("each"); e != nil && len(e.list()) == 0 {
			l.fail(e.position, "list some, or leave it out", "each names nothing, so there is no target")
		}
		for _, made := range one.each(textsOf(t, "each")) {
			if _, twice := at[made.Name]; twice && made.Name != "" {
				l.fail(t.position, "name them differently; with each, put {} into the name", "there are two targets %q", made.Name)
			}
			at[made.Name] = t.position
			g.Targets = append(g.Targets, made)
		}
	}
	for i := range g.Targets {
		t := &g.Targets[i]
		k := slices.IndexFunc(g.Targets, func(o GuideTarget) bool { return o.Name == t.Of })
		switch {
		case t.Of == "":
		case k < 0:
			l.fail(at[t.Name], "name one of the file's targets", "there is no target %q, which %q is a variant of", t.Of, t.Name)
		case g.Targets[k].Of != "":
			l.fail(at[t.Name], "name the target itself", "%q is a variant of %q, which is a variant too", t.Name, t.Of)
		case g.Targets[k].Correct != t.Correct:
			l.fail(at[t.Name], "give both the same correct:", "%q and %q cannot be compared: one has a bug, and the other none", t.Name, t.Of)
		}
	}
	if len(g.Targets) == 0 && len(l.errs) == 0 {
		l.fail(n.position, "docs/reference/guides.md has an example", "no targets")
	}
}

// strategies are those of a list, behind the one that all are compared with.
func (g *Guides) strategies(l *loader, n *node, first string, known func(string) error) []string {
	list := []string{first}
	for _, s := range n.list() {
		if err := known(s.text); err != nil {
			l.fail(s.position, "docs/reference/guides.md lists them", "%v", err)
		} else if !slices.Contains(list, s.text) {
			list = append(list, s.text)
		}
	}
	return list
}

// each makes a target of each word, or only itself if there is none.
func (t GuideTarget) each(words []string) []GuideTarget {
	if words == nil {
		return []GuideTarget{t}
	}
	var list []GuideTarget
	for _, w := range words {
		fill := func(text string) string { return strings.ReplaceAll(text, "{}", w) }
		all := func(texts []string) (filled []string) {
			for _, text := range texts {
				filled = append(filled, fill(text))
			}
			return filled
		}
		one := t
		one.Name, one.Of = fill(t.Name), fill(t.Of)
		one.Args, one.Build, one.Prepare = all(t.Args), all(t.Build), all(t.Prepare)
		list = append(list, one)
	}
	return list
}

func textOf(n *node, key string) string { return valueOr(n.get(key), "") }

func textsOf(n *node, key string) []string {
	var list []string
	for _, i := range n.get(key).list() {
		list = append(list, valueOr(i, i.text))
	}
	return list
}
