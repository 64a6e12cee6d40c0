package eval

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/config"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/ndjson"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

var update = flag.Bool("update", false, "write the results of testdata/*.txt anew")

// evaluate is the value of an expression in a module, as text, or the error.
func evaluate(module, expression string) (result string) {
	l := scope.NewLoader(map[string]string{"M": module})
	err := failure.Catch(func() {
		root := l.Module("M", scope.Where{Source: &scope.Source{File: "M"}, Pos: syntax.Pos{}}, nil, nil)
		e, err := syntax.ParseExpr("expression", expression)
		if err != nil {
			panic(failure.Wrap(err))
		}
		c := newCompiler(l, &ndjson.Logs{})
		root.Source = &scope.Source{File: "expression", Text: expression} // of errors in it
		n := c.expr(e, place{scope: root})
		s := &Spec{Variables: l.Variables, size: c.size[0]}
		v, err := NewEvaluator(s).value(n)
		if err != nil {
			panic(failure.Wrap(err))
		}
		result = v.String()
	})
	if err != nil {
		return "error: " + strings.Split(err.Error(), "\n")[0]
	}
	return result
}

// TestValues reads testdata/values.txt: after lines of a module, which begin with |, each line has an expression, --> and its value.
func TestValues(t *testing.T) {
	file := filepath.Join("testdata", "values.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out, module []string
	open := false
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "|"):
			if !open {
				module = nil
			}
			open = true
			module = append(module, strings.TrimPrefix(line[1:], " "))
		case line != "" && !strings.HasPrefix(line, "#"):
			open = false
			expression, want, _ := strings.Cut(line, " --> ")
			got := evaluate("---- MODULE M ----\n"+strings.Join(module, "\n")+"\n====", expression)
			if got != want && !*update {
				t.Errorf("%s:%d: %s\n got %s\nwant %s", file, i+1, expression, got, want)
			}
			line = fmt.Sprintf("%s --> %s", expression, got)
		}
		out = append(out, line)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCSVHeaders writes records with headers, which stand before each record that asks for them.
func TestCSVHeaders(t *testing.T) {
	t.Chdir(t.TempDir())
	module := "---- MODULE M ----\nEXTENDS CSV, Sequences\nWrites(n, headers) == CSVWriteRecord([a |-> n, b |-> \"x\"], \",\", headers, \"o.csv\")\n===="
	got := evaluate(module, `<<Writes(1, TRUE), Writes(2, FALSE), Writes(3, TRUE), CSVRead(<<"n", "s">>, ",", "o.csv")>>`)
	row := func(n, s string) string { return fmt.Sprintf("[n |-> %q, s |-> %q]", n, s) }
	want := "<<TRUE, TRUE, TRUE, <<" + strings.Join([]string{row("a", "b"), row("1", `"x"`), row("2", `"x"`), row("a", "b"), row("3", `"x"`)}, ", ") + ">>>>"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func specification(t *testing.T, module, text string) (*Spec, error) {
	t.Helper()
	name := strings.Fields(module[strings.Index(module, "MODULE")+len("MODULE"):])[0]
	file := filepath.Join(t.TempDir(), name+".tla")
	if err := os.WriteFile(file, []byte(module), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(name+".cfg", text)
	if err != nil {
		return nil, err
	}
	return Load(file, c)
}
