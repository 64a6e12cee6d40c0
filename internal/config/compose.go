package config

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/consts"
	composego "github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"
)

// maxComposeFiles bounds the Compose files of one project.
const maxComposeFiles = 256

// composition is the Compose files of a project. compose-go makes one model of them (interpolation, include, extends,
// overrides: https://github.com/compose-spec/compose-spec); the files as they were written tell where each part of it
// comes from.
type composition struct {
	load  *loader
	files []*composeFileRead // the named ones in their order, then those that they include or extend
}

type composeFileRead struct {
	path string // absolute
	root *node
	// base tells that nothing of it is in the model but what services of other files extend.
	base bool
}

// composeName is a Compose file as it was named: on the command line, or in bloodhound.yaml at a place.
type composeName struct {
	path string
	at   *node
}

// compose reads Compose files and makes one tree of them, with the keys of composeFile. It returns nil where there are none,
// or after a mistake. Files that the command line names and that cannot be read are its error.
func (l *loader) compose(names []composeName) (*node, error) {
	if len(names) == 0 {
		return nil, nil
	}
	mistakes := len(l.errs)
	c := &composition{load: l}
	dir, err := filepath.Abs(filepath.Dir(names[0].path))
	if err != nil {
		return nil, err
	}
	env := l.projectEnv(l.opts.Env, filepath.Join(dir, ".env"))
	var config types.ConfigDetails
	for _, name := range names {
		path, err := filepath.Abs(name.path)
		if err == nil {
			err = c.read(name.path, path, env, false)
		}
		switch {
		case err != nil && name.at != nil:
			l.fail(name.at.position, "name Compose files, relative to this file", "compose: %v", err)
		case err != nil:
			return nil, unread(err)
		}
		config.ConfigFiles = append(config.ConfigFiles, types.ConfigFile{Filename: path})
	}
	for i := 0; i < len(c.files); i++ { // it grows
		c.gather(c.files[i], dir, env)
	}
	if len(l.errs) > mistakes {
		return nil, nil
	}
	config.WorkingDir, config.Environment = dir, maps.Clone(env)
	logrus.SetOutput(io.Discard) // compose-go's warnings; those that matter are notes here
	model, err := composego.LoadModelWithContext(context.Background(), config, func(o *composego.Options) {
		o.SetProjectName(cmp.Or(composego.NormalizeProjectName(cmp.Or(env[consts.ComposeProjectName], filepath.Base(dir))), "project"), env[consts.ComposeProjectName] != "")
	})
	if err != nil {
		c.failed(err)
		return nil, nil
	}
	tree := c.tree(nil, model)
	l.root = &composeFile
	l.check(tree, &composeFile, "", true)
	if len(l.errs) > mistakes {
		return nil, nil
	}
	return tree, nil
}

// projectEnv adds the variables of a .env file to others, which win.
func (l *loader) projectEnv(env map[string]string, file string) map[string]string {
	all := maps.Clone(l.dotEnv(file))
	maps.Copy(all, env)
	return all
}

// read reads one file, and compares it with the tables as it is written.
func (c *composition) read(name, path string, env map[string]string, base bool) error {
	if slices.ContainsFunc(c.files, func(f *composeFileRead) bool { return f.path == path }) {
		return nil
	}
	if len(c.files) == maxComposeFiles {
		return fmt.Errorf("%s: more than %d Compose files", name, maxComposeFiles)
	}
	l := c.load
	l.surveying = true
	defer func() { l.surveying = false }()
	f, content, err := l.open(name, env)
	if err != nil {
		return err
	}
	f.compose = true
	n := l.parse(f, content, true)
	if n == nil || n.bad {
		return nil
	}
	if n.kind != mapping {
		l.fail(n.position, "https://docs.docker.com/reference/compose-file/ has the format", "a Compose file cannot be %s", n.kind)
		return nil
	}
	l.root = &composeFile
	l.check(n, &composeFile, "", false)
	if e := n.entry("version"); e != nil { // compose-go takes it away
		l.noteIdle(e.key.position, "version", noVersion)
	}
	c.files = append(c.files, &composeFileRead{path: path, root: n, base: base})
	return nil
}

