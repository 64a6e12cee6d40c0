// Package formats reads histories that other tools wrote: EDN and JSON of Jepsen, and transactions over registers in the files of Plume,
// AWDIT, DBCop and Cobra. Only the verb check of the command line needs it; package history has the records of Bloodhound itself.
package formats

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/history"
)

const (
	// maxEDNDepth bounds how deep values of EDN may be nested.
	maxEDNDepth = 64
	// maxDigits bounds the numbers of EDN.
	maxDigits = 400
	// maxAtoms bounds the words of EDN that are remembered.
	maxAtoms = 1 << 16
)

// ReadEDN reads a history as Jepsen stores it (history.edn): maps with :type, :process, :f and :value, one after the
// other or in one vector or list. Events are numbered in their order. With keyed, each value is a pair of a key and the value
// proper, as jepsen.independent writes them; otherwise the key is that of :key, if there is one.
//
// What the nemesis did is left out. Lists become JSON, keywords texts. A :cas has [old new] as its value. The completion of a
// write that repeats the value has no output. Without :f, a value that is a transaction makes it a txn. A history has :process in
// all events or in none: then each completion must belong to one operation in flight only, by its :f and :value. Errors name the line.
func ReadEDN(r io.Reader, keyed bool, do func(*history.Event) error) error {
	return readEDN(r, newJepsen(keyed, do))
}

// ReadEDNWithNemesis reads a history as ReadEDN does, and what the nemesis did as well. It gives the line of each event, and each must have a :time.
func ReadEDNWithNemesis(r io.Reader, keyed bool, do func(line int, e *history.Event) error, nemesis func(NemesisEvent) error) error {
	var j *jepsen
	j = newJepsen(keyed, func(e *history.Event) error { return do(j.line, e) })
	j.nemesis = nemesis
	return readEDN(r, j)
}

func readEDN(r io.Reader, j *jepsen) error {
	p := &ednParser{r: bufio.NewReader(r), line: 1, atoms: map[string]ednForm{}}
	end := byte(0)
	for {
		c, err := p.skip()
		switch {
		case err == io.EOF && end != 0:
			return fmt.Errorf("line %d: the vector of events does not end", p.line)
		case err == io.EOF:
			return nil
		case err != nil:
			return p.wrap(err)
		case (c == '[' || c == '(') && end == 0 && j.count == 0:
			end = ')'
			if c == '[' {
				end = ']'
			}
			continue
		case c == end:
			if c, err = p.skip(); err == nil {
				return fmt.Errorf("line %d: %q after the end of the history", p.line, c)
			} else if err != io.EOF {
				return p.wrap(err)
			}
			return nil
		}
		line := p.line
		j.line, p.bytes = line, 0
		form, dropped, err := p.unlessDropped(c)
		if err != nil {
			return p.wrap(err)
		}
		if dropped {
			continue
		}
		if err := j.add(form); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// unlessDropped reads a value that begins with c, or drops the one behind #_.
func (p *ednParser) unlessDropped(c byte) (form ednForm, dropped bool, err error) {
	if c == '#' {
		d, err := p.next()
		if err != nil {
			return nil, false, err
		}
		if d == '_' {
			return nil, true, p.value(1)
		}
		p.back(d)
	}
	form, err = p.form(c, 0)
	return form, false, err
}

// Forms of EDN. Numbers keep their spelling.
type (
	ednForm    any // nil, bool, string, ednKeyword, ednNumber, ednList, ednMap
	ednKeyword string
	ednNumber  string
	ednList    []ednForm
	ednMap     []ednForm // keys and values in turn
)

// mapOf makes a map of keys and values in turn. No key may stand twice, for what counts then is not known.
func mapOf(list ednList) (ednForm, error) {
	const few = 16
	if len(list)%2 != 0 {
		return nil, errors.New("a map with a key that has no value")
	}
	var seen map[string]bool
	if len(list) > 2*few {
		seen = make(map[string]bool, len(list)/2)
	}
	for i := 0; i < len(list); i += 2 {
		name := ednText(list[i])
		twice := seen[name]
		for k := 0; k < i && seen == nil && !twice; k += 2 {
			twice = ednText(list[k]) == name
		}
		if twice {
			return nil, fmt.Errorf("%q stands twice in a map", name)
		}
		if seen != nil {
			seen[name] = true
		}
	}
	return ednMap(list), nil
}

func (m ednMap) get(name ednKeyword) ednForm {
	for i := 0; i+1 < len(m); i += 2 {
		if m[i] == ednForm(name) {
			return m[i+1]
		}
	}
	return nil
}

// ednText is a value as a text: that of a string or keyword, the spelling of a number, JSON for the rest, nothing for nil.
func ednText(f ednForm) string {
	switch v := f.(type) {
	case nil:
		return ""
	case string:
		return v
	case ednKeyword:
		return string(v)
	case ednNumber:
		return string(v)
	}
	return string(appendJSON(nil, f))
}

// appendJSON appends a form as JSON has it.
func appendJSON(b []byte, f ednForm) []byte {
	switch v := f.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendText(b, v)
	case ednKeyword:
		return appendText(b, string(v))
	case ednNumber:
		return append(b, v...)
	case ednList:
		b = append(b, '[')
		for i := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, v[i])
		}
		return append(b, ']')
	case ednMap:
		m := map[string]ednForm{}
		for i := 0; i+1 < len(v); i += 2 {
			m[ednText(v[i])] = v[i+1]
		}
		for i, name := range slices.Sorted(maps.Keys(m)) {
			b = append(appendText(append(b, "{,"[min(i, 1)]), name), ':')
			b = appendJSON(b, m[name])
		}
		if len(m) == 0 {
			b = append(b, '{')
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("history: a form of EDN that is none: %T", f))
}

