package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestInterpolate(t *testing.T) {
	lookup := lookupIn(map[string]string{"A": "a", "EMPTY": "", "B_2": "b"})
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"plain", "plain"}, {"$A", "a"}, {"${A}", "a"}, {"x$A-y", "xa-y"}, {"$B_2$A", "ba"}, {"$$A", "$A"}, {"$$$$", "$$"},
		{"${EMPTY}", ""}, {"${EMPTY:-d}", "d"}, {"${EMPTY-d}", ""}, {"${NONE:-d}", "d"}, {"${NONE-d}", "d"}, {"${A:-d}", "a"},
		{"${NONE:-${A}}", "a"}, {"${NONE:-${NONE2:-x}y}z", "xyz"}, {"${NONE:-}", ""}, {"${NONE-a:b}", "a:b"},
		{"${A:+set}", "set"}, {"${EMPTY:+set}", ""}, {"${EMPTY+set}", "set"}, {"${NONE+set}", ""}, {"${A:+${B_2}}", "b"},
		{"${A:?no}", "a"}, {"${EMPTY?no}", ""}, {"${A}}", "a}"}, {"{$A}", "{a}"}, {"${NONE:-$$}", "$"},
		{"${NONE:?bad $A}", "error: variable NONE is not set: bad a"}, {"${EMPTY:?}", "error: variable EMPTY is not set: it is required"},
		{"$", "error"}, {"$1", "error"}, {"a$ b", "error"}, {"${", "error"}, {"${}", "error"}, {"${A", "error"}, {"${A:", "error"},
		{"${A:=x}", "error"}, {"${A:-x", "error"}, {"${NONE:-${A}", "error"}, {strings.Repeat("${X:-", 20) + strings.Repeat("}", 20), "error"},
		{"${NONE} $NONE2", " "},
	} {
		got, unset, err := interpolate(c.in, lookup)
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
		got, err := splitWords(c.in)
		if (err != nil) != (c.want == nil) || err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%q gives %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestEnvFile(t *testing.T) {
	const content = `
# comment
A=1
export B = two words # comment
C='$A "x" # y'
D="a\tb ${A} \$A # no"  # yes
E=
F
G=$A-${NONE:-d}
H=a#b
I=5 $ and more
J="unclosed
K L=1
=x
`
	l := &loader{result: &Result{}}
	var got []string
	for _, v := range l.envFile("x.env", []byte(content), lookupIn(noEnv)) {
		got = append(got, fmt.Sprintf("%s %q %v", v.name, v.text, v.set))
	}
	want := []string{`A "1" true`, `B "two words" true`, `C "$A \"x\" # y" true`, `D "a\tb 1 $A # no" true`, `E "" true`, `F "" false`,
		`G "1-d" true`, `H "a#b" true`, `I "5 $ and more" true`}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var lines []int
	for _, e := range l.errs {
		lines = append(lines, e.Line)
	}
	if !slices.Equal(lines, []int{12, 13, 14}) {
		t.Errorf("mistakes on lines %v, want 12, 13, 14: %v", lines, Errors(l.errs))
	}
}

func TestNearest(t *testing.T) {
	words := []string{"partition", "delay", "drop", "crash", "pause", "timeout", "n1"}
	for written, want := range map[string]string{"partiton": "partition", "delya": "delay", "Crash": "crash", "timout": "timeout", "n2": "n1",
		"corrupt": "", "x": "", "": ""} {
		if got := nearest(written, words); got != want {
			t.Errorf("nearest to %q is %q, want %q", written, got, want)
		}
	}
}

// distance is what its obvious twin says, by recursion.
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
			if got, want := distance(a, b), slow(a, b); got != want {
				t.Fatalf("%q to %q is %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestUnderline(t *testing.T) {
	line, caret := underline("\tä: \x1b[31mx", 5)
	if line != "\tä:  [31mx" || caret != "\t   ^" {
		t.Errorf("%q\n%q", line, caret)
	}
	long := strings.Repeat("x", 1000)
	line, caret = underline(long, 900)
	if len(line) != maxLineShown || len(caret) > maxLineShown {
		t.Errorf("%d characters, caret at %d", len(line), len(caret))
	}
}
