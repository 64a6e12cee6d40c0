package syntax

import "strings"

// Token is a word or mark of a configuration file.
type Token struct {
	Pos    Pos
	Text   string
	Name   bool
	Number bool
	Quoted bool // a string
}

// Tokens cuts a configuration file, which has the words and comments of TLA+ but no modules.
func Tokens(file, source string) ([]Token, error) {
	l := &lexer{file: file, lines: strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")}
	var list []Token
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		switch t.kind {
		case end:
			return list, nil
		case rule, closing:
			continue
		}
		list = append(list, Token{t.pos, t.text, t.kind == ident || t.kind == keyword, t.kind == number, t.kind == text})
	}
}
