package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// MaxErrors is how many mistakes of a configuration are told at once; the rest are counted.
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
// are kept in both, so that the caret stands right whatever their width; other control characters become spaces.
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
		parts = append(parts, fmt.Sprintf("and %d more mistakes", more))
	}
	return strings.Join(parts, "\n")
}

// sortErrors puts mistakes in the order of the files read and their lines. One place is complained about once.
func sortErrors(errs []*Error, files []*file) Errors {
	order := map[string]int{}
	for i, f := range files {
		order[f.name] = i
	}
	slices.SortStableFunc(errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(errs, func(a, b *Error) bool {
		return a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Line > 0
	})
}

// nearest returns the word that differs least from what was written, or else the only one that begins with it and goes on after an underscore, or nothing.
func nearest(written string, words []string) string {
	best, least := "", max(1, min(3, len(written)/3))+1
	for _, w := range words {
		if d := distance(strings.ToLower(written), strings.ToLower(w)); d < least && d < max(len(w), len(written)) {
			best, least = w, d
		}
	}
	if best != "" {
		return best
	}
	longer := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, strings.ToLower(written)+"_") })
	if len(longer) == 1 {
		return longer[0]
	}
	return ""
}

// maxWordCompared bounds the words that distance compares, since its time is quadratic.
const maxWordCompared = 64

// distance counts the insertions, deletions, replacements and swaps of neighbours between two words (optimal string
// alignment, a restricted form of Damerau, CACM 1964).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > maxWordCompared || len(y) > maxWordCompared {
		return maxWordCompared
	}
	two, one := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			swap := 1
			if x[i-1] == y[j-1] {
				swap = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+swap)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one = one, row
	}
	return one[len(y)]
}

// suggest is the remedy for a word that is none of those known.
func suggest(written string, words []string) string {
	if n := nearest(written, words); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	switch len(words) {
	case 0:
		return "there are none"
	case 1:
		return "there is " + words[0]
	}
	return "there are " + strings.Join(words, ", ")
}
