package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// Exit codes of bloodhound (docs/reference/cli.md).
const (
	holds    = 0
	violated = 1
	unknown  = 5

	notReproducible = 4
)

// maxCampaign bounds the real time of one campaign, maxSoak that of one in a soak; a campaign that hangs fails its test.
const (
	maxCampaign = 10 * time.Minute
	maxSoak     = 2 * time.Hour
)

// bloodhound builds the program once, and returns its path. It lies beside the examples and not in the system's temporary folder,
// which is empty in a world.
func bloodhound(t *testing.T) string { return builtOnce(t, buildBloodhound) }

// bloodhoundLive is bloodhound with bloodhound-live beside it.
func bloodhoundLive(t *testing.T) string {
	program := bloodhound(t)
	builtOnce(t, buildBloodhoundLive)
	return program
}

var (
	buildBloodhound     = sync.OnceValues(func() (string, error) { return build("bloodhound", "..") })
	buildBloodhoundLive = sync.OnceValues(func() (string, error) { return build("bloodhound-live", "../live") })
)

func builtOnce(t *testing.T, build func() (string, error)) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// build builds a command of the module in a folder.
func build(command, module string) (program string, err error) {
	if program, err = filepath.Abs(filepath.Join(".bloodhound/bin", command)); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "-C", module, "build", "-ldflags=-w", "-o", program, "./cmd/"+command)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
}

