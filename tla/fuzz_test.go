package tla

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// FuzzLoad reads a configuration and a module: what is wrong with them is an error, and nothing else.
func FuzzLoad(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "cases.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range strings.Split(string(text), "\n## ")[1:] {
		_, module, _ := strings.Cut(c, "-- M.tla --\n")
		module, _, _ = strings.Cut(module, "\n-- ")
		config := "INIT Init\nNEXT Next"
		if _, other, ok := strings.Cut(c, "-- M.cfg --\n"); ok {
			config, _, _ = strings.Cut(other, "\n-- ")
		}
		f.Add(module, config)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, module, text string) {
		config, err := ParseConfig("M.cfg", text)
		if err != nil {
			return
		}
		file := filepath.Join(dir, "M.tla")
		if err := os.WriteFile(file, []byte(module), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file, config); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}

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
		l := newLoader(map[string]string{"M": module, "Inner": inner})
		err := catch(func() {
			root := l.module("M", where{&source{file: "M"}, syntax.Pos{}}, nil, nil)
			e, err := syntax.ParseExpr("expression", expression)
			if err != nil {
				panic(failure{err})
			}
			c := &compiler{loader: l, variables: l.variableDefs, size: []int{0}}
			n := c.expr(e, place{scope: root})
			a := c.act(e, place{scope: root}, func(x *ctx) bool { return x.m.emit() })
			s := &Spec{Variables: l.variables, size: c.size[0]}
			ev := s.Evaluator()
			ev.x.m.cur, ev.x.m.nxt = State{value.Int(1), value.Text("w")}, State{value.Int(2), nil}
			asked := 0
			ev.TLC.pause = func() bool { asked++; return asked > 20 }
			v, err := ev.value(n)
			if err == nil {
				_ = ev.run(func() { _, _ = settled(v).String(), v.Fingerprint() })
			}
			asked = 0
			_ = ev.Successors(State{value.Int(1), value.Text("w")}, &Action{Name: "A", act: a}, func(State) error { return nil })
		})
		if err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
	})
}
