//go:build linux && amd64

package native_test

import (
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
