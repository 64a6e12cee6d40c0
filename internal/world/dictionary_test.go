package world

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDictionary(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range Dictionary {
		text, err := Special(line)
		if err != nil || seen[text] || !utf8.ValidString(text) {
			t.Errorf("%s: %v, or it is there twice", line, err)
		}
		seen[text] = true
	}
	for _, want := range []string{"~tmp", "a\x00b", "\u202eabc\u202c", strings.Repeat("a", 255), strings.Repeat("a", 256),
		strings.Repeat("a", 4096), "e\u0301"} {
		if !seen[want] {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestSpecial(t *testing.T) {
	for line, want := range map[string]string{"a b": "a b", `"a\u0000"`: "a\x00", `"ab"*3`: "ababab", `"ab" *2`: "abab", "3*4": "3*4", "# x": "# x"} {
		if got, err := Special(line); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", line, got, err, want)
		}
	}
	for line, want := range map[string]string{"": "empty", `""`: "empty", `"a`: "no JSON", `"a"*0`: "repetitions",
		`"a"x`: "repetitions", `"a"*x`: "repetitions",
		`"a"*65537`: "more than", `"ab"*99999999999`: "more than", "a\xff": "UTF-8", `"\ud800"`: "UTF-8"} {
		if got, err := Special(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %q, %v; want an error with %q", line, got, err, want)
		}
	}
}
