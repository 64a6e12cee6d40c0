//go:build linux && amd64

package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// leaver is a program that the engine refuses a call, and that ends badly. blamed is empty where the refusal is no reason for that.
type leaver struct {
	name, source string
	blamed       string
}

const setup = `
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static long ring(void) { char p[120] = {0}; return syscall(SYS_io_uring_setup, 8, p); }
static void must(void) { if (ring() < 0) { perror("io_uring"); exit(1); } }
`

var leaversInC = []leaver{
	{"exit", `int main() { must(); }`, "io_uring_setup"},
	{"abort", `int main() { if (ring() < 0) { fprintf(stderr, "no ring\n"); abort(); } }`, "io_uring_setup"},
	{"killed by itself", `int main() { if (ring() < 0) kill(getpid(), SIGKILL); }`, "io_uring_setup"},
	{"maps what it did not get", `int main() { int fd = ring();
		if (mmap(0, 4096, 3, MAP_SHARED, fd, 0) == MAP_FAILED) { perror("mmap"); close(fd); exit(3); } }`, "io_uring_setup"},
	{"tidies up", `int main() { int log = open("run.log", O_CREAT|O_WRONLY|O_APPEND, 0600), pid = creat("pid", 0600); if (ring() < 0) {
		dprintf(log, "no ring\n"); fsync(log); close(log); unlink("pid"); close(pid); exit(1); } }`, "io_uring_setup"},
	{"another call last", `int main() { ring(); syscall(SYS_io_setup, 8, 0); perror("io_setup"); exit(1); }`, "io_setup"},
	{"reads of itself", `int main() { if (ring() < 0) { char b[4096];
		int fd = open("/proc/self/maps", O_RDONLY); write(2, b, read(fd, b, sizeof b)); exit(1); } }`, "io_uring_setup"},
	{"while another thread waits", `static void *w(void *a) { for (;;) { struct timespec t = {0, 1000000}; nanosleep(&t, 0); } }
		int main() { pthread_t t; pthread_create(&t, 0, w, 0); usleep(5000); must(); }`, "io_uring_setup"},
	{"by another thread", `static void *w(void *a) { return (void *)ring(); }
		int main() { pthread_t t; void *r; pthread_create(&t, 0, w, 0); pthread_join(t, &r); if ((long)r < 0) exit(1); }`, "io_uring_setup"},
	{"of a child", `int main() { if (fork() == 0) { must(); _exit(0); }
		int s; wait(&s); if (s) { fprintf(stderr, "the child failed\n"); exit(1); } }`, "io_uring_setup"},

	{"falls back", `int main() { if (ring() < 0) { int e = epoll_create1(0); struct epoll_event v; epoll_wait(e, &v, 1, 50); abort(); } }`, ""},
	{"reads its settings", `int main() { ring(); int fd = open("/etc/hostname", O_RDONLY); char b[99]; read(fd, b, 99); exit(1); }`, ""},
	{"misses its settings", `int main() { ring(); if (open("settings", O_RDONLY) < 0) { perror("settings"); exit(1); } }`, ""},
	{"reads what is open", `int main() { int fd = open("/etc/passwd", O_RDONLY); char b[99]; ring(); read(fd, b, 99); exit(1); }`, ""},
	{"writes data", `int main() { int fd = creat("data", 0600); ring(); write(fd, "x", 1); exit(1); }`, ""},
	{"makes what it needs", `int main() { ring(); mkdir("d", 0700); exit(1); }`, ""},
	{"goes on for long", `int main() { ring(); sleep(1); exit(1); }`, ""},
	{"breaks", `int main() { ring(); *(volatile int *)0 = 1; }`, ""},
	{"handles a fault, asks, and ends", `static void h(int s) { ring(); _exit(9); } int main() { signal(SIGSEGV, h); *(volatile int *)0 = 1; }`, ""},
	{"aborts, asks, and ends", `static void h(int s) { ring(); _exit(9); } int main() { signal(SIGABRT, h); abort(); }`, ""},
	{"is killed by its child", `int main() { int p = getpid(); if (fork() == 0) { usleep(1000); kill(p, SIGABRT); _exit(0); } ring(); pause(); }`, ""},
	{"its child falls back", `int main() { if (fork() == 0) { ring(); getcwd(0, 0); mkdir("d", 0700); _exit(7); } int s; wait(&s); exit(1); }`, ""},
	{"another child fails", `int main() { ring(); if (fork() == 0) _exit(7); int s; wait(&s); exit(1); }`, ""},
	{"executes another program", `int main() { ring(); execl("/bin/false", "false", (char *)0); exit(1); }`, ""},
	{"no refusal", `int main() { exit(1); }`, ""},
}

