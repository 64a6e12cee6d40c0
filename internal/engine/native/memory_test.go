//go:build linux && amd64

package native_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// bounded is a world of one node whose memory is bounded, which runs a script of Python.
func bounded(t *testing.T, bytes int64, script string) *world.Spec {
	t.Helper()
	needs.Program(t, "/usr/bin/python3")
	spec := aloneSpec("/usr/bin/python3", "-c", script)
	spec.Nodes[0].Volumes = nil
	spec.Nodes[0].WorkingDir = "/"
	spec.Nodes[0].Env = []string{"PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"}
	spec.Nodes[0].Bounds.MemoryBytes = bytes
	return spec
}

// A program that takes more memory than its node has is killed, at the same event in each run; one that takes less is not.
// Memory counts however a process got it, and only while some process holds it.
//
//ci:underway
func TestMemoryLimit(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name, script string
		killed       bool
	}{
		{"heap", "x = [b'x' * 2**20 for i in range(80)]", true},
		{"small things", "x = [str(i) * 10 for i in range(700000)]", true},
		{"below", "x = [b'x' * 2**20 for i in range(40)]", false},
		{"untouched", "import mmap; x = mmap.mmap(-1, 2**30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)", false},
		{"given back", "for i in range(80): x = b'x' * 2**22", false},
		{"touched later", "import mmap, time; x = mmap.mmap(-1, 2**27, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); x[::4096] = b'x' * 2**15; time.sleep(1)",
			true},
		{"shared", "import mmap; x = mmap.mmap(-1, 2**27); x[::4096] = b'x' * 2**15; b'x' * 2**23", true},
		{"file in memory", "f = open('/dev/shm/f', 'wb'); [f.write(b'x' * 2**20) for i in range(80)]; b'x' * 2**23", true},
		{"file in memory and nothing else",
			"import os; b = b'x' * 2**20; f = os.open('/dev/shm/f', os.O_CREAT | os.O_WRONLY); [os.write(f, b) for i in " +
				"range(80)]; os.unlink('/dev/shm/f'); os.close(f)", true},
		{"file in memory at once", "import os; f = os.open('/dev/shm/f', os.O_CREAT | os.O_WRONLY); os.posix_fallocate(f, 0, 2**27); os.ftruncate(f, 0)", true},
		{"file in memory written again", "import os; b = b'x' * 2**20; f = os.open('/dev/shm/f', os.O_CREAT | os.O_WRONLY); " +
			"[os.pwrite(f, b, 0) for i in range(200)]", false},
		{"nameless file in memory", "import os; b = b'x' * 2**20; f = os.memfd_create('f'); [os.write(f, b) for i in range(80)]; os.close(f)", true},
		{"mapped file in memory", "import mmap; f = open('/dev/shm/f', 'w+b'); f.truncate(2**27); x = mmap.mmap(f.fileno(), 0); " +
			"x[::4096] = b'x' * 2**15; b'x' * 2**23", true},
		{"file on the disk", "f = open('/var/tmp/f', 'wb'); [f.write(b'x' * 2**20) for i in range(80)]", false},
		{"shared with a child", "import os, time; x = b'x' * (40 * 2**20); os.fork() or time.sleep(1); time.sleep(1)", false},
		{"with a child", "import os, time; os.fork(); x = b'x' * (40 * 2**20); time.sleep(1); os.wait()", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := bounded(t, 64*mib, c.script+"\nimport time; time.sleep(1); print('alive')")
			var hash string
			for i := range 3 {
				log, out := run(t, spec, 1)
				kernel := texts(log, "kernel")
				if killed := len(kernel) > 0; killed != c.killed || !out.Repeat.Reproducible {
					t.Fatalf("killed %v, want %v; %v; %s", killed, c.killed, texts(log, ""), out.Repeat.Reason)
				}
				if i > 0 && out.Hash != hash {
					t.Errorf("hash %s, and %s before", out.Hash, hash)
				}
				hash = out.Hash
				if !c.killed {
					if !slices.Contains(texts(log, "stdout"), "alive") {
						t.Errorf("it said %q", texts(log, ""))
					}
					continue
				}
				if !strings.HasPrefix(kernel[0], "Memory cgroup out of memory: Killed process ") || !strings.Contains(kernel[0], "65536kB") {
					t.Errorf("the kernel says %q", kernel[0])
				}
				if want := "n1: its memory limit of 64 MiB was reached, and python3"; len(out.Warnings) == 0 || !strings.HasPrefix(out.Warnings[0], want) {
					t.Errorf("warnings %q, want %q", out.Warnings, want)
				}
			}
		})
	}
}

// Who dies by a limit of memory is the largest, unless a score says otherwise; its parent sees SIGKILL, and a main process
// starts again as its node's policy says.
//
//ci:underway
func TestMemoryLimitKillsTheLargest(t *testing.T) {
	const script = `
import os, time
def child(score, mib):
    pid = os.fork()
    if pid == 0:
        open('/proc/self/oom_score_adj', 'w').write(str(score))
        x = b'x' * (mib * 2**20)
        time.sleep(10)
    return pid
small = child(%d, 20)
time.sleep(0.1)
large = child(%d, 60)
pid, status = os.wait()
print('small' if pid == small else 'large', os.WTERMSIG(status), open('/proc/self/oom_score_adj').read().strip())
os.kill(small, 9); os.kill(large, 9)
`
	for _, c := range []struct {
		small, large int
		want         string
	}{{7, 7, "large 9 7"}, {7, -1000, "small 9 7"}, {1000, 7, "small 9 7"}} {
		spec := bounded(t, 64<<20, fmt.Sprintf(script, c.small, c.large))
		spec.Nodes[0].Bounds.OOMScoreAdj = 7
		log, _ := run(t, spec, 1)
		if got := texts(log, "stdout"); len(got) != 1 || got[0] != c.want {
			t.Errorf("scores %d and %d: %q, want %q", c.small, c.large, got, c.want)
		}
	}
	spec := bounded(t, 64<<20, "print('start', flush=True); x = b'x' * 2**27; print('end', flush=True)")
	spec.Nodes[0].Restart = world.Restart{Mode: world.RestartOnFailure, MaxRetries: 2}
	log, out := run(t, spec, 1)
	if got := len(texts(log, "stdout")); got != 3 || len(out.Crashes) != 3 || out.Crashes[0].Signal != "SIGKILL" {
		t.Errorf("%q, crashes %+v", texts(log, ""), out.Crashes)
	}
}

// A Java machine takes its heap from the memory that its node has.
//
//ci:underway
func TestMemoryLimitOfJava(t *testing.T) {
	java := needs.Program(t, "java")
	if real, err := filepath.EvalSymlinks(java); err == nil {
		java = real
	}
	log, out := run(t, func() *world.Spec {
		spec := aloneSpec(java, "-XshowSettings:system", "-version")
		spec.Nodes[0].Volumes, spec.Nodes[0].WorkingDir, spec.Nodes[0].Bounds.MemoryBytes = nil, "/", 256<<20
		return spec
	}(), 1)
	if all := strings.Join(texts(log, ""), "\n"); !strings.Contains(all, "Provider: cgroupv2") ||
		!strings.Contains(all, "Memory Limit: 256.00M") || len(texts(log, "kernel")) > 0 {
		t.Errorf("it says\n%s", all)
	}
	if !out.Repeat.Reproducible {
		t.Error(out.Repeat.Reason)
	}
}
