package examples

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
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

// A node's program is debugged backward by delve, with goroutines and variables: in a terminal, and as VS Code's Go extension does by the
// launch.json that is printed.
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
	for name, text := range map[string]string{"commands": delveCommands, "paranoid": "1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program := bloodhound(t)
	id := failureIn(t, program, "quickstart")
	t.Run("terminal", func(t *testing.T) {
		out, code := call(t, program, "debug", id, "quickstart", "--delve", "--process", "n1")
		_, line, ok := strings.Cut(string(out), "  PATH=")
		path, line, also := strings.Cut(line, ":$PATH dlv replay ")
		trace, _, _ := strings.Cut(line, "\n")
		if code != 0 || !ok || !also {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		said, err := delve(t, dir, path+":"+os.Getenv("PATH"), "replay", trace, "--allow-non-terminal-interactive=true", "--init", filepath.Join(dir, "commands")).CombinedOutput()
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
	})
	t.Run("VS Code", func(t *testing.T) {
		out, code := call(t, program, "debug", id, "quickstart", "--launch-json", "--process", "n1")
		configuration := launchConfiguration(t, out, "go")
		if code != 0 || configuration["mode"] != "replay" || configuration["request"] != "launch" {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		env := configuration["env"].(map[string]any)
		path := strings.ReplaceAll(env["PATH"].(string), "${env:PATH}", os.Getenv("PATH")) // as VS Code does
		env["PATH"] = path
		debugGo(t, delve(t, dir, path, "dap", "--listen=127.0.0.1:0"), configuration)
	})
}

// delve is a command of the delve in a folder. Delve looks at a setting of the machine, which is another one in a mount namespace of its own.
func delve(t *testing.T, dir, path string, arguments ...string) *exec.Cmd {
	const script = `mount --bind "$1/paranoid" /proc/sys/kernel/perf_event_paranoid && dlv=$1/dlv && PATH=$2 && export PATH && shift 2 && exec "$dlv" "$@"`
	arguments = append([]string{"--mount", "sh", "-c", script, "sh", dir, path}, arguments...)
	if os.Getuid() != 0 {
		arguments = append([]string{"--user", "--map-root-user"}, arguments...)
	}
	return exec.CommandContext(t.Context(), "unshare", arguments...)
}

// launchConfiguration is that of a type of a launch.json.
func launchConfiguration(t *testing.T, text []byte, kind string) map[string]any {
	t.Helper()
	var launch struct {
		Version        string
		Configurations []map[string]any
	}
	if err := json.Unmarshal(text, &launch); err != nil || launch.Version != "0.2.0" {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, c := range launch.Configurations {
		if c["type"] == kind {
			return c
		}
	}
	t.Fatalf("no configuration of type %s\n%s", kind, text)
	return nil
}

// adapter is a client of the debug adapter protocol.
type adapter struct {
	t      *testing.T
	conn   net.Conn
	in     *bufio.Reader
	asked  int
	events []adapterMessage
}

type adapterMessage struct {
	Type, Event, Message string
	RequestSeq           int `json:"request_seq"`
	Success              bool
	Body                 json.RawMessage
}

// ask sends a request, and reads the body of the response.
func (a *adapter) ask(command string, arguments, body any) {
	a.t.Helper()
	a.asked++
	text, err := json.Marshal(map[string]any{"seq": a.asked, "type": "request", "command": command, "arguments": arguments})
	if err == nil {
		err = dap.WriteBaseMessage(a.conn, text)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	for {
		switch m := a.next(); {
		case m.Type == "event":
			a.events = append(a.events, m)
		case m.RequestSeq == a.asked:
			if !m.Success {
				a.t.Fatalf("%s: %s %s", command, m.Message, m.Body)
			}
			if body != nil {
				if err := json.Unmarshal(m.Body, body); err != nil {
					a.t.Fatalf("%s: %v\n%s", command, err, m.Body)
				}
			}
			return
		}
	}
}

func (a *adapter) next() (m adapterMessage) {
	a.t.Helper()
	text, err := dap.ReadBaseMessage(a.in)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return m
}

// event waits for an event, and reads its body.
func (a *adapter) event(name string, body any) {
	a.t.Helper()
	for {
		if len(a.events) == 0 {
			a.events = append(a.events, a.next())
		}
		m := a.events[0]
		if a.events = a.events[1:]; m.Event != name {
			continue
		}
		if err := json.Unmarshal(m.Body, body); err != nil {
			a.t.Fatal(err)
		}
		return
	}
}

// debugGo goes from where a run stands backward to where a node commits an entry, and a step forward and backward from there.
func debugGo(t *testing.T, delve *exec.Cmd, configuration map[string]any) {
	said, err := delve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	delve.Stderr = os.Stderr
	if err := delve.Start(); err != nil {
		t.Fatal(err)
	}
	defer delve.Wait()
	line, err := bufio.NewReader(said).ReadString('\n')
	_, address, ok := strings.Cut(strings.TrimSpace(line), "DAP server listening at: ")
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, line)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	a := &adapter{t: t, conn: conn, in: bufio.NewReader(conn)}
	a.ask("initialize", map[string]any{"clientID": "vscode", "adapterID": "go", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true}, nil)
	a.ask("launch", configuration, nil)
	var capable dap.CapabilitiesEventBody
	a.event("capabilities", &capable)
	if !capable.Capabilities.SupportsStepBack {
		t.Error("no step back")
	}
	source, err := filepath.Abs("quickstart/kv/core.go")
	if err != nil {
		t.Fatal(err)
	}
	at := lineOf(t, source, "c.commit = max(c.commit, index)")
	a.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": source}, "breakpoints": []any{map[string]any{"line": at}}}, nil)
	a.ask("configurationDone", nil, nil)
	var stopped dap.StoppedEventBody
	a.event("stopped", &stopped)
	if stopped.Reason != "entry" {
		t.Fatalf("%+v", stopped)
	}
	var goroutines dap.ThreadsResponseBody
	a.ask("threads", nil, &goroutines)
	if len(goroutines.Threads) < 5 {
		t.Errorf("%+v", goroutines)
	}
	thread := func() map[string]any { return map[string]any{"threadId": stopped.ThreadId} }
	top := func() (frames dap.StackTraceResponseBody) {
		t.Helper()
		a.ask("stackTrace", thread(), &frames)
		if len(frames.StackFrames) < 4 || frames.StackFrames[0].Source.Path != source {
			t.Fatalf("%+v", frames)
		}
		return frames
	}
	evaluate := func(expression string) string {
		t.Helper()
		var value dap.EvaluateResponseBody
		a.ask("evaluate", map[string]any{"expression": expression, "frameId": top().StackFrames[0].Id, "context": "watch"}, &value)
		return value.Result
	}
	stopped.ThreadId = 1
	a.ask("reverseContinue", thread(), nil)
	a.event("stopped", &stopped)
	frames := top().StackFrames
	if stopped.Reason != "breakpoint" || frames[0].Name != "main.(*Core).commitTo" || frames[0].Line != at || !slices.ContainsFunc(frames, func(f dap.StackFrame) bool { return f.Name == "main.main" }) {
		t.Fatalf("%+v %+v", stopped, frames)
	}
	before := evaluate("c.commit")
	var scopes dap.ScopesResponseBody
	a.ask("scopes", map[string]any{"frameId": frames[0].Id}, &scopes)
	var locals dap.VariablesResponseBody
	a.ask("variables", map[string]any{"variablesReference": scopes.Scopes[0].VariablesReference}, &locals)
	index := ""
	for _, v := range locals.Variables {
		if v.Name == "index" && v.Type == "uint64" {
			index = v.Value
		}
	}
	if index == "" || index == before {
		t.Errorf("index is %q, the commit index %q: %+v", index, before, locals)
	}
	a.ask("next", thread(), nil)
	a.event("stopped", &stopped)
	if line := top().StackFrames[0].Line; line != at+1 || evaluate("c.commit") != index {
		t.Errorf("line %d instead of %d, %s", line, at+1, evaluate("c.commit"))
	}
	a.ask("stepBack", thread(), nil)
	a.event("stopped", &stopped)
	if line := top().StackFrames[0].Line; line != at || evaluate("c.commit") != before {
		t.Errorf("back in line %d instead of %d, %s", line, at, evaluate("c.commit"))
	}
	a.ask("disconnect", map[string]any{"terminateDebuggee": true}, nil)
}