// appendText appends a text as JSON has it.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(text)
			if err != nil {
				panic(fmt.Sprintf("formats: a text that is no JSON: %v", err)) // Marshal takes every text
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

type ednParser struct {
	r     *bufio.Reader
	line  int
	bytes int                // of the current event
	buf   []byte             // of the text or word that is being read
	open  []ednForm          // the values of the lists that are being read
	atoms map[string]ednForm // words, of which long histories have few
}

func (p *ednParser) wrap(err error) error {
	if err == io.EOF {
		err = errors.New("the file ends in the middle of an event")
	}
	return fmt.Errorf("line %d: %w", p.line, err)
}

func (p *ednParser) next() (byte, error) {
	c, err := p.r.ReadByte()
	if err != nil {
		return 0, err
	}
	if c == '\n' {
		p.line++
	}
	if p.bytes++; p.bytes > history.MaxRecordBytes {
		return 0, errTooLong
	}
	return c, nil
}

func (p *ednParser) back(c byte) {
	if c == '\n' {
		p.line--
	}
	p.bytes--
	p.r.UnreadByte() // the byte was just read
}

// skip gives the first byte that is neither white space nor part of a comment.
func (p *ednParser) skip() (byte, error) {
	for {
		c, err := p.next()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\r', '\n', ',':
			p.bytes-- // white space is free
		case ';':
			for c != '\n' {
				if c, err = p.next(); err != nil {
					return 0, err
				}
			}
		default:
			return c, nil
		}
	}
}

// form reads a value that begins with c.
func (p *ednParser) form(c byte, depth int) (ednForm, error) {
	if depth > maxEDNDepth {
		return nil, fmt.Errorf("values are nested deeper than %d", maxEDNDepth)
	}
	switch c {
	case '[':
		return p.list(']', depth)
	case '(':
		return p.list(')', depth)
	case '{':
		list, err := p.list('}', depth)
		if err != nil {
			return nil, err
		}
		return mapOf(list)
	case '"':
		return p.text()
	case ']', ')', '}':
		return nil, fmt.Errorf("%q closes nothing", c)
	case '\\':
		err := p.word()
		w := string(p.buf)
		if len(w) > 1 {
			if named, ok := map[string]string{"newline": "\n", "space": " ", "tab": "\t", "return": "\r"}[w]; ok {
				w = named
			}
		}
		return w, err
	case '#':
		c, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case c == '{':
			return p.list('}', depth)
		case c == '_': // the next value does not count
			if err := p.value(depth + 1); err != nil {
				return nil, err
			}
		default: // a tag: the value stands for itself
			p.back(c)
			if err := p.word(); err != nil {
				return nil, err
			}
		}
		if c, err = p.skip(); err != nil {
			return nil, err
		}
		return p.form(c, depth+1)
	}
	p.back(c)
	return p.atom()
}

// value reads one value and drops it.
func (p *ednParser) value(depth int) error {
	c, err := p.skip()
	if err != nil {
		return err
	}
	_, err = p.form(c, depth)
	return err
}

func (p *ednParser) list(end byte, depth int) (ednList, error) {
	from := len(p.open)
	for {
		c, err := p.skip()
		if err != nil {
			return nil, err
		}
		if c == end {
			list := append(make(ednList, 0, len(p.open)-from), p.open[from:]...)
			clear(p.open[from:])
			p.open = p.open[:from]
			return list, nil
		}
		if c == '#' {
			// A dropped value may be the last one of a list.
			d, err := p.next()
			if err != nil {
				return nil, err
			}
			if d == '_' {
				if err := p.value(depth + 1); err != nil {
					return nil, err
				}
				continue
			}
			p.back(d)
		}
		f, err := p.form(c, depth+1)
		if err != nil {
			return nil, err
		}
		p.open = append(p.open, f)
	}
}

