package examples

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// systemProperties are the properties that the planted bugs of `init --system` violate, by kind.
var systemProperties = map[string]string{
	"backup": "backup/restores-a-prefix", "cache": "cache/fresh", "key-value": "key-value/linearizable", "lock": "lock/exclusive",
	"log": "log/acked-is-delivered", "membership": "membership/agrees", "object-store": "object-store/list-after-write",
	"pubsub": "pubsub/subscribed-is-delivered", "queue": "queue/acked-is-delivered", "scheduler": "scheduler/acked-is-run",
	"sql": "sql/serializable", "watch": "watch/complete",
}

// Each kind of system that init writes has a bug that a short campaign finds, and no other; without the bug its property holds.
func TestSystems(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	needs.Program(t, "python3")
	program := bloodhound(t)
	page, err := os.ReadFile("../docs/systems.md")
	if err != nil {
		t.Fatal(err)
	}
	soak := os.Getenv("BLOODHOUND_SOAK") != ""
	for kind, property := range systemProperties {
		t.Run(kind, func(t *testing.T) {
			if !soak && kind != "queue" && kind != "watch" && kind != "membership" {
				t.Skip("runs with BLOODHOUND_SOAK=1; bench/SYSTEMS.md has its last result")
			}
			if !strings.Contains(string(page), "`"+property+"`") || !strings.Contains(string(page), "\n## "+kind+"\n") {
				t.Errorf("docs/systems.md does not have %s, %s", kind, property)
			}
			dir := ".bloodhound/systems/" + kind // not in /tmp, which is empty in a world
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if out, code := call(t, program, "init", "--system", kind, dir); code != holds {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			if out, code := call(t, program, "explore", dir, "--seeds", "50", "--no-shrink"); code != violated || !strings.Contains(string(out), "violated: "+property) {
				t.Errorf("exit code %d, want %d\n%s", code, violated, out)
			}
			if !soak {
				return
			}
			fixed := filepath.Join(dir, "fixed.yaml")
			if out, code := call(t, program, "explore", "--config", fixed, "--seeds", "200"); code != holds {
				t.Errorf("without the bug: exit code %d\n%s", code, out)
			}
		})
	}
}
