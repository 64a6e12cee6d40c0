// Package syntax reads TLA+ modules into trees: Lamport, Specifying Systems, part IV, with what Version 2 of the language added. Proofs
// are read over, and PlusCal is a comment.
package syntax

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a mistake in a text, with its place.
type Error struct {
	File    string
	Pos     Pos
	Message string
	Line    string   // the line of the text
	Chain   []string // how the place was reached, if that is not plain from the text
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Pos.Line, e.Pos.Column, e.Message)
	if e.Pos.Line == 0 { // it is about the whole file
		s = e.File + ": " + e.Message
	}
	around := ""
	for _, c := range e.Chain {
		around += "\n  " + c
	}
	if e.Line == "" {
		return s + around
	}
	shown, before := e.excerpt()
	// Tabs stay tabs, so that the caret is below its character whatever their width.
	pad := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, before)
	return s + "\n    " + shown + "\n    " + pad + "^" + around
}

// An error shows so many characters of its line, the place a third behind their beginning, if the line is longer.
const shownRunes = 240

// excerpt returns the part of the line to show, and the part of that before the place. It replaces control characters.
func (e *Error) excerpt() (shown, before string) {
	line, column := []rune(e.Line), Before(e.Line, e.Pos.Column)
	if len(line) > shownRunes {
		from := max(min(column-shownRunes/3, len(line)-shownRunes), 0)
		line, column = line[from:from+shownRunes], column-from
	}
	for i, r := range line {
		if r != '\t' && !unicode.IsPrint(r) {
			line[i] = utf8.RuneError
		}
	}
	return string(line), string(line[:column])
}

// A tab leads to the next column after a multiple of 8, as in SANY: which lists are aligned depends on it.
const tabStop = 8

// past is how many columns there are up to the end of a text that begins after so many.
func past(columns int, text string) int {
	for _, r := range text {
		columns = after(columns, r)
	}
	return columns
}

// after is past of one character.
func after(columns int, r rune) int {
	if r == '\t' {
		return columns - columns%tabStop + tabStop
	}
	return columns + 1
}

// Before is how many characters of a line stand before a column.
func Before(line string, column int) int {
	columns, n := 0, 0
	for _, r := range line {
		if columns = after(columns, r); columns >= column {
			break
		}
		n++
	}
	return n
}

type kind uint8

const (
	end     kind = iota // of the text, or of the module
	ident               // a name
	number              // digits, or a decimal
	text                // a string
	keyword             // one of keywords; WF_ and SF_ too
	symbol              // all else: operators and marks
	rule                // ---- or more
	closing             // ==== or more
	step                // <1>2. of a proof
)

type token struct {
	kind kind
	text string // as it is used here: see same
	pos  Pos
	last Pos  // of its last character
	glue bool // no space precedes it
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end of the text"
	case text:
		return fmt.Sprintf("%q", t.text)
	case rule:
		return "----"
	case closing:
		return "===="
	}
	return t.text
}

// lexer cuts the modules of a text into tokens.
type lexer struct {
	file   string
	lines  []string
	line   int // from 0
	byteAt int // in the line
	list   []token
	seen   reached
}

// reached is a place whose column is known, so that long lines are not counted again for each token.
type reached struct{ line, byteAt, column int }

var moduleHead = regexp.MustCompile(`-{4,}[ \t]*MODULE\b`)

// maxTokens bounds a module, whose tokens take much more memory than its text.
const maxTokens = 4 << 20

// lex gives the tokens of the first module of a text with those within it. The text before and after is no TLA+.
func lex(file, source string) ([]token, *lexer, error) {
	l := &lexer{file: file, lines: strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")}
	found := false
	for i, line := range l.lines {
		if at := moduleHead.FindStringIndex(line); at != nil {
			l.line, l.byteAt, found = i, at[0], true
			break
		}
	}
	if !found {
		return nil, l, l.fail(Pos{1, 1}, "no module: a module begins with ---- MODULE Name ----")
	}
	depth := 0
	for {
		t, err := l.next()
		if err != nil {
			return nil, l, err
		}
		if len(l.list) == maxTokens {
			return nil, l, l.fail(t.pos, "the module has more than %d words and symbols: put data into files of JSON lines", maxTokens)
		}
		l.list = append(l.list, t)
		switch {
		case t.kind == keyword && t.text == "MODULE" && len(l.list) > 1 && l.list[len(l.list)-2].kind == rule:
			depth++
		case t.kind == closing:
			if depth--; depth == 0 {
				l.list = append(l.list, token{kind: end, pos: t.pos})
				return l.list, l, nil
			}
		case t.kind == end:
			return nil, l, l.fail(t.pos, "the module does not end: a module ends with ====")
		}
	}
}

func (l *lexer) fail(at Pos, format string, args ...any) error {
	e := &Error{File: l.file, Pos: at, Message: fmt.Sprintf(format, args...)}
	if at.Line >= 1 && at.Line <= len(l.lines) {
		e.Line = l.lines[at.Line-1]
	}
	return e
}

func (l *lexer) pos() Pos {
	if l.line >= len(l.lines) {
		return Pos{len(l.lines), past(0, l.lines[len(l.lines)-1]) + 1}
	}
	if l.seen.line != l.line || l.seen.byteAt > l.byteAt {
		l.seen = reached{line: l.line}
	}
	l.seen.column = past(l.seen.column, l.lines[l.line][l.seen.byteAt:l.byteAt])
	l.seen.byteAt = l.byteAt
	return Pos{l.line + 1, l.seen.column + 1}
}

// restOfLine returns the unread part of the line.
func (l *lexer) restOfLine() string { return l.lines[l.line][l.byteAt:] }

// space moves over white space and comments, and reports whether there was any.
func (l *lexer) space() (bool, error) {
	moved := false
	for l.line < len(l.lines) {
		rest := l.restOfLine()
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case rest == "" || strings.HasPrefix(rest, `\*`):
			l.line, l.byteAt = l.line+1, 0
		case unicode.IsSpace(r) || r == '\uFEFF':
			l.byteAt += size
		case strings.HasPrefix(rest, "(*"):
			if err := l.comment(); err != nil {
				return true, err
			}
		default:
			return moved, nil
		}
		moved = true
	}
	return moved, nil
}