var leaversInPython = []leaver{
	{"raises", "import ctypes, os\nif ctypes.CDLL(None).syscall(425, 8, 0) < 0: raise OSError('io_uring is missing')", "io_uring_setup"},
	{"sys.exit", "import ctypes, sys\nif ctypes.CDLL(None).syscall(425, 8, 0) < 0: sys.exit('io_uring is missing')", "io_uring_setup"},
	{"check_call", "import subprocess, sys\n" +
		"subprocess.check_call([sys.executable, '-c', 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(425, 8, 0) < 0)'])", "io_uring_setup"},
	{"falls back", "import ctypes, select\nif ctypes.CDLL(None).syscall(425, 8, 0) < 0:\n  e = select.epoll()\n  e.poll(0.01)\n  raise SystemExit(3)", ""},
	{"reads settings", "import ctypes\nctypes.CDLL(None).syscall(425, 8, 0)\nopen('settings.json')", ""},
}

// A program that ends because the engine refused a call is not to blame; one that went on without the call, and ended later, is.
//
//ci:underway
func TestRefusals(t *testing.T) {
	judge := func(t *testing.T, l *leaver, spec *world.Spec) {
		_, out := run(t, spec, 1)
		var ends []record.Crash
		for _, c := range out.Crashes {
			if c.PID == 10 { // the main process
				ends = append(ends, c)
			}
		}
		if len(ends) != 1 {
			t.Fatalf("it ended badly %d times, with the log %q", len(ends), texts(out.Log, ""))
		}
		blamed := ""
		if r := ends[0].Refusal; r != nil {
			blamed = r.Call
		}
		if blamed != l.blamed {
			t.Errorf("%q is blamed for %+v, and %q is to blame", blamed, ends[0], l.blamed)
		}
	}
	t.Run("C", func(t *testing.T) {
		needCompiler(t)
		for i := range leaversInC {
			l := &leaversInC[i]
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				source := filepath.Join(t.TempDir(), "leaver.c")
				if err := os.WriteFile(source, []byte(setup+l.source), 0o666); err != nil {
					t.Fatal(err)
				}
				judge(t, l, aloneSpec(compile(t, source)))
			})
		}
	})
	t.Run("Python", func(t *testing.T) {
		python := needs.Program(t, "python3")
		for i := range leaversInPython {
			l := &leaversInPython[i]
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				spec := aloneSpec(python, "main.py")
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "main.py"), []byte(l.source+"\n"), 0o666); err != nil {
					t.Fatal(err)
				}
				spec.Dir, spec.Nodes[0].WorkingDir = dir, dir
				spec.Nodes[0].Volumes = []world.Volume{{Kind: world.Bind, Source: dir, Target: dir}}
				judge(t, l, spec)
			})
		}
	})
	t.Run("shell", func(t *testing.T) {
		needCompiler(t)
		source := filepath.Join(t.TempDir(), "leaver.c")
		if err := os.WriteFile(source, []byte(setup+leaversInC[0].source), 0o666); err != nil {
			t.Fatal(err)
		}
		program := compile(t, source)
		for _, l := range []leaver{
			{"set -e", "set -e; PROGRAM; echo never", "io_uring_setup"},
			{"says so", "PROGRAM || { echo failed >&2; exit 4; }", "io_uring_setup"},
			{"waits", "PROGRAM & wait $!", "io_uring_setup"},
			{"falls back", "PROGRAM || /bin/false", ""},
			{"tries, and executes another one", "PROGRAM; exec /bin/false", ""},
		} {
			t.Run(l.name, func(t *testing.T) {
				spec := aloneSpec(program)
				spec.Nodes[0].Command = []string{"/bin/sh", "-c", strings.ReplaceAll(l.source, "PROGRAM", program)}
				judge(t, &l, spec)
			})
		}
	})
}