// gather reads what a file includes and what its services extend. dir is the project's folder.
func (c *composition) gather(f *composeFileRead, dir string, env map[string]string) {
	l := c.load
	elsewhere := func(at *node, path string, env map[string]string, base bool) {
		if strings.Contains(path, "://") || strings.HasPrefix(path, "git@") || strings.Contains(path, ".git#") {
			l.fail(at.position, "fetch it, and name the file here", "%q is not on this machine", shorten(path))
			return
		}
		name, full := path, path
		if !filepath.IsAbs(path) {
			name, full = l.beside(at.file, path), filepath.Join(at.file.dir, path)
		}
		if err := c.read(name, full, env, base); err != nil {
			l.fail(at.position, "name a Compose file that is there", "%v", err)
		}
	}
	for _, item := range f.root.get("include").list() {
		paths, with := item, env
		if item.kind == mapping {
			paths = item.get("path")
			for _, file := range item.get("env_file").scalars() {
				with = l.projectEnv(with, l.under(file.file.dir, file.text))
			}
			if project := item.get("project_directory"); project != nil && !item.has("env_file") {
				with = l.projectEnv(with, filepath.Join(l.under(project.file.dir, project.text), ".env"))
			}
		}
		for _, p := range paths.scalars() {
			if item.kind != mapping {
				with = l.projectEnv(env, filepath.Join(filepath.Dir(l.under(p.file.dir, p.text)), ".env"))
			}
			elsewhere(p, p.text, with, f.base)
		}
	}
	for _, e := range f.root.get("services").entriesOf() {
		if file := e.value.get("extends").get("file"); file != nil {
			elsewhere(file, file.text, env, true)
		}
	}
}

// tree makes a node of a part of the model, and of all below it, with the places where they were written.
func (c *composition) tree(path []string, value any) *node {
	at, _ := c.place(path)
	n := &node{position: at.value}
	switch v := value.(type) {
	case nil:
		n.kind = null
	case map[string]any:
		n.kind = mapping
		first := map[string]rank{}
		for name, value := range v {
			below := append(slices.Clone(path), name)
			at, written := c.place(below)
			first[name] = c.rank(below)
			n.entries = append(n.entries, &entry{key: &node{position: at.key, text: name}, name: name, value: c.tree(below, value), implied: !written})
		}
		slices.SortFunc(n.entries, func(a, b *entry) int {
			return cmp.Or(first[a.name].compare(first[b.name]), cmp.Compare(a.name, b.name))
		})
		if len(path) == 2 && path[0] == "services" {
			implied(n)
		}
	case []any:
		n.kind = list
		for i, value := range v {
			n.items = append(n.items, c.tree(append(slices.Clone(path), strconv.Itoa(i)), value))
		}
	case int:
		n.text = strconv.Itoa(v)
		if path[len(path)-1] == "mode" { // permissions: written as 0440, which is this number
			n.text = fmt.Sprintf("%#o", v)
		}
	case float64:
		n.text = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		n.text = fmt.Sprint(v)
	}
	return n
}

// implied puts the dependencies of a service that nobody has written where the key stands that implies them.
func implied(service *node) {
	for _, on := range service.get("depends_on").entriesOf() {
		if !on.implied {
			continue
		}
		for _, key := range []string{"network_mode", "ipc", "pid"} {
			if mode := service.get(key); mode != nil && mode.text == "service:"+on.name {
				on.key = &node{position: mode.position, text: key}
			}
		}
		for _, key := range []string{"volumes_from", "links"} {
			for _, item := range service.get(key).list() {
				if name, _, _ := strings.Cut(item.text, ":"); name == on.name {
					on.key = &node{position: item.position, text: key}
				}
			}
		}
	}
}

// written is where a part of the model stands in a file.
type written struct{ key, value position }

// place finds where a part of the model was written: in the last file that has it, or in what it extends, or else where what
// is around it was written; false then.
func (c *composition) place(path []string) (written, bool) {
	best, deepest := written{}, -1
	for i := len(c.files) - 1; i >= 0; i-- {
		if f := c.files[i]; !f.base {
			if at, depth := c.within(f, path, 0); depth > deepest {
				best, deepest = at, depth
			}
		}
	}
	return best, deepest == len(path)
}

// rank is where a part stands first: in which file, and where there.
type rank struct{ file, line, column int }

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.file, o.file), cmp.Compare(r.line, o.line), cmp.Compare(r.column, o.column))
}

// rank finds the first file that has a part; those that no file has come last.
func (c *composition) rank(path []string) rank {
	for i, f := range c.files {
		if at, depth := c.within(f, path, 0); depth == len(path) && !f.base {
			return rank{i, at.key.line, at.key.column}
		}
	}
	return rank{file: len(c.files)}
}

