// Package formats recognizes and reads histories that other tools wrote: EDN and JSON of Jepsen, and transactions over registers in the
// files of Plume, AWDIT, DBCop, Cobra and Viper. Table has a row for each format. Only the verb check of the command line needs it;
// package history has the records of Bloodhound itself.
package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/values"
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
// other or in one vector or list. Events are numbered in their order, and that must be the order of :index, if they have one: else the error is
// ErrUnordered. With keyed, each value is a pair of a key and the value proper, as jepsen.independent writes them; otherwise the key is that
// of :key, if there is one.
//
// What the nemesis did is left out. Values, keys and processes are spelt as package values has it, so that those are alike that Clojure's =
// takes for equal; nil is no value, or null in a list. A :cas has [old new] as its value. The completion of a write that repeats the value
// has no output. Without :f, a value that is a transaction makes it a txn. A history has :process in all events or in none: then each
// completion must belong to one operation in flight only, by its :f and :value. Fields that are not named here may have anything. Errors
// name the line.
func ReadEDN(r io.Reader, keyed bool, do func(*history.Event) error) error {
	return readEDN(r, newJepsen(keyed, do))
}

// ReadEDNInOrder reads a history as ReadEDN does, and sorts its events by :index first. It keeps them all until the end of the file.
func ReadEDNInOrder(r io.Reader, keyed bool, do func(*history.Event) error) error {
	j := newJepsen(keyed, do)
	j.sorts = true
	return readEDN(r, j)
}

// ReadEDNWithNemesis reads a history as ReadEDNInOrder does, and what the nemesis did as well. It gives the line of each event, and each must have a :time.
func ReadEDNWithNemesis(r io.Reader, keyed bool, do func(line int, e *history.Event) error, nemesis func(NemesisEvent) error) error {
	var j *jepsen
	j = newJepsen(keyed, func(e *history.Event) error { return do(j.line, e) })
	j.nemesis, j.sorts = nemesis, true
	return readEDN(r, j)
}

