//go:build linux && amd64

package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// sharers are nodes that run scripts and have one volume, at /v of each.
func sharers(v world.Volume, scripts ...string) *world.Spec {
	s := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 20e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50}}
	v.Shared, v.Target = true, "/v"
	for i, script := range scripts {
		n := world.Node{Name: "n" + string(rune('1'+i)), Role: world.Server, Root: "host", WorkingDir: "/", Command: []string{"/bin/sh", "-c", script},
			Env: []string{"PATH=/usr/bin:/bin"}, IPv4: "10.77.0.1" + string(rune('0'+i)), Volumes: []world.Volume{v}}
		n.Hostname = n.Name
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

var sharedVolume = world.Volume{Kind: world.Named, Source: "v"}

// said runs a world twice and gives what each node printed.
func said(t *testing.T, s *world.Spec) map[string]string {
	t.Helper()
	log, out := run(t, s, 1)
	if _, again := run(t, s, 1); again.Hash != out.Hash || !out.Repeat.Reproducible {
		t.Errorf("two runs: %s and %s, %s", out.Hash, again.Hash, out.Repeat.Reason)
	}
	got := map[string]string{}
	for _, l := range log {
		got[l.Node] += l.Text + "\n"
	}
	return got
}

// What one node writes, renames, removes or changes in a volume, others see, and the files that they have open stay usable.
func TestSharedVolume(t *testing.T) {
	got := said(t, sharers(sharedVolume, `cd /v; mkdir -p a/b; echo one >a/b/f; ln a/b/f a/g; ln -s g a/l; chmod 640 a/g; mkfifo p; : >ready
while ! [ -e seen ]; do sleep 0.1; done; mv a/b c; echo two >>c/f; rm a/g; : >again; sleep 1; cat from2; stat -c '%n %F %a %h' *`,
		`cd /v; while ! [ -e ready ]; do sleep 0.1; done; cat a/b/f; stat -c '%n %a %h' a/g; readlink a/l; pwd -P; exec 3<a/g; : >seen
while ! [ -e again ]; do sleep 0.1; done; cat <&3; cat c/f; ls a; (cd c && pwd -P; ls ..); echo from two >from2; mv /v/c /tmp/c && cat /tmp/c/f; rmdir a/b 2>&1; rmdir /v 2>&1`))
	want := map[string]string{
		"n1": "from two\na directory 755 1\nagain regular empty file 644 1\nfrom2 regular file 644 1\np fifo 644 1\nready regular " +
			"empty file 644 1\nseen regular empty file 644 1\n",
		"n2": "one\na/g 640 2\ng\n/v\none\ntwo\none\ntwo\nl\n/v/c\na\nagain\nc\np\nready\nseen\none\ntwo\nrmdir: failed to remove " +
			"'a/b': No such file or directory\nrmdir: failed to remove '/v': Device or resource busy\n",
	}
	for node := range want {
		if got[node] != want[node] {
			t.Errorf("%s printed\n%s\nwant\n%s", node, got[node], want[node])
		}
	}
}

// A lock keeps programs of other nodes out, and the end of its holder lets them in.
func TestLocksOfSharedVolumes(t *testing.T) {
	needs.Program(t, "python3")
	for _, call := range []string{"flock", "lockf"} {
		t.Run(call, func(t *testing.T) {
			count := strings.ReplaceAll(`python3 -c '
import fcntl, os, time
f = os.open("/v/n", os.O_RDWR | os.O_CREAT)
for i in range(50):
    fcntl.CALL(f, fcntl.LOCK_EX)
    n = int(os.pread(f, 20, 0) or b"0")
    time.sleep(0.001)
    os.pwrite(f, b"%d" % (n + 1), 0)
    fcntl.CALL(f, fcntl.LOCK_UN)
print("done")'`, "CALL", call)
			got := said(t, sharers(sharedVolume, count+"; sleep 2; cat /v/n; echo", count, count))
			if got["n1"] != "done\n150\n" || got["n2"] != "done\n" || got["n3"] != "done\n" {
				t.Errorf("%q", got)
			}
		})
	}
	got := said(t, sharers(sharedVolume, `exec 9>/v/lock; flock 9; : >/v/held; sleep 2; kill -9 $$`,
		`while ! [ -e /v/held ]; do sleep 0.1; done; exec 9>/v/lock; flock -n 9 || echo held; flock 9; echo mine`))
	if got["n2"] != "held\nmine\n" {
		t.Errorf("the lock of a process that is killed: %q", got["n2"])
	}
}

// A map shows what another node writes, and a watch reports it.
func TestMapsAndWatchesOfSharedVolumes(t *testing.T) {
	needs.Program(t, "python3")
	got := said(t, sharers(sharedVolume, `python3 -c '
import ctypes, mmap, os
f = os.open("/v/map", os.O_RDWR | os.O_CREAT); os.ftruncate(f, 4096)
m = mmap.mmap(f, 4096)
libc = ctypes.CDLL(None)
w = libc.inotify_init1(0)
libc.inotify_add_watch(w, b"/v", 8) # IN_CLOSE_WRITE
open("/v/ready", "x")
e = os.read(w, 4096)
while b"map" not in e: e += os.read(w, 4096)
print(m[:5])'`, `while ! [ -e /v/ready ]; do sleep 0.1; done; sleep 1; printf hello | dd of=/v/map conv=notrunc 2>/dev/null; sleep 2`))
	if got["n1"] != "b'hello'\n" {
		t.Errorf("%q", got)
	}
}

// A bind mount that nodes share begins with what this machine has, which stays as it is; one may have it read-only.
func TestSharedBind(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("host\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := sharers(world.Volume{Kind: world.Bind, Source: dir}, `exec 2>&1; cat /v/f; echo changed >/v/f; echo new >/v/new; sleep 2; cat /v/f`,
		`exec 2>&1; sleep 1; cat /v/f /v/new; echo no >/v/f; rm /v/f; ls /v`)
	s.Nodes[1].Volumes[0].ReadOnly = true
	got := said(t, s)
	if want := "changed\nnew\n/bin/sh: 1: cannot create /v/f: Read-only file system\nrm: cannot remove '/v/f': Read-only file " +
		"system\nf\nnew\n"; got["n2"] != want {
		t.Errorf("n2 printed\n%s\nwant\n%s", got["n2"], want)
	}
	if got["n1"] != "host\nchanged\n" {
		t.Errorf("n1 printed %q", got["n1"])
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "f")); string(b) != "host\n" {
		t.Errorf("this machine's file is %q now", b)
	}
}

