package examples

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// server is the module from which the etcd of etcd-agreement is built.
const server = "etcd-agreement/server"

// obtain skips the test where etcd's modules can be had neither from the module cache nor from a proxy.
func obtain(t *testing.T, modfile, release string) {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-modfile="+modfile, ".")
	list.Dir = server
	out, err := list.CombinedOutput()
	if err == nil {
		return
	}
	module := "go.etcd.io/etcd/server/v3@" + release
	if text, err := exec.Command("go", "mod", "download", module).CombinedOutput(); err != nil {
		needs.Missing(t, module, "no module proxy gives it:", string(bytes.TrimSpace(text)))
	}
	t.Fatalf("%s/%s cannot be built: %v\n%s", server, modfile, err, out)
}

// TestEtcdAgreement finds the transaction that etcd 3.5.12 does not apply on all nodes, makes its run again and again, and
// shows that nothing is found in the release that has the repair, nor believed of checks and drivers that are broken.
func TestEtcdAgreement(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	t.Parallel()
	soak := os.Getenv("BLOODHOUND_SOAK") != ""
	obtain(t, "go.mod", "v3.5.12")
	program := bloodhound(t)

	replays := 3
	if soak {
		replays = 20
	}
	for _, path := range []string{"etcd-agreement", "etcd-agreement/builtin.yaml"} {
		t.Run(path, func(t *testing.T) {
			if path == "etcd-agreement/builtin.yaml" && !soak {
				t.Skip("finds the same by the built-in driver: runs with BLOODHOUND_SOAK=1")
			}
			out, code := call(t, program, "explore", path, "--json", "--seeds", "50", "--no-shrink")
			var found struct {
				Campaign struct {
					Runs     int
					Failures []struct{ ID, Signature, Headline string }
				}
			}
			if err := json.Unmarshal(out, &found); err != nil || code != violated || len(found.Campaign.Failures) != 1 {
				t.Fatalf("exit code %d, %v\n%s", code, err, out)
			}
			failure := found.Campaign.Failures[0]
			t.Logf("found after %d runs", found.Campaign.Runs)
			if failure.Signature != "replicas agree: probe/failed (differ)" || !strings.HasPrefix(failure.Headline, "the check failed: the nodes differ") {
				t.Errorf("found %q, %q\n%s", failure.Signature, failure.Headline, out)
			}
			out, code = call(t, program, "replay", failure.ID, path, "--runs", strconv.Itoa(replays))
			if code != violated || !strings.Contains(string(out), "the same trace hash and the same violation") {
				t.Errorf("%d replays ended with exit code %d, want %d\n%s", replays, code, violated, out)
			}
		})
	}

	for _, c := range []struct {
		path  string
		seeds int
		want  int
	}{
		{"etcd-agreement/fixed.yaml", 50, holds},
		{"etcd-agreement/mutants/check-asks-nobody.yaml", 2, unknown},
		{"etcd-agreement/mutants/check-compares-ids.yaml", 2, violated},
		{"etcd-agreement/mutants/driver-never-late.yaml", 5, unknown},
	} {
		t.Run(c.path, func(t *testing.T) {
			if !soak {
				t.Skip("runs with BLOODHOUND_SOAK=1")
			}
			obtain(t, "fixed.mod", "v3.7.0")
			if out, got := call(t, program, "test", c.path, "--seeds", strconv.Itoa(c.seeds), "--no-shrink"); got != c.want {
				t.Errorf("exit code %d, want %d\n%s", got, c.want, out)
			}
		})
	}
}