// TestVerdicts runs a campaign of each example and of each mutant. Seeds are how many tapes may be needed: those that
// must find something stop at the first failure.
func TestVerdicts(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	soak := os.Getenv("BLOODHOUND_SOAK") != ""
	program := bloodhound(t)
	for _, c := range []struct {
		path  string
		seeds int
		soak  bool // too long for every commit
		want  int
		needs string // a program of the machine, and its Debian package
	}{
		{"quickstart", 200, false, violated, ""},
		{"quickstart/fixed.yaml", 8, false, holds, ""},
		{"quickstart/fixed.yaml", 1000, true, holds, ""},
		{"quickstart/mutants/check-always-fails.yaml", 5, false, violated, ""},
		{"quickstart/mutants/check-always-holds.yaml", 200, false, violated, ""},
		{"quickstart/mutants/check-cannot-run.yaml", 10, false, unknown, ""},
		{"quickstart/mutants/driver-claims-fail.yaml", 100, true, violated, ""},
		{"quickstart/mutants/driver-claims-ok.yaml", 100, false, violated, ""},
		{"quickstart/mutants/driver-idle.yaml", 3, true, unknown, ""},
		{"quickstart/mutants/driver-retries.yaml", 100, true, violated, ""},
		{"quickstart/mutants/driver-same-client.yaml", 10, true, unknown, ""},
		{"quickstart/mutants/fault-unobserved.yaml", 5, false, unknown, ""},
		{"quickstart/mutants/only-reads.yaml", 5, false, unknown, ""},
		{"checks/recovery.yaml", 3, false, holds, "python3"},
		{"checks/deaf.yaml", 20, false, violated, "python3"},
		{"checks/lazy.yaml", 20, false, violated, "python3"},
		{"checks/stuck.yaml", 20, false, violated, "python3"},
		{"checks/leader.yaml", 1, false, holds, "python3"},
		{"checks/leaderless.yaml", 6, false, violated, "python3"},
		{"conformance", 6, false, holds, "python3"},
		{"conformance/majority.yaml", 6, false, violated, "python3"},
		{"checks/agreement.yaml", 3, false, holds, "redis-server"},
		{"checks/apart.yaml", 6, false, violated, "redis-server"},
		{"servers/dedup-backup/fixed.yaml", 4, false, holds, "pg_ctlcluster"},
		{"servers/dedup-backup/fixed.yaml", 1000, true, holds, "pg_ctlcluster"},
		{"etcd-alerts", 3, false, violated, "etcd"},
		{"etcd-alerts/fixed.yaml", 1, true, holds, "etcd"},
		{"etcd-alerts/mutants/wrong-port.yaml", 1, true, unknown, "etcd"},
		{"etcd-alerts/mutants/other-job.yaml", 1, true, unknown, "etcd"},
		{"etcd-alerts/mutants/no-time.yaml", 1, true, unknown, "etcd"},
		{"servers/dedup-backup/mutants/keep-one.yaml", 2, false, violated, "pg_ctlcluster"},
		{"servers/dedup-backup/mutants/unfenced.yaml", 40, true, violated, "pg_ctlcluster"},
		{"servers/dedup-backup/mutants/no-look.yaml", 1, true, unknown, "pg_ctlcluster"},
		{"servers/dedup-backup/mutants/driver-idle.yaml", 2, true, unknown, "pg_ctlcluster"},
		{"servers/dedup-backup/mutants/no-backups.yaml", 2, true, unknown, "pg_ctlcluster"},
		{"servers/dedup-backup/mutants/no-restores.yaml", 2, true, unknown, "pg_ctlcluster"},
		{"servers/dedup-backup/mutants/wrong-digest.yaml", 2, true, violated, "pg_ctlcluster"},
		{"servers/dedup-backup/mutants/lost-source.yaml", 2, true, violated, "pg_ctlcluster"},
		{"servers/dedup-backup/mutants/no-collector.yaml", 2, true, violated, "pg_ctlcluster"},
		{"servers/message-queue", 300, false, violated, ""},
		{"servers/message-queue/fixed.yaml", 8, false, holds, ""},
		{"servers/message-queue/fixed.yaml", 1000, true, holds, ""},
		{"servers/message-queue/mutants/driver-claims-acks.yaml", 100, true, violated, ""},
		{"servers/message-queue/mutants/driver-drops-one.yaml", 2, false, violated, ""},
		{"servers/message-queue/mutants/driver-idle.yaml", 2, true, unknown, ""},
		{"servers/message-queue/mutants/no-sync.yaml", 100, true, violated, ""},
		{"servers/message-queue/mutants/never-empty.yaml", 30, true, unknown, ""},
		{"servers/cache-cluster", 300, false, violated, ""},
		{"servers/cache-cluster/fixed.yaml", 8, false, holds, ""},
		{"servers/cache-cluster/fixed.yaml", 1000, true, holds, ""},
		{"servers/cache-cluster/mutants/claims-fail.yaml", 100, true, violated, ""},
		{"servers/cache-cluster/mutants/only-reads.yaml", 2, true, unknown, ""},
		{"redis", 300, false, violated, "redis-server"},
		{"redis/fixed.yaml", 8, false, holds, "redis-server"},
		{"redis/fixed.yaml", 1000, true, holds, "redis-server"},
		{"redis/mutants/only-reads.yaml", 2, true, unknown, "redis-server"},
		{"redis/mutants/past-the-proxy.yaml", 100, true, violated, "redis-server"},
		{"servers/distributed-kv", 200, false, violated, ""},
		{"servers/distributed-kv/fixed.yaml", 10, false, holds, ""},
		{"servers/distributed-kv/fixed.yaml", 1000, true, holds, ""},
		{"servers/distributed-kv/mutants/unsynced.yaml", 20, false, violated, ""},
		{"servers/distributed-kv/mutants/only-reads.yaml", 2, true, unknown, ""},
		{"servers/distributed-kv/mutants/only-writes.yaml", 2, true, unknown, ""},
		{"servers/crdt", 100, false, violated, ""},
		{"servers/crdt/fixed.yaml", 3, false, holds, ""},
		{"servers/crdt/fixed.yaml", 1000, true, holds, ""},
		{"servers/crdt/mutants/driver-forgets.yaml", 5, false, violated, ""},
		{"servers/crdt/mutants/driver-idle.yaml", 2, true, unknown, ""},
		{"servers/crdt/mutants/no-reads.yaml", 2, true, unknown, ""},
		{"servers/crdt/mutants/no-writes.yaml", 2, true, unknown, ""},
		{"redis-failover", 200, true, violated, "redis-sentinel"},
		{"redis-failover/mutants/no-sentinels.yaml", 2, true, unknown, "redis-sentinel"},
		{"redis-failover/mutants/only-reads.yaml", 2, true, unknown, "redis-sentinel"},
		{"redis-failover/mutants/wrong-master-name.yaml", 2, true, unknown, "redis-sentinel"},
		{"etcd", 20, true, holds, "etcd"},
		{"etcd/mutants/driver-claims-fail.yaml", 50, true, violated, "etcd"},
		{"etcd/mutants/driver-claims-ok.yaml", 50, true, violated, "etcd"},
		{"etcd/mutants/driver-same-client.yaml", 10, true, unknown, "etcd"},
		{"etcd/mutants/only-reads.yaml", 2, true, unknown, "etcd"},
		{"etcd/mutants/serializable-reads.yaml", 50, true, violated, "etcd"},
		{"etcd/mutants/wrong-port.yaml", 2, true, unknown, "etcd"},
	} {
		t.Run(c.path, func(t *testing.T) {
			if c.soak && !soak {
				t.Skip("runs with BLOODHOUND_SOAK=1")
			}
			if c.needs != "" {
				needs.Program(t, c.needs)
			}
			if out, got := call(t, program, "test", c.path, "--no-shrink", "--seeds", strconv.Itoa(c.seeds)); got != c.want {
				t.Errorf("exit code %d, want %d\n%s", got, c.want, out)
			}
		})
	}
}

