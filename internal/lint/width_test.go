package lint

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostColumns bounds a line of Go; a tab has four columns.
const mostColumns = 160

// Lines fit on a screen. Where one cannot be broken, as within a raw string or a text without spaces, it may be longer.
func TestLinesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if strings.HasPrefix(s.path, "bench/bugs/") { // figures were measured with these bytes
			continue
		}
		src, err := os.ReadFile(filepath.Join("..", "..", s.path))
		if err != nil {
			t.Fatal(err)
		}
		var whole map[int]bool
		for i, line := range strings.Split(string(src), "\n") {
			if utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) <= mostColumns {
				continue
			}
			if whole == nil {
				whole = unbreakable(src)
			}
			if !whole[i+1] {
				t.Errorf("%s:%d: more than %d columns: break the line", s.path, i+1, mostColumns)
			}
		}
	}
}

// longWord is how many columns a text without a space must have to excuse its line.
const longWord = 60

// unbreakable are the numbers of the lines of a file that have a part of a raw string, a long text without spaces, or a command of the go tool.
func unbreakable(src []byte) map[int]bool {
	lines := map[int]bool{}
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		line := files.Position(pos).Line
		switch {
		case tok == token.EOF:
			return lines
		case tok == token.STRING && strings.HasPrefix(text, "`"):
			for i := range strings.Count(text, "\n") + 1 {
				lines[line+i] = true
			}
		case tok == token.STRING && hasLongWord(text), tok == token.COMMENT && strings.HasPrefix(text, "//go:"):
			lines[line] = true
		}
	}
}

func hasLongWord(text string) bool {
	for _, word := range strings.Fields(text) {
		if len(word) >= longWord {
			return true
		}
	}
	return false
}
