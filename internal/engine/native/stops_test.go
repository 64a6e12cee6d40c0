//go:build linux && amd64

package native_test

import (
	"fmt"
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

// Programs that are signalled to stop. Each begins with what an earlier life has left.
const lives = `import os, signal, sys, threading, time
print('begin', open('/log').read() if os.path.exists('/log') else '', flush=True)
def note(what):
    with open('/log', 'a') as f: f.write(what)
def stop(n, frame):
    time.sleep(0.2); note('stopped by %d;' % n); print('stopping', flush=True); sys.exit(%CODE%)
`

func living(rest string, code int) string {
	return strings.ReplaceAll(lives, "%CODE%", fmt.Sprint(code)) + rest
}

// stopOf is a world in which the only injection is a restart of n1, one second after the chaos began.
func stopOf(t *testing.T, program string, change func(n *world.Node)) *world.Spec {
	t.Helper()
	spec := ruled(t, program, idle, "restart on n1 after 1s for 500ms max 1")
	spec.Nodes[0].StopGraceNs = 2e9
	if change != nil {
		change(&spec.Nodes[0])
	}
	return spec
}

// An orderly restart signals the main process to stop, by the node's signal and from outside; it is awaited for the grace
// period, then all processes are killed. Files stay. The node is down for the fault's duration from then on. None of this
// is an unexpected exit.
//
//ci:underway
func TestRestartInOrder(t *testing.T) {
	const wait = "\nwhile True: time.sleep(0.05)\n"
	handler := "signal.signal(signal.%s, stop)" + wait
	for _, c := range []struct {
		name     string
		program  string
		change   func(n *world.Node)
		want     string
		downS    float64 // when it is down, after the injection
		observed bool
	}{
		{"handled", living(fmt.Sprintf(handler, "SIGTERM"), 0), nil, "begin \nstopping\nbegin stopped by 15;\n", 0.2, true},
		{"its exit code does not matter", living(fmt.Sprintf(handler, "SIGTERM"), 143), nil, "begin \nstopping\nbegin stopped by 15;\n", 0.2, true},
		{"SIGINT", living(fmt.Sprintf(handler, "SIGINT"), 0), func(n *world.Node) { n.StopSignal = "SIGINT" },
			"begin \nstopping\nbegin stopped by 2;\n", 0.2, true},
		{"SIGQUIT", living(fmt.Sprintf(handler, "SIGQUIT"), 1), func(n *world.Node) { n.StopSignal = "SIGQUIT" },
			"begin \nstopping\nbegin stopped by 3;\n", 0.2, true},
		{"a real-time signal", living("signal.signal(37, stop)"+wait, 0), func(n *world.Node) { n.StopSignal = "SIGRTMIN+3" },
			"begin \nstopping\nbegin stopped by 37;\n", 0.2, true},
		{"as process 1", living(fmt.Sprintf(handler, "SIGTERM"), 7), func(n *world.Node) { n.Init = world.MainInit },
			"begin \nstopping\nbegin stopped by 15;\n", 0.2, true},
		{"behind a small init", living(fmt.Sprintf(handler, "SIGTERM"), 0), func(n *world.Node) { n.Init = world.SmallInit },
			"begin \nstopping\nbegin stopped by 15;\n", 0.2, true},
		{"ended by it", living("note('x')"+wait, 0), nil, "begin \nbegin x\n", 0, true}, // it reads what it had written
		{"ended by it, and nothing read", "import time\nprint('begin', flush=True)" + wait, nil, "begin\nbegin\n", 0, false},
		{"ignored", "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('begin', flush=True)" + wait, nil, "begin\nbegin\n", 2, false},
		{"process 1 without a handler", "import time\nprint('begin', flush=True)" + wait,
			func(n *world.Node) { n.Init = world.MainInit }, "begin\nbegin\n", 2, false},
		{"taken and left aside", "import signal, time\nsignal.signal(signal.SIGTERM, lambda *a: print('no', flush=True))\nprint('begin', flush=True)" +
			wait, nil, "begin\nno\nbegin\n", 2, true},
		{"awaited by sigwait", living("signal.pthread_sigmask(signal.SIG_BLOCK, [15])\nn = signal.sigwait([15]); stop(n, None)\n",
			0), nil, "begin \nstopping\nbegin stopped by 15;\n", 0.2, true},
		{"SIGKILL", living(fmt.Sprintf(handler, "SIGTERM"), 0), func(n *world.Node) { n.StopSignal = "SIGKILL" }, "begin \nbegin \n", 0, false},
		{"no grace", living(fmt.Sprintf(handler, "SIGTERM"), 0), func(n *world.Node) { n.StopGraceNs = 0 }, "begin \nbegin \n", 0, true},
		{"killed in the middle", living("def stop(n, frame):\n    note('half;'); time.sleep(9); note('whole;')\n"+
			fmt.Sprintf(handler, "SIGTERM"), 0), nil, "begin \nbegin half;\n", 2, true},
		{"a process is left over", living("if os.fork() == 0:\n    signal.signal(15, signal.SIG_IGN)\n    while True: "+
			"time.sleep(0.1); note('.') if os.path.exists('/log') else 0\n"+fmt.Sprintf(handler, "SIGTERM"), 0), nil,
			"begin \nstopping\nbegin stopped by 15;\n", 0.2, true},
		{"its restart policy waits", living(fmt.Sprintf(handler, "SIGTERM"), 1),
			func(n *world.Node) { n.Restart.Mode = world.RestartAlways }, "begin \nstopping\nbegin stopped by 15;\n", 0.2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := stopOf(t, c.program, c.change)
			logs, happened, out := play(t, spec)
			if logs["n1"] != c.want {
				t.Errorf("n1 printed\n%swant\n%s", logs["n1"], c.want)
			}
			if len(out.Crashes) > 0 || len(out.Warnings) > 0 {
				t.Errorf("%+v %q", out.Crashes, out.Warnings)
			}
			how := "stopped n1"
			if c.downS == 2 || spec.Nodes[0].StopGraceNs == 0 || spec.Nodes[0].StopSignal == "SIGKILL" {
				how = "killed n1"
			}
			if i := slices.Index(happened, "restart n1"); i < 0 || len(happened) < i+3 || happened[i+1] != how || happened[i+2] != "end restart n1" {
				t.Errorf("what happened: %q", happened)
			}
			e, s := entryOf(out, fault.Restart), out.Ledger.Injections
			if e.Planned != 1 || e.Delivered != 1 || (e.Observed == 1) != c.observed {
				t.Errorf("%+v", e)
			}
			if len(s) != 1 {
				t.Fatalf("%+v", s)
			}
			if took := float64(s[0].EndNs-s[0].StartNs) / 1e9; took < c.downS+0.5 || took > c.downS+0.6 {
				t.Errorf("it took %f s to the start, want %f", took, c.downS+0.5)
			}
			if _, _, again := play(t, spec); again.Hash != out.Hash {
				t.Error("the same tape made two runs")
			}
		})
	}
}

