package source

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of one file. Aliases and merged keys are copied where they are used, so the number of values is bounded after that.
const (
	MaxFileBytes = 1 << 20
	MaxValues    = 100_000
	MaxDepth     = 64
	MaxKeys      = 4096 // of one mapping, with those that it merges: keys are looked for one after the other
)

// plainTags are the tags that say no more than a value says by itself.
var plainTags = map[string]bool{"!!str": true, "!!int": true, "!!float": true, "!!bool": true, "!!null": true, "!!map": true, "!!seq": true}

// syntaxLine finds the line in a message of the YAML parser.
var syntaxLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s:.*))$`)

// Parse makes a tree of a file's text, or nil if that cannot be done.
func (r *Reader) Parse(f *File, text []byte, merges bool) *Node {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		r.Fail(Position{File: f, Line: 1, Column: 1}, "`bloodhound init` creates an example", "the file is empty")
		return nil
	}
	if err == nil {
		var second yaml.Node
		switch next := d.Decode(&second); {
		case next == nil:
			r.Fail(Position{File: f, Line: second.Line, Column: max(second.Column, 1)}, "write one document per file",
				"a second YAML document starts here")
		case !errors.Is(next, io.EOF):
			err = next
		}
	}
	if err != nil {
		m := syntaxLine.FindStringSubmatch(err.Error())
		line, _ := strconv.Atoi(m[1])
		line = min(max(brokenLine(f.lines, m[2], line), 1), len(f.lines))
		r.Fail(Position{File: f, Line: line, Column: firstColumn(f.lines[line-1])}, syntaxRemedy(f.lines[line-1]), "not YAML: %s", m[2])
		return nil
	}
	b := &builder{Reader: r, file: f, open: map[*yaml.Node]bool{}, merges: merges}
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
	return "check this line and the previous one: indentation, a missing colon, an unclosed quote"
}

// builder turns nodes of the YAML parser into ours.
type builder struct {
	*Reader
	file *File
	open map[*yaml.Node]bool // anchors around the node being built
	size int
	full bool // a limit was reached and reported
	// merges says that the file is one of several that are merged, where !reset and !override have a meaning.
	merges bool
}

func (b *builder) build(y *yaml.Node, depth int) *Node {
	n := &Node{Position: Position{File: b.file, Line: y.Line, Column: max(y.Column, 1)}}
	b.size++
	switch {
	case b.full:
		n.Bad = true
		return n
	case depth > MaxDepth:
		return b.reject(n, "use fewer levels", "more than %d levels of nesting", MaxDepth)
	case b.size > MaxValues:
		b.full = true
		return b.reject(n, "use fewer aliases", "more than %d values, counting aliases at each use", MaxValues)
	}
	if b.merges && y.Tag == "!reset" { // takes away what another file says
		n.Bad = true
		return n
	}
	if y.Kind != yaml.AliasNode && y.Style&yaml.TaggedStyle != 0 && !plainTags[y.ShortTag()] && !(b.merges && y.Tag == "!override") {
		return b.reject(n, "write the value without a tag", "the tag %s is not supported", y.Tag)
	}
	switch y.Kind {
	case yaml.AliasNode:
		if b.open[y.Alias] {
			return b.reject(n, "remove the alias from the value of its anchor", "alias *%s is inside its own anchor", y.Value)
		}
		return b.build(y.Alias, depth+1)
	case yaml.ScalarNode:
		n.Text = y.Value
		if y.ShortTag() == "!!null" {
			n.Kind = Null
		}
	case yaml.SequenceNode:
		n.Kind = List
		b.open[y] = true
		for _, item := range y.Content {
			n.Items = append(n.Items, b.build(item, depth+1))
		}
		delete(b.open, y)
	case yaml.MappingNode:
		n.Kind = Mapping
		b.open[y] = true
		b.mapping(n, y, depth)
		delete(b.open, y)
	}
	return n
}

func (b *builder) reject(n *Node, remedy, format string, args ...any) *Node {
	b.Fail(n.Position, remedy, format, args...)
	n.Bad = true
	return n
}

func (b *builder) mapping(n *Node, y *yaml.Node, depth int) {
	if len(y.Content)/2 > MaxKeys {
		b.tooManyKeys(n)
		return
	}
	var merged []*Entry
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		at := Position{File: b.file, Line: k.Line, Column: max(k.Column, 1)}
		if k.Kind == yaml.AliasNode && k.Alias.Kind == yaml.ScalarNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			remedy := "write a single word"
			if k.Kind == yaml.MappingNode && len(k.Content) == 2 && strings.HasPrefix(k.Content[0].Value, ".") {
				remedy = "put the text with the template into quotes: \"{{" + k.Content[0].Value + "}}\""
			}
			b.Fail(at, remedy, "a key must be text")
			continue
		}
		if k.ShortTag() == "!!merge" {
			merged = append(merged, b.merge(v, depth)...)
			continue
		}
		if first := n.Entry(k.Value); first != nil {
			b.Fail(at, "remove one of them", "key %q is a duplicate of line %d", k.Value, first.Key.Line)
			continue
		}
		n.Entries = append(n.Entries, &Entry{Key: &Node{Position: at, Text: k.Value}, Name: k.Value, Value: b.build(v, depth+1)})
	}
	// What is in the mapping itself wins, then earlier merges (https://yaml.org/type/merge.html).
	for _, e := range merged {
		if n.Entry(e.Name) != nil {
			continue
		}
		if len(n.Entries) == MaxKeys {
			b.tooManyKeys(n)
			return
		}
		n.Entries = append(n.Entries, e)
	}
}

// tooManyKeys ends the building of the file, as the bound of all values does.
func (b *builder) tooManyKeys(n *Node) {
	b.full = true
	b.reject(n, "use fewer keys", "more than %d keys in one mapping", MaxKeys)
}

// merge returns the entries of `<<: *anchor` or `<<: [*a, *b]`.
func (b *builder) merge(y *yaml.Node, depth int) []*Entry {
	v := b.build(y, depth+1)
	switch {
	case v.Bad:
		return nil
	case v.Kind == Mapping:
		return v.Entries
	case v.Kind == List:
		var all []*Entry
		for _, item := range v.Items {
			if b.size += len(item.Entries); b.size > MaxValues { // merged keys that are there already also take time
				b.full = true
				b.reject(item, "merge fewer anchors", "more than %d values, counting anchors at each merge", MaxValues)
				return nil
			}
			if item.Kind != Mapping && !item.Bad {
				b.reject(item, "merge anchors of mappings", "a merge key must hold mappings, not %s", item.Kind)
			}
			all = append(all, item.Entries...)
		}
		return all
	}
	b.reject(v, "merge an anchor of a mapping", "a merge key must hold a mapping, not %s", v.Kind)
	return nil
}
