//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// manyProcesses is a world with so many processes that a copy of it is no small thing. A server crashes in some runs.
const (
	manyProcesses = `
simulation: {max_time: 20s}
nodes:
  n1:
    command: sh server.sh
    healthcheck: {test: [CMD, test, -e, /tmp/up], interval: 100ms}
workload: {driver: command, command: "sleep 1"}
faults: {enabled: false}
`
	manyServer = `
i=0
while [ $i -lt 60 ]; do
	i=$((i+1))
	sleep 100 &
done
touch /tmp/up
sleep 1
if [ $(od -An -N1 -tu1 /dev/urandom) -gt 130 ]; then kill -SEGV $$; fi
sleep 100
`
)

// scarce is a folder with that world, for a user to whom the machine gives less than to others.
type scarce struct {
	dir    string
	user   *syscall.Credential // nil is this one
	within []string            // a command that runs another one elsewhere
}

func newScarce(t *testing.T) *scarce {
	t.Helper()
	server{name: "scarce"}.require(t)
	s := &scarce{dir: t.TempDir()}
	for name, text := range map[string]string{"bloodhound.yaml": manyProcesses, "server.sh": manyServer} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program, err := os.ReadFile(bloodhound)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "bloodhound"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// become makes another user of the one who runs bloodhound, where root tests: limits on processes are none of root's.
func (s *scarce) become(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobodyElse = 54321
	s.user = &syscall.Credential{Uid: nobodyElse, Gid: nobodyElse}
	for dir := s.dir; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(s.dir, nobodyElse, nobodyElse); err != nil {
		t.Fatal(err)
	}
}

// campaign holds the fields of `explore --json` that the tests read, and the campaign's notes.
type campaign struct {
	code     int
	notes    string
	document struct {
		Error    string
		Campaign struct {
			Runs, Violated, Events uint64
			LostRuns               uint64 `json:"lost_runs"`
			Properties             []struct {
				Property                 string
				Holds, Violated, Unknown uint64
			}
			Snapshots struct{ Ready uint64 }
		}
	}
}

// explore runs a campaign behind a line of shell commands that set its limits.
func (s *scarce) explore(t *testing.T, limits string, flags ...string) *campaign {
	t.Helper()
	os.RemoveAll(filepath.Join(s.dir, ".bloodhound"))
	shell := append(slices.Clone(s.within), "/bin/bash")
	c := exec.Command(shell[0], append(shell[1:],
		append([]string{"-c", limits + "\n" + `exec ./bloodhound explore --seeds 6 --workers 1 --keep-going --no-shrink --json "$@"`, "sh"}, flags...)...)...)
	c.Dir = s.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "BLOODHOUND_AS_ROOT=1"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.user}
	var out, notes bytes.Buffer
	c.Stdout, c.Stderr = &out, &notes
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := &campaign{code: c.ProcessState.ExitCode(), notes: notes.String()}
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r.document); err != nil {
			t.Fatalf("%v\n%s%s", err, out.Bytes(), r.notes)
		}
	}
	return r
}

// judgement describes the findings of a campaign, without the ways in which its runs were made.
func (c *campaign) judgement() string {
	d := &c.document.Campaign
	return fmt.Sprintf("exit code %d, %d runs, %d violated, %d lost, %d events, %+v, %s", c.code, d.Runs, d.Violated, d.LostRuns,
		d.Events, d.Properties, c.document.Error)
}

