package report

import (
	"html"
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

// markup is a visible text inside HTML or SVG.
func markup(text string, runes int) string { return html.EscapeString(visible(text, runes)) }
