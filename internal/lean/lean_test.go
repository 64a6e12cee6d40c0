package lean

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the command line sets up and drivers do not.
func TestDriversAreLean(t *testing.T) {
	program := filepath.Join(t.TempDir(), "bloodhound")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/bloodhound").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	packages := []string{"santhosh-tekuri/jsonschema/v6", "distribution/reference", "opencontainers/go-digest", "compose-spec/compose-go/v2/template"}
	for argument, want := range map[string]bool{"driver": false, "--version": true} {
		c := exec.Command(program, argument)
		c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		out, _ := c.CombinedOutput() // drivers refuse to run without a kind
		if !strings.Contains(string(out), "init net/http @") {
			t.Fatalf("%s: no trace of what is set up:\n%s", argument, out)
		}
		for _, p := range packages {
			if got := strings.Contains(string(out), "init github.com/"+p+" @"); got != want {
				t.Errorf("%s sets up %s: %t", argument, p, got)
			}
		}
	}
}
