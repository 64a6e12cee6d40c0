package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxEDNDepth bounds how deep values of EDN may be nested.
	maxEDNDepth = 64
	// maxDigits bounds the numbers of EDN.
	maxDigits = 400
)

// ReadEDN reads a history as Jepsen stores it (history.edn): maps with :type, :process, :f and :value, one after the
// other or in one vector. Events are numbered in their order. With keyed, each value is a pair of a key and the value
// proper, as jepsen.independent writes them; otherwise the key is that of :key, if there is one.
//
// What the nemesis did is left out. Lists become JSON, keywords texts. A :cas has [old new] as its value. The completion of a
// write that repeats the value has no output. Errors name the line.
func ReadEDN(r io.Reader, keyed bool) ([]Event, error) {
	p := &ednParser{r: bufio.NewReader(r), line: 1}
	var events []Event
	invoked := map[string]ednForm{} // by client, the value of the operation in flight
	add := func(form ednForm, line int) error {
		m, ok := form.(ednMap)
		if !ok {
			return fmt.Errorf("line %d: not a map; each event is one, such as {:type :invoke, :process 0, :f :read, :value nil}", line)
		}
		e, skip, err := m.event(keyed, invoked)
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if skip {
			return nil
		}
		if len(events) == MaxEvents {
			return fmt.Errorf("line %d: more than %d events, the limit of a history", line, MaxEvents)
		}
		e.Number = uint64(len(events) + 1)
		events = append(events, e)
		return nil
	}
	inVector := false
	for {
		c, err := p.skip()
		switch {
		case err == io.EOF && inVector:
			return nil, fmt.Errorf("line %d: the vector of events does not end", p.line)
		case err == io.EOF:
			return events, nil
		case err != nil:
			return nil, p.wrap(err)
		case c == '[' && !inVector && len(events) == 0:
			inVector = true
			continue
		case c == ']' && inVector:
			inVector = false
			continue
		}
		line := p.line
		p.bytes = 0
		form, err := p.form(c, 0)
		if err != nil {
			return nil, p.wrap(err)
		}
		if err := add(form, line); err != nil {
			return nil, err
		}
	}
}

// Forms of EDN. Numbers keep their spelling.
type (
	ednForm    any // nil, bool, string, ednKeyword, ednNumber, ednList, ednMap
	ednKeyword string
	ednNumber  string
	ednList    []ednForm
	ednMap     []ednForm // keys and values in turn
)

func (m ednMap) get(name ednKeyword) ednForm {
	for i := 0; i+1 < len(m); i += 2 {
		if m[i] == ednForm(name) {
			return m[i+1]
		}
	}
	return nil
}

// event reads one event of a history.
func (m ednMap) event(keyed bool, invoked map[string]ednForm) (e Event, skip bool, err error) {
	process, numeric := m.get("process").(ednNumber)
	if !numeric {
		if m.get("process") == nil {
			return e, false, errors.New("no :process")
		}
		return e, true, nil // the nemesis
	}
	e.Client = string(process)
	kind, _ := m.get("type").(ednKeyword)
	e.Type = Type(kind)
	switch e.Type {
	case Invoke, Ok, Fail, Info:
	default:
		return e, false, fmt.Errorf(":type is %s, not one of :invoke, :ok, :fail, :info", ednText(m.get("type")))
	}
	op, ok := m.get("f").(ednKeyword)
	if !ok {
		return e, false, errors.New("no :f, the kind of operation")
	}
	e.Op = string(op)
	if n, ok := m.get("time").(ednNumber); ok {
		e.TimeNs, _ = strconv.ParseInt(string(n), 10, 64)
	}
	if m.get("error") != nil {
		e.Error = ednText(m.get("error"))
	}
	e.Key = ednText(m.get("key"))
	value := m.get("value")
	if keyed && value != nil {
		pair, ok := value.(ednList)
		if !ok || len(pair) != 2 {
			return e, false, fmt.Errorf("value %s is no pair of key and value", ednText(value))
		}
		e.Key, value = ednText(pair[0]), pair[1]
	}
	if e.Op == "cas" {
		pair, ok := value.(ednList)
		if ok && len(pair) == 2 {
			e.Expect, e.Input = ednText(pair[0]), ednText(pair[1])
		} else if e.Type == Invoke {
			return e, false, fmt.Errorf("the value of a cas is [old new], not %s", ednText(value))
		}
		if e.Type == Ok {
			e.Output = "true"
		}
		return e, false, nil
	}
	text := ednText(value)
	if e.Type == Invoke {
		invoked[e.Client] = value
		e.Input = text
		return e, false, nil
	}
	before := invoked[e.Client]
	if e.Type == Ok && (e.Op == "txn" || IsRead(e.Op) || text != ednText(before)) {
		e.Output, e.Found = text, value != nil
	}
	if e.Type != Ok && keyed && value == nil {
		e.Key = "" // the invoke names it
	}
	return e, false, nil
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
	b, err := json.Marshal(ednJSON(f))
	if err != nil {
		panic(fmt.Sprintf("history: a form of EDN that is no JSON: %v", err)) // ednJSON makes only what Marshal takes
	}
	return string(b)
}

func ednJSON(f ednForm) any {
	switch v := f.(type) {
	case ednKeyword:
		return string(v)
	case ednNumber:
		return json.RawMessage(v)
	case ednList:
		list := make([]any, len(v))
		for i := range v {
			list[i] = ednJSON(v[i])
		}
		return list
	case ednMap:
		m := map[string]any{}
		for i := 0; i+1 < len(v); i += 2 {
			m[ednText(v[i])] = ednJSON(v[i+1])
		}
		return m
	}
	return f
}

type ednParser struct {
	r     *bufio.Reader
	line  int
	bytes int // of the current event
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
	if p.bytes++; p.bytes > MaxRecordBytes {
		return 0, fmt.Errorf("an event of more than %d bytes", MaxRecordBytes)
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
		if err == nil && len(list)%2 != 0 {
			return nil, errors.New("a map with a key that has no value")
		}
		return ednMap(list), err
	case '"':
		return p.text()
	case ']', ')', '}':
		return nil, fmt.Errorf("%q closes nothing", c)
	case '\\':
		w, err := p.word()
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
			if _, err := p.word(); err != nil {
				return nil, err
			}
		}
		if c, err = p.skip(); err != nil {
			return nil, err
		}
		return p.form(c, depth+1)
	}
	p.back(c)
	w, err := p.word()
	if err != nil {
		return nil, err
	}
	return atom(w)
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
	list := ednList{}
	for {
		c, err := p.skip()
		if err != nil {
			return nil, err
		}
		if c == end {
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
		list = append(list, f)
	}
}

func (p *ednParser) text() (string, error) {
	var b strings.Builder
	for {
		c, err := p.next()
		if err != nil {
			return "", err
		}
		switch c {
		case '"':
			if !utf8.ValidString(b.String()) {
				return "", errors.New("a text that is not UTF-8")
			}
			return b.String(), nil
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
				b.WriteRune(rune(n))
				continue
			default:
				return "", fmt.Errorf(`\%c in a text`, c)
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
}

// word reads up to white space or a bracket.
func (p *ednParser) word() (string, error) {
	var b strings.Builder
	for {
		c, err := p.next()
		if err == io.EOF && b.Len() > 0 {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		if b.Len() > 0 && strings.IndexByte(" \t\r\n,;()[]{}\"", c) >= 0 {
			p.back(c)
			if !utf8.ValidString(b.String()) {
				return "", errors.New("a word that is not UTF-8")
			}
			return b.String(), nil
		}
		b.WriteByte(c)
	}
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
