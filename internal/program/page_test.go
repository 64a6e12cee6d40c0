package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A page is the help of its command and the text that people write below it, which an update keeps.
func TestCheckPage(t *testing.T) {
	c := &cobra.Command{Use: "greet NAME", Short: "Greet a name", Run: func(*cobra.Command, []string) {}}
	c.Flags().Uint("times", 1, "how `often|long` to greet, for <all>")
	Document(c, map[string]Manual{"": {Examples: []string{"greet you"}, Prints: "Prints `<name>` and *.", Exits: []Exit{{0, "greeted"}}}}, nil)
	file := filepath.Join(t.TempDir(), "greet.md")
	if err := CheckPage(file, c, nil, "./greet", false); err == nil {
		t.Error("a page that is not there is up to date")
	}
	if err := CheckPage(file, c, nil, "./greet", true); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# greet\n", "    greet you\n", "Greet a name.\n", "Prints `<name>` and \\*.\n", "Usage: `greet NAME [flags]`\n",
		"| `--times often\\|long` | how often\\|long to greet, for &lt;all> (default: 1) |\n", "| 0 | greeted |\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if err := os.WriteFile(file, append(text, "\nMore.\n"...), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := CheckPage(file, c, nil, "./greet", false); err != nil {
		t.Error(err)
	}
	c.Short = "Greet somebody"
	if err := CheckPage(file, c, nil, "./greet", false); err == nil || !strings.Contains(err.Error(), "-update") {
		t.Errorf("another help: %v", err)
	}
	if err := CheckPage(file, c, nil, "./greet", true); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(file); err != nil || !strings.HasSuffix(string(text), "<!-- help: end -->\n\nMore.\n") ||
		!strings.Contains(string(text), "Greet somebody.\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Text is broken between words, but commands and lines of code stay whole.
func TestWrap(t *testing.T) {
	for _, x := range [][2]string{
		{"one two three", "one two\n  three"},
		{"run `go test x` now", "run\n  `go test x`\n  now"},
		{"  code of one line", "  code of one line"},
		{"onelongwordalone x", "onelongwordalone\n  x"},
	} {
		if got := wrap(x[0], 8, "  "); got != x[1] {
			t.Errorf("%q: %q", x[0], got)
		}
	}
}
