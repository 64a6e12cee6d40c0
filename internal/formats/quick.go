package formats

import (
	"bufio"
	"bytes"
	"io"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/values"
)

const (
	// quickBytes bounds the lines that are read in one pass.
	quickBytes = 256 << 10
	// mostMissed bounds the events in a row that quickTransaction leaves to the parser before readEDN stops trying it.
	mostMissed = 1000
	// quickDigits are always few enough for an int64.
	quickDigits = 18
	// quickDepth bounds how deep the values of quickTransaction may be nested.
	quickDepth = 8
)

// Fields that quickTransaction reads, each at most once.
const (
	typeField = 1 << iota
	fField
	processField
	timeField
	indexField
	valueField

	neededFields = typeField | fField | processField | valueField
)

// quickTransaction reads the event on a line in one pass if it is a transaction in the usual form: its value has only vectors, whole
// numbers, keywords, short texts, booleans and nil, and it has only the fields above. ok is false for every other event and leaves no
// trace: jepsen.add then reads it, and alone defines what an event means and reports errors.
func (j *jepsen) quickTransaction(line []byte) (e history.Event, ok bool) {
	if j.keyed || j.sorts || j.nemesis != nil || !j.named {
		return e, false
	}
	s := ednScan{line: line, spelling: j.buf[:0]}
	defer func() { j.buf = s.spelling[:0] }()
	if s.skip() != '{' {
		return e, false
	}
	s.at++
	seen, index := 0, int64(0)
	var process []byte
	for s.skip() != '}' {
		name := s.word()
		s.skip()
		field, plain := 0, false
		switch string(name) {
		case ":type":
			field = typeField
			e.Type, plain = completionTypes[string(s.word())]
		case ":f":
			field, plain = fField, string(s.word()) == ":txn"
		case ":process":
			field, process = processField, s.word()
			plain = isDigits(process)
		case ":time":
			field = timeField
			e.TimeNs, plain = s.number()
		case ":index":
			field = indexField
			index, plain = s.number()
		case ":value":
			field, plain = valueField, s.skip() == '[' && s.transaction()
		}
		if !plain || seen&field != 0 {
			return e, false
		}
		seen |= field
	}
	s.at++
	if s.skip(); s.at < len(line) || seen&neededFields != neededFields {
		return e, false
	}
	if seen&indexField != 0 {
		if j.indexed && index <= j.index {
			return e, false
		}
		j.indexed, j.index = true, index
	}
	e.Op, e.Client = "txn", j.shared(process)
	switch e.Type {
	case history.Invoke:
		e.Input = string(s.spelling)
		j.invoked[e.Client] = e.Input
	case history.Ok:
		e.Output, e.Found = string(s.spelling), true
	}
	if e.Type != history.Invoke {
		delete(j.invoked, e.Client)
	}
	return e, true
}

var completionTypes = map[string]history.Type{
	":invoke": history.Invoke,
	":ok":     history.Ok,
	":fail":   history.Fail,
	":info":   history.Info,
}

// isDigits reports whether a word is a whole number, in its only spelling.
func isDigits(w []byte) bool {
	for _, c := range w {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(w) == 1 || len(w) > 1 && len(w) <= maxDigits && w[0] != '0'
}

// ednScan goes through the text of an event and spells its value.
type ednScan struct {
	line     []byte
	at       int
	spelling []byte
}

// skip goes to the next byte that is not white space and returns it, or 0 at the end.
func (s *ednScan) skip() byte {
	for ; s.at < len(s.line); s.at++ {
		switch c := s.line[s.at]; c {
		case ' ', '\t', '\r', '\n', ',':
		default:
			return c
		}
	}
	return 0
}

// word reads up to white space or a bracket.
func (s *ednScan) word() []byte {
	from := s.at
	for s.at < len(s.line) && !endsWord[s.line[s.at]] {
		s.at++
	}
	return s.line[from:s.at]
}

// number reads a whole number that is not too long for an int64.
func (s *ednScan) number() (n int64, ok bool) {
	word := s.word()
	if !isDigits(word) || len(word) > quickDigits {
		return 0, false
	}
	for _, c := range word {
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// Classes of the bytes in values.
const (
	otherByte = iota
	spaceByte
	digitByte
	wordByte // in keywords and texts that JSON does not escape
)

var byteClasses = func() (classes [256]uint8) {
	for c := range 128 {
		switch {
		case bytes.IndexByte([]byte(" \t\r\n,"), byte(c)) >= 0:
			classes[c] = spaceByte
		case c >= '0' && c <= '9':
			classes[c] = digitByte
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || bytes.IndexByte([]byte("-_./?!*+="), byte(c)) >= 0:
			classes[c] = wordByte
		}
	}
	return classes
}()

// transaction spells the vector that begins here as speller.transaction does, if it can.
func (s *ednScan) transaction() bool {
	line, at, b := s.line, s.at, s.spelling
	more := false // the list has an element already
	for depth := 0; at < len(line); {
		c := line[at]
		class := byteClasses[c]
		if class == spaceByte {
			at++
			continue
		}
		if c == ']' {
			b = append(b, c)
			at++
			more = true
			if depth--; depth == 0 {
				s.at, s.spelling = at, b
				return true
			}
			continue
		}
		kind := depth == 2 && !more // the first element of an access, which is a word
		if kind && c != ':' {
			return false
		}
		if more {
			b = append(b, ',')
		}
		from := at
		at++
		switch {
		case c == '[':
			if depth++; depth > quickDepth {
				return false
			}
			b = append(b, c)
			more = false
			continue
		case class == digitByte:
			for at < len(line) && byteClasses[line[at]] == digitByte {
				at++
			}
			if c == '0' && at > from+1 || at > from+maxDigits {
				return false
			}
			b = append(b, line[from:at]...)
		case c == ':':
			for at < len(line) && byteClasses[line[at]] >= digitByte {
				at++
			}
			if at == from+1 {
				return false
			}
			b = append(b, '"')
			name := line[from+1 : at]
			if !kind {
				b = append(append(b, ':'), name...)
			} else if short, known := shortKinds[string(name)]; known {
				b = append(b, short...)
			} else {
				b = append(b, name...)
			}
			b = append(b, '"')
		case c == '"':
			for at < len(line) && (byteClasses[line[at]] >= digitByte || line[at] == ' ') {
				at++
			}
			if at == len(line) || line[at] != '"' {
				return false
			}
			b = values.AppendQuoted(b, values.TextOfEDN(string(line[from+1:at])))
			at++
			more = true
			continue // the next value may follow at once
		default:
			for at < len(line) && byteClasses[line[at]] >= digitByte {
				at++
			}
			switch string(line[from:at]) {
			case "nil":
				b = append(b, values.Null...)
			case "true", "false":
				b = append(b, line[from:at]...)
			default:
				return false
			}
		}
		if at == len(line) || !endsWord[line[at]] {
			return false
		}
		more = true
	}
	return false
}

// eventLine is the line that begins with the next byte, without its end. It is nil if the line is the last one and does not end, or is
// too long to be seen at once.
func (p *ednParser) eventLine() ([]byte, error) {
	for seen := 0; ; {
		ahead, _ := p.r.Peek(p.r.Buffered())
		if n := bytes.IndexByte(ahead[seen:], '\n'); n >= 0 {
			return ahead[:seen+n], nil
		}
		seen = len(ahead)
		switch _, err := p.r.Peek(seen + 1); err {
		case nil:
		case io.EOF, bufio.ErrBufferFull:
			return nil, nil
		default:
			return nil, err
		}
	}
}