// A program that breaks as it stops is reported as ever.
func TestBreakingWhileStopping(t *testing.T) {
	const wait = "\nwhile True: time.sleep(0.05)\n"
	for _, c := range []struct{ name, program, kind, signal string }{
		{"another signal", living("signal.signal(15, lambda *a: os.kill(os.getpid(), signal.SIGSEGV))"+wait, 0), "crash", "SIGSEGV"},
		{"killed by itself", living("signal.signal(15, lambda *a: os.kill(os.getpid(), signal.SIGKILL))"+wait, 0), "exit", "SIGKILL"},
		{"a panic", living("def stop(*a): print('panic: ', flush=True); os._exit(2)\nsignal.signal(15, stop)"+wait, 0), "panic", ""},
		{"an end of its own", living("signal.signal(15, signal.SIG_IGN)\ntime.sleep(2); sys.exit(3)\n", 0), "exit", ""},
	} {
		_, _, out := play(t, stopOf(t, c.program, nil))
		if len(out.Crashes) == 0 || out.Crashes[0].Kind != c.kind || out.Crashes[0].Signal != c.signal {
			t.Errorf("%s: %+v", c.name, out.Crashes)
		}
	}
}

// The ledger has what the peers of a stopping server see: the ends of its connections, and that it is not there.
//
//ci:underway
func TestPeersSeeARestart(t *testing.T) {
	const talk = `import socket, time
time.sleep(0.1)
for i in range(60):
    try:
        c = socket.create_connection(('n1', 7000), timeout=0.15); c.sendall(b'x'); print('ok' if c.recv(1) else 'eof', flush=True); c.close()
    except OSError as e: print(type(e).__name__, flush=True)
    time.sleep(0.05)
time.sleep(1000)
`
	logs, _, out := play(t, ruled(t, echoServer, talk, "restart on n1 after 500ms for 500ms max 1"))
	if e := entryOf(out, fault.Restart); e.Observed != 1 || !strings.Contains(logs["n2"], "ConnectionRefusedError") || !strings.HasSuffix(logs["n2"], "ok\n") {
		t.Errorf("%+v\n%s", e, logs["n2"])
	}
}

