package examples

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

// delveVersion is the delve that the test builds.
const delveVersion = "github.com/go-delve/delve/cmd/dlv@v1.27.2"

// delveCommands go backward from the violation, to the call in which the node commits the entry that replaces a lost write.
const delveCommands = `break main.(*Core).commitTo
rewind
print c.id
print index
checkpoint here
goroutines
next
next
rev next
print c.applied
restart c1
print c.applied
clear 1
exit
`

// Delve debugs a Go program of a world backward, with goroutines and variables.
func TestDelve(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	needs.Program(t, "unshare")
	dir := t.TempDir()
	install := exec.Command("go", "install", delveVersion)
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		needs.Missing(t, "delve", string(out))
	}
	program := bloodhound(t)
	var found struct {
		Campaign struct{ Failures []struct{ ID string } }
	}
	out, code := call(t, program, "explore", "quickstart", "--json", "--no-shrink")
	if err := json.Unmarshal(out, &found); err != nil || code != violated || len(found.Campaign.Failures) == 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	id := found.Campaign.Failures[0].ID
	out, code = call(t, program, "debug", id, "quickstart", "--delve", "--process", "n1")
	_, line, ok := strings.Cut(string(out), "  PATH=")
	path, line, also := strings.Cut(line, ":$PATH dlv replay ")
	trace, _, _ := strings.Cut(line, "\n")
	if code != 0 || !ok || !also || !strings.Contains(string(out), `"mode": "replay"`) {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for name, text := range map[string]string{"commands": delveCommands, "paranoid": "1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Delve looks at a setting of the machine, which is another one in a mount namespace of its own.
	const script = `mount --bind "$1/paranoid" /proc/sys/kernel/perf_event_paranoid && PATH=$2:$PATH exec "$1/dlv" replay "$3" --allow-non-terminal-interactive=true --init "$1/commands"`
	delve := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", dir, path, trace)
	if os.Getuid() == 0 {
		delve = exec.Command("unshare", "--mount", "sh", "-c", script, "sh", dir, path, trace)
	}
	said, err := delve.CombinedOutput()
	text := string(said)
	if err != nil && strings.Contains(text, "unshare: unshare failed") {
		needs.Missing(t, "a mount namespace", text)
	}
	for _, want := range []string{"> [Breakpoint 1] main.(*Core).commitTo()", "\n\"n1\"\n", "Checkpoint c1 created", "main.(*conn).write", "core.go:492"} {
		if !strings.Contains(text, want) {
			t.Errorf("delve did not print %q", want)
		}
	}
	if events := regexp.MustCompile(`Current event: (\d+)`).FindAllStringSubmatch(text, -1); len(events) < 5 || events[0][1] != events[len(events)-1][1] {
		t.Errorf("the checkpoint leads elsewhere: %v", events)
	}
	if t.Failed() || err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