func readEDN(r io.Reader, j *jepsen) error {
	p := newEDNParser(bufio.NewReaderSize(r, quickBytes))
	end := byte(0)
	for {
		c, err := p.skip()
		switch {
		case err == io.EOF && end != 0:
			return fmt.Errorf("line %d: the vector of events is not closed", p.line)
		case err == io.EOF:
			return j.end()
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
			return j.end()
		}
		j.line, p.bytes = p.line, 0
		if c == '{' && j.missed < mostMissed {
			p.back(c)
			text, err := p.eventLine()
			if err != nil {
				return p.wrap(err)
			}
			j.missed++
			if e, ok := j.quickTransaction(text); ok {
				j.missed = 0
				if err := j.emitEvent(e); err != nil {
					return j.placed(err)
				}
				p.r.Discard(len(text)) // it was there
				continue
			}
			p.next() // it was there
		}
		form, dropped, err := p.unlessDropped(c)
		if err != nil {
			return p.wrap(err)
		}
		if dropped {
			continue
		}
		if err := j.add(form); err != nil {
			return j.placed(err)
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

// Forms of EDN. Two forms are equal exactly if they are spelt alike.
type (
	ednForm    any // nil, bool, string, or one of these
	ednKeyword string
	ednSymbol  string
	ednChar    string
	ednNumber  string // in its shortest spelling: 1, 1.0, 1M, 1/2
	ednName    string // the key of an object of JSON, where all keys are texts
	ednList    []ednForm
	ednSet     []ednForm
	ednMap     []ednForm // keys and values in turn
	ednTagged  struct {
		tag   string
		value ednForm
	}
	// ednStrange has no value that could be compared. It may stand where nobody reads it.
	ednStrange struct{ why string }
)

// mapOf makes a map of keys and values in turn. No key may stand twice, for what counts then is not known.
func mapOf(list ednList) (ednForm, error) {
	const few = 16
	if len(list)%2 != 0 {
		return nil, errors.New("a map has a key without a value")
	}
	var seen map[string]bool
	if len(list) > 2*few {
		seen = make(map[string]bool, len(list)/2)
	}
	for i := 0; i < len(list); i += 2 {
		twice := false
		if seen == nil {
			for k := 0; k < i && !twice; k += 2 {
				twice = equal(list[k], list[i])
			}
		} else {
			name := spell(list[i])
			twice, seen[name] = seen[name], true
		}
		if twice {
			return nil, fmt.Errorf("%s appears twice in a map", shown(list[i]))
		}
	}
	return ednMap(list), nil
}

// untagged is a form without its tags: #jepsen.history.Op{...} is a map.
func untagged(f ednForm) ednForm {
	for {
		t, is := f.(ednTagged)
		if !is {
			return f
		}
		f = t.value
	}
}

// word is the name of a keyword, symbol or text, and otherwise the spelling of a form: for what is no value of the history.
func word(f ednForm) string {
	switch v := f.(type) {
	case nil:
		return ""
	case string:
		return v
	case ednKeyword:
		return string(v)
	case ednSymbol:
		return string(v)
	case ednName:
		return string(v)
	case ednNumber:
		return string(v)
	}
	return string(appendPlain(nil, f))
}

// appendPlain appends a form as JSON that has no kinds of its own for keywords and sets.
func appendPlain(b []byte, f ednForm) []byte {
	switch v := f.(type) {
	case nil:
		return append(b, values.Null...)
	case bool:
		return strconv.AppendBool(b, v)
	case ednNumber:
		if isJSONNumber(v) {
			return append(b, v...)
		}
		return values.AppendQuoted(b, string(v))
	case ednSet:
		return appendPlain(b, ednList(v))
	case ednTagged:
		return appendPlain(b, v.value)
	case ednList:
		b = append(b, '[')
		for i := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendPlain(b, v[i])
		}
		return append(b, ']')
	case ednMap:
		m := map[string]ednForm{}
		for i := 0; i+1 < len(v); i += 2 {
			m[word(v[i])] = v[i+1]
		}
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(m)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendPlain(append(values.AppendQuoted(b, name), ':'), m[name])
		}
		return append(b, '}')
	case ednChar:
		return values.AppendQuoted(b, string(v))
	case ednStrange:
		return values.AppendQuoted(b, v.why)
	}
	return values.AppendQuoted(b, word(f))
}

type ednParser struct {
	r     *bufio.Reader
	line  int
	bytes int                // of the current event
	buf   []byte             // of the text or word that is being read
	open  []ednForm          // the values of the lists that are being read
	atoms map[string]ednForm // words, of which long histories have few
}

func newEDNParser(r *bufio.Reader) *ednParser {
	return &ednParser{r: r, line: 1, atoms: map[string]ednForm{}}
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
		return nil, fmt.Errorf("values are nested more than %d levels deep", maxEDNDepth)
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
		m, err := mapOf(list)
		if err != nil && depth > 0 {
			return ednStrange{err.Error()}, nil
		}
		return m, err
	case '"':
		return p.text()
	case ']', ')', '}':
		return nil, fmt.Errorf("unexpected %q", c)
	case '^': // what describes the next value
		if err := p.value(depth + 1); err != nil {
			return nil, err
		}
		c, err := p.skip()
		if err != nil {
			return nil, err
		}
		return p.form(c, depth+1)
	case '\\':
		if err := p.word(); err != nil {
			return nil, err
		}
		return character(string(p.buf)), nil
	case '#':
		return p.dispatch(depth)
	}
	p.back(c)
	return p.atom()
}

