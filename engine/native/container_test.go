//go:build linux && amd64

package native_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/world"
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

// Entrypoints of images that give up root or stand before the program as an init run as they are.
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
				path, err := exec.LookPath(word)
				if err != nil {
					t.Skipf("no %s in PATH", word)
				}
				argv[i] = path
				if dir := filepath.Dir(path); !strings.HasPrefix(dir, "/usr/") && !slices.ContainsFunc(volumes, func(v world.Volume) bool { return v.Target == dir }) {
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
