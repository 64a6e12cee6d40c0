//go:build linux && amd64

package native_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Where this machine cannot open the files that a world needs, the world ends with the remedy: its programs do not see it.
func TestTooFewOpenFiles(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	spec := aloneSpec("/bin/sh", "-c", "for i in $(seq 300); do echo $i >file-$i || exit 1; done; echo done")
	spec.Dir = t.TempDir()
	spec.Nodes[0].Volumes = []world.Volume{{Kind: world.Named, Source: "work", Target: "/work"}}
	spec.Nodes[0].Env = []string{"PATH=/usr/bin:/bin"}
	for _, c := range []struct {
		more uint64
		want string
	}{{2, "ulimit -n"}, {60, "ulimit -n"}, {1000, ""}} {
		limit := unix.Rlimit{Cur: uint64(len(open)) + c.more, Max: before.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{})
		switch {
		case c.want == "" && (err != nil || out.Reason != record.Finished):
			t.Errorf("%d more files: %v, %v", c.more, out, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%d more files: %v, want %q", c.more, err, c.want)
		}
	}
	if _, err := os.Open("/dev/null"); err != nil {
		t.Error(err)
	}
}

// A hard limit of the user's that programs would meet ends a world with the remedy, and a soft one has no effect.
func TestLimitsOfTheUser(t *testing.T) {
	const python = "/usr/bin/python3"
	needs.Program(t, python)
	if os.Getenv("LIMITED") != "" {
		spec := aloneSpec(python, "-c", "import mmap; print(len(mmap.mmap(-1, 7 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)))")
		_, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Log: func(l record.LogLine) { fmt.Println(l.Text) }})
		fmt.Println(err)
		return
	}
	for limits, want := range map[string]string{
		"ulimit -d 1000000":                        "`ulimit -Hd` is 8388608",
		"ulimit -v 6000000":                        "`ulimit -Hv` is unlimited",
		"ulimit -t 100":                            "`ulimit -Ht` is 600",
		"ulimit -Sd 1000000 && ulimit -Sv 6000000": "7516192768",
	} {
		c := exec.Command("/bin/sh", "-c", limits+` && exec "$0" -test.run '^TestLimitsOfTheUser$'`, os.Args[0])
		c.Env = append(os.Environ(), "LIMITED=1")
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want %s in %s", limits, err, want, out)
		}
	}
}