// dispatch reads what follows a #.
func (p *ednParser) dispatch(depth int) (ednForm, error) {
	c, err := p.next()
	if err != nil {
		return nil, err
	}
	switch c {
	case '{':
		list, err := p.list('}', depth)
		return ednSet(list), err
	case '_': // the next value does not count
		if err := p.value(depth + 1); err != nil {
			return nil, err
		}
		if c, err = p.skip(); err != nil {
			return nil, err
		}
		return p.form(c, depth+1)
	case '#', '\'': // ##NaN, #'var
		if err := p.word(); err != nil {
			return nil, err
		}
		switch name := "#" + string(c) + string(p.buf); name {
		case "##NaN", "##Inf", "##-Inf":
			return ednNumber(name), nil
		default:
			return ednStrange{name + " is not an EDN value"}, nil
		}
	case '"':
		return ednStrange{"a regular expression cannot be compared"}, p.pattern()
	case '<':
		return ednStrange{"#<...> is an object that was not written as EDN"}, p.angles()
	}
	p.back(c)
	if err := p.word(); err != nil {
		return nil, err
	}
	tag, readable := string(p.buf), utf8.Valid(p.buf)
	if c, err = p.skip(); err != nil {
		return nil, err
	}
	value, err := p.form(c, depth+1)
	switch {
	case err != nil:
		return nil, err
	case tag == "object":
		return ednStrange{"#object[...] is an object that was not written as EDN"}, nil
	case !readable:
		return ednStrange{"a tag that is not UTF-8"}, nil
	}
	return ednTagged{tag, value}, nil
}

// pattern reads on behind the last quote of a regular expression.
func (p *ednParser) pattern() error {
	for {
		c, err := p.next()
		if err != nil || c == '"' {
			return err
		}
		if c == '\\' {
			if _, err := p.next(); err != nil {
				return err
			}
		}
	}
}

// angles reads on behind the end of #<...>, as Clojure 1.6 and earlier wrote objects.
func (p *ednParser) angles() error {
	for open := 1; open > 0; {
		c, err := p.next()
		switch {
		case err != nil:
			return err
		case c == '<':
			open++
		case c == '>':
			open--
		}
	}
	return nil
}

// characterNames are the characters that EDN names.
var characterNames = map[string]string{"newline": "\n", "space": " ", "tab": "\t", "return": "\r", "formfeed": "\f", "backspace": "\b"}

