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

// A world ends when a node ends again and again in the same way and nothing can make that another, and not before.
//
//ci:later
func TestNeverComesUp(t *testing.T) {
	up := &world.Healthcheck{Command: []string{"/bin/sh", "-c", "test -e /tmp/up"}, IntervalNs: 100e6, Retries: 3}
	steps := "for i in 1 2 3 4 5 6 7 8; do [ -e /tmp/$i ] || { : > /tmp/$i; exit 1; }; done; : > /tmp/up; exec sleep 1000"
	for _, c := range []struct {
		name   string
		script string
		health *world.Healthcheck
		change func(s *world.Spec)
		reason record.Reason
		detail string
		exits  bool // they are findings
	}{
		{"at once", "echo no port; exit 3", up, nil, record.Unstartable, `5 times in the same way, with exit code 3 (its last output: "no port")`, false},
		{"without a healthcheck", "echo no port; exit 3", nil, nil, record.Unstartable, `with exit code 3 (its last output: "no port")`, false},
		{"after some time", "sleep 0.5; exit 0", up, nil, record.Unstartable, "with exit code 0 and no output", false},
		{"with children", "(echo a; echo b) | cat; ls /nonexistent", up, nil, record.Unstartable, "No such file or directory", false},
		{"by its policy for failures", "exit 1", up, func(s *world.Spec) { s.Nodes[0].Restart.Mode = world.RestartOnFailure },
			record.Unstartable, "n1 never comes up", false},
		{"a bounded number of times", "exit 1", up,
			func(s *world.Spec) { s.Nodes[0].Restart = world.Restart{Mode: world.RestartOnFailure, MaxRetries: 7} }, record.Finished, "", true},
		{"a step each time", steps, up, nil, record.Finished, "", true},
		{"a number in a file", "n=0; [ -e /tmp/n ] && read n < /tmp/n; echo $((n+1)) > /tmp/n; [ $n -ge 8 ] || exit 1; : > /tmp/up; exec sleep 1000",
			up, nil, record.Finished, "", true},
		{"the uptime", "read n rest < /proc/uptime; [ -e /tmp/n ] || echo ${n%.*} > /tmp/n; read first < /tmp/n; [ $((${n%.*} - " +
			"first)) -ge 10 ] || exit 1; : > /tmp/up; exec sleep 1000", up, nil, record.Finished, "", true},
		{"something that another program on the node ends",
			"[ -e /tmp/began ] || { : > /tmp/began; (sleep 20; : > /tmp/free) & }; [ -e /tmp/free ] || exit 1; : > /tmp/up; exec sleep 1000", up, nil,
			record.Finished, "", true},
		{"exit code 0 without a healthcheck", "exit 0", nil, nil, record.Finished, "", false},
		{"while faults may be injected", "exit 3", nil, func(s *world.Spec) {
			s.Faults = world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "power_loss", RatePPM: 1, MinNs: 1e9, MaxNs: 1e9}}}
		}, record.Finished, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := aloneSpec("/bin/sh", "-c", c.script)
			spec.MaxTimeNs = 60e9
			n := &spec.Nodes[0]
			n.Volumes, n.WorkingDir, n.Env = nil, "/", []string{"PATH=/usr/bin:/bin"}
			n.Restart, n.Health = world.Restart{Mode: world.RestartAlways}, c.health
			if c.change != nil {
				c.change(spec)
			}
			_, out := run(t, spec, 1)
			if out.Reason != c.reason || !strings.Contains(out.Detail, c.detail) {
				t.Errorf("%s: %s", out.Reason, out.Detail)
			}
			if c.exits != (len(out.Crashes) > 0) {
				t.Errorf("crashes: %v", out.Crashes)
			}
			if c.reason == record.Unstartable && out.VirtualNs > 10e9 {
				t.Errorf("it took %d ns", out.VirtualNs)
			}
		})
	}
}

// A node that needs a file of another one, in a volume that both have, ends in the same way until that is there.
func TestComesUpByVolume(t *testing.T) {
	shared := []world.Volume{{Kind: world.Named, Source: "data", Target: "/data", Shared: true}}
	spec := aloneSpec("/bin/sh", "-c", "sleep 20; : > /data/ready; exec sleep 1000")
	spec.MaxTimeNs = 60e9
	first := &spec.Nodes[0]
	first.Volumes, first.WorkingDir, first.Env = shared, "/", []string{"PATH=/usr/bin:/bin"}
	second := *first
	second.Name, second.Hostname, second.IPv4, second.IPv6 = "n2", "n2", "10.77.0.11", "fd77::11"
	second.Command = []string{"/bin/sh", "-c", "[ -e /data/ready ] || exit 1; : > /tmp/up; exec sleep 1000"}
	second.Restart = world.Restart{Mode: world.RestartAlways}
	second.Health = &world.Healthcheck{Command: []string{"/bin/sh", "-c", "test -e /tmp/up"}, IntervalNs: 100e6, Retries: 3}
	spec.Nodes = append(spec.Nodes, second)
	if _, out := run(t, spec, 1); out.Reason != record.Finished {
		t.Errorf("%s: %s", out.Reason, out.Detail)
	}
}

