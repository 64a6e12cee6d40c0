package examples

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var (
	fenced = regexp.MustCompile("(?ms)^```(\\S+)(?: (\\S+))?\n(.*?)^```")
	failed = regexp.MustCompile(`bloodhound (?:replay|explain) ([0-9a-f]{12})`)
	number = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)?(?:ms|µs|s|m[0-9.]+s)?`)
	varies = regexp.MustCompile(`[0-9a-f]{32}|"[^"]*"|http/c[0-9.]*[0-9]|key-[0-9]|\(first seen [^)]*\)`)
	digits = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)?`)
	// What depends on the machine even with the same programs: how fast it is, the day, and samples of runs, which the length of a path changes.
	machine = regexp.MustCompile(`in [0-9a-z.]+ \(|, [0-9]+ workers?|\(first seen [^)]*\)|[0-9]+ of 40 runs fails? \(.*\)`)
)

// pagesToolchain compiled the servers whose output README.md and docs/tutorial.md show. Another one makes other bytes, and so
// other runs: only then may figures differ from the pages.
const pagesToolchain = "go1.26.8"

// TestReadme executes the commands of README.md that print something there, where the page says, on a copy of the quickstart.
func TestReadme(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, folder := range []string{"bin", "examples"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := bloodhound(t)
	if err := os.Symlink(program, filepath.Join(dir, "bin/bloodhound")); err != nil {
		t.Fatal(err)
	}
	copyProject(t, "quickstart", filepath.Join(dir, "examples/quickstart"))
	commands := 0
	for _, m := range fenced.FindAllStringSubmatch(string(page), -1) {
		command, want, _ := strings.Cut(strings.TrimPrefix(m[3], "$ "), "\n")
		if m[1] != "console" {
			continue
		}
		if strings.Contains(command, " explain ") {
			command += " --time 20m" // a busy machine is slow
		}
		printed(t, command, want, execute(t, dir, program, command))
		commands++
	}
	if commands < 2 {
		t.Errorf("%d commands of the page were executed", commands)
	}
}

// TestTutorial writes the files of docs/tutorial.md and executes its commands, one block after the other. Each line of output that the
// page shows must be printed, in the order of the page.
func TestTutorial(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	page, err := os.ReadFile("../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	program := bloodhound(t)
	dir, err := os.MkdirTemp(filepath.Dir(filepath.Dir(program)), "tutorial")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	dir = filepath.Join(dir, "kv") // the name of the test, and so a part of ids
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	shown, stored := "", ""
	commands := 0
	for _, m := range fenced.FindAllStringSubmatch(string(page), -1) {
		language, name, text := m[1], m[2], m[3]
		path := filepath.Join(dir, strings.TrimPrefix(name, ">>"))
		before, _ := os.ReadFile(path)
		switch {
		case language == "console":
			command, want, _ := strings.Cut(strings.TrimPrefix(text, "$ "), "\n")
			out := execute(t, dir, program, strings.ReplaceAll(command, shown, stored))
			if id := failed.FindStringSubmatch(want); id != nil {
				got := failed.FindStringSubmatch(out)
				if got == nil {
					t.Fatalf("%s printed no failure:\n%s", command, out)
				}
				shown, stored = id[1], got[1]
			}
			printed(t, command, strings.ReplaceAll(want, shown, stored), out)
			commands++
		case language == "diff":
			var from, to strings.Builder
			for line := range strings.Lines(text) {
				if line[0] != '+' {
					from.WriteString(line[1:])
				}
				if line[0] != '-' {
					to.WriteString(line[1:])
				}
			}
			if strings.Count(string(before), from.String()) != 1 {
				t.Fatalf("%s has no place for\n%s", name, text)
			}
			write(t, path, strings.Replace(string(before), from.String(), to.String(), 1))
		case strings.HasPrefix(name, ">>"):
			write(t, path, string(before)+text)
		default:
			write(t, path, text)
			if strings.HasSuffix(name, ".yaml") {
				execute(t, dir, program, "bloodhound config --config "+name)
			}
		}
	}
	if commands < 5 || stored == "" {
		t.Errorf("%d commands of the page were executed, and failure %q was found", commands, stored)
	}
}

// The configurations that how-to guides show can be loaded, each for three nodes or the services of a Compose file.
func TestConfigurationsOfGuidesLoad(t *testing.T) {
	guides, err := filepath.Glob("../docs/how-to/*.md")
	if err != nil {
		t.Fatal(err)
	}
	program, dir := bloodhound(t), t.TempDir()
	for name, text := range map[string]string{"docker-compose.yml": "services:\n  cache: {image: redis}\n  db: {image: postgres}\n", "driver.py": "", "balances.sh": "", "test/bank/first_x": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	if err := os.CopyFS(dir, os.DirFS("conformance")); err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, guide := range guides {
		page, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fenced.FindAllStringSubmatch(string(page), -1) {
			text := m[3]
			if m[1] != "yaml" || strings.Contains(text, "jobs:\n") || strings.HasPrefix(text, "services:") {
				continue // of GitHub, or of Compose
			}
			if !strings.Contains(text, "nodes:") && !strings.Contains(text, "compose:") {
				text = "nodes:\n  n1: {command: sleep 1}\n  n2: {command: sleep 1}\n  n3: {command: sleep 1}\n" + text
			}
			path := filepath.Join(dir, "guide.yaml")
			write(t, path, text)
			args := []string{"config", "--quiet", "--config", path}
			if strings.HasPrefix(text, "nodes:\n  db:") {
				args = append(args, "--compose", filepath.Join(dir, "docker-compose.yml"))
			}
			if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", guide, err, out, text)
			}
			loaded++
		}
	}
	if loaded < 6 {
		t.Errorf("only %d configurations were found", loaded)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// execute runs a command of the page in a shell and returns its standard output.
func execute(t *testing.T, dir, program, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "GOWORK=off", "CI=") // as a person sees it
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if len(out) == 0 {
		t.Fatalf("%s: %v\n%s", command, err, said.String())
	}
	return string(out)
}

// goVersion returns the version of the toolchain that compiles the servers of pages.
var goVersion = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "env", "GOVERSION")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
})

// printed compares the lines of output that a page shows with the output, in their order. "..." stands for any lines.
func printed(t *testing.T, command, want, out string) {
	t.Helper()
	version, err := goVersion()
	if err != nil {
		t.Fatal(err)
	}
	exact := version == pagesToolchain
	rest := strings.Split(out, "\n")
	for line := range strings.Lines(want) {
		line = strings.TrimSuffix(line, "\n")
		if line == "..." || line == "" {
			continue
		}
		at := slices.IndexFunc(rest, func(have string) bool { return sameLine(line, have, exact) })
		if at < 0 {
			t.Errorf("%s printed no line such as\n%s\nin its place:\n%s", command, line, out)
			return
		}
		rest = rest[at+1:]
	}
}

// sameLine reports whether two lines have the same words and, if exact, the same names and nearly the same figures: a path
// that is longer, or another library of the machine, moves events by a few.
func sameLine(want, have string, exact bool) bool {
	if !exact {
		want, have = varies.ReplaceAllString(want, ""), varies.ReplaceAllString(have, "")
	}
	words := func(line string) string {
		return strings.Join(strings.Fields(number.ReplaceAllString(machine.ReplaceAllString(line, ""), "#")), " ")
	}
	if words(want) != words(have) {
		return false
	}
	wanted, had := figuresIn(want), figuresIn(have)
	if !exact {
		return true
	}
	return slices.EqualFunc(wanted, had, func(x, y float64) bool { return math.Abs(x-y) <= figureTolerance*max(x, y) })
}

// figureTolerance is the largest share by which a figure of a page may differ from the output.
const figureTolerance = 0.1

func figuresIn(line string) []float64 {
	var list []float64
	for _, text := range digits.FindAllString(machine.ReplaceAllString(line, ""), -1) {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(err) // the expression matches numbers alone
		}
		list = append(list, x)
	}
	return list
}

// copyProject copies a folder without what runs have left there, which other tests may be writing.
func copyProject(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if err := os.CopyFS(target, os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
		default:
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(target, text, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}
