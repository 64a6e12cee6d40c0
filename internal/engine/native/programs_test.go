//go:build linux && amd64

package native_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// eachProgram gives every C program of a folder of testdata to a subtest of its own.
func eachProgram(t *testing.T, folder string, test func(t *testing.T, name, source string)) {
	t.Helper()
	needCompiler(t)
	sources, err := filepath.Glob(filepath.Join("testdata", folder, "*.c"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no programs in testdata/%s: %v", folder, err)
	}
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		t.Run(name, func(t *testing.T) { test(t, name, source) })
	}
}

// needCompiler skips a test where no C program can be compiled.
func needCompiler(t *testing.T) {
	t.Helper()
	needs.Program(t, "cc")
}

// compiled has the programs that the C compiler has made, by its arguments: several tests run the same ones.
var compiled struct {
	sync.Mutex
	programs map[string][]byte
}

// compile makes a program of a C source, in a folder of its own.
func compile(t *testing.T, source string, flags ...string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	key := strings.Join(append([]string{source}, flags...), "\n")
	compiled.Lock()
	defer compiled.Unlock()
	if content, ok := compiled.programs[key]; ok {
		if err := os.WriteFile(program, content, 0o755); err != nil {
			t.Fatal(err)
		}
		return program
	}
	args := append([]string{"-O1", "-pthread", "-w", "-o", program, source}, flags...)
	if out, err := exec.Command("cc", append(args, "-lrt", "-lm")...).CombinedOutput(); err != nil {
		t.Fatalf("cc %s: %v\n%s", source, err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if compiled.programs == nil {
		compiled.programs = map[string][]byte{}
	}
	compiled.programs[key] = content
	return program
}

// aloneSpec is a world of one node in which argv runs in an empty folder. The program's own folder is mounted where it
// is on the host: temporary folders are private inside. Threads are preempted as often as can be.
func aloneSpec(argv ...string) *world.Spec {
	dir := filepath.Dir(argv[0])
	return &world.Spec{
		Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 120e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Sched: world.Sched{PreemptPPM: tape.Certain},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", IPv6: "fd77::10", Root: "host",
			Command: argv, WorkingDir: "/work",
			Volumes: []world.Volume{{Kind: world.Bind, Source: dir, Target: dir}, {Kind: world.Named, Source: "work", Target: "/work"}}}},
	}
}

// run makes the run of a tape without edits. It returns what the world's programs wrote, too.
func run(t *testing.T, spec *world.Spec, seed uint64) (printed []record.LogLine, out *record.Outcome) {
	t.Helper()
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: seed}, engine.Options{Log: func(l record.LogLine) { printed = append(printed, l) }})
	if err != nil {
		t.Fatal(err)
	}
	return printed, out
}

// texts are the lines of a log, of one stream or, if that is empty, of all.
func texts(log []record.LogLine, stream string) (lines []string) {
	for _, l := range log {
		if stream == "" || l.Stream == stream {
			lines = append(lines, l.Text)
		}
	}
	return lines
}

// runInside runs a program inside the engine, alone on a node with the host's files as its root and an empty working
// folder, and returns what it wrote to its standard output and its exit code.
func runInside(t *testing.T, argv ...string) (stdout string, exit int) {
	t.Helper()
	log, out := run(t, aloneSpec(argv...), 1)
	if out.Reason != record.Finished {
		t.Errorf("the world ended by %s %s", out.Reason, out.Detail)
	}
	for _, r := range out.Refused {
		t.Logf("refused: %s = %s", r.Call, r.Errno)
	}
	const mainPID = 10 // a node's first process
	for _, c := range out.Crashes {
		if c.PID != mainPID { // the program under test is free to make children that crash
			continue
		}
		exit = c.ExitCode
		if c.Signal != "" {
			t.Errorf("ended by %s", c.Signal)
		}
	}
	for _, line := range texts(log, "stdout") {
		stdout += line + "\n"
	}
	return stdout, exit
}

// What this process ignores, programs of a world do not.
func TestIgnoredSignalsStayOutside(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	logs, _, _ := play(t, ruled(t, "import signal\nprint(signal.getsignal(signal.SIGHUP).name)", idle))
	if logs["n1"] != "SIG_DFL\n" {
		t.Errorf("the action of SIGHUP is %s", logs["n1"])
	}
}

// A program whose file is cut short ends as it does on Linux: it is refused, or killed when it is half loaded.
func TestProgramsCutShort(t *testing.T) {
	const script = `
import os, subprocess, tempfile
whole = open("/bin/true", "rb").read()
cut = os.path.join(tempfile.mkdtemp(), "cut")
for size in (40, 100, 600, 1000, 3000, 5000, 9000, 20000, len(whole)):
    with open(cut, "wb") as f: f.write(whole[:size])
    os.chmod(cut, 0o755)
    try: print(size, subprocess.run([cut]).returncode)
    except OSError as e: print(size, e.errno)
`
	want, err := exec.Command("python3", "-c", script).Output()
	if err != nil {
		needs.Missing(t, "python3", err)
	}
	if !strings.Contains(string(want), " -11\n") {
		t.Logf("no size is past Linux' point of no return here:\n%s", want)
	}
	printed(t, withSettings(t, nil, script), string(want))
}
