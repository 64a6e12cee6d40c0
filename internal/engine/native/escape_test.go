//go:build linux && amd64

package native_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The probes of testdata/escape try to leave their world, as root or not, under both ways of interception. Their node has a folder of
// its own as its root. Each probe is contained. The host's file is not read, its folder is not changed, its process lives on, its
// listeners are not reached, and the time that programs have is not the host's.
func TestProbesAreContained(t *testing.T) {
	eachProgram(t, "escape", func(t *testing.T, name, source string) {
		program := compile(t, source, "-static")
		for _, mode := range []string{"notified", "reference"} {
			t.Run(mode, func(t *testing.T) {
				if t.Setenv(native.ReferenceVariable, ""); mode == "reference" {
					t.Setenv(native.ReferenceVariable, "1")
				}
				h := newHost(t)
				log, out := run(t, escapeSpec(t, program, h.env()), 1)
				h.judge(t, log)
				if out.Reason != record.Finished {
					t.Errorf("the world ended by %s %s", out.Reason, out.Detail)
				}
				probes := 0
				for _, l := range log {
					if !strings.HasPrefix(l.Text, "probe ") {
						continue
					}
					probes++
					if strings.HasSuffix(l.Text, ": GOT OUT") || strings.HasSuffix(l.Text, ": not run") {
						t.Error(l.Text)
					}
				}
				if text, _ := os.ReadFile(source); probes == 0 || probes != len(listed.FindAll(text, -1)) {
					t.Errorf("%d probes were made", probes)
				}
				if left := running(t, program); len(left) > 0 {
					t.Errorf("processes are left: %v", left)
				}
				if t.Failed() || testing.Verbose() {
					for _, l := range log {
						t.Log(l.Stream, l.Text)
					}
					t.Logf("reproducible=%v %s; refused: %v", out.Repeat.Reproducible, out.Repeat.Reason, out.Refused)
				}
			})
		}
	})
}

// listed are the probes of a program.
var listed = regexp.MustCompile(`\{"[^"]+", \w+\}`)

// escapeSpec is a world whose node has nothing but a program.
func escapeSpec(t *testing.T, program string, env []string) *world.Spec {
	root := t.TempDir()
	if err := os.Link(program, filepath.Join(root, "escape")); err != nil {
		t.Fatal(err)
	}
	spec := aloneSpec(program)
	n := &spec.Nodes[0]
	n.Root, n.Command, n.Env = root, []string{"/escape"}, env
	n.Volumes = []world.Volume{{Kind: world.Named, Source: "work", Target: "/work"}}
	spec.MaxTimeNs, spec.Limits.WallMs = 600e9, 300_000
	return spec
}

// machine holds the parts of the machine that a world must not reach.
type machine struct {
	secret, file, folder, socket string
	tcp                          net.Listener
	udp                          net.PacketConn
	unix, abstract               net.Listener
	victim                       *exec.Cmd
	input                        io.Closer
	reached                      atomic.Int32
}

func newHost(t *testing.T) *machine {
	t.Helper()
	dir := t.TempDir()
	h := &machine{secret: fmt.Sprintf("secret-%d-%d", os.Getpid(), time.Now().UnixNano()), file: filepath.Join(dir, "secret"),
		folder: filepath.Join(dir, "folder")}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.WriteFile(h.file, []byte(h.secret), 0o644))
	check(os.Mkdir(h.folder, 0o777))
	check(os.Chmod(h.folder, 0o777))
	check(os.WriteFile(filepath.Join(h.folder, "kept"), []byte("kept"), 0o666))
	short, err := os.MkdirTemp("", "bh") // a socket's path is short
	check(err)
	t.Cleanup(func() { os.RemoveAll(short) })
	h.socket = filepath.Join(short, "s")
	h.tcp, err = net.Listen("tcp", "127.0.0.1:0")
	check(err)
	h.udp, err = net.ListenPacket("udp", "127.0.0.1:0")
	check(err)
	h.unix, err = net.Listen("unix", h.socket)
	check(err)
	h.abstract, err = net.Listen("unix", "@"+h.socket)
	check(err)
	for _, l := range []net.Listener{h.tcp, h.unix, h.abstract} {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				h.reached.Add(1)
				c.Close()
			}
		}()
	}
	go func() {
		for {
			if _, _, err := h.udp.ReadFrom(make([]byte, 100)); err != nil {
				return
			}
			h.reached.Add(1)
		}
	}()
	h.victim = exec.Command("cat") // ends when its standard input does
	h.input, err = h.victim.StdinPipe()
	check(err)
	check(h.victim.Start())
	return h
}

func (h *machine) env() []string {
	port := func(a net.Addr) string { return a.String()[strings.LastIndex(a.String(), ":")+1:] }
	return []string{"SECRET=" + h.file, "WITNESS=" + h.folder, fmt.Sprintf("VICTIM=%d", h.victim.Process.Pid), "TCP_PORT=" + port(h.tcp.Addr()),
		"UDP_PORT=" + port(h.udp.LocalAddr()), "UNIX_PATH=" + h.socket}
}

// judge compares the machine with what it was.
func (h *machine) judge(t *testing.T, log []record.LogLine) {
	t.Helper()
	h.tcp.Close()
	h.udp.Close()
	h.unix.Close()
	h.abstract.Close()
	if n := h.reached.Load(); n > 0 {
		t.Errorf("listeners of the host were reached %d times", n)
	}
	h.input.Close()
	if err := h.victim.Wait(); err != nil {
		t.Errorf("a process of the host was hit: %v", err)
	}
	if b, err := os.ReadFile(h.file); err != nil || string(b) != h.secret {
		t.Errorf("a file of the host was changed: %q, %v", b, err)
	}
	files, _ := os.ReadDir(h.folder)
	if b, err := os.ReadFile(filepath.Join(h.folder, "kept")); len(files) != 1 || err != nil || string(b) != "kept" {
		t.Errorf("a folder of the host was changed: %v, %q, %v", files, b, err)
	}
	ids := fmt.Sprintf("/proc/%d/", os.Getpid())
	for _, l := range log {
		if strings.Contains(l.Text, h.secret) {
			t.Errorf("a file of the host was read: %s", l.Text)
		}
		if strings.Contains(l.Text, ids) {
			t.Errorf("an id of the host was read: %s", l.Text)
		}
		number, ok := strings.CutPrefix(l.Text, "time: ")
		if !ok {
			continue
		}
		seconds, err := strconv.ParseInt(number, 10, 64)
		if real := time.Now().Unix(); err != nil || seconds > real-86400 && seconds < real+86400 {
			t.Errorf("a program has the host's time: %s", l.Text)
		}
	}
}
