package schema

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// Writer writes values that Check has read as YAML that reads the same again: variables are filled in, keys have their usual spelling, and keys
// without effect are left out.
type Writer struct {
	// Dir, if not empty, is the folder that paths of the model of Compose files start from in the output. The model has absolute ones.
	Dir string
	// Model says that the values are those of compose-go's model: all variables are filled in, and some entries are in no file.
	Model bool
}

// Write writes a value of a shape.
func (w *Writer) Write(n *source.Node, s *Shape) *yaml.Node { return w.value(n, s, nil, false) }

func (w *Writer) value(n *source.Node, s *Shape, path []string, verbatim bool) *yaml.Node {
	if n.Kind == source.Null {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
	switch s.Kind {
	case Either:
		for i := range s.Alts {
			if s.Alts[i].Accepts(n.Kind) {
				return w.value(n, &s.Alts[i], path, verbatim)
			}
		}
	case Section:
		return w.section(n, s, path, verbatim)
	case Dictionary:
		item := func(*source.Entry) *Shape { return s.Item }
		return w.mapping(n, item, path, verbatim)
	case Sequence:
		return w.list(n, s.Item, path, verbatim)
	case Variables:
		return w.variables(n, path, verbatim)
	}
	switch n.Kind {
	case source.Mapping:
		return w.mapping(n, func(*source.Entry) *Shape { return s }, path, verbatim)
	case source.List:
		return w.list(n, s, path, verbatim)
	}
	return w.scalar(n, s, path, verbatim)
}

func (w *Writer) section(n *source.Node, s *Shape, path []string, verbatim bool) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range n.Entries {
		f := s.Field(e.Name)
		if f == nil || f.Idle != "" || f.Refused != "" || e.Value.Bad || w.implied(e, path) {
			continue
		}
		below := append(slices.Clone(path), e.Name)
		Set(out, e.Name, w.value(e.Value, &f.Shape, below, verbatim || f.Verbatim))
	}
	return out
}

func (w *Writer) mapping(n *source.Node, shape func(*source.Entry) *Shape, path []string, verbatim bool) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range n.Entries {
		if e.Value.Bad || w.implied(e, path) {
			continue
		}
		below := append(slices.Clone(path), e.Name)
		Set(out, e.Name, w.value(e.Value, shape(e), below, verbatim))
	}
	return out
}

// implied reports whether Compose adds an entry again when the output is read. What it adds inside of a written value belongs to that.
func (w *Writer) implied(e *source.Entry, path []string) bool {
	if !w.Model || !e.Implied {
		return false
	}
	switch {
	case len(path) < 2:
		return true
	case path[0] != "services":
		return false
	}
	return len(path) == 2 || len(path) == 3 && path[2] == "depends_on"
}

func (w *Writer) list(n *source.Node, item *Shape, path []string, verbatim bool) *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, i := range n.List() {
		v := w.value(i, item, path, verbatim)
		if v.Kind != yaml.ScalarNode {
			out.Style = 0
		}
		out.Content = append(out.Content, v)
	}
	return out
}

// variables writes an environment; names without a value have the one that they were read with.
func (w *Writer) variables(n *source.Node, path []string, verbatim bool) *yaml.Node {
	vars, checked := n.Value.([]source.Variable)
	if !checked {
		text := &Shape{Kind: Text}
		if n.Kind == source.List {
			return w.list(n, text, path, verbatim)
		}
		return w.mapping(n, func(*source.Entry) *Shape { return text }, path, verbatim)
	}
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, line := range source.Environment(vars, n.File.Lookup) {
		name, value, _ := strings.Cut(line, "=")
		Set(out, name, TextNode(escaped(value, verbatim && !w.Model)))
	}
	return out
}

// plainKinds are written without quotes.
var plainKinds = []kind{Boolean, Whole, Unsigned, Number, Rate, Duration, Signed, Millis, Seconds, Span, Date, Size}

func (w *Writer) scalar(n *source.Node, s *Shape, path []string, verbatim bool) *yaml.Node {
	text := n.Text
	switch v := n.Value.(type) {
	case nil: // of a node with a count, or of no shape in particular
		if !w.Model && !strings.Contains(text, "{{") {
			if filled, _, err := shell.Interpolate(text, n.File.Lookup); err == nil {
				text = escaped(filled, verbatim)
			}
		} else if w.Model {
			text = escaped(w.near(text, path), false)
		}
	case bool:
		text = strconv.FormatBool(v)
	case int64:
		if s.Kind == Duration || s.Kind == Signed { // it may have been written in another unit
			text = DurationText(v)
		}
	default:
		text = escaped(w.near(text, path), verbatim && !w.Model)
	}
	if slices.Contains(plainKinds, s.Kind) && !strings.Contains(text, "{{") {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(text)}
	}
	return TextNode(text)
}

// pathKeys are the keys whose values compose-go makes absolute paths of.
var pathKeys = []string{"source", "file", "context", "path", "device", "env_file"}

// near writes a path of the model as it would stand in a file of the folder.
func (w *Writer) near(text string, path []string) string {
	if w.Dir == "" || len(path) == 0 || !slices.Contains(pathKeys, path[len(path)-1]) {
		return text
	}
	if !filepath.IsAbs(text) {
		return text
	}
	rel, err := filepath.Rel(w.Dir, text)
	switch {
	case err == nil && rel == ".":
		return rel
	case err == nil && filepath.IsLocal(rel):
		return "./" + rel
	case err == nil && strings.Count(rel, "..") < strings.Count(w.Dir, "/"): // they share a folder
		return rel
	}
	return text
}

func escaped(text string, verbatim bool) string {
	if verbatim {
		return text
	}
	return strings.ReplaceAll(text, "$", "$$")
}

// TextNode is a scalar that reads as text.
func TextNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// Set puts a key behind the others of a mapping.
func Set(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append(m.Content, TextNode(key), value)
}

// Value finds the value of a key of a mapping, or returns nil.
func Value(m *yaml.Node, key string) *yaml.Node {
	for i := 0; m != nil && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// DurationText writes a time without units of which there are none: 1h instead of 1h0m0s.
func DurationText(ns int64) string {
	text := time.Duration(ns).String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// Order puts the keys of sections into the order of their table.
func Order(n *yaml.Node, s *Shape) {
	kinds := map[yaml.Kind]source.Kind{yaml.ScalarNode: source.Scalar, yaml.SequenceNode: source.List, yaml.MappingNode: source.Mapping}
	switch s.Kind {
	case Either:
		for i := range s.Alts {
			if s.Alts[i].Accepts(kinds[n.Kind]) {
				Order(n, &s.Alts[i])
				return
			}
		}
	case Sequence:
		for _, item := range n.Content {
			Order(item, s.Item)
		}
	case Dictionary:
		for i := 1; i < len(n.Content); i += 2 {
			Order(n.Content[i], s.Item)
		}
	case Section:
		var sorted []*yaml.Node
		for i := range s.Fields {
			for k := 0; k+1 < len(n.Content); k += 2 {
				if n.Content[k].Value == s.Fields[i].Name {
					Order(n.Content[k+1], &s.Fields[i].Shape)
					sorted = append(sorted, n.Content[k], n.Content[k+1])
				}
			}
		}
		n.Content = sorted
	}
}