// comment moves over (* ... *), which may hold others.
func (l *lexer) comment() error {
	start, depth := l.pos(), 0
	for l.line < len(l.lines) {
		rest := l.restOfLine()
		switch {
		case rest == "":
			l.line, l.byteAt = l.line+1, 0
		case strings.HasPrefix(rest, "(*"):
			depth++
			l.byteAt += 2
		case strings.HasPrefix(rest, "*)"):
			l.byteAt += 2
			if depth--; depth == 0 {
				return nil
			}
		default:
			l.byteAt++
		}
	}
	return l.fail(start, "the comment does not end: (* needs its *)")
}

func word(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func digit(r rune) bool  { return r >= '0' && r <= '9' }

// span is how many bytes of s, from its start, are of a class.
func span(s string, class func(rune) bool) int {
	for i, r := range s {
		if !class(r) {
			return i
		}
	}
	return len(s)
}

var (
	stepToken = regexp.MustCompile(`^<(\d+|\*|\+)>[A-Za-z0-9_]*\.*`)
	based     = regexp.MustCompile(`^\\([bB][01]+|[oO][0-7]+|[hH][0-9a-fA-F]+)`)
)

func (l *lexer) next() (token, error) {
	t, err := l.scan()
	t.last = l.pos()
	t.last.Column--
	return t, err
}

func (l *lexer) scan() (token, error) {
	moved, err := l.space()
	if err != nil {
		return token{}, err
	}
	t := token{pos: l.pos(), glue: !moved}
	if l.line >= len(l.lines) {
		return t, nil
	}
	rest := l.restOfLine()
	take := func(k kind, n int) (token, error) {
		t.kind, t.text = k, rest[:n]
		l.byteAt += n
		return t, nil
	}
	if n := span(rest, word); n > 0 && rest[:n] != "_" {
		w := rest[:n]
		switch {
		case strings.HasPrefix(w, "WF_"), strings.HasPrefix(w, "SF_"):
			return take(keyword, 3)
		case span(w, digit) == n:
			if n+1 < len(rest) && rest[n] == '.' && digit(rune(rest[n+1])) {
				n += 1 + span(rest[n+1:], digit)
			}
			return take(number, n)
		case !strings.ContainsFunc(w, letter):
			return t, l.fail(t.pos, "%s is neither a number nor a name: a name has a letter", w)
		case keywords[w]:
			return take(keyword, n)
		}
		return take(ident, n)
	}
	switch {
	case strings.HasPrefix(rest, "----"):
		return take(rule, span(rest, func(r rune) bool { return r == '-' }))
	case strings.HasPrefix(rest, "===="):
		return take(closing, span(rest, func(r rune) bool { return r == '=' }))
	case rest[0] == '"':
		return l.quoted(t)
	}
	if m := stepToken.FindString(rest); m != "" {
		return take(step, len(m))
	}
	if m := based.FindString(rest); m != "" {
		base := map[byte]int{'b': 2, 'o': 8, 'h': 16}[m[1]|0x20]
		t.kind, t.text = number, rebase(m[2:], base)
		l.byteAt += len(m)
		return t, nil
	}
	if rest[0] == '\\' {
		if n := span(rest[1:], letter); n > 0 {
			w := rest[:1+n]
			if s, ok := same[w]; ok {
				t.kind, t.text = symbol, s
			} else if _, ok := infix[w]; ok || slices.Contains([]string{`\A`, `\E`, `\AA`, `\EE`}, w) {
				t.kind, t.text = symbol, w
			} else {
				return t, l.fail(t.pos, "%s is not a TLA+ operator", w)
			}
			l.byteAt += 1 + n
			return t, nil
		}
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			take(symbol, len(s))
			if other, ok := same[s]; ok {
				t.text = other
			}
			return t, nil
		}
	}
	r, size := utf8.DecodeRuneInString(rest)
	if s, ok := same[rest[:size]]; ok {
		t.kind, t.text = symbol, s
		l.byteAt += size
		if s == ">>" && strings.HasPrefix(l.restOfLine(), "_") {
			t.text = ">>_"
			l.byteAt++
		}
		return t, nil
	}
	return t, l.fail(t.pos, "%q is not part of TLA+", r)
}

func (l *lexer) quoted(t token) (token, error) {
	rest := l.restOfLine()
	var s strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			t.kind, t.text = text, s.String()
			l.byteAt += i + 1
			return t, nil
		case c == '\\' && i+1 < len(rest):
			i++
			switch rest[i] {
			case 't':
				s.WriteByte('\t')
			case 'n':
				s.WriteByte('\n')
			case 'f':
				s.WriteByte('\f')
			case 'r':
				s.WriteByte('\r')
			case '"', '\\':
				s.WriteByte(rest[i])
			default:
				return t, l.fail(Pos{t.pos.Line, past(t.pos.Column-1, rest[:i-1]) + 1}, `\%c is no escape: there are \" \\ \t \n \f \r`, rest[i])
			}
		default:
			s.WriteByte(c)
		}
	}
	return t, l.fail(t.pos, "the string does not end on its line")
}
