package examples

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// explore runs `bloodhound live test` in a folder.
func exploreHandler(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(bloodhoundLive(t), append([]string{"live", "test"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HANDLER_TIME=10m")
	out, _ := cmd.CombinedOutput() // a finding is an exit code
	return string(out)
}

// The commands of examples/handlers/README.md find the seeded bugs.
func TestHandlersDNS(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("instruments packages of the standard library: make soak")
	}
	t.Parallel()
	if out := exploreHandler(t, "handlers/dns", "--run", "TestAnswer"); !strings.Contains(out, "index out of range") {
		t.Errorf("%s", out)
	}
}

func TestHandlersRaft(t *testing.T) {
	if testing.Short() {
		t.Skip("a module of its own: cd examples/handlers/raft && go test .")
	}
	t.Parallel()
	const dir = "handlers/raft"
	seeded := t.TempDir()
	needs.Module(t, dir, []string{"vet", "./..."}, []string{"test", "./..."}, []string{"run", "./seed", seeded})
	if t.Failed() {
		return
	}
	instrument := []string{"--run", "TestStep", "--instrument", "./...", "--instrument", "go.etcd.io/raft/v3/..."}
	right := exploreHandler(t, dir, instrument...)
	if !strings.Contains(right, "no condition was left to negate") || !strings.Contains(right, "--- PASS: TestStep") {
		t.Errorf("etcd's Raft as it is:\n%s", right)
	}
	wrong := exploreHandler(t, seeded, instrument...)
	if !strings.Contains(wrong, "no condition was left to negate") || !strings.Contains(wrong, "live: commits only what the leader confirmed: type=0x3") {
		t.Errorf("with the bug:\n%s", wrong)
	}
}