// within follows a path into one file, as deep as it goes.
func (c *composition) within(f *composeFileRead, path []string, chain int) (written, int) {
	n := f.root
	at := written{n.position, n.position}
	depth := 0
	for _, name := range path {
		if n.kind == list {
			i, err := strconv.Atoi(name)
			if err != nil { // a list of names, of which the model makes a mapping
				i = slices.IndexFunc(n.items, func(item *node) bool { return item.kind == scalar && item.text == name })
			}
			if i < 0 || i >= len(n.items) {
				break
			}
			n = n.items[i]
			at = written{n.position, n.position}
		} else {
			e := n.entry(name)
			if e == nil {
				break
			}
			n = e.value
			at = written{e.key.position, n.position}
		}
		depth++
	}
	const longest = 32 // of chains of services that extend each other
	if depth == len(path) || depth < 2 || path[0] != "services" || chain == longest {
		return at, depth
	}
	base := f.root.get("services").get(path[1]).get("extends")
	name, from := valueOr(base.get("service"), ""), f
	if base != nil && base.kind == scalar {
		name = base.text
	}
	if file := base.get("file"); file != nil {
		full := c.load.under(file.file.dir, file.text)
		i := slices.IndexFunc(c.files, func(o *composeFileRead) bool { return o.path == full })
		if i < 0 {
			return at, depth
		}
		from = c.files[i]
	}
	if name != "" {
		if there, deeper := c.within(from, append([]string{"services", name}, path[2:]...), chain+1); deeper > depth {
			return there, deeper
		}
	}
	return at, depth
}

// modelPath finds the part of the model that an error of compose-go is about.
var modelPath = regexp.MustCompile(`\b(services|networks|volumes|secrets|configs|include)(\.[\w.\[\]-]+)`)

// namedService finds the service that one is about.
var namedService = regexp.MustCompile(`(?:service|extend service) "([^"]+)"`)

// failed tells an error of compose-go at the place that it is about, as far as that can be known.
func (c *composition) failed(err error) {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	if slices.ContainsFunc(lines, func(line string) bool { return !modelPath.MatchString(line) }) { // one mistake
		lines = []string{strings.Join(lines, " ")}
	}
	for _, line := range lines {
		c.failedAt(line)
	}
}

func (c *composition) failedAt(message string) {
	for _, f := range c.files {
		message = strings.TrimPrefix(message, "validating "+f.path+": ")
	}
	var path []string
	if m := modelPath.FindStringSubmatch(message); m != nil {
		path = strings.FieldsFunc(m[0], func(r rune) bool { return strings.ContainsRune(".[]", r) })
	} else if m := namedService.FindStringSubmatch(message); m != nil {
		path = []string{"services", m[1]}
	}
	at, _ := c.place(path)
	located := path != nil
	if path == nil {
		if n := c.mentioned(message); n != nil {
			at.key, located = n.position, true
		}
	}
	remedy := "https://docs.docker.com/reference/compose-file/ has the format"
	if names := c.unset(); len(names) > 0 && !located { // one of them may be the cause, wherever it stands
		message += " (not set, and so empty: " + strings.Join(names, ", ") + ")"
		remedy = setRemedy(names) + "; or else " + remedy
	}
	c.load.fail(at.key, remedy, "%s", message)
}

// unset are the variables that have no value somewhere in the files.
func (c *composition) unset() (names []string) {
	for _, f := range c.files {
		for _, missing := range f.root.file.unset {
			names = append(names, missing...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mentioned finds the value that an error is about: the first that holds all that it says, or else the longest that it quotes.
func (c *composition) mentioned(message string) *node {
	const shortest = 3 // in bytes; shorter ones are quoted by chance
	_, said, _ := strings.Cut(message, ": ")
	var holds, quoted *node
	var search func(n *node)
	search = func(n *node) {
		if n.kind == scalar && holds == nil && len(said) >= shortest && strings.Contains(n.text, said) {
			holds = n
		}
		if n.kind == scalar && len(n.text) >= shortest && strings.Contains(said, n.text) && (quoted == nil || len(n.text) > len(quoted.text)) {
			quoted = n
		}
		for _, item := range n.items {
			search(item)
		}
		for _, e := range n.entries {
			search(e.value)
		}
	}
	for _, f := range c.files {
		search(f.root)
	}
	return cmp.Or(holds, quoted)
}
