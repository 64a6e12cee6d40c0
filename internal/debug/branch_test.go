//go:build linux && amd64

package debug

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/debug/rsp"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// A variable that is written makes a branch with another end, in which gdb goes forward and backward, to its beginning and no
// further. The call of a function makes one, too. Then the recorded run is as it was.
func TestGDBWritesMakeBranches(t *testing.T) {
	spec := bank(t)
	want := original(t, spec)
	s := serve(t, spec, want)
	out := gdb(t, s, `break transfer if number == 2
break main
continue
delete 2
continue
print accounts[3].balance = 5000
print accounts[3]
print accounts[3].balance = 6000
monitor timeline
delete
break book
continue
next
next
reverse-next
print a->balance
reverse-continue
reverse-continue
print accounts[3]
monitor goto 3
delete
continue
monitor branch 0
maintenance flush register-cache
print number
print accounts[3].balance
set $before = $pc
reverse-stepi
stepi
print $pc == $before
print transfer(99, 0, 1, 7)
print accounts[1].balance
print $pc == $before
print $xmm1.uint128 = 5
print $xmm1.uint128
print $rax = 77
monitor when
continue
monitor branch 0
maintenance flush register-cache
print accounts[1].balance
monitor branch 7
continue
`)
	recorded := answers(want)
	if strings.Contains(recorded, " 6010") || strings.Contains(recorded, " 17") {
		t.Errorf("the recorded run has the answers %s", recorded)
	}
	has(t, out, "$1 = 5000", "$2 = {balance = 5000", "$3 = 6000", "branch 1 begins after event",
		"of the recorded run: 4 bytes were written", "here: branch 1", "hit Breakpoint 3", "book (a=",
		"this is the beginning of branch 1", "No more reverse-execution history", "= {balance = 6000",
		"before the beginning of branch 1", "the end of a branch: the answers are", " 6010", "after event", "maintenance flush",
		"= 2\n", "= 0\n", "= 1\n", "branch 2 begins", "= 17\n", "= 17\n", "= 1\n", "= 5\n", "= 5\n", "= 77\n", "branch 3 begins",
		"of branch 2: ", "branch 3: after event", "the end of a branch: the answers are", " 17", "= 10\n",
		"there are 3 branches", "as it was")
}

// What no program could do, a debugger cannot do either: it writes to no page of the engine and to no code, and changes no
// register by which the real kernel knows calls. Nothing of that makes a branch. Then another debugger finds the branch that was
// made, and the recorded run ends as it did.
func TestHostileWrites(t *testing.T) {
	spec := bank(t)
	want := original(t, spec)
	s := serve(t, spec, want)
	first := dial(t, s)
	conn := rsp.NewConn(first)
	ask := func(p string) string {
		t.Helper()
		if err := conn.Send(p); err != nil {
			t.Fatal(err)
		}
		for {
			answer, err := conn.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(answer, "O") || answer == "OK" {
				return answer
			}
		}
	}
	place := symbol(t, spec, "transfer")
	ask("qSupported:swbreak+")
	ask(fmt.Sprintf("Z0,%x,1", place))
	if a := ask("c"); !strings.HasPrefix(a, "T05") {
		t.Fatal(a)
	}
	all := ask("g")
	number := func(name string) int {
		for i := range registers {
			if registers[i].name == name {
				return i
			}
		}
		t.Fatalf("no register %s", name)
		return 0
	}
	for _, p := range []string{
		// The engine's pages
		"M7ffffa000000,1:cc", "M7ffffa010000,8:0000000000000000", "M7ffffa011000,1:01", "M7ffffa100000,2:0f05",
		"M7ffff9fffff8,10:00000000000000000000000000000000",
		"M0,1:01", "M7fffffffffff,2:0101", "Mffffffffff600000,1:01", "Mffffffffffffffff,2:0101", "Mfffffffffffffffe,4:01010101", // nothing, or the kernel's
		fmt.Sprintf("M%x,1:cc", place), fmt.Sprintf("X%x,1:\xcc", place+1), // code
		fmt.Sprintf("P%x=3b00000000000000", number("orig_rax")), fmt.Sprintf("P%x=0000000000000000", number("orig_rax")), // execve(2), read(2)
		fmt.Sprintf("P%x=0100000000000000", number("fs_base")), fmt.Sprintf("P%x=0000000000f0ffff", number("gs_base")),
		fmt.Sprintf("P%x=00000000", number("cs")), fmt.Sprintf("P%x=23000000", number("cs")),
		fmt.Sprintf("P%x=10000000", number("ss")), fmt.Sprintf("P%x=2b000000", number("ds")),
		fmt.Sprintf("P%x=00f8ffffffffffff", number("rip")), fmt.Sprintf("P%x=0000000000800000", number("rip")),
		fmt.Sprintf("P%x=46030000", number("eflags")), fmt.Sprintf("P%x=ffffffff", number("eflags")), // the trap flag
		fmt.Sprintf("P%x=ffffffff", number("mxcsr")), // bits that the processor reserves
		"P", "P0", "P0=", "P0=00", "Pffff=00", "Pzz=00", "G00", "M", "M0", "M0,1", "M0,2:00", "Mzz,1:00", "X0,5:", "M0,1:zz",
	} {
		if a := ask(p); !strings.HasPrefix(a, "E") {
			t.Errorf("%q is answered %q", p, a)
		}
	}
	if now := ask("g"); now != all || ask("G"+all) != "OK" || ask("X0,0:") != "OK" || s.Branch() != 0 {
		t.Errorf("what was refused, or is no change, has made branch %d, with registers\n%s\nthat were\n%s", s.Branch(), now, all)
	}
	if a := ask("G" + strings.Repeat("41", len(all)/2)); !strings.HasPrefix(a, "E.") || s.Branch() != 0 {
		t.Errorf("all registers at once: %q, branch %d", a, s.Branch())
	}
	// What a program could do to itself, it may suffer.
	for _, p := range []string{fmt.Sprintf("P%x=0000000000000000", number("rsp")),
		fmt.Sprintf("P%x=ffffffffffffffff", number("rsp")), fmt.Sprintf("P%x=00f0ffffff7f0000", number("rip"))} {
		if a := ask(p); a != "OK" || s.Branch() != 1 {
			t.Fatalf("%q is answered %q in branch %d", p, a, s.Branch())
		}
	}
	first.Close()
	s.noted(t, "disconnected")
	has(t, gdb(t, s, "monitor when\nprint $rsp\ncontinue\nmonitor timeline\nmonitor branch 0\nmonitor goto end\n"),
		"branch 1: after event", "0xffffffffffffffff", "the end of a branch: the answers are", "branch 1 begins",
		"the end of the run, after event", "as it was")
	if _, err := s.write("something", func(World) error { return nil }); err != errEnded {
		t.Errorf("a write at the end of the run: %v", err)
	}
}

