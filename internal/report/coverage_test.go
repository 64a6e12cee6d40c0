package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

const covered = `#include <stdio.h>
__attribute__((noinline)) void never(int n) {
	printf("<never> %d\n", n);
}
int main(int argc, char **argv) {
	if (argc > 5)
		never(argc);
	return 0;
}
`

// analysed are the blocks of a program, and their names.
func analysed(t *testing.T, program string) (*code.Binary, *code.Names) {
	t.Helper()
	file, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	b, err := code.Analyse(file)
	if err != nil {
		t.Fatal(err)
	}
	names, err := code.NewNames(b, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b, names
}

// coverageOf is a campaign that has run main of a program, and half of its code.
func coverageOf(t *testing.T, flags ...string) (of report.CoverageOf, state *code.State) {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "a b.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(covered), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", append(flags, "-O0", "-o", program, source)...).CombinedOutput(); err != nil {
		needs.Missing(t, "cc", err, string(out))
	}
	b, names := analysed(t, program)
	h := blocks.Hits{Digest: b.Digest, Path: "/bin/program", File: program, Total: len(b.Places)}
	for _, f := range names.Functions {
		if f.Name == "main" {
			h.Blocks = blocks.List{uint32(f.First), uint32(f.Last - 1)}
		}
	}
	state = &code.State{}
	state.Merge(h)
	state.Merge(blocks.Hits{Digest: strings.Repeat("0", 64), Path: "/bin/script", Off: "it is not an ELF program for x86-64"})
	of = report.CoverageOf{Name: "world", Bloodhound: "test", Seed: 7, Runs: 3}
	for i, total := range explore.CodeTotals(state) {
		of.Binaries = append(of.Binaries, report.NewBinary(state.Files[i], total, nil))
	}
	return of, state
}

