package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// MaxErrors is how many mistakes of a configuration are reported at once; the rest are counted.
const MaxErrors = 10

// maxLineShown bounds the source line that an Error shows, in characters.
const maxLineShown = 160

// Error is one mistake in a configuration: where it is, what is wrong and what to do about it.
type Error struct {
	File    string // as the user named it
	Line    int    // from 1 on; 0 is the file as a whole
	Column  int    // from 1 on, in characters
	Message string
	Source  string // the line
	Remedy  string
}

// Error gives the place and the message, then the source line with a caret below it, then the remedy.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": " + e.Message)
	if e.Line > 0 && strings.TrimSpace(e.Source) != "" {
		line, caret := underline(e.Source, e.Column)
		b.WriteString("\n    " + line + "\n    " + caret)
	}
	if e.Remedy != "" {
		b.WriteString("\n  " + e.Remedy)
	}
	return b.String()
}

// underline returns the part of a source line around a column, and a second line with a caret below that column. Tabs
// are kept in both, so that the caret is below its character whatever their width; other control characters become spaces.
func underline(source string, column int) (line, caret string) {
	text := []rune(source)
	at := min(max(column-1, 0), len(text))
	from, to := 0, len(text)
	if len(text) > maxLineShown {
		from = max(0, min(at-maxLineShown/2, len(text)-maxLineShown))
		to = min(len(text), from+maxLineShown)
	}
	var shown, below strings.Builder
	for i, r := range text[from:to] {
		if r != '\t' && !unicode.IsPrint(r) {
			r = ' '
		}
		shown.WriteRune(r)
		if from+i < at {
			if r != '\t' {
				r = ' '
			}
			below.WriteRune(r)
		}
	}
	return strings.TrimRight(shown.String(), " "), below.String() + "^"
}

// Errors are all mistakes that were found, in the order of files and lines.
type Errors []*Error

// Error joins the first MaxErrors mistakes.
func (e Errors) Error() string {
	var parts []string
	for _, one := range e[:min(len(e), MaxErrors)] {
		parts = append(parts, one.Error())
	}
	if more := len(e) - MaxErrors; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more errors", more))
	}
	return strings.Join(parts, "\n")
}

// Sort puts mistakes in the order of the files read and their lines. One place is complained about once.
func Sort(errs []*Error, files []*File) Errors {
	order := map[string]int{}
	for i, f := range files {
		order[f.Name] = i
	}
	slices.SortStableFunc(errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(errs, func(a, b *Error) bool {
		return a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Line > 0
	})
}