// The end of the chaos phase waits for nodes that are stopping: no grace period is cut, and what is judged after the heal
// finds the nodes up.
func TestHealWaitsForAStop(t *testing.T) {
	spec := stopOf(t, living("def slow(*a): time.sleep(1.5); note('done;'); sys.exit(0)\nsignal.signal(15, slow)\nwhile True: time.sleep(0.05)\n", 0), nil)
	spec.Faults.StartNs, spec.Faults.StopNs, spec.Faults.SettleNs = 100e6, 1500e6, 1e9
	logs, happened, out := play(t, spec)
	if logs["n1"] != "begin \nbegin done;\n" || out.Reason != record.Finished {
		t.Errorf("%s: n1 printed\n%s", out.Reason, logs["n1"])
	}
	i := slices.Index(happened, "phase heal")
	if i < 0 || !slices.Equal(happened[i:i+4], []string{"phase heal", "end restart n1", "stopped n1", "phase settle"}) {
		t.Errorf("what happened: %q", happened)
	}
	if down := out.Ledger.Injections[0].EndNs; len(out.Heals) == 0 || out.Heals[len(out.Heals)-1] < down || down < out.Ledger.Injections[0].StartNs+1500e6 {
		t.Errorf("healed at %v, down until %d", out.Heals, down)
	}
	// Under rules that inject all the time, with the same result for the same tape.
	spec = stopOf(t, living("signal.signal(15, stop)\nwhile True: time.sleep(0.05)\n", 0), nil)
	for _, text := range []string{"crash on n1 rate 0.01 for 100ms", "pause on n1 rate 0.01 for 100ms",
		"oom on n1 rate 0.01 for 200ms", "restart on n1 rate 0.02 for 50ms..100ms"} {
		r, err := fault.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Faults.Rules = append(spec.Faults.Rules, r)
	}
	for seed := range uint64(2) {
		var hashes []string
		for range 2 {
			out, err := engine.Run(native.New(), spec, tape.Tape{Seed: seed}, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if hashes = append(hashes, out.Hash); out.Reason != record.Finished || len(out.Crashes) > 0 {
				t.Errorf("seed %d: %s %+v", seed, out.Reason, out.Crashes)
			}
		}
		if hashes[0] != hashes[1] {
			t.Errorf("seed %d made two runs", seed)
		}
	}
}

// A restart is injected at a call, too, which then continues: what the program does with the signal comes after it. A wait in which
// the signal meets it ends.
//
//ci:underway
func TestRestartAtACall(t *testing.T) {
	const syncing = `f = os.open('/data', os.O_CREAT | os.O_WRONLY)
os.fsync(f); print('synced', flush=True)
time.sleep(1000)
`
	for rule, want := range map[string]string{
		"restart on n1 at fsync of data for 200ms max 1":  "begin \nstopping\nbegin stopped by 15;\nsynced\n",
		"restart on n1 for 1s max 1 when logs.synced > 0": "begin \nsynced\nstopping\nbegin stopped by 15;\nsynced\n",
	} {
		spec := ruled(t, living("signal.signal(15, stop)\n"+syncing, 0), idle, rule)
		spec.LogPatterns = []world.LogPattern{{Name: "synced", Pattern: "^synced"}}
		spec.Nodes[0].StopGraceNs = 2e9
		logs, _, out := play(t, spec)
		if e := entryOf(out, fault.Restart); logs["n1"] != want || e.Observed != 1 || len(out.Crashes) > 0 {
			t.Errorf("%s: n1 printed\n%s%+v %+v", rule, logs["n1"], e, out.Crashes)
		}
	}
}

// A restart brings the release that runs, or a later one, or, with Downgrade, any.
//
//ci:underway
func TestRestartsBringReleases(t *testing.T) {
	release := func(name string) []string {
		return []string{"python3", "-c", "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nprint('" +
			name + "', flush=True)\ntime.sleep(1000)"}
	}
	for _, downgrade := range []bool{false, true} {
		seen := map[string]bool{}
		for seed := uint64(1); seed <= 10; seed++ {
			spec := ruled(t, idle, idle, "restart on n1 rate 0.05 after 500ms for 100ms max 3")
			n := &spec.Nodes[0]
			n.Command, n.Releases, n.Downgrade = release("1"), [][]string{release("2"), release("3")}, downgrade
			logs, _, out := playSeed(t, spec, seed)
			seen[strings.ReplaceAll(logs["n1"], "\n", "")] = true
			if !out.Repeat.Reproducible || len(out.Crashes) > 0 {
				t.Fatalf("seed %d: %+v %+v", seed, out.Repeat, out.Crashes)
			}
		}
		later, again, older := false, false, false
		for text := range seen {
			if len(text) < 2 || text[0] != '1' {
				t.Fatalf("releases %q", text)
			}
			for i := 1; i < len(text); i++ {
				later, again, older = later || text[i] > text[i-1], again || text[i] == text[i-1], older || text[i] < text[i-1]
			}
		}
		if !later || !again || older != downgrade {
			t.Errorf("with downgrade %v the releases were %v", downgrade, seen)
		}
	}
}
