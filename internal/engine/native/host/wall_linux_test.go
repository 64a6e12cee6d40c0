//go:build linux && amd64

package host

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// The walls hold even for a thread of a world that makes calls in the engine's name: it reads what its node has, and cannot write,
// connect, signal, or read anything else.
func TestWallsHoldBehindTheGate(t *testing.T) {
	given, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{given, other} {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	onOwnThread(func() {
		m, err := NewMachine(&Tracer{}, Leaks{}, 1000, false)
		if err != nil {
			t.Error(err)
			return
		}
		defer m.Close()
		walls, err := Enclose([]string{given, "/nowhere"})
		if err != nil {
			t.Error(err)
			return
		}
		vdso, err := NewVDSO()
		if err != nil {
			t.Error(err)
			return
		}
		defer FreeVDSO(vdso)
		if err := m.Spawn(1, vdso); err != nil {
			t.Error(err)
			return
		}
		th := m.get(1)
		place := th.load().Rsp &^ 15
		opens := func(path string, flags uint64) int64 {
			m.writeAt(th, place-4096, append([]byte(path), 0))
			return m.execute(th, unix.SYS_OPENAT, 0, place-4096, flags, 0o600)
		}
		for _, c := range []struct {
			what string
			got  int64
			want unix.Errno // 0: it works
			wall bool       // it is Landlock's
		}{
			{"read a file of the node", opens(filepath.Join(given, "file"), unix.O_RDONLY|unix.O_CLOEXEC), 0, false},
			{"read another file", opens(filepath.Join(other, "file"), unix.O_RDONLY), unix.EACCES, true},
			{"write a file of the node", opens(filepath.Join(given, "file"), unix.O_RDWR), unix.EACCES, true},
			{"make a file", opens(filepath.Join(given, "new"), unix.O_RDWR|unix.O_CREAT), unix.EPERM, false},
			{"truncate a file", opens(filepath.Join(given, "file"), unix.O_RDWR|unix.O_TRUNC), unix.EPERM, false},
			{"append to a file", opens(filepath.Join(given, "file"), unix.O_WRONLY|unix.O_APPEND), unix.EPERM, false},
			{"socket", m.execute(th, unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0), unix.EPERM, false},
			{"kill", m.execute(th, unix.SYS_KILL, uint64(os.Getpid()), 0), unix.EPERM, false},
			{"ptrace", m.execute(th, unix.SYS_PTRACE, 0), unix.EPERM, false},
			{"prctl", m.execute(th, unix.SYS_PRCTL, unix.PR_SET_TSC, unix.PR_TSC_ENABLE), unix.EPERM, false},
			{"clock", m.execute(th, unix.SYS_CLOCK_GETTIME, 0, place-4096), unix.EPERM, false},
			{"execve", m.execute(th, unix.SYS_EXECVE, place-4096, 0, 0), unix.EPERM, false},
			{"execveat of a path", m.execute(th, unix.SYS_EXECVEAT, ^uint64(99), place-4096, 0, 0, 0), unix.EPERM, false},
		} {
			if c.wall && walls.Landlock == 0 {
				t.Logf("%s: no Landlock here: %v", c.what, walls.Why)
				continue
			}
			if c.want == 0 && c.got < 0 || c.want != 0 && c.got != -int64(c.want) {
				t.Errorf("%s: %d, want errno %d", c.what, c.got, c.want)
			}
		}
		if walls.Landlock > 0 {
			if _, err := os.Create(filepath.Join(given, "own")); err == nil {
				t.Error("the world's own thread can make files")
			}
		}
		if walls.Landlock >= 4 {
			s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer unix.Close(s)
			if err := unix.Connect(s, &unix.SockaddrInet4{Port: listener.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}); err != unix.EACCES {
				t.Errorf("the world's own thread connects to the host: %v", err)
			}
		}
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var sets [2]unix.CapUserData
		unix.Capget(&header, &sets[0])
		if rest := sets[0].Permitted &^ (1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH); rest|sets[1].Permitted != 0 {
			t.Errorf("capabilities are left: %x %x", rest, sets[1].Permitted)
		}
	})
}
