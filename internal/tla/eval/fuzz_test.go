package eval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/ndjson"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// FuzzEvaluate evaluates expressions over all modules that need no files: they have a value, or an error.
func FuzzEvaluate(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "values.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if e, _, ok := strings.Cut(line, " --> "); ok {
			f.Add(e)
		}
	}
	const module = `---- MODULE M ----
EXTENDS Reals, Bags, TLC, TLCExt, SequencesExt, BagsExt, FiniteSetsExt, Bitwise, Randomization, Relation, Statistics
VARIABLES v, w
Twice(a) == 2 * a
g[i \in 1..3] == i
I(s) == INSTANCE Inner WITH k <- s
Act == v' = 1 /\ w' \in {v, 2}
====`
	const inner = "---- MODULE Inner ----\nEXTENDS Naturals\nCONSTANT k\nAdd(a) == a + k\n===="
	f.Fuzz(func(t *testing.T, expression string) {
		if len(expression) > 200 {
			return
		}
		l := scope.NewLoader(map[string]string{"M": module, "Inner": inner})
		err := failure.Catch(func() {
			root := l.Module("M", scope.Where{Source: &scope.Source{File: "M"}, Pos: syntax.Pos{}}, nil, nil)
			e, err := syntax.ParseExpr("expression", expression)
			if err != nil {
				panic(failure.Wrap(err))
			}
			c := newCompiler(l, &ndjson.Logs{})
			n := c.expr(e, place{scope: root})
			a := c.act(e, place{scope: root}, func(x *ctx) bool { return x.m.emit() })
			s := &Spec{Variables: l.Variables, Actions: []Action{{Name: "A"}}, next: a, size: c.size[0]}
			ev := NewEvaluator(s)
			ev.x.m.cur, ev.x.m.nxt = State{value.Int(1), value.Text("w")}, State{value.Int(2), nil}
			asked := 0
			ev.TLC.Pause = func() bool { asked++; return asked > 20 }
			v, err := ev.value(n)
			if err == nil {
				_ = ev.run(func() { _, _ = library.Settled(v).String(), v.Fingerprint() })
			}
			asked = 0
			_ = ev.Successors(State{value.Int(1), value.Text("w")}, &s.Actions[0], func(State) error { return nil })
		})
		if err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
