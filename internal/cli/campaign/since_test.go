package campaign

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

func TestChangedLines(t *testing.T) {
	c := changes{"/repo", changedLines("/repo", `diff --git kv/server.go kv/server.go
--- kv/server.go
+++ kv/server.go
@@ -3 +3,2 @@ func a()
+x
@@ -10,2 +12 @@
@@ -30,4 +31,0 @@ gone
diff --git a name a name
--- /dev/null
+++ a name	
@@ -0,0 +1,3 @@
`)}
	want := map[string][][2]int{"/repo/kv/server.go": {{3, 5}, {12, 13}}, "/repo/a name": {{1, 4}}}
	if !reflect.DeepEqual(c.files, want) {
		t.Fatalf("%v, want %v", c.files, want)
	}
	for file, n := range map[string]int{"/repo/kv/server.go": 2, "/src/kv/server.go": 2, "example.com/x/kv/server.go": 2,
		"kv/server.go": 2, "/src/server.go": 0, "/repo/lv/server.go": 0, "skv/server.go": 0} {
		if got := c.lines(file); len(got) != n {
			t.Errorf("%s: %v", file, got)
		}
	}
}

// Blocks of changed code are found whoever says which blocks run.
func TestChangedBlocksOfEachSource(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return file
	}
	digest := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return code.Digest(b)
	}
	write("go.mod", "module example.com/kv\n\ngo 1.21\n")
	source := write("main.go", "package main\n\nimport \"os\"\n\nfunc main() {\n\tif len(os.Args) > 1 {\n\t\tprintln(1)\n\t\treturn\n\t}\n\tprintln(2)\n}\n")
	program := filepath.Join(dir, "kv")
	changes := &changes{dir, map[string][][2]int{source: {{7, 8}}}}
	for _, flags := range [][]string{{"build"}, {"build", "-cover"}, {"build", "-cover", "-trimpath"}} {
		cmd := exec.Command("go", append(flags, "-buildvcs=false", "-o", program, ".")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", flags, err, out)
		}
		b, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		binary, err := code.Analyse(b)
		if err != nil {
			t.Fatal(err)
		}
		f := &code.File{Digest: binary.Digest, Host: program, Total: binary.Total()}
		if binary.Counters != nil {
			f.Source = blocks.GoCover
		}
		if n := changes.blocks(f).Count(); n < 1 || n > 8 || (f.Source == blocks.GoCover) != (len(flags) > 1) || f.Source == blocks.GoCover && n != 1 {
			t.Errorf("%v: %d of %d blocks have changed", flags, n, f.Total)
		}
	}
	symbols := write("kv.sym.tsv", "address\tfunction\tfile\tbegin_line\tend_line\n1\tmain\tmain.go\t5\t6\n2\tmain\tmain.go\t7\t8\n3\tmain\tmain.go\t10\t10\n")
	module := &blocks.Module{Symbols: "kv.sym.tsv"}
	edges := &code.File{Digest: code.ModuleDigest(module, digest(symbols), 3), Host: symbols, Source: blocks.Edges, Module: module, Total: 3}
	if set := changes.blocks(edges); set.Count() != 1 || !set.Has(2) {
		t.Errorf("the edges that have changed are %v", set)
	}
	guards := &code.File{Digest: "0", Source: blocks.Edges, Module: &blocks.Module{Guards: 0x4000}, Total: 3}
	if set := changes.blocks(guards); set.Count() != 0 {
		t.Errorf("of edges that nothing is known of, these have changed: %v", set)
	}
}

// Files that git does not know yet have changed as a whole; that nothing has changed, or that no line is known, is said.
func TestSinceWithoutEffectSaysWhy(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		if out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"},
			args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	c, err := changesSince(t.Context(), dir, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if why := c.noEffect("HEAD", nil); !strings.Contains(why, "nothing in") {
		t.Errorf("without changes: %q", why)
	}
	for name, text := range map[string]string{"new file.c": "x\n", ".gitignore": "*.o\n", "a.o": "y\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if c, err = changesSince(t.Context(), dir, "HEAD"); err != nil {
		t.Fatal(err)
	}
	if len(c.lines("new file.c")) != 1 || len(c.lines("a.o")) != 0 {
		t.Errorf("%v", c.files)
	}
	numbers := &code.File{Path: "/kv", Source: blocks.Edges, Module: &blocks.Module{Symbols: "gone.tsv"}, Total: 3}
	if why := c.noEffect("HEAD", []*code.File{numbers}); !strings.Contains(why, "none of the changed code is watched: /kv: its edges have only numbers") {
		t.Errorf("%q", why)
	}
	numbers.Always = blocks.Bits{1}
	if why := c.noEffect("HEAD", []*code.File{numbers}); why != "" {
		t.Errorf("%q", why)
	}
}
