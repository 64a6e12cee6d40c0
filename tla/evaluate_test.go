package tla

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

var update = flag.Bool("update", false, "write the results of testdata/*.txt anew")

// evaluate is the value of an expression in a module, as text, or the error.
func evaluate(module, expression string) (result string) {
	l := newLoader(map[string]string{"M": module})
	err := catch(func() {
		root := l.module("M", where{&source{file: "M"}, syntax.Pos{}}, nil, nil)
		e, err := syntax.ParseExpr("expression", expression)
		if err != nil {
			panic(failure{err})
		}
		c := &compiler{loader: l, variables: l.variableDefs, size: []int{0}}
		root.source = &source{file: "expression", text: expression} // of errors in it
		n := c.expr(e, place{scope: root})
		s := &Spec{Variables: l.variables, size: c.size[0]}
		v, err := s.Evaluator().value(n)
		if err != nil {
			panic(failure{err})
		}
		result = settled(v).String()
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

// TestUpperGamma compares Q with sums that are exact for whole and half arguments: Q(n, x) is e^-x times the first n terms of e^x, and Q(1/2, x) is
// erfc of the root of x.
func TestUpperGamma(t *testing.T) {
	for _, x := range []float64{0.01, 0.5, 1, 2.5, 5, 20, 100} {
		term, sum := 1.0, 0.0
		for n := 1.0; n <= 20; n++ {
			sum += term
			term *= x / n
			if got, want := upperGamma(n, x), math.Exp(-x)*sum; math.Abs(got-want) > 1e-9 {
				t.Errorf("Q(%v, %v) is %v, and not %v", n, x, got, want)
			}
		}
		if got, want := upperGamma(0.5, x), math.Erfc(math.Sqrt(x)); math.Abs(got-want) > 1e-9 {
			t.Errorf("Q(1/2, %v) is %v, and not %v", x, got, want)
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
