//go:build linux && amd64

package native_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// inShell runs a script on one node, and gives what it prints. change completes the node.
func inShell(t *testing.T, change func(n *world.Node), script string) string {
	t.Helper()
	spec := aloneSpec("/bin/sh", "-c", script)
	n := &spec.Nodes[0]
	n.Env = []string{"PATH=/usr/bin:/bin"}
	n.Volumes = []world.Volume{{Kind: world.Named, Source: "work", Target: "/work"}}
	change(n)
	lines, out := run(t, spec, 1)
	if !out.Repeat.Reproducible {
		t.Errorf("not reproducible: %s", out.Repeat.Reason)
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

func printed(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// A file that comes with the Spec is there with its owner and mode, and cannot be changed or removed.
func TestFilesOfTheSpec(t *testing.T) {
	got := inShell(t, func(n *world.Node) {
		n.Volumes = append(n.Volumes,
			world.Volume{Kind: world.File, Target: "/run/secrets/key", Content: []byte("deep\x00secret"), Mode: 0o440, UID: 7, GID: 8},
			world.Volume{Kind: world.File, Target: "/etc/app.conf"})
	}, `exec 2>&1; cd /run/secrets
stat -c '%n %a %u %g %s %F' key /etc/app.conf; od -An -c key
(echo x >key); rm key; mv key other; chmod 777 key; touch -d 2020-01-01 key; cp key copy && cmp key copy && ls`)
	printed(t, got, `key 440 7 8 11 regular file
/etc/app.conf 444 0 0 0 regular empty file
   d   e   e   p  \0   s   e   c   r   e   t
/bin/sh: 3: cannot create key: Read-only file system
rm: cannot remove 'key': Device or resource busy
mv: cannot move 'key' to 'other': Device or resource busy
chmod: changing permissions of 'key': Read-only file system
touch: cannot touch 'key': Read-only file system
copy
key
`)
}

// In a container the main process is process 1: only a signal that it handles does anything to it, orphans are its children,
// and the container ends with it. A small init before it takes that from it.
func TestProcessOne(t *testing.T) {
	const script = `exec 2>&1
echo $$ $PPID; cat /proc/1/comm
(sleep 0.1; trap '' TERM; sleep 1) & kill -STOP 1; kill -KILL 1; kill -TERM 1; echo alive
trap 'echo term' TERM; kill 1; sleep 0.1; trap - TERM
kill -0 -1 || sh -c 'kill -9 -1'; echo still
kill -INT $$; exit 3`
	for init, want := range map[world.Init]string{
		world.OwnInit:   "10 1\ninit\nalive\nstill\n",
		world.MainInit:  "1 0\nsh\nalive\nterm\nstill\n",
		world.SmallInit: "10 1\ndocker-init\n",
	} {
		t.Run(string(init), func(t *testing.T) {
			printed(t, inShell(t, func(n *world.Node) { n.Init = init }, script), want)
		})
	}
}

// A process 1 that does not wait for its children keeps them as zombies, those that it has adopted too. A small init reaps.
func TestZombies(t *testing.T) {
	const script = `import os, signal, time
signal.signal(signal.SIGCHLD, lambda *a: print("child", flush=True))
if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(0.1)
        os._exit(0)
    os._exit(0)
os.wait()
time.sleep(0.2)
time.sleep(0.2)
states = [open(f"/proc/{p}/stat").read().split()[2:4] for p in os.listdir("/proc") if p.isdigit()]
print(sorted(states), flush=True)
`
	for init, want := range map[world.Init]string{
		world.MainInit:  "child\nchild\n[['R', '0'], ['Z', '1']]\n",
		world.SmallInit: "child\n[['R', '1'], ['S', '0']]\n",
	} {
		t.Run(string(init), func(t *testing.T) {
			spec := bounded(t, 0, script)
			spec.Nodes[0].Init = init
			log, _ := run(t, spec, 1)
			printed(t, strings.Join(texts(log, ""), "\n")+"\n", want)
		})
	}
}

// Entrypoints of images that give up root or run before the program as an init run as they are.
func TestEntrypoints(t *testing.T) {
	for name, c := range map[string]struct {
		argv []string
		want string
	}{
		"tini":    {[]string{"tini", "--", "/bin/sh", "-c"}, "pid other parent 1 uid 0 groups 0\nhandled\n"},
		"gosu":    {[]string{"gosu", "nobody:nogroup", "/bin/sh", "-c"}, "pid 1 parent 0 uid 65534 groups 65534\nhandled\n"},
		"setpriv": {[]string{"setpriv", "--reuid=33", "--regid=33", "--clear-groups", "/bin/sh", "-c"}, "pid 1 parent 0 uid 33 groups 33\nhandled\n"},
		"both":    {[]string{"tini", "--", "gosu", "nobody", "/bin/sh", "-c"}, "pid other parent 1 uid 65534 groups 65534\nhandled\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var volumes []world.Volume
			argv := slices.Clone(c.argv)
			for i, word := range argv {
				if word != "tini" && word != "gosu" && word != "setpriv" {
					continue
				}
				path := needs.Program(t, word)
				argv[i] = path
				if dir := filepath.Dir(path); !strings.HasPrefix(dir, "/usr/") &&
					!slices.ContainsFunc(volumes, func(v world.Volume) bool { return v.Target == dir }) {
					volumes = append(volumes, world.Volume{Kind: world.Bind, Source: dir, Target: dir})
				}
			}
			// The signal to process 1 reaches the program, if need be by way of tini.
			const script = `trap 'echo handled; exit 0' TERM
[ $$ = 1 ] && p=1 || p=other
echo pid $p parent $PPID uid $(id -u) groups $(id -G)
(sleep 0.1; kill -TERM 1 2>&- || kill -TERM $$) & sleep 1 & wait`
			printed(t, inShell(t, func(n *world.Node) {
				n.Init, n.Command, n.Volumes = world.MainInit, append(argv, script), volumes
			}, ""), c.want)
		})
	}
}

// Limits of a container are what its programs run into.
func TestContainerLimits(t *testing.T) {
	got := inShell(t, func(n *world.Node) {
		n.ReadOnly, n.Groups, n.User = true, []string{"mail", "4242"}, "daemon"
		n.Bounds = world.Bounds{Tasks: 6, ShmBytes: 1 << 20, CPUPPM: 500_000,
			Rlimits: []world.Rlimit{{Name: "nofile", Soft: 20, Hard: 22}, {Name: "core", Soft: 0, Hard: world.Unlimited}}}
		n.Volumes = append(n.Volumes,
			world.Volume{Kind: world.Tmpfs, Target: "/srv/t", SizeBytes: 64 << 10, Mode: 0o1750, UID: 1, GID: 2},
			world.Volume{Kind: world.Named, Source: "v", Target: "/srv/v"})
	}, `exec 2>&1; cd /srv
id -G; stat -c '%a %u %g' t; ulimit -n; ulimit -Hn; grep 'open files' /proc/self/limits
touch /new; mkdir /opt/x; touch /tmp/yes t/yes && echo written
head -c 70000 /dev/zero >t/big; stat -c %s t/big; rm t/big; head -c 60000 /dev/zero >t/big && echo fits
head -c 1100000 /dev/zero >/dev/shm/big; stat -f -c %b /dev/shm
/usr/bin/python3 -c "import os
try:
    while True: last = os.open('/', 0)
except OSError as e: print(last, e.strerror)"
cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/cpu.max
/usr/bin/python3 -c "import os, time
try:
    for i in range(9): os.fork() or (time.sleep(1), os._exit(0))
except OSError as e: print(i, e.strerror)"; true`)
	printed(t, got, `1 8 4242
1750 1 2
20
22
Max open files            20                   22                   files     
touch: cannot touch '/new': Read-only file system
mkdir: cannot create directory '/opt/x': Read-only file system
written
head: error writing 'standard output': No space left on device
65536
fits
head: error writing 'standard output': No space left on device
256
19 Too many open files
6
50000 100000
4 Resource temporarily unavailable
`)
}

// A share of a CPU makes system calls take longer in virtual time.
func TestShareOfCPU(t *testing.T) {
	spent := func(ppm int64) int64 {
		spec := aloneSpec("/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo $i >/dev/null; done")
		spec.Nodes[0].Bounds.CPUPPM, spec.Nodes[0].Volumes, spec.Nodes[0].WorkingDir = ppm, nil, "/"
		_, out := run(t, spec, 1)
		return out.VirtualNs
	}
	if whole, half := spent(0), spent(500_000); half < whole*3/2 || half > 2*whole {
		t.Errorf("%d ns with a whole CPU, %d ns with half of one", whole, half)
	}
}

// What a node has left in a volume is there for another that waits until it has completed: files with their owners, modes,
// links, attributes and holes.
func TestVolumesAreHandedOver(t *testing.T) {
	spec := aloneSpec("/bin/sh", "-c", `cd /a; umask 027; mkdir -p d/e; echo one >d/f; ln d/f g; ln -s d/f l; chown 5:6 d d/f; truncate -s 5000000 hole; printf end >>hole; chmod 4755 hole; mkfifo p; touch -d 2020-01-01 d/e`)
	first := &spec.Nodes[0]
	first.Volumes = []world.Volume{{Kind: world.Named, Source: "v", Target: "/a"}}
	first.WorkingDir, first.Env = "/", []string{"PATH=/usr/bin:/bin"}
	second := *first
	second.Name, second.Hostname, second.IPv4, second.IPv6 = "n2", "n2", "10.77.0.11", "fd77::11"
	second.Volumes = []world.Volume{{Kind: world.Named, Source: "v", Target: "/b", From: "n1", NoCopy: true}}
	second.DependsOn = []world.Dependency{{Node: "n1", Condition: world.Completed, Required: true}}
	second.Command = []string{"/bin/sh", "-c",
		`cd /b; stat -c '%n %A %u %g %h %s' . d d/f g hole p; stat -c '%n %y' d/e; readlink l; cat l; tail -c 3 hole; echo; echo two >d/f; cat g`}
	spec.Nodes = append(spec.Nodes, second)
	log, out := run(t, spec, 1)
	printed(t, strings.Join(texts(log, ""), "\n")+"\n", `. drwxr-xr-x 0 0 1 4096
d drwxr-x--- 5 6 1 4096
d/f -rw-r----- 5 6 2 4
g -rw-r----- 5 6 2 4
hole -rwsr-xr-x 0 0 1 5000003
p prw-r----- 0 0 1 0
d/e 2020-01-01 00:00:00.000000000 +0000
d/f
one
end
two
`)
	if !out.Repeat.Reproducible || len(out.Crashes) > 0 {
		t.Errorf("%+v %+v", out.Repeat, out.Crashes)
	}
}
