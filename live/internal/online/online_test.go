//go:build linux && amd64

package online

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/attach"
	"github.com/bloodhound-dst/bloodhound/live/internal/config"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
)

// Whatever a handler does for an input, the search finds the input, says what came of it, and goes on with others.
func TestHandlersThatMisbehave(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program with another runtime")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	program, socket := filepath.Join(dir, "strange"), filepath.Join(dir, "s")
	if out, err := exec.Command("go", "run", "../../cmd/bloodhound-live", "build", "./testdata/strange", "--std=false",
		"-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	process := exec.Command(program)
	process.Env = append(os.Environ(), attach.SocketVariable+"="+socket)
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer process.Wait()
	defer process.Process.Kill()
	bufio.NewReader(out).ReadString('\n')

	budget := config.Budget{Explore: time.Hour, PathTime: 500 * time.Millisecond, Paths: 100, CPUs: 100, MemoryBytes: 512 << 20}
	pace := &Pace{cpus: 100, begun: time.Now()}
	node := config.Node{Name: "s", Socket: socket}
	for handler, what := range map[string]string{
		"fine": "", "spin": "the handler does not return within 500ms", "waits": "",
		"memory": "crash: the copy needs more than budget.memory_bytes", "exit": "crash: it ended without a word",
		"panic": "panic: at the disco", "fatal": "crash: fatal error: sync: unlock of unlocked mutex",
	} {
		x, err := Explore(context.Background(), &Task{Node: node, Handler: handler}, &budget, pace)
		if err != nil {
			t.Errorf("%s: %v", handler, err)
			continue
		}
		shows := func(what string, n uint64) bool {
			return slices.ContainsFunc(x.Findings, func(f search.Finding) bool {
				return strings.HasPrefix(f.What, what) && len(f.Inputs) == 1 && f.Inputs[0].Value == n
			})
		}
		switch {
		case handler == "fine":
			if x.Paths != 1 || len(x.Findings) != 0 || x.Left != "" {
				t.Errorf("%s: %+v", handler, x.Result)
			}
			continue
		case handler == "waits":
			if x.Stuck != 1 || len(x.Findings) != 1 || x.Left == "" {
				t.Errorf("%s: %d stuck, %+v", handler, x.Stuck, x.Result)
			}
		case !shows(what, 0xc0ffee) || len(x.Findings) != 2 || (x.Left == "") != (handler == "panic"):
			t.Errorf("%s: %+v", handler, x.Result)
		}
		if !shows("n is not 77", 77) {
			t.Errorf("%s: the other finding is missing: %+v", handler, x.Result)
		}
		// What is known is tried again.
		once := budget
		once.Paths = 1
		again, err := Explore(context.Background(), &Task{Node: node, Handler: handler, Known: x.Findings}, &once, pace)
		if err != nil || len(again.Known) != len(x.Findings) || slices.Contains(again.Known, false) {
			t.Errorf("%s again: %+v, %v", handler, again, err)
		}
	}
	for handler, problem := range map[string]string{"locked": "give live.Service a Hold", "none": "there is no handler none"} {
		if _, err := Explore(context.Background(), &Task{Node: node, Handler: handler}, &budget, pace); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", handler, err)
		}
	}
	// A process that plain `go build` has made is explored in another one, which takes its state.
	plain := exec.Command("go", "build", "-o", filepath.Join(dir, "plain"), "./testdata/strange")
	if out, err := plain.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	other := exec.Command(filepath.Join(dir, "plain"), "another state")
	other.Env = append(os.Environ(), attach.SocketVariable+"="+filepath.Join(dir, "o"))
	if out, err = other.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	bufio.NewReader(out).ReadString('\n')
	from := config.Node{Name: "o", Socket: filepath.Join(dir, "o"), Restore: []string{program}, Dir: dir}
	x, err := Explore(context.Background(), &Task{Node: from, Handler: "state"}, &budget, pace)
	if err != nil || len(x.Findings) != 1 || x.Findings[0].Values()[0] != 0xbeef || x.Left != "" {
		t.Errorf("a restored state: %+v, %v", x, err)
	}
	for _, c := range []struct {
		restore []string
		problem string
	}{
		{[]string{"/no-such-program"}, "restore: "},
		{[]string{"sh", "-c", "echo no state for me; exit 3"}, "has ended (exit status 3): no state for me"},
		{[]string{filepath.Join(dir, "plain")}, "was not built with `bloodhound live build`"},
		{nil, "set `restore` for the node"},
	} {
		from.Restore = c.restore
		if _, err := Explore(context.Background(), &Task{Node: from, Handler: "state"}, &budget, pace); err == nil ||
			!strings.Contains(err.Error(), c.problem) {
			t.Errorf("restored by %q: %v", c.restore, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "bloodhound-live-*", "state")); len(left) > 0 {
		t.Errorf("files are left: %q", left)
	}
	if _, err := Explore(context.Background(), &Task{Node: node, Handler: "fine", Change: []byte("x")}, &budget,
		pace); err == nil || !strings.Contains(err.Error(), "set Change in its live.Service") {
		t.Error(err)
	}
}

// Exploring waits when it has used more than its share.
func TestPace(t *testing.T) {
	p := &Pace{cpus: 0.5, begun: time.Now().Add(-time.Hour)}
	p.used = -p.own() - p.checkpoint(os.Getpid())
	p.wait(context.Background(), os.Getpid())
	before := p.skipped
	if before < 59*time.Minute {
		t.Errorf("an hour without work is made up for: %v", p.skipped)
	}
	p.spent(time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool)
	go func() { p.wait(ctx, os.Getpid()); close(done) }()
	select {
	case <-done:
		t.Error("an hour of CPU time is for nothing")
	case <-time.After(50 * time.Millisecond): // it waits
	}
	cancel()
	<-done
}
