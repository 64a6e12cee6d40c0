package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// Limits of one file. Aliases are copied where they are used, so the number of values is bounded after that.
const (
	MaxFileBytes = 1 << 20
	MaxValues    = 100_000
	MaxDepth     = 64
)

// file is a file that was read, with what its values are filled in from.
type file struct {
	name   string // as the user named it
	dir    string // absolute: relative paths in the file start here
	lines  []string
	lookup func(name string) (string, bool) // variables: the environment, then .env
	// compose tells a Compose file from a bloodhound.yaml.
	compose bool
	// unset are the variables that have no value and count as empty in the value at a place, by that place and by the place of its key.
	unset map[spot][]string
}

// spot is a place within a file.
type spot struct{ line, column int }

func (at position) spot() spot { return spot{at.line, at.column} }

// setRemedy says what to do about variables that are not set.
func setRemedy(names []string) string {
	return fmt.Sprintf("set %s in the environment or in .env, or write ${%s:-DEFAULT}", strings.Join(names, " and "), names[0])
}

// leaveUnset keeps that variables have no value at a place.
func (at position) leaveUnset(names []string) {
	if len(names) == 0 {
		return
	}
	if at.file.unset == nil {
		at.file.unset = map[spot][]string{}
	}
	at.file.unset[at.spot()] = names
}

// position is a place in a file.
type position struct {
	file   *file
	line   int
	column int
}

type nodeKind int

const (
	scalar nodeKind = iota
	list
	mapping
	null
)

func (k nodeKind) String() string {
	return [...]string{"a single value", "a list", "a mapping", "nothing"}[k]
}

// node is a value of a file, with aliases and merge keys resolved.
type node struct {
	position
	kind    nodeKind
	text    string // scalar
	items   []*node
	entries []*entry
	// value is what check made of a scalar, or of a list that stands for one value (a range, variables).
	value any
	// bad tells that a mistake was found in it, so that nothing is built on it.
	bad bool
	// incomplete tells that a key of this mapping is unknown. It may be another one misspelt, so that nobody complains
	// about missing keys.
	incomplete bool
}

// entry is one key of a mapping.
type entry struct {
	key   *node
	name  string // the key's text; check sets the usual spelling where several are accepted
	value *node
	// implied tells that nobody has written it: Compose adds it.
	implied bool
}

// get returns the value of a key, or nil when it is absent or bad.
func (n *node) get(name string) *node {
	if e := n.entry(name); e != nil && !e.value.bad {
		return e.value
	}
	return nil
}

// has tells whether a key is there, even with a bad value.
func (n *node) has(name string) bool { return n.entry(name) != nil }

func (n *node) entry(name string) *entry {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

// list returns the items that are sound.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	var sound []*node
	for _, i := range n.items {
		if !i.bad {
			sound = append(sound, i)
		}
	}
	return sound
}

// entriesOf returns the entries of a mapping that may not be there.
func (n *node) entriesOf() []*entry {
	if n == nil {
		return nil
	}
	return n.entries
}

// valueOr returns what check made of a node, or something else where there is none.
func valueOr[T any](n *node, otherwise T) T {
	if n != nil && !n.bad {
		if v, ok := n.value.(T); ok {
			return v
		}
	}
	return otherwise
}

// fail adds a mistake.
func (l *loader) fail(at position, remedy, format string, args ...any) {
	l.errs = append(l.errs, at.mistake(fmt.Sprintf(format, args...), remedy))
}

func (at position) mistake(message, remedy string) *Error {
	e := &Error{Message: message, Remedy: remedy, Line: at.line, Column: at.column}
	if at.file != nil {
		e.File = at.file.name
		if at.line > 0 && at.line <= len(at.file.lines) {
			e.Source = at.file.lines[at.line-1]
		}
		if names := at.file.unset[at.spot()]; len(names) > 0 {
			e.Message += fmt.Sprintf(" (not set here, and so empty: %s)", strings.Join(names, ", "))
			e.Remedy = setRemedy(names) + "; or else " + e.Remedy
		}
	}
	return e
}

// missing complains about a key that a mapping must have.
func (l *loader) missing(n *node, key, remedy, format string, args ...any) {
	if n != nil && !n.has(key) && !n.incomplete {
		l.fail(n.position, remedy, format, args...)
	}
}