// A node that needs another one, which takes its time, ends in the same way until that is there.
func TestComesUpLate(t *testing.T) {
	for _, program := range []string{"redis-server", "redis-cli"} {
		needs.Program(t, program)
	}
	spec := aloneSpec("/bin/sh", "-c", "sleep 20; exec redis-server --save '' --dir /tmp")
	spec.MaxTimeNs = 60e9
	first := &spec.Nodes[0]
	first.Volumes, first.WorkingDir, first.Env = nil, "/", []string{"PATH=/usr/bin:/bin"}
	second := *first
	second.Name, second.Hostname, second.IPv4, second.IPv6 = "n2", "n2", "10.77.0.11", "fd77::11"
	second.Command = []string{"/bin/sh", "-c", "redis-cli -h n1 ping || exit 1; : > /tmp/up; exec sleep 1000"}
	second.Restart = world.Restart{Mode: world.RestartAlways}
	second.Health = &world.Healthcheck{Command: []string{"/bin/sh", "-c", "test -e /tmp/up"}, IntervalNs: 100e6, Retries: 3}
	spec.Nodes = append(spec.Nodes, second)
	if _, out := run(t, spec, 1); out.Reason != record.Finished {
		t.Errorf("%s: %s", out.Reason, out.Detail)
	}
}

// A program that has removed itself cannot start again: the node never comes up, or, if it was up before, has ended unexpectedly.
func TestProgramIsGone(t *testing.T) {
	for _, c := range []struct {
		life   string
		reason record.Reason
	}{{"exit 0", record.Unstartable}, {"sleep 2; exit 0", record.Finished}} {
		program := filepath.Join(t.TempDir(), "program.sh")
		if err := os.WriteFile(program, []byte("#!/bin/sh\nrm $0\n"+c.life+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		spec := aloneSpec(program)
		spec.MaxTimeNs, spec.Nodes[0].Env, spec.Nodes[0].Restart = 10e9, []string{"PATH=/usr/bin:/bin"}, world.Restart{Mode: world.RestartAlways}
		_, out := run(t, spec, 1)
		if out.Reason != c.reason {
			t.Errorf("%s: %s: %s", c.life, out.Reason, out.Detail)
		}
		if c.reason == record.Unstartable && !strings.Contains(out.Detail, "no such file or directory") {
			t.Error(out.Detail)
		}
		if c.reason == record.Finished && (len(out.Crashes) != 1 || out.Crashes[0].ExitCode != 127) {
			t.Error(out.Crashes)
		}
	}
}

// A server that ends before its healthcheck has succeeded never came up, though setup does not wait for it any more.
func TestNeverUp(t *testing.T) {
	check := &world.Healthcheck{Command: []string{"/bin/sh", "-c", "exit 1"}, IntervalNs: 1e9, Retries: 3}
	for script, want := range map[string]string{"echo bye; exit 0": `n1 never came up: its main process ended with exit code 0 before its healthcheck succeeded (its last output: "bye")`} {
		spec := aloneSpec("/bin/sh", "-c", script)
		spec.MaxTimeNs = 5e9
		n := &spec.Nodes[0]
		n.Volumes, n.WorkingDir, n.Env, n.Health = nil, "/", []string{"PATH=/usr/bin:/bin"}, check
		if _, out := run(t, spec, 1); strings.Join(out.NeverUp, "; ") != want {
			t.Errorf("%q, not %q", out.NeverUp, want)
		}
		n.Health = nil
		if _, out := run(t, spec, 1); out.NeverUp != nil {
			t.Error(out.NeverUp)
		}
	}
}

// The outcome names the servers that were never ready, why, and what their main processes wrote last.
func TestNeverReady(t *testing.T) {
	needs.Program(t, "python3")
	failing := &world.Healthcheck{Command: []string{"/bin/sh", "-c", "echo from the check; exit 1"}, IntervalNs: 1e9, Retries: 3}
	for _, c := range []struct {
		script string
		health *world.Healthcheck
		ports  []int
		want   string // Why and Said, empty for a server that was ready
	}{
		{"echo bye; exit 0", nil, []int{8080}, "its main process ended with exit code 0 / bye"},
		{"echo bye; exit 0", nil, nil, ""},
		{"echo no data >&2; exit 3", nil, nil, "its main process ended with exit code 3 / no data"},
		{"echo first; echo here; exec sleep 100", nil, []int{8080}, "it does not listen on port 8080 / first / here"},
		{"echo here; exec sleep 100", nil, nil, ""},
		{"exec python3 -uc 'import socket, time; s = socket.create_server((\"0.0.0.0\", 8081)); time.sleep(100)'", nil,
			[]int{8080}, "it listens on port 8081, not on 8080"},
		{"exec python3 -uc 'import socket, time; s = socket.create_server((\"127.0.0.1\", 8080)); time.sleep(100)'", nil, []int{8080},
			"it listens only on localhost:8080; make it listen on 0.0.0.0:8080"},
		{"echo here; exec sleep 100", failing, []int{8080}, "its last healthcheck ended with exit code 1: from the check / here"},
	} {
		spec := aloneSpec("/bin/sh", "-c", c.script)
		spec.MaxTimeNs = 5e9
		n := &spec.Nodes[0]
		n.Volumes, n.WorkingDir, n.Env, n.Health, n.Ports = nil, "/", []string{"PATH=/usr/bin:/bin"}, c.health, c.ports
		_, out := run(t, spec, 1)
		got := ""
		for _, r := range out.NeverReady {
			got += strings.Join(append([]string{r.Why}, r.Said...), " / ")
			if !r.Unprovoked {
				t.Errorf("%s: a fault came first", c.script)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.script, got, c.want)
		}
	}
}