// character is the value of a word behind a backslash.
func character(w string) ednForm {
	if named, ok := characterNames[w]; ok {
		return ednChar(named)
	}
	if utf8.RuneCountInString(w) == 1 && utf8.ValidString(w) {
		return ednChar(w)
	}
	if n, err := strconv.ParseUint(w[1:], 16, 16); err == nil && w[0] == 'u' && len(w) == 5 && !utf16.IsSurrogate(rune(n)) {
		return ednChar(rune(n))
	}
	if n, err := strconv.ParseUint(w[1:], 8, 8); err == nil && w[0] == 'o' {
		return ednChar(rune(n))
	}
	return ednStrange{excerpt([]byte(`\`+w)) + " is not a character"}
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

func (p *ednParser) text() (ednForm, error) {
	p.buf = p.buf[:0]
	wrong := ""
	for {
		c, err := p.next()
		if err != nil {
			return nil, err
		}
		switch {
		case c == '"' && wrong != "":
			return ednStrange{wrong}, nil
		case c == '"' && !utf8.Valid(p.buf):
			return ednStrange{"a text that is not UTF-8"}, nil
		case c == '"':
			return string(p.buf), nil
		case c == '\\':
			if err := p.escape(&wrong); err != nil {
				return nil, err
			}
		default:
			p.buf = append(p.buf, c)
		}
	}
}

// escapes are the letters that may stand behind a backslash in a text.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\'}

// escape reads what stands behind a backslash in a text. What it cannot mean it says in wrong.
func (p *ednParser) escape(wrong *string) error {
	c, err := p.next()
	if err != nil {
		return err
	}
	plain, known := escapes[c]
	switch {
	case known:
		p.buf = append(p.buf, plain)
	case c == 'u':
		first, ok, err := p.unit()
		if err != nil {
			return err
		}
		r := rune(first)
		if utf16.IsSurrogate(r) { // half of a character; the other half must follow
			ahead, _ := p.r.Peek(2)
			if ok = ok && string(ahead) == `\u`; ok {
				p.next()
				p.next() // both were there
				second, is, err := p.unit()
				if err != nil {
					return err
				}
				r = utf16.DecodeRune(r, rune(second))
				ok = is && r != utf8.RuneError
			}
		}
		if !ok {
			*wrong = `a \u in a text does not encode a character`
		}
		p.buf = utf8.AppendRune(p.buf, r)
	case c >= '0' && c <= '7':
		n := rune(c - '0')
		for range 2 {
			ahead, _ := p.r.Peek(1)
			if len(ahead) == 0 || ahead[0] < '0' || ahead[0] > '7' {
				break
			}
			p.next() // it was there
			n = n*8 + rune(ahead[0]-'0')
		}
		p.buf = utf8.AppendRune(p.buf, n)
	default:
		*wrong = fmt.Sprintf(`invalid escape \%c in a text`, c)
	}
	return nil
}

// unit reads the four digits behind \u, and reports whether they are.
func (p *ednParser) unit() (n uint64, ok bool, err error) {
	var hex [4]byte
	for i := range hex {
		if hex[i], err = p.next(); err != nil {
			return 0, false, err
		}
		if hex[i] == '"' { // the text ends here
			p.back('"')
			return 0, false, nil
		}
	}
	n, wrong := strconv.ParseUint(string(hex[:]), 16, 16)
	return n, wrong == nil, nil
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
	return nil
}

var errTooLong = fmt.Errorf("an event has more than %d bytes", history.MaxRecordBytes)

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
	if !utf8.Valid(p.buf) {
		return ednStrange{"a word that is not UTF-8"}, nil
	}
	w := string(p.buf)
	f := atom(w)
	if !once && len(p.atoms) < maxAtoms {
		p.atoms[w] = f
	}
	return f, nil
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

// atom is a word's value.
func atom(w string) ednForm {
	switch w {
	case "nil":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	if w[0] == ':' {
		if len(w) == 1 {
			return ednStrange{"a keyword without a name"}
		}
		return ednKeyword(w[1:])
	}
	digits := strings.TrimLeft(w, "+-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(w)-len(digits) > 1 {
		return ednSymbol(w)
	}
	if isInteger(w) {
		return ednNumber(w)
	}
	if len(w) > maxDigits {
		return ednStrange{fmt.Sprintf("a number has more than %d digits", maxDigits)}
	}
	if n, ok := numberOf(w, digits); ok {
		return ednNumber(n)
	}
	return ednStrange{excerpt([]byte(w)) + " is not a number"}
}

// numberOf is the shortest spelling of a number. Integers, with N or without it, are equal by value, and so are floats, decimals (M) and
// ratios; a number of one kind is equal to none of another, as in Clojure.
func numberOf(w, digits string) (string, bool) {
	const plain = "0123456789"
	switch text := strings.TrimSuffix(digits, "N"); {
	case strings.Trim(text, plain) == "" && (text[0] != '0' || text == "0"):
		n, ok := new(big.Int).SetString(strings.TrimSuffix(w, "N"), 10)
		return n.String(), ok
	case strings.Contains(digits, "/"):
		n, ok := new(big.Rat).SetString(w)
		if strings.Trim(digits, plain+"/") != "" || !ok {
			return "", false
		}
		return n.RatString(), true // Clojure has 4/2 for the integer 2
	}
	body, decimal := strings.CutSuffix(w, "M")
	whole := digits[:len(digits)-len(strings.TrimLeft(digits, plain))]
	f, err := strconv.ParseFloat(body, 64)
	if err != nil && !decimal || strings.Trim(body, plain+"+-.eE") != "" || len(whole) > 1 && whole[0] == '0' {
		return "", false
	}
	if decimal {
		n := values.Number(strings.TrimPrefix(body, "+"))
		return n + "M", !strings.ContainsAny(n, "E+") && n != ""
	}
	if f == 0 {
		return "0.0", true // 0.0 = -0.0
	}
	text, err := json.Marshal(f)
	if err != nil {
		return "", false
	}
	if !bytes.ContainsAny(text, ".e") {
		text = append(text, ".0"...)
	}
	return string(text), true
}

// isJSONNumber reports whether JSON spells a number alike.
func isJSONNumber(n ednNumber) bool {
	return n[0] != '#' && n[len(n)-1] != 'M' && strings.IndexByte(string(n), '/') < 0
}

const excerptBytes = 120

// excerpt is the beginning of a text, for an error.
func excerpt(text []byte) string {
	if len(text) > excerptBytes {
		return fmt.Sprintf("%q...", text[:excerptBytes])
	}
	return fmt.Sprintf("%q", text)
}
