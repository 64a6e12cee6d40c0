//go:build linux && amd64

package native_test

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A node starts in the same moment as the last of those that it waits for, in whichever order they are listed.
func TestStartOfWhatWaits(t *testing.T) {
	s := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 5e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50}}
	for i, on := range []string{"n2", "n3", ""} {
		n := world.Node{Name: "n" + string(rune('1'+i)), Role: world.Server, Root: "host", WorkingDir: "/tmp",
			Command: []string{"sh", "-c", "echo up; exec sleep 100"},
			Env:     []string{"PATH=/usr/bin:/bin"}, IPv4: "10.77.0.1" + string(rune('0'+i))}
		n.Hostname = n.Name
		if on != "" {
			n.DependsOn = []world.Dependency{{Node: on, Condition: world.Started, Required: true}}
		}
		s.Nodes = append(s.Nodes, n)
	}
	log, out := run(t, s, 1)
	if got := strings.Join(texts(log, "stdout"), " "); got != "up up up" {
		t.Errorf("%q were written, and the world ended by %s %s", got, out.Reason, out.Detail)
	}
}

// A node whose dependency can no longer be met says so, and by whose end; the others say what they wait for.
func TestNeverStarts(t *testing.T) {
	check := &world.Healthcheck{Command: []string{"/bin/sh", "-c", "exit 1"}, IntervalNs: 1e9, Retries: 3}
	for _, c := range []struct {
		name      string
		script    string
		condition world.Condition
		change    func(s *world.Spec)
		reason    record.Reason
		want      string
	}{
		{"no success", "exit 3", world.Completed, func(s *world.Spec) { s.Nodes[2].DependsOn = nil }, record.Unstartable,
			"n2 never starts: it depends on n1 to complete successfully, and n1 ended with exit code 3 and no output"},
		{"nobody left", "exit 3", world.Completed, func(*world.Spec) {}, record.Unstartable,
			"n2 never starts: it depends on n1 to complete successfully, and n1 ended with exit code 3 and no output"},
		{"no health", "exit 0", world.Healthy, func(s *world.Spec) { s.Nodes[0].Health = check }, record.Unstartable,
			"n2 never starts: it depends on n1 to be healthy, and n1 ended with exit code 0 and no output"},
		{"no command", "exit 0", world.Started, func(s *world.Spec) { s.Nodes[0].Command = nil }, record.Unstartable,
			"n2 never starts: it depends on n1, which has no command to run; give it one"},
		{"not yet", "sleep 1000", world.Completed, func(*world.Spec) {}, record.MaxTime, "n2 waited for n1 to complete; n3 waited for n2 to start"},
		{"again and again", "exit 3", world.Completed,
			func(s *world.Spec) { s.Nodes[0].Restart = world.Restart{Mode: world.RestartAlways} }, record.Unstartable,
			"n1 never comes up: its main process /usr/bin/dash has ended 5 times in the same way, with exit code 3 and no output, " +
				"and nothing that it has seen of other nodes can change; fix its command, or its environment on this node"},
		{"again, each time otherwise", "n=0; [ -e /tmp/n ] && read n < /tmp/n; echo $((n+1)) > /tmp/n; exit 3", world.Completed,
			func(s *world.Spec) { s.Nodes[0].Restart = world.Restart{Mode: world.RestartAlways} }, record.MaxTime,
			"n1 had ended with exit code 3 and no output and was to start again; n2 waited for n1 to complete successfully, which " +
				"last ended with exit code 3 and is started again; n3 waited for n2 to start"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := aloneSpec("/bin/sh", "-c", c.script)
			spec.MaxTimeNs = 2e9
			first := &spec.Nodes[0]
			first.Volumes, first.WorkingDir, first.Env = nil, "/", []string{"PATH=/usr/bin:/bin"}
			second, third := *first, *first
			second.Name, second.Hostname, second.IPv4, second.IPv6 = "n2", "n2", "10.77.0.11", "fd77::11"
			second.DependsOn = []world.Dependency{{Node: "n1", Condition: c.condition, Required: true}}
			third.Name, third.Hostname, third.IPv4, third.IPv6 = "n3", "n3", "10.77.0.12", "fd77::12"
			third.Command = []string{"/bin/sh", "-c", "exec sleep 1000"}
			third.DependsOn = []world.Dependency{{Node: "n2", Condition: world.Started, Required: true}}
			spec.Nodes = append(spec.Nodes, second, third)
			c.change(spec)
			_, out := run(t, spec, 1)
			if out.Reason != c.reason || out.Detail != c.want {
				t.Errorf("%s: %q, want %s: %q", out.Reason, out.Detail, c.reason, c.want)
			}
		})
	}
}
