package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
)

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
	r := NewReader(map[string]string{})
	var got []string
	for _, v := range r.EnvFile("x.env", []byte(content), shell.LookupIn(nil)) {
		got = append(got, fmt.Sprintf("%s %q %v", v.Name, v.Text, v.Set))
	}
	want := []string{`A "1" true`, `B "two words" true`, `C "$A \"x\" # y" true`, `D "a\tb 1 $A # no" true`, `E "" true`, `F "" false`,
		`G "1-d" true`, `H "a#b" true`, `I "5 $ and more" true`}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var lines []int
	for _, e := range r.Errs {
		lines = append(lines, e.Line)
	}
	if !slices.Equal(lines, []int{12, 13, 14}) {
		t.Errorf("mistakes on lines %v, want 12, 13, 14: %v", lines, Errors(r.Errs))
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
