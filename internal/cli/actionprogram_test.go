package cli

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// runnerTemp is action.yml's name for the folder of the program; .ci/program makes it in RUNNER_TEMP.
const runnerTemp = "${{ runner.temp }}/bloodhound-program"

// The program lies in a cache whose folder and key exist. Paths of the action's source, outside of the workspace, are none for caches.
func TestActionCachesTheProgram(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "cache-dependency-path") || strings.Contains(string(text), "hashFiles(") {
		t.Error("setup-go and hashFiles find no file outside of the workspace")
	}
	var a struct {
		Runs struct {
			Steps []struct {
				ID, If, Uses, Run string
				With, Env         map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, s := range a.Runs.Steps {
		name, _, _ := strings.Cut(s.Uses, "@")
		verb, isCache := strings.CutPrefix(name, "actions/cache/")
		switch {
		case isCache && s.With["path"] == runnerTemp:
			order = append(order, verb)
			if s.With["key"] != "${{ steps.find.outputs.key }}" {
				t.Errorf("the key of %s is %s", verb, s.With["key"])
			}
			if verb == "save" && s.If != "steps.cache.outputs.cache-hit != 'true'" {
				t.Errorf("the program is saved if %s", s.If)
			}
		case isCache && strings.Contains(s.With["path"], "github.action_path"):
			t.Errorf("%s is no path of the workspace", s.With["path"])
		case name == "actions/setup-go":
			order = append(order, "go")
			if s.With["cache"] != "false" || s.If != "steps.find.outputs.go == 'missing'" {
				t.Errorf("setup-go: %+v", s)
			}
		case strings.Contains(s.Run, "/.ci/program"):
			order = append(order, s.ID)
		case s.ID == "test":
			order = append(order, "test")
			if s.Env["BLOODHOUND"] != "${{ steps.get.outputs.program }}" {
				t.Errorf("the program is %s", s.Env["BLOODHOUND"])
			}
		}
	}
	if want := []string{"find", "restore", "go", "get", "save", "test"}; !slices.Equal(order, want) {
		t.Errorf("steps: %q", order)
	}
}

// actionRunner is a runner of GitHub with a copy of the action, tools that only note that they were called, and releases in a folder.
type actionRunner struct{ action, bin, temp, releases string }

func newActionRunner(t *testing.T) actionRunner {
	t.Helper()
	needs.Program(t, "bash")
	needs.Program(t, "curl")
	dir := t.TempDir()
	r := actionRunner{filepath.Join(dir, "action"), filepath.Join(dir, "bin"), filepath.Join(dir, "temp"), filepath.Join(dir, "releases")}
	script, err := os.ReadFile("../../.ci/program")
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, filepath.Join(r.action, ".ci", "program"), string(script))
	for _, module := range []string{"", "live", "drivers"} {
		r.write(t, filepath.Join(r.action, module, "go.mod"), "module m\n")
	}
	// go env GOVERSION, or go build -o FILE PACKAGE, whose program says where it was built.
	r.write(t, filepath.Join(r.bin, "go"), `#!/bin/bash
[ "$1" = env ] && { echo "${FAKE_GO:-go1.26.1}"; exit; }
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\necho built %s\n' "$(basename "$PWD") $3" >"$2"
chmod +x "$2"
`)
	if err := os.MkdirAll(r.temp, 0o777); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r actionRunner) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// run makes one step of .ci/program and returns what it prints, its exit code and its outputs.
func (r actionRunner) run(t *testing.T, step string, variables ...string) (log string, code int, outputs map[string]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "output")
	cmd := exec.Command(filepath.Join(r.action, ".ci", "program"), step)
	cmd.Env = append([]string{"PATH=" + r.bin + ":/usr/bin:/bin", "RUNNER_TEMP=" + r.temp, "GITHUB_OUTPUT=" + file,
		"BLOODHOUND_RELEASES=file://" + r.releases}, variables...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	outputs = map[string]string{}
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		outputs[name] = value
	}
	return string(out), cmd.ProcessState.ExitCode(), outputs
}

// ownPrograms are those of the action.
var ownPrograms = []string{"bloodhound", "bloodhound-drivers", "bloodhound-live"}

// builtIn has what newActionRunner's go says of each program: the folder of its module and its package.
var builtIn = map[string]string{"bloodhound": "action ./cmd/bloodhound", "bloodhound-drivers": "drivers ./cmd/bloodhound-drivers",
	"bloodhound-live": "live ./cmd/bloodhound-live"}

// release makes a release whose programs print a text and their names. digest replaces the one of the archive in the list, if it is not empty.
func (r actionRunner) release(t *testing.T, tag, text, digest string) {
	t.Helper()
	name := "bloodhound-" + tag + "-linux-" + runtime.GOARCH
	archive := filepath.Join(r.releases, tag, name+".tar.gz")
	r.write(t, archive, "")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, file := range append([]string{"README.md"}, ownPrograms...) {
		program := "#!/bin/sh\necho " + text + " " + file + "\n"
		w.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o755, Size: int64(len(program))})
		w.Write([]byte(program))
	}
	if err := errors.Join(w.Close(), z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	if digest == "" {
		digest = hex.EncodeToString(sum[:])
	}
	r.write(t, filepath.Join(r.releases, tag, "SHA256SUMS"), fmt.Sprintf("%064d  another.tar.gz\n%s  %s\n", 0, digest, filepath.Base(archive)))
}

