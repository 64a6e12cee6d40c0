package examples

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// A server that keeps the first value of a key forever. It imports a module beside it, and would import another and read a file if they
// were there, so that it lists its folder.
const forgetfulServer = `import os
import socket

import store

try:
    import plugin
except ImportError:
    pass
os.path.exists("optional.conf")
os.stat(".")
listener = socket.create_server(("", 80))
while True:
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as lines:
        method, path, _ = lines.readline().decode().split()
        size = 0
        while line := lines.readline().strip():
            name, value = line.lower().split(b":", 1)
            if name == b"content-length":
                size = int(value)
        body = lines.read(size)
        if method == "PUT":
            store.put(path, body)
        found = store.get(path)
        status = "200 OK" if found is not None else "404 Not Found"
        found = found or b""
        head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(found)}\r\n\r\n"
        connection.sendall(head.encode() + found)
`

const forgetfulStore = `values = {}


def get(path):
    return values.get(path)


def put(path, value):
    values.setdefault(path, value)
`

const forgetfulWorld = `simulation: {max_time: 10s}
nodes:
  kv: {command: [python3, -S, -E, server.py]}
workload:
  driver: http
  config:
    target: "http://kv:80"
    clients: 1
    max_operations: 8
    duration: 2s
    operations:
      - {type: put, weight: 1, key_pattern: "k"}
      - {type: get, weight: 1, key_pattern: "k"}
properties:
  - {name: linearizable, kind: safety, check: {type: linearizability, operations: [put, get]}}
faults: {enabled: false}
`

// projectFolder is a project in a folder of its own, and the program that tests it.
type projectFolder struct {
	*testing.T
	program, dir string
}

func (p *projectFolder) path(name string) string { return filepath.Join(p.dir, name) }

func (p *projectFolder) write(name, text string) {
	p.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *projectFolder) chmod(name string, mode os.FileMode) {
	p.Helper()
	if err := os.Chmod(p.path(name), mode); err != nil {
		p.Fatal(err)
	}
}

// bloodhound runs the program in the folder and demands an exit code. Output goes to the files that are named, or else is returned.
func (p *projectFolder) bloodhound(code int, outputs [2]string, args ...string) (out, err string) {
	p.Helper()
	var texts [2]bytes.Buffer
	cmd := exec.CommandContext(p.Context(), p.program, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "CI=true")
	cmd.Stdout, cmd.Stderr = &texts[0], &texts[1]
	for i, name := range outputs {
		if name == "" {
			continue
		}
		file, err := os.Create(p.path(name))
		if err != nil {
			p.Fatal(err)
		}
		defer file.Close()
		if i == 0 {
			cmd.Stdout = file
		} else {
			cmd.Stderr = file
		}
	}
	cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		p.Errorf("bloodhound %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &texts[0], &texts[1])
	}
	return texts[0].String(), texts[1].String()
}

// TestFailureSurvivesItsFolder: what is added to the folder of a project after a failure was found does not change its run. What changes the run is
// named, and the failure is explained and shrunk as it is then.
func TestFailureSurvivesItsFolder(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	needs.Program(t, "python3")
	p := &projectFolder{t, bloodhound(t), t.TempDir()}
	p.chmod(".", 0o755)
	p.write("server.py", forgetfulServer)
	p.write("store.py", forgetfulStore)
	p.write("bloodhound.yaml", forgetfulWorld)
	none := [2]string{}
	p.bloodhound(violated, [2]string{"explore.txt", "progress.txt"}, "explore", "--no-shrink", "--seeds", "1")
	found, err := filepath.Glob(p.path(".bloodhound/failures/*.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("failures: %q, %v", found, err)
	}
	id := strings.TrimSuffix(filepath.Base(found[0]), ".json")
	content, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var stored struct{ Hash string }
	if err := json.Unmarshal(content, &stored); err != nil {
		t.Fatal(err)
	}
	p.write("failures/"+id+".json", string(content))

	names := func(text string, list ...string) {
		t.Helper()
		for _, name := range list {
			if !strings.Contains(text, name) {
				t.Errorf("%s is not named: %s", name, text)
			}
		}
	}
	for _, c := range []struct {
		name    string
		change  func()
		outputs [2]string
	}{
		{"the campaign's output is removed", func() { os.Remove(p.path("explore.txt")); os.Remove(p.path("progress.txt")) }, none},
		{"a file is added", func() { p.write("notes.txt", ""); p.write("folder/more.txt", "") }, none},
		{"output is written into it", func() {}, [2]string{"out.txt", "err.txt"}},
		{"an editor's swap file", func() { p.write(".server.py.swp", "") }, none},
		{"permissions change", func() { p.chmod("store.py", 0o600); p.chmod(".", 0o711) }, none},
		{"a module that is not there yet", func() { p.write("plugin.py", "raise SystemExit(1)\n"); p.write("optional.conf", "") }, none},
	} {
		c.change()
		out, stderr := p.bloodhound(violated, c.outputs, "replay", id)
		if c.outputs[0] != "" {
			text, _ := os.ReadFile(p.path(c.outputs[0]))
			out = string(text)
		}
		if !strings.Contains(out, "replayed: the same trace hash and the same violation") {
			t.Errorf("%s: %s%s", c.name, out, stderr)
		}
		if strings.Contains(c.name, "module") {
			names(stderr, ".server.py.swp", "a program looked for optional.conf")
		}
	}
	var explained struct{ Hash string }
	out, _ := p.bloodhound(unknown, none, "explain", id, "--runs", "3", "--json")
	if err := json.Unmarshal([]byte(out), &explained); err != nil || explained.Hash != stored.Hash {
		t.Errorf("explained: %v\n%s", err, out)
	}
	p.bloodhound(unknown, none, "shrink", id, "--shrink-runs", "3")

	// A server that has changed and fails as before: the committed file stays as it was.
	for _, name := range []string{"plugin.py", "optional.conf"} {
		os.Remove(p.path(name))
	}
	committed := filepath.Join("failures", id+".json")
	p.write("server.py", "# a comment\n"+forgetfulServer)
	_, stderr := p.bloodhound(unknown, none, "shrink", committed, "--shrink-runs", "3")
	names(stderr, "the run has changed", "server.py has changed", "stays as it was")
	if now, err := os.ReadFile(p.path(committed)); err != nil || !bytes.Equal(now, content) {
		t.Errorf("the committed file was written: %v", err)
	}

	// A fix that comes with a module is seen, and named.
	p.write("last.py", strings.Replace(forgetfulStore, "values.setdefault(path, value)", "values[path] = value", 1))
	p.write("server.py", strings.Replace(forgetfulServer, "import store", "import last as store", 1))
	out, _ = p.bloodhound(unknown, none, "replay", id)
	names(out, "no longer shows the violation", "server.py has changed", "last.py")
	p.bloodhound(holds, none, "run")
}