func (p *ednParser) text() (string, error) {
	p.buf = p.buf[:0]
	for {
		c, err := p.next()
		if err != nil {
			return "", err
		}
		switch c {
		case '"':
			if !utf8.Valid(p.buf) {
				return "", errors.New("a text that is not UTF-8")
			}
			return string(p.buf), nil
		case '\\':
			if c, err = p.next(); err != nil {
				return "", err
			}
			switch c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'r':
				c = '\r'
			case '"', '\\':
			case 'u':
				var hex [4]byte
				for i := range hex {
					if hex[i], err = p.next(); err != nil {
						return "", err
					}
				}
				n, err := strconv.ParseUint(string(hex[:]), 16, 16)
				if err != nil {
					return "", fmt.Errorf(`\u%s is no character`, hex[:])
				}
				p.buf = utf8.AppendRune(p.buf, rune(n))
				continue
			default:
				return "", fmt.Errorf(`\%c in a text`, c)
			}
			p.buf = append(p.buf, c)
		default:
			p.buf = append(p.buf, c)
		}
	}
}

// word reads up to white space or a bracket, into buf.
func (p *ednParser) word() error {
	c, err := p.next()
	if err != nil {
		return err
	}
	p.buf = append(p.buf[:0], c)
	for more := true; more; {
		if _, err := p.r.Peek(1); err != nil {
			if err == io.EOF {
				break
			}
			return err
		}
		ahead, _ := p.r.Peek(p.r.Buffered())
		n := 0
		for n < len(ahead) && !endsWord[ahead[n]] {
			n++
		}
		more = n == len(ahead)
		p.buf = append(p.buf, ahead[:n]...)
		p.r.Discard(n) // it was there
		if p.bytes += n; p.bytes > history.MaxRecordBytes {
			return errTooLong
		}
	}
	if !utf8.Valid(p.buf) {
		return errors.New("a word that is not UTF-8")
	}
	return nil
}

var errTooLong = fmt.Errorf("an event of more than %d bytes", history.MaxRecordBytes)

// endsWord has the bytes that no word continues with.
var endsWord = func() (ends [256]bool) {
	for _, c := range []byte(" \t\r\n,;()[]{}\"") {
		ends[c] = true
	}
	return ends
}()

// atom is the value of the word that begins here.
func (p *ednParser) atom() (ednForm, error) {
	if err := p.word(); err != nil {
		return nil, err
	}
	const long = 5 // digits, from which on a number is hardly there again
	once := len(p.buf) > long && p.buf[0] >= '0' && p.buf[0] <= '9'
	if !once {
		if f, known := p.atoms[string(p.buf)]; known {
			return f, nil
		}
	}
	w := string(p.buf)
	f, err := atom(w)
	if err == nil && !once && len(p.atoms) < maxAtoms {
		p.atoms[w] = f
	}
	return f, err
}

// isInteger reports whether a word is spelt as JSON spells positive integers.
func isInteger(w string) bool {
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return false
		}
	}
	return len(w) <= maxDigits && (w[0] != '0' || len(w) == 1)
}

// atom is a word's value. Numbers become such as JSON has; ratios and other symbols become texts.
func atom(w string) (ednForm, error) {
	switch w {
	case "nil":
		return nil, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if w[0] == ':' {
		if len(w) == 1 {
			return nil, errors.New("a keyword without a name")
		}
		return ednKeyword(w[1:]), nil
	}
	digits := strings.TrimLeft(w, "+-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return w, nil
	}
	if isInteger(w) {
		return ednNumber(w), nil
	}
	if len(w) > maxDigits {
		return nil, fmt.Errorf("a number of more than %d digits", maxDigits)
	}
	if n, ok := new(big.Int).SetString(strings.TrimSuffix(w, "N"), 10); ok {
		return ednNumber(n.String()), nil
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(w, "M"), 64)
	if err != nil {
		if strings.Contains(w, "/") {
			return w, nil
		}
		return nil, fmt.Errorf("%s is no number", excerpt([]byte(w)))
	}
	text, err := json.Marshal(f)
	return ednNumber(text), err
}

const excerptBytes = 120

// excerpt is the beginning of a text, for an error.
func excerpt(text []byte) string {
	if len(text) > excerptBytes {
		return fmt.Sprintf("%q...", text[:excerptBytes])
	}
	return fmt.Sprintf("%q", text)
}