// The programs come from the release, whose digest is checked, or are built; the second time they come from the cache.
func TestActionProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("releases for the action are for Linux")
	}
	wrong := strings.Repeat("ab", 32)
	for _, c := range []struct {
		name, ref, digest string
		code              int
		says, prints      string // prints identifies the program
	}{
		{"release", "v1.2.3", "", 0, "release v1.2.3: bloodhound-v1.2.3-linux-" + runtime.GOARCH + ".tar.gz has the digest ", "released"},
		{"another digest", "v1.2.3", wrong, 2, "and not " + wrong + " as SHA256SUMS says; it is not used", ""},
		{"no such release", "v9.9.9", "", 0, "::notice::the release v9.9.9 cannot be had for this machine; the action is built from its source", "built"},
		{"branch", "main", "", 0, "built from the source of the action", "built"},
		{"commit", "0123456789abcdef0123456789abcdef01234567", "", 0, "built from the source of the action", "built"},
		{"no ref", "", "", 0, "built from the source of the action", "built"},
		{"hostile tag", "v1.2.3/../../x", "", 0, "built from the source of the action", "built"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newActionRunner(t)
			r.release(t, "v1.2.3", "released", c.digest)
			log, code, outputs := r.run(t, "get", "ACTION_REF="+c.ref)
			if code != c.code || !strings.Contains(log, c.says) {
				t.Fatalf("exit code %d, no %q in\n%s", code, c.says, log)
			}
			program := filepath.Join(r.temp, "bloodhound-program", "bloodhound")
			if c.code != 0 {
				if _, err := os.Stat(program); err == nil {
					t.Error("a program with another digest is there")
				}
				return
			}
			if outputs["program"] != program {
				t.Errorf("the program is %s", outputs["program"])
			}
			prints := map[string]string{}
			entries, _ := os.ReadDir(filepath.Dir(program))
			for _, e := range entries {
				out, err := exec.Command(filepath.Join(filepath.Dir(program), e.Name())).Output()
				if err != nil {
					t.Error(err)
				}
				prints[e.Name()] = strings.TrimSpace(string(out))
			}
			want := map[string]string{}
			for _, name := range ownPrograms {
				if want[name] = c.prints + " " + name; c.prints == "built" {
					want[name] = c.prints + " " + builtIn[name]
				}
			}
			if !maps.Equal(prints, want) {
				t.Errorf("the cache would have %q, not %q", prints, want)
			}
			// With the cache there is no need of Go, of curl and of the network.
			r.write(t, filepath.Join(r.bin, "go"), "#!/bin/sh\necho go is called; exit 1\n")
			r.write(t, filepath.Join(r.bin, "curl"), "#!/bin/sh\necho curl is called; exit 1\n")
			log, code, again := r.run(t, "get", "ACTION_REF="+c.ref)
			if code != 0 || log != "from the cache\n"+want["bloodhound"]+"\n" || again["program"] != program {
				t.Errorf("the second time: exit code %d\n%s", code, log)
			}
		})
	}
	// What the cache has of a program that does not run is replaced.
	r := newActionRunner(t)
	r.write(t, filepath.Join(r.temp, "bloodhound-program", "bloodhound"), "#!/bin/sh\nexit 1\n")
	if log, code, _ := r.run(t, "get"); code != 0 || !strings.Contains(log, "built from the source") {
		t.Errorf("a broken program: exit code %d\n%s", code, log)
	}
	// So is a cache that lacks one of the programs.
	if err := os.Remove(filepath.Join(r.temp, "bloodhound-program", "bloodhound-drivers")); err != nil {
		t.Fatal(err)
	}
	if log, code, _ := r.run(t, "get"); code != 0 || !strings.Contains(log, "built from the source") {
		t.Errorf("a missing program: exit code %d\n%s", code, log)
	}
	r.release(t, "v1.2.4", "released", "")
	r.write(t, filepath.Join(r.releases, "v1.2.4", "SHA256SUMS"), "\n")
	os.RemoveAll(filepath.Join(r.temp, "bloodhound-program"))
	if log, code, _ := r.run(t, "get", "ACTION_REF=v1.2.4"); code != 2 || !strings.Contains(log, "SHA256SUMS has no digest of bloodhound-v1.2.4-") {
		t.Errorf("no digest: exit code %d\n%s", code, log)
	}
}

// The key of the cache changes with the source, and not with what runs write.
func TestActionKey(t *testing.T) {
	r := newActionRunner(t)
	key := func() string {
		t.Helper()
		log, code, outputs := r.run(t, "find")
		if code != 0 || !strings.HasPrefix(outputs["key"], "bloodhound-program-Linux-") || outputs["folder"] != filepath.Join(r.temp, "bloodhound-program") {
			t.Fatalf("exit code %d, %q\n%s", code, outputs, log)
		}
		return outputs["key"]
	}
	first := key()
	r.write(t, filepath.Join(r.action, ".bloodhound", "last.txt"), "x")
	r.write(t, filepath.Join(r.action, "bloodhound-report", "log.txt"), "x")
	r.write(t, filepath.Join(r.action, ".git", "HEAD"), "x")
	if again := key(); again != first {
		t.Errorf("the key of one source is %s and %s", first, again)
	}
	r.write(t, filepath.Join(r.action, "cmd", "main.go"), "package main\n")
	if key() == first {
		t.Error("a new file leaves the key")
	}
	for version, want := range map[string]string{"go1.26.1": "present", "go1.21.0": "present", "go1.20.14": "missing", "devel": "missing"} {
		if _, _, outputs := r.run(t, "find", "FAKE_GO="+version); outputs["go"] != want {
			t.Errorf("%s is %s", version, outputs["go"])
		}
	}
}
