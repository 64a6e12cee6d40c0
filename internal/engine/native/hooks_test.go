//go:build linux && amd64

package native_test

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// hookedSpec is a node with commands of post_start, which ends by itself and starts again, and one that waits for its start.
func hookedSpec(hooks ...world.Hook) *world.Spec {
	s := aloneSpec("/bin/sh", "-c", "echo main; [ -e /work/up ] && exec sleep 100; while ! [ -e /work/up ]; do sleep 0.1; done; exit 1")
	n := &s.Nodes[0]
	n.Env = []string{"PATH=/usr/bin:/bin"}
	n.Volumes = []world.Volume{{Kind: world.Named, Source: "work", Target: "/work"}}
	n.Restart = world.Restart{Mode: world.RestartAlways, DelayNs: 100e6}
	n.PostStart = hooks
	after := world.Node{Name: "after", Hostname: "after", Role: world.Server, Root: "host", WorkingDir: "/",
		Command: []string{"/bin/sh", "-c", "echo after; sleep 1"},
		Env:     n.Env, IPv4: "10.77.0.99", DependsOn: []world.Dependency{{Node: n.Name, Condition: world.Started, Required: true}}}
	s.Nodes = append(s.Nodes, after)
	s.MaxTimeNs = 5e9
	return s
}

// Commands of post_start run once, one after the other, as the user, in the folder and with the variables that they name;
// what waits for the node waits for them.
func TestPostStart(t *testing.T) {
	sh := func(line string) []string { return []string{"/bin/sh", "-c", line} }
	s := hookedSpec(world.Hook{Command: sh("sleep 0.5; echo one $(id -u) $PWD")},
		world.Hook{Command: sh("echo two $(id -u) $PWD $WHO; echo $A >/work/up || echo refused"), User: "65534",
			WorkingDir: "/tmp", Env: []string{"PATH=/usr/bin:/bin", "WHO=me"}},
		world.Hook{Command: sh("echo three; : >/work/up")})
	log, out := run(t, s, 1)
	var lines []string
	for _, l := range log {
		lines = append(lines, strings.TrimSpace(l.Node+" "+l.Text))
	}
	got := strings.Join(lines, "\n")
	first := s.Nodes[0].Name
	want := strings.ReplaceAll("% main\n% one 0 /work\n% two 65534 /tmp me\n% /bin/sh: 1: cannot create /work/up: Permission "+
		"denied\n% refused\n% three\nafter after\n% main", "%", first)
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	if !out.Repeat.Reproducible {
		t.Error(out.Repeat.Reason)
	}
}

// A command of post_start that fails is why its node does not come up, and so is one that is not there.
func TestPostStartFails(t *testing.T) {
	for want, hook := range map[string][]string{
		"ended with exit code 4: no luck":       {"/bin/sh", "-c", "echo no luck; exit 4"},
		"ended with SIGSEGV":                    {"/bin/sh", "-c", "kill -SEGV $$"},
		"could not start: /no/such: ":           {"/no/such"},
		"had not ended /bin/sh of its post_sta": {"/bin/sh", "-c", "sleep 100"},
	} {
		_, out := run(t, hookedSpec(world.Hook{Command: hook}), 1)
		if !strings.Contains(out.Detail, want) || out.Reason != record.Unstartable && !strings.Contains(want, "had not") {
			t.Errorf("%s: %s, want %q", out.Reason, out.Detail, want)
		}
	}
}
