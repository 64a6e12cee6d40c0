package examples

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// A worker fills a database with the quickstart's runs. A dashboard follows it, and when no worker runs any more, one on a copy of the folder shows each page in a browser.
func TestDashboardOfAWorker(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the native engine runs on Linux on x86-64")
	}
	visit := needs.Browser(t)
	program := bloodhound(t)
	folder := t.TempDir()
	db, moved := filepath.Join(folder, "db"), filepath.Join(folder, "elsewhere")
	worker := start(t, program, "worker", "quickstart", "--store", db, "--slice", "5s")
	worker.line("worker ")
	live := start(t, program, "dashboard", "--store", db, "--listen", "127.0.0.1:0")
	address := shownAt(live)
	var o struct {
		Overview struct {
			Tests []struct {
				ID   string
				Runs int
			}
			Failures []struct{ ID string }
		}
	}
	events, err := http.Get(address + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	for changes := bufio.NewScanner(events.Body); len(o.Overview.Failures) == 0 || o.Overview.Tests[0].Runs < 10; {
		if !changes.Scan() {
			t.Fatal("the dashboard reports no more changes")
		}
		r, err := http.Get(address + "/api/v1/overview")
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(r.Body).Decode(&o)
		r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	if body, _ := visit(address+"/workers", "--dump-dom"); !strings.Contains(body, "at work") {
		t.Errorf("the worker is not at work:\n%.2000s", body)
	}
	worker.end()
	live.end()

	if err := os.CopyFS(moved, os.DirFS(db)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(db); err != nil {
		t.Fatal(err)
	}
	address = shownAt(start(t, program, "dashboard", "--store", moved, "--listen", "127.0.0.1:0"))
	test := o.Overview.Tests[0].ID
	for path, wants := range map[string][]string{
		"/": {">linearizable in <a"}, "/test?id=" + test: {"linearizable"}, "/failure?test=" + test + "&id=" + o.Overview.Failures[0].ID: {"register/", `<th title="linux `}, "/workers": {"drained"}, "/corpus?test=" + test: {"entries"},
		"/compare?test=" + test: {"Compare builds of"}, "/database": {">span<"},
	} {
		body, console := visit(address+path, "--dump-dom")
		for line := range strings.Lines(console) { // a frame without script says that it has none
			if !strings.Contains(line, "the document's frame is sandboxed") {
				t.Errorf("%s: the console says %s", path, line)
			}
		}
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s has no %q:\n%.4000s", path, want, body)
			}
		}
	}
}

// running is a program that was started, and whose output is read by lines.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, program string, arguments ...string) *running {
	t.Helper()
	cmd := exec.Command(program, arguments...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{t, cmd, bufio.NewScanner(out)}
	t.Cleanup(r.end)
	return r
}

// line is the next line with a text.
func (r *running) line(text string) string {
	r.t.Helper()
	var all []string
	for r.lines.Scan() {
		if all = append(all, r.lines.Text()); strings.Contains(r.lines.Text(), text) {
			return r.lines.Text()
		}
	}
	r.t.Fatalf("%s says no %q:\n%s", r.cmd, text, strings.Join(all, "\n"))
	return ""
}

// end ends the program as an operator does, and waits for it.
func (r *running) end() {
	if r.cmd.ProcessState != nil {
		return
	}
	r.cmd.Process.Signal(syscall.SIGTERM)
	for r.lines.Scan() {
	}
	r.cmd.Wait()
}

var shownAddress = regexp.MustCompile(`http://\S+`)

func shownAt(r *running) string { return shownAddress.FindString(r.line("http://")) }
