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

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// From the stale read of the quickstart, gdb goes back to where a node acknowledged the write that was lost, and by a watchpoint on to the assignment
// that let it do so. Where a variable is written that has the node judge by the entry, all properties hold; and the run itself ends as it did.
func TestDebugQuickstart(t *testing.T) {
	t.Parallel()
	gdb, folder := debugFolder(t, "debug")
	source, err := filepath.Abs("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	build := fmt.Sprintf("go build -C %s -gcflags 'all=-N -l' -o %s/.bloodhound/bin/kv ./kv", source, folder)
	copyWith(t, filepath.Join(source, "bloodhound.yaml"), folder, "go build -o .bloodhound/bin/kv ./kv", build)
	copyWith(t, filepath.Join(source, "has-leader.sh"), folder)
	program := bloodhound(t)
	id := failureIn(t, program, folder)
	core := filepath.Join(source, "kv", "core.go")
	gdbPrints(t, gdb, program, id, folder, fmt.Sprintf(`monitor goto begin
stepi
monitor when
monitor goto violation
maintenance flush register-cache
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
monitor goto end
monitor goto violation
break core.go:%d if p.index == e.Index && p.term != e.Term
reverse-continue
set language c
set variable c->ackBy.len = 4
set language auto
delete
next
reverse-next
continue
monitor branch 0
monitor goto end
`, lineOf(t, core, "c.finish(i, Reply{Status: Done})"), lineOf(t, core, "case p.term == e.Term ||")),
		", in thread ", "hit Breakpoint 1", "main.(*Core).finishWrites", "$1 = false",
		").commit of n", ", 8 bytes at 0x", "  0 -> 1\n      main.(*Core).commitTo (core.go:", ") <- main.(*Core).receive (core.go:", ") <- main.(*server).loop.func1 (server.go:", "hit Hardware watchpoint 2", "Old value = ", "New value = ", "c.commit = max(c.commit, index)", "#0 ", "main.(*Core).commitTo",
		"end of the run: trace hash", "as in the original run",
		"hit Breakpoint 3", "branch 1 begins after event", "default:", "end of branch 1: trace hash", "all properties hold", "end of the run: trace hash", "as in the original run")
}

// redisStory goes from a stale read to where the redis that answered it became the master, and shows how far it was behind the others then. gdb learns
// where the programs of other processes lie when it runs the world.
const redisStory = `stepi
reverse-stepi
python
def servers():
    for inferior in gdb.inferiors():
        gdb.execute("inferior %d" % inferior.num, to_string=True)
        if "redis-server" in inferior.progspace.filename:
            yield inferior.num, int(gdb.parse_and_eval("server.master_repl_offset"))
def is_promoted():
    return int(gdb.parse_and_eval("server.masterhost")) == 0 and int(gdb.parse_and_eval("server.second_replid_offset")) > 0
promoted = [number for number, _ in servers() if is_promoted()][0]
gdb.execute("inferior %d" % promoted)
end
watch server.masterhost
reverse-continue
backtrace 4
python
offsets = dict(servers())
print("the promoted replica is behind:", offsets[promoted] < max(offsets.values()))
gdb.execute("inferior %d" % promoted)
end
print server.masterhost
stepi
print server.masterhost
delete
continue
`

// From a stale read of redis, gdb goes back by a watchpoint to the assignment by which a replica that is behind became the master.
func TestDebugRedis(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("compiles redis: BLOODHOUND_SOAK=1")
	}
	t.Parallel()
	gdb, folder := debugFolder(t, "debug-redis")
	sources, err := filepath.Glob("/usr/src/redis-*/src/server.c")
	if err != nil || len(sources) == 0 {
		needs.Missing(t, "the source of redis", "there is no /usr/src/redis-*; .ci/run has the commands that put it there")
	}
	server := filepath.Join(folder, "source/src/redis-server")
	if err := os.CopyFS(filepath.Join(folder, "source"), os.DirFS(filepath.Dir(filepath.Dir(sources[0])))); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), needs.Program(t, "make"), "-j2", "-C", filepath.Dir(server), "redis-server", "MALLOC=libc", "OPTIMIZATION=-O0").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	source, err := filepath.Abs("redis")
	if err != nil {
		t.Fatal(err)
	}
	copyWith(t, filepath.Join(source, "compose.yaml"), folder)
	copyWith(t, filepath.Join(source, "redis.sh"), folder, "exec redis-server", "exec "+server)
	copyWith(t, filepath.Join(source, "bloodhound.yaml"), folder, "go build -o .bloodhound/bin/proxy ./proxy", fmt.Sprintf("go build -C %s -o %s/.bloodhound/bin/proxy ./proxy", source, folder),
		"    - {kind: crash,", "    # - {kind: crash,") // partitions are enough
	program := bloodhound(t)
	gdbPrints(t, gdb, program, failureIn(t, program, folder), folder, redisStory,
		"Hardware watchpoint 1: server.masterhost", "Old value = 0x0", "New value = 0x", "#0  replicationUnsetMaster () at replication.c:", "in replicaofCommand (", "in call (", "in processCommand (",
		"the promoted replica is behind: True", "$1 = 0x", "$2 = 0x0", "end of the run: trace hash", "as in the original run")
}

// debugFolder makes a folder for the project that a test debugs.
func debugFolder(t *testing.T, name string) (gdb, folder string) {
	t.Helper()
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	gdb = needs.Program(t, "gdb")
	folder, err := filepath.Abs(filepath.Join(".bloodhound", name))
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(folder)
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return gdb, folder
}

// copyWith copies a file to a folder, with texts in place of others.
func copyWith(t *testing.T, file, folder string, replaced ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(string(text), replaced[i]) {
			t.Fatalf("%s has no %q", file, replaced[i])
		}
	}
	if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), []byte(strings.NewReplacer(replaced...).Replace(string(text))), 0o777); err != nil {
		t.Fatal(err)
	}
}

// failureIn is the first failure of a project.
func failureIn(t *testing.T, program, folder string) string {
	t.Helper()
	var found struct {
		Campaign struct{ Failures []struct{ ID string } }
	}
	out, code := call(t, program, "explore", folder, "--json", "--seeds", "200", "--no-shrink")
	if err := json.Unmarshal(out, &found); err != nil || code != violated || len(found.Campaign.Failures) == 0 {
		t.Fatalf("exit code %d, %v\n%s", code, err, out)
	}
	return found.Campaign.Failures[0].ID
}

// gdbPrints has gdb execute a script at the violation of a failure, and checks that it prints texts in their order.
func gdbPrints(t *testing.T, gdb, program, id, folder, script string, wanted ...string) {
	t.Helper()
	server := exec.CommandContext(t.Context(), program, "debug", id, folder, "--listen", "127.0.0.1:0")
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
	name := filepath.Join(folder, "script.gdb")
	script = "set remotetimeout 100\nset pagination off\nset confirm off\nset width 0\nset schedule-multiple on\ntarget remote " + address + "\n" + script
	if err := os.WriteFile(name, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	printed, err := exec.CommandContext(t.Context(), gdb, "-nx", "-batch", "-x", name).CombinedOutput()
	rest := string(printed)
	for _, want := range wanted {
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