// Branches are bounded: the oldest one ends when there are too many.
func TestBranchesAreBounded(t *testing.T) {
	copies := 1
	run := &toy{turns: []toyTurn{{thread: 1, pcs: make([]uint64, 40)}, {thread: 2, pcs: make([]uint64, 5)}}}
	timeline, err := New(&toyWorld{run: run, copies: &copies}, runner.Budget{Most: 4})
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{Timeline: timeline}
	for i := range 3 * maxBranches {
		if _, err := s.Timeline.Step(engine.Thread{Node: "n", PID: 1, TID: 1}, &Stops{}); err != nil {
			t.Fatal(err)
		}
		if note, err := s.write("a thing was written", func(World) error { return nil }); err != nil || s.Branch() != i+1 ||
			!strings.Contains(note, fmt.Sprintf("branch %d begins", i+1)) {
			t.Fatalf("branch %d: %q %v", s.Branch(), note, err)
		}
		if note, err := s.write("another one", func(World) error { return nil }); err != nil || note != "" {
			t.Fatalf("the second write there: %q %v", note, err)
		}
	}
	if len(s.branches) != maxBranches || copies > 4*maxBranches {
		t.Errorf("%d branches, %d worlds", len(s.branches), copies)
	}
	if _, err := s.lookAt([]string{"1"}); err == nil {
		t.Error("a branch that has ended is there")
	}
	if text, err := s.lookAt([]string{"0"}); err != nil || s.Branch() != 0 || s.Timeline != timeline {
		t.Errorf("%q %v", text, err)
	}
	if s.Close(); copies != 0 {
		t.Errorf("%d worlds are left", copies)
	}
}

// A node's handler gets inputs that it has not seen, each in a copy of the world: what it sends goes to copies of the others, and
// each copy is judged at its end. The run itself is as it was.
func TestInputsOfANodeInCopiesOfItsWorld(t *testing.T) {
	spec := bank(t)
	want := original(t, spec)
	s := serve(t, spec, want)
	out := gdb(t, s, `break transfer if number == 2
continue
delete
python
for amount in (1111, 2222, 3333):
    gdb.execute("monitor branch 0")
    gdb.execute("maintenance flush register-cache")
    gdb.execute(f"set variable amount = {amount}")
    gdb.execute("continue")
end
monitor branch 0
maintenance flush register-cache
continue
`)
	for _, amount := range []string{"1111", "2222", "3333"} {
		if strings.Contains(answers(want), amount) {
			t.Errorf("the recorded run has %s", amount)
		}
	}
	has(t, out, "hit Breakpoint 1", "branch 1 begins", "the end of a branch: the answers are 10 1111", "branch 2 begins",
		"the end of a branch: the answers are 10 2222", "branch 3 begins",
		"the end of a branch: the answers are 10 3333", "as it was")
}
