package examples

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

// From the stale read of the quickstart, gdb goes back to where a node acknowledged the write that was lost, and by a watchpoint on to the assignment
// that let it do so. Then the run ends as it did.
func TestDebugQuickstart(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	gdb := needs.Program(t, "gdb")
	program := bloodhound(t)
	folder, err := filepath.Abs(".bloodhound/debug")
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(folder)
	defer os.RemoveAll(folder)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bloodhound.yaml", "has-leader.sh"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		build := fmt.Sprintf("go build -C %s -gcflags 'all=-N -l' -o %s/.bloodhound/bin/kv ./kv", source, folder)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(strings.ReplaceAll(string(text), "go build -o .bloodhound/bin/kv ./kv", build)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	var found struct {
		Campaign struct{ Failures []struct{ ID string } }
	}
	out, code := call(t, program, "explore", folder, "--json", "--seeds", "200", "--no-shrink")
	if err := json.Unmarshal(out, &found); err != nil || code != violated || len(found.Campaign.Failures) == 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}

	server := exec.CommandContext(t.Context(), program, "debug", found.Campaign.Failures[0].ID, folder, "--listen", "127.0.0.1:0")
	notes, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Signal(os.Interrupt)
	address := ""
	lines := bufio.NewScanner(notes)
	for address == "" && lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "target remote "); ok {
			address, _, _ = strings.Cut(after, ",")
		}
	}
	go func() {
		for lines.Scan() { // so that nothing waits for its lines to be read
		}
	}()
	script := filepath.Join(folder, "script.gdb")
	text := fmt.Sprintf(`set pagination off
set confirm off
set width 0
set schedule-multiple on
target remote %s
break core.go:%d if p.term != e.Term
reverse-continue
print p.term == e.Term
print c.id
info locals
delete
set $commit = &c.commit
python node, pid = divmod(gdb.selected_inferior().pid, 1000000)
python gdb.execute(f"monitor track n{node}/{pid} (*main.Core)({int(gdb.parse_and_eval('c'))}).commit")
set language c
watch *(unsigned long *) $commit
reverse-continue
backtrace 1
set language auto
print c.commit
reverse-stepi
stepi
delete
continue
`, address, lineOf(t, filepath.Join(source, "kv", "core.go"), "c.finish(i, Reply{Status: Done})"))
	if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	printed, err := exec.CommandContext(t.Context(), gdb, "-nx", "-batch", "-x", script).CombinedOutput()
	rest := string(printed)
	for _, want := range []string{"hit Breakpoint 1", "main.(*Core).finishWrites", "$1 = false",
		").commit of n", ", 8 bytes at 0x", "  0 -> 1\n      main.(*Core).commitTo (core.go:", ") <- main.(*Core).receive (core.go:", ") <- main.(*server).loop.func1 (server.go:", "hit Hardware watchpoint 2", "Old value = ", "New value = ", "c.commit = max(c.commit, index)", "#0 ", "main.(*Core).commitTo",
		"the end of the run: trace hash", "that of the original run"} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("%v: %q is missing behind what came before it in\n%s", err, want, printed)
		}
		rest = after
	}
}

// lineOf is the number of the first line of a file that has a text.
func lineOf(t *testing.T, name, text string) int {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(b), text)
	if !ok {
		t.Fatalf("%s has no %q", name, text)
	}
	return 1 + strings.Count(before, "\n")
}