// note adds a note about a key.
func (l *loader) note(at position, key, format string, args ...any) {
	l.result.Notes = append(l.result.Notes, Note{File: at.file.name, Line: at.line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// idle adds the note of a key that is accepted without an effect.
func (l *loader) idle(at position, key, why string) {
	if l.surveying {
		return
	}
	l.noteIdle(at, key, why)
}

func (l *loader) noteIdle(at position, key, why string) {
	l.note(at, key, "accepted, no effect here: %s", why)
	l.result.Notes[len(l.result.Notes)-1].Idle = true
}

// lookupIn finds variables in an environment.
func lookupIn(env map[string]string) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

// open reads a file, whose values are filled in from env. An error here is that the file cannot be read at all.
func (l *loader) open(name string, env map[string]string) (*file, []byte, error) {
	f := &file{name: name, lookup: lookupIn(env)}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, err
	}
	f.dir = filepath.Dir(abs)
	text, err := readBounded(name)
	if err != nil {
		return nil, nil, err
	}
	f.lines = strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	l.files = append(l.files, f)
	return f, text, nil
}

// plainTags are the tags that say no more than a value says by itself.
var plainTags = map[string]bool{"!!str": true, "!!int": true, "!!float": true, "!!bool": true, "!!null": true, "!!map": true, "!!seq": true}

func readBounded(name string) ([]byte, error) { return regular.Read(name, MaxFileBytes) }

// dotEnv reads the variables of a .env file, if there is one.
func (l *loader) dotEnv(name string) map[string]string {
	if done, ok := l.dotEnvs[name]; ok {
		return done
	}
	values := map[string]string{}
	l.dotEnvs[name] = values
	text, err := readBounded(name)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			l.fail(position{file: &file{name: name}}, "make it readable, or remove it", "%v", err)
		}
		return values
	}
	for _, v := range l.envFile(name, text, lookupIn(l.opts.Env)) {
		if v.set {
			values[v.name] = v.text
		}
	}
	return values
}

