//go:build linux && amd64

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Moments at which a campaign or one of its workers is killed.
const (
	testKills = 4
	soakKills = 400
)

// A world with files and processes, which lets workers take snapshots along their runs.
const killedWorld = `
simulation: {max_time: 5s}
nodes:
  n1: {command: sh server.sh}
  n2: {command: sh server.sh}
workload: {driver: command, command: "sleep 1"}
faults:
  rules:
    - {kind: partition, rate: 0.01, duration_ms: [20, 100]}
`

// A campaign or a worker that is killed at any moment leaves no process, mount or file behind, whatever snapshots it holds. What is killed may
// leave a folder for scratch files, which the next campaign removes. A campaign whose worker is killed goes on.
func TestKilledWithSnapshots(t *testing.T) {
	server{name: "killed"}.require(t)
	// What is killed leaves its children to this process, which sees them so.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	dir, temporary := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"bloodhound.yaml": killedWorld,
		"server.sh": "i=0\nwhile true; do i=$((i+1)); echo $i >/tmp/$((i%10)); sleep 0.1 & wait; done\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mounts := func() string {
		b, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := mounts()
	kills := testKills
	if soak {
		kills = soakKills
	}
	held := 0                                                    // campaigns that were killed when a worker had a snapshot
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) // when processes are scheduled is chance in any case
	for i := range kills {
		strategy := []string{"random", "dfs"}[i/2%2]
		c := exec.Command(bloodhound, "explore", dir, "--seeds", "1000000", "--workers", "2", "--keep-going", "--no-shrink", "--strategy", strategy)
		c.Env = append(os.Environ(), "TMPDIR="+temporary)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var notes bytes.Buffer
		c.Stderr = &notes
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		awaitSnapshots := func() {
			for !holdsSnapshots(c.Process.Pid) && time.Since(start) < time.Minute {
				time.Sleep(10 * time.Millisecond) // nothing reports a snapshot
			}
		}
		if i%4 != 0 {
			awaitSnapshots()
		}
		time.Sleep(time.Duration(r.Int64N(int64(time.Second)))) // the moment is chance
		if i%4 != 0 {
			awaitSnapshots() // those of before may be gone
		}
		after := time.Since(start)
		if holdsSnapshots(c.Process.Pid) {
			held++
		}
		what := fmt.Sprintf("the campaign (%s), killed after %v", strategy, after)
		if workers := childrenOf(c.Process.Pid); i%2 == 1 && len(workers) > 0 {
			worker := workers[r.IntN(len(workers))]
			what = fmt.Sprintf("the campaign (%s), whose worker was killed after %v,", strategy, after)
			unix.Kill(worker, unix.SIGKILL)
			time.Sleep(time.Second) // for runs after the death, at any moment of which the campaign may be interrupted
			c.Process.Signal(os.Interrupt)
			c.Wait()
			if code := c.ProcessState.ExitCode(); code < 0 || code == 3 {
				t.Errorf("%s ends with exit code %d: %s", what, code, notes.Bytes())
			}
		} else {
			c.Process.Kill()
			c.Wait()
		}
		if left := reapAll(); len(left) > 0 {
			t.Fatalf("%s has left %q", what, left)
		}
		if after := mounts(); after != before {
			t.Fatalf("%s has left mounts:\n%s\nand before:\n%s", what, after, before)
		}
		if left, _ := os.ReadDir(temporary); len(left) > 0 {
			t.Fatalf("%s has left %v in the folder for temporary files", what, left)
		}
	}
	if held < kills/2 {
		t.Errorf("only %d of %d were killed when there were snapshots", held, kills)
	}
	next := exec.Command(bloodhound, "explore", dir, "--seeds", "1")
	if out, err := next.CombinedOutput(); next.ProcessState.ExitCode() == 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".bloodhound/scratch/*")); len(left) > 0 {
		t.Errorf("scratch files are left: %q", left)
	}
}

// holdsSnapshots reports whether a worker of a campaign has more processes than a world has: the servers with a child each, a client, a prober.
func holdsSnapshots(campaign int) bool {
	return slices.ContainsFunc(childrenOf(campaign), func(worker int) bool { return len(childrenOf(worker)) > 8 })
}

// childrenOf lists the children of a process.
func childrenOf(pid int) (list []int) {
	for _, thread := range threads(pid) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread))
		for _, word := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// reapAll waits until this process has no children, and lists those that do not end.
func reapAll() (left []string) {
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) { // some end a moment later
		for {
			if pid, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil); pid <= 0 {
				if err == unix.ECHILD {
					return nil
				}
				break
			}
		}
	}
	for _, child := range childrenOf(os.Getpid()) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		left = append(left, fmt.Sprintf("%d %s", child, bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
	}
	return left
}
