package imagetest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// Daemon starts Debian's Docker daemon, which knows nothing of others on this machine and touches none of its networks, and
// points clients at it.
func Daemon(t testing.TB) {
	t.Helper()
	program := needs.Program(t, "dockerd")
	if os.Getuid() != 0 {
		needs.Missing(t, "dockerd", "only root may run it")
	}
	dir, err := os.MkdirTemp("", "dockerd-") // the names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	output, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "docker.sock")
	cmd := exec.Command(program, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"), "--pidfile", filepath.Join(dir, "pid"),
		"--host", "unix://"+socket, "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none", "--storage-driver=vfs")
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		<-ended
		os.RemoveAll(dir)
	})
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	for {
		select {
		case err := <-ended:
			ended <- err
			text, _ := os.ReadFile(output.Name())
			needs.Missing(t, "dockerd", err, string(text))
		case <-time.After(100 * time.Millisecond):
		}
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return
		}
	}
}
