package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/bloodhound-dst/bloodhound/examples/bank"
	"github.com/bloodhound-dst/bloodhound/examples/caspaxos"
	"github.com/bloodhound-dst/bloodhound/examples/checkout"
	"github.com/bloodhound-dst/bloodhound/examples/livelock"
	"github.com/bloodhound-dst/bloodhound/examples/membership"
	commit "github.com/bloodhound-dst/bloodhound/examples/two-phase-commit"
	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/fake"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// inProcess are the worlds inside one process that need no specification.
var inProcess = map[string]func(*inproc.World){
	"bank": bank.World(true),
	"branches": bank.Branches(bank.Options{Named: true, Failures: fake.Failures{Before: 0.05, After: 0.05},
		Faults: []string{"crash on db rate 1% for 50ms..500ms", "power_loss on db at fsync rate 1% for 50ms..500ms", "drop rate 1%", "delay rate 1%"}}),
	"caspaxos":         caspaxos.World(false, nil),
	"checkout":         checkout.World(checkout.Options{Keys: true, Before: 0.05, After: 0.05, Faults: []string{"crash on shop rate 1% for 50ms..500ms", "drop rate 1%"}}),
	"livelock":         livelock.World(livelock.None, nil),
	"membership":       membership.World(false, nil),
	"two-phase-commit": commit.World(commit.None, nil),
}

// Equal seeds give equal trace hashes in separate processes.
func TestProcessesAgree(t *testing.T) {
	const inner = "BLOODHOUND_TEST_INNER"
	if os.Getenv(inner) != "" {
		for name, world := range inProcess {
			t.Run(name, func(t *testing.T) { sim.Test(t, world) })
		}
		return
	}
	hash := regexp.MustCompile(`trace hash [0-9a-f]{32}, [0-9]{2,} events`)
	for name := range inProcess {
		for _, seed := range []string{"1", "2", "3"} {
			var hashes [2]string
			for i, processors := range []string{"1", "2"} {
				c := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestProcessesAgree$/^"+name+"$")
				c.Dir = t.TempDir()
				c.Env = append(os.Environ(), inner+"=1", "BLOODHOUND_SEED="+seed, "BLOODHOUND_STATE="+filepath.Join(c.Dir, "state"),
					"GOMAXPROCS="+processors, "TZ="+[]string{"UTC", "Asia/Tokyo"}[i])
				out, err := c.CombinedOutput()
				if hashes[i] = hash.FindString(string(out)); err != nil || hashes[i] == "" {
					t.Fatalf("%s, seed %s: %v\n%s", name, seed, err, out)
				}
			}
			if hashes[0] != hashes[1] {
				t.Errorf("%s, seed %s: one process: %s; the other one: %s", name, seed, hashes[0], hashes[1])
			}
		}
	}
}