// Whatever the user's limits on processes and open files are, a campaign finds what it finds from boot. Where they allow runs and no copies,
// there is a note with the remedy.
func TestLimitsOfSnapshots(t *testing.T) {
	s := newScarce(t)
	s.become(t)
	want := s.unlimited(t)
	threads := 0
	if s.user == nil {
		threads = threadsOfUser(t)
	}
	const none, boots, copies = "no run", "runs from boot", "snapshots"
	for _, c := range []struct {
		limit  string
		amount int
		allows string
	}{
		{"ulimit -u", threads + 50, none}, {"ulimit -u", threads + 110, boots}, {"ulimit -u", threads + 400, copies},
		{"ulimit -n", 35, none}, {"ulimit -n", 115, boots}, {"ulimit -n", 300, copies},
	} {
		limit := fmt.Sprint(c.limit, " ", c.amount)
		got := s.explore(t, limit)
		for more := 8; c.allows == boots && got.code == 3 && more <= 24; more += 8 { // Go's runtime has more threads on a busy machine
			limit = fmt.Sprint(c.limit, " ", c.amount+more)
			got = s.explore(t, limit)
		}
		ready := got.document.Campaign.Snapshots.Ready
		switch {
		case c.allows == none:
			if boot := s.explore(t, limit, "--from-boot"); got.code != 3 || boot.code != 3 || !strings.Contains(got.notes, c.limit+" 4096") {
				t.Errorf("%s: %s\n%s\nand from boot: %s\n%s", limit, got.judgement(), got.notes, boot.judgement(), boot.notes)
			}
		case got.judgement() != want.judgement():
			t.Errorf("%s: %s\n%s\nand without: %s", limit, got.judgement(), got.notes, want.judgement())
		case c.allows == copies && ready != 5,
			c.allows == boots && !regexp.MustCompile("snapshots are off, .*: .*"+c.limit+" 4096").MatchString(got.notes):
			t.Errorf("%s, which allows %s: %d runs from snapshots\n%s", limit, c.allows, ready, got.notes)
		}
	}
}

// unlimited runs a campaign without limits: some of its runs crash, with and without snapshots.
func (s *scarce) unlimited(t *testing.T) *campaign {
	t.Helper()
	c, boot := s.explore(t, ""), s.explore(t, "", "--from-boot")
	if d := &c.document.Campaign; c.code != 1 || d.Runs != 6 || d.Violated == 0 || d.Violated == 6 || d.Snapshots.Ready != 5 ||
		boot.judgement() != c.judgement() {
		t.Fatalf("%s\n%s\nand from boot: %s\n%s", c.judgement(), c.notes, boot.judgement(), boot.notes)
	}
	return c
}

// A full /dev/shm is nothing to a campaign, whose files in memory lie in a file system of the kernel's own (memfd_create(2)), and a full folder
// for scratch files is nothing to one whose runs write none. A full state folder is a note with the remedy.
func TestFullFileSystems(t *testing.T) {
	s := newScarce(t)
	want := s.unlimited(t)
	s.within = []string{"unshare", "--mount", "--propagation", "private"}
	if os.Geteuid() != 0 {
		s.within = append(s.within, "--user", "--map-root-user")
	}
	if out, err := exec.Command(s.within[0], append(s.within[1:], "mount", "-t", "tmpfs", "none", "/dev/shm")...).CombinedOutput(); err != nil {
		needs.Missing(t, "namespaces", err, string(out))
	}
	here, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	for dir, note := range map[string]string{
		"/dev/shm":            "",
		".bloodhound/scratch": "",
		".bloodhound":         "could not store the failure: .*no space left on device: .* is full; free some space there and try again",
	} {
		fill := fmt.Sprintf(`[ "$(readlink /proc/self/ns/mnt)" != '%s' ] || exit 99 # what is mounted here must not be seen elsewhere
mkdir -p %[2]s && mount -t tmpfs -o size=64k none %[2]s && ! cat /dev/zero >%[2]s/all 2>/dev/null || exit 98`, here, dir)
		got := s.explore(t, fill)
		if got.judgement() != want.judgement() || got.document.Campaign.Snapshots.Ready != 5 ||
			!regexp.MustCompile(note).MatchString(got.notes) || note == "" && got.notes != "" {
			t.Errorf("%s is full: %s\n%s\nand without: %s\n%s", dir, got.judgement(), got.notes, want.judgement(), want.notes)
		}
	}
}

// threadsOfUser counts those of this user, which a limit on processes counts.
func threadsOfUser(t *testing.T) (n int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if st, err := os.Stat(task); err == nil && int(st.Sys().(*syscall.Stat_t).Uid) == os.Geteuid() {
			n++
		}
	}
	return n
}
