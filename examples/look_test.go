package examples

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

// keeper is a server that keeps what it is sent in a file, changes and removes files of its image of the machine, and at last breaks its promise.
const keeper = `import os, socket, threading
os.makedirs('/data', exist_ok=True)
os.remove('/site/old.txt'); os.rename('/site/a.txt', '/site/b.txt'); os.chmod('/site/kept.txt', 0o600); open('/site/grown.txt', 'a').write('more')
os.symlink('/data/log', '/data/link')
threading.Thread(target=lambda: threading.Event().wait(), daemon=True).start()
s = socket.create_server(('', 7000))
while True:
    c, _ = s.accept()
    b = c.recv(100)
    with open('/data/log', 'ab') as f: f.write(b + b'\n')
    c.sendall(b'broken' if b == b'last' else b'ok'); c.close()
`

const asker = `import json, os, socket, sys
report = open(os.environ['BLOODHOUND_REPORT'], 'ab', buffering=0)
def tell(**x): report.write(json.dumps(x).encode() + b'\n')
for i, m in enumerate(['m%d' % i for i in range(20)] + ['last']):
    tell(client='c', type='invoke', op='put', key='k', input=m)
    c = socket.create_connection(('n1', 7000)); c.sendall(m.encode()); got = c.recv(100).decode(); c.close()
    tell(client='c', type='ok', op='put', output=got)
`

// TestLooking stops the replay of a failure at points of its run and asks for all that can be shown there. Each replay is the stored run.
func TestLooking(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	needs.Program(t, "python3")
	program, dir := bloodhound(t), t.TempDir()
	for name, text := range map[string]string{"keeper.py": keeper, "asker.py": asker, "site/old.txt": "old", "site/a.txt": "a", "site/kept.txt": "kept", "site/grown.txt": "grown ", "bloodhound.yaml": `
simulation: {max_time: 20s}
nodes: {n1: {command: [python3, keeper.py], volumes: ["./site:/site"]}}
workload: {driver: command, config: {command: [python3, asker.py]}}
properties: [{name: honest, kind: safety, check: {type: expression, condition: 'none(ops, .type == "ok" and .output == "broken")'}}]
`} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := call(t, program, "run", dir); code != violated {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, ".bloodhound", "failures", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	id := strings.TrimSuffix(filepath.Base(files[0]), ".json")
	look := func(flags ...string) []byte {
		t.Helper()
		out, code := call(t, program, append([]string{"replay", id, dir}, flags...)...)
		if code != 0 {
			t.Fatalf("%v: exit code %d\n%s", flags, code, out)
		}
		return out
	}
	core := filepath.Join(dir, "n1.core")
	for _, at := range []string{"0", "1", "2", "5", "50", "1ms", "700", "violation"} {
		var doc struct {
			Same bool `json:"same_run"`
			At   struct {
				Event     uint64
				Processes []struct {
					Node    string
					PID     int
					Threads []struct{ Call string }
				}
				Files []struct{ Node, Change, Path, Mode, Target string }
			}
		}
		out := look("--at", at, "--json", "--ps", "--sockets", "--files", "--ls", "n1:/", "--pcap", filepath.Join(dir, "x.pcapng"))
		if err := json.Unmarshal(out, &doc); err != nil || !doc.Same {
			t.Errorf("at %s: %v, the same run %v", at, err, doc.Same)
		}
		if at != "violation" {
			continue
		}
		var changes []string
		for _, f := range doc.At.Files {
			if f.Node == "n1" {
				changes = append(changes, strings.TrimSpace(f.Change+" "+f.Path+" "+f.Mode+" "+f.Target))
			}
		}
		want := []string{"new /data drwxr-xr-x", "new /data/link Lrwxrwxrwx /data/log", "new /data/log -rw-r--r--", "removed /site/a.txt", "new /site/b.txt -rw-r--r--", "changed /site/grown.txt -rw-r--r--", "attributes /site/kept.txt -rw-------", "removed /site/old.txt"}
		if !slices.Equal(changes, want) {
			t.Errorf("changes\n%s\nwant\n%s", strings.Join(changes, "\n"), strings.Join(want, "\n"))
		}
		for _, p := range doc.At.Processes {
			if p.Node != "n1" {
				continue
			}
			if len(p.Threads) != 2 || p.Threads[1].Call != "futex" {
				t.Errorf("n1 has the threads %+v", p.Threads)
			}
			look("--core", fmt.Sprintf("n1/%d", p.PID), "-o", core)
			if gdb := needs.Program(t, "gdb"); true {
				text, _ := exec.Command(gdb, "-nx", "-batch", "-ex", "thread apply all bt 3", "/usr/bin/python3", core).CombinedOutput()
				if strings.Count(string(text), "Thread ") < 2 {
					t.Errorf("gdb shows\n%s", text)
				}
			}
		}
	}
	if got := look("--cat", "n1:/data/link"); !strings.HasSuffix(string(got), "m18\nm19\nlast\n") {
		t.Errorf("the log is %q", got)
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(look("--tar", "n1:/site"))); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		names = append(names, h.Name+"="+string(text))
	}
	if want := []string{"site/=", "site/b.txt=a", "site/grown.txt=grown more", "site/kept.txt=kept"}; !slices.Equal(names, want) {
		t.Errorf("the archive has %q, want %q", names, want)
	}
}
