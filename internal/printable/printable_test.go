package printable

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"plain\ttext\n":                  "plain\ttext\n",
		"grün … 日本\n":                    "grün … 日本\n",
		"\x1b[2Jall properties hold\r\n": `\x1b[2Jall properties hold\r` + "\n",
		"a\u202eb\x07\x9b":               `a\u202eb\a\x9b`,
		"\xff":                           `\xff`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		// Written byte by byte it is the same, but for what is no text.
		var b strings.Builder
		w := &Writer{To: &b}
		for i := range len(text) {
			if n, err := w.Write([]byte{text[i]}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if text != "\xff" && b.String() != want {
			t.Errorf("%q byte by byte: %q, want %q", text, b.String(), want)
		}
	}
}
