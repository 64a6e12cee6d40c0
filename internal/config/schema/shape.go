// Package schema describes the values of configuration files by their shapes, and compares files with them.
package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// kind says how a value is written and how check reads it.
type kind int

const (
	Text       kind = iota // string
	Word                   // string, one of shape.words
	Boolean                // bool
	Whole                  // int64 within min and max
	Unsigned               // uint64
	Number                 // float64 within min and max
	Rate                   // uint64, parts per million; written as 0..1
	Duration               // int64 ns; written as 30s
	Signed                 // int64 ns; a duration that may be negative
	Millis                 // int64 ns; written as a number of milliseconds
	Seconds                // int64 ns; written as a number of seconds
	Span                   // [2]int64 ns; written as [a, b] or a, in milliseconds
	Date                   // int64 ns since 1970
	Size                   // int64 bytes within min and max; written as 64m
	Pattern                // *regexp.Regexp
	Variables              // []variable; a mapping or a list
	Anything               // not looked at
	Section                // a mapping with shape.fields
	Dictionary             // a mapping with names of the user's own, each with shape.item
	Sequence               // a list, each item with shape.item
	Either                 // the first of shape.alts that is written as the value is
)

// Shape describes a value. It drives reading, the pages below docs/reference/config and docs/schema/config-v1.json.
type Shape struct {
	Kind  kind
	Words []string
	// Spellings are further words that are accepted, with the one of words that each stands for.
	Spellings map[string]string
	Min       float64 // whole, number; ns for durations
	Max       float64 // 0 is no bound
	Fields    []Field
	Item      *Shape
	Alts      []Shape
	Names     *regexp.Regexp // dictionary: what names may be
	Open      bool           // section: keys that begin with x- are extensions; word: others are refused where it is known which of the words fit
	Empty     bool           // it may be written without a value, which is an empty mapping or list
}

// Field is one key of a section.
type Field struct {
	Name string
	// SpellingOf is the usual key, where this one is another spelling; equal spellings need no note.
	SpellingOf string
	Equal      bool
	Shape      Shape
	Says       string // what it means, for people
	Default    string // the default, for people
	Idle       string // why the key has no effect, if it has none
	// Refused is the remedy for a key that Compose knows and that cannot be accepted.
	Refused  string
	Verbatim bool // its values are read without filling in variables
}

// Accepts reports whether a value of this shape can be written as a node of kind k.
func (s *Shape) Accepts(k source.Kind) bool {
	switch s.Kind {
	case Anything:
		return true
	case Section, Dictionary:
		return k == source.Mapping
	case Sequence:
		return k == source.List
	case Variables:
		return k == source.Mapping || k == source.List
	case Span:
		return k == source.Scalar || k == source.List
	case Either:
		return slices.ContainsFunc(s.Alts, func(a Shape) bool { return a.Accepts(k) })
	}
	return k == source.Scalar
}

// String names a shape in messages, and in the table of keys.
func (s *Shape) String() string {
	switch s.Kind {
	case Text:
		return "text"
	case Word:
		return strings.Join(s.Words, ", ")
	case Boolean:
		return "true or false"
	case Whole:
		return "a whole number" + s.bounds()
	case Unsigned:
		return "a whole number of at least 0"
	case Number:
		return "a number" + s.bounds()
	case Rate:
		return "a rate from 0 to 1"
	case Duration:
		return "a duration such as 30s"
	case Signed:
		return "a duration such as 30s or -2ms"
	case Millis:
		return "a number of milliseconds"
	case Seconds:
		return "a number of seconds"
	case Span:
		return "a range [a, b] in milliseconds, or one number"
	case Size:
		if s.Min > 0 {
			return fmt.Sprintf("a size of at least %dm, such as 64m or 1gb", int64(s.Min)>>20)
		}
		return "a size such as 64m or 1gb"
	case Date:
		return "a date such as 2025-01-01T00:00:00Z"
	case Pattern:
		return "a regular expression"
	case Variables:
		return "a mapping NAME: value or a list of NAME=value"
	case Section, Dictionary:
		return "a mapping"
	case Sequence:
		if s.Item.Accepts(source.Scalar) && s.Item.Kind != Either {
			return "a list of " + strings.TrimPrefix(s.Item.String(), "a ")
		}
		return "a list"
	case Either:
		var names []string
		for i := range s.Alts {
			names = append(names, s.Alts[i].String())
		}
		return strings.Join(names, " or ")
	}
	return "anything"
}

func (s *Shape) bounds() string {
	if s.Max != 0 {
		return fmt.Sprintf(" from %.0f to %.0f", s.Min, s.Max)
	}
	return fmt.Sprintf(" of at least %.0f", s.Min)
}

// Field finds a key of a section, or returns nil.
func (s *Shape) Field(name string) *Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// Join puts a key behind the path of its section.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Split cuts the last key off a path.
func Split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

// WalkKeys visits every key below a shape, in the order of the tables: a.b for sections, a.*.b for names of the user's
// own and a[].b for lists.
func WalkKeys(s *Shape, path string, visit func(path string, f *Field)) {
	switch s.Kind {
	case Section:
		for i := range s.Fields {
			f := &s.Fields[i]
			visit(Join(path, f.Name), f)
			WalkKeys(&f.Shape, Join(path, f.Name), visit)
		}
	case Dictionary:
		WalkKeys(s.Item, Join(path, "*"), visit)
	case Sequence:
		WalkKeys(s.Item, path+"[]", visit)
	case Either:
		for i := range s.Alts {
			WalkKeys(&s.Alts[i], path, visit)
		}
	}
}