// syntaxLine finds the line in a message of the YAML parser.
var syntaxLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s:.*))$`)

// parse makes a tree of a file's text, or nil if that cannot be done.
func (l *loader) parse(f *file, text []byte, merges bool) *node {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		l.fail(position{file: f, line: 1, column: 1}, "`bloodhound init` writes a file to start from", "the file is empty")
		return nil
	}
	if err == nil {
		var second yaml.Node
		switch next := d.Decode(&second); {
		case next == nil:
			l.fail(position{file: f, line: second.Line, column: max(second.Column, 1)}, "keep one document in a file",
				"a second YAML document begins here")
		case !errors.Is(next, io.EOF):
			err = next
		}
	}
	if err != nil {
		m := syntaxLine.FindStringSubmatch(err.Error())
		line, _ := strconv.Atoi(m[1])
		line = min(max(brokenLine(f.lines, m[2], line), 1), len(f.lines))
		l.fail(position{file: f, line: line, column: firstColumn(f.lines[line-1])}, syntaxRemedy(f.lines[line-1]), "not YAML: %s", m[2])
		return nil
	}
	b := &builder{loader: l, file: f, open: map[*yaml.Node]bool{}, merges: merges}
	return b.build(doc.Content[0], 0)
}

// Bounds of brokenLine, which parses the file again for each line.
const (
	maxLinesSearched = 500
	maxBytesSearched = 32 << 10
)

// brokenLine finds the line at which parsing breaks: the parser often names the beginning of the block around it. It is
// the first line from which on every shorter version of the file breaks with the same message.
func brokenLine(lines []string, message string, named int) int {
	size := 0
	for _, line := range lines {
		size += len(line) + 1
	}
	if len(lines) > maxLinesSearched || size > maxBytesSearched {
		return named
	}
	for n := len(lines) - 1; n >= 1; n-- {
		var doc yaml.Node
		err := yaml.Unmarshal([]byte(strings.Join(lines[:n], "\n")+"\n"), &doc)
		if err == nil || syntaxLine.FindStringSubmatch(err.Error())[2] != message {
			return n + 1
		}
	}
	return 1
}

func firstColumn(line string) int {
	return len([]rune(line)) - len([]rune(strings.TrimLeft(line, " \t"))) + 1
}

func syntaxRemedy(line string) string {
	if strings.Contains(line[:len(line)-len(strings.TrimLeft(line, " \t"))], "\t") {
		return "indent with spaces; YAML does not allow tabs there"
	}
	return "look at this line and the one before: indentation, a missing colon, a quote that is not closed"
}

// builder turns nodes of the YAML parser into ours.
type builder struct {
	*loader
	file *file
	open map[*yaml.Node]bool // anchors around the node being built
	size int
	full bool // a limit was reached and told
	// merges tells that the file is one of several that are merged, where !reset and !override have a meaning.
	merges bool
}

func (b *builder) build(y *yaml.Node, depth int) *node {
	n := &node{position: position{file: b.file, line: y.Line, column: max(y.Column, 1)}}
	b.size++
	switch {
	case b.full:
		n.bad = true
		return n
	case depth > MaxDepth:
		return b.reject(n, "make it flatter", "more than %d levels of nesting", MaxDepth)
	case b.size > MaxValues:
		b.full = true
		return b.reject(n, "use fewer aliases", "more than %d values, those of aliases counted wherever they are used", MaxValues)
	}
	if b.merges && y.Tag == "!reset" { // takes away what another file says
		n.bad = true
		return n
	}
	if y.Kind != yaml.AliasNode && y.Style&yaml.TaggedStyle != 0 && !plainTags[y.ShortTag()] && !(b.merges && y.Tag == "!override") {
		return b.reject(n, "write the value without a tag", "the tag %s is not supported", y.Tag)
	}
	switch y.Kind {
	case yaml.AliasNode:
		if b.open[y.Alias] {
			return b.reject(n, "an anchor's value must not use the anchor", "alias *%s stands inside its own anchor", y.Value)
		}
		return b.build(y.Alias, depth+1)
	case yaml.ScalarNode:
		n.text = y.Value
		if y.ShortTag() == "!!null" {
			n.kind = null
		}
	case yaml.SequenceNode:
		n.kind = list
		b.open[y] = true
		for _, item := range y.Content {
			n.items = append(n.items, b.build(item, depth+1))
		}
		delete(b.open, y)
	case yaml.MappingNode:
		n.kind = mapping
		b.open[y] = true
		b.mapping(n, y, depth)
		delete(b.open, y)
	}
	return n
}

func (b *builder) reject(n *node, remedy, format string, args ...any) *node {
	b.fail(n.position, remedy, format, args...)
	n.bad = true
	return n
}

func (b *builder) mapping(n *node, y *yaml.Node, depth int) {
	var merged []*entry
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		at := position{file: b.file, line: k.Line, column: max(k.Column, 1)}
		if k.Kind == yaml.AliasNode && k.Alias.Kind == yaml.ScalarNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			b.fail(at, "a key is a single word", "a key must be text")
			continue
		}
		if k.ShortTag() == "!!merge" {
			merged = append(merged, b.merge(v, depth)...)
			continue
		}
		if first := n.entry(k.Value); first != nil {
			b.fail(at, "remove one of them", "key %q is there twice; the first one is on line %d", k.Value, first.key.line)
			continue
		}
		n.entries = append(n.entries, &entry{key: &node{position: at, text: k.Value}, name: k.Value, value: b.build(v, depth+1)})
	}
	// What stands in the mapping itself wins, then earlier merges (https://yaml.org/type/merge.html).
	for _, e := range merged {
		if n.entry(e.name) == nil {
			n.entries = append(n.entries, e)
		}
	}
}

// merge returns the entries of `<<: *anchor` or `<<: [*a, *b]`.
func (b *builder) merge(y *yaml.Node, depth int) []*entry {
	v := b.build(y, depth+1)
	switch {
	case v.bad:
		return nil
	case v.kind == mapping:
		return v.entries
	case v.kind == list:
		var all []*entry
		for _, item := range v.items {
			if item.kind != mapping && !item.bad {
				b.reject(item, "merge anchors of mappings", "a merge key must hold mappings, not %s", item.kind)
			}
			all = append(all, item.entries...)
		}
		return all
	}
	b.reject(v, "merge an anchor of a mapping", "a merge key must hold a mapping, not %s", v.kind)
	return nil
}
