package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
)

// Files of others, which are deep, multiply, or name huge numbers, are refused with a message. None ends the process, and none is worked on without
// a bound: a case without its bound takes minutes, more memory than a machine has, or all of the stack.
func TestHostileFiles(t *testing.T) {
	const n = 100_000
	again := strings.Repeat
	times := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, strings.ReplaceAll(format, "N", "%[1]d"), i)
		}
		return b.String()
	}
	config := func(text string) map[string]string { return map[string]string{"bloodhound.yaml": text} }
	node := func(keys string) map[string]string { return config("nodes: {a: {command: x, " + keys + "}}\n") }
	module := func(body string) map[string]string {
		return map[string]string{"M.cfg": "INIT Init\nNEXT Next\n",
			"M.tla": "---- MODULE M ----\nEXTENDS Naturals, Sequences\nVARIABLE x\nInit == x = 0\nNext == x' = x\n" + body + "\n====\n"}
	}
	bomb := "a0: &a0 [x]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, again(fmt.Sprintf("*a%d,", i-1), 10))
	}
	calls := "A0(y) == y + 1\n"
	chain := "B0 == x\n"
	for i := 1; i < 60; i++ {
		calls += fmt.Sprintf("A%d(y) == A%d(A%d(y))\n", i, i-1, i-1)
	}
	for i := 1; i < 8; i++ {
		chain += fmt.Sprintf("B%d == B%d%s\n", i, i-1, again(" + 1", 9000))
	}
	kinds := []struct {
		name  string
		args  []string
		cases []hostile
	}{
		{"configuration", []string{"config", "."}, []hostile{
			{"lists in lists", config(again("[", n)), "exceeded max depth"},
			{"mappings in mappings", config(again("{a: ", n)), "exceeded max depth"},
			{"dashes", config("nodes:\n  " + again("- ", n)), "exceeded max depth"},
			{"aliases of aliases", config(bomb), "values, counting aliases at each use"},
			{"keys", config("nodes:\n" + times(n, " kN:\n")), "more than 4096 keys in one mapping"},
			{"keys of merges", config("a: &a {" + times(4000, "kN: 1,") + "}\nb: &b {" + times(4000, "jN: 1,") +
				"}\nc: {<<: [*a, *b]}\n"), "more than 4096 keys in one mapping"},
			{"merges", config("a: &a {" + times(1000, "kN: 1,") + "}\nb: {<<: [" + again("*a,", 20_000) + "]}\n"), "counting anchors at each merge"},
			{"a count", config("nodes: {a: {command: x, count: 1000000000}}\n"), "is not a whole number from 1 to 240"},
			{"counts", config("nodes:\n" + times(4000, " nN-: {count: 240, command: x}\n")), "the counts of nodes add up to more than 3840"},
			{"peers of peers", config("nodes: {a: {count: 238, command: 'x {{range .Peers}}{{range $.Peers}}{{range $.Peers}}{{end}}{{end}}{{end}}'}}\n"),
				"steps"},
			{"a scale", map[string]string{"bloodhound.yaml": "compose: c.yaml\n",
				"c.yaml": "services: {a: {image: x, scale: 1000000000}}\n"}, "is not a whole number"},
			{"variables in variables", node("working_dir: '" + again("${A:-", n) + again("}", n) + "'"), "more than 16 nested variables"},
			{"a condition", config("nodes: {a: {command: x}}\nfaults: {rules: ['crash on a when " + again("(", n) + "']}\n"), "the limit is 4096"},
			{"mounts", node("volumes: [" + times(40_000, "'vN:/vN',") + "]"), "more than 4096 mounts"},
			{"ports", node("ports: [" + again("'1-65535:1-65535',", 30_000) + "], scale: 1000"), "is not a whole number"},
			{"doubled variables", map[string]string{"bloodhound.yaml": "nodes: {a: {command: x $A}}\n",
				".env": "A=xy\n" + again("A=$A$A\n", 60)}, "more than 4 MiB after its variables are filled in"},
			{"doubled variables of a file", map[string]string{"bloodhound.yaml": "nodes: {a: {command: x, env_file: e}}\n",
				"e": "A=xy\n" + again("A=$A$A\n", 60)}, "MiB after"},
			{"one variable again and again", map[string]string{"bloodhound.yaml": "nodes: {a: {command: [" + again("$A,", 1000) +
				"]}}\n", ".env": "A=" + again("x", 100_000)}, "all values together have more than 64 MiB"},
			{"services that extend each other",
				map[string]string{"bloodhound.yaml": "compose: c.yaml\n",
					"c.yaml": "services:\n" + times(n/4, " s1N: {extends: s1N}\n")}, "more than 4096 keys"},
			{"a file that includes itself", map[string]string{"bloodhound.yaml": "compose: c.yaml\n",
				"c.yaml": "include: [c.yaml]\nservices: {a: {image: x}}\n"}, "include cycle"},
		}},
		{"tape", []string{"run", "--tape", "t", "."}, []hostile{
			{"a long line", map[string]string{"t": again("[", n), "bloodhound.yaml": "nodes: {a: {command: [/bin/true]}}\n"}, `[[[..."`},
			{"a huge seed", map[string]string{"t": "tape 1\nseed " + again("9", n),
				"bloodhound.yaml": "nodes: {a: {command: [/bin/true]}}\n"}, "is not a number from 0 to 2^64-1"},
		}},
		{"EDN", []string{"check", "h.edn", "--model", "register"}, []hostile{
			{"vectors in vectors", map[string]string{"h.edn": again("[", n)}, "nested more than 64"},
			{"maps in maps", map[string]string{"h.edn": again("{:a ", n)}, "nested more than 64"},
			{"dropped values", map[string]string{"h.edn": again("#_", n)}, "nested more than 64"},
			{"tags", map[string]string{"h.edn": again("#a ", n)}, "nested more than 64"},
			{"a long text", map[string]string{"h.edn": "\"" + again("x", 2<<20)}, "an event has more than"},
		}},
		{"JSON", []string{"check", "h.json", "--model", "register"}, []hostile{
			{"lists in lists", map[string]string{"h.json": again("[", n)}, "exceeded max depth"},
			{"objects in objects", map[string]string{"h.json": again(`{"a":`, n)}, "exceeded max depth"},
			{"a long line", map[string]string{"h.json": `{"a":"` + again("x", 2<<20) + `"}`}, "a record has more than"},
		}},
		{"records of an incident", []string{"import", "i", "--world", "."}, []hostile{
			{"OpenTelemetry", map[string]string{"i": `{"resourceSpans":` + again("[", n)}, "exceeded max depth"},
			{"Kubernetes", map[string]string{"i": `{"kind":"List","items":` + again("[", n)}, "exceeded max depth"},
			{"EDN", map[string]string{"i": "{:type " + again("[", n)}, "nested more than 64"},
		}},
		{"TLA+", []string{"model", "check", "M.tla"}, []hostile{
			{"parentheses", module("A == " + again("(", n)), "deep in each other"},
			{"operators in a row", module("A == 1" + again(" + 1", n)), "operators in a row"},
			{"fields of fields", module("A == x" + again(".a", n)), "behind each other"},
			{"sums in sums", module("A == " + again("(", 40) + "1" + again(again(" + 1", 9000)+")", 40)), "behind each other"},
			{"comments in comments", module(again("(*", n)), "does not end"},
			{"operators that use each other twice", module(calls + "ASSUME A59(1) > 1"), "definitions use each other in more than 1048576 places"},
			{"definitions of definitions", module(chain + "ASSUME B7 > 1"), "nested more than 40000 deep"},
			{"a huge set", module("ASSUME 1..1000000000000 # {}\nASSUME {y \\in 1..1000000000000 : y > 0} # {}"), "1000000000000"},
			{"a constant", map[string]string{"M.cfg": "CONSTANT C = " + again("{", n), "M.tla": module("")["M.tla"]}, "1000 deep"},
		}},
	}
	for _, kind := range kinds {
		for _, c := range kind.cases {
			t.Run(kind.name+"/"+c.name, func(t *testing.T) { c.try(t, kind.args) })
		}
	}
}

type hostile struct {
	name  string
	files map[string]string
	want  string
}

func (h *hostile) try(t *testing.T, args []string) {
	dir := t.TempDir()
	for name, text := range h.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var said strings.Builder
	if code := Main(args, io.Discard, &said); code != check.ExitUsage {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(said.String(), h.want) {
		t.Errorf("%.600s\nwithout %q", said.String(), h.want)
	}
	const most = 1 << 20 // an error may show its whole line
	if said.Len() > most {
		t.Errorf("a message of %d bytes", said.Len())
	}
}
