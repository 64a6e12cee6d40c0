package formats

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/values"
)

// speller spells forms, each so that no other one is spelt like it.
type speller struct {
	err error // a form has no value to compare
}

// spell is the spelling of a form for comparisons and errors.
func spell(f ednForm) string {
	var s speller
	return string(s.append(nil, f))
}

// shown is the beginning of a form, for an error.
func shown(f ednForm) string {
	text := spell(f)
	if f == nil {
		text = "nothing"
	}
	if len(text) > excerptBytes {
		return text[:excerptBytes] + "..."
	}
	return text
}

func equal(a, b ednForm) bool {
	if x, is := a.(ednKeyword); is {
		y, both := b.(ednKeyword)
		return both && x == y
	}
	return spell(a) == spell(b)
}

// append appends the spelling of a value by itself.
func (s *speller) append(b []byte, f ednForm) []byte {
	switch v := f.(type) {
	case string:
		return append(b, values.TextOfEDN(v)...)
	case ednKeyword:
		return append(append(b, ':'), v...)
	case ednNumber:
		return append(b, v...)
	case ednSymbol:
		return append(append(b, '\''), v...)
	case ednChar:
		return append(append(b, '\\'), v...)
	case ednName:
		return append(b, v...)
	case ednSet:
		items := make([]string, len(v))
		for i := range v {
			items[i] = string(s.inside(nil, v[i]))
		}
		slices.Sort(items)
		return append(append(append(b, "#{"...), strings.Join(items, ",")...), '}')
	case ednTagged:
		return s.append(append(append(append(b, '#'), v.tag...), ' '), v.value)
	case ednStrange:
		if s.err == nil {
			s.err = errors.New(v.why)
		}
		return append(b, v.why...)
	}
	return s.inside(b, f)
}

// inside appends the spelling of a value within another one: as JSON, where what JSON does not have is a text.
func (s *speller) inside(b []byte, f ednForm) []byte {
	switch v := f.(type) {
	case nil:
		return append(b, values.Null...)
	case bool:
		return strconv.AppendBool(b, v)
	case ednNumber:
		// The numbers of JSON are equal by value, and those of EDN by their kind too, so only integers are such.
		if isWhole(v) {
			return append(b, v...)
		}
		return values.AppendQuoted(b, string(v))
	case string:
		return values.AppendQuoted(b, values.TextOfEDN(v))
	case ednList:
		b = append(b, '[')
		for i := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = s.inside(b, v[i])
		}
		return append(b, ']')
	case ednMap:
		return s.object(b, v)
	}
	return values.AppendQuoted(b, string(s.append(nil, f)))
}

// isWhole reports whether a number is an integer.
func isWhole(n ednNumber) bool {
	for i := range len(n) {
		if c := n[i]; (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

func (s *speller) object(b []byte, m ednMap) []byte {
	type entry struct {
		name  string
		value ednForm
	}
	entries := make([]entry, 0, len(m)/2)
	for i := 0; i+1 < len(m); i += 2 {
		entries = append(entries, entry{string(s.append(nil, m[i])), m[i+1]})
	}
	slices.SortFunc(entries, func(x, y entry) int { return strings.Compare(x.name, y.name) })
	b = append(b, '{')
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.inside(append(values.AppendQuoted(b, e.name), ':'), e.value)
	}
	return append(b, '}')
}

// transaction appends the accesses of a transaction, whose kinds are words: [[:r 1 nil]] is [["r",1,null]].
func (s *speller) transaction(b []byte, f ednForm) []byte {
	rows, ok := f.(ednList)
	if !ok {
		return s.append(b, f)
	}
	b = append(b, '[')
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		fields, ok := row.(ednList)
		if !ok || len(fields) == 0 {
			b = s.inside(b, row)
			continue
		}
		b = append(b, '[')
		b = values.AppendQuoted(b, accessKind(fields[0]))
		for _, field := range fields[1:] {
			b = s.inside(append(b, ','), field)
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

// accessKind is the kind of an access: append, r or w.
func accessKind(f ednForm) string {
	w := word(f)
	if short, known := shortKinds[w]; known {
		return short
	}
	return w
}

// shortKinds are the usual kinds of accesses where Knossos' transactions over registers have others.
var shortKinds = map[string]string{"read": "r", "write": "w"}
