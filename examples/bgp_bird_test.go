package examples

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// The commands of the example: a BIRD that runs is explored, what its customer could take over is found, known and stored, and gone with a mended filter, which is tried in copies.
func TestBGPExploresBIRD(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("copies of daemons are made on Linux x86-64")
	}
	t.Parallel()
	needs.Unfiltered(t)
	bird, birdc := needs.Program(t, "bird", "/usr/sbin/bird"), needs.Program(t, "birdc", "/usr/sbin/birdc")
	folder, program := t.TempDir(), bloodhoundLive(t)
	if err := os.CopyFS(folder, os.DirFS("bgp/bird")); err != nil {
		t.Fatal(err)
	}
	copyWith(t, filepath.Join("bgp", "bird", "live.yaml"), folder, "cpus: 1", "cpus: 8\n  explore: 10m") // however busy the machine is
	routers := exec.Command("./start.sh")
	routers.Dir, routers.Env = folder, append(os.Environ(), "PATH="+filepath.Dir(bird)+":"+os.Getenv("PATH"))
	routers.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := routers.Start(); err != nil {
		t.Fatal(err)
	}
	defer routers.Wait()
	defer syscall.Kill(-routers.Process.Pid, syscall.SIGTERM)
	// BIRD computes anew from two clocks when routes changed, so the last digit of a time may differ.
	times := regexp.MustCompile(`\d\d:\d\d:\d\d\.\d\d\d`)
	table := func() string {
		cmd := exec.Command(birdc, "-s", filepath.Join(folder, ".bloodhound", "provider.ctl"), "show", "route", "all")
		out, _ := cmd.CombinedOutput()
		return times.ReplaceAllString(string(out), "")
	}
	for end := time.Now().Add(time.Minute); strings.Count(table(), "BGP.as_path") < 4; time.Sleep(50 * time.Millisecond) { // sessions come up
		if time.Now().After(end) {
			t.Fatalf("the provider has no routes after a minute:\n%s", table())
		}
	}
	before := table()
	run := func(code int, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, append([]string{"live"}, args...)...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
			t.Fatalf("%v: %v, not exit code %d\n%s", args, err, code, out)
		}
		return string(out)
	}
	const one, two = "customer (AS64501) can take over 198.51.100.0/24: ", "customer (AS64501) can take over 203.0.113.0/25 le 26: "
	has := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("there is no %q in\n%s", want, out)
			}
		}
	}
	has(run(1, "--once"), "4 routes in its table", "every prefix was tried", "NEW "+one, "NEW "+two)
	has(run(1, "--once"), "again "+one, "again "+two)
	has(run(0, "try", "--change", "provider-mended.conf"), "and 2 findings; with provider-mended.conf", " and 0 findings", "gone "+one, "gone "+two)
	if after := table(); after != before {
		t.Errorf("the provider's table was\n%s\nand is\n%s", before, after)
	}
	// The dashboard has them.
	board := start(t, program, "dashboard", "--store", "dir:"+filepath.Join(folder, ".bloodhound", "store"), "--listen", "127.0.0.1:0")
	r, err := http.Get(shownAt(board) + "/api/v1/overview")
	if err != nil {
		t.Fatal(err)
	}
	overview, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	has(string(overview), "live/provider/customer", "can take over 198.51.100.0/24", "can take over 203.0.113.0/25 le 26")
	// A change that takes what another AS has.
	text, err := os.ReadFile(filepath.Join(folder, "provider.conf"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "worse.conf"), regexp.MustCompile(`define CUSTOMER = \[`).ReplaceAllString(string(text), "$0 203.0.112.0/23+,"))
	has(run(1, "try", "--change", "worse.conf"), "BROUGHT customer (AS64501) can take over "+"203.0.113.0/25")
}
