package examples

import (
	"os/exec"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

// examples/raft is a module of its own, so that the product does not depend on the library that it runs.
func TestRaftInAWorld(t *testing.T) {
	if testing.Short() {
		t.Skip("a module of its own: cd examples/raft && go test ./...")
	}
	download := exec.Command("go", "mod", "download")
	download.Dir = "raft"
	if out, err := download.CombinedOutput(); err != nil {
		needs.Missing(t, "the modules of examples/raft", string(out))
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "-short", "./..."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = "raft"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}
