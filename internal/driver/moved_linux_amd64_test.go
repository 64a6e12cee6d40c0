package driver_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
)

const root = "../.."

// bloodhound is one installation of the program: where it lies decides which driver it uses.
type bloodhound struct {
	t    *testing.T
	path string
	home string // has the cache folder
}

// run executes a command in a copy of the quickstart, whose state lies in a folder of its own, and returns the output and the exit code.
func (b bloodhound) run(project string, env []string, args ...string) (string, int) {
	b.t.Helper()
	cmd := exec.Command(b.path, args...)
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "HOME="+b.home, "XDG_CACHE_HOME="+filepath.Join(b.home, "cache"), "CGO_ENABLED=0", "BLOODHOUND_AS_ROOT=1")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// explore searches for the first failure of the project and returns the path of its file.
func (b bloodhound) explore(project string) string {
	b.t.Helper()
	os.RemoveAll(filepath.Join(project, ".bloodhound", "failures"))
	if out, code := b.run(project, nil, "explore", "--no-shrink"); code != 1 {
		b.t.Fatalf("explore ended with %d:\n%s", code, out)
	}
	files, err := filepath.Glob(filepath.Join(project, ".bloodhound", "failures", "*.json"))
	if err != nil || len(files) == 0 {
		b.t.Fatalf("no failure was stored: %v", err)
	}
	return files[0]
}

func goBuild(t *testing.T, args ...string) {
	t.Helper()
	goBuildIn(t, root, args...)
}

func goBuildIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-buildvcs=false", "-ldflags=-w"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %q: %v\n%s", args, err, out)
	}
}

// installations builds the program as a release, as `go install` of both commands, and as `go install` of bloodhound alone.
func installations(t *testing.T) (release, both, alone bloodhound) {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	place := func(name string) bloodhound {
		return bloodhound{t: t, path: filepath.Join(dir, name, "bloodhound"), home: home}
	}
	release, both, alone = place("release"), place("both"), place("alone")
	driver := filepath.Join(dir, "driver")
	goBuild(t, "-trimpath", "-ldflags", "-s -w", "-o", driver, "./cmd/bloodhound-driver")
	content, err := os.ReadFile(driver)
	if err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	embed, err := driverfile.Overlay(abs, dir, content)
	if err != nil {
		t.Fatal(err)
	}
	goBuild(t, append(embed, "-o", release.path, "./cmd/bloodhound")...)
	goBuild(t, "-o", alone.path, "./cmd/bloodhound")
	goBuild(t, "-o", filepath.Dir(both.path)+"/", "./cmd/bloodhound-driver")
	if err := os.Link(alone.path, both.path); err != nil { // the same program in another place
		t.Fatal(err)
	}
	return release, both, alone
}

// A failure moves from a release to programs of `go install` and back. With a driver of the same source, whatever its bytes, its run is
// the same; with another driver it is refused, or the current run is judged, and the remedy is said; the remedy works.
func TestFailureMovesBetweenInstallations(t *testing.T) {
	release, both, alone := installations(t)
	project := filepath.Join(t.TempDir(), "quickstart")
	if out, err := exec.Command("cp", "-r", filepath.Join(root, "examples/quickstart"), project).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	os.RemoveAll(filepath.Join(project, ".bloodhound"))
	goBuildIn(t, project, "-o", filepath.Join(project, "bin", "kv"), "./kv")
	config := filepath.Join(project, "bloodhound.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`(?m)^ *build:.*\n`).ReplaceAll(text, nil) // it is built already, and the copy is no module
	text = bytes.ReplaceAll(text, []byte(".bloodhound/bin/kv"), []byte("bin/kv"))
	if err := os.WriteFile(config, text, 0o666); err != nil {
		t.Fatal(err)
	}
	const same, another = "the same trace hash and the same violation", "driver program"
	replay := func(b bloodhound, file, want string, env ...string) {
		t.Helper()
		out, code := b.run(project, env, "replay", "-v", file)
		last := slices.Collect(strings.Lines(out))
		if !strings.Contains(last[len(last)-1], want) || code != 1 && code != 5 || want == same && code != 1 {
			t.Errorf("replay by %s ended with %d and not with %q:\n%s", filepath.Dir(b.path), code, want, out)
		}
	}
	found := release.explore(project)
	replay(release, found, same)
	replay(both, found, same)
	replay(alone, found, same) // the driver of the release lies in the cache
	cold := alone
	cold.home = t.TempDir()
	replay(cold, found, another)
	replay(cold, found, same, driverfile.Variable+"="+filepath.Join(filepath.Dir(both.path), driverfile.FileName))

	found = alone.explore(project)
	replay(alone, found, same)
	replay(release, found, another)
	replay(release, found, same, driverfile.Variable+"="+alone.path)
}
