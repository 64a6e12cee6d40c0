package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
)

// explore runs the verb test in a folder, and gives its exit code, its output and its notes.
func explore(t *testing.T, dir string, args ...string) (code int, out, notes string) {
	t.Helper()
	t.Setenv("GOWORK", "off") // this module's is for no other one
	t.Chdir(dir)
	var o, e bytes.Buffer
	code = Main(append([]string{"test", "--std=false"}, args...), &o, &e)
	return code, o.String(), e.String()
}

// toy is a module with handlers.
var toy = filepath.Join("..", "..", "testdata", "toy")

// A value that random inputs would need 2^64 tries for is found in a few paths, under the command and by no one's help.
func TestLiveFindsANeedle(t *testing.T) {
	code, out, notes := explore(t, toy, "--run", "TestUpdate")
	if code != exitcode.Violated || !strings.Contains(out, "no leak: prefix=0xa0102") || !strings.Contains(out, "length=0x18 community=0xdeadbeef") ||
		!strings.Contains(out, "no condition was left to negate") || !strings.Contains(notes, "instrumented: 9 of 9 functions in 1 package") {
		t.Errorf("exit code %d\n%s\n%s", code, out, notes)
	}
}

// Keys of maps are found, and all paths: each key, and none of them.
func TestLiveFindsKeysOfMaps(t *testing.T) {
	code, out, _ := explore(t, toy, "--run", "TestRoutes|TestRules")
	const north, south = "peer[0]=0x6e peer[1]=0x6f peer[2]=0x72 peer[3]=0x74 peer[4]=0x68 ",
		"peer[0]=0x73 peer[1]=0x6f peer[2]=0x75 peer[3]=0x74 peer[4]=0x68 "
	for _, want := range []string{"route 10.0.0.0 stays: " + north + "prefix=0xa000000", "route 192.168.0.0 stays: " + north + "prefix=0xc0a80000",
		"nothing is allowed with 24: " + north + "length=0x18", "nothing is allowed with 16: " + south + "length=0x10"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q\n%s", want, out)
		}
	}
	if code != exitcode.Violated || strings.Count(out, "no condition was left to negate") != 2 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// Folders of --instrument are those of the command, as those of --add are, and not those of the package.
func TestFoldersOfInstrument(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	o := &buildOptions{instrument: []string{".", "./kv/...", "../x", "example.com/a", "..."}}
	got, err := o.patterns(&goPackage{ImportPath: "m/p"})
	if want := []string{"m/p", here, here + "/kv/...", filepath.Join(filepath.Dir(here), "x"), "example.com/a", "..."}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, instead of %q", got, err, want)
	}
}

func TestLiveRefusesAPatternThatMatchesNothing(t *testing.T) {
	code, _, notes := explore(t, toy, "--leave", `\.Strnig$`)
	if code != exitcode.Usage || !strings.Contains(notes, `--leave: no function of the instrumented packages matches \.Strnig$`) {
		t.Errorf("exit code %d\n%s", code, notes)
	}
}

// Inputs are followed through packages of the standard library.
func TestLiveFollowsTheStandardLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("builds packages of the standard library anew")
	}
	t.Setenv("NEEDLES_TIME", "5m")
	code, out, notes := explore(t, filepath.Join("..", "..", "..", "bench", "live", "testdata", "needles"), "--std=true", "--run", "TestLive/(route|states)")
	if code != exitcode.Violated || strings.Count(out, "live: needle: ") != 2 {
		t.Errorf("exit code %d\n%s\n%s", code, out, notes)
	}
}

// liveModule is a module that uses this one: names of files and texts.
func liveModule(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	own, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	const root = "github.com/bloodhound-dst/bloodhound"
	files = append(files, "go.mod", "module m\n\ngo 1.26.0\n\nrequire (\n\t"+root+" v0.1.0 // indirect\n\t"+root+"/live v0.0.0\n)\n\nreplace (\n\t"+
		root+"/live => "+own+"\n\t"+root+" => "+filepath.Dir(own)+"\n)\n")
	for i := 0; i < len(files); i += 2 {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, files[i])), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A handler that a package of the module cache does not export is added to it, and followed there.
