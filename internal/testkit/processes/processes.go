// Package processes compares runs of one tape in separate processes.
package processes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// inner is set in the processes that make the runs.
const inner = "BLOODHOUND_TEST_INNER"

var traceHash = regexp.MustCompile(`trace hash [0-9a-f]{32}, [0-9]{2,} events`)

// Agree tests that runs of worlds inside one process, which need no specification, have equal trace hashes in two processes. These are the test program again.
func Agree(t *testing.T, worlds map[string]func(*inproc.World)) {
	t.Helper()
	if os.Getenv(inner) != "" {
		for name, world := range worlds {
			t.Run(name, func(t *testing.T) { sim.Test(t, world) })
		}
		return
	}
	for name := range worlds {
		for _, seed := range []string{"1", "2", "3"} {
			one, other := hashOf(t, name, seed, "1", "UTC"), hashOf(t, name, seed, "2", "Asia/Tokyo")
			if one != other {
				t.Errorf("%s, seed %s: one process: %s; the other one: %s", name, seed, one, other)
			}
		}
	}
}

// hashOf makes a run in a process and returns its trace hash.
func hashOf(t *testing.T, name, seed, processors, zone string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$/^"+name+"$")
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), inner+"=1", "BLOODHOUND_SEED="+seed, "BLOODHOUND_STATE="+filepath.Join(c.Dir, "state"),
		"GOMAXPROCS="+processors, "TZ="+zone)
	out, err := c.CombinedOutput()
	hash := traceHash.FindString(string(out))
	if err != nil || hash == "" {
		t.Fatalf("%s, seed %s: %v\n%s", name, seed, err, out)
	}
	return hash
}
