package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Everything that an allowance says must be true of an end.
func TestAllowedEnds(t *testing.T) {
	full := []world.FaultKind{"disk_full"}
	exit := record.Crash{Kind: "exit", Node: "n1", ExitCode: 1,
		Lines: []string{"log: No space left on device", "bye"}, During: []world.FaultKind{"crash", "disk_full"}}
	panicked := record.Crash{Kind: "panic", Node: "n1", ExitCode: 2,
		Lines: []string{"panic: write /wal: no space left on device", "", "goroutine 1 [running]:"}, During: full}
	aborted := record.Crash{Kind: "crash", Node: "n1", Signal: "SIGABRT",
		Lines: []string{"PANIC:  could not write to file"}, During: full}
	segfault := record.Crash{Kind: "crash", Node: "n1", Signal: "SIGSEGV", Lines: []string{"no space left"}, During: full}
	for _, c := range []struct {
		name  string
		end   record.Crash
		allow world.Allowance
		want  bool
	}{
		{"a code", exit, world.Allowance{Exit: []int{1}}, true},
		{"another code", exit, world.Allowance{Exit: []int{3, 4}}, false},
		{"code, text and fault", exit, world.Allowance{Exit: []int{1}, Panic: "(?i)no space left", While: full}, true},
		{"another text", exit, world.Allowance{Exit: []int{1}, Panic: "no memory", While: full}, false},
		{"another fault", exit, world.Allowance{Exit: []int{1}, While: []world.FaultKind{"fsync_fail"}}, false},
		{"one of two faults", exit, world.Allowance{Exit: []int{1}, While: []world.FaultKind{"fsync_fail", "disk_full"}}, true},
		{"the exit code of a panic without a text", panicked, world.Allowance{Exit: []int{2}}, false},
		{"the text of a panic", panicked, world.Allowance{Panic: "no space left"}, true},
		{"the text of a panic, and a code", panicked, world.Allowance{Exit: []int{1}, Panic: "no space left"}, false},
		{"an abort with a text", aborted, world.Allowance{Panic: "^PANIC: "}, true},
		{"an abort by its code", aborted, world.Allowance{Exit: []int{134}}, true},
		{"another signal with a text", segfault, world.Allowance{Panic: "no space left"}, false},
		{"another signal by its code", segfault, world.Allowance{Exit: []int{139}}, true},
		{"nothing", exit, world.Allowance{While: full}, false},
		{"a promise", exit, world.Allowance{Property: world.NoExit, Exit: []int{1}}, true},
		{"another promise", exit, world.Allowance{Property: world.NoPanic, Panic: "No space"}, false},
		{"a sanitizer", record.Crash{Kind: "sanitizer", Node: "n1", Lines: []string{"no space left"}},
			world.Allowance{Panic: "no space"}, false},
		{"a refused call", record.Crash{Kind: "exit", Node: "n1", ExitCode: 1, Refusal: &record.Refusal{}},
			world.Allowance{Exit: []int{1}}, false},
	} {
		spec := &world.Spec{Nodes: []world.Node{{Name: "n1", Allow: []world.Allowance{c.allow}}, {Name: "n2"}}}
		if c.allow.Property != "" {
			spec.Nodes[0].Allow, spec.Allow = nil, spec.Nodes[0].Allow
		}
		if got := byDesign(spec, &c.end); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		other := c.end
		other.Node = "n2"
		if c.allow.Property == "" && byDesign(spec, &other) {
			t.Errorf("%s: the end of another node is allowed", c.name)
		}
	}
}

