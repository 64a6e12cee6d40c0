package lean

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the command line sets up and drivers do not is what drivers do not even import.
func TestDriversAreLean(t *testing.T) {
	source, err := os.ReadFile("lean.go")
	if err != nil {
		t.Fatal(err)
	}
	var packages []string
	for _, m := range regexp.MustCompile(`//go:linkname \w+ (\S+)\.\.inittask`).FindAllStringSubmatch(string(source), -1) {
		packages = append(packages, m[1])
	}
	imported, err := exec.Command("go", "list", "-deps", "../workload").Output()
	if err != nil || len(packages) == 0 {
		t.Fatal(err, packages)
	}
	for _, p := range strings.Fields(string(imported)) {
		if slices.Contains(packages, p) {
			t.Errorf("drivers import %s", p)
		}
	}
	program := filepath.Join(t.TempDir(), "bloodhound")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/bloodhound").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for argument, want := range map[string]bool{"driver": false, "help": true} {
		c := exec.Command(program, argument, "nothing")
		c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, _ := c.CombinedOutput()
		if !strings.Contains(string(out), "init net/http @") {
			t.Fatalf("%s: no trace of what is set up:\n%s", argument, out)
		}
		for _, p := range packages {
			if got := strings.Contains(string(out), "init "+p+" @"); got != want {
				t.Errorf("%s sets up %s: %t", argument, p, got)
			}
		}
	}
}