// call runs a verb of bloodhound to its end and gives what it printed on standard output, and its exit code.
func call(t *testing.T, program string, args ...string) ([]byte, int) {
	t.Helper()
	limit := maxCampaign
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		limit = maxSoak
	}
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "CI=true") // the whole text, and not one screen of it
	// A campaign that is stopped shall tidy up.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out, cmd.ProcessState.ExitCode()
}

// TestReplays finds a failure, and makes its run again and again: the same trace hash and the same verdict each time.
func TestReplays(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	soak := os.Getenv("BLOODHOUND_SOAK") != ""
	program := bloodhound(t)
	for _, c := range []struct {
		path           string
		runs, soakRuns int    // 0: only in a soak
		needs          string // a program of the machine
	}{
		{"quickstart", 10, 100, ""},
		{"servers/message-queue", 0, 20, ""},
		{"servers/cache-cluster", 0, 20, ""},
		{"servers/dedup-backup/step4.yaml", 0, 20, "pg_ctlcluster"},
		{"redis", 0, 20, "redis-server"},
		{"servers/distributed-kv", 0, 20, ""},
		{"servers/crdt", 0, 20, ""},
		{"redis-failover", 0, 20, "redis-sentinel"},
	} {
		t.Run(c.path, func(t *testing.T) {
			runs := c.runs
			if soak {
				runs = c.soakRuns
			}
			if runs == 0 {
				t.Skip("runs with BLOODHOUND_SOAK=1")
			}
			if c.needs != "" {
				needs.Program(t, c.needs)
			}
			var found struct {
				Campaign struct {
					Runs     int
					Failures []struct{ ID string }
				}
			}
			out, code := call(t, program, "explore", c.path, "--json", "--no-shrink", "--seeds", "200")
			if err := json.Unmarshal(out, &found); err != nil || code != violated || len(found.Campaign.Failures) == 0 {
				t.Fatalf("exit code %d, %v\n%s", code, err, out)
			}
			t.Logf("found after %d runs", found.Campaign.Runs)
			out, code = call(t, program, "replay", found.Campaign.Failures[0].ID, c.path, "--runs", strconv.Itoa(runs))
			if code != violated || !bytes.Contains(out, []byte("the same trace hash and the same violation")) {
				t.Errorf("%d replays ended with exit code %d, want %d\n%s", runs, code, violated, out)
			}
		})
	}
}
