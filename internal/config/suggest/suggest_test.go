package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := []string{"partition", "delay", "drop", "crash", "pause", "timeout", "n1"}
	for written, want := range map[string]string{"partiton": "partition", "delya": "delay", "Crash": "crash", "timout": "timeout", "n2": "n1",
		"corrupt": "", "x": "", "": ""} {
		if got := Nearest(written, words); got != want {
			t.Errorf("nearest to %q is %q, want %q", written, got, want)
		}
	}
}

// A remedy names all words that are equally near, unless these are many.
func TestFrom(t *testing.T) {
	for _, c := range []struct {
		written string
		words   []string
		want    string
	}{
		{"n3", []string{"n1", "n2"}, `did you mean "n1" or "n2"?`},
		{"n21", []string{"n1", "n2", "m2", "n23"}, `did you mean "n1" or "n2" or "n23"?`},
		{"n9", []string{"n1", "n2", "n3", "n4"}, "use one of n1, n2, n3, n4"},
		{"db", []string{"cache"}, "the only one is cache"},
	} {
		if got := Remedy(c.written, c.words); got != c.want {
			t.Errorf("%s: %s, not %s", c.written, got, c.want)
		}
	}
}

// distance agrees with its obvious twin, a recursion.
func TestDistance(t *testing.T) {
	var slow func(a, b string) int
	slow = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		replace := 1
		if a[0] == b[0] {
			replace = 0
		}
		d := min(slow(a[1:], b)+1, slow(a, b[1:])+1, slow(a[1:], b[1:])+replace)
		if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
			d = min(d, slow(a[2:], b[2:])+1)
		}
		return d
	}
	var words []string
	for n := range 3 * 3 * 3 * 3 {
		words = append(words, strings.TrimRight(string([]byte{"ab "[n%3], "ab "[n/3%3], "ab "[n/9%3], "ab "[n/27]}), " "))
	}
	for _, a := range words {
		for _, b := range words {
			if got, want := Distance(a, b), slow(a, b); got != want {
				t.Fatalf("%q to %q is %d, want %d", a, b, got, want)
			}
		}
	}
}
