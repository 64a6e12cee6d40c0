package report

import (
	"fmt"
	"strings"
	"testing"
)

// What repeats is found with its period, and what must be shown ends it.
func TestRepeats(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"a", "[]"},
		{"a a", "[]"},
		{"a a a", "[{1 1 2}]"},
		{"x a b a b a b y", "[{3 2 2}]"},
		{"a a a - a a a", "[{1 1 2} {5 1 2}]"},
		{"a b c a b c a b c a b", "[{3 3 2}]"},
		{"a - - - a", "[]"},
		{"a a a b b b b", "[{1 1 2} {4 1 3}]"},
	} {
		keys := strings.Fields(c.keys)
		for i := range keys {
			keys[i] = strings.TrimPrefix(keys[i], "-")
		}
		if got := fmt.Sprint(repeats(keys)); got != c.want {
			t.Errorf("%s: %s, want %s", c.keys, got, c.want)
		}
	}
	if a, b := alike("term=12 leader 0x1f, hash deadbeef01"), alike("term=13 leader 0x20, hash 0123456789"); a != b {
		t.Errorf("%q is not like %q", a, b)
	}
}
