// Package strictjson finds keys that stand twice in an object of JSON. RFC 8259 leaves open what they mean, and readers differ: of two values
// that people have written, one would be taken without a word. Plain says which field has a value of another type than its reader takes.
package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Twice is a key that an object has twice.
type Twice struct {
	Key    string
	Offset int // where the second one begins
	Line   int // on which it is, from 1
}

func (t *Twice) Error() string {
	if t.Line > 1 {
		return fmt.Sprintf("the key %q stands twice in an object, again on line %d", t.Key, t.Line)
	}
	return fmt.Sprintf("the key %q stands twice in an object", t.Key)
}

// Unique looks for a key that occurs twice in an object, however deep, of a text that encoding/json has read. The error is a *Twice.
func Unique(text []byte) error {
	var open []object
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			open = append(open, object{})
		case '[':
			open = append(open, object{array: true})
		case '}', ']':
			open = open[:max(len(open)-1, 0)]
		case '"':
			begin := i
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			end := min(i+1, len(text))
			if len(open) == 0 || open[len(open)-1].array || !named(text[end:]) {
				continue
			}
			if key := unquoted(text[begin:end]); !open[len(open)-1].add(key) {
				return &Twice{Key: key, Offset: begin, Line: 1 + bytes.Count(text[:begin], []byte("\n"))}
			}
		}
	}
	return nil
}

// Version reads a number that an object of JSON has by a key, whatever else it has: the version of its form, say, before a reader of
// that form takes it. It is 0 if there is none.
func Version(text []byte, key string) int {
	var fields map[string]json.RawMessage
	version := 0
	if json.Unmarshal(text, &fields) != nil || json.Unmarshal(fields[key], &version) != nil {
		return 0
	}
	return version
}

// Unknown names a field of an object of JSON, however deep, that a value of the type of into does not have: a later program may have
// written it. It is "" if there is none. into is overwritten.
func Unknown(text []byte, into any) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return ""
	}
	name, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return ""
	}
	if plain, err := strconv.Unquote(name); err == nil {
		return plain
	}
	return name
}

// Decode is json.Unmarshal, of a text whose objects have each key once.
func Decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	return Unique(text)
}

// object holds the keys of an open brace or bracket that have been read so far.
type object struct {
	array bool
	few   []string        // its keys, while they are few
	many  map[string]bool // all of them from then on
}

const mostFew = 16

// add takes a key in. It reports whether that is new.
func (o *object) add(key string) bool {
	if o.many == nil {
		if slices.Contains(o.few, key) {
			return false
		}
		if o.few = append(o.few, key); len(o.few) <= mostFew {
			return true
		}
		o.many = map[string]bool{}
		for _, k := range o.few {
			o.many[k] = true
		}
		return true
	}
	if o.many[key] {
		return false
	}
	o.many[key] = true
	return true
}

// named reports whether a colon follows: the text before is a key.
func named(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

func unquoted(text []byte) string {
	var key string
	if bytes.IndexByte(text, '\\') < 0 || json.Unmarshal(text, &key) != nil {
		return string(bytes.Trim(text, `"`))
	}
	return key
}
