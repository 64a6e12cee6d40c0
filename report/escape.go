package report

import (
	"html"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible makes one line of bounded length of a text that a program wrote: what does not print, changes the direction
// of text or is no UTF-8 is shown as Go writes it in a string, such as \x1b or \u202e.
func visible(text string, runes int) string {
	var b strings.Builder
	n := 0
	for i := 0; i < len(text); n++ {
		if n == runes {
			b.WriteString("… (" + strconv.Itoa(len(text)) + " bytes)")
			break
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(0x100|uint64(text[i]), 16)[1:])
		case r == '\t':
			b.WriteString("    ")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += size
	}
	return b.String()
}

// Printable is a text for a terminal: what a program under test has written into it cannot move the cursor, clear the screen or turn the direction of
// text. What does not print is shown as Go writes it in a string; lines and tabs stay.
func Printable(text string) string {
	var b strings.Builder
	from := 0 // of what is not in b yet
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(text[from:i] + `\x` + strconv.FormatUint(0x100|uint64(text[i]), 16)[1:])
			from = i + size
		case r != '\n' && r != '\t' && !unicode.IsPrint(r):
			q := strconv.QuoteRune(r)
			b.WriteString(text[from:i] + q[1:len(q)-1])
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return text
	}
	return b.String() + text[from:]
}

// PrintableWriter writes to To what is Printable.
type PrintableWriter struct {
	To   io.Writer
	part []byte // of a character whose last bytes have not come yet
}

func (w *PrintableWriter) Write(p []byte) (int, error) {
	text := append(w.part, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if last := text[len(text)-back:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole -= back
			}
			break
		}
	}
	_, err := io.WriteString(w.To, Printable(string(text[:whole])))
	w.part = append([]byte(nil), text[whole:]...)
	return len(p), err
}

// markup is a visible text inside HTML or SVG.
func markup(text string, runes int) string { return html.EscapeString(visible(text, runes)) }
