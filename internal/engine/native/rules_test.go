//go:build linux && amd64

package native_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// ruled is a world of two servers and a checker, under rules written as sentences.
func ruled(t *testing.T, n1, n2 string, rules ...string) *world.Spec {
	t.Helper()
	s := pairUnder(n1, n2, nil)
	s.Nodes = s.Nodes[:2]
	s.Nodes = append(s.Nodes, world.Node{Name: "checker", Role: world.Checker, Hostname: "checker", IPv4: "10.77.0.20",
		Root: "host", WorkingDir: "/tmp", Env: []string{"PATH=/usr/bin:/bin"}})
	s.MaxTimeNs = 10e9
	s.Faults = world.Faults{Enabled: true, StopNs: 6e9, SettleNs: 1e9}
	for _, text := range rules {
		r, err := fault.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Faults.Rules = append(s.Faults.Rules, r)
	}
	return s
}

// play runs a world and gives what each node printed, its happenings other than calls, and its outcome.
func play(t *testing.T, spec *world.Spec) (logs map[string]string, happened []string, out *record.Outcome) {
	t.Helper()
	return playSeed(t, spec, 5)
}

func playSeed(t *testing.T, spec *world.Spec, seed uint64) (logs map[string]string, happened []string, out *record.Outcome) {
	t.Helper()
	logs = map[string]string{}
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: seed}, engine.Options{
		Log: func(l record.LogLine) { logs[l.Node] += l.Text + "\n" },
		Observe: func(e *record.Event) {
			if e.Thread == "" {
				happened = append(happened, strings.TrimSpace(e.Call+" "+e.Detail))
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	return logs, happened, out
}

const idle = "import time\ntime.sleep(1000)"

// writer synchronises two files and says when.
const writer = `import os, time
print('begin', flush=True)
for name in ('/a.log', '/a.wal'):
    f = os.open(name, os.O_CREAT | os.O_WRONLY); os.write(f, b'x'); print('write', name, flush=True); os.fsync(f); print('synced', name, flush=True)
os.rename('/a.log', '/b.log')
print('renamed', flush=True)
time.sleep(1000)
`

// A rule injects as a program enters a system call on a file, and the call has no effect any more.
//
//ci:underway
func TestFaultsAtCalls(t *testing.T) {
	whole := "begin\nwrite /a.log\nsynced /a.log\nwrite /a.wal\nsynced /a.wal\nrenamed\n"
	for _, c := range []struct{ rule, want string }{
		{"crash on n1 at fsync of *.wal for 1s max 1", "begin\nwrite /a.log\nsynced /a.log\nwrite /a.wal\n" + whole},
		{"crash on n1 at fsync for 1s max 2", "begin\nwrite /a.log\nbegin\nwrite /a.log\n" + whole},
		{"crash on n1 at rename of /b.log for 1s max 1", strings.TrimSuffix(whole, "renamed\n") + whole},
		{"crash on n1 at rename of /a.log for 1s max 1", strings.TrimSuffix(whole, "renamed\n") + whole},
		{"power_loss on n1 at rename of b.* for 1s max 1", strings.TrimSuffix(whole, "renamed\n") + whole},
		{"write_fail on n1 of *.wal rate 1",
			"begin\nwrite /a.log\nsynced /a.log\nTraceback (most recent call last):\n  File \"<string>\", line 4, in " +
				"<module>\nOSError: [Errno 5] Input/output error\n"},
		{"write_fail on n1 at pwrite64", whole},
		{"crash on n1 at fsync of *.txt for 1s", whole},
		{"crash on n2 at fsync for 1s", whole},
		{"crash on n1 at fsync for 1s when path == '/a.wal' and struck < 1", "begin\nwrite /a.log\nsynced /a.log\nwrite /a.wal\n" + whole},
	} {
		logs, _, out := play(t, ruled(t, writer, idle, c.rule))
		if logs["n1"] != c.want {
			t.Errorf("%s: n1 printed\n%swant\n%s%+v", c.rule, logs["n1"], c.want, out.Ledger)
		}
	}
}

// A rule injects at a call with two paths whichever of them it names, also where a path starts at a folder.
//
//ci:underway
func TestFaultsAtCallsWithTwoPaths(t *testing.T) {
	const linker = `import os, time
print('begin', flush=True)
os.makedirs('/d', exist_ok=True)
os.chdir('/d')
open('a', 'w').close()
d = os.open('/d', os.O_RDONLY)
for p in ('h', 's', 'r', 'x'):
    try: os.unlink(p)
    except FileNotFoundError: pass
os.link('a', 'h')
os.symlink('a', 's')
os.rename('a', 'r', src_dir_fd=d, dst_dir_fd=d)
os.symlink('/q/t', '/d/x')
print('end', flush=True)
time.sleep(1000)
`
	for _, rule := range []string{
		"crash on n1 at link, linkat of /d/a for 1s max 1", "crash on n1 at link, linkat of /d/h for 1s max 1",
		"crash on n1 at symlink, symlinkat of /d/a for 1s max 1", "crash on n1 at symlink, symlinkat of /d/s for 1s max 1",
		"crash on n1 at symlink, symlinkat of /q/t for 1s max 1",
		"crash on n1 at renameat, renameat2 of /d/a for 1s max 1", "crash on n1 at renameat, renameat2 of /d/r for 1s max 1",
	} {
		logs, _, out := play(t, ruled(t, linker, idle, rule))
		if want := "begin\nbegin\nend\n"; logs["n1"] != want {
			t.Errorf("%s: n1 printed %q, want %q; %+v", rule, logs["n1"], want, out.Ledger)
		}
	}
}

const (
	leader = "import time\nprint('I lead', flush=True)\nfor i in range(4): time.sleep(1); print('still', flush=True)\nprint('I " +
		"follow', flush=True)\ntime.sleep(1000)"
	follower = "import time\nprint('I follow', flush=True)\ntime.sleep(1000)"
)

// Rules ask for the roles of nodes, which logs or programs report.
//
//ci:underway
func TestFaultsAskForRoles(t *testing.T) {
	injectedAt := func(out *record.Outcome) (targets []string) {
		for _, s := range out.Ledger.Injections {
			targets = append(targets, s.Target)
		}
		slices.Sort(targets)
		return slices.Compact(targets)
	}
	lead := func(node string) world.NodeRole {
		return world.NodeRole{Name: "leader", Node: node, Log: "^I lead", Until: "^I follow"}
	}
	spec := ruled(t, leader, follower, "pause rate 0.05 after 1s while leader for 10ms")
	spec.Faults.Roles = []world.NodeRole{lead("n1"), lead("n2")}
	_, _, out := play(t, spec)
	if got := injectedAt(out); !reflect.DeepEqual(got, []string{"n1"}) {
		t.Errorf("by log: injected %v, want n1", got)
	}
	for _, s := range out.Ledger.Injections {
		if s.StartNs < 1e9 || s.StartNs > 5e9 {
			t.Errorf("injected at %d ms, when n1 was no leader or too early", s.StartNs/1e6)
		}
	}

	spec = ruled(t, leader, follower, "pause rate 0.05 while leader for 10ms")
	for _, n := range []string{"n1", "n2"} {
		spec.Faults.Roles = append(spec.Faults.Roles,
			world.NodeRole{Name: "leader", Node: n,
				Check: &world.Check{Type: world.Custom,
					Question: world.Question{Script: []string{"/bin/sh", "-c", "test $BLOODHOUND_NODE = n2"}}, IntervalNs: 500e6}})
	}
	_, _, out = play(t, spec)
	if got := injectedAt(out); !reflect.DeepEqual(got, []string{"n2"}) {
		t.Errorf("by script: injected %v, want n2", got)
	}

	// Roles are there side by side: those that one line reports, those that have an end of their own, and those that programs report.
	for _, c := range []struct {
		role string
		all  []world.NodeRole
		want []string
	}{
		{"a", []world.NodeRole{{Name: "a", Log: "^I lead"}, {Name: "b", Log: "^I "}}, []string{"n1"}},
		{"a", []world.NodeRole{{Name: "a", Log: "^I lead", Until: "^never"}, {Name: "b", Log: "^still"}}, []string{"n1"}},
		{"a", []world.NodeRole{{Name: "a", Log: "^I lead"},
			{Name: "b", Check: &world.Check{Type: world.Custom,
				Question: world.Question{Script: []string{"/bin/true"}}, IntervalNs: 100e6}}}, []string{"n1"}},
		{"b", []world.NodeRole{{Name: "b", Log: "^I "}, {Name: "a", Log: "^I lead"}}, []string{"n1", "n2"}},
	} {
		spec := ruled(t, leader, follower, "pause rate 0.05 after 1500ms while "+c.role+" for 10ms")
		for _, n := range []string{"n1", "n2"} {
			for _, r := range c.all {
				r.Node = n
				spec.Faults.Roles = append(spec.Faults.Roles, r)
			}
		}
		_, _, out := play(t, spec)
		if got := injectedAt(out); !reflect.DeepEqual(got, c.want) {
			t.Errorf("while %s of %+v: injected %v, want %v", c.role, c.all, got, c.want)
		}
	}
	spec = ruled(t, leader, follower, "pause rate 0.05 while a for 10ms") // a line of another role ends one without an end of its own
	spec.Faults.Roles = []world.NodeRole{{Name: "a", Node: "n1", Log: "^I lead"}, {Name: "b", Node: "n1", Log: "^I follow"}}
	_, _, out = play(t, spec)
	if got := injectedAt(out); !reflect.DeepEqual(got, []string{"n1"}) {
		t.Errorf("a leader that follows later: injected %v", got)
	}
	for _, s := range out.Ledger.Injections {
		if s.StartNs > 5e9 {
			t.Errorf("injected at %d ms, when n1 followed", s.StartNs/1e6)
		}
	}

	_, _, out = play(t, ruled(t, leader, follower, "pause rate 0.05 while leader for 10ms"))
	if got := injectedAt(out); got != nil {
		t.Errorf("without a role: injected %v", got)
	}
}

// The phases follow each other, nothing is injected in the warmup, and all faults are over before the final checks.
func TestPhases(t *testing.T) {
	spec := ruled(t, idle, idle, "pause on n1 when time_s >= 0.5 and struck < 1")
	spec.Faults.StartNs, spec.Faults.Rules[0].MinNs, spec.Faults.Rules[0].MaxNs = 2e9, 9e9, 9e9
	_, happened, out := play(t, spec)
	want := []string{"phase warmup", "phase chaos", "pause n1", "phase heal", "end pause n1", "phase settle", "phase final", "phase over"}
	if !reflect.DeepEqual(happened, want) {
		t.Errorf("happened %q, want %q", happened, want)
	}
	if s := out.Ledger.Injections; len(s) != 1 || s[0].StartNs < 2.5e9 {
		t.Errorf("injections %+v: the chaos phase begins at 2 s, and the rule waits for 0.5 s more", s)
	}
}

// A fault of packets has conditions too.
func TestPacketsUnderConditions(t *testing.T) {
	spec := ruled(t, udpServer, udpClient, "drop rate 1 when time_s >= 1 and time_s < 2")
	logs, _, out := play(t, spec)
	got := strings.Fields(logs["n2"])
	first := slices.Index(got, "lost")
	slices.Reverse(got)
	last := len(got) - 1 - slices.Index(got, "lost")
	if first < 5 || last > len(got)-5 || first == last {
		t.Errorf("lost from %d to %d of %d bursts; %+v", first, last, len(got), out.Ledger.Entries)
	}
}

// teller says after two seconds, as an SDK does, that it dealt with something.
const teller = `import json, os, time
def tell(condition):
    with open(os.environ['ANTITHESIS_SDK_LOCAL_OUTPUT'], 'a') as f:
        f.write(json.dumps({'antithesis_assert': {'hit': True, 'must_hit': True, 'assert_type': 'sometimes', 'display_type': 'Sometimes', 'message': 'woke up late', 'condition': condition, 'id': 'woke up late', 'location': {}, 'details': None}}) + '\n')
tell(False); time.sleep(2); tell(True); time.sleep(1000)
`

// A sign of handling counts only after an injection of its kind.
func TestHandlingCounts(t *testing.T) {
	sign := func(rule string) uint64 {
		spec := ruled(t, leader, follower, rule)
		spec.LogPatterns = []world.LogPattern{{Name: "alive", Pattern: "^still"}, {Name: "never", Pattern: "^never written"}}
		spec.Faults.Handling = []world.Handling{{Kind: "pause", Log: "alive"}}
		_, _, out := play(t, spec)
		if n, listed := out.LogCounts["never"]; n != 0 || !listed {
			t.Errorf("a pattern that never matches has to be listed with 0: %v", out.LogCounts)
		}
		return out.Ledger.Entries[0].Handled
	}
	if n := sign("pause on n2 after 2500ms max 1 for 1s"); n != 2 {
		t.Errorf("%d signs, want the 2 after the injection", n)
	}
	if n := sign("pause on n2 after 5s max 1 for 1s"); n != 0 {
		t.Errorf("%d signs, want none after the injection", n)
	}
	for _, c := range []struct {
		rule string
		want uint64
	}{{"pause on n2 after 1s max 1 for 100ms", 1}, {"pause on n2 after 3s max 1 for 100ms", 0}} {
		spec := ruled(t, teller, idle, c.rule)
		spec.SetupNs = -1
		spec.Faults.Handling = []world.Handling{{Kind: "pause", Assertion: "woke up late"}}
		logs, _, out := play(t, spec)
		if n := out.Ledger.Entries[0].Handled; n != c.want {
			t.Errorf("%s: %d signs by an assertion, want %d; n1 printed %s%+v", c.rule, n, c.want, logs["n1"], out.SDK)
		}
	}
}

// A program of a single server that starts after a crash and reads what it had written has seen the crash, though only
// a client talks to it. One that reads none of that data has not.
func TestRecoveringIsSeeing(t *testing.T) {
	const recovering = `import os, time
if os.path.exists('/state'): print('had', open('/state').read(), flush=True)
with open('/state', 'w') as f: f.write('x'); f.flush(); os.fsync(f.fileno())
time.sleep(1000)
`
	const forgetful = `import os, time
with open('/state', 'w') as f: f.write('x'); f.flush(); os.fsync(f.fileno())
print(open('/state').read(), flush=True)
time.sleep(1000)
`
	for _, kind := range []string{"crash", "power_loss", "oom"} {
		for _, c := range []struct {
			program string
			seen    bool
		}{{recovering, true}, {forgetful, false}} {
			spec := ruled(t, c.program, idle, kind+" on n1 rate 0.01 after 1s for 500ms max 3")
			logs, _, out := play(t, spec)
			e := out.Ledger.Entries[0]
			if (e.Observed > 0) != c.seen && kind != "oom" || e.Delivered == 0 || strings.Contains(logs["n1"], "had x") != c.seen {
				t.Errorf("%s: n1 printed\n%s%+v", kind, logs["n1"], e)
			}
		}
	}
}

// A call at which worlds never stop, or that is about no file, is the user's mistake, and found before anything runs.
func TestRulesAtImpossibleCalls(t *testing.T) {
	for _, c := range []struct{ rule, name, want string }{
		{"crash on n1 at fsnc", "fsnc", "no such system call"},
		{"crash on n1 at clock_gettime", "clock_gettime", "vDSO"},
		{"pause on n1 at fsync, munmap", "fsync,munmap", "do not stop"},
		{"crash on n1 at nanosleep of *.wal", "nanosleep", "not a call on a file"},
	} {
		err := native.New().Validate(ruled(t, idle, idle, c.rule), engine.Options{})
		var mistakes engine.Mistakes
		if !errors.As(err, &mistakes) || len(mistakes) != 1 || mistakes[0].Part != engine.PartFault ||
			mistakes[0].Name != c.name || !strings.Contains(mistakes[0].Problem, c.want) {
			t.Errorf("%s: %v", c.rule, err)
		}
	}
}

// Calls that worlds usually leave to the machine stop where a rule injects at them; files are known by their
// descriptors, too.
func TestRulesAtCallsThatStop(t *testing.T) {
	const grower = `import mmap, os, time
time.sleep(0.2)
for i in range(3): mmap.mmap(-1, 1 << 24, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
f = os.open('/state', os.O_CREAT | os.O_RDWR); os.posix_fallocate(f, 0, 4096); os.lseek(f, 0, 0); os.close(f)
time.sleep(1000)
`
	for _, rule := range []string{"mmap", "fallocate of /state", "lseek of /state", "close of state"} {
		_, _, out := play(t, ruled(t, grower, idle, "pause on n1 at "+rule+" for 100ms max 1"))
		if e := out.Ledger.Entries[0]; e.Delivered != 1 || e.Observed != 1 {
			t.Errorf("at %s: %+v", rule, e)
		}
	}
}
