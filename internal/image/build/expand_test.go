package build

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// What variables of a Dockerfile become is bounded in every place that they stand in, and the error names the line.
func TestVariablesAreBounded(t *testing.T) {
	times := func(n int, line string) string { return strings.Repeat(line+"\n", n) }
	numbered := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line+"\n", i)
		}
		return b.String()
	}
	const much = "the variables of this build expand to more than 64 MiB"
	const large = "the variables together have more than 1048576 bytes"
	long := "ENV A=" + strings.Repeat("x", 50_000) + "\n"
	uses := strings.Repeat("$A", 1000)
	for _, c := range []struct {
		name, text string
		line       int
		problem    string
	}{
		{"ENV", "FROM scratch\nENV A=0123456789abcdef\n" + times(60, "ENV A=$A$A"), 18, large},
		{"ARG", "FROM scratch\nARG A=0123456789abcdef\n" + times(60, "ARG A=$A$A"), 18, large},
		{"ARG before FROM", "ARG A=0123456789abcdef\n" + times(60, "ARG A=$A$A") + "FROM scratch\n", 17, large},
		{"ARG to ENV", "FROM scratch\nARG B=0123456789abcdef\n" + times(60, "ENV A=$B$A$A\nARG B=$A$B"), 21, large},
		{"FROM", "ARG A=" + strings.Repeat("x", 50_000) + "\nFROM " + strings.Repeat("$A", 2000) + "\n", 2, much},
		{"LABEL", "FROM scratch\n" + long + numbered(60, "LABEL l%d="+uses), 4, much},
		{"LABEL of one name", "FROM scratch\n" + long + times(60, "LABEL l="+uses), 4, much},
		{"USER", "FROM scratch\n" + long + times(60, "USER "+uses), 4, much},
		{"WORKDIR", "FROM scratch\n" + long + times(60, "WORKDIR /"+uses), 4, much},
		{"EXPOSE", "FROM scratch\n" + long + "EXPOSE " + uses + uses + "\n", 3, much},
		{"COPY", "FROM scratch\n" + long + "COPY " + uses + uses + " /\n", 3, much},
		{"a heredoc", "FROM scratch\n" + long + "COPY <<EOF /f\n" + times(100, uses) + "EOF\n", 3, much},
		{"a replacement", "FROM scratch\n" + long + "ENV B=${A//x/" + strings.Repeat("y", 5000) + "}\n", 3, much},
		{"a pattern", "FROM scratch\n" + long + "ENV B=${A#" + strings.Repeat("*", 5000) + "}\n", 3, much},
		{"names", "FROM scratch\n" + numbered(5000, "ENV A%d=x"), 4097, "more than 4096 variables"},
		{"nesting", "FROM scratch\nENV A=" + strings.Repeat("${A:-", 1000) + strings.Repeat("}", 1000) + "\n", 2, "more than 64 nested variables"},
		{"ports", "FROM scratch\n" + numbered(100, "EXPOSE 1-65535/p%d"), 6, "EXPOSE lists more than 262144 ports"},
		{"instructions", times(20_000, "FROM scratch"), 10_001, "more than 10000 instructions"},
		{"instructions of a stage", "FROM scratch\n" + times(20_000, "ENV A=x"), 1, "more than 10000 instructions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"Dockerfile": c.text})
			_, err := b.try(nil)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.File != "Dockerfile" || !strings.Contains(e.Text, c.problem) || e.Remedy == "" {
				t.Errorf("error %.300q, want %q", e.Error(), c.problem)
			}
			if e.Line != c.line {
				t.Errorf("line %d, want %d", e.Line, c.line)
			}
		})
	}
}

// A cancelled build ends before it expands one more word.
func TestCancelledBuildExpandsNothing(t *testing.T) {
	b := newBench(t, map[string]string{"Dockerfile": "FROM scratch\nENV A=x\nENV B=$A\n"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := &work{Builder: &Builder{Store: b.store, Image: b.base, Run: b.run}, ctx: ctx, request: &Request{Name: "test", Context: b.dir}}
	if err := w.parse(); err != nil {
		t.Fatal(err)
	}
	if out, err := w.word("$A", w.scope([]string{"A=x"})); !errors.Is(err, context.Canceled) || w.expanded != 0 {
		t.Errorf("%q, %v, after %d bytes", out, err, w.expanded)
	}
}
