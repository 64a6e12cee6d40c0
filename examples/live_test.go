package examples

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// kvServer builds and starts the server of examples/live, with some records. It gives a connection to it.
func kvServer(t *testing.T, program, folder string) *kvClient {
	t.Helper()
	build := exec.Command(program, "live", "build", "./kv", "-o", filepath.Join(folder, "kv"))
	build.Dir = "live" // a module of its own
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("live build: %v\n%s", err, out)
	}
	for _, name := range []string{"rules.txt", "rules-mended.txt"} {
		copyWith(t, filepath.Join("live", name), folder)
	}
	write(t, filepath.Join(folder, "live.yaml"), "store: dir:store\ncheckpoint_every: 1s\nbudget: {cpus: 2, path_time: 20s}\nnodes: {kv: {socket: kv.sock}}\n")
	server := exec.Command("./kv", "-listen", "127.0.0.1:0")
	server.Dir, server.Env = folder, append(os.Environ(), "BLOODHOUND_LIVE_SOCKET="+filepath.Join(folder, "kv.sock"))
	out, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, ok := strings.Cut(strings.TrimSpace(line), "listens at ")
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, line)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &kvClient{t, server.Process.Pid, conn, bufio.NewScanner(conn)}
}

type kvClient struct {
	t       *testing.T
	pid     int
	conn    net.Conn
	answers *bufio.Scanner
}

func (c *kvClient) ask(format string, args ...any) string {
	c.t.Helper()
	fmt.Fprintf(c.conn, format+"\n", args...)
	if !c.answers.Scan() {
		c.t.Fatal("the server has ended")
	}
	return c.answers.Text()
}

// A running server is explored in the state that it has: each record that the wrong rule gives away is found, and no other; with the mended rules none is. The server goes on, and nothing
// of a copy is left.
func TestLive(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("builds a program with another runtime: Linux x86-64, and not with -short")
	}
	t.Parallel()
	program, folder := bloodhoundLive(t), t.TempDir()
	server := kvServer(t, program, folder)
	run := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, append([]string{"live"}, args...)...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if code := cmd.ProcessState.ExitCode(); err != nil && !errors.As(err, &exit) || code != want {
			t.Errorf("live %v: exit code %d instead of %d, %v\n%s", args, code, want, err, out)
		}
		return string(out)
	}
	if out := run(0, "--once"); !strings.Contains(out, "no condition was left to negate") && !strings.Contains(out, "more values than were tried") || strings.Contains(out, "NEW") {
		t.Errorf("of an empty table:\n%s", out)
	}
	for _, key := range []int{1000, 2010, 2949, 2950, 2999} {
		if answer := server.ask("SET %d %d 7", map[bool]int{false: 150, true: 250}[key >= 2000], key); answer != "ok" {
			t.Fatal(answer)
		}
	}
	out := run(1, "--once")
	for key, want := range map[int]bool{1000: false, 2010: false, 2949: false, 2950: true, 2999: true} {
		if strings.Contains(out, fmt.Sprintf("NEW record %d stays with its tenant: user=0x", key)) != want {
			t.Errorf("record %d, wanted %t:\n%s", key, want, out)
		}
	}
	if out := run(0, "try", "--change", "rules-mended.txt"); strings.Count(out, "gone record 29") != 2 {
		t.Errorf("%s", out)
	}
	if out := run(1, "try", "--change", "live.yaml"); !strings.Contains(out, "BROUGHT the change is refused: rule ") {
		t.Errorf("%s", out)
	}
	// The server has its own rules and records, and the next checkpoint shows the same again.
	if answer := server.ask("SET 300 2999 8") + server.ask("GET 1 2999"); answer != "ok8" {
		t.Error(answer)
	}
	if answer := server.ask("SET 250 2999 7"); answer != "ok" {
		t.Error(answer)
	}
	if out := run(1, "--once"); strings.Count(out, "again record ") != 2 {
		t.Errorf("%s", out)
	}
	if out, err := exec.Command(program, "dashboard", "--store", "dir:"+filepath.Join(folder, "store"), "--export", filepath.Join(folder, "pages")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	shown := 0
	pages, _ := filepath.Glob(filepath.Join(folder, "pages", "failure-*.html"))
	for _, name := range pages {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "<h2>Inputs</h2>") && strings.Contains(string(text), ">0xb86<") || strings.Contains(string(text), ">0xbb7<") {
			shown++
		}
	}
	if len(pages) != 2 || shown != 2 {
		t.Errorf("%d pages, of which %d show the inputs", len(pages), shown)
	}
	noCopies(t, server.pid)
	// Whoever explores may be killed at any time.
	for range 5 {
		cmd := exec.Command(program, "live")
		cmd.Dir = folder
		lines, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		bufio.NewReader(lines).ReadString('\n')
		cmd.Process.Kill()
		cmd.Wait()
	}
	noCopies(t, server.pid)
	if answer := server.ask("GET 1 2999"); answer != "7" {
		t.Error(answer)
	}
}

// noCopies waits until a process has no child.
func noCopies(t *testing.T, pid int) {
	t.Helper()
	var children []byte
	for range 1000 {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		children = nil
		for _, name := range lists {
			text, _ := os.ReadFile(name)
			children = append(children, text...)
		}
		if len(children) == 0 && len(lists) > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // the kernel ends them
	}
	t.Errorf("process %d has copies left: %s", pid, children)
}
