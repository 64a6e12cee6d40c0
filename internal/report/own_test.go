package report_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// The share of a program is that of its own code: what it requires, its standard library and its runtime are folded away.
func TestOwnCode(t *testing.T) {
	type source map[string]string
	for _, c := range []struct {
		name    string
		files   source
		build   []string
		own     []string // functions of its own code
		others  []string // not
		atMost  int      // blocks of its own code
		folded  []string
		without bool // of debug information
	}{
		{name: "go", files: source{
			"go.mod": "module kv\n\ngo 1.21\n\nrequire example.com/lib v1.0.0\n\nreplace example.com/lib => ./lib\n",
			"main.go": "package main\n\nimport (\n\t\"fmt\"\n\t\"kv/store\"\n\t\"example.com/lib\"\n)\n\nfunc main() { " +
				"fmt.Println(store.Get(lib.Twice(2))) }\n",
			"store/store.go": "package store\n\nimport \"sort\"\n\n//go:noinline\nfunc Get(n int) int { list := []int{3, n}; " +
				"sort.Ints(list); return list[0] }\n",
			"lib/go.mod":      "module example.com/lib\n\ngo 1.21\n",
			"lib/lib.go":      "package lib\n\n//go:noinline\nfunc Twice(n int) int { return 2 * n }\n",
			"ignored/main.py": "pass\n",
		}, build: []string{"go", "build", "-o", "program", "."},
			own: []string{"main.main", "kv/store.Get", "example.com/lib.Twice"}, others: []string{"runtime.main", "fmt.Println"},
			atMost: 40, folded: []string{"standard library and runtime"}},
		{name: "c++", files: source{"main.cc": "#include <map>\n#include <string>\n__attribute__((noinline)) static int " +
			"find(std::map<std::string, int> &m, const char *k) { return m[k]; }\nint main(int argc, char **argv) { " +
			"std::map<std::string, int> m; return find(m, argv[0]); }\n"},
			build: []string{"g++", "-g", "-O0", "-o", "program", "main.cc"}, own: []string{"main"},
			others: []string{"_start", "frame_dummy"}, atMost: 30, folded: []string{"standard library and runtime"}},
		{name: "rust", files: source{"main.rs": "#[inline(never)]\nfn total(list: &[u32]) -> u32 { let mut v = list.to_vec(); " +
			"v.sort(); v.iter().sum() }\nfn main() { println!(\"{}\", total(&[3, 1])); }\n"},
			build: []string{"rustc", "-g", "-o", "program", "main.rs"}, own: []string{"main::total", "main::main"},
			others: []string{"_start"}, atMost: 60, folded: []string{"standard library and runtime"}},
		{name: "rust without debug information",
			files: source{"main.rs": "#[inline(never)]\nfn total(list: &[u32]) -> u32 { let mut v = list.to_vec(); v.sort(); " +
				"v.iter().sum() }\nfn main() { println!(\"{}\", total(&[3, 1])); }\n"},
			build: []string{"rustc", "-o", "program", "main.rs"}, own: []string{"main::total", "main::main"},
			others: []string{"_start"}, atMost: 5000, folded: []string{"standard library and runtime"}, without: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				file := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			needs.Program(t, c.build[0])
			cmd := exec.Command(c.build[0], c.build[1:]...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			program := filepath.Join(dir, "program")
			b, names := analysed(t, program)
			h := blocks.Hits{Digest: b.Digest, Path: "/bin/program", File: program, Total: b.Total()}
			want := 0
			for _, f := range names.Functions { // all that is its own has run
				for _, own := range c.own {
					if name, _, _ := strings.Cut(f.Name, "::h"); name == own || strings.HasPrefix(f.Name, own+"(") {
						want++
						for i := f.First; i < f.Last; i++ {
							h.Blocks = append(h.Blocks, uint32(i))
						}
					}
				}
			}
			if want < len(c.own) {
				t.Fatalf("%d of the functions %v are there", want, c.own)
			}
			state := &code.State{}
			state.Merge(h)
			bin := report.NewBinary(state.Files[0], explore.CodeTotals(state)[0], &report.Sources{Project: dir})
			if bin.Own == 0 || bin.Own > c.atMost || bin.Own >= bin.Total || bin.OwnCovered < len(c.own) {
				t.Errorf("%d of %d own blocks, of %d:\n%.6000s", bin.OwnCovered, bin.Own, bin.Total, written(t, func(b *bytes.Buffer) error {
					return report.CoverageText(b, report.CoverageOf{Binaries: []*report.BinaryOf{bin}})
				}))
			}
			if !c.without && c.name != "c++" && bin.OwnCovered != bin.Own {
				t.Errorf("%d own blocks, and %d of its functions", bin.Own, bin.OwnCovered)
			}
			of := report.CoverageOf{Name: "world", Runs: 1, Binaries: []*report.BinaryOf{bin}}
			text := written(t, func(b *bytes.Buffer) error { return report.CoverageText(b, of) })
			for _, f := range c.own {
				if !strings.Contains(text, " "+f) {
					t.Errorf("%s is not in\n%s", f, text)
				}
			}
			for _, f := range c.others {
				if strings.Contains(text, " "+f+"\n") || strings.Contains(text, " "+f+" ") {
					t.Errorf("%s is own code in\n%s", f, text)
				}
			}
			for _, f := range c.folded {
				if !strings.Contains(text, f+" (") {
					t.Errorf("no %q in\n%s", f, text)
				}
			}
			page := written(t, func(b *bytes.Buffer) error { return report.CoveragePage(b, of) })
			if !strings.Contains(page, fmt.Sprintf("%d of %d blocks of own code ran in 1 program", bin.OwnCovered,
				bin.Own)) || !strings.Contains(page, `<details class="folded">`) {
				t.Errorf("the page does not begin with own code: %.1500s", page)
			}
		})
	}
}
