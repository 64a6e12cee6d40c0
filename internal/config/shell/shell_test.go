package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestInterpolate(t *testing.T) {
	lookup := LookupIn(map[string]string{"A": "a", "EMPTY": "", "B_2": "b"})
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"plain", "plain"}, {"$A", "a"}, {"${A}", "a"}, {"x$A-y", "xa-y"}, {"$B_2$A", "ba"}, {"$$A", "$A"}, {"$$$$", "$$"},
		{"${EMPTY}", ""}, {"${EMPTY:-d}", "d"}, {"${EMPTY-d}", ""}, {"${NONE:-d}", "d"}, {"${NONE-d}", "d"}, {"${A:-d}", "a"},
		{"${NONE:-${A}}", "a"}, {"${NONE:-${NONE2:-x}y}z", "xyz"}, {"${NONE:-}", ""}, {"${NONE-a:b}", "a:b"},
		{"${A:+set}", "set"}, {"${EMPTY:+set}", ""}, {"${EMPTY+set}", "set"}, {"${NONE+set}", ""}, {"${A:+${B_2}}", "b"},
		{"${A:?no}", "a"}, {"${EMPTY?no}", ""}, {"${A}}", "a}"}, {"{$A}", "{a}"}, {"${NONE:-$$}", "$"},
		{"${NONE:?bad $A}", "error: variable NONE is not set: bad a"}, {"${EMPTY:?}", "error: variable EMPTY is not set: a value is required"},
		{"$", "error"}, {"$1", "error"}, {"a$ b", "error"}, {"${", "error"}, {"${}", "error"}, {"${A", "error"}, {"${A:", "error"},
		{"${A:=x}", "error"}, {"${A:-x", "error"}, {"${NONE:-${A}", "error"}, {strings.Repeat("${X:-", 20) + strings.Repeat("}", 20), "error"},
		{"${NONE} $NONE2", " "},
	} {
		got, unset, err := Interpolate(c.in, lookup)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want && !(c.want == "error" && err != nil) {
			t.Errorf("%q gives %q, want %q", c.in, got, c.want)
		}
		if c.in == "${NONE} $NONE2" && !slices.Equal(unset, []string{"NONE", "NONE2"}) {
			t.Errorf("unset: %v", unset)
		}
		if c.in == "${NONE:-d}" && len(unset) > 0 {
			t.Errorf("a default was used, and %v are said to be unset", unset)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string // nil is an error
	}{
		{"", []string{}}, {" \t\n", []string{}}, {"a b  c\n", []string{"a", "b", "c"}}, {`'a b' "c d"`, []string{"a b", "c d"}},
		{`a'b'"c"d`, []string{"abcd"}}, {`''`, []string{""}}, {`a "" b`, []string{"a", "", "b"}}, {`a\ b`, []string{"a b"}},
		{`"a\"b\$c\d"`, []string{`a"b$c\d`}}, {`'a\b'`, []string{`a\b`}}, {"a\\\nb", []string{"ab"}}, {"a \\\n b", []string{"a", "b"}},
		{`a '&&' b`, []string{"a", "&&", "b"}}, {`a \| b`, []string{"a", "|", "b"}}, {"a&b=c?x;y", []string{"a&b=c?x;y"}},
		{`'unclosed`, nil}, {`"unclosed\"`, nil}, {`end\`, nil}, {"a && b", nil}, {"a | b", nil}, {"a; b", nil}, {"a > b", nil}, {"a &", nil},
	} {
		got, err := Words(c.in)
		if (err != nil) != (c.want == nil) || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%q gives %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}
