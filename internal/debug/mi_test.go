//go:build linux && amd64

package debug

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// mi is a gdb that an editor drives by its machine interface (section GDB/MI of the manual).
type mi struct {
	t     *testing.T
	in    io.Writer
	out   *bufio.Scanner
	asked int
	said  strings.Builder
}

// connect starts gdb and connects it, with the commands that Native Debug of VS Code sends.
func connect(t *testing.T, s *served) *mi {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), needs.Program(t, "gdb"), "-nx", "-q", "--interpreter=mi2")
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "HOME="+t.TempDir(), "LC_ALL=C")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	m := &mi{t: t, in: in, out: bufio.NewScanner(out)}
	m.do("gdb-set target-async on")
	m.do("list-features")
	m.do(`environment-directory "` + s.Nodes[0] + `"`)
	m.do("target-select remote " + s.address)
	if features := m.do("list-target-features"); !strings.Contains(features, `"reverse"`) {
		t.Errorf("gdb cannot go backward: %s", features)
	}
	return m
}

// line reads what gdb prints.
func (m *mi) line() string {
	m.t.Helper()
	if !m.out.Scan() {
		m.t.Fatalf("gdb has ended: %v\n%s", m.out.Err(), m.said.String())
	}
	fmt.Fprintln(&m.said, m.out.Text())
	return m.out.Text()
}

// do gives a command, and returns its result.
func (m *mi) do(command string) string {
	m.t.Helper()
	m.asked++
	fmt.Fprintf(m.in, "%d-%s\n", m.asked, command)
	for {
		result, ok := strings.CutPrefix(m.line(), fmt.Sprintf("%d^", m.asked))
		if ok && strings.HasPrefix(result, "error") {
			m.t.Fatalf("%s: %s\n%s", command, result, m.said.String())
		}
		if ok {
			return result
		}
	}
}

// run gives a command that runs the program, and returns where it stops.
func (m *mi) run(command string) string {
	m.t.Helper()
	m.do(command)
	for {
		if stop, ok := strings.CutPrefix(m.line(), "*stopped,"); ok {
			return stop
		}
	}
}

// checkStop checks that gdb's answer contains the given texts.
func (m *mi) checkStop(stop string, wanted ...string) {
	m.t.Helper()
	for _, w := range wanted {
		if !strings.Contains(stop, w) {
			m.t.Fatalf("%q is missing in %s\n%s", w, stop, m.said.String())
		}
	}
}

// thread is the one that a stop names.
func thread(stop string) string {
	return regexp.MustCompile(`thread-id="(\d+)"`).FindStringSubmatch(stop)[1]
}

// locals are the variables of the innermost call, as an editor asks for them.
func (m *mi) locals(stop string) string {
	m.t.Helper()
	m.do("thread-info")
	m.do("stack-list-frames --thread " + thread(stop) + " 0 20")
	return m.do("stack-list-variables --thread " + thread(stop) + " --frame 0 --simple-values")
}

// An editor goes backward in a C program.
func TestEditorGoesBackwardInC(t *testing.T) {
	spec := bank(t)
	s := serve(t, spec, original(t, spec))
	m := connect(t, s)
	m.do("break-insert -f bank.c:31") // where a transfer is booked twice
	stop := m.run("exec-continue")
	m.checkStop(stop, `reason="breakpoint-hit"`, `func="transfer"`, `line="31"`)
	m.checkStop(m.locals(stop), `name="number",arg="1",type="int",value="7"`)
	m.checkStop(m.do(`var-create v * "accounts[to]"`), `numchild="2"`, `type="struct account"`)
	m.checkStop(m.do("var-list-children --all-values v"), `exp="balance",numchild="0",value="10"`)
	m.checkStop(m.run("exec-next"), `line="32"`)
	m.checkStop(m.do("var-update --all-values v"), `value="20"`)
	m.checkStop(m.run("exec-next --reverse"), `line="31"`)
	m.checkStop(m.do("var-update --all-values v"), `value="10"`)
	m.checkStop(m.run("exec-step --reverse"), `line="30"`)
	stop = m.run("exec-step --reverse")
	m.checkStop(stop, `func="book"`, `line="25"`)
	m.checkStop(m.locals(stop), `name="before",type="int",value="0"`)
	m.checkStop(m.run("exec-finish --reverse"), `func="transfer"`, `line="29"`)
	m.checkStop(m.do("break-watch accounts[3].balance"), "wpt")
	m.checkStop(m.run("exec-continue --reverse"), `reason="watchpoint-trigger"`, `func="book"`, `line="23"`)
	m.do("gdb-exit")
}

// An editor goes backward in a Rust program.
func TestEditorGoesBackwardInRust(t *testing.T) {
	dir := t.TempDir()
	source, err := filepath.Abs("testdata/ledger.rs")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(needs.Program(t, "rustc"), "-g", "-o", dir+"/ledger", source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	spec := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 3e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "ledger", Role: world.Server, Hostname: "ledger", IPv4: "10.77.0.10", Root: "host",
			WorkingDir: "/tmp", Command: []string{dir + "/ledger"}, Volumes: []world.Volume{{Kind: world.Bind, Source: dir, Target: dir}}}}}
	want, err := engine.Run(native.New(), spec, tape.Tape{Seed: 3}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, spec, want)
	m := connect(t, s)
	m.do("break-insert -f ledger.rs:20") // the report
	m.run("exec-continue")
	for range 3 {
		m.run("exec-continue")
	}
	stop := m.run("exec-continue") // where the sum is too large
	m.checkStop(stop, `func="ledger::report"`)
	m.checkStop(m.locals(stop), `name="ledger",arg="1"`, `ledger::Ledger"`)
	m.checkStop(m.do(`var-create sum * "ledger.sum"`), `value="200"`, `type="i64"`)
	m.do("break-delete 1")
	sum := regexp.MustCompile(`value="(0x[0-9a-f]+)"`).FindStringSubmatch(m.do(`data-evaluate-expression "&ledger.sum"`))[1]
	m.do(`break-watch "*(` + sum + ` as *mut i64)"`)
	stop = m.run("exec-continue --reverse")
	m.checkStop(stop, `reason="watchpoint-trigger"`, `value={old="200",new="100"}`, `func="ledger::add"`, `line="15"`)
	m.checkStop(m.locals(stop), `name="weight",type="i64",value="2"`)
	for n := 0; n < 5 && !strings.Contains(stop, `line="14"`); n++ { // a line is several statements in the program
		stop = m.run("exec-step --reverse")
	}
	m.checkStop(stop, `line="14"`)
	m.checkStop(m.run("exec-next"), `func="ledger::add"`, `line="15"`)
	m.do("gdb-exit")
}
