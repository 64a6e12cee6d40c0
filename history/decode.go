package history

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// decoder reads records. quick reads the usual ones in one pass. parseRecord, by encoding/json, defines what a record means; it reads all others
// and makes every error.
type decoder struct {
	many  bool              // records follow, so that it pays to keep texts together
	names map[string]string // clients, operations, keys and nodes, of which long histories have few
	texts strings.Builder   // other texts, many in one piece of memory
	// unescaped is room for a text that is spelt with escapes.
	unescaped []byte
}

const (
	maxNames  = 1 << 16
	textBytes = 64 << 10
)

// parse reads a record. It reports whether the record has a number.
func (d *decoder) parse(line []byte) (e Event, numbered bool, err error) {
	if e, numbered, ok := d.quick(line); ok {
		return e, numbered, nil
	}
	return parseRecord(line)
}

// name is a text that may occur again.
func (d *decoder) name(b []byte) string {
	if s, known := d.names[string(b)]; known {
		return s
	}
	s := d.text(b)
	if d.many && len(d.names) < maxNames {
		if d.names == nil {
			d.names = map[string]string{}
		}
		d.names[s] = s
	}
	return s
}

// text is a string that lies beside others. A Builder's string stays as it is while more is written behind it.
func (d *decoder) text(b []byte) string {
	if !d.many || len(b) > textBytes/8 {
		return string(b)
	}
	if d.texts.Cap()-d.texts.Len() < len(b) {
		d.texts = strings.Builder{}
		d.texts.Grow(textBytes)
	}
	from := d.texts.Len()
	d.texts.Write(b)
	return d.texts.String()[from:]
}

// The fields of a record, as bits.
const (
	hasNumber = 1 << iota
	hasTime
	hasClient
	hasType
	hasOp
	hasKey
	hasInput
	hasExpect
	hasOutput
	hasFound
	hasGroup
	hasError
	hasNode
)

// quick reads a record that has each field at most once, texts without \u and numbers without fractions; ok reports whether it did.
func (d *decoder) quick(line []byte) (e Event, numbered, ok bool) {
	if len(line) > MaxRecordBytes {
		return e, false, false
	}
	s := scan{line: line, unescaped: d.unescaped}
	defer func() { d.unescaped = s.unescaped[:0] }()
	if s.skip() != '{' {
		return e, false, false
	}
	s.at++
	fields, null := 0, false
	for more := true; more; {
		if s.skip() != '"' {
			return e, false, false
		}
		name, _, ok := s.value()
		if !ok || len(s.unescaped) > 0 || s.skip() != ':' {
			return e, false, false
		}
		s.at++
		s.skip()
		value, quoted, ok := s.value()
		if !ok {
			return e, false, false
		}
		field := 0
		switch string(name) {
		case "number":
			field = hasNumber
			e.Number, ok = unsigned(value, quoted)
		case "time_ns":
			field = hasTime
			rest, negative := bytes.CutPrefix(value, []byte("-"))
			n, is := unsigned(rest, quoted)
			e.TimeNs, ok = int64(n), is && len(rest) < 19 // more digits may be too many for an int64
			if negative {
				e.TimeNs = -e.TimeNs
			}
		case "found":
			field = hasFound
			e.Found, ok = string(value) == "true", !quoted && (string(value) == "true" || string(value) == "false")
		case "type":
			field, ok = hasType, quoted
			switch string(value) {
			case string(Invoke):
				e.Type = Invoke
			case string(Ok):
				e.Type = Ok
			case string(Fail):
				e.Type = Fail
			case string(Info):
				e.Type = Info
			default:
				ok = false
			}
		case "op":
			field, ok = hasOp, quoted
			e.Op = d.name(value)
		case "error":
			field, ok = hasError, quoted
			e.Error = d.text(value)
		case "node":
			field, ok = hasNode, quoted
			e.Node = d.name(value)
		case "group":
			field, ok = hasGroup, quoted
			e.Group = d.name(value)
		case "client":
			field, e.Client = hasClient, d.name(value)
		case "key":
			field, e.Key = hasKey, d.name(value)
		case "input":
			field, e.Input = hasInput, d.text(value)
		case "expect":
			field, e.Expect = hasExpect, d.text(value)
		case "output":
			field, e.Output = hasOutput, d.text(value)
		default:
			return e, false, false
		}
		null = null || !quoted && string(value) == "null"
		if !ok || fields&field != 0 {
			return e, false, false
		}
		fields |= field
		more = s.skip() == ','
		if !more && s.skip() != '}' {
			return e, false, false
		}
		s.at++
	}
	s.skip()
	if s.at != len(line) || null || fields&hasType == 0 {
		return e, false, false
	}
	err := e.complete(fields&hasOutput != 0, fields&hasFound != 0)
	return e, fields&hasNumber != 0, err == nil
}

// unsigned is the value of digits.
func unsigned(b []byte, quoted bool) (uint64, bool) {
	if quoted || len(b) == 0 || len(b) > 19 { // as many are always fewer than 1<<64
		return 0, false
	}
	n := uint64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// escapes are the bytes that one letter behind a backslash stands for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// scan goes through the text of a flat object.
type scan struct {
	line      []byte
	at        int
	unescaped []byte // the last text, if it was spelt with escapes
}

// skip goes to the next byte that is no white space, and gives it: 0 at the end.
func (s *scan) skip() byte {
	for ; s.at < len(s.line); s.at++ {
		if c := s.line[s.at]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// value is a string without its quotes, or an integer, true, false or null. It is there until the next one is read.
func (s *scan) value() (b []byte, quoted, ok bool) {
	line, from := s.line, s.at
	s.unescaped = s.unescaped[:0]
	if from >= len(line) {
		return nil, false, false
	}
	if line[from] == '"' {
		copied := from + 1
		for i := from + 1; i < len(line); i++ {
			switch c := line[i]; {
			case c == '"':
				b = line[from+1 : i]
				if s.at = i + 1; len(s.unescaped) > 0 {
					s.unescaped = append(s.unescaped, line[copied:i]...)
					b = s.unescaped
				}
				return b, true, utf8.Valid(b)
			case c < ' ':
				return nil, false, false
			case c == '\\':
				if i++; i == len(line) || escapes[line[i]] == 0 {
					return nil, false, false
				}
				s.unescaped = append(append(s.unescaped, line[copied:i-1]...), escapes[line[i]])
				copied = i + 1
			}
		}
		return nil, false, false
	}
	for s.at < len(line) {
		if c := line[s.at]; c == ',' || c == '}' || c <= ' ' {
			break
		}
		s.at++
	}
	b = line[from:s.at]
	switch string(b) {
	case "true", "false", "null", "0":
		return b, false, true
	}
	digits := bytes.TrimPrefix(b, []byte("-"))
	if len(digits) == 0 || digits[0] == '0' {
		return nil, false, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return nil, false, false
		}
	}
	return b, false, true
}