func TestLiveAddsToOtherModules(t *testing.T) {
	sums, err := os.ReadFile(filepath.Join("..", "..", "..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := liveModule(t, "m_test.go", `package m

import (
	"flag"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live"
	"github.com/moby/patternmatcher"
)

var wanted = flag.Int("wanted", 4242, "")

func TestF(t *testing.T) {
	set := any(&patternmatcher.PatternMatcher{}).(interface{ Odd(x int) int })
	live.Explore(t, live.Handler{Run: func() {
		x := 1
		live.Symbolic("x", &x)
		live.Check("odd", set.Odd(x) != *wanted)
	}})
}
`, "testdata/added.go", "package patternmatcher\n\nfunc (p *PatternMatcher) Odd(x int) int { return x ^ 1 }\n", "go.sum", string(sums), "old/go.mod", "module github.com/bloodhound-dst/old\n\ngo 1.12\n", "old/old.go", "package old\n")
	gomod := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(gomod)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gomod, append(text,
		"\nrequire github.com/moby/patternmatcher v0.6.1\nrequire github.com/bloodhound-dst/old v0.0.0\nreplace github.com/bloodhound-dst/old => ./old\n"...),
		0o666); err != nil {
		t.Fatal(err)
	}
	const matcher = "github.com/moby/patternmatcher"
	t.Setenv("GOCACHE", goCache(t))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	flags := []string{"--std=false", "--instrument", matcher, "--add", matcher + "=testdata/added.go"}
	code, out, notes := explore(t, dir, flags...)
	if code != exitcode.Violated || !strings.Contains(out, "live: odd: x=0x1093") {
		t.Errorf("exit code %d\n%s\n%s", code, out, notes)
	}
	code, out, notes = explore(t, dir, append(flags, "--", "-wanted", "77")...)
	if code != exitcode.Violated || !strings.Contains(out, "live: odd: x=0x4c") {
		t.Errorf("with an argument: exit code %d\n%s\n%s", code, out, notes)
	}
	code, out, notes = explore(t, dir, append(flags, "--leave", `\.Odd$`)...)
	if code != exitcode.Holds || !strings.Contains(notes, "1 are not: named by --leave") {
		t.Errorf("with --leave: exit code %d\n%s\n%s", code, out, notes)
	}
	if _, _, notes = explore(t, dir, append(flags, "--instrument", "github.com/bloodhound-dst/old")...); !strings.Contains(notes,
		"github.com/bloodhound-dst/old is not instrumented: its module is of go1.12") {
		t.Errorf("an old module: %s", notes)
	}
	if code, _, notes = explore(t, dir, append(flags, "--leave", "(")...); code != exitcode.Usage || !strings.Contains(notes, "--leave: ") {
		t.Errorf("with a bad pattern: exit code %d\n%s", code, notes)
	}
}

// goCache is the build cache, which XDG_CACHE_HOME would move.
func goCache(t *testing.T) string {
	t.Helper()
	text, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestLiveRefuses(t *testing.T) {
	module := func(files ...string) string { return liveModule(t, files...) }
	const explores = "package m\n\nimport (\n\t\"testing\"\n\n\t\"github.com/bloodhound-dst/bloodhound/live\"\n)\n\nfunc TestF(t " +
		"*testing.T) {\n\tlive.Explore(t, live.Handler{Run: func() {\n\t\tx := 1\n\t\tlive.Symbolic(\"x\", &x)\n\t\tlive.Check(\"f\", F(x))\n\t}})\n}\n"
	for _, c := range []struct {
		name  string
		files []string
		args  []string
		says  string
	}{
		{"no tests", []string{"m.go", "package m\n"}, nil, "no test of m explores a handler; call live.Explore"},
		{"no handler", []string{"m.go", "package m\n", "m_test.go", "package m\n"}, nil, "no test of m explores a handler; call live.Explore"},
		{"an error of the compiler", []string{"m.go", "package m\n\nfunc F(x int) bool { return y }\n", "m_test.go", explores}, nil, "undefined: y"},
		{"several packages", []string{"m.go", "package m\n", "n/n.go", "package n\n"}, []string{"./..."},
			"matches several packages, such as m and m/n; give one"},
		{"no package", []string{"m.go", "package m\n"}, []string{"./nowhere"}, "nowhere is not a Go package"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, notes := explore(t, module(c.files...), c.args...)
			if code != exitcode.Usage || !strings.Contains(notes, c.says) {
				t.Errorf("exit code %d\n%s\n%s", code, out, notes)
			}
		})
	}
	t.Run("cgo", func(t *testing.T) { // is followed up to the calls of C
		code, out, notes := explore(t, module("m.go", "package m\n\nfunc F(x int) bool { return x != 9 && g(x) != 7 }\n",
			"c.go", "package m\n\n// int f(int x) { return x; }\nimport \"C\"\n\nfunc g(x int) int { return int(C.f(C.int(x))) }\n", "m_test.go", explores))
		if code != exitcode.Violated || !strings.Contains(out, "live: f: x=0x9") || !strings.Contains(notes, "cgo generated it") {
			t.Errorf("exit code %d\n%s\n%s", code, out, notes)
		}
	})
	t.Run("the race detector", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-race")
		if code, _, notes := explore(t, module("m.go", "package m\n\nfunc F(x int) bool { return x != 9 }\n", "m_test.go",
			explores)); code != exitcode.Usage || !strings.Contains(notes, "remove -race from GOFLAGS") {
			t.Errorf("exit code %d\n%s", code, notes)
		}
	})
	t.Run("a program with C code", func(t *testing.T) {
		dir := module("m.go", "package main\n\n// int f(int x) { return x; }\nimport \"C\"\n\nimport "+
			"\"github.com/bloodhound-dst/bloodhound/live\"\n\nfunc main() { live.Serve(live.Service{}); C.f(1) }\n")
		t.Chdir(dir)
		t.Setenv("CGO_ENABLED", "1")
		var o, e strings.Builder
		if code := Main([]string{"build"}, &o, &e); code != exitcode.Usage || !strings.Contains(e.String(), "m uses cgo; set CGO_ENABLED=0") {
			t.Errorf("exit code %d\n%s", code, &e)
		}
	})
	t.Run("the version of Go", func(t *testing.T) {
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\necho go1.20.1\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		dir := module("m.go", "package m\n")
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		if code, _, notes := explore(t, dir); code != exitcode.Usage || !strings.Contains(notes, "does not support go1.20.1; use one of go1.26") {
			t.Errorf("exit code %d\n%s", code, notes)
		}
	})
}

// What cannot be built or explored is refused, with what to do.
func TestLiveBuildAndWatchRefuse(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	config := func(text string) string {
		path := filepath.Join(t.TempDir(), "live.yaml")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lonely := config("nodes: {kv: {socket: none.sock}}\n")
	two := config("nodes: {a: {socket: a}, b: {socket: b}}\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"build", filepath.Join(root, "live")}, "is not a program; give a package main"},
		{[]string{"build", filepath.Join(root, "cmd", "bloodhound-driver")}, "call live.Serve in it"},
		{[]string{"build", filepath.Join(root, "no-such")}, "is not a Go package"},
		{[]string{"--config", filepath.Join(root, "no-such.yaml")}, "give the path of an existing file"},
		{[]string{"--once", "--config", lonely}, "start it with BLOODHOUND_LIVE_SOCKET="},
		{[]string{"try", "--config", lonely}, `required flag(s) "change" not set`},
		{[]string{"try", "--config", lonely, "--change", "/no-such"}, "--change: "},
		{[]string{"try", "--config", two, "--change", two}, "give one of a, b"},
		{[]string{"try", "--config", two, "--change", two, "c"}, "has no node c"},
	} {
		var o, e strings.Builder
		if code := Main(c.args, &o, &e); code != exitcode.Usage || !strings.Contains(e.String(), c.want) {
			t.Errorf("live %v: exit code %d, and not %q\n%s%s", c.args, code, c.want, &o, &e)
		}
	}
}
