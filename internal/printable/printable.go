// Package printable makes texts that programs wrote safe for a terminal.
package printable

import (
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shown is the first character of a text as it is shown, and its bytes: what does not print, changes the direction of text or is no UTF-8 is shown as Go writes
// it in a string, such as \x1b or \u202e.
func shown(text string) (as string, size int) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == utf8.RuneError && size == 1:
		return `\x` + strconv.FormatUint(0x100|uint64(text[0]), 16)[1:], size
	case unicode.IsPrint(r):
		return text[:size], size
	}
	q := strconv.QuoteRune(r)
	return q[1 : len(q)-1], size
}

// Line makes one line of bounded length of a text that a program wrote. A long text loses its middle: what tells it from others is often
// at its end.
func Line(text string, runes int) string {
	total := utf8.RuneCountInString(text)
	if total <= runes {
		return oneLine(text)
	}
	head := (2*runes + 2) / 3
	begin, end := 0, 0
	for i, n := 0, 0; i < len(text); n++ {
		if n == head {
			begin = i
		}
		if n == total-(runes-head) {
			end = i
		}
		_, size := shown(text[i:])
		i += size
	}
	if runes <= head {
		end = len(text)
	}
	return oneLine(text[:begin]) + "…" + oneLine(text[end:]) + " (" + strconv.Itoa(len(text)) + " bytes)"
}

// oneLine is a text with its tabs as spaces.
func oneLine(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		as, size := shown(text[i:])
		if text[i] == '\t' {
			as = "    "
		}
		b.WriteString(as)
		i += size
	}
	return b.String()
}

// Text is a text for a terminal: what a program under test has written into it cannot move the cursor, clear the screen or turn the direction of
// text. Lines and tabs stay.
func Text(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		as, size := shown(text[i:])
		if c := text[i]; c == '\n' || c == '\t' {
			as = text[i : i+1]
		}
		b.WriteString(as)
		i += size
	}
	return b.String()
}

// Writer writes texts to To as Text makes them.
type Writer struct {
	To   io.Writer
	part []byte // of a character whose last bytes have not come yet
}

func (w *Writer) Write(p []byte) (int, error) {
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
	_, err := io.WriteString(w.To, Text(string(text[:whole])))
	w.part = append([]byte(nil), text[whole:]...)
	return len(p), err
}