// What is proposed for an end allows this end, and nothing is where no fault kept the program from what it needs.
func TestProposedAllowances(t *testing.T) {
	for _, c := range []struct {
		end  record.Crash
		want string
	}{
		{record.Crash{Kind: "exit", ExitCode: 1, Lines: []string{"open: No space left on device", "bye"},
			During: []world.FaultKind{"crash", "disk_full"}},
			`allow: {exit: [1], panic: "No space left on device", while: disk_full}`},
		{record.Crash{Kind: "exit", ExitCode: 75, During: []world.FaultKind{"write_fail", "fsync_fail"}},
			`allow: {exit: [75], while: [write_fail, fsync_fail]}`},
		{record.Crash{Kind: "panic", ExitCode: 2, Lines: []string{"panic: sync(wal) [5]", "", "goroutine 1"},
			During: []world.FaultKind{"fsync_fail"}},
			`allow: {panic: "panic: sync\\(wal\\) \\[5\\]", while: fsync_fail}`},
		{record.Crash{Kind: "crash", Signal: "SIGABRT", Lines: []string{"PANIC:  x: Input/output error"},
			During: []world.FaultKind{"fsync_fail"}},
			`allow: {exit: [134], panic: "Input/output error", while: fsync_fail}`},
		{record.Crash{Kind: "exit", ExitCode: 1, During: []world.FaultKind{"crash", "partition", "read_corrupt"}}, ""},
		{record.Crash{Kind: "crash", Signal: "SIGSEGV", During: []world.FaultKind{"disk_full"}}, ""},
		{record.Crash{Kind: "sanitizer", During: []world.FaultKind{"disk_full"}}, ""},
	} {
		got := ""
		if p := propose(&c.end); p != nil {
			got = p.Line
		}
		if got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.end, got, c.want)
		}
	}
}

// A node that stopped by design counts as crashed until it is started again, and one that is not excuses what waits
// for it.
func TestStopsByDesignAreJudgedAsCrashes(t *testing.T) {
	spec := &world.Spec{Nodes: []world.Node{{Name: "n1", Role: world.Server, Allow: []world.Allowance{{Exit: []int{1}}}}}}
	stop := record.Crash{Position: record.PositionAt(7), Kind: "exit", Main: true, Node: "n1", ExitCode: 1, TimeNs: 5e9}
	out := &record.Outcome{Ledger: fault.Ledger{Injections: []fault.Injection{
		{ID: 1, Kind: fault.DiskFull, Node: "n1", StartNs: 4e9, EndNs: 6e9},
		{ID: 2, Kind: fault.Crash, Node: "n1", StartNs: 9e9, EndNs: 10e9},
	}}}

	again := stop
	again.UpNs = 8e9
	out.Crashes = []record.Crash{again}
	list := stopsByDesign(spec, out)
	seen := list.asFaults(out)
	s := seen.Ledger.Injections
	if len(s) != 3 || s[1].Kind != fault.Crash || s[1].StartNs != 5e9 || s[1].EndNs != 8e9 {
		t.Errorf("%+v", s)
	}
	if len(out.Ledger.Injections) != 2 {
		t.Error("the outcome itself has changed")
	}
	late := window{fromNs: 7e9, endNs: 8500e6}
	if disturbed, _ := interrupted(seen.Ledger, late); !disturbed {
		t.Error("a time in which the node is down counts as undisturbed")
	}
	if disturbed, _ := interrupted(out.Ledger, late); disturbed {
		t.Error("the test shows nothing")
	}
	v := Verdict{Status: Violated, Reason: "it hangs", TimeNs: 6e9}
	liveness, safety := &world.Property{Name: "p", Kind: world.Liveness}, &world.Property{Name: "p", Kind: world.Safety}
	if got := list.excuse(liveness, v); got.Status != Violated {
		t.Errorf("a node that runs again excuses: %+v", got)
	}
	out.Crashes = []record.Crash{stop}
	list = stopsByDesign(spec, out)
	got := list.excuse(liveness, v)
	if got.Status != Unknown || !strings.Contains(got.Reason, "restart: on-failure") || !strings.Contains(got.Reason, "it hangs") {
		t.Errorf("%+v", got)
	}
	earlier := list.excuse(liveness, Verdict{Status: Violated, TimeNs: 4e9})
	for name, got := range map[string]Verdict{"safety": list.excuse(safety, v), "earlier": earlier} {
		if got.Status != Violated {
			t.Errorf("%s: %+v", name, got)
		}
	}
	verdicts := Judge(spec, out)
	at := slices.IndexFunc(verdicts, func(v Verdict) bool { return v.Property == world.NoExit })
	if at < 0 || verdicts[at].Status == Violated {
		t.Errorf("%+v", verdicts)
	}
}