func written(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// beginsWithMissed checks that the lists of a page begin with what was missed most.
func beginsWithMissed(t *testing.T, page string) {
	t.Helper()
	rows := 0
	for _, list := range []struct{ begin, row string }{
		{"<tbody>", `<td class="n" data-label="[a-zA-Z ]+ missed">([0-9]+)</td><td class="n" data-label="of">[0-9]+</td></tr>`},
		{`<section id="`, ` · ([0-9]+) of [0-9]+ [a-zA-Z ]+ missed · `},
		{`<h3 id="s`, `· ([0-9]+) of [0-9]+ lines missed`},
		{`<details class="folded">`, `· ([0-9]+) of [0-9]+ [a-zA-Z ]+ missed · `},
	} {
		for _, part := range strings.Split(page, list.begin)[1:] {
			part, _, _ = strings.Cut(part, `<details class="folded">`)
			part, _, _ = strings.Cut(part, "</section>")
			if list.begin == "<tbody>" {
				part, _, _ = strings.Cut(part, "</tbody>")
			}
			last := -1
			for _, m := range regexp.MustCompile(list.row).FindAllStringSubmatch(part, -1) {
				n, _ := strconv.Atoi(m[1])
				if last >= 0 && n > last {
					t.Errorf("after %s, %d missed follows %d", list.begin, n, last)
				}
				last, rows = n, rows+1
			}
		}
	}
	if rows < 2 {
		t.Errorf("%d rows", rows)
	}
}

func TestCoverageReports(t *testing.T) {
	of, state := coverageOf(t, "-g")
	page := written(t, func(b *bytes.Buffer) error { return report.CoveragePage(b, of) })
	for _, want := range []string{"/bin/program", `<tr class="none"><td class="mono wide">never</td><td class="mono wide">a b.<wbr>c:2</td>`,
		`<s class="missed">		never(argc);</s>`,
		`<s class="ran">	if (argc &gt; 5)</s>`, "off: it is not an ELF program for x86-64"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	beginsWithMissed(t, page)
	if wide := report.Wider(t, page, 400); len(wide) > 0 {
		t.Errorf("on a narrow screen, elements are wider: %q", wide)
	}
	lcov := written(t, func(b *bytes.Buffer) error { return report.CoverageLCOV(b, of) })
	for _, want := range []string{"a b.c\n", "FN:2,never\n", "FNDA:0,never\n", "FNDA:1,main\n", "DA:6,1\n", "DA:7,0\n", "end_of_record\n"} {
		if !strings.Contains(lcov, want) {
			t.Errorf("lcov has no %q:\n%s", want, lcov)
		}
	}
	if strings.Count(lcov, "SF:") != strings.Count(lcov, "end_of_record") {
		t.Errorf("records do not end:\n%s", lcov)
	}
	text := written(t, func(b *bytes.Buffer) error { return report.CoverageText(b, of) })
	if !strings.Contains(text, "/bin/script: off: it is not an ELF program") || !strings.Contains(text, " never  ") {
		t.Error(text)
	}
	var doc struct {
		Binaries []struct {
			Path           string
			Covered, Total int
			Files          []struct {
				File            string
				Covered, Missed []int
			}
		}
	}
	if err := json.Unmarshal([]byte(written(t, func(b *bytes.Buffer) error { return report.CoverageJSON(b, of) })), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Binaries) != 2 || doc.Binaries[0].Covered != 2 || len(doc.Binaries[0].Files) != 1 || len(doc.Binaries[0].Files[0].Missed) < 3 {
		t.Errorf("the document is %+v", doc)
	}
	// A file that is another one by now gives no wrong names.
	if err := os.WriteFile(state.Files[0].Host, []byte("another"), 0o777); err != nil {
		t.Fatal(err)
	}
	if b := report.NewBinary(state.Files[0], explore.CodeTotals(state)[0], nil); b.Names != nil || !strings.Contains(b.Unnamed, "has changed") {
		t.Errorf("%+v", b)
	}
}

// Without line numbers there are functions, and without symbols addresses.
func TestCoverageOfStrippedPrograms(t *testing.T) {
	for flag, want := range map[string]string{"-g0": "FNDA:0,never\n", "-s": "FNDA:0,0x"} {
		of, _ := coverageOf(t, flag)
		if flag == "-s" {
			of.Binaries[0].Covered = blocks.NewBits(of.Binaries[0].Total)
		}
		lcov := written(t, func(b *bytes.Buffer) error { return report.CoverageLCOV(b, of) })
		if !strings.Contains(lcov, "SF:/bin/program\n") || !strings.Contains(lcov, want) {
			t.Errorf("%s:\n%s", flag, lcov)
		}
		if page := written(t, func(b *bytes.Buffer) error { return report.CoveragePage(b, of) }); !strings.Contains(page, "functions without a source file") {
			t.Errorf("%s: the page does not show functions", flag)
		}
	}
}

// edges returns the edges of a program's module, with the file that names them, if there is one.
func edges(path, symbols, file string, total int, ran ...uint32) blocks.Hits {
	m := &blocks.Module{Symbols: symbols}
	if symbols == "" {
		m.Guards = 0x4000
	}
	digest := ""
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		digest = code.Digest(b)
	}
	return blocks.Hits{Digest: code.ModuleDigest(m, digest, total), Path: path, File: file, Source: blocks.Edges, Module: m, Total: total, Blocks: ran}
}

// A program that two sources report is one program, each thing that a report shows has its own name, and edges are called edges.
func TestCoverageOfSeveralSources(t *testing.T) {
	of, state := coverageOf(t, "-g")
	dir := t.TempDir()
	source, symbols := filepath.Join(dir, "kv.go"), filepath.Join(dir, "kv.sym.tsv")
	for file, text := range map[string]string{source: "package kv\n\nfunc get() {\n}\n",
		symbols: "address\tfunction\tfile\tbegin_line\tend_line\n1\tget\t" + source + "\t3\t3\n2\tget\t" + source + "\t4\t4\n"} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	state.Merge(edges("/bin/program", "kv.sym.tsv", symbols, 2, 1))
	state.Merge(edges("/bin/program", "", "", 5, 0, 1))
	state.Merge(edges("/bin/program", "", "", 6, 0))
	state.Merge(edges("/bin/other", "", "", 7, 0))
	of.Binaries = nil
	for i, total := range explore.CodeTotals(state) {
		of.Binaries = append(of.Binaries, report.NewBinary(state.Files[i], total, nil))
	}
	own := of.Binaries[0].Own + 2 + 5 + 6 + 7
	sentence := fmt.Sprintf("7 of %d blocks and edges of own code ran in 2 programs (%.1f %%); coverage is off for 1", own, 700/float64(own))
	page := written(t, func(b *bytes.Buffer) error { return report.CoveragePage(b, of) })
	for _, want := range []string{sentence, "· 1 of 2 edges missed · 1 of 1 functions ran", "edges missed</th>", "blocks missed</th>",
		"<h2>/<wbr>bin/<wbr>program, edges of kv.<wbr>sym.<wbr>tsv</h2>",
		"<h2>/<wbr>bin/<wbr>program</h2>", "<h2>/<wbr>bin/<wbr>other, edges</h2>", `<s class="ran">func get() {</s><s class="missed">}</s>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, element := range []*regexp.Regexp{regexp.MustCompile("<h2>(.*)</h2>"), regexp.MustCompile(`<a href="#b[0-9]+">([^<]*)</a>`)} {
		seen := map[string]bool{}
		for _, m := range element.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("two are called %s", m[1])
			}
			seen[m[1]] = true
		}
		if len(seen) != len(state.Files) {
			t.Errorf("%s: %v", element, seen)
		}
	}
	text := written(t, func(b *bytes.Buffer) error { return report.CoverageText(b, of) })
	for _, want := range []string{sentence,
		"/bin/program, edges of kv.sym.tsv: 1 of 2 edges (50.0 %)\n     1/2       50.0 %  " + source + "\n       1/2      get  " +
			source + ":3\n", "no names: no known file describes its edges"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	lcov := written(t, func(b *bytes.Buffer) error { return report.CoverageLCOV(b, of) })
	if want := "SF:" + source + "\nFN:3,get\nFNDA:1,get\nFNF:1\nFNH:1\nDA:3,1\nDA:4,0\nLF:2\nLH:1\nend_of_record\n"; !strings.Contains(lcov, want) {
		t.Errorf("no %q in\n%s", want, lcov)
	}
	doc := written(t, func(b *bytes.Buffer) error { return report.CoverageJSON(b, of) })
	if want := `"source":"edges","covered":1,"total":2,"own":2,"own_covered":1,"symbols":"kv.sym.tsv","functions":[{"name":"get","file":"` +
		source + `","line":3,"covered":1,"total":2,"package":"` + source + `","own":true}],"files":[{"file":"` + source +
		`","own":true,"covered":[3],"missed":[4]}]`; !strings.Contains(doc, want) {
		t.Errorf("no %s in\n%s", want, doc)
	}
}

// A program in Go begins with its own code, of which the text is found too if it was built without paths, and so is that of what
// it is made with.
func TestCoverageOfGo(t *testing.T) {
	project := t.TempDir()
	dir := filepath.Join(project, "server")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(dir, "main.go")
	for file, text := range map[string]string{source: "package main\n\nimport \"strings\"\n\nfunc main() {\n\tprintln(strings.ToUpper(\"own\"))\n}\n",
		filepath.Join(dir, "go.mod"): "module example.com/kv/server\n\ngo 1.21\n"} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		needs.Missing(t, "go", err)
	}
	here := &report.Sources{Project: project, GoRoot: strings.TrimSpace(string(root))}
	for _, flags := range [][]string{{"-trimpath"}, {"-ldflags=-s -w"}, {"-cover"}, {"-cover", "-trimpath"}} {
		program := filepath.Join(dir, "program")
		cmd := exec.Command("go", append([]string{"build", "-buildvcs=false", "-o", program}, flags...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", flags, err, out)
		}
		b, _ := analysed(t, program)
		h := blocks.Hits{Digest: b.Digest, Path: "/bin/program", File: program, Total: b.Total()}
		unit := "blocks"
		if b.Counters != nil {
			h.Source, unit = blocks.GoCover, "blocks of Go source"
		}
		for i := range h.Total {
			h.Blocks = append(h.Blocks, uint32(i))
		}
		state := &code.State{}
		state.Merge(h)
		of := report.CoverageOf{Name: "world", Runs: 1, Binaries: []*report.BinaryOf{report.NewBinary(state.Files[0], explore.CodeTotals(state)[0], here)}}
		page := written(t, func(b *bytes.Buffer) error { return report.CoveragePage(b, of) })
		var groups []string
		for _, m := range regexp.MustCompile(`<span class="mono">([^<]*)</span> <span class="soft small">· [0-9]+ of [0-9]+ ([a-zA-Z ]+) missed ·`).
			FindAllStringSubmatch(strings.ReplaceAll(page, "<wbr>", ""), -1) {
			groups = append(groups, m[1])
			if m[2] != unit {
				t.Errorf("%v: %q are %s", flags, m[1], m[2])
			}
		}
		if len(groups) == 0 || groups[0] != "main" || h.Source == blocks.Breakpoints && !slices.Contains(groups, "runtime") {
			t.Errorf("%v: the packages are %q", flags, groups)
		}
		if slices.ContainsFunc(groups, func(g string) bool { return strings.HasPrefix(g, "type:") || strings.HasPrefix(g, "&lt;") }) {
			t.Errorf("%v: what the compiler makes is no package: %q", flags, groups)
		}
		want, line := `<s class="ran">	println(strings.ToUpper(&#34;own&#34;))</s>`, "DA:6,1\n"
		if flags[0] == "-ldflags=-s -w" { // the lines at which blocks begin
			want, line = `<s class="ran">func main() {</s>`, "DA:5,1\n"
		}
		if !strings.Contains(page, want) {
			t.Errorf("%v: the page does not show %s", flags, want)
		}
		beginsWithMissed(t, page)
		if h.Source == blocks.Breakpoints && !strings.Contains(page, "// Package strings") && !strings.Contains(page, "func ToUpper(s string) string {") {
			t.Errorf("%v: the page does not show the text of what the program is made with", flags)
		}
		lcov := written(t, func(b *bytes.Buffer) error { return report.CoverageLCOV(b, of) })
		if !strings.Contains(lcov, "SF:"+source+"\n") || !strings.Contains(lcov, "FNDA:1,main.main\n") ||
			!strings.Contains(lcov, line) || strings.Contains(lcov, "SF:<") {
			t.Errorf("%v: lcov has no lines of %s", flags, source)
		}
		if text := written(t, func(b *bytes.Buffer) error { return report.CoverageText(b, of) }); !strings.Contains(text,
			" main.main  ") || !strings.Contains(text, fmt.Sprintf("%d of %d %s", h.Total, h.Total, unit)) {
			t.Errorf("%v: %.300s", flags, text)
		}
	}
}