// A node that loses its power loses what was not synchronised on its own disk, and nothing of a volume that it shares.
//
//ci:underway
func TestPowerLossBesideSharedVolumes(t *testing.T) {
	s := sharers(sharedVolume, `if [ -e /v/one ]; then echo again; cat /v/one /own/two; else echo kept >/v/one; echo own >/own/two; fi; exec sleep 100`,
		`sleep 6; cat /v/one`)
	s.Nodes[0].Volumes = append(s.Nodes[0].Volumes, world.Volume{Kind: world.Named, Source: "own", Target: "/own"})
	s.MaxTimeNs = 8e9
	s.Faults = world.Faults{Enabled: true, StartNs: 2e9, StopNs: 6e9,
		Rules: []world.FaultRule{{Kind: "power_loss", RatePPM: 1e6, MinNs: 1e8, MaxNs: 2e8, Max: 1, Targets: []string{"n1"}}}}
	s.Workloads = []world.Workload{{Name: "idle", Driver: "command", Node: "c", Clients: 1, DurationNs: 6e9, Command: []string{"/bin/sleep", "6"}}}
	s.Nodes = append(s.Nodes, world.Node{Name: "c", Hostname: "c", Role: world.Client, Root: "host", WorkingDir: "/", IPv4: "10.77.0.50"})
	for seed := range uint64(4) {
		log, out := run(t, s, seed)
		var text string
		for _, l := range log {
			text += l.Node + " " + l.Text + "\n"
		}
		if !strings.Contains(text, "n1 again\nn1 kept\n") || !strings.Contains(text, "n2 kept\n") {
			t.Errorf("printed\n%s\nledger %+v, %s %s", text, out.Ledger, out.Reason, out.Detail)
		}
	}
}

// A node may have a volume at two places.
func TestSharedVolumeTwice(t *testing.T) {
	s := sharers(sharedVolume, `exec 2>&1; echo a >/v/f; cat /w/f; echo b >>/w/f; cat /v/f; mv /v/f /w/g; ls /v; cd /w; pwd; ls ..| grep -c '^[vw]$'`)
	w := s.Nodes[0].Volumes[0]
	w.Target = "/w"
	s.Nodes[0].Volumes = append(s.Nodes[0].Volumes, w)
	if got, want := said(t, s)["n1"], "a\na\nb\ng\n/w\n2\n"; got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// A node's own mounts lie over a volume that it shares, for itself alone, and others have an empty folder there.
func TestMountsInSharedVolumes(t *testing.T) {
	s := sharers(sharedVolume, `exec 2>&1; cd /v/sub; echo mine >f; cat /v/conf; ls /v ..; pwd -P; rmdir /v/sub; sleep 2; cat f; grep -c ' /v[ /]' /proc/mounts`,
		`exec 2>&1; sleep 1; ls -F /v /v/sub; stat -c %s /v/conf; echo yours >/v/sub/f`)
	s.Nodes[0].Volumes = append(s.Nodes[0].Volumes, world.Volume{Kind: world.Named, Source: "own", Target: "/v/sub"},
		world.Volume{Kind: world.File, Target: "/v/conf", Content: []byte("conf\n")})
	got := said(t, s)
	if want := "conf\n..:\nconf\nsub\n\n/v:\nconf\nsub\n/v/sub\nrmdir: failed to remove '/v/sub': Device or resource busy\nmine\n3\n"; got["n1"] != want {
		t.Errorf("n1 printed\n%s\nwant\n%s", got["n1"], want)
	}
	if want := "/v:\nconf*\nsub/\n\n/v/sub:\n0\n"; got["n2"] != want {
		t.Errorf("n2 printed\n%s\nwant\n%s", got["n2"], want)
	}
}
